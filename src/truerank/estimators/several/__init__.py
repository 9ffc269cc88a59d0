"""Several targets per user: a law for each class of places, and every target's gain under it.

A target of rank R among the non-targets and place i among its user's targets has position R + i - 1
in the one list of all of them, so that metrics are sums over targets of gains in R. The law of R
differs by i (the best of eight targets ranks high) and by the number t of targets; so targets are
put into classes of i, t and offset, and one law is fitted to each class: smooth strays from the law
that order statistics of independent targets would follow. Some metrics weigh a user's targets 1 / t
each, others 1: in a fit they weigh 1 / sqrt(t), in the middle. A target then counts
with its expected gain given its own outcome and the law of its class: the gain of its own place,
weighted as the metric weights its user.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from truerank.errors import InputError
from truerank.estimators._base import Estimator, Fit
from truerank.estimators.several.fitting import fitted_places
from truerank.estimators.several.laws import FittedPlaces
from truerank.estimators.several.places import ExactPlaces, LinearPlaces, Places
from truerank.estimators.support import SupportLike
from truerank.metrics import Metric
from truerank.outcomes.counts import RankCounts

__all__ = ["ExactPlaces", "FittedPlaces", "Places", "fit"]


def fit(
    estimator: Estimator,
    counts: RankCounts,
    *,
    metrics: Sequence[Metric],
    support: SupportLike,
    plug_in: str,
) -> Fit:
    """Estimate metrics of users with several targets.

    Parameters
    ----------
    estimator : Estimator
        Fitted to each class, or asked for its gains where it has such.
    counts : RankCounts
        The outcomes of all targets.
    metrics : sequence of Metric
        What to estimate.
    support : {"auto", "full"} or Support
        The grid of global ranks.
    plug_in : {"plain", "posterior"}
        As in `Estimator.fit`; targets always count with their expected gains here.

    Returns
    -------
    Fit
        Values are means over targets of their gains; `truerank.estimate` makes them means over
        users.
    """
    check(counts, metrics)
    if not estimator.supports(Metric("own", None, np.ones_like)):
        raise InputError(
            f"estimator {estimator.name!r} is for one target per user; users here have up to "
            f"{int(counts.n_targets.max())}: take smooth, mle or bv"
        )
    law: Places
    if counts.is_exact.all():
        law = ExactPlaces(counts)
    elif _has_gains(estimator, counts, metrics, support):
        law = LinearPlaces(estimator, support)
    else:
        law = fitted_places(estimator, counts, metrics, support, plug_in)
    values = counts.weight @ law.gains(counts, metrics) / counts.total_weight
    found = {metric.key: float(value) for metric, value in zip(metrics, values, strict=True)}
    return Fit(found, law.distribution, law.converged, law.n_iter, {}, None, law)


def check(counts: RankCounts, metrics: Sequence[Metric]) -> None:
    """Raise for metrics that these counts do not tell."""
    if counts.offset.any():
        for metric in metrics:
            if metric.depends_on_pool or metric.of_mean_rank:
                raise InputError(
                    f"{metric.key} asks for the whole pool, and {int((counts.offset > 0).sum()):,} "
                    "outcomes have candidates above them that are known beside it; give metrics "
                    "with a cut-off"
                )


def _has_gains(
    estimator: Estimator, counts: RankCounts, metrics: Sequence[Metric], support: SupportLike
) -> bool:
    one = np.zeros(counts.n_outcomes, dtype=bool)
    one[0] = True
    few = counts.select(one)
    assert few is not None
    probe = [metric for metric in metrics if not metric.cuts_at_targets][:1]
    probe = probe or [Metric("recall", 1)]
    return estimator.gains(few.single(), metrics=probe, support=support) is not None


def __dir__() -> list[str]:
    return sorted(__all__)
