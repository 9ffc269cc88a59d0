"""Adaptive samples within a budget: what they cost, the streams they follow, their law."""

from __future__ import annotations

import numpy as np
import pytest
from laws import p_value, same_for_all, sample

import truerank as tr
from truerank import InputError, designs
from truerank.designs import LJ24, Adaptive, Fixed, climb
from truerank.designs.adaptive import make_ladder
from truerank.outcomes.schemes import Scheme
from truerank.scoring.dense import Dense
from truerank.scoring.function import Callable
from truerank.scoring.task import prepare

BUDGETS = [2, 4.7, 16, 32, 41, 81.5, 151, 300]


def pairs(counts):
    """Scored pairs a user, on average."""
    return counts.weight @ counts.sample_size / counts.total_weight


@pytest.fixture(scope="module")
def mixed():
    """300 users, 400 items, pools from 100 to 400 items, targets at all ranks."""
    rng = np.random.default_rng(5)
    scorer = Dense(rng.random((300, 400)))
    item = np.argsort(-scorer.scores, axis=1)[np.arange(300), rng.integers(0, 80, 300)]
    n_train = rng.integers(0, 300, 300)
    had = [
        rng.permutation(np.delete(np.arange(400), i))[:n]
        for i, n in zip(item, n_train, strict=True)
    ]
    train = np.repeat(np.arange(300), n_train), np.concatenate(had)
    return scorer, (np.arange(300), item), train


@pytest.mark.parametrize("numba", ["0", "1"])
@pytest.mark.parametrize("replacement", [True, False])
@pytest.mark.parametrize("hits", [1, 2])
def test_the_budget_is_kept_and_used(mixed, hits, replacement, numba, monkeypatch):
    monkeypatch.setenv("TRUERANK_NUMBA", numba)
    scorer, test, train = mixed
    cut = raised = 0
    for budget in BUDGETS:
        design = Adaptive(budget=budget, start=16, hits=hits, replacement=replacement)
        counts = tr.count(scorer, test, design, train=train)
        (scheme,) = counts.schemes
        assert pairs(counts) <= budget
        assert pairs(counts) == counts.pairs_per_user
        assert pairs(counts) - 1 > 0.8 * (min(budget, counts.weight @ counts.n_items / 300) - 1)
        if scheme.ladder[-1] < 400:
            # One more for all who got to the last level would be too much.
            last = counts.weight[counts.sample_size == scheme.ladder[-1]].sum()
            assert pairs(counts) + last / 300 > budget
            assert set(scheme.thresholds) <= {hits}
            cut += 1
        else:
            raised += max(scheme.thresholds) > hits
    assert cut >= 3
    assert raised >= 2


def test_a_small_budget_is_a_fixed_sample():
    scorer, test = same_for_all(200, 30, n_users=500)
    few = tr.count(scorer, test, Adaptive(budget=21.9), seed=4)
    fixed = tr.count(scorer, test, Fixed(sample_size=21), seed=4, ties="random")
    assert few.schemes == (Scheme(False, (21,)),)
    for name in ("sample_size", "sampled_rank", "weight"):
        assert np.array_equal(getattr(few, name), getattr(fixed, name))


@pytest.mark.parametrize("replacement", [True, False])
def test_draws_are_those_of_fixed_samples(mixed, replacement):
    """Whatever size a budget takes a user to, the sample is the beginning of its stream."""
    scorer, test, train = mixed
    task = prepare(scorer, test, train=train)
    options = {"replacement": replacement, "seed": 9, "ties": "random"}
    grown = sample(scorer, task, ladder=make_ladder(8, 400, 3.0), budget=60, **options)
    for size in grown.scheme.ladder:
        fixed = sample(scorer, task, ladder=(size,), **options)
        here = grown.sample_size == (size if replacement else np.minimum(size, task.n_items))
        assert here.any()
        assert np.array_equal(grown.above[here], fixed.above[here])


