"""Intervals for estimates, for one of two scopes, and whether they can be trusted."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import get_args

import numpy as np

from truerank import _checks
from truerank._types import Scope
from truerank.errors import InputError
from truerank.estimators import Fit
from truerank.inference.intervals.error_law import ErrorLaw
from truerank.metrics import Metric

SCOPES: tuple[Scope, ...] = get_args(Scope)
SMALL = 0.05  # relative error of a value that is resolved, whatever the error is made of
MUCH = 0.75  # of the random error: a hidden one that is not to be passed over


@dataclass(frozen=True)
class Interval:
    """An interval for one metric.

    It answers for what is random: the negatives and, for the population, the users. Where there is
    a clear bias beside it, the interval reaches on to where the metric then lies.

    Attributes
    ----------
    low, high : float
        Its ends.
    std_error : float
        Standard error of the estimate, for the scope asked for.
    total_error : float
        Root mean squared error: the standard error, bias and what the estimator assumes.
    resolvable : bool
        False where bias and assumptions make up much of the total error and that is not small: the
        interval alone is then not to be trusted.
    """

    low: float
    high: float
    std_error: float
    total_error: float
    resolvable: bool

    def scaled(self, factor: float) -> Interval:
        """The same in other units.

        Parameters
        ----------
        factor : float
            What to multiply by.

        Returns
        -------
        Interval
            In the other units.
        """
        return Interval(
            factor * self.low,
            factor * self.high,
            factor * self.std_error,
            factor * self.total_error,
            self.resolvable,
        )


def check_scope(scope: str) -> Scope:
    """The scope, if it is one.

    Parameters
    ----------
    scope : str
        ``"these-users"`` or ``"population"``.

    Returns
    -------
    str
        The scope.
    """
    for known in SCOPES:
        if scope == known:
            return known
    raise _checks.unknown("scope", scope, SCOPES)


def check_confidence(confidence: float) -> float:
    """The confidence, if it lies between 0 and 1.

    Parameters
    ----------
    confidence : float
        0.95 for 95 %.

    Returns
    -------
    float
        The confidence.
    """
    if not _is_number(confidence) or not 0.0 < confidence < 1.0:
        raise InputError(f"confidence is {confidence!r}; it must lie between 0 and 1, as 0.95 does")
    return float(confidence)


def _is_number(value: object) -> bool:
    number = isinstance(value, (int, float, np.integer, np.floating))
    return number and not isinstance(value, bool)


def check_population_size(population_size: float | None, n_users: float) -> float | None:
    """The number of all users, if it is no less than those seen.

    Parameters
    ----------
    population_size : float or None
        The number of all users; None if it is not known.
    n_users : float
        The number of users seen.

    Returns
    -------
    float or None
        The number of all users.
    """
    if population_size is None:
        return None
    if not _is_number(population_size) or not population_size >= n_users:
        raise InputError(
            f"population_size is {population_size!r}; it must be at least the {n_users:g} users "
            "seen"
        )
    return float(population_size)


def intervals(
    fit: Fit,
    law: ErrorLaw,
    metrics: Sequence[Metric],
    n_users: float,
    *,
    confidence: float = 0.95,
    scope: str = "these-users",
    population_size: float | None = None,
) -> list[Interval]:
    """An interval for each metric of a fit, in mean gains, by the law of its errors.

    Parameters
    ----------
    fit : Fit
        The fit.
    law : ErrorLaw
        The law of its errors.
    metrics : list of Metric
        The metrics that the law is about, in its order.
    n_users : float
        The number of users seen.
    confidence : float, default 0.95
        Confidence of the intervals.
    scope : {"these-users", "population"}
        ``"these-users"``: the metric that an exact evaluation of the same users would give.
        ``"population"``: that of all users these were drawn from.
    population_size : float, optional
        The number of all users, if the population is not endless.

    Returns
    -------
    list of Interval
        One per metric.
    """
    drawn = 0.0 if check_scope(scope) == "these-users" else 1.0
    if population_size is not None:
        drawn *= max(0.0, 1.0 - n_users / population_size)
    z = normal_quantile(0.5 + check_confidence(confidence) / 2.0)
    return [
        interval_of(fit.values[metric.key], law, at, z, drawn, metric)
        for at, metric in enumerate(metrics)
    ]


def interval_of(
    value: float, law: ErrorLaw, at: int, z: float, drawn: float, metric: Metric
) -> Interval:
    """The interval of one metric, in mean gains.

    Parameters
    ----------
    value : float
        The estimate.
    law : ErrorLaw
        The law of errors.
    at : int
        Which of its metrics.
    z : float
        Standard errors from the value to the ends.
    drawn : float
        The share of the users' own variance that counts: 0 for these users, 1 for an endless
        population.
    metric : Metric
        The metric, whose range no interval leaves.

    Returns
    -------
    Interval
        The interval.
    """
    shown = np.hypot(law.negatives[at], law.users[at] * np.sqrt(drawn))
    bias, blur = float(law.bias[at]), float(law.blur[at])
    hidden = np.hypot(bias, blur)
    total = np.hypot(hidden, shown)
    resolvable = hidden <= MUCH * shown or total <= SMALL * abs(value)
    low, high = value - z * shown, value + z * shown
    if bias:
        reach = z * float(np.hypot(shown, blur))
        low, high = min(low, value - bias - reach), max(high, value - bias + reach)
    best = metric.best() if metric.function is None else np.inf
    worst = 0.0 if metric.function is None else -np.inf
    inside = worst <= value <= best
    if inside:
        low, high = max(low, worst), min(high, best)
    return Interval(float(low), float(high), float(shown), float(total), bool(resolvable))


def normal_quantile(probability: float) -> float:
    """The quantile of the standard normal distribution.

    Parameters
    ----------
    probability : float
        Between 0 and 1.

    Returns
    -------
    float
        1.96 at 0.975.
    """
    from scipy.special import ndtri

    return float(ndtri(probability))
