"""The pieces of LJ20 and LJ24: curves, exponents, distances, averaged priors, winners, users."""

from __future__ import annotations

import numpy as np
import pytest

import truerank as tr
from truerank import mapping
from truerank import metrics as metrics_module
from truerank.designs import Fixed
from truerank_papers.experiments import experiments
from truerank_papers.experiments.jl21 import resampling
from truerank_papers.experiments.lj20._shared import exponents
from truerank_papers.experiments.lj20.tables import BEST, MAPPINGS, distances, errors
from truerank_papers.experiments.lj24 import _shared as lj24
from truerank_papers.experiments.lj24 import protocol
from truerank_papers.experiments.lj24.accuracy import sampled_users
from truerank_papers.experiments.ranks import GlobalRanks
from truerank_papers.experiments.recall_curves import (
    best_cuts,
    expected_recall,
    global_recall,
    mapped,
    sampled_recall,
)
from truerank_papers.experiments.run import Run
from truerank_papers.experiments.settings import Settings

N = 2000


@pytest.fixture
def run(tmp_path):
    (experiment,) = experiments("lj20", "table7")
    return Run(experiment, Settings(None, tmp_path, repeats=5, progress=False))


@pytest.fixture(scope="module")
def ranks():
    """4,000 users whose ranks follow Beta(0.4, 1)."""
    share = np.random.default_rng(0).random(4000) ** (1 / 0.4)
    above = np.floor(share * N).astype(int)
    return GlobalRanks(above, np.zeros_like(above), np.full_like(above, N))


def test_curves_are_those_of_the_same_samples(run, ranks):
    """As the naive estimator has them from what `Run.redrawn` draws."""
    design = Fixed(sample_size=20, replacement=True)
    curves = sampled_recall(run, "x", ranks, design, 3)
    cuts = [f"recall@{k}" for k in range(1, 21)]
    naive = run.redrawn("x", ranks, estimators=["naive"], metrics=cuts, repeats=3, design=design)
    np.testing.assert_allclose(curves, naive[:, 0], rtol=1e-12)


def test_global_recall_is_at_the_nearest_rank():
    ranks = GlobalRanks(np.array([0, 1, 4, 9]), np.zeros(4, dtype=int), np.full(4, 10))
    assert global_recall(ranks, [0.4, 1.4, 1.6, 5, 10]).tolist() == [0, 0.25, 0.5, 0.75, 1]


def test_exponents_user_by_user(run, ranks):
    """LJ20 eq. 19 as it stands. It overstates: 0.48 for ranks that follow Beta(0.4, 1)."""
    design = Fixed(sample_size=100, replacement=True)
    found = exponents(sampled_recall(run, "x", ranks, design, 2), N)
    for rng, exponent in zip(run.rngs("x", 0, 2), found, strict=True):
        _, _, rank = ranks.evaluate(design, rng)
        a = 1.0
        for _ in range(30):
            f = mapping.beta(rank, n_items=N, sample_size=100, a=a)
            a = -rank.size / np.log((f - 1) / (N - 1)).sum()
        assert exponent == pytest.approx(a, rel=1e-6)
    assert found == pytest.approx(0.476, abs=0.005)


def test_errors_by_hand():
    exact = np.array([0.1, 0.2] + [0.5] * 9)
    sampled = np.array([[0.2, 0.4] + [0.5] * 9])
    found = {name: float(value[0]) for name, value in errors(exact, sampled).items()}
    assert found["abs"] == pytest.approx(0.3 / 11)
    assert found["rel"] == pytest.approx(1.0 / 11)
    assert found["abs@1"] == pytest.approx(0.1)
    assert found["rel@1"] == pytest.approx(0.5)
    assert found["abs@2-10"] == pytest.approx(0.2 / 9)
    assert found["rel@2-10"] == pytest.approx(0.5 / 9)


def test_pattern_of_lj20_table_7_without_data(run, ranks):
    """Bound and beta(0.5) far better than linear; the fitted exponent and smooth as well."""
    found = {key: value.mean() for key, value in distances(run, "x", "y", ranks).items()}
    assert {rule for rule, _ in found} == {*MAPPINGS, BEST, "smooth"}
    for rule in MAPPINGS:  # the best possible f is a bound for all but the sample's noise
        assert found[BEST, "abs"] < 1.1 * found[rule, "abs"], rule
    for rule in ("bound", "beta(0.5)", "beta@P", "smooth"):
        for kind in ("abs", "rel", "abs@1", "rel@1", "abs@2-10"):
            assert found[rule, kind] < 0.6 * found["linear", kind], (rule, kind)
    assert found["beta(0.5)", "abs@1"] < 0.2 * found["linear", "abs@1"]


def test_best_cuts_by_enumeration():
    """Ranks 1, 2, 4 of 4 items, one negative: P(above) is 0, 1/3 and 1."""
    three = GlobalRanks(np.array([0, 1, 3]), np.zeros(3, int), np.full(3, 4))
    curve = expected_recall(three, 2)
    assert curve == pytest.approx([(1 + 2 / 3 + 0) / 3, 1.0])
    # Exact recall is 1/3, 2/3, 2/3, 1: 5/9 is nearest to that at 2, and 1 is that at 4.
    assert best_cuts(three, 2).tolist() == [2, 4]


