"""Sampling for any scorer: draws in numpy, scores in large batches."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import numpy as np

from truerank._types import FloatArray, IntArray
from truerank.designs.climb import Money, climb, shared_pairs
from truerank.sampling import _tie_modes, streams
from truerank.sampling._drawing import Drawing, Ranked
from truerank.scoring.ledger import Ledger, asking_once, by_pairs
from truerank.scoring.scorer import Scorer, checked
from truerank.scoring.task import Task

_PAIRS = 2**18  # asked for in one call


class Batched:
    """Draws negatives for the rows of a task, level by level, and counts those above the target.

    A target is scored with its first negatives; its score is kept for the later ones.

    Attributes
    ----------
    tied
        Negatives of the target's score in the last draw of each row, (n_rows,).
    target_score
        (n_rows,); NaN where it is not known yet.
    """

    def __init__(self, scorer: Scorer, task: Task, drawing: Drawing) -> None:
        # Several targets of a user, draws with replacement, and those that a failed call cut short
        # may come to one pair again.
        limited = isinstance(scorer, Ledger) and scorer.purse.limit is not None
        again = task.n_users < task.n_rows or drawing.scheme.replacement or limited
        self._scorer = asking_once(scorer) if again else scorer
        self._task, self._drawing = task, drawing
        self.tied = np.zeros(task.n_rows, dtype=np.int64)
        known = drawing.target_score
        self.target_score: FloatArray = np.full(task.n_rows, np.nan) if known is None else known

    @property
    def money(self) -> Money | None:
        """What the draws are paid from, if there is a limit to it."""
        ledger = self._scorer
        if not isinstance(ledger, Ledger) or ledger.purse.limit is None:
            return None
        return Money(ledger.purse, self.to_ask)

    def draw(self, rows: IntArray, before: IntArray, goal: IntArray) -> IntArray:
        """Take rows from samples of ``before``, equal for all, to ``goal``; the new hits."""
        hits = np.zeros(rows.size, dtype=np.int64)
        for part, items in self._negatives(rows, before, goal):
            hits[part], self.tied[rows[part]] = self.count(rows[part], items)
        return hits

    def to_ask(self, rows: IntArray, before: IntArray, goal: IntArray) -> IntArray:
        """Pairs that `draw` has to ask for, at most: of targets, of first new negatives, ..."""
        wanted = np.zeros(int((goal - before).max()) + 1, dtype=np.int64)
        assert isinstance(self._scorer, Ledger)
        first = np.zeros(rows.size, dtype=bool)  # of its user: the others meet the same negatives
        first[np.unique(self._task.group[rows], return_index=True)[1]] = True
        for part, items in self._negatives(rows, before, goal):
            here = rows[part]
            pairs = np.concatenate([self._task.target[here][:, None], items], axis=1)
            unknown = ~self._scorer.is_known(self._task.user[here], pairs)
            unknown[:, 0] &= np.isnan(self.target_score[here])
            unknown[:, 1:] &= first[part, None]
            wanted[: pairs.shape[1]] += unknown.sum(axis=0)
        return wanted

    def _negatives(
        self, rows: IntArray, before: IntArray, goal: IntArray
    ) -> Iterator[tuple[IntArray, IntArray]]:
        """New negatives of some rows at a time: places in ``rows``, and items (n, new ones)."""
        for part in _batches(goal - before):
            here = rows[part]
            yield (
                part,
                streams.stream_of(self._drawing.draw)(
                    self._task,
                    here,
                    self._drawing.keys[here],
                    int(before[0]) - 1,
                    goal[part] - 1,
                    replacement=self._drawing.scheme.replacement,
                ),
            )

    def count(self, rows: IntArray, items: IntArray) -> tuple[IntArray, IntArray]:
        """Items (n_rows, n) above and tied with the target of each row."""
        target = self._task.target[rows]
        scored = ~np.isnan(self.target_score[rows])
        ask_target = not scored.all()
        asked = np.concatenate([target[:, None], items], axis=1) if ask_target else items
        scores = checked(
            self._scorer.score(self._task.user[rows], asked), asked.shape, self._scorer.label
        )
        if ask_target:
            self.target_score[rows] = scores[:, 0]
            scores = scores[:, 1:]
        own = self.target_score[rows][:, None]
        over, same = scores > own, scores == own
        ties = self._drawing.ties
        if ties == _tie_modes.COUNT:
            return over.sum(axis=1), same.sum(axis=1)
        over |= _tie_modes.goes_above(same, ties, self._drawing.tie_keys[rows], items, target)
        return over.sum(axis=1), np.zeros(rows.size, dtype=np.int64)


def sample(scorer: Scorer, task: Task, drawing: Drawing, advance: Callable[[int], None]) -> Ranked:
    """Level by level for all rows that go on, so that the calls stay large."""
    ladder = drawing.scheme.ladder
    # Without a budget every level is taken to cost as much as the first: about half go on.
    most = task.n_rows * (1.0 + (ladder[0] - 1) * len(ladder))
    if drawing.total is not None:
        most = min(most, task.n_rows + drawing.total)
    with by_pairs(scorer, task.n_rows, most, advance) as (asked, told):
        sampler = Batched(asked, task, drawing)
        scheme, above, size = climb(
            drawing.scheme,
            task.n_items,
            sampler.draw,
            user=task.group if task.several else None,
            total=drawing.total,
            money=sampler.money,
            advance=told,
        )
    return Ranked(
        above, sampler.tied, size, shared_pairs(task.group, size), scheme, drawing.breaks_ties,
        target_score=sampler.target_score,
    )  # fmt: skip


def given(
    scorer: Scorer,
    task: Task,
    start: IntArray,
    negatives: IntArray,
    drawing: Drawing,
    advance: Callable[[int], None],
) -> Ranked:
    """Rank each row's target among negatives[start[row]:start[row + 1]]."""
    above, tied = np.zeros((2, task.n_rows), dtype=np.int64)
    length = np.diff(start)
    with by_pairs(scorer, task.n_rows, task.n_rows + int(start[-1]), advance) as (asked, told):
        sampler = Batched(asked, task, drawing)
        for rows in _batches(length):
            place = start[rows, None] + np.arange(length[rows[0]])
            above[rows], tied[rows] = sampler.count(rows, negatives[place])
            told(rows.size)
    return Ranked(
        above, tied, length + 1, task.n_rows + int(start[-1]), drawing.scheme,
        drawing.breaks_ties,
        target_score=sampler.target_score,
    )  # fmt: skip


def _batches(length: IntArray) -> Iterator[IntArray]:
    """Rows of one length in batches of about _PAIRS negatives: nothing is scored as filling."""
    order = np.argsort(-length, kind="stable")
    cuts = np.flatnonzero(np.diff(length[order])) + 1
    for rows in np.split(order, cuts):
        if rows.size:
            step = max(1, _PAIRS // (int(length[rows[0]]) + 1))
            for begin in range(0, rows.size, step):
                yield rows[begin : begin + step]
