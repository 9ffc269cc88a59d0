"""KR20's draws and what a correction takes them for, enumerated on small cases."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

from truerank.designs import Fixed
from truerank_papers.experiments.kr20 import _protocols as protocols
from truerank_papers.experiments.kr20._protocols import BY_USER, INFERRED
from truerank_papers.experiments.ranks import GlobalRanks

# Two pools; the second target ties with two others.
RANKS = GlobalRanks(np.array([2, 1]), np.array([0, 2]), np.array([5, 6]))


def _enumerated(above, tied, n_items, m, *, replacement):
    """P(sampled rank) by all draws of m out of the pool and all places of a tied target."""
    chance = np.zeros(m + 1)
    others = range(n_items - 1)
    draws = (
        itertools.product(others, repeat=m) if replacement else itertools.permutations(others, m)
    )
    draws = list(draws)
    for extra in range(tied + 1):
        for draw in draws:
            hits = sum(item < above + extra for item in draw)
            chance[hits] += 1 / len(draws) / (tied + 1)
    return chance


@pytest.mark.parametrize("replacement", [True, False])
def test_expected_counts_by_enumeration(replacement):
    counts = protocols.expected(RANKS, 3, replacement=replacement)
    assert counts.total_weight == pytest.approx(2.0)
    for above, tied, pool in ((2, 0, 5), (1, 2, 6)):
        found = np.zeros(3)
        here = counts.n_items == pool
        found[counts.sampled_rank[here] - 1] = counts.weight[here]
        np.testing.assert_allclose(
            found, _enumerated(above, tied, pool, 2, replacement=replacement), atol=1e-12
        )


def test_expected_counts_are_the_mean_of_draws():
    rngs = [np.random.default_rng(i) for i in range(4000)]
    outcomes, weight = RANKS.sampled(Fixed(sample_size=3, replacement=False), rngs)
    counts = protocols.expected(RANKS, 3, replacement=False)
    for pool, rank, mean in zip(
        outcomes.n_items, outcomes.sampled_rank, weight.mean(axis=0), strict=True
    ):
        law = counts.weight[(counts.n_items == pool) & (counts.sampled_rank == rank)].sum()
        assert mean == pytest.approx(law, abs=4 * np.sqrt(0.25 / 4000))


def test_relabelled_outcomes():
    """One pool, the mean of 5 and 6 rounded to even, and ranks added up; or nothing changed."""
    counts = protocols.expected(RANKS, 3, replacement=False)
    same, weight = protocols.assumed(counts, counts.weight[None], BY_USER, 9)
    assert (same.n_items == counts.n_items).all()
    np.testing.assert_allclose(weight[0], counts.weight)
    one, weight = protocols.assumed(counts, counts.weight[None], INFERRED, 9)
    assert one.n_items.tolist() == [6, 6, 6]
    assert one.schemes[0].replacement
    assert weight.sum() == pytest.approx(2.0)
    for rank in (1, 2, 3):
        total = counts.weight[counts.sampled_rank == rank].sum()
        assert weight[0, rank - 1] == pytest.approx(total)


def test_standard_errors_by_hand():
    """Means 3 and 1, spreads 2 over 4 repeats and 6 over 9: sqrt(1 + 4) below the difference."""
    ours = np.array([1.0, 5.0, 1.0, 5.0])
    assert protocols.in_errors(ours, 1.0, 6.0, 9) == pytest.approx(2 / np.sqrt(5))
