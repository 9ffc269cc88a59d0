"""Several targets per user: laws of the estimates, and small cases worked by hand."""

from __future__ import annotations

import warnings
from dataclasses import replace

import numpy as np
import pytest
from scipy.special import ndtr

import truerank as tr
from truerank.estimators import several
from truerank.estimators._laplace import Mixture, find_mode
from truerank.estimators._logspline import log_spline
from truerank.estimators._neighbours import on_grid
from truerank.estimators._posterior import Component, Posterior
from truerank.estimators.likelihood import likelihood
from truerank.estimators.several import classes as of_targets
from truerank.estimators.several.known import Told
from truerank.estimators.several.order import order_laws
from truerank.outcomes import _places
from truerank.outcomes.schemes import Scheme

METRICS = ["recall@5", "precision@5", "hit_rate@5", "ndcg@5", "ap@5", "mrr@5", "auc", "r_precision"]
N_ITEMS = 400


def drawn(seed, *, n_users=400, sample_size=100):
    """Users with 1 to 9 targets, their ranks independent given the user, and sampled ranks."""
    rng = np.random.default_rng(seed)
    n_targets = rng.integers(1, 10, n_users)
    user = np.repeat(np.arange(n_users), n_targets)
    taste = rng.gamma(8.0, 0.075, n_users)[user]
    rank = np.ceil(N_ITEMS * rng.random(user.size) ** (1.0 / taste)).astype(np.int64).clip(1)
    sampled = 1 + rng.hypergeometric(rank - 1, N_ITEMS - rank, sample_size - 1)
    return user, rank, sampled


def exact_counts(user, rank):
    return tr.RankCounts.from_exact_ranks(
        rank, n_items=N_ITEMS, user_ids=user, item_ids=np.arange(user.size),
        rank_among="negatives",
    )  # fmt: skip


def sampled_counts(user, rank, sampled, sample_size=100):
    """As a tool writes them that scores its targets: lower ranks have higher scores."""
    return tr.RankCounts.from_ranks(
        sampled, sample_size=sample_size, n_items=N_ITEMS, replacement=False, user_ids=user,
        item_ids=np.arange(user.size), rank_among="negatives", scores=-rank,
    )  # fmt: skip


def quiet(counts, metrics=METRICS, **options):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return tr.estimate(counts, metrics, **options)


@pytest.mark.parametrize("estimator", ["naive", "rank-estimate", "bv", "mle", "mes", "smooth"])
def test_exact_ranks_are_exact_by_every_estimator(estimator):
    user, rank, _ = drawn(0, n_users=60)
    found = quiet(exact_counts(user, rank), estimator=estimator)
    naive = quiet(exact_counts(user, rank), estimator="naive")
    for metric in METRICS:
        assert found[metric].value == pytest.approx(naive[metric].value, abs=1e-12)
        assert found[metric].low == found[metric].high == pytest.approx(found[metric].value)


def test_two_users_by_hand():
    """One with targets at positions 1 and 4, one with its only target at 2."""
    counts = tr.RankCounts.from_exact_ranks(
        [1, 4, 2], n_items=[11, 11, 10], user_ids=["a", "a", "b"], item_ids=[1, 2, 3],
        rank_among="list",
    )  # fmt: skip
    assert counts.n_items.tolist() == [10, 10, 10]
    assert counts.place.tolist() == [1, 1, 2]  # sorted by rank among the non-targets: 1, 2 and 3
    assert counts.sampled_rank.tolist() == [1, 2, 3]
    dcg = 1.0 + 1.0 / np.log2(5)
    expected = {
        "recall@3": (1 / 2 + 1) / 2,
        "recall@4": 1.0,
        "precision@4": (2 / 4 + 1 / 4) / 2,
        "hit_rate@1": 1 / 2,
        "ndcg@4": (dcg / (1.0 + 1.0 / np.log2(3)) + 1.0 / np.log2(3)) / 2,
        "ap@4": ((1 + 2 / 4) / 2 + 1 / 2) / 2,
        "ap@1": (1 / 1 + 0) / 2,
        "ap_all@1": (1 / 2 + 0) / 2,
        "mrr@4": (1 + 1 / 2) / 2,
        "r_precision": (1 / 2 + 0) / 2,
        "auc": ((1 + (10 - 3) / 9) / 2 + (10 - 2) / 9) / 2,
    }
    found = quiet(counts, list(expected))
    for metric, value in expected.items():
        assert found[metric].value == pytest.approx(value, abs=1e-12), metric


