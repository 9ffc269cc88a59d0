"""What every model shares: how interactions come in and what `fit` promises."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import Any, Generic, TypeVar

import numpy as np
import numpy.typing as npt
from scipy import sparse

from truerank import _arguments, _checks
from truerank._types import IntArray
from truerank.errors import InputError
from truerank.progress import Progress
from truerank.scoring._ids import Ids
from truerank.scoring.scorer import Scorer
from truerank.scoring.task import interactions

Fitted = TypeVar("Fitted", bound=Scorer, covariant=True)


@dataclass(frozen=True)
class TrainMatrix:
    """Who had what: a matrix of zeros and ones, and the ids of its rows and columns.

    Attributes
    ----------
    matrix : scipy.sparse.csr_array, shape (n_users, n_items)
        float64, every stored value 1, indices sorted.
    user_ids : ndarray or None
        The ids of the rows; None where they are the row numbers themselves.
    item_ids : ndarray or None
        The ids of the columns; None where they are the column numbers themselves.
    """

    matrix: Any
    user_ids: npt.NDArray[Any] | None
    item_ids: npt.NDArray[Any] | None

    @property
    def n_users(self) -> int:
        """Number of users, those without interactions included."""
        return int(self.matrix.shape[0])

    @property
    def n_items(self) -> int:
        """Number of items in the catalogue."""
        return int(self.matrix.shape[1])


class Model(ABC, Generic[Fitted]):
    """Hyper-parameters of a model; `fit` turns them and interactions into a scorer.

    Examples
    --------
    >>> model = tr.models.ItemKNN(neighbours=50)
    >>> isinstance(model, tr.models.Model)
    True
    """

    def fit(
        self,
        train: Any,
        *,
        user_ids: Any = None,
        item_ids: Any = None,
        n_users: int | None = None,
        n_items: int | None = None,
        seed: int = 0,
        progress: Progress = None,
    ) -> Fitted:
        """Learn from interactions; the model itself stays as it is.

        Parameters
        ----------
        train : table, pair or sparse matrix
            A table with user and item columns, a pair (user_ids, item_ids) or a scipy sparse
            matrix of users by items. Only who had what counts: a pair given twice counts once,
            and the values of a matrix are ignored.
        user_ids : array-like, optional
            Users to know beside those in ``train``. With a sparse matrix, the ids of its rows.
        item_ids : array-like, optional
            Items to know beside those in ``train``, so that a held-out item that nobody had in
            training is part of the catalogue. With a sparse matrix, the ids of its columns.
        n_users : int, optional
            Instead of ``user_ids``: users are the row numbers 0 to n_users - 1.
        n_items : int, optional
            Instead of ``item_ids``: items are the row numbers 0 to n_items - 1.
        seed : int
            Seed of all random draws in the fit.
        progress : callable or bool, optional
            None shows a bar on a terminal if the fit takes long, False shows nothing; a function
            is called with (steps done, steps in all).

        Returns
        -------
        Scorer
            For all users and items known, in the order of their ids. Users without interactions
            have the same score for all items, except where items differ in themselves.

        Raises
        ------
        InputError
            If ``train`` is empty or its ids contradict the options.

        Examples
        --------
        >>> train = ([1, 1, 2, 2, 3], ["a", "b", "a", "c", "a"])
        >>> scorer = tr.models.Popularity().fit(train, item_ids=["d"])
        >>> scorer.score_all(np.array([0])).tolist()
        [[3.0, 1.0, 1.0, 0.0]]
        """
        _arguments.check(Model.fit, locals())
        data = read(train, user_ids=user_ids, item_ids=item_ids, n_users=n_users, n_items=n_items)
        return self._fit(data, seed=seed, progress=progress)

    @abstractmethod
    def _fit(self, data: TrainMatrix, *, seed: int, progress: Progress) -> Fitted:
        """Learn from checked interactions."""


def read(
    train: Any,
    *,
    user_ids: Any = None,
    item_ids: Any = None,
    n_users: int | None = None,
    n_items: int | None = None,
) -> TrainMatrix:
    """Check interactions and lay them out as a matrix; see `Model.fit`."""
    user_id, item_id = interactions(train, "train")
    if not user_id.size:
        raise InputError("train is empty; there is nothing to learn from")
    shape: tuple[int | None, int | None] = (None, None)
    if hasattr(train, "tocoo"):
        if (train.tocoo().data == 0).any():
            raise InputError("train has stored zeros; call its eliminate_zeros() first")
        shape = train.shape
    users, user_values, rows = _rows("user", user_id, user_ids, n_users, shape[0])
    items, item_values, columns = _rows("item", item_id, item_ids, n_items, shape[1])
    if columns < 2:
        raise InputError(f"train has {columns} item; ranking needs a catalogue of at least 2")
    matrix = sparse.csr_array((np.ones(users.size), (users, items)), shape=(rows, columns))
    matrix.sum_duplicates()
    matrix.data[:] = 1.0
    return TrainMatrix(matrix, user_values, item_values)


def _rows(
    kind: str, ids: npt.NDArray[Any], more: Any, n: int | None, n_matrix: int | None
) -> tuple[IntArray, npt.NDArray[Any] | None, int]:
    """Row numbers of ``ids``, the ids of the rows (None if they are the numbers), how many.

    ``n_matrix`` is the number of rows or columns if ``ids`` come from a sparse matrix.
    """
    if n is not None and more is not None:
        raise InputError(f"both {kind}_ids= and n_{kind}s= are given; the ids say how many")
    if n is not None or (n_matrix is not None and more is None):
        least = n_matrix or 1
        n = _checks.integer(
            least if n is None else n, f"n_{kind}s", low=least, why=f"train has {least} {kind}s"
        )
        return Ids(kind, n).rows(ids, "train"), None, n
    if n_matrix is not None:
        values = _checks.ids(more, f"{kind}_ids")
        Ids(kind, n_matrix, values)  # for its checks
        return ids, values, n_matrix
    values = _distinct(ids, f"{kind}_ids of train")
    if more is not None:
        extra = _distinct(more, f"{kind}_ids")
        if extra.size and values.dtype.kind != extra.dtype.kind:
            raise InputError(
                f"{kind} ids of train are {values.dtype}, those of {kind}_ids= {extra.dtype}: "
                "give both as numbers or both as strings"
            )
        values = np.union1d(values, extra) if extra.size else values
    numbered = values.dtype.kind == "i" and np.array_equal(values, np.arange(values.size))
    known = Ids(kind, values.size, None if numbered else values)
    return known.rows(ids, "train"), None if numbered else values, values.size


def _distinct(ids: Any, name: str) -> npt.NDArray[Any]:
    """Distinct ids in order, int64 or strings."""
    values = _checks.ids(ids, name)
    ordered = np.sort(values if values.dtype.kind == "U" else _checks.whole_numbers(values, name))
    first = np.ones(ordered.size, dtype=np.bool_)
    np.not_equal(ordered[1:], ordered[:-1], out=first[1:])
    return np.asarray(ordered[first])
