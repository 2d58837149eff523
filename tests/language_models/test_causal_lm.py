"""Claims about writing stories with a causal language model, held against the library's own."""

from __future__ import annotations

import gc
import importlib.util
import itertools
from pathlib import Path
from typing import Any

import pytest
import torch
from tokenizers import AddedToken
from torch import nn

from flows.language_models.causal_lm import load_causal_lm, resolve_causal_lm
from flows.language_models.errors import LanguageModelError
from flows.language_models.ready_made import LanguageModelEntry
from flows.language_models.samples import GeneratedSample, GenerationLimits, SampleRequest
from flows.language_models.strategies import strategy_named
from flows.language_models.templates import PLAIN_FRAME, choose_template
from tests.language_models.tiny_language_model import (
    BOS,
    CHAT_TEMPLATE,
    EOS,
    WORDS,
    save_tiny,
    tiny_language_model,
    tiny_tokenizer,
    tiny_weights,
    without_end,
)
from udfs.identity import content_id

SHORT = "w1 w2"
LONG = " ".join(WORDS[:50])
LIMITS = GenerationLimits(24)


def requests(*prompts: str, samples: int = 4) -> list[SampleRequest]:
    return [
        SampleRequest(content_id("sample", prompt, index), prompt)
        for prompt in prompts
        for index in range(samples)
    ]


def tokens(samples: list[GeneratedSample]) -> dict[str, list[int]]:
    return {
        sample.sample_key: sample.trace.token_ids.tolist()
        for sample in samples
        if sample.trace is not None
    }


def test_greedy_decoding_is_the_library_s_generate_token_for_token() -> None:
    weights, tokenizer = tiny_weights(), tiny_tokenizer()
    ours = tiny_language_model(weights).write(
        requests(SHORT, LONG, samples=1), strategy_named("greedy"), LIMITS
    )
    for sample, prompt in zip(ours, (SHORT, LONG), strict=True):
        ids = tokenizer(PLAIN_FRAME.format(prompt=prompt), add_special_tokens=False).input_ids
        given = torch.tensor([[tokenizer.bos_token_id, *ids]])
        theirs = weights.generate(
            given, attention_mask=torch.ones_like(given), max_new_tokens=24, do_sample=False
        )
        assert sample.trace is not None
        assert sample.trace.token_ids.tolist() == theirs[0, given.shape[1] :].tolist()


@pytest.mark.parametrize("name", ["temperature_1.2", "top_k_5", "top_p_0.9", "typical_0.95"])
def test_recorded_values_are_those_of_a_teacher_forced_pass(name: str) -> None:
    weights, tokenizer = tiny_weights(), tiny_tokenizer()
    strategy = strategy_named(name)
    samples = tiny_language_model(weights).write(requests(SHORT, LONG), strategy, LIMITS)
    for sample, prompt in zip(samples, [SHORT] * 4 + [LONG] * 4, strict=True):
        trace = sample.trace
        assert trace is not None
        framed = tokenizer(PLAIN_FRAME.format(prompt=prompt), add_special_tokens=False).input_ids
        given = [tokenizer.bos_token_id, *framed]
        with torch.inference_mode():
            logits = weights(torch.tensor([[*given, *trace.token_ids.tolist()]])).logits[0]
        forecasts = logits[len(given) - 1 : -1].double()
        log_probabilities = forecasts.log_softmax(1)
        chosen = torch.from_numpy(trace.token_ids).long()[:, None]
        assert trace.log_probability_nats == pytest.approx(
            log_probabilities.gather(1, chosen)[:, 0].numpy(), abs=1e-4
        )
        assert trace.confidence == pytest.approx(log_probabilities.exp().amax(1).numpy(), abs=1e-4)
        if name == "temperature_1.2":
            warped = (forecasts / 1.2).log_softmax(1)
            assert trace.sampling_log_probability_nats == pytest.approx(
                warped.gather(1, chosen)[:, 0].numpy(), abs=1e-4
            )
            assert trace.sampling_confidence == pytest.approx(
                warped.exp().amax(1).numpy(), abs=1e-4
            )


@pytest.mark.parametrize("name", ["temperature_1.2", "top_p_0.9"])
def test_samples_depend_on_their_key_alone(name: str) -> None:
    """Batch size 1 and 16, another order, a part only: the same tokens in float32."""
    weights, strategy = tiny_weights(), strategy_named(name)
    asked = requests(SHORT, LONG, "w7", samples=6)
    whole = tokens(tiny_language_model(weights, batch_size=16).write(asked, strategy, LIMITS))
    alone = tokens(tiny_language_model(weights, batch_size=1).write(asked, strategy, LIMITS))
    turned = tokens(tiny_language_model(weights, batch_size=5).write(asked[::-1], strategy, LIMITS))
    part = tokens(tiny_language_model(weights).write(asked[7:9], strategy, LIMITS))
    assert whole == alone == turned
    assert part == {key: whole[key] for key in part}
    assert len({tuple(found) for found in whole.values()}) > len(asked) / 2


