"""Metrics as gains over ranks: ``"recall@10"`` is 1 at ranks 1 to 10 and 0 beyond.

Every metric here is a mean over users of F(rank) [rank <= k]: the gain F with its cut-off. The
size of the pool enters only where the gain depends on it (auc).
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Any, TypeAlias

import numpy as np

from truerank import _checks
from truerank._types import FloatArray
from truerank.errors import InputError

__all__ = ["NAMES", "Metric", "key", "parse", "share"]

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

    Raises
    ------
    InputError
        If the name is unknown (with the nearest known one), or ``precision`` has no cut-off.

    Examples
    --------
    >>> tr.Metric("HR", 10).key
    'recall@10'
    >>> tr.Metric("ndcg", 10).gain([1, 3, 11], 1000).tolist()
    [1.0, 0.5, 0.0]
    >>> fading = tr.Metric("fading", 20, lambda rank: np.exp(-rank / 5))
    >>> fading.gain([5.0], 1000).round(3).tolist()
    [0.368]
    """

    name: str
    k: int | None = None
    function: GainFunction | None = None

    def __post_init__(self) -> None:
        if self.k is not None:
            object.__setattr__(self, "k", _checks.integer(self.k, f"k of {self.name}", low=1))
        if self.function is None:
            name = _canonical(self.name)
            object.__setattr__(self, "name", name)
            if name == "precision" and self.k is None:
                raise InputError("precision needs a cut-off, as in 'precision@10'")
        elif not callable(self.function):
            raise InputError(f"function of metric {self.name!r} is not callable")

    @property
    def key(self) -> str:
        """The name with the cut-off, by which results are looked up.

        Examples
        --------
        >>> tr.Metric("mrr", 5).key, tr.Metric("auc").key
        ('ap@5', 'auc')
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
        return self.function is None and self.name in _ON_POOL

    @property
    def counts_hits(self) -> bool:
        """Whether every rank up to the cut-off has the same gain: a share of users.

        Examples
        --------
        >>> tr.Metric("precision", 5).counts_hits, tr.Metric("ndcg", 5).counts_hits
        (True, False)
        """
        return self.function is None and self.name in ("recall", "precision")

    def gain(self, rank: Any, n_items: Any) -> FloatArray:
        """The gain of each rank; the arguments broadcast.

        Parameters
        ----------
        rank : float or array-like of float
            Global ranks, 1-based.
        n_items : int or array-like of int
            Size of the pool, the target included.

        Returns
        -------
        ndarray of float
            Gains, at most :meth:`best`; 0 beyond the cut-off.

        Examples
        --------
        >>> tr.Metric("auc").gain([1, 501, 1001], 1001).tolist()
        [1.0, 0.5, 0.0]
        """
        rank = np.asarray(rank, dtype=np.float64)
        gain = self._whole_gain(rank, n_items) * self._scale
        return gain if self.k is None else np.where(rank <= self.k, gain, 0.0)

    def best(self) -> float:
        """The largest value that the metric can take: its gain at rank 1.

        Returns
        -------
        float
            1 for all built-in metrics but ``precision@k``, where it is 1/k.

        Examples
        --------
        >>> tr.Metric("recall", 10).best(), tr.Metric("precision", 10).best()
        (1.0, 0.1)
        """
        return _best(self)

    @property
    def _scale(self) -> float:
        """What ``k`` does to gains besides cutting them off."""
        return 1.0 / (self.k or 1) if self.name == "precision" and not self.function else 1.0

    def _whole_gain(self, rank: FloatArray, n_items: Any) -> FloatArray:
        """Gains without regard to ``k``."""
        if self.function is None:
            return _GAINS[self.name](rank, np.asarray(n_items, dtype=np.float64))
        return self._own_gain(rank)

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


_GAINS: dict[str, Callable[[FloatArray, FloatArray], FloatArray]] = {
    "recall": lambda rank, n_items: np.ones_like(rank),
    "precision": lambda rank, n_items: np.ones_like(rank),
    "ndcg": lambda rank, n_items: 1.0 / np.log2(rank + 1.0),
    "ap": lambda rank, n_items: 1.0 / rank,
    "auc": lambda rank, n_items: (n_items - rank) / (n_items - 1.0),
}

# Gains that depend on the pool. Each is a + b / (N - 1): `estimators._base.expected_gains` and the
# posterior of smooth rest on it.
_ON_POOL = frozenset({"auc"})

_ALIASES = {
    "hr": "recall",
    "hit": "recall",
    "hits": "recall",
    "hit_rate": "recall",
    "hit_ratio": "recall",
    "mrr": "ap",
    "rr": "ap",
    "map": "ap",
    "p": "precision",
}

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
    ['recall@5', 'recall@10', 'ndcg@20']
    """
    if isinstance(metrics, (str, Metric)) or not isinstance(metrics, Iterable):
        metrics = [metrics]
    cuts = _cuts(k)
    found: dict[str, Metric] = {}
    for item in metrics:
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
    above = _checks.integer(above, "above", low=0)
    upto = _checks.integer(upto, "upto", low=above + 1, why="more than above")
    return Metric(f"rank>{above}", upto, lambda rank: (rank > above).astype(np.float64))


