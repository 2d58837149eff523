"""The study file: strict YAML that names the data and every choice that can change a number."""

from __future__ import annotations

import difflib
import re
from collections.abc import Mapping, Sequence
from dataclasses import fields
from pathlib import Path
from typing import Annotated, Any, Self

import yaml
from pydantic import Field, ValidationError, model_validator

from flows.corpora.layouts import (
    HUB_PREFIX,
    ForecastsLayout,
    GenerationsLayout,
    StoriesLayout,
    VectorsLayout,
)
from flows.strict_model import StrictModel
from flows.study_drift import DriftLimit
from flows.study_generation import (
    GenerationSettings,
    LanguageModelChoice,
    StrategyChoice,
    with_names_as_mappings,
)
from flows.study_scoring import ScoringSettings, TestSetChoice
from flows.study_training import SyntheticFilingsChoice, TrainedLanguageModelChoice
from udfs.errors import CalibraryError

DEFINITION_VERSION = "2"
"""Version of the definitions in `udfs`; raised whenever a published number would change."""

SMALL_STUDY = Path(__file__).parent / "studies" / "small_study.yml"

ALL = "all"
"""On the command line, where no value means no change: keep every prompt."""

STUDY_NAME = r"^[A-Za-z0-9][A-Za-z0-9_.-]{0,63}$"

StudyName = Annotated[str, Field(pattern=STUDY_NAME)]


class StudyError(CalibraryError):
    """A study file or an option describes something that cannot be run."""


class StudySettings(StrictModel):
    """The choices of one study, resolved: the columns of ``raw.studies``.

    Characters, words and tokens are counts; limits are inclusive.
    """

    study_name: StudyName
    study_file_name: str | None = None
    stories_per_prompt: int = Field(default=10, ge=2)
    samples_per_prompt: int | None = Field(default=None, ge=1)
    prompt_count: int | None = Field(default=500, ge=4)
    minimum_prompt_characters: int = Field(default=20, ge=0)
    maximum_prompt_characters: int = Field(default=500, ge=1)
    minimum_story_tokens: int = Field(default=52, ge=0)
    maximum_story_tokens: int = Field(default=987, ge=1)
    tokenizer_name: str = "auto"
    selection_seed: int = 20240
    embedding_model_name: str = "auto"
    embedding_max_tokens: int = Field(default=256, ge=3)
    tagging_model_name: str = "auto"
    tagging_max_characters: int = Field(default=5000, ge=1)
    minimum_common_words: int = Field(default=20, ge=1)
    definition_version: str = DEFINITION_VERSION

    @model_validator(mode="after")
    def _limits_are_ordered(self) -> Self:
        for unit in ("prompt_characters", "story_tokens"):
            low, high = getattr(self, f"minimum_{unit}"), getattr(self, f"maximum_{unit}")
            if low > high:
                message = f"minimum_{unit} must be at most maximum_{unit}, got {low} and {high}"
                raise ValueError(message)
        return self


LAYOUTS: Mapping[str, type[StoriesLayout | GenerationsLayout | VectorsLayout | ForecastsLayout]] = {
    "stories": StoriesLayout,
    "generations": GenerationsLayout,
    "diversity_vectors": VectorsLayout,
    "forecasts": ForecastsLayout,
}
"""What an entry of each section of inputs may say."""


class ScheduleSettings(StrictModel):
    """When `calibrary serve` runs the study."""

    cron: Annotated[str, Field(pattern=r"^\S+( +\S+){4}$")]
    """Minute, hour, day of the month, month, day of the week."""
    timezone: str = "UTC"
    """IANA name."""


