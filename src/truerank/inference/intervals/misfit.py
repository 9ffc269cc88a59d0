"""How far real evaluations stray from what a smooth law makes of their samples.

The posterior of a smooth law knows what its sample leaves open, if ranks follow such a law. Real
ones do so nearly: they stray by less than the prior leaves open, ``LAW`` times that, and in two
ways that it does not know of.

**Lumps**, to either side: ranks are items, and in a list of best sellers each item has a share of
targets of its own. About the law that fits best, the log of P(R) strays by about 0.1 at the first
hundred ranks if lists are personal, and by about 0.6 if all users get nearly one list: that is what
the exact ranks of 70 real evaluations say (``python -m benchmarks.misfit`` prints them). Which of
both it is, the sample may tell, or leave open; see `truerank.estimators._lumps`.

**Misfit**, to one side. Where mle, which takes nothing to be smooth, lies elsewhere than smooth,
the truth may lie there too: ``TOWARDS`` times that distance counts, on its side. And training items
that are kept in a ranking push targets down from the first ranks, ties make cliffs: to the worse,
there is more. What that amounts to was learnt from real evaluations by the same command (five
datasets, five models, six designs, 500 to 6,000 users), as a function of what a table of ranks
tells:

    log misfit = level + resolution log(k n / N) + alike + disagreement log |smooth - mle|
                 + rank log k,

in logits, k being the rank at which the metric typically finds its targets, n the sample size that
one user in a hundred reaches, N the pool; ``alike`` counts where all pools are of one size, so that
training items may have been kept; the disagreement is about the shares of targets found by ranks
near k, according to smooth and to mle. docs/calibration.md has the coverage, with the misfit learnt
on four datasets and tried on the fifth.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import astuple, dataclass
from typing import NamedTuple

import numpy as np

from truerank._types import FloatArray
from truerank.estimators import MLE, Fit
from truerank.estimators._lumps import lumps
from truerank.estimators._neighbours import on_grid
from truerank.estimators.mle import published_steps
from truerank.estimators.smooth import telling_size
from truerank.metrics import Metric, all_gains
from truerank.outcomes.counts import RankCounts

# Sizes of lumps, those of personal lists and of best sellers, and how likely each is beforehand.
LUMPS: dict[float, float] = {0.1: 0.5, 0.6: 0.5}
# By how much of what the posterior leaves open, beyond what redraws show, real evaluations stray.
LAW = 0.55
# How much of the distance to mle, in logits, counts as an error that may be.
TOWARDS = 0.5
RESOLUTION = (-5.0, 3.0)  # between which log(k n / N) counts
AGREED = 0.01  # in logits: estimates that differ by less agree
_GRID = 48  # ranks at which cumulative distributions are compared
_KNOWN = 1e-6  # relative spread of a metric that is known exactly, up to rounding


@dataclass(frozen=True)
class Misfit:
    """The coefficients of the logarithm of the misfit."""

    level: float
    resolution: float
    alike: float
    disagreement: float
    rank: float

    def of(self, told: FloatArray) -> FloatArray:
        """The misfit, in logits, for what `features` tells, shape (n_metrics,)."""
        return np.asarray(np.exp(told @ np.array(astuple(self))))


LEARNT = Misfit(level=-3.69, resolution=-0.49, alike=0.55, disagreement=0.34, rank=-0.55)


class Stray(NamedTuple):
    """How far real evaluations stray from a smooth law, by metric, in units of each.

    To either side by lumps, and to the worse and to the better by misfit.
    """

    lumps: FloatArray
    misfit: FloatArray
    misfit_better: FloatArray

    @property
    def mean_square(self) -> FloatArray:
        """The mean squared error by all of it; half of what goes to one side counts."""
        return np.asarray(self.lumps**2 + (self.misfit**2 + self.misfit_better**2) / 2.0)


def stray(
    counts: RankCounts,
    reference: Fit,
    metrics: Sequence[Metric],
    spread: FloatArray,
    *,
    seen: bool = True,
) -> Stray:
    """Lumps and misfit of metrics, in units of each.

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
    seen : bool, default True
        Whether the ranks were seen; False if ``counts`` hold what the law expects, which says
        nothing about the size of lumps.

    Returns
    -------
    Stray
        Standard deviations, of shape (n_metrics,); 0 where the metric is known exactly.
    """
    assert reference.posterior is not None
    worst, span = _spans(metrics)
    share = (reference.posterior.mean(metrics) - worst) / span
    size = np.abs(span)
    unknown = (share > 0.0) & (share < 1.0) & (np.sqrt(spread) > _KNOWN * share * size)
    if counts.is_exact.all() or not unknown.any():
        return Stray(*np.zeros((3, len(metrics))))
    found = lumps(reference.posterior, metrics, list(LUMPS))
    evidence = found.log_evidence if seen else np.zeros_like(found.log_evidence)
    of_lumps = np.sqrt(mean_variance(found.variance, evidence[:, None]))
    told = features(counts, reference, metrics)
    worse, better = (
        misfit * share * (1.0 - share) * size for misfit in sides(LEARNT.of(told.columns), told)
    )
    return Stray(*(np.where(unknown, part, 0.0) for part in (of_lumps, worse, better)))


class Features(NamedTuple):
    """What a table tells of its misfit.

    A row per metric for the coefficients of `Misfit`, shape (n_metrics, 5); and how far, in logits,
    mle lies from smooth, to the better if above 0, shape (n_metrics,).
    """

    columns: FloatArray
    apart: FloatArray


def sides(learnt: FloatArray, told: Features) -> tuple[FloatArray, FloatArray]:
    """The misfit to the worse and to the better.

    Parameters
    ----------
    learnt : array
        What `Misfit` says, in logits, shape (n_metrics,).
    told : Features
        What the table tells.

    Returns
    -------
    tuple of two arrays
        In logits, shape (n_metrics,).
    """
    towards = TOWARDS * told.apart
    return np.hypot(learnt, np.minimum(towards, 0.0)), np.maximum(towards, 0.0)


def mean_variance(variance: FloatArray, log_evidence: FloatArray) -> FloatArray:
    """The mean over the sizes of lumps, each as likely as prior and evidence make it.

    Parameters
    ----------
    variance, log_evidence : array
        For each size of `LUMPS`, shapes (n_sizes, ...) that go together.

    Returns
    -------
    array
        Shape (...).
    """
    prior = np.array(list(LUMPS.values()))[:, None]
    weight = prior * np.exp(log_evidence - log_evidence.max(axis=0))
    return np.asarray((weight * variance).sum(axis=0) / weight.sum(axis=0))


def features(counts: RankCounts, reference: Fit, metrics: Sequence[Metric]) -> Features:
    """What a table tells of its misfit.

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
    Features
        For each metric.
    """
    assert reference.distribution is not None
    assert reference.posterior is not None
    smooth = reference.distribution
    n_items = int(counts.n_items.max())
    worst, span = _spans(metrics)
    gains = all_gains(metrics, smooth.support.rank, n_items)
    gains = np.abs(gains - worst) / np.where(worst == 0.0, 1.0, np.abs(span))
    found = np.maximum(smooth.mass @ gains, 1e-300)
    typical = (smooth.mass * np.log(smooth.support.rank)) @ gains / found
    resolution = typical + np.log(telling_size(counts) / n_items)
    alike = float((counts.n_items == counts.n_items[0]).all())
    # On the grid, as smooth is: a fifth of the time where pools differ, and the same to 1e-4.
    other = MLE(steps=published_steps(counts)).fit(
        on_grid(counts), metrics=metrics, support=smooth.support, plug_in="posterior"
    )
    mle = other.distribution
    assert mle is not None
    of_mle, of_smooth = (
        _logit((value - worst) / span)
        for value in (
            np.array([other.values[metric.key] for metric in metrics]),
            reference.posterior.mean(metrics),
        )
    )
    # Of the two cumulative distributions, about the typical rank: it is smooth in the cut-off.
    rank = np.unique(np.geomspace(1, max(n_items // 2, 2), _GRID).round())
    apart = _logit(smooth.cdf(rank)) - _logit(mle.cdf(rank))
    near = np.exp(-0.5 * (typical[:, None] - np.log(rank)) ** 2)
    disagreement = np.sqrt(near @ apart**2 / near.sum(axis=1))
    columns = np.column_stack(
        [
            np.ones(len(metrics)),
            np.clip(resolution, *RESOLUTION),
            np.full(len(metrics), alike),
            np.log(np.maximum(disagreement, AGREED)),
            typical,
        ]
    )
    return Features(columns, of_mle - of_smooth)


def _spans(metrics: Sequence[Metric]) -> tuple[FloatArray, FloatArray]:
    """The worst values of metrics and how far the best are from them; 0 and 1 of one's own."""
    worst = np.array([m.worst() for m in metrics])
    best = np.array([m.best() if m.function is None else 1.0 for m in metrics])
    return worst, best - worst


def _logit(share: FloatArray) -> FloatArray:
    inside = np.clip(share, 1e-6, 1.0 - 1e-9)
    return np.asarray(np.log(inside) - np.log1p(-inside))
