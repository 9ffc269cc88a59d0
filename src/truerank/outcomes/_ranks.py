"""Ranks as users give them: checks, repeated draws, several targets per user."""

from __future__ import annotations

import warnings
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Any, get_args

import numpy as np

from truerank import _checks
from truerank._types import FloatArray, IntArray, RankAmong, Repeats
from truerank.errors import AssumptionWarning, InputError
from truerank.outcomes import _places
from truerank.outcomes._columns import about_targets, dropped
from truerank.outcomes.schemes import Scheme

AMONG: tuple[str, ...] = get_args(RankAmong)
REPEATS: tuple[str, ...] = get_args(Repeats)
# Above one in this many of the pool, drawing with or without replacement gives different answers.
_REPLACEMENT_MATTERS = 20
LARGEST_POOL = 10**12  # logarithms of ratios of Gamma functions keep their digits up to here
_LARGEST_WEIGHT = 1e100  # whose square is a float still
_LEAST_SHARE = 1e-60  # of the largest weight: estimators divide by shares of users


def pool_sizes(n_items: Any, n_rows: int) -> IntArray:
    why = "a pool holds the target and at least one other item"
    pool = _checks.per_row(n_items, "n_items", n_rows, low=2, why=why)
    because = f"pools of up to {LARGEST_POOL:,} items can be told apart"
    _checks.within(pool, "n_items", low=-_checks.LARGEST_INT, high=LARGEST_POOL, because=because)
    return pool


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


def warn_if_dropped(n_dropped: int, name: str, *, depth: int = 0) -> None:
    """Say how many rows without a rank were left out, to the caller of the caller."""
    if n_dropped:
        warnings.warn(
            f"{name}: {dropped(n_dropped)}. Where a rank is missing because the target was not "
            "found, that flatters the model.",
            AssumptionWarning,
            stacklevel=3 + depth,
        )


def warn_if_replacement_matters(size: IntArray, pool: IntArray, *, depth: int = 0) -> None:
    """Warn where samples are so large that drawing with or without replacement differs.

    The warning points at the caller of the caller, and ``depth`` calls further up.
    """
    if (size * _REPLACEMENT_MATTERS > pool).any():
        row = int(np.argmax(size / pool))
        warnings.warn(
            f"sample_size {size[row]} is {100 * size[row] / pool[row]:.0f} % of "
            f"n_items={pool[row]} and replacement is not said; taken as drawn with replacement. "
            "Say replacement=True or replacement=False.",
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
            "ranks; ranks are 1-based, so add 1 to each, or say zero_based=True"
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


def _given_weights(weights: Any, n_rows: int) -> FloatArray:
    """As `row_weights`, none of them as good as 0 beside the others but 0 itself."""
    array = row_weights(weights, n_rows)
    least = _LEAST_SHARE * array.max(initial=0.0)
    if ((array > 0.0) & (array < least)).any():
        row = int(np.argmax((array > 0.0) & (array < least)))
        raise InputError(
            f"weight is {array[row]:g} at row {row}; weights are 0, or at least {_LEAST_SHARE:g} "
            f"of the largest ({array.max():g})"
        )
    return array


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
            "combine (give item_id if these are several targets)"
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
            "draws must be disjoint (give item_id if these are several targets)"
        )
    return first, pool[first], total_size, total_rank


def same_weight(weight: FloatArray, unit: IntArray, first: IntArray) -> FloatArray:
    _, start, group = np.unique(unit, return_index=True, return_inverse=True)
    if (weight != weight[start][group]).any():
        row = int(np.argmax(weight != weight[start][group]))
        raise InputError(f"weight is {weight[row]:g} at row {row}; draws of one user share one")
    return weight[first]


_MANY = 1000  # ranks that are counted before they are looked at


@dataclass(frozen=True)
class Units:
    """Ranks ready to be counted, one per user or per (user, target): arrays of shape (n_units,).

    ``row`` is the first of the given rows that each comes from; ``n_users`` what metrics are
    divided by; ``targets`` the columns about several targets, None where users have one.
    """

    scheme: Scheme
    row: IntArray
    n_items: IntArray
    sample_size: IntArray
    sampled_rank: IntArray
    weight: FloatArray
    n_users: float
    targets: dict[str, Any]


