"""Intervals for estimates, for one of two scopes, and whether they settle anything.

The default interval, ``"total"``, is about all that is known of the error: the drawn negatives, the
ranks that were not seen, what the sample leaves open of their law, bias, and the lumps and misfit
of real data, which follow no such law quite. It lies on the scale of logits, so that it never
leaves the metric's range.
``"sampling"`` is about the scatter of the negatives alone.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field, fields
from typing import NamedTuple, get_args

import numpy as np

from truerank import _checks
from truerank._types import IntervalKind, Scope
from truerank.errors import InputError
from truerank.estimators import Fit
from truerank.inference.intervals.error_law import ErrorLaw
from truerank.metrics import Metric
from truerank.outcomes.counts import RankCounts

SCOPES: tuple[Scope, ...] = get_args(Scope)
KINDS: tuple[IntervalKind, ...] = get_args(IntervalKind)
# Half-widths, as shares of the value, above which it is not resolved: any, or one that is mostly
# assumption.
WIDE, ASSUMED_WIDE = 0.5, 0.1
# Errors of real evaluations have longer tails than normal ones: those of Student's t with so many
# degrees of freedom (docs/calibration.md).
FREEDOM = 60
_ROUNDING = 1e-9  # relative error of a value that is known exactly
_LARGEST = 1e150  # errors in logits whose squares are numbers


@dataclass(frozen=True)
class Interval:
    """An interval for one metric.

    Attributes
    ----------
    low, high : float
        Its ends.
    std_error : float
        Standard error of the estimate over redraws of the negatives and, for the population, of
        the users.
    total_error : float
        Root mean squared error: the standard error, bias and what the estimator assumes.
    resolvable : bool
        False where the interval is wider than half of the value to either side, or wider than a
        tenth of it and mostly assumption.
    budget : dict of str to float
        What the error is made of: ``negatives``, ``ranks``, ``law``, ``bias``, ``lumps``,
        ``misfit`` (to the worse), ``misfit_better`` and ``users``.
    """

    low: float
    high: float
    std_error: float
    total_error: float
    resolvable: bool
    budget: dict[str, float] = field(default_factory=dict)

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
            {part: factor * error for part, error in self.budget.items()},
        )


_LEAST = 1e-12  # confidences nearer to 0 or 1 are 0 or 1 to quantiles


def check_kind(interval: str) -> IntervalKind:
    """The kind of interval, if it is one.

    Parameters
    ----------
    interval : str
        ``"total"`` or ``"sampling"``.

    Returns
    -------
    str
        The kind.
    """
    for known in KINDS:
        if interval == known:
            return known
    raise _checks.unknown("interval", interval, KINDS)


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
    if not _is_number(confidence) or not _LEAST <= confidence <= 1.0 - _LEAST:
        said = _checks.shown(confidence)
        raise InputError(f"confidence is {said}; it must lie between 0 and 1, as 0.95 does")
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
    interval: str = "total",
    ranges: Sequence[Range] | None = None,
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
    interval : {"total", "sampling"}
        Of all that is known of the error, or of the scatter of negatives (and users) alone.
    ranges : list of Range, optional
        The ranges of mean gains (`range_of`); those of one target per user if not given.

    Returns
    -------
    list of Interval
        One per metric.
    """
    drawn = share_drawn(scope, population_size, n_users)
    kind = check_kind(interval)
    confidence = check_confidence(confidence)
    known = [range_of(metric) for metric in metrics] if ranges is None else ranges
    return [
        interval_of(fit.values[metric.key], law, at, confidence, drawn, known[at], kind)
        for at, metric in enumerate(metrics)
    ]


class Range(NamedTuple):
    """The worst and the best mean gain of a target; infinite where it is not known.

    The best is the smaller of the two where smaller values are better.
    """

    worst: float
    best: float

    @property
    def known(self) -> bool:
        """Whether both ends are."""
        return math.isfinite(self.worst) and math.isfinite(self.best)

    @property
    def width(self) -> float:
        """From the worst to the best."""
        return abs(self.best - self.worst)

    @property
    def way(self) -> float:
        """1 where larger values are better, else -1."""
        return -1.0 if self.best < self.worst else 1.0

    def clipped(self, value: float) -> float:
        """The nearest value in the range."""
        return min(max(value, min(self)), max(self))


def range_of(metric: Metric, counts: RankCounts | None = None) -> Range:
    """The range of the mean gain of a target.

    Parameters
    ----------
    metric : Metric
        The metric.
    counts : RankCounts, optional
        The outcomes: several targets of a user share the best places among them. One target per
        user if not given.

    Returns
    -------
    Range
        Infinite above for gains of one's own, of which it is not known.
    """
    if metric.function is not None:
        return Range(0.0, np.inf)
    if counts is None or not counts.several:
        return Range(metric.worst(), metric.best())
    users = np.bincount(counts.n_targets, counts.weight / counts.n_targets)
    n_targets = np.flatnonzero(users)
    ideal = users[n_targets] @ metric.ideal(n_targets)
    worst = metric.worst()
    if worst != 0.0:
        worst *= counts.n_users / counts.total_weight
    return Range(worst, float(ideal) / counts.total_weight)


