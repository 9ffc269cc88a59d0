"""Which rows a split holds out: the last ones of each group, by time or in random order.

One mechanism serves every split: groups are users or all rows together, and what differs is how
many rows of a group go. Random words depend on (seed, user id, item id) and nothing else, so that
the order of the rows does not matter.
"""

from __future__ import annotations

import datetime
from typing import Any

import numpy as np
import numpy.typing as npt

from truerank import _checks, rng
from truerank._types import IntArray
from truerank.data._columns import InteractionColumns, mask_first
from truerank.errors import InputError

Mask = npt.NDArray[np.bool_]


def last_of_users(data: InteractionColumns, number: IntArray, how: str, seed: int) -> Mask:
    """The last ``number`` rows of each user (in the order of ``data.user_ids``)."""
    return _last(data, data._users[1], number, how, seed)


def any_rows(data: InteractionColumns, number: int, seed: int) -> Mask:
    """``number`` rows of all, at random."""
    return _last(data, np.zeros(len(data), np.int64), np.array([number]), "random", seed)


def _last(data: InteractionColumns, group: IntArray, number: IntArray, how: str, seed: int) -> Mask:
    """The last ``number[g]`` rows of each group g; equal times are in random order."""
    users, items = data._users[1], data._items[1]
    # A random word for each pair: the user's key, and the item's as the number of the draw.
    words = rng.draws(rng.user_keys(data.user_id, seed), rng.user_keys(data.item_id, 0))
    times = data.timestamp if how == "last" else None
    order = np.lexsort([items, users, words, *([] if times is None else [times]), group])
    group = group[order]
    from_the_end = np.cumsum(np.bincount(group))[group] - np.arange(group.size)  # 1 is the last
    held_out = np.empty(group.size, dtype=np.bool_)
    held_out[order] = from_the_end <= number[group]
    return held_out


def check_how(data: InteractionColumns, how: str) -> None:
    """Raise unless ``how`` is known and ``data`` has the times it needs."""
    if how not in ("last", "random"):
        raise _checks.unknown("way to hold out", how, ("last", "random"))
    if how == "last":
        check_times(data, 'hold out at random (how="random")')


def check_times(data: InteractionColumns, instead: str) -> None:
    """Raise if there are no timestamps; ``instead`` is what to do then."""
    if data.timestamp is None:
        raise InputError(f"{data.name} has no timestamps; {instead}, or give a timestamp column")


def check_pairs(data: InteractionColumns) -> None:
    """Raise if a pair of user and item occurs twice, and so could be in both parts."""
    repeats = len(data) - int(mask_first(data._users[1], data._items[1]).sum())
    if repeats:
        raise InputError(
            f"{data.name} has {repeats} rows that repeat an earlier pair of user and item: a "
            "held-out item could be among the training items; call distinct() first"
        )


def check_share(share: Any) -> float:
    """``share`` as a float between 0 and 1, neither of them."""
    number = isinstance(share, (int, float, np.integer, np.floating))
    if not number or isinstance(share, bool) or not 0 < share < 1:
        raise InputError(
            f"share is {share!r}; it must be above 0 and below 1, such as 0.2 for a fifth"
        )
    return float(share)


def share_of(share: float, size: Any) -> IntArray:
    """How many of ``size`` rows a share is: rounded down, at least one, never all."""
    # 0.29 x 100 is 28.999999999999996 in floats.
    number = np.floor(share * np.asarray(size) + 1e-9).astype(np.int64)
    return np.asarray(np.minimum(np.maximum(number, 1), np.asarray(size) - 1))


def sizes(data: InteractionColumns, least: int, too_few: str) -> IntArray:
    """Rows of each user, after users with less than ``least`` were looked at."""
    if too_few not in ("train", "refuse"):
        raise _checks.unknown("way with too few rows", too_few, ("train", "refuse"))
    size = np.bincount(data._users[1])
    short = np.flatnonzero(size < least)
    if short.size == size.size:
        raise InputError(
            f"no user of {data.name} has {least} interactions or more; nothing to hold out"
        )
    if short.size and too_few == "refuse":
        raise InputError(
            f"{short.size:,} of {size.size:,} users of {data.name} have less than {least} "
            f"interactions, such as {named(data.user_ids[short])}; keep theirs in training "
            f'(too_few="train"), or leave such users out first: k_core({least}, items=1)'
        )
    return size


def named(ids: npt.NDArray[Any]) -> str:
    """The first three ids, for messages."""
    return ", ".join(str(value) for value in ids[:3].tolist())


_LAST = 2**63 - 1  # microseconds of 290,000 years


def first_time(data: InteractionColumns, time: Any, share: float | None) -> int | float:
    """The first time of the test: as given, or such that the test comes nearest to ``share``."""
    check_times(data, "split at random")
    if (time is None) == (share is None):
        raise InputError("give either time= (the first one of the test) or share=, and not both")
    moments, count = np.unique(np.asarray(data.timestamp), return_counts=True)
    if moments.size < 2:
        raise InputError(f"{data.name} has less than two different times; nothing to split by")
    if share is not None:
        later = len(data) - np.cumsum(count)[:-1]  # rows of the test that begins at moments[1:]
        cut = moments[1:][np.argmin(np.abs(later - check_share(share) * len(data)))]
        return int(cut) if moments.dtype.kind == "i" else float(cut)
    cut = _moment(time)
    if not moments[0] < cut <= moments[-1]:
        also = "" if cut is time else f", {cut} in microseconds since 1970"
        raise InputError(
            f"time is {_checks.shown(time)}{also}; "
            f"the times of {data.name} go from {moments[0]} to {moments[-1]}, and both parts need "
            "some of them"
        )
    return cut


def _moment(time: Any) -> int | float:
    """A number as it is; a date as microseconds since 1970, as the columns hold it."""
    if isinstance(time, (int, float, np.integer, np.floating)) and not isinstance(time, bool):
        if -_LAST <= time <= _LAST:
            return time if isinstance(time, (int, float)) else time.item()
    else:
        try:
            if isinstance(time, str):
                time = datetime.datetime.fromisoformat(time)
            if getattr(time, "tzinfo", None) is not None:
                time = time.astimezone(datetime.UTC).replace(tzinfo=None)
            date = np.datetime64(time).astype("datetime64[us]")
            if not np.isnat(date):
                return int(date.astype(np.int64))
        except (TypeError, ValueError):
            pass
    raise InputError(
        f"time is {_checks.shown(time)}; it must be a number or a date, such as '2020-01-31'"
    )
