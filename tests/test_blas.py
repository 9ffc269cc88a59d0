"""BLAS works on one thread while we do, and has its own back afterwards."""

from __future__ import annotations

import numpy as np
import pytest

import truerank as tr
from truerank import _blas


class Library:
    """Stands for a BLAS with four threads; remembers what it was told."""

    def __init__(self):
        self.threads, self.told = 4, []

    def handle(self):
        return _blas._Threads(lambda: self.threads, self.set)

    def set(self, number):
        self.threads = number
        self.told.append(number)


@pytest.fixture
def library(monkeypatch):
    found = Library()
    monkeypatch.setattr(_blas, "_library", found.handle)
    return found


def test_nested_callers_share_one_thread(library):
    with _blas.one_thread() as workers:
        assert (workers, library.threads) == (4, 1)
        with _blas.one_thread() as nested:
            assert (nested, library.threads) == (4, 1)
        assert library.threads == 1
    assert library.told == [1, 4]


def test_threads_are_put_back_after_an_error(library):
    with pytest.raises(ZeroDivisionError), _blas.one_thread():
        1 / 0  # noqa: B018
    assert library.threads == 4


def test_fits_and_intervals_take_one_thread(library):
    counts = tr.RankCounts.from_ranks([1, 1, 2, 5, 20] * 9, num_negatives=99, n_items=3706)
    found = tr.estimate(counts, "recall@10")
    assert library.told
    assert library.told == [1, 4] * (len(library.told) // 2)
    library.told.clear()
    assert found["recall@10"].low is not None
    assert library.told
    assert library.told == [1, 4] * (len(library.told) // 2)


@pytest.mark.parametrize("find", [_blas._bundled, _blas._by_threadpoolctl])
def test_the_real_library_obeys(find):
    library = find()
    if library is None:
        pytest.skip("this numpy has no BLAS whose threads it can set")
    before = library.get()
    try:
        library.set(1)
        assert library.get() == 1
        assert np.isfinite(np.ones((50, 50)) @ np.ones((50, 50))).all()
    finally:
        library.set(before)
    assert library.get() == before
