"""Progress of long runs: bars on a terminal, or calls of a function."""

from __future__ import annotations

import contextlib
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextvars import ContextVar
from typing import Any, TextIO

from truerank._visible import visible
from truerank.errors import InputError

Progress = Callable[[int, int], object] | bool | None
PATIENCE = 2.0  # seconds without a bar

_silent: ContextVar[bool] = ContextVar("silent", default=False)


@contextlib.contextmanager
def silence(silent: bool = True) -> Iterator[None]:
    """Show no bars within the block, except where ``progress=`` asks for them.

    Parameters
    ----------
    silent : bool
        False shows them again, inside a silent block.

    Yields
    ------
    None
        Nothing.
    """
    token = _silent.set(silent)
    try:
        yield
    finally:
        _silent.reset(token)


def hush() -> None:
    """Show no bars from here to the end of the enclosing block of `silence`."""
    _silent.set(True)


def check(progress: Progress) -> None:
    """Raise for what is no way to report progress.

    Parameters
    ----------
    progress : callable, False or None
        As in `reporting`.
    """
    if progress is not None and progress is not False and not callable(progress):
        raise InputError(
            f"progress is {progress!r}; it must be None (a bar), False (nothing) or a function "
            "of (done, total)"
        )


@contextlib.contextmanager
def reporting(progress: Progress, total: int, what: str) -> Iterator[Callable[[int], None]]:
    """Report the progress of a run within the block.

    Parameters
    ----------
    progress : callable, False or None
        None shows a bar on stderr if that is a terminal and the run takes longer than PATIENCE
        seconds; False shows nothing; a function is called with (steps done, ``total``).
    total : int
        Number of steps in all.
    what : str
        Words before the bar. Bars opened within others are shown below them.

    Yields
    ------
    callable
        To be called, from one thread, with the number of steps just done.
    """
    bar = None
    check(progress)
    if progress is None:
        shown = not _silent.get() and _is_terminal(sys.stderr)
        bar = _display.open(what, total, sys.stderr) if shown else None
    done = 0

    def advance(steps: int) -> None:
        nonlocal done
        done += steps
        if bar is not None:
            _display.update(bar, done)
        elif callable(progress):
            progress(done, total)

    try:
        yield advance
    finally:
        if bar is not None:
            _display.close(bar)


class _Bar:
    def __init__(self, what: str, total: int) -> None:
        self.what = what
        self.total = total
        self.done = 0
        self.task: Any = None


class _Display:
    """The bars at work, outermost first: shown when the wait gets long, gone without a trace.

    A timer shows them, so that a first step that takes minutes is not waited for in silence.
    """

    def __init__(self) -> None:
        self._lock = threading.RLock()
        self._bars: list[_Bar] = []
        self._live: Any = None

    def open(self, what: str, total: int, stream: TextIO) -> _Bar:
        with self._lock:
            if not self._bars:
                self._stream = stream
                self._due = time.monotonic() + PATIENCE
                self._timer = threading.Timer(PATIENCE, self._show)
                self._timer.daemon = True
                self._timer.start()
            bar = _Bar(what, total)
            self._bars.append(bar)
            if self._live is not None:
                self._add(bar)
            return bar

    def update(self, bar: _Bar, done: int) -> None:
        with self._lock:
            bar.done = done
            if self._live is None and time.monotonic() >= self._due:
                self._show()
            if self._live is not None:
                self._live.update(bar.task, completed=done)

    def close(self, bar: _Bar) -> None:
        with self._lock:
            self._bars.remove(bar)
            if not self._bars:
                self._timer.cancel()
            if self._live is None:
                return
            if self._bars:
                self._live.remove_task(bar.task)
            else:
                self._live.stop()
                self._live = None

    def _show(self) -> None:
        with self._lock:
            if self._live is not None or not self._bars or self._due > time.monotonic():
                return
            from rich.console import Console
            from rich.progress import Progress as RichProgress

            # Description, bar, share done and the time that is left.
            self._live = RichProgress(console=Console(file=self._stream), transient=True)
            for bar in self._bars:
                self._add(bar)
            self._live.start()

    def _add(self, bar: _Bar) -> None:
        from rich.markup import escape

        what = escape(visible(bar.what))
        bar.task = self._live.add_task(what, total=bar.total, completed=bar.done)


_display = _Display()


def _is_terminal(stream: Any) -> bool:
    try:
        return bool(stream.isatty())
    except (AttributeError, ValueError):  # no stderr at all, or a closed one
        return False
