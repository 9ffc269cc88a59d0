"""`evaluate` by all designs, and the choice of users."""

from __future__ import annotations

import numpy as np
import pytest

import truerank as tr
from truerank import InputError
from truerank.designs import LJ24, Adaptive, Auto, Exact, Fixed, Frozen
from truerank.estimators import Smooth
from truerank.evaluation import auto, read_protocol
from truerank.sampling import users
from truerank.scoring import Factors
from truerank.scoring.task import prepare

SEVERAL = np.repeat(np.arange(5), 3), np.tile([700, 701, 702], 5)


@pytest.fixture(scope="module")
def case():
    """A model that knows its users' tastes with noise: 1,500 users, 800 items."""
    rng = np.random.default_rng(0)
    taste, items = rng.standard_normal((1500, 16)), rng.standard_normal((800, 16))
    utility = taste @ items.T + rng.gumbel(size=(1500, 800))
    order = np.argsort(-utility, axis=1)
    test = np.arange(1500), order[:, 5]
    train = np.repeat(np.arange(1500), 5), order[:, :5].ravel()
    return Factors(taste.astype(np.float32), items.astype(np.float32)), test, train


def ranks_of(model, test, train):
    return tr.rank(model, test, train=train)["rank"].to_numpy()


def test_exact(case):
    model, test, train = case
    result = tr.evaluate(model, test, "exact", train=train, metrics="recall@10")
    hits = (ranks_of(model, test, train) <= 10).mean()
    assert result["Recall@10"].value == pytest.approx(hits)
    alias = tr.evaluate(model, test, "exact", train=train, metrics="hr@10")["hit@10"]
    assert (alias.metric, alias.value) == ("hit_rate@10", pytest.approx(hits))
    assert result.counts == tr.count(model, test, train=train)
    # Vectors are multiplied with all items, those left out too.
    assert (result.cost, result.pairs_per_user) == (1500 * 800, 800)
    assert result.protocol["design"] == Exact().to_dict()
    assert result.protocol["pool_sizes"] == [795, 795]
    assert next(iter(result.protocol)) == "design"


@pytest.mark.parametrize(
    "design", [Fixed(num_negatives=199), LJ24(start=50, stop=400)], ids=["fixed", "adaptive"]
)
def test_samples_come_close_to_exact(case, design):
    model, test, train = case
    exact = tr.evaluate(model, test, "exact", train=train, metrics="recall@20")
    result = tr.evaluate(model, test, design, train=train, metrics="recall@20")
    truth = exact["recall@20"].value
    assert result["recall@20"].value == pytest.approx(truth, abs=0.03)
    assert abs(result["recall@20"].naive - truth) > 0.1
    assert result.pairs_per_user < 251
    assert result.protocol["design"] == design.to_dict()
    assert tr.designs.from_dict(result.protocol["design"]) == design


def test_auto_is_exact_when_that_is_quick(case, monkeypatch):
    model, test, train = case
    result = tr.evaluate(model, test, train=train)
    assert result.protocol["design"] == Exact().to_dict()
    assert "takes less than a second" in result.reason
    monkeypatch.setattr(auto, "_TINY", 0.0)
    timed = tr.evaluate(model, test, train=train)
    assert timed.counts == result.counts
    assert "takes about a second" in timed.reason
    assert timed.cost > result.cost == 1500 * 800  # timing it is not for nothing


@pytest.fixture
def timed(monkeypatch):
    """A clock of one's own: seconds of an exact evaluation, and of a pair by who shares it."""

    def set_times(exact, pairs):
        monkeypatch.setattr(auto, "QUICK", 0.0)
        monkeypatch.setattr(auto, "_TINY", 0.0)
        monkeypatch.setattr(auto.Pilot, "seconds_exact", lambda self: exact)
        monkeypatch.setattr(
            auto.Pilot, "seconds_per_pair", lambda self, *, shared_by=None: pairs[shared_by]
        )

    return set_times


def test_auto_samples_when_exact_is_slow(case, timed):
    model, test, train = case
    timed(1e6, {None: 1e-6, 64: 1e-6})
    options = {"train": train, "metrics": "recall@50"}
    result = tr.evaluate(model, test, Auto(error=0.1), **options)
    assert result.protocol["design"]["name"] in ("fixed", "adaptive")
    assert "predicted error of recall@50" in result.reason
    truth = (ranks_of(model, test, train) <= 50).mean()
    assert result["recall@50"].value == pytest.approx(truth, rel=0.3)
    impossible = tr.evaluate(model, test, Auto(error=1e-6), train=train, metrics="recall@5")
    assert impossible.protocol["design"] == Exact().to_dict()
    assert "no sample reaches" in impossible.reason


