"""Samples that grow while the target leads (LJ24, algorithm 1), within a budget if asked to."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from truerank import designs
from truerank.designs import Adaptive
from truerank.errors import InputError
from truerank.outcomes.counts import RankCounts
from truerank.progress import Progress
from truerank.sampling._sample import sample
from truerank.sampling.fixed import counts
from truerank.scoring import ties as _ties
from truerank.scoring.scorer import Scorer
from truerank.scoring.task import Task, prepare


def adaptive_counts(
    scorer: Scorer,
    test: Any,
    *,
    train: Any = None,
    budget: float | None = None,
    design: str | Adaptive | None = None,
    start: int | None = None,
    stop: float | None = None,
    growth: float | None = None,
    hits: int | None = None,
    replacement: bool = False,
    seed: int = 0,
    ties: str = "random",
    keep_target: bool = False,
    progress: Progress = None,
) -> RankCounts:
    """Rank every target among a sample that grows until enough negatives beat it.

    All users begin with a sample of ``start``. Those with fewer than ``hits`` negatives above the
    target go on to ``growth`` times the size, and so on up to ``stop``: effort goes where the top
    of the ranking is decided. A larger sample continues a smaller one: who goes on to a size has
    the sample that `sampled_counts` draws with that size and seed.

    Parameters
    ----------
    scorer, test, train, seed, keep_target, progress
        As in `sampled_counts`.
    budget
        Negatives to score a target, in the mean over all targets, at the most; the target's own
        score is not counted. All users who go on take a level together while the budget covers it;
        the level that it does not cover is shrunk to what is left and is the last. If all are up
        before the budget is gone, more hits are asked for. So the cost is known beforehand,
        whatever the model; a user's draws depend on others only in how far they go. If not given,
        200, or as much as it takes where there is a ``stop``.
    design
        ``"truerank"``: from 32, each size half as large again, one hit, up to the whole pool;
        ``"lj24"``: from 100, doubling, one hit, up to a tenth of the catalogue (LJ24); or an
        `Adaptive`. If not given, ours; LJ24's if a ``stop`` is given instead of a budget.
    start, stop, growth, hits
        Changes to the design. Sample sizes count the target; a ``stop`` below 1 is a share of the
        catalogue. Without replacement a user's sample ends at its pool, where the rank is exact.
        ``hits`` are the negatives above the target that end a user's sampling, to begin with.
    ties
        A negative of the target's very score goes before it or not: ``"random"`` decides by user,
        item and seed, the same way at every stage; ``"optimistic"`` never, ``"pessimistic"``
        always. They cannot be spread: whether to go on depends on them.
    """
    check_ties(ties)
    chosen = designs.adaptive(
        design, budget=budget, start=start, stop=stop, growth=growth, hits=hits
    )
    task = prepare(scorer, test, train=train, keep_target=keep_target)
    return count_adaptive(
        scorer,
        task,
        ladder=chosen.ladder(task.catalogue),
        hits=chosen.hits,
        budget=chosen.within(budget),
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
    hits: int | Sequence[int] = 1,
    budget: float | None = None,
    replacement: bool = False,
    seed: int = 0,
    ties: str = "random",
    progress: Progress = None,
) -> RankCounts:
    """`adaptive_counts` of a task that is laid out already, with the sizes of ``ladder``."""
    check_ties(ties)
    if not len(ladder):
        raise InputError("ladder is empty; it must have at least one sample size")
    sampled = sample(
        scorer,
        task,
        ladder=ladder,
        hits=hits,
        budget=budget,
        replacement=replacement,
        seed=seed,
        ties=ties,
        progress=progress,
    )
    assert sampled.scheme is not None
    return counts(task, sampled, "optimistic", sampled.scheme)  # no ties are left


def check_ties(ties: str) -> None:
    if _ties.check(ties) in ("spread", "mid"):
        raise InputError(
            f"ties is {ties!r}, which gives a tied target several ranks at once; adaptive sampling "
            "has to know at each stage whether to go on: say 'random' (right in the mean), "
            "'optimistic' or 'pessimistic'"
        )
