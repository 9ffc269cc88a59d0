"""Counts as Arrow tables and Parquet files, and back."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any, Self

import numpy as np

from truerank import _checks
from truerank.errors import InputError
from truerank.outcomes import _ranks, tables
from truerank.outcomes._columns import KEY, Columns, replicates
from truerank.outcomes.schemes import Scheme

FORMAT_VERSION = 1
_FORMAT_KEY = b"truerank.rank_counts"


class Saving(Columns):
    """How a RankCounts is kept; see there."""

    def to_arrow(self) -> Any:
        """The outcomes as a pyarrow Table with a readable ``scheme`` column."""
        import pyarrow as pa

        names = pa.array([scheme.name for scheme in self.schemes])
        columns = {
            "scheme": pa.DictionaryArray.from_arrays(pa.array(self.scheme, pa.int32()), names)
        }
        columns |= {name: pa.array(getattr(self, name)) for name in (*KEY[1:], "weight")}
        facts = f"{FORMAT_VERSION} {self.n_users!r} {self.squared_weight!r}"
        return pa.table(columns, metadata={_FORMAT_KEY: facts.encode()})

    def to_pandas(self) -> Any:
        """The outcomes as a pandas DataFrame."""
        return self.to_arrow().to_pandas()

    def save(self, path: Any, *, notes: Mapping[bytes, bytes] | None = None) -> None:
        """Write to Parquet (``.parquet``): to a temporary file first, then renamed.

        ``notes`` go into the file's metadata.
        """
        import pyarrow.parquet as pq

        if Path(path).suffix.lower() not in tables.PARQUET:
            raise InputError(f"cannot write {path}: its name must end in {tables.PARQUET[0]}")
        with tables.replacing(path) as temporary:
            table = self.to_arrow()
            metadata = {**(table.schema.metadata or {}), **(notes or {})}
            pq.write_table(table.replace_schema_metadata(metadata), temporary)

    @classmethod
    def load(cls, path: Any) -> Self:
        """Read what :meth:`save` wrote."""
        path = Path(path)
        source = tables.read(path)
        facts = tables.parquet_metadata(path).get(_FORMAT_KEY)
        if facts is None:
            raise InputError(
                f"{path} holds no RankCounts; for a file of ranks use RankCounts.from_table"
            )
        version, _, rest = facts.decode(errors="replace").partition(" ")
        if version != str(FORMAT_VERSION):
            raise InputError(
                f"{path} is RankCounts format {version[:20]!r}; this truerank reads up to "
                f"{FORMAT_VERSION}: upgrade truerank"
            )
        try:
            n_users, squared = (float(part) for part in rest.split())
            return cls.from_columns(source, n_users=n_users, squared_weight=squared)
        except (ValueError, TypeError) as error:
            raise InputError(f"{path} is damaged: {error}") from None

    @classmethod
    def from_columns(cls, table: Any, *, n_users: float, squared_weight: float) -> Self:
        """Counts from a table with the columns of :meth:`to_arrow`, in any order and number.

        ``scheme`` may be plain text; equal outcomes add up.
        """
        source = tables.read(table)
        names = source.values("scheme").tolist()
        code_of = {name: i for i, name in enumerate(dict.fromkeys(names))}
        schemes = [Scheme.parse(name) for name in code_of]
        code = np.array([code_of[name] for name in names], dtype=np.int64)
        pool, size, rank, group = (_checks.whole_numbers(source.values(n), n) for n in KEY[1:])
        for i, scheme in enumerate(schemes):
            here = code == i
            _ranks.check_outcomes(scheme, pool[here], size[here], rank[here])
        return cls._build(
            schemes,
            code,
            pool,
            size,
            rank,
            _ranks.row_weights(source.values("weight"), rank.size),
            replicate=replicates(group, rank.size),
            n_users=n_users,
            squared_weight=squared_weight,
        )


def is_saved(path: Any) -> bool:
    """Whether ``path`` is a Parquet file that :meth:`RankCounts.save` wrote."""
    return _FORMAT_KEY in tables.parquet_metadata(Path(path))
