"""PairedCounts: the distinct joint outcomes of several models evaluated on the same users.

What comparisons need beyond RankCounts: which ranks of two models are those of one user.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

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
from truerank.outcomes._tabular import DESIGN, table_ranks
from truerank.outcomes.counts import RankCounts
from truerank.outcomes.schemes import Scheme

__all__ = ["UNPAIRED", "PairedCounts", "check_several"]


@dataclass(frozen=True, eq=False, repr=False)
class PairedCounts:
    """Distinct joint outcomes (scheme, n_items; sample_size and sampled_rank of each model).

    Build one with :meth:`from_tables` or :meth:`from_table`; those of other users add up with
    ``+``; ``paired["EASE"]`` is the RankCounts of one model.

    Attributes
    ----------
    models
        Their names, in the order of the columns below.
    schemes, scheme, n_items
        As in RankCounts: a user's scheme and pool are the same for every model.
    sample_size, sampled_rank
        Shape (n_outcomes, n_models). Sizes differ between models in adaptive samples only.
    weight
        Users with each joint outcome, above 0.
    n_users, squared_weight
        As in RankCounts.
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
        cls,
        models: Mapping[str, Any],
        *,
        n_items: Any = None,
        sample_size: Any = None,
        num_negatives: Any = None,
        columns: Mapping[str, str] | None = None,
        **options: Any,
    ) -> PairedCounts:
        """Count the ranks of each model's table, matched by ``user_id`` (and ``item_id``).

        Parameters
        ----------
        models
            Model -> a table or the path of a file, as in :meth:`RankCounts.from_table`, with a
            column of user ids. Rows may be in any order.
        n_items, sample_size, num_negatives, columns, options
            As in :meth:`RankCounts.from_table`, the same for all.
        """
        given = {"n_items": n_items, "sample_size": sample_size, "num_negatives": num_negatives}
        read = {
            str(model): table_ranks(tables.read(table, name=str(model)), columns, **given)
            for model, table in models.items()
        }
        return cls._of_ranks(read, options)

    @classmethod
    def from_table(
        cls,
        table: Any,
        *,
        by: str = "model",
        columns: Mapping[str, str] | None = None,
        **options: Any,
    ) -> PairedCounts:
        """The same from one table in which the column ``by`` tells the models apart."""
        source = tables.read(table)
        if by == "model":  # or as the table spells it
            by = (columns or {}).get("model") or source.find("model") or by
        given = {name: options.pop(name, None) for name in DESIGN}
        read = {model: table_ranks(part, columns, **given) for model, part in source.split(by)}
        return cls._of_ranks(read, options)

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
        """Number of distinct joint outcomes."""
        return int(self.weight.size)

    @property
    def effective_users(self) -> float:
        """(sum w)^2 / sum w^2: the number of equally weighted users that say as much."""
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
        """Scheme, pool, size and rank of one model in each joint outcome, (4, n_outcomes)."""
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
