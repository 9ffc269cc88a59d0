"""Saying how far a long run has come."""

from __future__ import annotations

import contextlib
import sys
import time
from collections.abc import Callable, Iterator
from typing import Any, TextIO

from truerank.errors import InputError

Progress = Callable[[int, int], object] | bool | None
PATIENCE = 2.0  # seconds without a bar


@contextlib.contextmanager
def reporting(progress: Progress, total: int, what: str) -> Iterator[Callable[[int], None]]:
    """A function to call, from one thread, with the number of steps just done.

    Parameters
    ----------
    progress
        None shows a bar on stderr if that is a terminal and the run takes longer than PATIENCE;
        False shows nothing; a function is called with (steps done, ``total``).
    what
        Stands before the bar.
    """
    bar = None
    if progress is None:
        bar = _Bar(total, what, sys.stderr) if _is_terminal(sys.stderr) else None
        progress = bar.show if bar else False
    elif progress is not False and not callable(progress):
        raise InputError(
            f"progress is {progress!r}; it must be None (a bar), False (nothing) or a function "
            "of (done, total)"
        )
    done = 0

    def advance(steps: int) -> None:
        nonlocal done
        done += steps
        if callable(progress):
            progress(done, total)

    try:
        yield advance
    finally:
        if bar:
            bar.close()


class _Bar:
    """A rich progress bar that appears when the wait gets long and leaves no trace."""

    def __init__(self, total: int, what: str, stream: TextIO) -> None:
        self._total = total
        self._what = what
        self._stream = stream
        self._begin = time.monotonic()
        self._bar: Any = None

    def show(self, done: int, total: int) -> None:
        if self._bar is None:
            if time.monotonic() - self._begin < PATIENCE or done >= total:
                return
            from rich.console import Console
            from rich.progress import Progress as RichProgress

            self._bar = RichProgress(console=Console(file=self._stream), transient=True)
            self._task = self._bar.add_task(self._what, total=self._total)
            self._bar.start()
        self._bar.update(self._task, completed=done)

    def close(self) -> None:
        if self._bar is not None:
            self._bar.stop()


def _is_terminal(stream: Any) -> bool:
    try:
        return bool(stream.isatty())
    except (AttributeError, ValueError):  # no stderr at all, or a closed one
        return False
