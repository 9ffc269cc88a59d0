"""Tables as users have them: pandas, polars and pyarrow frames, and Parquet, CSV and TSV files.

One door (`read`) gives named columns; one place (`COLUMNS`) knows what other tools call them.
"""

from __future__ import annotations

import contextlib
import os
import re
import zlib
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from truerank import _checks, _files
from truerank._files import replacing as replacing  # all that writes tables reads them, too
from truerank._types import IntArray
from truerank.errors import InputError
from truerank.outcomes import _text

# Our name for a column -> the names it may carry, best first.
COLUMNS: dict[str, tuple[str, ...]] = {
    "sampled_rank": ("sampled_rank", "rank", "position"),
    "sample_size": ("sample_size",),
    "num_negatives": ("num_negatives", "n_negatives"),
    "n_items": ("n_items", "pool_size", "num_items"),
    "user_id": ("user_id", "userid", "user", "query_id"),
    "item_id": ("item_id", "itemid", "item", "movieid", "movie_id"),
    "rating": ("rating",),
    "relevance": ("relevance", "label"),
    "timestamp": ("timestamp", "time"),
    "weight": ("weight",),
    "score": ("score", "prediction"),
    "place": ("place",),
    "n_targets": ("n_targets",),
    "offset": ("offset",),
    "model": ("model", "algorithm"),
}

_ROLES = {alias: role for role, aliases in COLUMNS.items() for alias in (role, *aliases)}

SCHEME_KEY = b"truerank.scheme"  # in the metadata of tables of ranks
# In those of what truerank saves with a checksum (`_sealed`).
SAVED = {
    "counts": b"truerank.rank_counts",
    "paired": b"truerank.paired_counts",
    "negatives": b"truerank.frozen_negatives",
    "monitor": b"truerank.monitor",
}
PARQUET = (".parquet", ".pq")
_AT_ROW = re.compile(r"\b(at|of) row (\d+)\b")  # as errors about values say it


