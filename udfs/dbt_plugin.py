"""Makes the UDFs known to dbt: profile ``plugins: [{module: udfs.dbt_plugin}]``."""

from __future__ import annotations

from dbt.adapters.duckdb.plugins import BasePlugin
from duckdb import DuckDBPyConnection

from udfs.registry import register_all
from udfs.sketch_macros import create_sketch_macros


class Plugin(BasePlugin):  # type: ignore[misc]
    """Registers `udfs.registry.UDFS` on every connection that dbt opens, and stores the macros."""

    def configure_connection(self, conn: DuckDBPyConnection) -> None:
        """Create the functions on *conn*, and the sketch macros in its file."""
        register_all(conn)
        create_sketch_macros(conn)
