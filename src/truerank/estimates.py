"""`estimate`: from RankCounts to global metrics, and the result it gives."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from truerank import estimators
from truerank import metrics as metrics_module
from truerank.counts import RankCounts
from truerank.errors import InputError
from truerank.estimators import Estimator, Fit, Posterior
from truerank.metrics import Metric, MetricLike
from truerank.support import RankDistribution, Support

DEFAULT_METRICS = ("recall@10", "ndcg@10", "ap", "auc")
DEFAULT_ESTIMATOR = "smooth"


@dataclass(frozen=True)
class Estimate:
    """The estimate of one metric.

    ``naive`` is the same metric on the sampled ranks themselves. ``out_of_range`` says that the
    value, as computed, lies outside what the metric can be: linear estimators may stray. ``low``,
    ``high`` and ``std_error`` are None where no interval was asked for.
    """

    metric: str
    value: float
    naive: float
    out_of_range: bool = False
    low: float | None = None
    high: float | None = None
    std_error: float | None = None

    def __float__(self) -> float:
        return self.value


@dataclass(frozen=True)
class Estimates(Mapping[str, Estimate]):
    """Estimates by metric: ``est["recall@10"].value`` (aliases such as ``hr@10`` work too).

    ``distribution`` is the estimated distribution of global ranks (``.cdf``, ``.pmf``), or None
    for estimators that have none. ``converged`` and ``n_iter`` are None where the estimator is a
    closed form; ``converged`` is None too for an EM stopped after a fixed number of steps.
    ``posterior`` is the fitted posterior over rank distributions (smooth), else None.
    """

    estimator: Estimator
    results: Mapping[str, Estimate]
    distribution: RankDistribution | None
    converged: bool | None
    n_iter: int | None
    details: Mapping[str, float]
    counts: RankCounts
    posterior: Posterior | None = None

    def __getitem__(self, metric: MetricLike) -> Estimate:
        key = metrics_module.key(metric)
        if key not in self.results:
            raise KeyError(f"{metric!r} was not estimated; there are: {', '.join(self.results)}")
        return self.results[key]

    def __iter__(self) -> Iterator[str]:
        return iter(self.results)

    def __len__(self) -> int:
        return len(self.results)

    def to_dict(self) -> list[dict[str, Any]]:
        """One plain dict a metric, ready for JSON."""
        return [
            {
                "metric": result.metric,
                "estimator": estimators.describe(self.estimator),
                "value": result.value,
                "naive": result.naive,
                "out_of_range": result.out_of_range,
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
            lines.append(
                f"  {result.metric:<14} {result.value:.5f}   (naive {result.naive:.5f}){flag}"
            )
        return "\n".join(lines)


def estimate(
    counts: RankCounts,
    metrics: MetricLike | Iterable[MetricLike] = DEFAULT_METRICS,
    *,
    k: int | Iterable[int] | None = None,
    estimator: str | Estimator = DEFAULT_ESTIMATOR,
    confidence: float | None = None,
    support: str | Support = "auto",
    plug_in: str = "plain",
    clip: bool = False,
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
        None: no intervals. This version computes none, so that anything else is an error.
    support
        ``"auto"`` fits on a compressed grid of global ranks, ``"full"`` on every rank.
    plug_in
        ``"plain"``: the metric of the estimated distribution, as published. ``"posterior"``: the
        mean over outcomes of E[gain | outcome], which is exact wherever the rank was. For
        estimators with a distribution; metrics whose gain depends on the pool (auc) always take
        the second when pools differ, and smooth always does.
    clip
        Pull values that strayed back into the metric's range (they stay flagged).
    """
    if not isinstance(counts, RankCounts):
        raise InputError(
            f"counts is of type {type(counts).__name__}; make it with RankCounts.from_ranks"
        )
    if confidence is not None:
        raise InputError(f"confidence is {confidence!r}; this version gives no intervals: use None")
    chosen = estimators.get(estimator)
    wanted = metrics_module.parse(metrics, k=k)
    _check(wanted, chosen, counts, plug_in)
    outcomes = counts.pooled()
    fit = chosen.fit(outcomes, metrics=wanted, support=support, plug_in=plug_in)
    naive = estimators.Naive().fit(outcomes, metrics=wanted, support=support, plug_in="plain")
    results = {m.key: _result(m, fit, naive, counts, clip=clip) for m in wanted}
    return Estimates(
        chosen,
        results,
        fit.distribution,
        fit.converged,
        fit.n_iter,
        fit.details,
        counts,
        fit.posterior,
    )


def _check(
    wanted: tuple[Metric, ...], estimator: Estimator, counts: RankCounts, plug_in: str
) -> None:
    largest = int(counts.n_items.max())
    for metric in wanted:
        if metric.k is not None and metric.k > largest:
            raise InputError(
                f"k is {metric.k} in {metric.key}; the largest pool has {largest} items"
            )
        if not estimator.supports(metric):
            raise InputError(
                f"estimator {estimator.name!r} is not defined for {metric.key}; it gives recall "
                "and precision only"
            )
    if plug_in not in ("plain", "posterior"):
        raise InputError(f"plug_in is {plug_in!r}; it must be 'plain' or 'posterior'")


def _result(metric: Metric, fit: Fit, naive: Fit, counts: RankCounts, *, clip: bool) -> Estimate:
    # Weights may sum to more than one a user (several targets): metrics are per user.
    per_user = counts.total_weight / counts.n_users
    value, plain = fit.values[metric.key], naive.values[metric.key]
    best = metric.best() if metric.function is None else np.inf
    stray = metric.function is None and not -1e-9 <= value <= best * (1 + 1e-9)
    if clip and stray:
        value = min(max(value, 0.0), best)
    return Estimate(metric.key, value * per_user, plain * per_user, stray)
