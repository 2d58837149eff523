"""Decoding strategies by name and by parameter: what a study may ask for.

What they do to a distribution is in `flows.language_models.decoding`; this part needs no torch.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from flows.language_models.errors import DecodingError


@dataclass(frozen=True)
class DecodingStrategy:
    """One way to draw the next token."""

    decoding_strategy_name: str
    sampling_temperature: float = 1.0
    """Dimensionless; 0 is greedy: the likeliest token, lowest id on ties."""
    top_k: int | None = None
    """Likeliest tokens kept. None: all."""
    nucleus_mass: float | None = None
    """The smallest set of likeliest tokens with at least this probability. None: all."""
    typical_mass: float | None = None
    """The smallest set with at least this probability of tokens whose surprise is nearest to the
    entropy (Meister et al. 2023). None: all."""

    def __post_init__(self) -> None:
        name = self.decoding_strategy_name
        if not 0 <= self.sampling_temperature < float("inf"):
            raise DecodingError(
                "sampling_temperature must be finite and at least 0, got "
                f"{self.sampling_temperature} in decoding strategy {name}."
            )
        if self.top_k is not None and self.top_k < 1:
            raise DecodingError(
                f"top_k must be at least 1, got {self.top_k} in decoding strategy {name}; "
                "leave it out to keep every token."
            )
        for key in ("nucleus_mass", "typical_mass"):
            mass = getattr(self, key)
            if mass is not None and not 0 < mass < 1:
                raise DecodingError(
                    f"{key} must lie between 0 and 1, got {mass} in decoding strategy {name}; "
                    "leave it out to keep every token."
                )

    @property
    def is_greedy(self) -> bool:
        """Whether nothing is drawn at all."""
        return self.sampling_temperature == 0


GCV_STRATEGY_NAMES = (
    "temperature_0.7",
    "temperature_1.2",
    "top_p_0.9",
    "top_k_40",
    "typical_0.95",
)
"""The grid of *The Geometry of Creative Variability*, as its tables name it."""


def strategy_named(name: str) -> DecodingStrategy:
    """Return the strategy that a name alone defines.

    Raises
    ------
    DecodingError
        The name follows no pattern, or its number is out of range.

    Examples
    --------
    >>> strategy_named("top_k_40").top_k
    40
    >>> strategy_named("greedy").sampling_temperature
    0.0
    """
    if name == "greedy":
        return DecodingStrategy(name, sampling_temperature=0.0)
    found = re.fullmatch(r"(temperature|top_k|top_p|typical)_(\d+(?:\.\d+)?)", name)
    if found is None:
        raise DecodingError(
            "a decoding strategy must be greedy, temperature_T, top_k_K, top_p_P or typical_P with "
            f"a number in place of the letter, got {name!r}; any other needs a mapping with a name "
            "and its parameters."
        )
    kind, number = found.groups()
    if kind == "top_k":
        if "." in number:
            raise DecodingError(f"top_k must be a whole number, got {number} in {name!r}.")
        return DecodingStrategy(name, top_k=int(number))
    if kind == "top_p":
        return DecodingStrategy(name, nucleus_mass=float(number))
    if kind == "typical":
        return DecodingStrategy(name, typical_mass=float(number))
    return DecodingStrategy(name, sampling_temperature=float(number))
