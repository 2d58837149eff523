"""Check what a run needs on this machine and say what to do about what is missing."""

from __future__ import annotations

import os
import shutil
import sys
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from importlib import metadata
from pathlib import Path

from packaging.requirements import Requirement

from flows.corpora.edgar_client import identity_fault, is_edgartools_installed
from flows.doctor_generation import Check, language_model_checks, packaged_writer, quantization
from flows.provenance import PROJECT_ROOT
from flows.settings import Settings
from flows.study import load_study
from udfs.errors import CalibraryError
from udfs.packaged_models import resolve_model
from warehouse.connection import open_snapshot, open_warehouse, snapshot_path, work_path

SMALLEST_FREE_BYTES = 2 * 1024**3
"""A study of 100,000 stories takes about 1 GB, twice while a new snapshot is written."""

OFFLINE_MODELS = ("packaged:all-minilm-l6-v2", "packaged:en_core_web_sm")


@dataclass(frozen=True)
class Finding:
    """One check: what was looked at, whether it is well, and the remedy where it is not."""

    check: str
    is_well: bool
    finding: str


def examine(settings: Settings, study_path: Path | None = None) -> tuple[Finding, ...]:
    """Run every check, with a study those of its language models; none changes a file of the home.

    Raises
    ------
    StudyError
        The study file is not one.
    """
    checks: tuple[tuple[str, Check], ...] = (
        ("python", _python),
        ("packages", _packages),
        ("models", _models),
        ("device", _device),
        ("edgar", _edgar),
        ("offline stories", packaged_writer),
        ("quantization", quantization),
        ("home", _home),
        ("disk", _disk),
        ("work file", _work_file),
        ("snapshot", _snapshot),
    )
    if study_path is not None:
        checks += language_model_checks(load_study(study_path))
    return tuple(_findings(checks, settings))


def _findings(checks: tuple[tuple[str, Check], ...], settings: Settings) -> Iterator[Finding]:
    for name, check in checks:
        try:
            yield Finding(name, is_well=True, finding=check(settings))
        except (CalibraryError, OSError) as error:
            yield Finding(name, is_well=False, finding=str(error))


class UnwellError(CalibraryError):
    """A check found something that a run would stumble over."""


def _python(settings: Settings) -> str:
    return sys.version.split()[0]


def _packages(settings: Settings) -> str:
    """Compare what is installed with the lock file, where the checkout has one."""
    lock = PROJECT_ROOT / "requirements.lock"
    if not lock.exists():
        return "no lock file beside this installation; nothing to compare with"
    differing = []
    for line in lock.read_text(encoding="utf-8").splitlines():
        requirement = Requirement(line)
        if requirement.marker is not None and not requirement.marker.evaluate():
            continue  # for another platform or Python
        try:
            installed = metadata.version(requirement.name)
        except metadata.PackageNotFoundError:
            installed = "not installed"
        # A CPU build of torch is 2.13.0+cpu, which the specifier 2.13.0 accepts.
        if installed == "not installed" or not requirement.specifier.contains(installed):
            differing.append(f"{requirement.name} {installed} (locked {requirement.specifier})")
    if differing:
        raise UnwellError(
            f"packages must be the locked ones, got {', '.join(differing)}; "
            "run `make setup`, or go on knowing that results were measured with the locked ones."
        )
    return f"as in {lock.name}"


def _models(settings: Settings) -> str:
    missing = []
    for name in OFFLINE_MODELS:
        try:
            resolve_model(name)
        except CalibraryError as error:
            missing.append(str(error))
    if missing:
        raise UnwellError(" ".join(missing))
    return "embedding and tagging models found in installed packages"


def _device(settings: Settings) -> str:
    import torch

    if torch.cuda.is_available():
        return f"{torch.cuda.get_device_name(0)}, torch {torch.__version__}"
    if settings.device and settings.device != "cpu":
        raise UnwellError(
            f"CALIBRARY_DEVICE must be a device torch can see, got {settings.device!r} and no GPU; "
            "unset it to run on the CPU."
        )
    return f"CPU, {os.cpu_count()} cores, torch {torch.__version__}"


def _edgar(settings: Settings) -> str:
    """Say whether filings can be fetched; no one must, so that nothing here is unwell."""
    if not is_edgartools_installed():
        return (
            "filings are ingested from files only; to fetch them from EDGAR, "
            "pip install 'calibrary[edgar]' and set CALIBRARY_EDGAR_IDENTITY"
        )
    installed = f"edgartools {metadata.version('edgartools')}"
    if settings.edgar_identity is None:
        return f"{installed}; to fetch filings, set CALIBRARY_EDGAR_IDENTITY to name and e-mail"
    if (fault := identity_fault(settings.edgar_identity)) is not None:
        raise UnwellError(fault)
    return f"{installed}, asked as {settings.edgar_identity}"


def _home(settings: Settings) -> str:
    folder = settings.home
    while not folder.exists():
        folder = folder.parent
    try:
        with tempfile.TemporaryFile(dir=folder):
            pass
    except OSError as error:
        raise UnwellError(
            f"the home must be writable, got {error.strerror} at {folder}; choose one with --home."
        ) from None
    return str(settings.home)


def _disk(settings: Settings) -> str:
    folder = settings.home
    while not folder.exists():
        folder = folder.parent
    free = shutil.disk_usage(folder).free
    if free < SMALLEST_FREE_BYTES:
        raise UnwellError(
            f"2 GB must be free on the home's disk, got {free / 1e9:.1f} GB at {folder}; "
            "free some, or choose another home with --home."
        )
    return f"{free / 1e9:,.0f} GB free"


def _work_file(settings: Settings) -> str:
    path = work_path(settings.home)
    if not path.exists():
        return "none yet; the first run makes it"
    with open_warehouse(path, read_only=True):
        return _size(path)


def _snapshot(settings: Settings) -> str:
    path = snapshot_path(settings.home)
    if not path.exists():
        return "none yet; the first build publishes it"
    with open_snapshot(settings.home):
        return _size(path)


def _size(path: Path) -> str:
    return f"{path}, {path.stat().st_size / 1e6:,.1f} MB"
