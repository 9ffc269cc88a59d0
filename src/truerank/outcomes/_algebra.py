"""Adding, selecting and reweighting counts."""

from __future__ import annotations

from dataclasses import replace
from typing import Any, Self

import numpy as np

from truerank import _arguments, _checks
from truerank._types import FloatArray, IntArray
from truerank.errors import InputError
from truerank.outcomes._columns import KEY, TARGETS, Columns, replicates
from truerank.outcomes.schemes import Scheme


class Algebra(Columns):
    """Counts from counts; see RankCounts."""

    def select(self, which: Any) -> Self | None:
        """Some of the outcomes; None if there are none.

        ``n_users`` and ``squared_weight`` are shared out in proportion to the weight.

        Parameters
        ----------
        which : array-like of bool, shape (n_outcomes,)
            True for the outcomes to keep.

        Returns
        -------
        RankCounts or None
            Their counts.

        Examples
        --------
        >>> counts = tr.RankCounts.from_ranks([1, 3, 1], num_negatives=99, n_items=3706)
        >>> counts.select(counts.sampled_rank > 1)
        RankCounts(1 user; pools of 3,706 items; sample sizes 100; with replacement; 1 outcome)
        """
        which = _checks.as_array(which, "which")
        if which.dtype != np.bool_ or which.shape != self.weight.shape:
            raise InputError(
                f"which is {_checks.shown(which)}; it must be True or False for each of the "
                f"{self.n_outcomes} outcomes"
            )
        if not which.any():
            return None
        share = float(self.weight[which].sum()) / self.total_weight
        return self._changed(
            scheme=self.scheme[which],
            n_items=self.n_items[which],
            sample_size=self.sample_size[which],
            sampled_rank=self.sampled_rank[which],
            replicate=self.replicate[which],
            **{name: getattr(self, name)[which] for name in TARGETS},
            weight=self.weight[which],
            n_users=self.n_users * share,
            squared_weight=self.squared_weight * share,
        )

    def first_samples(self) -> Self | None:
        """The samples of fixed size that all users began with; None if they cannot be told.

        Counts of fixed-size samples are returned as they are. From adaptive samples the first size
        of the ladder is recovered if one hit ended the sampling there: users who went on then had
        rank 1.

        Returns
        -------
        RankCounts or None
            Counts of samples of a fixed size.

        Examples
        --------
        >>> grown = tr.RankCounts.from_ranks(
        ...     [2, 1], sample_size=[100, 200], n_items=3706, ladder=(100, 200), replacement=False
        ... )
        >>> first = grown.first_samples()
        >>> first.sample_size.tolist(), first.sampled_rank.tolist()
        ([100, 100], [1, 2])
        """
        if not self.adaptive:
            return self
        (scheme, *more) = self.schemes
        if more or (scheme.thresholds and scheme.thresholds[0] != 1):
            return None
        size = np.minimum(scheme.ladder[0], self.sample_size)
        return self._changed(
            schemes=[Scheme(scheme.replacement)],
            sample_size=size,
            sampled_rank=np.where(self.sample_size > size, 1, self.sampled_rank),
        )

    def reweighted(self, weight: FloatArray) -> Self:
        """The same outcomes with other weights; outcomes of weight 0 are left out.

        Parameters
        ----------
        weight : ndarray of float, shape (n_outcomes,)
            Weights of at least 0; each unit counts as one user.

        Returns
        -------
        RankCounts
            With ``n_users`` the sum of the new weights.

        Examples
        --------
        >>> counts = tr.RankCounts.from_ranks([1, 3, 1], num_negatives=99, n_items=3706)
        >>> counts.reweighted(np.array([10.0, 0.0]))
        RankCounts(10 users; pools of 3,706 items; sample sizes 100; with replacement; 1 outcome)
        """
        _arguments.check(Algebra.reweighted, locals())
        if weight.shape != self.weight.shape:
            raise InputError(
                f"weight has shape {weight.shape}; there are {self.n_outcomes} outcomes"
            )
        return self._changed(weight=weight, n_users=None, squared_weight=float(weight.sum()))

    def as_users(self, n_users: float) -> Self:
        """The same outcomes in the same proportions, for another number of users.

        Parameters
        ----------
        n_users : float
            The number of users to pretend, above 0.

        Returns
        -------
        RankCounts
            With ``n_users`` as given.

        Examples
        --------
        >>> counts = tr.RankCounts.from_ranks([1, 3, 1], num_negatives=99, n_items=3706)
        >>> counts.as_users(300).weight.tolist()
        [200.0, 100.0]
        """
        _arguments.check(Algebra.as_users, locals())
        factor = n_users / self.total_weight
        return self.reweighted(factor * self.weight)

    def pooled(self) -> Self:
        """The same outcomes with replicate groups merged: all that an estimate depends on.

        Returns
        -------
        RankCounts
            With ``replicate`` 0 everywhere.

        Examples
        --------
        >>> counts = tr.RankCounts.from_ranks([1, 3], num_negatives=99, n_items=3706)
        >>> both = counts.of_replicate(1) + counts.of_replicate(2)
        >>> both.n_outcomes, both.pooled().n_outcomes
        (4, 2)
        """
        return self._changed(replicate=None) if self.replicate.any() else self

    def single(self) -> Self:
        """The same outcomes as if each were that of a user with one target.

        Returns
        -------
        RankCounts
            Without places, numbers of targets, offsets and blocks; equal outcomes add up.

        Examples
        --------
        >>> counts = tr.RankCounts.from_exact_ranks(
        ...     [1, 1], n_items=9, user_ids=[7, 7], item_ids=[1, 2], rank_among="negatives"
        ... )
        >>> counts.n_outcomes, counts.single().n_outcomes, counts.single().n_users
        (2, 1, 2.0)
        """
        if not self.several:
            return self
        none = dict.fromkeys(TARGETS)
        return self._changed(**none, n_users=None, squared_weight=self.squared_weight)

    def single_rows(self, rows: IntArray, *, near: float = 0.0) -> tuple[Self, IntArray]:
        """Distinct outcomes of some rows as those of users with one target, and which each is.

        Parameters
        ----------
        rows : ndarray of int, shape (n_rows,)
            Numbers of outcomes.
        near : float, default 0.0
            Pools so near to each other, in log N, are taken as one where samples are less than
            half of them.

        Returns
        -------
        tuple of (RankCounts, ndarray of int)
            The distinct outcomes, replicate groups merged, and for each row its number among them.

        Examples
        --------
        >>> counts = tr.RankCounts.from_exact_ranks(
        ...     [1, 1], n_items=9, user_ids=[7, 7], item_ids=[1, 2], rank_among="negatives"
        ... )
        >>> distinct, row = counts.single_rows(np.array([0, 1]))
        >>> distinct.n_outcomes, row.tolist()
        (1, [0, 0])
        """
        _arguments.check(Algebra.single_rows, locals())
        key = [getattr(self, name)[rows] for name in KEY[:-1]]
        alone = [replace(scheme, shared=False) for scheme in self.schemes]
        distinct = sorted(set(alone))
        key[0] = np.array([distinct.index(scheme) for scheme in alone])[key[0]]
        if _checks.real(near, "near", low=0.0, high=1.0) > 1e-9:
            step = np.rint(np.exp(near * np.rint(np.log(key[1]) / near))).astype(np.int64)
            key[1] = np.where((key[2] * 2 <= key[1]) & (key[2] * 2 <= step), step, key[1])
        order = np.lexsort(key[::-1])
        new = np.ones(order.size, dtype=bool)
        new[1:] = np.logical_or.reduce([np.diff(column[order]) != 0 for column in key])
        row = np.empty(order.size, dtype=np.int64)
        row[order] = np.cumsum(new) - 1
        kept = order[new]
        columns = dict(zip(KEY, (column[kept] for column in key), strict=False))
        one = np.ones(kept.size)
        return self._build(schemes=distinct, **columns, weight=one), row

    def of_replicate(self, group: int) -> Self:
        """The same outcomes, marked as those of one replicate group.

        Parameters
        ----------
        group : int
            1 to 100; 0 removes the mark.

        Returns
        -------
        RankCounts
            With ``replicate`` set to ``group`` everywhere.

        Examples
        --------
        >>> counts = tr.RankCounts.from_ranks([1, 3], num_negatives=99, n_items=3706)
        >>> counts.of_replicate(2).replicate.tolist()
        [2, 2]
        """
        _arguments.check(Algebra.of_replicate, locals())
        groups = replicates(np.full(self.n_outcomes, group), self.n_outcomes)
        return self._changed(replicate=groups)

    def __add__(self, other: Any) -> Self:
        if not isinstance(other, Algebra):
            return NotImplemented
        return self._build(
            self.schemes + other.schemes,
            np.concatenate([self.scheme, other.scheme + len(self.schemes)]),
            np.concatenate([self.n_items, other.n_items]),
            np.concatenate([self.sample_size, other.sample_size]),
            np.concatenate([self.sampled_rank, other.sampled_rank]),
            np.concatenate([self.weight, other.weight]),
            replicate=np.concatenate([self.replicate, other.replicate]),
            **{
                name: np.concatenate([getattr(self, name), getattr(other, name)])
                for name in (TARGETS if self.several or other.several else ())
            },
            n_users=self.n_users + other.n_users,
            squared_weight=self.squared_weight + other.squared_weight,
            n_dropped=self.n_dropped + other.n_dropped,
        )

    def __radd__(self, other: Any) -> Self:
        return self if other == 0 else NotImplemented  # sum([...]) starts from 0
