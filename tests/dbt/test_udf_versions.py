"""Claims about the list of UDFs, held against the registry and the SQL that dbt compiled."""

from __future__ import annotations

import json
import re
from pathlib import Path

import duckdb
import pytest

from udfs.registry import UDFS
from udfs.udf_versions import udf_versions

CALL = re.compile(rf"\b({'|'.join(udf.name for udf in UDFS)})\s*\(")


def called_in_sql(built: Path) -> dict[str, set[str]]:
    """UDFs that the compiled SQL of each model calls, comments aside."""
    manifest = json.loads((built.parent / "target" / "manifest.json").read_bytes())
    return {
        node["name"]: set(CALL.findall(re.sub(r"--[^\n]*", "", node["compiled_code"])))
        for node in manifest["nodes"].values()
        if node["resource_type"] == "model"
    }


def test_every_model_declares_the_udfs_that_its_sql_calls(built: Path) -> None:
    manifest = json.loads((built.parent / "target" / "manifest.json").read_bytes())
    declared = {
        node["name"]: node["config"]["meta"].get("udfs", [])
        for node in manifest["nodes"].values()
        if node["resource_type"] == "model"
    }
    called = called_in_sql(built)
    assert declared == {name: sorted(names) for name, names in called.items()}
    # The docs page of a model shows the meta of the model itself.
    assert all(
        node["meta"].get("udfs", []) == declared[node["name"]]
        for node in manifest["nodes"].values()
        if node["resource_type"] == "model"
    )


def test_the_mart_has_every_udf_as_registered_with_the_models_that_call_it(
    built: Path, marts: duckdb.DuckDBPyConnection
) -> None:
    found = marts.execute(
        "select udf_name, signature, parameter_types, return_type, code_sha256, calling_models"
        " from marts.dim_udf_versions"
    ).fetchall()
    called = called_in_sql(built)
    by_name = {version.udf_name: version for version in udf_versions()}
    assert [row[0] for row in found] == sorted(udf.name for udf in UDFS)
    for name, signature, parameters, returned, code, callers in found:
        (udf,) = [udf for udf in UDFS if udf.name == name]
        assert (tuple(parameters), returned) == (udf.parameters, udf.returns)
        assert signature == f"{name}({', '.join(udf.parameters)}) -> {udf.returns}"
        assert code == by_name[name].code_sha256
        assert callers == sorted(model for model, names in called.items() if name in names)


@pytest.mark.parametrize("name", ["credal_set", "poisson_binomial_deviation"])
def test_the_signature_is_what_duckdb_itself_says(name: str) -> None:
    from udfs.registry import register_all

    with duckdb.connect() as connection:
        register_all(connection)
        ((parameters, returned),) = connection.execute(
            "select parameter_types, return_type from duckdb_functions() where function_name = ?",
            [name],
        ).fetchall()
    (version,) = [version for version in udf_versions() if version.udf_name == name]
    assert parameters == list(version.parameter_types)
    assert re.sub(r'"', "", returned) == version.return_type
