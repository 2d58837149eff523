"""What a study file says about scoring: which texts are test sets, and how they are read."""

from __future__ import annotations

from typing import Annotated, Any, Literal, Self

from pydantic import Field, field_validator, model_validator

from flows.corpora.edgar_filings import FIRST_YEAR
from flows.corpora.layouts import FilingsLayout, TextsLayout
from flows.strict_model import StrictModel
from flows.study_generation import LanguageModelChoice, with_names_as_mappings
from flows.study_training import FactProbesChoice, FilingKnobs

COMPANY = r"^[A-Za-z0-9][A-Za-z0-9.-]{0,9}$"
"""A CIK or a ticker."""

ContextChoice = Literal["none", "prompt"]


class EdgarFilingsChoice(StrictModel):
    """Filings fetched from EDGAR: the annual reports of companies for years."""

    companies: tuple[Annotated[str, Field(pattern=COMPANY)], ...] = Field(min_length=1)
    """CIKs or tickers."""
    years: tuple[Annotated[int, Field(ge=FIRST_YEAR, le=9999)], ...] = Field(min_length=1)
    """In which the period of report ends."""

    @field_validator("companies", "years", mode="before")
    @classmethod
    def _listed(cls, value: Any) -> Any:
        return tuple(value) if isinstance(value, list) else value

    @field_validator("companies", mode="before")
    @classmethod
    def _quoted(cls, value: Any) -> Any:
        for company in value if isinstance(value, list) else ():
            if not isinstance(company, str):
                raise ValueError(  # noqa: TRY004 - a fault of validation to pydantic
                    "write companies in quotes: YAML takes the ticker ON for true and the CIK "
                    f"0000012345 for 5349, and so read {company!r}"
                )
        return value


class TestSetChoice(StrictModel):
    """One test set of the study: stories, texts or filings at a path, or texts written here."""

    __test__ = False
    """It is no test, whatever pytest takes its name for."""

    name: str = Field(pattern=r"^[A-Za-z0-9][A-Za-z0-9_.-]{0,63}$")
    story_source: str | None = None
    """``human``, or ``<language_model_name>/<decoding_strategy_name>``."""
    context: ContextChoice = "none"
    """What stands before a story: nothing, or its prompt in the plain frame; never scored."""
    document_count: int | None = Field(default=None, ge=1)
    """Documents scored at most, the first by prompt rank or in the order of the files; of synthetic
    filings those written, 100 where not given."""
    path: str | None = None
    text_column: str | None = None
    context_column: str | None = None
    delimiter: str | None = None
    record_format: str | None = None
    filings: str | None = None
    """Filings whose Item 7 is scored: a file or folder."""
    edgar: EdgarFilingsChoice | None = None
    """Filings whose Item 7 is scored, fetched from EDGAR by company and year."""
    has_tables: bool = False
    """Whether rows of figures are kept in Item 7."""
    synthetic_filings: FilingKnobs | None = None
    """The training generator run on, or with knobs turned a fresh one that is shifted by them."""
    fact_probes: FactProbesChoice | None = None
    """Facts asked of fact models."""
    is_optional: bool = False
    """Left out with a note, instead of an error, where nothing lies at its path."""

    @model_validator(mode="after")
    def _has_one_origin(self) -> Self:
        origins = (
            self.path,
            self.story_source,
            self.filings,
            self.edgar,
            self.synthetic_filings,
            self.fact_probes,
        )
        if sum(origin is not None for origin in origins) != 1:
            raise ValueError(
                "a test set must have one of path, story_source, filings, edgar, synthetic_filings "
                "and fact_probes"
            )
        if self.story_source is None and self.context != "none":
            raise ValueError("texts at a path take their context from context_column")
        if self.has_tables and self.filings is None and self.edgar is None:
            raise ValueError("has_tables is a choice about filings")
        if self.is_optional and self.edgar is not None:
            raise ValueError("is_optional is a choice about files at a path")
        return self

    @property
    def files(self) -> str | None:
        """Return where its files lie; None where it has none."""
        return self.filings if self.path is None else self.path

    def layout(self) -> TextsLayout | FilingsLayout | None:
        """Return what it is read from as the readers know it; None where it has no files here."""
        if self.filings is not None:
            return FilingsLayout(self.filings, self.name, self.has_tables)
        if self.path is None:
            return None
        return TextsLayout(
            path=str(self.path),
            test_set_name=self.name,
            text_column=self.text_column,
            context_column=self.context_column,
            delimiter=self.delimiter,
            record_format=self.record_format,
        )


class ScoringSettings(StrictModel):
    """How long texts are read, and by whom; another window is another scoring."""

    language_models: tuple[LanguageModelChoice, ...] = ()
    """Those that score the test sets. None named: all language models of the study."""
    window_tokens: int = Field(default=1024, ge=3)
    """Tokens read at once, begin-of-text included; a shorter context of the model wins."""
    overlap_tokens: int = Field(default=256, ge=1)
    """Tokens that a later window repeats, so that each scored one has at least these before it."""

    @field_validator("language_models", mode="before")
    @classmethod
    def _listed(cls, value: Any) -> Any:
        return with_names_as_mappings(value) if isinstance(value, list) else value

    @model_validator(mode="after")
    def _moves_on(self) -> Self:
        if self.overlap_tokens >= self.window_tokens - 1:
            raise ValueError("overlap_tokens must be less than window_tokens - 1")
        return self