@pytest.mark.parametrize(("faster", "shared_by"), [(1.0, None), (100.0, 64)])
def test_auto_shares_negatives_where_their_speed_outweighs_their_scatter(
    case, timed, faster, shared_by
):
    model, test, train = case
    timed(1e6, {None: 1e-6, 64: 1e-6 / faster})
    result = tr.evaluate(model, test, Auto(error=0.15), train=train, metrics="recall@50")
    assert result.protocol["design"].get("shared_by") == shared_by
    assert ("shared_by=64" in result.reason) == (shared_by == 64)
    assert (result.counts.replicate.max() > 0) == (shared_by == 64)


def test_auto_within_a_time(case, timed):
    """Pairs that fit the time are the budget; exact if that does."""
    model, test, train = case
    timed(1e6, {None: 1e-3})
    options = {"train": train, "metrics": "recall@50"}
    result = tr.evaluate(model, test, Auto(seconds=150.0), **options)  # 100 pairs a user
    assert "within 100 scored pairs per user instead of 800" in result.reason
    assert 90 < result.pairs_per_user <= 100
    timed(9.0, {})
    rich = tr.evaluate(model, test, Auto(seconds=10.0), **options)
    assert rich.protocol["design"] == Exact().to_dict()
    assert "takes about 9 s" in rich.reason


def test_frozen_negatives_are_the_sample(case, tmp_path):
    model, test, train = case
    drawn = Fixed(num_negatives=60)
    frozen = tr.sampling.freeze(model, test, drawn, train=train, seed=4)
    frozen.save(tmp_path / "n.parquet")
    result = tr.evaluate(model, test, Frozen(frozen), train=train, metrics="recall@50")
    assert result.counts == tr.count(model, test, drawn, train=train, seed=4)
    assert result.protocol["sample_sizes"] == [61]
    card = result.protocol["design"]
    assert (card["negatives"], card["sha256"]) == (str(tmp_path / "n.parquet"), frozen.hash)
    assert result.cost == 1500 * 61


@pytest.mark.parametrize("design", [Adaptive(budget=120.5), Auto(budget=120.5)], ids=repr)
def test_a_budget_is_kept(case, design):
    model, test, train = case
    result = tr.evaluate(model, test, design, train=train, metrics="recall@50")
    assert 115 < result.pairs_per_user <= 120.5
    carried = tr.designs.from_dict(result.protocol["design"])
    assert result.counts == tr.count(model, test, carried, train=train)
    if design == carried:
        assert result.pairs_per_user > 119
        assert result.protocol["sample_sizes"] == list(result.counts.schemes[0].ladder)
    else:  # what the pilot took is not there any more
        spent = result.cost - result.counts.pairs_per_user * 1500
        assert 0 < spent <= 0.1 * 120.5 * 1500


def test_a_budget_that_covers_all_items(case):
    model, test, train = case
    rich = tr.evaluate(model, test, Auto(budget=10_000), train=train, metrics="recall@50")
    assert rich.protocol["design"] == Exact().to_dict()
    assert "within the budget of 10000" in rich.reason


@pytest.mark.parametrize("budget", [2, 2.5, 3, 7.9])
def test_small_budgets_have_no_pilot_or_pay_for_it(budget):
    """10,000 users: even 2 pairs each would pay for a look at some of them."""
    rng = np.random.default_rng(0)
    model = Factors(rng.normal(size=(10_000, 2)), rng.normal(size=(300, 2)))
    test = np.arange(10_000), rng.integers(0, 300, 10_000)
    result = tr.evaluate(model, test, Auto(budget=budget), metrics="auc", confidence=None)
    assert 0.6 * budget < result.pairs_per_user <= budget


# The best of a user's five ranks first for two thirds of the users: a spike, and it is said.
@pytest.mark.filterwarnings("ignore:The fitted law cannot follow:truerank.errors.FitWarning")
def test_a_budget_for_several_targets_is_weighed_with_shared_negatives():
    """Five targets: what adaptive sampling is predicted to do is at the whole budget of a user."""
    rng = np.random.default_rng(0)
    taste, items = rng.standard_normal((2000, 8)), rng.standard_normal((800, 8))
    order = np.argsort(-(taste @ items.T + rng.gumbel(size=(2000, 800))), axis=1)
    test = np.repeat(np.arange(2000), 5), order[:, :5].ravel()
    model = Factors(taste.astype("f4"), items.astype("f4"))
    for metric in ("recall@1", "auc"):
        result = tr.evaluate(model, test, Auto(budget=300), metrics=metric)
        assert 0.8 * 300 < result.pairs_per_user <= 300
        assert "Adaptive(budget=" in result.reason
        assert "Fixed(num_negatives=" in result.reason
    pilot = auto.Pilot(model, prepare(model, test), seed=0, n_users=None)
    law = auto.distribution(pilot.start(300, 200), tr.Metric("recall", 10), Smooth())
    for budget in (300, 12):
        design = Adaptive(budget=budget)
        found = auto._predict(law, tr.Metric("recall", 10), design, pilot, Smooth())
        assert 0.8 * budget < found.pairs_per_user <= budget


