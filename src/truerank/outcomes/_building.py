"""Counts from ranks, and from outcomes that are weighted already."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any, Self

import numpy as np

from truerank import _checks
from truerank._types import TargetWeighting
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
        targets: TargetWeighting = "recall",
    ) -> Self:
        """Count sampled ranks.

        Parameters
        ----------
        ranks : array-like of int, shape (n_rows,)
            Sampled ranks, 1-based: 1 means that no sampled negative scored higher.
        num_negatives : int or array-like of int, optional
            Negatives drawn per row, the target not counted: 100 for "100 negatives". Give this or
            ``sample_size``.
        sample_size : int or array-like of int, optional
            Candidates ranked per row, the target included: 101 for "100 negatives".
        n_items : int or array-like of int
            Size of the pool: the candidates a target is ranked among, itself included. One number,
            or one per row where users' training items are left out of their pools.
        replacement : bool, optional
            Whether negatives were drawn with replacement. Assumed True if not given, with a
            warning where that matters.
        ladder : iterable of int, optional
            For adaptive samples, the sizes that a user may end with: see :class:`Scheme`.
        hits : int or sequence of int
            For adaptive samples, the negatives above the target that end the sampling: see
            :class:`Scheme`.
        user_ids : array-like, shape (n_rows,), optional
            The user of each row. Several rows of one user are then repeated draws and make one
            larger sample (without replacement, the draws must be disjoint).
        item_ids : array-like, shape (n_rows,), optional
            The target of each row, for users with several targets: each is ranked among the
            non-targets and the user counts once. Needs ``user_ids``.
        weights : array-like of float, shape (n_rows,), optional
            Weight of each row; metrics become weighted means. All weigh 1 if not given.
        targets : {"recall", "ndcg", "precision"}
            How several targets of a user are weighted: 1 / number of targets (a mean over them),
            1 / ideal DCG, or 1 each. Not together with ``weights``.

        Returns
        -------
        RankCounts
            The distinct outcomes and the number of users with each.

        Raises
        ------
        InputError
            If a rank is impossible, such as 0 (ranks are 1-based) or one above ``sample_size``
            (which counts the target); the message names the row and the remedy.

        Warns
        -----
        AssumptionWarning
            If ``replacement`` is not given and samples are large enough for it to matter.

        Examples
        --------
        >>> tr.RankCounts.from_ranks(
        ...     [1, 3, 1, 12], num_negatives=99, n_items=3706, replacement=False
        ... )
        RankCounts(4 users; pools of 3,706 items; sample sizes 100; without replacement; 3 outcomes)

        Two draws of the same user make one sample of 199:

        >>> tr.RankCounts.from_ranks(
        ...     [1, 3], num_negatives=99, n_items=3706, user_ids=["ann", "ann"], replacement=False
        ... )
        RankCounts(1 user; pools of 3,706 items; sample sizes 199; without replacement; 1 outcome)
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
    def from_exact_ranks(
        cls,
        ranks: Any,
        *,
        n_items: Any,
        user_ids: Any = None,
        item_ids: Any = None,
        weights: Any = None,
        targets: TargetWeighting = "recall",
    ) -> Self:
        """Count global ranks: those among all candidates, as a full evaluation gives them.

        Parameters
        ----------
        ranks : array-like of int, shape (n_rows,)
            Global ranks, 1-based.
        n_items : int or array-like of int
            Size of the pool: the candidates a target is ranked among, itself included.
        user_ids : array-like, shape (n_rows,), optional
            The user of each row.
        item_ids : array-like, shape (n_rows,), optional
            The target of each row, for users with several targets. Needs ``user_ids``.
        weights : array-like of float, shape (n_rows,), optional
            Weight of each row; all weigh 1 if not given.
        targets : {"recall", "ndcg", "precision"}
            How several targets of a user are weighted, as in :meth:`from_ranks`.

        Returns
        -------
        RankCounts
            Counts of exact outcomes: every estimator gives the true metrics of these users.

        Examples
        --------
        >>> counts = tr.RankCounts.from_exact_ranks([1, 40, 7], n_items=3706)
        >>> round(tr.estimate(counts, "recall@10")["recall@10"].value, 3)
        0.667
        """
        return cls.from_ranks(
            ranks,
            sample_size=n_items,
            n_items=n_items,
            replacement=False,
            user_ids=user_ids,
            item_ids=item_ids,
            weights=weights,
            targets=targets,
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
        """Counts from outcomes of one scheme that are weighted already; equal ones add up.

        This is the door for programs that draw and count by themselves; for ranks of users take
        :meth:`from_ranks`.

        Parameters
        ----------
        scheme : Scheme
            How the negatives were drawn.
        n_items : int or array-like of int
            Size of the pool, the target included.
        sample_size : int or array-like of int
            Candidates ranked, the target included.
        sampled_rank : array-like of int, shape (n_rows,)
            Rank of the target among them, 1-based.
        weight : array-like of float, shape (n_rows,)
            Users (or shares of users) with each outcome, at least 0.
        replicate : array-like of int, shape (n_rows,), optional
            Groups of users who shared negatives, 1 to 100; 0 or None for none.
        n_users : float, optional
            What metrics are divided by; the sum of the weights if not given.
        squared_weight : float, optional
            Sum of the squared weights of independent ranks. If not given, each row is one rank of
            its weight.

        Returns
        -------
        RankCounts
            The distinct outcomes.

        Raises
        ------
        InputError
            If the scheme cannot give one of the outcomes.

        Examples
        --------
        >>> tr.RankCounts.from_outcomes(
        ...     tr.Scheme(replacement=False),
        ...     n_items=3706,
        ...     sample_size=50,
        ...     sampled_rank=[1, 2],
        ...     weight=[30, 12],
        ... )
        RankCounts(42 users; pools of 3,706 items; sample sizes 50; without replacement; 2 outcomes)
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
