"""Several models ranked among the same negatives: who puts which negative above the target.

Each model is ranked as it would be alone. Then the negatives that two models share are drawn again
(streams depend on seed and user only) and scored again: vectors and matrices are multiplied a
second time, all other scorers are remembered and not asked twice.
"""

from __future__ import annotations

import dataclasses
import itertools
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass

import numpy as np

from truerank import progress as _progress
from truerank._types import IntArray
from truerank.designs import Adaptive, Design, Exact, Fixed, Frozen
from truerank.errors import InputError
from truerank.progress import Progress
from truerank.sampling import _tie_modes, streams
from truerank.sampling._drawing import Drawing, Ranked
from truerank.sampling.carry_out import carry_out, drawing_of, while_drawing
from truerank.sampling.frozen import negatives_of
from truerank.scoring.ledger import asking_once
from truerank.scoring.scorer import Scorer, checked
from truerank.scoring.task import Task

_PAIRS = 2**18  # scored at a time
_FEW = 4  # models, up to which every pair is kept
ABOVE, TIED, BELOW = range(3)

Pairs = tuple[tuple[str, str], ...]


@dataclass(frozen=True)
class RankedTogether:
    """Where several models put the target of each test row, among the same negatives.

    Attributes
    ----------
    ranked
        Model -> where it puts the targets, as if it had been ranked alone.
    pairs
        The pairs of models whose negatives were compared.
    joint
        Shape (n_rows, n_pairs, 3, 3): negatives of the smaller sample that are (above, tied with,
        below) the target by the first model and by the second.
    """

    ranked: dict[str, Ranked]
    pairs: Pairs
    joint: IntArray


def rank_together(
    scorers: Mapping[str, Scorer],
    tasks: Mapping[str, Task],
    design: Design,
    *,
    baseline: str,
    seed: int = 0,
    ties: str = "spread",
    progress: Progress = None,
) -> RankedTogether:
    """Rank the targets of every row by several models, and compare what they say of negatives.

    Parameters
    ----------
    scorers
        Name -> model; their items are in the same order.
    tasks
        Name -> the same test rows, as each scorer numbers them.
    design
        Any but `Auto` and `Fixed` with negatives shared by users.
    baseline
        The model whose pairs with all others are kept, beside those of the model that looks best.
        Of up to four models every pair is kept.
    seed, ties, progress
        As in `carry_out`.
    """
    check_own_negatives(design)
    asked = {name: asking_once(scorer) for name, scorer in scorers.items()}
    ranked = {
        name: carry_out(scorer, tasks[name], design, seed=seed, ties=ties, progress=progress)
        for name, scorer in asked.items()
    }
    rows_of = next(iter(ranked.values())).of_task
    tasks = {name: rows_of(task) for name, task in tasks.items()}
    if isinstance(design, Exact):  # ranks say it all: nothing is left to chance
        n_rows = tasks[baseline].n_rows
        return RankedTogether(ranked, (), np.zeros((n_rows, 0, 3, 3), dtype=np.int64))
    pairs = _kept_pairs(ranked, baseline)
    drawing = drawing_again(design, tasks[baseline], seed, ties)
    joint = np.zeros((tasks[baseline].n_rows, len(pairs), 3, 3), dtype=np.int64)
    negatives = negatives_again(asked[baseline], tasks[baseline], design, drawing, seed)
    with _progress.reporting(progress, joint.shape[0], "comparing") as advance:
        for rows, wanted in _batches(ranked, pairs):
            items = negatives(rows, wanted)
            place = {
                name: places(asked[name], task, rows, items, needed, drawing)
                for name, task in tasks.items()
                if (needed := _needed(ranked, pairs, name, rows)) is not None
            }
            for at, (one, two) in enumerate(pairs):
                common = np.minimum(ranked[one].sample_size, ranked[two].sample_size)[rows] - 1
                shared = np.arange(items.shape[1]) < common[:, None]
                cell = 9 * np.arange(rows.size)[:, None] + 3 * place[one] + place[two]
                found = np.bincount(cell[shared], minlength=9 * rows.size)
                joint[rows, at] = found.reshape(-1, 3, 3)
            advance(rows.size)
    return RankedTogether(ranked, pairs, joint)


def check_own_negatives(design: Design) -> None:
    """Raise for negatives that users share: which user met which is not told then."""
    if isinstance(design, Fixed) and design.shared_by is not None:
        raise InputError(
            f"shared_by is {design.shared_by}; several models are counted with negatives of each "
            "user's own: leave shared_by out, or count one model at a time"
        )


