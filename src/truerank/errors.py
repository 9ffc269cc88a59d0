"""What truerank raises and warns about."""

from __future__ import annotations

__all__ = [
    "AssumptionWarning",
    "ConvergenceWarning",
    "InputError",
    "MissingExtraError",
    "TruerankError",
    "TruerankWarning",
]


class TruerankError(Exception):
    """Base of every error that truerank raises on purpose."""


class InputError(TruerankError, ValueError):
    """The input cannot be used as given; the message names the thing, its value and its bound."""


class MissingExtraError(TruerankError, ImportError):
    """An optional dependency is not installed; the message names the extra that brings it."""


class TruerankWarning(UserWarning):
    """Base of every warning that truerank gives."""


class AssumptionWarning(TruerankWarning):
    """Something was assumed that changes the numbers; the message says how to state it."""


class ConvergenceWarning(TruerankWarning):
    """A fit stopped before it converged."""


def __dir__() -> list[str]:
    return sorted(__all__)
