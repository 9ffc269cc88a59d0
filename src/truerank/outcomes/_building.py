"""Counts from ranks, and from outcomes that are weighted already."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any, Self

import numpy as np

from truerank import _checks
from truerank.outcomes import _ranks
from truerank.outcomes._algebra import Algebra
from truerank.outcomes._columns import replicates
from truerank.outcomes.schemes import Scheme


class Building(Algebra):
    """Counts from arrays; see RankCounts."""

    @classmethod
    def from_ranks(
        cls,
        ranks: Any,
        *,
        num_negatives: Any = None,
        sample_size: Any = None,
        n_items: Any,
        replacement: bool | None = None,
        ladder: Iterable[int] | None = None,
        hits: int | Sequence[int] = 1,
        user_ids: Any = None,
        item_ids: Any = None,
        weights: Any = None,
        targets: str = "recall",
    ) -> Self:
        """Count sampled ranks.

        Parameters
        ----------
        ranks
            Sampled ranks, 1-based, shape (n_rows,): 1 means no sampled negative scored higher.
        n_items
            Candidates the target is ranked among, itself included: one number, or one per row
            when users' training items are left out of their pools.
        sample_size, num_negatives
            Give one: the sample size counts the target, the negatives do not ("100 negatives"
            is ``num_negatives=100``, sample_size 101). One number, or one per row.
        replacement
            Whether negatives were drawn with replacement. True unless told; a warning is given
            when that matters.
        ladder, hits
            For adaptive samples, the sizes a user may end with: see :class:`Scheme`.
        user_ids
            With them, several rows of one user are repeated draws and make one larger sample
            (the draws taken to be disjoint if without replacement).
        item_ids
            With them too, a unit is a (user, item) pair and a user may have several targets.
            Each is ranked among the non-targets and the user counts once.
        weights
            Weight of each row, instead of 1; metrics become weighted means.
        targets
            How several targets of a user are weighted: ``"recall"`` (1/targets, a mean over
            them), ``"ndcg"`` (1/ideal DCG) or ``"precision"`` (1 each). Not with ``weights``.
        """
        units = _ranks.units(
            ranks,
            n_items=n_items,
            sample_size=sample_size,
            num_negatives=num_negatives,
            replacement=replacement,
            ladder=ladder,
            hits=hits,
            user_ids=user_ids,
            item_ids=item_ids,
            weights=weights,
            targets=targets,
        )
        return cls._build(
            [units.scheme],
            np.zeros(units.row.size, dtype=np.int64),
            units.n_items,
            units.sample_size,
            units.sampled_rank,
            units.weight,
            n_users=units.n_users,
        )

    @classmethod
    def from_exact_ranks(cls, ranks: Any, *, n_items: Any, **options: Any) -> Self:
        """Count global ranks (1-based): the case of a sample that is the whole pool.

        Takes the ``user_ids``, ``item_ids``, ``weights`` and ``targets`` of :meth:`from_ranks`.
        """
        return cls.from_ranks(
            ranks, n_items=n_items, sample_size=n_items, replacement=False, **options
        )

    @classmethod
    def from_outcomes(
        cls,
        scheme: Scheme,
        *,
        n_items: Any,
        sample_size: Any,
        sampled_rank: Any,
        weight: Any,
        replicate: Any = None,
        n_users: float | None = None,
        squared_weight: float | None = None,
    ) -> Self:
        """Counts from outcomes already weighted (for producers); repeated outcomes add up.

        Without ``n_users`` and ``squared_weight`` each row is one sampled rank of that weight.
        """
        rank = _checks.whole_numbers(sampled_rank, "sampled_rank")
        pool = _ranks.pool_sizes(n_items, rank.size)
        size = _ranks.sample_sizes(sample_size, None, rank.size)
        _ranks.check_outcomes(scheme, pool, size, rank)
        return cls._build(
            [scheme],
            np.zeros(rank.size, dtype=np.int64),
            pool,
            size,
            rank,
            _ranks.row_weights(weight, rank.size),
            replicate=replicates(replicate, rank.size),
            n_users=n_users,
            squared_weight=squared_weight,
        )
