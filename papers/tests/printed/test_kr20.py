"""KR20 table 3, recommender Y on ml-1m: m = 100 negatives, pools by user."""

from __future__ import annotations

import numpy as np
import pytest

import truerank as tr

METRICS = ("recall@10", "ndcg@10", "ap")
REDRAWS = 100
# Printed mean and standard deviation over 100 runs, in percent.
PUBLISHED = {
    "naive": ((56.51, 0.22), (34.82, 0.16), (30.01, 0.20)),
    "rank-estimate": ((17.26, 0.28), (17.26, 0.28), (17.81, 0.28)),
    "cls": ((8.42, 0.14), (3.94, 0.06), (3.54, 0.06)),
    "bv(gamma=1)": ((4.60, 0.07), (2.12, 0.03), (2.32, 0.03)),
    "bv(gamma=0.1)": ((6.95, 0.21), (3.24, 0.10), (3.19, 0.07)),
    "bv(gamma=0.01)": ((8.18, 0.51), (3.85, 0.28), (3.62, 0.18)),
}


@pytest.fixture(scope="module")
def draws(kr20_y):
    return [kr20_y.sampled(101, seed) for seed in range(REDRAWS)]


def _deviations(draws, n_items, estimator):
    """(ours - printed) / printed standard deviation, for each metric.

    All estimators here are linear in the counts, so the mean over redraws is the estimate from
    the redraws added up.
    """
    counts = sum(
        tr.RankCounts.from_ranks(ranks, n_items=n_items, num_negatives=100, replacement=True)
        for ranks in draws
    )
    est = tr.estimate(counts, METRICS, estimator=estimator)
    return [
        (100 * est[metric].value - mean) / sd
        for metric, (mean, sd) in zip(METRICS, PUBLISHED[estimator], strict=True)
    ]


def test_exact_column(kr20_y):
    counts = tr.RankCounts.from_exact_ranks(kr20_y.rank, n_items=kr20_y.n_items)
    est = tr.estimate(counts, (*METRICS, "auc"), estimator="naive")
    ours = [100 * est[metric].value for metric in est]
    assert ours == pytest.approx([8.84, 4.59, 4.32, 85.33], abs=0.02)


@pytest.mark.parametrize("estimator", PUBLISHED)
def test_corrected_columns(draws, kr20_y, estimator):
    assert np.abs(_deviations(draws, kr20_y.n_items, estimator)).max() < 1.5


def test_one_common_pool_misses_the_table(draws):
    """Ignoring that training items are left out is a bias that shows: this must fail."""
    worst = max(np.abs(_deviations(draws, 3706, e)).max() for e in ("cls", "bv(gamma=1)"))
    assert worst > 2.0


def test_rank_estimate_cannot_tell_recall_from_ndcg(draws, kr20_y):
    """With (N-1)/m > 10 only sampled rank 1 stays within the top 10 (KR20 section 6.3)."""
    counts = tr.RankCounts.from_ranks(
        draws[0], n_items=kr20_y.n_items, num_negatives=100, replacement=True
    )
    est = tr.estimate(counts, ["recall@10", "ndcg@10"], estimator="rank-estimate")
    assert est["recall@10"].value == est["ndcg@10"].value > 0
