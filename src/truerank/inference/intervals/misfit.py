"""How far real evaluations fall below what a smooth law makes of their samples.

The posterior of a smooth law knows what its sample leaves open, if ranks follow such a law. Real
ones do so nearly: popular items make lumps, training items kept in a ranking push targets down from
the first ranks, ties make cliffs. No redraw from the fitted law shows that. What it amounts to was
learnt from real evaluations by ``python -m benchmarks.misfit`` (five datasets, five models, six
designs, 500 to 6,000 users), as a function of what a table of ranks tells:

    log misfit = level + resolution log(k n / N) + alike + disagreement log |smooth - mle|,

in logits, k being the rank at which the metric typically finds its targets, n the sample size that
one user in a hundred reaches, N the pool; ``alike`` counts where all pools are of one size, so that
training items may have been kept; the last term is about the shares of targets found by ranks near
k, according to smooth and to mle. It counts below the estimate only: a misfit above it was tried,
and none was learnt. docs/calibration.md has the coverage, with the misfit learnt on four datasets
and tried on the fifth.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import astuple, dataclass

import numpy as np

from truerank._types import FloatArray
from truerank.estimators import MLE, Fit
from truerank.estimators.smooth import telling_size
from truerank.metrics import Metric
from truerank.outcomes.counts import RankCounts

RESOLUTION = (-5.0, 3.0)  # between which log(k n / N) counts
AGREED = 0.01  # in logits: estimates that differ by less agree
_GRID = 48  # ranks at which cumulative distributions are compared
_KNOWN = 1e-6  # relative spread of a metric that is known exactly, but for rounding


@dataclass(frozen=True)
class Misfit:
    """The coefficients of the logarithm of the misfit."""

    level: float
    resolution: float
    alike: float
    disagreement: float

    def of(self, told: FloatArray) -> FloatArray:
        """The misfit, in logits, for what `features` tells, shape (n_metrics,)."""
        return np.asarray(np.exp(told @ np.array(astuple(self))))


LEARNT = Misfit(level=-4.508, resolution=-0.653, alike=0.761, disagreement=0.37)


def misfit(
    counts: RankCounts, reference: Fit, metrics: Sequence[Metric], spread: FloatArray
) -> FloatArray:
    """The misfit of metrics, in units of each.

    Parameters
    ----------
    counts : RankCounts
        The outcomes that were fitted.
    reference : Fit
        The smooth fit.
    metrics : list of Metric
        The metrics.
    spread : array
        Posterior variance of each metric, shape (n_metrics,).

    Returns
    -------
    array
        Standard deviations, shape (n_metrics,); 0 where the metric is known exactly.
    """
    assert reference.posterior is not None
    best = np.array([_best(metric) for metric in metrics])
    share = reference.posterior.mean(metrics) / best
    unknown = (share > 0.0) & (share < 1.0) & (np.sqrt(spread) > _KNOWN * share * best)
    if counts.is_exact.all() or not unknown.any():
        return np.zeros(len(metrics))
    found = LEARNT.of(features(counts, reference, metrics))
    return np.where(unknown, found * share * (1.0 - share) * best, 0.0)


def features(counts: RankCounts, reference: Fit, metrics: Sequence[Metric]) -> FloatArray:
    """What a table tells of its misfit: a row per metric for the coefficients of `Misfit`.

    Parameters
    ----------
    counts : RankCounts
        The outcomes that were fitted.
    reference : Fit
        The smooth fit.
    metrics : list of Metric
        The metrics.

    Returns
    -------
    array
        Shape (n_metrics, 4).
    """
    assert reference.distribution is not None
    smooth = reference.distribution
    n_items = int(counts.n_items.max())
    gains = np.stack([np.abs(m.gain(smooth.support.rank, n_items)) for m in metrics], axis=1)
    found = np.maximum(smooth.mass @ gains, 1e-300)
    typical = (smooth.mass * np.log(smooth.support.rank)) @ gains / found
    resolution = typical + np.log(telling_size(counts) / n_items)
    alike = float((counts.n_items == counts.n_items[0]).all())
    mle = MLE().fit(counts, metrics=metrics, support=smooth.support, plug_in="plain").distribution
    assert mle is not None
    # Of the two cumulative distributions, about the typical rank: it is smooth in the cut-off.
    rank = np.unique(np.geomspace(1, max(n_items // 2, 2), _GRID).round())
    apart = _logit(smooth.cdf(rank)) - _logit(mle.cdf(rank))
    near = np.exp(-0.5 * (typical[:, None] - np.log(rank)) ** 2)
    disagreement = np.sqrt(near @ apart**2 / near.sum(axis=1))
    return np.column_stack(
        [
            np.ones(len(metrics)),
            np.clip(resolution, *RESOLUTION),
            np.full(len(metrics), alike),
            np.log(np.maximum(disagreement, AGREED)),
        ]
    )


def _best(metric: Metric) -> float:
    return metric.best() if metric.function is None else 1.0


def _logit(share: FloatArray) -> FloatArray:
    inside = np.clip(share, 1e-6, 1.0 - 1e-9)
    return np.asarray(np.log(inside) - np.log1p(-inside))
