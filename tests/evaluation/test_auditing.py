"""The audit finds what was planted, and nothing where all is well."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pytest

from truerank import InputError, RankCounts
from truerank.evaluation.auditing import audit

N_ITEMS, N_USERS, N_NEGATIVES = 400, 300, 20


@pytest.fixture(scope="module")
def data():
    """Training data with popular items, a target a user, and sound negatives."""
    rng = np.random.default_rng(0)
    weight = 1 / np.arange(1, N_ITEMS + 1)
    train_user, train_item, targets, negatives = [], [], [], []
    for user in range(N_USERS):
        items = rng.choice(N_ITEMS, size=11, replace=False, p=weight / weight.sum())
        train_user += [user] * 10
        train_item += items[:10].tolist()
        targets.append(int(items[10]))
        pool = np.setdiff1d(np.arange(N_ITEMS), items)
        negatives.append(rng.choice(pool, size=N_NEGATIVES, replace=False))
    every = np.setdiff1d(np.arange(N_ITEMS), train_item)  # so that every item is in training
    train = (
        np.array(train_user + [N_USERS] * every.size),
        np.array(train_item + every.tolist()),
    )
    return (np.arange(N_USERS), np.array(targets)), train, np.array(negatives)


def _table(test, negatives):
    return pa.table({"user_id": test[0], "item_id": test[1], "negatives": list(negatives)})


def _codes(found, level):
    return {finding.code for finding in found if finding.level == level}


def test_a_sound_evaluation_has_no_findings(data):
    test, train, negatives = data
    found = audit(negatives=_table(test, negatives), test=test, train=train)
    assert found.sound, str(found)
    assert "uniform" in _codes(found, "ok")


def test_planted_faults_are_counted(data):
    test, train, negatives = data
    bad = negatives.copy()
    bad[3, 0] = bad[3, 1]  # a repeat
    bad[5, 0] = test[1][5]  # the target
    bad[7, :2] = train[1][train[0] == 7][:2]  # training items
    found = audit(negatives=_table(test, bad), test=test, train=train)
    counts = {finding.code: finding.count for finding in found}
    assert counts["duplicates"] == 1
    assert counts["targets"] == 1
    assert counts["training-items"] == 2
    assert found.findings[0].level == "error"
    assert not found.sound


def test_lists_of_different_length(data):
    test, train, negatives = data
    lists = [row[:-1] if i < 4 else row for i, row in enumerate(negatives)]
    found = audit(negatives=_table(test, lists), train=train, test=test)
    (finding,) = [f for f in found if f.code == "sizes"]
    assert (finding.level, finding.count) == ("warning", 4)


def test_popularity_sampling_is_recognised(data):
    test, train, _ = data
    rng = np.random.default_rng(1)
    popularity = np.bincount(train[1], minlength=N_ITEMS).astype(float)
    drawn = rng.choice(N_ITEMS, size=(N_USERS, N_NEGATIVES), p=popularity / popularity.sum())
    found = audit(negatives=_table(test, drawn), test=test, train=train)
    assert "popularity-sampled" in _codes(found, "error")


def test_models_that_met_different_negatives(data):
    test, _, negatives = data
    same = {"A": _table(test, negatives), "B": _table(test, negatives[:, ::-1])}
    assert "negatives-differ" in _codes(audit(negatives=same), "ok")
    other = negatives.copy()
    other[:9, 0] = [np.setdiff1d(np.arange(N_ITEMS), row)[0] for row in negatives[:9]]
    found = audit(negatives={"A": _table(test, negatives), "B": _table(test, other)})
    (finding,) = [f for f in found if f.code == "negatives-differ"]
    assert (finding.level, finding.count) == ("warning", 9)


def test_test_rows(data):
    test, train, negatives = data
    users = np.append(test[0], [9999])
    items = np.append(test[1], [train[1][0]])
    items[0] = train[1][train[0] == 0][0]
    found = audit(negatives=_table(test, negatives), test=(users, items), train=train)
    counts = {finding.code: finding.count for finding in found}
    assert counts["unknown-users"] == 1
    assert counts["targets-in-training"] == 1
    assert counts["users-without-negatives"] == 1


def test_scores():
    rng = np.random.default_rng(0)
    scores = rng.random((50, 10))
    assert audit(scores=scores).sound
    scores[0] = 0.5
    scores[1, 3] = scores[1, 0]
    scores[2, 2] = np.nan
    counts = {finding.code: finding.count for finding in audit(scores=scores)}
    assert (counts["constant"], counts["ties"], counts["not-finite"]) == (1, 2, 1)


@pytest.mark.parametrize("replacement", [True, False])
def test_ranks_of_uniform_draws_pass(replacement):
    rng = np.random.default_rng(0)
    rank = 1 + np.floor(1000 * rng.random(5000) ** 3).astype(int)
    drawn = 1 + (
        rng.binomial(49, (rank - 1) / 999)
        if replacement
        else rng.hypergeometric(rank - 1, 1000 - rank, 49)
    )
    counts = RankCounts.from_ranks(drawn, n_items=1000, sample_size=50, replacement=replacement)
    assert audit(counts=counts).sound


def test_ranks_that_no_uniform_draws_can_give():
    """Only odd ranks: no mixture of binomials has such gaps."""
    rng = np.random.default_rng(0)
    drawn = 1 + 2 * rng.binomial(24, 0.3, size=5000)
    counts = RankCounts.from_ranks(drawn, n_items=1000, sample_size=50, replacement=True)
    assert "ranks" in _codes(audit(counts=counts), "error")


def test_exact_ranks_have_nothing_to_audit():
    counts = RankCounts.from_exact_ranks([1, 2, 3], n_items=10)
    assert audit(counts=counts).sound


def test_nothing_given():
    with pytest.raises(InputError, match="nothing to audit"):
        audit()
    with pytest.raises(InputError, match="scores has shape"):
        audit(scores=np.zeros(3))


def _left_out_draws(rng, test, train, weight, size=N_NEGATIVES):
    """Negatives by ``weight`` from each user's pool, without replacement, as lists."""
    known = set(zip(*map(np.ndarray.tolist, train), strict=True))
    lists = []
    for user, target in zip(*map(np.ndarray.tolist, test), strict=True):
        out = [i for i in range(N_ITEMS) if (user, i) in known or i == target]
        p = weight.copy()
        p[out] = 0.0
        lists.append(rng.choice(N_ITEMS, size=size, replace=False, p=p / p.sum()))
    return np.array(lists)


