"""Text files of negatives as other tools write them.

Lines ``(user,item)<tab>negative...`` as NCF's, ``(user,)<tab>negative...`` as Elliot's, and tables
with labels, as RecBole's.
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from truerank import _files
from truerank.errors import InputError

_PAIR = re.compile(r"\(\s*([^\s(),]+)\s*,\s*([^\s(),]*)\s*\)")
_LABELLED = {
    "user": ("user_id", "userid", "user"),
    "item": ("item_id", "itemid", "item"),
    "label": ("label",),
}
_NUMBER = re.compile(r"-?[0-9]{1,18}")


def read(path: Path) -> tuple[list[str], list[str], list[list[str]]]:
    """Users, targets and lists of negatives, one a line; an InputError names a bad line.

    There are no targets where lines name users alone: ``(user,)``.
    """
    text = content(path)
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
        if line_of and (not pair[2]) != (not next(iter(line_of))[1]):
            raise InputError(
                f"{path}, line {number} begins with {first[:40]!r}, unlike the lines before it: "
                "name the target, '(user,item)', in all lines or in none, '(user,)'"
            )
        line_of[key] = number
        lists.append(negatives)
    if not lists:
        raise InputError(f"{path} is empty; there are no negatives in it")
    return [user for user, _ in line_of], [item for _, item in line_of if item], lists


def content(path: Path) -> str:
    """The text of a file."""
    _files.check_file(path)
    try:
        return path.read_text(encoding="utf-8-sig")
    except (OSError, UnicodeDecodeError) as error:
        raise InputError(f"{path} cannot be read: {error}") from None


def labelled(path: Path) -> tuple[list[str], list[str], list[list[str]]]:
    """The same from rows of user, item and label: targets have labels above 0, negatives 0.

    RecBole's ``.inter`` files are such, with types behind the names of columns:
    ``user_id:token``. Every target of a user is ranked among all its negatives.
    """
    lines = [line for line in content(path).split("\n") if line.strip()]
    separator = next((mark for mark in ("\t", ",", ";") if lines and mark in lines[0]), "\t")
    names = [
        name.strip().split(":")[0].lower() for name in (lines[0] if lines else "").split(separator)
    ]
    columns = {}
    for role, known in _LABELLED.items():
        found = [names.index(name) for name in known if name in names]
        if not found:
            raise InputError(
                f"{path} is no file of negatives: it begins neither with '(user,item)' nor with "
                f"columns user_id, item_id and label (found: {', '.join(names) or 'nothing'})"
            )
        columns[role] = found[0]
    targets: dict[str, list[str]] = {}
    negatives: dict[str, list[str]] = {}
    for number, line in enumerate(lines[1:], start=2):
        cells = [cell.strip() for cell in line.rstrip("\r").split(separator)]
        try:
            user, item, label = (cells[columns[role]] for role in _LABELLED)
            positive = float(label) > 0
        except (IndexError, ValueError):
            raise InputError(
                f"{path}, line {number} is {line[:60]!r}; a label must be a number"
            ) from None
        (targets if positive else negatives).setdefault(user, []).append(item)
    for user in [*targets, *negatives]:
        if user not in negatives or user not in targets:
            lacks = "no negatives (label 0)" if user in targets else "no target (label 1)"
            raise InputError(f"{path}: user {user} has {lacks}; leave the user out of the file")
    rows = [(user, item) for user, items in targets.items() for item in items]
    return (
        [user for user, _ in rows],
        [item for _, item in rows],
        [negatives[user] for user, _ in rows],
    )


def ids(texts: list[str]) -> npt.NDArray[Any]:
    """Numbers if all texts spell one, else texts."""
    if all(_NUMBER.fullmatch(text) for text in texts):
        return np.array(texts, dtype=np.int64)
    return np.array(texts, dtype=np.str_)
