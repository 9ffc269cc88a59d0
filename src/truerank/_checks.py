"""Checks of what users pass in: every failure is an InputError that names value and bound."""

from __future__ import annotations

import difflib
from collections.abc import Iterable
from typing import Any

import numpy as np
import numpy.typing as npt

from truerank._types import IntArray
from truerank.errors import InputError

LARGEST_INT = 2**53  # beyond this a float no longer holds every integer


def integer(value: Any, name: str, *, low: int, high: int | None = None, why: str = "") -> int:
    """``value`` as an int within [low, high], or an InputError."""
    high = LARGEST_INT if high is None else high
    bound = f"at least {low}" if high == LARGEST_INT else f"from {low} to {high}"
    whole = isinstance(value, (int, np.integer)) and not isinstance(value, bool)
    if not whole and isinstance(value, (float, np.floating)):
        whole = bool(np.isfinite(value)) and float(value).is_integer()
    if not whole:
        raise InputError(f"{name} is {value!r}; it must be a whole number, {bound}")
    number = int(value)
    if number > LARGEST_INT:
        raise InputError(f"{name} is {number}; it must be {bound}, and at most 2**53")
    if number < low or number > high:
        raise InputError(f"{name} is {number}; it must be {bound}{why and f' ({why})'}")
    return number


def real(
    value: Any, name: str, *, low: float, high: float | None = None, open_low: bool = False
) -> float:
    """``value`` as a finite float within the bounds, or an InputError."""
    bound = f"{'above' if open_low else 'at least'} {low:g}"
    bound += "" if high is None else f" and at most {high:g}"
    if isinstance(value, bool) or not isinstance(value, (int, float, np.integer, np.floating)):
        raise InputError(f"{name} is {value!r}; it must be a number {bound}")
    try:
        number = float(value)
    except OverflowError:
        number = np.inf
    below = number <= low if open_low else number < low
    if not np.isfinite(number) or below or (high is not None and number > high):
        raise InputError(f"{name} is {value!r}; it must be {bound}")
    return number


def numeric(values: Any, name: str) -> npt.NDArray[np.float64]:
    """``values`` as a finite 1-d float array, or an InputError with the first bad row."""
    array = _one_dimensional(values, name)
    if array.dtype.kind not in "iufOUS":  # booleans, dates and complex numbers are no counts
        raise InputError(f"{name} holds values of type {array.dtype}; it must hold numbers")
    try:
        array = array.astype(np.float64)
    except (TypeError, ValueError, OverflowError):
        raise InputError(
            f"{name} holds values that are not numbers, such as {first_bad(array)!r}"
        ) from None
    if not np.isfinite(array).all():
        row = int(np.flatnonzero(~np.isfinite(array))[0])
        raise InputError(f"{name} is {array[row]} at row {row}; it must be a finite number")
    return array


def whole_numbers(values: Any, name: str) -> IntArray:
    """``values`` as a 1-d int64 array, or an InputError with the first bad row."""
    array = _one_dimensional(values, name)
    if array.dtype.kind not in "iu":
        array = numeric(values, name)
    bad = (array != np.floor(array)) | (array > LARGEST_INT) | (array < -LARGEST_INT)
    if bad.any():
        row = int(np.flatnonzero(bad)[0])
        raise InputError(
            f"{name} is {array[row]} at row {row}; it must be a whole number of at most 2**53"
        )
    return array.astype(np.int64)


def ids(values: Any, name: str) -> npt.NDArray[Any]:
    """Ids as a 1-d array of integers or strings."""
    array = np.asarray(values)
    if array.ndim != 1:
        raise InputError(f"{name} has shape {array.shape}; it must be one-dimensional")
    if array.dtype.kind == "O":
        items = array.tolist()
        if any(item is None or item != item for item in items):
            raise InputError(f"{name} has missing values")
        if all(isinstance(item, str) for item in items):
            return array.astype(np.str_)
        return whole_numbers(array, name)
    if array.dtype.kind == "f":
        return whole_numbers(array, name)
    if array.dtype.kind not in "iuUST":
        raise InputError(f"{name} are of type {array.dtype}; they must be whole numbers or strings")
    return array.astype(np.str_) if array.dtype.kind in "ST" else array


def _one_dimensional(values: Any, name: str) -> npt.NDArray[Any]:
    try:
        array = np.asarray(values)
    except (TypeError, ValueError):  # rows of different length
        raise InputError(f"{name} is nested; it must be one-dimensional") from None
    if array.ndim != 1:
        raise InputError(f"{name} has shape {array.shape}; it must be one-dimensional")
    if np.ma.is_masked(values):
        row = int(np.argmax(np.ma.getmaskarray(values)))
        raise InputError(f"{name} is masked at row {row}; missing values are not allowed")
    return array


def per_row(values: Any, name: str, n_rows: int, *, low: int = 1, why: str = "") -> IntArray:
    """A scalar (at least ``low``) or one value per row, as int64 of shape (n_rows,)."""
    if isinstance(values, np.ndarray) and values.ndim == 0:
        values = values.item()
    if np.isscalar(values) or values is None:
        return np.full(n_rows, integer(values, name, low=low, why=why), dtype=np.int64)
    array = whole_numbers(values, name)
    if array.shape[0] != n_rows:
        raise InputError(f"{name} has {array.shape[0]} values; there are {n_rows} ranks")
    return array


def within(values: IntArray, name: str, *, low: int, high: Any, because: str) -> None:
    """Raise with the first row of ``values`` outside [low, high]; ``because`` says the bound."""
    bad = (values < low) | (values > high)
    if bad.any():
        row = int(np.flatnonzero(bad)[0])
        raise InputError(f"{name} is {values[row]} at row {row}; {because}")


def first_bad(array: npt.NDArray[Any]) -> Any:
    """The first element of an object array that is no number."""
    for value in array.ravel():
        try:
            float(value)
        except (TypeError, ValueError, OverflowError):
            return value
    return array.ravel()[0]


def unknown(kind: str, value: object, known: Iterable[str]) -> InputError:
    """The error for a name that is not known, with the nearest one that is."""
    names = list(known)
    near = difflib.get_close_matches(str(value).lower(), names, n=1, cutoff=0.5)
    hint = f"; did you mean {near[0]!r}?" if near else ""
    return InputError(f"unknown {kind} {value!r}{hint} (known: {', '.join(names)})")
