"""What is asked of a scorer: counted, timed and, for a while, remembered."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager

import numpy as np
import numpy.typing as npt

from truerank._types import FloatArray, IntArray
from truerank.scoring._rectangles import rectangles
from truerank.scoring.function import Callable
from truerank.scoring.scorer import Scorer, real_numbers

_CALL = 2**18  # pairs in one call, where some of those wanted are known already


class Ledger(Scorer):
    """A scorer that keeps count of the pairs it asks another one for.

    What is scored within :meth:`remembering` is never asked for again: a pilot's pairs serve the
    evaluation too.

    Parameters
    ----------
    scorer : Scorer
        The scorer to ask.

    Attributes
    ----------
    asked : int
        Pairs asked for so far. Of a `Callable`, those that its function was called with: retries
        count, answers from its cache do not.
    seconds : float
        Seconds that those took.
    """

    def __init__(self, scorer: Scorer) -> None:
        self.scorer = scorer
        self.user_ids, self.item_ids = scorer.user_ids, scorer.item_ids
        self.asked = 0
        self.seconds = 0.0
        self._remembers = False
        # Pairs as user * n_items + item, sorted, with their scores; and whole rows by user.
        self._pair = np.empty(0, dtype=np.int64)
        self._score = np.empty(0)
        self._row: dict[int, FloatArray] = {}

    @property
    def label(self) -> str:
        return self.scorer.label

    @property
    def scores_rows(self) -> bool:
        return self.scorer.scores_rows

    @contextmanager
    def remembering(self) -> Iterator[None]:
        """Within the block, what is scored is remembered, to be used then and later."""
        self._remembers = True
        try:
            yield
        finally:
            self._remembers = False

    def score(self, users: IntArray, items: IntArray) -> FloatArray:
        if not (self._remembers or self._pair.size):
            return self._ask(users, items)
        pair, back = np.unique(users[:, None] * self.n_items + items, return_inverse=True)
        scores, known = self._recalled(pair)
        missing = np.flatnonzero(~known)
        user, item = np.divmod(pair[missing], self.n_items)
        for at in rectangles(user, _CALL):
            scores[missing[at]] = self._ask(user[at[:, 0]], item[at])
        if self._remembers and missing.size:
            self._remember(pair[missing], scores[missing])
        return np.asarray(scores[back].reshape(items.shape))

    def score_all(self, users: IntArray) -> FloatArray:
        missing = np.array([user for user in users.tolist() if user not in self._row], np.int64)
        if missing.size == users.size and not self._remembers:
            return self._ask_rows(users)
        found = dict(zip(missing.tolist(), self._ask_rows(missing), strict=True))
        if self._remembers:
            self._row |= found
        return np.stack([found[u] if u in found else self._row[u] for u in users.tolist()])

    def _ask(self, users: IntArray, items: IntArray) -> FloatArray:
        with self._counting(items.size):
            return real_numbers(self.scorer.score(users, items), items.shape, self.label)

    def _ask_rows(self, users: IntArray) -> FloatArray:
        shape = (users.size, self.n_items)
        if not users.size:
            return np.empty(shape)
        with self._counting(users.size * self.n_items):
            return real_numbers(self.scorer.score_all(users), shape, self.label)

    @contextmanager
    def _counting(self, n_pairs: int) -> Iterator[None]:
        """Count pairs and seconds; a `Callable` does so itself, since it may know some."""
        inner = self.scorer if isinstance(self.scorer, Callable) else None
        before = (0, 0.0) if inner is None else (inner.asked_pairs, inner.asked_seconds)
        begin = time.perf_counter()
        try:
            yield
        finally:
            if inner is None:
                self.asked += n_pairs
                self.seconds += time.perf_counter() - begin
            else:
                self.asked += inner.asked_pairs - before[0]
                self.seconds += inner.asked_seconds - before[1]

    def _recalled(self, pair: IntArray) -> tuple[FloatArray, npt.NDArray[np.bool_]]:
        """Remembered scores of pairs, and which of them are remembered."""
        scores = np.empty(pair.size)
        if not self._pair.size:
            return scores, np.zeros(pair.size, dtype=np.bool_)
        at = np.minimum(np.searchsorted(self._pair, pair), self._pair.size - 1)
        known = self._pair[at] == pair
        scores[known] = self._score[at[known]]
        return scores, known

    def _remember(self, pair: IntArray, scores: FloatArray) -> None:
        pair = np.concatenate([self._pair, pair])
        order = np.argsort(pair, kind="stable")
        self._pair = pair[order]
        self._score = np.concatenate([self._score, scores])[order]


def asking(scorer: Scorer) -> Ledger | None:
    """A ledger for a scorer; None for vectors and score matrices, which are computed, not asked.

    Parameters
    ----------
    scorer : Scorer
        Any scorer.

    Returns
    -------
    Ledger or None
        The scorer itself if it is a ledger already.
    """
    if isinstance(scorer, Ledger):
        return scorer
    return None if scorer.is_matrix else Ledger(scorer)
