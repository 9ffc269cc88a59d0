"""Text files of ranks (.csv, .tsv, also .gz): whole or a block at a time, and their lines."""

from __future__ import annotations

import contextlib
import gzip
import itertools
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from truerank import _files
from truerank.errors import InputError

SEPARATORS = {".csv": ",", ".tsv": "\t", ".txt": "\t"}
_BLOCK = 2**20  # bytes of a block
# What Arrow says where a line does not have as many fields as the header.
_UNEVEN = re.compile(
    r"CSV parse error: (?:Row #(?P<row>\d+): )?Expected (?P<header>\d+) columns, "
    r"got (?P<found>\d+): (?P<text>.*)",
    re.DOTALL,
)
_NOT_CONVERTED = re.compile(r"In CSV column #(\d+): .*CSV conversion error", re.DOTALL)
_COMMA = r"^-?[0-9]+(,[0-9]+)?$"


def kind_of(path: Path) -> tuple[str, bool]:
    """The ending of a file without ".gz", and whether it has that."""
    suffixes = [suffix.lower() for suffix in path.suffixes]
    zipped = suffixes[-1:] == [".gz"]
    return "".join(suffixes[-2:-1] if zipped else suffixes[-1:]), zipped


@dataclass(frozen=True)
class ColumnTypes:
    """What the columns of a text file are: their Arrow types, those with decimal commas, rows."""

    kinds: dict[str, Any]
    by_comma: frozenset[str]
    n_rows: int


@dataclass
class TextFile:
    """A text file with a header.

    Raises InputError where its content shows that it is something else.
    """

    path: Path
    separator: str = field(init=False)
    zipped: bool = field(init=False)

    def __post_init__(self) -> None:
        kind, self.zipped = kind_of(self.path)
        with self.path.open("rb") as file:
            start = file.read(4)
        if start == b"PAR1":
            raise InputError(f"{self.path} is a Parquet file: give it the ending .parquet")
        if not self.zipped and start[:2] == b"\x1f\x8b":
            raise InputError(f"{self.path} is compressed by gzip: add the ending .gz")
        self.separator = _separator(self.path, SEPARATORS[kind], zipped=self.zipped)

    def read(self) -> Any:
        """All of it, as a pyarrow table."""
        import pyarrow as pa
        from pyarrow import csv

        with _files.opened(self.path, zipped=self.zipped) as stream:
            try:
                table = csv.read_csv(stream, parse_options=self._parsing)
            except pa.ArrowInvalid as error:
                raise self._uneven(error) or error from None
        if self.separator == ";":
            for at, name in enumerate(table.column_names):
                column = table.column(at)
                if pa.types.is_string(column.type) and _count_by_comma(column):
                    table = table.set_column(at, name, _with_points(column))
        return table

    def header(self) -> Any:
        """No rows of it, as a pyarrow table; the kinds of its columns are those of its start."""
        with self._opened({}, None) as reader:
            return reader.schema.empty_table()

    def blocks(self, columns: ColumnTypes, names: Sequence[str]) -> Iterator[Any]:
        """Tables of a block's rows each, of some columns, which `settle` gave kinds."""
        import pyarrow as pa

        kinds = {name: columns.kinds[name] for name in names}
        with self._opened(kinds, list(names)) as reader:
            for batch in reader:
                table = pa.Table.from_batches([batch])
                for at, name in enumerate(names):
                    if name in columns.by_comma:
                        table = table.set_column(at, name, _with_points(table.column(at)))
                yield table

    def settle(self, names: Sequence[str]) -> ColumnTypes:
        """What all values of some columns are, as `read` finds it, by reading on to the end.

        A column is of the first kind in `_kinds` that all its values can be.
        """
        import pyarrow as pa

        schema = self.header().schema
        kinds = {name: schema.field(name).type for name in names}
        while True:
            try:
                return self._settled(kinds, names)
            except pa.ArrowInvalid as error:
                found = _NOT_CONVERTED.search(str(error))
                name = schema.names[int(found[1])] if found else None
                if name not in kinds:
                    raise
                kinds[name] = _looser(kinds[name])

    def _settled(self, kinds: dict[str, Any], names: Sequence[str]) -> ColumnTypes:
        import pyarrow as pa

        n_rows = 0
        maybe = [name for name in names if self.separator == ";" and kinds[name] == pa.string()]
        n_filled = dict.fromkeys(maybe, 0)
        with self._opened(kinds, list(names)) as reader:
            for batch in reader:
                n_rows += batch.num_rows
                for name in list(n_filled):
                    n_here = _count_by_comma(batch.column(name))
                    if n_here is None:
                        del n_filled[name]
                    else:
                        n_filled[name] += n_here
        return ColumnTypes(kinds, frozenset(name for name, n in n_filled.items() if n), n_rows)

    @contextlib.contextmanager
    def _opened(self, kinds: dict[str, Any], names: list[str] | None) -> Iterator[Any]:
        import pyarrow as pa
        from pyarrow import csv

        with _files.opened(self.path, zipped=self.zipped) as stream:
            try:
                yield csv.open_csv(
                    stream,
                    # One thread: nothing is read beforehand, and rows have numbers.
                    read_options=csv.ReadOptions(use_threads=False, block_size=_BLOCK),
                    parse_options=self._parsing,
                    convert_options=csv.ConvertOptions(column_types=kinds, include_columns=names),
                )
            except pa.ArrowInvalid as error:
                raise self._uneven(error) or error from None

    @property
    def _parsing(self) -> Any:
        from pyarrow import csv

        return csv.ParseOptions(delimiter=self.separator)

    def _uneven(self, error: Exception) -> InputError | None:
        """The error for a line that does not have as many fields as the header; None for others."""
        import pyarrow as pa

        found = _UNEVEN.search(str(error))
        if found is None:
            return None
        if found["row"] is None:  # read by several threads
            try:
                kinds = dict.fromkeys(self.header().schema.names, pa.binary())
                with self._opened(kinds, None) as reader:
                    for _ in reader:
                        pass
            except InputError as placed:
                return placed
            return None
        line = line_of(self.path, int(found["row"]) - 2)
        fields = "1 field" if found["found"] == "1" else f"{found['found']} fields"
        return InputError(
            f"{self.path}, line {line}: it has {fields} where the header has {found['header']}: "
            f"{found['text'][:60]!r}"
        )


