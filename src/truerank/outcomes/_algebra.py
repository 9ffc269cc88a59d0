"""Adding, selecting and reweighting counts."""

from __future__ import annotations

from typing import Any, Self

import numpy as np

from truerank._types import FloatArray
from truerank.outcomes._columns import Columns, replicates
from truerank.outcomes.schemes import Scheme


class Algebra(Columns):
    """Counts from counts; see RankCounts."""

    def select(self, which: Any) -> Self | None:
        """The outcomes where ``which`` (a boolean mask) holds; None if there are none.

        ``n_users`` and ``squared_weight`` are shared out in proportion to the weight.
        """
        which = np.asarray(which)
        if not which.any():
            return None
        share = float(self.weight[which].sum()) / self.total_weight
        return self._changed(
            scheme=self.scheme[which],
            n_items=self.n_items[which],
            sample_size=self.sample_size[which],
            sampled_rank=self.sampled_rank[which],
            replicate=self.replicate[which],
            weight=self.weight[which],
            n_users=self.n_users * share,
            squared_weight=self.squared_weight * share,
        )

    def first_samples(self) -> Self | None:
        """The samples that all users began with: these counts, if they are of a fixed size.

        Of adaptive ones, the first size of the ladder, if one hit ended the sampling there: users
        who went on then had rank 1. None where that does not tell.
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
        """The same outcomes with other weights (n_outcomes,), those of weight 0 left out.

        Each unit of weight counts as a user.
        """
        return self._changed(weight=weight, n_users=None, squared_weight=float(weight.sum()))

    def as_users(self, n_users: float) -> Self:
        """The same outcomes in the same proportions, as if ``n_users`` had been evaluated."""
        factor = n_users / self.total_weight
        return self.reweighted(factor * self.weight)

    def pooled(self) -> Self:
        """The same outcomes with replicate groups merged: all that an estimate depends on."""
        return self._changed(replicate=None) if self.replicate.any() else self

    def of_replicate(self, group: int) -> Self:
        """The same outcomes, marked as those of one replicate group."""
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
            n_users=self.n_users + other.n_users,
            squared_weight=self.squared_weight + other.squared_weight,
        )

    def __radd__(self, other: Any) -> Self:
        return self if other == 0 else NotImplemented  # sum([...]) starts from 0
