"""The evaluation task: whose targets are ranked among which items.

Every producer of ranks starts from a `Task`: test rows as row numbers, what is left out of each
user's pool, the pool's size, and the user's random key.
"""

from __future__ import annotations

import os
import warnings
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import numpy.typing as npt

from truerank._types import IntArray
from truerank.errors import AssumptionWarning, InputError
from truerank.outcomes import tables
from truerank.rng import Keys, user_keys
from truerank.scoring.scorer import Scorer

_DEGREES = ("relevance", "rating")  # columns that say how much a row of a test counts


@dataclass(frozen=True)
class Task:
    """Targets to rank, one a test row, all arrays in the order of the test.

    A user's pool is the catalogue less its left-out items (training items and targets), plus the
    target being ranked. Left-out items are in CSR form by `group`, one group a user:
    ``left_out[start[g]:start[g + 1]]``, sorted, the targets among them. Those that are ``kept`` are
    in no pool but in the ranking all the same: each of them is scored.
    """

    user: IntArray  # row of the user, (n_rows,)
    target: IntArray  # row of the target item, (n_rows,)
    user_id: npt.NDArray[Any]  # as in the test, (n_rows,)
    group: IntArray  # (n_rows,)
    start: IntArray  # (n_groups + 1,)
    left_out: IntArray
    n_items: IntArray  # pool size, (n_rows,)
    n_targets: IntArray  # number of the user's targets, (n_rows,)
    catalogue: int
    kept: npt.NDArray[np.bool_] | None = None  # of left_out; None if none is

    @property
    def n_rows(self) -> int:
        """Number of targets to rank."""
        return int(self.user.size)

    @property
    def n_users(self) -> int:
        """Number of distinct users."""
        return int(self.start.size - 1)

    @property
    def several(self) -> bool:
        """Whether a user has several targets."""
        return bool((self.n_targets > 1).any())

    def keys(self, seed: int) -> Keys:
        """The random key of each row's user; a user's several targets get one each."""
        keys = user_keys(self.user_id, seed)
        if self.n_users < self.n_rows:
            # The place of the row among its user's targets, by item row, varies the key.
            order = np.lexsort([self.target, self.group])
            first = np.concatenate([[True], np.diff(self.group[order]) != 0])
            place = np.empty(self.n_rows, dtype=np.uint64)
            position = np.arange(self.n_rows)
            place[order] = position - np.maximum.accumulate(np.where(first, position, 0))
            keys = keys + place * np.uint64(0xD1342543DE82EF95)
        return keys

    def blocks(self, size: int) -> Iterator[slice]:
        """Slices of at most ``size`` rows that cover the task."""
        for begin in range(0, self.n_rows, size):
            yield slice(begin, min(begin + size, self.n_rows))

    def take(self, rows: IntArray) -> Task:
        """The task of some rows only; their pools and numbers of targets stay."""
        groups, group = np.unique(self.group[rows], return_inverse=True)
        length = np.diff(self.start)[groups]
        start = np.concatenate([[0], np.cumsum(length)])
        offset = np.arange(start[-1]) - np.repeat(start[:-1], length)
        taken = np.repeat(self.start[groups], length) + offset
        return replace(
            self,
            user=self.user[rows],
            target=self.target[rows],
            user_id=self.user_id[rows],
            group=group,
            start=start,
            left_out=self.left_out[taken],
            n_items=self.n_items[rows],
            n_targets=self.n_targets[rows],
            kept=None if self.kept is None else self.kept[taken],
        )

    @property
    def n_kept(self) -> int:
        """Number of kept items of all users."""
        return 0 if self.kept is None else int(np.count_nonzero(self.kept))

    def whole(self) -> Task:
        """The task with kept items in the pools: the ranking as it is."""
        if self.kept is None:
            return self
        before = np.concatenate([[0], np.cumsum(self.kept)])[self.start]
        return replace(
            self,
            start=self.start - before,
            left_out=self.left_out[~self.kept],
            n_items=self.n_items + np.diff(before)[self.group],
            kept=None,
        )

    def check_candidates(self) -> None:
        """Raise for users whose pools hold nothing but the target."""
        if (self.n_items < 2).any():
            row = int(np.argmax(self.n_items < 2))
            raise InputError(
                f"user {self.user_id[row]} has no candidates but the target: all "
                f"{self.catalogue} items are left out"
            )

    def left_out_of(self, rows: IntArray) -> tuple[IntArray, IntArray]:
        """(position in ``rows``, item row) of every left-out item of these rows."""
        begin, end = self.start[self.group[rows]], self.start[self.group[rows] + 1]
        length = end - begin
        position = np.repeat(np.arange(rows.size), length)
        offset = np.arange(position.size) - np.repeat(np.cumsum(length) - length, length)
        return position, self.left_out[np.repeat(begin, length) + offset]