@pytest.mark.parametrize("replacement", [True, False])
@pytest.mark.parametrize("hits", [1, 3])
@pytest.mark.parametrize("budget", [13.0, 56.3, 91.0, 1e6])
def test_compiled_plain_and_asked_give_the_same(mixed, budget, hits, replacement, monkeypatch):
    scorer, test, train = mixed
    asked = Callable(
        lambda users, items: np.asarray(scorer.scores)[users[:, None], items], n_items=400
    )
    design = Adaptive(budget=budget, hits=hits, replacement=replacement)
    found = []
    for model, numba in ((scorer, "0"), (scorer, "1"), (asked, "0")):
        monkeypatch.setenv("TRUERANK_NUMBA", numba)
        found.append(tr.count(model, test, design, train=train, seed=3))
    assert found[0] == found[1] == found[2]


@pytest.mark.parametrize("numba", ["0", "1"])
@pytest.mark.parametrize("replacement", [True, False])
@pytest.mark.parametrize(
    ("start", "growth", "hits", "n_items", "global_rank", "budget"),
    [
        (4, 2.0, 1, 60, 5, 10.0),
        (4, 3.0, 2, 60, 12, 12.5),
        (8, 2.0, 1, 2000, 20, 61.0),
        (5, 2.0, 1, 300, 9, 61.0),  # hits raised at the larger sizes
        (5, 2.0, 3, 40, 4, 1001.0),  # to the whole pool
    ],
)
def test_outcomes_follow_the_ladder_that_was_taken(
    start, growth, hits, n_items, global_rank, budget, replacement, numba, monkeypatch
):
    monkeypatch.setenv("TRUERANK_NUMBA", numba)
    scorer, test = same_for_all(n_items, global_rank, n_users=4000)
    design = Adaptive(start=start, growth=growth, hits=hits, budget=budget, replacement=replacement)
    counts = tr.count(scorer, test, design, seed=1)
    (scheme,) = counts.schemes
    assert p_value(counts, scheme, global_rank, n_items) > 1e-4


def test_hits_are_raised_at_the_larger_sizes_first():
    scorer, test = same_for_all(300, 9, n_users=4000)
    counts = tr.count(scorer, test, Adaptive(start=5, growth=2.0, budget=61), seed=1)
    (scheme,) = counts.schemes
    assert scheme.ladder == make_ladder(5, 300)
    assert list(scheme.thresholds) == sorted(scheme.thresholds)
    assert len(set(scheme.thresholds)) > 1
    assert tr.Scheme.parse(scheme.name) == scheme


@pytest.mark.parametrize("hits", [1, 10_000])
def test_the_whole_pool_gives_exact_ranks(mixed, hits):
    """For many hits at once, and for any once the budget is large enough."""
    scorer, test, train = mixed
    counts = tr.count(scorer, test, Adaptive(hits=hits, budget=1e9), train=train)
    assert counts.is_exact.all()
    exact = tr.count(scorer, test, train=train)
    for name in ("n_items", "sampled_rank", "weight"):
        assert np.array_equal(getattr(counts, name), getattr(exact, name))


def test_leaders_of_the_whole_pool_are_known():
    """With one hit, a target that nothing beats is followed to the end of its pool."""
    scorer, test = same_for_all(100, 1, n_users=50)
    counts = tr.count(scorer, test, Adaptive(budget=101))
    assert counts.is_exact.all()
    assert counts.sampled_rank.tolist() == [1]


def test_progress_ends_with_all_rows(mixed):
    scorer, test, train = mixed
    seen = []
    tr.count(
        scorer,
        test,
        Adaptive(budget=51),
        train=train,
        progress=lambda done, total: seen.append((done, total)),
    )
    assert seen[-1] == (300, 300)


