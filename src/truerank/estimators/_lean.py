"""Likelihoods for predictions, which cost the same whatever the pool and the samples are.

Estimates ask for supports as sharp everywhere as the sharpest outcome, and take outcomes as they
are. Predicted errors need not be as exact, and are asked for by the dozen. Two things make them
cheap, 300 points instead of 1e5 for a pool of 1e9:

- Large samples of adaptive designs are those of targets near the top. Cells of ranks that none of
  them comes from may be wide.
- Large samples of fixed size tell ranks apart that a smooth law takes for the same: r among n has a
  relative standard error of 1 / sqrt(r). Where that is small, it is made ``BLUNT`` by a smaller
  sample with the same share of negatives above the target.
"""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np

from truerank.estimators._banded import reach
from truerank.estimators._neighbours import on_grid
from truerank.estimators.likelihood import each_sharpness
from truerank.estimators.smooth import telling_size
from truerank.estimators.support import Sharp, Support, compressed
from truerank.metrics import Metric
from truerank.outcomes.counts import RankCounts
from truerank.outcomes.schemes import Scheme

BLUNT = 0.03  # relative standard error of a rank; splines have knots at factors of 1.6
_TELLING = 1e-8  # of the maximum: where an outcome is less likely, it tells no ranks apart
_SHARPER = 1.1  # kinds of outcomes that differ by less share cells


def lean_counts(counts: RankCounts, metric: Metric) -> RankCounts:
    """Few outcomes, none sharper than a smooth law asks, that a fit takes for ``counts``.

    A metric without a cut-off asks for all ranks as they are. Adaptive counts stay as they are:
    they are few, and `MLE` takes fewer steps with them.
    """
    if counts.adaptive:
        return counts
    counts = on_grid(counts)
    if metric.k is None:
        return counts
    plain = np.array([scheme.seen is None for scheme in counts.schemes])
    above = np.ceil(1.0 / BLUNT**2)  # negatives above a target whose rank is known so well
    sharp = ~counts.is_exact & plain[counts.scheme] & (counts.sampled_rank - 1 > above)
    parts = [counts.select(~sharp)]
    for code, scheme in enumerate(counts.schemes):
        mine = sharp & (counts.scheme == code)
        if mine.any():
            size, rank = counts.sample_size[mine] - 1, counts.sampled_rank[mine] - 1
            fewer = np.rint(size * (above / rank)).astype(np.int64)
            parts.append(
                RankCounts.from_outcomes(
                    Scheme(replacement=scheme.replacement),
                    n_items=counts.n_items[mine],
                    sample_size=1 + np.maximum(fewer, int(above)),
                    sampled_rank=np.full(rank.size, 1 + int(above)),
                    weight=counts.weight[mine],
                )
            )
    first, *others = (part for part in parts if part is not None)
    lean = sum(others, first)
    # Priors are chosen by the size that few users reach.
    return lean if telling_size(lean) == telling_size(counts) else counts


def lean_support(counts: RankCounts, metrics: Iterable[Metric]) -> Support:
    """A compressed support as sharp at each rank as the outcomes that may come from there."""
    sampled = ~counts.is_exact
    sharp = each_sharpness(counts)
    pool, size = counts.n_items[sampled], counts.sample_size[sampled]
    until = reach(pool, size, counts.sampled_rank[sampled], _TELLING)[1]
    until[counts.is_censored[sampled]] = np.inf  # any rank behind those seen
    edges = [metric.k for metric in metrics if metric.k is not None]
    kinds: list[Sharp] = []
    for at in np.lexsort((-sharp, -until)):  # the furthest first; of those nearer, the sharper
        if not kinds or sharp[at] / pool[at] > _SHARPER * kinds[-1].sharpness / kinds[-1].pool:
            kinds.append(Sharp(float(until[at]), int(pool[at]), float(sharp[at])))
    return compressed(int(counts.n_items.max()), sharpness=kinds, edges=edges)
