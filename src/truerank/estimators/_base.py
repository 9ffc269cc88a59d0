"""What every estimator is and gives back."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, ClassVar

import numpy as np

from truerank._types import FloatArray
from truerank.errors import InputError
from truerank.estimators.likelihood import Likelihood
from truerank.estimators.support import RankDistribution, SupportLike
from truerank.metrics import Metric
from truerank.outcomes.counts import RankCounts

if TYPE_CHECKING:
    from truerank.estimators._posterior import Posterior
    from truerank.estimators.several import Places


@dataclass(frozen=True)
class Fit:
    """The result of fitting an estimator.

    Attributes
    ----------
    values : mapping of str to float
        The estimate of each metric, by its key. Not clipped: a linear estimator may give values
        below 0 or above the largest possible one.
    distribution : RankDistribution or None
        The estimated distribution of global ranks, if the estimator has one.
    converged : bool or None
        Whether the fit converged; None for closed forms.
    n_iter : int or None
        Number of iterations; None for closed forms.
    details : mapping of str to float
        More about the fit, such as its log-likelihood.
    posterior : Posterior or None
        What intervals are made of, if the estimator has one (smooth).
    places : Places or None
        What is known of each target where users have several.

    Examples
    --------
    >>> counts = tr.RankCounts.from_ranks([1, 1, 2, 5, 20], num_negatives=99, n_items=3706)
    >>> fit = tr.estimators.MLE().fit(
    ...     counts, metrics=tr.metrics.parse("recall@10"), support="auto", plug_in="plain"
    ... )
    >>> fit.n_iter, round(fit.values["recall@10"], 4)
    (100, 0.1792)
    """

    values: Mapping[str, float]
    distribution: RankDistribution | None = None
    converged: bool | None = None
    n_iter: int | None = None
    details: Mapping[str, float] = field(default_factory=dict)
    posterior: Posterior | None = None
    places: Places | None = None


@dataclass(frozen=True)
class Estimator(ABC):
    """Base of all estimators of global metrics; options are its fields, fitting changes nothing.

    Examples
    --------
    >>> isinstance(tr.estimators.get("bv(gamma=0.1)"), tr.estimators.Estimator)
    True
    """

    name: ClassVar[str]

    def supports(self, metric: Metric) -> bool:
        """Whether this estimator is defined for a metric.

        Parameters
        ----------
        metric : Metric
            The metric.

        Returns
        -------
        bool
            True for all metrics, except with `Mapped`.

        Examples
        --------
        >>> tr.estimators.Mapped().supports(tr.Metric("ndcg", 10))
        False
        """
        return True

    @abstractmethod
    def fit(
        self,
        counts: RankCounts,
        *,
        metrics: Sequence[Metric],
        support: SupportLike,
        plug_in: str,
    ) -> Fit:
        """Estimate metrics from counts; `truerank.estimate` adds intervals and diagnostics.

        Parameters
        ----------
        counts : RankCounts
            The outcomes of the evaluation.
        metrics : sequence of Metric
            What to estimate.
        support : {"auto", "full"} or Support
            The grid of global ranks: compressed, all ranks, or one of your own.
        plug_in : {"plain", "posterior"}
            Read metrics off the estimated distribution, or average the expected gain of each
            user given its outcome and that distribution.

        Returns
        -------
        Fit
            Values, and how they were found.

        Examples
        --------
        >>> counts = tr.RankCounts.from_ranks([1, 1, 2, 5, 20], num_negatives=99, n_items=3706)
        >>> fit = tr.estimators.Naive().fit(
        ...     counts, metrics=tr.metrics.parse("recall@10"), support="auto", plug_in="plain"
        ... )
        >>> dict(fit.values)
        {'recall@10': 0.8}
        """

    def gains(
        self, counts: RankCounts, *, metrics: Sequence[Metric], support: SupportLike
    ) -> FloatArray | None:
        """Gains of the outcomes whose mean over users is the estimate, if there are such gains.

        Parameters
        ----------
        counts : RankCounts
            The outcomes.
        metrics : sequence of Metric
            What to estimate.
        support : {"auto", "full"} or Support
            The grid of global ranks: compressed, all ranks, or one of your own.

        Returns
        -------
        ndarray of float, shape (n_outcomes, n_metrics), or None
            The gains; None where they would depend on how many users had the other outcomes.

        Examples
        --------
        >>> counts = tr.RankCounts.from_ranks([1, 1, 2, 5, 20], num_negatives=99, n_items=3706)
        >>> naive = tr.estimators.Naive()
        >>> naive.gains(counts, metrics=tr.metrics.parse("recall@10"), support="auto").ravel()
        array([1., 1., 1., 0.])
        """
        return None

    def influence(
        self, counts: RankCounts, *, metrics: Sequence[Metric], support: SupportLike, plug_in: str
    ) -> FloatArray | None:
        """Gains of the outcomes whose mean is the estimate, also near these counts.

        Their mean over the users of ``counts`` is the estimate. Over a table of the same outcomes
        with slightly other weights it is, to first order, the estimate from that table.

        Parameters
        ----------
        counts : RankCounts
            The outcomes with their weights.
        metrics : sequence of Metric
            What to estimate.
        support : {"auto", "full"} or Support
            The grid of global ranks: compressed, all ranks, or one of your own.
        plug_in : {"plain", "posterior"}
            As in :meth:`fit`.

        Returns
        -------
        ndarray of float, shape (n_outcomes, n_metrics), or None
            The gains; None for estimators that do not know their derivatives.

        Examples
        --------
        >>> counts = tr.RankCounts.from_ranks([1, 1, 2, 5, 20], num_negatives=99, n_items=3706)
        >>> gains = tr.estimators.MLE().influence(
        ...     counts, metrics=tr.metrics.parse("recall@10"), support="auto", plug_in="plain"
        ... )
        >>> gains.ravel().round(3)
        array([ 1.32 , -2.059,  0.316, -0.   ])
        >>> round(float(counts.weight @ gains[:, 0]) / 5, 4)
        0.1792
        """
        return self.gains(counts, metrics=metrics, support=support)

    def refit(
        self,
        outcomes: RankCounts,
        weight: FloatArray,
        *,
        metrics: Sequence[Metric],
        support: SupportLike,
        plug_in: str,
    ) -> FloatArray:
        """Estimates from many tables of the same outcomes with other weights, as redraws give.

        Parameters
        ----------
        outcomes : RankCounts
            The outcomes; their weights do not matter.
        weight : ndarray of float, shape (n_tables, n_outcomes)
            The weights of each table, at least 0.
        metrics : sequence of Metric
            What to estimate.
        support : {"auto", "full"} or Support
            The grid of global ranks: compressed, all ranks, or one of your own.
        plug_in : {"plain", "posterior"}
            As in :meth:`fit`.

        Returns
        -------
        ndarray of float, shape (n_tables, n_metrics)
            The estimates.

        Examples
        --------
        >>> counts = tr.RankCounts.from_ranks([1, 1, 2, 5, 20], num_negatives=99, n_items=3706)
        >>> tables = np.array([[2.0, 1, 1, 1], [5, 0, 0, 0]])
        >>> recall = tr.metrics.parse("recall@10")
        >>> tr.estimators.Naive().refit(
        ...     counts, tables, metrics=recall, support="auto", plug_in="plain"
        ... ).ravel()
        array([0.8, 1. ])
        """
        values = np.empty((weight.shape[0], len(metrics)))
        plain = plug_in == "plain"
        gains = self.gains(outcomes, metrics=metrics, support=support) if plain else None
        if gains is not None:
            return np.asarray(weight @ gains / weight.sum(axis=1, keepdims=True))
        for table, weights in enumerate(weight):
            fit = self.fit(
                outcomes.reweighted(weights), metrics=metrics, support=support, plug_in=plug_in
            )
            values[table] = [fit.values[metric.key] for metric in metrics]
        return values


_RULED_OUT = 1e-12  # evidence of an outcome; rows of likelihoods have a maximum of 1


def mean_gains(
    counts: RankCounts, metrics: Sequence[Metric], gains: FloatArray
) -> dict[str, float]:
    """The weighted means of gains per outcome, (n_outcomes, n_metrics), by metric key."""
    means = (counts.weight @ gains / counts.total_weight).tolist()
    return dict(zip((metric.key for metric in metrics), means, strict=True))


def posterior_mean(likelihood: Likelihood, mass: FloatArray, metric: Metric) -> float:
    """Mean over outcomes of E[gain | outcome] when global ranks have prior ``mass``.

    It is exact for exact ranks whatever the prior is, and handles gains that depend on the pool.
    Negative masses (linear estimators) count as 0.
    """
    value = likelihood.weight @ expected_gains(likelihood, mass, metric)
    known = metric.gain(likelihood.exact_rank, likelihood.exact_n_items)
    return float(value + likelihood.exact_weight @ known)


def expected_gains(likelihood: Likelihood, mass: FloatArray, metric: Metric) -> FloatArray:
    """E[gain | outcome] for each sampled outcome, shape (n_outcomes,)."""
    prior = np.maximum(mass, 0.0)
    evidence = likelihood.matrix @ prior
    # An outcome that the prior rules out says nothing but its likelihood.
    lost = evidence <= 0
    if lost.any():
        prior = prior + 1e-300 * likelihood.support.weight
        evidence = likelihood.matrix @ prior
    rank = likelihood.support.rank
    if metric.depends_on_pool:
        level, slope = _by_pool(metric, rank)
        expected = likelihood.matrix @ (prior * level)
        expected += (likelihood.matrix @ (prior * slope)) / (likelihood.n_items - 1.0)
    else:
        expected = likelihood.matrix @ (prior * metric.gain(rank, likelihood.support.n_items))
    return np.asarray(expected / evidence)


def posterior_slope(likelihood: Likelihood, mass: FloatArray, metric: Metric) -> FloatArray:
    """Derivative of the posterior mean of a metric in the mass at each point, (n_points,).

    Outcomes that the masses rule out say what their likelihood does: they do not move with these.
    """
    rank, matrix = likelihood.support.rank, likelihood.matrix
    evidence = matrix @ mass
    share = np.divide(
        likelihood.weight, evidence, where=evidence > _RULED_OUT, out=np.zeros(evidence.size)
    )
    less = (share * expected_gains(likelihood, mass, metric)) @ matrix
    if metric.depends_on_pool:
        level, slope = _by_pool(metric, rank)
        more = level * (share @ matrix) + slope * ((share / (likelihood.n_items - 1.0)) @ matrix)
    else:
        more = metric.gain(rank, likelihood.support.n_items) * (share @ matrix)
    return np.asarray(more - less)


def _by_pool(metric: Metric, rank: FloatArray) -> tuple[FloatArray, FloatArray]:
    """a and b of a gain a + b / (pool - 1): two evaluations give both terms for every pool."""
    if metric.of_mean_rank:
        raise InputError(
            f"{metric.key} divides by the mean pool of all users; fit metric.bound(counts.n_items, "
            "counts.weight), or call truerank.estimate, which does so"
        )
    slope = 2.0 * (metric.gain(rank, 2) - metric.gain(rank, 3))
    return metric.gain(rank, 2) - slope, slope