def test_naive_metrics_are_those_of_the_sampled_list():
    counts = tr.RankCounts.from_ranks(
        [1, 2, 2], num_negatives=9, n_items=50, replacement=False, user_ids=[7, 7, 8],
        item_ids=[1, 2, 3], rank_among="negatives", shared_negatives=True,
    )  # fmt: skip
    found = quiet(counts, ["recall@2", "precision@3"], estimator="naive", confidence=None)
    # Positions 1 and 3 of user 7, 2 of user 8.
    assert found["recall@2"].value == pytest.approx((1 / 2 + 1) / 2)
    assert found["precision@3"].value == pytest.approx((2 / 3 + 1 / 3) / 2)


def test_known_items_above_shift_positions():
    options = {"n_items": 50, "user_ids": [1, 2], "replacement": False, "sample_size": 50}
    plain = tr.RankCounts.from_ranks([1, 3], **options)
    shifted = tr.RankCounts.from_ranks([1, 3], offset=[2, 0], **options)
    assert quiet(plain, "recall@3")["recall@3"].value == 1.0
    assert quiet(shifted, "recall@2")["recall@2"].value == 0.0
    assert quiet(shifted, "mrr@9")["mrr@9"].value == pytest.approx((1 / 3 + 1 / 3) / 2)
    with pytest.raises(tr.InputError, match="auc asks for the whole pool"):
        tr.estimate(shifted, "auc")


@pytest.mark.parametrize("estimator", ["naive", "bv", "mle", "smooth"])
def test_parts_merged_equal_the_whole(estimator):
    user, rank, sampled = drawn(1, n_users=120)
    whole = sampled_counts(user, rank, sampled)
    half = user % 2 == 0
    parts = [sampled_counts(user[at], rank[at], sampled[at]) for at in (half, ~half)]
    assert parts[0] + parts[1] == whole
    found, merged = (quiet(c, estimator=estimator, confidence=None) for c in (whole, sum(parts)))
    for metric in METRICS:
        assert merged[metric].value == pytest.approx(found[metric].value, rel=1e-9)


def test_saved_counts_are_the_same(tmp_path):
    user, rank, sampled = drawn(2, n_users=50)
    counts = sampled_counts(user, rank, sampled)
    counts.save(tmp_path / "several.parquet")
    assert tr.RankCounts.load(tmp_path / "several.parquet") == counts


def test_gains_to_first_order_have_the_estimate_as_mean():
    user, rank, sampled = drawn(3)
    counts = sampled_counts(user, rank, sampled)
    metrics = tr.metrics.parse(METRICS)
    fit = several.fit(
        tr.estimators.Smooth(), counts, metrics=metrics, support="auto", plug_in="plain"
    )
    mean = counts.weight @ fit.places.influence(counts, metrics) / counts.total_weight
    assert mean == pytest.approx([fit.values[metric.key] for metric in metrics], abs=1e-9)


def test_order_law_is_that_of_independent_targets():
    """The best and the worst of two with P(R <= r) = F: 1 - (1 - F)^2 and F^2."""
    counts = tr.RankCounts.from_outcomes(
        Scheme(False), n_items=10, sample_size=10, sampled_rank=[1, 2], weight=[1, 1],
        place=[1, 2], n_targets=2,
    )  # fmt: skip
    grid = tr.estimators.Support(np.arange(1.0, 11.0), np.ones(10), 10)
    below = np.arange(1.0, 11.0) / 10
    law = tr.estimators.RankDistribution(grid, np.full(10, 0.1), np.empty(0), np.empty(0))
    parts = [counts.select(counts.place == place) for place in (1, 2)]
    found = order_laws(parts, law)
    for mass, cumulated in zip(found.mass, (1 - (1 - below) ** 2, below**2), strict=True):
        mixed = 0.95 * np.diff(cumulated, prepend=0.0) + 0.05 * 0.1
        # Read from a cubic between normal scores 0.04 apart: 0.04^4 / 384 of the fourth derivative.
        assert mass == pytest.approx(mixed, abs=1e-7)


def together_by_taste(rho, n_targets, n_users, seed):
    """Shares of items above each target of users, best first, (n_users, n_targets)."""
    rng = np.random.default_rng(seed)
    taste = np.sqrt(rho) * rng.normal(size=(n_users, 1))
    score = taste + np.sqrt(1 - rho) * rng.normal(size=(n_users, n_targets))
    return np.sort(ndtr(score), axis=1)


