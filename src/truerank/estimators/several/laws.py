"""A law for each class of targets: expected gains under it, and what it leaves open."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from truerank._types import FloatArray, IntArray
from truerank.estimators._base import Fit
from truerank.estimators._posterior import Component, Posterior
from truerank.estimators.likelihood import likelihood
from truerank.estimators.several.classes import Classes
from truerank.estimators.several.places import Places, known_gains
from truerank.estimators.several.views import View, views
from truerank.estimators.support import NO_RANKS, RankDistribution, Support
from truerank.metrics import Metric
from truerank.outcomes.counts import RankCounts

_POOL_STEP = 0.01  # pools nearer than this (in log N) are read as one
_ALIKE = 0.3  # correlation of the errors of the laws of classes


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


def _sums(group: IntArray, values: FloatArray, n_groups: int) -> FloatArray:
    """Sums of rows of ``values`` by group, (n_groups, n_columns)."""
    columns = [np.bincount(group, column, minlength=n_groups) for column in values.T]
    return np.stack(columns, axis=1)
