"""A budget shared by users on many machines: one pass over all rows for each level of the ladder.

Workers draw and score; the driver knows of each target only its pool, its hits and its sample size
(about 50 bytes), and decides by the same climb as on one machine who goes on. Scores of targets
travel along, so that they are asked for once.

Of a function, whose pairs may cost money, the driver also holds the pairs that a pass has scored,
16 bytes each, until no other pass can need them: if a call fails, levels are shrunk, and nothing is
paid for twice. From the first call that fails on it holds all of them, and so it does where pairs
come again in later levels: with replacement, or for another target of the same user.
"""

from __future__ import annotations

import copy
import dataclasses
import math
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from truerank._types import FloatArray, IntArray
from truerank.designs import Adaptive, Design, Exact, Fixed
from truerank.designs.climb import Money, climb, shared_pairs
from truerank.designs.purse import Purse
from truerank.engines._parts import Allowance, DrawnRows, Level, Survey, ToAsk, Whole
from truerank.engines.batches import Counted
from truerank.engines.kernels import Kernel
from truerank.errors import InputError, OutOfBudget, TruerankError
from truerank.outcomes.schemes import Scheme
from truerank.sampling._drawing import Ranked
from truerank.sampling.carry_out import instead_of, of_size, spent, while_drawing
from truerank.sampling.counting import ordering, table_of
from truerank.scoring import ties
from truerank.scoring.ledger import Ledger, asking, is_function

# Applies a function of a batch of rows to all batches; gives the tables it returned, in any order.
Run = Callable[[Callable[[Any], Any]], Iterable[Any]]


@dataclass(frozen=True)
class Climbed:
    """Where all targets ended, arrays of shape (n_rows,) in the order of their keys.

    Attributes
    ----------
    known
        What the `Survey` tells of each target, by column, in the order of their keys.
    score
        The targets' own scores; NaN where they are not known.
    tied
        Negatives of the target's score; 0 where ties were broken while drawing.
    policy
        What those that were not broken do.
    pairs
        Pairs asked of the scorer, in all.
    design
        That was carried out.
    """

    known: Mapping[str, IntArray]
    score: FloatArray
    above: IntArray
    tied: IntArray
    policy: str
    sample_size: IntArray
    scheme: Scheme
    pairs: int
    design: Design

    def counted(self) -> Counted:
        """The counts of all targets, with what they took.

        Returns
        -------
        Counted
            Counts as `truerank.count` gives them on one machine.
        """
        counts = ties.counts(
            self.above,
            self.tied,
            self.policy,
            scheme=self.scheme,
            n_items=self.known["n_items"],
            sample_size=self.sample_size,
            n_users=_n_users(self.known["n_targets"]),
            keys=self.key.view(np.uint64) if self.policy == "random" else None,
            targets=self._targets(),
            offset=self.known["offset"],
        )
        return Counted(counts, self.pairs, int(self.key.size))

    @property
    def key(self) -> IntArray:
        """The random key of each target, sorted; it tells targets apart."""
        return self.known["key"]

    @property
    def target_score(self) -> FloatArray | None:
        """Scores, where targets have negatives of their own."""
        return None if np.isnan(self.score).any() else self.score

    def _targets(self) -> ties.Targets | None:
        if (self.known["n_targets"] == 1).all():
            return None
        user = self.known["user"]
        return ties.Targets.of(
            np.unique(user, return_inverse=True)[1],
            self.known["n_targets"],
            self.known["block"],
            ordering(self.above, self.tied, self.target_score),
            self.known["word"].view(np.uint64),
            user.view(np.uint64),
        )


def within_budget(kernel: Kernel, run: Run) -> Climbed:
    """Carry out an adaptive design with a budget, level by level.

    Parameters
    ----------
    kernel : Kernel
        Its design has a budget.
    run : callable
        ``run(function)`` applies a function of a batch of rows to all batches, anywhere, and gives
        the pyarrow Tables it returned. It is called once for each level, and once before; more
        often if calls of a function fail.

    Returns
    -------
    Climbed
        Where all targets ended.
    """
    design = kernel.design
    if not isinstance(design, Adaptive) or design.budget is None:
        raise InputError(f"design is {design!r}; a budget is that of an Adaptive design")
    return carried_out_within(kernel, run, design.budget, None)


