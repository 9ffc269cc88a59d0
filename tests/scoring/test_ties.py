"""Tie policies: cases worked by hand, and the law of each."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import chisquare

from truerank.errors import InputError
from truerank.outcomes import _spreading
from truerank.outcomes.counts import RankCounts
from truerank.outcomes.schemes import Scheme
from truerank.rng import user_keys
from truerank.scoring import ties

WITHOUT = Scheme(replacement=False)


def count(above, tied, policy, *, n_items=50, sample_size=10, seed=0, targets=None, n_users=None):
    above, tied = np.array(above), np.array(tied)
    rows = above.size
    return ties.counts(
        above,
        tied,
        policy,
        scheme=WITHOUT,
        n_items=np.broadcast_to(n_items, rows).astype(np.int64),
        sample_size=np.broadcast_to(sample_size, rows).astype(np.int64),
        n_users=rows if n_users is None else n_users,
        keys=user_keys(np.arange(rows), seed),
        targets=targets,
    )


def weights(counts):
    """{rank: weight}, for one design."""
    return dict(zip(counts.sampled_rank.tolist(), counts.weight.tolist(), strict=True))


def test_ranks_by_hand():
    above, tied = np.array([0, 2, 4]), np.array([0, 3, 1])
    assert ties.ranks(above, tied, "optimistic").tolist() == [1, 3, 5]
    assert ties.ranks(above, tied, "pessimistic").tolist() == [1, 6, 6]
    middle = ties.ranks(above, tied, "mid")
    assert middle.tolist() == [1.0, 4.5, 5.5]
    assert middle.dtype == np.float64


def test_spread_by_hand():
    """Ranks 1; 3 4 5 6; 5 6."""
    half, quarter = Fraction(1, 2), Fraction(1, 4)
    expected = {1: 1, 3: quarter, 4: quarter, 5: quarter + half, 6: quarter + half}
    counts = count([0, 2, 4], [0, 3, 1], "spread")
    assert weights(counts) == {k: pytest.approx(float(v), rel=1e-14) for k, v in expected.items()}
    assert counts.n_users == 3
    assert counts.squared_weight == 3


def test_middles_between_two_ranks_count_half_for_each():
    counts = count([0, 2, 4], [0, 3, 2], "mid")
    assert weights(counts) == {1: 1.0, 4: 0.5, 5: 0.5, 6: 1.0}


@pytest.mark.parametrize(("policy", "rank"), [("optimistic", 3), ("pessimistic", 6)])
def test_counts_of_one_end(policy, rank):
    assert weights(count([2, 2], [3, 3], policy)) == {rank: 2.0}


def test_random_ranks_are_uniform_over_the_tied_ones():
    n_users, tied = 20_000, 6
    keys = user_keys(np.arange(n_users), 3)
    ranks = ties.ranks(np.full(n_users, 4), np.full(n_users, tied), "random", keys)
    observed = np.bincount(ranks - 5, minlength=tied + 1)
    assert observed.size == tied + 1
    assert chisquare(observed).pvalue > 1e-4  # seed fixed; one in 10,000 by chance


def test_random_ranks_without_ties_are_the_ranks():
    above = np.arange(100)
    ranks = ties.ranks(above, np.zeros(100, int), "random", user_keys(above, 0))
    np.testing.assert_array_equal(ranks, above + 1)


def test_counts_at_random_are_those_of_the_ranks():
    rng = np.random.default_rng(0)
    above, tied = rng.integers(0, 5, 200), rng.integers(0, 5, 200)
    ranks = ties.ranks(above, tied, "random", user_keys(np.arange(200), 9))
    expected = RankCounts.from_ranks(ranks, n_items=50, sample_size=10, replacement=False)
    assert count(above, tied, "random", seed=9) == expected


case = st.tuples(st.integers(0, 9), st.integers(0, 9), st.sampled_from([20, 30]))


@given(st.lists(case, min_size=1, max_size=40), st.randoms(use_true_random=False))
def test_spread_is_the_mean_over_all_orders(cases, random):
    """Against one row an order; the designs of rows differ, and so do their weights."""
    above, tied, pool = np.array(cases).T
    weight = np.array([random.choice([1.0, 0.5, 0.25]) for _ in cases])
    size = pool - 1
    row = np.repeat(np.arange(above.size), tied + 1)
    order = np.concatenate([np.arange(n + 1) for n in tied])
    expected = RankCounts.from_outcomes(
        WITHOUT,
        n_items=pool[row],
        sample_size=size[row],
        sampled_rank=above[row] + order + 1,
        weight=(weight / (tied + 1))[row],
        n_users=above.size,
    )
    items, sizes, ranks, shares = _spreading.spread(above, tied, pool, size, weight)
    found = RankCounts.from_outcomes(
        WITHOUT,
        n_items=items,
        sample_size=sizes,
        sampled_rank=ranks,
        weight=shares,
        n_users=above.size,
    )
    assert found == expected
    assert found.total_weight == pytest.approx(float(weight.sum()), rel=1e-12)
    alike = count(above, tied, "spread", n_items=pool, sample_size=size)
    assert alike.total_weight == pytest.approx(above.size, rel=1e-12)
    assert alike.squared_weight == above.size
    if (weight == 1.0).all():
        assert alike == expected


@given(st.lists(case, min_size=2, max_size=40), st.data())
def test_parts_merged_equal_the_whole(cases, data):
    above, tied, pool = np.array(cases).T
    cut = data.draw(st.integers(1, len(cases) - 1))
    parts = [
        count(above[at], tied[at], "spread", n_items=pool[at], sample_size=pool[at] - 1)
        for at in (slice(None, cut), slice(cut, None))
    ]
    whole = count(above, tied, "spread", n_items=pool, sample_size=pool - 1)
    assert parts[0] + parts[1] == whole


def test_rows_without_ties_are_counted_exactly():
    counts = count([3] * 7 + [0], [0] * 7 + [2], "spread")
    assert weights(counts)[4] == 7.0


def test_many_users_that_tie_with_a_whole_catalogue():
    """1e10 (user, rank) pairs, but 1e5 outcomes."""
    n_items = 100_000
    counts = count(
        np.zeros(100_000, int),
        np.full(100_000, n_items - 1),
        "spread",
        n_items=n_items,
        sample_size=n_items,
    )
    assert counts.n_outcomes == n_items
    np.testing.assert_allclose(counts.weight, 1.0, rtol=1e-12)


def test_too_many_outcomes(monkeypatch):
    monkeypatch.setattr(_spreading, "MOST_OUTCOMES", 10)
    with pytest.raises(InputError, match=r"over 10 outcomes; say ties='random'"):
        count([0, 0], [8, 8], "spread", n_items=[50, 51])


@pytest.mark.parametrize("policy", ["Random", "rand", "average", None, 3])
def test_policies_that_are_not_known(policy):
    for call in (
        lambda: ties.ranks(np.array([0]), np.array([0]), policy),
        lambda: count([0], [0], policy),
    ):
        with pytest.raises(InputError, match=r"unknown ties .*known: spread, random, mid"):
            call()


def test_spread_gives_no_ranks():
    with pytest.raises(InputError, match="gives counts, not ranks"):
        ties.ranks(np.array([0]), np.array([0]), "spread")
