"""PairedCounts: the distinct joint outcomes of several models evaluated on the same users.

What comparisons need beyond RankCounts: which ranks of two models are those of one user.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from truerank._types import FloatArray, IntArray
from truerank.errors import InputError
from truerank.outcomes import _ranks, tables
from truerank.outcomes._ranks import Units
from truerank.outcomes.counts import RankCounts, table_ranks
from truerank.outcomes.schemes import Scheme

UNPAIRED = "compare on the same users, pools and scheme, or say unpaired=True"


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
        given = {name: options.pop(name, None) for name in _DESIGN}
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
        key = _keys(models, found)
        order = {model: np.argsort(codes, kind="stable") for model, codes in key.items()}
        first, *others = models
        aligned = {model: _in_order(found[model], order[model]) for model in models}
        for other in others:
            _check_same_users(models, found, key, first, other)
            _check_same_design(aligned[first], aligned[other], first, other)
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


_DESIGN = ("n_items", "sample_size", "num_negatives")


def check_several(models: Iterable[str]) -> None:
    """Raise unless there are at least two models."""
    names = list(models)
    if len(names) < 2:
        raise InputError(f"models are {', '.join(names) or 'none'}; a comparison needs two or more")


def _keys(models: Mapping[str, dict[str, Any]], found: Mapping[str, Units]) -> dict[str, IntArray]:
    """The user, or (user, item), of each unit as one number, the same in every model."""
    user = _common_codes({model: ranks["user_ids"] for model, ranks in models.items()}, "user_id")
    items = {model: ranks["item_ids"] for model, ranks in models.items()}
    without = [model for model, ids in items.items() if ids is None]
    if without and len(without) < len(items):
        raise InputError(
            f"{without[0]} has no column item_id, others have; targets are matched by it"
        )
    if not without:
        item = _common_codes(items, "item_id")
        n_items = 1 + max(int(codes.max()) for codes in item.values())
        user = {model: user[model] * n_items + item[model] for model in models}
    return {model: user[model][units.row] for model, units in found.items()}


def _common_codes(ids: Mapping[str, npt.NDArray[Any]], name: str) -> dict[str, IntArray]:
    """Ids as integers, equal ones alike in every model."""
    text = {model: array.dtype.kind in "OUS" for model, array in ids.items()}
    if len(set(text.values())) > 1:
        kinds = " and ".join(f"{ids[model].dtype} in {model}" for model in ids)
        raise InputError(f"{name} is {kinds}; ids of one kind can be matched")
    joined = np.concatenate(list(ids.values()))
    codes = _ranks.codes(joined, name, joined.size)
    ends = np.cumsum([array.size for array in ids.values()])[:-1]
    return dict(zip(ids, np.split(codes, ends), strict=True))


def _in_order(units: Units, order: IntArray) -> Units:
    return Units(
        units.scheme,
        units.row[order],
        units.n_items[order],
        units.sample_size[order],
        units.sampled_rank[order],
        units.weight[order],
        units.n_users,
    )


def _check_same_users(
    models: Mapping[str, dict[str, Any]],
    found: Mapping[str, Units],
    key: Mapping[str, IntArray],
    first: str,
    other: str,
) -> None:
    for here, there in ((first, other), (other, first)):
        alone = ~np.isin(key[here], key[there])
        if alone.any():
            user = models[here]["user_ids"][found[here].row[np.argmax(alone)]]
            what = "users" if models[here]["item_ids"] is None else "targets"
            raise InputError(
                f"{int(alone.sum()):,} of the {alone.size:,} {what} of {here} are not in {there}, "
                f"such as user {user}; {UNPAIRED}"
            )


def _check_same_design(one: Units, two: Units, first: str, other: str) -> None:
    """Raise where the models were not ranked alike."""
    if one.scheme != two.scheme:
        raise InputError(
            f"scheme is {one.scheme.name} for {first} and {two.scheme.name} for {other}; {UNPAIRED}"
        )
    names = ["n_items", "weight"] if one.scheme.adaptive else ["n_items", "sample_size", "weight"]
    for name in names:
        here, there = getattr(one, name), getattr(two, name)
        if (here != there).any():
            at = int(np.argmax(here != there))
            raise InputError(
                f"{name} is {here[at]:g} for {first} and {there[at]:g} for {other} at the user of "
                f"row {int(one.row[at])} of {first}; {UNPAIRED}"
            )
