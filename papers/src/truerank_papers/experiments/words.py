"""Sentences made of results: lists, ranges and counts in words.

Notes of experiments say what came out of the run; these spell its numbers out.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from itertools import pairwise

import numpy as np
import numpy.typing as npt


def listed(parts: Iterable[object], joint: str = "and") -> str:
    """Join words to a list.

    Parameters
    ----------
    parts
        The words, or what is written as one.
    joint
        What stands before the last.

    Returns
    -------
    str
        Such as ``a, b and c``; "none" of no words.

    Examples
    --------
    >>> listed(["a", "b", "c"])
    'a, b and c'
    """
    *most, last = map(str, parts) if (parts := list(parts)) else ["none"]
    return f"{', '.join(most)} {joint} {last}" if most else last


def code(names: Iterable[str], joint: str = "and") -> str:
    """Join names, set as code, to a list.

    Parameters
    ----------
    names
        Names of estimators, mappings or metrics.
    joint
        What stands before the last.

    Returns
    -------
    str
        Such as ```mle` and `mes```.

    Examples
    --------
    >>> code(["mle", "mes"])
    '`mle` and `mes`'
    """
    return listed([f"`{name}`" for name in names], joint)


def numbered(values: Mapping[str, float], digits: int, *, sort: bool = False) -> str:
    """Name values, such as errors by estimator.

    Parameters
    ----------
    values
        The values by name.
    digits
        Digits after the point.
    sort
        Whether the smallest comes first; else they come as they are.

    Returns
    -------
    str
        Such as ```mle` 0.12, `mes` 0.34``.

    Examples
    --------
    >>> numbered({"mle": 2.0, "mes": 1.5}, 1, sort=True)
    '`mes` 1.5, `mle` 2.0'
    """
    names = sorted(values, key=lambda name: values[name]) if sort else list(values)
    return ", ".join(f"`{name}` {values[name]:.{digits}f}" for name in names)


def share(part: int, whole: int, what: str) -> str:
    """Say how many of some things.

    Parameters
    ----------
    part, whole
        How many, and of how many.
    what
        What they are, in the plural.

    Returns
    -------
    str
        Such as ``3 of 5 rows``, ``all 5 rows`` or ``none of 5 rows``.

    Examples
    --------
    >>> share(5, 5, "rows"), share(0, 5, "rows")
    ('all 5 rows', 'none of 5 rows')
    """
    if part == whole:
        return f"all {whole:,} {what}"
    return f"{part:,} of {whole:,} {what}" if part else f"none of {whole:,} {what}"


def spans(numbers: Iterable[int]) -> str:
    """Write whole numbers as ranges.

    Parameters
    ----------
    numbers
        Whole numbers in order, each once.

    Returns
    -------
    str
        Such as ``1 to 4, 7 and 9``; "none" of no numbers.

    Examples
    --------
    >>> spans([1, 2, 3, 4, 7, 9])
    '1 to 4, 7 and 9'
    """
    runs: list[list[int]] = []
    for number in numbers:
        if runs and number == runs[-1][-1] + 1:
            runs[-1].append(number)
        else:
            runs.append([number])
    return listed([f"{run[0]} to {run[-1]}" if run[1:] else run[0] for run in runs])


def between(values: Iterable[float] | npt.NDArray[np.float64], digits: int) -> str:
    """Write the smallest and the largest of some values.

    Parameters
    ----------
    values
        At least one.
    digits
        Digits after the point.

    Returns
    -------
    str
        Such as ``0.1 to 0.3``, or one number if both read the same.

    Examples
    --------
    >>> between([0.31, 0.1, 0.2], 1)
    '0.1 to 0.3'
    """
    found = list(values)
    low, high = (f"{end:,.{digits}f}" for end in (min(found), max(found)))
    return low if low == high else f"{low} to {high}"


def order(values: Mapping[str, float]) -> str:
    """Write names by their values, the largest first.

    Parameters
    ----------
    values
        The values by name.

    Returns
    -------
    str
        Such as ``A, C, B``; names that tie are joined by an equals sign.

    Examples
    --------
    >>> order({"A": 1.0, "B": 3.0, "C": 1.0})
    'B, A = C'
    """
    names = sorted(values, key=lambda name: -values[name])
    text = names[0]
    for before, name in pairwise(names):
        text += (" = " if values[before] == values[name] else ", ") + name
    return text


def moved(distance: float) -> str:
    """Say how far something moves.

    Parameters
    ----------
    distance
        Its largest distance.

    Returns
    -------
    str
        Such as ``moves by up to 0.02``; "does not move" if that is rounding error.

    Examples
    --------
    >>> moved(1e-15), moved(0.02)
    ('does not move', 'moves by up to 0.02')
    """
    return "does not move" if distance < 1e-9 else f"moves by up to {distance:.2g}"


def with_printed(ours: str | None, printed: str | None) -> str:
    """Set our number beside the printed one.

    Parameters
    ----------
    ours, printed
        The two as texts; None where there is none.

    Returns
    -------
    str
        Such as ``0.3 (printed: 0.4)``.

    Examples
    --------
    >>> with_printed("0.3", "0.4"), with_printed("0.3", None), with_printed(None, "0.4")
    ('0.3 (printed: 0.4)', '0.3', 'not at hand (printed: 0.4)')
    """
    return (ours or "not at hand") + (f" (printed: {printed})" if printed else "")
