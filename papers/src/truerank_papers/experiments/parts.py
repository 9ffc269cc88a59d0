"""Long runs in parts: each is kept as it finishes, and found again by its content."""

from __future__ import annotations

import hashlib
import inspect
import json
from collections.abc import Callable, Mapping
from functools import cache
from importlib import resources
from pathlib import Path
from typing import Any

import numpy as np

from truerank._types import FloatArray, IntArray
from truerank.models._kept import load_arrays, save_arrays, told_damaged

PART = 10  # repeats that a killed run may lose

# What turns samples into estimates: kept numbers are those of this very code.
_CODE = (
    "designs", "estimators", "inference/intervals", "inference/planning", "mapping.py",
    "metrics.py", "outcomes",
)  # fmt: skip


def digest(content: Any, *functions: Callable[..., Any]) -> str:
    """Digest JSON-like content and the source files of functions.

    Parameters
    ----------
    content
        Numbers, strings, lists and dicts.
    *functions
        Functions whose files count.

    Returns
    -------
    str
        16 hexadecimal digits.
    """
    found = hashlib.sha256(json.dumps(content, sort_keys=True).encode())
    for function in functions:
        found.update(inspect.getsource(inspect.getmodule(function) or function).encode())
    return found.hexdigest()[:16]


def array_digest(*arrays: IntArray) -> str:
    """Digest the shapes and contents of arrays.

    Parameters
    ----------
    *arrays
        Arrays of numbers or of strings.

    Returns
    -------
    str
        16 hexadecimal digits.
    """
    found = hashlib.sha256()
    for array in arrays:
        raw = "\0".join(array.tolist()) if array.dtype.kind == "U" else None
        found.update(f"{array.dtype.kind}{array.shape}".encode())
        found.update(np.ascontiguousarray(array).tobytes() if raw is None else raw.encode())
    return found.hexdigest()[:16]


@cache
def code_digest() -> str:
    """Digest the code of truerank that turns samples into estimates.

    Returns
    -------
    str
        16 hexadecimal digits.
    """
    root = Path(str(resources.files("truerank")))
    found = hashlib.sha256()
    for name in _CODE:
        place = root / name
        for file in sorted(place.rglob("*.py")) if place.is_dir() else [place]:
            found.update(file.read_bytes())
    return found.hexdigest()[:16]


def in_parts(
    folder: Path,
    repeats: int,
    function: Callable[[int, int], FloatArray],
    *,
    part: int = PART,
    advance: Callable[[int], object],
) -> FloatArray:
    """Call a function for all repeats, part by part; parts that are kept are not done again.

    Parameters
    ----------
    folder
        Where parts are kept; it is made if need be.
    repeats
        Number of repeats.
    function
        ``function(first, last)`` gives an array of shape (last - first, ...) that depends on the
        numbers of the repeats only.
    part
        Number of repeats per part.
    advance
        Called with the number of repeats just done, or found done.

    Returns
    -------
    ndarray
        Shape (repeats, ...).
    """
    found = []
    for first in range(0, repeats, part):
        last = min(first + part, repeats)
        kept = kept_arrays(
            folder / f"{first}-{last}.npz",
            lambda first=first, last=last: {"values": function(first, last)},  # type: ignore[misc]
        )
        found.append(kept["values"])
        advance(last - first)
    return np.concatenate(found)


def kept_arrays(path: Path, function: Callable[[], Mapping[str, Any]]) -> dict[str, Any]:
    """Read arrays from a file; if there is none, or it is damaged, compute and keep them.

    Parameters
    ----------
    path
        The file, in numpy's npz format.
    function
        Gives the arrays by name.

    Returns
    -------
    dict
        Arrays by name.
    """
    if path.exists():
        try:
            return load_arrays(path)
        except Exception as error:  # archives fail in many ways
            told_damaged(path, error, "it is made again")
    found = function()
    save_arrays(path, found)
    return dict(found)
