"""Makes the UDFs known to dbt: profile ``plugins: [{module: udfs.dbt_plugin}]``."""

from __future__ import annotations

from dataclasses import asdict
from typing import Any

import pyarrow as pa
from dbt.adapters.duckdb.plugins import BasePlugin
from duckdb import DuckDBPyConnection

from udfs.registry import register_all
from udfs.sketch_macros import create_sketch_macros
from udfs.udf_versions import udf_versions


class Plugin(BasePlugin):  # type: ignore[misc]
    """Registers `udfs.registry.UDFS` on every connection that dbt opens, and stores the macros."""

    def configure_connection(self, conn: DuckDBPyConnection) -> None:
        """Create the functions on *conn*, and the sketch macros in its file."""
        register_all(conn)
        create_sketch_macros(conn)

    def load(self, source_config: Any) -> pa.Table:  # noqa: ARG002 - dbt-duckdb's signature
        """Return the rows of the source ``udfs.registered``: one per UDF, see `udf_versions`."""
        return pa.Table.from_pylist([asdict(version) for version in udf_versions()])
