"""What can go wrong with a warehouse file, one class each."""

from __future__ import annotations

from udfs.errors import CalibraryError


class WarehouseError(CalibraryError):
    """Any trouble with a warehouse file."""


class WarehouseLockedError(WarehouseError):
    """Another process writes the file."""


class WarehouseNewerError(WarehouseError):
    """A newer version of calibrary wrote the file."""


class WarehouseDamagedError(WarehouseError):
    """The file cannot be read as a warehouse."""


class WarehouseMissingError(WarehouseError):
    """There is no such file yet."""


class DiskFullError(WarehouseError):
    """No space was left for a write."""


class RowsRefusedError(WarehouseError):
    """Rows do not fit the table they are meant for."""


class PublicationError(WarehouseError):
    """A snapshot could not be published; the old one is unchanged."""
