"""The item side of an evaluation that is spread over machines: vectors, or a whole scorer."""

from __future__ import annotations

import os
from typing import Any

import numpy as np
import numpy.typing as npt

from truerank import _npy
from truerank.errors import InputError
from truerank.scoring.factors import Factors
from truerank.scoring.scorer import Scorer


class Items:
    """Item vectors, which are multiplied by users' vectors, or a scorer that knows the users.

    Parameters
    ----------
    source : array, str, path or Scorer
        Item vectors, shape (n_items, d), as a numpy array, which is sent to every worker, or as the
        path of an .npy file that every worker can read, which is memory-mapped; or any
        `truerank.scoring.Scorer` that pickles.
    item_ids : array, optional
        The ids of the vectors in their order; row numbers if not given.
    item_biases : array, optional
        One number per item, added to its scores.
    cosine : bool, default False
        Whether vectors are scaled to unit length.

    Examples
    --------
    >>> import numpy as np
    >>> from truerank.engines import Items
    >>> Items(np.eye(3)).n_items
    3
    """

    def __init__(
        self, source: Any, *, item_ids: Any = None, item_biases: Any = None, cosine: bool = False
    ) -> None:
        self._options = {"item_ids": item_ids, "item_biases": item_biases, "cosine": cosine}
        self._source = source
        self._factors: Factors | None = None
        self.needs_vectors = not isinstance(source, Scorer)
        if not self.needs_vectors:
            said = [k for k, v in self._options.items() if v is not None and v is not False]
            if said:
                raise InputError(
                    f"{said[0]} is given, but the items are a scorer, which has its own"
                )
            self.n_items = source.n_items
        elif isinstance(source, (str, os.PathLike)):
            self._source = os.fspath(source)
            self.n_items = int(_mapped(self._source).shape[0])
        else:
            self._source = np.asarray(source)
            # Before anything is sent anywhere: what is wrong with the vectors shows here.
            self._factors = self._built(np.dtype(np.float32))
            self.n_items = self._factors.n_items

    def scorer(self, users: npt.NDArray[Any], vectors: npt.NDArray[Any] | None) -> Scorer:
        """A scorer for at least these users, made from their vectors if it needs them.

        Parameters
        ----------
        users : array
            User ids, shape (n_users,).
        vectors : array or None
            Their vectors, shape (n_users, d).

        Returns
        -------
        Scorer
            The scorer.

        Examples
        --------
        >>> tr.spark.Items(np.eye(3)).scorer(np.array([7]), np.ones((1, 3))).n_items
        3
        """
        if vectors is None:
            found: Scorer = self._source
            return found
        kind = vectors.dtype
        if self._factors is None or np.result_type(self._factors.item_factors, kind) != (
            self._factors.item_factors.dtype
        ):
            self._factors = self._built(kind)
        return self._factors.with_users(vectors, user_ids=users)

    def _built(self, kind: Any) -> Factors:
        items = self._source
        if isinstance(items, str):
            items = _mapped(items)
        if items.ndim != 2:
            raise InputError(f"item_factors has shape {items.shape}; expected (items, dimensions)")
        return Factors(np.zeros((1, items.shape[1]), kind), items, **self._options)

    @classmethod
    def of(cls, source: Any) -> Items:
        """``source`` if these are items already, else `Items` of it.

        Parameters
        ----------
        source : Items, array, str, path or Scorer
            What a verb was given.

        Returns
        -------
        Items
            The items.

        Examples
        --------
        >>> tr.spark.Items.of(np.eye(3)).n_items
        3
        """
        return source if isinstance(source, cls) else cls(source)

    def __getstate__(self) -> dict[str, Any]:
        return {**self.__dict__, "_factors": None}


def _mapped(path: str) -> npt.NDArray[Any]:
    array = _npy.mapped(path)
    if array.ndim != 2:
        raise InputError(f"item vectors {path}: shape {array.shape}; expected (items, dimensions)")
    return array
