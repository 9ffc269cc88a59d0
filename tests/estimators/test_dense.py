"""Every estimator of a distribution, on the full support, against dense references."""

from __future__ import annotations

import numpy as np
import pytest
import reference as ref

import truerank as tr

METRICS = ("recall@1", "recall@10", "precision@5", "ndcg@10", "ap", "ndcg", "auc")


@pytest.fixture(params=[True, False], ids=["with", "without"])
def case(request):
    n_items, size, n_users = 400, 25, 2000
    ranks = ref.power_law(n_items, n_users, 0.4, seed=1)
    drawn = ref.draw(ranks, n_items, size, seed=2, replacement=request.param)
    counts = tr.RankCounts.from_ranks(
        drawn, n_items=n_items, sample_size=size, replacement=request.param
    )
    a = ref.probabilities(n_items, size, replacement=request.param)
    return counts, a, np.bincount(drawn - 1, minlength=size) / n_users


def _check(counts, estimator, expected, tolerance=1e-9):
    est = tr.estimate(counts, METRICS, estimator=estimator, support="full")
    for metric in METRICS:
        assert est[metric].value == pytest.approx(
            expected(ref.gains(metric, 400)), abs=tolerance
        ), metric


@pytest.mark.parametrize("steps", [1, 7, 100])
def test_mle(case, steps):
    counts, a, observed = case
    mass = ref.em(a, observed, steps)
    _check(counts, f"mle(steps={steps})", lambda gain: mass @ gain)


def test_mle_means_the_published_number_of_steps(case):
    counts, a, observed = case
    mass = ref.em(a, observed, 100)
    _check(counts, "mle", lambda gain: mass @ gain)


def test_wmle(case):
    counts, a, observed = case
    weighted = observed / np.log2(np.arange(1, 26) / 10 + 1)
    mass = ref.em(a, weighted / weighted.sum(), 100)
    _check(counts, "wmle", lambda gain: mass @ gain)


@pytest.mark.parametrize("gamma", [1.0, 0.1, 0.01, 0.001])
def test_bv(case, gamma):
    counts, a, observed = case
    uniform = np.full(400, 1 / 400)
    _check(counts, f"bv(gamma={gamma})", lambda gain: ref.bv(a, uniform, observed, gain, gamma))


def test_bv_mle(case):
    counts, a, observed = case
    mass = ref.em(a, observed, 100)
    _check(counts, "bv-mle", lambda gain: ref.bv(a, mass, observed, gain, 0.01))


def test_mn_mle(case):
    counts, a, observed = case
    mass = ref.em(a, observed, 100)
    _check(counts, "mn-mle", lambda gain: ref.mn(a, mass, observed, gain, 2000))


def test_bv_as_distribution_is_the_difference_of_its_recalls(case):
    """JL21 eq. 15."""
    counts, _, _ = case
    cuts = ",".join(map(str, range(1, 30)))
    est = tr.estimate(counts, f"recall@{cuts}", estimator="bv", support="full")
    recalls = np.array([est[f"recall@{k}"].value for k in range(1, 30)])
    assert est.distribution.cdf(np.arange(1, 30)) == pytest.approx(recalls, abs=1e-12)
    assert est.distribution.pmf(np.arange(2, 30)) == pytest.approx(np.diff(recalls), abs=1e-12)


def test_bv_gamma_1_is_the_posterior_mean(case):
    """KR20 eq. 26: the expected gain under the uniform prior given the sampled rank."""
    counts, a, observed = case
    posterior = a / a.sum(axis=0)
    _check(counts, "bv(gamma=1)", lambda gain: observed @ (posterior.T @ gain), 1e-12)


def test_posterior_metric_is_one_more_em_step(case):
    counts, _, _ = case
    posterior = tr.estimate(
        counts, METRICS, estimator="mle(steps=20)", support="full", plug_in="posterior"
    )
    plain = tr.estimate(counts, METRICS, estimator="mle(steps=21)", support="full")
    for metric in METRICS:
        assert posterior[metric].value == pytest.approx(plain[metric].value, abs=1e-12)


def test_log_likelihood_never_falls(case):
    counts, a, observed = case
    found = [
        tr.estimate(counts, "recall@10", estimator=f"mle(steps={s})", support="full")
        for s in (1, 2, 3, 5, 10, 50, 200)
    ]
    likelihoods = [est.details["log_likelihood"] for est in found]
    assert (np.diff(likelihoods) > 0).all()
    mass = ref.em(a, observed, 10)
    seen = observed > 0
    by_hand = observed[seen] @ np.log((mass @ a)[seen])
    assert likelihoods[4] == pytest.approx(by_hand, abs=1e-10)


def test_converged_mle_is_certified_and_beats_long_em(case):
    counts, a, observed = case
    est = tr.estimate(counts, "recall@10", estimator="mle(steps=None)", support="full")
    assert est.converged
    assert est.details["gap"] <= 1e-6
    mass = ref.em(a, observed, 5000)
    seen = observed > 0
    long_em = observed[seen] @ np.log((mass @ a)[seen])
    assert long_em <= est.details["log_likelihood"] + 1e-6
    assert est.details["log_likelihood"] < long_em + 1e-3
