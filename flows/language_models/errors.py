"""Faults of language models, one class each."""

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


class VocabularyError(CalibraryError):
    """Texts from which no vocabulary can be made, or tokens that it does not hold."""


class DiscountError(CalibraryError):
    """Discounts that are out of range, or counts from which none can be estimated."""


class PenaltyError(CalibraryError):
    """A penalty under which no finite optimum exists, or an optimiser that did not arrive."""


class DecoderError(CalibraryError):
    """A decoder that cannot be built, or weights that are not what their name says."""


class FactError(CalibraryError):
    """Facts from which no probes can be made."""


class ForecastError(CalibraryError):
    """Forecast rows that do not belong to the tokens they are to score."""
