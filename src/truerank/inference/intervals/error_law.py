"""The law of an estimate's error: what redrawn negatives show of it, and what they do not."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, fields, replace

import numpy as np

from truerank import progress as _progress
from truerank._types import FloatArray, PlugIn, SupportName
from truerank.estimators import Estimator, Fit
from truerank.estimators.linear import Linear
from truerank.estimators.support import Support
from truerank.inference.intervals.misfit import LAW, Stray, stray
from truerank.inference.intervals.redraw import DrawnUsers, RankedUsers, distinct, occurrences
from truerank.metrics import Metric
from truerank.outcomes.counts import RankCounts
from truerank.progress import Progress

REFITS = 500
_FEW = 100  # where they take long
_WORLDS = 20  # sets of global ranks among the refits
_LEAST_USERS = 2000  # whose moments are taken: few users are drawn several times over
_BENT = 40  # refits that tell what masses below 0, which count as 0, do to the mean
_TIMES = 8  # redraws that tell a mean gain from its variance


@dataclass(frozen=True)
class ErrorLaw:
    """Errors of mean gains by where they come from, arrays of shape (n_metrics,).

    Attributes
    ----------
    negatives : array
        Standard deviation of the estimate over redraws of the negatives, the users' global ranks
        being what they are.
    ranks : array
        Standard deviation of what the estimate does not see of the very ranks of these users: it
        takes those of their like.
    law : array
        Standard deviation of what the sample leaves open of the rank distribution, beyond what
        redrawn negatives show, as far as it matters in real evaluations.
    bias : array
        Mean of the error, as far as it is clear.
    lumps : array
        Standard deviation of what lumps of the rank distribution, finer than any smooth law, do
        where the sample does not tell ranks apart. See `truerank.inference.intervals.misfit`.
    misfit, misfit_better : array
        How far real evaluations that the fitted law cannot follow lie from the estimate, to the
        worse and to the better, as standard deviations; learnt from real data. See
        `truerank.inference.intervals.misfit`.
    users : array
        Standard deviation of the estimate's mean over redraws of the users.
    """

    negatives: FloatArray
    ranks: FloatArray
    law: FloatArray
    bias: FloatArray
    lumps: FloatArray
    misfit: FloatArray
    misfit_better: FloatArray
    users: FloatArray

    @property
    def assumed(self) -> FloatArray:
        """Root mean square of the part that rests on assumptions: law, bias, lumps and misfit.

        Returns
        -------
        array
            Shape (n_metrics,).
        """
        stray = Stray(self.lumps, self.misfit, self.misfit_better)
        return np.sqrt(self.law**2 + self.bias**2 + stray.mean_square)

    @property
    def blur(self) -> FloatArray:
        """Standard deviation of what no redraw of the negatives shows, were ranks to follow a law.

        What the posterior leaves open counts in full: differences of models, which use this, count
        no lumps and no misfit.

        Returns
        -------
        array
            Shape (n_metrics,).
        """
        return np.asarray(np.hypot(self.ranks, self.law / LAW))

    @property
    def total(self) -> FloatArray:
        """Root mean squared error for these users.

        Returns
        -------
        array
            Shape (n_metrics,).
        """
        return np.sqrt(self.negatives**2 + self.ranks**2 + self.assumed**2)

    def of(self, at: Sequence[int]) -> ErrorLaw:
        """The law of some of the metrics alone.

        Parameters
        ----------
        at : list of int
            Which metrics.

        Returns
        -------
        ErrorLaw
            With these, in this order.
        """
        at = list(at)
        return ErrorLaw(**{part.name: getattr(self, part.name)[at] for part in fields(self)})


def error_law(
    counts: RankCounts,
    fit: Fit,
    reference: Fit,
    estimator: Estimator,
    metrics: Sequence[Metric],
    *,
    support: SupportName | Support = "auto",
    plug_in: PlugIn = "plain",
    gains: bool = True,
    repeats: int = REFITS,
    seed: int = 0,
    progress: Progress = None,
) -> ErrorLaw:
    """The law of the error of a fit.

    Estimators that are a mean of gains per outcome, exactly or to first order, need a single set
    of redrawn users; others are fitted again to redrawn tables.

    Parameters
    ----------
    counts : RankCounts
        The outcomes that were fitted.
    fit : Fit
        The fit.
    reference : Fit
        The fit that ranks are taken to follow, one with a posterior; it may be the same.
    estimator : Estimator
        The estimator of ``fit``.
    metrics : list of Metric
        The metrics whose errors are asked for.
    support : {"auto", "full"} or Support, default "auto"
        The grid of global ranks.
    plug_in : {"plain", "posterior"}, default "plain"
        How metrics are read off a distribution.
    gains : bool, default True
        False fits again to redrawn tables, whatever the estimator.
    repeats : int, default 500
        Number of redrawn tables to fit.
    seed : int, default 0
        Seed of the redraws.
    progress : callable or bool, optional
        As in `truerank.estimate`.

    Returns
    -------
    ErrorLaw
        In mean gains.
    """
    rng = np.random.default_rng(seed)
    pooled = counts.pooled()
    assert reference.distribution is not None
    assert reference.posterior is not None
    posterior = RankedUsers(pooled, reference.distribution)
    found = None
    if gains:
        found = _of_gains(posterior, fit, estimator, metrics, support, plug_in, rng)
        if _bent(estimator, plug_in):  # a fit takes long, and only the widest samples come here
            repeats = min(repeats, _FEW)
    if found is None:
        found = _of_refits(posterior, estimator, metrics, support, plug_in, repeats, rng, progress)
    known = reference.posterior.variance(metrics)
    unseen = LAW * np.sqrt(np.maximum(known - found.negatives**2 - found.ranks**2, 0.0))
    found = replace(found, law=unseen, **stray(pooled, reference, metrics, known)._asdict())
    if fit.posterior is not None:  # what its prior pulls towards is in the posterior
        found = replace(found, bias=np.zeros(len(metrics)))
    if counts.replicate.any():
        excess = _shared(counts, fit, estimator, metrics, support, plug_in)
        found = replace(found, negatives=np.sqrt(found.negatives**2 + excess))
    return found


def _bent(estimator: Estimator, plug_in: PlugIn) -> bool:
    """Whether masses below 0 count as 0, a kink that derivatives do not see."""
    return plug_in == "posterior" and isinstance(estimator, Linear)


def outcome_gains(
    outcomes: RankCounts,
    fit: Fit,
    estimator: Estimator,
    metrics: Sequence[Metric],
    support: SupportName | Support,
    plug_in: PlugIn = "plain",
) -> FloatArray | None:
    """Gains whose mean over users is the estimate, at least to first order.

    Parameters
    ----------
    outcomes : RankCounts
        The outcomes to give gains to.
    fit : Fit
        The fit.
    estimator : Estimator
        Its estimator.
    metrics : list of Metric
        The metrics.
    support : {"auto", "full"} or Support
        The grid of global ranks.
    plug_in : {"plain", "posterior"}, default "plain"
        How metrics are read off a distribution.

    Returns
    -------
    array or None
        Shape (n_outcomes, n_metrics); None for estimators that are no such mean, as posterior
        means are none, and of which `influence` knows more.
    """
    if fit.posterior is not None:
        return fit.posterior.gains(outcomes, metrics)
    if plug_in == "posterior":
        return None
    return estimator.gains(outcomes, metrics=metrics, support=support)


def _of_gains(
    posterior: RankedUsers,
    fit: Fit,
    estimator: Estimator,
    metrics: Sequence[Metric],
    support: SupportName | Support,
    plug_in: PlugIn,
    rng: np.random.Generator,
) -> ErrorLaw | None:
    """By the moments of gains over users and over redraws of each of them.

    Gains to first order are taken near the table of all redraws, about what one of them is in the
    mean.
    """
    copies = -(-_LEAST_USERS // posterior.n_users)
    users = posterior.draw(rng, copies=copies)
    drawn = np.stack([users.evaluate(rng) for _ in range(_TIMES)], axis=1)
    outcomes, row = distinct(users.schemes, drawn.reshape(4, -1))
    gains = outcome_gains(outcomes, fit, estimator, metrics, support, plug_in)
    if gains is None:
        share = np.bincount(row) / row.size
        typical = outcomes.reweighted(posterior.n_users * posterior.scale * share)
        gains = estimator.influence(typical, metrics=metrics, support=support, plug_in=plug_in)
    if gains is None:
        return None
    row = row.reshape(_TIMES, -1)
    parts = []
    for at, metric in enumerate(metrics):
        gain = gains[row, at]  # (times, n_users)
        mean, within = gain.mean(axis=0), gain.var(axis=0, ddof=1)
        noise = within.mean() / _TIMES  # of the means themselves
        off = mean - metric.gain(users.global_rank, users.n_items)
        parts.append((off.mean(), within.mean(), off.var(ddof=1) - noise, mean.var(ddof=1) - noise))
    bias, *variances = np.array(parts).T
    redraws = copies * _TIMES
    if _bent(estimator, plug_in):
        worlds = [posterior.draw(rng) for _ in range(_BENT)]
        values = _refitted(worlds, 1, estimator, metrics, support, plug_in, rng)[:, 0]
        true = [people.gains(metrics).mean(axis=0) for people in worlds]
        bias, redraws = (values - true).mean(axis=0), _BENT
    return _law(bias, variances, posterior.n_users * posterior.scale, redraws)


def _law(
    bias: FloatArray, variances: Sequence[FloatArray], n_users: float, redraws: int
) -> ErrorLaw:
    """From variances by negatives, ranks and users, of one user, and the mean of all redraws."""
    negatives, ranks, of_users = np.maximum(variances, 0.0) / n_users
    # A bias smaller than what the ranks and negatives drawn may feign is none that is known of.
    clear = np.where(bias**2 > 4.0 * (ranks + negatives / redraws), bias, 0.0)
    none = np.zeros_like(bias)
    return ErrorLaw(
        np.sqrt(negatives), np.sqrt(ranks), none, clear, none, none, none, np.sqrt(of_users)
    )


def _of_refits(
    posterior: RankedUsers,
    estimator: Estimator,
    metrics: Sequence[Metric],
    support: SupportName | Support,
    plug_in: PlugIn,
    repeats: int,
    rng: np.random.Generator,
    progress: Progress,
) -> ErrorLaw:
    """By fitting redrawn evaluations: of fixed users for the error, of new ones for the users."""
    times = max(2, repeats // _WORLDS)

    def values(users: list[DrawnUsers], each: int) -> FloatArray:
        return _refitted(users, each, estimator, metrics, support, plug_in, rng)

    errors, fresh = [], []
    with _progress.reporting(progress, 2 * times * _WORLDS, "redrawing") as advance:
        for _ in range(_WORLDS):
            users = posterior.draw(rng)
            errors.append(values([users], times)[0] - users.gains(metrics).mean(axis=0))
            advance(times)
            new = [posterior.draw(rng, resample=True) for _ in range(times)]
            fresh.append(values(new, 1)[:, 0])
            advance(times)
    error = np.stack(errors)  # (worlds, times, n_metrics)
    negatives = error.var(axis=1, ddof=1).mean(axis=0)
    ranks = error.mean(axis=1).var(axis=0, ddof=1) - negatives / times
    total = np.concatenate(fresh).var(axis=0, ddof=1)
    variances = [negatives, ranks, total - negatives]
    return _law(error.mean(axis=(0, 1)), variances, posterior.scale, times * _WORLDS)


def _refitted(
    users: Sequence[DrawnUsers],
    each: int,
    estimator: Estimator,
    metrics: Sequence[Metric],
    support: SupportName | Support,
    plug_in: PlugIn,
    rng: np.random.Generator,
) -> FloatArray:
    """Estimates of evaluations of these users, (len(users), each, n_metrics)."""
    drawn = [people.evaluate(rng) for people in users for _ in range(each)]
    outcomes, row = distinct(users[0].schemes, np.concatenate(drawn, axis=1))
    table = np.repeat(np.arange(len(drawn)), users[0].n_users)
    weight = occurrences(table, row, (len(drawn), outcomes.n_outcomes))
    found = estimator.refit(outcomes, weight, metrics=metrics, support=support, plug_in=plug_in)
    return found.reshape(len(users), each, -1)


def _shared(
    counts: RankCounts,
    fit: Fit,
    estimator: Estimator,
    metrics: Sequence[Metric],
    support: SupportName | Support,
    plug_in: PlugIn,
) -> FloatArray:
    """What negatives shared within replicate groups add to the variance, (n_metrics,).

    The variance between groups less what it would be if users were independent.
    """
    group = counts.replicate
    gains = outcome_gains(counts, fit, estimator, metrics, support, plug_in)
    if gains is None:  # pseudo-values of a jackknife over groups
        gains = _jackknife(counts, estimator, metrics, support, plug_in)
    weight = counts.weight
    off = gains - weight @ gains / weight.sum()
    between = np.stack([np.bincount(group, weight * column) for column in off.T], axis=1)[1:]
    between = between[np.bincount(group, minlength=group.max() + 1)[1:] > 0]
    n_groups = between.shape[0]
    shared = group > 0
    alone = (weight[shared] @ off[shared] ** 2) * counts.squared_weight / weight.sum()
    together = (between**2).sum(axis=0) * n_groups / max(n_groups - 1, 1)
    return np.asarray(np.maximum(together - alone, 0.0) / weight.sum() ** 2)


def _jackknife(
    counts: RankCounts,
    estimator: Estimator,
    metrics: Sequence[Metric],
    support: SupportName | Support,
    plug_in: PlugIn,
) -> FloatArray:
    """A gain for each outcome, by leaving out replicate group after group."""
    groups = np.unique(counts.replicate)
    weight = np.where(counts.replicate == groups[:, None], 0.0, counts.weight)
    values = estimator.refit(
        counts,
        np.concatenate([weight, counts.weight[None]]),
        metrics=metrics,
        support=support,
        plug_in=plug_in,
    )
    share = 1.0 - weight.sum(axis=1) / counts.total_weight
    pull = (values[-1] - values[:-1]) * ((1.0 - share) / share)[:, None]
    return np.asarray(values[-1] + pull[np.searchsorted(groups, counts.replicate)])
