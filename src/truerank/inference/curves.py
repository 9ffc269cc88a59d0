"""Curves of estimates: metrics at every K and the distribution of global ranks, with bands."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from truerank import _checks, estimators, mapping
from truerank import metrics as metrics_module
from truerank._types import FloatArray, IntArray
from truerank.errors import InputError
from truerank.estimators import Estimator
from truerank.inference.estimates import DEFAULT_ESTIMATOR, Estimates, estimate
from truerank.metrics import Metric, MetricLike
from truerank.outcomes.counts import RankCounts

LARGEST = 200  # K of curves unless stated
# Where cells of ranks end, in each power of ten: round numbers, about 30 % apart.
_ROUND = (10, 12, 15, 20, 25, 30, 40, 50, 65, 80)


@dataclass(frozen=True)
class Curve:
    """A metric at many cut-offs; arrays are of shape (n_cuts,).

    Attributes
    ----------
    metric : str
        The metric without a cut-off.
    k : array of int
        The cut-offs.
    value : array
        The metric on the whole catalogue.
    naive : array
        The metric of the sampled ranks as they are.
    low, high : array or None
        Ends of the intervals; None without intervals.
    total_error : array or None
        Root mean squared errors.
    resolvable : array of bool or None
        Whether the sample settles the metric at each K.
    found_at : array of int or None
        The K at which intervals were found; between them they are read off.
    """

    metric: str
    k: IntArray
    value: FloatArray
    naive: FloatArray
    low: FloatArray | None = None
    high: FloatArray | None = None
    total_error: FloatArray | None = None
    resolvable: npt.NDArray[np.bool_] | None = None
    found_at: IntArray | None = None

    def resolved_from(self, error: float = 0.05) -> int | None:
        """The smallest K from which on the metric is known within an error.

        Parameters
        ----------
        error : float, default 0.05
            Relative root mean squared error.

        Returns
        -------
        int or None
            None if the metric is not known at the last K, or without intervals.
        """
        if self.total_error is None:
            return None
        bad = np.flatnonzero(self.total_error > error * np.abs(self.value))
        first = int(bad.max(initial=-1)) + 1
        return int(self.k[first]) if first < self.k.size else None


@dataclass(frozen=True)
class RankCurve:
    """The distribution of global ranks in cells; arrays are of shape (n_cells,).

    Attributes
    ----------
    upto : array of int
        The last rank of each cell, which begins after the one before.
    mass : array
        The share of users in each cell.
    cdf : array
        The share of users up to the end of each cell.
    mass_low, mass_high, cdf_low, cdf_high : array or None
        Ends of the intervals; None without intervals.
    """

    upto: IntArray
    mass: FloatArray
    cdf: FloatArray
    mass_low: FloatArray | None = None
    mass_high: FloatArray | None = None
    cdf_low: FloatArray | None = None
    cdf_high: FloatArray | None = None

    @property
    def above(self) -> IntArray:
        """The last rank before each cell.

        Returns
        -------
        array of int
            Shape (n_cells,).
        """
        return np.concatenate([[0], self.upto[:-1]])

    @property
    def width(self) -> IntArray:
        """The number of ranks in each cell.

        Returns
        -------
        array of int
            Shape (n_cells,).
        """
        return self.upto - self.above

    @property
    def middle(self) -> FloatArray:
        """The geometric mean of the first and the last rank of each cell.

        Returns
        -------
        array
            Shape (n_cells,).
        """
        return np.asarray(np.sqrt((self.above + 1.0) * self.upto))

    def density(self, mass: FloatArray | None) -> FloatArray | None:
        """Masses per rank.

        Parameters
        ----------
        mass : array or None
            Masses of the cells, or ends of their intervals.

        Returns
        -------
        array or None
            Masses over the width of the cells; None stays None.
        """
        return None if mass is None else np.asarray(mass / self.width)


@dataclass(frozen=True)
class Curves(Mapping[str, Curve]):
    """Curves by the name of the metric.

    Attributes
    ----------
    by_name : dict of str to Curve
        The curves.
    ranks : RankCurve or None
        The distribution of ranks; None for estimators without one, or if not asked for.
    points : Estimates
        Single metrics beside them.
    """

    by_name: Mapping[str, Curve]
    ranks: RankCurve | None
    points: Estimates

    def __getitem__(self, name: str) -> Curve:
        return self.by_name[name]

    def __iter__(self) -> Any:
        return iter(self.by_name)

    def __len__(self) -> int:
        return len(self.by_name)


def curves(
    estimates: Estimates,
    names: MetricLike | Iterable[MetricLike] = ("recall", "ndcg"),
    *,
    largest: int = LARGEST,
    ranks: bool = False,
    also: Iterable[MetricLike] = (),
) -> Curves:
    """Metrics at every K, by the estimator, counts and options of estimates.

    All come from one fit and all intervals from one set of redrawn evaluations. Intervals are found
    at those K of ``also`` and at round K, about 30 % apart; their distance from the value is read
    between these in log K.

    Parameters
    ----------
    estimates : Estimates
        What was estimated.
    names : str, Metric or list of these
        Metrics without a cut-off, such as ``"recall"``.
    largest : int, default 200
        The largest K; no more than the largest pool is looked at.
    ranks : bool, default False
        Whether to find the distribution of global ranks, too.
    also : iterable of str or Metric
        Single metrics to find beside them, in ``points``.

    Returns
    -------
    Curves
        The curves by the name of the metric.

    Examples
    --------
    >>> from truerank.inference.curves import curves
    >>> counts = tr.RankCounts.from_exact_ranks([1, 4, 2, 9], n_items=10)
    >>> curves(tr.estimate(counts), "recall", largest=5)["recall"].value.round(4).tolist()
    [0.25, 0.5, 0.5, 0.75, 0.75]
    """
    return curves_of(
        estimates.counts,
        names,
        estimator=estimates.estimator,
        largest=largest,
        ranks=ranks,
        also=also,
        **estimates.options,
    )


def curves_of(
    counts: RankCounts,
    names: MetricLike | Iterable[MetricLike] = ("recall", "ndcg"),
    *,
    estimator: str | Estimator = DEFAULT_ESTIMATOR,
    largest: int = LARGEST,
    ranks: bool = False,
    also: Iterable[MetricLike] = (),
    **options: Any,
) -> Curves:
    """Metrics at every K, of counts that were not estimated yet.

    Parameters
    ----------
    counts : RankCounts
        The sample.
    names : str, Metric or list of these
        As in `curves`.
    estimator : str or Estimator, default "smooth"
        As in `truerank.estimate`.
    largest : int, default 200
        As in `curves`.
    ranks : bool, default False
        As in `curves`.
    also : iterable of str or Metric
        As in `curves`.
    **options
        As in `truerank.estimate`.

    Returns
    -------
    Curves
        The curves by the name of the metric.
    """
    chosen = estimators.get(estimator)
    last = int(min(_checks.integer(largest, "largest", low=1), counts.n_items.max()))
    cuts = np.arange(1, last + 1)
    named = tuple(dict.fromkeys(one.name for one in metrics_module.parse(names, k=last)))
    for metric in metrics_module.parse(names, k=last):
        if metric.depends_on_pool or metric.function or not chosen.supports(metric):
            raise InputError(f"{metric.name} has no curve by estimator {chosen.name!r}")
    more = metrics_module.parse(also) if tuple(also) else ()
    ends = _cells(int(counts.n_items.max()))
    shown = _shown(ends, last, more)
    of_ranks: list[Metric] = []
    if ranks and chosen.supports(metrics_module.share(0, 1)):
        above = np.concatenate([[0], ends[:-1]]).tolist()
        cells = [metrics_module.share(a, b) for a, b in zip(above, ends.tolist(), strict=True)]
        of_ranks = [*cells, *(Metric("recall", int(end)) for end in ends)]
    every = [Metric(name, int(cut)) for name in named for cut in cuts]
    found = estimate(counts, dict.fromkeys([*every, *more, *of_ranks]), estimator=chosen, **options)
    if found.distribution is None:
        of_ranks = []
    wanted = [Metric(name, int(cut)) for name in named for cut in shown]
    points = found.with_intervals_of([*wanted, *more, *of_ranks])
    return Curves(
        {name: _curve(name, cuts, shown, points) for name in named},
        _rank_curve(ends, of_ranks[: ends.size], points) if of_ranks else None,
        points,
    )


def curve(estimates: Estimates, name: MetricLike = "recall", *, largest: int = LARGEST) -> Curve:
    """One metric at every K.

    Parameters
    ----------
    estimates : Estimates
        What was estimated.
    name : str or Metric, default "recall"
        A metric without a cut-off.
    largest : int, default 200
        The largest K.

    Returns
    -------
    Curve
        The metric at K = 1 to ``largest``.

    Examples
    --------
    >>> from truerank.inference.curves import curve
    >>> counts = tr.RankCounts.from_exact_ranks([1, 4, 2, 9], n_items=10)
    >>> curve(tr.estimate(counts), largest=3).k.tolist()
    [1, 2, 3]
    """
    (found,) = curves(estimates, name, largest=largest).values()
    return found


def rank_curve(estimates: Estimates) -> RankCurve:
    """The distribution of global ranks with intervals, in cells of growing width.

    Parameters
    ----------
    estimates : Estimates
        What was estimated.

    Returns
    -------
    RankCurve
        Shares of users by cell.

    Examples
    --------
    >>> from truerank.inference.curves import rank_curve
    >>> counts = tr.RankCounts.from_exact_ranks([1, 4, 2, 9], n_items=10)
    >>> rank_curve(tr.estimate(counts)).cdf.round(4).tolist()[-1]
    1.0
    """
    found = curves(estimates, "recall", largest=1, ranks=True).ranks
    if found is None:
        raise InputError(f"estimator {estimates.estimator.name!r} has no distribution of ranks")
    return found


@dataclass(frozen=True)
class MappedCurve:
    """Sampled recall, with the global cut-off that each k stands for.

    Attributes
    ----------
    mapping : str
        The mapping f.
    sample_size : int
        Items a target was ranked among, itself included.
    k : array of int
        Sampled cut-offs, 1 to ``sample_size``.
    global_k : array
        f(k).
    recall : array
        Sampled recall at each k.
    """

    mapping: str
    sample_size: int
    k: IntArray
    global_k: FloatArray
    recall: FloatArray


def mapped_curve(counts: RankCounts, name: str = "beta(0.5)") -> MappedCurve | None:
    """The sampled recall curve with each k taken to f(k), for the mean pool.

    Parameters
    ----------
    counts : RankCounts
        The sample. Of adaptive ones the first size counts, with which all users began.
    name : str, default "beta(0.5)"
        The mapping f.

    Returns
    -------
    MappedCurve or None
        None where there is no one size that all users have, or where samples are the whole pools.

    Examples
    --------
    >>> from truerank.inference.curves import mapped_curve
    >>> counts = tr.RankCounts.from_ranks([1, 4, 2, 9], n_items=500, num_negatives=19)
    >>> mapped_curve(counts, "linear").recall.tolist()[:4]
    [0.25, 0.5, 0.5, 0.75]
    """
    return next(iter(mapped_curves(counts, [name])), None)


def mapped_curves(counts: RankCounts, names: Iterable[str]) -> list[MappedCurve]:
    """The sampled recall curve with each k taken to f(k), for several mappings.

    Parameters
    ----------
    counts : RankCounts
        As in `mapped_curve`.
    names : iterable of str
        The mappings.

    Returns
    -------
    list of MappedCurve
        One per mapping; empty where `mapped_curve` gives None.
    """
    first = counts.first_samples()
    if first is None or first.is_exact.any() or np.unique(first.sample_size).size > 1:
        return []
    size = int(first.sample_size[0])
    k = np.arange(1, size + 1)
    pool = round(float(first.weight @ first.n_items) / first.total_weight)
    wanted = [Metric("recall", cut) for cut in k.tolist()]
    found = estimate(first, wanted, estimator="naive", confidence=None)
    recall = np.array([found[f"recall@{cut}"].value for cut in k])
    global_k = {name: mapping.get(name, first)(k, n_items=pool, sample_size=size) for name in names}
    return [
        MappedCurve(name, size, k, np.asarray(f, dtype=np.float64), recall)
        for name, f in global_k.items()
    ]


def _shown(ends: IntArray, largest: int, more: Sequence[Metric]) -> IntArray:
    """The K at which intervals are found."""
    wanted = [1, largest, *ends[ends <= largest].tolist()]
    wanted += [metric.k for metric in more if metric.k is not None and metric.k <= largest]
    return np.unique(np.array(wanted, dtype=np.int64))


def _cells(n_items: int) -> IntArray:
    """The last rank of each cell of ranks, the first cells being of one rank each."""
    powers = 10 ** np.arange(np.ceil(np.log10(n_items)) + 1).astype(np.int64)
    ends = np.concatenate([[1, 2, 3, 4, 5, 7], np.outer(powers, _ROUND).ravel()])
    return np.append(ends[ends < n_items], n_items)


def _curve(name: str, cuts: IntArray, shown: IntArray, points: Estimates) -> Curve:
    """The values at ``cuts``, with the intervals at ``shown`` read between."""
    value = np.array([points[f"{name}@{cut}"].value for cut in cuts])
    naive = np.array([points[f"{name}@{cut}"].naive for cut in cuts])
    found = [points[f"{name}@{cut}"] for cut in shown]
    if found[0].low is None:
        return Curve(name, cuts, value, naive)

    def between(parts: Iterable[Any]) -> FloatArray:
        ends = np.array(list(parts), dtype=np.float64)
        return np.asarray(np.interp(np.log(cuts), np.log(shown), ends))

    low = value - between(one.value - (one.low or 0.0) for one in found)
    high = value + between((one.high or 0.0) - one.value for one in found)
    error = between(one.total_error for one in found)
    nearest = np.abs(np.log(cuts)[:, None] - np.log(shown)).argmin(axis=1)
    resolvable = np.array([bool(one.resolvable) for one in found])[nearest]
    inside = np.where(value >= 0.0, 0.0, -np.inf)  # linear estimators may stray
    return Curve(name, cuts, value, naive, np.maximum(low, inside), high, error, resolvable, shown)


def _rank_curve(ends: IntArray, cells: Sequence[Metric], points: Estimates) -> RankCurve:
    mass = [points[cell] for cell in cells]
    cdf = [points[f"recall@{end}"] for end in ends]
    value = np.array([one.value for one in mass])
    of_cdf = np.array([one.value for one in cdf])
    if mass[0].low is None:
        return RankCurve(ends, value, of_cdf)
    low = np.array([one.low for one in mass], dtype=np.float64)
    return RankCurve(
        ends,
        value,
        of_cdf,
        np.where(value >= 0.0, np.maximum(low, 0.0), low),
        np.array([one.high for one in mass], dtype=np.float64),
        np.array([one.low for one in cdf], dtype=np.float64),
        np.array([one.high for one in cdf], dtype=np.float64),
    )
