"""Claims about the code behind a UDF: a change reaches those that use it, and no others."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from importlib import metadata
from pathlib import Path

import pytest

import udfs
from udfs.registry import UDFS
from udfs.udf_versions import udf_versions

PACKAGE = Path(udfs.__file__).parent

EDITS = {
    "twins.py": ["poisson_binomial_deviation"],
    "variance_decompositions.py": ["variance_decomposition"],
    "loss_curves.py": [
        "bootstrap_calibration_errors",
        "bootstrap_ratio",
        "bootstrap_temperature",
        "fit_mean_sketch",
    ],
    "hull_batches.py": ["bootstrap_overlaps", "split_half_overlaps"],
    "packaged_models.py": [],
    "arrow_columns.py": sorted(udf.name for udf in UDFS),
}
"""UDFs that a change of the file must reach, read off the imports by eye."""

CODE = """
import json, sys
from pathlib import Path
from udfs import udf_versions as module

def hashes():
    module._read_source.cache_clear()
    return {version.udf_name: version.code_sha256 for version in module.udf_versions()}

folder = Path(module.__file__).parent
before, reached = hashes(), {}
for name, old, new in json.loads(sys.argv[1]):
    path = folder / name
    text = path.read_text(encoding="utf-8")
    assert old in text
    path.write_text(text.replace(old, new, 1) if old else text + new, encoding="utf-8")
    after = hashes()
    reached[f"{name}{old}"] = sorted(key for key in after if after[key] != before[key])
    path.write_text(text, encoding="utf-8")
assert hashes() == before
print(json.dumps(reached))
"""


@pytest.fixture(scope="module")
def reached(tmp_path_factory: pytest.TempPathFactory) -> dict[str, list[str]]:
    """UDFs whose hash moves by each edit of a copy of the package."""
    folder = tmp_path_factory.mktemp("copy")
    shutil.copytree(PACKAGE, folder / "udfs", ignore=shutil.ignore_patterns("__pycache__"))
    edits = [(name, "", "\n# another line\n") for name in EDITS]
    edits.append(("arrow_functions.py", "def scales(", "def scales(  # here\n    "))
    edits.append(("arrow_functions.py", "def _tests(", "def _tests(  # here\n    "))
    completed = subprocess.run(
        [sys.executable, "-c", CODE, json.dumps(edits)],
        cwd=folder,
        env=os.environ | {"PYTHONPATH": str(folder), "PYTHONDONTWRITEBYTECODE": "1"},
        capture_output=True,
        text=True,
        check=False,
    )
    assert completed.returncode == 0, completed.stderr
    return dict(json.loads(completed.stdout))


@pytest.mark.parametrize("name", EDITS)
def test_a_change_of_a_module_reaches_the_udfs_that_import_it(
    reached: dict[str, list[str]], name: str
) -> None:
    assert reached[name] == EDITS[name]


def test_a_change_of_a_called_function_reaches_its_udfs_alone(
    reached: dict[str, list[str]],
) -> None:
    assert reached["arrow_functions.pydef scales("] == ["axis_scale"]
    assert reached["arrow_functions.pydef _tests("] == [
        "mann_whitney_test",
        "spearman_test",
        "student_t_test",
    ]


def test_the_module_is_where_the_function_of_that_name_lives() -> None:
    for version in udf_versions():
        module = __import__(version.module_name, fromlist=[version.udf_name])
        function = getattr(module, version.udf_name)
        assert function.__module__ == version.module_name
        assert version.module_name in version.code_modules


def test_libraries_have_the_versions_that_are_installed() -> None:
    found = {
        version.udf_name: json.loads(version.library_versions_json) for version in udf_versions()
    }
    assert found["credal_set"]["scipy"] == metadata.version("scipy")
    assert set(found["axis_scale"]) == {"numpy", "pyarrow", "python"}