def test_the_largest_size_that_is_affordable():
    """Against a search through all sizes."""
    rng = np.random.default_rng(0)
    for _ in range(200):
        reached = int(rng.integers(1, 20))
        pools = reached + rng.integers(1, 30, int(rng.integers(1, 6)))
        # Other targets of the same users may have taken them further.
        longest = np.minimum(reached + rng.integers(0, 9, pools.size), pools)
        wanted = int(rng.integers(reached + 1, 60))
        budget = int(rng.integers(0, 100))
        fitting = [
            size
            for size in range(reached, wanted + 1)
            if np.maximum(np.minimum(size, pools) - longest, 0).sum() <= budget
        ]
        assert climb._affordable(wanted, reached, longest, pools, budget) == fitting[-1]


def test_ladders_of_designs():
    assert Adaptive(start=100, growth=2.0, stop=0.1).ladder(3706) == (100, 200, 370)
    assert LJ24().ladder(16_980) == (100, 200, 400, 800, 1600, 1698)
    assert LJ24().ladder(500) == (100,)
    assert LJ24(stop=3200).ladder(10**6)[-1] == 3200
    assert Adaptive().ladder(100) == (32, 48, 72, 100)
    assert LJ24(start=50, stop=300).ladder(10**6) == (50, 100, 200, 300)
    assert Adaptive(start=50, stop=100, budget=10).ladder(10**6) == (50, 75, 100)
    # What bounds the cost if nobody says: the ceiling, or else the usual budget.
    assert (LJ24().budget, LJ24(budget=7).budget) == (None, 7)
    assert (Adaptive().budget, Adaptive(stop=3200).budget) == (200, 200)


def test_lj24_is_doubling_up_to_a_ceiling(mixed):
    scorer, test, train = mixed
    lj24 = tr.count(scorer, test, "lj24(stop=0.5)", train=train)
    assert lj24.schemes == (Scheme(False, (100, 200)),)
    doubling = Adaptive(budget=None, start=100, growth=2.0, stop=200)
    assert lj24 == tr.count(scorer, test, doubling, train=train)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"budget": 0.5}, "budget is 0.5 scored pairs per user; it must be at least 2"),
        ({"budget": 1.9}, "budget is 1.9 scored pairs per user; it must be at least 2"),
        ({"budget": 0}, "budget is 0"),
        ({"budget": float("nan")}, "budget is nan"),
        ({"stop": -1}, "stop is -1"),
        ({"stop": 70.5}, "stop is 70.5"),
        ({"hits": 0}, "hits is 0"),
    ],
)
def test_bad_options(options, message):
    with pytest.raises(InputError, match=message):
        Adaptive(**options)


def test_bad_names():
    with pytest.raises(InputError, match=r"unknown design 'lj'.*did you mean 'lj24'"):
        designs.get("lj")
    with pytest.raises(InputError, match="design is of type int"):
        designs.get(7)


def test_a_budget_pays_for_every_target():
    """Three targets a user: their own scores and one negative are the least."""
    scorer, _ = same_for_all(300, 4, n_users=10)
    test = np.repeat(np.arange(10), 3), np.tile([3, 5, 7], 10)
    with pytest.raises(InputError, match=r"budget is 3.5 .* 3 targets on average.* at least 4"):
        tr.count(scorer, test, Adaptive(budget=3.5))
    counts = tr.count(scorer, test, Adaptive(budget=4))
    assert set(counts.sample_size.tolist()) == {2}


@pytest.mark.parametrize("design", ["adaptive(budget=40)", "lj24(start=10, stop=80)", "exact"])
def test_progress_of_a_function_moves_with_its_pairs(design):
    """Not level by level: after many calls, never back, and to the end."""
    seen, at_call = [], []

    def score(users, items):
        at_call.append(seen[-1] if seen else 0)
        return (users[:, None] * 7919 + items * 104729) % 1009

    scorer = Callable(score, n_items=200, batch_pairs=50)
    test = np.arange(60), np.arange(60)
    tr.count(scorer, test, design, progress=lambda done, total: seen.append(done))
    assert seen == sorted(seen)
    assert seen[-1] == 60
    assert len(set(seen)) > 10  # there are at most six levels
    assert 0 < at_call[len(at_call) // 2] < 60
    assert at_call[-1] < 60
