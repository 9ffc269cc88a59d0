"""Text files of interactions: which format, and their columns, typed, with the line of each row."""

from __future__ import annotations

import csv
import io
import itertools
import re
import zlib
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from truerank import _checks, _files
from truerank.errors import InputError
from truerank.outcomes import tables

SEPARATORS = (",", ";", "\t", "|")
_POSITIONS = ("user_id", "item_id", "rating", "timestamp")  # MovieLens and those who follow it
_IDS = ("user_id", "item_id")
# As a number is usually written, and small enough for a float: 007 and ISBNs stay what they are.
_WHOLE = r"^(0|-?[1-9][0-9]{0,14})$"
_HEAD = re.compile(r"[^:]+:(token|float|token_seq|float_seq)")
_PEEK = 1000  # lines looked at to tell formats apart

Where = Callable[[int], str]
Columns = Mapping[str, str] | Sequence[str] | None


def format_of(path: Path) -> str:
    """The format of a text file that its ending does not tell."""
    with _lines(path) as lines:
        some = [line for line in itertools.islice(lines, _PEEK) if line.strip()]
    if not some:
        raise InputError(f"{path} is empty")
    if "::" in some[0]:
        return "dat"
    if all(_HEAD.fullmatch(field) for field in some[0].strip().split("\t")):
        return "inter"
    if "\t" in some[0]:
        return "tsv"
    if any(separator in some[0] for separator in SEPARATORS):
        return "csv"
    fields = [line.split() for line in some]
    if any(len(line) > 2 for line in fields) and all(
        line[0] == str(len(line) - 1) for line in fields
    ):
        raise InputError(
            f"every line of {path} begins with the number of its other fields: say "
            'format="counted" if that is what it is (count item item ...), format="adjacency" if '
            "it is a user id (user item item ...)"
        )
    lengths = {len(line) for line in fields}
    if len(lengths) == 1 and max(lengths) > 2:
        raise InputError(
            f"every line of {path} has {max(lengths)} fields between spaces: say "
            'format="adjacency" if they are user item item ..., else separate them by tabs or '
            "commas"
        )
    return "adjacency"


def lists(path: Path, *, counted: bool) -> Any:
    """One line per user: ``user item item ...``, or ``count item item ...`` with users by line."""
    import pyarrow as pa

    users: list[str] = []
    items: list[str] = []
    with _lines(path) as lines:
        for number, line in enumerate(lines, start=1):
            first, *rest = line.split() or [""]
            if counted:
                if first != str(len(rest)):
                    raise InputError(
                        f"{path}, line {number}: it begins with {first!r} and has {len(rest)} "
                        "items after that; the first field must be their number"
                    )
                first = str(number - 1)
            users += [first] * len(rest)
            items += rest
    columns = {"user_id": pa.chunked_array([users]), "item_id": pa.chunked_array([items])}
    if not users:
        raise InputError(f"{path} has no line with a user and an item")
    return pa.table({name: _whole(values) for name, values in columns.items()})


