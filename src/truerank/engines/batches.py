"""Counts as plain Arrow rows, which any engine can move and add, and batches of a good size."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from truerank.errors import InputError
from truerank.outcomes.counts import RankCounts

KEYS = (
    "scheme", "n_items", "sample_size", "sampled_rank", "replicate",
    "place", "n_targets", "offset", "block",
)  # fmt: skip
# Outcomes add up by their weight; the others are totals of a batch, on its first row.
SUMS = ("weight", "n_users", "squared_weight", "pairs", "targets")

_BYTES = 2**25  # of rows counted at a time


def pack(counts: RankCounts | None, pairs: int = 0, targets: int = 0) -> Any:
    """Counts as a pyarrow Table that can be concatenated with others; None has no rows.

    ``pairs`` is how many were asked of the scorer for them, ``targets`` how many were ranked.
    """
    import pyarrow as pa

    text, whole, real = pa.string(), pa.int64(), pa.float64()
    schema = pa.schema(
        [(name, text if name == "scheme" else whole) for name in KEYS]
        + [(name, real) for name in SUMS]
    )
    if counts is None:
        return schema.empty_table()
    names = np.array([scheme.name for scheme in counts.schemes], dtype=object)
    columns: list[Any] = [names[counts.scheme]]
    columns += [getattr(counts, name) for name in (*KEYS[1:], "weight")]
    for total in (counts.n_users, counts.squared_weight, pairs, targets):
        columns.append(np.zeros(counts.n_outcomes))
        columns[-1][0] = total
    arrays = [pa.array(column, field.type) for column, field in zip(columns, schema, strict=True)]
    return pa.Table.from_arrays(arrays, schema=schema)


def add_up(parts: Any) -> RankCounts:
    """The counts of packed tables (or record batches), of one or of several.

    Parameters
    ----------
    parts : pyarrow.Table, RecordBatch or iterable of them
        What kernels returned.

    Returns
    -------
    RankCounts
        Those of all parts.
    """
    return added_up(parts).counts


@dataclass(frozen=True)
class Counted:
    """Counts, the pairs that were asked of the scorer for them, and the targets ranked."""

    counts: RankCounts
    pairs: int
    targets: int


def added_up(parts: Any) -> Counted:
    """`add_up`, with what the counts took."""
    import pyarrow as pa

    if isinstance(parts, (pa.Table, pa.RecordBatch)):
        parts = [parts]
    tables = [as_table(part) for part in parts]
    whole = pa.concat_tables(tables) if tables else pack(None)
    if not len(whole):
        raise InputError("there are no rows; there is nothing to count")
    n_users, squared, pairs, targets = (float(whole[name].to_numpy().sum()) for name in SUMS[1:])
    counts = RankCounts.from_columns(whole, n_users=n_users, squared_weight=squared)
    return Counted(counts, round(pairs), round(targets))


def as_table(rows: Any) -> Any:
    """A record batch as a table; a table as it is."""
    import pyarrow as pa

    if isinstance(rows, pa.RecordBatch):
        return pa.Table.from_batches([rows])
    if isinstance(rows, pa.Table):
        return rows
    raise InputError(f"rows are a {type(rows).__name__}; give a pyarrow Table or RecordBatch")


def gathered(batches: Iterable[Any], n_bytes: int = _BYTES) -> Iterator[Any]:
    """Record batches put together to tables of about ``n_bytes``: small calls cost more a row."""
    import pyarrow as pa

    held: list[Any] = []
    size = 0
    for batch in batches:
        if batch.num_rows:
            held.append(batch)
            size += batch.nbytes
        if size >= n_bytes:
            yield pa.Table.from_batches(held)
            held, size = [], 0
    if held:
        yield pa.Table.from_batches(held)


def whole_users(tables: Iterable[Any], user: str) -> Iterator[Any]:
    """Tables, sorted by the column ``user`` across all, cut so that each holds whole users."""
    import pyarrow as pa
    import pyarrow.compute as pc

    rest = None
    for table in tables:
        here = table if rest is None else pa.concat_tables([rest, table])
        last = here[user][len(here) - 1]
        cut = int(pc.index(here[user], last).as_py())  # where the last user begins
        if cut:
            yield here.slice(0, cut)
        rest = here.slice(cut)
    if rest is not None:
        yield rest
