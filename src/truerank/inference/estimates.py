"""`estimate`: from RankCounts to global metrics, and the result it gives."""

from __future__ import annotations

import importlib
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

import numpy as np

from truerank import estimators
from truerank import metrics as metrics_module
from truerank._types import Scope
from truerank.errors import InputError
from truerank.estimators import Estimator, Fit, Posterior
from truerank.estimators.support import RankDistribution, Support
from truerank.inference.intervals.error_law import Fitted, error_law
from truerank.inference.intervals.interval import (
    Interval,
    check_confidence,
    check_population_size,
    check_scope,
    intervals,
    reference_of,
)
from truerank.inference.planning.resolution import resolution
from truerank.inference.planning.verdict import not_resolved
from truerank.metrics import Metric, MetricLike
from truerank.outcomes.counts import RankCounts
from truerank.progress import Progress

DEFAULT_METRICS = ("recall@10", "ndcg@10", "ap", "auc")
DEFAULT_ESTIMATOR = "smooth"


@dataclass(frozen=True)
class Estimate:
    """The estimate of one metric.

    ``naive`` is the same metric on the sampled ranks themselves. ``out_of_range`` says that the
    value, as computed, lies outside what the metric can be: linear estimators may stray.

    Its interval is found when it is first asked for, that of all metrics at once; it is None where
    ``confidence`` was None.
    """

    metric: str
    value: float
    naive: float
    out_of_range: bool = False
    _intervals: _Intervals | None = field(default=None, repr=False, compare=False)

    @property
    def low(self) -> float | None:
        """Lower end of the interval."""
        return None if self._interval is None else self._interval.low

    @property
    def high(self) -> float | None:
        """Upper end of the interval."""
        return None if self._interval is None else self._interval.high

    @property
    def std_error(self) -> float | None:
        """Standard error of the value, for the scope asked for."""
        return None if self._interval is None else self._interval.std_error

    @property
    def resolvable(self) -> bool | None:
        """Whether the sample itself decides the value.

        False where much of the error comes from bias and from what the estimator assumes, which the
        interval does not show, and ``total_error`` is not small: a larger or an adaptive sample is
        called for.
        """
        return None if self._interval is None else self._interval.resolvable

    @property
    def total_error(self) -> float | None:
        """Root mean squared error as far as it is known: the standard error and what it hides."""
        return None if self._interval is None else self._interval.total_error

    @property
    def _interval(self) -> Interval | None:
        return None if self._intervals is None else self._intervals.found[self.metric]

    def __float__(self) -> float:
        return self.value


@dataclass(frozen=True)
class _Intervals:
    """All that intervals need, until someone asks for one.

    ``options`` are those of the law of errors, ``asked`` what is wanted of the intervals.
    """

    counts: RankCounts
    fit: Fit
    estimator: Estimator
    metrics: tuple[Metric, ...]
    options: Mapping[str, Any]
    asked: Mapping[str, Any]

    @cached_property
    def fitted(self) -> Fitted:
        reference = reference_of(self.counts, self.fit, self.metrics, self.options["support"])
        law = error_law(
            self.counts, self.fit, reference, self.estimator, self.metrics, **self.options
        )
        return Fitted(self.fit, law, self.metrics)

    @cached_property
    def found(self) -> dict[str, Interval]:
        per_user = self.counts.total_weight / self.counts.n_users
        law, n_users = self.fitted.law, self.counts.n_users
        found = intervals(self.fit, law, self.metrics, n_users, **self.asked)
        return {
            metric.key: interval.scaled(per_user)
            for metric, interval in zip(self.metrics, found, strict=True)
        }


