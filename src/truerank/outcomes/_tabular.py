"""Counts from tables of ranks: data frames, files, and Parquet larger than memory."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Self, TypedDict, Unpack

import numpy.typing as npt

from truerank._types import RankAmong, Repeats
from truerank.errors import InputError
from truerank.outcomes import _large, _ranks, tables
from truerank.outcomes._building import Building
from truerank.outcomes._columns import KEY

DESIGN = ("num_negatives", "sample_size", "n_items")


class TableOptions(TypedDict, total=False):
    """The options of `RankCounts.from_table`, for those who pass them on."""

    num_negatives: Any
    sample_size: Any
    n_items: Any
    replacement: bool | None
    ladder: Iterable[int] | None
    hits: int | Sequence[int]
    rank_among: RankAmong | None
    repeats: Repeats | None
    shared_negatives: bool | None
    columns: Mapping[str, str] | None


class Tabular(Building):
    """Counts from tables; see RankCounts."""

    @classmethod
    def from_table(
        cls,
        table: Any,
        *,
        num_negatives: Any = None,
        sample_size: Any = None,
        n_items: Any = None,
        replacement: bool | None = None,
        ladder: Iterable[int] | None = None,
        hits: int | Sequence[int] = 1,
        rank_among: RankAmong | None = None,
        repeats: Repeats | None = None,
        shared_negatives: bool | None = None,
        columns: Mapping[str, str] | None = None,
    ) -> Self:
        """Count the sampled ranks of a table with one row per rank.

        Read are the columns ``rank`` (or ``sampled_rank``) and, where present, ``sample_size`` or
        ``num_negatives``, ``n_items``, ``user_id``, ``item_id`` and ``weight``; for users with
        several targets also ``score``, or ``place``, ``n_targets`` and ``offset``. Other common
        spellings are known.

        Parameters
        ----------
        table : table or path
            A pandas, polars or pyarrow table, the path of a Parquet, CSV or TSV file, or that of a
            folder of Parquet files. Parquet larger than memory is read in parts.
        num_negatives : int, optional
            Negatives drawn per row, the target not counted, if no column says it.
        sample_size : int, optional
            Candidates ranked per row, the target included, if no column says it.
        n_items : int, optional
            Size of the pool, the target included, if no column says it.
        replacement : bool, optional
            Whether negatives were drawn with replacement. Assumed True if not given, with a
            warning where that matters.
        ladder : iterable of int, optional
            For adaptive samples, the sizes that a user may end with: see :class:`Scheme`.
        hits : int or sequence of int
            For adaptive samples, the negatives above the target that end the sampling.
        rank_among : {"negatives", "list"}, optional
            For users with several targets: whether each rank is among the user's non-targets, or a
            position in one list with all targets of the user. Not needed with a column ``place``.
        repeats : {"targets", "draws"}, optional
            What several rows of a user are if there is no column ``item_id``: several targets, or
            repeated draws for one, which make one larger sample.
        shared_negatives : bool, optional
            True if the targets of a user were ranked among the same negatives, so that sampled
            ranks order them; otherwise a column ``score`` has to.
        columns : mapping of str to str, optional
            Our name -> the table's, for other spellings: ``{"sampled_rank": "pos"}``.

        Returns
        -------
        RankCounts
            The distinct outcomes and the number of users with each.

        Raises
        ------
        InputError
            If a column is missing or also given as an option, a rank is impossible, or the table
            holds several models (then use :meth:`by_model`).

        Examples
        --------
        >>> import pandas as pd
        >>> table = pd.DataFrame({"user_id": ["ann", "bob", "eve"], "rank": [1, 3, 1]})
        >>> tr.RankCounts.from_table(table, num_negatives=99, n_items=3706, replacement=False)
        RankCounts(3 users; pools of 3,706 items; sample sizes 100; without replacement; 2 outcomes)
        """
        given = {"num_negatives": num_negatives, "sample_size": sample_size, "n_items": n_items}
        options = {
            "replacement": replacement,
            "ladder": ladder,
            "hits": hits,
            "rank_among": rank_among,
            "repeats": repeats,
            "shared_negatives": shared_negatives,
        }
        if (large := _large.find(table)) is not None:
            return cls._from_large(large, columns, options, given)[""]
        return cls._from_table(tables.read(table), columns, options, **given)

    @classmethod
    def by_model(
        cls, table: Any, *, by: str = "model", **options: Unpack[TableOptions]
    ) -> dict[str, Self]:
        """Count the ranks of each model of a table on its own.

        Parameters
        ----------
        table : table or path
            As in :meth:`from_table`, with the ranks of several models.
        by : str
            The column that tells the models apart.
        **options : TableOptions
            ``num_negatives``, ``sample_size``, ``n_items``, ``replacement``, ``ladder``, ``hits``,
            ``rank_among``, ``repeats``, ``shared_negatives`` and ``columns``, as in
            :meth:`from_table`.

        Returns
        -------
        dict of str to RankCounts
            The counts of each value of the column, in order of appearance.

        Examples
        --------
        >>> import pandas as pd
        >>> table = pd.DataFrame({"model": ["EASE", "EASE", "ALS"], "rank": [1, 3, 1]})
        >>> found = tr.RankCounts.by_model(table, num_negatives=99, n_items=3706)
        >>> {model: counts.n_users for model, counts in found.items()}
        {'EASE': 2.0, 'ALS': 1.0}
        """
        columns, given, rest = split_options(options)
        large = _large.find(table)
        source = tables.read(table) if large is None else large.empty
        if by == "model":  # or as the table spells it
            by = tables.column_name(source, "model", columns) or by
        if large is not None:
            return cls._from_large(large, columns, rest, given, by=by)
        if not len(source):
            raise InputError(f"{source.name} is empty; there is nothing to count")
        return {
            value: cls._from_table(part, columns, rest, **given) for value, part in source.split(by)
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
        quiet = dict(options)
        if options.get("replacement") is None:
            quiet["replacement"] = True  # so that no part warns
        wanted = dict.fromkeys(name for name in (*names.values(), by) if name is not None)
        found: dict[str, Self] = {}
        n_seen = 0
        for part in large.parts(list(wanted), names["user_id"]):
            try:
                for value, rows in [("", part)] if by is None else part.split(by):
                    counts = cls._from_table(rows, columns, quiet, **given)
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


def split_options(
    options: Mapping[str, Any],
) -> tuple[Mapping[str, str] | None, dict[str, Any], dict[str, Any]]:
    """Options of `from_table` as (columns, what a column may say, options of `from_ranks`)."""
    rest = dict(options)
    columns = rest.pop("columns", None)
    return columns, {name: rest.pop(name, None) for name in DESIGN}, rest


def table_ranks(
    source: tables.Table, columns: Mapping[str, str] | None, **given: Any
) -> dict[str, Any]:
    """The ranks of a table of one model, as arguments of :meth:`RankCounts.from_ranks`.

    ``given`` are ``num_negatives``, ``sample_size`` and ``n_items``, None where not given.
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
        f"{name}s": _column(source, name, columns)
        for name in ("user_id", "item_id", "weight", "score")
    }
    identities |= {
        name: _column(source, name, columns) for name in ("place", "n_targets", "offset")
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
