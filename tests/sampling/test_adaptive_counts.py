"""Counts of adaptive designs: outcome frequencies, ladders, streams that go on."""

from __future__ import annotations

import numpy as np
import pytest
from laws import N_USERS, count_adaptive, p_value, same_for_all, sample

import truerank as tr
from truerank import InputError
from truerank.designs import LJ24, Adaptive
from truerank.designs.adaptive import make_ladder
from truerank.outcomes.schemes import Scheme
from truerank.scoring.dense import Dense
from truerank.scoring.function import Callable
from truerank.scoring.task import prepare


@pytest.mark.parametrize("numba", ["0", "1"])
@pytest.mark.parametrize("replacement", [True, False])
@pytest.mark.parametrize(
    ("ladder", "hits", "n_items", "global_rank"),
    [
        ((4, 8, 16), 1, 60, 5),
        ((4, 8, 16), 1, 60, 1),
        ((4, 8, 16), 2, 60, 12),
        ((3, 5, 20), 3, 60, 30),
        ((4, 8, 16, 30), (1, 2, 4), 60, 8),  # hits by size
        ((4, 8, 16, 30), (3, 1, 2), 60, 8),
        ((4, 8, 100), (1, 3), 30, 3),
        ((4, 8, 100), 1, 30, 3),  # without replacement the pool ends it
        ((30, 50), 2, 30, 3),
        ((10, 100, 400), 1, 2000, 20),
    ],
)
def test_outcomes_follow_their_probabilities(
    ladder, hits, n_items, global_rank, replacement, numba, monkeypatch
):
    monkeypatch.setenv("TRUERANK_NUMBA", numba)
    scorer, test = same_for_all(n_items, global_rank, n_users=4000)
    scheme = Scheme(replacement, ladder, hits)
    counts = count_adaptive(
        scorer, prepare(scorer, test), ladder=ladder, hits=hits, replacement=replacement, seed=1
    )
    assert counts.schemes == (scheme,)
    assert p_value(counts, scheme, global_rank, n_items) > 1e-4


def test_the_check_has_power():
    scorer, test = same_for_all(60, 12)
    counts = tr.count(scorer, test, LJ24(start=4, stop=16, hits=2))
    assert p_value(counts, Scheme(False, (4, 8, 16), 2), 12, 60) > 1e-4
    assert p_value(counts, Scheme(False, (4, 8, 16), 2), 13, 60) < 1e-4


@pytest.mark.parametrize("replacement", [True, False])
def test_ties_at_random_follow_the_mean_law(replacement):
    """2 items above, 3 tied of 12: the global rank is 3 to 6, each alike, at every stage."""
    scores = np.array([9.0, 9, 5, 5, 5, 5, 1, 1, 1, 1, 1, 1])
    scorer = Dense(np.broadcast_to(scores, (N_USERS, 12)))
    test = np.arange(N_USERS), np.full(N_USERS, 3)
    design = LJ24(start=3, stop=10, growth=1.5, replacement=replacement)
    counts = tr.count(scorer, test, design, ties="random", seed=2)
    scheme = Scheme(replacement, make_ladder(3, 10, 1.5))
    assert p_value(counts, scheme, np.arange(3, 7), 12) > 1e-4


def test_optimistic_and_pessimistic_ties():
    scorer = Dense(np.zeros((30, 40)))
    test = np.arange(30), np.arange(30)
    design = LJ24(start=5, stop=20)
    first = tr.count(scorer, test, design, ties="optimistic")
    assert (first.sample_size.tolist(), first.sampled_rank.tolist()) == ([20], [1])
    last = tr.count(scorer, test, design, ties="pessimistic")
    assert (last.sample_size.tolist(), last.sampled_rank.tolist()) == ([5], [5])


def test_a_user_who_never_stops_has_the_fixed_sample():
    scorer, test = same_for_all(500, 3, n_users=400)
    task = prepare(scorer, test)
    for replacement in (True, False):
        options = {"replacement": replacement, "seed": 9, "ties": "random"}
        fixed = sample(scorer, task, ladder=(200,), **options)
        grown = sample(scorer, task, ladder=(10, 37, 90, 200), **options)
        to_the_end = grown.sample_size == 200
        assert 0 < to_the_end.sum() < 400
        assert np.array_equal(grown.above[to_the_end], fixed.above[to_the_end])
        # And who stopped earlier has the beginning of it.
        for size in (10, 37, 90):
            short = sample(scorer, task, ladder=(size,), **options)
            here = grown.sample_size == size
            assert np.array_equal(grown.above[here], short.above[here])


