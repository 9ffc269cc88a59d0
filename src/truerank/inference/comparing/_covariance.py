"""How the errors of several models' estimates vary, and vary together."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from truerank._types import FloatArray, IntArray, SupportName
from truerank.estimators import Estimator, Fit
from truerank.estimators.support import Support
from truerank.inference.intervals.error_law import outcome_gains
from truerank.inference.intervals.redraw import distinct
from truerank.inference.intervals.several_law import of_blocks
from truerank.metrics import Metric
from truerank.outcomes.counts import RankCounts
from truerank.outcomes.paired import PairedCounts

_RESAMPLES = 200  # of users, for estimators without gains
_ROUGH = 1.33  # a variance by 100 blocks may be low by this factor: two standard errors
_BLOCK = 2**20  # numbers drawn at a time
_NOTHING = 1e-18  # a variance of gains of order 1 that rounding errors leave


@dataclass(frozen=True)
class Scatter:
    """Covariances of the models' errors for the scope, each of shape (n_models, n_models).

    ``covariance`` is that of what redraws show: negatives and, for the population, users.
    ``hidden`` is that of what they do not show. ``total`` is the covariance over users and
    negatives both, None if unpaired.
    """

    covariance: FloatArray
    hidden: FloatArray
    total: FloatArray | None

    @property
    def paired(self) -> bool:
        """Whether covariances were measured."""
        return self.total is not None

    def of_differences(self, i: IntArray, j: IntArray) -> FloatArray:
        """Variances of the differences of models i and j, as far as redraws show them."""
        return _of_differences(self.covariance, i, j)

    def hidden_of_differences(self, i: IntArray, j: IntArray) -> FloatArray:
        """The parts of these variances which redraws do not show."""
        return _of_differences(self.hidden, i, j)

    def reduction(self, i: int, j: int) -> float | None:
        """The share of that variance that pairing takes away."""
        alone = float(self.covariance[i, i] + self.covariance[j, j])
        if not self.paired or alone <= _NOTHING:
            return None
        return float(2.0 * self.covariance[i, j]) / alone

    def correlation(self, i: int, j: int) -> float | None:
        """Correlation of gains over users."""
        if self.total is None or self.total[i, i] <= 0.0 or self.total[j, j] <= 0.0:
            return None
        return float(self.total[i, j] / np.sqrt(self.total[i, i] * self.total[j, j]))

    def best(self, values: Sequence[float], n_draws: int, seed: int) -> FloatArray:
        """The chance of each model to be the best, (n_models,)."""
        level, axes = np.linalg.eigh(self.covariance + self.hidden)
        root = axes * np.sqrt(np.maximum(level, 0.0))
        rng, wins = np.random.default_rng(seed), np.zeros(len(values))
        step = max(1, _BLOCK // len(values))
        for begin in range(0, n_draws, step):
            noise = rng.standard_normal((min(step, n_draws - begin), len(values)))
            drawn = np.asarray(values) + noise @ root.T
            first = drawn >= drawn.max(axis=1, keepdims=True)
            wins += (1.0 / first.sum(axis=1)) @ first
        return wins / n_draws


def _of_differences(covariance: FloatArray, i: IntArray, j: IntArray) -> FloatArray:
    own = np.diag(covariance)
    return np.maximum(own[i] + own[j] - 2.0 * covariance[i, j], 0.0)


@dataclass(frozen=True)
class Errors:
    """What is known of one model's error on one metric, in units of the metric per user.

    Attributes
    ----------
    negatives, users, blur : float
        Standard deviations as in `ErrorLaw`.
    law_open : float
        Variance of what the posterior leaves open of the population's metric; 0 without one.
    """

    negatives: float
    users: float
    blur: float
    law_open: float


def scatter(
    models: Mapping[str, Errors],
    total: FloatArray | None,
    known: Mapping[tuple[str, str], tuple[float, float]],
    drawn: float,
    *,
    by_blocks: bool = False,
) -> Scatter:
    """The scatter of ``models``: name -> what is known of its error.

    Parameters
    ----------
    models : dict of str to Errors
        The models.
    total : array or None
        Covariance of the estimates over users and negatives, (n_models, n_models); None if
        unpaired.
    known : dict
        Pair of models -> correlations of what negatives cause, and of what is hidden, for pairs
        with joint counts.
    drawn : float
        The share of the users' own variance that counts: 0 for these users, 1 for an endless
        population.
    by_blocks : bool, default False
        Whether ``total`` comes from blocks of users, which is too rough to tell what part of it
        the negatives cause.
    """
    negatives, users, blur, law_open = np.array(
        [[one.negatives, one.users, one.blur, one.law_open] for one in models.values()]
    ).T
    if total is None:
        within, everyone = np.diag(negatives**2), np.diag(negatives**2 + users**2)
    elif by_blocks:
        everyone = _like(total, negatives**2 + users**2)
        within = _no_more_than(everyone, negatives**2)
    else:
        within, everyone = _within(total, negatives**2), total
    hidden = np.diag(blur**2)
    place = {name: i for i, name in enumerate(models)}
    for (one, two), found in known.items():
        i, j = place[one], place[two]
        within[i, j] = within[j, i] = found[0] * negatives[i] * negatives[j]
        hidden[i, j] = hidden[j, i] = found[1] * blur[i] * blur[j]
    # What the estimates do not see of these users' ranks is part of how users vary: for the
    # population it is in the variance of gains. Left is what the posterior has beyond that.
    beyond = np.diag(np.maximum(law_open - np.diag(everyone), 0.0))
    return Scatter(
        (1.0 - drawn) * within + drawn * everyone, (1.0 - drawn) * hidden + drawn * beyond, total
    )


def block_covariances(
    counts: Sequence[RankCounts], fits: Sequence[Fit], metrics: Sequence[Metric]
) -> FloatArray:
    """Covariance of mean gains over users, (n_metrics, n_models, n_models), by blocks of users.

    Users have several targets each, and models' counts the same users in each block. Users with
    one target are in none: that they are the same for all models does not count. The diagonal is
    to be filled in by what each model's own law says.
    """
    found = []
    for one, fit in zip(counts, fits, strict=True):
        assert fit.places is not None
        found.append(of_blocks(one, fit.places, metrics))
    return np.asarray(np.einsum("mkb,nkb->kmn", found, found))


def total_covariances(
    models: Sequence[str],
    paired: PairedCounts,
    fits: Mapping[str, Fit],
    estimator: Estimator,
    metrics: Sequence[Metric],
    support: SupportName | Support,
    seed: int,
) -> FloatArray:
    """Covariance of mean gains over users and negatives, (n_metrics, n_models, n_models)."""
    gains: list[FloatArray] = []
    for name in models:
        own = gains_of(paired, [name], fits[name], estimator, metrics, support)
        gains += [] if own is None else own
    if len(gains) < len(models):  # the estimates are no such means
        return np.stack(
            [_by_resampling(models, paired, estimator, one, support, seed) for one in metrics]
        )
    gain = np.stack(gains, axis=2)  # (n_outcomes, n_metrics, n_models)
    weight = paired.weight / paired.weight.sum()
    off = gain - np.tensordot(weight, gain, axes=1)
    found = np.einsum("okm,okn,o->kmn", off, off, weight, optimize=True)
    return np.asarray(found / (paired.effective_users - 1.0))


def _like(covariance: FloatArray, variance: FloatArray) -> FloatArray:
    """A covariance matrix with the correlations of another."""
    root = np.sqrt(np.maximum(np.diag(covariance), 1e-300))
    found = covariance / np.outer(root, root) * np.sqrt(np.outer(variance, variance))
    np.fill_diagonal(found, variance)
    return np.asarray(found)


def _no_more_than(everyone: FloatArray, negatives: FloatArray) -> FloatArray:
    """The covariance that negatives cause, so that no difference varies more than with the users.

    That is all that blocks of users tell of it; their own error is allowed for.
    """
    own = np.diag(everyone)
    of_differences = own[:, None] + own - 2.0 * everyone
    least = (negatives[:, None] + negatives - _ROUGH * of_differences) / 2.0
    within: FloatArray = np.clip(least, 0.0, np.sqrt(np.outer(negatives, negatives)))
    np.fill_diagonal(within, negatives)
    return within


def _within(total: FloatArray, negatives: FloatArray) -> FloatArray:
    """The covariance that negatives cause, as far as it is sure without joint counts.

    Cov(g, h) is that of E[g | R] and E[h | R] over users plus the mean of Cov(g, h | R), the one
    sought. The first is at most the root of the product of their variances; what is measured
    beyond that is the negatives'.
    """
    between = np.maximum(np.diag(total) - negatives, 0.0)
    sure = total - np.sqrt(np.outer(between, between))
    within: FloatArray = np.clip(sure, 0.0, np.sqrt(np.outer(negatives, negatives)))
    np.fill_diagonal(within, negatives)
    return within


def gains_of(
    paired: PairedCounts,
    models: Sequence[str],
    fit: Fit,
    estimator: Estimator,
    metrics: Sequence[Metric],
    support: SupportName | Support,
) -> list[FloatArray] | None:
    """The gains of models in each joint outcome by one fit, the mean of its tied ranks' each.

    Each of shape (n_outcomes, n_metrics); None for estimators that are no mean of gains.
    """
    total: list[FloatArray] = []
    at_a_time = max(1, _BLOCK // paired.n_outcomes)
    for begin in range(0, len(models), at_a_time):
        spread = [paired.spread(model) for model in models[begin : begin + at_a_time]]
        outcomes, rows = distinct(paired.schemes, np.concatenate([s[1] for s in spread], axis=1))
        gains = outcome_gains(outcomes, fit, estimator, metrics, support)
        if gains is None:
            return None
        cuts = np.cumsum([whose.size for whose, _ in spread])[:-1]
        for (whose, _), row in zip(spread, np.split(rows, cuts), strict=True):
            number = np.bincount(whose, minlength=paired.n_outcomes)
            of_all = [np.bincount(whose, gain[row], number.size) for gain in gains.T]
            total.append(np.stack(of_all, axis=1) / number[:, None])
    return total


def _by_resampling(
    models: Sequence[str],
    paired: PairedCounts,
    estimator: Estimator,
    metric: Metric,
    support: SupportName | Support,
    seed: int,
) -> FloatArray:
    """Covariance of refits to users drawn with replacement, all models of a user together."""
    rng = np.random.default_rng([seed, 1])
    n_users = max(2, round(paired.effective_users))
    share = paired.weight / paired.weight.sum()
    known = {}
    for model in models:
        whose, found = paired.spread(model)
        part = 1.0 / np.bincount(whose)[whose]  # of tied ranks
        known[model] = (*distinct(paired.schemes, found), whose, part)
    weight = {m: np.empty((_RESAMPLES, outcomes.n_outcomes)) for m, (outcomes, *_) in known.items()}
    for at in range(_RESAMPLES):
        drawn = rng.multinomial(n_users, share)
        for model, (outcomes, row, whose, part) in known.items():
            each = part * drawn[whose]
            weight[model][at] = np.bincount(row, each, minlength=outcomes.n_outcomes)
    values = [
        estimator.refit(
            known[model][0], weight[model], metrics=[metric], support=support, plug_in="plain"
        )[:, 0]
        for model in models
    ]
    return np.atleast_2d(np.cov(np.stack(values)))
