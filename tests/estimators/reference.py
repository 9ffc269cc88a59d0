"""Slow, plain references: dense matrices over every rank, scipy.stats probabilities."""

from __future__ import annotations

import numpy as np
from scipy import stats


def probabilities(n_items, sample_size, *, replacement=True):
    """A[R, r] = P(r | R), shape (n_items, sample_size)."""
    ranks, hits = np.arange(1, n_items + 1)[:, None], np.arange(sample_size)[None, :]
    if replacement:
        return stats.binom.pmf(hits, sample_size - 1, (ranks - 1) / (n_items - 1))
    return stats.hypergeom.pmf(hits, n_items - 1, ranks - 1, sample_size - 1)


def em(a, observed, steps):
    """JL21 eq. 21 from the uniform distribution; a (n_items, n_outcomes)."""
    mass = np.full(a.shape[0], 1 / a.shape[0])
    for _ in range(steps):
        total = mass @ a
        ratio = np.divide(observed, total, out=np.zeros_like(total), where=observed > 0)
        mass = mass * (a @ ratio)
    return mass


def bv(a, prior, observed, gain, gamma):
    """KR20 eq. 25."""
    d = np.diag(prior)
    gram = (1 - gamma) * a.T @ d @ a + gamma * np.diag(prior @ a)
    return observed @ np.linalg.solve(gram, a.T @ d @ gain)


def mn(a, prior, observed, gain, n_users):
    """LJ24 eq. 42."""
    d = np.diag(prior)
    gram = a.T @ d @ a - a.T @ a / n_users + np.diag(a.sum(axis=0)) / n_users
    return observed @ np.linalg.pinv(gram, hermitian=True) @ (a.T @ d @ gain)


def gains(metric, n_items):
    """The gain of 'name@k' at ranks 1..n_items."""
    name, _, k = metric.partition("@")
    rank = np.arange(1, n_items + 1)
    gain = {
        "recall": np.ones(n_items),
        "precision": np.ones(n_items) / int(k or 1),
        "ndcg": 1 / np.log2(rank + 1),
        "ap": 1 / rank,
        "auc": (n_items - rank) / (n_items - 1),
    }[name]
    return np.where(rank <= int(k or n_items), gain, 0.0)


def power_law(n_items, n_users, exponent, seed):
    """Global ranks with P(R <= K) about (K/N)^exponent."""
    u = np.random.default_rng(seed).random(n_users)
    return np.minimum(1 + np.floor(n_items * u ** (1 / exponent)).astype(int), n_items)


def draw(rank, n_items, sample_size, seed, *, replacement=True):
    """Sampled ranks of the global ones."""
    rng = np.random.default_rng(seed)
    if replacement:
        return 1 + rng.binomial(sample_size - 1, (rank - 1) / (n_items - 1))
    return 1 + rng.hypergeometric(rank - 1, n_items - rank, sample_size - 1)


def draw_adaptive(rank, n_items, ladder, seed, *, replacement=True, hits=1):
    """(sampled ranks, sample sizes) of LJ24's algorithm 1, by drawing each user's negatives."""
    rng = np.random.default_rng(seed)
    sizes, ranks = [], []
    for true_rank, pool in zip(rank, np.broadcast_to(n_items, rank.shape), strict=True):
        # Whether each negative in turn beats the target.
        if replacement:
            beats = rng.random(ladder[-1] - 1) < (true_rank - 1) / (pool - 1)
            stages = list(ladder)
        else:
            beats = rng.permutation(np.arange(pool - 1) < true_rank - 1)[: ladder[-1] - 1]
            stages = [*(s for s in ladder[:-1] if s < pool), min(ladder[-1], pool)]
        for size in stages:
            above = int(beats[: size - 1].sum())
            if above >= hits:
                break
        sizes.append(size)
        ranks.append(1 + above)
    return np.array(ranks), np.array(sizes)
