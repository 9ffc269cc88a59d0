"""What samples tell of the laws of classes, and what they leave open.

Each class has a law that strays from the one that order statistics of all targets would follow.
What moves the law of all targets moves those of all classes alike; their strays then give way as
far as their own outcomes let them. Beside that, classes err each for itself.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
from typing import Any

import numpy as np

from truerank._types import FloatArray
from truerank.estimators._base import Fit
from truerank.estimators._posterior import Posterior
from truerank.estimators.several.order import OrderLaws
from truerank.outcomes.counts import RankCounts


class Known:
    """The posteriors of the law of all targets and of those of the classes that stray from it.

    ``targets`` are all targets, each for itself, and ``together`` is their fit.
    """

    def __init__(
        self, targets: RankCounts, together: Fit, order: OrderLaws, fits: Sequence[Fit]
    ) -> None:
        self.targets, self.together, self.order = targets, together, order
        self.all = Told(posterior_of(together))
        self.classes = [Told(posterior_of(fit)) for fit in fits]
        self.mass = self.all.law

    def slopes(self, gradient: FloatArray) -> tuple[list[FloatArray], FloatArray]:
        """How metrics move with the strays, and with the log of the law of all targets.

        Shapes (n_metrics, n_functions), a class each, and (n_metrics, n_points); ``gradient`` is
        how they move with the log of the laws of classes, (n_classes, n_metrics, n_points).
        """
        of_strays, left = [], []
        for told, each in zip(self.classes, gradient, strict=True):
            of_strays.append(each @ told.basis)
            left.append(each - told.resisted(of_strays[-1]))
        return of_strays, self.of_single(self.single_gains(left))

    def single_gains(self, gradient: Sequence[FloatArray] | FloatArray) -> FloatArray:
        """Gains of single targets whose mean moves as the metrics do, (n_metrics, n_points)."""
        each = [self.order.pulled(at, moved) for at, moved in enumerate(gradient)]
        return np.asarray(np.sum(each, axis=0))

    def of_single(self, gains: FloatArray) -> FloatArray:
        """How means of such gains move with the log of the law of all targets."""
        return np.asarray(self.mass * (gains - (gains @ self.mass)[:, None]))

    def variance(self, of_strays: Sequence[FloatArray], of_all: FloatArray) -> FloatArray:
        """Variance of metrics that move so, (n_metrics,)."""
        each = [told.variance(slope) for told, slope in zip(self.classes, of_strays, strict=True)]
        return np.asarray(self.all.variance(of_all @ self.all.basis) + np.sum(each, axis=0))


class Told:
    """A posterior read as one Gaussian over the coefficients of its splines."""

    def __init__(self, posterior: Posterior) -> None:
        self.posterior = posterior
        self.basis, self.n_users = posterior.spline.basis, posterior.n_users
        self.law = posterior.distribution(scope="population").mass

    @cached_property
    def covariance(self) -> FloatArray:
        """Within components and between them, (n_functions, n_functions)."""
        parts = self.posterior.components
        centre = sum(part.weight * part.mode for part in parts)
        return np.asarray(
            sum(
                part.weight * (part.covariance + np.outer(part.mode - centre, part.mode - centre))
                for part in parts
            )
        )

    def variance(self, slope: FloatArray) -> FloatArray:
        """Variances of metrics that change so with the coefficients, (n_metrics,)."""
        return np.asarray(((slope @ self.covariance) * slope).sum(axis=1))

    def pull(self, matrix: Any, slope: FloatArray) -> FloatArray:
        """How much outcomes, given by their likelihood, move such metrics, a row each."""
        score = (matrix @ (self.law[:, None] * self.basis)) / (matrix @ self.law)[:, None]
        return np.asarray((score - self.law @ self.basis) @ (slope @ self.covariance).T)

    def resisted(self, slope: FloatArray) -> FloatArray:
        """How the coefficients take back what a change of the log of the base measure does.

        The covariance by minus the Hessian of the log-likelihood, whose other side is the log of
        the law at each point, (n_metrics, n_points).
        """
        give = slope @ self.covariance @ self.basis.T
        model, law = self.posterior.likelihood, self.law
        evidence = model.matrix @ law
        share = model.weight / evidence
        sampled = law * (share @ model.matrix)
        inside = ((model.matrix @ (law[:, None] * give.T)) / evidence[:, None]).T
        missing = ((inside * share) @ model.matrix) * law
        told = give * (law - sampled) - np.outer(give @ law, law) + missing
        return np.asarray(self.n_users * told)


def posterior_of(fit: Fit) -> Posterior:
    """The posterior of a fit by smooth."""
    assert fit.posterior is not None
    return fit.posterior
