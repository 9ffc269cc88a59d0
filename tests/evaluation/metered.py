"""Scorers that keep the receipts: every pair that they were asked for, answered or not."""

from __future__ import annotations

import threading

import numpy as np

import truerank as tr
from truerank.scoring._ids import Ids

N_USERS, N_ITEMS = 200, 1000


def make_data(n_targets: int = 1):
    """Scores (n_users, n_items) of a middling model, its test, and unequally many train items."""
    rng = np.random.default_rng(7)
    taste, items = rng.standard_normal((N_USERS, 6)), rng.standard_normal((N_ITEMS, 6))
    liked = np.argsort(-(taste @ items.T + 2 * rng.gumbel(size=(N_USERS, N_ITEMS))), axis=1)
    user = np.arange(N_USERS)
    test = np.repeat(user, n_targets), liked[:, :n_targets].ravel()
    n_known = rng.integers(0, 60, N_USERS)
    known = [row[n_targets : n_targets + n] for row, n in zip(liked, n_known, strict=True)]
    return taste @ items.T, test, (np.repeat(user, n_known), np.concatenate(known))


class Meter:
    """A function of user and item ids that writes down each call, then answers or fails.

    ``fails_every`` n calls the n-th fails; ``fails`` is the probability that a call does.
    """

    def __init__(self, scores, *, fails_every: int | None = None, fails: float = 0.0) -> None:
        self.scores, self.fails_every, self.fails = scores, fails_every, fails
        self.rng, self.lock = np.random.default_rng(11), threading.Lock()
        self.n_calls = 0
        self.answered: list[np.ndarray] = []  # codes of pairs
        self.failed: list[np.ndarray] = []

    def __call__(self, users, items):
        pairs = (users[:, None] * self.scores.shape[1] + items).ravel()
        with self.lock:
            self.n_calls += 1
            fails = self.rng.random() < self.fails
            fails |= bool(self.fails_every) and self.n_calls % self.fails_every == 0
            (self.failed if fails else self.answered).append(pairs)
        if fails:
            raise ConnectionError("try again")
        return self.scores[users[:, None], items]

    @property
    def calls(self) -> list[np.ndarray]:
        return self.answered + self.failed

    @property
    def asked(self) -> int:
        """Pairs asked for, retries and all."""
        return sum(pairs.size for pairs in self.calls)

    @property
    def retried(self) -> int:
        """Pairs asked for in calls that failed."""
        return sum(pairs.size for pairs in self.failed)

    @property
    def twice(self) -> int:
        """Pairs asked for again though they had been answered."""
        if not self.answered:
            return 0
        pairs = np.concatenate(self.answered)
        return pairs.size - np.unique(pairs).size

    def scorer(self, **options):
        return tr.scoring.Callable(self, n_items=self.scores.shape[1], backoff=0.0, **options)


class Pairwise(tr.scoring.Scorer):
    """Somebody's own scorer, asked pair by pair."""

    def __init__(self, scores) -> None:
        self.scores = scores
        self.user_ids, self.item_ids = (
            Ids(kind, n) for kind, n in zip(("user", "item"), scores.shape, strict=True)
        )
        self.asked = 0

    def score(self, users, items):
        self.asked += items.size
        return self.scores[users[:, None], items]


class Rowwise(Pairwise):
    """The same, and it can score a user's whole catalogue at once."""

    def score_all(self, users):
        self.asked += users.size * self.scores.shape[1]
        return self.scores[users]
