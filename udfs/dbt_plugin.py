"""Makes the UDFs known to dbt: profile ``plugins: [{module: udfs.dbt_plugin}]``."""

from __future__ import annotations

from dbt.adapters.duckdb.plugins import BasePlugin
from duckdb import DuckDBPyConnection

from udfs.registry import register_all


class Plugin(BasePlugin):  # type: ignore[misc]
    """Registers `udfs.registry.UDFS` on every connection that dbt opens."""

    def configure_connection(self, conn: DuckDBPyConnection) -> None:
        """Create the functions on *conn*."""
        register_all(conn)
