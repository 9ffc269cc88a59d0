"""What more pairs would buy: the predicted error of a metric against the cost of a sample."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, get_args

import numpy as np

from truerank import _checks, estimators
from truerank import metrics as metrics_module
from truerank import progress as _progress
from truerank._types import FrontierDesign
from truerank.designs import Adaptive, Design, Fixed
from truerank.errors import InputError
from truerank.estimators import Estimator
from truerank.inference.planning import like as like_module
from truerank.inference.planning.simulate import predict_error
from truerank.metrics import MetricLike
from truerank.progress import Progress

SIMULATED_USERS = 20_000  # the error of more follows from theirs
DESIGNS: tuple[FrontierDesign, ...] = get_args(FrontierDesign)
_AROUND = (0.25, 0.5, 1.0, 2.0, 4.0)  # of the cost of a pilot, where errors are predicted
_FEWEST = 17  # pairs per user


@dataclass(frozen=True)
class FrontierPoint:
    """A design, its cost and its predicted error.

    Attributes
    ----------
    design : {"adaptive", "fixed"}
        The kind of design, ``adaptive`` being ours.
    pairs_per_user : float
        Scored pairs per user, the target's own included.
    error : float
        Relative root mean squared error for these users.
    """

    design: FrontierDesign
    pairs_per_user: float
    error: float


@dataclass(frozen=True)
class Frontier:
    """Predicted errors of one metric against cost.

    Attributes
    ----------
    metric : str
        The metric.
    points : tuple of FrontierPoint
        The designs that were simulated.
    """

    metric: str
    points: tuple[FrontierPoint, ...]

    def of(self, design: FrontierDesign) -> list[FrontierPoint]:
        """The points of one kind of design.

        Parameters
        ----------
        design : {"adaptive", "fixed"}
            The kind.

        Returns
        -------
        list of FrontierPoint
            The cheapest first.
        """
        found = [point for point in self.points if point.design == design]
        return sorted(found, key=lambda point: point.pairs_per_user)

    def pairs_for(self, error: float, design: FrontierDesign = "adaptive") -> float | None:
        """Pairs per user with which a design comes to an error, read between its points.

        Parameters
        ----------
        error : float
            Relative root mean squared error.
        design : {"adaptive", "fixed"}
            The kind of design.

        Returns
        -------
        float or None
            Scored pairs per user; None if the error lies beyond the points.
        """
        points = self.of(design)
        # More pairs never err more; a simulation may say so by its own scatter.
        errors = np.minimum.accumulate([max(point.error, 1e-12) for point in points])
        if not points or not errors[-1] <= error <= errors[0]:
            return None
        pairs = np.log([point.pairs_per_user for point in points])
        return float(np.exp(np.interp(-np.log(error), -np.log(errors), pairs)))


def frontier(
    like: Any,
    metric: MetricLike = "recall@10",
    *,
    pairs: Iterable[float] | None = None,
    designs: Iterable[FrontierDesign] = DESIGNS,
    estimator: str | Estimator = "smooth",
    repeats: int = 2,
    seed: int = 0,
    progress: Progress = None,
) -> Frontier:
    """Errors that samples of several costs would make on users such as those of a pilot.

    Parameters
    ----------
    like : RankCounts or Estimates
        A pilot, or what was estimated from it.
    metric : str or Metric, default "recall@10"
        One metric.
    pairs : iterable of float, optional
        Scored pairs per user, the target's own included; if not given, a quarter to four times
        those of the pilot.
    designs : iterable of {"adaptive", "fixed"}
        The kinds of design to simulate.
    estimator : str or Estimator, default "smooth"
        The estimator that samples are to be evaluated with.
    repeats : int, default 2
        Number of simulated evaluations per point.
    seed : int, default 0
        Seed of the simulations.
    progress : callable or bool, optional
        As in `truerank.estimate`.

    Returns
    -------
    Frontier
        Cost and error of each design.
    """
    (wanted, *more) = metrics_module.parse(metric)
    if more:
        raise InputError(f"metric is {metric!r}, which is several; give one")
    supposed = like_module.read(like, None, wanted)
    wanted = wanted.bound([supposed.n_items])
    if supposed.n_users is None:
        raise InputError("like has no users; give RankCounts of a pilot or its estimates")
    counts = getattr(like, "counts", like)
    n_users = max(2, round(supposed.n_users))
    if pairs is None:
        # A quarter of a small sample may be less than a target and one negative.
        pairs = sorted({max(2.0, share * counts.pairs_per_user) for share in _AROUND})
    most = int(supposed.n_items) - 1
    given = [_checks.real(value, "pairs", low=2.0) for value in pairs]
    costs = sorted({int(np.clip(round(value), min(_FEWEST, most), most)) for value in given})
    value = supposed.moments(wanted)[0]
    if value <= 0.0:
        raise InputError(f"{wanted.key} is 0 by {supposed.source}; no error is a share of that")
    simulated = min(n_users, SIMULATED_USERS)
    users, chosen = supposed.users(simulated), estimators.get(estimator)
    found = []
    names = [_known(name) for name in designs]
    with _progress.reporting(progress, len(names) * len(costs), "predicting") as advance:
        for name in names:
            for cost in costs:
                one = predict_error(
                    users,
                    wanted,
                    design=within(name, cost),
                    estimator=chosen,
                    catalogue=supposed.catalogue,
                    repeats=repeats,
                    seed=seed,
                )
                spread = one.std_error * np.sqrt(simulated / n_users)
                error = float(np.hypot(one.bias, spread)) / value
                found.append(FrontierPoint(name, one.pairs_per_user, error))
                advance(1)
    return Frontier(wanted.key, tuple(found))


def within(name: FrontierDesign, pairs: float) -> Design:
    """Our adaptive design, or a fixed one, of so many scored pairs per user.

    Parameters
    ----------
    name : {"adaptive", "fixed"}
        The kind.
    pairs : float
        Scored pairs per user, the target's own included.

    Returns
    -------
    Design
        The design.
    """
    return Adaptive(budget=pairs) if name == "adaptive" else Fixed(sample_size=int(pairs))


def _known(name: str) -> FrontierDesign:
    for known in DESIGNS:
        if name == known:
            return known
    raise _checks.unknown("design", name, DESIGNS)
