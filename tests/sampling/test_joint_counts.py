"""Several models counted together: against a slow plain count, alone, and by every design."""

from __future__ import annotations

import numpy as np
import pytest

import truerank as tr
from truerank.errors import InputError
from truerank.rng import draws
from truerank.sampling import _tie_modes, freeze, streams
from truerank.scoring.task import prepare

N_ITEMS, N_USERS = 60, 50


def scorers(names="AB", levels=None, seed=0):
    """Models that are alike in part; with few ``levels`` ties are many."""
    rng = np.random.default_rng(seed)
    common = rng.normal(size=(N_USERS, N_ITEMS))
    found = {}
    for name in names:
        scores = common + rng.normal(size=common.shape)
        found[name] = scores if levels is None else np.round(scores * levels / 4)
    return found


def dense(**options):
    return {name: tr.scoring.Dense(scores) for name, scores in scorers(**options).items()}


def data(seed=1):
    """Targets that models like, and training items."""
    rng = np.random.default_rng(seed)
    users = np.arange(N_USERS)
    target = np.argsort(-scorers()["A"], axis=1)[users, rng.integers(12, size=N_USERS)]
    train = [(u, i) for u in users for i in rng.choice(N_ITEMS, 5, replace=False) if i != target[u]]
    return (users, target), tuple(np.array(train).T)


def plain(paired, first, second, models, seed, *, random_ties):
    """Each user's table by one comparison at a time, from the stream itself."""
    test, train = data()
    task = prepare(tr.scoring.Dense(models[first]), test, train=train)
    keys = task.keys(seed)
    tie_keys = _tie_modes.keys(keys)
    found = []
    for row in range(task.n_rows):
        sizes = [paired[row][0], paired[row][1]]
        length = np.array([min(sizes) - 1])
        items = streams.negatives(
            task, np.array([row]), keys[row : row + 1], 0, length, replacement=False
        )[0]
        table = np.zeros((3, 3), int)
        for item in items.tolist():
            place = []
            for model in (first, second):
                own, other = models[model][row, task.target[row]], models[model][row, item]
                where = 0 if other > own else 1 if other == own else 2
                if where == 1 and random_ties:
                    words = [
                        int(draws(tie_keys[row], number))
                        for number in (item, int(task.target[row]))
                    ]
                    where = 0 if words[0] < words[1] else 2
                place.append(where)
            table[tuple(place)] += 1
        found.append(table)
    return np.array(found)


def together(models, design, seed=3, **options):
    test, train = data()
    wrapped = {name: tr.scoring.Dense(scores) for name, scores in models.items()}
    return tr.count(wrapped, test, design, train=train, seed=seed, **options)


def by_user(models, design, seed=3, **options):
    """(sizes, joint) of each user: one call per user, so that outcomes cannot be mixed up."""
    (users, target), train = data()
    wrapped = {name: tr.scoring.Dense(scores) for name, scores in models.items()}
    found = [
        tr.count(wrapped, (users[u : u + 1], target[u : u + 1]), design, train=train, seed=seed)
        for u in users
    ]
    return [one.sample_size[0] for one in found], np.stack([one.joint[0, 0] for one in found])


@pytest.mark.parametrize("levels", [None, 3])
@pytest.mark.parametrize(
    "design",
    [
        tr.designs.Fixed(sample_size=15),
        tr.designs.LJ24(start=5, stop=40),
        tr.designs.Adaptive(start=4, stop=40, budget=None, hits=2),
    ],
    ids=repr,
)
def test_against_a_slow_plain_count(design, levels):
    models = scorers(levels=levels)
    sizes, joint = by_user(models, design)
    adaptive = not isinstance(design, tr.designs.Fixed)
    if adaptive:
        assert len({tuple(pair) for pair in sizes if pair[0] != pair[1]}) > 1
    want = plain(sizes, "A", "B", models, 3, random_ties=adaptive)
    np.testing.assert_array_equal(joint, want)
    whole = together(models, design)
    np.testing.assert_array_equal(
        (whole.joint[:, 0] * whole.weight[:, None, None]).sum(axis=0), want.sum(axis=0)
    )


