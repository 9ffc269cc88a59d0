"""Intervals: the law of the error by gains and by refits, and what must hold of any interval."""

from __future__ import annotations

import itertools
import pickle
from dataclasses import replace

import numpy as np
import pytest

import truerank as tr
from truerank import estimators, metrics
from truerank.designs import LJ24, Design, Fixed
from truerank.inference.intervals.error_law import ErrorLaw, error_law
from truerank.inference.intervals.fitting import Fitted, bound
from truerank.inference.intervals.interval import (
    Range,
    _ends,
    interval_of,
    is_resolved,
    range_of,
)
from truerank.inference.intervals.misfit import LUMPS, Features, features, mean_variance, sides
from truerank.inference.planning.simulate import simulated_counts

N_ITEMS = 600
METRICS_OF_MISFIT = metrics.parse(["recall@1", "recall@10", "auc"])
METRICS = metrics.parse(["recall@5", "recall@50", "ndcg@20", "auc"])
FIXED = Fixed(sample_size=60)
ADAPTIVE = LJ24(start=20, stop=160)


def ranks(n_users: int, seed: int = 0) -> np.ndarray:
    """Recall@K = (K/N)^0.4."""
    rng = np.random.default_rng(seed)
    return np.ceil(N_ITEMS * rng.random(n_users) ** 2.5).astype(np.int64)


def counts_of(n_users: int = 2000, design: Design = FIXED, seed: int = 0) -> tr.RankCounts:
    pools = np.full(n_users, N_ITEMS)
    return simulated_counts(ranks(n_users, seed), pools, design, np.random.default_rng(seed + 1))


def law(counts: tr.RankCounts, estimator: str, **options):
    found = Fitted.of(counts, estimators.get(estimator), METRICS)
    return error_law(counts, found.fit, found.reference, found.estimator, METRICS, **options)


def test_the_law_of_a_fit_is_found_once_and_with_its_options(monkeypatch):
    counts = counts_of(500)
    found = Fitted.of(counts, estimators.get("bv"), METRICS, seed=3)
    assert found.law is found.law
    assert found.reference.posterior is found.posterior
    np.testing.assert_array_equal(found.law.total, law(counts, "bv", seed=3).total)
    some = found.on(METRICS[1:])
    assert some.fit is found.fit
    np.testing.assert_allclose(some.law.negatives, found.law.negatives[1:])
    smooth = Fitted.of(counts, estimators.get("smooth"), METRICS)
    assert smooth.reference is smooth.fit


@pytest.mark.parametrize("name", ["naive", "rank-estimate", "mapped", "cls", "bv", "bv(gamma=1)"])
@pytest.mark.parametrize("design", [FIXED, ADAPTIVE], ids=["fixed", "adaptive"])
def test_linear_estimators_are_the_mean_of_their_gains(name, design):
    if name == "mapped" and design is ADAPTIVE:
        pytest.skip("mapped needs samples of a fixed size")
    chosen, counts = estimators.get(name), counts_of(design=design)
    wanted = [metric for metric in METRICS if chosen.supports(metric)]
    fit = chosen.fit(counts, metrics=wanted, support="auto", plug_in="plain")
    gains = chosen.gains(counts, metrics=wanted, support="auto")
    means = counts.weight @ gains / counts.total_weight
    np.testing.assert_allclose(means, [fit.values[m.key] for m in wanted], rtol=1e-9)


@pytest.mark.parametrize("name", ["mle", "bv", "bv-mle", "naive"])
def test_refits_are_fits(name):
    """Many tables at once, against one fit after the other."""
    chosen, outcomes = estimators.get(name), counts_of()
    weight = np.random.default_rng(3).poisson(outcomes.weight, (3, outcomes.n_outcomes)) * 1.0
    # On one support: that of fewer outcomes would be another.
    options = {"metrics": METRICS, "support": "full", "plug_in": "plain"}
    found = chosen.refit(outcomes, weight, **options)
    for row, value in zip(weight, found, strict=True):
        fit = chosen.fit(outcomes.reweighted(row), **options)
        np.testing.assert_allclose(value, [fit.values[m.key] for m in METRICS], rtol=1e-9)


def test_gains_and_refits_find_the_same_law_of_a_linear_estimator():
    counts = counts_of(1000)
    fast = law(counts, "bv")
    slow = law(counts, "bv", gains=False, repeats=2000)
    np.testing.assert_allclose(fast.negatives, slow.negatives, rtol=0.08)
    np.testing.assert_allclose(fast.users[:3], slow.users[:3], rtol=0.25)
    # Either may find a bias too small to be clear; none finds the opposite of the other's.
    assert (fast.bias * slow.bias >= 0).all()
    assert (fast.bias * slow.bias > 0).any()


