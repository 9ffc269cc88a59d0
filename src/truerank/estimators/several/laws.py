"""A law for each class of targets, and expected gains under it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import cached_property

import numpy as np

from truerank._types import FloatArray, IntArray
from truerank.estimators._base import Fit
from truerank.estimators.likelihood import likelihood
from truerank.estimators.several.classes import Classes
from truerank.estimators.several.known import Known
from truerank.estimators.several.places import Places, known_gains
from truerank.estimators.several.views import View, views
from truerank.estimators.support import NO_RANKS, RankDistribution, Support
from truerank.metrics import Metric
from truerank.outcomes.counts import RankCounts

_POOL_STEP = 0.01  # pools nearer than this (in log N) are read as one


class FittedPlaces(Places):
    """A law for each class of places, on one support; ``known`` is what samples tell of them."""

    def __init__(
        self,
        counts: RankCounts,
        support: Support,
        classes: Classes,
        law: Sequence[FloatArray],
        fits: Sequence[Fit],
        known: Known | None,
    ) -> None:
        self.counts, self.support, self.classes = counts, support, classes
        # (n_classes, n_points)
        self.law = np.stack(law) + 1e-12 * support.weight / support.n_items
        self.known = known
        told = [fit.converged for fit in fits if fit.converged is not None]
        self.converged = all(told) if told else None
        steps = [fit.n_iter for fit in fits if fit.n_iter is not None]
        self.n_iter = sum(steps) if steps else None
        share = np.bincount(classes.of(counts), counts.weight, minlength=len(law))
        self.share: FloatArray = share / share.sum()  # of targets, by class
        self.distribution = RankDistribution(support, self.share @ self.law, NO_RANKS, NO_RANKS)
        self._moved: tuple[tuple[str, ...], Moved | None] = ((), None)

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
        """Variance of the errors of mean gains: what samples leave open of ranks and laws."""
        moved = self.moved(metrics)
        return moved.own + moved.of_laws

    def influence(self, counts: RankCounts, metrics: Sequence[Metric]) -> FloatArray:
        found = self.gains(counts, metrics)
        if self.known is None:
            return found
        moved = self.moved(metrics)
        for rows in self._parts(counts):
            found[rows.rows] += moved.pull(rows)
        shift = np.zeros(len(metrics))
        for rows in self._own:
            shift += self.counts.weight[rows.rows] @ moved.pull(rows) / self.counts.total_weight
        return np.asarray(found - shift)  # over the users seen the mean is the estimate

    def moved(self, metrics: Sequence[Metric]) -> Moved:
        """How mean gains move with the laws, found once."""
        key = tuple(metric.key for metric in metrics)
        if self._moved[0] != key or self._moved[1] is None:
            shape = len(self.law), len(metrics), self.support.n_points
            gradient, own = np.zeros(shape), np.zeros(len(metrics))
            share = self.counts.weight / self.counts.total_weight
            for rows in self._own:
                law = self.law[rows.number]
                gradient[rows.number], more = rows.moments(law, metrics, share[rows.rows])
                own += more / self.counts.total_weight
            self._moved = (key, Moved(self, own, gradient))
        assert self._moved[1] is not None
        return self._moved[1]

    def expected_gradient(self, metrics: Sequence[Metric]) -> FloatArray:
        """How mean gains under the laws alone change with the log of each law.

        As if no target's own outcome was seen; (n_classes, n_metrics, n_points).
        """
        found = np.zeros((len(self.law), len(metrics), self.support.n_points))
        of, weight = self.classes.of(self.counts), self.counts.weight / self.counts.total_weight
        for view in views(self.counts, metrics, np.arange(self.counts.n_outcomes)):
            shape = view.shapes(metrics, self.support.rank)
            share = [
                np.bincount(of[view.rows], weight[view.rows] * scale, len(self.law))
                for scale in view.scale.T
            ]
            found[:, view.columns] += np.stack(share, axis=1)[:, :, None] * shape.T
        return found * self.law[:, None]

    @cached_property
    def _own(self) -> list[_ClassRows]:
        return self._class_rows(self.counts)

    def _parts(self, counts: RankCounts) -> list[_ClassRows]:
        """The sampled outcomes of each class."""
        return self._own if counts is self.counts else self._class_rows(counts)

    def _class_rows(self, counts: RankCounts) -> list[_ClassRows]:
        of = self.classes.of(counts)
        found = []
        for number in range(len(self.law)):
            rows = np.flatnonzero((of == number) & ~counts.is_exact)
            if rows.size:
                found.append(_ClassRows(counts, rows, number, self.support))
        return found


class Moved:
    """How mean gains move with the laws of classes.

    ``own`` is the variance of targets' own ranks given their laws, (n_metrics,); ``gradient`` how
    mean gains change with the log of each law, (n_classes, n_metrics, n_points).
    """

    def __init__(self, places: FittedPlaces, own: FloatArray, gradient: FloatArray) -> None:
        self.own = own
        if places.known is None:
            self.of_laws = np.zeros_like(own)
            return
        counts = places.counts
        self._known = places.known
        self.of_strays, self.single = self._known.slopes(gradient)
        self.of_all = self.single @ self._known.all.basis
        self.of_laws = self._known.variance(self.of_strays, self.single)
        # A target of t weighs 1 / sqrt(t) in the fit of its class, 1 / t in that of all targets.
        of = places.classes.of(counts)
        weight = np.bincount(of, counts.weight / np.sqrt(counts.n_targets), len(gradient))
        self._scale = counts.total_weight / np.maximum(weight, 1e-300)
        self._scale_of_all = counts.total_weight / (counts.weight / counts.n_targets).sum()

    def pull(self, rows: _ClassRows) -> FloatArray:
        """How much outcomes of a class move the mean gains by moving the laws, a row each."""
        known, number = self._known, rows.number
        n_targets = rows.counts.n_targets[rows.rows, None]
        of_class = known.classes[number]
        by_stray = of_class.pull(rows.matrix, self.of_strays[number]) * of_class.n_users
        by_all = known.all.pull(rows.matrix, self.of_all) * known.all.n_users
        return np.asarray(
            self._scale[number] * by_stray[rows.row] / np.sqrt(n_targets)
            + self._scale_of_all * by_all[rows.row] / n_targets
        )


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
        self, law: FloatArray, metrics: Sequence[Metric], share: FloatArray
    ) -> tuple[FloatArray, FloatArray]:
        """Sums over outcomes weighted by ``share``.

        Of how gains change with the log of the law, (n_metrics, n_points), and of their variances.
        """
        evidence = self.matrix @ law
        own = np.zeros(len(metrics))
        gradient = np.zeros((len(metrics), law.size))
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
            within = total / evidence[used, None]
            reach = (within.T @ matrix) * shape.T - (within * mean).T @ matrix
            gradient[view.columns] += law * reach
            own[view.columns] += (squared * np.maximum(square - mean**2, 0.0)).sum(axis=0)
        return gradient, own

    def _views(self, metrics: Sequence[Metric]) -> Iterator[tuple[View, IntArray]]:
        """Views of the outcomes, and where these are among our rows."""
        for view in views(self.counts, metrics, self.rows):
            yield view, np.searchsorted(self.rows, view.rows)


def _sums(group: IntArray, values: FloatArray, n_groups: int) -> FloatArray:
    """Sums of rows of ``values`` by group, (n_groups, n_columns)."""
    columns = [np.bincount(group, column, minlength=n_groups) for column in values.T]
    return np.stack(columns, axis=1)
