"""Counts from ranks, and from outcomes that are weighted already."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any, Self

import numpy as np

from truerank import _arguments, _checks
from truerank._types import RankAmong, Repeats
from truerank.outcomes import _ranks
from truerank.outcomes._algebra import Algebra
from truerank.outcomes._columns import about_targets, replicates
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
        scores: Any = None,
        rank_among: RankAmong | None = None,
        repeats: Repeats | None = None,
        shared_negatives: bool | None = None,
        place: Any = None,
        n_targets: Any = None,
        offset: Any = None,
        zero_based: bool = False,
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
            The user of each row. A user with several rows has several targets, or repeated draws
            for one: ``item_ids`` or ``repeats`` tell.
        item_ids : array-like, shape (n_rows,), optional
            The target of each row. Rows of one user and one item are repeated draws for that
            target and make one larger sample (without replacement, the draws must be disjoint).
            Needs ``user_ids``.
        weights : array-like of float, shape (n_rows,), optional
            Weight of the user of each row; metrics become weighted means. All weigh 1 if not given.
        scores : array-like of float, shape (n_rows,), optional
            The targets' own scores, higher is better. They order several targets of a user that
            were ranked among different negatives.
        rank_among : {"negatives", "list"}, optional
            For several targets: whether each rank is among the user's non-targets, or a position
            in one list with all targets of the user. In a list ``sample_size`` and ``n_items``
            count all of them.
        repeats : {"targets", "draws"}, optional
            What several rows of a user are if there are no ``item_ids``.
        shared_negatives : bool, optional
            True if the targets of a user were ranked among the same negatives; their sampled ranks
            then order them, and ``scores`` are not needed.
        place, n_targets : array-like of int, shape (n_rows,), optional
            Where it is known already: the place of each target among those of its user, 1-based,
            and how many the user has.
        offset : array-like of int, shape (n_rows,), optional
            Candidates known to score above the target that are neither targets nor in the pool
            that negatives are drawn from, such as training items kept in the ranking.
        zero_based : bool, default False
            True if ``ranks`` start from 0: 1 is added to each. ``place`` starts from 1 always.

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
        ...     [1, 3],
        ...     num_negatives=99,
        ...     n_items=3706,
        ...     user_ids=["ann", "ann"],
        ...     repeats="draws",
        ...     replacement=False,
        ... )
        RankCounts(1 user; pools of 3,706 items; sample sizes 199; without replacement; 1 outcome)

        Two targets of one user, each ranked among the same 99 negatives:

        >>> counts = tr.RankCounts.from_ranks(
        ...     [1, 3],
        ...     num_negatives=99,
        ...     n_items=3706,
        ...     user_ids=["ann", "ann"],
        ...     item_ids=[7, 8],
        ...     rank_among="negatives",
        ...     shared_negatives=True,
        ...     replacement=False,
        ... )
        >>> counts.n_users, counts.place.tolist(), counts.n_targets.tolist()
        (1.0, [1, 2], [2, 2])
        """
        _arguments.check(Building.from_ranks, locals())
        squared_weight = None
        about_rows = (user_ids, item_ids, weights, scores, place, n_targets, offset)
        if all(given is None for given in about_rows) and not zero_based:
            sizes = (n_items, sample_size, num_negatives)
            if (found := _ranks.counted(ranks, *sizes)) is not None:
                squared_weight = float(len(ranks))
                ranks, weights = found
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
            scores=scores,
            rank_among=rank_among,
            repeats=repeats,
            shared_negatives=shared_negatives,
            place=place,
            n_targets=n_targets,
            offset=offset,
            zero_based=zero_based,
        )
        return cls._build(
            [units.scheme],
            np.zeros(units.row.size, dtype=np.int64),
            units.n_items,
            units.sample_size,
            units.sampled_rank,
            units.weight,
            n_users=units.n_users,
            squared_weight=squared_weight,
            **units.targets,
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
        rank_among: RankAmong | None = None,
        repeats: Repeats | None = None,
        zero_based: bool = False,
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
            Weight of the user of each row; all weigh 1 if not given.
        rank_among : {"negatives", "list"}, optional
            For several targets, as in :meth:`from_ranks`.
        repeats : {"targets", "draws"}, optional
            What several rows of a user are if there are no ``item_ids``.
        zero_based : bool, default False
            True if ``ranks`` start from 0: 1 is added to each.

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
        _arguments.check(Building.from_exact_ranks, locals())
        return cls.from_ranks(
            ranks,
            sample_size=n_items,
            n_items=n_items,
            replacement=False,
            user_ids=user_ids,
            item_ids=item_ids,
            weights=weights,
            rank_among=rank_among,
            repeats=repeats,
            zero_based=zero_based,
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
        place: Any = None,
        n_targets: Any = None,
        offset: Any = None,
        block: Any = None,
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
        place, n_targets, offset : array-like of int, shape (n_rows,), optional
            For users with several targets: the place of the target among them, 1-based, their
            number, and candidates known to be above the target, as in :meth:`from_ranks`.
        block : array-like of int, shape (n_rows,), optional
            Blocks of users, 1 to 100: outcomes of one user are in one block; 0 or None for users
            with one outcome.
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
        _arguments.check(Building.from_outcomes, locals())
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
            **about_targets(
                rank.size, place=place, n_targets=n_targets, offset=offset, block=block
            ),
            n_users=n_users,
            squared_weight=squared_weight,
            n_dropped=0,
        )
