"""Tie policies: cases worked by hand, and the law of each."""

from __future__ import annotations

import itertools
import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import binom, chisquare

import truerank as tr
from truerank.errors import InputError
from truerank.outcomes import _spreading
from truerank.outcomes.counts import RankCounts
from truerank.outcomes.schemes import Scheme
from truerank.rng import user_keys
from truerank.scoring import ties

WITHOUT = Scheme(replacement=False)


def count(
    above,
    tied,
    policy,
    *,
    n_items=50,
    sample_size=10,
    seed=0,
    targets=None,
    n_users=None,
    scheme=WITHOUT,
):
    above, tied = np.array(above), np.array(tied)
    rows = above.size
    return ties.counts(
        above,
        tied,
        policy,
        scheme=scheme,
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


def _drawn_law(above, n_tied, n_items, m):
    """P(hits) and P(draws above, tied draws) of m draws with replacement, by enumeration.

    Items 0 .. above-1 stand above the target, the next ``n_tied`` tie with it; ties are broken by
    all orders of the tied items and the target, each item one way however often it is drawn.
    """
    hits = np.zeros(m + 1)
    seen: dict[tuple[int, int], float] = {}
    draws = list(itertools.product(range(n_items - 1), repeat=m))
    subsets = [
        (1 / (n_tied + 1) / math.comb(n_tied, g), frozenset(up))
        for g in range(n_tied + 1)
        for up in itertools.combinations(range(above, above + n_tied), g)
    ]
    for draw in draws:
        over = sum(item < above for item in draw)
        same = sum(above <= item < above + n_tied for item in draw)
        seen[over, same] = seen.get((over, same), 0.0) + 1 / len(draws)
        for chance, up in subsets:
            hits[over + sum(item in up for item in draw)] += chance / len(draws)
    return hits, seen


@pytest.mark.parametrize(("n_items", "m"), [(5, 3), (6, 4), (4, 5), (8, 2)])
def test_spread_with_replacement_when_all_items_tie(n_items, m):
    """A constant scorer: the law of the sampled rank, exactly, of ranks uniform on the pool."""
    law, seen = _drawn_law(0, n_items - 1, n_items, m)
    assert seen == {(0, m): pytest.approx(1.0)}
    found = weights(
        count([0], [m], "spread", n_items=n_items, sample_size=m + 1, scheme=Scheme(True))
    )
    assert [found[rank] for rank in range(1, m + 2)] == pytest.approx(law, rel=1e-12)
    uniform = np.mean(
        [binom.pmf(np.arange(m + 1), m, (R - 1) / (n_items - 1)) for R in range(1, n_items + 1)],
        axis=0,
    )
    assert law == pytest.approx(uniform, rel=1e-12)


@pytest.mark.parametrize(("above", "n_tied", "n_items"), [(1, 2, 6), (0, 3, 7), (2, 3, 6)])
def test_spread_with_replacement_when_some_items_tie(above, n_tied, n_items):
    """How many items tie is estimated: nearer to the law than equal shares are."""
    m = 4
    law, seen = _drawn_law(above, n_tied, n_items, m)

    def distance(scheme):
        by_rank: dict[int, float] = {}
        for (over, same), chance in seen.items():
            options = {"n_items": n_items, "sample_size": m + 1, "scheme": scheme}
            for rank, share in weights(count([over], [same], "spread", **options)).items():
                by_rank[rank] = by_rank.get(rank, 0.0) + chance * share
        return sum(abs(by_rank.get(rank + 1, 0.0) - law[rank]) for rank in range(m + 1)) / 2

    assert distance(Scheme(True)) < 0.5 * distance(WITHOUT)


def test_shares_of_repeated_draws_by_hand():
    """Two draws of one item: above both times or never. Of two items: 1/3 + 1/12 at both ends."""
    assert _spreading.tie_shares(2, 1) == pytest.approx([1 / 2, 0, 1 / 2])
    assert _spreading.tie_shares(2, 2) == pytest.approx([5 / 12, 1 / 6, 5 / 12])
    assert _spreading.tie_shares(1, 7) == pytest.approx([1 / 2, 1 / 2])


@pytest.mark.parametrize(
    ("tied", "n_tied"), [(1, 20), (2, 20), (3, 24), (9, 90), (50, 400), (40, 40)]
)
def test_formula_of_many_tied_items(monkeypatch, tied, n_tied):
    plain = binom.pmf(np.arange(tied + 1), tied, np.arange(n_tied + 1)[:, None] / n_tied).mean(0)
    monkeypatch.setattr(_spreading, "_LARGE", 0)
    found = _spreading.tie_shares.__wrapped__(tied, n_tied)
    assert found.sum() == pytest.approx(1.0, rel=1e-12)
    assert found == pytest.approx(plain, rel=1e-2 if n_tied < 8 * tied else 1e-5)


def test_constant_scorer_among_a_sample_with_replacement():
    """Among 20 of 200 items a constant scorer has recall@10 of 10/200."""
    scorer = tr.scoring.Dense(np.zeros((30, 200)))
    test = (np.arange(30), np.arange(30))
    design = tr.designs.Fixed(sample_size=20, replacement=True)
    counts = tr.count(scorer, test, design)
    for estimator in ("mle", "bv(gamma=1)"):
        est = tr.estimate(counts, "recall@10", estimator=estimator, confidence=None)
        assert est["recall@10"].value == pytest.approx(0.05, rel=1e-4)
    paired = tr.count({"A": scorer, "B": scorer}, test, design)
    assert paired["A"] == counts


def test_too_many_outcomes(monkeypatch):
    monkeypatch.setattr(_spreading, "MOST_OUTCOMES", 10)
    with pytest.raises(InputError, match=r"more than 10 outcomes; say ties='random'"):
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