def test_best_cuts_are_the_nearest(ranks):
    exact, wanted = np.cumsum(ranks.pmf()), expected_recall(ranks, 30)
    gaps = np.abs(exact[best_cuts(ranks, 30) - 1] - wanted)
    np.testing.assert_allclose(gaps, np.abs(exact[:, None] - wanted).min(axis=0), atol=1e-12)


def test_lj24_table_3_maps_as_printed(tmp_path):
    """Without data: all f(k) to the rank, no winners."""
    (experiment,) = experiments("lj24", "table3")
    (table,) = experiment.function(Run(experiment, Settings(None, tmp_path))).tables
    compared = [cell for cell in table.cells if cell.key[2] == "f(k)" and cell.published]
    assert len(compared) == 24
    assert all(cell.difference == 0 for cell in compared)
    assert all(cell.ours is None for cell in table.cells if cell.key[2] == "same winner")
    assert mapped("bound", n_items=9916, sample_size=1000)[:2].tolist() == [5, 15]


def test_the_averaged_prior_of_one_repeat_is_its_own(tmp_path, run, ranks):
    (experiment,) = experiments("lj24", "table4")
    one = Run(experiment, Settings(None, tmp_path / "one", repeats=1, progress=False))
    found = lj24.fixed_estimates(one, "x", "y", ranks, 30)
    assert list(found) == list(lj24.ESTIMATORS)
    for name in lj24.LEARNT:
        np.testing.assert_allclose(found[name], found[name + lj24.ALL], rtol=1e-6, atol=1e-9)
    # Of several repeats it is not, and spreads less.
    several = lj24.fixed_estimates(run, "x", "y", ranks, 30)
    at = lj24.METRICS.index("recall@10")
    for name in ("mn-mes", "mn-mle"):
        averaged, own = several[name + lj24.ALL][:, at], several[name][:, at]
        assert 0 < averaged.std() < own.std()


def test_adaptive_samples_and_their_sizes(run, ranks):
    found, sizes = lj24.adaptive_estimates(run, "x", "y", ranks)
    assert sizes.shape == (5,)
    assert (sizes > lj24.START).all()
    assert (sizes < N).all()
    truth = lj24.exact(ranks)
    for name in ("adaptive mle", "adaptive smooth"):
        assert lj24.relative_error(found[name], truth).mean() < 15


def test_all_users_have_the_exact_metrics(run, ranks):
    truth = lj24.exact(ranks)
    np.testing.assert_allclose(truth, ranks.exact(metrics_module.parse(lj24.METRICS)))
    whole = sampled_users(run, "all", ranks, ranks.n_users)
    np.testing.assert_allclose(whole, np.tile(truth, (5, 1)), rtol=1e-12)
    some = sampled_users(run, "some", ranks, 500)
    assert 0 < lj24.relative_error(some, truth, "ndcg").mean() < 30


def test_intervals_hold_or_not(run, ranks):
    """As a plain estimate from the same sample says; beyond the first ranks mostly they do."""
    held = protocol._holds(run, "x", ranks)(0, 4)
    (rng,) = run.rngs("x", 2, 3)
    outcomes, weight = ranks.sampled(protocol.DESIGN, [rng])
    plain = tr.estimate(outcomes.reweighted(weight[0]), protocol.HELD)
    for m, name in enumerate(protocol.HELD):
        exact = np.mean(ranks.above < int(name.removeprefix("recall@")))
        assert held[2, m] == (plain[name].low <= exact <= plain[name].high)
    assert held[:, 1:].mean() > 0.7


def test_printed_columns_stand_beside_averaged_priors():
    (experiment,) = experiments("lj24", "table4")
    printed = Run(experiment, Settings(None, None)).published()
    moved = lj24.beside_averaged(printed)
    assert len(moved.numbers) == len(printed.numbers)
    value = moved.numbers["yelp", "EASE", f"mn-mes{lj24.ALL}"]
    assert value == printed.numbers["yelp", "EASE", "mn-mes"]
    assert ("yelp", "EASE", "mn-mes") not in moved.numbers
    assert moved.numbers["yelp", "EASE", "mle"].value == 7.89


def test_resampled_negatives():
    """One table is the estimate of its counts; the bootstrap's law is not that of draws."""
    rank = np.floor(np.linspace(0, 1, 3000, endpoint=False) ** 2 * N).astype(int)
    ranks = GlobalRanks(rank, np.zeros_like(rank), np.full_like(rank, N))
    rng = np.random.default_rng(0)
    hits = rng.binomial(99, rank / (N - 1))
    counts = tr.RankCounts.from_ranks(hits + 1, n_items=N, sample_size=100, replacement=True)
    (found,) = resampling.estimated(N, 100, hits[None])
    for e, name in enumerate(resampling.ESTIMATORS):
        est = tr.estimate(counts, resampling.METRICS, estimator=name, confidence=None)
        np.testing.assert_allclose(found[e], [est[m].value for m in resampling.METRICS], rtol=1e-6)
    one, boot, _, _ = resampling._once(ranks, rng)
    truth = ranks.exact(metrics_module.parse(resampling.METRICS))
    mle = resampling.ESTIMATORS.index("mle")
    assert (boot[mle] > 1.4 * truth).all()
    assert (np.abs(one[mle] / truth - 1) < 0.4).all()
