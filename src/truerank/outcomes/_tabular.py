"""Counts from tables of ranks: data frames, files, and Parquet larger than memory."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Self

import numpy.typing as npt

from truerank.errors import InputError
from truerank.outcomes import _large, _ranks, tables
from truerank.outcomes._building import Building
from truerank.outcomes._columns import KEY

DESIGN = ("num_negatives", "sample_size", "n_items")


class Tabular(Building):
    """Counts from tables; see RankCounts."""

    @classmethod
    def from_table(
        cls,
        table: Any,
        *,
        n_items: Any = None,
        sample_size: Any = None,
        num_negatives: Any = None,
        columns: Mapping[str, str] | None = None,
        **options: Any,
    ) -> Self:
        """Count the sampled ranks of a table, one row a rank.

        Parameters
        ----------
        table
            A pandas, polars or pyarrow table, the path of a Parquet, CSV or TSV file, or that of a
            folder of Parquet files. Parquet larger than memory is read a part at a time. Read are
            the columns ``rank`` (or ``sampled_rank``) and, where present, ``sample_size``
            or ``num_negatives``, ``n_items``, ``user_id``, ``item_id``, ``weight``; common
            other spellings are known.
        n_items, sample_size, num_negatives
            For what is no column of the table.
        columns
            Our name -> the table's, for other spellings: ``{"sampled_rank": "pos"}``.
        options
            As in :meth:`from_ranks`: ``replacement``, ``ladder``, ``hits``, ``targets``.
        """
        given = {"n_items": n_items, "sample_size": sample_size, "num_negatives": num_negatives}
        if (large := _large.find(table)) is not None:
            return cls._from_large(large, columns, options, given)[""]
        return cls._from_table(tables.read(table), columns, options, **given)

    @classmethod
    def by_model(cls, table: Any, *, by: str = "model", **options: Any) -> dict[str, Self]:
        """One RankCounts for each value of the column ``by``; options as in :meth:`from_table`."""
        columns = options.pop("columns", None)
        given = {name: options.pop(name, None) for name in DESIGN}
        large = _large.find(table)
        source = tables.read(table) if large is None else large.empty
        if by == "model":  # or as the table spells it
            by = tables.column_name(source, "model", columns) or by
        if large is not None:
            return cls._from_large(large, columns, options, given, by=by)
        if not len(source):
            raise InputError(f"{source.name} is empty; there is nothing to count")
        return {
            value: cls._from_table(part, columns, options, **given)
            for value, part in source.split(by)
        }

    @classmethod
    def _from_large(
        cls,
        large: _large.Large,
        columns: Mapping[str, str] | None,
        options: dict[str, Any],
        given: dict[str, Any],
        *,
        by: str | None = None,
    ) -> dict[str, Self]:
        """The counts of each value of ``by``, or of all under "", a part at a time."""
        table_ranks(large.empty, columns, **given)  # raises if columns are not as they should be
        names = {role: tables.column_name(large.empty, role, columns) for role in tables.COLUMNS}
        if by is None and names["model"] and (n_models := len(large.values(names["model"]))) > 1:
            raise _several_models(large.name, n_models)
        said = dict(options)
        if options.get("replacement") is None:
            said["replacement"] = True  # so that no part warns
        wanted = dict.fromkeys(name for name in (*names.values(), by) if name is not None)
        found: dict[str, Self] = {}
        n_seen = 0
        for part in large.parts(list(wanted), names["user_id"]):
            try:
                for value, rows in [("", part)] if by is None else part.split(by):
                    counts = cls._from_table(rows, columns, said, **given)
                    found[value] = found[value] + counts if value in found else counts
            except InputError as error:
                raise InputError(f"{error} (in the part behind {n_seen:,} rows)") from error
            n_seen += len(part)
        if not found:
            raise InputError(f"{large.name} is empty; there is nothing to count")
        if options.get("replacement") is None:
            for counts in found.values():
                _ranks.warn_if_replacement_matters(counts.sample_size, counts.n_items)
        return found

    @classmethod
    def _from_table(
        cls,
        source: tables.Table,
        columns: Mapping[str, str] | None,
        options: dict[str, Any],
        **given: Any,
    ) -> Self:
        return cls.from_ranks(**table_ranks(source, columns, **given), **options)


def table_ranks(
    source: tables.Table, columns: Mapping[str, str] | None, **given: Any
) -> dict[str, Any]:
    """The ranks of a table of one model, as arguments of :meth:`RankCounts.from_ranks`.

    ``given`` are ``n_items``, ``sample_size`` and ``num_negatives``, None where unsaid.
    """
    if {*KEY, "weight"} <= set(source.columns):
        raise InputError(
            f"{source.name} holds outcomes already counted, not ranks: RankCounts.load reads "
            "what RankCounts.save wrote"
        )
    models = _column(source, "model", columns)
    if models is not None and (n_models := len(set(map(str, models.tolist())))) > 1:
        raise _several_models(source.name, n_models)
    ranks = _column(source, "sampled_rank", columns)
    if ranks is None:
        raise source.missing("rank", "sampled_rank")
    for name in DESIGN:
        found = _column(source, name, columns)
        if found is not None and given[name] is not None:
            raise InputError(
                f"{name} is given as {given[name]!r} and is a column of {source.name}: "
                "drop one of them"
            )
        given[name] = found if found is not None else given[name]
    if given["n_items"] is None:
        raise InputError(f"n_items is neither given nor a column of {source.name}")
    identities: dict[str, Any] = {
        f"{name}s": _column(source, name, columns) for name in ("user_id", "item_id", "weight")
    }
    if identities["user_ids"] is None:  # an item without its user tells nothing
        identities["item_ids"] = None
    return {"ranks": ranks, **given, **identities}


def _several_models(name: str, n_models: int) -> InputError:
    return InputError(
        f"{name} holds {n_models} models; count each on its own: RankCounts.by_model, or "
        "--by model on the command line"
    )


def _column(
    source: tables.Table, role: str, columns: Mapping[str, str] | None
) -> npt.NDArray[Any] | None:
    name = tables.column_name(source, role, columns)
    return None if name is None else source.values(name)
