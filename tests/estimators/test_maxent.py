"""mes: the optimum of a convex problem, against cvxpy and by its own optimality conditions."""

from __future__ import annotations

import numpy as np
import pytest
import reference as ref

import truerank as tr


def _objective(a, observed, mass, eta):
    inside = mass > 0
    entropy = -(mass[inside] @ np.log(mass[inside]))
    return eta * entropy - a.shape[1] * observed @ (mass @ a - observed) ** 2


@pytest.mark.parametrize("eta", [0.1, 0.01, 0.001])
@pytest.mark.parametrize("replacement", [True, False])
def test_against_cvxpy(eta, replacement):
    import cvxpy as cp

    n_items, size = 150, 15
    ranks = ref.power_law(n_items, 1000, 0.3, seed=0)
    drawn = ref.draw(ranks, n_items, size, seed=1, replacement=replacement)
    observed = np.bincount(drawn - 1, minlength=size) / 1000
    a = ref.probabilities(n_items, size, replacement=replacement)
    pi = cp.Variable(n_items)
    misfit = cp.sum(cp.multiply(size * observed, cp.square(a.T @ pi - observed)))
    problem = cp.Problem(cp.Maximize(eta * cp.sum(cp.entr(pi)) - misfit), [cp.sum(pi) == 1])
    problem.solve(solver=cp.CLARABEL)
    counts = tr.RankCounts.from_ranks(
        drawn, n_items=n_items, sample_size=size, replacement=replacement
    )
    est = tr.estimate(counts, "recall@1,10,50", estimator=f"mes(eta={eta})", support="full")
    assert est.converged
    assert est.details["objective"] == pytest.approx(
        _objective(a, observed, np.maximum(pi.value, 0), eta), abs=1e-5
    )
    for k in (1, 10, 50):
        assert est[f"recall@{k}"].value == pytest.approx(pi.value[:k].sum(), abs=1e-4)


def test_stationary():
    """At the optimum eta (log pi + 1) + 2 n A diag(p~)(A'pi - p~) is the same at every rank."""
    n_items, size, eta = 300, 20, 0.01
    drawn = ref.draw(ref.power_law(n_items, 3000, 0.3, 0), n_items, size, 1)
    observed = np.bincount(drawn - 1, minlength=size) / 3000
    counts = tr.RankCounts.from_ranks(drawn, n_items=n_items, sample_size=size, replacement=True)
    est = tr.estimate(counts, "recall@10", estimator="mes", support="full")
    mass = est.distribution.pmf(np.arange(1, n_items + 1))
    a = ref.probabilities(n_items, size)
    slope = eta * np.log(mass) + 2 * size * a @ (observed * (mass @ a - observed))
    assert np.ptp(slope) < 1e-5


def test_more_entropy_means_flatter():
    drawn = ref.draw(ref.power_law(500, 2000, 0.3, 0), 500, 30, 1)
    counts = tr.RankCounts.from_ranks(drawn, n_items=500, sample_size=30, replacement=True)
    recall = [
        tr.estimate(counts, "recall@10", estimator=f"mes(eta={eta})")["recall@10"].value
        for eta in (100.0, 1.0, 0.01)
    ]
    assert recall[0] == pytest.approx(10 / 500, rel=0.06)  # entropy alone: uniform
    assert recall[0] < recall[1] < recall[2]


def test_more_outcomes_than_points_takes_the_other_route_to_the_same_optimum():
    """Exact ranks give one outcome a rank; the Newton system is then solved in points."""
    ranks = ref.power_law(80, 3000, 0.5, seed=0)
    counts = tr.RankCounts.from_exact_ranks(ranks, n_items=80)
    drawn = ref.draw(ranks, 80, 20, seed=1)
    counts = counts + tr.RankCounts.from_ranks(drawn, n_items=80, sample_size=20, replacement=True)
    est = tr.estimate(counts, "recall@10", estimator="mes", support="full")
    assert est.converged
    assert est["recall@10"].value == pytest.approx(float((ranks <= 10).mean()), abs=0.05)