class Study(StrictModel):
    """A study file, checked."""

    study_name: StudyName
    description: str = ""
    stories: tuple[StoriesLayout, ...] = ()
    generations: tuple[GenerationsLayout, ...] = ()
    diversity_vectors: tuple[VectorsLayout, ...] = ()
    forecasts: tuple[ForecastsLayout, ...] = ()
    test_sets: tuple[TestSetChoice, ...] = ()
    language_models: tuple[LanguageModelChoice, ...] = ()
    synthetic_filings: SyntheticFilingsChoice = SyntheticFilingsChoice()
    """The text that language models are trained on here."""
    trained_language_models: tuple[TrainedLanguageModelChoice, ...] = ()
    decoding_strategies: tuple[StrategyChoice, ...] = ()
    generation: GenerationSettings = GenerationSettings()
    scoring: ScoringSettings = ScoringSettings()
    schedule: ScheduleSettings | None = None
    drift_limits: tuple[DriftLimit, ...] = ()
    """How far figures may move between two publications before a run fails."""
    settings: StudySettings
    folder: Path
    """Folder of the study file: relative paths start there."""
    absent_test_sets: tuple[str, ...] = ()
    """Optional test sets that are left out, since nothing lies at their path."""

    @property
    def scored_language_models(self) -> tuple[LanguageModelChoice, ...]:
        """Language models that score the test sets: all of the study, or those of ``scoring``."""
        return self.scoring.language_models or self.language_models

    def resolve(self, path: str) -> str:
        """Return *path* as seen from the study file; ``hf:owner/name`` is no file."""
        return path if path.startswith(HUB_PREFIX) else str(self.folder / Path(path).expanduser())

    def resolve_weights(self, name: str) -> str:
        """Return where *name* lies as seen from the study file; a name where nothing lies stays.

        Weights are named by hub id or ``packaged:NAME`` too, which no sign tells from a path.
        """
        candidate = self.folder / Path(name).expanduser()
        return str(candidate) if candidate.exists() else name


SETTING_KEYS = frozenset(StudySettings.model_fields) - {
    "study_name",
    "study_file_name",
    "definition_version",
}
CHOICES: Mapping[str, type[StrictModel]] = {
    "language_models": LanguageModelChoice,
    "decoding_strategies": StrategyChoice,
    "test_sets": TestSetChoice,
    "trained_language_models": TrainedLanguageModelChoice,
}
"""What an entry of each list of names may say."""

INPUT_KEYS = frozenset(
    {
        "study_name",
        "description",
        "generation",
        "scoring",
        "schedule",
        "drift_limits",
        "synthetic_filings",
        *LAYOUTS,
        *CHOICES,
    }
)


class _UniqueKeyLoader(yaml.SafeLoader):
    """Safe loading, and a key given twice is an error instead of the last one winning."""


def _construct_unique_mapping(loader: yaml.SafeLoader, node: yaml.MappingNode) -> dict[Any, Any]:
    seen: set[Any] = set()
    for key_node, _ in node.value:
        key = loader.construct_object(key_node, deep=True)
        if key in seen:
            place = key_node.start_mark
            raise yaml.constructor.ConstructorError(
                None, None, f"key {key!r} is given twice", place
            )
        seen.add(key)
    return loader.construct_mapping(node, deep=True)


_UniqueKeyLoader.add_constructor(
    yaml.resolver.BaseResolver.DEFAULT_MAPPING_TAG, _construct_unique_mapping
)


def load_study(path: Path) -> Study:
    """Read and check the study file at *path*.

    Raises
    ------
    StudyError
        The file is missing, is not YAML, has an unknown key (with the nearest known one), a key
        twice, or a value out of range; the sentence names file, line where known, key and value.
    """
    document = _read_mapping(path)
    _refuse_unknown_keys(document, INPUT_KEYS | SETTING_KEYS, str(path))
    _require_study_name(document.get("study_name"), f"say study_name: NAME in {path}.")
    chosen = {key: value for key, value in document.items() if key in SETTING_KEYS}
    inputs = {key: value for key, value in document.items() if key not in SETTING_KEYS}
    inputs |= {section: _layouts(path, section, document.get(section, [])) for section in LAYOUTS}
    inputs |= {section: _choices(path, section, document.get(section, [])) for section in CHOICES}
    inputs |= {"drift_limits": _drift_limits(path, document.get("drift_limits", []))}
    try:
        settings = StudySettings(
            study_name=document.get("study_name", ""), study_file_name=path.name, **chosen
        )
        study = Study(settings=settings, folder=path.absolute().parent, **inputs)
    except ValidationError as error:
        raise StudyError(_validation_sentence(error, path)) from None
    _refuse_incomplete(study, path)
    return _without_absent(study)