@pytest.mark.parametrize("design", [FIXED, ADAPTIVE], ids=["fixed", "adaptive"])
def test_the_linearised_smooth_scatters_as_the_smooth_refitted(design):
    counts = counts_of(1000, design)
    fast = law(counts, "smooth")
    slow = law(counts, "smooth", gains=False, repeats=160)
    np.testing.assert_allclose(fast.negatives, slow.negatives, rtol=0.25)


@pytest.mark.parametrize(
    ("design", "n_users"), [(FIXED, 1500), (ADAPTIVE, 1500)], ids=["fixed", "adaptive"]
)
def test_intervals_cover(design, n_users):
    """Over 100 redraws of the negatives, 95 % +- 3.5 standard errors where bias is small."""
    global_rank, pools = ranks(n_users), np.full(n_users, N_ITEMS)
    truth = (global_rank <= 50).mean()
    inside, values = [], []
    for seed in range(100):
        rng = np.random.default_rng([seed, 5])
        counts = simulated_counts(global_rank, pools, design, rng)
        found = tr.estimate(counts, "recall@50", estimator="smooth")["recall@50"]
        values.append(found.value)
        inside.append(found.low <= truth <= found.high)
    assert abs(np.mean(values) - truth) < 0.3 * np.std(values)
    assert np.mean(inside) == pytest.approx(0.95, abs=3.5 * np.sqrt(0.05 * 0.95 / 100))


def test_the_scope_decides():
    counts = counts_of()
    these = tr.estimate(counts, "recall@50")["recall@50"]
    population = tr.estimate(counts, "recall@50", scope="population")["recall@50"]
    most = tr.estimate(counts, "recall@50", scope="population", population_size=2100)["recall@50"]
    everyone = tr.estimate(counts, "recall@50", scope="population", population_size=2000)[
        "recall@50"
    ]
    assert these.std_error < most.std_error < population.std_error
    assert everyone.std_error == pytest.approx(these.std_error)
    assert these.value == population.value
    # New users alone scatter as a binomial.
    drawn = np.sqrt(population.std_error**2 - these.std_error**2)
    assert drawn == pytest.approx(np.sqrt(these.value * (1 - these.value) / 2000), rel=0.15)


def test_intervals_shrink_with_the_square_root_of_users():
    counts = counts_of()
    one = tr.estimate(counts, METRICS, estimator="bv")
    four = tr.estimate(counts + counts + counts + counts, METRICS, estimator="bv")
    for metric in METRICS:
        assert one[metric].std_error == pytest.approx(2 * four[metric].std_error, rel=0.1)


@pytest.mark.parametrize("name", ["smooth", "mle", "bv", "naive"])
def test_exact_ranks_have_no_error_for_these_users(name):
    rank = ranks(300)
    counts = tr.RankCounts.from_exact_ranks(rank, n_items=N_ITEMS)
    found = tr.estimate(counts, "recall@50", estimator=name)["recall@50"]
    assert found.value == pytest.approx((rank <= 50).mean())
    assert found.low == pytest.approx(found.value)
    assert found.high == pytest.approx(found.value)
    assert found.resolvable
    wide = tr.estimate(counts, "recall@50", estimator=name, scope="population")["recall@50"]
    assert wide.high > wide.low


def test_confidence():
    counts = counts_of()
    narrow, wide = (
        tr.estimate(counts, "ndcg@20", confidence=level)["ndcg@20"] for level in (0.5, 0.99)
    )
    assert wide.low < narrow.low < narrow.value < narrow.high < wide.high
    none = tr.estimate(counts, "ndcg@20", confidence=None)["ndcg@20"]
    assert (none.low, none.high, none.std_error, none.resolvable) == (None,) * 4


def test_a_biased_estimator_says_so_and_reaches_to_the_truth():
    rank = ranks(2000)
    truth = (rank <= 5).mean()
    for name in ("naive", "cls", "bv(gamma=1)"):
        found = tr.estimate(counts_of(), "recall@5", estimator=name)["recall@5"]
        assert not found.resolvable
        assert found.low < truth < found.high
    assert "not resolved" in repr(tr.estimate(counts_of(), "recall@5", estimator="naive"))


