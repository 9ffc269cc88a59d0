"""PairedCounts: the distinct joint outcomes of several models evaluated on the same users.

What comparisons need beyond RankCounts: which ranks of two models are those of one user and, for
some pairs of models, which negatives were above the target by both.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from typing import Any, Unpack

import numpy as np

from truerank import _arguments
from truerank._types import FloatArray, IntArray
from truerank.errors import InputError
from truerank.outcomes import _ranks, tables
from truerank.outcomes._columns import add_up, dropped
from truerank.outcomes._paired_saving import PairedSaving, is_saved_paired
from truerank.outcomes._pairing import (
    UNPAIRED,
    check_joint,
    check_one_target,
    check_same_design,
    check_same_users,
    check_several,
    distinct_pairs,
    in_order,
    keys,
)
from truerank.outcomes._spreading import MOST_OUTCOMES, spread
from truerank.outcomes._tabular import Reading, TableOptions, table_ranks
from truerank.outcomes.counts import RankCounts
from truerank.outcomes.schemes import Scheme

__all__ = ["UNPAIRED", "PairedCounts", "check_several", "is_saved_paired"]


@dataclass(frozen=True, eq=False, repr=False)
class PairedCounts(PairedSaving):
    """The distinct joint outcomes of several models that ranked for the same users.

    Comparisons need them to know which ranks belong to the same user. `truerank.count` of several
    scorers gives them, with joint counts of negatives; :meth:`from_tables` and :meth:`from_table`
    read them from ranks, without. Counts of other users add up with ``+``; ``paired["EASE"]`` are
    the RankCounts of one model.

    Attributes
    ----------
    models : tuple of str
        Names of the models, in the order of the columns below.
    schemes : tuple of Scheme
        The sampling schemes that occur, sorted; ``scheme`` indexes them.
    scheme : ndarray of int, shape (n_outcomes, n_models)
        The scheme of each model's sample: adaptive samples under a budget may differ in their
        ladders, others do not.
    n_items : ndarray of int, shape (n_outcomes,)
        Size of the pool, the target included, the same for all models.
    sample_size : ndarray of int, shape (n_outcomes, n_models)
        Candidates ranked, the target included; differs between models in adaptive samples only.
    sampled_rank : ndarray of int, shape (n_outcomes, n_models)
        Rank of the target, 1-based; the best one if ties are spread.
    tied : ndarray of int, shape (n_outcomes, n_models)
        Ranks beyond ``sampled_rank`` that share the weight evenly: the negatives of the target's
        very score if ties are spread, else 0.
    pairs : tuple of pairs of str
        The pairs of models that joint counts are known of.
    joint : ndarray of int, shape (n_outcomes, n_pairs, 3, 3)
        Negatives that both models of a pair ranked, by where the first puts them, (above, tied
        with, below) the target, and where the second does. Where adaptive samples end at different
        sizes these are the negatives of the smaller one, with which the larger one begins.
    weight : ndarray of float, shape (n_outcomes,)
        Users with each joint outcome, above 0.
    n_users : float
        What metrics are divided by.
    squared_weight : float
        Sum of the squared weights of independent users.
    n_dropped : tuple of int
        Rows of each model that had no rank and were left out; empty if there were none.

    See Also
    --------
    truerank.compare : Differences between models, with intervals.

    Examples
    --------
    >>> import pandas as pd
    >>> ease = pd.DataFrame({"user_id": [1, 2, 3], "rank": [1, 3, 1]})
    >>> als = pd.DataFrame({"user_id": [3, 2, 1], "rank": [1, 5, 1]})
    >>> paired = tr.PairedCounts.from_tables(
    ...     {"EASE": ease, "ALS": als}, num_negatives=99, n_items=3706
    ... )
    >>> paired
    PairedCounts(EASE, ALS; 3 users; 2 joint outcomes)
    >>> paired.sampled_rank.tolist(), paired.weight.tolist()
    ([[1, 1], [3, 5]], [2.0, 1.0])
    """

    models: tuple[str, ...]
    schemes: tuple[Scheme, ...]
    scheme: IntArray
    n_items: IntArray
    sample_size: IntArray
    sampled_rank: IntArray
    tied: IntArray
    pairs: tuple[tuple[str, str], ...]
    joint: IntArray
    weight: FloatArray
    n_users: float
    squared_weight: float
    n_dropped: tuple[int, ...] = ()

    # -- building ---------------------------------------------------------------------------

    @classmethod
    def from_tables(
        cls, models: Mapping[str, Any], **options: Unpack[TableOptions]
    ) -> PairedCounts:
        """Count the ranks of several models, matched by ``user_id`` (and ``item_id``).

        Parameters
        ----------
        models : mapping of str to table or path
            Model -> its table or file of ranks, as in :meth:`RankCounts.from_table`, with a column
            of user ids. Rows may be in any order.
        **options : TableOptions
            ``num_negatives``, ``sample_size``, ``n_items``, ``replacement``, ``ladder``, ``hits``,
            ``repeats``, ``columns``, ``zero_based`` and ``drop_missing``, as in
            :meth:`RankCounts.from_table`, the same for all.

        Returns
        -------
        PairedCounts
            The joint outcomes.

        Raises
        ------
        InputError
            If the models were not ranked for the same users, in the same pools, by the same
            scheme.

        Examples
        --------
        >>> import pandas as pd
        >>> ease = pd.DataFrame({"user_id": [1, 2, 3], "rank": [1, 3, 1]})
        >>> als = pd.DataFrame({"user_id": [3, 2, 1], "rank": [1, 5, 1]})
        >>> models = {"EASE": ease, "ALS": als}
        >>> paired = tr.PairedCounts.from_tables(models, num_negatives=99, n_items=3706)
        >>> paired["ALS"].sampled_rank.tolist()
        [1, 5]
        """
        _arguments.check(PairedCounts.from_tables, locals())
        sources = {
            str(model): tables.read(table, name=str(model)) for model, table in models.items()
        }
        return cls._of_sources(sources, Reading.of(options))

    @classmethod
    def from_table(
        cls, table: Any, *, by: str = "model", **options: Unpack[TableOptions]
    ) -> PairedCounts:
        """Count the ranks of several models in one table, matched by ``user_id``.

        Parameters
        ----------
        table : table or path
            As in :meth:`RankCounts.from_table`, with columns of models and user ids.
        by : str
            The column that tells the models apart.
        **options : TableOptions
            As in :meth:`from_tables`.

        Returns
        -------
        PairedCounts
            The joint outcomes.

        Examples
        --------
        >>> import pandas as pd
        >>> table = pd.DataFrame(
        ...     {"user_id": [1, 2, 1, 2], "model": ["A", "A", "B", "B"], "rank": [1, 3, 2, 4]}
        ... )
        >>> tr.PairedCounts.from_table(table, num_negatives=99, n_items=3706)
        PairedCounts(A, B; 2 users; 2 joint outcomes)
        """
        _arguments.check(PairedCounts.from_table, locals())
        reading = Reading.of(options)
        source = tables.read(table)
        if by == "model":  # or as the table spells it
            by = (reading.columns or {}).get("model") or source.find("model") or by
        return cls._of_sources(dict(source.split(by)), reading)

    @classmethod
    def _of_sources(cls, sources: Mapping[str, tables.Table], reading: Reading) -> PairedCounts:
        ranked = {model: reading.ranked(source) for model, source in sources.items()}
        check_several(ranked)
        models = {model: table_ranks(source, reading) for model, (source, _) in ranked.items()}
        for model, ranks in models.items():
            if ranks["user_ids"] is None:
                raise InputError(
                    f"{model} has no column user_id; models are paired by users ({UNPAIRED})"
                )
        found = {}
        for model, (source, n_dropped) in ranked.items():
            with source.places():
                law = reading.under(source.scheme)
                found[model] = _ranks.units(**models[model], **law.options)
            _ranks.warn_if_dropped(n_dropped, model, depth=1)
        check_one_target(found)
        key = keys(models, found)
        order = {model: np.argsort(codes, kind="stable") for model, codes in key.items()}
        first, *others = models
        aligned = {model: in_order(found[model], order[model]) for model in models}
        for other in others:
            try:
                check_same_users(models, found, key, first, other)
            except InputError as error:
                n_dropped = sum(n_dropped for _, n_dropped in ranked.values())
                said = f" ({dropped(n_dropped)})" if n_dropped else ""
                raise InputError(f"{error}{said}") from None
            check_same_design(aligned[first], aligned[other], first, other)
        one = aligned[first]
        schemes = [units.scheme for units in aligned.values()]
        return cls._build(
            tuple(models),
            schemes,
            np.broadcast_to(np.arange(len(schemes)), (one.row.size, len(schemes))),
            one.n_items,
            np.stack([units.sample_size for units in aligned.values()], axis=1),
            np.stack([units.sampled_rank for units in aligned.values()], axis=1),
            one.weight,
            n_users=one.n_users,
            squared_weight=float(one.weight @ one.weight),
            n_dropped=tuple(n_dropped for _, n_dropped in ranked.values()),
        )

    @classmethod
    def _build(
        cls,
        models: tuple[str, ...],
        schemes: Iterable[Scheme],
        scheme: IntArray,
        n_items: IntArray,
        sample_size: IntArray,
        sampled_rank: IntArray,
        weight: FloatArray,
        *,
        n_users: float,
        squared_weight: float,
        tied: IntArray | None = None,
        pairs: tuple[tuple[str, str], ...] = (),
        joint: IntArray | None = None,
        n_dropped: tuple[int, ...] = (),
    ) -> PairedCounts:
        """Check joint counts, sort, add up equal outcomes, drop empty ones."""
        given = list(schemes)
        used = np.unique(scheme)
        kept = tuple(sorted({given[code] for code in used}))
        place = [kept.index(one) if one in kept else -1 for one in given]
        code = np.array(place, dtype=np.int64)[scheme]
        n_rows, n_models = sampled_rank.shape
        if tied is None:
            tied = np.zeros_like(sampled_rank)
        if joint is None:
            joint = np.zeros((n_rows, 0, 3, 3), dtype=np.int64)
        pairs = distinct_pairs(models, pairs)
        check_joint(models, pairs, joint, sample_size, sampled_rank, tied)
        columns = [code, sample_size, sampled_rank, tied, joint.reshape(n_rows, 9 * len(pairs))]
        key = [n_items, *(column for block in columns for column in block.T)]
        (pool, *rest), total = add_up(key, weight)
        table = np.stack(rest, axis=1)
        code, size, rank, ties = (table[:, i * n_models : (i + 1) * n_models] for i in range(4))
        found = table[:, 4 * n_models :].reshape(total.size, len(pairs), 3, 3)
        for array in (code, pool, size, rank, ties, found, total):
            array.setflags(write=False)
        return cls(
            models, kept, code, pool, size, rank, ties, pairs, found, total, n_users,
            squared_weight, n_dropped if any(n_dropped) else (),
        )  # fmt: skip

    # -- looking ----------------------------------------------------------------------------

    @property
    def n_outcomes(self) -> int:
        """Number of distinct joint outcomes.

        Examples
        --------
        >>> import pandas as pd
        >>> table = pd.DataFrame({"user_id": [1, 1], "model": ["A", "B"], "rank": [1, 2]})
        >>> tr.PairedCounts.from_table(table, num_negatives=99, n_items=3706).n_outcomes
        1
        """
        return int(self.weight.size)

    @property
    def effective_users(self) -> float:
        """Number of equally weighted users with as much information: (sum w)^2 / sum w^2.

        Examples
        --------
        >>> import pandas as pd
        >>> table = pd.DataFrame({"user_id": [1, 1], "model": ["A", "B"], "rank": [1, 2]})
        >>> tr.PairedCounts.from_table(table, num_negatives=99, n_items=3706).effective_users
        1.0
        """
        return float(self.weight.sum()) ** 2 / self.squared_weight

    def __getitem__(self, model: str) -> RankCounts:
        """The counts of one model."""
        at = self._at(model)
        total = float(self.weight.sum())
        parts = []
        for code in np.unique(self.scheme[:, at]):
            here = self.scheme[:, at] == code
            share = float(self.weight[here].sum()) / total
            pool, size, rank, weight = spread(
                self.sampled_rank[here, at] - 1,
                self.tied[here, at],
                self.n_items[here],
                self.sample_size[here, at],
                self.weight[here],
                replacement=self.schemes[code].replacement,
            )
            parts.append(
                RankCounts.from_outcomes(
                    self.schemes[code],
                    n_items=pool,
                    sample_size=size,
                    sampled_rank=rank,
                    weight=weight,
                    n_users=self.n_users * share,
                    squared_weight=self.squared_weight * share,
                )
            )
        counts = sum(parts[1:], parts[0])
        return replace(counts, n_dropped=self.n_dropped[at]) if self.n_dropped else counts

    def outcomes(self, model: str) -> IntArray:
        """Scheme, pool, sample size and sampled rank of one model in each joint outcome.

        Parameters
        ----------
        model : str
            One of ``models``.

        Returns
        -------
        ndarray of int, shape (4, n_outcomes)
            Rows: index of the scheme, ``n_items``, ``sample_size``, ``sampled_rank`` (the best one
            if ties are spread).

        Examples
        --------
        >>> import pandas as pd
        >>> table = pd.DataFrame({"user_id": [1, 1], "model": ["A", "B"], "rank": [1, 2]})
        >>> paired = tr.PairedCounts.from_table(table, num_negatives=99, n_items=3706)
        >>> paired.outcomes("B").ravel().tolist()
        [0, 3706, 100, 2]
        """
        _arguments.check(PairedCounts.outcomes, locals())
        at = self._at(model)
        rows = [self.scheme[:, at], self.n_items, self.sample_size[:, at], self.sampled_rank[:, at]]
        return np.stack(rows)

    def spread(self, model: str) -> tuple[IntArray, IntArray]:
        """The outcomes of one model with spread ties written out, one column for each rank.

        Parameters
        ----------
        model : str
            One of ``models``.

        Returns
        -------
        tuple of two ndarrays of int, shapes (n,) and (4, n)
            The joint outcome that each column belongs to, in order, and the columns as in
            :meth:`outcomes`. Columns of one joint outcome have equal shares of its weight.

        Examples
        --------
        >>> import pandas as pd
        >>> table = pd.DataFrame({"user_id": [1, 1], "model": ["A", "B"], "rank": [1, 2]})
        >>> paired = tr.PairedCounts.from_table(table, num_negatives=99, n_items=3706)
        >>> row, outcomes = paired.spread("B")
        >>> row.tolist(), outcomes[3].tolist()
        ([0], [2])
        """
        _arguments.check(PairedCounts.spread, locals())
        tied = self.tied[:, self._at(model)]
        if int(tied.sum()) + tied.size > MOST_OUTCOMES:
            raise InputError(
                f"{model} has so many ties that sharing them out takes more than {MOST_OUTCOMES:,} "
                "outcomes; count with ties='random', which is right on average too"
            )
        row = np.repeat(np.arange(tied.size), tied + 1)
        found = self.outcomes(model)[:, row]
        found[3] += np.arange(row.size) - np.searchsorted(row, row)
        return row, found

    def joint_counts(self, first: str, second: str) -> IntArray | None:
        """Negatives above the target by both, one or none of two models, if they were counted.

        Parameters
        ----------
        first, second : str
            Two of ``models``.

        Returns
        -------
        ndarray of int, shape (n_outcomes, 3, 3), or None
            Negatives that are (above, tied with, below) the target by ``first`` and by ``second``,
            as in ``joint``.

        Examples
        --------
        >>> scores = np.array([[0.9, 0.5, 0.1, 0.3], [0.1, 0.2, 0.7, 0.4]])
        >>> scorers = {"A": tr.scoring.Dense(scores), "B": tr.scoring.Dense(-scores)}
        >>> paired = tr.count(scorers, ([0, 1], [3, 3]), tr.designs.Fixed(num_negatives=3))
        >>> paired.joint_counts("A", "B").sum(axis=0).tolist()
        [[0, 0, 3], [0, 0, 0], [3, 0, 0]]
        """
        _arguments.check(PairedCounts.joint_counts, locals())
        for at, pair in enumerate(self.pairs):
            if pair == (first, second):
                return self.joint[:, at]
            if pair == (second, first):
                return self.joint[:, at].transpose(0, 2, 1)
        return None

    def _at(self, model: str) -> int:
        if model not in self.models:
            raise KeyError(
                f"{model!r} is not one of the models; there are: {', '.join(self.models)}"
            )
        return self.models.index(model)

    def __repr__(self) -> str:
        return (
            f"PairedCounts({', '.join(self.models)}; {self.n_users:,.6g} users; "
            f"{self.n_outcomes:,} joint outcomes)"
        )

    # -- algebra ----------------------------------------------------------------------------

    def __add__(self, other: Any) -> PairedCounts:
        if not isinstance(other, PairedCounts):
            return NotImplemented
        if set(self.models) != set(other.models):
            raise InputError(
                f"models are {', '.join(self.models)} and {', '.join(other.models)}; paired counts "
                "of the same models add up"
            )
        column = [other.models.index(model) for model in self.models]
        # Which pairs are kept may depend on the part: the sum knows those that both do.
        known = {frozenset(pair) for pair in other.pairs}
        pairs = tuple(pair for pair in self.pairs if frozenset(pair) in known)
        joint = [
            np.stack([one.joint_counts(*pair) for pair in pairs], axis=1)  # type: ignore[misc]
            if pairs
            else np.zeros((one.n_outcomes, 0, 3, 3), dtype=np.int64)
            for one in (self, other)
        ]
        none = (0,) * len(self.models)
        missing = [other.n_dropped[at] if other.n_dropped else 0 for at in column]
        return PairedCounts._build(
            self.models,
            self.schemes + other.schemes,
            np.concatenate([self.scheme, other.scheme[:, column] + len(self.schemes)]),
            np.concatenate([self.n_items, other.n_items]),
            np.concatenate([self.sample_size, other.sample_size[:, column]]),
            np.concatenate([self.sampled_rank, other.sampled_rank[:, column]]),
            np.concatenate([self.weight, other.weight]),
            n_users=self.n_users + other.n_users,
            squared_weight=self.squared_weight + other.squared_weight,
            tied=np.concatenate([self.tied, other.tied[:, column]]),
            pairs=pairs,
            joint=np.concatenate(joint),
            n_dropped=tuple(map(sum, zip(self.n_dropped or none, missing, strict=True))),
        )

    def __radd__(self, other: Any) -> PairedCounts:
        return self if other == 0 else NotImplemented  # sum([...]) starts from 0

    def __eq__(self, other: object) -> bool:
        """Same joint outcomes and weights (fractions to 1e-12)."""
        if not isinstance(other, PairedCounts):
            return NotImplemented
        names = ("scheme", "n_items", "sample_size", "sampled_rank", "tied", "joint")
        return (
            (self.models, self.schemes, self.pairs) == (other.models, other.schemes, other.pairs)
            and all(np.array_equal(getattr(self, name), getattr(other, name)) for name in names)
            and bool(np.allclose(self.weight, other.weight, rtol=1e-12, atol=0))
            and bool(np.isclose(self.n_users, other.n_users, rtol=1e-12, atol=0))
        )

    __hash__ = None  # type: ignore[assignment]