@dataclass(frozen=True)
class Estimates(Mapping[str, Estimate]):
    """Estimates by metric: ``est["recall@10"].value`` (aliases such as ``hr@10`` work too).

    ``distribution`` is the estimated distribution of global ranks (``.cdf``, ``.pmf``), or None
    for estimators that have none. ``converged`` and ``n_iter`` are None where the estimator is a
    closed form; ``converged`` is None too for an EM stopped after a fixed number of steps.
    ``posterior`` is the fitted posterior over rank distributions (smooth), else None.
    ``options`` are those that `estimate` was given: ``confidence``, ``scope``, ``seed``, ...
    """

    estimator: Estimator
    results: Mapping[str, Estimate]
    distribution: RankDistribution | None
    converged: bool | None
    n_iter: int | None
    details: Mapping[str, float]
    counts: RankCounts
    posterior: Posterior | None = None
    options: Mapping[str, Any] = field(default_factory=dict, repr=False, compare=False)

    def __getitem__(self, metric: MetricLike) -> Estimate:
        key = metrics_module.key(metric)
        if key not in self.results:
            raise KeyError(f"{metric!r} was not estimated; there are: {', '.join(self.results)}")
        return self.results[key]

    def __iter__(self) -> Iterator[str]:
        return iter(self.results)

    def __len__(self) -> int:
        return len(self.results)

    def resolution(
        self,
        error: float = 0.05,
        metric: MetricLike = "recall",
        *,
        seed: int = 0,
        progress: Progress = None,
    ) -> int | None:
        """The smallest K at which this sample knows the metric to ``error`` of its value.

        The error is the root mean squared one for these users, with bias and what the estimator
        assumes in it. All larger K are resolved too; None if the largest is not.
        """
        return resolution(self.counts, self.estimator, metric, error, seed=seed, progress=progress)

    @property
    def fitted(self) -> Fitted | None:
        """The fit and the law of its errors, as `compare_all` can use them; None without intervals.

        Found with the intervals, when first asked for.
        """
        known = (one._intervals for one in self.results.values())
        return next((later.fitted for later in known if later is not None), None)

    def with_intervals_of(self, metrics: MetricLike | Iterable[MetricLike]) -> Estimates:
        """The same, but with intervals of these metrics alone: they take less time to find."""
        if isinstance(metrics, (str, Metric)):
            metrics = [metrics]
        keys = {self[metric].metric for metric in metrics}
        known = (one._intervals for one in self.results.values())
        later = next((one for one in known if one is not None), None)
        if later is not None:
            fewer = tuple(metric for metric in later.metrics if metric.key in keys)
            later = replace(later, metrics=fewer)
        results = {
            key: replace(one, _intervals=later if key in keys else None)
            for key, one in self.results.items()
        }
        return replace(self, results=results)

    def verdict(self, metric: MetricLike, *, error: float = 0.05) -> str | None:
        """What is wrong with a metric that is not resolved, and what would resolve it.

        A sentence, or None for one that is resolved (or was estimated without intervals).
        """
        found = self[metric]
        if found._intervals is None or found.resolvable:
            return None
        wanted = next(m for m in found._intervals.metrics if m.key == found.metric)
        return not_resolved(self.counts, wanted, self.estimator, error=error)

    def again(
        self,
        metrics: MetricLike | Iterable[MetricLike],
        *,
        k: int | Iterable[int] | None = None,
        **changes: Any,
    ) -> Estimates:
        """Other metrics of the same counts by the same estimator, options as before or changed."""
        options = {**self.options, **changes}
        return estimate(self.counts, metrics, k=k, estimator=self.estimator, **options)

    def report(self, path: Any, *, name: str = "model", **options: Any) -> None:
        """Write an HTML report on this model; options as in :func:`truerank.report.write`."""
        write_report({name: self}, path, **options)

    def to_dict(self) -> list[dict[str, Any]]:
        """One plain dict a metric, ready for JSON."""
        return [
            {
                "metric": result.metric,
                "estimator": estimators.describe(self.estimator),
                "value": result.value,
                "naive": result.naive,
                "out_of_range": result.out_of_range,
                "low": result.low,
                "high": result.high,
                "std_error": result.std_error,
                "total_error": result.total_error,
                "resolvable": result.resolvable,
            }
            for result in self.results.values()
        ]

    def to_pandas(self) -> Any:
        """A pandas DataFrame, one row a metric."""
        import pandas as pd

        return pd.DataFrame(self.to_dict())

    def __repr__(self) -> str:
        lines = [f"Estimates by {estimators.describe(self.estimator)} from {self.counts!r}"]
        for result in self.results.values():
            flag = "  out of range" if result.out_of_range else ""
            interval = ""
            if result.low is not None:
                interval = f" [{result.low:.5f}, {result.high:.5f}]"
                flag += "" if result.resolvable else "  not resolved"
            lines.append(
                f"  {result.metric:<14} {result.value:.5f}{interval}   "
                f"(naive {result.naive:.5f}){flag}"
            )
        return "\n".join(lines)


