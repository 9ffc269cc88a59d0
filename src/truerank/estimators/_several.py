"""Several targets per user: a law for each class of places, and every target's gain under it.

A target of rank R among the non-targets and place i among its user's targets has position R + i - 1
in the one list of all of them, so that metrics are sums over targets of gains in R. The law of R
differs by i (the best of eight targets ranks high) and by the number t of targets; so targets are
put into classes of i and t, and one law is fitted to each class: smooth strays from the law that
order statistics of independent targets would follow. Some metrics weigh a user's targets 1 / t
each, others 1: in a fit they weigh 1 / sqrt(t), in the middle. A target then counts
with its expected gain given its own outcome and the law of its class: the gain of its own place,
weighted as the metric weights its user.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from truerank._types import FloatArray, IntArray
from truerank.errors import InputError
from truerank.estimators._base import Estimator, Fit
from truerank.estimators._neighbours import on_grid
from truerank.estimators._posterior import Component, Posterior
from truerank.estimators.likelihood import likelihood, make_support
from truerank.estimators.smooth import Smooth
from truerank.estimators.support import NO_RANKS, RankDistribution, Support, SupportLike
from truerank.metrics import Metric
from truerank.outcomes.counts import RankCounts

LEAST = 120  # targets of a class; thinner ones are pooled with their neighbours of like places
FEWEST = 50  # targets of like places; fewer are pooled with those of better ones
_POOL_STEP = 0.01  # pools nearer than this (in log N) are read as one
_PAIRS = 32  # of place and number of targets that stand for all of a class
_PLAIN = 0.05  # share of the law of all targets in the base measure of a class
_ALIKE = 0.3  # correlation of the errors of the laws of classes
_FAR = 200.0  # places beyond which targets are of one class, whatever is asked for
_NEAR, _STEP = 50, 0.02  # places up to which each counts as it is; then steps of log place


def fit(
    estimator: Estimator,
    counts: RankCounts,
    *,
    metrics: Sequence[Metric],
    support: SupportLike,
    plug_in: str,
) -> Fit:
    """Estimate metrics of users with several targets.

    Parameters
    ----------
    estimator : Estimator
        Fitted to each class, or asked for its gains where it has such.
    counts : RankCounts
        The outcomes of all targets.
    metrics : sequence of Metric
        What to estimate.
    support : {"auto", "full"} or Support
        The grid of global ranks.
    plug_in : {"plain", "posterior"}
        As in `Estimator.fit`; targets always count with their expected gains here.

    Returns
    -------
    Fit
        Values are means over targets of their gains; `truerank.estimate` makes them means over
        users.
    """
    check(counts, metrics)
    if not estimator.supports(Metric("own", None, np.ones_like)):
        raise InputError(
            f"estimator {estimator.name!r} is for one target per user; users here have up to "
            f"{int(counts.n_targets.max())}: take smooth, mle or bv"
        )
    law: Places
    if counts.is_exact.all():
        law = ExactPlaces(counts)
    elif _has_gains(estimator, counts, metrics, support):
        law = LinearPlaces(estimator, support)
    else:
        law = fitted_places(estimator, counts, metrics, support, plug_in)
    values = counts.weight @ law.gains(counts, metrics) / counts.total_weight
    found = {metric.key: float(value) for metric, value in zip(metrics, values, strict=True)}
    return Fit(found, law.distribution, law.converged, law.n_iter, {}, None, law)


def check(counts: RankCounts, metrics: Sequence[Metric]) -> None:
    """Raise for metrics that these counts do not tell."""
    if counts.offset.any():
        for metric in metrics:
            if metric.depends_on_pool:
                raise InputError(
                    f"{metric.key} asks for the whole pool, and {int((counts.offset > 0).sum()):,} "
                    "outcomes have candidates above them that are known beside it; give metrics "
                    "with a cut-off"
                )


def _has_gains(
    estimator: Estimator, counts: RankCounts, metrics: Sequence[Metric], support: SupportLike
) -> bool:
    one = np.zeros(counts.n_outcomes, dtype=bool)
    one[0] = True
    few = counts.select(one)
    assert few is not None
    probe = [metric for metric in metrics if not metric.cuts_at_targets][:1]
    probe = probe or [Metric("recall", 1)]
    return estimator.gains(few.single(), metrics=probe, support=support) is not None


# -- views: outcomes whose gains are one function of the rank ---------------------------------


@dataclass(frozen=True)
class View:
    """Outcomes of one place and offset, and gains: ``level + scale * E[shape(R) | outcome]``.

    Attributes
    ----------
    rows
        Which outcomes.
    columns
        Which metrics.
    place, offset, n_targets
        Of these outcomes; the number of targets only where a cut-off depends on it.
    """

    rows: IntArray
    columns: IntArray
    place: int
    offset: int
    n_targets: int
    scale: FloatArray  # (n_rows, n_columns)
    level: FloatArray  # (n_rows, n_columns)

    def shapes(self, metrics: Sequence[Metric], rank: FloatArray) -> FloatArray:
        """(n_ranks, n_columns)."""
        return np.stack(
            [
                1.0 - rank
                if metrics[at].depends_on_pool and metrics[at].k is None
                else metrics[at].shape(
                    rank, rank[-1], place=self.place, offset=self.offset, n_targets=self.n_targets
                )
                for at in self.columns.tolist()
            ],
            axis=1,
        )


def views(counts: RankCounts, metrics: Sequence[Metric], rows: IntArray) -> Iterator[View]:
    """The views of some outcomes; those beyond all cut-offs are in none."""
    place, offset = counts.place[rows], counts.offset[rows]
    n_targets = counts.n_targets[rows]
    first = np.ones_like(place)
    # Gains without a cut-off change slowly with places far down.
    far = np.where(place <= _NEAR, place, np.rint(np.exp(_STEP * np.rint(np.log(place) / _STEP))))
    kinds: dict[str, tuple[IntArray, ...]] = {
        "pool": (first, first - 1, first),
        "targets": (first, first - 1, n_targets - place - offset + 1),  # the last rank that counts
        "cut": (place, offset, first),
        "whole": (far.astype(np.int64), offset, first),
    }
    for kind, columns in _kinds(metrics).items():
        if not columns.size:
            continue
        at = np.arange(rows.size)
        if kind == "cut":
            last = max(metrics[one].k or 0 for one in columns.tolist())
            at = np.flatnonzero(place + offset <= last)
        elif kind == "targets":
            at = np.flatnonzero(kinds[kind][2] >= 1)
        key = np.stack([column[at] for column in kinds[kind]])
        order = np.lexsort(key)
        new = (np.diff(key[:, order], axis=1) != 0).any(axis=0)
        for part in np.split(order, np.flatnonzero(new) + 1) if order.size else ():
            here = [int(value) for value in key[:, part[0]]]
            kept = columns
            if kind == "cut":
                kept = columns[[here[0] + here[1] <= (metrics[c].k or 0) for c in columns.tolist()]]
            yield _view(counts, metrics, rows[at[part]], kept, *here)


def _kinds(metrics: Sequence[Metric]) -> dict[str, IntArray]:
    """The numbers of the metrics by what their gains depend on beside the rank."""
    found: dict[str, list[int]] = {"pool": [], "targets": [], "cut": [], "whole": []}
    for at, metric in enumerate(metrics):
        whole = "pool" if metric.depends_on_pool else "whole"
        kind = "targets" if metric.cuts_at_targets else whole
        found[kind if metric.k is None else "cut"].append(at)
    return {kind: np.array(numbers, dtype=np.int64) for kind, numbers in found.items()}


def _view(
    counts: RankCounts,
    metrics: Sequence[Metric],
    rows: IntArray,
    columns: IntArray,
    place: int,
    offset: int,
    n_targets: int,
) -> View:
    scale = np.stack([metrics[at].share(counts.n_targets[rows]) for at in columns.tolist()], axis=1)
    level = np.zeros_like(scale)
    for column, at in enumerate(columns.tolist()):
        if metrics[at].depends_on_pool and metrics[at].k is None:  # auc: 1 - (R - 1) / (N - 1)
            level[:, column] = scale[:, column]
            scale[:, column] = scale[:, column] / (counts.n_items[rows] - 1.0)
    return View(rows, columns, place, offset, n_targets, scale, level)


def known_gains(counts: RankCounts, metrics: Sequence[Metric], rows: IntArray) -> FloatArray:
    """Gains of exact outcomes, (n_rows, n_metrics)."""
    return np.stack(
        [
            metric.gain(
                counts.sampled_rank[rows],
                counts.n_items[rows],
                place=counts.place[rows],
                n_targets=counts.n_targets[rows],
                offset=counts.offset[rows],
            )
            for metric in metrics
        ],
        axis=1,
    )


# -- what a fit of several targets knows ------------------------------------------------------


class Places:
    """What is known of targets by their outcomes: gains whose mean over targets is the estimate."""

    converged: bool | None = None
    n_iter: int | None = None
    distribution: RankDistribution | None = None

    def gains(self, counts: RankCounts, metrics: Sequence[Metric]) -> FloatArray:
        """Expected gains of outcomes, (n_outcomes, n_metrics)."""
        raise NotImplementedError  # a base class

    def influence(self, counts: RankCounts, metrics: Sequence[Metric]) -> FloatArray:
        """Gains whose mean is, to first order, the estimate from other users, too."""
        return self.gains(counts, metrics)


class ExactPlaces(Places):
    """Nothing was sampled."""

    def __init__(self, counts: RankCounts) -> None:
        single = counts.single()
        few = make_support(single, [], "auto")
        self.distribution = RankDistribution(
            few,
            np.zeros(few.n_points),
            single.sampled_rank.astype(np.float64),
            single.weight / single.total_weight,
        )

    def gains(self, counts: RankCounts, metrics: Sequence[Metric]) -> FloatArray:
        return known_gains(counts, metrics, np.arange(counts.n_outcomes))


class LinearPlaces(Places):
    """An estimator that gives gains to outcomes, whoever else was evaluated."""

    def __init__(self, estimator: Estimator, support: SupportLike) -> None:
        self._estimator, self._support = estimator, support

    def gains(self, counts: RankCounts, metrics: Sequence[Metric]) -> FloatArray:
        found = np.zeros((counts.n_outcomes, len(metrics)))
        for view in views(counts, metrics, np.arange(counts.n_outcomes)):
            distinct, row = counts.single_rows(view.rows)
            wanted = [metrics[at] for at in view.columns.tolist()]
            own = self._estimator.gains(
                distinct,
                metrics=[_shaped(metric, view) for metric in wanted],
                support=self._support,
            )
            assert own is not None
            share = [metric.share(counts.n_targets[view.rows]) for metric in wanted]
            found[np.ix_(view.rows, view.columns)] = np.stack(share, axis=1) * own[row]
        return found


def _shaped(metric: Metric, view: View) -> Metric:
    """The metric of one place as that of a user with one target."""
    if metric.depends_on_pool:
        return metric
    return Metric(
        metric.key,
        None,
        lambda rank: metric.shape(
            rank, 2.0, place=view.place, offset=view.offset, n_targets=view.n_targets
        ),
    )


class FittedPlaces(Places):
    """A law for each class of places, on one support; with posteriors if smooth fitted them."""

    def __init__(
        self, counts: RankCounts, support: Support, classes: Classes, fits: Sequence[Fit]
    ) -> None:
        self.counts, self.support, self.classes, self.fits = counts, support, classes, fits
        self.law = np.stack([_law(fit, support) for fit in fits])  # (n_classes, n_points)
        told = [fit.converged for fit in fits if fit.converged is not None]
        self.converged = all(told) if told else None
        steps = [fit.n_iter for fit in fits if fit.n_iter is not None]
        self.n_iter = sum(steps) if steps else None
        share = np.bincount(classes.of(counts), counts.weight, minlength=len(fits))
        self.share: FloatArray = share / share.sum()  # of targets, by class
        self.distribution = RankDistribution(support, self.share @ self.law, NO_RANKS, NO_RANKS)
        self._known: tuple[tuple[str, ...], list[_Spread]] = ((), [])

    @property
    def has_posterior(self) -> bool:
        """Whether it knows what samples leave open of the laws."""
        return all(fit.posterior is not None for fit in self.fits)

    def masses(self, counts: RankCounts) -> tuple[FloatArray, IntArray]:
        """The laws, (n_classes, n_points), and the class of each outcome."""
        return self.law, self.classes.of(counts)

    def gains(self, counts: RankCounts, metrics: Sequence[Metric]) -> FloatArray:
        found = np.zeros((counts.n_outcomes, len(metrics)))
        for rows in self._parts(counts):
            found[rows.rows] = rows.expected(self.law[rows.number], metrics)
        exact = np.flatnonzero(counts.is_exact)
        found[exact] = known_gains(counts, metrics, exact)
        return found

    def mean(self, metrics: Sequence[Metric]) -> FloatArray:
        """Mean gains of the targets, (n_metrics,)."""
        found = self.counts.weight @ self.gains(self.counts, metrics)
        return np.asarray(found / self.counts.total_weight)

    def variance(self, metrics: Sequence[Metric]) -> FloatArray:
        """Variance of the errors of mean gains, what samples leave open of ranks and laws.

        Classes have users and a base measure in common: their laws err alike in part.
        """
        parts = [part.variance for part in self._spreads(metrics)]
        if not parts:
            return np.zeros(len(metrics))
        apart, together = np.sum(parts, axis=0), np.sum(np.sqrt(parts), axis=0) ** 2
        return np.asarray((1.0 - _ALIKE) * apart + _ALIKE * together)

    def influence(self, counts: RankCounts, metrics: Sequence[Metric]) -> FloatArray:
        found = self.gains(counts, metrics)
        if not self.has_posterior:
            return found
        spreads = {part.rows.number: part for part in self._spreads(metrics)}
        shift = np.zeros(len(metrics))
        for rows in self._parts(counts):
            part = spreads.get(rows.number)
            if part is not None:
                found[rows.rows] += part.pull(rows)
                weight = self.counts.weight[part.rows.rows]
                shift += weight @ part.pull(part.rows) / self.counts.total_weight
        return np.asarray(found - shift)  # over the users seen the mean is the estimate

    def _spreads(self, metrics: Sequence[Metric]) -> list[_Spread]:
        key = tuple(metric.key for metric in metrics)
        if self._known[0] != key:
            found = []
            for rows in self._parts(self.counts):
                share = self.counts.weight[rows.rows] / self.counts.total_weight
                law, posterior = self.law[rows.number], self.fits[rows.number].posterior
                basis = np.empty((law.size, 0)) if posterior is None else posterior.spline.basis
                moments = rows.moments(law, metrics, basis, share)
                found.append(_Spread(rows, law, posterior, *moments))
            self._known = (key, found)
        return self._known[1]

    def _parts(self, counts: RankCounts) -> list[_ClassRows]:
        """The sampled outcomes of each class."""
        of = self.classes.of(counts)
        found = []
        for number in range(len(self.fits)):
            rows = np.flatnonzero((of == number) & ~counts.is_exact)
            if rows.size:
                found.append(_ClassRows(counts, rows, number, self.support))
        return found


def _law(fit: Fit, support: Support) -> FloatArray:
    """The law of a class: what targets follow before their outcomes are seen."""
    found = fit.distribution
    if fit.posterior is not None:
        found = fit.posterior.distribution(scope="population")
    assert found is not None
    mass = np.maximum(found.mass, 0.0) + found.masses_of_exact()
    return np.asarray(mass + 1e-12 * support.weight / support.n_items)


@dataclass(frozen=True)
class _Spread:
    """What the sample of a class leaves open of mean gains, and how its outcomes move them.

    ``slope`` is how they change with the coefficients of the law, (n_metrics, n_functions), ``own``
    the variance of targets' own ranks given the law.
    """

    rows: _ClassRows
    law: FloatArray
    posterior: Posterior | None
    value: FloatArray
    slope: FloatArray
    own: FloatArray

    @property
    def variance(self) -> FloatArray:
        """(n_metrics,)."""
        total = self.own / self.rows.counts.total_weight
        if self.posterior is None:
            return total
        for part, off in self._components():
            spread = ((self.slope @ part.root) ** 2).sum(axis=1)
            total = total + part.weight * (spread + (self.slope @ off) ** 2)
        return total

    def _components(self) -> list[tuple[Component, FloatArray]]:
        """The components of the posterior, and how far their modes are from the mean of all."""
        assert self.posterior is not None
        parts = self.posterior.components
        centre = sum(part.weight * part.mode for part in parts)
        return [(part, part.mode - centre) for part in parts]

    def pull(self, rows: _ClassRows) -> FloatArray:
        """How much outcomes of the class move the mean gains by moving its law, a row each."""
        assert self.posterior is not None
        mine, law, basis = self.rows, self.law, self.posterior.spline.basis
        parts = self._components()
        within = sum(part.weight * part.covariance for part, _ in parts)
        score = (rows.matrix @ (law[:, None] * basis)) / (rows.matrix @ law)[:, None] - law @ basis
        found = score @ (self.slope @ within).T
        # More evidence for a component draws the law to it.
        laws = np.stack([self.posterior.spline.masses(part.mode) for part, _ in parts], axis=1)
        evidence = np.log(np.maximum(rows.matrix @ laws, 1e-300))
        toward = np.stack([part.weight * (self.slope @ off) for part, off in parts])
        found = found + (evidence - evidence.mean(axis=1, keepdims=True)) @ toward
        # A target of t weighs 1 / sqrt(t) in the fit of its class.
        weight = mine.counts.weight[mine.rows] / np.sqrt(mine.counts.n_targets[mine.rows])
        scale = self.posterior.n_users * mine.counts.total_weight / float(weight.sum())
        each = scale / np.sqrt(rows.counts.n_targets[rows.rows])
        return np.asarray(each[:, None] * found[rows.row])


class _ClassRows:
    """Sampled outcomes of one class, with the likelihood of the distinct ones among them."""

    def __init__(self, counts: RankCounts, rows: IntArray, number: int, support: Support) -> None:
        self.counts, self.rows, self.number, self._support = counts, rows, number, support
        distinct, self.row = counts.single_rows(rows, near=_POOL_STEP)
        self.matrix = likelihood(distinct, support).matrix

    def expected(self, law: FloatArray, metrics: Sequence[Metric]) -> FloatArray:
        """Expected gains under a law, (n_rows, n_metrics)."""
        evidence = self.matrix @ law
        found = np.zeros((self.rows.size, len(metrics)))
        for view, at in self._views(metrics):
            shape = view.shapes(metrics, self._support.rank)
            used, back = np.unique(self.row[at], return_inverse=True)
            mean = (self.matrix[used] @ (law[:, None] * shape)) / evidence[used, None]
            found[np.ix_(at, view.columns)] = view.scale * mean[back] + view.level
        return found

    def moments(
        self, law: FloatArray, metrics: Sequence[Metric], basis: FloatArray, share: FloatArray
    ) -> tuple[FloatArray, FloatArray, FloatArray]:
        """Sums over outcomes weighted by ``share``: gains, slopes in coefficients, variances."""
        evidence = self.matrix @ law
        of_basis = (self.matrix @ (law[:, None] * basis)) / evidence[:, None]
        value, own = np.zeros((2, len(metrics)))
        slope = np.zeros((len(metrics), basis.shape[1]))
        for view, at in self._views(metrics):
            shape = view.shapes(metrics, self._support.rank)
            used, back = np.unique(self.row[at], return_inverse=True)
            matrix = self.matrix[used]
            mean = (matrix @ (law[:, None] * shape)) / evidence[used, None]
            square = (matrix @ (law[:, None] * shape**2)) / evidence[used, None]
            # Added up over the rows of each distinct outcome.
            total, squared = (
                _sums(back, share[at, None] * view.scale**power, used.size) for power in (1, 2)
            )
            columns = view.columns
            value[columns] += (total * mean).sum(axis=0) + share[at] @ view.level
            reach = ((total / evidence[used, None]).T @ matrix) * law * shape.T
            slope[columns] += reach @ basis - (total * mean).T @ of_basis[used]
            own[columns] += (squared * np.maximum(square - mean**2, 0.0)).sum(axis=0)
        return value, slope, own

    def _views(self, metrics: Sequence[Metric]) -> Iterator[tuple[View, IntArray]]:
        """Views of the outcomes, and where these are among our rows."""
        for view in views(self.counts, metrics, self.rows):
            yield view, np.searchsorted(self.rows, view.rows)


def _of_all(
    estimator: Estimator, counts: RankCounts, grid: Support, support: SupportLike
) -> RankDistribution | None:
    """The law of all targets together, which tells what those of one place are about like."""
    if not isinstance(estimator, Smooth):
        return None
    each = counts.weight / counts.n_targets
    scale = float(each.sum()) / float((counts.weight / counts.n_targets**2).sum())
    alone = counts.reweighted(scale * each).single()
    few = on_grid(alone) if support == "auto" else alone
    fit = estimator.fit(few, metrics=[], support=grid, plug_in="plain")
    assert fit.posterior is not None
    return fit.posterior.distribution(scope="population")


def order_law(counts: RankCounts, together: RankDistribution | None) -> FloatArray:
    """Masses of the law that targets of these places would follow if targets were independent.

    The i-th best of t independent draws with cumulative distribution F has that of
    I_F(i, t - i + 1), the incomplete beta function. Real users differ; a fit strays from it.
    """
    from scipy.special import betainc

    assert together is not None
    grid = together.support
    below = np.clip(together.cdf(grid.edge), 0.0, 1.0)
    pairs, row = np.unique(np.stack([counts.place, counts.n_targets]), axis=1, return_inverse=True)
    each = counts.weight / np.sqrt(counts.n_targets)
    weight: FloatArray = np.bincount(row.ravel(), each).astype(np.float64)
    if weight.size > _PAIRS:  # some of them, evenly by weight
        middle = np.searchsorted(
            np.cumsum(weight), (np.arange(_PAIRS) + 0.5) / _PAIRS * weight.sum()
        )
        pairs, weight = pairs[:, middle], np.ones(_PAIRS)
    found = np.zeros(grid.n_points)
    for (place, n_targets), share in zip(pairs.T.tolist(), weight / weight.sum(), strict=True):
        law = betainc(place, n_targets - place + 1, below)
        found += share * np.diff(law, prepend=0.0)
    plain = np.maximum(np.diff(below, prepend=0.0), 1e-12 * grid.weight / grid.n_items)
    return np.asarray((1.0 - _PLAIN) * np.maximum(found, 0.0) + _PLAIN * plain)


def _sums(group: IntArray, values: FloatArray, n_groups: int) -> FloatArray:
    """Sums of rows of ``values`` by group, (n_groups, n_columns)."""
    columns = [np.bincount(group, column, minlength=n_groups) for column in values.T]
    return np.stack(columns, axis=1)


def fitted_places(
    estimator: Estimator,
    counts: RankCounts,
    metrics: Sequence[Metric],
    support: SupportLike,
    plug_in: str,
) -> FittedPlaces:
    """Fit the law of each class."""
    cuts = [metric for metric in metrics if metric.k is not None]
    if any(metric.cuts_at_targets for metric in metrics):
        cuts.append(Metric("recall", min(int(counts.n_targets.max()), int(counts.n_items.max()))))
    grid = make_support(counts.single(), cuts, support)
    classes = classes_of(counts, max([float(m.k or _FAR) for m in metrics], default=_FAR))
    of = classes.of(counts)
    together = _of_all(estimator, counts, grid, support)
    fits = []
    for number in range(int(classes.table.max()) + 1):
        part = counts.select(of == number)
        assert part is not None
        each = part.weight / np.sqrt(part.n_targets)
        # As many users as these weigh: squares of uneven weights count.
        scale = float(each.sum()) / float((part.weight / part.n_targets).sum())
        alone = part.reweighted(scale * each).single()
        few = on_grid(alone) if support == "auto" else alone
        if isinstance(estimator, Smooth):
            base = order_law(part, together)
            fits.append(estimator.fit_about(few, base, support=grid))
        else:
            fits.append(estimator.fit(few, metrics=[], support=grid, plug_in="plain"))
        if fits[-1].distribution is None:
            raise InputError(
                f"estimator {estimator.name!r} gives no rank distribution; users here have several "
                "targets, for which one is needed: take smooth, mle or bv"
            )
    return FittedPlaces(counts, grid, classes, fits)


@dataclass(frozen=True)
class Classes:
    """Which class a target belongs to, by its place and its user's number of targets, in bins."""

    table: IntArray  # (bins of place, bins of n_targets): the class

    def of(self, counts: RankCounts) -> IntArray:
        """The class of each outcome."""
        place, n_targets = _bins(counts)
        return np.asarray(
            self.table[
                np.minimum(place, self.table.shape[0] - 1),
                np.minimum(n_targets, self.table.shape[1] - 1),
            ]
        )


