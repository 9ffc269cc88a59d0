"""Intervals for estimates, for one of two scopes, and whether they can be trusted."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from truerank import _checks
from truerank.errors import InputError
from truerank.estimators import Fit, Smooth
from truerank.estimators.support import Support
from truerank.inference.intervals.error_law import ErrorLaw
from truerank.metrics import Metric
from truerank.outcomes.counts import RankCounts

SCOPES = ("these-users", "population")
SMALL = 0.05  # relative error of a value that is resolved, whatever the error is made of
MUCH = 0.75  # of the random error: a hidden one that is not to be passed over


@dataclass(frozen=True)
class Interval:
    """An interval for one metric.

    It answers for what is random: the negatives and, for the population, the users. Where there is
    a clear bias beside it, the interval reaches on to where the metric then lies. ``resolvable`` is
    False where bias and what the estimator assumes make up much of ``total_error`` and that is not
    small: the interval alone is then not to be trusted.
    """

    low: float
    high: float
    std_error: float
    total_error: float
    resolvable: bool

    def scaled(self, factor: float) -> Interval:
        """The same in other units."""
        return Interval(
            factor * self.low,
            factor * self.high,
            factor * self.std_error,
            factor * self.total_error,
            self.resolvable,
        )


def check_scope(scope: str) -> str:
    """The scope, if it is one."""
    if scope not in SCOPES:
        raise _checks.unknown("scope", scope, SCOPES)
    return scope


def check_confidence(confidence: float) -> float:
    """The confidence, if it lies between 0 and 1."""
    if not _is_number(confidence) or not 0.0 < confidence < 1.0:
        raise InputError(f"confidence is {confidence!r}; it must lie between 0 and 1, as 0.95 does")
    return float(confidence)


def _is_number(value: object) -> bool:
    number = isinstance(value, (int, float, np.integer, np.floating))
    return number and not isinstance(value, bool)


def check_population_size(population_size: float | None, n_users: float) -> float | None:
    """The number of all users, if it is no less than those seen; None stays None."""
    if population_size is None:
        return None
    if not _is_number(population_size) or not population_size >= n_users:
        raise InputError(
            f"population_size is {population_size!r}; it must be at least the {n_users:g} users "
            "seen"
        )
    return float(population_size)


def reference_of(
    counts: RankCounts, fit: Fit, metrics: Sequence[Metric], support: str | Support
) -> Fit:
    """The fit of smooth: under its own distribution an estimator would look unbiased."""
    if fit.posterior is not None:
        return fit
    return Smooth().fit(counts.pooled(), metrics=metrics, support=support, plug_in="plain")


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
    scope
        ``"these-users"``: the metric that an exact evaluation of the same users would give.
        ``"population"``: that of all users these were drawn from.
    population_size
        How many users there are in all, if the population is not endless.
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
    """The interval of ``z`` standard errors for the metric at ``at`` of ``law``.

    ``drawn`` is the share of the users' own variance that counts: 0 for these users, 1 for an
    endless population.
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
    return Interval(low, high, float(shown), float(total), bool(resolvable))


def normal_quantile(probability: float) -> float:
    """The quantile of the standard normal distribution."""
    from scipy.special import ndtri

    return float(ndtri(probability))