def carried_out_within(kernel: Kernel, run: Run, budget: float, purse: Purse | None) -> Climbed:
    """Carry out a design pass by pass, within a budget that failed calls are paid from, too.

    Parameters
    ----------
    kernel : Kernel
        Its design is adaptive with a budget, or one that `Auto` chose for a function.
    run : callable
        As in `within_budget`.
    budget : float
        Scored pairs per user.
    purse : Purse or None
        What a function has been asked for already; None if it has not been.

    Returns
    -------
    Climbed
        Where all targets ended, and the design that was carried out: a smaller one if calls failed.
    """
    passes = _Passes(kernel, run, budget, purse)
    try:
        return passes.climbed()
    except OutOfBudget as error:
        assert passes.purse is not None
        kept = asking(kernel.items.scorer(passes.key, None))
        assert kept is not None
        raise spent(passes.purse, passes.n_users, kept.kept, error) from None


def _n_users(n_targets: IntArray) -> int:
    """The number of users, from that of the targets of each row's user."""
    return round(float((1.0 / n_targets).sum()))


def check_kept(kernel: Kernel) -> None:
    """Raise where kept training items would be asked for outside a budget that pays for retries.

    Parameters
    ----------
    kernel : Kernel
        Its design is to be carried out level by level.
    """
    items = kernel.items
    if (
        kernel.keep_train
        and not items.needs_vectors
        and is_function(items.scorer(np.empty(0), None))
    ):
        raise InputError(
            "keep_train is True, and a function is asked within a budget on many machines; give a "
            "design without a budget, such as Fixed(num_negatives=99), or evaluate on one machine"
        )


