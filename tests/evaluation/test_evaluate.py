"""`evaluate` in all its modes, and the choice of users."""

from __future__ import annotations

import numpy as np
import pytest

import truerank as tr
from truerank import InputError
from truerank.evaluation import auto, read_protocol, users
from truerank.scoring import Factors


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


def test_exact(case):
    model, test, train = case
    result = tr.evaluate(model, test, train=train, sampler="exact", metrics="recall@10")
    ranks = tr.exact_ranks(model, test, train=train)
    assert result["hr@10"].value == pytest.approx((ranks <= 10).mean())
    assert result.cost["pairs_per_user"] == 794
    assert result.protocol["mode"] == "exact"
    assert result.protocol["pool_sizes"] == [795, 795]


@pytest.mark.parametrize(
    "options",
    [
        {"sampler": "fixed", "num_negatives": 199},
        {"sampler": "adaptive", "start": 50, "stop": 400},
    ],
    ids=["fixed", "adaptive"],
)
def test_samples_come_close_to_exact(case, options):
    model, test, train = case
    exact = tr.evaluate(model, test, train=train, sampler="exact", metrics="recall@20")
    result = tr.evaluate(model, test, train=train, metrics="recall@20", **options)
    truth = exact["recall@20"].value
    assert result["recall@20"].value == pytest.approx(truth, abs=0.03)
    assert abs(result["recall@20"].naive - truth) > 0.1
    assert result.cost["pairs_per_user"] < 250


def test_auto_is_exact_when_that_is_quick(case):
    model, test, train = case
    result = tr.evaluate(model, test, train=train)
    assert result.protocol["mode"] == "exact"
    assert "takes about a second" in result.protocol["reason"]


def test_auto_samples_when_exact_is_slow(case, monkeypatch):
    model, test, train = case
    monkeypatch.setattr(auto, "QUICK", 0.0)
    monkeypatch.setattr(
        auto, "_seconds", lambda scorer, task, negatives=None: 1e6 if negatives is None else 1e-6
    )
    result = tr.evaluate(model, test, train=train, metrics="recall@50", error=0.1)
    assert result.protocol["mode"] in ("fixed", "adaptive")
    assert "predicted error of recall@50" in result.protocol["reason"]
    truth = (tr.exact_ranks(model, test, train=train) <= 50).mean()
    assert result["recall@50"].value == pytest.approx(truth, rel=0.3)
    impossible = tr.evaluate(model, test, train=train, metrics="recall@5", error=1e-6)
    assert impossible.protocol["mode"] == "exact"
    assert "no sample reaches" in impossible.protocol["reason"]


@pytest.mark.parametrize(("faster", "kind"), [(1.0, "per-user"), (100.0, "shared-block")])
def test_auto_shares_negatives_where_their_speed_outweighs_their_scatter(
    case, monkeypatch, faster, kind
):
    model, test, train = case
    seconds = {None: 1e6, "per-user": 1e-6, "shared-block": 1e-6 / faster}
    monkeypatch.setattr(auto, "QUICK", 0.0)
    monkeypatch.setattr(auto, "_seconds", lambda scorer, task, kind=None: seconds[kind])
    ask = {"train": train, "metrics": "recall@50", "error": 0.15}
    result = tr.evaluate(model, test, **ask)
    assert result.protocol["negatives"] == kind
    assert ("shared by blocks" in result.protocol["reason"]) == (kind == "shared-block")
    assert (result.counts.replicate.max() > 0) == (kind == "shared-block")
    own = tr.evaluate(model, test, negatives="per-user", **ask)
    assert own.protocol["negatives"] == "per-user"


def test_frozen_negatives_are_the_sample(case):
    model, test, train = case
    frozen = tr.sampling.freeze(model, test, train=train, num_negatives=60, seed=4)
    result = tr.evaluate(model, test, train=train, negatives=frozen, metrics="recall@50")
    plain = tr.sampled_counts(model, test, train=train, num_negatives=60, seed=4)
    assert result.counts == plain
    assert result.protocol["sample_sizes"] == [61]
    assert result.protocol["negatives_hash"] == frozen.hash
    with pytest.raises(InputError, match="adaptive samples continue"):
        tr.evaluate(model, test, train=train, negatives=frozen, sampler="adaptive")
    with pytest.raises(InputError, match="sample_size is 50"):
        tr.evaluate(model, test, train=train, negatives=frozen, sample_size=50)


