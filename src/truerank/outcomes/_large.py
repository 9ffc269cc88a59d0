"""Tables larger than memory, a part at a time: Parquet files, folders of them, and text files."""

from __future__ import annotations

import contextlib
import os
from abc import ABC, abstractmethod
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from truerank import _files, rng
from truerank._types import IntArray
from truerank.errors import InputError
from truerank.outcomes import _text, tables

ROWS = 2**20  # held at a time; smaller files are read whole
_SHORT = 8  # bytes of a short line of text
_ZIPPED = 4  # times smaller than that it may be
_MOST_FILES = 500  # open at once
_ROW = "\0row"  # a column of the numbers of rows; no file names one so


class Large(ABC):
    """A table that is read in parts.

    ``name`` says where in error messages; ``empty`` has its columns and no rows.
    """

    name: str
    empty: tables.Table
    _text: Path | None = None  # the file, if rows are its lines

    @property
    def scheme(self) -> str | None:
        """The name of the scheme that ranks were sampled by, if the metadata say it."""
        return None

    @abstractmethod
    def n_rows(self, columns: Sequence[str]) -> int:
        """The number of rows, found by whoever is going to read ``columns``."""

    @abstractmethod
    def _batches(self, columns: Sequence[str]) -> Iterator[Any]:
        """Arrow tables of few rows each, in order, of these columns."""

    @abstractmethod
    def _readable(self) -> contextlib.AbstractContextManager[None]:
        """Errors of reading say which file cannot be read."""

    def parts(self, columns: Sequence[str], user: str | None = None) -> Iterator[tables.Table]:
        """Tables of some `ROWS` rows and these columns; all rows of a user in one, if asked to.

        To that end rows go to a temporary folder (of TMPDIR), sorted by a hash of the user's id.
        """
        if user is not None and self.n_rows(columns) > ROWS:
            with _files.spill() as folder:
                for path in self._spilled(folder, columns, user):
                    yield self._table(_read_back(path))
            return
        n_seen = 0
        for rows in self._some(columns):
            yield self._table(rows, np.arange(n_seen, n_seen + len(rows)))
            n_seen += len(rows)

    def _table(self, rows: Any, numbers: IntArray | None = None) -> tables.Table:
        """A part, whose rows know their numbers in the whole if these are given or a column."""
        import narwhals as nw

        if _ROW in rows.column_names:
            numbers = rows[_ROW].to_numpy()
            rows = rows.drop_columns(_ROW)
        frame = nw.from_native(rows, eager_only=True)
        return tables.Table(frame, self.name, text=self._text, rows=numbers)

    def values(self, column: str) -> set[str]:
        """The distinct values of a column, as text."""
        import pyarrow.compute as pc

        found: set[str] = set()
        for part in self._some([column]):
            found.update(map(str, pc.unique(part[column]).to_pylist()))
        return found

    def _some(self, columns: Sequence[str]) -> Iterator[Any]:
        """Arrow tables of some `ROWS` rows."""
        import pyarrow as pa

        held: list[Any] = []
        n_held = 0
        with self._readable():
            for batch in self._batches(columns):
                if n_held + batch.num_rows > ROWS and held:
                    yield pa.concat_tables(held)
                    held, n_held = [], 0
                held.append(batch)
                n_held += batch.num_rows
            if n_held:
                yield pa.concat_tables(held)

    def _spilled(self, folder: Path, columns: Sequence[str], user: str) -> list[Path]:
        """Files that hold whole users, of fewer than `ROWS` rows up to about 250 million in all."""
        import pyarrow as pa

        # Half as large: hashes are not quite even.
        n_files = min(-(-2 * self.n_rows(columns) // ROWS), _MOST_FILES)
        paths = [folder / f"{i}.arrow" for i in range(n_files)]
        with contextlib.ExitStack() as stack:
            files: list[Any] = []
            n_seen = 0
            for rows in self._some(columns):
                if self._text is not None:
                    number = np.arange(n_seen, n_seen + len(rows))
                    rows, n_seen = rows.append_column(_ROW, [number]), n_seen + len(rows)
                if not files:
                    files = [stack.enter_context(pa.ipc.new_file(p, rows.schema)) for p in paths]
                order, cuts = _buckets(rows[user], n_files, user)
                rows = rows.take(order)
                for at, file in enumerate(files):
                    if cuts[at] < cuts[at + 1]:
                        file.write_table(rows.slice(cuts[at], cuts[at + 1] - cuts[at]))
        return paths


class _Parquet(Large):
    """A Parquet file of more than `ROWS` rows, or a folder of Parquet files."""

    def __init__(self, path: Path) -> None:
        import pyarrow.dataset as ds

        self.name = str(path)
        with self._readable():
            source = _files_in(path) if path.is_dir() else path
            self._dataset = ds.dataset(source, format="parquet")
            self.empty = tables.read(self._dataset.schema.empty_table(), name=self.name)
            self._n_rows = int(self._dataset.count_rows())

    def n_rows(self, columns: Sequence[str]) -> int:
        return self._n_rows

    @property
    def scheme(self) -> str | None:
        """The name of the scheme that ranks were sampled by, if the metadata of its files say it.

        Raises if files differ in it.
        """
        with self._readable():
            schemas = [part.physical_schema for part in self._dataset.get_fragments()]
        found = {(schema.metadata or {}).get(tables.SCHEME_KEY) for schema in schemas}
        if len(found) > 1:
            told = ", ".join(sorted("unsaid" if s is None else repr(s.decode()) for s in found))
            raise InputError(
                f"{self.name} holds files of ranks that were drawn in different ways ({told}); "
                "count each with RankCounts.from_table and add them up, or give replacement="
            )
        return tables.scheme_in(schemas[0]) if schemas else None

    def _batches(self, columns: Sequence[str]) -> Iterator[Any]:
        import pyarrow as pa
        import pyarrow.dataset as ds

        # One thread, nothing beforehand: otherwise scans read on while we count, and what they
        # hold grows with the file.
        options: dict[str, Any] = {"batch_size": 2**17, "use_threads": False}
        options["fragment_scan_options"] = ds.ParquetFragmentScanOptions(pre_buffer=False)
        for batch in self._dataset.to_batches(columns=list(columns), **options):
            yield pa.Table.from_batches([batch])

    @contextlib.contextmanager
    def _readable(self) -> Iterator[None]:
        import pyarrow as pa

        try:
            yield
        except (OSError, ValueError, KeyError, TypeError, pa.ArrowException) as error:
            if isinstance(error, InputError):
                raise
            reason = str(error).strip().split("\n")[0]
            raise InputError(f"{self.name} cannot be read as Parquet: {reason}") from None


class _Text(Large):
    """A text file of more than a few rows."""

    def __init__(self, path: Path) -> None:
        self.name, self._text = str(path), path
        with self._readable():
            self._file = _text.TextFile(path)
            self.empty = tables.read(self._file.header(), name=self.name)
        self._settled: dict[tuple[str, ...], _text.ColumnTypes] = {}

    def n_rows(self, columns: Sequence[str]) -> int:
        return self._columns(columns).n_rows

    def _columns(self, columns: Sequence[str]) -> _text.ColumnTypes:
        """What they are; the file is read through once to find out."""
        key = tuple(columns)
        if key not in self._settled:
            with self._readable():
                self._settled[key] = self._file.settle(columns)
        return self._settled[key]

    def _batches(self, columns: Sequence[str]) -> Iterator[Any]:
        return self._file.blocks(self._columns(columns), columns)

    def _readable(self) -> contextlib.AbstractContextManager[None]:
        return tables.readable(self.name, _text.kind_of(Path(self.name))[0])


def find(source: Any) -> Large | None:
    """A `Large` if ``source`` is the path of one; None for all that fits into memory."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    if not isinstance(source, (str, os.PathLike)):
        return None
    path = Path(source)
    if os.path.isdir(path):  # False also for names that no file can have
        return _Parquet(path) if _files_in(path) else None
    if not os.path.isfile(path):
        return None
    kind, zipped = _text.kind_of(path)
    if kind in _text.SEPARATORS:
        largest = ROWS * _SHORT // (_ZIPPED if zipped else 1)
        return _Text(path) if path.stat().st_size > largest else None
    if kind not in tables.PARQUET or zipped:
        return None
    try:
        n_rows = pq.read_metadata(path).num_rows
    except (OSError, ValueError, pa.ArrowException):
        return None  # whoever reads it says why
    return _Parquet(path) if n_rows > ROWS else None


def _files_in(folder: Path) -> list[str]:
    """The Parquet files of a folder and those below, each once, whatever links lead back to it."""
    found: dict[str, str] = {}
    seen: set[str] = set()
    for place, folders, names in os.walk(folder, followlinks=True):
        folders[:] = sorted(name for name in folders if name[0] not in "._")
        if os.path.realpath(place) in seen:
            folders.clear()
            continue
        seen.add(os.path.realpath(place))
        for name in sorted(names):
            path = os.path.join(place, name)
            if name[0] not in "._" and name.lower().endswith(tables.PARQUET):
                found.setdefault(os.path.realpath(path), path)
    return list(found.values())


def _buckets(column: Any, n_buckets: int, name: str) -> tuple[Any, list[int]]:
    """(order of the rows by bucket, where each bucket begins and the last ends)."""
    import pyarrow as pa
    import pyarrow.types as t

    if column.null_count:
        raise InputError(f"{name} has {column.null_count} missing values")
    if not t.is_integer(column.type):  # the same text is the same user
        column = column.cast(pa.string())
    keys = rng.user_keys(column.to_numpy(), 0)
    bucket = (keys % np.uint64(n_buckets)).astype(np.uint16 if n_buckets < 2**16 else np.int64)
    order = np.argsort(bucket, kind="stable")
    cuts = np.searchsorted(bucket[order], np.arange(n_buckets + 1))
    return order, cuts.tolist()


def _read_back(path: Path) -> Any:
    import pyarrow as pa

    with pa.ipc.open_file(path) as file:
        return file.read_all()
