"""Tables as users have them: pandas, polars and pyarrow frames, and Parquet, CSV and TSV files.

One door (`read`) gives named columns; one place (`COLUMNS`) knows what other tools call them.
"""

from __future__ import annotations

import contextlib
import os
import tempfile
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from truerank import _checks
from truerank.errors import InputError

# Our name for a column -> the names it may carry, best first.
COLUMNS: dict[str, tuple[str, ...]] = {
    "sampled_rank": ("sampled_rank", "rank", "position"),
    "sample_size": ("sample_size",),
    "num_negatives": ("num_negatives", "n_negatives"),
    "n_items": ("n_items", "pool_size", "num_items"),
    "user_id": ("user_id", "userid", "user", "query_id"),
    "item_id": ("item_id", "itemid", "item", "movieid", "movie_id"),
    "rating": ("rating",),
    "timestamp": ("timestamp", "time"),
    "weight": ("weight",),
    "score": ("score", "prediction"),
    "place": ("place",),
    "n_targets": ("n_targets",),
    "offset": ("offset",),
    "model": ("model", "algorithm"),
}

SCHEME_KEY = b"truerank.scheme"  # in the metadata of tables of ranks
PARQUET = (".parquet", ".pq")
_SEPARATORS = {".csv": ",", ".tsv": "\t", ".txt": "\t"}


class Table:
    """Columns by name, whatever they came from. ``name`` says where in error messages."""

    def __init__(self, frame: Any, name: str) -> None:
        self._frame = frame
        self.name = name
        self._by_lower = {str(column).strip().lower(): column for column in frame.columns}

    @property
    def columns(self) -> list[str]:
        """The column names as found."""
        return [str(column) for column in self._frame.columns]

    def __len__(self) -> int:
        return len(self._frame)

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

        name = self._named(column)
        try:
            return np.asarray(self._frame[name].to_numpy())
        except (ValueError, TypeError, NotImplementedError, pa.ArrowException) as error:
            raise InputError(
                f"{self.name}: column {name} cannot be read: {_first_line(error)}"
            ) from None

    def _named(self, column: str) -> Any:
        """The column as the frame spells it."""
        lower = str(column).strip().lower()
        if lower not in self._by_lower:
            raise self.missing(str(column))
        return self._by_lower[lower]

    def missing(self, *wanted: str) -> InputError:
        """The error for columns that are not there, naming those that are."""
        found = ", ".join(self.columns) or "none"
        return InputError(f"{self.name} has no column {' or '.join(wanted)}; found: {found}")

    def split(self, column: str) -> Iterator[tuple[str, Table]]:
        """(value, rows with it) for each distinct value of ``column``, in order of appearance."""
        import narwhals as nw

        name = self._named(column)
        values = self.values(name)
        if self._frame[name].null_count() or (values.dtype.kind == "f" and np.isnan(values).any()):
            raise InputError(f"{self.name}: column {name} has missing values")
        distinct = list(dict.fromkeys(values.tolist()))
        if len(set(map(str, distinct))) < len(distinct):
            raise InputError(f"{self.name}: column {name} has different values of one spelling")
        for value in distinct:
            yield str(value), Table(self._frame.filter(nw.col(name) == value), self.name)


def column_name(source: Table, role: str, columns: Mapping[str, str] | None) -> str | None:
    """The column that plays ``role``: the one that ``columns`` names, or one of a known name."""
    if columns is not None:
        if not isinstance(columns, Mapping):
            raise InputError(f"columns is {columns!r}; it must map our names to the table's")
        for name in columns:
            if name not in COLUMNS:
                raise _checks.unknown("column", name, COLUMNS)
        if role in columns:
            return columns[role]
    return source.find(role)


def read(source: Any, *, name: str = "table") -> Table:
    """A Table from a data frame or from the path of a Parquet, CSV or TSV file.

    ``name`` says where in error messages, for what has no path.
    """
    import narwhals as nw

    if isinstance(source, Table):
        return source
    if isinstance(source, (str, os.PathLike)):
        name, source = str(source), _read_file(Path(source))
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
    return Table(frame, name)


