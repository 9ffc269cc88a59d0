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
