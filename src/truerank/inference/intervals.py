"""Intervals for estimates, for one of two targets, and whether they can be trusted."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from truerank import _checks
from truerank.counts import RankCounts
from truerank.errors import InputError
from truerank.estimators import Estimator, Fit, Smooth
from truerank.inference.error_law import ErrorLaw, error_law
from truerank.metrics import Metric
from truerank.progress import Progress
from truerank.support import RankDistribution, Support

TARGETS = ("these-users", "population")
SMALL = 0.05  # relative error of a value that is resolved, whatever the error is made of


@dataclass(frozen=True)
class Interval:
    """An interval for one metric.

    Where the scatter of the negatives does not make up most of the error, the interval is widened
    by what is known of the rest: bias, and what the estimator assumes. ``resolvable`` is False
    where that rest is both the larger part and not small.
    """

    low: float
    high: float
    std_error: float
    bias: float
    resolvable: bool

    def scaled(self, factor: float) -> Interval:
        """The same in other units."""
        low, high, std_error = self.low * factor, self.high * factor, self.std_error * factor
        return Interval(low, high, std_error, self.bias * factor, self.resolvable)


def check_target(target: str) -> str:
    """The target, if it is one."""
    if target not in TARGETS:
        raise _checks.unknown("target", target, TARGETS)
    return target


def check_confidence(confidence: float) -> float:
    """The confidence, if it lies between 0 and 1."""
    if isinstance(confidence, (bool, str)) or not 0.0 < confidence < 1.0:
        raise InputError(f"confidence is {confidence!r}; it must lie between 0 and 1, as 0.95 does")
    return float(confidence)


def law_of(
    counts: RankCounts, fit: Fit, metrics: Sequence[Metric], support: str | Support
) -> RankDistribution:
    """The rank distribution that smooth finds: under its own an estimator would look unbiased."""
    if fit.posterior is None:
        fit = Smooth().fit(counts.pooled(), metrics=metrics, support=support, plug_in="plain")
    assert fit.distribution is not None
    return fit.distribution


def intervals(
    counts: RankCounts,
    fit: Fit,
    estimator: Estimator,
    metrics: Sequence[Metric],
    *,
    confidence: float = 0.95,
    target: str = "these-users",
    population: float | None = None,
    support: str | Support = "auto",
    plug_in: str = "plain",
    seed: int = 0,
    progress: Progress = None,
) -> list[Interval]:
    """An interval for each metric of a fit, in mean gains.

    Parameters
    ----------
    target
        ``"these-users"``: the metric that an exact evaluation of the same users would give.
        ``"population"``: that of all users these were drawn from.
    population
        How many users there are in all, if the population is not endless.
    """
    law = error_law(
        counts,
        fit,
        law_of(counts, fit, metrics, support),
        estimator,
        metrics,
        support=support,
        plug_in=plug_in,
        seed=seed,
        progress=progress,
    )
    drawn = 0.0 if check_target(target) == "these-users" else 1.0
    if population is not None:
        drawn *= max(0.0, 1.0 - counts.n_users / population)
    z = normal_quantile(0.5 + check_confidence(confidence) / 2.0)
    return [
        _interval(fit.values[metric.key], law, at, z, drawn, metric)
        for at, metric in enumerate(metrics)
    ]


def _interval(
    value: float, law: ErrorLaw, at: int, z: float, drawn: float, metric: Metric
) -> Interval:
    shown = np.hypot(law.negatives[at], law.users[at] * np.sqrt(drawn))
    bias, blur = float(law.bias[at]), float(law.blur[at])
    hidden = np.hypot(bias, blur)
    plain = hidden <= shown + 1e-9 * abs(value)
    resolvable = plain or np.hypot(hidden, shown) <= SMALL * abs(value)
    std_error = float(shown if plain else np.hypot(shown, blur))
    low, high = value - z * std_error, value + z * std_error
    if not plain:  # and on to where the metric lies if the bias is as it seems
        low, high = min(low, low - bias), max(high, high - bias)
    best = metric.best() if metric.function is None else np.inf
    worst = 0.0 if metric.function is None else -np.inf
    inside = worst <= value <= best
    if inside:
        low, high = max(low, worst), min(high, best)
    return Interval(low, high, std_error, bias, bool(resolvable))


def normal_quantile(probability: float) -> float:
    """The quantile of the standard normal distribution."""
    from scipy.special import ndtri

    return float(ndtri(probability))
