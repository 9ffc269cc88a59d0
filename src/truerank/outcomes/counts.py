"""RankCounts: the distinct outcomes of a sampled evaluation, with their weights.

It is all an estimator ever sees, it is small, and it adds up across files, users and machines.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from truerank import _checks
from truerank._types import FloatArray, IntArray
from truerank.errors import InputError
from truerank.outcomes import _large, _ranks, tables
from truerank.outcomes.schemes import Scheme

FORMAT_VERSION = 1
_FORMAT_KEY = b"truerank.rank_counts"


@dataclass(frozen=True, eq=False, repr=False)
class RankCounts:
    """Distinct outcomes (scheme, n_items, sample_size, sampled_rank) and their weights.

    Build one with :meth:`from_ranks`, :meth:`from_table`, :meth:`from_exact_ranks` or
    :meth:`load`; add them with ``+``. All arrays are of shape (n_outcomes,), sorted by outcome.

    Attributes
    ----------
    schemes
        The sampling schemes that occur, sorted; ``scheme`` indexes them.
    replicate
        0 for users sampled independently of all others. Users who shared their negatives carry
        the number (1 to 100) of their replicate group, the unit that is independent of others.
    weight
        Users (or shares of them) with each outcome, above 0.
    n_users
        What metrics are divided by: the number of users, or the sum of given weights.
    squared_weight
        Sum over independent sampled ranks of their squared weight; it gives the effective
        number of users.
    """

    schemes: tuple[Scheme, ...]
    scheme: IntArray
    n_items: IntArray
    sample_size: IntArray
    sampled_rank: IntArray
    replicate: IntArray
    weight: FloatArray
    n_users: float
    squared_weight: float

    # -- building ---------------------------------------------------------------------------

    @classmethod
    def from_ranks(
        cls,
        ranks: Any,
        *,
        n_items: Any,
        sample_size: Any = None,
        num_negatives: Any = None,
        replacement: bool | None = None,
        ladder: Iterable[int] | None = None,
        hits: int | Sequence[int] = 1,
        user_ids: Any = None,
        item_ids: Any = None,
        weights: Any = None,
        targets: str = "recall",
    ) -> RankCounts:
        """Count sampled ranks.

        Parameters
        ----------
        ranks
            Sampled ranks, 1-based, shape (n_rows,): 1 means no sampled negative scored higher.
        n_items
            Candidates the target is ranked among, itself included: one number, or one per row
            when users' training items are left out of their pools.
        sample_size, num_negatives
            Give one: the sample size counts the target, the negatives do not ("100 negatives"
            is ``num_negatives=100``, sample_size 101). One number, or one per row.
        replacement
            Whether negatives were drawn with replacement. True unless told; a warning is given
            when that matters.
        ladder, hits
            For adaptive samples, the sizes a user may end with: see :class:`Scheme`.
        user_ids
            With them, several rows of one user are repeated draws and make one larger sample
            (the draws taken to be disjoint if without replacement).
        item_ids
            With them too, a unit is a (user, item) pair and a user may have several targets.
            Each is ranked among the non-targets and the user counts once.
        weights
            Weight of each row, instead of 1; metrics become weighted means.
        targets
            How several targets of a user are weighted: ``"recall"`` (1/targets, a mean over
            them), ``"ndcg"`` (1/ideal DCG) or ``"precision"`` (1 each). Not with ``weights``.
        """
        units = _ranks.units(
            ranks,
            n_items=n_items,
            sample_size=sample_size,
            num_negatives=num_negatives,
            replacement=replacement,
            ladder=ladder,
            hits=hits,
            user_ids=user_ids,
            item_ids=item_ids,
            weights=weights,
            targets=targets,
        )
        return cls._build(
            [units.scheme],
            np.zeros(units.row.size, dtype=np.int64),
            units.n_items,
            units.sample_size,
            units.sampled_rank,
            units.weight,
            n_users=units.n_users,
        )

    @classmethod
    def from_exact_ranks(cls, ranks: Any, *, n_items: Any, **options: Any) -> RankCounts:
        """Count global ranks (1-based): the case of a sample that is the whole pool.

        Takes the ``user_ids``, ``item_ids``, ``weights`` and ``targets`` of :meth:`from_ranks`.
        """
        return cls.from_ranks(
            ranks, n_items=n_items, sample_size=n_items, replacement=False, **options
        )

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
    ) -> RankCounts:
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
    def by_model(cls, table: Any, *, by: str = "model", **options: Any) -> dict[str, RankCounts]:
        """One RankCounts for each value of the column ``by``; options as in :meth:`from_table`."""
        columns = options.pop("columns", None)
        given = {name: options.pop(name, None) for name in _DESIGN}
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
    ) -> dict[str, RankCounts]:
        """The counts of each value of ``by``, or of all under "", a part at a time."""
        table_ranks(large.empty, columns, **given)  # raises if columns are not as they should be
        names = {role: tables.column_name(large.empty, role, columns) for role in tables.COLUMNS}
        if by is None and names["model"] and (n_models := len(large.values(names["model"]))) > 1:
            raise _several_models(large.name, n_models)
        said = dict(options)
        if options.get("replacement") is None:
            said["replacement"] = True  # so that no part warns
        wanted = dict.fromkeys(name for name in (*names.values(), by) if name is not None)
        found: dict[str, RankCounts] = {}
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
    ) -> RankCounts:
        return cls.from_ranks(**table_ranks(source, columns, **given), **options)

    @classmethod
    def from_outcomes(
        cls,
        scheme: Scheme,
        *,
        n_items: Any,
        sample_size: Any,
        sampled_rank: Any,
        weight: Any,
        replicate: Any = None,
        n_users: float | None = None,
        squared_weight: float | None = None,
    ) -> RankCounts:
        """Counts from outcomes already weighted (for producers); repeated outcomes add up.

        Without ``n_users`` and ``squared_weight`` each row is one sampled rank of that weight.
        """
        rank = _checks.whole_numbers(sampled_rank, "sampled_rank")
        pool = _ranks.pool_sizes(n_items, rank.size)
        size = _ranks.sample_sizes(sample_size, None, rank.size)
        _ranks.check_outcomes(scheme, pool, size, rank)
        return cls._build(
            [scheme],
            np.zeros(rank.size, dtype=np.int64),
            pool,
            size,
            rank,
            _ranks.row_weights(weight, rank.size),
            replicate=_replicates(replicate, rank.size),
            n_users=n_users,
            squared_weight=squared_weight,
        )

    @classmethod
    def _build(
        cls,
        schemes: Iterable[Scheme],
        scheme: IntArray,
        n_items: IntArray,
        sample_size: IntArray,
        sampled_rank: IntArray,
        weight: FloatArray,
        *,
        replicate: IntArray | None = None,
        n_users: float | None = None,
        squared_weight: float | None = None,
    ) -> RankCounts:
        """Sort, add up equal outcomes, drop empty ones."""
        given = list(schemes)
        kept = tuple(sorted(set(given)))
        code = np.array([kept.index(s) for s in given], dtype=np.int64)[scheme]
        group = np.zeros_like(code) if replicate is None else replicate
        key = [code, n_items, sample_size, sampled_rank, group]
        n_users = float(weight.sum()) if n_users is None else float(n_users)
        squared = float(weight @ weight) if squared_weight is None else float(squared_weight)
        kept_key, total = _ranks.add_up(key, weight)
        for name, value in (("n_users", n_users), ("squared_weight", squared)):
            _checks.real(value, name, low=0.0, open_low=True)
        code, pool, size, rank, group = kept_key
        used = np.unique(code)
        code = np.searchsorted(used, code).astype(np.int64)
        for array in (code, pool, size, rank, group, total):
            array.setflags(write=False)
        names = tuple(kept[i] for i in used)
        return cls(names, code, pool, size, rank, group, total, n_users, squared)

    # -- looking ----------------------------------------------------------------------------

    @property
    def n_outcomes(self) -> int:
        """Number of distinct outcomes."""
        return int(self.weight.size)

    @property
    def total_weight(self) -> float:
        """Sum of the weights."""
        return float(self.weight.sum())

    @property
    def effective_users(self) -> float:
        """(sum w)^2 / sum w^2: the number of equally weighted users that say as much."""
        return self.total_weight**2 / self.squared_weight

    @property
    def pairs_per_user(self) -> float:
        """Scored pairs per user (and target) in the mean, the target's own included."""
        return float(self.weight @ self.sample_size) / self.total_weight

    @property
    def adaptive(self) -> bool:
        """Whether any outcome comes from adaptive sampling."""
        return any(scheme.adaptive for scheme in self.schemes)

    @property
    def is_exact(self) -> npt.NDArray[np.bool_]:
        """Which outcomes are global ranks: the whole pool was ranked."""
        without = np.array([not scheme.replacement for scheme in self.schemes])
        return np.asarray(without[self.scheme] & (self.sample_size == self.n_items))

    def select(self, which: Any) -> RankCounts | None:
        """The outcomes where ``which`` (a boolean mask) holds; None if there are none.

        ``n_users`` and ``squared_weight`` are shared out in proportion to the weight.
        """
        which = np.asarray(which)
        if not which.any():
            return None
        share = float(self.weight[which].sum()) / self.total_weight
        return self._build(
            self.schemes,
            self.scheme[which],
            self.n_items[which],
            self.sample_size[which],
            self.sampled_rank[which],
            self.weight[which],
            replicate=self.replicate[which],
            n_users=self.n_users * share,
            squared_weight=self.squared_weight * share,
        )

    def first_samples(self) -> RankCounts | None:
        """The samples that all users began with: these counts, if they are of a fixed size.

        Of adaptive ones, the first size of the ladder, if one hit ended the sampling there: users
        who went on then had rank 1. None where that does not tell.
        """
        if not self.adaptive:
            return self
        (scheme, *more) = self.schemes
        if more or (scheme.thresholds and scheme.thresholds[0] != 1):
            return None
        size = np.minimum(scheme.ladder[0], self.sample_size)
        return self._build(
            [Scheme(scheme.replacement)],
            self.scheme,
            self.n_items,
            size,
            np.where(self.sample_size > size, 1, self.sampled_rank),
            self.weight,
            replicate=self.replicate,
            n_users=self.n_users,
            squared_weight=self.squared_weight,
        )

    def reweighted(self, weight: FloatArray) -> RankCounts:
        """The same outcomes with other weights (n_outcomes,), those of weight 0 left out.

        Each unit of weight counts as a user.
        """
        total = float(weight.sum())
        return self._build(
            self.schemes,
            self.scheme,
            self.n_items,
            self.sample_size,
            self.sampled_rank,
            weight,
            replicate=self.replicate,
            squared_weight=total,
        )

    def as_users(self, n_users: float) -> RankCounts:
        """The same outcomes in the same proportions, as if ``n_users`` had been evaluated."""
        factor = n_users / self.total_weight
        return self.reweighted(factor * self.weight)

    def pooled(self) -> RankCounts:
        """The same outcomes with replicate groups merged: all that an estimate depends on."""
        if not self.replicate.any():
            return self
        return self._build(
            self.schemes,
            self.scheme,
            self.n_items,
            self.sample_size,
            self.sampled_rank,
            self.weight,
            n_users=self.n_users,
            squared_weight=self.squared_weight,
        )

    def of_replicate(self, group: int) -> RankCounts:
        """The same outcomes, marked as those of one replicate group."""
        return self._build(
            self.schemes,
            self.scheme,
            self.n_items,
            self.sample_size,
            self.sampled_rank,
            self.weight,
            replicate=_replicates(np.full(self.n_outcomes, group), self.n_outcomes),
            n_users=self.n_users,
            squared_weight=self.squared_weight,
        )

    def __repr__(self) -> str:
        schemes = ", ".join(
            f"{scheme.name} replacement" if not scheme.adaptive else f"adaptive {scheme.name}"
            for scheme in self.schemes
        )
        exact = float(self.weight[self.is_exact].sum()) / self.total_weight
        return (
            f"RankCounts({_number(self.n_users)} users; pools of {_spread(self.n_items)} items; "
            f"sample sizes {_spread(self.sample_size)}; {schemes}; {self.n_outcomes:,} outcomes"
            + (f"; {exact:.0%} exact" if exact else "")
            + ("; negatives shared within replicate groups" if self.replicate.any() else "")
            + ")"
        )

    # -- algebra ----------------------------------------------------------------------------

    def __add__(self, other: Any) -> RankCounts:
        if not isinstance(other, RankCounts):
            return NotImplemented
        return RankCounts._build(
            self.schemes + other.schemes,
            np.concatenate([self.scheme, other.scheme + len(self.schemes)]),
            np.concatenate([self.n_items, other.n_items]),
            np.concatenate([self.sample_size, other.sample_size]),
            np.concatenate([self.sampled_rank, other.sampled_rank]),
            np.concatenate([self.weight, other.weight]),
            replicate=np.concatenate([self.replicate, other.replicate]),
            n_users=self.n_users + other.n_users,
            squared_weight=self.squared_weight + other.squared_weight,
        )

    def __radd__(self, other: Any) -> RankCounts:
        return self if other == 0 else NotImplemented  # sum([...]) starts from 0

    def __eq__(self, other: object) -> bool:
        """Same outcomes and weights (fractions to 1e-12, whole users exactly)."""
        if not isinstance(other, RankCounts):
            return NotImplemented
        same = self.schemes == other.schemes and self.n_outcomes == other.n_outcomes
        return (
            same
            and all(np.array_equal(getattr(self, name), getattr(other, name)) for name in _KEY)
            and bool(np.allclose(self.weight, other.weight, rtol=1e-12, atol=0))
            and bool(np.isclose(self.n_users, other.n_users, rtol=1e-12, atol=0))
        )

    __hash__ = None  # type: ignore[assignment]

    # -- files ------------------------------------------------------------------------------

    def to_arrow(self) -> Any:
        """The outcomes as a pyarrow Table with a readable ``scheme`` column."""
        import pyarrow as pa

        names = pa.array([scheme.name for scheme in self.schemes])
        columns = {
            "scheme": pa.DictionaryArray.from_arrays(pa.array(self.scheme, pa.int32()), names)
        }
        columns |= {name: pa.array(getattr(self, name)) for name in (*_KEY[1:], "weight")}
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
    def load(cls, path: Any) -> RankCounts:
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
    def from_columns(cls, table: Any, *, n_users: float, squared_weight: float) -> RankCounts:
        """Counts from a table with the columns of :meth:`to_arrow`, in any order and number.

        ``scheme`` may be plain text; equal outcomes add up.
        """
        source = tables.read(table)
        names = source.values("scheme").tolist()
        code_of = {name: i for i, name in enumerate(dict.fromkeys(names))}
        schemes = [Scheme.parse(name) for name in code_of]
        code = np.array([code_of[name] for name in names], dtype=np.int64)
        pool, size, rank, group = (_checks.whole_numbers(source.values(n), n) for n in _KEY[1:])
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
            replicate=_replicates(group, rank.size),
            n_users=n_users,
            squared_weight=squared_weight,
        )


