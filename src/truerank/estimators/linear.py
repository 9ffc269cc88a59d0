"""Linear estimators: a corrected gain per outcome, by least squares (bv and mn families).

Both solve G m = A' D F for the corrected gains m, with A[R, o] = P(o | R) and D the prior over
ranks. As estimators of the distribution (JL21 eq. 15) the same is one solve for all metrics:
P^ = D A G^-1 p~, where p~ are the observed shares.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import ClassVar

import numpy as np

from truerank import _arguments, _checks
from truerank._types import FloatArray
from truerank.estimators import _given_prior
from truerank.estimators._base import Estimator, Fit, posterior_mean
from truerank.estimators._given_prior import Prior
from truerank.estimators._influence import ReadOff, pulled_back, read_off
from truerank.estimators._spaces import OutcomeSpace, by_outcome, exact_part, outcome_spaces
from truerank.estimators.likelihood import likelihood, make_support
from truerank.estimators.maxent import MES
from truerank.estimators.mle import MLE
from truerank.estimators.support import RankDistribution, Support, SupportLike
from truerank.metrics import Metric, total_gains
from truerank.outcomes.counts import RankCounts


@dataclass(frozen=True)
class Linear(Estimator):
    """What the two families share: the prior, the outcome spaces, the adjoint solve."""

    prior: Prior
    uses_weights: ClassVar[bool] = False  # beyond the prior

    def __post_init__(self) -> None:
        _arguments.check_fields(self)
        object.__setattr__(self, "prior", _given_prior.checked(self.prior))

    @abstractmethod
    def _gram(self, space: OutcomeSpace, prior: FloatArray, n_users: float) -> FloatArray:
        """G for one space, (n_outcomes, n_outcomes)."""

    @abstractmethod
    def _gram_slope(self, a: FloatArray, left: FloatArray, right: FloatArray) -> FloatArray:
        """Derivative of left' G right in the prior, (n_points, n_metrics).

        ``a`` is A, ``left`` has shape (n_outcomes, n_metrics), ``right`` (n_outcomes,).
        """

    def fit(
        self, counts: RankCounts, *, metrics: Sequence[Metric], support: SupportLike, plug_in: str
    ) -> Fit:
        grid = make_support(counts, metrics, support)
        prior, found = self._find_prior(counts, metrics, grid)
        values = dict.fromkeys((metric.key for metric in metrics), 0.0)
        mass = np.zeros(grid.n_points)
        for space in outcome_spaces(counts, metrics, "full" if support == "full" else grid):
            part = self._masses(space, _given_prior.masses(prior, space.support), counts)
            mass += RankDistribution(space.support, part, _NONE, _NONE).masses_on(grid)
            _add(values, total_gains(metrics, space.support.rank, space.n_items, part))
        rank, share, pools = exact_part(counts)
        _add(values, total_gains(metrics, rank, pools, share))
        distribution = RankDistribution(grid, mass, rank, share)
        if plug_in == "posterior":
            model = likelihood(counts, grid)
            values = {metric.key: posterior_mean(model, mass, metric) for metric in metrics}
        details: Mapping[str, float] = {"negative_mass": distribution.negative_mass}
        converged, n_iter = (found.converged, found.n_iter) if found else (None, None)
        return Fit(values, distribution, converged, n_iter, details)

    def gains(
        self, counts: RankCounts, *, metrics: Sequence[Metric], support: SupportLike
    ) -> FloatArray | None:
        if isinstance(self.prior, Estimator) or self.uses_weights:
            return None
        parts = (
            (space, gains) for space, _, gains in self.corrected_gains(counts, metrics, support)
        )
        return by_outcome(counts, metrics, parts)

    def influence(
        self, counts: RankCounts, *, metrics: Sequence[Metric], support: SupportLike, plug_in: str
    ) -> FloatArray | None:
        fitted = self.prior if isinstance(self.prior, Estimator) else None
        if fitted is not None and not isinstance(fitted, (MLE, MES)):
            return None
        grid = make_support(counts, metrics, support)
        prior, _ = self._find_prior(counts, metrics, grid)
        reading = None
        if plug_in == "posterior":
            reading = self._read_off(counts, metrics, support, grid, prior)
            if reading is None:
                return None
        # The mass is D A G^-1 p~: linear in what was observed, and by D in the prior's own gains.
        slope = np.zeros((grid.n_points, len(metrics)))
        parts = []
        for space in outcome_spaces(counts, metrics, "full" if support == "full" else grid):
            value = (
                _gains_at(space, metrics)
                if reading is None
                else pulled_back(reading.slope, grid, space.support)
            )
            mass, gram, gains = self._corrected(space, value, prior, counts)
            parts.append((space, gains))
            if fitted is None:
                continue
            assert prior is not None
            seen = _solve(gram, space.observed)
            pull = value * (space.probability @ seen)[:, None]
            pull -= self._gram_slope(space.probability, gains.T, seen)
            total = float(np.maximum(prior.masses_on(space.support), 0.0).sum())
            if total > 0:  # masses are made to sum to 1 within the pool
                slope += pulled_back((pull - mass @ pull) / total, space.support, grid)
        known = by_outcome(counts, metrics, parts)
        if reading is not None:
            known[~counts.is_exact] += reading.sampled
        if fitted is None:
            return known
        through = fitted._pull(counts, likelihood(counts, grid), slope)
        if through is None or not (np.abs(through) < _BEYOND).all():
            return None  # what was seen is next to impossible by the prior: no slope holds far
        return known + through

    def _read_off(
        self,
        counts: RankCounts,
        metrics: Sequence[Metric],
        support: SupportLike,
        grid: Support,
        prior: RankDistribution | None,
    ) -> ReadOff | None:
        """Posterior means at the masses, of which those below 0 count as 0 and stay there.

        None if they rule out what was observed and the likelihood does not tell of it, either.
        """
        mass = np.zeros(grid.n_points)
        for space in outcome_spaces(counts, metrics, "full" if support == "full" else grid):
            part = self._masses(space, _given_prior.masses(prior, space.support), counts)
            mass += RankDistribution(space.support, part, _NONE, _NONE).masses_on(grid)
        mass = np.maximum(mass, 0.0)
        model = likelihood(counts, grid)
        if not (model.matrix @ (mass + 1e-300 * grid.weight) > 0.0).all():
            return None
        reading = read_off(model, mass, metrics, "posterior")
        return replace(reading, slope=np.where(mass[:, None] > 0.0, reading.slope, 0.0))

    def corrected_gains(
        self, counts: RankCounts, metrics: Sequence[Metric], support: SupportLike = "auto"
    ) -> Iterator[tuple[OutcomeSpace, FloatArray, FloatArray]]:
        """The corrected gains, whose mean over users is the estimate; exact ranks need none.

        Parameters
        ----------
        counts : RankCounts
            The outcomes of the evaluation.
        metrics : sequence of Metric
            What to estimate.
        support : {"auto", "full"} or Support
            The grid of global ranks: compressed, all ranks, or one of your own.

        Yields
        ------
        tuple of (OutcomeSpace, ndarray, ndarray)
            Each outcome space (pool and sample size) in the counts, the prior on its points,
            shape (n_points,), and the corrected gains, shape (n_metrics, n_outcomes).

        Examples
        --------
        >>> counts = tr.RankCounts.from_ranks([1, 1, 2, 5, 20], num_negatives=99, n_items=3706)
        >>> recall = tr.metrics.parse("recall@10")
        >>> space, prior, gains = next(tr.estimators.BV().corrected_gains(counts, recall))
        >>> gains[0, :3].round(3).tolist()
        [0.854, -1.032, 0.297]
        """
        grid = make_support(counts, metrics, support)
        prior, _ = self._find_prior(counts, metrics, grid)
        for space in outcome_spaces(counts, metrics, "full" if support == "full" else grid):
            mass, _, gains = self._corrected(space, _gains_at(space, metrics), prior, counts)
            yield space, mass, gains

    def _corrected(
        self,
        space: OutcomeSpace,
        value: FloatArray,
        prior: RankDistribution | None,
        counts: RankCounts,
    ) -> tuple[FloatArray, FloatArray, FloatArray]:
        """The prior's masses, G, and G^-1 A' D F for values F of the points, (n_points, n)."""
        mass = _given_prior.masses(prior, space.support)
        gram = self._gram(space, mass, counts.effective_users)
        right = space.probability.T @ (mass[:, None] * value)
        return mass, gram, _solve(gram, right).T

    def _find_prior(
        self, counts: RankCounts, metrics: Sequence[Metric], grid: Support
    ) -> tuple[RankDistribution | None, Fit | None]:
        """The prior to use and, if it was fitted to ``counts``, that fit."""
        return _given_prior.find(self.prior, counts, metrics, grid)

    def _masses(self, space: OutcomeSpace, prior: FloatArray, counts: RankCounts) -> FloatArray:
        gram = self._gram(space, prior, counts.effective_users)
        return prior * (space.probability @ _solve(gram, space.observed))


@dataclass(frozen=True)
class BV(Linear):
    """The estimator that trades bias for variance (KR20 eq. 25): G = (1-g) A'DA + g diag(A'D1).

    Parameters
    ----------
    prior : {"mle", "mes"}, Estimator, RankDistribution or None
        Distribution of global ranks: None for uniform, as published; ``"mle"`` or ``"mes"`` for
        what these find in the same sample (bv-mle, bv-mes, LJ24 section 5); any estimator of a
        distribution; or a distribution.
    gamma : float
        Weight of the variance, from 0 (least bias; singular, by pseudo-inverse) to 1 (the
        posterior mean under the prior, KR20 eq. 26).

    Examples
    --------
    >>> counts = tr.RankCounts.from_ranks([1, 1, 2, 5, 20], num_negatives=99, n_items=3706)
    >>> bv = tr.estimators.BV(gamma=0.1)
    >>> est = tr.estimate(counts, "recall@10", estimator=bv, confidence=None)
    >>> round(est["recall@10"].value, 4)
    0.1701
    """

    gamma: float = 0.01
    prior: Prior = None
    name: ClassVar[str] = "bv"

    def __post_init__(self) -> None:
        super().__post_init__()
        _checks.real(self.gamma, "gamma", low=0.0, high=1.0)

    def _gram(self, space: OutcomeSpace, prior: FloatArray, n_users: float) -> FloatArray:
        a = space.probability
        gram = _weighted_gram(a, (1.0 - self.gamma) * prior)
        gram[np.diag_indices_from(gram)] += self.gamma * (prior @ a)
        return gram

    def _gram_slope(self, a: FloatArray, left: FloatArray, right: FloatArray) -> FloatArray:
        square = (a @ left) * (a @ right)[:, None]
        return np.asarray((1.0 - self.gamma) * square + self.gamma * (a @ (left * right[:, None])))


@dataclass(frozen=True)
class MN(Linear):
    """The estimator of least mean squared error for M users (LJ24 eq. 42).

    G = A'DA - A'A/M + diag(A'1)/M.

    Parameters
    ----------
    prior : {"mle", "mes"}, Estimator, RankDistribution or None
        Distribution of global ranks, as in :class:`BV`; published with ``"mle"`` (mn-mle) and
        ``"mes"`` (mn-mes).

    Examples
    --------
    >>> counts = tr.RankCounts.from_ranks([1, 1, 2, 5, 20], num_negatives=99, n_items=3706)
    >>> est = tr.estimate(counts, "recall@10", estimator="mn-mle", confidence=None)
    >>> round(est["recall@10"].value, 4)
    0.1788
    """

    prior: Prior = "mle"
    uses_weights: ClassVar[bool] = True  # the number of users
    name: ClassVar[str] = "mn"

    def _gram(self, space: OutcomeSpace, prior: FloatArray, n_users: float) -> FloatArray:
        a, ranks = space.probability, space.support.weight  # sums over R: `ranks` ranks per point
        gram = _weighted_gram(a, prior - ranks / n_users)
        gram[np.diag_indices_from(gram)] += (ranks @ a) / n_users
        return gram

    def _gram_slope(self, a: FloatArray, left: FloatArray, right: FloatArray) -> FloatArray:
        return np.asarray((a @ left) * (a @ right)[:, None])


_NONE = np.empty(0)
_BEYOND = 1e15  # gains are at most ranks of 1e12


def _gains_at(space: OutcomeSpace, metrics: Sequence[Metric]) -> FloatArray:
    """The gains of a space's points, (n_points, n_metrics)."""
    gains = [metric.gain(space.support.rank, space.n_items) for metric in metrics]
    return np.stack(gains, axis=1)


def _add(values: dict[str, float], more: Mapping[str, float]) -> None:
    for key, value in more.items():
        values[key] += value


def _weighted_gram(a: FloatArray, weight: FloatArray) -> FloatArray:
    """A' diag(weight) A."""
    return np.asarray((a * weight[:, None]).T @ a)


def _solve(gram: FloatArray, right: FloatArray) -> FloatArray:
    """G^+ right for a symmetric positive semidefinite G; ``right`` of one or more columns.

    Scaled to a unit diagonal, which leaves bv with a condition below 1/gamma whatever the prior.
    Outcomes that the prior rules out (a zero row) get no weight; where Cholesky fails, the
    pseudo-inverse.
    """
    from scipy.linalg import LinAlgError, cho_factor, cho_solve, eigh

    diagonal = np.diag(gram)
    alive = diagonal > 1e-290
    scale = np.divide(
        1.0, np.sqrt(np.maximum(diagonal, 1e-290)), where=alive, out=np.zeros_like(diagonal)
    )
    if not alive.all():
        solution = np.zeros_like(right)
        kept = np.flatnonzero(alive)
        solution[kept] = _solve(gram[np.ix_(kept, kept)], right[kept])
        return solution
    scaled = gram * scale[:, None] * scale[None, :]
    weigh = scale if right.ndim == 1 else scale[:, None]
    try:
        factor = cho_factor(scaled, lower=True)
        if np.diag(factor[0]).min() > 1e-6:
            return np.asarray(weigh * cho_solve(factor, weigh * right))
    except LinAlgError:
        pass
    values, vectors = eigh(scaled)
    keep = values > values[-1] * values.size * np.finfo(np.float64).eps
    vectors = vectors[:, keep] / np.sqrt(values[keep])
    return np.asarray(weigh * (vectors @ (vectors.T @ (weigh * right))))
