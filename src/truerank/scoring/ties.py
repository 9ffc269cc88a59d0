"""What rank a target gets among items of the very same score.

Shared by exact and sampled ranks: `above` items scored higher than the target, `tied` scored the
same (itself not counted), among `sample_size` ranked ones of which the target is one.
"""

from __future__ import annotations

import functools
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, cast, get_args

import numpy as np
import numpy.typing as npt

from truerank import _checks
from truerank._types import FloatArray, IntArray, Ties
from truerank.errors import InputError
from truerank.outcomes._places import before_tied, numbers, places
from truerank.outcomes._spreading import MOST_OUTCOMES, spread, too_many_ties
from truerank.outcomes.counts import RankCounts
from truerank.outcomes.schemes import Scheme
from truerank.rng import Keys, below, draws, mix, unit

POLICIES: tuple[str, ...] = get_args(Ties)
# Keys of tie-breaks are others than those that negatives are drawn by.
_STREAM = np.uint64(0x7469_6573_2D31_2E30)
_ENTRIES = 2**20  # of chances at a time


def check(policy: Any) -> Ties:
    """``policy`` if it is known, or an InputError with the nearest that is."""
    if policy not in POLICIES:
        raise _checks.unknown("ties", policy, POLICIES)
    return cast(Ties, str(policy))


def ranks(
    above: IntArray, tied: IntArray, policy: str, keys: Keys | None = None
) -> npt.NDArray[Any]:
    """One rank per row, 1-based.

    Parameters
    ----------
    above : ndarray of int, shape (n_rows,)
        Items that scored higher than the target.
    tied : ndarray of int, shape (n_rows,)
        Items that scored the same, the target not counted.
    policy : {"random", "mid", "optimistic", "pessimistic"}
        One of the tied ranks at random (by ``keys``), their mean, the first or the last.
        ``"spread"`` is for counts only.
    keys : ndarray of uint64, shape (n_rows,), optional
        Random keys, for ``"random"``.

    Returns
    -------
    ndarray of int or float, shape (n_rows,)
        The ranks, int64; float64 for ``"mid"``.
    """
    policy = check(policy)
    if policy == "optimistic":
        return above + 1
    if policy == "pessimistic":
        return above + tied + 1
    if policy == "mid":
        return above + 1 + tied / 2
    if policy == "spread":
        raise InputError(
            "ties='spread' shares a target among all its tied ranks and so gives counts, not "
            "ranks; for one rank per target say 'random', 'mid', 'optimistic' or 'pessimistic'"
        )
    if keys is None:
        raise TypeError("random ties need keys")
    return above + 1 + below(draws(mix(keys ^ _STREAM), 0), tied + 1)


def counts(
    above: IntArray,
    tied: IntArray,
    policy: str,
    *,
    scheme: Scheme,
    n_items: IntArray,
    sample_size: IntArray,
    n_users: float,
    keys: Keys | None = None,
    targets: Targets | None = None,
    offset: IntArray | None = None,
) -> RankCounts:
    """The ranks as counts; all arrays of shape (n_rows,), each row one independent ranking.

    ``spread`` gives each of a row's tied ranks its share of the weight, which is the mean over all
    ways to break the ties: the same for all, or with replacement, where a tied item drawn twice is
    one item, more at both ends. A middle between two ranks (``mid``) counts half for each. Of
    several tied targets of a user, the best stands before more of the tied others. ``offset`` are
    kept items above each target; ties are broken then.
    """
    policy = check(policy)
    weight: FloatArray = np.ones(above.size)
    make = functools.partial(
        RankCounts.from_outcomes,
        scheme,
        n_users=n_users,
        squared_weight=float(above.size),
    )
    if targets is not None:
        row, rank, weight = targets.shared(above, tied, policy, keys)
        return make(
            n_items=n_items[row],
            sample_size=sample_size[row],
            sampled_rank=rank,
            weight=weight,
            place=targets.place[row],
            n_targets=targets.n_targets[row],
            block=targets.block[row],
            offset=None if offset is None else offset[row],
        )
    first, extra = shared_ranks(above, tied, policy, keys)
    if policy in ("spread", "mid"):
        pool, size, rank, share = spread(
            first - 1, extra, n_items, sample_size, weight, replacement=scheme.replacement
        )
        return make(n_items=pool, sample_size=size, sampled_rank=rank, weight=share)
    return make(
        n_items=n_items, sample_size=sample_size, sampled_rank=first, weight=weight, offset=offset
    )


