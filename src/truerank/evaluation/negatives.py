"""Negatives of test rows, whoever drew them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from truerank._types import IntArray


@dataclass(frozen=True)
class Negatives:
    """Negatives of test rows in CSR form: those of row i are item[start[i]:start[i + 1]].

    Attributes
    ----------
    user_id, target : array
        User and target of each row, shape (n_rows,).
    start : array of int
        Where the negatives of each row begin, shape (n_rows + 1,).
    item : array
        The negatives of all rows.
    """

    user_id: npt.NDArray[Any]
    target: npt.NDArray[Any]
    start: IntArray
    item: npt.NDArray[Any]

    @property
    def row(self) -> IntArray:
        """The test row of each negative.

        Returns
        -------
        array of int
            0-based, of the shape of ``item``.
        """
        return np.repeat(np.arange(self.user_id.size), np.diff(self.start))
