"""A checksum in saved tables: what was changed on disk, by a bit or by hand, is refused."""

from __future__ import annotations

import hashlib
from collections.abc import Collection, Iterator
from pathlib import Path
from typing import Any

from truerank.errors import InputError

KEY = b"truerank.sha256"  # in the metadata, beside the key that says what is kept
MARK = "sealed"  # in the text of that key: the checksum must be there


def seal(table: Any) -> Any:
    """A table with the checksum of its columns and metadata in its metadata.

    Parameters
    ----------
    table : pyarrow.Table
        What is to be saved.

    Returns
    -------
    pyarrow.Table
        The same with one more entry.
    """
    metadata = table.schema.metadata or {}
    return table.replace_schema_metadata({**metadata, KEY: _digest(table)})


def check(table: Any, path: Path, *, needed: bool) -> None:
    """Refuse a table that is not as it was sealed.

    Parameters
    ----------
    table : pyarrow.Table
        As read.
    path : Path
        Where from.
    needed : bool
        Whether there must be a checksum; files of earlier versions have none.

    Raises
    ------
    InputError
        If the checksum is missing or another.
    """
    kept = (table.schema.metadata or {}).get(KEY)
    if kept is None and not needed:
        return
    if kept != _digest(table):
        raise InputError(
            f"{path} is damaged: its content does not match its checksum; restore it from a copy "
            "or make it again"
        )


def orphaned(metadata: Any, kinds: Collection[bytes]) -> bool:
    """Whether a table has a checksum and none of the keys that say what is kept.

    Parameters
    ----------
    metadata : dict
        Of a table.
    kinds : list of bytes
        The keys.

    Returns
    -------
    bool
        If so, it is damaged.
    """
    return KEY in metadata and not any(kind in metadata for kind in kinds)


def _digest(table: Any) -> bytes:
    """Digest of the values, whatever their chunks, dictionaries or compression."""
    import pyarrow as pa
    import pyarrow.compute as pc

    found = hashlib.sha256()

    def add(part: bytes) -> None:
        found.update(len(part).to_bytes(8, "little"))
        found.update(part)

    for name, value in sorted((table.schema.metadata or {}).items()):
        if name != KEY:
            add(name)
            add(value)
    for name, column in zip(table.column_names, table.columns, strict=True):
        add(name.encode("utf-8", "surrogatepass"))
        if pa.types.is_dictionary(column.type):
            column = pc.cast(column, column.type.value_type)
        for part in _parts(column):
            add(part)
    return found.hexdigest().encode()


def _parts(column: Any) -> Iterator[bytes]:
    """The type of a column and its values; of lists their lengths and what is in them."""
    import pyarrow as pa
    import pyarrow.compute as pc

    if not column.null_count and _is_list(column.type):
        yield pc.list_value_length(column).to_numpy().tobytes()
        yield from _parts(pc.list_flatten(column))
        return
    yield str(column.type).encode()
    if not column.null_count and _is_number(column.type):
        yield column.to_numpy().tobytes()
    elif not column.null_count and pa.types.is_large_binary(column.type):
        yield pc.binary_length(column).to_numpy().tobytes()
        yield b"".join(column.to_pylist())
    else:
        yield repr(column.to_pylist()).encode("utf-8", "surrogatepass")


def _is_list(kind: Any) -> bool:
    import pyarrow.types as t

    return bool(t.is_list(kind) or t.is_large_list(kind))


def _is_number(kind: Any) -> bool:
    import pyarrow.types as t

    return bool(t.is_integer(kind) or t.is_floating(kind))
