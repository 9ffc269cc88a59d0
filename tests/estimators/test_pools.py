"""Pools that differ by user, and the laws that hold for every estimator."""

from __future__ import annotations

import numpy as np
import pytest
import reference as ref

import truerank as tr

ESTIMATORS = tuple(tr.estimators.REGISTRY)


def _pooled(n_users=2000, pools=(200, 230, 300), seed=0, size=20):
    n_items = np.array(pools)[np.arange(n_users) % len(pools)]
    u = np.random.default_rng(seed).random(n_users)
    ranks = np.minimum(1 + np.floor(n_items * u ** (1 / 0.4)).astype(int), n_items)
    return ranks, n_items, ref.draw(ranks, n_items, size, seed + 1)


def test_mle_against_a_dense_reference():
    """One P(R) on 1..max N_u, P(r|R) = 0 beyond a user's own pool."""
    ranks, n_items, drawn = _pooled()
    counts = tr.RankCounts.from_ranks(drawn, n_items=n_items, sample_size=20, replacement=True)
    kernels = {}
    for pool in np.unique(n_items):
        kernels[pool] = np.zeros((300, 20))
        kernels[pool][:pool] = ref.probabilities(pool, 20)
    rows = np.stack([kernels[p][:, r - 1] for p, r in zip(n_items, drawn, strict=True)], axis=1)
    mass = ref.em(rows, np.full(len(ranks), 1 / len(ranks)), 100)
    est = tr.estimate(counts, ["recall@10", "ndcg@10", "auc"], estimator="mle", support="full")
    assert est["recall@10"].value == pytest.approx(mass[:10].sum(), abs=1e-9)
    assert est["ndcg@10"].value == pytest.approx(mass @ ref.gains("ndcg@10", 300), abs=1e-9)
    posterior = mass[:, None] * rows / (mass @ rows)
    auc = np.mean(
        [posterior[:pool, i] @ ref.gains("auc", int(pool)) for i, pool in enumerate(n_items)]
    )
    assert est["auc"].value == pytest.approx(auc, abs=1e-9)


@pytest.mark.parametrize("estimator", ["bv", "bv(gamma=1)", "cls"])
def test_linear_estimators_solve_pool_by_pool(estimator):
    """With a fixed prior, the whole is the mean of the pools estimated one by one."""
    _, n_items, drawn = _pooled()

    def value(which):
        counts = tr.RankCounts.from_ranks(
            drawn[which], n_items=n_items[which], sample_size=20, replacement=True
        )
        est = tr.estimate(counts, ["ndcg@10", "auc"], estimator=estimator, support="full")
        return np.array([est["ndcg@10"].value, est["auc"].value])

    parts = sum(value(n_items == pool) * np.mean(n_items == pool) for pool in np.unique(n_items))
    assert value(np.ones(n_items.size, dtype=bool)) == pytest.approx(parts, abs=1e-12)


@pytest.mark.parametrize("estimator", [e for e in ESTIMATORS if e not in ("wmle", "naive")])
def test_near_pools_share_a_design_at_little_cost(estimator):
    """Pools within 0.5 % are solved as one unless the support is full."""
    rng = np.random.default_rng(3)
    n_items = 3000 + rng.integers(0, 15, 3000)
    ranks = np.minimum(ref.power_law(3000, 3000, 0.4, seed=1), n_items)
    drawn = ref.draw(ranks, n_items, 30, seed=2)
    counts = tr.RankCounts.from_ranks(drawn, n_items=n_items, sample_size=30, replacement=True)
    shared = tr.estimate(counts, "recall@50", estimator=estimator)["recall@50"].value
    apart = tr.estimate(counts, "recall@50", estimator=estimator, support="full")
    assert shared == pytest.approx(apart["recall@50"].value, rel=2e-3)


def _metrics(estimator):
    return ["recall@10"] if estimator == "mapped" else ["recall@10", "ndcg@10", "ap", "auc"]


def _values(counts, estimator, **options):
    est = tr.estimate(counts, _metrics(estimator), estimator=estimator, **options)
    return np.array([result.value for result in est.values()])


