"""Recall read off the sampled curve at f^-1(K) (LJ20; JL21 eq. 6)."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from truerank import _arguments, mapping
from truerank._types import FloatArray
from truerank.errors import InputError
from truerank.estimators._base import Estimator, Fit, mean_gains
from truerank.estimators.support import SupportLike
from truerank.metrics import Metric
from truerank.outcomes.counts import RankCounts


@dataclass(frozen=True)
class Mapped(Estimator):
    """Recall and precision at K, read off the sampled curve at the k with f(k) = K (LJ20).

    Between whole k the sampled recall is read linearly. Needs samples of a fixed size.

    Parameters
    ----------
    mapping : str
        ``"linear"``, ``"bound"``, ``"beta(0.5)"`` with any exponent, or ``"beta@P"``, whose
        exponent is fitted to the sampled ranks; see `truerank.mapping`.

    Examples
    --------
    >>> counts = tr.RankCounts.from_ranks([1, 1, 2, 5, 20], num_negatives=99, n_items=3706)
    >>> mapped = tr.estimators.Mapped(mapping="beta@P")
    >>> est = tr.estimate(counts, "recall@10", estimator=mapped, confidence=None)
    >>> round(est["recall@10"].value, 4)
    0.1517
    """

    mapping: str = "bound"
    name: ClassVar[str] = "mapped"

    def __post_init__(self) -> None:
        _arguments.check_fields(self)
        if self.mapping.strip().lower() != "beta@p":
            mapping.get(self.mapping)

    def supports(self, metric: Metric) -> bool:
        return metric.counts_hits

    def fit(
        self, counts: RankCounts, *, metrics: Sequence[Metric], support: SupportLike, plug_in: str
    ) -> Fit:
        if counts.adaptive:
            raise InputError("mapped needs samples of a fixed size; these counts are adaptive")
        if counts.censored:
            raise InputError("mapped needs ranks; some of these lists ended before their target")
        return Fit(mean_gains(counts, metrics, self._gains(counts, metrics)))

    def gains(
        self, counts: RankCounts, *, metrics: Sequence[Metric], support: SupportLike
    ) -> FloatArray | None:
        # beta@P fits its exponent to the counts.
        return None if self.mapping.strip().lower() == "beta@p" else self._gains(counts, metrics)

    def _gains(self, counts: RankCounts, metrics: Sequence[Metric]) -> FloatArray:
        f = mapping.get(self.mapping, counts)
        return np.stack([_gain(f, counts, metric) for metric in metrics], axis=1)


def _gain(f: Callable[..., FloatArray], counts: RankCounts, metric: Metric) -> FloatArray:
    """The sampled recall curve at k* = f^-1(K), as a gain per outcome: clip(k* - r + 1, 0, 1)."""
    if metric.k is None:
        return np.ones(counts.n_outcomes)
    designs, at = np.unique(
        np.stack([counts.n_items, counts.sample_size]), axis=1, return_inverse=True
    )
    position = np.empty(designs.shape[1])
    for i, (n_items, size) in enumerate(designs.T):
        k = np.arange(1, size + 1)
        ends = np.concatenate([[0.0], f(k, n_items=n_items, sample_size=size)])
        position[i] = np.interp(metric.k, ends, np.arange(size + 1.0))
    hit = np.clip(position[np.ravel(at)] - counts.sampled_rank + 1.0, 0.0, 1.0)
    return np.asarray(hit * metric.gain(np.array([1.0]), 2)[0])
