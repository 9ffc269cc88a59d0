"""Samples that grow while the target leads (LJ24, algorithm 1)."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from truerank import _checks
from truerank.counts import RankCounts
from truerank.errors import InputError
from truerank.progress import Progress
from truerank.sampling._sample import sample
from truerank.sampling.fixed import counts
from truerank.schemes import Scheme
from truerank.scoring import ties as _ties
from truerank.scoring._scorer import Scorer
from truerank.scoring.task import Task, prepare


def adaptive_counts(
    scorer: Scorer,
    test: Any,
    *,
    train: Any = None,
    start: int = 100,
    stop: int = 3200,
    growth: float = 2.0,
    hits: int = 1,
    replacement: bool = False,
    seed: int = 0,
    ties: str = "random",
    keep_target: bool = False,
    progress: Progress = None,
) -> RankCounts:
    """Rank every target among a sample that grows until enough negatives beat it.

    All users begin with a sample of ``start``. Those with fewer than ``hits`` negatives above the
    target go on to ``growth`` times the size, and so on up to ``stop``: effort goes where the top
    of the ranking is decided. A larger sample continues a smaller one: who goes on to ``stop`` has
    the sample that `sampled_counts` draws with that size and seed.

    Parameters
    ----------
    scorer, test, train, seed, keep_target, progress
        As in `sampled_counts`.
    start, stop, growth
        Sample sizes, which count the target. Without replacement a user's sample ends at its
        pool, where the rank is exact. A ``stop`` of 10 to 15 % of the items is a good one (LJ24).
    hits
        Negatives above the target that end the sampling.
    ties
        A negative of the target's very score goes before it or not: ``"random"`` decides by user,
        item and seed, the same way at every stage; ``"optimistic"`` never, ``"pessimistic"``
        always. They cannot be spread: whether to go on depends on them.
    """
    _check_ties(ties)
    ladder = make_ladder(start, stop, growth)
    task = prepare(scorer, test, train=train, keep_target=keep_target)
    return count_adaptive(
        scorer,
        task,
        ladder=ladder,
        hits=hits,
        replacement=replacement,
        seed=seed,
        ties=ties,
        progress=progress,
    )


def count_adaptive(
    scorer: Scorer,
    task: Task,
    *,
    ladder: Sequence[int],
    hits: int = 1,
    replacement: bool = False,
    seed: int = 0,
    ties: str = "random",
    progress: Progress = None,
) -> RankCounts:
    """`adaptive_counts` of a task that is laid out already, with the sizes of ``ladder``."""
    _check_ties(ties)
    scheme = Scheme(replacement, ladder, hits)  # type: ignore[arg-type]
    if not scheme.adaptive:
        raise InputError("ladder is empty; it must have at least one sample size")
    sampled = sample(
        scorer,
        task,
        ladder=scheme.ladder,
        hits=scheme.hits,
        replacement=scheme.replacement,
        seed=seed,
        ties=ties,
        progress=progress,
    )
    return counts(task, sampled, "optimistic", scheme)  # no ties are left


def make_ladder(start: int, stop: int, growth: float = 2.0) -> tuple[int, ...]:
    """The sizes start, ceil(growth * start), ... up to ``stop``, which ends it in any case."""
    start = _checks.integer(start, "start", low=2, why="it counts the target")
    stop = _checks.integer(stop, "stop", low=start, why="no less than start")
    growth = _checks.real(growth, "growth", low=1.0, open_low=True)
    ladder = [start]
    while ladder[-1] < stop:
        # Rounded: 1.1 * 10 is a little more than 11.
        larger = math.ceil(round(min(growth * ladder[-1], float(stop)), 6))
        ladder.append(min(max(larger, ladder[-1] + 1), stop))
    return tuple(ladder)


def _check_ties(ties: str) -> None:
    if _ties.check(ties) in ("spread", "mid"):
        raise InputError(
            f"ties is {ties!r}, which gives a tied target several ranks at once; adaptive sampling "
            "has to know at each stage whether to go on: say 'random' (right in the mean), "
            "'optimistic' or 'pessimistic'"
        )