@pytest.mark.parametrize("levels", [None, 3])
@pytest.mark.parametrize("ties", ["spread", "random", "mid", "optimistic", "pessimistic"])
@pytest.mark.parametrize(
    "design",
    [
        tr.designs.Exact(),
        tr.designs.Fixed(sample_size=15),
        tr.designs.Fixed(sample_size=15, replacement=True),
        tr.designs.Fixed(sample_size=15, users=20),
        tr.designs.LJ24(start=5, stop=40),
        tr.designs.Adaptive(start=4, budget=12),
    ],
    ids=repr,
)
def test_each_model_is_counted_as_if_alone(design, ties, levels):
    if ties == "mid" and isinstance(design, tr.designs.Adaptive):
        pytest.skip("adaptive samples have no middle ranks")
    test, train = data()
    models = dense(names="ABC", levels=levels)
    paired = tr.count(models, test, design, train=train, seed=4, ties=ties)
    for name, scorer in models.items():
        alone = tr.count(scorer, test, design, train=train, seed=4, ties=ties)
        assert paired[name] == alone
        np.testing.assert_array_equal(paired[name].weight, alone.weight)
        assert paired[name].squared_weight == alone.squared_weight
    exact = isinstance(design, tr.designs.Exact)
    assert paired.pairs == (() if exact else (("A", "B"), ("A", "C"), ("B", "C")))


def test_several_targets_of_a_user():
    test, _ = data()
    more = np.concatenate([test[0], test[0][:10]]), np.concatenate([test[1], (test[1][:10] + 1)])
    more = more[0], more[1] % N_ITEMS
    models, design = dense(), tr.designs.Fixed(sample_size=10)
    with pytest.raises(tr.InputError, match=r"up to 2 targets; .* count each model on its own"):
        tr.count(models, more, design, seed=4)
    alone = tr.count(models["B"], more, design, seed=4)
    assert alone.n_users == N_USERS
    assert alone.total_weight == N_USERS + 10


def test_frozen_negatives():
    test, train = data()
    models, design = dense(levels=3), tr.designs.Fixed(sample_size=15)
    frozen = freeze(models["A"], test, design, train=train, seed=3)
    drawn = tr.count(models, test, design, train=train, seed=3)
    given = tr.count(models, test, tr.designs.Frozen(frozen), train=train, seed=8)
    assert given == drawn


@pytest.mark.parametrize(
    "design", [tr.designs.Fixed(sample_size=15), tr.designs.Adaptive(start=4, budget=12)], ids=repr
)
def test_no_pair_is_asked_for_twice(design):
    test, train = data()
    scores, asked = scorers(), {"A": 0, "B": 0}

    def function(name):
        def score(users, items):
            asked[name] += items.size
            return scores[name][users[:, None], items]

        return tr.scoring.Callable(score, user_ids=np.arange(N_USERS), item_ids=np.arange(N_ITEMS))

    options = {"train": train, "seed": 3}
    paired = tr.count({n: function(n) for n in scores}, test, design, **options)
    assert paired == tr.count(dense(), test, design, **options)
    for name, n_pairs in asked.items():
        assert n_pairs == int(paired[name].weight @ paired[name].sample_size)


def test_which_pairs_are_kept():
    test, train = data()
    models = dense(names="ABCDEF")
    users, target = test
    best = scorers(names="ABCDEF")["D"] + 0.0
    best[users, target] += 5.0  # D puts its targets first
    models["D"] = tr.scoring.Dense(best)
    design = tr.designs.Fixed(sample_size=15)
    paired = tr.count(models, test, design, train=train, baseline="B")
    assert set(map(frozenset, paired.pairs)) == {
        frozenset((centre, other)) for centre in "BD" for other in "ABCDEF" if other != centre
    }
    first = tr.count(models, test, design, train=train)
    assert frozenset("AF") in map(frozenset, first.pairs)


def test_bad_input():
    test, _ = data()
    models = dense()
    with pytest.raises(InputError, match="a comparison needs two or more"):
        tr.count({"A": models["A"]}, test)
    with pytest.raises(InputError, match="baseline"):
        tr.count(models, test, baseline="C")
    with pytest.raises(InputError, match="one scorer is given"):
        tr.count(models["A"], test, baseline="A")
    with pytest.raises(InputError, match="shared_by is 5"):
        tr.count(models, test, tr.designs.Fixed(sample_size=9, shared_by=5))
    with pytest.raises(InputError, match="design is Auto"):
        tr.count(models, test, "auto")
    with pytest.raises(InputError, match=r"several models go to truerank\.count"):
        tr.evaluate(models, test)
    with pytest.raises(InputError, match=r"several models go to truerank\.count"):
        tr.rank(models, test)
    fewer = {"A": models["A"], "B": tr.scoring.Dense(np.zeros((N_USERS, N_ITEMS - 1)))}
    with pytest.raises(InputError, match="A has 60 items and B 59"):
        tr.count(fewer, ([0], [0]))
    ids = np.arange(N_ITEMS)
    turned = {
        "A": tr.scoring.Dense(scorers()["A"], item_ids=ids),
        "B": tr.scoring.Dense(scorers()["B"], item_ids=ids[::-1]),
    }
    with pytest.raises(InputError, match="item 0 is 0 for A and 59 for B"):
        tr.count(turned, test)
