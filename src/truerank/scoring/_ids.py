"""Ids as users know them, rows as arrays hold them."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from truerank import _checks
from truerank._types import IntArray
from truerank.errors import InputError


class Ids:
    """The ids of users or items in the order of their rows; row numbers themselves by default."""

    def __init__(self, kind: str, n_rows: int | None, values: Any = None) -> None:
        self.kind = kind
        self._values: npt.NDArray[Any] | None = None
        if values is None:
            self.n_rows = n_rows
            return
        self._values = _checks.ids(values, f"{kind}_ids")
        self.n_rows = int(self._values.size)
        if n_rows is not None and self.n_rows != n_rows:
            raise InputError(f"{kind}_ids has {self.n_rows} ids; there are {n_rows} {kind}s")
        self._order = np.argsort(self._values, kind="stable")
        self._sorted = self._values[self._order]
        twice = self._sorted[1:] == self._sorted[:-1]
        if twice.any():
            value = self._sorted[1:][twice][0]
            raise InputError(f"{kind}_ids has {value} more than once")

    def rows(self, ids: Any, where: str) -> IntArray:
        """Row numbers of ids; unknown ones are an InputError that says how many and which."""
        given = _checks.ids(ids, f"{self.kind}_ids of {where}")
        if self._values is None:
            rows = _checks.whole_numbers(given, f"{self.kind}_id of {where}")
            if given.dtype.kind == "U" and (odd := rows.astype(given.dtype) != given).any():
                raise InputError(
                    f"{self.kind} id {str(given[np.argmax(odd)])!r} of {where} is no row number as "
                    f"it is written; give {self.kind}_ids= to the scorer for ids that are texts"
                )
            known = rows >= 0
            if self.n_rows is not None:
                known &= rows < self.n_rows
        else:
            if (given.dtype.kind in "iu") != (self._sorted.dtype.kind in "iu"):
                raise InputError(
                    f"{self.kind} ids of {where} are {given.dtype}, those of the scorer "
                    f"{self._sorted.dtype}: give both as numbers or both as strings"
                )
            if not self._sorted.size:
                raise InputError(f"{self.kind}_ids is empty; the scorer knows no {self.kind}")
            at = np.minimum(np.searchsorted(self._sorted, given), self._sorted.size - 1)
            known = self._sorted[at] == given
            rows = self._order[at]
        if not known.all():
            unknown = np.unique(given[~known])
            some = ", ".join(map(str, unknown[:5].tolist())) + (", ..." if unknown.size > 5 else "")
            have = (
                ""
                if self._values is not None or self.n_rows is None
                else (f" (rows 0 to {self.n_rows - 1}; give {self.kind}_ids= if yours are others)")
            )
            raise InputError(
                f"{unknown.size} {self.kind} ids of {where} are unknown to the scorer: {some}{have}"
            )
        return rows.astype(np.int64)

    def values(self, rows: IntArray) -> npt.NDArray[Any]:
        """The ids of rows."""
        return rows if self._values is None else self._values[rows]
