"""Ranks as users give them: checks, repeated draws, several targets per user."""

from __future__ import annotations

import warnings
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any, get_args

import numpy as np

from truerank import _checks
from truerank._types import FloatArray, IntArray, TargetWeighting
from truerank.errors import AssumptionWarning, InputError
from truerank.outcomes.schemes import Scheme

TARGETS: tuple[str, ...] = get_args(TargetWeighting)
# Above one in this many of the pool, drawing with or without replacement gives different answers.
_REPLACEMENT_MATTERS = 20
_LARGEST_WEIGHT = 1e100  # whose square is a float still


def pool_sizes(n_items: Any, n_rows: int) -> IntArray:
    why = "a pool holds the target and at least one other item"
    return _checks.per_row(n_items, "n_items", n_rows, low=2, why=why)


def sample_sizes(sample_size: Any, num_negatives: Any, n_rows: int) -> IntArray:
    if (sample_size is None) == (num_negatives is None):
        both = "both" if sample_size is not None else "neither"
        raise InputError(
            f"sample_size and num_negatives: {both} given; give one (the sample size counts the "
            "target, so 100 negatives are a sample size of 101)"
        )
    if sample_size is not None:
        why = "it counts the target, so with one negative it is 2"
        return _checks.per_row(sample_size, "sample_size", n_rows, low=2, why=why)
    return _checks.per_row(num_negatives, "num_negatives", n_rows) + 1


def warn_if_replacement_matters(size: IntArray, pool: IntArray, *, depth: int = 0) -> None:
    """Warn where samples are so large that drawing with or without replacement differs.

    The warning points at the caller of the caller, and ``depth`` calls further up.
    """
    if (size * _REPLACEMENT_MATTERS > pool).any():
        row = int(np.argmax(size / pool))
        warnings.warn(
            f"sample_size {size[row]} is {size[row] / pool[row]:.0%} of n_items={pool[row]} and "
            "replacement is not said; taken as drawn with replacement. Say replacement=True or "
            "replacement=False.",
            AssumptionWarning,
            stacklevel=3 + depth,
        )


def check_outcomes(scheme: Scheme, pool: IntArray, size: IntArray, rank: IntArray) -> None:
    if not rank.size:
        raise InputError("ranks is empty; there is nothing to count")
    _checks.within(
        pool,
        "n_items",
        low=2,
        high=np.inf,
        because="a pool holds the target and at least one other item",
    )
    _checks.within(
        size,
        "sample_size",
        low=2,
        high=np.inf,
        because="it counts the target, so with one negative it is 2",
    )
    if (rank == 0).any():
        raise InputError(
            f"sampled_rank is 0 at row {int(np.argmax(rank == 0))}: these look like 0-based "
            "ranks; ranks are 1-based, so add 1 to each"
        )
    may_be_negatives = scheme.replacement or (size < pool).all()
    if may_be_negatives and (rank == size + 1).any() and ((rank >= 1) & (rank <= size + 1)).all():
        row = int(np.argmax(rank == size + 1))
        raise InputError(
            f"sampled_rank is {rank[row]} at row {row}, one more than sample_size={size[row]}, "
            f"which counts the target; if {size[row]} is the number of negatives, say "
            f"num_negatives={size[row]}"
        )
    row = int(np.argmax((rank < 1) | (rank > size)))
    _checks.within(
        rank,
        "sampled_rank",
        low=1,
        high=size,
        because=f"ranks are 1-based, from 1 to sample_size={size[row]}",
    )
    scheme.check(pool, size, rank)


def row_weights(weights: Any, n_rows: int) -> FloatArray:
    array = _checks.numeric(weights, "weight")
    if array.size != n_rows:
        raise InputError(f"weights has {array.size} values; there are {n_rows} ranks")
    if (array < 0).any():
        row = int(np.argmax(array < 0))
        raise InputError(f"weight is {array[row]:g} at row {row}; weights are at least 0")
    if (array > _LARGEST_WEIGHT).any():
        row = int(np.argmax(array > _LARGEST_WEIGHT))
        raise InputError(
            f"weight is {array[row]:g} at row {row}; weights are at most {_LARGEST_WEIGHT:g}"
        )
    return array


def codes(ids: Any, name: str, n_rows: int) -> IntArray:
    """Ids of any kind as integers 0..n-1 in order of first appearance."""
    import pyarrow as pa

    try:
        # Lists go in as they are: numpy would make strings of mixed ids, and of NaN among them.
        plain = ids if isinstance(ids, (list, tuple)) else np.asarray(ids)
        encoded = pa.array(plain, from_pandas=True).dictionary_encode()
    except (pa.ArrowException, TypeError, ValueError, OverflowError) as error:
        raise InputError(f"{name} cannot be read as ids: {error}") from None
    if len(encoded) != n_rows:
        raise InputError(f"{name} has {len(encoded)} values; there are {n_rows} ranks")
    if encoded.null_count:
        raise InputError(f"{name} has {encoded.null_count} missing values")
    return np.asarray(encoded.indices.to_numpy(), dtype=np.int64)


