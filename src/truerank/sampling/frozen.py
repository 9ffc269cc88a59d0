"""Frozen negatives as item rows of a task, and the drawing of them."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import numpy.typing as npt

from truerank import _arguments, _checks
from truerank._types import IntArray
from truerank.designs.fixed import Fixed
from truerank.designs.frozen import Frozen, FrozenNegatives, check_repeated, raise_if, starts
from truerank.designs.probability import Probability
from truerank.errors import InputError
from truerank.rng import draws, unit, user_keys
from truerank.sampling import streams
from truerank.sampling.pools import check_pools
from truerank.scoring.scorer import Scorer
from truerank.scoring.task import Task, prepare

_DRAWS = 2**20  # at a time


# Uniform negatives per target, on average, below which a thinned sample is refused.
LEAST_EFFECTIVE = 1.0
_THINNING = np.uint64(0xA0761D6478BD642F)  # apart from what negatives and ties are drawn by


@dataclass(frozen=True)
class Held:
    """The negatives that a task meets: those of row i of ``task`` are items[start[i]:start[i + 1]].

    ``rows`` are the rows of the task that was asked for, where not all have negatives; ``facts`` go
    to the protocol card. ``shared``: the targets of each user meet the same negatives.
    """

    task: Task
    start: IntArray
    items: IntArray
    rows: IntArray | None
    facts: dict[str, Any]
    shared: bool


def negatives_of(design: Frozen, task: Task, scorer: Scorer, seed: int) -> Held:
    """The negatives of each row of a task, as item rows, thinned if the design says so.

    Every row must have some; they may not be items that the task leaves out.
    """
    frozen = design.negatives
    start, items, mine = _matched(frozen, task, scorer)
    facts: dict[str, Any] = {}
    row_of = np.repeat(np.arange(task.n_rows), np.diff(start))
    if design.drop_targets:
        own = _are_targets(task, row_of, items)
        facts["dropped_targets"] = int(own.sum())
        start, items = _kept(start, items, ~own)
        row_of = row_of[~own]
        _check_some(task, start, "whose negatives are all targets of their user")
    raise_if(
        streams.is_left_out(task, np.arange(task.n_rows), row_of, items),
        frozen,
        mine[row_of],
        "are targets or training items of their user",
        "freeze with the same train=, leave train out here to rank among them, or drop targets: "
        "drop_targets=True",
    )
    check_repeated(frozen, mine, start, items)
    held = Held(task, start, items, None, facts, _are_shared(task, start, items))
    if design.probability is None:
        return held
    return _thinned(design.probability, held, scorer, seed)


def _matched(
    frozen: FrozenNegatives, task: Task, scorer: Scorer
) -> tuple[IntArray, IntArray, IntArray]:
    """(start, items, row of the file) of each row of a task."""
    where = "the frozen negatives"
    user = scorer.user_ids.rows(frozen.user_id, where)
    known, asked = user, task.user
    if not frozen.by_user:
        target = scorer.item_ids.rows(frozen.item_id, where)
        known = user * task.catalogue + target
        asked = task.user * task.catalogue + task.target
    order = np.argsort(known, kind="stable")
    at = np.searchsorted(known[order], asked)
    missing = np.append(known[order], -1)[at] != asked  # -1: beyond the last
    if missing.any():
        row = int(np.argmax(missing))
        raise InputError(
            f"{int(missing.sum())} of {task.n_rows} test rows have no frozen negatives (the "
            f"first: user {task.user_id[row]}, item "
            f"{scorer.item_ids.values(task.target[row : row + 1])[0]})"
        )
    mine = order[at]
    length = np.diff(frozen.start)[mine]
    start = starts(length)
    place = np.arange(start[-1]) - np.repeat(start[:-1] - frozen.start[mine], length)
    return start, scorer.item_ids.rows(frozen.negative[place], where), mine


def _thinned(probability: Probability, held: Held, scorer: Scorer, seed: int) -> Held:
    """A uniform sample out of one drawn with replacement by ``probability``.

    A draw of item i is kept with chance q_min / q_i. Each draw is then kept as item i with the
    same chance for all i, independently of the others: what is left is uniform, with replacement,
    and its size says nothing about ranks.
    """
    task, start, items = held.task, held.start, held.items
    weight = probability.of_items(scorer.item_ids.values(np.arange(task.catalogue)))
    least = float(weight.min())
    if least <= 0.0:
        raise InputError(
            f"{int((weight <= 0).sum())} of {task.catalogue} items have probability 0: they are "
            "never among the negatives, so that nothing tells whether they rank above the target. "
            "Leave them out of the catalogue, or draw negatives again, uniformly"
        )
    length = np.diff(start)
    number = np.arange(items.size) - np.repeat(start[:-1], length)
    own = user_keys(task.user_id, seed) if held.shared else task.keys(seed)
    keys = np.repeat(own ^ _THINNING, length)
    expected = float(length.mean() * weight.size * least / weight.sum())
    if expected < LEAST_EFFECTIVE:
        raise InputError(
            f"of {length.mean():.0f} negatives per target {expected:.2f} are left as a uniform "
            f"sample; at least {LEAST_EFFECTIVE:g} is needed. The probabilities range from 1 to "
            f"{weight.max() / least:,.0f}: draw negatives again, uniformly, or many more of them"
        )
    start, items = _kept(start, items, unit(draws(keys, number)) < least / weight[items])
    facts = {**held.facts, "effective_negatives": float(items.size / task.n_rows)}
    some = np.diff(start) > 0
    if some.all():
        return replace(held, start=start, items=items, facts=facts)
    if task.several:
        raise InputError(
            f"{int((~some).sum())} targets are left without negatives, of users with several "
            "targets, who cannot be left out in part; draw more negatives"
        )
    rows = np.flatnonzero(some)
    facts["users_without_negatives"] = int((~some).sum())
    return Held(task.take(rows), starts(np.diff(start)[rows]), items, rows, facts, False)


def _are_shared(task: Task, start: IntArray, items: IntArray) -> bool:
    """Whether the targets of each user meet the same negatives."""
    if not task.several:
        return False
    first = np.unique(task.group, return_index=True)[1][task.group]
    length = np.diff(start)
    if (length != length[first]).any():
        return False
    place = np.arange(items.size) + np.repeat(start[first] - start[:-1], length)
    return bool((items == items[place]).all())


def _are_targets(task: Task, row_of: IntArray, items: IntArray) -> npt.NDArray[np.bool_]:
    """Which negatives are targets of their user."""
    targets = np.sort(task.group * task.catalogue + task.target)
    asked = task.group[row_of] * task.catalogue + items
    at = np.minimum(np.searchsorted(targets, asked), targets.size - 1)
    return np.asarray(targets[at] == asked)


def _kept(
    start: IntArray, items: IntArray, keep: npt.NDArray[np.bool_]
) -> tuple[IntArray, IntArray]:
    """The rows with some of their items only."""
    row_of = np.repeat(np.arange(start.size - 1), np.diff(start))
    return starts(np.bincount(row_of[keep], minlength=start.size - 1)), items[keep]


def _check_some(task: Task, start: IntArray, what: str) -> None:
    empty = np.diff(start) == 0
    if empty.any():
        raise InputError(
            f"{int(empty.sum())} test rows are left {what} (the first: user "
            f"{task.user_id[np.argmax(empty)]}); leave these users out of the test"
        )


def freeze(
    scorer: Scorer,
    test: Any,
    design: Fixed,
    *,
    train: Any = None,
    seed: int = 0,
    keep_target: bool = False,
) -> FrozenNegatives:
    """Draw the negatives of a fixed design, to keep them in a file.

    Parameters
    ----------
    scorer : Scorer
        Only its users and items are used: nothing is scored.
    test : table, pair of arrays or sparse matrix
        The targets, as in `truerank.count`.
    design : Fixed
        How many negatives per target, with or without replacement.
    train : table, pair of arrays or sparse matrix, optional
        Items to leave out of users' pools.
    seed : int, default 0
        Seed of the draws: `truerank.count` with the same seed draws the same.
    keep_target : bool, default False
        Rank targets that are among their user's training items all the same, instead of raising.

    Returns
    -------
    FrozenNegatives
        The negatives of each test row, for `truerank.designs.Frozen`.

    Examples
    --------
    >>> import numpy as np, truerank as tr
    >>> scorer = tr.scoring.Dense(np.random.default_rng(0).random((3, 50)))
    >>> tr.sampling.freeze(scorer, ([0, 1, 2], [4, 5, 6]), tr.designs.Fixed(num_negatives=9))
    FrozenNegatives(3 test rows; 9 negatives each, without replacement; a57f06d79e1a)
    """
    _arguments.check(freeze, locals())
    if not isinstance(design, Fixed) or design.shared_by is not None or design.users is not None:
        raise InputError(
            f"design is {design!r}; negatives are frozen by a Fixed design without shared_by and "
            "users, such as Fixed(num_negatives=99)"
        )
    assert design.sample_size is not None
    size = design.sample_size
    task = prepare(scorer, test, train=train, keep_target=keep_target)
    check_pools(task, size, replacement=design.replacement)
    keys = user_keys(task.user_id, seed)
    end = np.full(task.n_rows, size - 1)
    stream = streams.stream_of(design.draw)
    items = np.concatenate(
        [
            stream(
                task,
                np.arange(task.n_rows)[rows],
                keys[rows],
                0,
                end[rows],
                replacement=design.replacement,
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
        design.replacement,
        seed,
        protocol,
    )
