"""Carry out a design: rank every target of a task as it says, whichever design it is."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Callable

import numpy as np

from truerank import _checks
from truerank import progress as _progress
from truerank._types import FloatArray, IntArray
from truerank.designs import Adaptive, Auto, Design, Exact, Fixed, Frozen
from truerank.designs.draws import Draw, Uniform
from truerank.designs.purse import Purse
from truerank.errors import InputError, OutOfBudget, TruerankError
from truerank.outcomes.schemes import Scheme
from truerank.progress import Progress
from truerank.rng import user_keys
from truerank.sampling import _batched, _fused, _tie_modes, blocks, kept
from truerank.sampling._drawing import Drawing, Ranked
from truerank.sampling.frozen import negatives_of
from truerank.sampling.pools import check_pools
from truerank.scoring import exact, ties
from truerank.scoring.ledger import Ledger, asking_within
from truerank.scoring.scorer import Scorer
from truerank.scoring.task import Task


def carry_out(
    scorer: Scorer,
    task: Task,
    design: Design,
    *,
    seed: int = 0,
    ties: str = "spread",
    n_users: int | None = None,
    progress: Progress = None,
) -> Ranked:
    """Rank the target of every row among the items that the design chooses.

    Parameters
    ----------
    scorer : Scorer
        The model.
    task : Task
        The targets; a sample of users, if the design asks for one, has been taken already.
    design : Design
        Any but `Auto`, which `truerank.evaluate` turns into another one.
    seed : int, default 0
        Seed of all random draws.
    ties : str, default "spread"
        What negatives of the target's score do: see `truerank.scoring.ties`. Designs whose stopping
        rule needs to know break ties at random where they cannot be spread.
    n_users : int, optional
        Users of the whole evaluation, if the task is a part of it.
    progress : callable or bool, optional
        None shows a bar on a terminal if it takes long, False nothing; a function is called with
        (rows done, rows in all).

    Returns
    -------
    Ranked
        Negatives above and tied with each target, and what that cost. If a ledger's limit does not
        cover a `Fixed` sample because calls fail, the sample of every user is as large as it does.
    """
    if isinstance(design, Adaptive):
        scorer = asking_within(scorer, pairs_within(design.budget, task))
    try:
        return _carried_out(scorer, task, design, seed, ties, n_users, progress)
    except OutOfBudget as error:
        assert isinstance(scorer, Ledger)
        raise spent(scorer.purse, task.n_users, scorer.kept, error) from error.__cause__


def _carried_out(
    scorer: Scorer,
    task: Task,
    design: Design,
    seed: int,
    ties: str,
    n_users: int | None,
    progress: Progress,
) -> Ranked:
    if isinstance(design, Exact):
        return _exact(scorer, task, progress)
    if isinstance(design, Auto):
        raise InputError(
            "design is Auto, which weighs the error of a metric: truerank.evaluate takes it; here "
            "name Exact, Fixed, Adaptive, LJ24 or Frozen"
        )
    task.check_candidates()
    mode = while_drawing(design, ties, kept=task.kept is not None)
    if isinstance(design, Frozen):
        held = negatives_of(design, task, scorer, seed)
        drawing = drawing_of(design.scheme(task.catalogue), mode, held.task, seed)

        def given(drawing: Drawing) -> Ranked:
            return _given(scorer, held.task, held.start, held.items, drawing, progress)

        found = _beside_kept(scorer, held.task, drawing, given)
        scheme = dataclasses.replace(found.scheme, shared=held.shared)
        return dataclasses.replace(found, scheme=scheme, rows=held.rows, facts=held.facts)
    if isinstance(design, Adaptive):
        scheme = design.scheme(task.catalogue)
        total = negatives_within(design.budget, task)
        drawing = drawing_of(scheme, mode, task, seed, draw=design.draw, total=total)
        return sample(scorer, task, drawing, progress=progress)
    if isinstance(design, Fixed):
        return _fixed(scorer, task, design, mode, seed, n_users or task.n_users, progress)
    raise _checks.unknown("design", type(design).__name__, ("Exact", "Fixed", "Adaptive", "Frozen"))


def _beside_kept(
    scorer: Scorer, task: Task, drawing: Drawing, run: Callable[[Drawing], Ranked]
) -> Ranked:
    """What a drawing finds, with the kept items above each target; these are scored first."""
    if task.kept is None:
        return run(drawing)
    known = kept.above(scorer, task, drawing.ties, drawing.tie_keys)
    found = run(dataclasses.replace(drawing, target_score=known.target_score))
    return dataclasses.replace(found, offset=known.offset, pairs=found.pairs + known.pairs)


def while_drawing(design: Design, policy: str, *, kept: bool = False) -> str:
    """How ties are treated while negatives are drawn, of `_tie_modes`.

    Beside ``kept`` items they are broken: those of the target's score among them, and among the
    negatives, are above it by one and the same order.
    """
    ties.check(policy)
    if kept and policy == "mid" and not isinstance(design, Exact):
        raise InputError(
            "ties is 'mid', which gives a tied target a rank between others; beside training items "
            "that are kept a sample has to break ties: take 'random', 'optimistic' or "
            "'pessimistic', or the design 'exact'"
        )
    if policy == "mid" and isinstance(design, (Adaptive, Auto)):
        other = ", or a design by name" if isinstance(design, Auto) else ""
        raise InputError(
            "ties is 'mid', which gives a tied target a rank between others; adaptive sampling has "
            "to know at each stage whether to go on: take 'random', 'optimistic' or 'pessimistic'"
            + other
        )
    if isinstance(design, Adaptive) or (kept and not isinstance(design, Exact)):
        return "random" if policy == "spread" else policy
    return "random" if policy == "random" else "count"


def carry_out_within(
    scorer: Scorer,
    task: Task,
    design: Design,
    *,
    budget: float | None,
    seed: int = 0,
    ties: str = "spread",
    progress: Progress = None,
) -> tuple[Ranked, Design]:
    """Carry out a design, or what is left of it where calls fail and a ledger has a limit.

    Parameters
    ----------
    scorer : Scorer
        The model.
    task : Task
        The targets.
    design : Design
        As in `carry_out`.
    budget : float or None
        Scored pairs per user that the ledger's limit stands for.
    seed : int, default 0
        Seed of all random draws.
    ties : str, default "spread"
        As in `carry_out`.
    progress : callable or bool, optional
        As in `carry_out`.

    Returns
    -------
    tuple of (Ranked, Design)
        What was found, and the design that was carried out: a `Fixed` one of a smaller size, or an
        `Adaptive` one instead of `Exact`, where the limit covers no more.
    """
    limited = isinstance(scorer, Ledger) and scorer.purse.limit is not None
    if limited and isinstance(design, Exact):
        try:
            return _carried_out(scorer, task, design, seed, ties, None, progress), design
        except OutOfBudget:
            design = instead_of(design, budget)
    ranked = carry_out(scorer, task, design, seed=seed, ties=ties, progress=progress)
    if limited and isinstance(design, Fixed):
        design = of_size(design, int(ranked.sample_size.max()))
    return ranked, design


def instead_of(design: Exact, budget: float | None) -> Adaptive:
    """What goes on with the scores of an exact evaluation that a budget did not cover.

    Parameters
    ----------
    design : Exact
        That could not be carried out.
    budget : float or None
        Scored pairs per user.

    Returns
    -------
    Adaptive
        For the same users.
    """
    return Adaptive(budget=budget, users=design.users, stratified=design.stratified)


def of_size(design: Fixed, sample_size: int) -> Fixed:
    """A fixed design of another size.

    Parameters
    ----------
    design : Fixed
        A design.
    sample_size : int
        The size, which counts the target.

    Returns
    -------
    Fixed
        The design itself if it has that size.
    """
    if sample_size == design.sample_size:
        return design
    return dataclasses.replace(design, num_negatives=None, sample_size=sample_size)


def spent(purse: Purse, n_users: int, kept: str, error: OutOfBudget) -> TruerankError:
    """The error for a budget that calls which fail have used up.

    Parameters
    ----------
    purse : Purse
        What was asked for, and was allowed.
    n_users : int
        Users of the evaluation.
    kept : str
        A sentence on what becomes of the scores.
    error : OutOfBudget
        Its cause is the last failure.

    Returns
    -------
    TruerankError
        To be raised.
    """
    assert purse.limit is not None
    why = error.__cause__
    last = f", the last with {type(why).__name__}: {why}" if why is not None else ""
    return TruerankError(
        f"the budget of {purse.limit / n_users:g} scored pairs per user, {purse.limit:,} in all, "
        f"does not suffice for each target and one negative: {purse.asked:,} pairs were asked for, "
        f"{purse.failed:,} of them in {purse.failed_calls:,} calls that failed{last}. Give a "
        f"larger budget=, or a smaller batch_pairs=, so that a failed call costs less. {kept}"
    )


def pairs_within(budget: float | None, task: Task) -> int | None:
    """Pairs that a budget per user allows for all users of a task together.

    Parameters
    ----------
    budget : float or None
        Scored pairs per user on average; None for no limit.
    task : Task
        The targets.

    Returns
    -------
    int or None
        None without a budget.
    """
    return None if budget is None else math.floor(budget * task.n_users)


def negatives_within(budget: float | None, task: Task) -> int | None:
    """Negatives that a budget of scored pairs per user leaves for all rows together.

    Parameters
    ----------
    budget : float or None
        Scored pairs per user on average; None for no limit.
    task : Task
        Its rows' targets and kept items have to be scored too.

    Returns
    -------
    int or None
        None without a budget.
    """
    pairs = pairs_within(budget, task)
    if budget is None or pairs is None:
        return None
    total = pairs - task.n_rows - task.n_kept
    if total < task.n_users:
        each, more = task.n_rows / task.n_users, task.n_kept / task.n_users
        items = f" and {more:g} training items that are kept" if more else ""
        raise InputError(
            f"budget is {budget:g} scored pairs per user; users have {each:g} targets{items} on "
            f"average, so that at least {each + more + 1:g} are needed: the scores of these and "
            "one negative"
        )
    return total


def sample(scorer: Scorer, task: Task, drawing: Drawing, *, progress: Progress = None) -> Ranked:
    """Draw negatives from each row's pool and count those above its target.

    Parameters
    ----------
    scorer : Scorer
        The model. The same seed draws the same negatives for every model.
    task : Task
        The targets.
    drawing : Drawing
        Sizes, rules and keys.
    progress : callable or bool, optional
        As in `carry_out`.

    Returns
    -------
    Ranked
        What was drawn.
    """
    scheme = drawing.scheme
    if drawing.ties == _tie_modes.COUNT and len(scheme.ladder) > 1:
        raise InputError("ties='count' is for one sample size: a stopping rule needs them broken")
    found = None
    if isinstance(drawing.draw, Uniform):
        found = _fused.matrices(scorer, task.n_rows * scheme.ladder[0])
    with _progress.reporting(progress, task.n_rows, "sampling") as advance:

        def run(drawing: Drawing) -> Ranked:
            if found is None:
                return _batched.sample(scorer, task, drawing, advance)
            if drawing.shared and len(scheme.ladder) == 1 and not found[2]:
                return _fused.sample_shared(found, scorer, task, drawing, advance)
            return _fused.sample(found, scorer, task, drawing, advance)

        ranked = _beside_kept(scorer, task, drawing, run)
    if found is None:
        return ranked
    return dataclasses.replace(ranked, target_score=target_scores(scorer, task))


def target_scores(scorer: Scorer, task: Task) -> FloatArray | None:
    """The scores of targets by vectors or a matrix, which cost nothing, where users have several.

    Parameters
    ----------
    scorer : Scorer
        Vectors or a score matrix.
    task : Task
        The targets.

    Returns
    -------
    ndarray of float, shape (n_rows,), or None
        None if users have one target each: nobody asks for its place.
    """
    return scorer.score(task.user, task.target[:, None])[:, 0] if task.several else None


def sampler(scorer: Scorer, task: Task, drawing: Drawing) -> _batched.Batched | _fused.Fused:
    """What takes the rows of a task from level to level, for those who decide about levels.

    Parameters
    ----------
    scorer : Scorer
        The model.
    task : Task
        The targets.
    drawing : Drawing
        Rules and keys.

    Returns
    -------
    Batched or Fused
        Its ``draw(rows, before, goal)`` gives the hits among the new negatives.
    """
    found = None
    if isinstance(drawing.draw, Uniform):
        found = _fused.matrices(scorer, task.n_rows * drawing.scheme.ladder[0])
    if found is None:
        return _batched.Batched(scorer, task, drawing)
    return _fused.Fused(found, scorer, task, drawing)


def exact_pairs(scorer: Scorer, task: Task) -> int:
    """The pairs that an exact evaluation of a task asks of a scorer, at most.

    Parameters
    ----------
    scorer : Scorer
        Those that score whole rows score items that are left out of the pool, too.
    task : Task
        The targets.

    Returns
    -------
    int
        Pairs in all.
    """
    if scorer.is_matrix or scorer.scores_rows:
        return task.n_users * task.catalogue
    one_each = np.unique(task.group, return_index=True)[1]
    n_targets = np.bincount(task.group)[task.group[one_each]]
    return int((task.whole().n_items[one_each] - 1 + n_targets).sum())


def _exact(scorer: Scorer, task: Task, progress: Progress) -> Ranked:
    if isinstance(scorer, Ledger) and scorer.purse.limit is not None:
        scorer.remember()  # a smaller sample goes on from there, should calls fail
        scorer.purse.needed = exact_pairs(scorer, task)
    task = task.whole()
    above, tied = exact.count(scorer, task, progress=progress)
    scheme = Scheme(replacement=False)
    return Ranked(above, tied, task.n_items, exact_pairs(scorer, task), scheme, False)


def _fixed(
    scorer: Scorer,
    task: Task,
    design: Fixed,
    mode: str,
    seed: int,
    n_users: int,
    progress: Progress,
) -> Ranked:
    assert design.sample_size is not None
    check_pools(task, design.sample_size, replacement=design.replacement)
    one_size = Scheme(design.replacement, (design.sample_size,))
    drawing = drawing_of(one_size, mode, task, seed, draw=design.draw)
    replicate = None
    if design.shared_by is not None:
        block = blocks.assign(task, design.shared_by, n_users, seed)
        replicate = blocks.replicate_groups(block)
        keys = blocks.stream_keys(block, seed)
        drawing = dataclasses.replace(drawing, keys=keys, shared=True)
    found = sample(scorer, task, drawing, progress=progress)
    scheme = dataclasses.replace(design.scheme(task.catalogue), shared=task.several)
    return dataclasses.replace(found, scheme=scheme, replicate=replicate)


def _given(
    scorer: Scorer,
    task: Task,
    start: IntArray,
    items: IntArray,
    drawing: Drawing,
    progress: Progress,
) -> Ranked:
    items = np.ascontiguousarray(items, dtype=np.int64)
    found = _fused.matrices(scorer, int(start[-1]))
    run: Callable[..., Ranked] = _batched.given
    if found is not None:
        run = lambda *arguments: _fused.given(found, *arguments)  # noqa: E731
    with _progress.reporting(progress, task.n_rows, "ranking") as advance:
        ranked = run(scorer, task, start, items, drawing, advance)
    if found is not None:
        ranked = dataclasses.replace(ranked, target_score=target_scores(scorer, task))
    return ranked


def drawing_of(
    scheme: Scheme,
    mode: str,
    task: Task,
    seed: int,
    *,
    draw: Draw = Uniform(),
    total: int | None = None,
) -> Drawing:
    """What to draw for the rows of a task: each user has one stream, which its targets share."""
    keys = user_keys(task.user_id, seed)
    scheme = dataclasses.replace(scheme, shared=task.several)
    return Drawing(scheme, total, _tie_modes.code(mode), keys, _tie_modes.keys(keys), draw)
