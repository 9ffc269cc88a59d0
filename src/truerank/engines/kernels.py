"""Kernels: Arrow rows in, counts as Arrow rows out, the same in every engine and every batching.

A kernel pickles, keeps no state but what it needs to be fast, and calls what the local functions
call. What a row adds depends on that row alone, so counts do not depend on how rows are cut into
batches, or on how often an engine repeats one.
"""

from __future__ import annotations

import functools
import os
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
import numpy.typing as npt

from truerank import _checks, designs
from truerank.designs import Adaptive
from truerank.engines.batches import as_table, pack
from truerank.errors import InputError
from truerank.outcomes.counts import RankCounts
from truerank.sampling import FrozenNegatives, SharedBlocks, count_adaptive, count_fixed
from truerank.sampling import sample_size_of as _sample_size_of
from truerank.sampling.adaptive import check_ties
from truerank.scoring import ties as _ties
from truerank.scoring.exact import count_exact
from truerank.scoring.factors import Factors
from truerank.scoring.scorer import Scorer
from truerank.scoring.task import Task, prepare

COLUMNS = ("user_id", "item_id", "vector", "train")

Count = Callable[[Scorer, Task], RankCounts]


class Kernel:
    """Counts of a batch of users: call it with a pyarrow Table or RecordBatch.

    A row is a user: ``user_id``; ``item_id``, the target, or a list of all the user's targets;
    ``vector``, a list of numbers, if the model is given as item vectors; and, if there is such a
    column, ``train``, a list of items to leave out of the user's pool (none if null).

    Build one with `sampled`, `adaptive` or `exact`; `add_up` makes counts of what calls return.
    """

    def __init__(
        self,
        model: Model,
        count: Count,
        *,
        keep_target: bool = False,
        columns: Mapping[str, str] | None = None,
    ) -> None:
        self.model = model
        self.count = count
        self.keep_target = keep_target
        self.columns = _names(columns)

    def __call__(self, rows: Any) -> Any:
        table = as_table(rows)
        return pack(self.counts(table) if len(table) else None)

    def counts(self, table: Any) -> RankCounts:
        """The counts of a table with at least one row."""
        users = _ids(self._column(table, "user_id"), "user_id")
        distinct, first = np.unique(users, return_index=True)
        if distinct.size < users.size:
            row = int(np.setdiff1d(np.arange(users.size), first)[0])
            raise several_rows(users[row])
        vectors = None
        if self.model.needs_vectors:
            vectors = _vectors(self._column(table, "vector"), users)
        scorer = self.model.scorer(users, vectors)
        item = self._column(table, "item_id")
        test = _pairs(users, item, "item_id") if _is_list(item) else (users, _ids(item, "item_id"))
        train = None
        if self.columns["train"] in table.column_names:
            train = _pairs(users, self._column(table, "train"), "train")
        if train is not None and not train[0].size:
            train = None
        return self.count(scorer, prepare(scorer, test, train=train, keep_target=self.keep_target))

    def _column(self, table: Any, name: str) -> Any:
        column = self.columns[name]
        if column not in table.column_names:
            raise InputError(
                f"the rows have no column {column} ({name}); found: {', '.join(table.column_names)}"
            )
        return table[column].combine_chunks()


