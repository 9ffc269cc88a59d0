"""cls: a small quadratic program, against cvxpy."""

from __future__ import annotations

import numpy as np
import pytest
import reference as ref

import truerank as tr


@pytest.mark.parametrize("metric", ["recall@5", "ndcg@10", "ap", "auc"])
@pytest.mark.parametrize("replacement", [True, False])
def test_against_cvxpy(metric, replacement):
    import cvxpy as cp

    n_items, size = 120, 12
    a = ref.probabilities(n_items, size, replacement=replacement)
    gain = ref.gains(metric, n_items)
    m = cp.Variable(size)
    problem = cp.Problem(cp.Minimize(cp.sum_squares(a @ m - gain)), [m[:-1] >= m[1:]])
    problem.solve(solver=cp.CLARABEL, tol_gap_abs=1e-13, tol_gap_rel=1e-13, tol_feas=1e-13)
    drawn = ref.draw(ref.power_law(n_items, 500, 0.4, 0), n_items, size, 1, replacement=replacement)
    observed = np.bincount(drawn - 1, minlength=size) / 500
    counts = tr.RankCounts.from_ranks(
        drawn, n_items=n_items, sample_size=size, replacement=replacement
    )
    est = tr.estimate(counts, metric, estimator="cls", support="full")
    assert est[metric].value == pytest.approx(observed @ m.value, abs=1e-5)


@pytest.mark.parametrize("metric", ["recall@5", "ndcg@10", "auc"])
@pytest.mark.parametrize("nonnegative", [True, False])
def test_against_cvxpy_with_prior_and_bound(metric, nonnegative):
    """KR20 eq. 21 with p(R) that is not uniform, and gains that may not be negative."""
    import cvxpy as cp

    n_items, size = 120, 12
    a = ref.probabilities(n_items, size)
    gain = ref.gains(metric, n_items)
    share = 1.0 / np.arange(1, n_items + 1) ** 0.5
    share /= share.sum()
    m = cp.Variable(size)
    bounds = [m[:-1] >= m[1:]] + [m >= 0] * nonnegative
    problem = cp.Problem(cp.Minimize(cp.sum(cp.multiply(share, cp.square(a @ m - gain)))), bounds)
    problem.solve(solver=cp.CLARABEL, tol_gap_abs=1e-11, tol_gap_rel=1e-11, tol_feas=1e-11)
    prior = tr.estimators.RankDistribution(
        tr.estimators.Support(np.arange(1.0, n_items + 1), np.ones(n_items), n_items),
        share,
        np.empty(0),
        np.empty(0),
    )
    drawn = ref.draw(ref.power_law(n_items, 500, 0.4, 0), n_items, size, 1)
    observed = np.bincount(drawn - 1, minlength=size) / 500
    counts = tr.RankCounts.from_ranks(drawn, n_items=n_items, sample_size=size, replacement=True)
    cls = tr.estimators.CLS(nonnegative=nonnegative, prior=prior)
    est = tr.estimate(counts, metric, estimator=cls, support="full")
    assert est[metric].value == pytest.approx(observed @ m.value, abs=1e-5)


def test_two_outcomes_by_hand():
    """N = 3, one negative: A = (1, 0), (1/2, 1/2), (0, 1); recall@1 is (1, 0, 0).

    Least squares of (m1, (m1 + m2) / 2, m2) to (1, 0, 0): the normal equations 5 m1 + m2 = 4 and
    m1 + 5 m2 = 0 give m = (5/6, -1/6). With m2 >= 0, m2 = 0 and m1 = (1 + 0) / (1 + 1/4) = 4/5.
    """
    counts = tr.RankCounts.from_ranks([1, 2], n_items=3, sample_size=2, replacement=True)
    wanted = tr.metrics.parse("recall@1")
    for nonnegative, by_hand in ((False, (5 / 6, -1 / 6)), (True, (4 / 5, 0.0))):
        cls = tr.estimators.CLS(nonnegative=nonnegative)
        gains = cls.gains(counts, metrics=wanted, support="full")
        np.testing.assert_allclose(gains[:, 0], by_hand, atol=1e-12)


def test_prior_found_in_the_same_sample():
    """prior='mle' is the distribution that mle finds."""
    ranks = ref.draw(ref.power_law(300, 400, 0.4, 0), 300, 20, 1)
    counts = tr.RankCounts.from_ranks(ranks, n_items=300, sample_size=20, replacement=True)
    mle = tr.estimate(counts, "recall@10", estimator="mle", confidence=None)
    found = tr.estimate(counts, "recall@10", estimator="cls(prior='mle')", confidence=None)
    given = tr.estimate(
        counts, "recall@10", estimator=tr.estimators.CLS(prior=mle.distribution), confidence=None
    )
    assert found["recall@10"].value == pytest.approx(given["recall@10"].value, rel=1e-9)
    uniform = tr.estimate(counts, "recall@10", estimator="cls", confidence=None)
    assert found["recall@10"].value != pytest.approx(uniform["recall@10"].value, rel=1e-3)


def test_gains_fall_with_the_sampled_rank():
    """One user at each sampled rank in turn shows the corrected gains themselves."""
    gains = [
        tr.estimate(
            tr.RankCounts.from_ranks([rank], n_items=1000, sample_size=40, replacement=True),
            "ndcg@20",
            estimator="cls",
        )["ndcg@20"].value
        for rank in range(1, 41)
    ]
    assert (np.diff(gains) <= 1e-12).all()
    assert gains[0] > gains[-1]