@pytest.mark.parametrize("rho", [0.0, 0.3, 0.7])
def test_order_law_is_that_of_targets_that_go_together(rho):
    grid = tr.estimators.Support(np.arange(1.0, 11.0), np.ones(10), 10)
    law = tr.estimators.RankDistribution(grid, np.full(10, 0.1), *np.empty((2, 0)))
    counts = tr.RankCounts.from_outcomes(
        Scheme(False), n_items=10, sample_size=10, sampled_rank=[1, 2, 3, 4], weight=[1, 1, 1, 1],
        place=[1, 2, 3, 4], n_targets=4,
    )  # fmt: skip
    parts = [counts.select(counts.place == place) for place in range(1, 5)]
    found = order_laws(parts, law, correlation=rho)
    drawn = together_by_taste(rho, 4, 100_000, seed=3)
    for mass, above in zip(found.mass, drawn.T, strict=True):
        share = np.bincount((10 * above).astype(int), minlength=10) / above.size
        # Five standard errors of a share of 100,000 users.
        assert mass == pytest.approx(0.95 * share + 0.05 * 0.1, abs=5 * 0.5 / np.sqrt(100_000))
    every = found.mass.mean(axis=0)  # whatever the correlation, all targets follow the law of all
    assert every == pytest.approx(np.full(10, 0.1), abs=1e-5)


@pytest.mark.parametrize("rho", [0.0, 0.2, 0.5])
def test_outcomes_tell_how_much_targets_go_together(rho):
    drawn = together_by_taste(rho, 4, 1500, seed=4)
    rank = 1 + np.floor(1000 * drawn).astype(int).ravel()
    rng = np.random.default_rng(5)
    user = np.repeat(np.arange(1500), 4)
    counts = tr.RankCounts.from_outcomes(
        Scheme(False), n_items=1000, sample_size=100, weight=np.ones(rank.size),
        sampled_rank=1 + rng.hypergeometric(rank - 1, 1000 - rank, 99),
        place=np.tile([1, 2, 3, 4], 1500), n_targets=4,
        block=_places.blocks(user, np.full(user.size, 4)), n_users=1500,
    )  # fmt: skip
    fit = several.fit(
        tr.estimators.Smooth(), counts, metrics=tr.metrics.parse(["recall@10"]), support="auto",
        plug_in="plain",
    )  # fmt: skip
    # The information of 1,500 users of four is some 1 / 0.015^2 and more; the grid reads 0.01 off.
    assert fit.places.known.order.correlation == pytest.approx(rho, abs=0.05)


@pytest.mark.parametrize("rho", [0.0, 0.3])
def test_gains_of_single_targets_move_as_the_metrics_of_classes_do(rho):
    """Central differences of the laws of the best and the rest of four, as the law of all moves."""
    rng = np.random.default_rng(6)
    counts = tr.RankCounts.from_outcomes(
        Scheme(False), n_items=30, sample_size=30, sampled_rank=[1, 2, 3, 4], weight=[1, 1, 1, 1],
        place=[1, 2, 3, 4], n_targets=4,
    )  # fmt: skip
    parts = [counts.select(counts.place == 1), counts.select(counts.place > 1)]
    grid = tr.estimators.Support(np.arange(1.0, 31.0), np.ones(30), 30)
    mass = rng.dirichlet(np.ones(30))
    gain = rng.random((2, 30))  # of a metric, by class

    def value(log_change):
        law = mass * np.exp(log_change)
        law = tr.estimators.RankDistribution(grid, law / law.sum(), np.empty(0), np.empty(0))
        return float((order_laws(parts, law, correlation=rho).mass * gain).sum())

    law = tr.estimators.RankDistribution(grid, mass, *np.empty((2, 0)))
    order = order_laws(parts, law, correlation=rho)
    single = sum(order.pulled(at, (order.mass[at] * gain[at])[None])[0] for at in range(2))
    slope = mass * (single - single @ mass)
    step = 1e-4 * np.eye(30)
    differences = [(value(one) - value(-one)) / 2e-4 for one in step]
    assert slope == pytest.approx(differences, abs=1e-7)


