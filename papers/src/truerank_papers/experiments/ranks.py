"""Where a model ranks the held-out items, and evaluations sampled from that."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from truerank._types import FloatArray, IntArray
from truerank.designs import Design
from truerank.inference.intervals.redraw import distinct, occurrences
from truerank.inference.planning.simulate import simulated_ranks
from truerank.metrics import Metric
from truerank.outcomes.counts import RankCounts
from truerank.outcomes.schemes import Scheme
from truerank_papers.experiments.parts import array_digest


@dataclass(frozen=True)
class GlobalRanks:
    """Exact ranks of the held-out items, as arrays of shape (n_users,).

    Parameters
    ----------
    above
        Number of items of the user's pool that score above the target.
    tied
        Number of other items that score the same as the target.
    n_items
        Size of the pool, the target included.
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
        """16 hexadecimal digits of the content."""
        return array_digest(self.above, self.tied, self.n_items)

    def exact(self, metrics: Sequence[Metric]) -> FloatArray:
        """Compute exact metrics, as means over all ways to break ties.

        Parameters
        ----------
        metrics
            The metrics, parsed.

        Returns
        -------
        ndarray
            Shape (n_metrics,).
        """
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
        """Compute the share of users at each rank, ties shared evenly.

        Returns
        -------
        ndarray
            At ranks 1, 2, ..., size of the largest pool.
        """
        change = np.zeros(int(self.n_items.max()) + 1)
        np.add.at(change, self.above, 1.0 / (self.tied + 1))
        np.add.at(change, self.above + self.tied + 1, -1.0 / (self.tied + 1))
        return np.asarray(np.cumsum(change)[:-1] / self.n_users)

    def draw(self, rng: np.random.Generator) -> IntArray:
        """Draw a rank for each user, ties broken at random.

        Parameters
        ----------
        rng
            Generator of the draws.

        Returns
        -------
        ndarray
            1-based, shape (n_users,).
        """
        return self.above + 1 + rng.integers(0, self.tied + 1)

    def evaluate(
        self, design: Design, rng: np.random.Generator
    ) -> tuple[Scheme, IntArray, IntArray]:
        """Sample one evaluation, ties broken at random.

        Parameters
        ----------
        design
            How negatives are sampled.
        rng
            Generator of the draws.

        Returns
        -------
        scheme : Scheme
            The law of the outcomes, as the design's budget left it.
        sample_size, sampled_rank : ndarray
            Shape (n_users,); ranks are 1-based.
        """
        return simulated_ranks(self.draw(rng), self.n_items, design, rng)

    def sampled(
        self, design: Design, rngs: Sequence[np.random.Generator]
    ) -> tuple[RankCounts, FloatArray]:
        """Sample several evaluations, ties broken at random in each.

        Parameters
        ----------
        design
            How negatives are sampled.
        rngs
            A generator for each evaluation.

        Returns
        -------
        outcomes : RankCounts
            The distinct outcomes of all evaluations.
        weight : ndarray
            How often each occurs in each evaluation, shape (n_evaluations, n_outcomes).
        """
        drawn = []
        for rng in rngs:
            scheme, size, rank = self.evaluate(design, rng)
            drawn.append(np.stack([np.zeros_like(size), self.n_items, size, rank]))
        outcomes, row = distinct((scheme,), np.concatenate(drawn, axis=1))
        table = np.repeat(np.arange(len(drawn)), self.n_users)
        return outcomes, occurrences(table, row, (len(drawn), outcomes.n_outcomes))
