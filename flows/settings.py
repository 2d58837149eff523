"""Settings of this machine and this user, from the environment (``CALIBRARY_…``) and options.

What a *study* is belongs to its study file (`flows.study`); what belongs here never changes a
number, only where things lie and how the work is spread.
"""

from __future__ import annotations

import os
import shutil
from enum import StrEnum
from pathlib import Path

from pydantic import Field, ValidationError
from pydantic_settings import BaseSettings, SettingsConfigDict

from flows.corpora.edgar_client import EdgarAccess
from udfs.errors import CalibraryError


class SettingsError(CalibraryError):
    """A ``CALIBRARY_…`` variable holds a value that cannot be used."""


class TaskRunnerName(StrEnum):
    """Where the pure batch tasks run; the single writer stays in the calling process."""

    THREADS = "threads"
    PROCESSES = "processes"
    DASK = "dask"


class Settings(BaseSettings):
    """One frozen object, made once per command."""

    model_config = SettingsConfigDict(env_prefix="CALIBRARY_", frozen=True, extra="ignore")

    home: Path = Path(".calibrary")
    """Folder of the work file, the published snapshot and logs."""
    task_runner: TaskRunnerName = TaskRunnerName.THREADS
    worker_count: int = Field(default=1, ge=1)
    """Batches computed at once. One is fastest on two cores: torch itself uses both."""
    dask_address: str | None = None
    """Scheduler address of a Dask cluster; a local one is started where it is not given."""
    memory_limit: str = "2GB"
    """What DuckDB may hold in memory, in its own notation; a study of 100,000 stories fits."""
    embedding_batch_size: int = Field(default=16, ge=1)
    """Stories per forward pass; 16 was measured faster than 64 on a CPU."""
    device: str | None = None
    """Torch device of the models, such as ``cuda``; a GPU where there is one, if not given."""
    generation_batch_size: int = Field(default=16, ge=1)
    """Stories written at once, and committed together; halved where the memory does not hold it."""
    scoring_batch_characters: int = Field(default=20_000, ge=1)
    """Texts scored and committed together, in characters; a longer one is scored alone."""
    scoring_batch_tokens: int = Field(default=1024, ge=1)
    """Tokens per forward pass; more only helps a GPU, and costs memory by the vocabulary."""
    model_cache: Path = Field(default_factory=lambda: _user_cache() / "calibrary" / "models")
    """Dequantised GGUF weights, named by the file's hash; any home may use them."""

    edgar_identity: str | None = Field(default_factory=lambda: os.environ.get("EDGAR_IDENTITY"))
    """Name and e-mail address that EDGAR is asked under; that of edgartools where not given."""
    edgar_requests_per_second: int = Field(default=8, ge=1, le=10)
    """EDGAR allows 10, and blocks who asks more often for ten minutes."""
    edgar_retry_seconds: float = Field(default=5.0, ge=0.0)
    """Waited before a page is asked for again, doubled each further time."""
    edgar_listing_hours: float = Field(default=24.0, ge=0.0)
    """How long a company's list of filings counts as current; filings themselves never change."""

    @property
    def edgar_access(self) -> EdgarAccess:
        """How EDGAR is asked."""
        return EdgarAccess(
            self.home / "edgar",
            self.edgar_identity,
            self.edgar_requests_per_second,
            self.edgar_retry_seconds,
            self.edgar_listing_hours,
        )

    @property
    def dbt_folder(self) -> Path:
        """Compiled SQL, manifest, logs and the static docs site."""
        return self.home / "dbt"


def _user_cache() -> Path:
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache")


def load_settings(home: Path | None = None) -> Settings:
    """Read the environment; *home* (the ``--home`` option) wins over ``CALIBRARY_HOME``.

    Raises
    ------
    SettingsError
        A variable has an unusable value, the sentence names it; or the home is a file.
    """
    try:
        settings = Settings() if home is None else Settings(home=home)
    except ValidationError as error:
        first = error.errors()[0]
        name = "CALIBRARY_" + "_".join(str(part) for part in first["loc"]).upper()
        raise SettingsError(
            f"{name} must be usable, got {first['input']!r}: {first['msg']}; change or unset it."
        ) from None
    chosen = settings.home.expanduser().absolute()
    if chosen.exists() and not chosen.is_dir():
        raise SettingsError(
            f"the home must be a folder, got a file at {chosen}; choose another with --home or "
            "CALIBRARY_HOME."
        )
    return settings.model_copy(update={"home": chosen})


LEAST_FREE_BYTES = 32_000_000
"""Prefect's records and the log of a first batch take a few of them."""


def prepare_home(settings: Settings) -> None:
    """Make the home and the folder that Prefect keeps its own records in; Prefect makes no parents.

    Raises
    ------
    SettingsError
        The folder cannot be made, or its disk is full: Prefect's server, which starts first, would
        say so in pages of its own.
    """
    try:
        (settings.home / "prefect").mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise SettingsError(
            f"the home must be a folder that can be written, got {error.strerror} at "
            f"{settings.home}; choose another with --home or CALIBRARY_HOME."
        ) from None
    free = shutil.disk_usage(settings.home).free
    if free < LEAST_FREE_BYTES:
        raise SettingsError(
            f"the home's disk must have {LEAST_FREE_BYTES // 1_000_000} MB free to start with, has "
            f"{free / 1e6:.1f} at {settings.home}; free some, or choose another home with --home."
        )


def configure_environment(settings: Settings) -> None:
    """Set what libraries read from the environment on import; what the user has set stays.

    Called before Prefect, dbt or the model libraries are imported. Nothing may leave the machine:
    the analytics of Prefect, dbt and the hub client are off.
    """
    defaults = {
        "DO_NOT_TRACK": "1",
        "DBT_SEND_ANONYMOUS_USAGE_STATS": "false",
        "HF_HUB_DISABLE_TELEMETRY": "1",
        "PREFECT_SERVER_ANALYTICS_ENABLED": "false",
        "PREFECT_CLOUD_ENABLE_ORCHESTRATION_TELEMETRY": "false",
        # The first start in a fresh home runs database migrations; the library's 20 s are too few.
        "PREFECT_SERVER_EPHEMERAL_STARTUP_TIMEOUT_SECONDS": "120",
        "PREFECT_HOME": str(settings.home / "prefect"),
        "PREFECT_LOGGING_LEVEL": "CRITICAL",
        "PREFECT_LOGGING_SERVER_LEVEL": "ERROR",
        "PREFECT_LOGGING_TO_API_ENABLED": "false",
        "TOKENIZERS_PARALLELISM": "true",
        "TRANSFORMERS_NO_ADVISORY_WARNINGS": "1",
        # Threads that wait by spinning stand in the way of those they wait for: with one other busy
        # process on two cores, generating took twenty times as long. Idle threads sleep instead.
        "OMP_WAIT_POLICY": "PASSIVE",
    }
    for name, value in defaults.items():
        os.environ.setdefault(name, value)