def test_strays_give_way_when_their_base_measure_moves():
    """To first order: against a mode sought again from the other base measure."""
    user, rank, sampled = drawn(7)
    counts = sampled_counts(user, rank, sampled).single()
    grid = tr.estimators.Support(np.arange(1.0, N_ITEMS + 1.0), np.ones(N_ITEMS), N_ITEMS)
    model, spline = likelihood(counts, grid), log_spline(grid, 8)
    factor, change = 0.5 * np.eye(8), 1e-3 * np.sin(np.arange(N_ITEMS) / 40.0)

    def mode(log_weight):
        seen = Mixture(model, replace(spline, log_weight=log_weight), 500.0)
        first = find_mode(seen, factor, np.zeros(8))
        return find_mode(seen, factor, first.coefficients)  # one more step squares what is left

    here, there = mode(spline.log_weight), mode(spline.log_weight + change)
    told = Told(Posterior(model, spline, (Component(1.0, here.coefficients, here.root),), 500.0))
    slope = np.eye(8)
    moved = there.coefficients - here.coefficients
    assert -told.resisted(slope) @ change == pytest.approx(moved, abs=2e-3 * np.abs(moved).max())


@pytest.mark.parametrize("n_users", [50, 2000])
def test_outcomes_shared_by_neighbours_are_as_many_independent_users(n_users):
    user, rank, sampled = drawn(8, n_users=n_users)
    single = sampled_counts(user, rank, sampled).single()
    assert on_grid(single).effective_users == pytest.approx(single.effective_users, rel=1e-12)


def test_laws_of_classes_know_as_many_targets_as_there_are():
    """A fit of a class weighs its targets 1 / sqrt(t), that of all 1 / t, and none twice."""
    user, rank, sampled = drawn(9)
    counts = sampled_counts(user, rank, sampled)
    fit = quiet(counts, "recall@5", confidence=None).fit
    of = fit.places.classes.of(counts)
    for number, told in enumerate(fit.places.known.classes):
        weight, t = counts.weight[of == number], counts.n_targets[of == number]
        effective = (weight @ t**-0.5) ** 2 / (weight @ (1.0 / t))
        assert told.n_users == pytest.approx(effective)
    weight, t = counts.weight, counts.n_targets
    effective = (weight @ (1.0 / t)) ** 2 / (weight @ (1.0 / t**2))
    assert fit.places.known.all.n_users == pytest.approx(effective)


def test_classes_keep_places_apart_and_pool_thin_ones():
    user, rank, sampled = drawn(4, n_users=3000)
    counts = sampled_counts(user, rank, sampled)
    classes = of_targets.classes_of(counts, 5.0)
    of = classes.of(counts)
    best = set(of[counts.place == 1])
    assert not best & set(of[counts.place > 1])
    assert min(np.bincount(of, counts.weight)) >= of_targets.FEWEST
    assert len(set(of[counts.place > 7])) <= len(best) + 4  # beyond the cut-off places are one


@pytest.mark.parametrize("shared", [False, True])
def test_intervals_hold_the_exact_metrics(shared):
    """95 % intervals over 24 evaluations of users with tastes of their own, 7 metrics each."""
    metrics = [metric for metric in METRICS if metric != "auc"]
    inside = []
    for seed in range(24):
        user, rank, sampled = drawn(100 + seed)
        if shared:  # one list of negatives per user
            rng = np.random.default_rng(seed)
            first = {u: rng.random(99) for u in np.unique(user)}
            sampled = np.array(
                [
                    1 + (first[u] * (N_ITEMS - 1) < r - 1).sum()
                    for u, r in zip(user, rank, strict=True)
                ]
            )
            counts = tr.RankCounts.from_ranks(
                sampled, sample_size=100, n_items=N_ITEMS, replacement=True, user_ids=user,
                item_ids=np.arange(user.size), rank_among="negatives", shared_negatives=True,
            )  # fmt: skip
        else:
            counts = sampled_counts(user, rank, sampled)
        found, truth = quiet(counts, metrics), quiet(exact_counts(user, rank), metrics)
        inside += [found[m].low <= truth[m].value <= found[m].high for m in metrics]
    # 24 independent evaluations: even if the metrics of each went together, 4 standard errors of
    # a mean of 0.95 are 0.18.
    assert np.mean(inside) >= 0.95 - 4 * np.sqrt(0.95 * 0.05 / 24)


def test_estimators_without_gains_or_laws_say_so():
    user, rank, sampled = drawn(5, n_users=40)
    with pytest.raises(tr.InputError, match="mapped"):
        tr.estimate(sampled_counts(user, rank, sampled), "recall@5", estimator="mapped")
