"""Fit a law to each class of targets; smooth strays from that of order statistics."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from truerank._types import FloatArray
from truerank.errors import InputError
from truerank.estimators._base import Estimator, Fit
from truerank.estimators._neighbours import on_grid
from truerank.estimators.likelihood import likelihood, make_support
from truerank.estimators.several.classes import classes_of
from truerank.estimators.several.known import Known, posterior_of
from truerank.estimators.several.laws import FittedPlaces
from truerank.estimators.several.order import order_laws
from truerank.estimators.smooth import Smooth, fit_about
from truerank.estimators.support import SupportLike
from truerank.metrics import Metric
from truerank.outcomes.counts import RankCounts

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
    numbers = range(int(classes.table.max()) + 1)
    parts = [part for number in numbers if (part := counts.select(of == number)) is not None]

    def alone(part: RankCounts, power: float) -> RankCounts:
        """Targets as users of one target that weigh 1 / t to a power each."""
        each = part.weight / part.n_targets**power
        # As many users as these weigh: squares of uneven weights count.
        scale = float(each.sum()) / float((part.weight / part.n_targets ** (2.0 * power)).sum())
        single = part.reweighted(scale * each).single()
        return on_grid(single) if support == "auto" else single

    apart = [alone(part, 0.5) for part in parts]
    known = None
    if isinstance(estimator, Smooth):
        targets = alone(counts, 1.0)
        together = estimator.fit(targets, metrics=[], support=grid, plug_in="plain")
        seen = [likelihood(one, grid) for one in apart]
        order = order_laws(parts, posterior_of(together).distribution(scope="population"), seen)
        fits = [
            fit_about(estimator, one, base, model=model)
            for one, base, model in zip(apart, order.mass, seen, strict=True)
        ]
        known = Known(targets, together, order, fits)
    else:
        fits = [estimator.fit(one, metrics=[], support=grid, plug_in="plain") for one in apart]
    return FittedPlaces(counts, grid, classes, [_law(fit, estimator) for fit in fits], fits, known)


def _law(fit: Fit, estimator: Estimator) -> FloatArray:
    """The law of a class: what targets follow before their outcomes are seen."""
    if fit.posterior is not None:
        return fit.posterior.distribution(scope="population").mass
    if fit.distribution is None:
        raise InputError(
            f"estimator {estimator.name!r} gives no rank distribution; users here have several "
            "targets, for which one is needed: take smooth, mle or bv"
        )
    return np.maximum(fit.distribution.mass, 0.0) + fit.distribution.masses_of_exact()
