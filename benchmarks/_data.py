"""Synthetic evaluations: global ranks from a power law, sampled ranks drawn from them."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

import truerank as tr

# The size of yelp in LJ24.
N_ITEMS = 25_815
N_USERS = 25_677
LADDER = (100, 200, 400, 800, 1600, 3200)
EXPONENT = 0.2  # recall@K = (K / N)^0.2, about what good recommenders reach

FloatArray = NDArray[np.float64]
IntArray = NDArray[np.int64]


def power_law(n_items: int, n_users: int, rng: np.random.Generator) -> IntArray:
    """Global ranks with recall@K = (K / n_items)^EXPONENT, shape (n_users,)."""
    return np.ceil(n_items * rng.random(n_users) ** (1 / EXPONENT)).astype(np.int64)


def fixed(
    sample_size: int,
    *,
    n_items: int = N_ITEMS,
    n_users: int = N_USERS,
    replacement: bool = True,
    seed: int = 0,
) -> tr.RankCounts:
    """Samples of one size."""
    rng = np.random.default_rng(seed)
    rank = power_law(n_items, n_users, rng)
    if replacement:
        above = rng.binomial(sample_size - 1, (rank - 1) / (n_items - 1))
    else:
        above = rng.hypergeometric(rank - 1, n_items - rank, sample_size - 1)
    return tr.RankCounts.from_ranks(
        above + 1, n_items=n_items, sample_size=sample_size, replacement=replacement
    )


def adaptive(seed: int = 0) -> tuple[tr.RankCounts, IntArray, IntArray]:
    """Adaptive samples: the counts, and the size and rank of each user."""
    rng = np.random.default_rng(seed)
    theta = (power_law(N_ITEMS, N_USERS, rng) - 1) / (N_ITEMS - 1)
    size = np.full(N_USERS, LADDER[0])
    rank = 1 + rng.binomial(LADDER[0] - 1, theta)
    for larger in LADDER[1:]:
        going_on = rank == 1
        rank[going_on] += rng.binomial(larger - size[going_on], theta[going_on])
        size[going_on] = larger
    counts = tr.RankCounts.from_ranks(
        rank, n_items=N_ITEMS, sample_size=size, ladder=LADDER, replacement=True
    )
    return counts, size, rank


@dataclass(frozen=True)
class Asked:
    """The metrics asked for: these names at each of these K."""

    names: Sequence[str]
    k: Iterable[int]

    def estimate(
        self, counts: tr.RankCounts, estimator: str | tr.estimators.Estimator
    ) -> FloatArray:
        """Ours, by the public call."""
        metrics = tr.metrics.parse(self.names, k=self.k)
        estimates = tr.estimate(counts, metrics, estimator=estimator)
        return np.array([result.value for result in estimates.values()])

    def of(self, mass: FloatArray) -> FloatArray:
        """The metrics of masses on ranks 1..N, in plain numpy."""
        rank = np.arange(1.0, mass.size + 1.0)
        gains = {"recall": np.ones_like(rank), "ndcg": 1 / np.log2(rank + 1), "ap": 1 / rank}
        at = np.array(list(self.k)) - 1
        return np.concatenate([np.cumsum(mass * gains[name])[at] for name in self.names])


ONE = Asked(("recall",), (10,))
MANY = Asked(("recall", "ndcg", "ap"), range(1, 101))
