"""Cheap likelihoods for predictions: as good as those of estimates, with fewer points."""

from __future__ import annotations

import numpy as np
import pytest

from truerank import metrics
from truerank.designs import LJ24, Adaptive, Design, Fixed
from truerank.estimators import Smooth
from truerank.estimators._lean import lean_counts, lean_support
from truerank.estimators.likelihood import make_support
from truerank.inference.planning.like import power_law
from truerank.inference.planning.simulate import global_ranks, simulated_counts
from truerank.outcomes.counts import RankCounts

N_ITEMS, N_USERS = 1_000_000, 3000


def _counts(design: Design, metric: metrics.Metric) -> RankCounts:
    rng = np.random.default_rng(0)
    rank = global_ranks(power_law(N_ITEMS, 0.3, metric), N_USERS, rng)
    return simulated_counts(rank, np.full(N_USERS, N_ITEMS), design, rng)


@pytest.mark.parametrize(
    ("key", "design", "most"),
    [
        ("recall@10", Adaptive(budget=5000), 0.1),
        ("ndcg@100", LJ24(start=50, stop=100_000), 0.4),
        ("recall@100", Fixed(sample_size=50_000), 0.5),
        ("recall@100", Fixed(sample_size=50_000, replacement=True), 0.5),
    ],
)
def test_predictions_are_those_of_the_whole_likelihood(key, design, most):
    """Value and spread within 3 %, a tenth of what a plan says of errors, with fewer points."""
    (metric,) = metrics.parse(key)
    counts = _counts(design, metric)
    lean = lean_counts(counts, metric).as_users(N_USERS)
    grids = lean_support(lean, [metric]), make_support(counts, [metric], "auto")
    assert grids[0].n_points < most * grids[1].n_points
    found = []
    for table, grid in zip((lean, counts), grids, strict=True):
        fit = Smooth().fit(table, metrics=[metric], support=grid, plug_in="plain")
        spread = float(np.sqrt(fit.posterior.variance([metric])[0]))
        found.append((fit.values[metric.key], spread))
    assert found[0] == pytest.approx(found[1], rel=0.03)
    assert lean.total_weight == pytest.approx(counts.total_weight)


def test_what_stays_as_it_is():
    metric, whole = metrics.parse(["recall@10", "auc"])
    adaptive = _counts(Adaptive(budget=200), metric)
    assert lean_counts(adaptive, metric) is adaptive
    fixed = _counts(Fixed(sample_size=50_000), metric)
    assert lean_counts(fixed, whole).sampled_rank.max() > 40_000  # no cut-off: all ranks matter
    assert lean_counts(fixed, metric).sampled_rank.max() < 1200
    # Nobody in the first tenth: what is sharp is what priors are chosen by, and stays.
    rare = RankCounts.from_ranks([20_000, 30_000], sample_size=40_000, n_items=N_ITEMS)
    assert (lean_counts(rare, metric).sample_size == 40_000).all()
