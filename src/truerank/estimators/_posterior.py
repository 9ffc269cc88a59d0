"""What a smooth fit knows and does not know: its posterior over rank distributions."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import get_args

import numpy as np

from truerank import _arguments, _checks
from truerank._types import FloatArray, Scope
from truerank.errors import InputError
from truerank.estimators._base import expected_gains, posterior_mean
from truerank.estimators._logspline import LogSpline
from truerank.estimators.likelihood import Likelihood, in_parts
from truerank.estimators.support import RankDistribution, Support
from truerank.metrics import Metric, all_gains, all_total_gains
from truerank.outcomes.counts import RankCounts

_KEPT = 2**13  # points times metrics, up to which what a component does is kept
_TABLES = 4  # of values of metrics that are kept
_LEADING = 0.01  # components of less weight do not matter to the gains of outcomes


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
    """The posterior of a smooth fit: a mixture of Gaussians over rank distributions.

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
        _arguments.check(Posterior.mean, locals())
        _check(scope)
        values = self._values(metrics, scope)
        # What all components agree on is the mean, to the last digit.
        return np.asarray(values[0] + self._weights @ (values - values[0]))

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
        _arguments.check(Posterior.covariance, locals())
        _check(scope)
        off = self._off(metrics, scope)
        total = np.zeros((len(metrics), len(metrics)))
        gain = self._gains(metrics)
        for number, part in enumerate(self.components):
            spread = self._slope(number, gain, scope) @ part.root
            total += part.weight * (spread @ spread.T + np.outer(off[number], off[number]))
            if scope == "these-users":
                of_gain = self._expected(number, gain)
                # sum_o w_o Cov_o(gain, gain) / M, Cov_o given outcome o.
                known = of_gain.T @ (self.likelihood.weight[:, None] * of_gain)
                own = (gain * self._stepped[number][:, None]).T @ gain - known
                # Known ranks leave rounding errors.
                np.fill_diagonal(own, np.maximum(np.diag(own), 0.0))
                total += part.weight * own / self.n_users
        return total

    def variance(self, metrics: Sequence[Metric], *, scope: Scope = "these-users") -> FloatArray:
        """Variances of the errors of the metrics: the diagonal of :meth:`covariance`.

        Parameters
        ----------
        metrics : sequence of Metric
            The metrics; hundreds of them take little time.
        scope : {"these-users", "population"}
            About the users seen, or the law that they come from.

        Returns
        -------
        ndarray of float, shape (n_metrics,)
            The variances; their roots are standard errors.

        Examples
        --------
        >>> counts = tr.RankCounts.from_ranks([1, 1, 2, 5, 20], num_negatives=99, n_items=3706)
        >>> posterior = tr.estimate(counts, "recall@10", confidence=None).posterior
        >>> (posterior.variance(tr.metrics.parse("recall@100")) ** 0.5).round(2).tolist()
        [0.12]
        """
        _arguments.check(Posterior.variance, locals())
        _check(scope)
        gain = self._gains(metrics)
        total = self._weights @ self._off(metrics, scope) ** 2
        for number, part in enumerate(self.components):
            spread = self._slope(number, gain, scope) @ part.root
            total += part.weight * np.square(spread).sum(axis=1)
            if scope == "these-users":
                of_gain = self._expected(number, gain)
                own = self._stepped[number] @ gain**2 - self.likelihood.weight @ of_gain**2
                total += part.weight * np.maximum(own, 0.0) / self.n_users
        return np.asarray(total)

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
        _arguments.check(Posterior.draw, locals())
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
        _arguments.check(Posterior.given_outcomes, locals())
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
        _arguments.check(Posterior.distribution, locals())
        _check(scope)
        exact = self.likelihood.exact_rank.astype(np.float64)
        known = self.likelihood.exact_weight
        if scope == "population":
            return RankDistribution(self.support, self._weights @ self._laws, exact, 0.0 * known)
        return RankDistribution(self.support, self._weights @ self._stepped, exact, known)

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
        _arguments.check(Posterior.gains, locals())
        parts, mean = self._pulls.get(tuple(metrics)) or self._pulling(metrics)
        if self.support.n_points * len(metrics) <= _KEPT:
            self._pulls.clear()
            self._pulls[tuple(metrics)] = parts, mean
        found = np.empty((outcomes.n_outcomes, len(metrics)))
        exact = outcomes.is_exact
        for rows, some in in_parts(outcomes, self.support):
            found[rows][~exact[rows]] = self._of_sampled(some, metrics, parts)
            found[rows][exact[rows]] = self._of_exact(some, metrics, parts)
        return np.asarray(found - mean + self.mean(metrics))

    @cached_property
    def _pulls(self) -> dict[tuple[Metric, ...], tuple[list[_Pull], FloatArray]]:
        """What `_pulling` found for the metrics that were asked for last, if these are few."""
        return {}

    def _pulling(self, metrics: Sequence[Metric]) -> tuple[list[_Pull], FloatArray]:
        """How outcomes move the metrics by way of each component that matters.

        And the mean over the users seen of what `_of_sampled` and `_of_exact` say of them.
        """
        leading = np.flatnonzero(self._weights > _LEADING)
        weight = self._weights[leading] / self._weights[leading].sum()
        values = self._values(metrics, "these-users")[leading]
        # More evidence for a component draws the mean to its value.
        towards = self.n_users * weight[:, None] * (values - weight @ values)
        typical = self._gains(metrics)
        users = self.likelihood
        known = users.exact_mass > 0.0
        parts, mean = [], weight @ values
        for number, share, toward in zip(leading.tolist(), weight, towards, strict=True):
            law = self._laws[number]
            root = self.components[number].root
            pull = root @ (self._slope(number, typical, "these-users") @ root).T
            reach = self.spline.basis @ (share * self.n_users * pull)
            parts.append(_Pull(float(share), law, reach, toward))
            evidence = users.weight @ np.log(users.matrix @ law)
            evidence += users.exact_mass[known] @ np.log(law[known])
            mean = mean + (self._stepped[number] + users.exact_mass) @ reach + evidence * toward
        return parts, mean

    def _of_sampled(
        self, model: Likelihood, metrics: Sequence[Metric], parts: Sequence[_Pull]
    ) -> FloatArray:
        """Gains of sampled outcomes up to a constant, (n_outcomes, n_metrics)."""
        typical = self._gains(metrics)
        by_pool = [at for at, metric in enumerate(metrics) if metric.depends_on_pool]
        typical[:, by_pool] = 0.0
        found = np.zeros((model.weight.size, len(metrics)))
        for part in parts:
            # Expected given each outcome: its own gain and how far it pulls.
            moments = np.column_stack([part.share * typical + part.reach, np.ones(part.law.size)])
            moments = model.matrix @ (part.law[:, None] * moments)
            evidence = moments[:, -1:]
            found += moments[:, :-1] / evidence + np.log(evidence) * part.toward
            for at in by_pool:
                found[:, at] += part.share * expected_gains(model, part.law, metrics[at])
        return found

    def _of_exact(
        self, model: Likelihood, metrics: Sequence[Metric], parts: Sequence[_Pull]
    ) -> FloatArray:
        """The same of exact outcomes."""
        found = all_gains(metrics, model.exact_rank.astype(np.float64), model.exact_n_items)
        at = self.support.locate(model.exact_rank)
        for part in parts:
            found += part.reach[at] + np.log(part.law[at])[:, None] * part.toward
        return found

    @cached_property
    def _weights(self) -> FloatArray:
        return np.array([part.weight for part in self.components])

    @cached_property
    def _laws(self) -> FloatArray:
        """The law at the mode of each component, shape (n_components, n_points)."""
        return self.spline.masses(np.stack([part.mode for part in self.components]))

    @cached_property
    def _stepped(self) -> FloatArray:
        """The masses of the sampled users under each of these laws."""
        return self.given_outcomes(self._laws)

    def _off(self, metrics: Sequence[Metric], scope: Scope) -> FloatArray:
        """How far the value at each mode is from the mean, shape (n_components, n_metrics)."""
        values = self._values(metrics, scope)
        return np.asarray(values - self._weights @ values)

    def _values(self, metrics: Sequence[Metric], scope: Scope) -> FloatArray:
        """The metrics at each mode, shape (n_components, n_metrics)."""
        if scope == "population":
            return np.asarray(self._laws @ self._gains(metrics))
        key = tuple(metrics)
        if key not in self._known_values:
            if len(self._known_values) == _TABLES:
                self._known_values.clear()
            self._known_values[key] = self._values_of_users(metrics)
        return self._known_values[key]

    @cached_property
    def _known_values(self) -> dict[tuple[Metric, ...], FloatArray]:
        """What `_values_of_users` found of a few lists of metrics."""
        return {}

    def _values_of_users(self, metrics: Sequence[Metric]) -> FloatArray:
        model = self.likelihood
        known = np.broadcast_to(model.exact_weight, (len(self._laws), model.exact_weight.size))
        rank = np.concatenate([self.support.rank, model.exact_rank])
        users = np.concatenate([self._stepped, known], axis=1)
        values = all_total_gains(metrics, rank, self.support.n_items, users)
        pools = np.concatenate([model.n_items, model.exact_n_items])
        if (pools != pools[0]).any():
            for column, metric in enumerate(metrics):
                if metric.depends_on_pool:
                    each = [posterior_mean(model, law, metric) for law in self._laws]
                    values[:, column] = each
        return values

    def _gains(self, metrics: Sequence[Metric]) -> FloatArray:
        """Gains on the points, shape (n_points, n_metrics)."""
        model = self.likelihood
        pools = np.concatenate([model.n_items, model.exact_n_items])
        share = np.concatenate([model.weight, model.exact_weight])
        typical = 1.0 + share.sum() / float(share @ (1.0 / (pools - 1.0)))
        return all_gains(metrics, self.support.rank, typical)

    def _slope(self, number: int, gain: FloatArray, scope: Scope) -> FloatArray:
        """d metric / d coefficients of a component, (n_metrics, n_functions)."""
        model, basis = self.likelihood, self.spline.basis
        law = self._laws[number]
        if scope == "population":
            slope = (gain * law[:, None]).T @ basis - np.outer(law @ gain, law @ basis)
            return np.asarray(slope)
        # sum_o w_o Cov_o(gain, basis), Cov_o given outcome o; of the two what has fewer columns is
        # taken to the outcomes and back.
        few, many = (gain, basis) if gain.shape[1] < basis.shape[1] else (basis, gain)
        share = (model.weight / (model.matrix @ law))[:, None]
        back = (share * self._expected(number, few)).T @ model.matrix
        found = (few.T * self._stepped[number] - back * law) @ many
        return np.asarray(found if few is gain else found.T)

    def _expected(self, number: int, values: FloatArray) -> FloatArray:
        """Means of values at the points given each outcome, under the law of a component."""
        law = self._laws[number]
        found = self.likelihood.matrix @ (law[:, None] * values)
        found /= (self.likelihood.matrix @ law)[:, None]
        return np.asarray(found)


@dataclass(frozen=True)
class _Pull:
    """How outcomes move metrics by way of a component.

    ``share`` is its weight among those that matter, ``law`` its masses (n_points,); ``reach``
    (n_points, n_metrics) is what a user known to be at a point adds by pulling the coefficients,
    ``toward`` (n_metrics,) what a nat of evidence adds by shifting weight to it.
    """

    share: float
    law: FloatArray
    reach: FloatArray
    toward: FloatArray


def _check(scope: str) -> None:
    if scope not in get_args(Scope):
        raise InputError(f"scope is {scope!r}; it must be 'these-users' or 'population'")
