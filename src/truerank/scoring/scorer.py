"""What a model has to offer to be evaluated: scores of (user, item) pairs."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from typing import Any

import numpy as np

from truerank._types import FloatArray, IntArray
from truerank.errors import InputError
from truerank.scoring._ids import Ids


class Scorer(ABC):
    """Base of all scorers: scores of pairs of users and items, higher is better.

    Users and items come as row numbers; the ids translate from those that tests and training data
    use. The score of a pair does not depend on what else is asked for in the same call. For a model
    of your own, `Callable` makes a scorer of any function.

    Attributes
    ----------
    user_ids : Ids
        The ids of the users in the order of their rows.
    item_ids : Ids
        The ids of the items in the order of their rows.

    Examples
    --------
    >>> scorer = tr.scoring.Dense([[0.3, 0.1, 0.2]], item_ids=["a", "b", "c"])
    >>> isinstance(scorer, tr.scoring.Scorer)
    True
    >>> scorer.item_ids.rows(["c"], "test").tolist()
    [2]
    """

    user_ids: Ids
    item_ids: Ids

    @property
    def n_items(self) -> int:
        """Number of items in the catalogue.

        Examples
        --------
        >>> tr.scoring.Dense([[0.3, 0.1, 0.2]]).n_items
        3
        """
        assert self.item_ids.n_rows is not None
        return self.item_ids.n_rows

    @property
    def label(self) -> str:
        """The name that messages use.

        Examples
        --------
        >>> tr.scoring.Dense(np.eye(3)).label
        'Dense'
        """
        return type(self).__name__

    @property
    def scores_rows(self) -> bool:
        """Whether it scores a user's whole catalogue at a time, rather than pair by pair.

        Examples
        --------
        >>> tr.scoring.Dense(np.eye(3)).scores_rows
        True
        """
        return type(self).score_all is not Scorer.score_all

    @property
    def is_matrix(self) -> bool:
        """Whether scores are computed here from vectors or a matrix, not asked of a function.

        Examples
        --------
        >>> tr.scoring.Dense(np.eye(3)).is_matrix
        True
        """
        return False

    @abstractmethod
    def score(self, users: IntArray, items: IntArray) -> FloatArray:
        """Scores of some items for each of some users.

        Parameters
        ----------
        users : ndarray of int, shape (n_users,)
            Row numbers of users.
        items : ndarray of int, shape (n_users, n)
            Row numbers of the items to score for each user.

        Returns
        -------
        ndarray of float, shape (n_users, n)
            The scores; higher is better.

        Examples
        --------
        >>> scorer = tr.scoring.Dense([[0.3, 0.1, 0.2], [0.5, 0.6, 0.4]])
        >>> scorer.score(np.array([1]), np.array([[2, 0]])).tolist()
        [[0.4, 0.5]]
        """

    def score_all(self, users: IntArray) -> FloatArray:
        """Scores of every item for each of some users.

        Parameters
        ----------
        users : ndarray of int, shape (n_users,)
            Row numbers of users.

        Returns
        -------
        ndarray of float, shape (n_users, n_items)
            The scores; higher is better.

        Examples
        --------
        >>> scorer = tr.scoring.Dense([[0.3, 0.1, 0.2], [0.5, 0.6, 0.4]])
        >>> scorer.score_all(np.array([1])).tolist()
        [[0.5, 0.6, 0.4]]
        """
        every = np.arange(self.n_items, dtype=np.int64)
        return self.score(users, np.broadcast_to(every, (users.size, self.n_items)))


def checked(
    scores: Any,
    shape: tuple[int, ...],
    who: str,
    *,
    where: Callable[[tuple[int, ...]], str] = "at {}".format,
) -> FloatArray:
    """``scores`` as `real_numbers`, or an InputError if one is NaN or infinite.

    ``where`` says in words which score is the one at an index.
    """
    array = real_numbers(scores, shape, who)
    bad = ~np.isfinite(array)
    if bad.any():
        first = tuple(int(at[0]) for at in np.nonzero(bad))
        raise InputError(
            f"{who} returned {int(bad.sum())} scores that are NaN or infinite, the first "
            f"({array[first]}) {where(first)}; such scores cannot be ranked"
        )
    return array


def real_numbers(scores: Any, shape: tuple[int, ...], who: str) -> FloatArray:
    """``scores`` as float32 (if they are) or float64, of ``shape``, or an InputError."""
    try:
        array = np.asarray(scores)
    except Exception as error:  # a torch tensor with a gradient raises RuntimeError
        raise InputError(
            f"{who} returned a {type(scores).__name__} that is no array of numbers: {error}"
        ) from error
    # Nothing is converted: texts, truth values and dates that turn into numbers are mistakes.
    if array.dtype.kind not in "iuf" or np.ma.is_masked(scores):
        masked = "masked " if np.ma.is_masked(scores) else ""
        raise InputError(
            f"{who} returned {masked}{array.dtype} ({type(scores).__name__}); scores are whole "
            "numbers or floats"
        )
    if array.shape != shape:
        raise InputError(f"{who} returned shape {array.shape}; expected {shape}")
    return array if array.dtype == np.float32 else array.astype(np.float64, copy=False)
