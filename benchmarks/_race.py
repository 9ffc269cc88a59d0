"""Timing several functions against each other, and what a benchmark reports."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

# A round repeats a function this often or this long (seconds), whichever comes first.
MOST_REPEATS = 20
ROUND_SECONDS = 0.3


@dataclass(frozen=True)
class Result:
    """One line of the table.

    ``ours`` and ``reference`` are seconds (or megabytes, see ``unit``). The goal is either a ratio
    reference / ours of ``at_least`` or a bound ``at_most`` on ours. ``difference`` says how far
    the two answers lie apart (largest relative one unless noted), ``allowed`` how far they may.
    """

    name: str
    ours: float
    reference: float | None
    against: str
    at_least: float | None = None
    at_most: float | None = None
    difference: float | None = None
    allowed: float | None = None
    unit: str = "s"
    note: str = ""

    @property
    def ratio(self) -> float | None:
        """Reference over ours: how many times faster (or smaller) ours is."""
        return None if self.reference is None else self.reference / self.ours

    @property
    def met(self) -> bool | None:
        """Whether the goal is met; None without one."""
        if self.at_most is not None:
            return self.ours <= self.at_most
        if self.at_least is not None and self.ratio is not None:
            return self.ratio >= self.at_least
        return None

    @property
    def same(self) -> bool:
        """Whether both sides gave the same answer, as far as they were compared."""
        if self.difference is None or self.allowed is None:
            return True
        return self.difference <= self.allowed


@dataclass(frozen=True)
class Timed:
    """The shortest time of a function, in seconds, and what it returned."""

    seconds: float
    value: Any


def measure(function: Callable[[], Any]) -> Timed:
    """One run in processor seconds; wall time bounds them, should a library start threads."""
    wall, processor = time.perf_counter(), time.process_time()
    value = function()
    return Timed(min(time.process_time() - processor, time.perf_counter() - wall), value)


def wall(function: Callable[[], Any]) -> Timed:
    """One run by the clock on the wall, for what uses several threads or processes."""
    begin = time.perf_counter()
    value = function()
    return Timed(time.perf_counter() - begin, value)


def race(
    contestants: Mapping[str, Callable[[], Any]],
    *,
    rounds: int = 3,
    timer: Callable[[Callable[[], Any]], Timed] = measure,
) -> dict[str, Timed]:
    """The shortest time of each, measured in turns so that a busy machine slows all alike."""
    best: dict[str, Timed] = {}
    for _ in range(rounds):
        for name, function in contestants.items():
            left = ROUND_SECONDS
            for _ in range(MOST_REPEATS):
                timed = timer(function)
                if name not in best or timed.seconds < best[name].seconds:
                    best[name] = timed
                left -= timed.seconds
                if left < 0:
                    break
    return best


def furthest(ours: Any, reference: Any) -> float:
    """The largest relative difference between two arrays of values."""
    return float(np.abs(np.asarray(ours) / np.asarray(reference) - 1.0).max())
