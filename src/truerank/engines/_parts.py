"""What a batch of rows does in one pass of a climb: survey, draw, or say what drawing would take.

Of a function, whose pairs may cost money, a batch gets an allowance, so that all batches together
stay within the budget; it gives back what it was answered, also if a call that failed cut it short.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from truerank._types import FloatArray, IntArray
from truerank.designs.draws import Uniform
from truerank.engines.kernels import Kernel
from truerank.errors import InputError, OutOfBudget, TruerankError
from truerank.outcomes._places import blocks
from truerank.outcomes.schemes import Scheme
from truerank.rng import draws
from truerank.sampling import _tie_modes, kept
from truerank.sampling._batched import Batched
from truerank.sampling._drawing import Drawing
from truerank.sampling.carry_out import (
    drawing_of,
    exact_pairs,
    sampler,
    target_scores,
    while_drawing,
)
from truerank.sampling.counting import tie_keys_of
from truerank.scoring import exact
from truerank.scoring.ledger import Ledger, asking
from truerank.scoring.scorer import Scorer
from truerank.scoring.task import Task


@dataclass(frozen=True)
class Survey:
    """The key and the pool of every target of a batch, and what orders those of one user.

    ``user`` and ``word`` are the random words of the user and of the target under it; ``offset``
    are kept training items above the target. ``exact`` is the number of pairs that an exact
    evaluation of the batch takes, ``kept`` that of kept items, which are scored here; both are on
    its first row.
    """

    COLUMNS: ClassVar[tuple[str, ...]] = (
        "key", "n_items", "n_targets", "block", "user", "word", "offset"
    )  # fmt: skip
    SUMS: ClassVar[tuple[str, ...]] = ("exact", "kept")
    schema: ClassVar[str] = ", ".join(f"{name} bigint" for name in (*COLUMNS, *SUMS))

    kernel: Kernel

    def __call__(self, rows: Any) -> Any:
        import pyarrow as pa

        columns = [np.empty(0, dtype=np.int64)] * (len(self.COLUMNS) + len(self.SUMS))
        if (prepared := self.kernel.prepare(rows)) is not None:
            scorer, task = prepared
            seed = self.kernel.seed
            user = tie_keys_of(task, seed)
            offset = np.zeros(task.n_rows, dtype=np.int64)
            if task.kept is not None:
                task.check_candidates()
                mode = _tie_modes.code(
                    while_drawing(self.kernel.design, self.kernel.ties, kept=True)
                )
                offset = kept.above(scorer, task, mode, user).offset
            columns = [
                task.keys(seed).view(np.int64),
                task.n_items,
                task.n_targets,
                blocks(task.user_id, task.n_targets),
                user.view(np.int64),
                draws(user, task.target).view(np.int64),
                offset,
                on_first(exact_pairs(scorer, task), task.n_rows),
                on_first(task.n_kept, task.n_rows),
            ]
        return pa.table(dict(zip((*self.COLUMNS, *self.SUMS), columns, strict=True)))


@dataclass(frozen=True)
class Allowance:
    """What all batches of a pass may ask a function for, and what is known already.

    Attributes
    ----------
    needed
        Pairs that the pass takes if no call fails, at most.
    slack
        Pairs that are left beside those; a batch gets its share, by what it needs.
    whole
        The limit of the evaluation.
    pairs, scores
        What was paid for already: sorted pairs, as user * n_items + item, and their scores.
    """

    needed: int
    slack: int
    whole: int
    pairs: IntArray
    scores: FloatArray

    def ledger(self, scorer: Scorer) -> Ledger:
        """A ledger for a batch that knows what is known, and may not ask for anything yet."""
        before = asking(scorer)
        assert before is not None
        ledger = before.share(0, whole=self.whole)
        if self.pairs.size:
            ledger.know(self.pairs, self.scores)
        return ledger

    def give(self, ledger: Ledger, needed: int) -> None:
        """Let the ledger of a batch ask for what it needs, and for its share of what is left."""
        ledger.purse.needed = needed
        ledger.purse.limit = needed + (self.slack * needed // self.needed if needed else 0)


@dataclass(frozen=True)
class DrawnRows:
    """What drawing gives for the targets of a batch.

    ``pairs`` (asked for), ``failed`` (of them), ``calls`` (that failed), ``code`` and ``value``
    (new pairs of a function and their scores) are those of the batch, on its first row. Where
    ``done`` is 0, a call failed and the allowance was too small for another one.
    """

    schema: ClassVar[str] = (
        "key bigint, hits bigint, tied bigint, score double, done bigint, pairs bigint, "
        "failed bigint, calls bigint, code array<bigint>, value array<double>, error string"
    )

    kernel: Kernel
    key: IntArray
    allowance: Allowance | None

    def __call__(self, rows: Any) -> Any:
        kernel, prepared = self.kernel, self.kernel.prepare(rows)
        if prepared is None:
            return _table()
        scorer, task = prepared
        key = task.keys(kernel.seed).view(np.int64)
        at = np.minimum(np.searchsorted(self.key, key), self.key.size - 1)
        mine = np.flatnonzero(self.key[at] == key)
        if not mine.size:
            return _table()
        if self.allowance is None:
            ledger = asking(scorer)
            before = 0 if ledger is None else ledger.asked
            hits, tied, score, nominal = self.work(ledger or scorer, task, mine, at[mine], None)
            pairs = nominal if ledger is None else ledger.asked - before
            return _table(key[mine], hits, tied, score, pairs=pairs)
        ledger = self.allowance.ledger(scorer)
        give = lambda needed: self.allowance.give(ledger, needed)  # noqa: E731
        hits, tied = np.zeros((2, mine.size), dtype=np.int64)
        score, error, done = np.full(mine.size, np.nan), None, True
        try:
            hits, tied, score, _ = self.work(ledger, task, mine, at[mine], give)
        except OutOfBudget:
            done = False
        except TruerankError as found:  # told, not raised: Spark would try, and pay, again
            error = f"{'input' if isinstance(found, InputError) else 'other'}: {found}"
        return _table(key[mine], hits, tied, score, done, error, ledger=ledger)

    def work(
        self,
        scorer: Scorer,
        task: Task,
        rows: IntArray,
        at: IntArray,
        give: Callable[[int], None] | None,
    ) -> tuple[IntArray, IntArray, FloatArray, int]:
        """Negatives above and tied with the targets of rows, the targets' scores, and all pairs.

        ``at`` are their places among all keys; ``give`` is told how many pairs are needed.
        """
        raise NotImplementedError


@dataclass(frozen=True)
class Level(DrawnRows):
    """Takes the targets ``key`` (sorted) from samples of ``before`` to ``goal``.

    ``score`` are the targets' own scores, NaN where they are not known.
    """

    scheme: Scheme
    before: int
    goal: IntArray
    score: FloatArray

    def work(
        self,
        scorer: Scorer,
        task: Task,
        rows: IntArray,
        at: IntArray,
        give: Callable[[int], None] | None,
    ) -> tuple[IntArray, IntArray, FloatArray, int]:
        sampling = sampler(scorer, task, _drawing(self.kernel, self.scheme, task))
        if isinstance(sampling, Batched):
            sampling.target_score[rows] = self.score[at]
        before, goal = np.full(rows.size, self.before), self.goal[at]
        if give is not None:
            assert isinstance(sampling, Batched)
            give(int(sampling.to_ask(rows, before, goal).sum()))
        hits = sampling.draw(rows, before, goal)
        score = sampling.target_score if isinstance(sampling, Batched) else None
        if score is None:
            score = target_scores(scorer, task)
        own = np.full(rows.size, np.nan) if score is None else score[rows]
        first = rows.size if self.before == 1 else 0  # the targets themselves
        return hits, sampling.tied[rows], own, int((goal - before).sum()) + first


@dataclass(frozen=True)
class Whole(DrawnRows):
    """Ranks targets among all items of their pools."""

    def work(
        self,
        scorer: Scorer,
        task: Task,
        rows: IntArray,
        at: IntArray,
        give: Callable[[int], None] | None,
    ) -> tuple[IntArray, IntArray, FloatArray, int]:
        needed = exact_pairs(scorer, task)
        if give is not None:
            give(needed)
        above, tied = exact.count(scorer, task, progress=False)
        return above[rows], tied[rows], np.full(rows.size, np.nan), needed


@dataclass(frozen=True)
class ToAsk:
    """The pairs that a level has to ask a function for, by the number of the new negative.

    Number 0 are the targets themselves.
    """

    schema: ClassVar[str] = "number bigint, pairs bigint"

    level: Level

    def __call__(self, rows: Any) -> Any:
        import pyarrow as pa

        level, kernel = self.level, self.level.kernel
        wanted = np.empty(0, dtype=np.int64)
        if (prepared := kernel.prepare(rows)) is not None:
            scorer, task = prepared
            key = task.keys(kernel.seed).view(np.int64)
            at = np.minimum(np.searchsorted(level.key, key), level.key.size - 1)
            mine = np.flatnonzero(level.key[at] == key)
            if mine.size:
                assert level.allowance is not None
                ledger = level.allowance.ledger(scorer)
                draws = Batched(ledger, task, _drawing(kernel, level.scheme, task))
                draws.target_score[mine] = level.score[at[mine]]
                before = np.full(mine.size, level.before)
                wanted = draws.to_ask(mine, before, level.goal[at[mine]])
        return pa.table({"number": np.arange(wanted.size), "pairs": wanted})


def on_first(number: int, n_rows: int) -> IntArray:
    """A column with a number on its first row, and zeros, shape (n_rows,)."""
    column = np.zeros(n_rows, dtype=np.int64)
    column[:1] = number
    return column


def _drawing(kernel: Kernel, scheme: Scheme, task: Task) -> Drawing:
    mode = while_drawing(kernel.design, kernel.ties, kept=kernel.keep_train)
    return drawing_of(
        scheme, mode, task, kernel.seed, draw=getattr(kernel.design, "draw", Uniform())
    )


def _table(
    key: IntArray | None = None,
    hits: IntArray | None = None,
    tied: IntArray | None = None,
    score: FloatArray | None = None,
    done: bool = True,
    error: str | None = None,
    *,
    pairs: int = 0,
    ledger: Ledger | None = None,
) -> Any:
    """The table of a batch; what it asked for is that of the ledger, if there is one."""
    import pyarrow as pa

    empty = np.empty(0, dtype=np.int64)
    key = empty if key is None else key
    n_rows = key.size
    code, failed, calls = empty, 0, 0
    value: FloatArray = np.empty(0)
    if ledger is not None:
        code, value = ledger.news()
        pairs, failed, calls = ledger.asked, ledger.purse.failed, ledger.purse.failed_calls
    ends = pa.array([0] + [code.size] * n_rows, pa.int32())
    return pa.table(
        {
            "key": key,
            "hits": empty if hits is None else hits,
            "tied": empty if tied is None else tied,
            "score": np.empty(0) if score is None else score,
            "done": np.full(n_rows, int(done)),
            "pairs": on_first(pairs, n_rows),
            "failed": on_first(failed, n_rows),
            "calls": on_first(calls, n_rows),
            "code": pa.ListArray.from_arrays(ends, pa.array(code)),
            "value": pa.ListArray.from_arrays(ends, pa.array(value)),
            "error": pa.array([error] * n_rows, pa.string()),
        }
    )
