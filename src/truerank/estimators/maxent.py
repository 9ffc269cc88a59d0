"""Maximum entropy with squared distribution distance, mes (JL21 eq. 26, LJ24 eq. 36)."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import ClassVar

import numpy as np
import numpy.typing as npt

from truerank import _arguments, _checks
from truerank._types import FloatArray, IntArray
from truerank.errors import ConvergenceWarning
from truerank.estimators._base import Estimator, Fit, posterior_mean
from truerank.estimators._influence import read_off
from truerank.estimators.likelihood import Likelihood, likelihood, make_support
from truerank.estimators.support import RankDistribution, Support, SupportLike
from truerank.metrics import Metric
from truerank.outcomes import schemes
from truerank.outcomes.counts import RankCounts

_MAX_STEPS = 200
_POOL_SHARE = 0.005


@dataclass(frozen=True)
class MES(Estimator):
    """The distribution of largest entropy that fits the sampled ranks (JL21 eq. 26, LJ24 eq. 36).

    Maximises eta H(pi) - n E with E = sum_r P~(r) ((A pi)(r) - P~(r))^2, by Newton's method in the
    dual, which has n unknowns. With several pools or sizes an outcome's probability is that of
    meeting its pool and size and then the rank, averaged over pools.

    Parameters
    ----------
    eta : float
        Weight of the entropy, above 0. The printed JL21 rows fit 0.01 with E times n (LJ24's
        form), not 0.001 without.

    Examples
    --------
    >>> counts = tr.RankCounts.from_ranks([1, 1, 2, 5, 20], num_negatives=99, n_items=3706)
    >>> est = tr.estimate(counts, "recall@10", estimator="mes", confidence=None)
    >>> round(est["recall@10"].value, 4)
    0.1507
    """

    eta: float = 0.01
    name: ClassVar[str] = "mes"

    def __post_init__(self) -> None:
        _arguments.check_fields(self)
        _checks.real(self.eta, "eta", low=1e-12, high=1e12)

    def fit(
        self, counts: RankCounts, *, metrics: Sequence[Metric], support: SupportLike, plug_in: str
    ) -> Fit:
        grid = make_support(counts, metrics, support)
        law = _sampled_law(counts, grid)
        found = maximise(law.rows, law.share, law.n_outcomes, grid.weight, eta=self.eta)
        none = np.empty(0)
        distribution = RankDistribution(grid, found.mass, none, none)
        one_pool = bool((counts.n_items == counts.n_items[0]).all())
        model = None
        values = distribution.expect(metrics)
        for metric in metrics:
            if plug_in == "posterior" or (metric.depends_on_pool and not one_pool):
                model = model or likelihood(counts, grid)
                values[metric.key] = posterior_mean(model, found.mass, metric)
        details = {"objective": found.objective}
        return Fit(values, distribution, found.converged, found.n_iter, details)

    def influence(
        self, counts: RankCounts, *, metrics: Sequence[Metric], support: SupportLike, plug_in: str
    ) -> FloatArray | None:
        model = likelihood(counts, make_support(counts, metrics, support))
        found = self._maximum(counts, model.support)[1]
        reading = read_off(model, found.mass, metrics, plug_in)
        gains = self._pull(counts, model, reading.slope)
        gains[~counts.is_exact] += reading.sampled
        gains[counts.is_exact] += reading.exact
        return gains

    def _pull(self, counts: RankCounts, model: Likelihood, slope: FloatArray) -> FloatArray:
        """Gains of outcomes whose mean is, to first order, that of ``slope`` over the masses.

        By implicit differentiation of the dual's optimum, A pi - p~ + slack y = 0.

        Parameters
        ----------
        counts : RankCounts
            The outcomes.
        model : Likelihood
            Their likelihood.
        slope : ndarray of float, shape (n_points, n_metrics)
            A value for each point.

        Returns
        -------
        ndarray of float, shape (n_outcomes, n_metrics)
            The gains.
        """
        grid = model.support
        law, found = self._maximum(counts, grid)
        rows, mass, y = law.rows, found.mass, found.dual
        slack = 1.0 / (2.0 * law.n_outcomes * law.share)
        off = mass[:, None] * (slope - mass @ slope) / self.eta
        # v = H^-1 d value / dy. A share more moves the optimum by H^-1 (1 + y / (2 n p~^2)).
        v = np.stack(
            [_newton_step(rows, mass, slack, part, self.eta) for part in (rows @ off).T], axis=1
        )
        own = v * (1.0 + y * slack / law.share)[:, None]
        # Shares of pools move A itself.
        back = v.T @ rows
        spread = mass * (back - (back @ mass)[:, None]) / self.eta
        moved = own[law.place] + law.through_pools(y, v, off - spread.T, mass)
        share = counts.weight / counts.total_weight
        return np.asarray(mass @ slope + moved - share @ moved)

    def _maximum(self, counts: RankCounts, grid: Support) -> tuple[_SampledLaw, _Maximum]:
        law = _sampled_law(counts, grid)
        return law, maximise(law.rows, law.share, law.n_outcomes, grid.weight, eta=self.eta)


@dataclass(frozen=True)
class _Part:
    """The outcomes of one scheme and size in one pool (or several within 0.5 %)."""

    at: IntArray  # rows of the counts
    key: slice  # their keys, all those of the scheme and size
    kernel: Callable[[], FloatArray]  # P(key | R) in the pool, (n_keys, n_points)


@dataclass(frozen=True)
class _SampledLaw:
    """P(key | R) with pools averaged over, where an outcome's key is scheme, size and rank.

    ``rows`` (n_keys, n_points), ``share`` (n_keys,) of users, ``n_outcomes`` (n_keys,): sizes of
    the spaces; ``place`` (n_rows,): the key of each row of the counts; ``parts``: pool by pool.
    """

    rows: FloatArray
    share: FloatArray
    n_outcomes: FloatArray
    place: IntArray
    parts: tuple[_Part, ...]

    def through_pools(
        self, y: FloatArray, v: FloatArray, direct: FloatArray, mass: FloatArray
    ) -> FloatArray:
        """What a row of the counts adds to a value by adding to its pool's share of ``rows``."""
        found = np.empty((self.place.size, v.shape[1]))
        for part in self.parts:
            through = part.kernel() @ np.column_stack([direct, mass])
            value = y[part.key] @ through[:, :-1] - v[part.key].T @ through[:, -1]
            found[part.at] = value
        return found


