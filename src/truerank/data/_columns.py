"""The columns of interactions: what they hold, their ids, and the forms they take elsewhere."""

from __future__ import annotations

import functools
import os
from dataclasses import dataclass, replace
from typing import Any, Self

import numpy as np
import numpy.typing as npt

from truerank import _arguments, _checks
from truerank._types import IntArray
from truerank.errors import InputError
from truerank.outcomes import tables


@dataclass(frozen=True, eq=False, repr=False)
class InteractionColumns:
    """What Interactions hold; see there."""

    user_id: npt.NDArray[Any]
    item_id: npt.NDArray[Any]
    timestamp: npt.NDArray[Any] | None = None
    name: str = "interactions"

    def __post_init__(self) -> None:
        _arguments.check_fields(self)
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
        _checks.library("pandas", "to_pandas")
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
        _arguments.check(InteractionColumns.save, locals())
        tables.write_parquet(self.to_arrow(), path)

    def take(self, rows: Any) -> Self:
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
        kept = _checks.some_rows(rows, len(self))
        times = None if self.timestamp is None else self.timestamp[kept]
        return replace(
            self, user_id=self.user_id[kept], item_id=self.item_id[kept], timestamp=times
        )


def join_ids(*parts: npt.NDArray[Any]) -> npt.NDArray[Any]:
    """Ids one after another; as strings if some of them are."""
    if any(part.dtype.kind == "U" for part in parts):
        parts = tuple(part.astype(np.str_) for part in parts)
    return np.concatenate(parts)


def begins(users: IntArray, items: IntArray) -> npt.NDArray[np.bool_]:
    """Which rows, sorted by user and item, begin a new pair."""
    new = np.ones(users.size, dtype=np.bool_)
    new[1:] = (users[1:] != users[:-1]) | (items[1:] != items[:-1])
    return new


def mask_first(users: IntArray, items: IntArray) -> npt.NDArray[np.bool_]:
    """Which rows are the first of their pair, in the order of the rows."""
    order = np.lexsort([items, users])
    mask = np.zeros(users.size, dtype=np.bool_)
    mask[order[begins(users[order], items[order])]] = True
    return mask


def _times(values: Any, name: str) -> npt.NDArray[Any]:
    times = _checks.as_array(values, name)
    if times.dtype.kind == "M":
        if np.isnat(times).any():
            row = int(np.argmax(np.isnat(times)))
            raise InputError(f"{name} is missing at row {row}; every row needs one, or none")
        return times.astype("datetime64[us]").astype(np.int64)
    if times.dtype.kind in "iu" and times.ndim == 1:
        return times.astype(np.int64)
    return _checks.numeric(times, name)
