"""Metrics as gains over ranks: ``"recall@10"`` is 1 at ranks 1 to 10 and 0 beyond.

Every metric here is a mean over users of the sum over their targets of F(position) [position <= k]
times the share of one target: the gain F with its cut-off. With one target per user the position
is the rank. With several, all targets of a user stand in one list: the target of place i among
them (1 is the best) and of rank R among the non-targets has position R + i - 1, plus an offset
where more candidates are known to be above it. The size of the pool enters only where the gain
depends on it (auc), and the mean size of all pools where a mean rank is divided by it (amr, amri).
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Any, TypeAlias

import numpy as np

from truerank import _arguments, _checks
from truerank._types import FloatArray, IntArray
from truerank.errors import InputError

__all__ = ["NAMES", "Metric", "ap_found", "key", "parse", "share"]

GainFunction: TypeAlias = Callable[[FloatArray], Any]
MetricLike: TypeAlias = "str | Metric"


@dataclass(frozen=True)
class Metric:
    """A metric: a gain for each rank, up to the cut-off ``k`` if there is one.

    Parameters
    ----------
    name : str
        One of :data:`NAMES` or an alias (``hr``, ``mrr``, ...), in any case; any name if there is a
        ``function``.
    k : int, optional
        The cut-off: ranks beyond it have no gain.
    function : callable, optional
        The gain of a metric of your own: takes an array of ranks (1-based) and returns their
        gains. On a compressed support it is also read between whole ranks, so let it be smooth or
        estimate with ``support="full"``.
    mean_pool : float, optional
        Mean size of the users' pools, the target included. ``amr`` and ``amri`` divide by it, and
        ``mr`` is at most this. `truerank.estimate` and the other verbs fill it in from the counts;
        without it each gain takes its own pool for the mean.

    Raises
    ------
    InputError
        If the name is unknown (with the nearest known one), or ``precision`` has no cut-off.

    Examples
    --------
    >>> tr.Metric("HR", 10).key
    'hit_rate@10'
    >>> tr.Metric("ndcg", 10).gain([1, 3, 11], 1000).tolist()
    [1.0, 0.5, 0.0]
    >>> fading = tr.Metric("fading", 20, lambda rank: np.exp(-rank / 5))
    >>> fading.gain([5.0], 1000).round(3).tolist()
    [0.368]
    """

    name: str
    k: int | None = None
    function: GainFunction | None = None
    mean_pool: float | None = None

    def __post_init__(self) -> None:
        _arguments.check_fields(self)
        if self.k is not None:
            object.__setattr__(self, "k", _checks.integer(self.k, f"k of {self.name}", low=1))
        if self.function is None:
            name = _canonical(self.name)
            object.__setattr__(self, "name", name)
            if name == "precision" and self.k is None:
                raise InputError("precision needs a cut-off, as in 'precision@10'")
            if name in _WITHOUT_CUT and self.k is not None:
                raise InputError(f"{name} has no cut-off; give it as {name!r}, without @{self.k}")
        if self.mean_pool is not None:
            _checks.real(self.mean_pool, f"mean_pool of {self.name}", low=1.0, open_low=True)

    @property
    def key(self) -> str:
        """The name with the cut-off, by which results are looked up.

        Examples
        --------
        >>> tr.Metric("rr", 5).key, tr.Metric("auc").key
        ('mrr@5', 'auc')
        """
        return self.name if self.k is None else f"{self.name}@{self.k}"

    @property
    def depends_on_pool(self) -> bool:
        """Whether the gain at a rank differs between pool sizes.

        Examples
        --------
        >>> tr.Metric("auc").depends_on_pool, tr.Metric("recall", 10).depends_on_pool
        (True, False)
        """
        if self.function is not None:
            return False
        return self.name in _ON_POOL or (self.name in _ON_MEAN_POOL and self.mean_pool is None)

    @property
    def of_mean_rank(self) -> bool:
        """Whether it is the mean rank, or that divided by what chance would give.

        Examples
        --------
        >>> tr.Metric("amri").of_mean_rank, tr.Metric("mrr").of_mean_rank
        (True, False)
        """
        return self.function is None and self.name in _MEAN_RANK

    @property
    def lower_is_better(self) -> bool:
        """Whether smaller values are better.

        Examples
        --------
        >>> tr.Metric("mr").lower_is_better, tr.Metric("amri").lower_is_better
        (True, False)
        """
        return self.function is None and self.name in _LOWER

    def bound(self, n_items: Any, weight: Any = None) -> Metric:
        """The same metric with ``mean_pool`` filled in, if it is of the mean rank.

        Parameters
        ----------
        n_items : array-like of int
            Sizes of the users' pools, the target included.
        weight : array-like of float, optional
            Users with each of these pools; one each if not given.

        Returns
        -------
        Metric
            Itself, for other metrics.

        Examples
        --------
        >>> tr.Metric("amri").bound([99, 101]).mean_pool
        100.0
        """
        if not self.of_mean_rank:
            return self
        return replace(self, mean_pool=float(np.average(n_items, weights=weight)))

    @property
    def counts_hits(self) -> bool:
        """Whether every rank up to the cut-off has the same gain: a share of users.

        Examples
        --------
        >>> tr.Metric("precision", 5).counts_hits, tr.Metric("ndcg", 5).counts_hits
        (True, False)
        """
        return self.function is None and self.name in _HITS

    def gain(
        self, rank: Any, n_items: Any, *, place: Any = 1, n_targets: Any = 1, offset: Any = 0
    ) -> FloatArray:
        """What a target adds to the metric of its user; the arguments broadcast.

        Parameters
        ----------
        rank : float or array-like of float
            Global ranks among the non-targets, 1-based.
        n_items : int or array-like of int
            Size of the pool, the target included.
        place : int or array-like of int, default 1
            Place of the target among those of its user, 1 being the best.
        n_targets : int or array-like of int, default 1
            Number of targets of the user.
        offset : int or array-like of int, default 0
            Candidates beside the pool that are known to be above the target.

        Returns
        -------
        ndarray of float
            Gains; 0 beyond the cut-off. Those of one user add up to at most :meth:`ideal`.

        Examples
        --------
        >>> tr.Metric("auc").gain([1, 501, 1001], 1001).tolist()
        [1.0, 0.5, 0.0]

        Two targets first and second in the list, of a user who has two:

        >>> tr.Metric("ndcg", 10).gain([1, 1], 1000, place=[1, 2], n_targets=2).round(3).tolist()
        [0.613, 0.387]
        """
        shape = self.shape(rank, n_items, place=place, offset=offset, n_targets=n_targets)
        share = self.share(n_targets)
        try:
            return np.asarray(shape * share)
        except ValueError as error:
            raise InputError(f"rank and n_targets differ in shape: {error}") from None

    def shape(
        self, rank: Any, n_items: Any, *, place: Any = 1, offset: Any = 0, n_targets: Any = 1
    ) -> FloatArray:
        """The gain before it is divided among the targets of a user.

        Parameters
        ----------
        rank, n_items, place, offset : float or array-like
            As in :meth:`gain`.
        n_targets : int or array-like of int, default 1
            Matters to ``r_precision`` alone, whose cut-off it is.

        Returns
        -------
        ndarray of float
            ``gain`` is this times :meth:`share`.

        Examples
        --------
        >>> tr.Metric("ap", 10).shape([1, 4], 1000, place=2).tolist()
        [1.0, 0.4]
        """
        rank = _checks.numbers(rank, "rank")
        more = _checks.numbers(place, "place"), _checks.numbers(offset, "offset")
        try:
            position = rank + (more[0] - 1) + more[1]
        except ValueError as error:
            raise InputError(f"rank, place and offset differ in shape: {error}") from None
        gain = self._whole_gain(rank, position, place, n_items) * self._scale
        cut = n_targets if self.cuts_at_targets else self.k
        return gain if cut is None else np.where(position <= cut, gain, 0.0)

    def share(self, n_targets: Any) -> FloatArray:
        """What a user's metric is divided by, as a factor: 1 / t for recall, for instance.

        Parameters
        ----------
        n_targets : int or array-like of int
            Numbers of targets of users.

        Returns
        -------
        ndarray of float
            1 for users with one target.

        Examples
        --------
        >>> tr.Metric("recall", 10).share([1, 2, 20]).tolist()
        [1.0, 0.5, 0.05]
        >>> tr.Metric("recall_min", 10).share([1, 2, 20]).tolist()
        [1.0, 0.5, 0.1]
        """
        t = _number_of_targets(n_targets)
        if self.function is not None:
            return np.asarray(1.0 / t)
        return _SHARES[self.name](t, t if self.k is None else np.minimum(t, float(self.k)))

    @property
    def last(self) -> float:
        """The last rank that counts with one target per user; infinite without a cut-off.

        Examples
        --------
        >>> tr.Metric("recall", 10).last, tr.Metric("auc").last, tr.Metric("r_precision").last
        (10, inf, 1)
        """
        if self.cuts_at_targets:
            return 1
        return np.inf if self.k is None else self.k

    @property
    def cuts_at_targets(self) -> bool:
        """Whether the cut-off is the user's number of targets.

        Examples
        --------
        >>> tr.Metric("r_precision").cuts_at_targets, tr.Metric("recall", 10).cuts_at_targets
        (True, False)
        """
        return self.function is None and self.name == "r_precision"

    def best(self) -> float:
        """The best value that the metric can take with one target per user: its gain at rank 1.

        Returns
        -------
        float
            1 for all built-in metrics but ``precision@k``, where it is 1/k, and ``amr``.

        Examples
        --------
        >>> tr.Metric("recall", 10).best(), tr.Metric("precision", 10).best()
        (1.0, 0.1)
        """
        return _best(self)

    def worst(self) -> float:
        """The worst value that the metric can take with one target per user.

        Returns
        -------
        float
            0 for most metrics, -1 for ``amri``, the mean pool for ``mr`` (infinity if that is not
            known).

        Examples
        --------
        >>> tr.Metric("recall", 10).worst(), tr.Metric("amri").worst()
        (0.0, -1.0)
        >>> tr.Metric("mr").bound([100]).worst()
        100.0
        """
        if not self.of_mean_rank:
            return 0.0
        if self.name == "amri":
            return -1.0
        pool = np.inf if self.mean_pool is None else self.mean_pool
        return pool if self.name == "mr" else 2.0 - 2.0 / (pool + 1.0)

    def ideal(self, n_targets: Any) -> FloatArray:
        """The largest values that the metric can take for users: all their targets come first.

        Parameters
        ----------
        n_targets : int or array-like of int
            Numbers of targets of users.

        Returns
        -------
        ndarray of float
            1 for normalised metrics.

        Examples
        --------
        >>> tr.Metric("recall", 10).ideal([1, 20]).tolist()
        [1.0, 0.5]
        >>> tr.Metric("ndcg", 10).ideal([1, 20]).round(9).tolist()
        [1.0, 1.0]
        """
        t = _number_of_targets(n_targets).astype(np.int64)
        most = int(t.max(initial=1))
        places = np.arange(1, most + 1)
        # A cut-off at the number of targets leaves none of them out here.
        first = np.cumsum(self.shape(1.0, 2.0, place=places, n_targets=most))
        return np.asarray(first[t - 1] * self.share(t))

    @property
    def _scale(self) -> float:
        """What ``k`` does to gains besides cutting them off."""
        return 1.0 / (self.k or 1) if self.name == "precision" and not self.function else 1.0

    def _whole_gain(
        self, rank: FloatArray, position: FloatArray, place: Any, n_items: Any
    ) -> FloatArray:
        """Gains without regard to ``k``."""
        if self.function is not None:
            return self._own_gain(position)
        if self.name in _ON_POOL:
            pool = np.asarray(n_items, dtype=np.float64)
            return (pool - rank) / (pool - 1.0) * np.ones_like(position)
        if self.name in _MEAN_RANK:  # among the non-targets, wherever the other targets stand
            own = np.asarray(n_items if self.mean_pool is None else self.mean_pool, np.float64)
            return _MEAN_RANK[self.name](rank, own) * np.ones_like(position)
        gain = _GAINS[self.name](position)
        if self.name in _BY_PLACE:
            return np.asarray(gain * place)
        return np.where(np.asarray(place) == 1, gain, 0.0) if self.name in _FIRST else gain

    def _own_gain(self, rank: FloatArray) -> FloatArray:
        assert self.function is not None
        gain = np.asarray(self.function(rank), dtype=np.float64)
        if gain.shape != rank.shape or not np.isfinite(gain).all():
            raise InputError(
                f"metric {self.name!r} must return one finite gain per rank: got shape "
                f"{gain.shape} for ranks of shape {rank.shape}"
            )
        return gain


@lru_cache(maxsize=4096)  # a curve has hundreds of metrics, and each is asked for every estimate
def _best(metric: Metric) -> float:
    return float(metric.gain([1.0], 2.0)[0])


def _ones(position: FloatArray) -> FloatArray:
    return np.ones_like(position)


# The gain at a position.
_GAINS: dict[str, Callable[[FloatArray], FloatArray]] = {
    "recall": _ones,
    "recall_min": _ones,
    "precision": _ones,
    "hit_rate": _ones,
    "ndcg": lambda position: 1.0 / np.log2(position + 1.0),
    "ap": lambda position: 1.0 / position,
    "ap_all": lambda position: 1.0 / position,
    "mrr": lambda position: 1.0 / position,
    "auc": _ones,
    "r_precision": _ones,
    "mr": lambda position: position,
    "amr": lambda position: position,
    "amri": lambda position: position,
}
# The gain at a rank among the non-targets, given the mean pool: (mean pool + 1) / 2 is the mean
# rank of a scorer that knows nothing.
_MEAN_RANK: dict[str, Callable[[FloatArray, FloatArray], FloatArray]] = {
    "mr": lambda rank, pool: rank,
    "amr": lambda rank, pool: 2.0 * rank / (pool + 1.0),
    "amri": lambda rank, pool: 1.0 - 2.0 * (rank - 1.0) / (pool - 1.0),
}
# What a user's sum over targets is multiplied by, from t and min(t, k).
_SHARES: dict[str, Callable[[FloatArray, FloatArray], FloatArray]] = {
    "recall": lambda t, most: 1.0 / t,
    "recall_min": lambda t, most: 1.0 / most,
    "precision": lambda t, most: np.ones_like(t),
    "hit_rate": lambda t, most: np.ones_like(t),
    "ndcg": lambda t, most: 1.0 / _ideal_dcg(most),
    "ap": lambda t, most: 1.0 / most,
    "ap_all": lambda t, most: 1.0 / t,
    "mrr": lambda t, most: np.ones_like(t),
    "auc": lambda t, most: 1.0 / t,
    "r_precision": lambda t, most: 1.0 / t,
    "mr": lambda t, most: 1.0 / t,
    "amr": lambda t, most: 1.0 / t,
    "amri": lambda t, most: 1.0 / t,
}
_FIRST = frozenset({"hit_rate", "mrr"})  # the best target of a user counts alone
_BY_PLACE = frozenset({"ap", "ap_all"})  # precision at the target: its place over its position
_HITS = frozenset({"recall", "recall_min", "precision", "hit_rate"})
_WITHOUT_CUT = frozenset({"r_precision", *_MEAN_RANK})
_LOWER = frozenset({"mr", "amr"})

# Gains that depend on the pool. Each is a + b / (N - 1): `estimators._base.expected_gains` and the
# posterior of smooth rest on it.
_ON_POOL = frozenset({"auc"})
_ON_MEAN_POOL = frozenset({"amr", "amri"})

_ALIASES = {
    "hr": "hit_rate",
    "hit": "hit_rate",
    "hits": "hit_rate",
    "hit_ratio": "hit_rate",
    "mean_rank": "mr",
    "aamr": "amr",
    "aamri": "amri",
    "rr": "mrr",
    "map": "ap",
    "p": "precision",
}
_NOT_LINEAR = frozenset({"ap_found", "map_found"})


def _ideal_dcg(n: FloatArray) -> FloatArray:
    """DCG of n targets at the first n positions."""
    whole = n.astype(np.int64)
    sums = np.cumsum(1.0 / np.log2(np.arange(2.0, int(whole.max(initial=1)) + 2.0)))
    return np.asarray(sums[whole - 1])


NAMES = tuple(_GAINS)


def parse(
    metrics: MetricLike | Iterable[MetricLike], *, k: int | Iterable[int] | None = None
) -> tuple[Metric, ...]:
    """Metrics from their names, each once.

    Parameters
    ----------
    metrics : str, Metric, or iterable of them
        Names such as ``"recall@10"`` or ``"ndcg@1,5,10"``, or Metric objects.
    k : int or iterable of int, optional
        The cut-off, or several, of the names that carry none.

    Returns
    -------
    tuple of Metric
        In the order given.

    Raises
    ------
    InputError
        If a name is unknown (with the nearest known one) or a cut-off is no whole number above 0.

    Examples
    --------
    >>> [metric.key for metric in tr.metrics.parse(["hr", "ndcg@20"], k=[5, 10])]
    ['hit_rate@5', 'hit_rate@10', 'ndcg@20']
    """
    cuts = _cuts(k)
    found: dict[str, Metric] = {}
    for item in _checks.listed(metrics):
        for metric in _parse_one(item, cuts):
            known = found.setdefault(metric.key, metric)
            if known != metric:
                raise InputError(f"two different metrics are called {metric.key!r}")
    if not found:
        raise InputError("metrics is empty; give at least one, such as 'recall@10'")
    return tuple(found.values())


def share(above: int, upto: int) -> Metric:
    """The share of users whose target ranks from ``above`` + 1 to ``upto``, as a metric.

    Parameters
    ----------
    above : int
        The last rank that does not count, at least 0.
    upto : int
        The last rank that counts.

    Returns
    -------
    Metric
        With gain 1 at ranks ``above`` + 1 to ``upto``.

    Examples
    --------
    >>> tr.metrics.share(10, 50).gain([10, 11, 50, 51], 1000).tolist()
    [0.0, 1.0, 1.0, 0.0]
    """
    _arguments.check(share, locals())
    above = _checks.integer(above, "above", low=0)
    upto = _checks.integer(upto, "upto", low=above + 1, why="more than above")
    return Metric(f"rank>{above}", upto, lambda rank: (rank > above).astype(np.float64))


def _number_of_targets(n_targets: Any) -> FloatArray:
    """Numbers of targets, at least 1, as floats."""
    t = _checks.numbers(n_targets, "n_targets")
    if not ((t >= 1) & (t <= _checks.LARGEST_INT)).all():
        raise InputError(f"n_targets is {_checks.shown(n_targets)}; it must be at least 1")
    return t


def ap_found(ranks: Any, k: int | None = None) -> float:
    """Average precision over the targets found: that of torchmetrics' ``RetrievalMAP``.

    Per user the mean of the precisions at its targets among the first k, 0 if there are none. The
    fewer are found, the fewer it is divided by: this is no sum over single targets, and only exact
    ranks tell it.

    Parameters
    ----------
    ranks : table
        Exact ranks of all targets of each user, as ``truerank.rank(scorer, test, "exact")`` gives
        them: columns ``user_id``, ``rank`` (among the non-targets, 1-based), ``sample_size``,
        ``n_items`` and, where users have several targets, ``place`` and ``n_targets``.
    k : int, optional
        The cut-off; all positions count if not given.

    Returns
    -------
    float
        The mean over users.

    Raises
    ------
    InputError
        If ranks come from samples, or targets of a user are missing.

    Examples
    --------
    >>> scorer = tr.scoring.Dense(np.array([[0.9, 0.8, 0.7, 0.6, 0.5]]))
    >>> ranks = tr.rank(scorer, ([0, 0, 0], [0, 2, 4]), "exact")  # at positions 1, 3 and 5
    >>> round(tr.metrics.ap_found(ranks, k=3), 6), round((1 / 1 + 2 / 3) / 2, 6)
    (0.833333, 0.833333)
    """
    _arguments.check(ap_found, locals())
    cut = None if k is None else _checks.integer(k, "k", low=1)
    if hasattr(ranks, "collect"):  # a lazy frame
        ranks = ranks.collect()
    rank, size, pool, place, n_targets = (
        _whole_column(ranks, name)
        for name in ("rank", "sample_size", "n_items", "place", "n_targets")
    )
    sampled = size != pool
    if sampled.any():
        raise InputError(
            f"{int(sampled.sum()):,} of {sampled.size:,} ranks are those of samples; average "
            "precision over the targets found is for exact ranks: truerank.rank(scorer, test, "
            "'exact')"
        )
    for name, column in (("rank", rank), ("place", place)):
        _checks.within(column, name, low=1, high=np.inf, because="the best is 1")
    user_id = _checks.ids(_column(ranks, "user_id"), "user_id")
    _, user, found = np.unique(user_id, return_inverse=True, return_counts=True)
    missing = found[user] != n_targets
    if missing.any():
        row = int(np.argmax(missing))
        raise InputError(
            f"user {user_id[row]} has n_targets={n_targets[row]} and {found[user[row]]} rows; give "
            "the ranks of all targets of each user"
        )
    position = rank + place - 1
    hit = position <= (np.inf if cut is None else cut)
    precision = np.bincount(user, np.where(hit, place / position, 0.0))
    return float(np.mean(precision / np.maximum(np.bincount(user, hit), 1.0)))


def _column(ranks: Any, name: str) -> Any:
    """A column of a table of ranks, whoever made the table; ones for those it may lack."""
    try:
        names = list(getattr(ranks, "column_names", getattr(ranks, "columns", ranks)))
        n_rows = len(ranks["rank"])
        if name not in names and name in ("place", "n_targets"):
            return np.ones(n_rows, dtype=np.int64)
        column = np.asarray(ranks[name])
    except Exception:
        raise InputError(
            f"ranks is {_checks.shown(ranks)}, which has no column {name}; give the table that "
            "truerank.rank returns"
        ) from None
    if column.shape != (n_rows,) or not n_rows:
        raise InputError(f"column {name} of ranks has shape {column.shape}, rank has {n_rows} rows")
    return column


def _whole_column(ranks: Any, name: str) -> Any:
    return _checks.whole_numbers(_column(ranks, name), name)


def total_gains(
    metrics: Iterable[Metric], rank: Any, n_items: Any, weight: FloatArray
) -> dict[str, float]:
    """Sum of weight * gain(rank) of every metric, by key: one pass for all cut-offs of a name."""
    wanted = list(metrics)
    (totals,) = all_total_gains(wanted, rank, n_items, weight[None, :]).tolist()
    return {metric.key: total for metric, total in zip(wanted, totals, strict=True)}


def all_total_gains(
    metrics: Sequence[Metric], rank: Any, n_items: Any, weight: FloatArray
) -> FloatArray:
    """Sums of weight * gain(rank) for several weights, (n_weights, n): (n_weights, n_metrics)."""
    rank = np.asarray(rank, dtype=np.float64)
    if not rank.size:
        return np.zeros((weight.shape[0], len(metrics)))
    order = np.argsort(rank, kind="stable")
    totals = np.empty((weight.shape[0], len(metrics)))
    for family in _families(tuple(metrics)):
        cuts = np.searchsorted(rank[order], family.last, side="right")
        gains = (weight * family.one._whole_gain(rank, rank, 1, n_items))[:, order]
        running = np.cumsum(gains, axis=1)
        found = running[:, np.maximum(cuts - 1, 0)] * family.scale
        totals[:, family.at] = np.where(cuts > 0, found, 0.0)
    return totals


def all_gains(metrics: Sequence[Metric], rank: FloatArray, n_items: Any) -> FloatArray:
    """``gain`` of every metric at ranks of shape (n,), as (n, n_metrics): one pass per name."""
    found = np.empty((rank.size, len(metrics)))
    for family in _families(tuple(metrics)):
        whole = np.broadcast_to(family.one._whole_gain(rank, rank, 1, n_items), rank.shape)
        seen = rank[:, None] <= family.last
        found[:, family.at] = np.where(seen, whole[:, None] * family.factor, 0.0)
    return found


@dataclass(frozen=True)
class _Family:
    """Metrics that differ in their cut-offs alone: their places, and what each multiplies by."""

    one: Metric
    at: IntArray
    last: FloatArray
    scale: FloatArray
    factor: FloatArray  # for users with one target


@lru_cache(maxsize=64)
def _families(metrics: tuple[Metric, ...]) -> tuple[_Family, ...]:
    places: dict[tuple[str, GainFunction | None, float | None], list[int]] = {}
    for place, metric in enumerate(metrics):
        about = metric.name, metric.function, metric.mean_pool
        places.setdefault(about, []).append(place)
    found = []
    for at in places.values():
        some = [metrics[place] for place in at]
        scale = np.array([metric._scale for metric in some])
        share = np.array([float(metric.share(1)) for metric in some])
        last = np.array([metric.last for metric in some])
        found.append(_Family(some[0], np.array(at), last, scale, scale * share))
    return tuple(found)


def key(metric: MetricLike) -> str:
    """The canonical spelling of a metric, by which results are looked up.

    Parameters
    ----------
    metric : str or Metric
        As anybody spells it; it is not checked.

    Returns
    -------
    str
        The key.

    Examples
    --------
    >>> tr.metrics.key("HR@10")
    'hit_rate@10'
    """
    if isinstance(metric, Metric):
        return metric.key
    name, at, cut = (metric if isinstance(metric, str) else _checks.shown(metric)).partition("@")
    resolved = _ALIASES.get(_tidy(name), _tidy(name))
    return f"{resolved}@{cut.strip()}" if at else resolved


def _parse_one(item: Any, cuts: tuple[int | None, ...]) -> list[Metric]:
    if isinstance(item, Metric):
        return [replace(item, k=cut) for cut in cuts] if item.k is None else [item]
    if not isinstance(item, str):
        raise InputError(
            f"metric is {_checks.shown(item)}; expected a name such as 'recall@10' or a Metric"
        )
    name, at, tail = item.partition("@")
    canonical = _canonical(name)
    if not at:
        return [Metric(canonical, cut) for cut in cuts]
    metrics = []
    for part in tail.strip("[] ").split(","):
        digits = part.strip()
        if not re.fullmatch(r"-?\d{1,16}", digits):
            said = _checks.shown(item)
            raise InputError(
                f"metric {said}: k is {_checks.shown(digits)}; it must be a whole number"
            )
        metrics.append(Metric(canonical, int(digits)))
    return metrics


def _cuts(k: Any) -> tuple[int | None, ...]:
    if k is None:
        return (None,)
    values = _checks.listed(k)
    if not values:
        raise InputError("k is empty; give at least one cut-off, or leave it out")
    return tuple(_checks.integer(value, "k", low=1) for value in values)


def _tidy(name: str) -> str:
    return name.strip().lower().replace("-", "_")


def _canonical(name: str) -> str:
    tidy = _tidy(name)
    resolved = _ALIASES.get(tidy, tidy)
    if resolved in _NOT_LINEAR:
        raise InputError(
            f"{resolved} divides by the targets found, so that it depends on all targets of a user "
            "at once and cannot be told from single ranks: of exact ranks, "
            "truerank.metrics.ap_found(truerank.rank(scorer, test, 'exact'), k) computes it; "
            "ap and ap_all are average precisions that every design gives"
        )
    if resolved not in _GAINS:
        raise _checks.unknown("metric", name, [*NAMES, *_ALIASES])
    return resolved


def __dir__() -> list[str]:
    return sorted(__all__)