def test_how_negatives_were_drawn_is_measured(data):
    test, train, _ = data
    count = np.bincount(train[1], minlength=N_ITEMS)
    for alpha in (1.0, 0.5, -0.5):
        rng = np.random.default_rng(4)
        lists = _left_out_draws(rng, test, train, (count + 1.0) ** alpha, size=10)
        (finding,) = [
            f
            for f in audit(negatives=_table(test, lists), test=test, train=train)
            if f.code == "popularity-sampled"
        ]
        measured = float(finding.message.split("^")[1].split(";")[0])
        # Ten of the pool without replacement flatten the probabilities a little.
        assert measured == pytest.approx(alpha, abs=0.15)
        assert ("more" if alpha > 0 else "less") in finding.message
        assert "probability=" in finding.remedy


def test_uniform_draws_pass_whatever_is_left_out(data):
    """Popular items are left out of more pools, and are expected the less for it."""
    test, train, _ = data
    for seed in range(10):
        lists = _left_out_draws(np.random.default_rng(seed), test, train, np.ones(N_ITEMS))
        found = audit(negatives=_table(test, lists), test=test, train=train)
        assert "uniform" in _codes(found, "ok")


def test_every_departure_is_seen(data):
    test, train, _ = data
    rng = np.random.default_rng(6)
    some = np.ones(N_ITEMS)
    some[rng.choice(N_ITEMS, N_ITEMS // 10, replace=False)] = 0.0  # items that are never drawn
    lists = _left_out_draws(rng, test, train, some)
    (finding,) = [
        f
        for f in audit(negatives=_table(test, lists), test=test, train=train)
        if f.code == "not-uniform"
    ]
    assert f"{N_ITEMS // 10} items that should occur never do" in finding.message
    block = np.tile(rng.choice(N_ITEMS, N_NEGATIVES, replace=False), (N_USERS, 1))
    found = audit(negatives=_table(test, block), test=test, train=train)  # the same for all users
    assert "not-uniform" in _codes(found, "error")