def test_what_no_sample_of_this_size_tells_is_flagged():
    small = counts_of(design=Fixed(sample_size=12))
    est = tr.estimate(small, ["recall@1", "recall@100"], estimator="smooth")
    assert not est["recall@1"].resolvable
    assert est["recall@100"].resolvable


@pytest.mark.filterwarnings("ignore::truerank.errors.FitWarning")  # where groups are forgotten
def test_shared_negatives_widen_intervals():
    """A block of users who all meet the same sampled rank carries the weight of one."""
    rng = np.random.default_rng(0)
    parts = []
    for group in range(1, 41):
        rank = np.full(25, rng.integers(1, 50))
        part = tr.RankCounts.from_ranks(rank, n_items=5000, sample_size=50, replacement=True)
        parts.append(part.of_replicate(group))
    shared = sum(parts[1:], parts[0])
    for name in ("naive", "mle", "smooth"):
        apart = tr.estimate(shared.pooled(), "auc", estimator=name)["auc"]
        together = tr.estimate(shared, "auc", estimator=name)["auc"]
        assert together.std_error > 2.0 * apart.std_error


def test_results_travel():
    """Intervals are found on demand, and pickled results still can."""
    est = pickle.loads(pickle.dumps(tr.estimate(counts_of(300), "recall@50")))
    again = tr.estimate(counts_of(300), "recall@50")
    assert est["recall@50"].low == again["recall@50"].low
    assert est.rows()[0]["high"] == again["recall@50"].high


def test_a_handful_of_users_has_an_interval():
    """No spread over users can be taken from one: its posterior is drawn from many times."""
    for n_users in (1, 2):
        counts = tr.RankCounts.from_ranks(
            [3] * n_users, n_items=1000, sample_size=100, replacement=True
        )
        for name in ("smooth", "bv", "mle"):
            found = tr.estimate(counts, "recall@50", estimator=name)["recall@50"]
            assert found.low <= min(found.value, 1.0) <= found.high  # bv strays
            assert found.std_error > 0


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"confidence": [0.9]}, "confidence is"),
        ({"confidence": float("nan")}, "confidence is nan"),
        ({"scope": "population", "population_size": "many"}, "population_size is 'many'"),
        ({"scope": "population", "population_size": [5000]}, "population_size is"),
    ],
)
def test_bad_input(options, message):
    with pytest.raises(tr.InputError, match=message):
        tr.estimate(counts_of(), "recall@5", **options)


# -- what the default interval is made of ---------------------------------------------------------


@pytest.mark.parametrize("name", ["smooth", "mle", "bv", "naive"])
@pytest.mark.parametrize("scope", ["these-users", "population"])
def test_intervals_stay_in_range_and_hold_their_value(name, scope):
    for design in (Fixed(sample_size=5), FIXED, ADAPTIVE):
        for n_users in (3, 40, 2000):
            est = tr.estimate(
                counts_of(n_users, design), ["recall@1,5,600", "precision@5", "ndcg@5", "auc"],
                estimator=name, scope=scope,
            )  # fmt: skip
            for found in est.values():
                best = metrics.parse(found.metric)[0].best()
                assert 0.0 <= found.low <= max(found.value, 0.0)
                assert min(found.value, best) <= found.high <= best


def test_the_parts_of_the_error_make_up_the_whole():
    for scope in ("these-users", "population"):
        for found in tr.estimate(counts_of(), ["recall@5", "auc"], scope=scope).values():
            part = found.error_budget
            assert set(part) == {
                "negatives", "ranks", "law", "bias", "lumps", "misfit", "misfit_better", "users",
            }  # fmt: skip
            assert part["bias"] == 0.0  # the prior's pull is in the posterior
            shown = np.hypot(part["negatives"], part["users"])
            assert found.std_error == pytest.approx(shown)
            rest = part["ranks"] ** 2 + part["law"] ** 2 + part["lumps"] ** 2
            rest += (part["misfit"] ** 2 + part["misfit_better"] ** 2) / 2
            assert found.total_error == pytest.approx(np.sqrt(shown**2 + rest))
            assert (part["users"] > 0.0) == (scope == "population")
            assert (part["ranks"] > 0.0) == (scope == "these-users")