def prepare(
    scorer: Scorer,
    test: Any,
    *,
    train: Any = None,
    keep_target: bool = False,
    keep_train: bool = False,
) -> Task:
    """Check test and training data against the scorer and lay out the task.

    Parameters
    ----------
    test
        A table with user and item columns, a pair (user_ids, item_ids) or a scipy sparse matrix;
        one row a target.
    train
        The same for items to leave out of the ranking; None leaves out nothing.
    keep_target
        Rank targets that are among their user's training items all the same, instead of raising.
    keep_train
        Keep training items in the ranking: negatives are other items, these are scored beside them.
    """
    user_id, item_id = interactions(test, "test")
    user = scorer.user_ids.rows(user_id, "test")
    target = scorer.item_ids.rows(item_id, "test")
    if not user.size:
        raise InputError("test is empty; there is nothing to rank")
    catalogue = scorer.n_items
    pair = user * catalogue + target
    _check_twice(pair, user_id, item_id)
    users, group = np.unique(user, return_inverse=True)
    left = targets = group * catalogue + target
    if train is not None:
        left = _with_training(scorer, train, users, left, catalogue, keep_target=keep_target)
    else:
        left = np.sort(left)
    left = left[np.concatenate([[True], left[1:] != left[:-1]])]
    start = np.searchsorted(left, np.arange(users.size + 1) * catalogue)
    pool = catalogue - np.diff(start) + 1
    kept = None
    if keep_train:
        kept = np.ones(left.size, dtype=np.bool_)
        kept[np.searchsorted(left, targets)] = False
    n_targets = np.bincount(group)[group]
    task = Task(
        user, target, user_id, group, start, left % catalogue, pool[group], n_targets, catalogue,
        kept,
    )  # fmt: skip
    task.whole().check_candidates()
    return task


def interactions(source: Any, name: str) -> tuple[npt.NDArray[Any], npt.NDArray[Any]]:
    """User ids and item ids, one a row, of a table, a pair of arrays or a sparse matrix."""
    if hasattr(source, "tocoo"):
        entries = source.tocoo()
        _check_relevance(entries.data, name)
        return np.asarray(entries.row, np.int64), np.asarray(entries.col, np.int64)
    if isinstance(source, (tuple, list)):
        if len(source) != 2:
            raise InputError(f"{name} is a sequence of {len(source)}; give (user_ids, item_ids)")
        users, items = (np.asarray(part) for part in source)
    elif isinstance(source, (str, os.PathLike)) and not tables.reads(source):
        from truerank.data import readers  # NCF's .rating, RecBole's .inter, ...

        values = readers.columns_of(source)
        users, items = values["user_id"], values["item_id"]
        if (rating := values.get("rating")) is not None:
            _check_relevance(rating, name, "rating")
    else:
        table = tables.read(source)
        columns = table.find("user_id"), table.find("item_id")
        if columns[0] is None or columns[1] is None:
            raise table.missing("user_id and item_id")
        users, items = (table.values(column) for column in columns if column)
        for role in _DEGREES if name == "test" else ():
            if (graded := table.find(role)) is not None:
                _check_relevance(table.values(graded), name, graded)
    if users.shape != items.shape or users.ndim != 1:
        raise InputError(f"{name} has {users.shape} user ids and {items.shape} item ids")
    return users, items


def _check_relevance(values: npt.NDArray[Any], name: str, column: str | None = None) -> None:
    """Raise for rows of a test that are no targets; say that degrees of relevance do not count."""
    if name != "test":
        return
    where = "values" if column is None else f"column {column}"
    if values.dtype.kind not in "biuf":
        raise InputError(f"test: {where} must hold numbers, the relevance of each row")
    if not (none := ~(values > 0)).any():
        if values.size and (values != values[0]).any():
            plain = "a matrix of ones" if column is None else "without the column"
            have = "have" if column is None else "has"
            warnings.warn(
                f"test: {where} {have} {np.unique(values).size} degrees of relevance; metrics are "
                f"binary, and every row counts as one target ({plain}: no warning)",
                AssumptionWarning,
                stacklevel=2,
            )
        return
    row = int(np.argmax(none))
    raise InputError(
        f"test: {where} of {int(none.sum()):,} rows are not above 0 (the first, row {row}: "
        f"{values[row]}); rows of the test are targets: leave out those that are not relevant"
        + ("" if column is None else ", or the column if it does not tell")
    )


def _with_training(
    scorer: Scorer,
    train: Any,
    users: IntArray,
    targets: IntArray,
    catalogue: int,
    *,
    keep_target: bool,
) -> IntArray:
    """The pairs (group, item) to leave out, coded as group * catalogue + item, in order."""
    user_id, item_id = interactions(train, "train")
    if not user_id.size:
        raise InputError("train is empty; leave it out if no items are to be left out")
    user = scorer.user_ids.rows(user_id, "train")
    item = scorer.item_ids.rows(item_id, "train")
    at = np.minimum(np.searchsorted(users, user), users.size - 1)
    ours = users[at] == user  # users without a target do not matter
    known = at[ours] * catalogue + item[ours]
    # Sorted, not hashed: np.isin and np.unique take ten times as long on large arrays.
    if not (known[1:] >= known[:-1]).all():  # as a table by user and item is
        known = np.sort(known)
    place = np.searchsorted(known, targets)
    both = np.searchsorted(known, targets, side="right") > place
    if both.any() and not keep_target:
        raise InputError(
            f"{int(both.sum())} targets are among their user's training items (the first: item "
            f"{scorer.item_ids.values(targets[both][:1] % catalogue)[0]}); remove them from train, "
            "or say keep_target=True to rank them all the same"
        )
    order = np.argsort(targets)
    return np.insert(known, place[order], targets[order])


def _check_twice(pair: IntArray, user_id: npt.NDArray[Any], item_id: npt.NDArray[Any]) -> None:
    _, first, count = np.unique(pair, return_index=True, return_counts=True)
    if (count > 1).any():
        row = int(first[np.argmax(count > 1)])
        raise InputError(
            f"{int((count > 1).sum())} test rows occur more than once, such as user "
            f"{user_id[row]}, item {item_id[row]}"
        )
