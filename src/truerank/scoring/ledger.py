"""What is asked of a scorer: counted, timed and, for a while, remembered."""

from __future__ import annotations

import time
from collections import abc
from collections.abc import Iterator
from contextlib import contextmanager

import numpy as np
import numpy.typing as npt

from truerank._types import FloatArray, IntArray
from truerank.designs.purse import Purse
from truerank.scoring._rectangles import rectangles
from truerank.scoring.function import Callable
from truerank.scoring.scorer import Scorer, real_numbers

Callback = abc.Callable[[int], None]
_CALL = 2**18  # pairs in one call, where some of those wanted are known already


class Ledger(Scorer):
    """A scorer that keeps count of the pairs it asks another one for.

    What is scored within :meth:`remembering` is never asked for again: a pilot's pairs serve the
    evaluation too.

    Parameters
    ----------
    scorer : Scorer
        The scorer to ask.
    limit : int, optional
        Pairs that it may be asked for in all, failed calls included.

    Attributes
    ----------
    purse : Purse
        What has been asked for, and what may be.
    seconds : float
        Seconds that those took.
    """

    def __init__(self, scorer: Scorer, limit: int | None = None) -> None:
        self.scorer = scorer
        self.user_ids, self.item_ids = scorer.user_ids, scorer.item_ids
        self.purse = Purse(limit)
        if isinstance(scorer, Callable):
            self.purse.retries = scorer.retries
        self.seconds = 0.0
        self._remembers = False
        # Pairs as user * n_items + item, sorted, with their scores, in few parts; rows by user.
        self._known: list[tuple[IntArray, FloatArray]] = []
        self._row: dict[int, FloatArray] = {}
        self._news: list[tuple[IntArray, FloatArray]] | None = None

    @property
    def label(self) -> str:
        return self.scorer.label

    @property
    def scores_rows(self) -> bool:
        return self.scorer.scores_rows

    @property
    def kept(self) -> str:
        """A sentence on what becomes of the pairs scored so far, for messages."""
        return self.scorer._kept if isinstance(self.scorer, Callable) else ""

    @property
    def asked(self) -> int:
        """Pairs asked for so far.

        Of a `Callable`, those that its function was called with: retries count, answers from its
        cache do not.
        """
        return self.purse.asked

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
        answered = np.zeros(missing.size, dtype=np.bool_)
        try:
            for at in rectangles(user, _CALL):
                scores[missing[at]] = self._ask(user[at[:, 0]], item[at])
                answered[at] = True
        finally:  # also if a call fails for good: what was paid for is kept
            if self._remembers:
                self.learn(pair[missing[answered]], scores[missing[answered]])
        return np.asarray(scores[back].reshape(items.shape))

    def is_known(self, users: IntArray, items: IntArray) -> npt.NDArray[np.bool_]:
        """Which pairs nobody has to be asked for: remembered ones, and those in a cache on disk.

        Parameters
        ----------
        users : ndarray of int, shape (n_users,)
            Row numbers of users.
        items : ndarray of int, shape (n_users, n)
            Row numbers of items of each.

        Returns
        -------
        ndarray of bool, shape (n_users, n)
            True for pairs that cost nothing.
        """
        pair, back = np.unique(users[:, None] * self.n_items + items, return_inverse=True)
        _, known = self._recalled(pair)
        if isinstance(self.scorer, Callable):
            rest = np.flatnonzero(~known)
            known[rest] = self.scorer._is_cached(*np.divmod(pair[rest], self.n_items))
        return np.asarray(known[back].reshape(items.shape))

    def know(self, pairs: IntArray, scores: FloatArray) -> None:
        """Use scores that somebody else holds; they are neither copied nor told as `news`.

        Parameters
        ----------
        pairs : ndarray of int, shape (n_pairs,)
            Distinct pairs, as user * n_items + item, sorted; at least one.
        scores : ndarray of float, shape (n_pairs,)
            Their scores.
        """
        self._known.insert(0, (pairs, scores))

    def learn(self, pairs: IntArray, scores: FloatArray) -> None:
        """Remember scores that were paid for already.

        Parameters
        ----------
        pairs : ndarray of int, shape (n_pairs,)
            Distinct pairs, as user * n_items + item, sorted.
        scores : ndarray of float, shape (n_pairs,)
            Their scores.
        """
        if self._news is not None:
            self._news.append((pairs, scores))
        # Joined with parts that are not larger: a pair is moved about log(pairs) times.
        while pairs.size and self._known and self._known[-1][0].size <= pairs.size:
            held, score = self._known.pop()
            pairs = np.concatenate([held, pairs])
            order = np.argsort(pairs, kind="stable")
            pairs, scores = pairs[order], np.concatenate([score, scores])[order]
        if pairs.size:
            self._known.append((pairs, scores))

    def share(self, limit: int, *, whole: int) -> Ledger:
        """A ledger that knows what this one does, remembers, and has a purse of its own.

        Parameters
        ----------
        limit : int
            Pairs that it may ask for.
        whole : int
            The limit of which that is a part.

        Returns
        -------
        Ledger
            Of the same scorer.
        """
        other = Ledger(self.scorer)
        other.purse = Purse(limit, whole=whole)
        other.purse.retries = self.purse.retries
        other._known, other._row, other._news = list(self._known), self._row, []
        other.remember()
        return other

    def news(self) -> tuple[IntArray, FloatArray]:
        """What a shared ledger has learned: pairs, as user * n_items + item, and their scores.

        Returns
        -------
        tuple of arrays, shape (n_pairs,) each
            In no order.
        """
        pairs, scores = zip(*(self._news or [(np.empty(0, np.int64), np.empty(0))]), strict=True)
        return np.concatenate(pairs), np.concatenate(scores)

    def score_all(self, users: IntArray) -> FloatArray:
        missing = np.array([user for user in users.tolist() if user not in self._row], np.int64)
        if missing.size == users.size and not self._remembers:
            return self._ask_rows(users)
        found = dict(zip(missing.tolist(), self._ask_rows(missing), strict=True))
        if self._remembers:
            self._row |= found
        return np.stack([found[u] if u in found else self._row[u] for u in users.tolist()])

    def _ask(self, users: IntArray, items: IntArray) -> FloatArray:
        if isinstance(self.scorer, Callable):
            before = self.scorer.asked_seconds
            try:
                return self.scorer._ask(users, items, self.purse, self._rescue)
            finally:
                self.seconds += self.scorer.asked_seconds - before
        with self._counting(items.size):
            return real_numbers(self.scorer.score(users, items), items.shape, self.label)

    def _ask_rows(self, users: IntArray) -> FloatArray:
        shape = (users.size, self.n_items)
        if not users.size:
            return np.empty(shape)
        if not self.scores_rows:
            return self._ask(users, np.broadcast_to(np.arange(self.n_items), shape))
        with self._counting(users.size * self.n_items):
            return real_numbers(self.scorer.score_all(users), shape, self.label)

    @contextmanager
    def _counting(self, n_pairs: int) -> Iterator[None]:
        """Count pairs and seconds of a scorer that does not do so itself."""
        self.purse.pay(n_pairs)
        begin = time.perf_counter()
        try:
            yield
        finally:
            self.seconds += time.perf_counter() - begin

    def _rescue(self, pairs: IntArray, scores: FloatArray) -> None:
        if self._remembers:
            self.learn(pairs, scores)

    def _recalled(self, pair: IntArray) -> tuple[FloatArray, npt.NDArray[np.bool_]]:
        """Remembered scores of pairs, and which of them are remembered."""
        scores, known = np.empty(pair.size), np.zeros(pair.size, dtype=np.bool_)
        for held, score in self._known:
            at = np.minimum(np.searchsorted(held, pair), held.size - 1)
            here = held[at] == pair
            scores[here] = score[at[here]]
            known |= here
        return scores, known


