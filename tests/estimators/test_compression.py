"""The compressed support costs less than 0.1 % against the full one, for every estimator."""

from __future__ import annotations

import numpy as np
import pytest
import reference as ref

import truerank as tr

METRICS = [f"{name}@{k}" for name in ("recall", "ndcg", "ap") for k in range(1, 101)]
DISTRIBUTIONS = (
    "mle",
    "wmle",
    "mes",
    "bv",
    "bv(gamma=0.1)",
    "bv-mle",
    "bv-mes",
    "mn-mle",
    "mn-mes",
    "smooth",
)


def _counts(n_items, size, n_users, exponent, *, replacement=True, seed=0):
    ranks = ref.power_law(n_items, n_users, exponent, seed)
    drawn = ref.draw(ranks, n_items, size, seed + 1, replacement=replacement)
    return tr.RankCounts.from_ranks(
        drawn, n_items=n_items, sample_size=size, replacement=replacement
    )


def _worst(counts, estimator):
    """Largest relative difference over all metrics with a value worth the name."""
    auto = tr.estimate(counts, METRICS, estimator=estimator)
    full = tr.estimate(counts, METRICS, estimator=estimator, support="full")
    a, f = (np.array([e[m].value for m in METRICS]) for e in (auto, full))
    return np.abs(a / f - 1)[np.abs(f) > 1e-6].max()


@pytest.mark.parametrize("exponent", [0.1, 0.3, 0.5, 1.0])
@pytest.mark.parametrize("estimator", DISTRIBUTIONS)
def test_power_laws(estimator, exponent):
    """Signed estimates may pass through zero, where a relative error has no meaning: bv's are
    then held to 0.1 % of the largest of their kind instead."""
    counts = _counts(3706, 100, 6040, exponent)
    auto = tr.estimate(counts, METRICS, estimator=estimator)
    full = tr.estimate(counts, METRICS, estimator=estimator, support="full")
    a, f = (np.array([e[m].value for m in METRICS]) for e in (auto, full))
    if full.distribution.negative_mass > 0:
        scale = np.repeat(np.abs(f).reshape(3, 100).max(axis=1), 100)
        assert (np.abs(a - f) / scale).max() < 1e-3
    else:
        assert np.abs(a / f - 1).max() < 1e-3


@pytest.mark.parametrize("size", [30, 100, 1000])
@pytest.mark.parametrize("exponent", [0.2, 0.5])
def test_mle_at_larger_catalogues(size, exponent):
    assert _worst(_counts(20_000, size, 10_000, exponent), "mle") < 1e-3


def test_mle_without_replacement():
    assert _worst(_counts(3706, 1000, 6040, 0.3, replacement=False), "mle") < 1e-3


def test_mle_on_adaptive_samples():
    n_items, ladder = 5000, (50, 100, 200, 400, 500)
    ranks = ref.power_law(n_items, 3000, 0.3, seed=0)
    drawn, sizes = ref.draw_adaptive(ranks, n_items, ladder, seed=1)
    counts = tr.RankCounts.from_ranks(
        drawn, n_items=n_items, sample_size=sizes, ladder=ladder, replacement=True
    )
    assert _worst(counts, "mle") < 1e-3


def test_mle_with_pools_by_user():
    rng = np.random.default_rng(0)
    n_items = 3706 - np.minimum(rng.geometric(1 / 165, 3000), 2300)
    ranks = np.minimum(ref.power_law(3706, 3000, 0.3, seed=1), n_items)
    drawn = ref.draw(ranks, n_items, 100, seed=2)
    counts = tr.RankCounts.from_ranks(drawn, n_items=n_items, sample_size=100, replacement=True)
    assert _worst(counts, "mle") < 1e-3


def test_a_large_catalogue_is_fitted_on_few_points():
    counts = _counts(100_000_000, 1000, 10_000, 0.3)
    est = tr.estimate(counts, ["recall@10", "recall@1000000", "auc"])
    assert est.distribution.support.n_points < 600
    assert 0 < est["recall@10"].value < est["recall@1000000"].value < 1


@pytest.mark.parametrize("replacement", [True, False])
@pytest.mark.parametrize("estimator", ["mle", "wmle", "mes", "smooth"])
def test_pools_of_very_different_sizes(estimator, replacement):
    """Cells beyond the end of small pools are as wide as those of the large ones alone."""
    pools = [*np.unique(np.geomspace(100, 4000, 12).astype(int)), 20]
    parts = [
        _counts(int(pool), min(int(pool) // 2, 50), 300, 0.3, replacement=replacement, seed=at)
        for at, pool in enumerate(pools)
    ]
    assert _worst(sum(parts[1:], parts[0]), estimator) < 1e-3