def drawing_again(design: Design, task: Task, seed: int, ties: str) -> Drawing:
    """What draws the negatives of a design a second time."""
    drawing = drawing_of(design.scheme(task.catalogue), while_drawing(design, ties), task, seed)
    if isinstance(design, (Fixed, Adaptive)):
        drawing = dataclasses.replace(drawing, draw=design.draw)
    return drawing


def _kept_pairs(ranked: Mapping[str, Ranked], baseline: str) -> Pairs:
    """Each model with the baseline and with the one whose targets look best; of few, every pair."""
    if len(ranked) <= _FEW:
        return tuple(itertools.combinations(ranked, 2))

    def share_above(name: str) -> float:
        one = ranked[name]
        return float(np.log((one.above + one.tied / 2 + 0.5) / one.sample_size).mean())

    best = min(ranked, key=share_above)
    pairs = {
        frozenset((centre, name)): (centre, name)
        for centre in (best, baseline)
        for name in ranked
        if name != centre
    }
    order = list(ranked)
    return tuple(
        sorted(pairs.values(), key=lambda pair: (order.index(pair[0]), order.index(pair[1])))
    )


def negatives_again(
    scorer: Scorer, task: Task, design: Design, drawing: Drawing, seed: int
) -> Callable[[IntArray, IntArray], IntArray]:
    """A function that gives the first so many negatives of some rows, filled up with targets."""
    if isinstance(design, Frozen):
        held = negatives_of(design, task, scorer, seed)
        start, known = held.start, held.items

        def given(rows: IntArray, wanted: IntArray) -> IntArray:
            number = np.arange(int(wanted.max()))
            place = np.minimum(start[rows, None] + number, known.size - 1)
            return np.where(number < wanted[:, None], known[place], task.target[rows, None])

        return given
    stream = streams.stream_of(drawing.draw)

    def drawn(rows: IntArray, wanted: IntArray) -> IntArray:
        keys = drawing.keys[rows]
        return stream(task, rows, keys, 0, wanted, replacement=drawing.scheme.replacement)

    return drawn


def _needed(
    ranked: Mapping[str, Ranked], pairs: Pairs, name: str, rows: IntArray
) -> IntArray | None:
    """Negatives of each row that a model shares with some other of its pairs; None if without."""
    common = [
        np.minimum(ranked[one].sample_size, ranked[two].sample_size)[rows] - 1
        for one, two in pairs
        if name in (one, two)
    ]
    return np.maximum.reduce(common) if common else None


def _batches(ranked: Mapping[str, Ranked], pairs: Pairs) -> Iterator[tuple[IntArray, IntArray]]:
    """Rows whose samples are of about one size, and the negatives that each of them needs."""
    n_rows = next(iter(ranked.values())).above.size
    every = np.arange(n_rows)
    needs = [_needed(ranked, pairs, name, every) for name in ranked]
    wanted = np.maximum.reduce([need for need in needs if need is not None])
    order = np.argsort(-wanted, kind="stable")
    begin = 0
    while begin < n_rows:
        step = max(1, _PAIRS // int(wanted[order[begin]]))
        rows = order[begin : begin + step]
        yield rows, wanted[rows]
        begin += step


def places(
    scorer: Scorer, task: Task, rows: IntArray, items: IntArray, needed: IntArray, drawing: Drawing
) -> IntArray:
    """Where a model puts the first ``needed`` items of each row, shape of ``items``."""
    place = np.full(items.shape, BELOW, dtype=np.int64)
    target = task.target[rows]
    for size in np.unique(needed):  # nothing is asked for that was not ranked before
        at = np.flatnonzero(needed == size)
        asked = np.concatenate([target[at, None], items[at, :size]], axis=1)
        scores = checked(scorer.score(task.user[rows[at]], asked), asked.shape, scorer.label)
        over, same = scores[:, 1:] > scores[:, :1], scores[:, 1:] == scores[:, :1]
        if drawing.ties == _tie_modes.COUNT:
            tied = same
        else:
            over |= _tie_modes.goes_above(
                same, drawing.ties, drawing.tie_keys[rows[at]], asked[:, 1:], target[at]
            )
            tied = np.zeros_like(same)
        place[at, :size] = np.where(over, ABOVE, np.where(tied, TIED, BELOW))
    return place
