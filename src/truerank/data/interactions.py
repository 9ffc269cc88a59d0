"""Who had what, and when: the table that models learn from and evaluations hold out of."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, Literal, TypeAlias

import numpy as np

from truerank import _arguments, _checks
from truerank.data import _hold_out
from truerank.data._columns import InteractionColumns, begins, mask_first
from truerank.data.card import Card
from truerank.data.split import Split
from truerank.errors import InputError

__all__ = ["Interactions", "LeaveOut", "Split", "TooFew"]

LeaveOut: TypeAlias = Literal["last", "random"]
TooFew: TypeAlias = Literal["train", "refuse"]


@dataclass(frozen=True, eq=False, repr=False)
class Interactions(InteractionColumns):
    """Who interacted with what and when, one pair of user and item per row.

    Every library that reads Arrow takes it as a table, and so does every function of truerank that
    takes test or training data.

    Parameters
    ----------
    user_id : array-like of int or str, shape (n_rows,)
        The user of each row.
    item_id : array-like of int or str, shape (n_rows,)
        The item of each row.
    timestamp : array-like of int, float or datetime64, shape (n_rows,), optional
        When; larger is later. Dates are held as microseconds since 1970.
    name : str
        Name of the dataset, for cards and messages.

    Examples
    --------
    >>> data = tr.data.Interactions([1, 1, 2, 2], ["a", "b", "a", "c"], [10, 20, 10, 30])
    >>> data
    Interactions(interactions: 4 rows of 2 users and 3 items, with timestamps)
    >>> train, test = data.leave_one_out()
    >>> test.item_id.tolist()
    ['b', 'c']
    """

    def distinct(self) -> Interactions:
        """Each pair of user and item once, at its earliest time, in the order of the rows.

        Returns
        -------
        Interactions
            Without repeated pairs.

        Examples
        --------
        >>> data = tr.data.Interactions([1, 1, 1], ["a", "a", "b"], [20, 10, 30])
        >>> data.distinct().timestamp.tolist()
        [10, 30]
        """
        users, items = self._users[1], self._items[1]
        times = np.zeros(len(self)) if self.timestamp is None else self.timestamp
        order = np.lexsort([times, items, users])  # stable: of equal times the first row
        return self.take(np.sort(order[begins(users[order], items[order])]))

    def k_core(self, k: int, *, items: int | None = None) -> Interactions:
        """Only users with at least ``k`` items and items with at least ``k`` users.

        Removing users takes partners from items and the other way round; it is repeated until all
        who are left have enough. A pair that occurs several times counts once.

        Parameters
        ----------
        k : int
            The least number of items per user, and of users per item.
        items : int, optional
            Another bound for items; ``items=1`` filters users only.

        Returns
        -------
        Interactions
            The largest set of rows with that property.

        Raises
        ------
        InputError
            If nothing is left.

        Examples
        --------
        >>> data = tr.data.Interactions([1, 1, 2, 2, 3], ["a", "b", "a", "b", "c"])
        >>> data.k_core(2)
        Interactions(interactions: 4 rows of 2 users and 2 items)
        """
        _arguments.check(Interactions.k_core, locals())
        least = (
            _checks.integer(k, "k", low=1),
            _checks.integer(k if items is None else items, "items", low=1),
        )
        codes = (self._users[1], self._items[1])
        pairs = np.flatnonzero(mask_first(*codes))
        sizes = (self.n_users, self.n_items)
        while True:
            partners = [
                np.bincount(code[pairs], minlength=size)
                for code, size in zip(codes, sizes, strict=True)
            ]
            stays = [count >= low for count, low in zip(partners, least, strict=True)]
            keep = stays[0][codes[0][pairs]] & stays[1][codes[1][pairs]]
            if keep.all():
                break
            pairs = pairs[keep]
        if not pairs.size:
            raise InputError(
                f"nothing of {self.name} is left: no users with at least {least[0]} items among "
                f"items with at least {least[1]} users; ask for less"
            )
        return self.take(stays[0][codes[0]] & stays[1][codes[1]])

    # --- splits: each pair is in training or in the test --------------------------------------

    def leave_one_out(
        self, how: LeaveOut = "last", *, seed: int = 0, too_few: TooFew = "train"
    ) -> Split:
        """Hold out one row of every user who has two or more.

        What is held out depends on the user's own rows and the seed only, not on the order of the
        rows or on other users.

        Parameters
        ----------
        how : {"last", "random"}
            The latest row by time (among equal times one at random), or a row at random.
        seed : int
            Seed of all random choices.
        too_few : {"train", "refuse"}
            Users with a single row keep it in training and have no target, which the card counts;
            or they are refused.

        Returns
        -------
        Split
            Training and held-out rows.

        Raises
        ------
        InputError
            If there are no timestamps for ``"last"``, pairs that occur several times, or no user
            with two rows.

        Examples
        --------
        >>> data = tr.data.Interactions([1, 1, 2, 2], ["a", "b", "a", "c"], [10, 20, 10, 30])
        >>> data.leave_one_out().test.item_id.tolist()
        ['b', 'c']
        """
        _arguments.check(Interactions.leave_one_out, locals())
        split = self.leave_k_out(1, how, seed=seed, too_few=too_few)
        protocol = {"split": "leave-one-out", "how": how, "seed": split.protocol["seed"]}
        return replace(split, protocol=protocol)

    def leave_k_out(
        self, k: int, how: LeaveOut = "last", *, seed: int = 0, too_few: TooFew = "train"
    ) -> Split:
        """Hold out ``k`` rows of every user who has more than ``k``.

        What is held out depends on the user's own rows and the seed only. Of users with enough
        rows, a larger ``k`` holds out what a smaller one does, and more.

        Parameters
        ----------
        k : int
            How many rows of a user; at least 1.
        how : {"last", "random"}
            The latest rows by time (among equal times at random), or rows at random.
        seed : int
            Seed of all random choices.
        too_few : {"train", "refuse"}
            Users with ``k`` rows or less keep them in training and have no targets, which the card
            counts; or they are refused.

        Returns
        -------
        Split
            Training and held-out rows.

        Raises
        ------
        InputError
            If there are no timestamps for ``"last"``, pairs that occur several times, or no user
            with more than ``k`` rows.

        Examples
        --------
        >>> data = tr.data.Interactions([1, 1, 1, 2], ["a", "b", "c", "a"], [10, 20, 30, 10])
        >>> data.leave_k_out(2)
        Split(interactions: train of 2, test of 2 rows; 1 user without targets, 2 unseen items)
        """
        _arguments.check(Interactions.leave_k_out, locals())
        k = _checks.integer(k, "k", low=1)
        _hold_out.check_how(self, how)
        _hold_out.check_pairs(self)
        size = _hold_out.sizes(self, k + 1, too_few)
        held_out = _hold_out.last_of_users(self, np.where(size > k, k, 0), how, seed)
        return self._split(held_out, {"split": "leave-k-out", "k": k, "how": how, "seed": seed})

    def split_per_user(
        self, share: float, how: LeaveOut = "random", *, seed: int = 0, too_few: TooFew = "train"
    ) -> Split:
        """Hold out a share of the rows of every user who has two or more.

        Of n rows, ``share`` x n are held out, rounded down, but at least one. What is held out
        depends on the user's own rows and the seed only. A larger share holds out what a smaller
        one does, and more.

        Parameters
        ----------
        share : float
            Share of a user's rows, above 0 and below 1.
        how : {"last", "random"}
            Rows at random, or the latest by time (among equal times at random).
        seed : int
            Seed of all random choices.
        too_few : {"train", "refuse"}
            Users with a single row keep it in training and have no targets, which the card counts;
            or they are refused.

        Returns
        -------
        Split
            Training and held-out rows.

        Raises
        ------
        InputError
            If there are no timestamps for ``"last"``, pairs that occur several times, or no user
            with two rows.

        Examples
        --------
        >>> data = tr.data.Interactions([1] * 10 + [2] * 5, [*range(10), *range(5)])
        >>> data.split_per_user(0.2).test.user_id.tolist()
        [1, 1, 2]
        """
        _arguments.check(Interactions.split_per_user, locals())
        share = _hold_out.check_share(share)
        _hold_out.check_how(self, how)
        _hold_out.check_pairs(self)
        size = _hold_out.sizes(self, 2, too_few)
        held_out = _hold_out.last_of_users(self, _hold_out.share_of(share, size), how, seed)
        return self._split(
            held_out, {"split": "per-user", "share": share, "how": how, "seed": seed}
        )

    def split_random(self, share: float, *, seed: int = 0) -> Split:
        """Hold out a share of all rows at random, regardless of user.

        ``share`` x the number of rows are held out, rounded down, but at least one. Some users may
        have no targets and some no training rows: the card counts both.

        Parameters
        ----------
        share : float
            Share of all rows, above 0 and below 1.
        seed : int
            Seed of all random choices.

        Returns
        -------
        Split
            Training and held-out rows.

        Raises
        ------
        InputError
            If there are pairs that occur several times, or less than two rows.

        Examples
        --------
        >>> data = tr.data.Interactions([1] * 10 + [2] * 5, [*range(10), *range(5)])
        >>> split = data.split_random(0.2, seed=1)
        >>> len(split.train), len(split.test)
        (12, 3)
        """
        _arguments.check(Interactions.split_random, locals())
        share = _hold_out.check_share(share)
        _hold_out.check_pairs(self)
        if len(self) < 2:
            raise InputError(f"{self.name} has {len(self)} rows; a split needs two or more")
        held_out = _hold_out.any_rows(self, int(_hold_out.share_of(share, len(self))), seed)
        return self._split(held_out, {"split": "random", "share": share, "seed": seed})

    def split_by_time(self, time: Any = None, *, share: float | None = None) -> Split:
        """Hold out all rows from a time on: every test row is later than every training row.

        Rows of one time stay together, so nothing is left to chance and there is no seed. Some
        users may have no targets and some no training rows: the card counts both.

        Parameters
        ----------
        time : int, float, str or date, optional
            The first time of the test. Dates are for data whose times came as dates.
        share : float, optional
            Instead of a time, the share of all rows to hold out, above 0 and below 1; the time is
            chosen such that the test comes as near to it as equal times allow.

        Returns
        -------
        Split
            Training and held-out rows.

        Raises
        ------
        InputError
            If there are no timestamps, pairs that occur several times, or nothing before or after
            the time.

        Examples
        --------
        >>> data = tr.data.Interactions([1, 1, 2, 2], ["a", "b", "a", "c"], [10, 20, 10, 30])
        >>> data.split_by_time(30)
        Split(interactions: train of 3, test of 1 rows; 1 user without targets, 1 unseen item)
        >>> data.split_by_time(share=0.5).protocol["time"]
        20
        """
        _arguments.check(Interactions.split_by_time, locals())
        cut = _hold_out.first_time(self, time, share)
        _hold_out.check_pairs(self)
        protocol = {"split": "by-time", "time": cut}
        protocol |= {} if share is None else {"share": float(share)}
        return self._split(np.asarray(self.timestamp) >= cut, protocol)

    def _split(self, held_out: _hold_out.Mask, protocol: Mapping[str, Any]) -> Split:
        return Split(
            train=replace(self.take(~held_out), name=f"{self.name} train"),
            test=replace(self.take(held_out), name=f"{self.name} test"),
            name=self.name,
            protocol={key: int(v) if key == "seed" else v for key, v in protocol.items()},
        )

    def card(self) -> Card:
        """Size, sparsity and how the interactions are spread.

        Returns
        -------
        Card
            Print it for a table.

        Examples
        --------
        >>> tr.data.Interactions([1, 1, 2], ["a", "b", "a"]).card().n_pairs
        3
        """
        pairs = mask_first(self._users[1], self._items[1])
        return Card(
            name=self.name,
            n_interactions=len(self),
            n_pairs=int(pairs.sum()),
            n_users=self.n_users,
            n_items=self.n_items,
            per_user=Card.quantiles(np.bincount(self._users[1])),
            per_item=Card.quantiles(np.bincount(self._items[1])),
        )
