"""Whatever is cheapest for what was asked."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from truerank import _checks
from truerank.designs.design import Design, check_budget
from truerank.errors import InputError
from truerank.outcomes.schemes import Scheme


@dataclass(frozen=True, kw_only=True, repr=False)
class Auto(Design):
    """Let `truerank.evaluate` choose the design for the first metric that is asked for.

    Without a budget it is the cheapest design whose predicted error is small enough, or an exact
    evaluation if that takes less than 20 seconds. Within a budget it is exact if the budget covers
    that, else whichever of `Adaptive` and `Fixed` is predicted to err less.

    Parameters
    ----------
    error : float, default 0.05
        Relative root mean squared error that the first metric may have: 0.05 for 5 %. A budget or
        a time limit goes before it.
    budget : float, optional
        Scored pairs per user averaged over users, at most, with all that choosing takes and with
        calls of a `Callable` scorer that fail: what is carried out is then a smaller design.
    seconds : float, optional
        Seconds that scoring may take, about.
    users : int, optional
        Evaluate a random sample of this many users.
    stratified : bool, default False
        Stratify that sample by the users' numbers of training items.

    Examples
    --------
    >>> import truerank as tr
    >>> tr.designs.Auto(budget=100)
    Auto(budget=100)
    """

    name: ClassVar[str] = "auto"

    error: float = 0.05
    budget: float | None = None
    seconds: float | None = None

    def __post_init__(self) -> None:
        super().__post_init__()
        check_error(self.error)
        if self.budget is not None:
            check_budget(self.budget)
        if self.seconds is not None:
            _checks.real(self.seconds, "seconds", low=0.0, open_low=True)
        if self.budget is not None and self.seconds is not None:
            raise InputError(
                f"budget is {self.budget:g} and seconds is {self.seconds:g}; give one of them"
            )

    def scheme(self, catalogue: int) -> Scheme:
        raise InputError(
            "Auto has no law of its own: truerank.evaluate turns it into Exact, Fixed or Adaptive"
        )

    def pairs(self, n_items: float, targets: float = 1.0) -> float | None:
        return None if self.budget is None else float(min(self.budget, n_items - 1 + targets))


def check_error(error: float) -> float:
    """A relative error, if it lies between 0 and 1.

    Parameters
    ----------
    error : float
        Root mean squared error as a share of the metric.

    Returns
    -------
    float
        The error.
    """
    error = _checks.real(error, "error", low=0.0, open_low=True)
    if error >= 1.0:
        raise InputError(f"error is {error:g}; it is a share of the metric below 1: 0.05 for 5 %")
    return error
