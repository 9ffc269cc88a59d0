"""KR20 table 3, recommender Y on ml-1m: m = 100 negatives, drawn without replacement.

Corrected as the printed cells were, as far as it can be told: by the binomial law and one N, the
mean pool, with gains of cls that are not negative.
"""

from __future__ import annotations

import numpy as np
import pytest
from scipy import stats

import truerank as tr

METRICS = ("recall@10", "ndcg@10", "ap")
REDRAWS = 400
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


def _deviations(draws, n_items, estimator, **law):
    """(ours - printed) / standard error of the print and of ours, for each metric.

    All estimators here are linear in the counts, so the mean over redraws is the estimate from
    the redraws added up. Our spread is taken for the printed one.
    """
    counts = sum(
        tr.RankCounts.from_ranks(ranks, n_items=n_items, num_negatives=100, **law)
        for ranks in draws
    )
    name = "cls(nonnegative=True)" if estimator == "cls" else estimator
    est = tr.estimate(counts, METRICS, estimator=name, confidence=None)
    return [
        (100 * est[metric].value - mean) / (sd * np.sqrt(1 / 100 + 1 / REDRAWS))
        for metric, (mean, sd) in zip(METRICS, PUBLISHED[estimator], strict=True)
    ]


def test_exact_column(kr20_y):
    counts = tr.RankCounts.from_exact_ranks(kr20_y.rank, n_items=kr20_y.n_items)
    est = tr.estimate(counts, (*METRICS, "auc"), estimator="naive")
    ours = [100 * est[metric].value for metric in est]
    assert ours == pytest.approx([8.84, 4.59, 4.32, 85.33], abs=0.02)


@pytest.mark.parametrize("estimator", PUBLISHED)
def test_corrected_columns(draws, kr20_y, estimator):
    """All 18 cells within 2.5 standard errors: 400 redraws, of which the print has 100."""
    mean_pool = round(kr20_y.n_items.mean())
    assert mean_pool == 3541
    found = _deviations(draws, mean_pool, estimator, replacement=True)
    assert np.abs(found).max() < 2.5


def test_all_items_as_the_pool_miss_the_table(draws):
    """Ignoring that training items are left out is a bias that shows: this must fail."""
    found = [_deviations(draws, 3706, e, replacement=True) for e in ("cls", "bv(gamma=1)")]
    assert np.abs(found).max() > 10


def test_draws_with_replacement_miss_the_table(kr20_y):
    """The uncorrected cells of the other law: 4 to 5.5 standard errors of the print off."""
    share = stats.binom.pmf(0, 100, (kr20_y.rank - 1) / (kr20_y.n_items - 1)).mean()
    assert (100 * share - 17.26) / 0.028 > 4
    share = stats.hypergeom.pmf(0, kr20_y.n_items - 1, kr20_y.rank - 1, 100).mean()
    assert abs(100 * share - 17.26) / 0.028 < 1.5


def test_rank_estimate_cannot_tell_recall_from_ndcg(draws, kr20_y):
    """With (N-1)/m > 10 only sampled rank 1 stays within the top 10 (KR20 section 6.3)."""
    counts = tr.RankCounts.from_ranks(
        draws[0], n_items=kr20_y.n_items, num_negatives=100, replacement=False
    )
    est = tr.estimate(counts, ["recall@10", "ndcg@10"], estimator="rank-estimate")
    assert est["recall@10"].value == est["ndcg@10"].value > 0