def delimited(path: Path, kind: str, columns: Columns) -> Any:
    """A table with one interaction per line, as Arrow, with the columns that play a role only."""
    import pyarrow as pa
    from pyarrow import csv as arrow_csv

    with _lines(path) as lines:
        first = next((line for line in lines if line.strip()), "").rstrip("\r\n")
    separator = _separator(first, kind)
    fields = next(
        csv.reader([first.replace("::", ":") if kind == "dat" else first], delimiter=separator), []
    )
    names, has_header = _names(path, [field.strip() for field in fields], kind, columns)
    empty = pa.table([pa.array([], pa.string()) for _ in names], names=names)
    named = columns if isinstance(columns, Mapping) else None
    roles = find_roles(tables.read(empty, name=str(path)), named)
    broken: list[Any] = []

    def handle(row: Any) -> str:
        broken.append(row)
        return "skip"

    wide = [part for name in names for part in (name, f"{name}:")][:-1] if kind == "dat" else names
    try:
        with _files.opened(path, zipped=path.suffix.lower() == ".gz") as stream:
            table = arrow_csv.read_csv(
                stream,
                # One thread, so that rows have numbers.
                read_options=arrow_csv.ReadOptions(
                    column_names=wide, skip_rows=int(has_header), use_threads=False
                ),
                parse_options=arrow_csv.ParseOptions(
                    delimiter=separator,
                    quote_char=False if kind in ("dat", "rating", "inter") else '"',
                    invalid_row_handler=handle,
                ),
                convert_options=arrow_csv.ConvertOptions(
                    column_types=dict.fromkeys(wide, pa.string()),
                    include_columns=[*roles.values(), *wide[1::2]]
                    if kind == "dat"
                    else list(roles.values()),
                    quoted_strings_can_be_null=False,
                ),
            )
    except (pa.ArrowException, OSError, EOFError) as error:
        why = str(error).strip().split("\n")[0]
        raise InputError(f"{path} is not a readable {kind} file: {why}") from None

    def where(row: int) -> str:
        return f"line {_line(path, row + 1 + has_header)}"

    if broken:
        row = broken[0]
        line = _line(path, row.number) if row.number else "?"
        raise InputError(
            f"{path}, line {line}: it has {_count(row.actual_columns, kind)} fields where line 1 "
            f"has {len(names)}: {row.text[:60]!r}; mend the line, or say format= if this is no "
            f"{kind} file"
        )
    return _checked(table, roles, path, where)


def find_roles(table: tables.Table, columns: Columns) -> dict[str, str]:
    """Role -> column of the table; user and item must be there."""
    name = table.name
    if columns is not None and not isinstance(columns, Mapping):
        raise InputError(
            f"columns is {_checks.shown(columns)}; {name} has names of its own: map ours to them, "
            'such as {"user_id": "customer"}'
        )
    given = columns or {}
    unknown = set(given) - set(_POSITIONS)
    if unknown:
        names = ", ".join(sorted(map(str, unknown)))
        raise InputError(f"columns names {names}; known are {', '.join(_POSITIONS)}")
    for column in given.values():
        if column not in table.columns:
            raise InputError(
                f"{name} has no column {_checks.shown(column)}; found: {', '.join(table.columns)}"
            )
    found = {role: given.get(role) or table.find(role) for role in _POSITIONS}
    missing = [role for role in _IDS if found[role] is None]
    if missing:
        raise InputError(
            f"{name} has no column {' or '.join(missing)}; found: {', '.join(table.columns)}. Say "
            'which one it is: columns={"user_id": ..., "item_id": ...}'
        )
    return {role: column for role, column in found.items() if column is not None}


def _separator(first: str, kind: str) -> str:
    if kind == "dat":
        return ":"  # twice, so that every other column is empty
    if kind in ("tsv", "rating", "inter"):
        return "\t"
    return next((separator for separator in SEPARATORS if separator in first), ",")


def _names(path: Path, fields: list[str], kind: str, columns: Columns) -> tuple[list[str], bool]:
    """Names of the columns, and whether line 1 holds them."""
    if columns is not None and not isinstance(columns, Mapping):
        names = [str(name) for name in columns]
        if len(names) != len(fields):
            raise InputError(f"columns has {len(names)} names; line 1 of {path} has {len(fields)}")
        return names, False
    if kind == "inter":
        if not all(_HEAD.fullmatch(field) for field in fields):
            raise InputError(
                f"{path}, line 1: {fields} is no header of an .inter file, whose fields are "
                "name:type, such as user_id:token"
            )
        return [field.split(":")[0] for field in fields], True
    known = {alias for role in _POSITIONS for alias in tables.COLUMNS[role]}
    if columns is not None or any(field.lower() in known for field in fields):
        return fields, True
    if kind in ("dat", "rating") and 2 <= len(fields) <= len(_POSITIONS):
        return list(_POSITIONS[: len(fields)]), False
    if not any(re.match(_WHOLE, field) for field in fields):
        raise InputError(
            f"{path}: line 1 is {fields}; if these are names, say which is which: "
            'columns={"user_id": ..., "item_id": ...}; if not, name them: '
            'columns=["user_id", "item_id", ...]'
        )
    if len(fields) not in (2, len(_POSITIONS)):
        raise InputError(
            f"{path} has {len(fields)} columns and no header; name them, such as "
            'columns=["user_id", "item_id", "timestamp"]'
        )
    return list(_POSITIONS[: len(fields)]), False


