"""How the errors of several models' estimates vary, and vary together."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from truerank._types import FloatArray, SupportName
from truerank.estimators import Estimator, Fit
from truerank.estimators.support import Support
from truerank.inference.intervals.error_law import ErrorLaw, outcome_gains
from truerank.inference.intervals.redraw import distinct
from truerank.metrics import Metric
from truerank.outcomes.counts import RankCounts
from truerank.outcomes.paired import PairedCounts

_RESAMPLES = 200  # of users, for estimators without gains
_NOTHING = 1e-18  # a variance of gains of order 1 that rounding errors leave


@dataclass(frozen=True)
class Scatter:
    """Covariance of the models' errors for the scope, (n_models, n_models), and what else to show.

    ``blur`` (n_models,) is the part of the errors that no redraw shows; ``total`` the covariance
    over users and negatives both, None if unpaired.
    """

    covariance: FloatArray
    blur: FloatArray
    total: FloatArray | None

    @property
    def paired(self) -> bool:
        """Whether covariances were measured."""
        return self.total is not None

    def of_difference(self, i: int, j: int) -> float:
        """Variance of the difference of models i and j."""
        c = self.covariance
        return max(float(c[i, i] + c[j, j] - 2.0 * c[i, j]), 0.0)

    def reduction(self, i: int, j: int) -> float | None:
        """The share of that variance that pairing takes away."""
        alone = float(self.covariance[i, i] + self.covariance[j, j])
        if not self.paired or alone <= _NOTHING:
            return None
        return float(2.0 * self.covariance[i, j]) / alone

    def correlation(self, i: int, j: int) -> float | None:
        """Of gains over users."""
        if self.total is None or self.total[i, i] <= 0.0 or self.total[j, j] <= 0.0:
            return None
        return float(self.total[i, j] / np.sqrt(self.total[i, i] * self.total[j, j]))

    def best(self, values: Sequence[float], n_draws: int, seed: int) -> FloatArray:
        """The chance of each model to be the best, (n_models,)."""
        spread = self.covariance + np.diag(self.blur**2)
        level, axes = np.linalg.eigh(spread)
        root = axes * np.sqrt(np.maximum(level, 0.0))
        noise = np.random.default_rng(seed).standard_normal((n_draws, len(values)))
        drawn = np.asarray(values) + noise @ root.T
        first = drawn >= drawn.max(axis=1, keepdims=True)
        return np.asarray((first / first.sum(axis=1, keepdims=True)).mean(axis=0))


def scatter(
    models: Mapping[str, tuple[RankCounts, ErrorLaw, float]],
    paired: PairedCounts | None,
    fits: Mapping[str, Fit],
    estimator: Estimator,
    metric: Metric,
    support: SupportName | Support,
    drawn: float,
    seed: int,
) -> Scatter:
    """The scatter of ``models``: name -> counts, law of the error, weight per user.

    ``drawn`` is the share of the users' own variance that counts: 0 for these users, 1 for an
    endless population.
    """
    per_user = np.array([scale for _, _, scale in models.values()])
    laws = [law for _, law, _ in models.values()]
    negatives = np.array([law.negatives[0] for law in laws]) * per_user
    users = np.array([law.users[0] for law in laws]) * per_user
    blur = np.array([law.blur[0] for law in laws]) * per_user
    if paired is None:
        return Scatter(np.diag(negatives**2 + drawn * users**2), blur, None)
    total = _by_gains(list(models), paired, fits, estimator, metric, support)
    if total is None:
        total = _by_resampling(list(models), paired, estimator, metric, support, seed)
    total = total * np.outer(per_user, per_user)
    within = _within(total, negatives**2)
    return Scatter((1.0 - drawn) * within + drawn * total, blur, total)


def _within(total: FloatArray, negatives: FloatArray) -> FloatArray:
    """The covariance that negatives cause, as far as it is sure.

    Cov(g, h) is that of E[g | R] and E[h | R] over users plus the mean of Cov(g, h | R), the one
    sought. The first is at most the root of the product of their variances; what is measured
    beyond that is the negatives'.
    """
    between = np.maximum(np.diag(total) - negatives, 0.0)
    sure = total - np.sqrt(np.outer(between, between))
    within: FloatArray = np.clip(sure, 0.0, np.sqrt(np.outer(negatives, negatives)))
    np.fill_diagonal(within, negatives)
    return within


def _by_gains(
    models: Sequence[str],
    paired: PairedCounts,
    fits: Mapping[str, Fit],
    estimator: Estimator,
    metric: Metric,
    support: SupportName | Support,
) -> FloatArray | None:
    """Covariance of mean gains over users; None for estimators that are no such mean."""
    columns = []
    for model in models:
        outcomes, row = distinct(paired.schemes, paired.outcomes(model))
        gains = outcome_gains(outcomes, fits[model], estimator, [metric], support)
        if gains is None:
            return None
        columns.append(gains[row, 0])
    gain = np.stack(columns, axis=1)
    weight = paired.weight / paired.weight.sum()
    off = gain - weight @ gain
    return np.asarray(off.T @ (weight[:, None] * off)) / (paired.effective_users - 1.0)


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
    known = {model: distinct(paired.schemes, paired.outcomes(model)) for model in models}
    weight = {m: np.empty((_RESAMPLES, outcomes.n_outcomes)) for m, (outcomes, _) in known.items()}
    for at in range(_RESAMPLES):
        drawn = rng.multinomial(n_users, share)
        for model, (outcomes, row) in known.items():
            weight[model][at] = np.bincount(row, drawn, minlength=outcomes.n_outcomes)
    values = [
        estimator.refit(
            known[model][0], weight[model], metrics=[metric], support=support, plug_in="plain"
        )[:, 0]
        for model in models
    ]
    return np.atleast_2d(np.cov(np.stack(values)))