class _Passes:
    """All passes over the rows for one evaluation."""

    def __init__(self, kernel: Kernel, run: Run, budget: float, purse: Purse | None) -> None:
        import pyarrow as pa

        self.kernel, self.run, self.budget = kernel, run, budget
        check_kept(kernel)
        known = pa.concat_tables(run(Survey(kernel)))
        if not len(known):
            raise InputError("there are no rows; there is nothing to count")
        order = np.argsort(known["key"].to_numpy(), kind="stable")
        self.known = {name: known[name].to_numpy()[order] for name in Survey.COLUMNS}
        self.key, self.n_items = self.known["key"], self.known["n_items"]
        self.exact, self.kept = (int(known[name].to_numpy().sum()) for name in Survey.SUMS)
        self.n_users = _n_users(self.known["n_targets"])
        self.score = np.full(self.key.size, np.nan)
        self.tied = np.zeros(self.key.size, dtype=np.int64)
        self.pairs = 0
        self.purse = purse
        if not kernel.items.needs_vectors:
            scorer = kernel.items.scorer(self.key, None)
            if purse is None and is_function(scorer):
                ledger = scorer if isinstance(scorer, Ledger) else Ledger(scorer)
                self.purse = Purse(math.floor(budget * self.n_users))
                self.purse.retries = ledger.purse.retries
        replacement = getattr(kernel.design, "replacement", False)
        self._come_again = replacement or self.n_users < self.key.size
        self._known: list[tuple[IntArray, FloatArray]] = []

    def climbed(self) -> Climbed:
        """Carry out the kernel's design, or what the purse has left for."""
        design = self.kernel.design
        money = None if self.purse is None else Money(self.purse, self.to_ask)
        if isinstance(design, Exact):
            try:
                return self._whole(design)
            except OutOfBudget:
                design = instead_of(design, self.budget)
                self.kernel = copy.copy(self.kernel)
                self.kernel.design = design
        total = None
        if isinstance(design, Adaptive):
            total = self._negatives()
            self.scheme = design.scheme(self.kernel.items.n_items)
        else:
            assert isinstance(design, Fixed)
            assert design.sample_size is not None
            self.scheme = Scheme(design.replacement, (design.sample_size,))
        several = bool((self.known["n_targets"] > 1).any())
        user = np.unique(self.known["user"], return_inverse=True)[1] if several else None
        scheme, above, size = climb(
            self.scheme, self.n_items, self.draw, user=user, total=total, money=money
        )
        if isinstance(design, Fixed):
            scheme, design = Scheme(design.replacement), of_size(design, int(size.max()))
        scheme = dataclasses.replace(scheme, shared=several)
        return self._where(design, scheme, above, size)

    def draw(self, rows: IntArray, before: IntArray, goal: IntArray) -> IntArray:
        """Take rows from samples of ``before``, equal for all, to ``goal``; the new hits."""
        return self._pass(self._level(rows, before, goal), rows)

    def to_ask(self, rows: IntArray, before: IntArray, goal: IntArray) -> IntArray:
        """Pairs that `draw` has to ask for, at most: of targets, of first new negatives, ..."""
        wanted = np.zeros(int((goal - before).max()) + 1, dtype=np.int64)
        for part in self.run(ToAsk(self._level(rows, before, goal))):
            np.add.at(wanted, part["number"].to_numpy(), part["pairs"].to_numpy())
        return wanted

    def _negatives(self) -> int:
        """Negatives that the budget leaves for all targets together."""
        total = math.floor(self.budget * self.n_users) - int(self.key.size) - self.kept
        if total < self.key.size:
            mean, more = self.key.size / self.n_users, self.kept / self.n_users
            items = f" and {more:g} training items that are kept" if more else ""
            raise InputError(
                f"budget is {self.budget:g} scored pairs per user; users have {mean:g} targets"
                f"{items} on average, so that at least {2 * mean + more:g} are needed"
            )
        return total

    def _level(self, rows: IntArray, before: IntArray, goal: IntArray) -> Level:
        key, score, allowance = self.key[rows], self.score[rows], self._allowance()
        return Level(self.kernel, key, allowance, self.scheme, int(before[0]), goal, score)

    def _whole(self, design: Exact) -> Climbed:
        assert self.purse is not None
        self.purse.needed = self.exact
        rows = np.arange(self.key.size)
        above = self._pass(Whole(self.kernel, self.key, self._allowance()), rows)
        return self._where(design, Scheme(replacement=False), above, self.n_items)

    def _where(self, design: Design, scheme: Scheme, above: IntArray, size: IntArray) -> Climbed:
        kept = self.kernel.keep_train
        broken = while_drawing(design, self.kernel.ties, kept=kept) != "count"
        policy = "optimistic" if broken and not isinstance(design, Exact) else self.kernel.ties
        pairs = self.pairs
        if self.purse is None and not isinstance(design, Exact):
            user = np.unique(self.known["user"], return_inverse=True)[1]
            pairs = shared_pairs(user, size) + self.kept
        return Climbed(
            self.known, self.score, above, self.tied, policy, size, scheme, pairs, design,
        )  # fmt: skip

    def _allowance(self) -> Allowance | None:
        """What the batches of a pass may ask for: no more than is left, all together."""
        if self.purse is None:
            return None
        assert self.purse.limit is not None
        pairs, scores = np.empty(0, dtype=np.int64), np.empty(0)
        if self._known:
            pairs, scores = (np.concatenate(part) for part in zip(*self._known, strict=True))
            order = np.argsort(pairs, kind="stable")
            pairs, scores = pairs[order], scores[order]
            self._known = [(pairs, scores)]
        needed, left = self.purse.needed, int(self.purse.left)
        return Allowance(needed, max(0, left - needed), self.purse.limit, pairs, scores)

    def _pass(self, function: DrawnRows, rows: IntArray) -> IntArray:
        """The hits of rows by a pass; OutOfBudget if a batch had to break off."""
        import pyarrow as pa

        found = pa.concat_tables(self.run(function))
        if len(found) != rows.size:
            raise InputError(
                f"{len(found)} targets came back of {rows.size}: the rows changed while they were "
                "evaluated; save them first"
            )
        at = np.searchsorted(self.key, found["key"].to_numpy())
        self._account(found)
        if not found["done"].to_numpy().all():
            raise OutOfBudget("a batch has used up its allowance")
        if not (self._come_again or (self.purse is not None and self.purse.failed)):
            self._known = []
        self.score[at] = found["score"].to_numpy()
        self.tied[at] = found["tied"].to_numpy()
        hits = np.zeros(self.key.size, dtype=np.int64)
        hits[at] = found["hits"].to_numpy()
        return hits[rows]

    def _account(self, found: Any) -> None:
        """Note what was asked for and answered; raise errors of the scorer."""
        totals = (int(found[name].to_numpy().sum()) for name in ("pairs", "failed", "calls"))
        pairs, failed, calls = totals
        self.pairs += pairs
        if self.purse is None:
            return
        self.purse.asked += pairs
        self.purse.failed += failed
        self.purse.failed_calls += calls
        news = (found[name].combine_chunks().flatten().to_numpy() for name in ("code", "value"))
        self._known.append((next(news), next(news)))
        for error in found["error"].drop_null().to_pylist():
            kind, _, text = error.partition(": ")
            raise (InputError if kind == "input" else TruerankError)(text)


@dataclass(frozen=True)
class ClimbedTable:
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
        score = self.climbed.target_score
        ranked = Ranked(
            above, np.zeros_like(above), size, 0, self.climbed.scheme, True,
            target_score=None if score is None else score[at],
            offset=None if task.kept is None else self.climbed.known["offset"][at],
        )  # fmt: skip
        return table_of(scorer, task, ranked, "optimistic", self.kernel.seed)
