"""Several targets per user: laws of the estimates, and small cases worked by hand."""

from __future__ import annotations

import warnings

import numpy as np
import pytest

import truerank as tr
from truerank.estimators import several
from truerank.estimators.several import classes as of_targets
from truerank.estimators.several.fitting import order_law
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
    for place, cumulated in ((1, 1 - (1 - below) ** 2), (2, below**2)):
        found = order_law(counts.select(counts.place == place), law)
        mixed = 0.95 * np.diff(cumulated, prepend=0.0) + 0.05 * 0.1
        assert found == pytest.approx(mixed, abs=1e-12)


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
