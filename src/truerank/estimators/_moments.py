"""The law of global ranks when only some means over users are known, not the ranks themselves.

A published metric is a mean over M users of a gain g(r) of their sampled ranks. Under a law p of
global ranks its expectation is A p, with A[i, R] = E[g_i(r) | R], and its covariance

    S(p) = Cov_p(E[g | R]) / M + E_p(Cov[g | R]) / (M runs) + rounding:

the users come from the law, and their negatives are drawn once per run. The log-likelihood of the
coefficients of a log-spline law is then

    l(c) = -1/2 (y - A p(c))' W (y - A p(c)),     W = 1 / S at the law found before.

The priors, modes and evidence are those of `truerank.estimators.Smooth`.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from truerank._types import FloatArray
from truerank.estimators._logspline import LogSpline, enough_functions, log_spline
from truerank.estimators._posterior import Component
from truerank.estimators._priors import paths
from truerank.estimators.smooth import components, find_modes
from truerank.estimators.support import RankDistribution, Support, compressed
from truerank.metrics import Metric
from truerank.outcomes import schemes
from truerank.outcomes.schemes import Scheme

# S depends on the law: it is found so many times, each with the S of the law before. Only the last
# time needs all priors, since S hardly depends on what the values leave open of the law.
_ROUNDS = 3


@dataclass(frozen=True)
class Sampled:
    """Samples of one size out of one pool, on a support of global ranks.

    ``chance`` (n_outcomes, n_points) holds P(r | R), ``sampled_rank`` the outcomes.
    """

    support: Support
    scheme: Scheme
    sample_size: int
    sampled_rank: FloatArray
    chance: FloatArray

    @classmethod
    def of(
        cls, scheme: Scheme, n_items: int, sample_size: int, metrics: Sequence[Metric]
    ) -> Sampled:
        """On a support with the cut-offs of ``metrics`` as edges."""
        if sample_size == n_items and not scheme.replacement:  # global ranks themselves
            edges = [metric.k for metric in metrics if metric.k is not None]
            support = compressed(n_items, sharpness=1.0, edges=edges)
            return cls(support, scheme, sample_size, support.rank, np.eye(support.n_points))
        left = 1.0 if scheme.replacement else (n_items - sample_size) / max(n_items - 2.0, 1.0)
        edges = [metric.k for metric in metrics if metric.k is not None and metric.k <= n_items]
        support = compressed(n_items, sharpness=sample_size / max(left, 1e-12), edges=edges)
        rank = np.arange(1, sample_size + 1)
        log_chance = schemes.log_probability(
            scheme, support.rank, n_items=n_items, sample_size=sample_size, sampled_rank=rank
        )
        return cls(support, scheme, sample_size, rank.astype(np.float64), np.exp(log_chance))

    @property
    def is_exact(self) -> bool:
        """Whether samples are the whole pool."""
        return self.sample_size == self.support.n_items and not self.scheme.replacement

    def gains(self, metrics: Sequence[Metric]) -> FloatArray:
        """Gains of the outcomes, shape (n_metrics, n_outcomes)."""
        return np.stack([m.gain(self.sampled_rank, self.sample_size) for m in metrics])


@dataclass(frozen=True)
class Means:
    """Means over users: ``value`` and the variance of their ``rounding``, shape (n_metrics,)."""

    metrics: tuple[Metric, ...]
    value: FloatArray
    rounding: FloatArray
    n_users: float
    runs: int = 1


@dataclass(frozen=True)
class Moments:
    """The log-likelihood of means: ``rows`` (n_metrics, n_points) is A, ``precision`` W."""

    spline: LogSpline
    rows: FloatArray
    mean: FloatArray
    precision: FloatArray

    def value(self, coefficients: FloatArray) -> float:
        """l(c), up to a constant."""
        off = self.mean - self.rows @ self.spline.masses(coefficients)
        return float(-0.5 * off @ self.precision @ off)

    def derivatives(self, coefficients: FloatArray) -> tuple[float, FloatArray, FloatArray]:
        """l, its gradient and minus its Hessian."""
        mass, basis = self.spline.masses(coefficients), self.spline.basis
        expected = self.rows @ mass
        off = self.mean - expected
        pull = self.precision @ off
        centred = basis - mass @ basis
        slope = (self.rows * mass) @ centred
        # d2 (a' A p) = E[(a' A_R - a' A p) (B_R - E B)(B_R - E B)'] for a fixed vector a.
        bend = (pull @ self.rows - pull @ expected) * mass
        curvature = slope.T @ self.precision @ slope - centred.T @ (bend[:, None] * centred)
        return float(-0.5 * off @ pull), slope.T @ pull, curvature


@dataclass(frozen=True)
class MeansPosterior:
    """The posterior of the law, and of metrics of the users themselves, given means.

    ``components`` are Gaussians over coefficients; ``covariance`` (n_metrics, n_metrics) is S at
    the law found.
    """

    sampled: Sampled
    seen: Means
    spline: LogSpline
    rows: FloatArray
    covariance: FloatArray
    components: tuple[Component, ...]
    converged: bool

    @cached_property
    def distribution(self) -> RankDistribution:
        """The law at the modes, averaged."""
        law = self.spline.masses(np.stack([part.mode for part in self.components]))
        weight = np.array([part.weight for part in self.components])
        none = np.empty(0)
        return RankDistribution(self.sampled.support, weight @ law, none, none)

    @property
    def off(self) -> FloatArray:
        """How far the means lie from the law found, in standard errors, shape (n_metrics,)."""
        expected = self.rows @ self.distribution.mass
        return np.asarray((self.seen.value - expected) / np.sqrt(np.diag(self.covariance)))

    def answer(self, metrics: Sequence[Metric]) -> tuple[FloatArray, FloatArray, FloatArray]:
        """Posterior mean of metrics of the users, and standard deviations by law and by ranks.

        By what the means leave open of the law; and by what the law leaves open of the users'
        own ranks. Each of shape (n_metrics,).

        The metrics of the users differ from those of the law, and so do the published means: they
        vary together. Within a component a metric is taken to be normal on the scale of logits.
        """
        support = self.sampled.support
        gain = np.stack([metric.gain(support.rank, support.n_items) for metric in metrics])
        best = np.array(
            [metric.best() if metric.function is None else np.inf for metric in metrics]
        )
        weight, values, squares, own = [], [], [], []
        for part in self.components:
            mass = self.spline.masses(part.mode)
            level, expected = gain @ mass, self.rows @ mass
            shared = ((gain * mass) @ self.rows.T - np.outer(level, expected)) / self.seen.n_users
            covariance = _covariance(self.sampled, self.seen, self.rows, mass)
            regression = np.linalg.solve(covariance, shared.T).T
            value = level + regression @ (self.seen.value - expected)
            value = np.where(value > 0.0, value, level)
            centred = self.spline.basis - mass @ self.spline.basis
            slope = ((gain - regression @ self.rows) * mass) @ centred @ part.root
            relative = (slope**2).sum(axis=1) / np.maximum(value, 1e-300) ** 2
            mean = value * _lift(value / best, relative)
            variance = ((gain**2 @ mass) - level**2) / self.seen.n_users
            weight.append(part.weight)
            values.append(mean)
            squares.append(mean**2 * (1.0 + relative))
            own.append(np.maximum(variance - (regression * shared).sum(axis=1), 0.0))
        share = np.array(weight)
        answer = share @ np.stack(values)
        law = np.sqrt(np.maximum(share @ np.stack(squares) - answer**2, 0.0))
        return answer, law, np.sqrt(share @ np.stack(own))


def fit_means(sampled: Sampled, seen: Means, *, may_bend: bool) -> MeansPosterior:
    """The posterior of the law of global ranks given means over users.

    ``may_bend`` says whether training items may have been kept in the ranking.
    """
    support = sampled.support
    n_functions = enough_functions(support.n_items, seen.n_users)
    spline = log_spline(support, n_functions)
    priors = paths(support.n_items, n_functions, sampled.sample_size, may_bend=may_bend)
    rows = sampled.gains(seen.metrics) @ sampled.chance
    mass = support.weight / support.rank
    mass = mass / mass.sum()
    for rounds_left in reversed(range(_ROUNDS)):
        covariance = _covariance(sampled, seen, rows, mass)
        moments = Moments(spline, rows, seen.value, np.linalg.inv(covariance))
        modes = find_modes(moments, priors[:1] if rounds_left else priors)
        parts = components(modes)
        law = spline.masses(np.stack([part.mode for part in parts]))
        mass = np.array([part.weight for part in parts]) @ law
    converged = all(mode.converged for mode in modes)
    return MeansPosterior(sampled, seen, spline, rows, covariance, parts, converged)


def _lift(share: FloatArray, relative: FloatArray) -> FloatArray:
    """Mean over median of a share that is normal in logits, by its relative variance.

    To second order, and as large as that of a log-normal variable where the share is small.
    """
    rest = np.clip(1.0 - share, 1e-12, 1.0)
    spread = np.log1p(relative / rest**2)  # the variance in logits
    most = 1.0 / np.maximum(share, 1e-300)
    return np.asarray(np.minimum(np.exp(0.5 * spread * rest * (1.0 - 2.0 * share)), most))


def _covariance(sampled: Sampled, seen: Means, rows: FloatArray, mass: FloatArray) -> FloatArray:
    """S of the law ``mass``."""
    gains = sampled.gains(seen.metrics)
    outcome = sampled.chance @ mass
    mean = gains @ outcome
    total = (gains * outcome) @ gains.T - np.outer(mean, mean)
    users = (rows * mass) @ rows.T - np.outer(mean, mean)
    within = total - users
    return np.asarray((users + within / seen.runs) / seen.n_users + np.diag(seen.rounding))
