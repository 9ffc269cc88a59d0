"""Training and held-out interactions, and what to know about them."""

from __future__ import annotations

import functools
import json
import os
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from truerank import _arguments
from truerank.data._columns import join_ids, mask_first
from truerank.data.card import Card, SplitCard
from truerank.errors import InputError
from truerank.outcomes import tables

if TYPE_CHECKING:
    from truerank.data.interactions import Interactions

PROTOCOL_KEY = b"truerank.split"  # in the metadata of test.parquet


@dataclass(frozen=True, eq=False, repr=False)
class Split:
    """Training and held-out interactions; ``train, test = split`` works too.

    Parameters
    ----------
    train : Interactions
        What models learn from.
    test : Interactions
        What they are evaluated on.
    name : str
        Name of the dataset.
    protocol : mapping of str to Any
        How it was made, for the card; empty if that is not known.

    Examples
    --------
    >>> data = tr.data.Interactions([1, 1, 2, 2], ["a", "b", "a", "c"], [10, 20, 10, 30])
    >>> data.leave_one_out()
    Split(interactions: train of 2, test of 2 rows; 2 unseen items)
    """

    train: Interactions
    test: Interactions
    name: str = "split"
    protocol: Mapping[str, Any] = field(default_factory=dict)

    def __iter__(self) -> Iterator[Interactions]:
        return iter((self.train, self.test))

    def __repr__(self) -> str:
        what = [
            (self.users_without_targets.size, "user", " without targets"),
            (self.unseen_users.size, "unseen user", ""),
            (self.unseen_items.size, "unseen item", ""),
        ]
        notes = ", ".join(f"{n:,} {one}{'s' * (n > 1)}{more}" for n, one, more in what if n)
        return (
            f"Split({self.name}: train of {len(self.train):,}, test of {len(self.test):,} rows"
            f"{notes and '; '}{notes})"
        )

    @functools.cached_property
    def whole(self) -> Interactions:
        """Both parts as one table, training rows first.

        Examples
        --------
        >>> data = tr.data.Interactions([1, 1, 2, 2], ["a", "b", "a", "c"])
        >>> len(data.leave_one_out("random").whole)
        4
        """
        parts = (self.train, self.test)
        times = [part.timestamp for part in parts if part.timestamp is not None]
        return replace(
            self.train,
            user_id=join_ids(*(part.user_id for part in parts)),
            item_id=join_ids(*(part.item_id for part in parts)),
            timestamp=np.concatenate(times) if len(times) == 2 else None,
            name=self.name,
        )

    @property
    def user_ids(self) -> npt.NDArray[Any]:
        """The distinct users of both parts, in order.

        Examples
        --------
        >>> data = tr.data.Interactions([1, 1, 2, 2], ["a", "b", "a", "c"])
        >>> data.leave_one_out("random").user_ids.tolist()
        [1, 2]
        """
        return self.whole.user_ids

    @property
    def item_ids(self) -> npt.NDArray[Any]:
        """The catalogue: the distinct items of both parts, in order.

        Give it to models, which otherwise do not know items that occur in the test only.

        Examples
        --------
        >>> data = tr.data.Interactions([1, 1, 2, 2], ["a", "b", "a", "c"])
        >>> data.leave_one_out("random").item_ids.tolist()
        ['a', 'b', 'c']
        """
        return self.whole.item_ids

    @property
    def users_without_targets(self) -> npt.NDArray[Any]:
        """The users of the training part only, in order; evaluations do not see them.

        Examples
        --------
        >>> data = tr.data.Interactions([1, 1, 2], ["a", "b", "a"])
        >>> data.leave_one_out("random").users_without_targets.tolist()
        [2]
        """
        return self.user_ids[~self._has(self.whole._users, test=True)]

    @property
    def unseen_users(self) -> npt.NDArray[Any]:
        """The users who have targets and no training rows, in order.

        Examples
        --------
        >>> data = tr.data.Interactions([1, 1, 2], ["a", "b", "a"], [10, 20, 20])
        >>> data.split_by_time(20).unseen_users.tolist()
        [2]
        """
        return self.user_ids[~self._has(self.whole._users, test=False)]

    @property
    def unseen_items(self) -> npt.NDArray[Any]:
        """The items that occur in the test only, in order.

        Examples
        --------
        >>> data = tr.data.Interactions([1, 1, 2], ["a", "b", "a"], [10, 20, 20])
        >>> data.split_by_time(20).unseen_items.tolist()
        ['b']
        """
        return self.item_ids[~self._has(self.whole._items, test=False)]

    def _has(
        self, coded: tuple[npt.NDArray[Any], npt.NDArray[np.int64]], *, test: bool
    ) -> npt.NDArray[np.bool_]:
        """Which distinct ids (of users or items) have rows in one of the parts."""
        rows = slice(len(self.train), None) if test else slice(len(self.train))
        return np.bincount(coded[1][rows], minlength=coded[0].size) > 0

    def drop_unseen(self, *, users: bool = True, items: bool = True) -> Split:
        """Drop targets whose user or item is not in training, as some libraries do by default.

        It makes the test easier and smaller; the card says how many targets were dropped. Items
        that were among these targets only leave the catalogue, too.

        Parameters
        ----------
        users : bool
            Whether to drop the targets of users without training rows.
        items : bool
            Whether to drop targets that are unseen items.

        Returns
        -------
        Split
            With the same training part.

        Raises
        ------
        InputError
            If no target is left.

        Examples
        --------
        >>> data = tr.data.Interactions([1, 1, 1, 2], ["a", "b", "c", "a"], [10, 20, 30, 30])
        >>> data.split_by_time(30)
        Split(interactions: train of 2, test of 2 rows; 1 unseen user, 1 unseen item)
        >>> data.split_by_time(30).drop_unseen(users=False)
        Split(interactions: train of 2, test of 1 rows; 1 user without targets, 1 unseen user)
        """
        _arguments.check(Split.drop_unseen, locals())
        keep = np.ones(len(self.test), dtype=np.bool_)
        for wanted, coded in ((users, self.whole._users), (items, self.whole._items)):
            if wanted:
                keep &= self._has(coded, test=False)[coded[1][len(self.train) :]]
        if not keep.any():
            raise InputError(
                f"no target of {self.name} is left: training knows none of the "
                f"{keep.size:,}; keep them (users=False, items=False), or split otherwise"
            )
        dropped = int((~keep).sum()) + self.protocol.get("dropped", 0)
        protocol = {**self.protocol, "dropped": dropped}
        return replace(self, test=self.test.take(keep), protocol=protocol)

    def card(self) -> SplitCard:
        """The card of both parts together, with how they were split and what to look out for.

        Returns
        -------
        SplitCard
            Print it for a table.

        Examples
        --------
        >>> data = tr.data.Interactions([1, 1, 2, 2], ["a", "b", "a", "c"])
        >>> data.leave_one_out("random").card().n_targets
        2
        """
        whole, n_train = self.whole, len(self.train)
        users = whole._users[1]
        targets = np.bincount(users[n_train:], minlength=0)
        targets = targets[targets > 0]
        return SplitCard(
            **vars(whole.card()),
            protocol=self.protocol,
            n_targets=len(self.test),
            targets_per_user=Card.quantiles(targets)[::2],
            users_without_targets=self.users_without_targets.size,
            unseen_users=self.unseen_users.size,
            unseen_items=self.unseen_items.size,
            repeated_targets=int((~mask_first(users, whole._items[1])[n_train:]).sum()),
        )

    def save(self, folder: str | os.PathLike[str]) -> None:
        """Write ``train.parquet`` and ``test.parquet``, which :func:`read_split` reads.

        How the split was made is kept, too.

        Parameters
        ----------
        folder : str or path
            Where to write; made if it does not exist.

        Examples
        --------
        >>> data = tr.data.Interactions([1, 1, 2, 2], ["a", "b", "a", "c"])
        >>> data.leave_one_out("random").save("mine")
        >>> tr.data.read_split("mine")
        Split(mine: train of 2, test of 2 rows; 2 unseen items)
        """
        _arguments.check(Split.save, locals())
        Path(folder).mkdir(parents=True, exist_ok=True)
        self.train.save(Path(folder) / "train.parquet")
        notes = {PROTOCOL_KEY: json.dumps(dict(self.protocol))}
        test = self.test.to_arrow().replace_schema_metadata(notes)
        tables.write_parquet(test, Path(folder) / "test.parquet")
