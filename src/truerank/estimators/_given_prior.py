"""The distribution of ranks that an estimator is given, or finds in the same sample."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal, TypeAlias

import numpy as np

from truerank import _checks
from truerank._types import FloatArray
from truerank.errors import InputError
from truerank.estimators._base import Estimator, Fit
from truerank.estimators.maxent import MES
from truerank.estimators.mle import MLE
from truerank.estimators.support import RankDistribution, Support
from truerank.metrics import Metric
from truerank.outcomes.counts import RankCounts

# What a prior may be given as; None is the uniform distribution.
PriorName: TypeAlias = Literal["mle", "mes"]
Prior: TypeAlias = PriorName | Estimator | RankDistribution | None

_BY_NAME: dict[str, type[Estimator]] = {"mle": MLE, "mes": MES}


def checked(prior: Prior) -> Estimator | RankDistribution | None:
    """The prior, a name replaced by its estimator; an InputError if it is none.

    Parameters
    ----------
    prior : {"mle", "mes"}, Estimator, RankDistribution or None
        As it was given.

    Returns
    -------
    Estimator, RankDistribution or None
        None is the uniform distribution.
    """
    if isinstance(prior, str):
        if prior not in _BY_NAME:
            raise _checks.unknown("prior", prior, _BY_NAME)
        return _BY_NAME[prior]()
    if prior is not None and not isinstance(prior, (Estimator, RankDistribution)):
        raise InputError(
            f"prior is of type {type(prior).__name__}; it must be 'mle', 'mes', an "
            "estimator, or a RankDistribution such as the .distribution of another estimate"
        )
    return prior


def find(
    prior: Prior, counts: RankCounts, metrics: Sequence[Metric], grid: Support
) -> tuple[RankDistribution | None, Fit | None]:
    """The distribution to use and, if it was fitted to ``counts``, that fit."""
    if not isinstance(prior, Estimator):
        return prior if isinstance(prior, RankDistribution) else None, None
    fit = prior.fit(counts, metrics=metrics, support=grid, plug_in="plain")
    if fit.distribution is None:
        raise InputError(f"{prior.name} gives no distribution and cannot be a prior")
    return fit.distribution, fit


def masses(prior: RankDistribution | None, support: Support) -> FloatArray:
    """The prior on a space's own points, within its pool, summing to 1.

    Uniform without a prior, and in a pool so small that the prior lies wholly beyond it.
    """
    uniform = support.weight / support.n_items
    mass = np.zeros(0) if prior is None else np.maximum(prior.masses_on(support), 0.0)
    total = float(mass.sum())
    return uniform if total <= 0 else np.asarray(mass / total)
