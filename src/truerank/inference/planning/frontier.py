"""What more pairs would buy: the predicted error of a metric against the cost of a sample."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any, get_args

import numpy as np

from truerank import _checks, estimators
from truerank import metrics as metrics_module
from truerank import progress as _progress
from truerank._types import FloatArray, FrontierDesign
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
_ON_CURVE = 41  # costs at which a curve is given
_ORDER = 2  # of the parabola
_LEAST_SCATTER = 0.025  # of logarithms of errors, that few points may not show


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
class CostCurve:
    """The error of one kind of design against its cost; arrays are of shape (n_costs,).

    Attributes
    ----------
    pairs_per_user : array
        Scored pairs per user, growing.
    error : array
        Relative root mean squared error, never growing.
    low, high : array
        The band within which simulations place it.
    """

    pairs_per_user: FloatArray
    error: FloatArray
    low: FloatArray
    high: FloatArray

    def pairs_for(self, error: float) -> float | None:
        """Pairs per user that the design needs for an error.

        Parameters
        ----------
        error : float
            Relative root mean squared error.

        Returns
        -------
        float or None
            Scored pairs per user; None if the error lies beyond the curve.
        """
        if not self.error[-1] <= error <= self.error[0]:
            return None
        at = np.interp(-np.log(error), -np.log(self.error), np.log(self.pairs_per_user))
        return float(np.exp(at))


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
        """Pairs per user that a design needs for an error, read between its points.

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

    def curve(
        self,
        design: FrontierDesign = "adaptive",
        *,
        through: tuple[float, float] | None = None,
        of: FrontierDesign | None = None,
    ) -> CostCurve | None:
        """A smooth curve through the points of one kind of design: a parabola in logarithms.

        Parameters
        ----------
        design : {"adaptive", "fixed"}
            The kind of design.
        through : tuple of float, optional
            Pairs per user and the relative error of an evaluation that was made: the curve is moved
            so that its own design goes through it.
        of : {"adaptive", "fixed"}, optional
            The kind of design of that evaluation; ``design`` unless stated.

        Returns
        -------
        CostCurve or None
            None with fewer than two points that have an error. The band holds the scatter of the
            simulations about the curve (twice their standard error, 5 % at least) and the way that
            the curve was moved.
        """
        law = self._law(design)
        if law is None:
            return None
        pairs = np.array([point.pairs_per_user for point in self.of(design)])
        x = np.linspace(np.log(pairs[0]), np.log(pairs[-1]), _ON_CURVE)
        if through is not None:
            x = np.unique(np.append(x, np.clip(np.log(through[0]), x[0], x[-1])))
        moved = 0.0
        own = None if through is None else self._law(of or design)
        if through is not None and own is not None:
            moved = float(np.log(through[1]) - own(np.log(through[0])))  # both in logarithms
        y = law(x) + moved
        points = [point for point in self.of(design) if point.error > 0.0]
        off = [np.log(one.error) - law(np.log(one.pairs_per_user)) for one in points]
        scatter = float(np.sqrt(np.square(off).sum() / max(len(off) - _ORDER - 1, 1)))
        band = np.hypot(2.0 * max(scatter, _LEAST_SCATTER), moved)
        return CostCurve(np.exp(x), np.exp(y), np.exp(y - band), np.exp(y + band))

    def _law(self, design: FrontierDesign) -> Callable[[Any], Any] | None:
        """log(error) of log(pairs per user), a parabola, level where it would rise."""
        points = [point for point in self.of(design) if point.error > 0.0]
        x = np.log([point.pairs_per_user for point in points])
        y = np.log([point.error for point in points])
        if np.unique(x).size < 2:
            return None
        law = np.poly1d(np.polyfit(x, y, min(_ORDER, np.unique(x).size - 1)))
        bend = float(law.c[0]) if law.order == _ORDER else 0.0
        turn = -float(law.c[1]) / (2.0 * bend) if bend else 0.0
        from_, to = (turn, np.inf) if bend < 0.0 else (-np.inf, turn) if bend else (-np.inf, np.inf)
        return lambda at: law(np.clip(at, from_, to))


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
    n_users = round(n_users * supposed.targets_per_user)  # targets stand for users
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
                    targets=supposed.targets_per_user,
                )
                spread = one.std_error * np.sqrt(simulated / n_users)
                error = float(np.hypot(one.bias, spread)) / value
                found.append(FrontierPoint(name, one.pairs_per_user, error))
                advance(1)
    return Frontier(wanted.key, tuple(found))


def within(name: FrontierDesign, pairs: float) -> Design:
    """Our adaptive design, or a fixed one, with a given number of scored pairs per user.

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