def share_drawn(scope: str, population_size: float | None, n_users: float) -> float:
    """The share of the users' own variance that counts.

    Parameters
    ----------
    scope : {"these-users", "population"}
        Whom the answer is for.
    population_size : float or None
        The number of all users; None if it is not known.
    n_users : float
        The number of users seen.

    Returns
    -------
    float
        0 for these users, 1 for an endless population.
    """
    if check_scope(scope) == "these-users":
        return 0.0
    return 1.0 if population_size is None else max(0.0, 1.0 - n_users / population_size)


def interval_of(
    value: float,
    law: ErrorLaw,
    at: int,
    confidence: float,
    drawn: float,
    reach: Range,
    kind: IntervalKind = "total",
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
    confidence : float
        0.95 for 95 %.
    drawn : float
        The share of the users' own variance that counts: 0 for these users, 1 for an endless
        population.
    reach : Range
        The range of the mean gain, which no interval leaves if it is known.
    kind : {"total", "sampling"}
        Of all that is known of the error, or of the scatter of negatives (and users) alone.

    Returns
    -------
    Interval
        The interval.
    """
    part = {one.name: float(getattr(law, one.name)[at]) for one in fields(law)}
    part["ranks"] *= math.sqrt(1.0 - drawn)  # a population's ranks are not those of these users
    part["users"] *= math.sqrt(drawn)
    shown = float(np.hypot(part["negatives"], part["users"]))
    assumed = float(law.assumed[at])
    total = float(np.sqrt(shown**2 + part["ranks"] ** 2 + assumed**2))
    either = np.sqrt(shown**2 + part["ranks"] ** 2 + part["law"] ** 2 + part["lumps"] ** 2)
    worse_error = float(np.hypot(either, part["misfit"]))
    better_error = float(np.hypot(either, part["misfit_better"]))
    middle = value - part["bias"]
    low, high = middle, middle
    if max(worse_error, better_error) > _ROUNDING * abs(value):
        low, high = _ends(middle, worse_error, better_error, reach, confidence)
    low, high = min(low, value), max(high, value)  # biased as it may be, it is the value shown
    resolvable = is_resolved((high - low) / 2.0, assumed, total, abs(value))
    if kind == "sampling":
        beside = normal_quantile(0.5 + confidence / 2.0) * shown
        low, high = value - beside, value + beside
    if reach.known:  # linear estimators may stray; the metric does not
        low, high = reach.clipped(low), reach.clipped(high)
    return Interval(low, high, shown, total, resolvable, part)


def is_resolved(half_width: float, assumed: float, total: float, size: float) -> bool:
    """Whether an interval settles anything.

    Parameters
    ----------
    half_width : float
        Half of the interval's width.
    assumed : float
        The part of the error that rests on assumptions.
    total : float
        The whole error.
    size : float
        The size of the value that the interval is about.

    Returns
    -------
    bool
        False if the half-width exceeds half of the value, or if more than half of the squared error
        is assumption and the half-width exceeds a tenth of the value.
    """
    limit = ASSUMED_WIDE if assumed**2 > 0.5 * total**2 else WIDE
    return bool(half_width <= limit * size)


def _ends(
    value: float, worse_error: float, better_error: float, reach: Range, confidence: float
) -> tuple[float, float]:
    """Ends of an interval about ``value``, on the scale of logits if its range is known."""
    from scipy.special import expit

    times = t_quantile(0.5 + confidence / 2.0)
    above = reach.way * (value - reach.worst) if reach.known else np.nan  # the worst there is
    if not 0.0 < above < reach.width:
        ends = value - reach.way * times * worse_error, value + reach.way * times * better_error
        return min(ends), max(ends)
    share = min(above / reach.width, 1.0 - np.finfo(np.float64).epsneg)
    room = max(above * (1.0 - share), 1e-290)  # so that nothing overflows
    centre, slope = np.log(share) - np.log1p(-share), 1.0 / room
    # The spread of the logarithm of a log-normal variable with such a relative spread.
    worse, better = (
        np.sqrt(np.log1p(min(error * slope, _LARGEST) ** 2))
        for error in (worse_error, better_error)
    )
    low, high = sorted(
        reach.worst + reach.way * float(reach.width * expit(end))
        for end in (centre - times * worse, centre + times * better)
    )
    return low, high


def t_quantile(probability: float) -> float:
    """The quantile of Student's t with `FREEDOM` degrees of freedom.

    Parameters
    ----------
    probability : float
        Between 0 and 1.

    Returns
    -------
    float
        2.00 at 0.975.
    """
    from scipy.special import stdtrit

    return float(stdtrit(FREEDOM, probability))


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
