"""The gate: what an interval says of a loss, whichever way is better."""

from __future__ import annotations

import numpy as np
import pytest

import truerank as tr
from truerank.inference.comparing.gate import Gate

N_ITEMS = 50


def compared(metric: str, scope: str = "population") -> tr.inference.comparing.Comparison:
    rng = np.random.default_rng(3)
    old = rng.integers(1, N_ITEMS + 1, 300)
    ranks = {"old": old, "new": np.where(rng.random(300) < 0.4, rng.integers(1, 51, 300), old)}
    ranks["new"] = np.minimum(ranks["new"] + 5, N_ITEMS)
    counts = {
        name: tr.RankCounts.from_exact_ranks(one, n_items=N_ITEMS) for name, one in ranks.items()
    }
    return tr.compare(counts, metric, scope=scope)


@pytest.mark.parametrize(("metric", "way"), [("mr", -1.0), ("amr", -1.0), ("auc", 1.0)])
def test_states_are_read_off_the_interval_of_the_gain(metric: str, way: float) -> None:
    found = compared(metric)
    off = found["new", "old"]
    assert way * off.value < 0.0  # new is worse
    losses = sorted((-way * off.low, -way * off.high))
    for margin, state in ((0.0, None), (losses[0] * 0.9, "worse"), (np.mean(losses), "open")):
        if margin < 0.0:
            continue
        gate = Gate.of(found, "new", "old", margin=float(margin))
        assert state is None or gate.state == state
        assert gate.passed is (gate.state != "worse")
    assert Gate.of(found, "new", "old", margin=losses[1] * 1.01).state == "as good"
    other_way_round = Gate.of(found, "old", "new", margin=0.0)
    assert other_way_round.passed
    assert Gate.of(found, "new", "old").to_dict()["lower_is_better"] is (way < 0.0)


def test_mean_ranks_and_auc_agree() -> None:
    """mr = 1 + (1 - auc) (N - 1): the same margin in other units gives the same judgement."""
    mean_rank, auc = compared("mr", "these-users"), compared("auc", "these-users")
    loss = mean_rank["new", "old"].value
    for margin in (0.5 * loss, 0.99 * loss, 1.01 * loss, 2.0 * loss):
        one = Gate.of(mean_rank, "new", "old", margin=margin)
        two = Gate.of(auc, "new", "old", margin=margin / (N_ITEMS - 1))
        assert one.state == two.state == ("worse" if margin < loss else "as good")
