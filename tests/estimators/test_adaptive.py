"""Adaptive outcomes: every estimator that has a law for them, against dense references."""

from __future__ import annotations

import numpy as np
import pytest
import reference as ref

import truerank as tr
from truerank.outcomes import schemes

LADDER = (10, 20, 40, 60)


def _case(*, replacement, hits, n_items=150, n_users=3000):
    ranks = ref.power_law(n_items, n_users, 0.4, seed=0)
    drawn, sizes = ref.draw_adaptive(
        ranks, n_items, LADDER, seed=1, replacement=replacement, hits=hits
    )
    counts = tr.RankCounts.from_ranks(
        drawn, n_items=n_items, sample_size=sizes, ladder=LADDER, hits=hits, replacement=replacement
    )
    scheme = schemes.Scheme(replacement, LADDER, hits)
    sizes_of, ranks_of = scheme.outcomes(n_items, 0)
    a = np.exp(
        schemes.log_probability(
            scheme,
            np.arange(1, n_items + 1),
            n_items=n_items,
            sample_size=sizes_of,
            sampled_rank=ranks_of,
        )
    ).T
    place = {pair: i for i, pair in enumerate(zip(sizes_of, ranks_of, strict=True))}
    observed = np.zeros(a.shape[1])
    np.add.at(observed, [place[p] for p in zip(sizes, drawn, strict=True)], 1 / n_users)
    return ranks, counts, a, observed


@pytest.fixture(params=[(True, 1), (False, 1), (True, 2), (False, 3)], ids=str)
def case(request):
    replacement, hits = request.param
    return _case(replacement=replacement, hits=hits)


def test_simulated_frequencies_follow_the_stated_probabilities(case):
    """The constant matters to the linear estimators: it counts the ways past earlier stages."""
    ranks, _, a, observed = case
    expected = a[ranks - 1].mean(axis=0)
    assert a.sum(axis=1) == pytest.approx(np.ones(a.shape[0]), abs=1e-10)
    variance = (a * (1 - a))[ranks - 1].sum(axis=0) / len(ranks) ** 2
    common = expected * len(ranks) > 5
    z = (observed - expected)[common] / np.sqrt(variance[common])
    # About 60 outcomes: the mean of z^2 is 1 with a standard deviation of sqrt(2/60).
    assert (z**2).mean() < 1 + 5 * np.sqrt(2 / common.sum())
    assert np.abs(z).max() < 4.5


@pytest.mark.parametrize("metric", ["recall@10", "ndcg@5", "ap", "auc"])
def test_against_dense_references(case, metric):
    _, counts, a, observed = case
    n_items = a.shape[0]
    gain, uniform = ref.gains(metric, n_items), np.full(n_items, 1 / n_items)
    mass = ref.em(a, observed, 50)  # adaptive samples: 50 steps are the published ones

    def value(estimator):
        return tr.estimate(counts, metric, estimator=estimator, support="full")[metric].value

    assert value("mle") == pytest.approx(mass @ gain, abs=1e-9)
    assert value("bv") == pytest.approx(ref.bv(a, uniform, observed, gain, 0.01), abs=1e-9)
    assert value("bv-mle") == pytest.approx(ref.bv(a, mass, observed, gain, 0.01), abs=1e-9)
    assert value("mn-mle") == pytest.approx(ref.mn(a, mass, observed, gain, 3000), abs=1e-9)


def test_mle_ignores_the_constant(case):
    """The stopping rule looks at drawn data only: fixed sizes give the same likelihood."""
    _, counts, _, _ = case
    as_fixed = sum(
        tr.RankCounts.from_outcomes(
            schemes.Scheme(counts.schemes[0].replacement),
            n_items=counts.n_items,
            sample_size=counts.sample_size,
            sampled_rank=counts.sampled_rank,
            weight=counts.weight,
        )
        for _ in range(1)
    )
    adaptive = tr.estimate(counts, "recall@10", estimator="mle(steps=50)")
    fixed = tr.estimate(as_fixed, "recall@10", estimator="mle(steps=50)")
    assert adaptive["recall@10"].value == pytest.approx(fixed["recall@10"].value, abs=1e-12)


def test_adaptive_samples_see_the_head_that_fixed_ones_cannot():
    """At about equal cost the adaptive design has the smaller error at small K."""
    n_items, n_users = 2000, 3000
    ranks = ref.power_law(n_items, n_users, 0.3, seed=5)
    exact = (ranks <= 5).mean()
    errors = {"adaptive": [], "fixed": []}
    for seed in range(8):
        drawn, sizes = ref.draw_adaptive(ranks, n_items, (30, 60, 120, 240), seed)
        counts = tr.RankCounts.from_ranks(
            drawn, n_items=n_items, sample_size=sizes, ladder=(30, 60, 120, 240), replacement=True
        )
        errors["adaptive"].append(tr.estimate(counts, "hr@5")["hr@5"].value - exact)
        size = int(sizes.mean()) + 1
        fixed = ref.draw(ranks, n_items, size, seed)
        counts = tr.RankCounts.from_ranks(
            fixed, n_items=n_items, sample_size=size, replacement=True
        )
        errors["fixed"].append(tr.estimate(counts, "hr@5")["hr@5"].value - exact)
    assert np.std(errors["adaptive"]) < np.std(errors["fixed"])


def test_ladder_capped_by_small_pools():
    """Without replacement a ladder ends at the pool, where ranks are exact."""
    pools = np.where(np.arange(600) % 2, 35, 80)
    ranks = ref.power_law(30, 600, 0.4, seed=0)  # the same law in both pools
    drawn, sizes = ref.draw_adaptive(ranks, pools, LADDER, seed=1, replacement=False)
    assert sizes[pools == 35].max() == 35
    counts = tr.RankCounts.from_ranks(
        drawn, n_items=pools, sample_size=sizes, ladder=LADDER, replacement=False
    )
    truth = (ranks <= 3).mean()
    for estimator in ("mle", "bv", "mn-mle", "mes", "cls"):
        value = tr.estimate(counts, "recall@3", estimator=estimator)["recall@3"].value
        assert value == pytest.approx(truth, abs=0.12 if estimator == "mes" else 0.05), estimator


@pytest.mark.parametrize("estimator", ["wmle", "mapped", "mapped(mapping='beta@P')"])
def test_estimators_without_a_law_for_them_say_so(estimator):
    _, counts, _, _ = _case(replacement=True, hits=1, n_users=50)
    with pytest.raises(tr.InputError, match="fixed size"):
        tr.estimate(counts, "recall@10", estimator=estimator)
