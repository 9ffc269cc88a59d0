"""Fit a law to each class of targets; smooth strays from that of order statistics."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from truerank._types import FloatArray
from truerank.errors import InputError
from truerank.estimators._base import Estimator
from truerank.estimators._neighbours import on_grid
from truerank.estimators.likelihood import make_support
from truerank.estimators.several.classes import classes_of
from truerank.estimators.several.laws import FittedPlaces
from truerank.estimators.smooth import Smooth
from truerank.estimators.support import RankDistribution, Support, SupportLike
from truerank.metrics import Metric
from truerank.outcomes.counts import RankCounts

_PAIRS = 32  # of place and number of targets that stand for all of a class
_PLAIN = 0.05  # share of the law of all targets in the base measure of a class
_FAR = 200.0  # places beyond which targets are of one class, whatever is asked for


def fitted_places(
    estimator: Estimator,
    counts: RankCounts,
    metrics: Sequence[Metric],
    support: SupportLike,
    plug_in: str,
) -> FittedPlaces:
    """Fit the law of each class."""
    cuts = [metric for metric in metrics if metric.k is not None]
    if any(metric.cuts_at_targets for metric in metrics):
        cuts.append(Metric("recall", min(int(counts.n_targets.max()), int(counts.n_items.max()))))
    grid = make_support(counts.single(), cuts, support)
    classes = classes_of(counts, max([float(m.k or _FAR) for m in metrics], default=_FAR))
    of = classes.of(counts)
    together = _of_all(estimator, counts, grid, support)
    fits = []
    for number in range(int(classes.table.max()) + 1):
        part = counts.select(of == number)
        assert part is not None
        each = part.weight / np.sqrt(part.n_targets)
        # As many users as these weigh: squares of uneven weights count.
        scale = float(each.sum()) / float((part.weight / part.n_targets).sum())
        alone = part.reweighted(scale * each).single()
        few = on_grid(alone) if support == "auto" else alone
        if isinstance(estimator, Smooth):
            base = order_law(part, together)
            fits.append(estimator.fit_about(few, base, support=grid))
        else:
            fits.append(estimator.fit(few, metrics=[], support=grid, plug_in="plain"))
        if fits[-1].distribution is None:
            raise InputError(
                f"estimator {estimator.name!r} gives no rank distribution; users here have several "
                "targets, for which one is needed: take smooth, mle or bv"
            )
    return FittedPlaces(counts, grid, classes, fits)


def _of_all(
    estimator: Estimator, counts: RankCounts, grid: Support, support: SupportLike
) -> RankDistribution | None:
    """The law of all targets together, which tells what those of one place are about like."""
    if not isinstance(estimator, Smooth):
        return None
    each = counts.weight / counts.n_targets
    scale = float(each.sum()) / float((counts.weight / counts.n_targets**2).sum())
    alone = counts.reweighted(scale * each).single()
    few = on_grid(alone) if support == "auto" else alone
    fit = estimator.fit(few, metrics=[], support=grid, plug_in="plain")
    assert fit.posterior is not None
    return fit.posterior.distribution(scope="population")


def order_law(counts: RankCounts, together: RankDistribution | None) -> FloatArray:
    """Masses of the law that targets of these places would follow if targets were independent.

    The i-th best of t independent draws with cumulative distribution F has that of
    I_F(i, t - i + 1), the incomplete beta function. Real users differ; a fit strays from it.
    """
    from scipy.special import betainc

    assert together is not None
    grid = together.support
    below = np.clip(together.cdf(grid.edge), 0.0, 1.0)
    pairs, row = np.unique(np.stack([counts.place, counts.n_targets]), axis=1, return_inverse=True)
    each = counts.weight / np.sqrt(counts.n_targets)
    weight: FloatArray = np.bincount(row.ravel(), each).astype(np.float64)
    if weight.size > _PAIRS:  # some of them, evenly by weight
        middle = np.searchsorted(
            np.cumsum(weight), (np.arange(_PAIRS) + 0.5) / _PAIRS * weight.sum()
        )
        pairs, weight = pairs[:, middle], np.ones(_PAIRS)
    found = np.zeros(grid.n_points)
    for (place, n_targets), share in zip(pairs.T.tolist(), weight / weight.sum(), strict=True):
        law = betainc(place, n_targets - place + 1, below)
        found += share * np.diff(law, prepend=0.0)
    plain = np.maximum(np.diff(below, prepend=0.0), 1e-12 * grid.weight / grid.n_items)
    return np.asarray((1.0 - _PLAIN) * np.maximum(found, 0.0) + _PLAIN * plain)
