"""Counts from tables of ranks: data frames, files, and files larger than memory."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Self, TypedDict, Unpack

import numpy as np
import numpy.typing as npt

from truerank import _arguments
from truerank._types import RankAmong, Repeats
from truerank.errors import InputError
from truerank.outcomes import _large, _ranks, tables
from truerank.outcomes._building import Building
from truerank.outcomes._columns import KEY
from truerank.outcomes.schemes import Scheme

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
    zero_based: bool
    drop_missing: bool


class SplitOptions(TableOptions, total=False):
    """The same, with the column that tells models apart."""

    by: str


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
        zero_based: bool = False,
        drop_missing: bool = False,
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
            folder of Parquet files. Large files are read in parts.
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
        zero_based : bool, default False
            True if ranks start from 0: 1 is added to each. A column ``place`` starts from 1 always.
        drop_missing : bool, default False
            Leave out rows without a rank, whose number is ``n_dropped`` of the counts, instead of
            refusing the table. Where a rank is missing because the target was not found, that
            flatters the model: :meth:`from_lists` counts such targets.

        Returns
        -------
        RankCounts
            The distinct outcomes and the number of users with each.

        Raises
        ------
        InputError
            If a column is missing or also given as an option, a rank is impossible, or the table
            holds several models (then use :meth:`by_model`).

        Warns
        -----
        AssumptionWarning
            If rows without a rank were left out, with their number; or if ``replacement`` is not
            given and matters.

        Examples
        --------
        >>> import pandas as pd
        >>> table = pd.DataFrame({"user_id": ["ann", "bob", "eve"], "rank": [1, 3, 1]})
        >>> tr.RankCounts.from_table(table, num_negatives=99, n_items=3706, replacement=False)
        RankCounts(3 users; pools of 3,706 items; sample sizes 100; without replacement; 2 outcomes)

        Ranks that start from 0:

        >>> table = pd.DataFrame({"rank": [0, 2, 0]})
        >>> counts = tr.RankCounts.from_table(
        ...     table, num_negatives=99, n_items=3706, zero_based=True
        ... )
        >>> counts.sampled_rank.tolist()
        [1, 3]
        """
        _arguments.check(Tabular.from_table, locals())
        given = {"num_negatives": num_negatives, "sample_size": sample_size, "n_items": n_items}
        options = {
            "replacement": replacement,
            "ladder": ladder,
            "hits": hits,
            "rank_among": rank_among,
            "repeats": repeats,
            "shared_negatives": shared_negatives,
            "zero_based": zero_based,
        }
        reading = Reading(columns, given, options, drop_missing)
        if (large := _large.find(table)) is not None:
            counts = cls._from_large(large, reading)[""]
            name = large.name
        else:
            source = tables.read(table)
            counts, name = cls._from_table(source, reading), source.name
        _ranks.warn_if_dropped(counts.n_dropped, name)
        return counts

    @classmethod
    def by_model(
        cls, table: Any, *, by: str | Sequence[str] = "model", **options: Unpack[TableOptions]
    ) -> dict[str, Self]:
        """Count the ranks of each model, or of each group of rows, of a table on its own.

        Parameters
        ----------
        table : table or path
            As in :meth:`from_table`, with the ranks of several models.
        by : str or sequence of str
            The column that tells the models apart. Of several columns, each combination of values
            that occurs is a group.
        **options : TableOptions
            ``num_negatives``, ``sample_size``, ``n_items``, ``replacement``, ``ladder``, ``hits``,
            ``rank_among``, ``repeats``, ``shared_negatives``, ``columns``, ``zero_based`` and
            ``drop_missing``, as in :meth:`from_table`.

        Returns
        -------
        dict of str to RankCounts
            The counts of each value of the column, in order of appearance; of several columns
            their values with ", " in between.

        Examples
        --------
        >>> import pandas as pd
        >>> table = pd.DataFrame({"model": ["EASE", "EASE", "ALS"], "rank": [1, 3, 1]})
        >>> found = tr.RankCounts.by_model(table, num_negatives=99, n_items=3706)
        >>> {model: counts.n_users for model, counts in found.items()}
        {'EASE': 2.0, 'ALS': 1.0}
        >>> table = pd.DataFrame({"side": ["head", "tail"], "relation": [7, 7], "rank": [1, 3]})
        >>> list(
        ...     tr.RankCounts.by_model(table, by=["side", "relation"], n_items=999, num_negatives=4)
        ... )
        ['head, 7', 'tail, 7']
        """
        _arguments.check(Tabular.by_model, locals())
        reading = Reading.of(options)
        large = _large.find(table)
        source = tables.read(table) if large is None else large.empty
        if isinstance(by, str) and by == "model":  # or as the table spells it
            by = tables.column_name(source, "model", reading.columns) or by
        if large is not None:
            found = cls._from_large(large, reading, by=by)
        elif not len(source):
            raise InputError(f"{source.name} is empty; there is nothing to count")
        else:
            found = {value: cls._from_table(part, reading) for value, part in source.split(by)}
        _ranks.warn_if_dropped(sum(one.n_dropped for one in found.values()), source.name)
        return found

    @classmethod
    def _from_large(
        cls,
        large: _large.Large,
        reading: Reading,
        *,
        by: str | Sequence[str] | None = None,
    ) -> dict[str, Self]:
        """The counts of each value of ``by``, or of all under "", a part at a time."""
        table_ranks(large.empty, reading)  # raises if columns are not as they should be
        names = {
            role: tables.column_name(large.empty, role, reading.columns) for role in tables.COLUMNS
        }
        if by is None and names["model"] and (n_models := len(large.values(names["model"]))) > 1:
            raise _several_models(large.name, n_models)
        reading = reading.under(large.scheme if reading.unsaid else None)
        unsaid = reading.options.get("replacement") is None
        if unsaid:  # no part warns
            reading = replace(reading, options={**reading.options, "replacement": True})
        groups = () if by is None else (by,) if isinstance(by, str) else tuple(by)
        groups = tuple(large.empty.named(name) for name in groups)
        wanted = dict.fromkeys(name for name in (*names.values(), *groups) if name is not None)
        found: dict[str, Self] = {}
        without: dict[str, int] = {}
        first: dict[str, int] = {}  # rows; parts of whole users are not in the order of the file
        n_seen = 0
        for part in large.parts(list(wanted), names["user_id"]):
            try:
                for value, rows in [("", part)] if by is None else part.split(by):
                    if len(rows):
                        row = rows.row(0) + (0 if part.placed else n_seen)
                        first[value] = min(first.get(value, row), row)
                    ranked, n_dropped = reading.ranked(rows, large)
                    without[value] = without.get(value, 0) + n_dropped
                    if len(ranked):
                        counts = cls._from_table(ranked, reading)
                        found[value] = found[value] + counts if value in found else counts
            except InputError as error:
                if part.placed:
                    raise
                raise InputError(f"{error} (after the first {n_seen:,} rows)") from error
            n_seen += len(part)
        if not n_seen:
            raise InputError(f"{large.name} is empty; there is nothing to count")
        for value, n_dropped in without.items():
            if value not in found:
                raise _all_missing(large.name, n_dropped)
            found[value] = replace(found[value], n_dropped=n_dropped)
        found = {value: found[value] for value in sorted(found, key=first.__getitem__)}
        if unsaid:
            for counts in found.values():
                _ranks.warn_if_replacement_matters(counts.sample_size, counts.n_items)
        return found

    @classmethod
    def _from_table(cls, source: tables.Table, reading: Reading) -> Self:
        reading = reading.under(source.scheme)
        ranked, n_dropped = reading.ranked(source)
        if n_dropped and not len(ranked):
            raise _all_missing(source.name, n_dropped)
        with ranked.places():
            counts = cls.from_ranks(**table_ranks(ranked, reading), **reading.options)
        return replace(counts, n_dropped=n_dropped) if n_dropped else counts


