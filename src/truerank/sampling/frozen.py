"""Negatives drawn once and kept in a file, so that all models meet the same ones."""

from __future__ import annotations

import hashlib
import itertools
import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from truerank import _checks
from truerank._types import IntArray
from truerank.errors import InputError
from truerank.outcomes import tables
from truerank.outcomes.schemes import Scheme
from truerank.sampling import _ncf, streams
from truerank.sampling._sizes import check_pools, sample_size_of
from truerank.scoring.scorer import Scorer
from truerank.scoring.task import Task, prepare

FORMAT_VERSION = 1
_FORMAT_KEY = b"truerank.frozen_negatives"
_DRAWS = 2**20  # at a time


@dataclass(frozen=True, eq=False, repr=False)
class FrozenNegatives:
    """The negatives of each test row, as ids. Made by `freeze`, :meth:`load` or :meth:`from_ncf`.

    Users' pools are not part of it: n_items is that of the evaluation that uses them, the
    catalogue less what ``train`` leaves out.

    Attributes
    ----------
    user_id, item_id
        The test row: the user and the target, (n_rows,).
    start, negative
        The negatives of row i are ``negative[start[i]:start[i + 1]]``, in the order drawn.
    replacement
        Whether they were drawn with replacement.
    seed
        That they were drawn with; None if others drew them.
    protocol
        More of how they were drawn, as far as known.
    """

    user_id: npt.NDArray[Any]
    item_id: npt.NDArray[Any]
    start: IntArray
    negative: npt.NDArray[Any]
    replacement: bool
    seed: int | None = None
    protocol: Mapping[str, Any] = field(default_factory=dict)

    @property
    def n_rows(self) -> int:
        """Number of test rows."""
        return int(self.user_id.size)

    @cached_property
    def hash(self) -> str:
        """SHA-256 of the rows, their negatives and ``replacement``, whatever the file."""
        digest = hashlib.sha256(f"truerank {FORMAT_VERSION} {self.replacement}".encode())
        for column in (self.user_id, self.item_id, self.start, self.negative):
            for part in _content(column):
                digest.update(part)
        return digest.hexdigest()

    def __repr__(self) -> str:
        sizes = np.unique(np.diff(self.start))
        size = str(sizes[0]) if sizes.size == 1 else f"{sizes[0]} to {sizes[-1]}"
        return (
            f"FrozenNegatives({self.n_rows:,} test rows; {size} negatives each, "
            f"{Scheme(self.replacement).name} replacement; {self.hash[:12]})"
        )

    # -- files ------------------------------------------------------------------------------

    def to_arrow(self) -> Any:
        """A pyarrow Table with the columns user_id, item_id and negatives (a list)."""
        import pyarrow as pa

        offsets = pa.array(self.start, pa.int64() if self.start[-1] >= 2**31 else pa.int32())
        kind = pa.LargeListArray if self.start[-1] >= 2**31 else pa.ListArray
        facts = {
            "version": FORMAT_VERSION,
            "sha256": self.hash,
            "replacement": self.replacement,
            "seed": self.seed,
            "protocol": dict(self.protocol),
        }
        return pa.table(
            {
                "user_id": pa.array(self.user_id),
                "item_id": pa.array(self.item_id),
                "negatives": kind.from_arrays(offsets, pa.array(self.negative)),
            },
            metadata={_FORMAT_KEY: json.dumps(facts).encode()},
        )

    def save(self, path: Any) -> None:
        """Write to Parquet (``.parquet``), with a hash of the content."""
        import pyarrow.parquet as pq

        if Path(path).suffix.lower() not in tables.PARQUET:
            raise InputError(f"cannot write {path}: its name must end in {tables.PARQUET[0]}")
        with tables.replacing(path) as temporary:
            pq.write_table(self.to_arrow(), temporary)

    @classmethod
    def load(cls, path: Any) -> FrozenNegatives:
        """Read what :meth:`save` wrote; an InputError if the content is not that of its hash."""
        path = Path(path)
        source = tables.read(path)
        facts = tables.parquet_metadata(path).get(_FORMAT_KEY)
        if facts is None:
            raise InputError(
                f"{path} holds no frozen negatives; for a text file of lines '(user,item) negative "
                "...' use FrozenNegatives.from_ncf"
            )
        try:
            card = json.loads(facts)
            if card["version"] != FORMAT_VERSION:
                raise InputError(
                    f"{path} is of format {card['version']!r}; this truerank reads up to "
                    f"{FORMAT_VERSION}: upgrade truerank"
                )
            lists = [np.asarray(part) for part in source.values("negatives").tolist()]
            found = cls(
                _checks.ids(source.values("user_id"), "user_id"),
                _checks.ids(source.values("item_id"), "item_id"),
                _starts([part.size for part in lists]),
                _checks.ids(np.concatenate(lists), "negatives"),
                bool(card["replacement"]),
                card["seed"],
                dict(card["protocol"]),
            )
            same = card["sha256"] == found.hash
        except (ValueError, TypeError, KeyError) as error:
            if isinstance(error, InputError):
                raise
            raise InputError(f"{path} is damaged: {error}") from None
        if not same:
            raise InputError(
                f"{path} was changed after it was written: its content does not have the hash "
                f"{str(card['sha256'])[:12]}... that it was saved with"
            )
        return found

    @classmethod
    def from_ncf(cls, path: Any, *, replacement: bool = False) -> FrozenNegatives:
        """Read lines ``(user,item)<tab>negative<tab>negative...``, one a test row.

        NCF published its test sets so, and many followed. Ids are numbers if all of them are
        spelled so. Say ``replacement=True`` if they were drawn with replacement; without, repeated
        negatives are an error.
        """
        users, targets, negatives = _ncf.read(Path(path))
        items = _ncf.ids([*targets, *itertools.chain.from_iterable(negatives)])
        found = cls(
            _ncf.ids(users),
            items[: len(targets)],
            _starts([len(row) for row in negatives]),
            items[len(targets) :],
            Scheme(replacement).replacement,
            protocol={"source": Path(path).name},
        )
        code = np.unique(found.negative, return_inverse=True)[1]
        _check_repeated(found, np.arange(found.n_rows), found.start, code)
        return found

    # -- use --------------------------------------------------------------------------------

    def of(self, task: Task, scorer: Scorer) -> tuple[IntArray, IntArray]:
        """(start, items): the negatives of each row of a task, as item rows.

        Every row must have some; they may not be items that the task leaves out.
        """
        where = "the frozen negatives"
        user = scorer.user_ids.rows(self.user_id, where)
        target = scorer.item_ids.rows(self.item_id, where)
        known = user * task.catalogue + target
        order = np.argsort(known, kind="stable")
        asked = task.user * task.catalogue + task.target
        at = np.minimum(np.searchsorted(known[order], asked), known.size - 1)
        mine = order[at]
        missing = known[mine] != asked
        if missing.any():
            row = int(np.argmax(missing))
            raise InputError(
                f"{int(missing.sum())} of {task.n_rows} test rows have no frozen negatives (the "
                f"first: user {task.user_id[row]}, item "
                f"{scorer.item_ids.values(task.target[row : row + 1])[0]})"
            )
        length = np.diff(self.start)[mine]
        start = _starts(length)
        place = np.arange(start[-1]) - np.repeat(start[:-1] - self.start[mine], length)
        items = scorer.item_ids.rows(self.negative[place], where)
        row_of = np.repeat(np.arange(task.n_rows), length)
        _raise_if(
            streams.is_left_out(task, np.arange(task.n_rows), row_of, items),
            self,
            mine[row_of],
            "are targets or training items of their user",
            "freeze with the same train=, or leave train out here to rank among them",
        )
        _check_repeated(self, mine, start, items)
        return start, items


