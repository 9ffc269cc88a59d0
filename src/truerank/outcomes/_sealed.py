"""A checksum in saved tables: what was changed on disk, by a bit or by hand, is refused."""

from __future__ import annotations

import hashlib
from collections.abc import Collection
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
    """Of values, whatever chunks, dictionaries or compression keep them."""
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
        add(str(column.type).encode())
        if column.null_count or not _is_number(column.type):
            add(repr(column.to_pylist()).encode("utf-8", "surrogatepass"))
        else:
            add(column.to_numpy().tobytes())
    return found.hexdigest().encode()


def _is_number(kind: Any) -> bool:
    import pyarrow.types as t

    return bool(t.is_integer(kind) or t.is_floating(kind))
