"""The BLAS library behind numpy, on one thread for a while.

Two pools of threads on top of each other (ours and BLAS's) cost up to five times, and the products
of a fit are too small to be worth a second thread: its threads wait for each other, up to ten times
as long as the product takes. The wheels of numpy bring an OpenBLAS that is asked directly;
threadpoolctl (extra ``fast``) knows the others. Without either, BLAS keeps its threads.
"""

from __future__ import annotations

import contextlib
import functools
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

# What OpenBLAS calls its functions: in the wheels of numpy 2, in those of numpy 1, elsewhere.
_SPELLINGS = ("scipy_openblas_{}64_", "scipy_openblas_{}", "openblas_{}64_", "openblas_{}")

_lock = threading.Lock()
_inside = 0  # callers that want one thread now
_threads = 1  # what BLAS had before the first of them


class _Threads(NamedTuple):
    """How many threads BLAS has: to ask and to set."""

    get: Callable[[], int]
    set: Callable[[int], Any]


@contextlib.contextmanager
def one_thread() -> Iterator[int]:
    """BLAS on one thread inside the block; gives the number of workers to use instead.

    The setting is one of the whole process: it is put back when the last of several concurrent
    callers has left.
    """
    library = _library()
    if library is None:
        yield 1
        return
    global _inside, _threads
    with _lock:
        if _inside == 0:
            _threads = max(1, library.get())
            if _threads > 1:
                library.set(1)
        _inside += 1
        workers = _threads
    try:
        yield workers
    finally:
        with _lock:
            _inside -= 1
            if _inside == 0 and _threads > 1:
                library.set(_threads)


@functools.cache
def _library() -> _Threads | None:
    """Numpy's BLAS, if its threads can be set. Kept: finding it takes a while."""
    return _bundled() or _by_threadpoolctl()


def _bundled() -> _Threads | None:
    """The OpenBLAS in numpy's own wheel."""
    import ctypes

    import numpy as np

    package = Path(np.__file__).parent
    for folder in (package.with_name("numpy.libs"), package / ".dylibs"):
        for path in sorted(folder.glob("*openblas*")):
            try:
                library = ctypes.CDLL(str(path))  # numpy has loaded it: this gives a handle
            except OSError:
                continue
            for spelling in _SPELLINGS:
                get = getattr(library, spelling.format("get_num_threads"), None)
                put = getattr(library, spelling.format("set_num_threads"), None)
                if get is not None and put is not None:
                    return _Threads(get, put)
    return None


def _by_threadpoolctl() -> _Threads | None:
    try:
        from threadpoolctl import ThreadpoolController
    except ImportError:
        return None
    libraries = ThreadpoolController().select(user_api="blas").lib_controllers
    # Of several libraries (scipy brings its own) numpy's does our products.
    ours = [one for one in libraries if "numpy" in one.filepath] or libraries
    return _Threads(ours[0].get_num_threads, ours[0].set_num_threads) if ours else None