@dataclass(frozen=True)
class Targets:
    """Where the targets of users with several stand among each other, arrays of shape (n_rows,).

    Attributes
    ----------
    place
        Place of the target among those of its user, 1-based.
    n_targets
        Number of targets of the user.
    block
        The block of users that the user belongs to.
    tied_place
        Place among the user's targets of the very same score, 1-based.
    n_tied
        Number of those, itself counted.
    tie_keys
        Random keys of the users.
    """

    place: IntArray
    n_targets: IntArray
    block: IntArray
    tied_place: IntArray
    n_tied: IntArray
    tie_keys: Keys

    @classmethod
    def of(
        cls,
        group: IntArray,
        n_targets: IntArray,
        block: IntArray,
        best_first: Any,
        word: Keys,
        tie_keys: Keys,
    ) -> Targets:
        """Order the targets of each user.

        Parameters
        ----------
        group : ndarray of int, shape (n_rows,)
            Codes of users.
        n_targets, block : ndarray of int, shape (n_rows,)
            As in `Targets`.
        best_first : array, shape (n_rows,)
            What orders them: scores with their signs turned, or numbers of items above.
        word : ndarray of uint64, shape (n_rows,)
            What orders those of one score: the word of the target under the user's key.
        tie_keys : ndarray of uint64, shape (n_rows,)
            Random keys of the users.

        Returns
        -------
        Targets
            Places.
        """
        _, same = np.unique(best_first, return_inverse=True)
        tied = group * (int(same.max(initial=0)) + 1) + same
        place = places(group, best_first, word)
        return cls(place, n_targets, block, places(tied, word), numbers(tied), tie_keys)

    def shared(
        self, above: IntArray, tied: IntArray, policy: str, keys: Keys | None
    ) -> tuple[IntArray, IntArray, FloatArray]:
        """The ranks that targets may have: their rows, the ranks and their shares.

        Parameters
        ----------
        above, tied, policy, keys
            As in `ranks`, and ``"spread"`` too.

        Returns
        -------
        tuple of three ndarrays, shape (n,)
            The row of each, the rank (1-based) and its share of the row's weight.
        """
        rows = np.arange(above.size)
        if policy == "mid":
            first, extra = shared_ranks(above, tied, policy)
            row = np.repeat(rows, extra + 1)
            last = np.concatenate([[False], row[1:] == row[:-1]])
            return row, first[row] + last, 1.0 / (1.0 + extra[row])
        if policy != "spread":
            return rows, self.ranks(above, tied, policy, keys), np.ones(above.size)
        if int(tied.sum()) > MOST_OUTCOMES:
            raise too_many_ties()
        plain = rows[tied == 0]
        found: list[tuple[Any, ...]] = [(plain, above[plain] + 1, np.ones(plain.size))]
        for part in self._alike(tied):
            chance = before_tied(self.tied_place[part], self.n_tied[part], tied[part])
            at, before = np.nonzero(chance)
            found.append((part[at], above[part[at]] + 1 + before, chance[at, before]))
        row, rank, share = (np.concatenate(column) for column in zip(*found, strict=True))
        return row, rank, share

    def ranks(
        self, above: IntArray, tied: IntArray, policy: str, keys: Keys | None
    ) -> npt.NDArray[Any]:
        """One rank per row, as `ranks` gives them; tied targets of a user in their order.

        Parameters
        ----------
        above, tied, policy, keys
            As in `ranks`.

        Returns
        -------
        ndarray of int or float, shape (n_rows,)
            The ranks.
        """
        found = ranks(above, tied, policy, keys)
        if policy != "random":
            return found
        chance_of = unit(draws(mix(self.tie_keys ^ _STREAM), 0))  # one for all of a user's
        for part in self._alike(np.where(self.n_tied > 1, tied, 0)):
            chance = before_tied(self.tied_place[part], self.n_tied[part], tied[part])
            before = (np.cumsum(chance, axis=1) <= chance_of[part, None]).sum(axis=1)
            found[part] = above[part] + 1 + np.minimum(before, tied[part])
        return found

    def _alike(self, tied: IntArray) -> Iterator[IntArray]:
        """Rows with ties, some at a time, with about as many of them."""
        order = np.argsort(tied, kind="stable")
        order = order[np.searchsorted(tied[order], 1) :]
        while order.size:
            step = max(1, _ENTRIES // (int(tied[order[-1]]) + 1))
            yield order[-step:]
            order = order[:-step]


def shared_ranks(
    above: IntArray, tied: IntArray, policy: str, keys: Keys | None = None
) -> tuple[IntArray, IntArray]:
    """The ranks that share a row's weight: the first of them, and how many there are beyond it.

    Parameters
    ----------
    above, tied, policy, keys
        As in `ranks`, and ``"spread"`` too.

    Returns
    -------
    tuple of two ndarrays of int, shape (n_rows,)
        The first rank, 1-based, and the number of ranks behind it with the same share.
    """
    policy = check(policy)
    if policy == "spread":
        return above + 1, tied
    if policy == "mid":
        return above + tied // 2 + 1, tied % 2
    return ranks(above, tied, policy, keys), np.zeros_like(tied)