@pytest.mark.parametrize("estimator", ESTIMATORS)
def test_permuting_users_and_merging_parts_changes_nothing(estimator):
    _, n_items, drawn = _pooled()

    def count(which):
        return tr.RankCounts.from_ranks(
            drawn[which], n_items=n_items[which], sample_size=20, replacement=True
        )

    everyone = np.arange(drawn.size)
    whole = _values(count(everyone), estimator)
    shuffled = np.random.default_rng(0).permutation(everyone)
    parts = count(shuffled[:700]) + count(shuffled[700:705]) + count(shuffled[705:])
    assert np.array_equal(_values(parts, estimator), whole)


@pytest.mark.parametrize("estimator", [e for e in ESTIMATORS if not e.startswith(("mn", "smooth"))])
def test_doubling_every_user_changes_nothing(estimator):
    """Except for mn and smooth, which know the number of users."""
    _, n_items, drawn = _pooled()
    counts = tr.RankCounts.from_ranks(drawn, n_items=n_items, sample_size=20, replacement=True)
    once, twice = _values(counts, estimator), _values(counts + counts, estimator)
    assert twice == pytest.approx(once, abs=1e-12)


@pytest.mark.parametrize("estimator", [e for e in ESTIMATORS if e not in ("naive", "wmle")])
def test_close_to_the_truth_with_many_users_and_negatives(estimator):
    """Bias and error against exact ranks: n is a quarter of N, K not in the blind spot."""
    n_items, n_users = 400, 20_000
    ranks = ref.power_law(n_items, n_users, 0.5, seed=7)
    drawn = ref.draw(ranks, n_items, 100, seed=8, replacement=False)
    counts = tr.RankCounts.from_ranks(drawn, n_items=n_items, sample_size=100, replacement=False)
    truth = (ranks <= 40).mean()
    value = tr.estimate(counts, "recall@40", estimator=estimator)["recall@40"].value
    naive = tr.estimate(counts, "recall@40", estimator="naive")["recall@40"].value
    # mes is pulled towards the uniform law, where recall@40 is 0.1.
    assert value == pytest.approx(truth, abs=0.03 if estimator == "mes" else 0.02)
    assert abs(naive - truth) > 0.2


def test_naive_auc_is_unbiased():
    """KR20 section 4.4.1, with and without replacement; the mean over 200 redraws."""
    ranks = ref.power_law(300, 200, 0.4, seed=0)
    exact = float(ref.gains("auc", 300)[ranks - 1].mean())
    for replacement in (True, False):
        values = []
        for seed in range(200):
            drawn = ref.draw(ranks, 300, 10, seed, replacement=replacement)
            counts = tr.RankCounts.from_ranks(
                drawn, n_items=300, sample_size=10, replacement=replacement
            )
            values.append(tr.estimate(counts, "auc", estimator="naive")["auc"].value)
        error = np.std(values) / np.sqrt(200)
        assert abs(np.mean(values) - exact) < 4 * error


def test_true_prior_and_expected_counts_give_the_true_metric():
    """bv(gamma=1) averages posterior means: with the true prior its expectation is the truth."""
    n_items, size = 250, 15
    truth = np.bincount(ref.power_law(n_items, 5000, 0.4, 0) - 1, minlength=n_items) / 5000
    expected = truth @ ref.probabilities(n_items, size)
    counts = tr.RankCounts.from_ranks(
        np.arange(1, size + 1), n_items=n_items, sample_size=size, replacement=True,
        weights=expected,
    )  # fmt: skip
    known = tr.RankCounts.from_exact_ranks(
        np.arange(1, n_items + 1)[truth > 0], n_items=n_items, weights=truth[truth > 0]
    )
    prior = tr.estimate(known, "recall@10", support="full").distribution
    bv = tr.estimators.BV(gamma=1.0, prior=prior)
    for metric in ("recall@10", "ndcg@20", "ap", "auc"):
        value = tr.estimate(counts, metric, estimator=bv, support="full")[metric].value
        assert value == pytest.approx(truth @ ref.gains(metric, n_items), abs=1e-12)