class Model:
    """Item vectors, as an array or the path of an .npy file, or a `Scorer`; it pickles."""

    def __init__(
        self, source: Any, *, item_ids: Any = None, item_biases: Any = None, cosine: bool = False
    ) -> None:
        self._options = {"item_ids": item_ids, "item_biases": item_biases, "cosine": cosine}
        self._source = source
        self._factors: Factors | None = None
        self.needs_vectors = not isinstance(source, Scorer)
        if not self.needs_vectors:
            said = [k for k, v in self._options.items() if v is not None and v is not False]
            if said:
                raise InputError(
                    f"{said[0]} is given, but the model is a scorer, which has its own"
                )
            self.n_items = source.n_items
        elif isinstance(source, (str, os.PathLike)):
            self._source = os.fspath(source)
            self.n_items = int(_mapped(self._source).shape[0])
        else:
            self._source = np.asarray(source)
            # Before anything is sent anywhere: what is wrong with the vectors shows here.
            self._factors = self._built(np.dtype(np.float32))
            self.n_items = self._factors.n_items

    def scorer(self, users: npt.NDArray[Any], vectors: npt.NDArray[Any] | None) -> Scorer:
        """A scorer that knows these users at least, by their vectors if it needs them."""
        if vectors is None:
            found: Scorer = self._source
            return found
        kind = vectors.dtype
        if self._factors is None or np.result_type(self._factors.item_factors, kind) != (
            self._factors.item_factors.dtype
        ):
            self._factors = self._built(kind)
        return self._factors.with_users(vectors, user_ids=users)

    def _built(self, kind: Any) -> Factors:
        items = self._source
        if isinstance(items, str):
            items = _mapped(items)
        if items.ndim != 2:
            raise InputError(f"item_factors has shape {items.shape}; expected (items, dimensions)")
        return Factors(np.zeros((1, items.shape[1]), kind), items, **self._options)

    def __getstate__(self) -> dict[str, Any]:
        return {**self.__dict__, "_factors": None}


def sampled(
    model: Any,
    *,
    sample_size: int | None = None,
    num_negatives: int | None = None,
    replacement: bool = False,
    seed: int = 0,
    ties: str = "spread",
    negatives: str | SharedBlocks = "per-user",
    keep_target: bool = False,
    columns: Mapping[str, str] | None = None,
    **items: Any,
) -> Kernel:
    """The kernel of `truerank.sampled_counts`.

    ``model`` is an array of item vectors, shape (n_items, d), the path of one as an .npy file
    that every worker can read, which is memory-mapped, or any `Scorer` that pickles. ``items`` are
    ``item_ids``, ``item_biases`` and ``cosine`` of `scoring.Factors`. Blocks of shared negatives
    must say how many there are: ``SharedBlocks(n_blocks=...)``.
    """
    _ties.check(ties)
    if isinstance(negatives, FrozenNegatives):
        raise InputError("frozen negatives are matched with all users at once: count them locally")
    if negatives == "shared-block" or (
        isinstance(negatives, SharedBlocks) and negatives.n_blocks is None
    ):
        raise InputError(
            f"negatives is {negatives!r}: no batch knows how many users there are in all; say "
            "SharedBlocks(n_blocks=...), the number of users over 64 or so"
        )
    count = functools.partial(
        count_fixed,
        sample_size=_sample_size_of(sample_size, num_negatives),
        replacement=replacement,
        seed=seed,
        ties=ties,
        negatives=negatives,
        progress=False,
    )
    return Kernel(Model(model, **items), count, keep_target=keep_target, columns=columns)


def adaptive(
    model: Any,
    *,
    design: str | Adaptive | None = None,
    start: int | None = None,
    stop: float | None = None,
    growth: float | None = None,
    hits: int | None = None,
    budget: float | None = None,
    replacement: bool = False,
    seed: int = 0,
    ties: str = "random",
    keep_target: bool = False,
    columns: Mapping[str, str] | None = None,
    **items: Any,
) -> Kernel:
    """The kernel of `truerank.adaptive_counts` with a ``stop``; ``model``, ``items``: `sampled`."""
    check_ties(ties)
    chosen = designs.adaptive(
        design, budget=budget, start=start, stop=stop, growth=growth, hits=hits
    )
    if (limit := chosen.within(budget)) is not None:
        raise InputError(
            f"budget is {limit:g} negatives a user: how far a user goes then depends on all "
            "others, which no batch knows; say stop=, the largest sample size, instead"
        )
    source = Model(model, **items)
    count = functools.partial(
        count_adaptive,
        ladder=chosen.ladder(source.n_items),
        hits=chosen.hits,
        replacement=replacement,
        seed=seed,
        ties=ties,
        progress=False,
    )
    return Kernel(source, count, keep_target=keep_target, columns=columns)