def freeze(
    scorer: Scorer,
    test: Any,
    *,
    train: Any = None,
    sample_size: int | None = None,
    num_negatives: int | None = None,
    replacement: bool = False,
    seed: int = 0,
    keep_target: bool = False,
) -> FrozenNegatives:
    """Draw the negatives that `sampled_counts` would draw, to keep them.

    Parameters as there; of the scorer only its users and items are used.
    """
    size = sample_size_of(sample_size, num_negatives)
    with_replacement = Scheme(replacement).replacement
    task = prepare(scorer, test, train=train, keep_target=keep_target)
    check_pools(task, size, replacement=with_replacement)
    keys = task.keys(seed)
    end = np.full(task.n_rows, size - 1)
    items = np.concatenate(
        [
            streams.negatives(
                task,
                np.arange(task.n_rows)[rows],
                keys[rows],
                0,
                end[rows],
                replacement=with_replacement,
            )
            for rows in task.blocks(max(1, _DRAWS // size))
        ]
    )
    protocol = {
        "sample_size": size,
        "n_items": task.catalogue,
        "training_items_left_out": train is not None,
    }
    return FrozenNegatives(
        _checks.ids(task.user_id, "user_id"),
        scorer.item_ids.values(task.target),
        np.arange(task.n_rows + 1) * (size - 1),
        scorer.item_ids.values(items.ravel()),
        with_replacement,
        seed,
        protocol,
    )


def _starts(lengths: Any) -> IntArray:
    return np.concatenate([[0], np.cumsum(np.asarray(lengths, dtype=np.int64))])


def _content(column: npt.NDArray[Any]) -> list[bytes]:
    """A column as bytes that do not depend on how it is stored."""
    if column.dtype.kind in "iu":
        return [b"numbers", column.astype("<i8").tobytes()]
    texts = [text.encode() for text in column.tolist()]
    lengths = np.array([len(text) for text in texts], dtype="<i8")
    return [b"texts", lengths.tobytes(), b"".join(texts)]


def _check_repeated(
    frozen: FrozenNegatives, rows: IntArray, start: IntArray, items: IntArray
) -> None:
    """Raise if a row has an item twice though they were drawn without replacement."""
    if frozen.replacement:
        return
    row_of = np.repeat(np.arange(rows.size), np.diff(start))
    order = np.lexsort([items, row_of])
    twice = np.zeros(items.size, dtype=np.bool_)
    twice[order[1:]] = (np.diff(items[order]) == 0) & (np.diff(row_of[order]) == 0)
    _raise_if(
        twice, frozen, rows[row_of], "repeat another one of their row", "say replacement=True"
    )


def _raise_if(
    wrong: npt.NDArray[np.bool_],
    frozen: FrozenNegatives,
    row_of: IntArray,
    what: str,
    remedy: str,
) -> None:
    if wrong.any():
        row = int(row_of[np.argmax(wrong)])
        raise InputError(
            f"{int(wrong.sum())} frozen negatives {what} (the first: of user "
            f"{frozen.user_id[row]}, item {frozen.item_id[row]}); {remedy}"
        )
