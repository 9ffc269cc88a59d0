"""Ranks that no uniform draw gives are told apart from those that one does."""

from __future__ import annotations

import numpy as np
import pytest

import truerank as tr
from truerank import estimators
from truerank.designs import LJ24, Adaptive, Fixed
from truerank.errors import FitWarning
from truerank.estimators.support import RankDistribution
from truerank.inference import fit_test as module
from truerank.inference.fit_test import fit_test, misfit
from truerank.inference.planning.simulate import simulated_counts
from truerank.outcomes.schemes import log_probability

N_ITEMS = 3000
DESIGNS = {
    "100": Fixed(sample_size=100),
    "500": Fixed(sample_size=500),
    "lj24": LJ24(),
    "adaptive": Adaptive(budget=200),
    "most": Adaptive(budget=1000),  # up to the whole pool, for most users
}


def users(n_users: int, seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    """Ranks with Recall@K = (K/N)^0.4, and a pool per user."""
    rng = np.random.default_rng([seed, n_users])
    pools = rng.integers(N_ITEMS // 2, N_ITEMS, n_users)
    return np.ceil(pools * rng.random(n_users) ** 2.5).astype(np.int64), pools


def verdict_on(counts: tr.RankCounts, name: str = "smooth") -> module.FitTest:
    chosen = estimators.get(name)
    fit = chosen.fit(counts.pooled(), metrics=[], support="auto", plug_in="plain")
    return fit_test(counts, chosen, fit)


def test_pools_that_differ_much_are_no_misfit():
    """Of a random scorer, whose ranks grow with the pool, and of one whose ranks do not."""
    rng = np.random.default_rng(0)
    pools = rng.integers(500, 4000, 4000)
    for rank in (rng.integers(1, pools + 1), rng.integers(1, 501, 4000)):
        for design in (Fixed(sample_size=100), LJ24(start=50, stop=400)):
            counts = simulated_counts(rank, pools, design, rng)
            assert verdict_on(counts).fits
            assert verdict_on(counts, "mle").fits


@pytest.mark.parametrize("design", DESIGNS.values(), ids=DESIGNS)
@pytest.mark.parametrize("name", ["smooth", "mle", "naive"])
def test_honest_ranks_pass(design, name):
    for seed, n_users in enumerate((50, 500, 3000)):
        counts = simulated_counts(*users(n_users, seed), design, np.random.default_rng(seed))
        assert verdict_on(counts, name).verdict in (module.FINE, module.UNTESTED)


RNG = np.random.default_rng(0)
WRONG = {
    "each 300 times": lambda rank: np.repeat(rank[:10], 300),
    "one too many": lambda rank: np.minimum(rank + 1, 100),
    "capped": lambda rank: np.minimum(rank, 50),
    "a spike": lambda rank: np.where(RNG.random(rank.size) < 0.1, 37, rank),
    "rounded": lambda rank: np.maximum(rank // 10 * 10, 1),
}


@pytest.mark.parametrize("wrong", WRONG.values(), ids=WRONG)
@pytest.mark.parametrize("name", ["smooth", "mle", "naive"])
def test_wrong_ranks_do_not(wrong, name):
    rng = np.random.default_rng(1)
    rank = np.ceil(N_ITEMS * rng.random(3000) ** 2.5).astype(np.int64)
    sampled = 1 + rng.hypergeometric(rank - 1, N_ITEMS - rank, 99)
    counts = tr.RankCounts.from_ranks(
        wrong(sampled), n_items=N_ITEMS, sample_size=100, replacement=False
    )
    found = verdict_on(counts, name)
    assert not found.fits
    assert found.p_value < module.SIGNIFICANT


def test_a_sample_size_stated_too_large_shows_where_targets_rank_last():
    rng = np.random.default_rng(1)
    rank = rng.integers(1, N_ITEMS + 1, 3000)  # a random scorer
    sampled = 1 + rng.hypergeometric(rank - 1, N_ITEMS - rank, 99)
    options = {"n_items": N_ITEMS, "replacement": False}
    assert verdict_on(tr.RankCounts.from_ranks(sampled, sample_size=100, **options)).fits
    assert not verdict_on(tr.RankCounts.from_ranks(sampled, sample_size=200, **options)).fits


@pytest.mark.parametrize("size", [20, 100, 500])
def test_what_a_law_leads_one_to_expect_fits_it(size):
    """Weights equal to the chances of all outcomes leave a chi-square of 0, but for ranks that
    are read between others: off by (half a standard deviation)^2 / 8 of a second derivative, less
    than 1 % in a bin, 1e-4 of the users in all."""
    scheme = tr.Scheme(replacement=False)
    mass = np.arange(1.0, 1001.0) ** -0.6
    support = estimators.Support(np.arange(1.0, 1001.0), np.ones(1000), 1000)
    law = RankDistribution(support, mass / mass.sum(), np.empty(0), np.empty(0))
    ranks = np.arange(1, size + 1)
    log_p = log_probability(
        scheme, support.rank, n_items=1000, sample_size=size, sampled_rank=ranks
    )
    chance = np.exp(log_p) @ law.mass
    counts = tr.RankCounts.from_outcomes(
        scheme, n_items=1000, sample_size=size, sampled_rank=ranks, weight=10_000 * chance,
        squared_weight=10_000.0,
    )  # fmt: skip
    statistic, freedom, distance = misfit(counts, law)
    assert freedom >= 15
    assert statistic < 1e-4 * 10_000
    assert distance == 0.0


def test_users_who_scatter_together_are_no_misfit():
    """Blocks of 25 users with one rank each: without their groups they would be a misfit."""
    rng = np.random.default_rng(0)
    rank = np.ceil(N_ITEMS * rng.random(60) ** 2.5).astype(np.int64)
    sampled = 1 + rng.hypergeometric(rank - 1, N_ITEMS - rank, 99)
    options = {"n_items": N_ITEMS, "sample_size": 100, "replacement": False}
    parts = [
        tr.RankCounts.from_ranks(np.full(25, one), **options).of_replicate(group)
        for group, one in enumerate(sampled, start=1)
    ]
    shared = sum(parts[1:], parts[0])
    assert verdict_on(shared).fits
    assert not verdict_on(shared.pooled()).fits


@pytest.mark.parametrize("name", ["smooth", "mle", "naive", "mle(steps=3)"])
def test_honest_edges_are_not_called_impossible(name):
    """All targets at one rank, or last in pools that differ: draws give that."""
    rng = np.random.default_rng(0)
    pools = np.full(2000, N_ITEMS)
    one = simulated_counts(np.full(2000, 900), pools, Fixed(sample_size=500), rng)
    assert not verdict_on(one, name).verdict.startswith(module.IMPOSSIBLE)
    rank, pools = users(2000)
    rank = np.where(rng.random(2000) < 0.05, pools, rank)
    assert verdict_on(simulated_counts(rank, pools, Fixed(sample_size=100), rng), name).fits


def test_exact_and_few_ranks_are_not_tested():
    exact = tr.RankCounts.from_exact_ranks([1, 4, 2, 9], n_items=10)
    assert tr.estimate(exact, "recall@5").fit_test.verdict == module.EXACT
    few = tr.RankCounts.from_ranks([1, 4, 2, 9], n_items=1000, sample_size=20, replacement=True)
    assert tr.estimate(few, "recall@5").fit_test.verdict == module.UNTESTED


def made_up() -> tr.RankCounts:
    ranks = [1, 1, 3, 17, 2, 1, 54, 8, 1, 30] * 300
    return tr.RankCounts.from_ranks(ranks, n_items=3706, num_negatives=99)


def test_estimate_warns_with_the_remedy_and_keeps_the_test():
    with pytest.warns(FitWarning, match=r"Check that ranks are 1-based") as given:
        est = tr.estimate(made_up(), "recall@10")
    assert given[0].filename == __file__
    assert not est.fit_test.fits
    assert est.to_dict()["fit_test"]["p_value"] == est.fit_test.p_value
    assert est.fit_test.verdict in repr(est)
    assert est.fit_test.verdict in est._repr_html_()


def test_what_smooth_alone_cannot_follow_is_told_apart():
    """Half of the targets at one global rank, in a sample sharp enough to show it."""
    rng = np.random.default_rng(0)
    rank = np.where(rng.random(4000) < 0.5, 1500, rng.integers(1, N_ITEMS + 1, 4000))
    sampled = 1 + rng.hypergeometric(rank - 1, N_ITEMS - rank, 999)
    counts = tr.RankCounts.from_ranks(sampled, n_items=N_ITEMS, sample_size=1000, replacement=False)
    found = verdict_on(counts)
    assert not found.fits
    assert found.verdict.startswith(module.UNFOLLOWED)
    assert verdict_on(counts, "mle").fits
