"""Claims about a completions endpoint, held against a server of another project on loopback."""

from __future__ import annotations

import contextlib
import os
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import httpx
import pytest

from flows import generate as generate_module
from flows.generate import generate_study
from flows.language_models.completions_endpoint import CompletionsEndpoint
from flows.language_models.endpoint_options import server_options
from flows.language_models.errors import EndpointError, EndpointUnavailableError
from flows.language_models.ready_made import LanguageModelEntry
from flows.language_models.samples import GenerationLimits, SampleRequest
from flows.language_models.strategies import GCV_STRATEGY_NAMES, strategy_named
from flows.language_models.templates import choose_template
from flows.settings import Settings
from tests.generation.conftest import PROMPTS, MakeStudy
from tests.generation.loopback import line_to
from tests.language_models.tiny_language_model import tiny_language_model
from udfs.identity import content_id
from warehouse.connection import open_warehouse, work_path

pytestmark = pytest.mark.timeout(600)

LIMITS = GenerationLimits(8)


@pytest.fixture(scope="module")
def port(tiny_folder: Path) -> Iterator[int]:
    """The server of transformers with the tiny weights, in a process of its own."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    options = ["--host", "127.0.0.1", "--port", str(port), "--device", "cpu", "--dtype", "float32"]
    program = Path(sys.executable).with_name("transformers")
    process = subprocess.Popen(
        [program, "serve", str(tiny_folder), *options],
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        env=os.environ | {"HF_HUB_OFFLINE": "1", "OMP_NUM_THREADS": "1"},
    )
    try:
        deadline = time.monotonic() + 240
        while time.monotonic() < deadline and process.poll() is None:
            with contextlib.suppress(httpx.HTTPError):
                if httpx.get(f"http://127.0.0.1:{port}/health", timeout=2).status_code == 200:
                    break
            time.sleep(0.2)
        yield port
    finally:
        process.kill()
        process.wait(timeout=60)


@pytest.fixture
def server(port: int) -> str:
    return f"http://127.0.0.1:{port}/v1"


def endpoint(url: str, folder: Path) -> CompletionsEndpoint:
    entry = LanguageModelEntry(
        "served", str(folder), endpoint=url, endpoint_server="transformers", template="plain"
    )
    return CompletionsEndpoint(entry, choose_template(None, "plain", "the test"), 4)


def requests(samples: int = 3) -> list[SampleRequest]:
    return [SampleRequest(content_id("endpoint", index), PROMPTS[1]) for index in range(samples)]


def test_greedy_stories_of_a_server_are_those_of_the_same_weights_loaded_here(
    server: str, tiny_folder: Path
) -> None:
    # The tiny tokenizer adds no begin token of its own, so the frame here goes without one too.
    here = tiny_language_model()
    here._template.tokenizer.bos_token = None
    greedy = strategy_named("greedy")
    ours = here.write(requests(1), greedy, LIMITS)[0]
    theirs = endpoint(server, tiny_folder).write(requests(1), greedy, LIMITS)[0]
    assert theirs.text == ours.text
    assert (theirs.stop_reason, theirs.story_token_count) == (ours.stop_reason, 8)
    assert theirs.prompt_token_count == ours.prompt_token_count
    assert theirs.trace is None


@pytest.mark.parametrize("name", GCV_STRATEGY_NAMES)
def test_a_server_writes_a_story_per_request_by_every_strategy(
    server: str, tiny_folder: Path, name: str
) -> None:
    written = endpoint(server, tiny_folder).write(requests(), strategy_named(name), LIMITS)
    assert [sample.sample_key for sample in written] == [
        request.sample_key for request in requests()
    ]
    assert all(sample.text for sample in written)


@pytest.mark.usefixtures("harness")
def test_an_endpoint_that_dies_midway_is_one_sentence_and_the_next_start_goes_on(
    settings: Settings,
    make_study: MakeStudy,
    tiny_folder: Path,
    monkeypatch: pytest.MonkeyPatch,
    port: int,
) -> None:
    monkeypatch.setattr(generate_module.generate_batch, "retry_delay_seconds", [0.1, 0.1, 0.1])

    def study(port: int) -> Path:
        model = {
            "name": "served",
            "weights": str(tiny_folder),
            "endpoint": f"http://127.0.0.1:{port}/v1",
            "endpoint_server": "transformers",
        }
        return make_study(language_models=[model], decoding_strategies=["temperature_1.2"])

    # Two batches of four stories, each over as many connections at most, and one that is cut off.
    with (
        line_to(port, exchanges=9) as cut_off,
        pytest.raises(EndpointUnavailableError, match="start the server and run again"),
    ):
        generate_study(settings, study(cut_off))
    asked = 3 * len(PROMPTS)
    with open_warehouse(work_path(settings.home), read_only=True) as connection:
        rows = connection.execute(
            "select status, stop_reason is null, text_id is null, count(*) from raw.stories "
            "where story_kind = 'generated' group by all"
        ).fetchall()
    assert sum(row[-1] for row in rows) in range(8, asked)
    assert not any(is_missing for row in rows for is_missing in row[1:3])
    # At another port it is the same language model: only what was missing is asked for.
    report = generate_study(settings, study(port))
    assert sum(report.status_counts.values()) == asked - sum(row[-1] for row in rows)


def test_an_address_that_is_no_completions_endpoint_is_refused(
    server: str, tiny_folder: Path
) -> None:
    elsewhere = endpoint(server.removesuffix("/v1"), tiny_folder)
    with pytest.raises(EndpointError, match="must accept a completion, answered 404"):
        elsewhere.write(requests(1), strategy_named("greedy"), LIMITS)


def test_a_strategy_that_a_server_cannot_do_is_refused_before_it_is_asked() -> None:
    with pytest.raises(EndpointError, match="endpoint of vllm must be able to do typical_mass"):
        server_options("vllm", strategy_named("typical_0.95"))


def test_what_a_server_does_by_default_is_switched_off() -> None:
    sent = server_options("llama.cpp", strategy_named("temperature_0.7"))
    assert (sent["top_k"], sent["top_p"], sent["min_p"]) == (0, 1.0, 0.0)
    assert (sent["typical_p"], sent["repeat_penalty"], sent["temperature"]) == (1.0, 1.0, 0.7)
    # Whatever its own command line says, it has no other sampler, and the temperature comes first.
    assert sent["samplers"] == ["temperature", "top_k", "top_p", "typ_p"]
