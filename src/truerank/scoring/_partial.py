"""Answers that may be incomplete: what arrived of them, NaN for the rest."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import numpy.typing as npt

from truerank.errors import InputError
from truerank.scoring.scorer import checked, real_numbers


def arrived(
    answer: Any,
    shape: tuple[int, int],
    who: str,
    *,
    where: Callable[[tuple[int, ...]], str],
) -> tuple[npt.NDArray[np.float64], str]:
    """The scores of an answer, and what it lacks in words, empty if nothing.

    Parameters
    ----------
    answer : array-like
        Scores of B users with n items each. NaN and None stand for scores that did not arrive; a
        user's row may be None or too short, and the whole may be short: then none of it counts,
        since it does not tell which scores those are.
    shape : tuple of int
        (B, n).
    who : str
        Who answered, for messages.
    where : callable
        Which score is the one at an index, in words.

    Returns
    -------
    tuple of (ndarray of float64, shape (B, n); str)
        NaN where there is no score.

    Raises
    ------
    InputError
        If the answer is wrong in a way that it would be again: no numbers, infinite ones, more
        than were asked for.
    """
    scores, lack = _filled(answer, shape, who)
    missing = np.isnan(scores)
    if not missing.any():
        return checked(scores, shape, who, where=where).astype(np.float64, copy=False), ""
    checked(np.where(missing, 0.0, scores), shape, who, where=where)
    first = tuple(int(at[0]) for at in np.nonzero(missing))
    some = f"{int(missing.sum())} of {missing.size} scores are NaN or missing, the first (nan) "
    return scores.astype(np.float64), lack or f"{some}{where(first)}"


def _filled(answer: Any, shape: tuple[int, int], who: str) -> tuple[npt.NDArray[Any], str]:
    """The answer as an array of the right shape, NaN where something is missing."""
    rows = _rows(answer)
    if rows is None:
        found = _numbers(answer, who)
        if found.shape == shape:
            return found, ""
        # A short answer: of the right kind, with less in it than was asked for.
        if found.ndim == 2 and all(np.less_equal(found.shape, shape)):
            return np.full(shape, np.nan), f"it returned shape {found.shape}; expected {shape}"
        return checked(found, shape, who), ""  # raises: expected another shape
    if len(rows) > shape[0]:
        raise InputError(
            f"{who} returned a list that is no array of numbers: it has {len(rows)} rows; expected "
            f"{shape[0]}"
        )
    if len(rows) < shape[0]:
        return np.full(shape, np.nan), f"it returned {len(rows)} rows; expected {shape[0]}"
    scores = np.full(shape, np.nan)
    lack = ""
    for number, row in enumerate(rows):
        if row is None:
            continue
        values = _numbers([np.nan if one is None else one for one in row], who)
        if values.shape == shape[1:]:
            scores[number] = values
        elif values.ndim == 1 and values.size < shape[1]:
            lack = f"row {number} has {values.size} scores instead of {shape[1]}"
        else:
            raise InputError(
                f"{who} returned shape {values.shape} for one user; expected {shape[1:]}"
            )
    return scores, lack


def _rows(answer: Any) -> list[Any] | None:
    """The rows of an answer that is a list of lists with gaps; None if it is a plain array."""
    if not isinstance(answer, (list, tuple)):
        return None
    if not all(row is None or isinstance(row, (list, tuple, np.ndarray)) for row in answer):
        return None
    if not answer:
        return []
    lengths = {-1 if row is None else len(row) for row in answer}
    gaps = any(one is None for row in answer if isinstance(row, (list, tuple)) for one in row)
    return list(answer) if len(lengths) > 1 or -1 in lengths or gaps else None


def _numbers(answer: Any, who: str) -> npt.NDArray[Any]:
    """The answer as numbers of whatever shape, or an InputError."""
    try:
        shape = np.shape(answer)
    except Exception:  # an object that refuses: the check below says so
        shape = ()
    return real_numbers(answer, shape, who)
