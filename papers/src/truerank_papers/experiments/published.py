"""The papers' printed numbers, kept as CSV files in ``published/PAPER/NAME.csv``.

The first lines, behind ``#``, are ``source:`` and ``unit:``; then key columns, ``value``, ``sd``
and ``note``. An empty value with the note ``lost`` is one that our text of the paper has not got; a
value such as ``<300`` is a bound that the paper gives.
"""

from __future__ import annotations

import csv
import io
from collections.abc import Mapping
from dataclasses import dataclass
from importlib import resources

from truerank.errors import InputError

_COLUMNS = ("value", "sd", "note")


@dataclass(frozen=True)
class Number:
    """A number and its standard deviation, printed or found.

    Parameters
    ----------
    value
        The number; None if it is lost.
    sd
        Its standard deviation over repeats, if there is one.
    note
        What is to be said about it.
    bound
        ``"<"`` or ``">"`` if the paper says less or more than the number; else empty.
    """

    value: float | None
    sd: float | None = None
    note: str = ""
    bound: str = ""


Numbers = dict[tuple[str, ...], Number]


@dataclass(frozen=True)
class Published:
    """A printed table.

    Parameters
    ----------
    source
        The table that the numbers come from.
    unit
        Their unit.
    keys
        Names of the key columns.
    numbers
        Numbers by key, one entry per key column.
    """

    source: str
    unit: str
    keys: tuple[str, ...]
    numbers: Mapping[tuple[str, ...], Number]


def published(paper: str, name: str) -> Published:
    """Read a printed table.

    Parameters
    ----------
    paper
        Key of the paper, such as ``"kr20"``.
    name
        Name of the table, such as ``"table3"``.

    Returns
    -------
    Published
        Its numbers.

    Raises
    ------
    InputError
        If the package has no numbers of that table.

    Examples
    --------
    >>> published("kr20", "table3").numbers["recall@10", "Y", "exact"].value
    8.84
    """
    place = resources.files(__package__) / "published" / paper / f"{name}.csv"
    if not place.is_file():
        raise InputError(f"there are no published numbers of {paper} {name}")
    return parse(place.read_text(encoding="utf-8"), f"{paper}/{name}.csv")


def parse(text: str, name: str) -> Published:
    """Parse a file of published numbers.

    Parameters
    ----------
    text
        The content of the file.
    name
        Its name, for messages.

    Returns
    -------
    Published
        Its numbers.

    Raises
    ------
    InputError
        If source or unit is missing, a column is, a key occurs twice, or a value is missing
        without a note.
    """
    lines = text.splitlines()
    head = dict(
        line[1:].strip().split(": ", 1) for line in lines if line.startswith("#") and ": " in line
    )
    for needed in ("source", "unit"):
        if needed not in head:
            raise InputError(f"{name} does not say its {needed}: a line '# {needed}: ...'")
    body = "\n".join(line for line in lines if line and not line.startswith("#"))
    rows = list(csv.DictReader(io.StringIO(body)))
    columns = list(rows[0]) if rows else []
    if tuple(columns[-3:]) != _COLUMNS:
        raise InputError(f"{name} has columns {columns}; the last must be value, sd, note")
    keys = tuple(columns[:-3])
    numbers: Numbers = {}
    for row in rows:
        key = tuple(row[column] for column in keys)
        if key in numbers:
            raise InputError(f"{name} has two rows of {key}")
        bound = row["value"][:1] if row["value"][:1] in ("<", ">") else ""
        value, sd = (
            float(text) if text else None for text in (row["value"][len(bound) :], row["sd"])
        )
        if value is None and not row["note"]:
            raise InputError(f"{name} has no value for {key}, and no note that says why")
        numbers[key] = Number(value, sd, row["note"], bound)
    return Published(head["source"], head["unit"], keys, numbers)