def reads(path: Any) -> bool:
    """Whether the ending of a file is one that `read` knows."""
    suffixes = [suffix.lower() for suffix in Path(path).suffixes]
    if suffixes[-1:] == [".gz"]:
        return suffixes[-2:-1] != [] and suffixes[-2] in _SEPARATORS
    return bool(suffixes) and suffixes[-1] in (*PARQUET, *_SEPARATORS)


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

    try:
        return pq.read_schema(path).metadata or {}
    except (OSError, ValueError, pa.ArrowException):
        return {}


def _read_file(path: Path) -> Any:
    import pyarrow as pa

    suffixes = [suffix.lower() for suffix in path.suffixes]
    zipped = suffixes[-1:] == [".gz"]
    kind = "".join(suffixes[-2:-1] if zipped else suffixes[-1:])
    readers: dict[str, Callable[[Path], Any]] = {} if zipped else dict.fromkeys(PARQUET, parquet)
    readers |= dict.fromkeys(
        _SEPARATORS, lambda file: _delimited(file, _SEPARATORS[kind], zipped=zipped)
    )
    try:
        if not path.exists():
            raise InputError(f"{path} does not exist")
        if path.is_dir():
            raise InputError(f"{path} is a folder; give the path of a file")
        if kind not in readers:
            raise InputError(
                f"{path} ends in {''.join(suffixes[-2:]) or 'nothing'!r}; known: "
                f"{', '.join([*PARQUET, *_SEPARATORS, *(f'{kind}.gz' for kind in _SEPARATORS)])}"
            )
        return readers[kind](path)
    except (OSError, ValueError, KeyError, EOFError, pa.ArrowException) as error:
        if isinstance(error, InputError):
            raise
        raise InputError(f"{path} is not a readable {kind} file: {_first_line(error)}") from None


def parquet(path: Path) -> Any:
    """The pyarrow table of a Parquet file, whatever its ending."""
    import pyarrow.parquet as pq

    with path.open("rb") as file:
        if file.read(4) != b"PAR1":
            raise InputError(f"{path} is not a Parquet file, whatever its name says")
    return pq.read_table(path)


def _delimited(path: Path, separator: str, *, zipped: bool) -> Any:
    import pyarrow as pa
    from pyarrow import csv

    with path.open("rb") as file:
        start = file.read(4)
    if start == b"PAR1":
        raise InputError(f"{path} is a Parquet file: give it the ending .parquet")
    if not zipped and start[:2] == b"\x1f\x8b":
        raise InputError(f"{path} is compressed by gzip: add the ending .gz")
    with pa.input_stream(str(path), compression="gzip" if zipped else None) as stream:
        return csv.read_csv(stream, parse_options=csv.ParseOptions(delimiter=separator))


def _first_line(error: BaseException) -> str:
    return str(error).strip().split("\n")[0] or type(error).__name__


@contextlib.contextmanager
def replacing(path: Any) -> Iterator[Path]:
    """A temporary path beside ``path`` that takes its place once the block ends well."""
    target = Path(path)
    if not target.parent.is_dir():
        raise InputError(f"cannot write {target}: the folder {target.parent} does not exist")
    if target.is_dir():
        raise InputError(f"cannot write {target}: it is a folder")
    try:
        handle, name = tempfile.mkstemp(dir=target.parent, prefix=f".{target.name}.", suffix=".tmp")
    except OSError as error:
        raise InputError(f"cannot write {target}: {_first_line(error)}") from None
    os.close(handle)
    try:
        yield Path(name)
        # mkstemp makes the file private; give it the usual permissions.
        umask = os.umask(0)
        os.umask(umask)
        os.chmod(name, 0o666 & ~umask)
        os.replace(name, target)
    finally:
        with contextlib.suppress(FileNotFoundError):
            os.unlink(name)
