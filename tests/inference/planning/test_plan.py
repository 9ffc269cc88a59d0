"""Plans: predicted errors against realised ones, formulas by hand, and what cannot be planned."""

from __future__ import annotations

import numpy as np
import pytest

import truerank as tr
from truerank import InputError, estimators, metrics
from truerank.designs import LJ24, Exact, Fixed
from truerank.estimators._lean import lean_support
from truerank.inference.intervals import misfit
from truerank.inference.planning.efficiency import (
    Stage,
    elbow,
    sampling_efficiency,
    sampling_effort,
)
from truerank.inference.planning.like import power_law, read
from truerank.inference.planning.planned import Plan
from truerank.inference.planning.simulate import (
    crowd,
    global_ranks,
    predict_error,
    simulated_counts,
)

N_ITEMS, N_USERS = 3000, 1500
(METRIC,) = metrics.parse("recall@10")


@pytest.fixture(scope="module")
def lawful():
    """Ranks follow a law here: no lumps, no misfit, which plans count in for real data."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(misfit, "LEARNT", misfit.Misfit(-50.0, 0.0, 0.0, 0.0, 0.0))
        patch.setattr(misfit, "TOWARDS", 0.0)
        patch.setattr(misfit, "LUMPS", {1e-6: 1.0})
        yield


@pytest.fixture(scope="module")
def plan(lawful) -> Plan:
    return tr.plan(N_ITEMS, N_USERS, "recall@10", error=0.04)


@pytest.fixture(scope="module")
def many(lawful) -> Plan:
    """More users than it takes."""
    return tr.plan(N_ITEMS, 10 * N_USERS, "recall@10", error=0.05, designs=["adaptive", "exact"])


@pytest.mark.parametrize(
    "name", ["adaptive", "adaptive (LJ24)", "fixed", "users x adaptive", "users"]
)
def test_predicted_errors_are_the_realised_ones(plan, many, name):
    """Within 20 %, over 200 evaluations of other users from the same law (known to 5 %)."""
    plan = many if name == "users x adaptive" else plan
    planned = plan.get(name)
    law = power_law(N_ITEMS, 0.3, METRIC)
    rng = np.random.default_rng(7)
    errors, pairs = [], []
    for _ in range(2000 if name == "users" else 200):
        rank = global_ranks(law, plan.n_users, rng)
        seen = rank[: planned.n_users]  # as good as a random choice: ranks are exchangeable
        truth = (rank <= 10).mean()
        if name == "users":
            errors.append((seen <= 10).mean() - truth)
            continue
        counts = simulated_counts(seen, np.full(seen.size, N_ITEMS), planned.design, rng)
        # What estimate gives within 0.1 %, at half its cost.
        fit = estimators.Smooth().fit(
            counts, metrics=[METRIC], support=lean_support(counts, [METRIC]), plug_in="plain"
        )
        if not errors:
            whole = tr.estimate(counts, METRIC, confidence=None)[METRIC].value
            assert fit.values[METRIC.key] == pytest.approx(whole, rel=1e-3)
        errors.append(fit.values[METRIC.key] - truth)
        pairs.append(counts.pairs_per_user)
    realised = float(np.sqrt(np.mean(np.square(errors)))) / plan.value
    assert planned.error == pytest.approx(realised, rel=0.2)
    assert planned.error <= plan.error
    if pairs:
        assert planned.pairs_per_user == pytest.approx(np.mean(pairs), rel=0.05)


def test_misfit_counts_in_plans(monkeypatch):
    """As half of its square, whatever the number of users."""
    law = power_law(N_ITEMS, 0.3, METRIC)
    found = []
    for level in (-50.0, -2.0):
        monkeypatch.setattr(misfit, "LEARNT", misfit.Misfit(level, 0.0, 0.0, 0.0, 0.0))
        design, smooth = Fixed(sample_size=100), estimators.Smooth()
        users = crowd(law, 500, np.full(500, N_ITEMS))
        found.append(predict_error(users, METRIC, design=design, estimator=smooth))
    without, with_it = found
    added = with_it.bias**2 - without.bias**2
    value = added**0.5 * 2**0.5 / np.exp(-2.0)  # value (1 - value) of the fit
    assert value == pytest.approx(with_it.value * (1 - with_it.value), rel=0.3)
    assert with_it.std_error == without.std_error


def test_a_pilot_predicts_as_the_law_it_was_drawn_from():
    law = power_law(N_ITEMS, 0.3, METRIC)
    rng = np.random.default_rng(3)
    rank = global_ranks(law, 4000, rng)
    pilot = simulated_counts(rank, np.full(4000, N_ITEMS), Fixed(sample_size=150), rng)
    design = LJ24(start=32, stop=256)
    known, *errors = (
        predict_error(
            read(like, None, METRIC).users(N_USERS),
            METRIC,
            design=design,
            estimator=estimators.get("smooth"),
        ).relative
        for like in (law, pilot, tr.estimate(pilot, METRIC))
    )
    assert errors == pytest.approx([known, known], rel=0.2)
    assert tr.plan(like=pilot, metric=METRIC, error=0.3, designs="exact").n_users == 4000


def test_plans_for_users_with_several_targets_promise_no_less_error_than_there_is():
    """Real evaluations by the planned design; ten of them tell their error to a quarter."""
    rng = np.random.default_rng(3)
    users, items = rng.normal(size=(300, 6)), rng.normal(size=(N_ITEMS, 6))
    liked = np.argsort(-(users @ items.T + 4.0 * rng.normal(size=(300, N_ITEMS))), axis=1)
    test = (np.repeat(np.arange(300), 5), liked[:, :5].ravel())
    scorer = tr.scoring.Factors(users, items)
    pilot = tr.count(scorer, test, Fixed(num_negatives=99), seed=1)
    truth = tr.evaluate(scorer, test, "exact", metrics="recall@20")["recall@20"].value
    plan = tr.plan(
        metric="recall@20", error=0.06, like=pilot, designs=["fixed", "exact"], fewer_users=False
    )
    assert plan.value == pytest.approx(truth, rel=0.3)
    planned = plan.get("fixed")
    assert planned.pairs_per_user < plan.get("exact").pairs_per_user
    errors, pairs = [], []
    for seed in range(2, 12):
        counts = tr.count(scorer, test, planned.design, seed=seed)
        est = tr.estimate(counts, "recall@20", confidence=None)["recall@20"]
        errors.append(est.value / truth - 1.0)
        pairs.append(counts.pairs_per_user)
    realised = float(np.sqrt(np.mean(np.square(errors))))
    assert planned.error / 4.0 < realised < 1.25 * planned.error
    assert planned.pairs_per_user == pytest.approx(np.mean(pairs), rel=0.05)


def test_the_cheapest_comes_first_and_exact_is_always_there(plan):
    cost = [one.total_pairs for one in plan]
    assert cost == sorted(cost)
    assert plan[-1].name == "exact"
    assert plan[-1].total_pairs == N_USERS * N_ITEMS  # the target's own pair counts
    assert plan[-1].design == Exact()
    assert plan[-1].error == 0.0
    assert plan.value == pytest.approx((10 / N_ITEMS) ** 0.3, rel=1e-9)
    assert plan.get("users (Hoeffding)").n_users > plan.get("users").n_users
    assert plan.to_pandas()["total_pairs"].tolist() == cost
    assert plan.to_dict()["designs"][0]["name"] == plan[0].name
    assert f"{plan[0].n_users:,} users" in repr(plan)


def test_users_only_by_the_formulas_of_lj24():
    """At p = 1/2 as in eq. 47, with 20,000 users: m = 1067.07 / (1 + 1067.07 / 20000)."""
    uniform = {"n_items": 100, "metric": "recall@50", "like": 1.0, "designs": "exact"}
    error = 0.06 / 1.959964  # an interval of +- 3 % of 1, the metric being 1/2
    plan = tr.plan(n_users=20_000, error=error, **uniform)
    assert plan.half_width(error) == pytest.approx(0.06 * 2.000298 / 1.959964)
    assert plan.value == pytest.approx(0.5)
    assert plan.get("users").n_users == 1014  # 1013.02, rounded up
    assert plan.get("users").error == pytest.approx(error, rel=1e-3)
    assert plan.get("users").design == Exact(users=1014)
    # Hoeffding: log(2 / 0.05) / (2 * 0.03^2) = 2049.37 of endlessly many.
    assert plan.get("users (Hoeffding)").n_users == int(np.ceil(2049.3775 / (1 + 2049.3775 / 2e4)))
    two = tr.plan(n_users=20_000, error=error, models=2, **uniform)  # eq. 52: twice as many
    assert two.get("users").n_users == int(np.ceil(2134.14 / (1 + 2134.14 / 2e4)))
    endless = tr.plan(n_users=20_000, error=error, scope="population", **uniform)
    assert endless.get("users").n_users == 1068


def test_errors_and_costs_move_together():
    ask = {"n_items": 1000, "n_users": 500, "designs": "adaptive", "fewer_users": False}
    (loose,), (tight,) = (tr.plan(error=error, **ask) for error in (0.1, 0.04))
    assert loose.pairs_per_user < tight.pairs_per_user
    (sure,) = tr.plan(error=0.1, confidence=0.5, **ask)  # only what is shown beside the error
    assert sure == loose
    (pair,) = tr.plan(error=0.1 * np.sqrt(2), models=2, **ask)
    assert pair.design == loose.design
    # Of five models there are ten pairs: 2.807 standard errors instead of 1.960.
    (five,) = tr.plan(error=0.1 * np.sqrt(2) * 2.807034 / 1.959964, models=5, **ask)
    assert five.design == loose.design
    with pytest.raises(InputError, match="models is 0"):
        tr.plan(models=0, **ask)


def test_an_error_that_no_sample_reaches_takes_an_exact_evaluation():
    plan = tr.plan(60, 50, "auc", error=1e-6)
    assert [one.name for one in plan] == ["exact"]
    with pytest.raises(InputError, match=r"with 50 users even an exact .* error of 0\.2 for rec"):
        tr.plan(200, 50, "recall@5", error=0.1, scope="population")


def test_designs_go_into_evaluate_as_they_are():
    rng = np.random.default_rng(0)
    scorer = tr.scoring.Dense(rng.standard_normal((120, 300)))
    test = np.arange(120), rng.integers(300, size=120)
    ask = {"like": 0.8, "n_items": 300, "n_users": 120, "metric": "recall@30"}
    plan = tr.plan(error=0.12, **ask)
    assert {"adaptive", "adaptive (LJ24)", "fixed", "users"} <= {one.name for one in plan}
    for one in plan:
        found = tr.evaluate(scorer, test, one.design, metrics="recall@30", confidence=None)
        assert found.counts.n_users == one.n_users
        assert found.counts.sample_size.max() <= max(one.largest_sample, 300)


def test_a_plan_is_a_table(plan):
    assert plan.rows()[0]["design"] == repr(plan[0].design)
    assert plan.to_dict()["designs"][0]["design"] == plan[0].design.to_dict()
    lines = plan.to_markdown().splitlines()
    assert len(lines) == 2 + len(plan)
    assert plan[0].name in lines[2]
    assert plan.headline() in plan._repr_html_()
    assert plan.headline() == (
        "Goal: recall@10 ≈ 0.18 with a relative error of 4 % (interval ± 8 %), for these users"
    )
    assert plan.advice().startswith(f"For recall@10 within 4 %: {plan[0].design!r}, about ")


def test_the_efficiency_curve_is_that_of_eq_44():
    """C_j counted from simulated adaptive samples that go up to the catalogue."""
    n_items, n_users = 2000, 200_000
    law = power_law(n_items, 0.4, METRIC)
    rng = np.random.default_rng(0)
    rank = global_ranks(law, n_users, rng)
    design = LJ24(start=100, stop=n_items)  # 100, 200, 400, 800, 1600, 2000
    counts = simulated_counts(rank, np.full(n_users, n_items), design, rng)
    ended = counts.sampled_rank > 1
    left, before = float(n_users), 0
    stages = sampling_efficiency(law)
    assert [stage.sample_size for stage in stages] == [100, 200, 400, 800, 1600]
    for stage in stages:
        size = stage.sample_size
        m = counts.weight[(counts.sample_size == size) & ended].sum()
        assert stage.reached == pytest.approx(left / n_users, rel=0.02)
        assert stage.cost == pytest.approx(left * (size - before) / m, rel=0.05)
        assert stage.share == size / n_items
        left, before = left - m, size


def test_expected_and_empirical_efficiency_are_one_curve():
    """C_j of the law beside C_j of drawn samples, C_0 with it: n_0 counts the target in both."""
    n_items, n_users = 2000, 200_000
    law = power_law(n_items, 0.4, METRIC)
    rng = np.random.default_rng(1)
    rank = global_ranks(law, n_users, rng)
    design = LJ24(start=100, stop=n_items)
    counts = simulated_counts(rank, np.full(n_users, n_items), design, rng)
    efforts = sampling_effort(counts)
    stages = sampling_efficiency(law)
    assert len(efforts) == len(stages) + 1
    for stage, effort in zip(stages, efforts[:-1], strict=True):
        # Four standard errors of m_j; at the first, less than the one in a hundred at stake.
        near = 4 / np.sqrt(effort.ended * n_users)
        assert effort.cost == pytest.approx(stage.cost, rel=near)


def test_elbow_by_hand():
    """Sizes 1, 2, 4, 8; costs 0, 1, 2, 14: below the chord by 0, 1/14, 4/14, 0."""

    def curve(*costs):
        return [Stage(2**i, 2**i / 16, 1.0, float(cost)) for i, cost in enumerate(costs)]

    assert elbow(curve(0, 1, 2, 14)).sample_size == 4
    assert elbow(curve(0, 0, 6, 14)).sample_size == 2
    assert elbow(curve(0, 1, 2, 14, np.inf)).sample_size == 4
    assert elbow(curve(0, 1, 3, 7)) is None  # a straight line
    assert elbow(curve(0, 5, 9, 10)) is None  # bends the other way
    assert elbow(curve(3, 2, 1)) is None
    assert elbow(curve(1, 2)) is None


def test_the_rule_of_lj24_is_told(plan):
    bend = elbow(plan.efficiency)
    assert plan.rule().endswith(f"bends most at {bend.sample_size:,} ({100 * bend.share:.0f} %).")
    assert "10 to 15 % of the items, 300 to 450" in plan.rule()
    assert plan.efficiency == sampling_efficiency(power_law(N_ITEMS, 0.3, METRIC))


def test_pools_of_a_pilot_are_kept():
    counts = tr.RankCounts.from_ranks(
        [1, 5, 30, 2, 1, 60], sample_size=60, n_items=[80, 80, 90, 90, 95, 95], replacement=True
    )
    like = read(counts, 100, METRIC)
    assert (like.catalogue, like.n_items) == (95, pytest.approx(88.333, abs=1e-3))
    rank, pool = like.users(500)(np.random.default_rng(0))
    assert set(pool.tolist()) == {80, 90, 95}
    assert (rank <= pool).all()


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"n_items": None}, "n_items is missing"),
        ({"n_users": None}, "n_users is missing"),
        ({"n_users": 0}, "n_users is 0"),
        ({"error": 0}, "error is 0; it must be above 0"),
        ({"confidence": 1.0}, "confidence is 1.0"),
        ({"metric": "recall@1,5"}, "plan for one at a time"),
        ({"metric": "recall@101"}, "k is 101 in recall@101; the largest pool has 100"),
        ({"like": "0.3"}, "like is of type str"),
        ({"like": -1.0}, "like is -1.0; it must be above 0"),
        ({"scope": "users"}, "unknown scope 'users'"),
        ({"designs": ["adaptve"]}, "unknown design 'adaptve'; did you mean 'adaptive'"),
        (
            {"like": tr.RankCounts.from_ranks([1, 2], sample_size=5, n_items=300)},
            "n_items is 100; the pilot's pools go up to 300",
        ),
        ({"like": power_law(200, 0.3, METRIC)}, "n_items is 100; the distribution's ranks go"),
    ],
)
def test_what_cannot_be_planned(arguments, message):
    with pytest.raises(InputError, match=message):
        tr.plan(**({"n_items": 100, "n_users": 50, "metric": "recall@5"} | arguments))


def test_a_metric_of_nothing_has_no_relative_error():
    nobody = metrics.Metric("none", function=np.zeros_like)
    with pytest.raises(InputError, match="none is 0 by the law"):
        tr.plan(100, 50, nobody)
