"""A first look at a scorer: how long it takes, and what ranks it gives.

Scorers that are asked (not multiplied by us) are asked through a `Ledger` that remembers: the pairs
of a pilot are the first negatives of users' own streams, so that the evaluation uses them again.
"""

from __future__ import annotations

import math
import time

import numpy as np

from truerank.designs import Adaptive, Design, Exact, Fixed
from truerank.estimators import MLE, Estimator
from truerank.estimators.support import RankDistribution
from truerank.metrics import Metric
from truerank.outcomes.counts import RankCounts
from truerank.sampling import users
from truerank.sampling.carry_out import carry_out, exact_pairs
from truerank.sampling.counting import counts_of
from truerank.scoring.factors import Factors
from truerank.scoring.ledger import Ledger
from truerank.scoring.scorer import Scorer
from truerank.scoring.task import Task

START = Adaptive().start  # the sample size that adaptive and larger fixed samples begin with
_MATRIX_USERS = 64  # whose exact ranks are timed, and four times as many for samples
ROW_USERS = 8
_TIMED_SIZE = 100


class Pilot:
    """What has been tried on a scorer so far.

    Attributes
    ----------
    n_users
        Users of the whole evaluation, of which the task may be a part.
    """

    def __init__(self, scorer: Scorer, task: Task, *, seed: int, n_users: int | None) -> None:
        self.scorer, self.task, self._seed = scorer, task, seed
        self.ledger = scorer if isinstance(scorer, Ledger) else None
        self.n_users = n_users or task.n_users
        self._computed = 0

    @property
    def cost(self) -> int:
        """Pairs asked or computed so far."""
        return self._computed if self.ledger is None else self.ledger.asked

    @property
    def spent(self) -> float:
        """Pairs per user that the evaluation will not use again."""
        return self._computed / self.n_users

    @property
    def everything(self) -> float:
        """Pairs per user of an exact evaluation."""
        return exact_pairs(self.scorer, self.task) / self.task.n_users

    @property
    def multiplications(self) -> float:
        """Multiplications of an exact evaluation by vectors; one per pair for a score matrix."""
        width = self.scorer.item_factors.shape[1] if isinstance(self.scorer, Factors) else 1
        return self.everything * self.n_users * width

    @property
    def targets(self) -> float:
        """Targets per user."""
        return self.task.n_rows / self.task.n_users

    @property
    def kept(self) -> float:
        """Training items per user that are kept in the ranking, which every sample scores."""
        return self.task.n_kept / self.task.n_users

    @property
    def beside(self) -> float:
        """Pairs per user that a sample takes beside its negatives."""
        return self.targets + self.kept

    def sample_size(self, budget: float) -> int:
        """The sample that a budget of pairs per user buys, which a user's targets share."""
        return max(2, math.floor(budget - self.beside) + 1)

    def counts(self, design: Design, n_users: int) -> RankCounts:
        """Counts of a design for the first users by lot; what is asked is remembered."""
        few = self._first(n_users)
        if self.ledger is not None:
            with self.ledger.remembering():
                return self._carry_out(few, design)
        return self._carry_out(few, design)

    def start(self, budget: float, n_users: int, size: int = START) -> RankCounts:
        """The first negatives of users: any design within the budget begins with them."""
        size = min(size, self.sample_size(budget), int(self.task.n_items.min()))
        return self.counts(Fixed(sample_size=size), n_users)

    def seconds_exact(self) -> float:
        """Seconds of an exact evaluation of all users, by a few of them."""
        n_users = _MATRIX_USERS if self.scorer.is_matrix else ROW_USERS
        return self._seconds(Exact(), n_users) * self.n_users

    def seconds_per_pair(self, *, shared_by: int | None = None) -> float:
        """Seconds of one scored pair of a sample, by those of a few users."""
        size = int(min(_TIMED_SIZE, self.task.n_items.min()))
        design = Fixed(sample_size=size, replacement=True, shared_by=shared_by)
        return self._seconds(design, 4 * _MATRIX_USERS) / (size - 1 + self.beside)

    def seconds_per_asked_pair(self) -> float | None:
        """Seconds per pair asked so far, without answers from a cache; None if there are none."""
        if self.ledger is None or not self.ledger.asked:
            return None
        return self.ledger.seconds / self.ledger.asked

    def _seconds(self, design: Design, n_users: int) -> float:
        """Seconds per user; the second of two runs if it computes, since the first may compile."""
        taken = []
        for _ in range(2 if self.ledger is None else 1):
            begin = time.perf_counter()
            self.counts(design, n_users)
            taken.append(time.perf_counter() - begin)
        return min(taken) / min(n_users, self.task.n_users)

    def _first(self, n_users: int) -> Task:
        if n_users >= self.task.n_users:
            return self.task
        rows = users.choose(self.task.user_id, n_users, seed=self._seed)
        return self.task.take(np.flatnonzero(rows))

    def _carry_out(self, task: Task, design: Design) -> RankCounts:
        ranked = carry_out(
            self.scorer, task, design, seed=self._seed, ties="random", progress=False
        )
        if self.ledger is None:
            self._computed += ranked.pairs
        return counts_of(task, ranked, "random", self._seed)


def distribution(counts: RankCounts, metric: Metric, estimator: Estimator) -> RankDistribution:
    """A first rank distribution from the counts of a pilot."""
    fit = estimator.fit(counts, metrics=[metric], support="auto", plug_in="plain")
    if fit.distribution is None:
        fit = MLE().fit(counts, metrics=[metric], support="auto", plug_in="plain")
    assert fit.distribution is not None
    return fit.distribution
