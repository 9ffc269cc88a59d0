"""One evaluation for all: factors, a target per user, training items to leave out."""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

K = 10
METRICS = ("recall@10", "ndcg@10", "ap@10")  # with one target ap is the reciprocal rank
DIMENSIONS = 64
THREADS = os.cpu_count() or 1
Evaluate = Callable[[], dict[str, float]]  # the metrics
Ways = dict[str, Evaluate]  # of calling a library; the fastest counts
BEST_OF = 128  # items, of which a target is the one with the highest score: ranks as models have


@dataclass(frozen=True)
class Problem:
    """Users and items are 0, 1, ...; every item is in the training data."""

    user_factors: NDArray[np.float32]
    item_factors: NDArray[np.float32]
    target: NDArray[np.int64]  # (n_users,)
    train: tuple[NDArray[np.int64], NDArray[np.int64]]  # distinct pairs, without the targets

    @property
    def n_users(self) -> int:
        return self.target.size

    @property
    def n_items(self) -> int:
        return self.item_factors.shape[0]

    @property
    def test(self) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        return np.arange(self.n_users), self.target

    def matrix(self, pairs: tuple[NDArray[np.int64], NDArray[np.int64]]) -> Any:
        """Pairs as a CSR matrix of ones."""
        ones = np.ones(pairs[0].size, dtype=np.float32)
        return sparse.csr_matrix((ones, pairs), shape=(self.n_users, self.n_items))


def make(
    n_users: int, n_items: int, left_out: int, *, seed: int = 0, best_of: int = BEST_OF
) -> Problem:
    """Normal factors, about ``left_out`` training items per user."""
    rng = np.random.default_rng(seed)
    users, items = (
        rng.standard_normal((n, DIMENSIONS), dtype=np.float32) for n in (n_users, n_items)
    )
    target = np.empty(n_users, dtype=np.int64)
    for begin in range(0, n_users, 1024):
        some = users[begin : begin + 1024]
        drawn = rng.integers(n_items, size=(some.shape[0], best_of))
        best = np.einsum("ud,und->un", some, items[drawn]).argmax(axis=1)
        target[begin : begin + 1024] = drawn[np.arange(best.size), best]
    user = np.repeat(np.arange(n_users), left_out)
    item = rng.integers(n_items - 1, size=user.size)
    item[:n_items] = np.arange(n_items)[: item.size] % (n_items - 1)
    item += item >= target[user]  # never the target
    code = np.unique(user * n_items + item)
    return Problem(users, items, target, tuple(np.divmod(code, n_items)))


def values(recall: Any, ndcg: Any, reciprocal: Any) -> dict[str, float]:
    """The metrics by our names."""
    return dict(zip(METRICS, (float(recall), float(ndcg), float(reciprocal)), strict=True))
