"""When the whole pool was ranked (n = N without replacement), estimates are the exact metrics."""

from __future__ import annotations

import numpy as np
import pytest
import reference as ref

import truerank as tr

METRICS = ("recall@1", "recall@10", "precision@10", "ndcg@10", "ndcg", "ap", "auc")


def _exact(ranks, n_items):
    pools = np.broadcast_to(n_items, ranks.shape)
    return {
        m: float(np.mean([ref.gains(m, int(p))[r - 1] for r, p in zip(ranks, pools, strict=True)]))
        for m in METRICS
    }


@pytest.fixture(scope="module", params=["one pool", "pools by user"])
def case(request):
    ranks = ref.power_law(60, 300, 0.5, seed=0)
    n_items = 60 if request.param == "one pool" else 60 + np.arange(300) % 7
    counts = tr.RankCounts.from_exact_ranks(ranks, n_items=n_items)
    return counts, _exact(ranks, n_items)


@pytest.mark.parametrize("support", ["auto", "full"])
@pytest.mark.parametrize(
    "estimator",
    ["naive", "rank-estimate", "cls", "bv", "bv(gamma=0.5)", "mle", "mle(steps=1)",
     "mle(steps=None)", "bv-mle", "mn-mle", "smooth"],
)  # fmt: skip
def test_plain(case, estimator, support):
    counts, exact = case
    est = tr.estimate(counts, METRICS, estimator=estimator, support=support)
    for metric in METRICS:
        assert est[metric].value == pytest.approx(exact[metric], abs=1e-9), metric


@pytest.mark.parametrize("support", ["auto", "full"])
@pytest.mark.parametrize(
    "estimator", ["bv", "mle", "wmle", "mes", "bv-mle", "bv-mes", "mn-mle", "mn-mes"]
)
def test_posterior(case, estimator, support):
    counts, exact = case
    est = tr.estimate(counts, METRICS, estimator=estimator, support=support, plug_in="posterior")
    for metric in METRICS:
        assert est[metric].value == pytest.approx(exact[metric], abs=1e-9), metric


@pytest.mark.parametrize("mapping", ["linear", "bound"])
def test_mapped(case, mapping):
    counts, exact = case
    est = tr.estimate(counts, "recall@1,10", estimator=f"mapped(mapping={mapping!r})")
    assert est["recall@10"].value == pytest.approx(exact["recall@10"], abs=1e-12)
    assert est["recall@1"].value == pytest.approx(exact["recall@1"], abs=1e-12)


def test_nearly_whole_pools_are_nearly_exact():
    """n = N - 1: the sampled rank is the global one or one less."""
    ranks = ref.power_law(60, 4000, 0.5, seed=0)
    drawn = ref.draw(ranks, 60, 59, seed=1, replacement=False)
    counts = tr.RankCounts.from_ranks(drawn, n_items=60, sample_size=59, replacement=False)
    exact = _exact(ranks, 60)
    for estimator in ("mle", "bv", "mn-mle", "cls"):
        est = tr.estimate(counts, METRICS, estimator=estimator)
        assert est["recall@10"].value == pytest.approx(exact["recall@10"], abs=0.03), estimator
        assert est["auc"].value == pytest.approx(exact["auc"], abs=0.005), estimator


def test_exact_and_sampled_ranks_mix():
    """Half the users known exactly: their half of the metric is exact under the posterior."""
    ranks = ref.power_law(500, 4000, 0.4, seed=3)
    known = tr.RankCounts.from_exact_ranks(ranks[:2000], n_items=500)
    drawn = ref.draw(ranks[2000:], 500, 50, seed=4)
    seen = tr.RankCounts.from_ranks(drawn, n_items=500, sample_size=50, replacement=True)
    both = tr.estimate(known + seen, "recall@10", plug_in="posterior")["recall@10"].value
    alone = tr.estimate(seen, "recall@10", plug_in="posterior")["recall@10"].value
    exact_half = float((ranks[:2000] <= 10).mean())
    truth = float((ranks <= 10).mean())
    implied = 2 * both - exact_half  # the sampled half's share
    sampled_truth = float((ranks[2000:] <= 10).mean())
    assert abs(both - truth) < 0.5 * abs(alone - sampled_truth) + 0.01
    assert abs(implied - sampled_truth) < 0.05
