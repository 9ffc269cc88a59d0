"""What a smooth fit knows and does not know: its posterior over rank distributions."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import get_args

import numpy as np

from truerank import _checks
from truerank._types import FloatArray, Scope
from truerank.errors import InputError
from truerank.estimators._base import expected_gains, posterior_mean
from truerank.estimators._logspline import LogSpline
from truerank.estimators.likelihood import Likelihood, in_parts
from truerank.estimators.support import RankDistribution, Support
from truerank.metrics import Metric
from truerank.outcomes.counts import RankCounts


@dataclass(frozen=True)
class Component:
    """A Gaussian over spline coefficients: one setting of the smoothing and its weight.

    Attributes
    ----------
    weight : float
        Its share of the evidence.
    mode : ndarray of float, shape (n_functions,)
        The most likely coefficients.
    root : ndarray of float, shape (n_functions, n_functions)
        A square root of the covariance of the coefficients.

    Examples
    --------
    >>> counts = tr.RankCounts.from_ranks([1, 1, 2, 5, 20], num_negatives=99, n_items=3706)
    >>> posterior = tr.estimate(counts, "recall@10", confidence=None).posterior
    >>> round(sum(part.weight for part in posterior.components), 6)
    1.0
    """

    weight: float
    mode: FloatArray
    root: FloatArray

    @property
    def covariance(self) -> FloatArray:
        """Covariance of the coefficients, shape (n_functions, n_functions).

        Examples
        --------
        >>> counts = tr.RankCounts.from_ranks([1, 1, 2, 5, 20], num_negatives=99, n_items=3706)
        >>> posterior = tr.estimate(counts, "recall@10", confidence=None).posterior
        >>> posterior.components[0].covariance.shape
        (26, 26)
        """
        return np.asarray(self.root @ self.root.T)


@dataclass(frozen=True)
class Posterior:
    """What a smooth fit knows: a mixture of Gaussians over rank distributions.

    The Gaussians are over coefficients of log-splines. It answers for one of two scopes:
    ``"population"``, the law that users come from; or ``"these-users"`` (the default), the mean
    over the users seen, each at its exact rank where that is known, else at a rank drawn from its
    posterior given its outcome and the law.

    Attributes
    ----------
    likelihood : Likelihood
        The outcomes on the support that was fitted.
    spline : LogSpline
        The family of rank distributions.
    components : tuple of Component
        One for each setting of the smoothing; their weights sum to 1.
    n_users : float
        The effective number of users.

    Examples
    --------
    >>> counts = tr.RankCounts.from_ranks([1, 1, 2, 5, 20], num_negatives=99, n_items=3706)
    >>> posterior = tr.estimate(counts, "recall@10", confidence=None).posterior
    >>> error = posterior.covariance(tr.metrics.parse("recall@10")) ** 0.5
    >>> round(float(error[0, 0]), 2)
    0.18
    """

    likelihood: Likelihood
    spline: LogSpline
    components: tuple[Component, ...]
    n_users: float

    @property
    def support(self) -> Support:
        """The points that masses live on.

        Examples
        --------
        >>> counts = tr.RankCounts.from_ranks([1, 1, 2, 5, 20], num_negatives=99, n_items=3706)
        >>> posterior = tr.estimate(counts, "recall@10", confidence=None).posterior
        >>> posterior.support.n_items
        3706
        """
        return self.likelihood.support

    def mean(self, metrics: Sequence[Metric], *, scope: Scope = "these-users") -> FloatArray:
        """The estimate: the value of each metric at the modes, averaged.

        Parameters
        ----------
        metrics : sequence of Metric
            The metrics.
        scope : {"these-users", "population"}
            About the users seen, or the law that they come from.

        Returns
        -------
        ndarray of float, shape (n_metrics,)
            The values.

        Examples
        --------
        >>> counts = tr.RankCounts.from_ranks([1, 1, 2, 5, 20], num_negatives=99, n_items=3706)
        >>> posterior = tr.estimate(counts, "recall@10", confidence=None).posterior
        >>> posterior.mean(tr.metrics.parse("recall@100")).round(3).tolist()
        [0.624]
        """
        _check(scope)
        rows = [self._values(part, metrics, scope) for part in self.components]
        return np.asarray(self._weights @ np.stack(rows))

    def covariance(self, metrics: Sequence[Metric], *, scope: Scope = "these-users") -> FloatArray:
        """Covariance of the errors of the metrics, by linearisation.

        The spread within components, that between their modes and, for ``"these-users"``, that of
        users' ranks given the law. Where pools differ, auc takes their mean 1 / (N - 1) here.

        Parameters
        ----------
        metrics : sequence of Metric
            The metrics.
        scope : {"these-users", "population"}
            About the users seen, or the law that they come from.

        Returns
        -------
        ndarray of float, shape (n_metrics, n_metrics)
            The covariance; roots of its diagonal are standard errors.

        Examples
        --------
        >>> counts = tr.RankCounts.from_ranks([1, 1, 2, 5, 20], num_negatives=99, n_items=3706)
        >>> posterior = tr.estimate(counts, "recall@10", confidence=None).posterior
        >>> variance = posterior.covariance(tr.metrics.parse("recall@100"))
        >>> (variance**0.5).round(2).tolist()
        [[0.12]]
        """
        _check(scope)
        values = np.stack([self._values(part, metrics, scope) for part in self.components])
        centre = self._weights @ values
        total = np.zeros((len(metrics), len(metrics)))
        gain = self._gains(metrics)
        for part, value in zip(self.components, values, strict=True):
            slope, own = self._slopes(part, gain, scope)
            spread = slope @ part.root
            off = value - centre
            total += part.weight * (spread @ spread.T + own + np.outer(off, off))
        return total

    def draw(
        self, n_draws: int, rng: np.random.Generator, *, scope: Scope = "these-users"
    ) -> tuple[FloatArray, FloatArray]:
        """Rank distributions drawn from the posterior.

        For ``"these-users"`` a draw holds the expected masses of the sampled users given a law
        drawn; the variation of their ranks given the law is in :meth:`covariance`, or simulated.

        Parameters
        ----------
        n_draws : int
            Number of draws.
        rng : numpy.random.Generator
            Source of randomness.
        scope : {"these-users", "population"}
            About the users seen, or the law that they come from.

        Returns
        -------
        tuple of two ndarrays of float
            Masses on the points of the support, shape (n_draws, n_points), and the shares of users
            at ``likelihood.exact_rank``, shape (n_exact,), 0 for ``"population"``.

        Examples
        --------
        >>> counts = tr.RankCounts.from_ranks([1, 1, 2, 5, 20], num_negatives=99, n_items=3706)
        >>> posterior = tr.estimate(counts, "recall@10", confidence=None).posterior
        >>> masses, exact = posterior.draw(10, np.random.default_rng(0))
        >>> masses.shape[0], masses.sum(axis=1).round(6).tolist()[:2]
        (10, [1.0, 1.0])
        """
        _check(scope)
        _checks.integer(n_draws, "n_draws", low=1)
        pick = rng.choice(len(self.components), size=n_draws, p=self._weights)
        noise = rng.standard_normal((n_draws, self.spline.basis.shape[1]))
        mode = np.stack([part.mode for part in self.components])
        root = np.stack([part.root for part in self.components])
        law = self.spline.masses(mode[pick] + np.einsum("dij,dj->di", root[pick], noise))
        known = self.likelihood.exact_weight
        if scope == "population":
            return law, np.zeros_like(known)
        return self.given_outcomes(law), known

    def given_outcomes(self, law: FloatArray) -> FloatArray:
        """Mean over sampled users of their posterior given their outcome: one EM step.

        Parameters
        ----------
        law : ndarray of float, shape (..., n_points)
            Distributions of global ranks.

        Returns
        -------
        ndarray of float, shape (..., n_points)
            The masses of the sampled users.

        Examples
        --------
        >>> counts = tr.RankCounts.from_ranks([1, 1, 2, 5, 20], num_negatives=99, n_items=3706)
        >>> posterior = tr.estimate(counts, "recall@10", confidence=None).posterior
        >>> uniform = posterior.support.weight / posterior.support.n_items
        >>> round(float(posterior.given_outcomes(uniform).sum()), 6)
        1.0
        """
        model = self.likelihood
        evidence = (model.matrix @ law.T).T  # (..., n_outcomes)
        return np.asarray(law * ((model.weight / evidence) @ model.matrix))

    def distribution(self, *, scope: Scope = "these-users") -> RankDistribution:
        """The rank distribution at the modes, averaged.

        Parameters
        ----------
        scope : {"these-users", "population"}
            About the users seen, or the law that they come from.

        Returns
        -------
        RankDistribution
            The estimated distribution of global ranks.

        Examples
        --------
        >>> counts = tr.RankCounts.from_ranks([1, 1, 2, 5, 20], num_negatives=99, n_items=3706)
        >>> posterior = tr.estimate(counts, "recall@10", confidence=None).posterior
        >>> posterior.distribution(scope="population").cdf([100]).round(3).tolist()
        [0.527]
        """
        _check(scope)
        law = self.spline.masses(np.stack([part.mode for part in self.components]))
        exact = self.likelihood.exact_rank.astype(np.float64)
        known = self.likelihood.exact_weight
        if scope == "population":
            return RankDistribution(self.support, self._weights @ law, exact, 0.0 * known)
        masses = self._weights @ self.given_outcomes(law)
        return RankDistribution(self.support, masses, exact, known)

    def gains(self, outcomes: RankCounts, metrics: Sequence[Metric]) -> FloatArray:
        """Gains of outcomes whose mean is, to first order, the estimate.

        Their mean over the users seen is the estimate; over other users it is, to first order,
        the estimate that these would give. An outcome moves it by its own expected gain, by how
        it pulls the coefficients, and by how it shifts the evidence between components.

        Parameters
        ----------
        outcomes : RankCounts
            The outcomes.
        metrics : sequence of Metric
            The metrics.

        Returns
        -------
        ndarray of float, shape (n_outcomes, n_metrics)
            The gains.

        Examples
        --------
        >>> counts = tr.RankCounts.from_ranks([1, 1, 2, 5, 20], num_negatives=99, n_items=3706)
        >>> posterior = tr.estimate(counts, "recall@10", confidence=None).posterior
        >>> posterior.gains(counts, tr.metrics.parse("recall@100")).round(2).ravel().tolist()
        [1.04, 0.91, 0.21, -0.08]
        """
        parts = self._leading()
        weight = np.array([part.weight for part in parts])
        values = np.stack([self._values(part, metrics, "these-users") for part in parts])
        centre = weight @ values
        # More evidence for a component draws the mean to its value.
        towards = self.n_users * weight[:, None] * (values - centre)
        typical = self._gains(metrics)
        pulls = [self._slopes(part, typical, "these-users")[0] @ part.covariance for part in parts]

        def linear(model: Likelihood) -> tuple[FloatArray, FloatArray]:
            """Up to a constant, for sampled and for exact outcomes."""
            at = self.support.locate(model.exact_rank)
            sampled = np.zeros((model.weight.size, len(metrics)))
            known = np.stack(
                [m.gain(model.exact_rank, model.exact_n_items) for m in metrics], axis=1
            )
            for part, pull, toward in zip(parts, pulls, towards, strict=True):
                law = self.spline.masses(part.mode)
                moments = np.column_stack([typical, self.spline.basis, np.ones(law.size)])
                moments = model.matrix @ (law[:, None] * moments)
                evidence = moments[:, -1]
                moments = moments[:, :-1] / evidence[:, None]
                own, score = np.split(moments, [len(metrics)], axis=1)
                for column, metric in enumerate(metrics):
                    if metric.depends_on_pool:
                        own[:, column] = expected_gains(model, law, metric)
                reach = part.weight * self.n_users * pull.T
                sampled += part.weight * own + score @ reach
                sampled += np.log(evidence)[:, None] * toward
                known += self.spline.basis[at] @ reach + np.log(law[at])[:, None] * toward
            return sampled, known

        share = self.likelihood.weight, self.likelihood.exact_weight
        here = linear(self.likelihood)
        mean = sum(weights @ part for weights, part in zip(share, here, strict=True))
        found = np.empty((outcomes.n_outcomes, len(metrics)))
        exact = outcomes.is_exact
        for rows, model in in_parts(outcomes, self.support):
            found[rows][~exact[rows]], found[rows][exact[rows]] = linear(model)
        return np.asarray(found - mean + self.mean(metrics))

    def _leading(self) -> list[Component]:
        """The components that matter, their weights summing to 1 again."""
        kept = [part for part in self.components if part.weight > 0.01]
        total = sum(part.weight for part in kept)
        return [replace(part, weight=part.weight / total) for part in kept]

    @property
    def _weights(self) -> FloatArray:
        return np.array([part.weight for part in self.components])

    def _values(self, part: Component, metrics: Sequence[Metric], scope: Scope) -> FloatArray:
        law = self.spline.masses(part.mode)
        if scope == "population":
            return np.asarray(law @ self._gains(metrics))
        pools = np.concatenate([self.likelihood.n_items, self.likelihood.exact_n_items])
        by_pool = [m.depends_on_pool and bool((pools != pools[0]).any()) for m in metrics]
        exact = self.likelihood.exact_rank.astype(np.float64)
        users = RankDistribution(
            self.support, self.given_outcomes(law), exact, self.likelihood.exact_weight
        ).expect([m for m, own in zip(metrics, by_pool, strict=True) if not own])
        return np.array(
            [
                posterior_mean(self.likelihood, law, metric) if own else users[metric.key]
                for metric, own in zip(metrics, by_pool, strict=True)
            ]
        )

    def _gains(self, metrics: Sequence[Metric]) -> FloatArray:
        """Gains on the points, shape (n_points, n_metrics)."""
        model = self.likelihood
        pools = np.concatenate([model.n_items, model.exact_n_items])
        share = np.concatenate([model.weight, model.exact_weight])
        typical = 1.0 + share.sum() / float(share @ (1.0 / (pools - 1.0)))
        return np.stack([m.gain(self.support.rank, typical) for m in metrics], axis=1)

    def _slopes(
        self, part: Component, gain: FloatArray, scope: Scope
    ) -> tuple[FloatArray, FloatArray]:
        """d metric / d coefficients (n_metrics, n_functions), and what users add of their own."""
        model, basis = self.likelihood, self.spline.basis
        law = self.spline.masses(part.mode)
        if scope == "population":
            slope = (gain * law[:, None]).T @ basis - np.outer(law @ gain, law @ basis)
            return slope, np.zeros((gain.shape[1], gain.shape[1]))
        # sum_o w_o Cov_o(gain, basis) and sum_o w_o Cov_o(gain, gain) / M, Cov_o given outcome o.
        evidence = (model.matrix @ law)[:, None]
        of_gain = (model.matrix @ (law[:, None] * gain)) / evidence
        of_basis = (model.matrix @ (law[:, None] * basis)) / evidence
        stepped = self.given_outcomes(law)[:, None]
        slope = (gain * stepped).T @ basis - of_gain.T @ (model.weight[:, None] * of_basis)
        own = (gain * stepped).T @ gain - of_gain.T @ (model.weight[:, None] * of_gain)
        np.fill_diagonal(own, np.maximum(np.diag(own), 0.0))  # known ranks leave rounding errors
        return slope, own / self.n_users


def _check(scope: str) -> None:
    if scope not in get_args(Scope):
        raise InputError(f"scope is {scope!r}; it must be 'these-users' or 'population'")
