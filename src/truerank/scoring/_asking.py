"""Pairs asked of a function: kept as they are answered, and asked for by one process only."""

from __future__ import annotations

import contextlib
import queue
import threading
from collections.abc import Iterable
from typing import Any

import numpy as np
import numpy.typing as npt

from truerank._types import IntArray
from truerank.designs.purse import Purse
from truerank.scoring._rectangles import rectangles


class Asking:
    """Calls of a function for pairs without a score, each while no other process asks for them."""

    def __init__(
        self,
        scorer: Any,
        users: IntArray,
        items: IntArray,
        scores: npt.NDArray[np.float64],
        purse: Purse,
    ) -> None:
        self._scorer, self._users, self._items = scorer, users, items
        self._scores, self._purse = scores, purse
        self._arrived: queue.SimpleQueue[IntArray] = queue.SimpleQueue()  # pairs, of all threads
        self._claims: set[contextlib.ExitStack] = set()
        self._lock = threading.Lock()
        self.waited = 0.0  # seconds, for others

    def answer(self, at: IntArray) -> contextlib.ExitStack:
        """Ask for the pairs ``at``, shape (B, n), or find what others paid for; gives the claim.

        Scores are written where they belong as they arrive, so that an error loses none of them.
        """
        scorer, claim = self._scorer, contextlib.ExitStack()
        parts = [at]
        if scorer._cache is not None:
            rows = self._users[at[:, 0]]
            with self._lock:
                self._claims.add(claim)
            waited = claim.enter_context(scorer._cache.claimed(scorer.user_ids.values(rows)))
            with self._lock:
                self.waited += waited
            known = scorer._known(
                rows, np.repeat(np.arange(rows.size), at.shape[1]), self._items[at].ravel()
            )
            self._scores[at.ravel()] = known
            rest = at.ravel()[np.isnan(known)]
            parts = [rest[part] for part in rectangles(self._users[rest], at.size)]
        for part in parts:
            scorer._fill(
                self._scores, part, self._users, self._items, self._purse, self._arrived.put
            )
        return claim

    def keep(self, claims: Iterable[contextlib.ExitStack] = ()) -> None:
        """Put on disk what has arrived since, tell how much it is, and let others go on."""
        arrived = []
        while not self._arrived.empty():
            arrived.append(self._arrived.get())
        if arrived:
            at = np.concatenate([part.ravel() for part in arrived])
            scorer = self._scorer
            if scorer._cache is not None:
                users = scorer.user_ids.values(self._users[at])
                items = scorer.item_ids.values(self._items[at])
                scorer._cache.add([(users, items[:, None], self._scores[at][:, None])])
            self._purse.tell(at.size)
        for claim in claims:
            self._drop(claim)

    def release(self) -> None:
        """Let others go on, whatever happened here."""
        for claim in list(self._claims):
            self._drop(claim)

    def _drop(self, claim: contextlib.ExitStack) -> None:
        claim.close()
        with self._lock:
            self._claims.discard(claim)
