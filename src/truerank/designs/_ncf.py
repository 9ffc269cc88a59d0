"""Text files of negatives in the way of NCF: ``(user,item)<tab>negative<tab>negative...``."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from truerank.errors import InputError

_PAIR = re.compile(r"\(\s*([^\s(),]+)\s*,\s*([^\s(),]+)\s*\)")
_NUMBER = re.compile(r"-?[0-9]{1,18}")


def read(path: Path) -> tuple[list[str], list[str], list[list[str]]]:
    """Users, targets and lists of negatives, one a line; an InputError names a bad line."""
    try:
        text = path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise InputError(f"{path} cannot be read: {error}") from None
    line_of: dict[tuple[str, str], int] = {}
    lists = []
    for number, line in enumerate(text.split("\n"), start=1):
        if not line.strip():
            continue
        first, *rest = line.rstrip("\r\t ").split("\t")
        pair = _PAIR.fullmatch(first.strip())
        if pair is None:
            raise InputError(
                f"{path}, line {number} begins with {first[:40]!r}; expected '(user,item)' and "
                "then negatives, separated by tabs"
            )
        negatives = [item.strip() for item in rest]
        if not negatives or not all(negatives):
            what = "an empty negative" if negatives else "no negatives"
            raise InputError(f"{path}, line {number} has {what}")
        key = pair[1], pair[2]
        if key in line_of:
            raise InputError(f"{path}, line {number} repeats {first} of line {line_of[key]}")
        line_of[key] = number
        lists.append(negatives)
    if not lists:
        raise InputError(f"{path} is empty; there are no negatives in it")
    return [user for user, _ in line_of], [item for _, item in line_of], lists


def ids(texts: list[str]) -> npt.NDArray[Any]:
    """Numbers if all texts spell one, else texts."""
    if all(_NUMBER.fullmatch(text) for text in texts):
        return np.array(texts, dtype=np.int64)
    return np.array(texts, dtype=np.str_)
