"""The pairs that a scorer was asked for, and how many it may be: failed calls are paid for, too."""

from __future__ import annotations

import math
import threading
from collections.abc import Callable
from typing import Any

import numpy as np

from truerank.errors import OutOfBudget

_FEWEST_CALLS = 16  # into which a limit is cut: one that fails costs no more than that


class Purse:
    """Counts the pairs of every attempt at a call before it is made, and refuses what is too much.

    Safe to use from several threads.

    Parameters
    ----------
    limit : int, optional
        Pairs that may be asked for in all; None for as many as it takes.
    whole : int, optional
        The limit of which this one is a part.

    Attributes
    ----------
    asked : int
        Pairs asked for so far, those of failed calls included.
    failed : int
        Pairs of calls that failed.
    failed_calls : int
        Number of those calls.
    needed : int
        Pairs that what is under way still needs, at most. A call that failed is not made again if
        what is left does not cover them: whoever asks may then be content with less.
    retries : int
        How often in a row whoever asks may begin again without any answer in between.
    tell : callable
        Called, from the thread that asks, with the number of pairs that were just answered.
    """

    def __init__(self, limit: int | None = None, *, whole: int | None = None) -> None:
        self.limit, self._whole = limit, whole
        self.asked = self.failed = self.failed_calls = self.needed = 0
        self.retries = 3
        self.tell: Callable[[int], object] = _nobody
        self._lock = threading.Lock()

    @property
    def left(self) -> float:
        """Pairs that may still be asked for; infinity without a limit."""
        return math.inf if self.limit is None else self.limit - self.asked

    def call_size(self, n_pairs: int) -> int:
        """The largest call to make: a small part of the limit, so that others can follow.

        Parameters
        ----------
        n_pairs : int
            The largest call that the scorer takes.

        Returns
        -------
        int
            Pairs, at most.
        """
        limit = self.limit if self._whole is None else self._whole
        return n_pairs if limit is None else max(1, min(n_pairs, limit // _FEWEST_CALLS))

    @property
    def answered(self) -> int:
        """Pairs of calls that did not fail; those of calls under way count as answered."""
        return self.asked - self.failed

    def pay(self, n_pairs: int, *, again: bool = False) -> None:
        """Count the pairs of a call that is about to be made.

        Parameters
        ----------
        n_pairs : int
            Pairs of the call.
        again : bool, default False
            Whether the same call failed before.
        """
        with self._lock:
            if max(n_pairs, self.needed if again else 0) > self.left:
                raise OutOfBudget(
                    f"{self.asked:,} of {self.limit:,} pairs have been asked for, and another "
                    f"{n_pairs:,} are wanted"
                )
            self.asked += n_pairs

    def lose(self, n_pairs: int) -> None:
        """Note that a call which was paid for has failed.

        Parameters
        ----------
        n_pairs : int
            Pairs of the call.
        """
        with self._lock:
            self.failed += n_pairs
            self.failed_calls += 1

    def receive(self, n_pairs: int) -> None:
        """Note that a call was answered.

        Parameters
        ----------
        n_pairs : int
            Pairs of the call.
        """
        with self._lock:
            self.needed = max(0, self.needed - n_pairs)

    def with_reserve(self, n_pairs: Any) -> Any:
        """Pairs that it may take to have so many answered, by the calls that failed so far.

        One standard deviation more than what is expected, if calls fail independently.

        Parameters
        ----------
        n_pairs : float or array
            Answers wanted.

        Returns
        -------
        float or array
            Pairs to have in hand.
        """
        if not self.failed_calls:
            return n_pairs
        call = self.failed / self.failed_calls
        share = self.failed / (self.asked + call)  # as if another call had been answered
        spread = np.sqrt(share * n_pairs * np.minimum(n_pairs, call))
        return (n_pairs + spread) / (1.0 - share)

    def __getstate__(self) -> dict[str, Any]:
        return {k: value for k, value in self.__dict__.items() if k not in ("_lock", "tell")}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state)
        self.tell = _nobody
        self._lock = threading.Lock()


def _nobody(n_pairs: int) -> None:
    """Nobody wants to know."""
