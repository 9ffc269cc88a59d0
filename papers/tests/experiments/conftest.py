"""A small dataset, split, and an experiment that repeats something slowly."""

from __future__ import annotations

import numpy as np
import pytest

import truerank as tr


@pytest.fixture
def tiny(tmp_path):
    """A folder of data with the dataset ``tiny`` in it: 60 users, 40 items."""
    rng = np.random.default_rng(0)
    pairs = np.stack(np.nonzero(rng.random((60, 40)) < np.linspace(0.6, 0.1, 40)))
    data = tr.data.Interactions(*pairs, name="tiny")
    data.leave_one_out("random").save(tmp_path / "data" / "tiny")
    return tmp_path / "data"