class Table:
    """Columns by name, whatever they came from. ``name`` says where in error messages.

    ``text`` is the file that the rows are lines of; ``rows`` are their numbers in the whole table,
    if these are some of them.
    """

    def __init__(
        self, frame: Any, name: str, *, text: Path | None = None, rows: IntArray | None = None
    ) -> None:
        self._frame = frame
        self._text = text
        self._rows = rows
        self.name = name
        self._by_lower = {str(column).strip().lower(): column for column in frame.columns}

    @property
    def columns(self) -> list[str]:
        """The column names as found."""
        return [str(column) for column in self._frame.columns]

    def __len__(self) -> int:
        return len(self._frame)

    @property
    def native(self) -> Any:
        """The frame as it was given or read: of a file, a pyarrow table."""
        return self._frame.to_native()

    @property
    def scheme(self) -> str | None:
        """The name of the scheme that ranks were sampled by, if the metadata say it."""
        return scheme_in(getattr(self._frame.to_native(), "schema", None))

    def find(self, role: str) -> str | None:
        """The column that plays ``role`` (a key of COLUMNS), or None; case does not matter."""
        found = [self._by_lower[n] for n in COLUMNS[role] if n in self._by_lower]
        if len(found) > 1:
            raise InputError(
                f"{self.name} has several columns that could be {role}: "
                f"{', '.join(map(str, found))}; keep one or name it with columns="
            )
        return str(found[0]) if found else None

    def values(self, column: str) -> npt.NDArray[Any]:
        """A column as numpy; missing values of a numeric column come as NaN."""
        import pyarrow as pa

        name = self.named(column)
        try:
            return np.asarray(self._frame[name].to_numpy())
        except (ValueError, TypeError, NotImplementedError, pa.ArrowException) as error:
            raise InputError(
                f"{self.name}: column {name} cannot be read: {_first_line(error)}"
            ) from None

    def is_missing(self, column: str) -> npt.NDArray[np.bool_]:
        """Where a column holds nothing, NaN or a blank text, shape (n_rows,)."""
        values = self.values(column)
        if values.dtype.kind in "iu":
            return np.zeros(values.size, dtype=np.bool_)
        missing = np.asarray(self._frame[self.named(column)].is_null().to_numpy(), dtype=np.bool_)
        if values.dtype.kind == "f":
            return np.asarray(missing | np.isnan(values))
        if values.dtype.kind in "OUT":
            blank = [isinstance(value, str) and not value.strip() for value in values.tolist()]
            return missing | np.array(blank, dtype=np.bool_)
        return missing

    def keep(self, which: npt.NDArray[np.bool_]) -> Table:
        """The rows where ``which`` is True, which know their numbers in the whole table."""
        kept = np.flatnonzero(which)
        rows = kept if self._rows is None else self._rows[kept]
        return Table(self._frame[kept], self.name, text=self._text, rows=rows)

    def like(self, frame: Any) -> Table:
        """Other columns of the same rows."""
        import narwhals as nw

        found = nw.from_native(frame, eager_only=True)
        return Table(found, self.name, text=self._text, rows=self._rows)

    @property
    def placed(self) -> bool:
        """Whether the rows know their numbers in a whole table."""
        return self._rows is not None

    def row(self, row: int) -> int:
        """The number of a row in the whole table."""
        return row if self._rows is None else int(self._rows[row])

    def place(self, row: int) -> str:
        """Where a row stands: the line of a text file, whose header is line 1, or else the row."""
        row = self.row(row)
        return f"row {row}" if self._text is None else f"line {_text.line_of(self._text, row)}"

    @contextlib.contextmanager
    def places(self) -> Iterator[None]:
        """Errors about a row of these say where it stands in the file or in the whole table."""
        try:
            yield
        except InputError as error:
            if self._text is None and self._rows is None:
                raise

            def placed(found: re.Match[str]) -> str:
                row = int(found[2])
                return f"{found[1]} {self.place(row)}" if row < len(self) else found[0]

            raise InputError(_AT_ROW.sub(placed, str(error), count=1)) from error

    def named(self, column: str) -> Any:
        """The column as the frame spells it."""
        lower = str(column).strip().lower()
        if lower not in self._by_lower:
            raise self.missing(str(column))
        return self._by_lower[lower]

    def missing(self, *wanted: str) -> InputError:
        """The error for columns that are not there, naming those that are."""
        found = ", ".join(self.columns) or "none"
        return InputError(f"{self.name} has no column {' or '.join(wanted)}; found: {found}")

    def split(self, column: str | Sequence[str]) -> Iterator[tuple[str, Table]]:
        """(value, rows with it) for each distinct value of ``column``, in order of appearance.

        Of several columns: their values with ", " in between, for each combination.
        """
        if not isinstance(column, str):
            if not isinstance(column, Sequence) or not all(isinstance(one, str) for one in column):
                raise InputError(
                    f"by is {_checks.shown(column)}; it must be the name of a column, or a list of "
                    "names"
                )
            if not column:
                raise InputError("by is empty; name at least one column")
            first, *more = column
            for value, part in self.split(first):
                for other, both in part.split(more) if more else [("", part)]:
                    yield (f"{value}, {other}" if more else value), both
            return

        distinct, place = self._told_apart(self.named(column))
        if len(set(map(str, distinct))) < len(distinct):
            raise InputError(f"{self.name}: column {column} has different values of one spelling")
        frame, rows = self._frame, np.arange(len(self))
        if (np.diff(place) < 0).any():  # rows of one value together, as they mostly are
            rows = np.argsort(place, kind="stable")
            frame, place = frame[rows], place[rows]
        rows = rows if self._rows is None else self._rows[rows]
        cuts = np.searchsorted(place, np.arange(len(distinct) + 1)).tolist()
        for value, begin, end in zip(distinct, cuts, cuts[1:], strict=False):
            part = frame[begin:end]
            yield str(value), Table(part, self.name, text=self._text, rows=rows[begin:end])

    def _told_apart(self, name: Any) -> tuple[list[Any], IntArray]:
        """The distinct values of a column, in order of appearance, and which each row has."""
        import pyarrow as pa

        column = self._frame[name]
        if column.null_count():
            raise InputError(f"{self.name}: column {name} has missing values")
        if isinstance(texts := column.to_native(), pa.ChunkedArray) and pa.types.is_string(
            texts.type
        ):
            encoded = texts.combine_chunks().dictionary_encode()
            return encoded.dictionary.to_pylist(), encoded.indices.to_numpy().astype(np.int64)
        values = self.values(name)
        if values.dtype.kind == "f" and np.isnan(values).any():
            raise InputError(f"{self.name}: column {name} has missing values")
        try:
            distinct = list(dict.fromkeys(values.tolist()))
        except TypeError:  # lists, structs
            kind = type(values[0]).__name__
            raise InputError(
                f"{self.name}: column {name} holds values of type {kind}; rows can be told apart "
                "by text or numbers"
            ) from None
        code = {value: at for at, value in enumerate(distinct)}
        return distinct, np.array([code[value] for value in values.tolist()], dtype=np.int64)


def scheme_in(schema: Any) -> str | None:
    """The name of the scheme in the metadata of an Arrow schema, if they say it."""
    said = (getattr(schema, "metadata", None) or {}).get(SCHEME_KEY)
    return None if said is None else said.decode(errors="replace")


def column_name(source: Table, role: str, columns: Mapping[str, str] | None) -> str | None:
    """The column that plays ``role``: the one that ``columns`` names, or one of a known name."""
    if columns is not None:
        if not isinstance(columns, Mapping):
            raise InputError(f"columns is {columns!r}; it must map our names to the table's")
        named = {}
        for name, column in columns.items():
            if (ours := _ROLES.get(str(name).strip().lower())) is None:
                raise _checks.unknown("column", name, COLUMNS)
            named[ours] = column
        if role in named:
            return named[role]
    return source.find(role)