def estimate(
    counts: RankCounts,
    metrics: MetricLike | Iterable[MetricLike] = DEFAULT_METRICS,
    *,
    k: int | Iterable[int] | None = None,
    estimator: str | Estimator = DEFAULT_ESTIMATOR,
    confidence: float | None = 0.95,
    scope: Scope = "these-users",
    population_size: float | None = None,
    support: str | Support = "auto",
    plug_in: str = "plain",
    clip: bool = False,
    seed: int = 0,
    progress: Progress = None,
) -> Estimates:
    """Global metrics from sampled ranks.

    Parameters
    ----------
    counts
        The sampled ranks, as :class:`~truerank.RankCounts`.
    metrics
        ``"recall@10"``, ``"ndcg@1,5,10"``, ``"ap"``, ``"auc"``, ... or
        :class:`~truerank.metrics.Metric` objects.
    k
        Cut-off(s) for the metrics named without one.
    estimator
        By name (``"smooth"``, ``"bv(gamma=0.1)"``, ...) or an object of ``truerank.estimators``.
    confidence
        Of the intervals: ``est["recall@10"].low`` and ``.high``. They are found when first asked
        for, so that values alone cost nothing more. None: no intervals.
    scope
        Whom intervals are for. ``"these-users"``: the metric that an exact evaluation of the same
        users would give, so that only the sampled negatives are random. ``"population"``: the
        metric of all users that these are a sample of; wider.
    population_size
        The number of all those users, where it is known: a sample of most of them says more.
    support
        ``"auto"`` fits on a compressed grid of global ranks, ``"full"`` on every rank.
    plug_in
        ``"plain"``: the metric of the estimated distribution, as published. ``"posterior"``: the
        mean over outcomes of E[gain | outcome], which is exact wherever the rank was. For
        estimators with a distribution; metrics whose gain depends on the pool (auc) always take
        the second when pools differ, and smooth always does.
    clip
        Pull values that strayed back into the metric's range (they stay flagged).
    seed, progress
        Of the simulations behind intervals, and whether a bar is shown should they take long.
    """
    if not isinstance(counts, RankCounts):
        raise InputError(
            f"counts is of type {type(counts).__name__}; make it with RankCounts.from_ranks"
        )
    given: dict[str, Any] = {
        "confidence": confidence,
        "scope": scope,
        "population_size": population_size,
        "support": support,
        "plug_in": plug_in,
        "clip": clip,
        "seed": seed,
        "progress": progress,
    }
    asked = _interval_options(counts, confidence, scope, population_size)
    chosen = estimators.get(estimator)
    wanted = metrics_module.parse(metrics, k=k)
    estimators.check(wanted, chosen, counts, plug_in)
    outcomes = counts.pooled()
    fit = chosen.fit(outcomes, metrics=wanted, support=support, plug_in=plug_in)
    naive = estimators.Naive().fit(outcomes, metrics=wanted, support=support, plug_in="plain")
    later = None
    if asked is not None:
        options = {"support": support, "plug_in": plug_in, "seed": seed, "progress": progress}
        later = _Intervals(counts, fit, chosen, wanted, options, asked)
    results = {m.key: _result(m, fit, naive, counts, later, clip=clip) for m in wanted}
    return Estimates(
        chosen,
        results,
        fit.distribution,
        fit.converged,
        fit.n_iter,
        fit.details,
        counts,
        fit.posterior,
        given,
    )


def write_report(models: Mapping[str, Any], path: Any, **options: Any) -> None:
    """Hand results to the report, which is a shell above them: found by name when it is wanted."""
    importlib.import_module("truerank.report").write(models, path, **options)


def _interval_options(
    counts: RankCounts, confidence: float | None, scope: str, population_size: float | None
) -> dict[str, Any] | None:
    """What was asked of the intervals, checked; None without any."""
    check_scope(scope)
    check_population_size(population_size, counts.n_users)
    if confidence is None:
        return None
    asked = {"confidence": check_confidence(confidence), "scope": scope}
    return {**asked, "population_size": population_size}


def _result(
    metric: Metric,
    fit: Fit,
    naive: Fit,
    counts: RankCounts,
    intervals: _Intervals | None,
    *,
    clip: bool,
) -> Estimate:
    # Weights may sum to more than one a user (several targets): metrics are per user.
    per_user = counts.total_weight / counts.n_users
    value, plain = fit.values[metric.key], naive.values[metric.key]
    best = metric.best() if metric.function is None else np.inf
    stray = metric.function is None and not -1e-9 <= value <= best * (1 + 1e-9)
    if clip and stray:
        value = min(max(value, 0.0), best)
    return Estimate(metric.key, value * per_user, plain * per_user, stray, intervals)
