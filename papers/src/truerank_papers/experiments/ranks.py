"""Where a model ranks the held-out items, and evaluations sampled from that."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from truerank._types import FloatArray, IntArray
from truerank.inference.intervals.redraw import distinct, occurrences
from truerank.inference.planning.simulate import Design, sampled_ranks
from truerank.metrics import Metric
from truerank.outcomes.counts import RankCounts
from truerank.outcomes.schemes import Scheme
from truerank_papers.experiments.parts import array_digest


@dataclass(frozen=True)
class GlobalRanks:
    """Exact ranks of the held-out items of all users, arrays of shape (n_users,).

    Attributes
    ----------
    above, tied
        Items of the pool that score above the target, and others that score the same.
    n_items
        The pool: candidates, the target included.
    """

    above: IntArray
    tied: IntArray
    n_items: IntArray

    @property
    def n_users(self) -> int:
        """Number of users."""
        return int(self.above.size)

    @property
    def digest(self) -> str:
        """Of the content."""
        return array_digest(self.above, self.tied, self.n_items)

    def exact(self, metrics: Sequence[Metric]) -> FloatArray:
        """The exact metrics, ties shared evenly: the mean over all ways to break them."""
        gain = np.empty(len(metrics))
        rank = np.arange(1, int(self.n_items.max()) + 1)
        for i, metric in enumerate(metrics):
            if metric.depends_on_pool:  # linear in the rank: the mean rank will do
                gain[i] = metric.gain(self.above + 1 + self.tied / 2, self.n_items).mean()
            else:
                total = np.concatenate([[0.0], np.cumsum(metric.gain(rank, rank.size))])
                between = total[self.above + self.tied + 1] - total[self.above]
                gain[i] = (between / (self.tied + 1)).mean()
        return gain

    def pmf(self) -> FloatArray:
        """Share of users at ranks 1, 2, ..., the largest pool; ties shared evenly."""
        change = np.zeros(int(self.n_items.max()) + 1)
        np.add.at(change, self.above, 1.0 / (self.tied + 1))
        np.add.at(change, self.above + self.tied + 1, -1.0 / (self.tied + 1))
        return np.asarray(np.cumsum(change)[:-1] / self.n_users)

    def draw(self, rng: np.random.Generator) -> IntArray:
        """A rank for each user, 1-based, ties broken at random."""
        return self.above + 1 + rng.integers(0, self.tied + 1)

    def evaluate(
        self, design: Design, rng: np.random.Generator
    ) -> tuple[Scheme, IntArray, IntArray]:
        """One evaluation sampled anew, ties broken anew: the scheme, sample sizes and ranks."""
        size = np.full(self.n_users, design.sample_size)
        return sampled_ranks(self.draw(rng), self.n_items, design.scheme, size, rng, design.budget)

    def sampled(
        self, design: Design, rngs: Sequence[np.random.Generator]
    ) -> tuple[RankCounts, FloatArray]:
        """Evaluations sampled anew, one a generator, ties broken anew in each.

        The distinct outcomes of all of them, and how often each occurs in each evaluation,
        (n_evaluations, n_outcomes).
        """
        drawn = []
        for rng in rngs:
            scheme, size, rank = self.evaluate(design, rng)
            drawn.append(np.stack([np.zeros_like(size), self.n_items, size, rank]))
        outcomes, row = distinct((scheme,), np.concatenate(drawn, axis=1))
        table = np.repeat(np.arange(len(drawn)), self.n_users)
        return outcomes, occurrences(table, row, (len(drawn), outcomes.n_outcomes))
