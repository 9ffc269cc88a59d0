"""Small random interactions, and ml-1m as it lies beside the repository."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

DATA = Path(__file__).parents[3] / "shared" / "data"


@pytest.fixture(scope="session")
def small() -> np.ndarray:
    """Zeros and ones, 40 users by 25 items; user 3 has nothing and nobody has item 7."""
    rng = np.random.default_rng(0)
    matrix = (rng.random((40, 25)) < rng.beta(1.0, 4.0, 25)).astype(np.float64)
    matrix[3] = 0.0
    matrix[:, 7] = 0.0
    return matrix


@pytest.fixture(scope="session")
def ml_1m() -> tuple[pa.Table, pa.Table]:
    """Training and test interactions, one held-out item a user."""
    folder = DATA / "ml-1m"
    if not (folder / "train.parquet").exists():
        pytest.skip(f"the ml-1m split is not at {folder}")
    return pq.read_table(folder / "train.parquet"), pq.read_table(folder / "test.parquet")
