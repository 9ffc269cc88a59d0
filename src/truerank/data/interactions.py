"""Who had what, and when: the table that models learn from and evaluations hold out of."""

from __future__ import annotations

import functools
import os
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Literal, TypeAlias

import numpy as np
import numpy.typing as npt

from truerank import _checks, rng
from truerank._types import IntArray
from truerank.data.card import Card
from truerank.errors import InputError
from truerank.outcomes import tables

LeaveOut: TypeAlias = Literal["last", "random"]


@dataclass(frozen=True, eq=False, repr=False)
class Interactions:
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

    user_id: npt.NDArray[Any]
    item_id: npt.NDArray[Any]
    timestamp: npt.NDArray[Any] | None = None
    name: str = "interactions"

    def __post_init__(self) -> None:
        for column in ("user_id", "item_id"):
            values = _checks.ids(getattr(self, column), f"{column} of {self.name}")
            if values.dtype.kind != "U":
                values = _checks.whole_numbers(values, f"{column} of {self.name}")
            object.__setattr__(self, column, values)
        columns = {"user_id": self.user_id, "item_id": self.item_id}
        if self.timestamp is not None:
            times = _times(self.timestamp, f"timestamp of {self.name}")
            object.__setattr__(self, "timestamp", times)
            columns["timestamp"] = times
        lengths = {column: values.size for column, values in columns.items()}
        if len(set(lengths.values())) > 1:
            raise InputError(f"{self.name} has columns of different length: {lengths}")

    def __len__(self) -> int:
        return int(self.user_id.size)

    def __repr__(self) -> str:
        times = "" if self.timestamp is None else ", with timestamps"
        return (
            f"Interactions({self.name}: {len(self):,} rows of {self.n_users:,} users and "
            f"{self.n_items:,} items{times})"
        )

    @functools.cached_property
    def _users(self) -> tuple[npt.NDArray[Any], IntArray]:
        """Distinct user ids in order, and the place of each row's user among them."""
        values, code = np.unique(self.user_id, return_inverse=True)
        return values, code.reshape(-1)

    @functools.cached_property
    def _items(self) -> tuple[npt.NDArray[Any], IntArray]:
        values, code = np.unique(self.item_id, return_inverse=True)
        return values, code.reshape(-1)

    @property
    def user_ids(self) -> npt.NDArray[Any]:
        """The distinct user ids, in order.

        Examples
        --------
        >>> tr.data.Interactions([1, 1, 2, 2], ["a", "b", "a", "c"]).user_ids.tolist()
        [1, 2]
        """
        return self._users[0]

    @property
    def item_ids(self) -> npt.NDArray[Any]:
        """The distinct item ids, in order.

        Examples
        --------
        >>> tr.data.Interactions([1, 1, 2, 2], ["a", "b", "a", "c"]).item_ids.tolist()
        ['a', 'b', 'c']
        """
        return self._items[0]

    @property
    def n_users(self) -> int:
        """Number of distinct users.

        Examples
        --------
        >>> tr.data.Interactions([1, 1, 2, 2], ["a", "b", "a", "c"]).n_users
        2
        """
        return int(self.user_ids.size)

    @property
    def n_items(self) -> int:
        """Number of distinct items.

        Examples
        --------
        >>> tr.data.Interactions([1, 1, 2, 2], ["a", "b", "a", "c"]).n_items
        3
        """
        return int(self.item_ids.size)

    # --- other forms --------------------------------------------------------------------------

    def to_arrow(self) -> Any:
        """The rows as a pyarrow table.

        Returns
        -------
        pyarrow.Table
            Columns ``user_id``, ``item_id`` and, if known, ``timestamp``.

        Examples
        --------
        >>> tr.data.Interactions([1, 1], ["a", "b"]).to_arrow().to_pydict()
        {'user_id': [1, 1], 'item_id': ['a', 'b']}
        """
        import pyarrow as pa

        columns = {"user_id": pa.array(self.user_id), "item_id": pa.array(self.item_id)}
        if self.timestamp is not None:
            columns["timestamp"] = pa.array(self.timestamp)
        return pa.table(columns)

    def __arrow_c_stream__(self, requested_schema: object | None = None) -> object:
        """The Arrow stream by which other libraries take this as a table."""
        return self.to_arrow().__arrow_c_stream__(requested_schema)

    def to_pandas(self) -> Any:
        """The rows as a pandas DataFrame.

        Returns
        -------
        pandas.DataFrame
            With the columns of :meth:`to_arrow`.

        Examples
        --------
        >>> tr.data.Interactions([1, 1], ["a", "b"]).to_pandas()
           user_id item_id
        0        1       a
        1        1       b
        """
        return self.to_arrow().to_pandas()

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write a Parquet file, which :func:`read` reads.

        Parameters
        ----------
        path : str or path
            Where to write.

        Examples
        --------
        >>> tr.data.Interactions([1, 2], ["a", "b"]).save("data.parquet")
        >>> tr.data.read("data.parquet")
        Interactions(data: 2 rows of 2 users and 2 items)
        """
        import pyarrow.parquet as pq

        with tables.replacing(path) as temporary:
            pq.write_table(self.to_arrow(), temporary)

    # --- smaller ones -------------------------------------------------------------------------

    def take(self, rows: Any) -> Interactions:
        """Some of the rows.

        Parameters
        ----------
        rows : array-like of bool or int, or slice
            A mask of shape (n_rows,), or row numbers.

        Returns
        -------
        Interactions
            These rows, under the same name.

        Examples
        --------
        >>> tr.data.Interactions([1, 1, 2], ["a", "b", "a"]).take([0, 2]).user_id.tolist()
        [1, 2]
        """
        times = None if self.timestamp is None else self.timestamp[rows]
        return replace(
            self, user_id=self.user_id[rows], item_id=self.item_id[rows], timestamp=times
        )

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
        return self.take(np.sort(order[_first(users[order], items[order])]))

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
        least = (
            _checks.integer(k, "k", low=1),
            _checks.integer(k if items is None else items, "items", low=1),
        )
        codes = (self._users[1], self._items[1])
        pairs = np.flatnonzero(_mask_first(*codes))
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

    def leave_one_out(self, how: LeaveOut = "last", *, seed: int = 0) -> Split:
        """Hold out one row of every user who has two or more.

        Users with a single row keep it in training. What is held out depends on the user's own rows
        and the seed only, not on the order of the rows or on other users.

        Parameters
        ----------
        how : {"last", "random"}
            The latest row by time (among equal times one at random), or a row at random.
        seed : int
            Seed of all random choices.

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
        if how not in ("last", "random"):
            raise _checks.unknown("way to leave one out", how, ("last", "random"))
        if how == "last" and self.timestamp is None:
            raise InputError(
                f'{self.name} has no timestamps; leave one out at random (how="random"), or give '
                "a timestamp column"
            )
        users, items = self._users[1], self._items[1]
        repeats = len(self) - int(_mask_first(users, items).sum())
        if repeats:
            raise InputError(
                f"{self.name} has {repeats} rows that repeat an earlier pair of user and item: the "
                "held-out item could be among the training items; call distinct() first"
            )
        # A random word for each pair: the user's key, and the item's as the number of the draw.
        words = rng.draws(rng.user_keys(self.user_id, seed), rng.user_keys(self.item_id, 0))
        times = self.timestamp if how == "last" else None
        order = np.lexsort([items, words, np.zeros(len(self)) if times is None else times, users])
        last = order[np.append(users[order][1:] != users[order][:-1], True)[: len(self)]]
        last = last[np.bincount(users)[users[last]] > 1]
        if not last.size:
            raise InputError(f"no user of {self.name} has two interactions; nothing to leave out")
        held_out = np.zeros(len(self), dtype=np.bool_)
        held_out[last] = True
        return Split(
            train=replace(self.take(~held_out), name=f"{self.name} train"),
            test=replace(self.take(held_out), name=f"{self.name} test"),
            name=self.name,
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
        pairs = _mask_first(self._users[1], self._items[1])
        return Card(
            name=self.name,
            n_interactions=len(self),
            n_pairs=int(pairs.sum()),
            n_users=self.n_users,
            n_items=self.n_items,
            per_user=Card.quantiles(np.bincount(self._users[1])),
            per_item=Card.quantiles(np.bincount(self._items[1])),
        )


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

    Examples
    --------
    >>> data = tr.data.Interactions([1, 1, 2, 2], ["a", "b", "a", "c"], [10, 20, 10, 30])
    >>> data.leave_one_out()
    Split(interactions: train of 2, test of 2 rows)
    """

    train: Interactions
    test: Interactions
    name: str = "split"

    def __iter__(self) -> Iterator[Interactions]:
        return iter((self.train, self.test))

    def __repr__(self) -> str:
        return f"Split({self.name}: train of {len(self.train):,}, test of {len(self.test):,} rows)"

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
        return Interactions(
            join_ids(*(part.user_id for part in parts)),
            join_ids(*(part.item_id for part in parts)),
            np.concatenate(times) if len(times) == 2 else None,
            self.name,
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

    def card(self) -> Card:
        """The card of both parts together, with the number of held-out rows.

        Returns
        -------
        Card
            Print it for a table.

        Examples
        --------
        >>> data = tr.data.Interactions([1, 1, 2, 2], ["a", "b", "a", "c"])
        >>> data.leave_one_out("random").card().n_test
        2
        """
        return replace(self.whole.card(), n_test=len(self.test))

    def save(self, folder: str | os.PathLike[str]) -> None:
        """Write ``train.parquet`` and ``test.parquet``, which :func:`read_split` reads.

        Parameters
        ----------
        folder : str or path
            Where to write; made if it does not exist.

        Examples
        --------
        >>> data = tr.data.Interactions([1, 1, 2, 2], ["a", "b", "a", "c"])
        >>> data.leave_one_out("random").save("mine")
        >>> tr.data.read_split("mine")
        Split(mine: train of 2, test of 2 rows)
        """
        Path(folder).mkdir(parents=True, exist_ok=True)
        self.train.save(Path(folder) / "train.parquet")
        self.test.save(Path(folder) / "test.parquet")


def join_ids(*parts: npt.NDArray[Any]) -> npt.NDArray[Any]:
    """Ids one after another; as strings if some of them are."""
    if any(part.dtype.kind == "U" for part in parts):
        parts = tuple(part.astype(np.str_) for part in parts)
    return np.concatenate(parts)


def _times(values: Any, name: str) -> npt.NDArray[Any]:
    times = np.asarray(values)
    if times.dtype.kind == "M":
        if np.isnat(times).any():
            row = int(np.argmax(np.isnat(times)))
            raise InputError(f"{name} is missing at row {row}; every row needs one, or none")
        return times.astype("datetime64[us]").astype(np.int64)
    if times.dtype.kind in "iu" and times.ndim == 1:
        return times.astype(np.int64)
    return _checks.numeric(times, name)


def _first(users: IntArray, items: IntArray) -> npt.NDArray[np.bool_]:
    """Which rows, sorted by user and item, begin a new pair."""
    new = np.ones(users.size, dtype=np.bool_)
    new[1:] = (users[1:] != users[:-1]) | (items[1:] != items[:-1])
    return new


def _mask_first(users: IntArray, items: IntArray) -> npt.NDArray[np.bool_]:
    """Which rows are the first of their pair, in the order of the rows."""
    order = np.lexsort([items, users])
    mask = np.zeros(users.size, dtype=np.bool_)
    mask[order[_first(users[order], items[order])]] = True
    return mask