def _without_absent(study: Study) -> Study:
    """Leave out optional test sets at whose path nothing lies."""
    absent = tuple(
        test_set.name
        for test_set in study.test_sets
        if test_set.is_optional
        and test_set.files is not None
        and not Path(study.resolve(test_set.files)).exists()
    )
    here = tuple(test_set for test_set in study.test_sets if test_set.name not in absent)
    return study.model_copy(update={"test_sets": here, "absent_test_sets": absent})


def _refuse_incomplete(study: Study, path: Path) -> None:
    """Refuse a study of which one part lacks another."""
    has_texts = any(test_set.story_source is None for test_set in study.test_sets)
    inputs = study.stories, study.generations, study.diversity_vectors, study.forecasts
    if not (any(inputs) or has_texts):
        raise StudyError(
            f"a study must name at least one input, got none in {path}; add stories, generations, "
            "diversity_vectors, forecasts, or test_sets with a path, filings or edgar."
        )
    if study.decoding_strategies and not study.language_models:
        raise StudyError(
            "a study that generates must name language_models and decoding_strategies, got only "
            f"one of them in {path}; add the other."
        )
    if study.language_models and not (study.decoding_strategies or study.test_sets):
        raise StudyError(
            "a study that generates must name language_models and decoding_strategies, and one "
            f"that scores language_models and test_sets, got only language_models in {path}; add "
            "one of the others."
        )
    if study.test_sets and not (study.scored_language_models or study.trained_language_models):
        raise StudyError(
            "a study with test_sets must name language_models that score them, got none in "
            f"{path}; add language_models, or trained_language_models."
        )
    names = [test_set.name for test_set in study.test_sets]
    _refuse_twice("test set", names, path)
    writers = [choice.name for choice in study.language_models]
    _refuse_twice("language model", writers, path)
    strategies = [choice.name for choice in study.decoding_strategies]
    _refuse_twice("decoding strategy", strategies, path)
    trained = [each.name for each in study.scored_language_models]
    for choice in study.trained_language_models:
        trained += [spec.language_model_name for spec in choice.specs("")]
    _refuse_twice("language model", trained, path)
    for choice in study.trained_language_models:
        unknown = sorted(set(choice.test_sets) - set(names))
        if unknown:
            raise StudyError(
                f"{choice.name} must score test sets of the study, got {unknown[0]!r} in {path}; "
                f"its test sets are {', '.join(names)}."
            )


def _refuse_twice(kind: str, names: Sequence[str], path: Path) -> None:
    """Refuse a name that stands for two things: their rows would be taken for one another's."""
    twice = sorted({name for name in names if names.count(name) > 1})
    if twice:
        raise StudyError(
            f"every {kind} must have a name of its own, got {twice[0]!r} twice in {path}."
        )


def _layouts(path: Path, section: str, entries: object) -> tuple[object, ...]:
    """Return the inputs that *section* lists, checked."""
    listed = _mappings(path, section, "path", entries)
    layout = LAYOUTS[section]
    known = frozenset(field.name for field in fields(layout))
    found = []
    for entry in listed:
        _refuse_unknown_keys(entry, known, f"{path}, {section}")
        try:
            found.append(layout(**entry))
        except ValidationError as error:
            raise StudyError(_validation_sentence(error, path, section)) from None
    return tuple(found)


def _choices(path: Path, section: str, entries: object) -> tuple[dict[str, Any], ...]:
    """Return what *section* names, keys checked; a name alone as the mapping it stands for."""
    given = with_names_as_mappings(entries) if isinstance(entries, list) else entries
    listed = _mappings(path, section, "name", given)
    for entry in listed:
        _refuse_unknown_keys(entry, frozenset(CHOICES[section].model_fields), f"{path}, {section}")
    return listed