def _bins(counts: RankCounts) -> tuple[IntArray, IntArray]:
    """Bins of places and of numbers of targets, each wider by a half than the one before."""
    place, n_targets = (
        np.floor(np.log(column) / np.log(1.5) + 1e-9).astype(np.int64)
        for column in (counts.place, counts.n_targets)
    )
    return place, n_targets


def classes_of(counts: RankCounts, last: float) -> Classes:
    """Classes of targets, thin ones pooled with their neighbours; places beyond ``last`` as one."""
    place, n_targets = _bins(counts)
    place = np.minimum(place, int(np.log(min(last, 1e6)) / np.log(1.5)) + 1)
    shape = int(place.max()) + 1, int(n_targets.max()) + 1
    weight = np.bincount(place * shape[1] + n_targets, counts.weight, minlength=shape[0] * shape[1])
    weight = weight.reshape(shape)
    table = np.empty(shape, dtype=np.int64)
    number = 0
    for at, row in enumerate(weight):  # places apart: the best of many and the rest of few differ
        if at and row.sum() < FEWEST:
            table[at] = table[at - 1]
            continue
        number += int(at > 0)
        held, left = 0.0, float(row.sum())
        for column, more in enumerate(row.tolist()):
            table[at, column] = number
            held, left = held + more, left - more
            if held >= LEAST and left >= LEAST:
                number, held = number + 1, 0.0
    return Classes(table)
