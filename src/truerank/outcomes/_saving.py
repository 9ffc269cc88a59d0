"""Counts as Arrow tables and Parquet files, and back."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any, Self

import numpy as np

from truerank import _arguments, _checks
from truerank._types import PathLike
from truerank._visible import in_html
from truerank.errors import InputError
from truerank.outcomes import _ranks, _sealed, tables
from truerank.outcomes._columns import KEY, TARGETS, Columns, about_targets, replicates
from truerank.outcomes.schemes import Scheme

FORMAT_VERSION = 2  # 1, without columns about several targets, is still written where it does
_FORMAT_KEY = tables.SAVED["counts"]
_DROPPED_KEY = b"truerank.n_dropped"


class Saving(Columns):
    """How a RankCounts is kept; see there."""

    def to_arrow(self) -> Any:
        """The outcomes as a pyarrow Table, one row per outcome.

        Returns
        -------
        pyarrow.Table
            Columns ``scheme`` (readable text), ``n_items``, ``sample_size``, ``sampled_rank``,
            ``replicate`` and ``weight``, with several targets also ``place``, ``n_targets``,
            ``offset`` and ``block``; ``n_users`` and ``squared_weight`` in its metadata.

        Examples
        --------
        >>> counts = tr.RankCounts.from_ranks([1, 3, 1], num_negatives=99, n_items=3706)
        >>> counts.to_arrow().column_names
        ['scheme', 'n_items', 'sample_size', 'sampled_rank', 'replicate', 'weight']
        """
        import pyarrow as pa

        known = pa.array([scheme.name for scheme in self.schemes])
        columns = {
            "scheme": pa.DictionaryArray.from_arrays(pa.array(self.scheme, pa.int32()), known)
        }
        names = (*KEY[1:], *(TARGETS if self.several else ()), "weight")
        columns |= {name: pa.array(getattr(self, name)) for name in names}
        version = FORMAT_VERSION if self.several else 1
        facts = f"{version} {self.n_users!r} {self.squared_weight!r}"
        metadata = {_FORMAT_KEY: facts.encode()}
        if self.n_dropped:
            metadata[_DROPPED_KEY] = str(self.n_dropped).encode()
        return pa.table(columns, metadata=metadata)

    def to_pandas(self) -> Any:
        """The outcomes as a pandas DataFrame, one row per outcome.

        Returns
        -------
        pandas.DataFrame
            With the columns of :meth:`to_arrow`.

        Examples
        --------
        >>> counts = tr.RankCounts.from_ranks([1, 3, 1], num_negatives=99, n_items=3706)
        >>> counts.to_pandas()[["scheme", "sampled_rank", "weight"]]
          scheme  sampled_rank  weight
        0   with             1     2.0
        1   with             3     1.0
        """
        _checks.library("pandas", "to_pandas")
        return self.to_arrow().to_pandas()

    def to_polars(self) -> Any:
        """The outcomes as a polars DataFrame, one row per outcome.

        Returns
        -------
        polars.DataFrame
            With the columns of :meth:`to_arrow`.

        Examples
        --------
        >>> counts = tr.RankCounts.from_ranks([1, 3, 1], num_negatives=99, n_items=3706)
        >>> counts.to_polars()["sampled_rank"].to_list()
        [1, 3]
        """
        return _checks.library("polars", "to_polars").from_arrow(self.to_arrow())

    def to_dict(self) -> dict[str, Any]:
        """The counts as plain data, ready for JSON.

        Returns
        -------
        dict
            ``n_users``, ``n_dropped`` and ``outcomes``, one dict per outcome with the columns of
            :meth:`to_arrow`.

        Examples
        --------
        >>> counts = tr.RankCounts.from_ranks([1, 3, 1], num_negatives=99, n_items=3706)
        >>> found = counts.to_dict()
        >>> found["n_users"], found["outcomes"][0]["sampled_rank"], found["outcomes"][0]["weight"]
        (3.0, 1, 2.0)
        """
        return {
            "n_users": self.n_users,
            "n_dropped": self.n_dropped,
            "outcomes": self.to_arrow().to_pylist(),
        }

    def to_markdown(self) -> str:
        """What the counts are, as a table in Markdown.

        Returns
        -------
        str
            A header, a rule and one line per fact.

        Examples
        --------
        >>> counts = tr.RankCounts.from_ranks([1, 3, 1], num_negatives=99, n_items=3706)
        >>> print(counts.to_markdown())
        | users | outcomes | pools | sample sizes |
        | --- | --- | --- | --- |
        | 3 | 2 | 3,706 | 100 |
        """
        facts = self._facts()
        lines = [list(facts), ["---"] * len(facts), list(facts.values())]
        return "\n".join(f"| {' | '.join(line)} |" for line in lines)

    def _repr_html_(self) -> str:
        """For notebooks: what the counts are, and the first outcomes."""
        head = "".join(f"<th>{name}</th>" for name in self._facts())
        body = "".join(f"<td>{value}</td>" for value in self._facts().values())
        return (
            f"<p>{in_html(repr(self))}</p><table><thead><tr>{head}</tr></thead>"
            f"<tbody><tr>{body}</tr></tbody></table>"
        )

    def _facts(self) -> dict[str, str]:
        def span(column: Any) -> str:
            low, high = int(column.min()), int(column.max())
            return f"{low:,}" if low == high else f"{low:,} to {high:,}"

        return {
            "users": f"{self.n_users:,.0f}",
            "outcomes": f"{self.n_outcomes:,}",
            "pools": span(self.n_items),
            "sample sizes": span(self.sample_size),
        }

    def save(self, path: PathLike, *, notes: Mapping[bytes, bytes] | None = None) -> None:
        """Write the counts to a Parquet file, which :meth:`load` reads.

        The file appears whole or not at all: it is written under a temporary name and renamed. A
        checksum tells :meth:`load` whether it was damaged since.

        Parameters
        ----------
        path : str or path
            Where to write; the name ends in ``.parquet``.
        notes : mapping of bytes to bytes, optional
            More entries for the metadata of the file.

        Raises
        ------
        InputError
            If the name has another ending or the folder does not exist.

        Examples
        --------
        >>> counts = tr.RankCounts.from_ranks([1, 3, 1], num_negatives=99, n_items=3706)
        >>> counts.save("counts.parquet")
        >>> tr.RankCounts.load("counts.parquet") == counts
        True
        """
        _arguments.check(Saving.save, locals())
        table = self.to_arrow()
        kept = table.schema.metadata
        facts = kept[_FORMAT_KEY] + f" {_sealed.MARK}".encode()
        metadata = {**kept, **(notes or {}), _FORMAT_KEY: facts}
        tables.write_parquet(_sealed.seal(table.replace_schema_metadata(metadata)), path)

    @classmethod
    def load(cls, path: PathLike) -> Self:
        """Read the counts that :meth:`save` wrote.

        Parameters
        ----------
        path : str or path
            The Parquet file.

        Returns
        -------
        RankCounts
            Equal to those saved, bit for bit.

        Raises
        ------
        InputError
            If the file holds something else (for a file of ranks use :meth:`from_table`), is
            damaged, or was written by a later truerank.

        Examples
        --------
        >>> tr.RankCounts.from_exact_ranks([1, 3], n_items=3706).save("counts.parquet")
        >>> tr.RankCounts.load("counts.parquet").n_users
        2.0
        """
        _arguments.check(Saving.load, locals())
        path = Path(path)
        source = tables.read(path)
        metadata = tables.parquet_metadata(path)
        if _sealed.orphaned(metadata, tables.SAVED.values()):
            raise InputError(f"{path} is damaged: the description of its contents is gone")
        facts = metadata.get(_FORMAT_KEY)
        if facts is None:
            raise InputError(
                f"{path} holds no RankCounts; for a file of ranks use RankCounts.from_table, for "
                "paired counts PairedCounts.load"
            )
        version, _, rest = facts.decode(errors="replace").partition(" ")
        if version not in map(str, range(1, FORMAT_VERSION + 1)):
            raise InputError(
                f"{path} is RankCounts format {version[:20]!r}; this truerank reads up to "
                f"{FORMAT_VERSION}: upgrade truerank"
            )
        parts = rest.split()
        try:
            n_users, squared = map(float, parts[:2])
            found = cls.from_columns(source, n_users=n_users, squared_weight=squared)
            if n_dropped := int(metadata.get(_DROPPED_KEY, b"0")):
                found = replace(found, n_dropped=n_dropped)
        except (ValueError, TypeError) as error:
            raise InputError(f"{path} is damaged: {error}") from None
        _sealed.check(source.native, path, needed=len(parts) != 2)
        return found

    @classmethod
    def from_columns(cls, table: Any, *, n_users: float, squared_weight: float) -> Self:
        """Counts from a table of outcomes with their weights; equal outcomes add up.

        Parameters
        ----------
        table : table or path
            With the columns of :meth:`to_arrow`, its rows in any order.
        n_users : float
            What metrics are divided by.
        squared_weight : float
            Sum of the squared weights of independent ranks.

        Returns
        -------
        RankCounts
            The outcomes, checked and sorted.

        Examples
        --------
        >>> counts = tr.RankCounts.from_ranks([1, 3, 1], num_negatives=99, n_items=3706)
        >>> table = counts.to_arrow()
        >>> tr.RankCounts.from_columns(table, n_users=3, squared_weight=3) == counts
        True
        """
        _arguments.check(Saving.from_columns, locals())
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
            **about_targets(
                rank.size,
                **{
                    name: source.values(name) if name in source.columns else None
                    for name in TARGETS
                },
            ),
            n_users=n_users,
            squared_weight=squared_weight,
            n_dropped=0,
        )


def is_saved(path: Any) -> bool:
    """Whether ``path`` is a Parquet file that `RankCounts.save` wrote."""
    metadata = tables.parquet_metadata(Path(path))
    return _FORMAT_KEY in metadata or _sealed.orphaned(metadata, tables.SAVED.values())