def total_gains(
    metrics: Iterable[Metric], rank: Any, n_items: Any, weight: FloatArray
) -> dict[str, float]:
    """Sum of weight * gain(rank) of every metric, by key: one pass for all cut-offs of a name."""
    wanted = list(metrics)
    rank = np.asarray(rank, dtype=np.float64)
    order = np.argsort(rank, kind="stable")
    last = [np.inf if metric.k is None else metric.k for metric in wanted]
    cuts = np.searchsorted(rank[order], last, side="right").tolist()
    running: dict[tuple[str, GainFunction | None], list[float]] = {}
    totals = {}
    for metric, cut in zip(wanted, cuts, strict=True):
        family = (metric.name, metric.function)
        if family not in running:
            gains = (weight * metric._whole_gain(rank, n_items))[order]
            running[family] = [0.0, *np.cumsum(gains).tolist()]
        totals[metric.key] = running[family][cut] * metric._scale
    return totals


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
    'recall@10'
    """
    if isinstance(metric, Metric):
        return metric.key
    name, at, cut = str(metric).partition("@")
    resolved = _ALIASES.get(_tidy(name), _tidy(name))
    return f"{resolved}@{cut.strip()}" if at else resolved


def _parse_one(item: Any, cuts: tuple[int | None, ...]) -> list[Metric]:
    if isinstance(item, Metric):
        return [replace(item, k=cut) for cut in cuts] if item.k is None else [item]
    if not isinstance(item, str):
        raise InputError(f"metric is {item!r}; expected a name such as 'recall@10' or a Metric")
    name, at, tail = item.partition("@")
    canonical = _canonical(name)
    if not at:
        return [Metric(canonical, cut) for cut in cuts]
    metrics = []
    for part in tail.strip("[] ").split(","):
        digits = part.strip()
        if not re.fullmatch(r"-?\d{1,16}", digits):
            raise InputError(f"metric {item!r}: k is {digits!r}; it must be a whole number")
        metrics.append(Metric(canonical, int(digits)))
    return metrics


def _cuts(k: Any) -> tuple[int | None, ...]:
    if k is None:
        return (None,)
    values = list(k) if isinstance(k, Iterable) and not isinstance(k, str) else [k]
    if not values:
        raise InputError("k is empty; give at least one cut-off, or leave it out")
    return tuple(_checks.integer(value, "k", low=1) for value in values)


def _tidy(name: str) -> str:
    return name.strip().lower().replace("-", "_")


def _canonical(name: str) -> str:
    tidy = _tidy(name)
    resolved = _ALIASES.get(tidy, tidy)
    if resolved not in _GAINS:
        raise _checks.unknown("metric", name, [*NAMES, *_ALIASES])
    return resolved


def __dir__() -> list[str]:
    return sorted(__all__)
