"""Users and items as vectors: the score is their dot product."""

from __future__ import annotations

import copy
from typing import Any, Self

import numpy as np
import numpy.typing as npt

from truerank import _arguments, _checks
from truerank._types import FloatArray, IntArray
from truerank.errors import InputError
from truerank.scoring._ids import Ids
from truerank.scoring.scorer import Scorer

# A dot product is summed in this many lanes, each in order, then pairwise: an order that vector
# units like and that numpy and numba can both follow to the bit.
LANES = 16
_GATHER = 2**22  # elements gathered at a time
_ROWS = 2**14  # checked at a time: factors may be memory-mapped


class Factors(Scorer):
    """Users and items as vectors: the score of a pair is their dot product.

    Parameters
    ----------
    user_factors : array-like of float, shape (n_users, d)
        Vectors of the users, float32 or float64; may be memory-mapped, or a tensor of torch.
    item_factors : array-like of float, shape (n_items, d)
        Vectors of the items, float32 or float64; may be memory-mapped, or a tensor of torch. If it
        is on a GPU (CUDA), exact ranks are counted there, block by block, the same ones.
    item_biases : array-like of float, shape (n_items,), optional
        Added to the scores. Biases of users are not needed: they cannot change a rank.
    cosine : bool
        Scale all vectors to unit length first.
    user_ids : array-like, optional
        The ids of the users, in the order of the rows; row numbers if not given.
    item_ids : array-like, optional
        The ids of the items, in the order of the rows; row numbers if not given.

    Raises
    ------
    InputError
        If shapes do not match, or values are NaN, infinite or so large that scores overflow.

    Examples
    --------
    >>> scorer = tr.scoring.Factors([[1.0, 2.0]], [[1.0, 0.0], [0.0, 1.0], [1.0, 1.0]])
    >>> scorer.score_all(np.array([0])).tolist()
    [[1.0, 2.0, 3.0]]
    """

    def __init__(
        self,
        user_factors: Any,
        item_factors: Any,
        *,
        item_biases: Any = None,
        cosine: bool = False,
        user_ids: Any = None,
        item_ids: Any = None,
    ) -> None:
        _arguments.check(Factors.__init__, locals())
        users, items = (
            _vectors(user_factors, "user_factors"),
            _vectors(item_factors, "item_factors"),
        )
        _check_width(users, items.shape[1])
        if items.shape[0] < 2:
            raise InputError(
                f"item_factors has {items.shape[0]} rows; ranking needs at least 2 items"
            )
        # Of items on a GPU, where exact ranks are counted then.
        self.device: Any = item_factors.device if getattr(item_factors, "is_cuda", False) else None
        kind = np.result_type(users, items)
        self._dimensions, self._cosine, self._biased = items.shape[1], cosine, False
        if cosine:
            items = _unit_rows(items)
        if item_biases is not None:
            self._biased = True
            with np.errstate(over="ignore"):  # _check_range tells
                bias = _checks.numeric(item_biases, "item_biases").astype(kind)
            if bias.shape != (items.shape[0],):
                raise InputError(
                    f"item_biases has shape {bias.shape}; expected ({items.shape[0]},)"
                )
            items = np.concatenate([items, bias[:, None]], axis=1)
        self.item_factors = _aligned(items, kind)
        self._longest_item = _longest(self.item_factors)
        self.item_ids = Ids("item", items.shape[0], item_ids)
        self._take_users(users, user_ids)

    def with_users(self, user_factors: Any, *, user_ids: Any = None) -> Self:
        """The same items with other users; the items are not prepared a second time.

        Parameters
        ----------
        user_factors : array-like of float, shape (n_users, d)
            Vectors of the users, of no higher precision than the present scores.
        user_ids : array-like, optional
            The ids of the users, in the order of the rows; row numbers if not given.

        Returns
        -------
        Factors
            A scorer of the new users.

        Raises
        ------
        InputError
            If the vectors are of another length, or float64 where scores are float32.

        Examples
        --------
        >>> scorer = tr.scoring.Factors([[1.0, 2.0]], [[1.0, 0.0], [0.0, 1.0]])
        >>> scorer.with_users([[3.0, 4.0]]).score_all(np.array([0])).tolist()
        [[3.0, 4.0]]
        """
        users = _vectors(user_factors, "user_factors")
        _check_width(users, self._dimensions)
        kind = self.item_factors.dtype
        if np.result_type(users, kind) != kind:
            raise InputError(f"user_factors are {users.dtype}, but scores here are {kind}")
        other = copy.copy(self)
        other.device = self.device
        other._take_users(users, user_ids)
        return other

    def __getstate__(self) -> dict[str, Any]:
        """Without the device, which another process or machine need not have."""
        return self.__dict__ | {"device": None}

    def _take_users(self, users: npt.NDArray[Any], user_ids: Any) -> None:
        kind = self.item_factors.dtype
        if self._cosine:
            users = _unit_rows(users)
        if self._biased:
            users = np.concatenate([users, np.ones((users.shape[0], 1), kind)], axis=1)
        self.user_factors = _aligned(users, kind)
        _check_range(_longest(self.user_factors), self._longest_item, kind)
        self.user_ids = Ids("user", users.shape[0], user_ids)

    @property
    def is_matrix(self) -> bool:
        # What overrides `score` is no longer what its fields say.
        return type(self).score is Factors.score

    def score(self, users: IntArray, items: IntArray) -> FloatArray:
        users, items = np.asarray(users), np.asarray(items)
        scores = np.empty(items.shape, dtype=self.item_factors.dtype)
        width = self.item_factors.shape[1]
        step = max(1, _GATHER // max(1, items.shape[1] * width))
        for begin in range(0, users.size, step):
            at = slice(begin, begin + step)
            scores[at] = lane_dot(
                self.user_factors[users[at]][:, None, :], self.item_factors[items[at]]
            )
        return scores


def lane_dot(a: npt.NDArray[Any], b: npt.NDArray[Any]) -> npt.NDArray[Any]:
    """Dot products over the last axis (a multiple of LANES long), in the fixed order of lanes."""
    total = a[..., :LANES] * b[..., :LANES]
    for begin in range(LANES, b.shape[-1], LANES):
        total += a[..., begin : begin + LANES] * b[..., begin : begin + LANES]
    width = LANES
    while width > 1:
        width //= 2
        total = total[..., :width] + total[..., width : 2 * width]
    return np.asarray(total[..., 0])


def row_norms(array: npt.NDArray[Any]) -> npt.NDArray[Any]:
    """Euclidean lengths of rows, 0 for rows of zeros only."""
    info = np.finfo(array.dtype)
    with np.errstate(over="ignore", under="ignore"):
        squares = np.einsum("ij,ij->i", array, array)
    norms = np.asarray(np.sqrt(squares))
    unsafe = ~((squares > info.tiny / info.eps) & (squares < info.max))
    if unsafe.any():  # squares that overflow or vanish
        norms[unsafe] = np.linalg.norm(_scaled(array[unsafe]), axis=1) * _largest(array[unsafe])
    return norms


def _largest(array: npt.NDArray[Any]) -> npt.NDArray[Any]:
    return np.asarray(np.maximum(array.max(axis=1), -array.min(axis=1)))


def _scaled(array: npt.NDArray[Any]) -> npt.NDArray[Any]:
    """Rows with 1 as their largest absolute value."""
    largest = _largest(array)[:, None]
    return np.asarray(array / np.where(largest > 0, largest, 1))


def _vectors(values: Any, name: str) -> npt.NDArray[Any]:
    try:
        array = values if isinstance(values, np.ndarray) else np.asarray(_detached(values))
    except (TypeError, ValueError) as error:  # rows of different length
        raise InputError(f"{name} cannot be read as a matrix: {error}") from None
    if array.ndim != 2 or 0 in array.shape:
        raise InputError(f"{name} has shape {array.shape}; expected (rows, dimensions)")
    if array.dtype.kind not in "iuf":
        raise InputError(f"{name} is of type {array.dtype}; it must hold numbers")
    if array.dtype not in (np.float32, np.float64):
        array = array.astype(np.float32 if array.dtype == np.float16 else np.float64)
    _check_finite(array, name)
    return array


def _detached(values: Any) -> Any:
    """Tensors of torch, parameters in training and those on a GPU too, as numpy reads them."""
    if not hasattr(values, "detach"):
        return values
    values = values.detach().cpu()
    return values.float() if "float16" in str(values.dtype) else values  # bfloat16 too


def _check_finite(array: npt.NDArray[Any], name: str) -> None:
    for begin in range(0, array.shape[0], _ROWS):
        bad = ~np.isfinite(array[begin : begin + _ROWS]).all(axis=1)
        if bad.any():
            row = begin + int(np.argmax(bad))
            raise InputError(f"{name} has NaN or infinite values, the first in row {row}")


def _check_width(users: npt.NDArray[Any], n_dimensions: int) -> None:
    if users.shape[1] != n_dimensions:
        raise InputError(
            f"user_factors have {users.shape[1]} dimensions and item_factors {n_dimensions}"
        )


def _longest(array: npt.NDArray[Any]) -> float:
    with np.errstate(over="ignore", invalid="ignore"):
        parts = (array[i : i + _ROWS] for i in range(0, array.shape[0], _ROWS))
        return max(float(row_norms(part).max()) for part in parts)


def _check_range(longest_user: float, longest_item: float, kind: Any) -> None:
    """No sum on the way to a score exceeds the product of the lengths (Cauchy-Schwarz)."""
    if not longest_user * longest_item < float(np.finfo(kind).max) / 4:
        raise InputError(
            f"user_factors and item_factors have lengths of up to {longest_user:.3g} and "
            f"{longest_item:.3g}: scores can overflow {kind}; scale them down, which changes "
            "no rank, or give float64"
        )


def _unit_rows(array: npt.NDArray[Any]) -> npt.NDArray[Any]:
    units = np.empty(array.shape, dtype=array.dtype)
    for begin in range(0, array.shape[0], _ROWS):
        part = _scaled(array[begin : begin + _ROWS])
        length = row_norms(part)[:, None]
        units[begin : begin + _ROWS] = part / np.where(length > 0, length, 1)
    return units


def _aligned(array: npt.NDArray[Any], kind: Any) -> npt.NDArray[Any]:
    """C-ordered, of one type, zero-padded to whole lanes; as it is if it is so already."""
    missing = -array.shape[1] % LANES
    if missing == 0:
        return np.ascontiguousarray(array, dtype=kind)
    padded = np.zeros((array.shape[0], array.shape[1] + missing), dtype=kind)
    padded[:, : array.shape[1]] = array
    return padded
