"""What fuzzers share: how many inputs, how they are chosen, what a finding is."""

from __future__ import annotations

import contextlib
import os
import random
import signal
import warnings
from collections.abc import Callable, Iterator
from typing import Any

from truerank.errors import TruerankError, TruerankWarning

SECONDS = 20  # of processor time, after which an input counts as hanging; ten times as many in all
_NUMBER = "TRUERANK_FUZZ"


def number(usual: int) -> int:
    """Inputs to try: those of the environment variable TRUERANK_FUZZ, else ``usual``."""
    return int(os.environ.get(_NUMBER, usual))


class Tally:
    """What a fuzzer tried and found; `conftest` prints the counts of all of them."""

    def __init__(self, what: str) -> None:
        self.what, self.n_inputs = what, 0
        self.findings: list[str] = []

    def look(self, seed: str, run: Callable[[], Any]) -> None:
        """Try one input."""
        self.n_inputs += 1
        if (wrong := complaint(run)) is not None:
            self.findings.append(f"{seed}: {wrong}")

    def end(self, record: Callable[[str, object], None]) -> None:
        """Leave the counts for the summary, and fail if anything was found."""
        record("fuzz", [self.what, self.n_inputs, len(self.findings)])
        assert not self.findings, "\n".join(self.findings[:20])


def inputs(name: str, usual: int) -> Iterator[tuple[str, random.Random]]:
    """(seed, generator) of each input; the same seed gives the same input in every run."""
    for at in range(number(usual)):
        seed = f"{name}-{at}"
        yield seed, random.Random(seed)


class Hung(Exception):
    """An input took longer than `SECONDS`."""


@contextlib.contextmanager
def limit(seconds: int = SECONDS) -> Iterator[None]:
    """Raise `Hung` in what takes longer, whatever else the machine does."""

    def stop(*_: Any) -> None:
        raise Hung(f"longer than {seconds} s")

    before = {one: signal.signal(one, stop) for one in (signal.SIGPROF, signal.SIGALRM)}
    signal.setitimer(signal.ITIMER_PROF, seconds)
    signal.alarm(10 * seconds)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_PROF, 0)
        signal.alarm(0)
        for one, handler in before.items():
            signal.signal(one, handler)


def complaint(run: Callable[[], Any]) -> str | None:
    """What is wrong with how ``run`` ends; None if it works or refuses by an error of ours."""
    with warnings.catch_warnings(record=True) as given, limit():
        warnings.simplefilter("always")
        try:
            run()
        except TruerankError as error:
            if "\n" in str(error):
                return f"an error of several lines: {error}"
            if len(str(error)) > 2000:
                return f"an error of {len(str(error))} characters: {str(error)[:200]}"
        except Exception as error:
            if _as_usual(error):
                return None
            return f"{type(error).__name__}: {' '.join(str(error).split())[:300]}"
    for warning in given:
        ours = issubclass(warning.category, TruerankWarning)
        if not ours and not issubclass(warning.category, ResourceWarning):
            return f"{warning.category.__name__}: {warning.message}"
    return None


def _as_usual(error: Exception) -> bool:
    """Errors that are Python's own way to say it, and name the thing."""
    if isinstance(error, OSError):
        return error.filename is not None
    if isinstance(error, KeyError):  # as mappings raise, with what there is; or a caller's own
        return "here are: " in str(error) or "caller's own" in str(error)
    # An array of petabytes was asked for.
    return isinstance(error, MemoryError) and "Unable to allocate" in str(error)
