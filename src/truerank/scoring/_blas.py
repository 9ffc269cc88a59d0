"""The BLAS library behind numpy: as many workers as it has threads, one thread for each of them.

Two pools of threads on top of each other (ours and BLAS's) cost up to five times. threadpoolctl
(extra ``fast``) can make BLAS single-threaded for a while; without it BLAS keeps its threads and
we work on one.
"""

from __future__ import annotations

import contextlib
import functools
import threading
from collections.abc import Iterator
from typing import Any

_lock = threading.Lock()
_inside = 0  # callers that want one thread now
_threads = 1  # what BLAS had before the first of them
_restore: Any = None


@contextlib.contextmanager
def one_thread() -> Iterator[int]:
    """BLAS on one thread inside the block; gives the number of workers to use instead.

    The setting is one of the whole process: it is put back when the last of several concurrent
    callers has left.
    """
    controller = _controller()
    if controller is None:
        yield 1
        return
    global _inside, _threads, _restore
    with _lock:
        if _inside == 0:
            _threads = max((library["num_threads"] for library in controller.info()), default=1)
            _restore = controller.limit(limits=1)
        _inside += 1
        workers = _threads
    try:
        yield workers
    finally:
        with _lock:
            _inside -= 1
            if _inside == 0:
                _restore.restore_original_limits()


@functools.cache
def _controller() -> Any:
    """threadpoolctl's handle on numpy's BLAS, or None. Kept: finding libraries takes a while."""
    try:
        from threadpoolctl import ThreadpoolController
    except ImportError:
        return None
    blas = ThreadpoolController().select(user_api="blas")
    # Of several libraries (scipy brings its own) only numpy's does our products.
    ours = [lib["filepath"] for lib in blas.info() if "numpy" in lib["filepath"]]
    found = blas.select(filepath=ours) if ours else blas
    return found if len(found) else None