def _sampled_law(counts: RankCounts, support: Support) -> _SampledLaw:
    share = counts.weight / counts.total_weight
    rows: list[FloatArray] = []
    shares, sizes, parts = [], [], []
    place = np.empty(counts.n_outcomes, dtype=np.int64)
    n_keys = 0
    for code, scheme in enumerate(counts.schemes):
        mine = counts.scheme == code
        fixed_size = (
            counts.sample_size if not scheme.adaptive else np.zeros_like(counts.sample_size)
        )
        exact = np.zeros_like(mine)
        if not scheme.adaptive and scheme.seen is None:
            exact = mine & counts.is_exact
        for size in np.unique(fixed_size[mine & ~exact]):
            here = np.flatnonzero(mine & ~exact & (fixed_size == size))
            keys, at = np.unique(
                np.stack([counts.sample_size[here], counts.sampled_rank[here]]),
                axis=1,
                return_inverse=True,
            )
            place[here] = n_keys + np.ravel(at)
            kernel = np.zeros((keys.shape[1], support.n_points))
            for pool, users, members in _pools(counts.n_items[here], share[here]):
                of_pool = partial(_pool_rows, scheme, support, pool, keys)
                kernel += users * of_pool()
                these = slice(n_keys, n_keys + keys.shape[1])
                parts.append(_Part(here[members], these, of_pool))
            rows.append(kernel)
            shares.append(np.bincount(np.ravel(at), share[here]))
            space = scheme.outcomes(int(counts.n_items[here].max()), int(size))[0].size
            sizes.append(np.full(keys.shape[1], float(space)))
            n_keys += keys.shape[1]
        if exact.any():
            rank = counts.sampled_rank[exact]
            known, at = np.unique(rank, return_inverse=True)
            place[exact] = n_keys + at
            point = support.locate(known)
            of_rank = partial(_known_rows, support, point)
            these = slice(n_keys, n_keys + known.size)
            parts.append(_Part(np.flatnonzero(exact), these, of_rank))
            rows.append(float(share[exact].sum()) * of_rank())
            shares.append(np.bincount(at, share[exact]))
            sizes.append(np.full(known.size, float(counts.n_items[exact].max())))
            n_keys += known.size
    return _SampledLaw(
        np.concatenate(rows), np.concatenate(shares), np.concatenate(sizes), place, tuple(parts)
    )


def _known_rows(support: Support, point: IntArray) -> FloatArray:
    """P(exact rank | R), the ranks of a point being alike."""
    rows = np.zeros((point.size, support.n_points))
    rows[np.arange(point.size), point] = 1.0 / support.weight[point]
    return rows


def _pool_rows(scheme: schemes.Scheme, support: Support, pool: int, keys: IntArray) -> FloatArray:
    """P((size, rank) | R) in one pool; 0 where the pool is too small for the outcome."""
    possible = np.ones(keys.shape[1], dtype=bool)
    if scheme.adaptive and not scheme.replacement:
        sizes, ranks = scheme.outcomes(pool, 0)
        space = set(zip(sizes.tolist(), ranks.tolist(), strict=True))
        possible = np.array([pair in space for pair in zip(*keys.tolist(), strict=True)])
    rows = np.zeros((keys.shape[1], support.n_points))
    if possible.any():
        size, rank = keys[:, possible]
        rows[possible] = np.exp(
            schemes.log_probability(
                scheme, support.rank, n_items=pool, sample_size=size, sampled_rank=rank
            )
        )
    return rows


