"""What can go wrong between a request and its story."""

from __future__ import annotations

from udfs.errors import CalibraryError


class LanguageModelError(CalibraryError):
    """A language model cannot be used as the study asks."""


class DecodingError(CalibraryError):
    """A decoding strategy is not a distribution to draw from."""


class EndpointError(LanguageModelError):
    """A completions endpoint refuses what it is asked; asking again would change nothing."""


class EndpointUnavailableError(EndpointError):
    """A completions endpoint does not answer, or says that it is overloaded: worth another try."""