def line_of(path: Path, row: int) -> int:
    """The line of a row of a text file; blank lines hold none, the first other is the header."""
    with _files.opened(path, zipped=path.suffix.lower() == ".gz") as lines:
        filled = (number for number, line in enumerate(lines, start=1) if line.strip(b"\r\n"))
        return next(itertools.islice(filled, row + 1, None), row + 2)


def _separator(path: Path, usual: str, *, zipped: bool) -> str:
    """What separates the fields of line 1: the usual, or another where that is not there."""
    with gzip.open(path) if zipped else path.open("rb") as file:
        first = file.readline(2**16)
    others = [other for other in (";", "\t", "|", ",") if other.encode() in first]
    return usual if usual.encode() in first or not others else others[0]


def _looser(kind: Any) -> Any:
    """The next of the kinds of values that Arrow tries in turn."""
    import pyarrow as pa

    kinds = [
        *(pa.null(), pa.int64(), pa.bool_(), pa.date32(), pa.time32("s"), pa.timestamp("s")),
        *(pa.timestamp("s", "UTC"), pa.timestamp("ns"), pa.timestamp("ns", "UTC")),
        *(pa.float64(), pa.string(), pa.binary()),
    ]
    return kinds[kinds.index(kind) + 1]


def _count_by_comma(column: Any) -> int | None:
    """How many texts of a column are numbers, with decimal commas or without; None if not all."""
    import pyarrow.compute as pc

    filled = pc.drop_null(_without_blanks(column))
    are = pc.match_substring_regex(filled, _COMMA)
    return len(filled) if pc.all(are, min_count=0).as_py() else None


def _with_points(column: Any) -> Any:
    """Texts of numbers with decimal commas, as they go with semicolons, as numbers."""
    import pyarrow as pa
    import pyarrow.compute as pc

    return pc.replace_substring(_without_blanks(column), ",", ".").cast(pa.float64())


def _without_blanks(column: Any) -> Any:
    import pyarrow.compute as pc

    return pc.if_else(pc.equal(column, ""), None, column)