def _pools(n_items: IntArray, share: FloatArray) -> list[tuple[int, float, npt.NDArray[np.bool_]]]:
    """Pools within 0.5 % as one, with their shares of users and who belongs to them."""
    pools, at = np.unique(n_items, return_inverse=True)
    users = np.bincount(at, share)
    groups = []
    start = 0
    while start < pools.size:
        stop = int(np.searchsorted(pools, pools[start] * (1 + _POOL_SHARE), side="right"))
        total = float(users[start:stop].sum())
        pool = round(float(pools[start:stop] @ users[start:stop]) / total)
        groups.append((pool, total, (at >= start) & (at < stop)))
        start = stop
    return groups


@dataclass(frozen=True)
class _Maximum:
    """``mass`` (n_points,) and ``dual`` (n_outcomes,) at the maximum, and how it was found."""

    mass: FloatArray
    dual: FloatArray
    converged: bool
    n_iter: int
    objective: float


def maximise(
    rows: FloatArray,
    share: FloatArray,
    n_outcomes: FloatArray,
    ranks: FloatArray,
    *,
    eta: float,
    tolerance: float = 1e-10,
) -> _Maximum:
    """The maximum of eta H - n E by damped Newton in the dual.

    With s = A pi split off, pi is proportional to ``ranks`` exp(A' y / eta) and the dual is
    min_y eta log sum_R ranks exp((A' y)_R / eta) - y.p~ + sum_o y_o^2 / (4 n_o p~_o): smooth and
    strongly convex.
    """
    slack = 1.0 / (2.0 * n_outcomes * share)
    log_ranks = np.log(ranks)

    def dual(y: FloatArray) -> tuple[float, FloatArray]:
        exponent = log_ranks + (y @ rows) / eta
        top = float(exponent.max())
        mass = np.exp(exponent - top)
        total = float(mass.sum())
        value = eta * (top + np.log(total)) - y @ share + 0.5 * (slack * y) @ y
        return float(value), mass / total

    def primal(mass: FloatArray) -> float:
        inside = mass > 0
        entropy = -float(mass[inside] @ (np.log(mass[inside]) - np.log(ranks[inside])))
        return eta * entropy - float((n_outcomes * share) @ (rows @ mass - share) ** 2)

    y = np.zeros(share.size)
    value, mass = dual(y)
    gap = np.inf
    for step in range(_MAX_STEPS + 1):
        # Weak duality: the primal optimum lies within `gap` of this mass.
        gap = value - primal(mass)
        if gap <= tolerance * max(1.0, abs(value)):
            return _Maximum(mass, y, True, step, primal(mass))
        slope = rows @ mass - share + slack * y
        move = _newton_step(rows, mass, slack, slope, eta)
        drop = float(slope @ move)
        length = 1.0
        while True:
            new_value, new_mass = dual(y - length * move)
            if new_value <= value - 1e-4 * length * drop or length < 1e-10:
                break
            length *= 0.5
        if new_value >= value:
            break
        y, value, mass = y - length * move, new_value, new_mass
    # At the limit of floating point the gap cannot shrink further; say converged if it is small.
    converged = gap <= 1e-7 * max(1.0, abs(value))
    if not converged:
        warnings.warn(
            f"mes stopped with a duality gap of {gap:.1e}", ConvergenceWarning, stacklevel=3
        )
    return _Maximum(mass, y, converged, step, primal(mass))


def _newton_step(
    rows: FloatArray, mass: FloatArray, slack: FloatArray, slope: FloatArray, eta: float
) -> FloatArray:
    """H^-1 slope for H = diag(slack) + (A diag(pi) A' - s s') / eta, s = A pi.

    Solved in outcomes or, when those are more, in support points (Woodbury); s s' by
    Sherman-Morrison, whose denominator stays positive because H is.
    """
    from scipy.linalg import cho_factor, cho_solve

    mean = rows @ mass
    right = np.column_stack([slope, mean])
    if rows.shape[0] <= rows.shape[1]:
        hessian = (rows * (mass / eta)) @ rows.T
        hessian[np.diag_indices_from(hessian)] += slack
        solved = cho_solve(cho_factor(hessian), right)
    else:
        half = rows * np.sqrt(mass / eta)
        inner = (half / slack[:, None]).T @ half
        inner[np.diag_indices_from(inner)] += 1.0
        scaled = right / slack[:, None]
        solved = scaled - (half @ cho_solve(cho_factor(inner), half.T @ scaled)) / slack[:, None]
    to_slope, to_mean = solved.T
    return np.asarray(to_slope + to_mean * (mean @ to_slope) / (eta - mean @ to_mean))
