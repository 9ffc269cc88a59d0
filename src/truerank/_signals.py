"""What ends the command line: Ctrl-C and SIGTERM, with the exit codes of shells and no traces.

An exception that is raised while a library is imported may be swallowed by it, or come back as
another error; in that case the process ends at once, after its temporary files are removed.
"""

from __future__ import annotations

import contextlib
import os
import signal
import sys
from collections.abc import Iterator
from types import FrameType
from typing import Any

INTERRUPTED = 128 + signal.SIGINT
TERMINATED = 128 + signal.SIGTERM
_IMPORTING = "<frozen importlib._bootstrap>"


class Terminated(BaseException):
    """SIGTERM came: unwind, so that files are cleaned up."""


def install() -> dict[int, Any]:
    """Handle both signals, where the program does not handle them otherwise.

    Returns
    -------
    dict
        The handlers that were replaced, by signal.
    """
    replaced: dict[int, Any] = {}
    usual = {signal.SIGINT: signal.default_int_handler, signal.SIGTERM: signal.SIG_DFL}
    for number, handler in usual.items():
        with contextlib.suppress(ValueError):  # not the main thread
            if signal.getsignal(number) is handler or signal.getsignal(number) == handler:
                replaced[number] = signal.signal(number, _handle)
    return replaced


@contextlib.contextmanager
def handled() -> Iterator[None]:
    """Handle both signals within the block."""
    replaced = install()
    try:
        yield
    finally:
        for number, handler in replaced.items():
            signal.signal(number, handler)


def _handle(number: int, frame: FrameType | None) -> None:
    if _importing(frame):
        files = sys.modules.get("truerank._files")  # it may be what is imported, half of it there
        remove = getattr(files, "remove_temporaries", None)
        if remove is not None:
            remove()
        os._exit(128 + number)
    raise KeyboardInterrupt if number == signal.SIGINT else Terminated


def _importing(frame: FrameType | None) -> bool:
    while frame is not None:
        if frame.f_code.co_filename == _IMPORTING:
            return True
        frame = frame.f_back
    return False
