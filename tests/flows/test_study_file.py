"""Claims about the study file: strict, safe, and one sentence per mistake."""

from __future__ import annotations

import math
from pathlib import Path

import pytest

from flows.language_models.errors import DecodingError
from flows.settings import SettingsError, load_settings
from flows.study import SMALL_STUDY, StudyError, StudySettings, load_study, settings_with

GOOD = "study_name: tales\nstories:\n  - path: stories.jsonl\n"


def study(tmp_path: Path, text: str) -> Path:
    path = tmp_path / "study.yml"
    path.write_text(text, encoding="utf-8")
    return path


def test_a_minimal_study_takes_the_selection_of_the_design(tmp_path: Path) -> None:
    settings = load_study(study(tmp_path, GOOD)).settings
    assert (settings.minimum_prompt_characters, settings.maximum_prompt_characters) == (20, 500)
    assert (settings.minimum_story_tokens, settings.maximum_story_tokens) == (52, 987)
    assert (settings.stories_per_prompt, settings.prompt_count) == (10, 500)
    assert (settings.embedding_max_tokens, settings.tagging_max_characters) == (256, 5000)


def test_paths_start_at_the_study_file(tmp_path: Path) -> None:
    loaded = load_study(study(tmp_path, GOOD))
    (tmp_path / "stories.jsonl").touch()
    assert loaded.resolve("stories.jsonl") == str(tmp_path / "stories.jsonl")
    assert loaded.resolve("owner/name") == str(tmp_path / "owner" / "name")
    assert loaded.resolve("hf:owner/name") == "hf:owner/name"


def test_the_shipped_study_is_valid_and_its_files_are_there() -> None:
    loaded = load_study(SMALL_STUDY)
    inputs = [*loaded.stories, *loaded.generations]
    assert inputs
    assert all(Path(loaded.resolve(entry.path)).is_file() for entry in inputs)


def test_the_study_of_filings_has_every_engine_and_text_that_the_document_reports() -> None:
    """Five discounts, ten penalties and four seeds; text run on, shifted both ways, and real."""
    loaded = load_study(SMALL_STUDY.with_name("filings.yml"))
    scored = {
        (spec.kind.value, spec.vocabulary_tokens, test_set)
        for choice in loaded.trained_language_models
        for spec in choice.specs("")
        for test_set in choice.test_sets
    }
    shifted = ("continuation", "more_rare_words", "fewer_rare_words")
    assert scored >= {
        ("kneser_ney_trigram", tokens, name) for tokens in (None, 512) for name in shifted
    }
    specs = [spec for each in loaded.trained_language_models for spec in each.specs("")]
    full = [spec for spec in specs if spec.vocabulary_tokens is None]
    assert sorted(spec.discount_factor for spec in full if spec.discount_factor) == [
        0.1, 0.25, 0.5, 1.0, math.inf,
    ]  # fmt: skip
    assert len({spec.penalty for spec in specs if spec.penalty}) == 10
    decoders = [spec for spec in specs if spec.kind.value == "decoder"]
    assert len({spec.seed for spec in decoders}) == 4
    assert {spec.step_count for spec in decoders} == {1_200}
    here = {test_set.name for test_set in loaded.test_sets} | set(loaded.absent_test_sets)
    assert here == {*shifted, "held", "edgar", "facts"}


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        (GOOD + "storys_per_prompt: 8\n", "'storys_per_prompt' .*did you mean stories_per_prompt"),
        ("study_name: t\nstories:\n  - path: a\n    textcolumn: b\n", "did you mean text_column"),
        (GOOD + "stories_per_prompt: 1\n", "stories_per_prompt must be valid, got 1"),
        (GOOD + "stories_per_prompt: '10'\n", "stories_per_prompt must be valid, got '10'"),
        (GOOD + "prompt_count: 3\n", "prompt_count must be valid, got 3"),
        (GOOD + "minimum_story_tokens: 99\nmaximum_story_tokens: 9\n", "at most"),
        (GOOD + "study_name: again\n", "line 4 must be valid YAML: key 'study_name' is given"),
        (
            "study_name: 'a b'\nstories:\n  - path: x\n",
            "with a letter or digit, got 'a b'; say study_name: NAME in",
        ),
        ("study_name: t\n", "at least one input"),
        ("study_name: t\nstories: x.jsonl\n", "must be a list"),
        ("- a\n- b\n", "mapping"),
        ("a: [1,\n", "line 2 must be valid YAML"),
        ("a: !!python/object/apply:os.system ['true']\n", "must be valid YAML"),
    ],
)
def test_a_mistake_is_one_sentence_with_its_place(tmp_path: Path, text: str, sentence: str) -> None:
    with pytest.raises(StudyError, match=sentence) as caught:
        load_study(study(tmp_path, text))
    assert "study.yml" in str(caught.value)
    assert "\n" not in str(caught.value)


