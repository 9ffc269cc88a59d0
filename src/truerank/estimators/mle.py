"""Maximum likelihood of the rank distribution by EM (JL21 eq. 21 and 23; LJ24 section 6.2)."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, Literal

import numpy as np

from truerank import _arguments, _checks
from truerank._types import FloatArray
from truerank.errors import ConvergenceWarning, InputError
from truerank.estimators._base import Estimator, Fit, posterior_mean
from truerank.estimators._influence import read_off, through_em
from truerank.estimators._npmle import maximise
from truerank.estimators.likelihood import Likelihood, likelihood, make_support
from truerank.estimators.support import RankDistribution, SupportLike
from truerank.metrics import Metric
from truerank.outcomes.counts import RankCounts

STEPS_FIXED = 100
STEPS_ADAPTIVE = 50


def published_steps(counts: RankCounts) -> int:
    """Number of EM steps behind the published tables, for samples like these."""
    return STEPS_ADAPTIVE if counts.adaptive else STEPS_FIXED


@dataclass(frozen=True)
class MLE(Estimator):
    """The most likely distribution of global ranks, by EM from the uniform one (JL21 eq. 21).

    Parameters
    ----------
    steps : int, "published" or None
        Number of EM steps. ``"published"``: as behind the published tables, 100 for fixed samples
        and 50 for adaptive ones. Stopping early is what regularises; None runs until converged,
        which is another, much noisier estimator.
    tolerance : float
        For ``steps=None``: how far the mean log-likelihood per user may lie below its maximum,
        certified by the largest directional derivative (an interior-point method, not EM).

    Examples
    --------
    >>> counts = tr.RankCounts.from_ranks([1, 1, 2, 5, 20], num_negatives=99, n_items=3706)
    >>> est = tr.estimate(counts, "recall@10", estimator="mle", confidence=None)
    >>> round(est["recall@10"].value, 4)
    0.1792
    """

    steps: int | Literal["published"] | None = "published"
    tolerance: float = 1e-6
    name: ClassVar[str] = "mle"

    def __post_init__(self) -> None:
        _arguments.check_fields(self)
        if not isinstance(self.steps, str) and self.steps is not None:
            _checks.integer(self.steps, "steps", low=1)
        _checks.real(self.tolerance, "tolerance", low=0.0, open_low=True)

    def fit(
        self, counts: RankCounts, *, metrics: Sequence[Metric], support: SupportLike, plug_in: str
    ) -> Fit:
        model = likelihood(counts, make_support(counts, metrics, support))
        em = self._run(counts, model, *self._weights(counts, model))
        return _fit(counts, model, em, metrics, plug_in)

    def influence(
        self, counts: RankCounts, *, metrics: Sequence[Metric], support: SupportLike, plug_in: str
    ) -> FloatArray | None:
        if self.steps is None:  # the maximum jumps from point to point
            return None
        model = likelihood(counts, make_support(counts, metrics, support))
        weight, exact_weight = self._weights(counts, model)
        em = self._run(counts, model, weight, exact_weight)
        mass = em.sampled + _at_points(model, exact_weight)
        reading = read_off(model, mass, metrics, plug_in)
        gains = self._pull(counts, model, reading.slope, reading.held)
        assert gains is not None
        gains[~counts.is_exact] += reading.sampled
        gains[counts.is_exact] += reading.exact
        return gains

    def _pull(
        self,
        counts: RankCounts,
        model: Likelihood,
        slope: FloatArray,
        held: FloatArray | None = None,
    ) -> FloatArray | None:
        """Gains of outcomes whose mean is, to first order, that of ``slope`` over the masses.

        Parameters
        ----------
        counts : RankCounts
            The outcomes.
        model : Likelihood
            Their likelihood.
        slope : ndarray of float, shape (n_points, n_metrics)
            A value for each point.
        held : ndarray of float, shape (n_exact, n_metrics), optional
            By how much the value at an exact rank exceeds that of its point.

        Returns
        -------
        ndarray of float, shape (n_outcomes, n_metrics), or None
            The gains; None if the number of steps is not fixed.
        """
        if self.steps is None:
            return None
        weight, exact_weight = self._weights(counts, model)
        points, exact = model.support, _at_points(model, exact_weight)
        start, steps = points.weight / points.n_items, self._n_steps(counts)
        moved, at_points = through_em(model.matrix, weight, exact, start, steps, slope)
        known = at_points[points.locate(model.exact_rank)]
        if held is not None:
            known = known + held
        mean = weight @ moved + exact_weight @ known
        gains = np.empty((counts.n_outcomes, slope.shape[1]))
        for rows, part, used, share in (
            (~counts.is_exact, moved, weight, model.weight),
            (counts.is_exact, known, exact_weight, model.exact_weight),
        ):
            gains[rows] = mean + (used / share)[:, None] * (part - mean)
        return gains

    def refit(
        self,
        outcomes: RankCounts,
        weight: FloatArray,
        *,
        metrics: Sequence[Metric],
        support: SupportLike,
        plug_in: str,
    ) -> FloatArray:
        # All tables at once: the steps are then products of matrices. Not where outcomes differ in
        # what they mean (exact ranks, gains by pool, posterior plug-in) or EM has no fixed length.
        pools = np.unique(outcomes.n_items).size
        plain = not any(metric.depends_on_pool for metric in metrics) or pools == 1
        if (
            type(self) is not MLE
            or self.steps is None
            or plug_in != "plain"
            or not plain
            or outcomes.is_exact.any()
        ):
            return super().refit(
                outcomes, weight, metrics=metrics, support=support, plug_in=plug_in
            )
        model = likelihood(outcomes, make_support(outcomes, metrics, support))
        share = (weight / weight.sum(axis=1, keepdims=True)).T  # (n_outcomes, n_tables)
        points, steps = model.support, self._n_steps(outcomes)
        mass = np.tile((points.weight / points.n_items)[:, None], weight.shape[0])
        for _ in range(steps):
            mass *= model.matrix.T @ (share / (model.matrix @ mass))
        gain = np.stack([metric.gain(points.rank, points.n_items) for metric in metrics])
        return np.asarray((gain @ mass).T)

    def _weights(self, counts: RankCounts, model: Likelihood) -> tuple[FloatArray, FloatArray]:
        """Weights of sampled and exact outcomes, which add up to 1."""
        return model.weight, model.exact_weight

    def _n_steps(self, counts: RankCounts) -> int:
        if self.steps == "published":
            return published_steps(counts)
        assert isinstance(self.steps, int)
        return self.steps

    def _run(
        self, counts: RankCounts, model: Likelihood, weight: FloatArray, exact_weight: FloatArray
    ) -> _EM:
        if self.steps is None:
            return _converge(model, weight, exact_weight, self.tolerance)
        return _iterate(model, weight, exact_weight, self._n_steps(counts))


@dataclass(frozen=True)
class WMLE(MLE):
    """Maximum likelihood with outcomes weighted by w(r) (JL21 eq. 23); biased even when n = N.

    Parameters
    ----------
    steps : int, "published" or None
        Number of EM steps, as in :class:`MLE`.
    tolerance : float
        As in :class:`MLE`.
    decay : {"ndcg", "ap"} or callable
        The weight: the gain at r/c (JL21 used ndcg with c = 10, though its printed numbers cannot
        come from that weight), or any function of an array of sampled ranks.
    c : float
        The scale of the ranks, above 0.

    Examples
    --------
    >>> counts = tr.RankCounts.from_ranks([1, 1, 2, 5, 20], num_negatives=99, n_items=3706)
    >>> est = tr.estimate(counts, "recall@10", estimator="wmle", confidence=None)
    >>> round(est["recall@10"].value, 4)
    0.6119
    """

    decay: Literal["ndcg", "ap"] | Callable[[FloatArray], Any] = "ndcg"
    c: float = 10.0
    name: ClassVar[str] = "wmle"

    def __post_init__(self) -> None:
        super().__post_init__()
        _checks.real(self.c, "c", low=0.0, high=1e6, open_low=True)

    def fit(
        self, counts: RankCounts, *, metrics: Sequence[Metric], support: SupportLike, plug_in: str
    ) -> Fit:
        if counts.adaptive:
            raise InputError("wmle needs samples of a fixed size; these counts are adaptive")
        if counts.censored:
            raise InputError("wmle needs ranks; some of these lists ended before their target")
        return super().fit(counts, metrics=metrics, support=support, plug_in=plug_in)

    def _weights(self, counts: RankCounts, model: Likelihood) -> tuple[FloatArray, FloatArray]:
        exact = counts.is_exact
        factor = self._factor(counts.sampled_rank.astype(np.float64))
        weight, exact_weight = model.weight * factor[~exact], model.exact_weight * factor[exact]
        total = weight.sum() + exact_weight.sum()
        if not total > 0:
            raise InputError("wmle: every observed outcome has weight 0")
        return weight / total, exact_weight / total

    def _factor(self, rank: FloatArray) -> FloatArray:
        factor: FloatArray
        if callable(self.decay):
            factor = np.asarray(self.decay(rank), dtype=np.float64)
        elif self.decay == "ndcg":
            factor = 1.0 / np.log2(rank / self.c + 1.0)
        else:
            factor = self.c / rank
        if factor.shape != rank.shape or not np.isfinite(factor).all() or (factor < 0).any():
            raise InputError("wmle: decay must give one finite weight of at least 0 per rank")
        return factor


@dataclass(frozen=True)
class _EM:
    """The masses EM ended with: ``sampled`` of the sampled outcomes, plus the exact ranks'."""

    sampled: FloatArray
    exact_weight: FloatArray
    n_iter: int
    converged: bool | None
    gap: float | None = None