def counted(
    ranks: Any, n_items: Any, sample_size: Any, num_negatives: Any
) -> tuple[IntArray, FloatArray] | None:
    """Distinct ranks and how many there are of each, if that is all that tells rows apart.

    None where each row has to be looked at: pools or sizes of their own, a rank that is not
    possible, or few ranks.
    """
    sizes = (n_items, sample_size, num_negatives)
    if any(isinstance(size, bool) or not isinstance(size, (int, np.integer, type(None)))
           for size in sizes):  # fmt: skip
        return None
    if not isinstance(ranks, np.ndarray) or np.ma.isMaskedArray(ranks):
        return None
    if ranks.ndim != 1 or ranks.dtype.kind not in "iu" or ranks.size < _MANY:
        return None
    largest = sample_size if num_negatives is None else num_negatives + 1
    if largest is None or ranks.min() < 1 or ranks.max() > min(largest, ranks.size):
        return None
    number = np.bincount(ranks)
    distinct = np.flatnonzero(number)
    return distinct, number[distinct].astype(np.float64)


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
    scores: Any = None,
    rank_among: RankAmong | None = None,
    repeats: Repeats | None = None,
    shared_negatives: bool | None = None,
    place: Any = None,
    n_targets: Any = None,
    offset: Any = None,
    zero_based: bool = False,
) -> Units:
    """Ranks as given, checked, with repeated draws combined: see `RankCounts.from_ranks`."""
    for value, known, name in ((rank_among, AMONG, "rank_among"), (repeats, REPEATS, "repeats")):
        if value is not None and value not in known:
            raise _checks.unknown(name, value, known)
    rank = _checks.whole_numbers(ranks, "sampled_rank")
    if not rank.size:
        raise InputError("ranks is empty; there is nothing to count")
    if zero_based:
        because = "ranks that start from 0 (zero_based) are at least 0"
        _checks.within(rank, "sampled_rank", low=0, high=np.inf, because=because)
        rank = rank + 1
    size = sample_sizes(sample_size, num_negatives, rank.size)
    pool = pool_sizes(n_items, rank.size)
    scheme = Scheme(
        replacement=True if replacement is None else replacement,
        ladder=() if ladder is None else ladder,  # type: ignore[arg-type]
        hits=hits,  # type: ignore[arg-type]
    )
    weight = None if weights is None else _given_weights(weights, rank.size)
    user = None if user_ids is None else codes(user_ids, "user_ids", rank.size)
    if item_ids is not None and user is None:
        raise InputError("item_ids is given without user_ids; targets belong to users")
    about = about_targets(rank.size, place=place, n_targets=n_targets, offset=offset)
    unit = _told_apart(user, item_ids, repeats, rank.size)
    said = about["n_targets"]
    more = said is not None and bool((said > 1).any())
    if more and user is None:
        raise InputError("n_targets is above 1 and there is no user_id; targets belong to users")
    if user is not None and unit is not None and (more or unit.max() > user.max()):
        number = _counted(user, unit, said)
        about["n_targets"] = number
        where = about["place"]
        if where is None:
            exact = not scheme.replacement and bool((size == pool).all())
            where = _ordered(
                user, unit, rank, size, scores, rank_among, shared=exact or bool(shared_negatives)
            )
        else:
            _check_places(user, unit, where)
        about["place"] = where
        if rank_among == "list":
            rank, others = rank - where + 1, number - 1
            pool = pool - others
            size = size if sample_size is None else size - others
        about["block"] = _places.blocks(user_ids, number)
        scheme = replace(scheme, shared=rank_among == "list" or bool(shared_negatives))
    try:
        check_outcomes(scheme, pool, size, rank)
    except InputError as error:
        raised = " (after 1 was added: zero_based)" if zero_based else ""
        raise InputError(f"{error}{raised}") from None
    row = np.arange(rank.size)
    if unit is not None and user is not None:
        row, pool, size, rank = combine_draws(scheme, unit, pool, size, rank)
        weight = None if weight is None else same_weight(weight, user, row)
        user = user[row]
    if replacement is None:
        warn_if_replacement_matters(size, pool, depth=1)
    if weight is None:
        weight = np.ones(rank.size)
    first = np.arange(rank.size) if user is None else np.unique(user, return_index=True)[1]
    return Units(
        scheme, row, pool, size, rank, weight, float(weight[first].sum()),
        {name: None if column is None else column[row] for name, column in about.items()},
    )  # fmt: skip


