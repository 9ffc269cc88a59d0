"""Predicted errors against cost."""

from __future__ import annotations

import numpy as np
import pytest

import truerank as tr
from truerank.inference.planning.frontier import Frontier, FrontierPoint, frontier


@pytest.fixture(scope="module")
def pilot() -> tr.RankCounts:
    rng = np.random.default_rng(0)
    rank = np.ceil(2000 * rng.random(1500) ** 3).astype(int)
    above = rng.hypergeometric(rank - 1, 2000 - rank, 99)
    return tr.RankCounts.from_ranks(above + 1, n_items=2000, sample_size=100, replacement=False)


def test_more_pairs_err_less_and_adaptive_ones_less_still(pilot) -> None:
    found = frontier(pilot, "recall@20", pairs=[50, 800], repeats=3)
    assert found.metric == "recall@20"
    adaptive, fixed = found.of("adaptive"), found.of("fixed")
    assert [point.pairs_per_user for point in fixed] == [50, 800]
    for points in (adaptive, fixed):
        assert points[0].error > 1.5 * points[1].error >= 0.0  # adaptive samples see the top 20
    assert fixed[1].error > 0.0
    assert adaptive[1].error < fixed[1].error
    assert adaptive[0].pairs_per_user == pytest.approx(50, rel=0.1)


def test_costs_are_those_around_the_pilot(pilot) -> None:
    found = frontier(tr.estimate(pilot), designs=["fixed"], repeats=1)
    assert [point.pairs_per_user for point in found.points] == [25, 50, 100, 200, 400]


def test_the_cost_of_an_error_is_read_between() -> None:
    points = tuple(FrontierPoint("adaptive", p, e) for p, e in ((100, 0.1), (400, 0.05)))
    found = Frontier("recall@10", points)
    assert found.pairs_for(0.1) == pytest.approx(100)
    assert found.pairs_for(0.05) == pytest.approx(400)
    assert found.pairs_for(np.sqrt(0.1 * 0.05)) == pytest.approx(200)
    assert found.pairs_for(0.01) is None
    assert found.pairs_for(0.2) is None
    assert found.pairs_for(0.07, "fixed") is None


def test_bad_input(pilot) -> None:
    with pytest.raises(tr.InputError, match="foo"):
        frontier(pilot, designs=["foo"])
    with pytest.raises(tr.InputError, match="several"):
        frontier(pilot, "recall@1,2")
    with pytest.raises(tr.InputError, match="like has no users"):
        frontier(tr.estimate(pilot).distribution)
    with pytest.raises(tr.InputError, match="pairs is 0"):
        frontier(pilot, pairs=[0])


def test_curves_are_smooth_fall_and_go_through_the_evaluation_made() -> None:
    costs, rough = np.array([25, 50, 100, 200, 400]), np.array([0.21, 0.12, 0.13, 0.07, 0.05])
    fixed = tuple(FrontierPoint("fixed", p, e) for p, e in zip(costs, rough, strict=True))
    adaptive = tuple(FrontierPoint("adaptive", p, e / 2) for p, e in zip(costs, rough, strict=True))
    found = Frontier("recall@10", adaptive + fixed)
    plain = found.curve("fixed")
    assert (np.diff(plain.error) < 0.0).all()
    # A parabola through noisy points lies between them, and its band holds them.
    for pairs, error in zip(costs, rough, strict=True):
        at = np.abs(plain.pairs_per_user - pairs).argmin()
        assert plain.low[at] < error < plain.high[at]
    moved = found.curve("fixed", through=(100, 0.2))
    at = np.abs(moved.pairs_per_user - 100).argmin()
    assert moved.error[at] == pytest.approx(0.2)
    other = found.curve("adaptive", through=(100, 0.2), of="fixed")
    np.testing.assert_allclose(other.error, moved.error / 2)  # moved as far, in logarithms
    assert found.curve("fixed", through=(100, 0.2)).pairs_for(0.2) == pytest.approx(100)
    assert moved.pairs_for(1.0) is None


@pytest.mark.parametrize("errors", [(0.1, 0.2, 0.15), (0.2, 0.1, 0.12), (0.1, 0.1, 0.1)])
def test_curves_never_rise(errors) -> None:
    points = tuple(FrontierPoint("fixed", p, e) for p, e in zip((10, 40, 160), errors, strict=True))
    assert (np.diff(Frontier("auc", points).curve("fixed").error) <= 1e-12).all()
    assert Frontier("auc", points).curve("adaptive") is None
    assert Frontier("auc", points[:1]).curve("fixed") is None
