"""Simulated evaluations follow the laws they are drawn from."""

from __future__ import annotations

import numpy as np
import pytest

import truerank as tr
from truerank.designs import LJ24, Adaptive, Fixed
from truerank.estimators.support import RankDistribution, compressed, full
from truerank.inference.planning.simulate import (
    crowd,
    global_ranks,
    predict_error,
    simulated_counts,
)
from truerank.outcomes.schemes import log_probability


def _power_law(support, exponent):
    upper = support.edge / support.n_items
    mass = np.diff(np.concatenate([[0.0], upper**exponent]))
    return RankDistribution(support, mass, np.empty(0), np.empty(0))


def test_global_ranks_follow_the_distribution():
    law = _power_law(compressed(100_000, sharpness=100, edges=[10, 100]), 0.3)
    rank = global_ranks(law, 200_000, np.random.default_rng(0))
    assert rank.min() >= 1
    assert rank.max() <= 100_000
    for k in (1, 10, 100, 10_000):
        p = float(law.cdf(k))
        assert (rank <= k).mean() == pytest.approx(p, abs=4 * np.sqrt(p / 200_000))


def test_exact_ranks_are_drawn_as_they_are():
    law = RankDistribution(full(50), np.zeros(50), np.array([7.0, 9.0]), np.array([0.25, 0.75]))
    rank = global_ranks(law, 10_000, np.random.default_rng(0))
    assert set(rank.tolist()) == {7, 9}
    assert (rank == 9).mean() == pytest.approx(0.75, abs=4 * np.sqrt(0.19 / 10_000))


@pytest.mark.parametrize(
    "design",
    [
        Fixed(sample_size=15, replacement=True),
        Fixed(sample_size=15),
        LJ24(start=5, stop=20, replacement=True),
        LJ24(start=5, stop=20, hits=2),
    ],
    ids=str,
)
def test_sampled_outcomes_follow_the_scheme(design):
    """Chi-square of one global rank's outcomes, 40 items, 20,000 users."""
    from scipy.stats import chi2

    n_users, n_items, rank = 20_000, 40, 6
    counts = simulated_counts(
        np.full(n_users, rank), np.full(n_users, n_items), design, np.random.default_rng(1)
    )
    scheme = design.scheme(n_items)
    sizes, ranks = scheme.outcomes(n_items, 15)
    expected = n_users * np.exp(
        log_probability(scheme, [rank], n_items=n_items, sample_size=sizes, sampled_rank=ranks)[
            :, 0
        ]
    )
    seen = dict(
        zip(
            zip(counts.sample_size.tolist(), counts.sampled_rank.tolist(), strict=True),
            counts.weight,
            strict=True,
        )
    )
    observed = np.array([seen.get(p, 0) for p in zip(sizes.tolist(), ranks.tolist(), strict=True)])
    assert observed.sum() == n_users
    common = expected > 5
    statistic = ((observed - expected)[common] ** 2 / expected[common]).sum()
    assert chi2.sf(statistic, common.sum()) > 1e-4


@pytest.mark.parametrize("replacement", [True, False])
def test_a_budget_cuts_the_ladder_as_the_sampler_does(replacement):
    """Pools of 60 to 90 items, ranks 1 to 20: costs, ladders and outcomes on average."""
    rng = np.random.default_rng(3)
    n_users = 4000
    rank, pool = rng.integers(1, 21, n_users), rng.integers(60, 91, n_users)
    # Users who leave out their last items: item i has rank i + 1.
    scorer = tr.scoring.Factors(np.ones((n_users, 1)), -np.arange(90.0)[:, None])
    train = (
        np.repeat(np.arange(n_users), 90 - pool),
        np.concatenate([np.arange(n, 90) for n in pool]),
    )
    test = np.arange(n_users), rank - 1
    for budget in (5, 10.5, 15, 21, 101):
        design = Adaptive(
            budget=budget, start=6, growth=2, stop=90, hits=2, replacement=replacement
        )
        ours = simulated_counts(rank, pool, design, rng)
        theirs = tr.count(scorer, test, design, train=train)
        sizes = [counts.schemes[0].ladder for counts in (ours, theirs)]
        assert sizes[0][:-1] == sizes[1][:-1]
        assert sizes[0][-1] == pytest.approx(sizes[1][-1], rel=0.1)
        for value in (lambda c: c.sample_size, lambda c: c.sampled_rank):
            mean = [counts.weight @ value(counts) / n_users for counts in (ours, theirs)]
            assert mean[0] == pytest.approx(mean[1], rel=0.05)
        assert ours.weight @ ours.sample_size <= budget * n_users


def test_a_capped_ladder_ends_at_the_pool():
    design = LJ24(start=5, growth=20, stop=100)
    counts = simulated_counts(
        np.ones(10, dtype=int), np.full(10, 30), design, np.random.default_rng(0)
    )
    assert counts.sample_size.tolist() == [30]
    assert counts.is_exact.all()


def test_predicted_errors_are_the_realised_ones():
    """Against 60 redraws of other users from the same law: within 40 % (each is known to 15 %)."""
    law = _power_law(compressed(5000, sharpness=200, edges=[50]), 0.4)
    (metric,) = tr.metrics.parse("recall@50")
    design, n_users = Fixed(sample_size=200, replacement=True), 2000
    mle = tr.estimators.get("mle")
    users = crowd(law, n_users)
    predicted = predict_error(users, metric, design=design, estimator=mle, repeats=40, seed=1)
    rng = np.random.default_rng(99)
    errors = []
    for _ in range(60):
        rank = global_ranks(law, n_users, rng)
        counts = simulated_counts(rank, np.full(n_users, 5000), design, rng)
        value = tr.estimate(counts, metric, estimator=mle)[metric].value
        errors.append(value - (rank <= 50).mean())
    realised = float(np.sqrt(np.mean(np.square(errors))))
    assert predicted.relative * predicted.value == pytest.approx(realised, rel=0.4)
    assert predicted.pairs_per_user == 200