def test_a_short_prompt_gives_the_same_tokens_alone_and_beside_a_long_one() -> None:
    writer, strategy = tiny_language_model(), strategy_named("temperature_0.7")
    alone = writer.write(requests(SHORT), strategy, LIMITS)
    beside = writer.write([*requests(LONG), *requests(SHORT)], strategy, LIMITS)
    assert beside[-1].padded_token_count == 1 + len(PLAIN_FRAME.format(prompt=LONG).split())
    assert tokens(alone).items() <= tokens(beside).items()


def test_a_longer_limit_continues_the_same_story() -> None:
    writer, strategy = tiny_language_model(), strategy_named("temperature_1.2")
    short = writer.write(requests(SHORT), strategy, GenerationLimits(5))
    longer = writer.write(requests(SHORT), strategy, GenerationLimits(30))
    found = tokens(longer)
    assert all(found[key][:5] == ids for key, ids in tokens(short).items())


def test_a_model_that_gives_only_the_end_token_leaves_empty_stories() -> None:
    weights = without_end(tiny_weights())
    weights.lm_head.bias[2] = 1e6
    samples = tiny_language_model(weights).write(
        requests(SHORT), strategy_named("temperature_1.2"), LIMITS
    )
    assert {(sample.text, sample.stop_reason, sample.story_token_count) for sample in samples} == {
        ("", "eos", 0)
    }


def test_a_story_that_reaches_the_limit_says_so_and_has_that_many_tokens() -> None:
    samples = tiny_language_model(without_end(tiny_weights())).write(
        requests(SHORT), strategy_named("temperature_1.2"), LIMITS
    )
    assert {(sample.stop_reason, sample.story_token_count) for sample in samples} == {
        ("length", 24)
    }


def test_a_stop_string_ends_the_story_before_it_by_token_index() -> None:
    writer = tiny_language_model(without_end(tiny_weights()))
    strategy = strategy_named("temperature_1.2")
    whole = writer.write(requests(SHORT, samples=1), strategy, LIMITS)[0]
    assert whole.text is not None
    words = whole.text.split()
    stopped = writer.write(
        requests(SHORT, samples=1), strategy, GenerationLimits(24, (f" {words[6]}",))
    )[0]
    first = words.index(words[6])
    assert stopped.stop_reason == "stop_string"
    assert stopped.story_token_count == first
    assert stopped.text == " ".join(words[:first])
    assert stopped.trace is not None
    assert len(stopped.trace.token_ids) == first + 1


def test_a_prompt_beyond_the_context_fails_with_the_counts_and_leaves_the_others_alone() -> None:
    samples = tiny_language_model().write(
        requests(" ".join(WORDS * 3), SHORT, samples=1), strategy_named("greedy"), LIMITS
    )
    assert samples[0].text is None
    assert samples[0].failure is not None
    assert "context of 128 tokens, got 183" in samples[0].failure
    assert samples[1].text is not None


class Shortage(nn.Module):
    """Real weights behind a memory that holds three rows, as a GPU's would refuse a fourth."""

    def __init__(self, weights: Any, rows: int) -> None:
        super().__init__()
        self.weights, self.rows = weights, rows
        self.config, self.generation_config = weights.config, weights.generation_config
        self.refusals = 0

    def forward(
        self, input_ids: Any, attention_mask: Any, position_ids: Any, cache: Any, use_cache: bool
    ) -> Any:
        if len(input_ids) > self.rows:
            self.refusals += 1
            raise torch.OutOfMemoryError("out of memory")
        return self.weights(
            input_ids=input_ids,
            attention_mask=attention_mask,
            position_ids=position_ids,
            cache=cache,
            use_cache=use_cache,
        )


def test_out_of_memory_halves_the_batch_and_changes_no_sample() -> None:
    weights, strategy = tiny_weights(), strategy_named("temperature_1.2")
    asked = requests(SHORT, LONG, samples=5)
    short_of_memory = Shortage(weights, rows=3)
    writer = tiny_language_model(short_of_memory, batch_size=10)
    assert tokens(writer.write(asked, strategy, LIMITS)) == tokens(
        tiny_language_model(weights).write(asked, strategy, LIMITS)
    )
    assert (writer.batch_size, short_of_memory.refusals) == (2, 2)


def test_no_score_tensor_outlives_its_step() -> None:
    weights, live = without_end(tiny_weights()), {}
    step = itertools.count(1)

    def count_scores(*_: object) -> None:
        if (now := next(step)) in {2, 40}:
            live[now] = sum(
                type(each) is torch.Tensor and each.shape[-1:] == (weights.config.vocab_size,)
                for each in gc.get_objects()
            )

    weights.register_forward_hook(count_scores)
    tiny_language_model(weights).write(
        requests(SHORT, samples=2), strategy_named("typical_0.95"), GenerationLimits(40)
    )
    # As many after the last token as after the second: memory does not grow with the story.
    assert live[40] == live[2] > 0


