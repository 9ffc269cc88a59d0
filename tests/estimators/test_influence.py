"""Gains to first order: their mean is the estimate, and they are its derivatives."""

from __future__ import annotations

import numpy as np
import pytest

import truerank as tr
from truerank import estimators, metrics
from truerank.designs import LJ24, Fixed
from truerank.inference.planning.simulate import simulated_counts

NAMES = ["mle", "mes", "bv-mle", "bv-mes", "mn-mle", "mn-mes"]
METRICS = metrics.parse(["recall@5", "ndcg@20", "auc"])


def table(kind: str) -> tr.RankCounts:
    rng = np.random.default_rng(2)
    pools = np.repeat([150, 200], [80, 120])
    ranks = np.ceil(pools * rng.random(200) ** 2.5).astype(np.int64)
    if kind == "adaptive":
        return simulated_counts(ranks, pools, LJ24(start=10, stop=40), rng)
    if kind == "one pool":
        pools = np.full(200, 200)
    counts = simulated_counts(ranks, pools, Fixed(sample_size=15), rng)
    if kind == "some exact":
        counts = counts + tr.RankCounts.from_exact_ranks([1, 3, 3, 90, 180], n_items=200)
    return counts


def values(estimator, counts, plug_in):
    fit = estimator.fit(counts, metrics=METRICS, support="full", plug_in=plug_in)
    return np.array([fit.values[metric.key] for metric in METRICS])


@pytest.mark.parametrize("kind", ["one pool", "pools", "adaptive", "some exact"])
@pytest.mark.parametrize(
    ("name", "plug_in"),
    [*((name, plug_in) for name in NAMES for plug_in in ("plain", "posterior")),
     ("bv", "posterior"), ("wmle", "plain"), ("wmle", "posterior"), ("mle(steps=7)", "plain")],
)  # fmt: skip
def test_influence_is_the_derivative(name, plug_in, kind):
    """d/de of the estimate from (1-e) P + e [outcome] is the gain less the estimate.

    A central difference with step e errs by the third derivative times e^2; halving e and taking
    (4 d(e/2) - d(e)) / 3 leaves e^4. Where gains are of order 1 to 10 and e = 1e-3 of a typical
    outcome's share of 1e-2, that and rounding (1e-10 / e, mes stopping at a gap of 1e-10) stay
    below 1e-4 of the largest gain. Posterior means of linear estimators have kinks where a mass
    changes its sign, some within 1e-4 here: e is 1e-5 there.
    """
    if name == "wmle" and kind == "adaptive":
        pytest.skip("wmle needs samples of a fixed size")
    chosen, counts = estimators.get(name), table(kind)
    gains = chosen.influence(counts, metrics=METRICS, support="full", plug_in=plug_in)
    share = counts.weight / counts.total_weight
    here = values(chosen, counts, plug_in)
    np.testing.assert_allclose(share @ gains, here, rtol=1e-9)
    assert gains.shape == (counts.n_outcomes, len(METRICS))
    # mn knows how many users there are: that number stays.
    for outcome in np.linspace(0, counts.n_outcomes - 1, 6).astype(int):
        towards = np.eye(counts.n_outcomes)[outcome]

        def slope(step, towards=towards):
            moved = [
                values(chosen, counts.reweighted(counts.total_weight * weight), plug_in)
                for weight in (share + step * (towards - share), share - step * (towards - share))
            ]
            return (moved[0] - moved[1]) / (2.0 * step)

        step = 1e-5 if plug_in == "posterior" and name.startswith(("bv", "mn")) else 1e-3
        found = (4.0 * slope(step / 2.0) - slope(step)) / 3.0
        np.testing.assert_allclose(
            gains[outcome] - here, found, rtol=1e-3, atol=1e-4 * np.abs(gains).max()
        )


def test_estimators_without_derivatives_say_so():
    counts = table("one pool")
    options = {"metrics": METRICS, "support": "auto"}
    for name in ("mle(steps=None)", "smooth"):
        assert estimators.get(name).influence(counts, plug_in="plain", **options) is None
    for estimator in (
        estimators.BV(prior=estimators.Smooth()),
        estimators.BV(prior=estimators.MLE(steps=None)),
    ):
        assert estimator.influence(counts, plug_in="plain", **options) is None
    naive = estimators.get("naive")
    np.testing.assert_array_equal(
        naive.influence(counts, plug_in="plain", **options), naive.gains(counts, **options)
    )


def test_a_given_prior_needs_no_chain():
    """mn solves for the number of users; with that fixed it is a mean of corrected gains."""
    counts = table("pools")
    prior = tr.estimate(counts, "recall@5", estimator="mle").distribution
    chosen = estimators.MN(prior=prior)
    gains = chosen.influence(counts, metrics=METRICS, support="auto", plug_in="plain")
    fit = chosen.fit(counts, metrics=METRICS, support="auto", plug_in="plain")
    means = counts.weight @ gains / counts.total_weight
    np.testing.assert_allclose(means, [fit.values[m.key] for m in METRICS], rtol=1e-9)