def exact(
    model: Any,
    *,
    ties: str = "spread",
    seed: int = 0,
    keep_target: bool = False,
    columns: Mapping[str, str] | None = None,
    **items: Any,
) -> Kernel:
    """The kernel of `truerank.exact_counts`; ``model`` and ``items`` as in `sampled`."""
    _ties.check(ties)
    count = functools.partial(count_exact, ties=ties, seed=seed, progress=False)
    return Kernel(Model(model, **items), count, keep_target=keep_target, columns=columns)


def ranks(**options: Any) -> Callable[[Any], Any]:
    """The kernel of `RankCounts.from_table`, with its options: rows that hold ranks already.

    All rows of a user must be in one batch, if there are user ids.
    """
    if options.get("replacement") is None:
        options["replacement"] = True  # said, so that no worker warns
    return functools.partial(_count_ranks, options=options)


def _count_ranks(rows: Any, *, options: dict[str, Any]) -> Any:
    table = as_table(rows)
    return pack(RankCounts.from_table(table, **options) if len(table) else None)


def several_rows(user: Any) -> InputError:
    """The error for a user with more than one row."""
    return InputError(
        f"user {user} has more than one row; give all its targets in one, as a list in item_id"
    )


def _names(columns: Mapping[str, str] | None) -> dict[str, str]:
    for name in columns or {}:
        if name not in COLUMNS:
            raise _checks.unknown("column", name, COLUMNS)
    return {name: name for name in COLUMNS} | dict(columns or {})


def _mapped(path: str) -> npt.NDArray[Any]:
    try:
        array = np.load(path, mmap_mode="r")
    except (OSError, ValueError, EOFError) as error:
        raise InputError(f"item vectors {path} cannot be read as an .npy file: {error}") from None
    if not isinstance(array, np.ndarray) or array.ndim != 2:
        shape = getattr(array, "shape", "of an archive")
        raise InputError(f"item vectors {path}: shape {shape}; expected (items, dimensions)")
    return array


def _is_list(column: Any) -> bool:
    import pyarrow.types as t

    kinds = (t.is_list, t.is_large_list, t.is_fixed_size_list)
    return any(kind(column.type) for kind in kinds)


def _ids(column: Any, name: str) -> npt.NDArray[Any]:
    import pyarrow.types as t

    if t.is_dictionary(column.type):
        column = column.dictionary_decode()
    if column.null_count:
        raise InputError(f"{name} has {column.null_count} missing values")
    return np.asarray(column.to_numpy(zero_copy_only=False))


def _pairs(
    users: npt.NDArray[Any], column: Any, name: str
) -> tuple[npt.NDArray[Any], npt.NDArray[Any]]:
    """(user, item) for each item of a column of lists."""
    import pyarrow.compute as pc

    if not _is_list(column):
        raise InputError(f"{name} is of type {column.type}; it must hold lists of items")
    length = pc.fill_null(pc.list_value_length(column), 0).to_numpy(zero_copy_only=False)
    if name == "item_id" and (length == 0).any():
        raise InputError(f"user {users[int(np.argmax(length == 0))]} has no target in {name}")
    # flatten leaves null lists out, as the lengths do.
    return np.repeat(users, length), _ids(column.flatten(), name)


def _vectors(column: Any, users: npt.NDArray[Any]) -> npt.NDArray[Any]:
    """A column of lists of numbers, all of one length, as a matrix."""
    import pyarrow.compute as pc

    if not _is_list(column):
        raise InputError(f"vector is of type {column.type}; it must hold lists of numbers")
    if column.null_count:  # flatten would leave them out
        row = int(np.argmax(column.is_null().to_numpy(zero_copy_only=False)))
        raise InputError(f"vector is missing for {column.null_count} users, such as {users[row]}")
    length = pc.list_value_length(column).to_numpy(zero_copy_only=False)
    if (length != length[0]).any():
        row = int(np.argmax(length != length[0]))
        raise InputError(
            f"vectors differ in length: {length[0]} for user {users[0]}, {length[row]} for user "
            f"{users[row]}"
        )
    values = column.flatten()
    if values.null_count:
        raise InputError(f"vector has {values.null_count} missing numbers")
    # Gathers from memory that is not aligned take several times as long.
    matrix = np.require(values.to_numpy(zero_copy_only=False), requirements=["A"])
    return np.asarray(matrix.reshape(users.size, int(length[0])))
