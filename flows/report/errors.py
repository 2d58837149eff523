"""What can go wrong when a report is written."""

from __future__ import annotations

from udfs.errors import CalibraryError


class UnknownReportStudyError(CalibraryError):
    """The snapshot holds no study of that name."""


class ReportNotWritableError(CalibraryError):
    """The page cannot be written where it should."""