@pytest.mark.parametrize("sampler", ["auto", "adaptive", "fixed"])
def test_a_budget_is_kept(case, sampler):
    model, test, train = case
    options = {"train": train, "metrics": "recall@50", "sampler": sampler}
    result = tr.evaluate(model, test, budget=120.5, **options)
    assert 119 < result.cost["pairs_per_user"] <= 120.5
    assert result.protocol["mode"] == {"fixed": "fixed"}.get(sampler, "adaptive")
    if sampler != "fixed":
        assert result.protocol["budget"] == 120.5
        assert result.protocol["sample_sizes"] == list(result.counts.schemes[0].ladder)
        assert result.counts == tr.adaptive_counts(model, test, train=train, budget=120.5)


def test_a_budget_that_covers_all_items(case):
    model, test, train = case
    rich = tr.evaluate(model, test, train=train, metrics="recall@50", budget=10_000)
    assert rich.protocol["mode"] == "exact"


def test_designs_by_name(case):
    model, test, train = case
    options = {"train": train, "metrics": "recall@50", "sampler": "adaptive"}
    ours = tr.evaluate(model, test, **options)
    assert ours.protocol["budget"] == 200
    assert ours.cost["pairs_per_user"] <= 200
    lj24 = tr.evaluate(model, test, design="lj24", stop=0.5, **options)
    assert lj24.protocol["budget"] is None
    assert lj24.protocol["sample_sizes"] == [100, 200, 400]


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"sampler": "exact", "budget": 100}, "budget is 100, but sampler='exact'"),
        ({"sampler": "fixed", "budget": 100, "sample_size": 100}, "both given"),
        ({"budget": 0}, "budget is 0"),
        ({"sampler": "adaptive", "negatives": "shared-block"}, "continue each user's own"),
    ],
)
def test_designs_that_contradict_themselves(case, options, message):
    model, test, train = case
    with pytest.raises(InputError, match=message):
        tr.evaluate(model, test, train=train, **options)


def test_saved_with_its_protocol(case, tmp_path):
    model, test, train = case
    result = tr.evaluate(model, test, train=train, sampler="fixed", sample_size=50, seed=9)
    path = tmp_path / "counts.parquet"
    result.save(path)
    assert tr.RankCounts.load(path) == result.counts
    card = read_protocol(path)
    assert card == dict(result.protocol)
    assert (card["seed"], card["sample_sizes"], card["replacement"]) == (9, [50], False)
    tr.exact_counts(model, test).save(path)
    assert read_protocol(path) is None


def test_a_sample_of_users(case):
    model, test, train = case
    result = tr.evaluate(model, test, train=train, sampler="exact", users=200, seed=1)
    assert (result.protocol["users"], result.protocol["population"]) == (200, 1500)
    assert result.counts.n_users == 200
    again = tr.evaluate(
        model,
        tuple(part[::-1] for part in test),
        train=train,
        sampler="exact",
        users=200,
        seed=1,
        stratified=False,
    )
    assert again.counts == result.counts


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
        ({"sampler": "magic"}, "unknown sampler"),
        ({"users": 0}, "users is 0"),
        ({"users": 5000}, "the test has 1500 users"),
        ({"users": 10, "stratified": True, "train": None}, "stratified needs train"),
        ({"error": 0.0}, "error is 0"),
        ({"sampler": "fixed", "sample_size": 5, "num_negatives": 5}, "both given"),
        ({"metrics": "recall@9999", "sampler": "exact"}, "k is 9999"),
    ],
)
def test_bad_input(case, options, message):
    model, test, train = case
    with pytest.raises(InputError, match=message):
        tr.evaluate(model, test, **{"train": train, **options})


def test_a_bare_function_is_no_scorer(case):
    with pytest.raises(InputError, match="wrap your model"):
        tr.evaluate(lambda u, i: 0, case[1])
