"""Import directions of the design: udfs are pure, the warehouse knows no flow, one file each
imports duckdb and dbt into the UDFs."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent

DATABASE = {"duckdb", "sqlalchemy", "duckdb_sqlalchemy"}
ORCHESTRATION = {"prefect", "prefect_dask", "dask", "distributed"}

FORBIDDEN = {
    "udfs": DATABASE | ORCHESTRATION | {"dbt", "flows", "warehouse", "typer", "rich"},
    "warehouse": ORCHESTRATION | {"dbt", "flows", "typer", "rich", "torch", "transformers"},
    "flows/corpora": DATABASE | ORCHESTRATION | {"dbt", "warehouse", "typer", "rich"},
    "flows/language_models": DATABASE | ORCHESTRATION | {"dbt", "warehouse", "typer", "rich"},
}
EXCEPTIONS = {"udfs/registry.py": {"duckdb"}, "udfs/dbt_plugin.py": {"dbt", "duckdb"}}


def imported_packages(path: Path) -> set[str]:
    """Return the top-level packages that *path* imports anywhere in it."""
    names: set[str] = set()
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            names |= {alias.name.split(".")[0] for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and node.module and not node.level:
            names.add(node.module.split(".")[0])
    return names


@pytest.mark.parametrize("folder", sorted(FORBIDDEN))
def test_a_layer_imports_only_what_lies_below_it(folder: str) -> None:
    wrong = {}
    for path in sorted((ROOT / folder).rglob("*.py")):
        name = path.relative_to(ROOT).as_posix()
        allowed = EXCEPTIONS.get(name, set())
        found = (imported_packages(path) & FORBIDDEN[folder]) - allowed
        if found:
            wrong[name] = found
    assert wrong == {}


def test_only_the_settled_top_level_folders_hold_python() -> None:
    holding = {
        path.relative_to(ROOT).parts[0]
        for folder in ROOT.iterdir()
        if folder.is_dir() and not folder.name.startswith(".")
        for path in folder.rglob("*.py")
    }
    assert holding <= {"flows", "udfs", "warehouse", "dbt_project", "tests"}


def test_no_module_is_a_drawer() -> None:
    drawers = {"utils.py", "util.py", "helpers.py", "helper.py", "common.py", "misc.py"}
    found = [
        path for path in ROOT.rglob("*.py") if path.name in drawers and ".venv" not in path.parts
    ]
    assert found == []
