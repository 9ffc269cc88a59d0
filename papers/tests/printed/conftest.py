"""Real data, and the two item-KNN models of the papers in plain numpy.

The data lie beside the repository; without them these tests skip.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pyarrow.parquet as pq
import pytest

DATA = Path(__file__).parents[4] / "shared" / "data"


@dataclass(frozen=True)
class GlobalRanks:
    """Exact ranks of the held-out items (1-based) and the pools they were found in."""

    rank: np.ndarray  # (n_users,)
    n_items: np.ndarray  # (n_users,)

    def sampled(self, sample_size: int, seed: int, *, replacement: bool = False) -> np.ndarray:
        """Sampled ranks, drawn from each user's pool."""
        rng = np.random.default_rng(seed)
        if replacement:
            return 1 + rng.binomial(sample_size - 1, (self.rank - 1) / (self.n_items - 1))
        return 1 + rng.hypergeometric(self.rank - 1, self.n_items - self.rank, sample_size - 1)


def _interactions(name: str) -> tuple[np.ndarray, np.ndarray]:
    """0/1 training matrix (users, items) and the held-out item of each user."""
    folder = DATA / name
    if not (folder / "train.parquet").exists():
        pytest.skip(f"the {name} split is not at {folder}")
    train, test = (pq.read_table(folder / f"{part}.parquet") for part in ("train", "test"))
    users, items = (
        np.concatenate([t[c].to_numpy() for t in (train, test)]) for c in ("user_id", "item_id")
    )
    matrix = np.zeros((users.max() + 1, items.max() + 1), dtype=np.float32)
    matrix[train["user_id"].to_numpy(), train["item_id"].to_numpy()] = 1.0
    target = np.full(matrix.shape[0], -1)
    target[test["user_id"].to_numpy()] = test["item_id"].to_numpy()
    present = target >= 0
    known = np.zeros(matrix.shape[1], dtype=bool)
    known[items] = True  # ids may have holes
    renumber = np.cumsum(known) - 1
    return matrix[np.ix_(present, known)], renumber[target[present]]


def _ranks(score: np.ndarray, target: np.ndarray, left_out: np.ndarray | None) -> GlobalRanks:
    """Ranks of the targets, ties broken at random, items in ``left_out`` not ranked."""
    rng = np.random.default_rng(0)
    rows = np.arange(target.size)
    n_items = np.full(target.size, score.shape[1])
    if left_out is not None:
        n_items = n_items - left_out.sum(axis=1).astype(np.int64)
        score = np.where(left_out > 0, -np.inf, score)
    own = score[rows, target][:, None]
    above, tied = (score > own).sum(axis=1), (score == own).sum(axis=1) - 1
    return GlobalRanks(1 + above + rng.integers(0, tied + 1), n_items)


def _cosine(train: np.ndarray) -> np.ndarray:
    together = train.T @ train
    norm = np.sqrt(np.diag(together))
    return together / np.maximum(np.outer(norm, norm), 1e-12)


@pytest.fixture(scope="session")
def kr20_y() -> GlobalRanks:
    """KR20's recommender Y on ml-1m: cosine cubed, rows of unit length, training items left out."""
    train, target = _interactions("ml-1m")
    similarity = _cosine(train).astype(np.float64) ** 3  # eq. 27, q = 3
    length = np.linalg.norm(similarity, axis=1, keepdims=True)
    similarity /= np.maximum(length, 1e-12)  # eq. 29; items never seen in training score 0
    return _ranks(train @ similarity.T, target, train)  # eq. 30 without its denominator


@pytest.fixture(scope="session")
def jl21_item_knn() -> GlobalRanks:
    """JL21's item-KNN on ml-1m: cosine, 200 neighbours, ranked among all items."""
    train, target = _interactions("ml-1m")
    similarity = _cosine(train)
    np.fill_diagonal(similarity, 0.0)
    weakest = np.partition(similarity, -200, axis=1)[:, -200][:, None]
    return _ranks(train @ np.where(similarity >= weakest, similarity, 0.0).T, target, None)