def _drift_limits(path: Path, entries: object) -> tuple[dict[str, Any], ...]:
    """Return the limits that the study sets, keys checked."""
    listed = _mappings(path, "drift_limits", "measure_name", entries)
    for entry in listed:
        _refuse_unknown_keys(entry, frozenset(DriftLimit.model_fields), f"{path}, drift_limits")
    return listed


def _mappings(
    path: Path, section: str, first_key: str, entries: object
) -> tuple[dict[str, Any], ...]:
    is_list = isinstance(entries, list | tuple)
    if not is_list or not all(isinstance(entry, dict) for entry in entries):  # type: ignore[attr-defined]
        raise StudyError(
            f"{section} must be a list of mappings that each have a {first_key}, "
            f"got {entries!r} in {path}; write '- {first_key}: …'."
        )
    return tuple(entries)  # type: ignore[arg-type]


def new_study(name: str) -> StudySettings:
    """Return the default settings of a study called *name*.

    Raises
    ------
    StudyError
        The name holds something else than letters, digits, dots, hyphens and underscores.
    """
    _require_study_name(name, "choose one with --name.")
    return StudySettings(study_name=name)


def _require_study_name(name: object, remedy: str) -> None:
    if not isinstance(name, str) or re.fullmatch(STUDY_NAME, name) is None:
        raise StudyError(
            "a study name must be up to 64 ASCII letters, digits, dots, hyphens and underscores, "
            f"starting with a letter or digit, got {name!r}; {remedy}"
        )


def settings_with(settings: StudySettings, **changes: object) -> StudySettings:
    """Return *settings* with *changes* applied and checked; None means unchanged, `ALL` no limit.

    Raises
    ------
    StudyError
        A changed value is out of range.
    """
    given = {
        name: None if value == ALL else value
        for name, value in changes.items()
        if value is not None
    }
    try:
        return StudySettings(**{**settings.model_dump(), **given})
    except ValidationError as error:
        raise StudyError(_validation_sentence(error, None)) from None


def _read_mapping(path: Path) -> dict[str, Any]:
    try:
        text = path.read_text(encoding="utf-8")
    except FileNotFoundError:
        raise StudyError(f"a study file must exist, found none at {path}.") from None
    except (OSError, UnicodeDecodeError) as error:
        raise StudyError(f"{path} must be a readable UTF-8 study file: {error}.") from None
    try:
        document = yaml.load(text, Loader=_UniqueKeyLoader)  # noqa: S506 - a SafeLoader
    except yaml.YAMLError as error:
        mark = getattr(error, "problem_mark", None)
        place = f", line {mark.line + 1}" if mark is not None else ""
        problem = getattr(error, "problem", None) or str(error)
        raise StudyError(f"{path}{place} must be valid YAML: {problem}.") from None
    if not isinstance(document, dict):
        raise StudyError(f"{path} must hold a mapping of keys to values, got {document!r}.")
    return document


def _refuse_unknown_keys(mapping: dict[str, Any], known: frozenset[str], place: str) -> None:
    for key in mapping:
        if key not in known:
            near = difflib.get_close_matches(str(key), known, n=1)
            hint = (
                f"did you mean {near[0]}?" if near else f"known keys: {', '.join(sorted(known))}."
            )
            raise StudyError(f"every key must be known, got {key!r} in {place}; {hint}")


def _validation_sentence(
    error: ValidationError, path: Path | None, section: str | None = None
) -> str:
    first = error.errors()[0]
    names = [str(part) for part in first["loc"]]
    name = ".".join(names if section is None else [section, *names]) or "settings"
    place = f" in {path}" if path is not None else ""
    got = "" if first["type"] == "missing" or not first["loc"] else f", got {first['input']!r}"
    return f"{name} must be valid{got}{place}: {first['msg']}."
