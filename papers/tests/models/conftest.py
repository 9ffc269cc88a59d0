"""Small random interactions."""

from __future__ import annotations

import numpy as np
import pytest


@pytest.fixture(scope="session")
def small() -> np.ndarray:
    """Zeros and ones, 40 users by 25 items; user 3 has nothing and nobody has item 7."""
    rng = np.random.default_rng(0)
    matrix = (rng.random((40, 25)) < rng.beta(1.0, 4.0, 25)).astype(np.float64)
    matrix[3] = 0.0
    matrix[:, 7] = 0.0
    return matrix
