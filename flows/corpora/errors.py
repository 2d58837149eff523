"""Faults of input files, one class each; the sentence names the file and, where known, the line."""

from __future__ import annotations

from udfs.errors import CalibraryError


class UnreadableInputError(CalibraryError):
    """A file is absent, cut off, empty, or not in the format its name says."""


class InvalidRecordError(CalibraryError):
    """One line of a file cannot be used: its bytes, its syntax or the type of a value."""


class MissingColumnError(CalibraryError):
    """A column that the layout needs is not there, or two could be meant."""


class UnusedOptionError(CalibraryError):
    """An option says something that the input at hand has no use for."""


class SelectionError(CalibraryError):
    """Too few prompts survive the rules of selection."""


class InvalidVectorError(CalibraryError):
    """A diversity vector is missing a value, out of range or contradicts another line."""


class InvalidForecastError(CalibraryError):
    """A file of forecasts holds something that is none: logits, labels of no row, two matrices."""


class GeneratorError(CalibraryError):
    """A knob of the synthetic filings generator is out of its range."""


class EdgarError(CalibraryError):
    """EDGAR cannot be asked, or does not answer."""
