"""Distinct outcomes of redrawn evaluations, counted or sorted."""

from __future__ import annotations

import numpy as np
import pytest

from truerank.inference.intervals import redraw
from truerank.outcomes.schemes import Scheme


@pytest.mark.parametrize("pools", [[500], [500, 510, 600], [500, 1_000_000]])
def test_counting_finds_what_sorting_does(pools: list[int]) -> None:
    rng = np.random.default_rng(0)
    n = 3000
    found = np.stack(
        [
            rng.integers(0, 2, n),
            rng.choice(pools, n),
            rng.choice([50, 100], n),
            rng.integers(1, 51, n),
        ]
    )
    kept, row = redraw._sorted_columns(found)
    slow, slow_row = redraw._by_sorting(found)
    assert (kept == slow).all()
    assert (row == slow_row).all()
    assert (kept[:, row] == found).all()
    schemes = (Scheme(replacement=False), Scheme(replacement=True))
    outcomes, row = redraw.distinct(schemes, found)
    assert (outcomes.sampled_rank[row] == found[3]).all()
    assert (outcomes.n_items[row] == found[1]).all()