def test_a_pool_that_ends_the_ladder_gives_the_exact_rank():
    scorer, test = same_for_all(50, 1, n_users=20)
    train = np.repeat(np.arange(10), 12), np.tile(np.arange(20, 32), 10)
    counts = tr.count(scorer, test, LJ24(start=10, stop=45), train=train)
    assert list(zip(counts.n_items, counts.sample_size, strict=True)) == [(38, 38), (50, 45)]
    assert counts.is_exact.tolist() == [True, False]


def test_parts_and_order_change_nothing():
    rng = np.random.default_rng(0)
    scorer = Dense(rng.random((200, 300)))
    test = np.arange(200), rng.integers(0, 300, 200)
    design = LJ24(start=5, stop=200)
    whole = tr.count(scorer, test, design, seed=3)
    rows = rng.permutation(200)
    parts = [
        tr.count(scorer, tuple(x[part] for x in test), design, seed=3)
        for part in (rows[:3], rows[3:90], rows[90:])
    ]
    assert sum(parts) == whole


def test_slow_models_are_asked_for_what_is_needed_only():
    """Once per pair, in one call a stage for all that go on."""
    scorer, test = same_for_all(400, 4, n_users=150)
    sizes = []

    def score(users, items):
        sizes.append(items.shape)
        return -items.astype(float)

    asked = Callable(score, n_items=400, batch_pairs=10**6)
    design = LJ24(start=10, stop=160)
    counts = tr.count(asked, test, design)
    assert counts == tr.count(scorer, test, design)
    assert asked.scored_pairs == counts.weight @ counts.sample_size
    assert len(sizes) == 5
    assert [width for _, width in sizes] == [10, 10, 20, 40, 80]  # a target's score is kept
    assert sizes[0] == (150, 10)


@pytest.mark.parametrize(
    ("arguments", "expected"),
    [
        ((100, 3200), (100, 200, 400, 800, 1600, 3200)),
        ((100, 500), (100, 200, 400, 500)),
        ((100, 100), (100,)),
        ((10, 20, 1.1), (10, 11, 13, 15, 17, 19, 20)),
        ((2, 5, 1.001), (2, 3, 4, 5)),
        ((2, 1000, 1e9), (2, 1000)),
    ],
)
def test_ladders(arguments, expected):
    assert make_ladder(*arguments) == expected


@pytest.mark.parametrize(
    ("ties", "message"),
    [("mid", "ties is 'mid'.* take 'random'"), ("coin", "unknown ties")],
)
def test_bad_ties(ties, message):
    scorer, test = same_for_all(300, 4, n_users=10)
    with pytest.raises(InputError, match=message):
        tr.count(scorer, test, Adaptive(), ties=ties)


def test_ties_that_would_be_spread_are_broken_at_random():
    """Half of all draws tie: spreading them has no meaning for a sample that has to stop."""
    scorer = Dense(np.random.default_rng(0).integers(0, 2, (200, 100)))
    test = np.arange(200), np.arange(200) % 100
    for design in (Adaptive(budget=30), LJ24(start=4, stop=50)):
        spread = tr.count(scorer, test, design, seed=1)
        assert spread == tr.count(scorer, test, design, ties="random", seed=1)
        assert spread != tr.count(scorer, test, design, ties="random", seed=2)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"growth": float("nan")}, "growth is nan"),
        ({"start": 2.5}, "start is 2.5"),
        ({"start": 100, "stop": 50}, "stop is 50"),
        ({"hits": 1.5}, "hits is 1.5"),
        ({"replacement": None}, "replacement is None"),
    ],
)
def test_bad_options(options, message):
    for design in (Adaptive, LJ24):
        with pytest.raises(InputError, match=message):
            design(**options)


def test_bad_ladders():
    scorer, test = same_for_all(300, 4, n_users=10)
    task = prepare(scorer, test)
    with pytest.raises(InputError, match="must increase"):
        count_adaptive(scorer, task, ladder=(5, 5))
    with pytest.raises(InputError, match="stopping rule"):
        sample(scorer, task, ladder=(5, 10))
    with pytest.raises(InputError, match="unknown tie mode"):
        sample(scorer, task, ladder=(5, 10), ties="spread")
