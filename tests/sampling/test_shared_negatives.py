"""The targets of one user share its negatives: which they are, what they cost, how they vary."""

from __future__ import annotations

import numpy as np
import pytest

import truerank as tr
from truerank.designs.climb import climb, shared_pairs
from truerank.inference.planning._streams import SharedStreams
from truerank.inference.planning.simulate import sampled_ranks
from truerank.outcomes.schemes import Scheme

DESIGNS = [
    tr.designs.Fixed(num_negatives=30),
    tr.designs.Fixed(num_negatives=30, replacement=True),
    tr.designs.Adaptive(budget=40, start=8),
    tr.designs.LJ24(start=10, stop=80),
]


def problem(seed=0, n_users=40, n_items=150):
    """1 to 6 targets per user, and scores."""
    rng = np.random.default_rng(seed)
    number = rng.integers(1, 7, n_users)
    user = np.repeat(np.arange(n_users), number)
    item = np.concatenate([rng.permutation(n_items)[:n] for n in number])
    return rng.random((n_users, n_items)), (user, item), number


def metered(scores):
    """A scorer that notes which pairs it was asked for."""
    asked = []

    def score(users, items):
        asked.extend(zip(np.repeat(users, items.shape[1]).tolist(), items.ravel().tolist(),
                         strict=True))  # fmt: skip
        return scores[users[:, None], items]

    return tr.scoring.Callable(score, n_items=scores.shape[1]), asked


@pytest.mark.parametrize("design", DESIGNS)
def test_each_pair_is_asked_for_once(design):
    scores, test, _ = problem()
    scorer, asked = metered(scores)
    found = tr.evaluate(scorer, test, design, metrics=["recall@10"])
    assert len(asked) == len(set(asked)) == found.cost


@pytest.mark.parametrize("design", DESIGNS)
def test_a_user_costs_its_targets_and_its_longest_sample(design):
    scores, test, number = problem()
    table = tr.rank(tr.scoring.Dense(scores), test, design).to_pandas()
    longest = table.groupby("user_id").sample_size.max() - 1
    counts = tr.count(tr.scoring.Dense(scores), test, design, ties="random")
    assert counts.pairs_per_user == pytest.approx((longest.sum() + number.sum()) / number.size)
    if isinstance(design, tr.designs.Adaptive) and design.budget is not None:
        assert 0.8 * design.budget <= counts.pairs_per_user <= design.budget


@pytest.mark.parametrize("design", DESIGNS)
def test_a_better_target_of_a_user_is_above_by_the_same_negatives(design):
    """Where two targets met as many negatives, all that beat the better one beat the other."""
    scores, test, _ = problem(1)
    table = tr.rank(tr.scoring.Dense(scores), test, design).to_pandas()
    for _, rows in table.groupby(["user_id", "sample_size"]):
        assert rows.sort_values("place")["rank"].is_monotonic_increasing
    counts = tr.count(tr.scoring.Dense(scores), test, design)
    shared = np.array([scheme.shared for scheme in counts.schemes])[counts.scheme]
    assert (shared == (counts.n_targets > 1)).all()
    again = tr.RankCounts.from_table(tr.rank(tr.scoring.Dense(scores), test, design))
    assert again == counts


def test_frozen_lists_of_a_user_are_shared_where_they_are_the_same():
    scores, test, _ = problem(2)
    scorer = tr.scoring.Dense(scores)
    fixed = tr.designs.Fixed(num_negatives=30)
    same = tr.designs.Frozen(tr.sampling.freeze(scorer, test, fixed, seed=3))
    assert tr.count(scorer, test, same, seed=3) == tr.count(scorer, test, fixed, seed=3)
    rng = np.random.default_rng(0)
    others = [np.setdiff1d(np.arange(150), test[1][test[0] == u]) for u in test[0]]
    items = np.concatenate([rng.permutation(each)[:30] for each in others])
    own = tr.designs.FrozenNegatives(
        *test, np.arange(test[0].size + 1) * 30, items, replacement=False
    )
    assert not any(s.shared for s in tr.count(scorer, test, tr.designs.Frozen(own)).schemes)


@pytest.mark.parametrize("replacement", [False, True])
def test_simulated_streams_follow_the_law_of_drawn_ones(replacement):
    """Means and covariances of hits of three targets at two sizes, against draws of items."""
    n_items, rank, n_users = 40, np.array([3, 10, 31]), 4000
    rng = np.random.default_rng(0)
    users = np.repeat(np.arange(n_users), 3)
    streams = SharedStreams(
        np.tile(rank, n_users), np.full(users.size, n_items), users, replacement, rng
    )
    rows = np.arange(users.size)
    one, ten, twenty = (np.full(users.size, size) for size in (1, 10, 20))
    first = streams.draw(rows, one, ten)
    later = rows[users % 2 == 0]  # only half of the users, and one target that follows at the end
    some = later[later % 3 != 1]
    second = np.zeros_like(first)
    second[some] = streams.draw(some, ten[some], twenty[some])
    rest = later[later % 3 == 1]
    second[rest] = streams.draw(rest, ten[rest], twenty[rest])
    found = np.concatenate([first.reshape(-1, 3)[::2], second.reshape(-1, 3)[::2]], axis=1)
    drawn = np.array(
        [
            rng.integers(0, n_items - 1, 19) if replacement else rng.permutation(n_items - 1)[:19]
            for _ in range(found.shape[0])
        ]
    )
    hits = drawn[:, :, None] < rank - 1
    real = np.concatenate([hits[:, :9].sum(axis=1), hits[:, 9:].sum(axis=1)], axis=1)
    for moment in (lambda x: x, lambda x: (x[:, :, None] * x[:, None]).reshape(len(x), -1)):
        a, b = moment(found), moment(real)
        off = (a.mean(axis=0) - b.mean(axis=0)) / np.sqrt(
            (a.var(axis=0) + b.var(axis=0)) / len(a) + 1e-9
        )
        assert np.abs(off).max() < 4.5  # of 42 differences of standard error 1


def test_simulated_evaluations_cost_what_real_ones_do():
    scores, test, number = problem(3, n_users=400)
    scorer = tr.scoring.Dense(scores)
    design = tr.designs.LJ24(start=10, stop=80)
    exact = tr.rank(scorer, test).to_pandas()
    real = [
        tr.count(scorer, test, design, seed=seed, ties="random").pairs_per_user for seed in range(5)
    ]
    rng = np.random.default_rng(0)
    _, size, _ = sampled_ranks(
        exact["rank"].to_numpy(), exact.n_items.to_numpy(), design.scheme(150),
        np.zeros(len(exact)), rng, user=test[0],
    )  # fmt: skip
    simulated = shared_pairs(test[0], size) / number.size
    assert simulated == pytest.approx(np.mean(real), abs=4 * np.std(real, ddof=1) * np.sqrt(1.2))


def test_hits_are_raised_while_that_is_free():
    """Of five targets that met the same, four go on for nothing once the best one does."""
    n_users, n_targets = 50, 5
    user = np.repeat(np.arange(n_users), n_targets)
    rank = np.tile([1, 12, 12, 12, 12], n_users)
    rng = np.random.default_rng(0)
    streams = SharedStreams(rank, np.full(user.size, 100), user, False, rng)
    scheme = Scheme(False, (10, 20), shared=True)
    free, _, size = climb(
        scheme, np.full(user.size, 100), streams.draw, user=user, total=19 * n_users
    )
    assert (size == 20).all()
    assert shared_pairs(user, size) == (19 + n_targets) * n_users
    assert free.ladder == (20,)