@dataclass(frozen=True)
class Reading:
    """How tables of ranks are read: the options of `from_table`, sorted by what they are about.

    ``given`` are ``num_negatives``, ``sample_size`` and ``n_items``, which a column may say
    instead, None where not given; ``options`` go to :meth:`RankCounts.from_ranks`.
    """

    columns: Mapping[str, str] | None
    given: Mapping[str, Any]
    options: Mapping[str, Any]
    drop_missing: bool = False

    @classmethod
    def of(cls, options: Mapping[str, Any]) -> Reading:
        """From options of `from_table`, checked."""
        _arguments.check_options(TableOptions, options)
        rest = dict(options)
        columns, drop_missing = rest.pop("columns", None), rest.pop("drop_missing", False)
        return cls(columns, {name: rest.pop(name, None) for name in DESIGN}, rest, drop_missing)

    @property
    def unsaid(self) -> bool:
        """Whether the options leave open how negatives were drawn."""
        return self.options.get("replacement") is None and not self.options.get("ladder")

    def under(self, scheme: str | None) -> Reading:
        """With the law that metadata of ranks name, as `truerank.rank` notes it, if unsaid."""
        if scheme is None:
            return self
        law = Scheme.parse(scheme)
        told: dict[str, Any] = {}
        if self.unsaid:
            told = {"replacement": law.replacement, "ladder": law.ladder, "hits": law.hits}
        if self.options.get("shared_negatives") is None:
            told["shared_negatives"] = law.shared or None
        return replace(self, options={**self.options, **told})

    def ranked(
        self, source: tables.Table, large: _large.Large | None = None
    ) -> tuple[tables.Table, int]:
        """The rows with a rank and the number of the others, which are an error unless dropped.

        The error counts all of ``large``, if ``source`` is a part of that.
        """
        name = tables.column_name(source, "sampled_rank", self.columns)
        if name is None:
            return source, 0
        missing = source.is_missing(name)
        if not missing.any():
            return source, 0
        if self.drop_missing:
            return source.keep(~missing), int(missing.sum())
        raise _without_ranks([source] if large is None else large.parts([name]), name)


def table_ranks(source: tables.Table, reading: Reading) -> dict[str, Any]:
    """The ranks of a table of one model, as arguments of :meth:`RankCounts.from_ranks`."""
    columns, given = reading.columns, dict(reading.given)
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


def _without_ranks(parts: Iterable[tables.Table], column: str) -> InputError:
    """The error for rows without a rank, of which it names the first and the number."""
    n_missing = n_rows = 0
    first = ""
    for part in parts:
        missing = part.is_missing(column)
        if missing.any() and not n_missing:
            first = f"{part.name}: sampled_rank is nan at {part.place(int(np.argmax(missing)))}"
        n_missing += int(missing.sum())
        n_rows += missing.size
    return InputError(
        f"{first}; {n_missing:,} of {n_rows:,} rows have no rank: fill in, or leave them out by "
        "drop_missing=True"
    )


def _all_missing(name: str, n_rows: int) -> InputError:
    return InputError(f"{name}: no row has a rank ({n_rows:,} without one); nothing is left")


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