def test_a_missing_study_file_is_named(tmp_path: Path) -> None:
    with pytest.raises(StudyError, match=r"found none at .*nowhere\.yml"):
        load_study(tmp_path / "nowhere.yml")


def test_an_option_out_of_range_is_refused() -> None:
    with pytest.raises(StudyError, match="stories_per_prompt must be valid, got 0"):
        settings_with(StudySettings(study_name="t"), stories_per_prompt=0)


def test_an_unusable_variable_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CALIBRARY_TASK_RUNNER", "horses")
    with pytest.raises(SettingsError, match="CALIBRARY_TASK_RUNNER must be usable, got 'horses'"):
        load_settings()


def test_the_home_option_wins_over_the_environment(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("CALIBRARY_HOME", "/elsewhere")
    assert load_settings(tmp_path / "here").home == tmp_path / "here"
    assert load_settings().home == Path("/elsewhere")


WRITERS = GOOD + "language_models: [{name: m, weights: w}]\ndecoding_strategies: [greedy]\n"


@pytest.mark.parametrize(
    ("was", "becomes", "sentence"),
    [
        ("[greedy]", "[greedy, greedy]", "decoding strategy must have a name of its own, got 'gre"),
        (
            "w}]",
            "w}, {name: m, weights: v}]",
            "language model must have a name of its own, got 'm'",
        ),
        ("w}", "w, endpoint: 'http://'}", "must be http://HOST:PORT/v1"),
        ("w}", "w, endpoint: 'http://h:99999/v1'}", "Port out of range"),
        ("w}", "w, endpoint_server: vllm}", "endpoint_server says nothing without an endpoint"),
        ("w}", "w, log_probabilities: none}", "log_probabilities says nothing without an endpoint"),
        ("w}", "w, endpoint: 'http://h/v1', quantization: nf4}", "nothing at an endpoint"),
        (
            "[greedy]\n",
            f"[greedy]\ngeneration: {{seed: {2**63}}}\n",
            "generation.seed must be valid",
        ),
        (
            "[greedy]\n",
            "[greedy]\ngeneration: {samples_per_prompt: 10000000}\n",
            "less than or equal",
        ),
    ],
)
def test_what_would_be_passed_over_or_mixed_up_is_refused(
    tmp_path: Path, was: str, becomes: str, sentence: str
) -> None:
    assert load_study(study(tmp_path, WRITERS)).language_models
    with pytest.raises(StudyError, match=sentence):
        load_study(study(tmp_path, WRITERS.replace(was, becomes)))


@pytest.mark.parametrize(
    "parameters", ["sampling_temperature: 2.0", "top_k: 5", "top_k: 40, nucleus_mass: 0.9"]
)
def test_a_strategy_with_a_speaking_name_is_what_its_name_says(
    tmp_path: Path, parameters: str
) -> None:
    changed = WRITERS.replace("[greedy]", f"[{{name: top_k_40, {parameters}}}]")
    with pytest.raises(DecodingError, match="called top_k_40 must be what that name says"):
        load_study(study(tmp_path, changed)).decoding_strategies[0].strategy()
    spelled_out = WRITERS.replace("[greedy]", "[{name: top_k_40, top_k: 40}]")
    assert load_study(study(tmp_path, spelled_out)).decoding_strategies[0].strategy().top_k == 40
