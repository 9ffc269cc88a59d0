"""Bias and variance of linear estimators, and of the sampled recall itself."""

from __future__ import annotations

import numpy as np
import pytest
import reference as ref

import truerank as tr
from truerank.estimators import diagnostics

N_ITEMS, SIZE, N_USERS = 300, 15, 1000


@pytest.fixture(scope="module")
def counts():
    drawn = ref.draw(ref.power_law(N_ITEMS, N_USERS, 0.4, 0), N_ITEMS, SIZE, 1)
    return tr.RankCounts.from_ranks(drawn, n_items=N_ITEMS, sample_size=SIZE, replacement=True)


@pytest.mark.parametrize("estimator", ["bv", "bv(gamma=0.3)", "bv-mle", "mn-mle"])
def test_corrected_gains_are_the_adjoint_of_the_masses(counts, estimator):
    metrics = tr.metrics.parse(["recall@10", "ndcg@20", "ap", "auc"])
    chosen = tr.estimators.get(estimator)
    ((design, _, gains),) = chosen.corrected_gains(counts, metrics)
    est = tr.estimate(counts, metrics, estimator=chosen)
    assert gains @ design.observed == pytest.approx([r.value for r in est.values()], abs=1e-10)


def test_bounds_by_hand(counts):
    a, uniform = ref.probabilities(N_ITEMS, SIZE), np.full(N_ITEMS, 1 / N_ITEMS)
    gain = ref.gains("recall@10", N_ITEMS)
    d = np.diag(uniform)
    gram = 0.9 * a.T @ d @ a + 0.1 * np.diag(uniform @ a)
    m = np.linalg.solve(gram, a.T @ d @ gain)
    bound = diagnostics.error_bound(counts, "recall@10", estimator="bv(gamma=0.1)", support="full")
    assert bound.bias_squared == pytest.approx(uniform @ (a @ m - gain) ** 2, rel=1e-9)
    spread = a @ m**2 - (a @ m) ** 2
    assert bound.variance == pytest.approx(uniform @ spread / N_USERS, rel=1e-9)
    assert bound.variance_bound == pytest.approx(spread.sum() / N_USERS, rel=1e-9)


def test_less_variance_costs_bias(counts):
    bounds = [
        diagnostics.error_bound(counts, "ndcg@10", estimator=f"bv(gamma={g})")
        for g in (0.001, 0.01, 0.1, 1.0)
    ]
    assert (np.diff([b.bias_squared for b in bounds]) > 0).all()
    assert (np.diff([b.variance for b in bounds]) < 0).all()


@pytest.mark.parametrize("replacement", [True, False])
def test_variance_of_the_sampled_recall(replacement):
    """Against 400 redraws; a sample variance is off by a share sqrt(2/399) = 7 % (one sigma)."""
    ranks = ref.power_law(N_ITEMS, N_USERS, 0.4, 0)
    exact = tr.RankCounts.from_exact_ranks(ranks, n_items=N_ITEMS)
    truth = tr.estimate(exact, "recall@10", support="full").distribution
    stated = diagnostics.sampled_recall_variance(
        truth, 5, sample_size=SIZE, n_users=N_USERS, replacement=replacement
    )
    redraws = [
        (ref.draw(ranks, N_ITEMS, SIZE, seed, replacement=replacement) <= 5).mean()
        for seed in range(400)
    ]
    assert np.var(redraws) == pytest.approx(stated, rel=4 * np.sqrt(2 / 399))


def test_only_linear_estimators(counts):
    with pytest.raises(tr.InputError, match="not linear"):
        diagnostics.error_bound(counts, "recall@10", estimator="mle")
