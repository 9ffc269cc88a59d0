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
        # Pairs as user * n_items + item, sorted, with their scores, in few parts; rows by user.
        self._known: list[tuple[IntArray, FloatArray]] = []
        self._row: dict[int, FloatArray] = {}

    @property
    def label(self) -> str:
        return self.scorer.label

    @property
    def scores_rows(self) -> bool:
        return self.scorer.scores_rows

    @property
    def known(self) -> int:
        """Number of pairs that are remembered."""
        return sum(pair.size for pair, _ in self._known)

    @contextmanager
    def remembering(self) -> Iterator[None]:
        """Within the block, what is scored is remembered, to be used then and later."""
        before, self._remembers = self._remembers, True
        try:
            yield
        finally:
            self._remembers = before

    def remember(self) -> None:
        """From now on, what is scored is remembered."""
        self._remembers = True

    def score(self, users: IntArray, items: IntArray) -> FloatArray:
        if not (self._remembers or self._known):
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
        scores, known = np.empty(pair.size), np.zeros(pair.size, dtype=np.bool_)
        for held, score in self._known:
            at = np.minimum(np.searchsorted(held, pair), held.size - 1)
            here = held[at] == pair
            scores[here] = score[at[here]]
            known |= here
        return scores, known

    def _remember(self, pair: IntArray, scores: FloatArray) -> None:
        # Joined with parts that are not larger: a pair is moved about log(pairs) times.
        while self._known and self._known[-1][0].size <= pair.size:
            held, score = self._known.pop()
            pair = np.concatenate([held, pair])
            order = np.argsort(pair, kind="stable")
            pair, scores = pair[order], np.concatenate([score, scores])[order]
        self._known.append((pair, scores))


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


def is_function(scorer: Scorer) -> bool:
    """Whether a scorer asks somebody's function, whose pairs may cost money.

    Parameters
    ----------
    scorer : Scorer
        Any scorer.

    Returns
    -------
    bool
        True for a `Callable` and a ledger of one.
    """
    return isinstance(scorer.scorer if isinstance(scorer, Ledger) else scorer, Callable)


def asking_once(scorer: Scorer) -> Scorer:
    """A scorer that asks a function for no pair twice, where pairs may come again.

    Parameters
    ----------
    scorer : Scorer
        Any scorer.

    Returns
    -------
    Scorer
        A ledger that remembers, for a function; other scorers as they are.
    """
    if not is_function(scorer):
        return scorer
    ledger = scorer if isinstance(scorer, Ledger) else Ledger(scorer)
    ledger.remember()
    return ledger