def read(source: Any, *, name: str = "table") -> Table:
    """A Table from a data frame or from the path of a Parquet, CSV or TSV file.

    ``name`` says where in error messages, for what has no path.
    """
    import narwhals as nw

    if isinstance(source, Table):
        return source
    text = None
    if isinstance(source, (str, os.PathLike)):
        path = Path(source)
        name, source = str(path), _read_file(path)
        text = None if path.suffix.lower() in PARQUET else path
    if type(source).__name__ == "LazyFrame" and hasattr(source, "collect"):
        source = source.collect()
    try:
        frame = nw.from_native(_as_frame(source), eager_only=True)
        names = [str(column).strip().lower() for column in frame.columns]
    except ValueError as error:  # names that occur twice, or are no text
        why = " ".join(str(error).split())
        raise InputError(f"{name} has unusable column names: {why}") from None
    except TypeError:
        raise InputError(
            f"table is of type {type(source).__name__}; give a pandas, polars or pyarrow table, "
            "or the path of a .parquet, .csv or .tsv file"
        ) from None
    if len(set(names)) < len(names):
        found = ", ".join(map(str, frame.columns))
        raise InputError(f"{name} has several columns of one name: {found}")
    return Table(frame, name, text=text)


def reads(path: Any) -> bool:
    """Whether the ending of a file is one that `read` knows."""
    suffixes = [suffix.lower() for suffix in Path(path).suffixes]
    if suffixes[-1:] == [".gz"]:
        return suffixes[-2:-1] != [] and suffixes[-2] in _text.SEPARATORS
    return bool(suffixes) and suffixes[-1] in (*PARQUET, *_text.SEPARATORS)


def _as_frame(source: Any) -> Any:
    """``source``, or the pyarrow table of an object that is no frame but streams Arrow."""
    import narwhals as nw

    if not hasattr(source, "__arrow_c_stream__"):
        return source
    if nw.from_native(source, pass_through=True) is not source:  # a frame that narwhals knows
        return source
    import pyarrow as pa

    try:
        return pa.table(source)
    except (ValueError, TypeError, pa.ArrowException):  # one column, as a series is
        return source


def parquet_metadata(path: Path) -> Mapping[bytes, bytes]:
    """Key-value metadata of a Parquet file; empty if it has none or is something else."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    if not os.path.isfile(path):  # a pipe would give what it holds once
        return {}
    try:
        return pq.read_schema(path).metadata or {}
    except (OSError, ValueError, pa.ArrowException):
        return {}


def _read_file(path: Path) -> Any:
    kind, zipped = _text.kind_of(path)
    with readable(path, kind):
        if not os.path.exists(path):  # False also for names that no file can have
            raise InputError(f"{path} does not exist")
        if path.is_dir():
            raise InputError(f"{path} is a folder; give the path of a file")
        _files.check_plain(path)
        if kind in _text.SEPARATORS:
            return _text.TextFile(path).read()
        if kind in PARQUET and not zipped:
            return parquet(path)
        endings = [*PARQUET, *_text.SEPARATORS, *(f"{kind}.gz" for kind in _text.SEPARATORS)]
        raise InputError(
            f"{path} ends in {''.join(path.suffixes[-2:]).lower() or 'nothing'!r}; known: "
            f"{', '.join(endings)}"
        )


def parquet(path: Path) -> Any:
    """The pyarrow table of a Parquet file, whatever its ending; damaged pages are refused."""
    import pyarrow.parquet as pq

    with readable(path, ".parquet"):
        with path.open("rb") as file:
            if file.read(4) != b"PAR1":
                raise InputError(f"{path} is not a Parquet file, whatever its name says")
        return pq.read_table(path, page_checksum_verification=True)


@contextlib.contextmanager
def readable(path: Any, kind: str) -> Iterator[None]:
    """Errors of reading name the file and what kind it should have been."""
    import pyarrow as pa

    try:
        yield
    except (OSError, ValueError, KeyError, TypeError, EOFError, zlib.error, pa.ArrowException) as e:
        if isinstance(e, InputError):
            raise
        raise InputError(f"{path} is not a readable {kind} file: {_first_line(e)}") from None


def write_parquet(table: Any, path: Any) -> None:
    """Write a pyarrow table, whole or not at all, with a checksum of each page."""
    import pyarrow.parquet as pq

    if Path(path).suffix.lower() not in PARQUET:
        raise InputError(f"cannot write {path}: its name must end in {PARQUET[0]}")
    with replacing(path) as temporary:
        pq.write_table(table, temporary, write_page_checksum=True)


def _first_line(error: BaseException) -> str:
    return str(error).strip().split("\n")[0] or type(error).__name__
