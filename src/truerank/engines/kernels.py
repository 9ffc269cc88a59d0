"""Kernels: Arrow rows in, counts as Arrow rows out, the same in every engine and every batching.

A kernel pickles, keeps no state but what it needs to be fast, and calls what the local functions
call. What a row adds depends on that row alone, so counts do not depend on how rows are cut into
batches, or on how often an engine repeats one.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any, ClassVar

import numpy as np

from truerank import _checks, designs
from truerank.designs import Adaptive, Design, Fixed, Frozen
from truerank.engines import rows as _rows
from truerank.engines.batches import as_table, pack
from truerank.engines.items import Items
from truerank.errors import InputError
from truerank.outcomes.counts import RankCounts
from truerank.rng import Keys, check_seed
from truerank.sampling import users
from truerank.sampling._drawing import Ranked
from truerank.sampling.carry_out import carry_out, while_drawing
from truerank.sampling.counting import counts_of, table_of
from truerank.scoring.ledger import asking
from truerank.scoring.scorer import Scorer
from truerank.scoring.task import Task, prepare

COLUMNS = ("user_id", "item_id", "vector", "train")


class Kernel:
    """Counts of a batch of users: call it with a pyarrow Table or RecordBatch.

    A row is a user: ``user_id``; ``item_id``, the target, or a list of all the user's targets;
    ``vector``, a list of numbers, if items are vectors; and, if there is such a column, ``train``,
    a list of items to leave out of the user's pool (none if null). `truerank.engines.add_up` makes
    counts of what calls return.

    Parameters
    ----------
    items : Items, array, str, path or Scorer
        The item side of the model.
    design : str or Design, default "exact"
        How negatives are chosen. A budget is shared by all users: `truerank.engines.within_budget`
        keeps one.
    seed : int, default 0
        Seed of all random draws.
    ties : str, default "spread"
        What items of the target's score do, as in `truerank.count`.
    keep_target : bool, default False
        Rank targets that are among their user's training items all the same, instead of raising.
    keep_train : bool, default False
        Keep training items in the ranking, as in `truerank.count`.
    columns : dict, optional
        Our names to those of the rows: ``{"vector": "features"}``.
    n_users : int, optional
        Users of the whole evaluation, for designs whose users share negatives.
    chosen : array of uint64, optional
        Sorted lots of the users to evaluate, where a design takes a sample of them.

    Examples
    --------
    >>> import numpy as np, pyarrow as pa
    >>> from truerank import engines
    >>> rows = pa.table({"user_id": [7, 8], "item_id": [0, 2], "vector": [[1.0, 0.0], [0.0, 1.0]]})
    >>> kernel = engines.Kernel(np.array([[3.0, 1.0], [2.0, 2.0], [1.0, 3.0]]))
    >>> engines.add_up([kernel(rows)]).sampled_rank.tolist()
    [1]
    """

    def __init__(
        self,
        items: Any,
        design: str | Design = "exact",
        *,
        seed: int = 0,
        ties: str = "spread",
        keep_target: bool = False,
        keep_train: bool = False,
        columns: Mapping[str, str] | None = None,
        n_users: int | None = None,
        chosen: Keys | None = None,
    ) -> None:
        self.items = Items.of(items)
        self.design = designs.get(design)
        self.seed, self.ties = check_seed(seed), ties
        self.keep_target, self.keep_train = keep_target, keep_train
        self.columns = _names(columns)
        self.n_users, self.chosen = n_users, chosen
        while_drawing(self.design, ties, kept=keep_train)  # raises for ties it cannot serve
        self._check()

    def _check(self) -> None:
        design = self.design
        if isinstance(design, Fixed) and design.shared_by is not None and self.n_users is None:
            raise InputError(
                f"design is {design!r}: no batch knows how many users share negatives in all; say "
                "n_users=, the number of users of the whole evaluation"
            )
        if design.users is not None and self.chosen is None:
            raise InputError(
                f"design is {design!r}: no batch knows which {design.users} users are evaluated; "
                "truerank.spark chooses them"
            )

    def __call__(self, rows: Any) -> Any:
        found = self._carried_out(rows)
        if found is None:
            return pack(None)
        _, task, ranked, n_pairs = found
        return pack(counts_of(task, ranked, self.ties, self.seed), n_pairs, task.n_rows)

    def table(self, rows: Any) -> Any:
        """The ranks of a batch, one row per target, as `truerank.rank` gives them.

        Parameters
        ----------
        rows : pyarrow.Table or RecordBatch
            Users.

        Returns
        -------
        pyarrow.Table or None
            None if no user of the batch is evaluated.
        """
        found = self._carried_out(rows)
        if found is None:
            return None
        scorer, task, ranked, _ = found
        return table_of(scorer, task, ranked, self.ties, self.seed)

    def _carried_out(self, rows: Any) -> tuple[Scorer, Task, Ranked, int] | None:
        if isinstance(self.design, Adaptive) and self.design.budget is not None:
            raise InputError(
                f"design is {self.design!r}: how far a user goes within a budget depends on all "
                "others, which no batch knows; use truerank.spark or engines.within_budget, or say "
                "budget=None and stop=, the largest sample size"
            )
        prepared = self.prepare(rows)
        if prepared is None:
            return None
        scorer, task = prepared
        design = self.design
        if isinstance(design, Frozen):
            design = replace(design, negatives=design.negatives.of_users(task.user_id))
        ledger = asking(scorer)
        before = 0 if ledger is None else ledger.asked
        ranked = carry_out(
            ledger or scorer, task, design, seed=self.seed, ties=self.ties, n_users=self.n_users,
            progress=False,
        )  # fmt: skip
        n_pairs = ranked.pairs if ledger is None else ledger.asked - before
        return scorer, task, ranked, n_pairs

    def prepare(self, rows: Any) -> tuple[Scorer, Task] | None:
        """The scorer and the task of a batch; None if no user of it is evaluated.

        Parameters
        ----------
        rows : pyarrow.Table or RecordBatch
            Users.

        Returns
        -------
        tuple of (Scorer, Task), or None
            The same as the local verbs prepare.
        """
        table = self.evaluated(rows)
        if not len(table):
            return None
        user_ids = _rows.ids(self.column(table, "user_id"), "user_id")
        distinct, first = np.unique(user_ids, return_index=True)
        if distinct.size < user_ids.size:
            row = int(np.setdiff1d(np.arange(user_ids.size), first)[0])
            raise several_rows(user_ids[row])
        vectors = None
        if self.items.needs_vectors:
            vectors = _rows.vectors(self.column(table, "vector"), user_ids)
        scorer = self.items.scorer(user_ids, vectors)
        item = self.column(table, "item_id")
        test = (
            _rows.pairs(user_ids, item, "item_id")
            if _rows.is_list(item)
            else (user_ids, _rows.ids(item, "item_id"))
        )
        train = None
        if self.columns["train"] in table.column_names:
            train = _rows.pairs(user_ids, self.column(table, "train"), "train")
            train = train if train[0].size else None
        task = prepare(
            scorer, test, train=train, keep_target=self.keep_target, keep_train=self.keep_train
        )
        return scorer, task

    def evaluated(self, rows: Any) -> Any:
        """The rows of the users that are evaluated.

        Parameters
        ----------
        rows : pyarrow.Table or RecordBatch
            Users.

        Returns
        -------
        pyarrow.Table
            All rows, or those of a sample of the users.
        """
        table = as_table(rows)
        if self.chosen is None or not len(table):
            return table
        import pyarrow as pa

        lot = users.lots(_rows.ids(self.column(table, "user_id"), "user_id"), self.seed)
        at = np.minimum(np.searchsorted(self.chosen, lot), self.chosen.size - 1)
        return table.filter(pa.array(self.chosen[at] == lot))

    def column(self, table: Any, name: str) -> Any:
        """A column of the rows by our name.

        Parameters
        ----------
        table : pyarrow.Table
            Users.
        name : str
            Our name of the column.

        Returns
        -------
        pyarrow.Array
            Its values.
        """
        column = self.columns[name]
        if column not in table.column_names:
            raise InputError(
                f"the rows have no column {column} ({name}); found: {', '.join(table.column_names)}"
            )
        return table[column].combine_chunks()


@dataclass(frozen=True)
class Lots:
    """The lot of every user of a batch, and how many training items it has."""

    schema: ClassVar[str] = "lot bigint, activity bigint"

    kernel: Kernel

    def __call__(self, rows: Any) -> Any:
        import pyarrow as pa
        import pyarrow.compute as pc

        table, kernel = as_table(rows), self.kernel
        user_ids = _rows.ids(kernel.column(table, "user_id"), "user_id")
        lot = users.lots(user_ids, kernel.seed).view(np.int64)
        activity = pa.array(np.zeros(lot.size, dtype=np.int64))
        if kernel.columns["train"] in table.column_names:
            length = pc.list_value_length(kernel.column(table, "train"))
            activity = pc.fill_null(length, 0).cast(pa.int64())
        return pa.table({"lot": lot, "activity": activity})


def ranks(**options: Any) -> Callable[[Any], Any]:
    """The kernel of `RankCounts.from_table`, with its options: rows that hold ranks already.

    All rows of a user must be in one batch, if there are user ids.

    Parameters
    ----------
    **options
        Those of `RankCounts.from_table`.

    Returns
    -------
    callable
        Takes a pyarrow Table or RecordBatch, returns packed counts.
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