def test_memory_that_cannot_hold_one_story_is_a_failed_sample_with_a_sentence() -> None:
    samples = tiny_language_model(Shortage(tiny_weights(), rows=0)).write(
        requests(SHORT, samples=2), strategy_named("greedy"), LIMITS
    )
    assert all("memory" in (sample.failure or "") for sample in samples)


def test_logits_that_are_no_numbers_are_a_failed_sample() -> None:
    weights = without_end(tiny_weights())
    weights.lm_head.bias[5] = float("nan")
    samples = tiny_language_model(weights).write(
        requests(SHORT, samples=1), strategy_named("temperature_0.7"), LIMITS
    )
    assert (samples[0].text, samples[0].stop_reason, samples[0].trace) == (None, None, None)
    assert "finite" in (samples[0].failure or "")


@pytest.mark.parametrize(
    "chat_template", [CHAT_TEMPLATE, CHAT_TEMPLATE.replace("{{ bos_token }}", "<s><s>")]
)
def test_a_framed_prompt_has_one_begin_token(chat_template: str) -> None:
    tokenizer = tiny_tokenizer(chat_template=chat_template)
    for choice in ("plain", "chat"):
        framed = choose_template(tokenizer, choice, "the test").framed(SHORT)
        assert framed[0] == tokenizer.bos_token_id
        assert framed.count(tokenizer.bos_token_id) == 1


@pytest.mark.parametrize("spelled", [EOS, BOS])
def test_a_prompt_that_spells_out_a_special_token_fails_alone(spelled: str) -> None:
    """Outside text is no markup: it could end the turn that it stands in."""
    samples = tiny_language_model().write(
        requests(f"w1 {spelled} w2", SHORT, samples=1), strategy_named("greedy"), LIMITS
    )
    assert samples[0].text is None
    assert repr(spelled) in (samples[0].failure or "")
    assert samples[1].text is not None


def test_a_special_token_without_a_name_is_one_too() -> None:
    tokenizer = tiny_tokenizer()
    template = choose_template(tokenizer, "plain", "the test")
    assert template.refusal("w1 <turn> w2") is None
    tokenizer.add_tokens([AddedToken("<turn>", special=True)])
    assert "'<turn>'" in (template.refusal("w1 <turn> w2") or "")


def test_chatting_without_a_template_is_refused_and_auto_falls_back_to_the_frame() -> None:
    with pytest.raises(LanguageModelError, match=r"found none in tiny; write template: plain"):
        choose_template(tiny_tokenizer(), "chat", "tiny")
    assert choose_template(tiny_tokenizer(), "auto", "tiny").template_name == "plain"


def test_a_folder_is_loaded_and_identified_by_its_contents(tmp_path: Path) -> None:
    first = LanguageModelEntry("tiny", str(save_tiny(tmp_path / "a")))
    same = LanguageModelEntry("tiny", str(save_tiny(tmp_path / "b")))
    other = LanguageModelEntry("tiny", str(save_tiny(tmp_path / "c", seed=6)))
    found = [resolve_causal_lm(entry, tmp_path / "cache", "cpu") for entry in (first, same, other)]
    revisions = [resolved.identity.language_model_revision for resolved in found]
    assert revisions[0] == revisions[1] != revisions[2]
    assert found[0].identity.dtype_name == "float32"
    assert found[0].identity.weights_name == "a"
    writer = load_causal_lm(found[0], 4)
    assert writer.identity.context_tokens == 128
    sample = writer.write(requests(SHORT, samples=1), strategy_named("greedy"), LIMITS)[0]
    expected = tiny_language_model().write(
        requests(SHORT, samples=1), strategy_named("greedy"), LIMITS
    )[0]
    assert sample.text == expected.text
    assert EOS not in (sample.text or "")


def test_pickled_weights_are_refused(tmp_path: Path) -> None:
    folder = save_tiny(tmp_path / "pickled")
    (folder / "model.safetensors").unlink()
    torch.save({}, folder / "pytorch_model.bin")
    with pytest.raises(LanguageModelError, match="must hold safetensors, found none"):
        resolve_causal_lm(LanguageModelEntry("tiny", str(folder)), tmp_path, "cpu")


def test_a_4_bit_load_where_it_cannot_be_is_one_sentence(tmp_path: Path) -> None:
    if importlib.util.find_spec("bitsandbytes") is not None:
        pytest.skip("bitsandbytes is installed (extra gpu), so that nothing is missing to be said")
    entry = LanguageModelEntry("tiny", str(save_tiny(tmp_path / "tiny")), quantization="nf4")
    resolved = resolve_causal_lm(entry, tmp_path, "cpu")
    with pytest.raises(LanguageModelError, match="bitsandbytes installed, found none"):
        load_causal_lm(resolved, 4)
