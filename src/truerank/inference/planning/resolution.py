"""Which cut-offs a sample resolves: the smallest K whose metric it knows within an error."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import numpy.typing as npt

from truerank import metrics as metrics_module
from truerank._types import IntArray
from truerank.designs.auto import check_error
from truerank.errors import InputError
from truerank.estimators import Estimator
from truerank.inference.intervals.fitting import Fitted
from truerank.metrics import Metric, MetricLike
from truerank.outcomes.counts import RankCounts
from truerank.progress import Progress

_STEP = 1.3  # of the grid of cut-offs
_BETWEEN = 24  # cut-offs tried between two of the grid


def resolution(
    counts: RankCounts,
    estimator: Estimator,
    metric: MetricLike = "recall",
    error: float = 0.05,
    *,
    seed: int = 0,
    progress: Progress = None,
) -> int | None:
    """The smallest K at which a sample knows a metric within an error, as at every larger one.

    Parameters
    ----------
    counts : RankCounts
        The sample.
    estimator : Estimator
        What it is evaluated with.
    metric : str or Metric, default "recall"
        The metric; a cut-off that it has is left out.
    error : float, default 0.05
        Relative root mean squared error for these users, with bias and what the estimator assumes
        in it.
    seed : int, default 0
        Seed of the redrawn evaluations.
    progress : callable or bool, optional
        As in `truerank.estimate`.

    Returns
    -------
    int or None
        The K; None if the metric is not known within the error at the largest one.

    Examples
    --------
    >>> from truerank.inference.planning.resolution import resolution
    >>> counts = tr.RankCounts.from_exact_ranks([1, 4, 2, 9], n_items=10)
    >>> resolution(counts, tr.estimators.Smooth(), "ndcg")
    1
    """
    error = check_error(error)
    base = _without_cut(metric)
    if not estimator.supports(base):
        raise InputError(f"estimator {estimator.name!r} is not defined for {base.name}")

    def resolved(cuts: IntArray) -> npt.NDArray[np.bool_]:
        wanted = [replace(base, k=cut) for cut in cuts.tolist()]
        fitted = Fitted.of(counts, estimator, wanted, seed=seed, progress=progress)
        value = np.array([fitted.fit.values[one.key] for one in wanted])
        return np.asarray(fitted.law.total <= error * np.abs(value))

    cuts = _grid(int(counts.n_items.max()))
    good = resolved(cuts)
    if not good[-1]:
        return None
    first = int(np.flatnonzero(~good).max(initial=-1)) + 1
    if first == 0 or cuts[first] - cuts[first - 1] == 1:
        return int(cuts[first])
    inside = np.linspace(cuts[first - 1], cuts[first], _BETWEEN + 2).round().astype(np.int64)
    inside = np.unique(inside)[1:]
    good = resolved(inside)
    good[-1] = True  # found on the grid
    return int(inside[int(np.flatnonzero(~good).max(initial=-1)) + 1])


def _without_cut(metric: MetricLike) -> Metric:
    """The metric, ready to be given a cut-off: ``recall``, ``recall@10`` are one."""
    if not isinstance(metric, Metric):
        (metric,) = metrics_module.parse(str(metric).partition("@")[0], k=1)
    if metric.depends_on_pool:
        raise InputError(f"{metric.name} has no cut-off to resolve; give recall, ndcg or ap")
    return metric


def _grid(largest: int) -> IntArray:
    steps = int(np.ceil(np.log(largest) / np.log(_STEP))) + 1
    return np.unique(np.geomspace(1, largest, max(steps, 2)).round().astype(np.int64))
