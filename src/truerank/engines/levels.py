"""A budget shared by users on many machines: one pass over all rows for each level of the ladder.

Workers draw and score; the driver knows of each target only its pool, its hits and its sample size
(some 50 bytes), and decides by the same climb as on one machine who goes on. Scores of targets
travel along, so that they are asked for once. A negative that comes up again in a later level (with
replacement, or for another target of its user) is asked for again.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from truerank._types import FloatArray, IntArray
from truerank.designs import Adaptive
from truerank.designs.climb import climb
from truerank.designs.draws import Draw
from truerank.engines.batches import Counted
from truerank.engines.kernels import Kernel
from truerank.errors import InputError
from truerank.outcomes.schemes import Scheme
from truerank.sampling._batched import Batched
from truerank.sampling._drawing import Ranked
from truerank.sampling.carry_out import drawing_of, sampler, while_drawing
from truerank.sampling.counting import table_of
from truerank.scoring import ties
from truerank.scoring.ledger import asking

# Applies a function of a batch of rows to all batches; gives the tables it returned, in any order.
Run = Callable[[Callable[[Any], Any]], Iterable[Any]]


@dataclass(frozen=True)
class Climbed:
    """Where all targets ended, arrays of shape (n_rows,) in the order of their keys.

    Attributes
    ----------
    key
        The random key of each target, sorted; it tells targets apart.
    pairs
        Pairs asked of the scorer, in all.
    """

    key: IntArray
    n_items: IntArray
    weight: FloatArray
    above: IntArray
    sample_size: IntArray
    scheme: Scheme
    pairs: int

    def counted(self) -> Counted:
        """The counts of all targets, with what they took.

        Returns
        -------
        Counted
            Counts as `truerank.count` gives them on one machine.
        """
        counts = ties.counts(
            self.above,
            np.zeros_like(self.above),
            "optimistic",  # ties were broken while drawing
            scheme=self.scheme,
            n_items=self.n_items,
            sample_size=self.sample_size,
            weight=self.weight,
            n_users=round(float(self.weight.sum())),
        )
        return Counted(counts, self.pairs, int(self.key.size))


def within_budget(kernel: Kernel, run: Run) -> Climbed:
    """Carry out an adaptive design with a budget, level by level.

    Parameters
    ----------
    kernel : Kernel
        Its design has a budget.
    run : callable
        ``run(function)`` applies a function of a batch of rows to all batches, anywhere, and gives
        the pyarrow Tables it returned. It is called once for each level, and once before.

    Returns
    -------
    Climbed
        Where all targets ended.
    """
    import pyarrow as pa

    design = kernel.design
    if not isinstance(design, Adaptive) or design.budget is None:
        raise InputError(f"design is {design!r}; a budget is that of an Adaptive design")
    known = pa.concat_tables(run(Survey(kernel)))
    if not len(known):
        raise InputError("there are no rows; there is nothing to count")
    order = np.argsort(known["key"].to_numpy(), kind="stable")
    key, n_items, weight = (known[name].to_numpy()[order] for name in ("key", "n_items", "weight"))
    n_users = round(float(weight.sum()))
    total = math.floor(design.budget * n_users) - key.size
    if total < key.size:
        raise InputError(
            f"budget is {design.budget:g} scored pairs per user; users have {key.size / n_users:g} "
            f"targets in the mean, so that at least {2 * key.size / n_users:g} are needed"
        )
    score = np.full(key.size, np.nan)
    pairs = 0

    def draw(rows: IntArray, before: IntArray, goal: IntArray) -> IntArray:
        nonlocal pairs
        level = Level(kernel, key[rows], int(before[0]), goal, score[rows], design.draw)
        found = pa.concat_tables(run(level))
        if len(found) != rows.size:
            raise InputError(
                f"{len(found)} targets came back of {rows.size}: the rows changed while they were "
                "evaluated; save them first"
            )
        at = np.searchsorted(key, found["key"].to_numpy())
        score[at] = found["score"].to_numpy()
        pairs += int(found["pairs"].to_numpy().sum())
        hits = np.zeros(key.size, dtype=np.int64)
        hits[at] = found["hits"].to_numpy()
        return hits[rows]

    scheme = design.scheme(kernel.items.n_items)
    scheme, above, size = climb(scheme, n_items, draw, total=total)
    return Climbed(key, n_items, weight, above, size, scheme, pairs)


@dataclass(frozen=True)
class Survey:
    """The key, the pool and the weight of every target of a batch."""

    schema: ClassVar[str] = "key bigint, n_items bigint, weight double"

    kernel: Kernel

    def __call__(self, rows: Any) -> Any:
        import pyarrow as pa

        empty = np.empty(0, dtype=np.int64)
        key, n_items = empty, empty
        weight: FloatArray = np.empty(0)
        if (prepared := self.kernel.prepare(rows)) is not None:
            _, task = prepared
            key = task.keys(self.kernel.seed).view(np.int64)
            n_items, weight = task.n_items, task.weight
        return pa.table({"key": key, "n_items": n_items, "weight": weight})


@dataclass(frozen=True)
class Level:
    """Takes the targets ``key`` (sorted) from samples of ``before`` to ``goal``.

    ``score`` are the targets' own scores, NaN where they are not known.
    """

    schema: ClassVar[str] = "key bigint, hits bigint, pairs bigint, score double"

    kernel: Kernel
    key: IntArray
    before: int
    goal: IntArray
    score: FloatArray
    draw: Draw

    def __call__(self, rows: Any) -> Any:
        import pyarrow as pa

        kernel = self.kernel
        prepared = kernel.prepare(rows)
        found: dict[str, Any] = dict.fromkeys(("key", "hits", "pairs"), np.empty(0, np.int64))
        found["score"] = np.empty(0)
        if prepared is not None:
            scorer, task = prepared
            key = task.keys(kernel.seed).view(np.int64)
            at = np.minimum(np.searchsorted(self.key, key), self.key.size - 1)
            mine = np.flatnonzero(self.key[at] == key)
            if mine.size:
                mode = while_drawing(kernel.design, kernel.ties)
                scheme = kernel.design.scheme(kernel.items.n_items)
                drawing = drawing_of(scheme, mode, task, kernel.seed, draw=self.draw)
                ledger = asking(scorer)
                asked = 0 if ledger is None else ledger.asked
                draws = sampler(ledger or scorer, task, drawing)
                if isinstance(draws, Batched):
                    draws.target_score[mine] = self.score[at[mine]]
                goal = self.goal[at[mine]]
                hits = draws.draw(mine, np.full(mine.size, self.before), goal)
                pairs = np.zeros(mine.size, dtype=np.int64)
                first = mine.size if self.before == 1 else 0  # the targets themselves
                nominal = int((goal - self.before).sum()) + first
                pairs[0] = nominal if ledger is None else ledger.asked - asked
                score = np.full(mine.size, np.nan)
                if isinstance(draws, Batched):
                    score = draws.target_score[mine]
                found = {"key": key[mine], "hits": hits, "pairs": pairs, "score": score}
        return pa.table({name: found[name] for name in ("key", "hits", "pairs", "score")})


@dataclass(frozen=True)
class Places:
    """The ranks of a batch as a table, of targets that have climbed."""

    kernel: Kernel
    climbed: Climbed

    def table(self, rows: Any) -> Any:
        """One row per target, as `truerank.rank` gives them; None without any."""
        prepared = self.kernel.prepare(rows)
        if prepared is None:
            return None
        scorer, task = prepared
        at = np.searchsorted(self.climbed.key, task.keys(self.kernel.seed).view(np.int64))
        above, size = self.climbed.above[at], self.climbed.sample_size[at]
        ranked = Ranked(above, np.zeros_like(above), size, 0, self.climbed.scheme, True)
        return table_of(scorer, task, ranked, "optimistic", self.kernel.seed)