def _fit(
    counts: RankCounts, model: Likelihood, em: _EM, metrics: Sequence[Metric], plug_in: str
) -> Fit:
    distribution = RankDistribution(
        model.support, em.sampled, model.exact_rank.astype(np.float64), em.exact_weight
    )
    mass = em.sampled + _at_points(model, em.exact_weight)
    one_pool = bool((counts.n_items == counts.n_items[0]).all())
    values = distribution.expect(metrics)
    for metric in metrics:
        if plug_in == "posterior" or (metric.depends_on_pool and not one_pool):
            values[metric.key] = posterior_mean(model, mass, metric)
    details = {"log_likelihood": log_likelihood(model, mass)}
    if em.gap is not None:
        details["gap"] = em.gap
    return Fit(values, distribution, em.converged, em.n_iter, details)


def log_likelihood(model: Likelihood, mass: FloatArray) -> float:
    """Mean log-likelihood per user of a rank distribution."""
    value = model.weight @ (np.log(model.matrix @ mass) + model.log_scale)
    if model.exact_rank.size:
        at = model.support.locate(model.exact_rank)
        value += model.exact_weight @ np.log(mass[at] / model.support.weight[at])
    return float(value)


def _at_points(model: Likelihood, exact_weight: FloatArray) -> FloatArray:
    at = model.support.locate(model.exact_rank)
    return np.bincount(at, exact_weight, minlength=model.support.n_points).astype(np.float64)