@contextmanager
def by_pairs(
    scorer: Scorer, n_rows: int, n_pairs: float, advance: Callback
) -> Iterator[tuple[Scorer, Callback]]:
    """Report the progress of a function by the pairs it has answered, in rows.

    Ladders are climbed level by level, and the rows of a level are done all at once at its end: a
    bar by rows would stand still for as long as a level takes.

    Parameters
    ----------
    scorer : Scorer
        Any scorer; of others than functions nothing changes.
    n_rows : int
        Rows in all.
    n_pairs : float
        Pairs that all rows together may take.
    advance : callable
        Told how many more rows are done.

    Yields
    ------
    tuple of (Scorer, callable)
        The scorer to ask and whom to tell how many rows are done, within the block.
    """
    if not is_function(scorer):
        yield scorer, advance
        return
    ledger = scorer if isinstance(scorer, Ledger) else Ledger(scorer)
    told = done = answered = 0

    def reach(rows: int) -> None:
        nonlocal told
        if rows > told:
            advance(rows - told)
            told = rows

    def pairs(more: int) -> None:
        nonlocal answered
        answered += more
        reach(min(n_rows - 1, int(n_rows * answered / max(n_pairs, 1.0))))

    def rows(more: int) -> None:
        nonlocal done
        done += more
        reach(min(done, n_rows - 1))  # a budget may be spent on rows that were done

    before, ledger.purse.tell = ledger.purse.tell, pairs
    try:
        yield ledger, rows
        reach(done)
    finally:
        ledger.purse.tell = before


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


def asking_within(scorer: Scorer, limit: int | None) -> Scorer:
    """A scorer that asks a function for no more pairs than a budget has; others as they are.

    Parameters
    ----------
    scorer : Scorer
        Any scorer. A ledger keeps the limit that it has: somebody has set it for more than this.
    limit : int or None
        Pairs that a function may be asked for, failed calls included; None for no limit.

    Returns
    -------
    Scorer
        A ledger with the limit, for a function.
    """
    if limit is None or isinstance(scorer, Ledger) or not is_function(scorer):
        return scorer
    return Ledger(scorer, limit)


def asking_once(scorer: Scorer) -> Scorer:
    """A scorer that is asked for no pair twice, where pairs may come again.

    Parameters
    ----------
    scorer : Scorer
        Any scorer.

    Returns
    -------
    Scorer
        A ledger that remembers; vectors and score matrices, which are computed, as they are.
    """
    ledger = asking(scorer)
    if ledger is None:
        return scorer
    ledger.remember()
    return ledger