def combine_draws(
    scheme: Scheme, unit: IntArray, pool: IntArray, size: IntArray, rank: IntArray
) -> tuple[IntArray, IntArray, IntArray, IntArray]:
    """Repeated draws of a unit as one larger sample: sizes and ranks add, less one each."""
    _, first, group = np.unique(unit, return_index=True, return_inverse=True)
    if first.size == unit.size:
        return np.arange(unit.size), pool, size, rank
    if scheme.adaptive:
        row = int(np.setdiff1d(np.arange(unit.size), first)[0])
        raise InputError(
            f"user of row {row} occurs twice; repeated adaptive samples of one user do not "
            "combine (give item_ids if these are several targets)"
        )
    if (pool != pool[first][group]).any():
        row = int(np.argmax(pool != pool[first][group]))
        raise InputError(
            f"n_items is {pool[row]} at row {row} but {pool[first][group][row]} in an earlier "
            "draw of the same user"
        )
    total_size = 1 + np.bincount(group, size - 1).astype(np.int64)
    total_rank = 1 + np.bincount(group, rank - 1).astype(np.int64)
    over = total_size > pool[first]
    if not scheme.replacement and over.any():
        at = int(np.argmax(over))
        raise InputError(
            f"the draws of the user of row {int(first[at])} add up to a sample of "
            f"{total_size[at]}, more than n_items={pool[first][at]}; without replacement repeated "
            "draws must be disjoint (give item_ids if these are several targets)"
        )
    return first, pool[first], total_size, total_rank


def same_weight(weight: FloatArray, unit: IntArray, first: IntArray) -> FloatArray:
    _, start, group = np.unique(unit, return_index=True, return_inverse=True)
    if (weight != weight[start][group]).any():
        row = int(np.argmax(weight != weight[start][group]))
        raise InputError(f"weight is {weight[row]:g} at row {row}; draws of one user share one")
    return weight[first]


def target_weights(user: IntArray | None, n_rows: int, targets: str) -> tuple[FloatArray, float]:
    """Weight of each unit and the number of users (KR20 eq. 3, 4 and 6)."""
    if user is None:
        return np.ones(n_rows), float(n_rows)
    _, group, count = np.unique(user, return_inverse=True, return_counts=True)
    if targets == "recall":
        per_user = 1.0 / count
    elif targets == "ndcg":
        ideal = np.cumsum(1.0 / np.log2(np.arange(2.0, count.max() + 2.0)))
        per_user = 1.0 / ideal[count - 1]
    else:
        per_user = np.ones(count.size)
    return per_user[group], float(count.size)


@dataclass(frozen=True)
class Units:
    """Ranks ready to be counted, one per user or per (user, target): arrays of shape (n_units,).

    ``row`` is the first of the given rows that each comes from. ``n_users`` is None where weights
    were given: it is their sum then.
    """

    scheme: Scheme
    row: IntArray
    n_items: IntArray
    sample_size: IntArray
    sampled_rank: IntArray
    weight: FloatArray
    n_users: float | None


def units(
    ranks: Any,
    *,
    n_items: Any,
    sample_size: Any = None,
    num_negatives: Any = None,
    replacement: bool | None = None,
    ladder: Iterable[int] | None = None,
    hits: int | Sequence[int] = 1,
    user_ids: Any = None,
    item_ids: Any = None,
    weights: Any = None,
    targets: TargetWeighting = "recall",
) -> Units:
    """Ranks as given, checked, with repeated draws combined: see `RankCounts.from_ranks`."""
    if targets not in TARGETS:
        raise _checks.unknown("targets weighting", targets, TARGETS)
    if weights is not None and targets != "recall":
        raise InputError(f"targets is {targets!r} and weights are given: drop one of them")
    rank = _checks.whole_numbers(ranks, "sampled_rank")
    size = sample_sizes(sample_size, num_negatives, rank.size)
    pool = pool_sizes(n_items, rank.size)
    scheme = Scheme(
        replacement=True if replacement is None else replacement,
        ladder=() if ladder is None else ladder,  # type: ignore[arg-type]
        hits=hits,  # type: ignore[arg-type]
    )
    check_outcomes(scheme, pool, size, rank)
    weight = None if weights is None else row_weights(weights, rank.size)
    user = None if user_ids is None else codes(user_ids, "user_ids", rank.size)
    if item_ids is not None and user is None:
        raise InputError("item_ids is given without user_ids; targets belong to users")
    row = np.arange(rank.size)
    if user is not None:
        unit = user
        if item_ids is not None:
            item = codes(item_ids, "item_ids", rank.size)
            unit = np.unique(user * (item.max() + 1) + item, return_inverse=True)[1]
        row, pool, size, rank = combine_draws(scheme, unit, pool, size, rank)
        user = user[row]
        weight = None if weight is None else same_weight(weight, unit, row)
    if replacement is None:
        warn_if_replacement_matters(size, pool, depth=1)
    n_users = None
    if weight is None:
        weight, n_users = target_weights(user, rank.size, targets)
    return Units(scheme, row, pool, size, rank, weight, n_users)


def add_up(key: Sequence[IntArray], weight: FloatArray) -> tuple[list[IntArray], FloatArray]:
    """The distinct rows of the columns ``key``, sorted, and the sums of their weights above 0."""
    order = np.lexsort(key[::-1])
    key = [column[order] for column in key]
    new = np.ones(order.size, dtype=bool)
    new[1:] = np.logical_or.reduce([column[1:] != column[:-1] for column in key])
    starts = np.flatnonzero(new)
    total = np.add.reduceat(weight[order], starts) if starts.size else np.empty(0)
    starts, total = starts[total > 0], total[total > 0]
    if not starts.size:
        raise InputError("all weights are 0; there is nothing to count")
    return [column[starts] for column in key], total