def _checked(table: Any, roles: Mapping[str, str], path: Path, where: Where) -> Any:
    """The columns under the names of their roles, typed; nothing missing, nothing in between."""
    import pyarrow as pa
    import pyarrow.compute as pc

    if not len(table):
        raise InputError(f"{path} has no rows")
    for name in set(table.column_names) - set(roles.values()):  # between the two colons
        filled = pc.not_equal(table[name], "")
        if pc.any(filled).as_py():
            row = pc.index(filled, True).as_py()
            raise InputError(f"{path}, {where(row)}: fields must be separated by '::' alone")
    columns = {}
    for role, name in roles.items():
        values = pc.utf8_trim_whitespace(table[name])
        empty = pc.equal(values, "")
        if pc.any(empty).as_py():
            row = pc.index(empty, True).as_py()
            raise InputError(f"{path}, {where(row)}: {name} is missing; fill it or drop the line")
        columns[role] = _whole(values) if role in _IDS else _number(values, role)
        if columns[role] is None:
            row = _first_bad(values)
            raise InputError(
                f"{path}, {where(row)}: {name} is {values[row].as_py()!r}; it must be a number"
                f"{' or a date' if role == 'timestamp' else ''}, as in the other lines"
            )
    return pa.table(columns)


def _whole(values: Any) -> Any:
    """Strings as whole numbers if all of them are."""
    import pyarrow as pa
    import pyarrow.compute as pc

    is_whole = pc.all(pc.match_substring_regex(values, _WHOLE)).as_py()
    return pc.cast(values, pa.int64()) if is_whole else values


def _number(values: Any, role: str) -> Any:
    """Strings as numbers, times also as dates (in microseconds); None if they are neither."""
    import pyarrow as pa
    import pyarrow.compute as pc

    kinds = [pa.int64(), pa.float64()]
    kinds += [pa.timestamp("us"), pa.timestamp("us", "UTC")] if role == "timestamp" else []
    for kind in kinds:
        try:
            numbers = pc.cast(values, kind)
        except pa.ArrowInvalid:
            continue
        return pc.cast(numbers, pa.int64()) if pa.types.is_timestamp(kind) else numbers
    return None


@contextmanager
def _lines(path: Path) -> Iterator[Iterator[str]]:
    try:
        with (
            _files.opened(path, zipped=path.suffix.lower() == ".gz") as file,
            io.TextIOWrapper(file, encoding="utf-8-sig") as lines,
        ):
            yield iter(lines)
    except (UnicodeDecodeError, OSError, EOFError, zlib.error) as error:
        raise InputError(f"{path} cannot be read as UTF-8 text: {error}") from None


def _line(path: Path, number: int) -> int:
    """Where the ``number``-th line that is not blank stands in the file."""
    with _lines(path) as lines:
        filled = (at for at, line in enumerate(lines, start=1) if line.strip("\r\n"))
        return next(itertools.islice(filled, number - 1, None), number)


def _count(n_fields: int, kind: str) -> int:
    return (n_fields + 1) // 2 if kind == "dat" else n_fields


def _first_bad(values: Any) -> int:
    """The first row that is no number, or row 0 if the trouble is a mix of numbers and dates."""
    for row, value in enumerate(values.to_pylist()):
        try:
            float(value)
        except ValueError:
            return row
    return 0