def _iterate(model: Likelihood, weight: FloatArray, exact_weight: FloatArray, steps: int) -> _EM:
    """``steps`` EM steps: pi <- pi * sum_r P~(r) P(r|R) / p(r), exact ranks staying put."""
    matrix, exact = model.matrix, _at_points(model, exact_weight)
    sampled = model.support.weight / model.support.n_items
    mass = sampled
    for _ in range(steps):
        sampled = mass * ((weight / (matrix @ mass)) @ matrix)
        mass = sampled + exact
    return _EM(sampled, exact_weight, steps, None)


def _converge(
    model: Likelihood, weight: FloatArray, exact_weight: FloatArray, tolerance: float
) -> _EM:
    """The maximum itself. Exact ranks are outcomes seen at one point only."""
    exact = _at_points(model, exact_weight)
    held = np.flatnonzero(exact)
    matrix = model.matrix[:]  # an array: its systems of equations are dense
    if held.size:
        ones = np.zeros((held.size, exact.size))
        ones[np.arange(held.size), held] = 1.0
        matrix = np.concatenate([matrix, ones])
    found = maximise(matrix, np.concatenate([weight, exact[held]]), tolerance=tolerance)
    if not found.converged:
        warnings.warn(
            f"mle(steps=None) stopped after {found.n_iter} steps with the mean log-likelihood up "
            f"to {found.gap:.1e} below its maximum (tolerance {tolerance:.1e})",
            ConvergenceWarning,
            stacklevel=2,
        )
    # One EM step at the maximum changes nothing but tells sampled from exact mass apart.
    mass = found.mass
    sampled = mass * ((weight / (model.matrix @ mass)) @ model.matrix)
    return _EM(sampled, exact_weight, found.n_iter, found.converged, found.gap)
