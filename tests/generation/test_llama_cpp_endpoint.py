"""Claims about llama.cpp's own server, held against a forward pass over the weights it serves.

It runs where ``llama-server`` is on the path, or where ``CALIBRARY_LLAMA_SERVER`` says it is. No
package of ours brings it: compiling it takes twenty minutes of two cores.
"""

from __future__ import annotations

import contextlib
import os
import shutil
import socket
import subprocess
import time
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import httpx
import numpy as np
import pytest
import torch
from transformers import AutoModelForCausalLM

from flows.language_models.completions_endpoint import CompletionsEndpoint
from flows.language_models.decoding import sampling_log_probabilities
from flows.language_models.ready_made import LanguageModelEntry
from flows.language_models.samples import GeneratedSample, GenerationLimits, SampleRequest
from flows.language_models.strategies import DecodingStrategy, strategy_named
from flows.language_models.templates import choose_template
from tests.generation.tiny_gguf import write_tiny_gguf
from udfs.identity import content_id

PROGRAM = os.environ.get("CALIBRARY_LLAMA_SERVER") or shutil.which("llama-server")

pytestmark = [
    pytest.mark.timeout(600),
    pytest.mark.skipif(PROGRAM is None, reason="llama-server is not installed"),
]

PROMPT = "A prompt about a lighthouse."
LIMITS = GenerationLimits(24)
CONTEXT_TOKENS = 256
PRECISION = 1e-4
"""Of log-probabilities in float32 on both sides, in nats."""


@dataclass(frozen=True)
class Served:
    """A running server, and the same weights here."""

    url: str
    weights: Any

    def tokens(self, text: str) -> list[int]:
        answer = httpx.post(f"{self.url.removesuffix('/v1')}/tokenize", json={"content": text})
        found: list[int] = answer.json()["tokens"]
        return found

    def log_probabilities(self, token_ids: list[int]) -> torch.Tensor:
        """One row per token after the framed prompt, shape (tokens, vocabulary)."""
        given = self.tokens(choose_template(None, "plain", "the test").framed_text(PROMPT))
        with torch.inference_mode():
            logits = self.weights(torch.tensor([[*given, *token_ids]])).logits[0]
        return logits[len(given) - 1 : -1].double().log_softmax(1)

    def write(
        self,
        strategy: DecodingStrategy,
        limits: GenerationLimits = LIMITS,
        *,
        prompt: str = PROMPT,
        samples: int = 8,
    ) -> list[GeneratedSample]:
        entry = LanguageModelEntry("served", "it", endpoint=self.url, endpoint_server="llama.cpp")
        writer = CompletionsEndpoint(entry, choose_template(None, "plain", "the test"), 4)
        requests = [SampleRequest(content_id("llama", index), prompt) for index in range(samples)]
        return writer.write(requests, strategy, limits)


