"""Checks of what users pass in: every failure is an InputError that names value and bound."""

from __future__ import annotations

import difflib
import importlib
from collections.abc import Iterable
from typing import Any

import numpy as np
import numpy.typing as npt

from truerank._types import IntArray
from truerank.errors import InputError, MissingExtraError

LARGEST_INT = 2**53  # beyond this a float no longer holds every integer
_LARGEST_SEED = 2**63 - 1  # what 64-bit engines keep
_SHOWN = 100  # characters of a value that messages show


def shown(value: Any) -> str:
    """A value as messages show it: on one line, cut where it is long, whatever it is."""
    try:
        text = repr(value)
    except ValueError:  # whole numbers of thousands of digits are not written out
        text = (
            f"a whole number of {value.bit_length() * 0.30103:,.0f} digits"
            if isinstance(value, int)
            else f"of type {type(value).__name__}"
        )
    except Exception:
        text = f"of type {type(value).__name__}"
    text = " ".join(text.split())
    return text if len(text) <= _SHOWN else f"{text[: _SHOWN - 20]} ... {text[-15:]}"


def seed(value: Any) -> int:
    """A seed of random draws as an int, or an InputError."""
    if isinstance(value, (float, np.floating)):
        raise InputError(f"seed is {shown(value)}; it must be a whole number, at least 0")
    return integer(value, "seed", low=0, high=_LARGEST_SEED)


def integer(value: Any, name: str, *, low: int, high: int | None = None, why: str = "") -> int:
    """``value`` as an int within [low, high], or an InputError."""
    high = LARGEST_INT if high is None else high
    bound = f"at least {low}" if high == LARGEST_INT else f"from {low} to {high}"
    whole = isinstance(value, (int, np.integer)) and not isinstance(value, bool)
    if not whole and isinstance(value, (float, np.floating)):
        whole = bool(np.isfinite(value)) and float(value).is_integer()
    if not whole:
        raise InputError(f"{name} is {shown(value)}; it must be a whole number, {bound}")
    number = int(value)
    if number > max(high, LARGEST_INT):
        most = "2**53" if high <= LARGEST_INT else "2**63 - 1"
        raise InputError(f"{name} is {shown(number)}; it must be {bound}, and at most {most}")
    if number < low or number > high:
        raise InputError(f"{name} is {shown(number)}; it must be {bound}{why and f' ({why})'}")
    return number


def real(
    value: Any, name: str, *, low: float, high: float | None = None, open_low: bool = False
) -> float:
    """``value`` as a finite float within the bounds, or an InputError."""
    bound = f"{'above' if open_low else 'at least'} {low:g}"
    bound += "" if high is None else f" and at most {high:g}"
    if isinstance(value, bool) or not isinstance(value, (int, float, np.integer, np.floating)):
        raise InputError(f"{name} is {shown(value)}; it must be a number {bound}")
    try:
        number = float(value)
    except OverflowError:
        number = np.inf
    below = number <= low if open_low else number < low
    if not np.isfinite(number) or below or (high is not None and number > high):
        raise InputError(f"{name} is {shown(value)}; it must be {bound}")
    return number


def listed(values: Any) -> list[Any]:
    """Several values as a list, one as a list of itself; a text is one."""
    if isinstance(values, (str, bytes)) or not isinstance(values, Iterable):
        return [values]
    return [values.item()] if isinstance(values, np.ndarray) and not values.ndim else list(values)


def several(values: Any, name: str) -> list[Any]:
    """Several values as a list, or an InputError; a text is one value."""
    try:
        if not isinstance(values, (str, bytes)):
            return list(values)
    except Exception:  # frames of other libraries refuse in ways of their own
        pass
    raise InputError(f"{name} is {shown(values)}; it must be a list")


def some_rows(rows: Any, n_rows: int) -> IntArray:
    """Row numbers that a mask, numbers or a slice choose, or an InputError."""
    try:
        found: IntArray = np.arange(n_rows)[rows]
    except (IndexError, ValueError, OverflowError) as error:
        raise InputError(f"rows is {shown(rows)}; {error}") from None
    return found


def numbers(values: Any, name: str) -> npt.NDArray[np.float64]:
    """``values`` as floats of any shape, or an InputError."""
    found = as_array(values, name)
    if found.dtype.kind not in "iuf":
        raise InputError(f"{name} is {shown(values)}; it must be a number or an array of numbers")
    return found.astype(np.float64, copy=False)


def numeric(values: Any, name: str) -> npt.NDArray[np.float64]:
    """``values`` as a finite 1-d float array, or an InputError with the first bad row."""
    array = _one_dimensional(values, name)
    if array.dtype.kind not in "iufOUS":  # booleans, dates and complex numbers are no counts
        raise InputError(f"{name} holds values of type {array.dtype}; it must hold numbers")
    try:
        array = array.astype(np.float64)
    except (TypeError, ValueError, OverflowError):
        row = first_bad(array)
        raise InputError(
            f"{name} holds values that are not numbers, such as {shown(array[row])} at row {row}"
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
    array = _one_dimensional(values, name)
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


def as_array(values: Any, name: str) -> npt.NDArray[Any]:
    """``values`` as an array of any kind, or an InputError."""
    try:
        return np.asarray(values)
    except (TypeError, ValueError):  # rows of different length
        raise InputError(f"{name} is nested; it must be one-dimensional") from None
    except Exception as error:  # frames of other libraries that refuse to become arrays
        raise InputError(f"{name} is {shown(values)}; it cannot be read: {error}") from None


def _one_dimensional(values: Any, name: str) -> npt.NDArray[Any]:
    array = as_array(values, name)
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


def first_bad(array: npt.NDArray[Any]) -> int:
    """Where the first element of a 1-d array that is no number stands."""
    for row, value in enumerate(array):
        try:
            float(value)
        except (TypeError, ValueError, OverflowError):
            return row
    return 0


def unknown(kind: str, value: object, known: Iterable[str]) -> InputError:
    """The error for a name that is not known, with the nearest one that is."""
    names = list(known)
    near = difflib.get_close_matches(
        value.lower() if isinstance(value, str) else shown(value), names, n=1, cutoff=0.5
    )
    hint = f"; did you mean {near[0]!r}?" if near else ""
    return InputError(f"unknown {kind} {shown(value)}{hint} (known: {', '.join(names)})")


def library(name: str, method: str) -> Any:
    """A library of tables that is not among our requirements.

    Parameters
    ----------
    name : str
        Its name.
    method : str
        What needs it, for the message.

    Returns
    -------
    module
        The library.

    Raises
    ------
    MissingExtraError
        If it is not installed.
    """
    try:
        return importlib.import_module(name)
    except ImportError as error:
        raise MissingExtraError(
            f"{method} needs {name}: pip install {name}; to_arrow and to_dict need nothing more"
        ) from error
