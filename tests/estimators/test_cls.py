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
