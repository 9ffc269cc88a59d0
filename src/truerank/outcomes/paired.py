"""PairedCounts: the distinct joint outcomes of several models evaluated on the same users.

What comparisons need beyond RankCounts: which ranks of two models are those of one user.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any, Unpack

import numpy as np

from truerank._types import FloatArray, IntArray
from truerank.errors import InputError
from truerank.outcomes import _ranks, tables
from truerank.outcomes._pairing import (
    UNPAIRED,
    check_same_design,
    check_same_users,
    check_several,
    in_order,
    keys,
)
from truerank.outcomes._tabular import TableOptions, split_options, table_ranks
from truerank.outcomes.counts import RankCounts
from truerank.outcomes.schemes import Scheme

__all__ = ["UNPAIRED", "PairedCounts", "check_several"]


@dataclass(frozen=True, eq=False, repr=False)
class PairedCounts:
    """The distinct joint outcomes of several models that ranked for the same users.

    Comparisons need them to know which ranks belong to the same user. Build them with
    :meth:`from_tables` or :meth:`from_table`; counts of other users add up with ``+``;
    ``paired["EASE"]`` are the RankCounts of one model.

    Attributes
    ----------
    models : tuple of str
        Names of the models, in the order of the columns below.
    schemes : tuple of Scheme
        The sampling schemes that occur, sorted; ``scheme`` indexes them.
    scheme : ndarray of int, shape (n_outcomes,)
        The scheme of each outcome, the same for all models.
    n_items : ndarray of int, shape (n_outcomes,)
        Size of the pool, the target included, the same for all models.
    sample_size : ndarray of int, shape (n_outcomes, n_models)
        Candidates ranked, the target included; differs between models in adaptive samples only.
    sampled_rank : ndarray of int, shape (n_outcomes, n_models)
        Rank of the target, 1-based.
    weight : ndarray of float, shape (n_outcomes,)
        Users with each joint outcome, above 0.
    n_users : float
        What metrics are divided by.
    squared_weight : float
        Sum of the squared weights of independent users.

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
    weight: FloatArray
    n_users: float
    squared_weight: float

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
            ``targets`` and ``columns``, as in :meth:`RankCounts.from_table`, the same for all.

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
        columns, given, rest = split_options(options)
        read = {
            str(model): table_ranks(tables.read(table, name=str(model)), columns, **given)
            for model, table in models.items()
        }
        return cls._of_ranks(read, rest)

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
        columns, given, rest = split_options(options)
        source = tables.read(table)
        if by == "model":  # or as the table spells it
            by = (columns or {}).get("model") or source.find("model") or by
        read = {model: table_ranks(part, columns, **given) for model, part in source.split(by)}
        return cls._of_ranks(read, rest)

    @classmethod
    def _of_ranks(
        cls, models: Mapping[str, dict[str, Any]], options: dict[str, Any]
    ) -> PairedCounts:
        check_several(models)
        for model, ranks in models.items():
            if ranks["user_ids"] is None:
                raise InputError(
                    f"{model} has no column user_id; models are paired by users ({UNPAIRED})"
                )
        found = {model: _ranks.units(**ranks, **options) for model, ranks in models.items()}
        key = keys(models, found)
        order = {model: np.argsort(codes, kind="stable") for model, codes in key.items()}
        first, *others = models
        aligned = {model: in_order(found[model], order[model]) for model in models}
        for other in others:
            check_same_users(models, found, key, first, other)
            check_same_design(aligned[first], aligned[other], first, other)
        one = aligned[first]
        return cls._build(
            tuple(models),
            [one.scheme],
            np.zeros(one.row.size, dtype=np.int64),
            one.n_items,
            np.stack([units.sample_size for units in aligned.values()], axis=1),
            np.stack([units.sampled_rank for units in aligned.values()], axis=1),
            one.weight,
            n_users=float(one.weight.sum()) if one.n_users is None else one.n_users,
            squared_weight=float(one.weight @ one.weight),
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
    ) -> PairedCounts:
        given = list(schemes)
        kept = tuple(sorted(set(given)))
        code = np.array([kept.index(one) for one in given], dtype=np.int64)[scheme]
        (code, pool, *rest), total = _ranks.add_up(
            [code, n_items, *sample_size.T, *sampled_rank.T], weight
        )
        size, rank = (np.stack(part, axis=1) for part in (rest[: len(models)], rest[len(models) :]))
        for array in (code, pool, size, rank, total):
            array.setflags(write=False)
        return cls(models, kept, code, pool, size, rank, total, n_users, squared_weight)

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
        for code, scheme in enumerate(self.schemes):
            here = self.scheme == code
            share = float(self.weight[here].sum()) / total
            parts.append(
                RankCounts.from_outcomes(
                    scheme,
                    n_items=self.n_items[here],
                    sample_size=self.sample_size[here, at],
                    sampled_rank=self.sampled_rank[here, at],
                    weight=self.weight[here],
                    n_users=self.n_users * share,
                    squared_weight=self.squared_weight * share,
                )
            )
        return sum(parts[1:], parts[0])

    def outcomes(self, model: str) -> IntArray:
        """Scheme, pool, sample size and sampled rank of one model in each joint outcome.

        Parameters
        ----------
        model : str
            One of ``models``.

        Returns
        -------
        ndarray of int, shape (4, n_outcomes)
            Rows: index of the scheme, ``n_items``, ``sample_size``, ``sampled_rank``.

        Examples
        --------
        >>> import pandas as pd
        >>> table = pd.DataFrame({"user_id": [1, 1], "model": ["A", "B"], "rank": [1, 2]})
        >>> paired = tr.PairedCounts.from_table(table, num_negatives=99, n_items=3706)
        >>> paired.outcomes("B").ravel().tolist()
        [0, 3706, 100, 2]
        """
        at = self._at(model)
        rows = [self.scheme, self.n_items, self.sample_size[:, at], self.sampled_rank[:, at]]
        return np.stack(rows)

    def _at(self, model: str) -> int:
        if model not in self.models:
            raise KeyError(f"{model!r} is no model here; there are: {', '.join(self.models)}")
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
        return PairedCounts._build(
            self.models,
            self.schemes + other.schemes,
            np.concatenate([self.scheme, other.scheme + len(self.schemes)]),
            np.concatenate([self.n_items, other.n_items]),
            np.concatenate([self.sample_size, other.sample_size[:, column]]),
            np.concatenate([self.sampled_rank, other.sampled_rank[:, column]]),
            np.concatenate([self.weight, other.weight]),
            n_users=self.n_users + other.n_users,
            squared_weight=self.squared_weight + other.squared_weight,
        )

    def __radd__(self, other: Any) -> PairedCounts:
        return self if other == 0 else NotImplemented  # sum([...]) starts from 0

    def __eq__(self, other: object) -> bool:
        """Same joint outcomes and weights (fractions to 1e-12)."""
        if not isinstance(other, PairedCounts):
            return NotImplemented
        names = ("scheme", "n_items", "sample_size", "sampled_rank")
        return (
            (self.models, self.schemes) == (other.models, other.schemes)
            and all(np.array_equal(getattr(self, name), getattr(other, name)) for name in names)
            and bool(np.allclose(self.weight, other.weight, rtol=1e-12, atol=0))
            and bool(np.isclose(self.n_users, other.n_users, rtol=1e-12, atol=0))
        )

    __hash__ = None  # type: ignore[assignment]