def test_designs_by_name(case):
    model, test, train = case
    options = {"train": train, "metrics": "recall@50"}
    ours = tr.evaluate(model, test, "adaptive", **options)
    assert ours.protocol["design"]["budget"] == 200
    assert ours.pairs_per_user <= 200
    lj24 = tr.evaluate(model, test, "lj24(stop=0.5)", **options)
    assert lj24.protocol["design"]["budget"] is None
    assert lj24.protocol["sample_sizes"] == [100, 200, 400]


def test_ties_that_a_design_cannot_serve_are_said_before_anything_is_scored(case):
    _, test, train = case
    asked = []
    scorer = tr.scoring.Callable(lambda users, items: asked.append(items), n_items=800)
    for design in (Adaptive(), LJ24(), Auto(budget=50)):
        with pytest.raises(InputError, match=r"ties is 'mid'.*take 'random'"):
            tr.evaluate(scorer, test, design, train=train, ties="mid")
    assert not asked


def test_saved_with_its_protocol(case, tmp_path):
    model, test, train = case
    result = tr.evaluate(model, test, Fixed(sample_size=50), train=train, seed=9)
    path = tmp_path / "counts.parquet"
    result.save(path)
    assert tr.RankCounts.load(path) == result.counts
    card = read_protocol(path)
    assert card == dict(result.protocol)
    assert (card["seed"], card["sample_sizes"], card["replacement"]) == (9, [50], False)
    assert tr.designs.from_dict(card["design"]) == Fixed(sample_size=50)
    tr.count(model, test).save(path)
    assert read_protocol(path) is None


def test_a_sample_of_users(case):
    model, test, train = case
    result = tr.evaluate(model, test, Exact(users=200), train=train, seed=1)
    assert (result.protocol["users"], result.protocol["population_size"]) == (200, 1500)
    assert result.counts.n_users == 200
    assert result.pairs_per_user == 800
    backwards = tuple(part[::-1] for part in test)
    again = tr.evaluate(model, backwards, Exact(users=200, stratified=False), train=train, seed=1)
    assert again.counts == result.counts
    # Intervals are for all users unless stated.
    these = tr.evaluate(model, test, Exact(users=200), train=train, seed=1, scope="these-users")
    assert these["recall@10"].low == these["recall@10"].high
    assert result["recall@10"].low < result["recall@10"].value < result["recall@10"].high


def test_plans_go_into_evaluate(case):
    model, test, train = case
    first = tr.evaluate(model, test, Fixed(num_negatives=99), train=train, metrics="recall@50")
    plan = tr.plan(like=first.counts, metric="recall@50", error=0.2)
    result = tr.evaluate(model, test, plan[0].design, train=train, metrics="recall@50")
    assert result.protocol["design"] == plan[0].design.to_dict()


def test_chosen_users():
    ids = np.repeat(np.arange(1000), 2)
    chosen = users.choose(ids, 100, seed=0)
    assert chosen.sum() == 200  # all rows of a user together
    assert np.array_equal(chosen[::2], chosen[1::2])
    activity = ids + 1
    strata = users.choose(ids, 100, seed=0, activity=activity)
    picked = np.unique(ids[strata])
    assert picked.size == 100
    assert (np.diff(picked) <= 20).all()  # one of every ten in order of activity
    share = [users.choose(ids, 100, seed=s)[::2] for s in range(300)]
    rate = np.mean(share, axis=0)
    assert np.abs(rate - 0.1).max() < 5 * np.sqrt(0.09 / 300)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"design": "magic"}, "unknown design 'magic'"),
        ({"design": Exact(users=5000)}, "users is 5000; the test has 1500 users"),
        ({"design": Exact(users=10, stratified=True), "train": None}, "stratified needs train"),
        ({"design": Auto(budget=2), "test": SEVERAL}, "3 targets on average.* at least 4"),
        ({"metrics": "recall@9999", "design": "exact"}, "k is 9999"),
        ({"scope": "everyone"}, "unknown scope 'everyone'"),
        ({"confidence": 95}, "confidence is 95"),
        ({"metrics": "magic"}, "unknown metric"),
        ({"progress": 3}, "progress is 3"),
        ({"seed": -1}, "seed is -1"),
    ],
)
def test_bad_input(case, options, message):
    model, test, train = case
    with pytest.raises(InputError, match=message):
        tr.evaluate(model, **{"test": test, "train": train, **options})
    # Nor is a function asked for anything before.
    asked = []
    function = tr.scoring.Callable(lambda users, items: asked.append(items), n_items=800)
    options = {"test": test, "train": train, "design": Auto(budget=50), **options}
    with pytest.raises(InputError, match=message):
        tr.evaluate(function, **options)
    assert not asked


def test_a_bare_function_is_no_scorer(case):
    with pytest.raises(InputError, match="wrap your model"):
        tr.evaluate(lambda u, i: 0, case[1])
