"""What a study file says about language models that are trained here, and on which text."""

from __future__ import annotations

from dataclasses import replace
from typing import Annotated, Any, Literal, Self

from pydantic import Field, field_validator, model_validator

from flows.corpora.synthetic_filings import TRAINING_DOCUMENTS, FilingSettings
from flows.language_models.training import CAPPED, LanguageModelKind, TrainingSpec
from flows.strict_model import StrictModel

DISCOUNT_FACTORS: tuple[float | Literal["capped"], ...] = (1.0,)
PENALTIES = (1e-2, 3e-3, 1e-3, 3e-4, 1e-4, 3e-5, 1e-5, 3e-6, 1e-6, 1e-7)
"""Those of `flows.language_models.loglinear_bigram`, which is not imported for them alone."""

DEFAULT_SEEDS = (0, 1, 2, 3)
SMALL_VOCABULARY_TOKENS = 512
"""Of decoder and log-linear bigram."""

Penalty = Annotated[float, Field(gt=0.0, lt=float("inf"))]
DiscountFactor = Annotated[float, Field(gt=0.0, lt=float("inf"))] | Literal["capped"]

KNOBS_OF_KIND: dict[str, frozenset[str]] = {
    "kneser_ney_trigram": frozenset({"discount_factors", "vocabulary_tokens"}),
    "loglinear_bigram": frozenset({"penalties", "vocabulary_tokens"}),
    "decoder": frozenset({"seeds", "step_count", "vocabulary_tokens"}),
    "fact_model": frozenset(),
}
"""Which knobs turn what."""


class FilingKnobs(StrictModel):
    """Knobs of the generator of synthetic filings; None leaves one where it is."""

    word_frequency_exponent: float | None = Field(default=None, ge=0.0, lt=float("inf"))
    word_frequency_jitter: float | None = Field(default=None, ge=0.0, lt=float("inf"))
    boilerplate_probability: float | None = Field(default=None, ge=0.0, le=1.0)
    stickiness: float | None = Field(default=None, ge=0.0, le=1.0)

    @property
    def are_untouched(self) -> bool:
        """Whether no knob is turned."""
        return not self.model_dump(exclude_none=True)

    def turned(self, settings: FilingSettings) -> FilingSettings:
        """Return *settings* with these knobs turned."""
        names = FilingKnobs.model_fields
        return replace(
            settings, **{name: v for name in names if (v := getattr(self, name)) is not None}
        )


class SyntheticFilingsChoice(FilingKnobs):
    """The training text: documents of the generator from a seed."""

    seed: int = Field(default=1, ge=0)
    training_document_count: int = Field(default=TRAINING_DOCUMENTS, ge=1)

    @property
    def settings(self) -> FilingSettings:
        """Return the generator's settings for the training text."""
        return self.turned(FilingSettings())


class FactProbesChoice(StrictModel):
    """Facts that a text states often, once or never, drawn from a seed."""

    seed: int = Field(default=0, ge=0)


class TrainedLanguageModelChoice(StrictModel):
    """Language models of one kind, one per discount factor, penalty or seed."""

    name: str = Field(pattern=r"^[A-Za-z0-9][A-Za-z0-9_.-]{0,40}$")
    kind: Literal["kneser_ney_trigram", "loglinear_bigram", "decoder", "fact_model"]
    vocabulary_tokens: int | None = Field(default=None, ge=4)
    """Tokens known, marks included. None: every word of a trigram, 512 of the others."""
    discount_factors: tuple[DiscountFactor, ...] = Field(default=DISCOUNT_FACTORS, min_length=1)
    """What Ney's discounts are multiplied by; ``capped`` puts all at 0.99."""
    penalties: tuple[Penalty, ...] = Field(default=PENALTIES, min_length=1)
    seeds: tuple[Annotated[int, Field(ge=0)], ...] = Field(default=DEFAULT_SEEDS, min_length=1)
    step_count: int = Field(default=1_200, ge=1)
    """Adam steps of a decoder."""
    test_sets: tuple[str, ...] = ()
    """Those it scores. None named: all of the study, but those of facts."""

    @field_validator("discount_factors", "penalties", "seeds", "test_sets", mode="before")
    @classmethod
    def _listed(cls, value: Any) -> Any:
        return tuple(value) if isinstance(value, list) else value

    @model_validator(mode="after")
    def _knobs_belong_to_the_kind(self) -> Self:
        foreign = self.model_fields_set - {"name", "kind", "test_sets"} - KNOBS_OF_KIND[self.kind]
        if foreign:
            raise ValueError(f"{sorted(foreign)[0]} is no knob of a {self.kind}")
        for knob in ("discount_factors", "penalties", "seeds"):
            given = getattr(self, knob)
            if len(set(given)) < len(given):
                raise ValueError(f"{knob} must differ from each other")
        return self

    def specs(self, training_sha256: str) -> list[TrainingSpec]:
        """Return one specification per language model, largest penalty first."""
        kind = LanguageModelKind(self.kind)
        if kind is LanguageModelKind.FACT_MODEL:
            return [TrainingSpec(self.name, kind, training_sha256)]
        if kind is LanguageModelKind.KNESER_NEY_TRIGRAM:
            return [
                TrainingSpec(
                    self.name if factor == 1.0 else f"{self.name}-discount-{_shown(factor)}",
                    kind,
                    training_sha256,
                    self.vocabulary_tokens,
                    discount_factor=CAPPED if factor == "capped" else factor,
                )
                for factor in self.discount_factors
            ]
        tokens = self.vocabulary_tokens or SMALL_VOCABULARY_TOKENS
        if kind is LanguageModelKind.LOGLINEAR_BIGRAM:
            return [
                TrainingSpec(
                    f"{self.name}-penalty-{_power(penalty)}",
                    kind,
                    training_sha256,
                    tokens,
                    penalty=penalty,
                )
                for penalty in sorted(self.penalties, reverse=True)
            ]
        return [
            TrainingSpec(
                f"{self.name}-seed-{seed}",
                kind,
                training_sha256,
                tokens,
                seed=seed,
                step_count=self.step_count,
            )
            for seed in self.seeds
        ]


def _shown(factor: float | str) -> str:
    return factor if isinstance(factor, str) else f"{factor:g}"


def _power(penalty: float) -> str:
    """Return 3e-5 for 0.00003, as the document prints it."""
    mantissa, exponent = f"{penalty:e}".split("e")
    return f"{float(mantissa):g}e{int(exponent)}"
