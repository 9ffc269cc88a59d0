"""Negatives drawn for users: frozen in a file here, or as a design says, by the verbs."""

from truerank.designs.frozen import FrozenNegatives
from truerank.sampling.frozen import freeze

__all__ = ["FrozenNegatives", "freeze"]


def __dir__() -> list[str]:
    return __all__