MAX_REPLICATES = 100
_KEY = ("scheme", "n_items", "sample_size", "sampled_rank", "replicate")
_DESIGN = ("n_items", "sample_size", "num_negatives")


def is_saved(path: Any) -> bool:
    """Whether ``path`` is a Parquet file that :meth:`RankCounts.save` wrote."""
    return _FORMAT_KEY in tables.parquet_metadata(Path(path))


def table_ranks(
    source: tables.Table, columns: Mapping[str, str] | None, **given: Any
) -> dict[str, Any]:
    """The ranks of a table of one model, as arguments of :meth:`RankCounts.from_ranks`.

    ``given`` are ``n_items``, ``sample_size`` and ``num_negatives``, None where unsaid.
    """
    if {*_KEY, "weight"} <= set(source.columns):
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
    for name in _DESIGN:
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


def _replicates(replicate: Any, n_rows: int) -> IntArray:
    if replicate is None:
        return np.zeros(n_rows, dtype=np.int64)
    groups = _checks.whole_numbers(replicate, "replicate")
    if groups.size != n_rows:
        raise InputError(f"replicate has {groups.size} values; there are {n_rows} outcomes")
    because = f"0 is none, groups are 1 to {MAX_REPLICATES}"
    _checks.within(groups, "replicate", low=0, high=MAX_REPLICATES, because=because)
    return groups


def _column(
    source: tables.Table, role: str, columns: Mapping[str, str] | None
) -> npt.NDArray[Any] | None:
    name = tables.column_name(source, role, columns)
    return None if name is None else source.values(name)


def _number(value: float) -> str:
    return f"{int(value):,}" if value.is_integer() else f"{value:,.6g}"


def _spread(values: IntArray) -> str:
    low, high = int(values.min()), int(values.max())
    return f"{low:,}" if low == high else f"{low:,} to {high:,}"
