"""Fixtures that several test folders share."""

from __future__ import annotations

import gzip
import json
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path

import hypothesis
import pytest
from filelock import FileLock

from flows.settings import Settings, configure_environment, prepare_home
from warehouse.connection import snapshot_path

ROOT = Path(__file__).resolve().parent.parent

# Before any test module imports Prefect, which reads its settings once: no analytics, a server home
# of its own; and no hub, since what is tested must work offline.
_SETTINGS = Settings(home=Path(tempfile.mkdtemp(prefix="calibrary-tests-")))
prepare_home(_SETTINGS)
configure_environment(_SETTINGS)
os.environ.setdefault("HF_HUB_OFFLINE", "1")

# Properties are claims about values, not about time: a busy machine must not fail them.
hypothesis.settings.register_profile("calibrary", deadline=None)
hypothesis.settings.load_profile("calibrary")


LONGEST_FIRST = (
    "test_real_inputs.py",
    "test_interruption.py",
    "test_marts.py",
    "test_serve.py",
    "test_endpoint.py",
)
"""Three workers start with three different builds, and none ends on a long file."""


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Let the longest files come first; within a file nothing moves."""
    place = {name: index for index, name in enumerate(LONGEST_FIRST)}
    items.sort(key=lambda item: place.get(item.path.name, len(place)))


@pytest.fixture(scope="session")
def shared_data() -> Path:
    """The real inputs beside the checkout, or where ``CALIBRARY_SHARED_DATA`` says."""
    folder = Path(os.environ.get("CALIBRARY_SHARED_DATA", ROOT.parent / "shared" / "data"))
    if not folder.is_dir():
        pytest.skip(f"the real inputs are not here ({folder}); the shipped study is tested anyway")
    return folder


@pytest.fixture(scope="session")
def harness() -> Iterator[dict[str, str]]:
    """One Prefect server for all flows of a worker; for its subprocesses, the environment."""
    import prefect.settings
    from prefect.testing.utilities import prefect_test_harness

    with prefect_test_harness(server_startup_timeout=120):
        yield {"PREFECT_API_URL": str(prefect.settings.PREFECT_API_URL.value())}


@pytest.fixture(scope="session")
def tiny_folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The weights of a tiny language model."""
    from tests.language_models.tiny_language_model import save_tiny

    return save_tiny(tmp_path_factory.mktemp("weights") / "tiny")


SNAPSHOT_NAME = snapshot_path(Path()).name


def made_once(
    factory: pytest.TempPathFactory,
    name: str,
    make: Callable[[Path], None],
    last_file: str = SNAPSHOT_NAME,
) -> Path:
    """Return the folder *name*, which whichever worker comes first makes and the others wait for.

    It is made once *last_file* lies in it.
    """
    base = factory.getbasetemp()
    home = (base.parent if "PYTEST_XDIST_WORKER" in os.environ else base) / name
    with FileLock(f"{home}.lock"):
        if not (home / last_file).exists():
            make(home)
    return home


def calibrary(home: Path, *arguments: str, environment: Mapping[str, str] | None = None) -> None:
    """Run one command as a user does; with the environment of `harness` on that server."""
    completed = subprocess.run(
        [sys.executable, "-m", "flows", *arguments, "--home", str(home)],
        capture_output=True,
        text=True,
        timeout=400,
        env=os.environ | (environment or {}),
    )
    assert completed.returncode == 0, completed.stderr


@pytest.fixture(scope="session")
def small_study_home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A home in which the shipped study ran once, from end to end; tests must not change it."""
    made = made_once(tmp_path_factory, "small_study", lambda home: calibrary(home, "run"))
    return Path(shutil.copytree(made, tmp_path_factory.mktemp("small_study") / "home"))


REAL_PROMPTS, REAL_SAMPLES = 4, 5
"""Enough for a hull of full rank; the whole sets take minutes of embedding and are run by hand."""


def first_samples(path: Path) -> Iterator[str]:
    """Lines of the first prompts and their first samples; the file is ordered by training stage."""
    with gzip.open(path, "rt", encoding="utf-8") as file:
        records = [(json.loads(line), line) for line in file]
    wanted = list(dict.fromkeys(record["prompt_id"] for record, _ in records))[:REAL_PROMPTS]
    return (
        line
        for record, line in records
        if record["prompt_id"] in wanted and record["sample_idx"] < REAL_SAMPLES
    )


@pytest.fixture(scope="session")
def real_home(
    shared_data: Path, tmp_path_factory: pytest.TempPathFactory, harness: dict[str, str]
) -> Path:
    """A home with three real inputs: a few prompts of two, every released vector of the third."""

    def make(home: Path) -> None:
        stories = shared_data / "writing_prompts"
        calibrary(
            home, "ingest", "stories", str(stories / "responses.jsonl.gz"),
            "--prompts", str(stories / "prompts.jsonl.gz"), "--name", "writing_prompts",
            "--prompt-count", str(REAL_PROMPTS), environment=harness,
        )  # fmt: skip
        part = home.with_name("olmo.jsonl")
        whole = shared_data / "olmo_generations" / "generations.jsonl.gz"
        part.write_text("".join(first_samples(whole)), encoding="utf-8")
        calibrary(
            home, "ingest", "generations", str(part), "--name", "olmo",
            "--language-model-column", "stage", "--decoding-strategy", "temperature_1.0",
            "--samples-per-prompt", str(REAL_SAMPLES), environment=harness,
        )  # fmt: skip
        vectors = shared_data / "uncertain_human" / "uncertainty_analysis.csv"
        calibrary(
            home, "ingest", "diversity-vectors", str(vectors), "--name", "uncertain_human",
            environment=harness,
        )  # fmt: skip
        calibrary(home, "measure", environment=harness)
        calibrary(home, "build", environment=harness)

    return made_once(tmp_path_factory, "real_inputs", make)