def test_the_default_is_wider_than_the_scatter_of_negatives():
    """And the old one is there by name."""
    counts = counts_of(design=Fixed(sample_size=20))
    default, named, sampling = (
        tr.estimate(counts, "recall@5", **given)["recall@5"]
        for given in ({}, {"interval": "total"}, {"interval": "sampling"})
    )
    assert (default.low, default.high) == (named.low, named.high)
    assert default.low < sampling.low < default.value < sampling.high < default.high
    assert sampling.high - sampling.value == pytest.approx(1.959964 * sampling.std_error)
    assert sampling.resolvable == default.resolvable
    with pytest.raises(tr.InputError, match="unknown interval 'totl'; did you mean 'total'"):
        tr.estimate(counts, "recall@5", interval="totl")


def test_ends_by_hand():
    """Logits, with the spread of a log-normal law, Student's t with 60 degrees of freedom."""
    errors = (0.03, 0.0, 0.024, 0.0, 0.032, 0.12, 0.12, 0.7)  # of users last, which do not count
    law = ErrorLaw(*(np.array([error]) for error in errors))
    (recall,) = metrics.parse("recall@10")
    found = interval_of(0.2, law, 0, 0.95, 0.0, range_of(recall))
    t = 2.000298
    centre, slope = np.log(0.25), 1 / 0.16
    high = centre + t * np.sqrt(np.log1p((0.13 * slope) ** 2))
    low = centre - t * np.sqrt(np.log1p((0.13 * slope) ** 2))
    assert found.high == pytest.approx(1 / (1 + np.exp(-high)), rel=1e-6)
    assert found.low == pytest.approx(1 / (1 + np.exp(-low)), rel=1e-6)
    assert found.std_error == 0.03
    assert found.total_error == pytest.approx(np.sqrt(0.0025 + 0.0144))
    assert not found.resolvable  # far more than half of the value
    found = interval_of(
        0.2, replace(law, misfit_better=np.zeros(1)), 0, 0.95, 0.0, range_of(recall)
    )
    high = centre + t * np.sqrt(np.log1p((0.05 * slope) ** 2))
    assert found.high == pytest.approx(1 / (1 + np.exp(-high)), rel=1e-6)
    assert found.low == pytest.approx(1 / (1 + np.exp(-low)), rel=1e-6)


def test_ends_of_any_numbers_are_numbers_within_the_range():
    """Without overflow (which pytest takes for an error), however near to an end of the range."""
    shares = (0.0, 5e-324, 1e-310, 1e-160, 1e-17, 0.3, 1 - 2.3e-16, 1 - 1.2e-16, 1.0, 1 + 7e-16)
    errors = (0.0, 5e-324, 1e-300, 1e-3, 1.0, 1e3)
    for worst, best in ((0.0, 1.0), (1.0, 0.0), (0.2, 0.9), (0.0, 1e9)):
        for share, worse, better in itertools.product(shares, errors, errors):
            value = np.float64(worst + (best - worst) * share)
            reach = Range(np.float64(worst), np.float64(best))
            low, high = _ends(value, np.float64(worse), np.float64(better), reach, 0.95)
            assert np.isfinite([low, high]).all()
            assert low <= high
            if 0.0 < reach.way * (value - worst) < reach.width:
                assert min(worst, best) <= low <= high <= max(worst, best)


@pytest.mark.parametrize(
    ("half", "assumed", "total", "resolved"),
    [
        (0.49, 0.1, 1.0, True),
        (0.51, 0.1, 1.0, False),
        (0.11, 0.70, 1.0, True),  # less than half of the square is assumption
        (0.11, 0.72, 1.0, False),
        (0.09, 0.72, 1.0, True),
        (0.0, 0.0, 0.0, True),
    ],
)
def test_when_a_value_is_resolved(half, assumed, total, resolved):
    assert is_resolved(half, assumed, total, 1.0) is resolved


def test_sizes_of_lumps_count_as_evidence_has_them():
    """Even odds beforehand: by hand, without evidence and with a factor of 3 for the larger."""
    assert LUMPS == {0.1: 0.5, 0.6: 0.5}
    variance = np.array([[1.0, 2.0], [5.0, 6.0]])
    none, some = (np.array([[0.0], [np.log(odds)]]) for odds in (1.0, 3.0))
    np.testing.assert_allclose(mean_variance(variance, none), [3.0, 4.0])
    np.testing.assert_allclose(mean_variance(variance, some), [4.0, 5.0])