def _told_apart(
    user: IntArray | None, item_ids: Any, repeats: str | None, n_rows: int
) -> IntArray | None:
    """Which rows are about one target: codes, more of them than users if these have several."""
    if user is None:
        return None
    if item_ids is not None:
        item = codes(item_ids, "item_ids", n_rows)
        _, unit = np.unique(user * (item.max() + 1) + item, return_inverse=True)
        return np.asarray(unit, dtype=np.int64)
    if repeats == "targets":
        return np.arange(n_rows)
    _, first = np.unique(user, return_index=True)
    if first.size < n_rows and repeats is None:
        row = int(np.setdiff1d(np.arange(n_rows), first)[0])
        raise InputError(
            f"the user of row {row} has more than one row, and there is no item_id: give item_id "
            "if users have several targets (or say repeats='targets'), or say repeats='draws' if "
            "these are repeated draws for one target, which make one larger sample"
        )
    return user


def _counted(user: IntArray, unit: IntArray, given: IntArray | None) -> IntArray:
    """The number of targets of each row's user; more than are listed, if they say so."""
    _, first = np.unique(unit, return_index=True)
    listed = np.bincount(user[first])[user]
    if given is None:
        return np.asarray(listed, dtype=np.int64)
    if (given < listed).any():
        row = int(np.argmax(given < listed))
        raise InputError(
            f"n_targets is {given[row]} at row {row}; its user has {listed[row]} targets here"
        )
    return given


def _check_places(user: IntArray, unit: IntArray, place: IntArray) -> None:
    """Places of a user's targets differ."""
    _, first = np.unique(unit, return_index=True)
    order = first[np.lexsort([place[first], user[first]])]
    same = (np.diff(user[order]) == 0) & (np.diff(place[order]) == 0)
    if same.any():
        row = int(order[1:][same][0])
        raise InputError(
            f"place is {place[row]} at row {row} and for another target of the same user; places "
            "of a user's targets differ"
        )


def _ordered(
    user: IntArray,
    unit: IntArray,
    rank: IntArray,
    size: IntArray,
    scores: Any,
    rank_among: str | None,
    *,
    shared: bool,
) -> IntArray:
    """The place of each row's target among those of its user."""
    if rank_among is None:
        raise InputError(
            "users have several targets and rank_among is not given: say rank_among='negatives' "
            "if each rank is among the user's non-targets, rank_among='list' if all targets of a "
            "user stand in one ranked list with the negatives"
        )
    _, first, group = np.unique(unit, return_index=True, return_inverse=True)
    if rank_among == "list":
        if first.size < unit.size:
            raise InputError(
                "rank_among is 'list' and a target has several rows; ranks of repeated draws must "
                "be ranks among the negatives"
            )
        order = np.lexsort([rank, user])
        same = (np.diff(user[order]) == 0) & (np.diff(rank[order]) == 0)
        if same.any():
            row = int(order[1:][same][0])
            raise InputError(
                f"rank_among is 'list' and rank {rank[row]} occurs twice for the user of row "
                f"{row}; positions in one list differ: were they ranked among the negatives?"
            )
        return _places.places(user, rank)
    if scores is None and not shared:
        raise InputError(
            "users have several targets, each ranked among negatives of its own, so that sampled "
            "ranks do not tell which target of a user is the best: give score (the targets' own "
            "scores), or say shared_negatives=True if a user's targets met the same negatives"
        )
    whose = user[first]
    above = np.bincount(group, rank - 1).astype(np.int64)
    drawn = np.bincount(group, size - 1).astype(np.int64)
    if scores is None:
        _, start, code = np.unique(whose, return_index=True, return_inverse=True)
        other = drawn != drawn[start][code]
        if other.any():
            at = int(np.argmax(other))
            raise InputError(
                f"the target of row {int(first[at])} met {drawn[at]} negatives and another of its "
                f"user {drawn[start][code][at]}, so that they were not the same ones: give score "
                "(the targets' own scores) to order a user's targets"
            )
        return _places.places(whose, above)[group]
    score = _checks.numeric(scores, "score")
    if score.size != rank.size:
        raise InputError(f"scores has {score.size} values; there are {rank.size} ranks")
    if (score != score[first][group]).any():
        row = int(np.argmax(score != score[first][group]))
        raise InputError(
            f"score is {score[row]:g} at row {row} but {score[first][group][row]:g} in an earlier "
            "draw of the same target"
        )
    # Of one score: by what they met, so that the order of rows and ids does not matter.
    _, then = np.unique(np.stack([above, drawn], axis=1), axis=0, return_inverse=True)
    return _places.places(whose, -score[first], then.ravel())[group]
