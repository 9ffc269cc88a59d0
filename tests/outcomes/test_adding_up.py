"""Equal outcomes added up: counted where few are possible, sorted where not."""

from __future__ import annotations

import numpy as np
import pytest

from truerank.errors import InputError
from truerank.outcomes import _columns


@pytest.mark.parametrize("seed", range(5))
def test_counting_is_sorting(seed, monkeypatch):
    rng = np.random.default_rng(seed)
    n_rows = int(rng.integers(1, 2000))
    key = [rng.integers(low, low + span, n_rows) for low, span in ((0, 1), (-3, 4), (50, 9))]
    weight = rng.integers(0, 3, n_rows).astype(np.float64)
    weight[0] = 1.0
    columns, total = _columns.add_up(key, weight)
    monkeypatch.setattr(_columns.Radix, "numbers", None)  # would fail
    monkeypatch.setattr(_columns.math, "prod", lambda spans: 1 << 60)
    sorted_columns, sorted_total = _columns.add_up(key, weight)
    for ours, theirs in zip([*columns, total], [*sorted_columns, sorted_total], strict=True):
        assert ours.dtype == theirs.dtype
        np.testing.assert_array_equal(ours, theirs)


@pytest.mark.parametrize("n_rows", [0, 3])
def test_weights_of_nothing_are_refused(n_rows):
    with pytest.raises(InputError, match="nothing to count"):
        _columns.add_up([np.arange(n_rows)], np.zeros(n_rows))