@pytest.fixture(scope="module")
def served(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    file = write_tiny_gguf(tmp_path_factory.mktemp("gguf") / "tiny.gguf")
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    # Its own order and cuts are what the requests have to overrule; keys and values it would round
    # to 16 bits, which moves a log-probability by up to 0.01 nats.
    options = ["--host", "127.0.0.1", "--port", str(port), "--threads", "1", "--parallel", "2"]
    model = ["--model", str(file), "--ctx-size", str(2 * CONTEXT_TOKENS), "--top-k", "3"]
    exact = ["--cache-type-k", "f32", "--cache-type-v", "f32", "--flash-attn", "off"]
    process = subprocess.Popen(
        [str(PROGRAM), *model, *options, *exact],
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    url = f"http://127.0.0.1:{port}"
    try:
        deadline = time.monotonic() + 60
        while time.monotonic() < deadline and process.poll() is None:
            with contextlib.suppress(httpx.HTTPError):
                if httpx.get(f"{url}/health", timeout=2).status_code == 200:
                    break
            time.sleep(0.1)
        weights = AutoModelForCausalLM.from_pretrained(
            file.parent, gguf_file=file.name, dtype=torch.float32
        )
        yield Served(f"{url}/v1", weights.eval())
    finally:
        process.kill()
        process.wait(timeout=60)


def known(samples: list[GeneratedSample]) -> list[GeneratedSample]:
    """Those whose every token has its value."""
    return [
        sample
        for sample in samples
        if sample.trace is not None and (sample.trace.token_ids >= 0).all()
    ]


@pytest.mark.parametrize("name", ["greedy", "temperature_0.7", "temperature_1.2", "top_k_40"])
def test_its_log_probabilities_are_those_of_the_unmodified_language_model(
    served: Served, name: str
) -> None:
    samples = known(served.write(strategy_named(name)))
    assert samples
    for sample in samples:
        assert sample.trace is not None
        ids = sample.trace.token_ids.tolist()
        forecasts = served.log_probabilities(ids)
        own = forecasts.gather(1, torch.tensor(ids)[:, None])[:, 0].numpy()
        assert sample.trace.log_probability_nats == pytest.approx(own, abs=PRECISION)
        likeliest = forecasts.exp().amax(1).numpy()
        assert sample.trace.confidence == pytest.approx(likeliest, abs=PRECISION)
        assert np.isnan(sample.trace.sampling_log_probability_nats).all()
        given = served.tokens(choose_template(None, "plain", "the test").framed_text(PROMPT))
        assert sample.prompt_token_count == len(given)


@pytest.mark.parametrize(
    "strategy",
    [
        strategy_named("greedy"),
        strategy_named("top_k_40"),
        strategy_named("top_p_0.9"),
        strategy_named("typical_0.95"),
        DecodingStrategy("both", sampling_temperature=0.5, top_k=20, nucleus_mass=0.6),
    ],
    ids=lambda strategy: strategy.decoding_strategy_name,
)
def test_it_draws_from_our_sets_and_from_all_of_them(
    served: Served, strategy: DecodingStrategy
) -> None:
    samples = known(served.write(strategy, samples=12))
    sizes, ranks = [], []
    for sample in samples:
        assert sample.trace is not None
        ids = sample.trace.token_ids.tolist()
        sampling = sampling_log_probabilities(served.log_probabilities(ids), strategy)
        came = sampling.gather(1, torch.tensor(ids)[:, None])
        # The set's last member can turn on the last bits of a cumulative sum.
        assert float(torch.isfinite(came).double().mean()) > 0.99
        sizes += torch.isfinite(sampling).sum(1).tolist()
        ranks += (sampling > came).sum(1).tolist()
    # Not from three alone, as the server was started to do, where the set has many more.
    assert max(ranks) >= 3 or max(sizes) <= 8


def test_a_story_ends_as_it_says_and_its_tokens_are_counted_without_the_end(
    served: Served,
) -> None:
    samples = served.write(strategy_named("temperature_0.7"), samples=16)
    assert {sample.stop_reason for sample in samples} == {"eos", "length"}
    for sample in samples:
        assert sample.trace is not None
        if sample.stop_reason == "length":
            assert sample.story_token_count == len(sample.trace.token_ids) == 24
        elif sample in known(samples):
            assert sample.story_token_count == len(sample.trace.token_ids) - 1


def test_a_character_of_several_tokens_leaves_no_value_behind(served: Served) -> None:
    samples = served.write(strategy_named("temperature_1.2"), samples=24)
    unknown = [sample for sample in samples if sample not in known(samples)]
    assert unknown, "some of 600 random tokens must be a part of a character"
    for sample in unknown:
        assert sample.trace is not None
        assert not (sample.text or "").isascii()
        assert np.isnan(sample.trace.log_probability_nats).all()


def test_a_stop_string_ends_the_story_before_it(served: Served) -> None:
    whole = served.write(strategy_named("greedy"), samples=1)[0]
    assert whole.trace is not None
    text = whole.text or ""
    # In the middle, so that it begins within a token and ends within another one.
    for stop in {text[len(text) // 2 :][:size] for size in (1, 4, 9)}:
        limits = GenerationLimits(24, (stop,))
        sample = served.write(strategy_named("greedy"), limits, samples=1)[0]
        assert sample.text == text[: text.index(stop)]
        assert sample.stop_reason in {"stop_string", None}
        assert sample.trace is not None
        if sample in known([sample]):
            count = sample.story_token_count
            assert count == len(sample.trace.token_ids)
            assert sample.trace.token_ids.tolist() == whole.trace.token_ids[:count].tolist()
            pieces = sample.trace.log_probability_nats
            assert pieces == pytest.approx(whole.trace.log_probability_nats[:count], abs=PRECISION)


def test_a_prompt_beyond_its_context_fails_with_its_own_words(served: Served) -> None:
    sample = served.write(strategy_named("greedy"), prompt="word " * 400, samples=1)[0]
    assert sample.text is None
    assert "exceeds the available context size" in (sample.failure or "")
