"""Metrics as gains over ranks: ``"recall@10"`` is 1 at ranks 1..10 and 0 beyond.

Every metric of SPEC form is mean over users of F(rank) [rank <= k]; a metric here is that F with
its cut-off. ``n_items`` enters only where the gain depends on the pool (auc).
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
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
    """A metric: a gain for each rank (1-based), up to the cut-off ``k`` if there is one.

    ``Metric("my-gain", function=lambda rank: np.exp(-rank / 5), k=20)`` defines one of your own:
    the function takes an array of ranks and returns their gains. On a compressed support it is
    read between whole ranks too, so let it be smooth or use ``support="full"``.
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
        """How the metric is printed and looked up: ``recall@10``."""
        return self.name if self.k is None else f"{self.name}@{self.k}"

    @property
    def depends_on_pool(self) -> bool:
        """Whether the gain at a rank differs between pool sizes."""
        return self.function is None and self.name == "auc"

    def gain(self, rank: Any, n_items: Any) -> FloatArray:
        """Gain at each rank of a pool of ``n_items``; the arguments broadcast."""
        rank = np.asarray(rank, dtype=np.float64)
        gain = self._whole_gain(rank, n_items) * self._scale
        return gain if self.k is None else np.where(rank <= self.k, gain, 0.0)

    def best(self) -> float:
        """The largest value the metric can take: its gain at rank 1."""
        return self._scale if self.function is None else float(self.gain([1.0], 2.0)[0])

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


# Each is 1 at rank 1.
_GAINS: dict[str, Callable[[FloatArray, FloatArray], FloatArray]] = {
    "recall": lambda rank, n_items: np.ones_like(rank),
    "precision": lambda rank, n_items: np.ones_like(rank),
    "ndcg": lambda rank, n_items: 1.0 / np.log2(rank + 1.0),
    "ap": lambda rank, n_items: 1.0 / rank,
    "auc": lambda rank, n_items: (n_items - rank) / (n_items - 1.0),
}

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
    """Metrics from names such as ``"recall@10"``, ``"ndcg@1,5,10"`` or Metric objects.

    ``k`` (an int or several) is the cut-off of the names that carry none.
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
    """The share of users whose rank is greater than ``above`` and at most ``upto``."""
    above = _checks.integer(above, "above", low=0)
    upto = _checks.integer(upto, "upto", low=above + 1, why="more than above")
    return Metric(f"rank>{above}", upto, lambda rank: (rank > above).astype(np.float64))


def total_gains(
    metrics: Iterable[Metric], rank: Any, n_items: Any, weight: FloatArray
) -> dict[str, float]:
    """sum of weight * gain(rank) of every metric, by key: one pass for all cut-offs of a name."""
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
    """The canonical spelling of one metric: ``HR@10`` is ``recall@10``."""
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