def test_misfit_grows_where_the_sample_tells_less():
    """With the typical rank of the metric, the sample size, and pools that tell of train items."""
    small, large = (counts_of(design=Fixed(sample_size=size)) for size in (20, 200))
    of_small, of_large = (
        Fitted.of(c, estimators.get("smooth"), METRICS_OF_MISFIT) for c in (small, large)
    )
    relative = [
        f.law.misfit / [f.fit.values[m.key] for m in METRICS_OF_MISFIT]
        for f in (of_small, of_large)
    ]
    assert relative[0][0] > relative[0][1] > relative[0][2]
    assert (relative[0] > relative[1]).all()
    told = features(small.pooled(), of_small.reference, METRICS_OF_MISFIT)
    assert told.columns[:, 2].tolist() == [1.0, 1.0, 1.0]
    assert told.columns[0, 4] == 0.0
    assert told.columns[0, 1] == pytest.approx(
        np.log(20 / N_ITEMS)
    )  # recall@1 finds its targets at rank 1
    exact = tr.RankCounts.from_exact_ranks(ranks(200), n_items=N_ITEMS)
    law = Fitted.of(exact, estimators.get("smooth"), METRICS_OF_MISFIT).law
    assert not law.misfit.any()
    assert not law.misfit_better.any()
    assert not law.lumps.any()


def test_misfit_makes_room_towards_mle():
    """Half of the distance, on its side; what is learnt comes on top of it to the worse alone."""
    told = Features(np.zeros((3, 5)), np.array([-0.6, 0.0, 0.8]))
    worse, better = sides(np.array([0.4, 0.1, 0.1]), told)
    np.testing.assert_allclose(worse, [0.5, 0.1, 0.1])
    np.testing.assert_allclose(better, [0.0, 0.0, 0.4])


@pytest.mark.parametrize("metric", ["recall@5", "mr"])
def test_how_far_mle_lies_is_counted_in_logits_and_to_the_better(metric):
    counts = counts_of(design=Fixed(sample_size=20))
    asked = bound(metrics.parse(metric), counts)
    fitted = Fitted.of(counts, estimators.get("smooth"), asked)
    told = features(counts.pooled(), fitted.reference, asked)
    of_mle, of_smooth = (
        tr.estimate(counts, metric, estimator=name, plug_in="posterior", confidence=None)
        for name in ("mle", "smooth")
    )
    of_range = range_of(asked[0])
    share = [(est[metric].value - of_range.worst) / (of_range.best - of_range.worst)
             for est in (of_mle, of_smooth)]  # fmt: skip
    apart = np.diff(np.log(share) - np.log1p(-np.array(share)))[0]
    assert told.apart[0] == pytest.approx(-apart, rel=1e-3)


def test_users_with_several_targets_scatter_as_told():
    """Estimates from other users of one kind, against what single tables tell of their scatter.

    A standard deviation of 40 draws is known to 11 %; three times that is allowed.
    """
    items = np.random.default_rng(0).normal(size=(8, 400))
    wanted = tr.metrics.parse(["recall@10", "ndcg@10", "hit_rate@10"])
    values, told = [], []
    for seed in range(40):
        rng = np.random.default_rng(seed)
        taste = rng.normal(size=(250, 8)) @ items
        liked = np.argsort(-(taste + 3.0 * rng.normal(size=taste.shape)), axis=1)
        number = rng.integers(3, 8, 250)
        chosen = [row[:n] for row, n in zip(liked, number, strict=True)]
        test = np.repeat(np.arange(250), number), np.concatenate(chosen)
        scorer = tr.scoring.Dense(taste + rng.normal(size=taste.shape))
        counts = tr.count(scorer, test, tr.designs.Fixed(num_negatives=60), seed=seed)
        fitted = Fitted.of(counts, tr.estimators.Smooth(), wanted)
        each = counts.targets_per_user
        values.append([each * fitted.fit.values[metric.key] for metric in wanted])
        told.append(each * np.hypot(fitted.law.negatives, fitted.law.users))
    ratio = np.mean(told, axis=0) / np.std(values, axis=0, ddof=1)
    assert ratio == pytest.approx(np.ones(3), abs=0.33)


@pytest.mark.filterwarnings("error")
def test_one_user_with_two_targets_has_an_interval():
    scorer = tr.scoring.Dense(np.random.default_rng(0).normal(size=(1, 40)))
    design = Fixed(num_negatives=5)
    for scope in ("these-users", "population"):
        found = tr.evaluate(scorer, ([0, 0], [1, 2]), design, metrics="recall@3", scope=scope)
        assert 0.0 <= found["recall@3"].low <= found["recall@3"].high <= 1.0
