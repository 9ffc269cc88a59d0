"""Adaptive samples within a budget: what they cost, the streams they follow, their law."""

from __future__ import annotations

import numpy as np
import pytest
from laws import p_value, same_for_all

import truerank as tr
from truerank import InputError, designs
from truerank.outcomes.schemes import Scheme
from truerank.sampling import Adaptive, count_adaptive, make_ladder, sample
from truerank.scoring.dense import Dense
from truerank.scoring.function import Callable
from truerank.scoring.task import prepare

BUDGETS = [1, 3.7, 15, 31, 40, 80.5, 150, 299]


def pairs(counts):
    """Negatives a user, in the mean."""
    return counts.weight @ (counts.sample_size - 1) / counts.total_weight


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
        counts = tr.adaptive_counts(
            scorer, test, train=train, budget=budget, start=16, hits=hits, replacement=replacement
        )
        (scheme,) = counts.schemes
        assert pairs(counts) <= budget
        assert pairs(counts) > 0.8 * min(budget, counts.weight @ (counts.n_items - 1) / 300)
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
    few = tr.adaptive_counts(scorer, test, budget=20.9, seed=4)
    fixed = tr.sampled_counts(scorer, test, sample_size=21, seed=4, ties="random")
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
@pytest.mark.parametrize("budget", [12.0, 55.3, 90.0, 1e6])
def test_compiled_plain_and_asked_give_the_same(mixed, budget, hits, replacement, monkeypatch):
    scorer, test, train = mixed
    asked = Callable(
        lambda users, items: np.asarray(scorer.scores)[users[:, None], items], n_items=400
    )
    found = []
    for model, numba in ((scorer, "0"), (scorer, "1"), (asked, "0")):
        monkeypatch.setenv("TRUERANK_NUMBA", numba)
        found.append(
            tr.adaptive_counts(
                model, test, train=train, budget=budget, hits=hits, replacement=replacement, seed=3
            )
        )
    assert found[0] == found[1] == found[2]


@pytest.mark.parametrize("numba", ["0", "1"])
@pytest.mark.parametrize("replacement", [True, False])
@pytest.mark.parametrize(
    ("start", "growth", "hits", "n_items", "global_rank", "budget"),
    [
        (4, 2.0, 1, 60, 5, 9.0),
        (4, 3.0, 2, 60, 12, 11.5),
        (8, 2.0, 1, 2000, 20, 60.0),
        (5, 2.0, 1, 300, 9, 60.0),  # hits raised at the larger sizes
        (5, 2.0, 3, 40, 4, 1000.0),  # to the whole pool
    ],
)
def test_outcomes_follow_the_ladder_that_was_taken(
    start, growth, hits, n_items, global_rank, budget, replacement, numba, monkeypatch
):
    monkeypatch.setenv("TRUERANK_NUMBA", numba)
    scorer, test = same_for_all(n_items, global_rank, n_users=4000)
    counts = tr.adaptive_counts(
        scorer,
        test,
        start=start,
        growth=growth,
        hits=hits,
        budget=budget,
        replacement=replacement,
        seed=1,
    )
    (scheme,) = counts.schemes
    assert p_value(counts, scheme, global_rank, n_items) > 1e-4


def test_hits_are_raised_at_the_larger_sizes_first():
    scorer, test = same_for_all(300, 9, n_users=4000)
    counts = tr.adaptive_counts(scorer, test, start=5, growth=2.0, budget=60, seed=1)
    (scheme,) = counts.schemes
    assert scheme.ladder == make_ladder(5, 300)
    assert list(scheme.thresholds) == sorted(scheme.thresholds)
    assert len(set(scheme.thresholds)) > 1
    assert tr.Scheme.parse(scheme.name) == scheme


@pytest.mark.parametrize("hits", [1, 10_000])
def test_the_whole_pool_gives_exact_ranks(mixed, hits):
    """For many hits at once, and for any once the budget is large enough."""
    scorer, test, train = mixed
    counts = tr.adaptive_counts(scorer, test, train=train, hits=hits, budget=1e9)
    assert counts.is_exact.all()
    exact = tr.exact_counts(scorer, test, train=train)
    for name in ("n_items", "sampled_rank", "weight"):
        assert np.array_equal(getattr(counts, name), getattr(exact, name))


def test_leaders_of_the_whole_pool_are_known():
    """With one hit, a target that nothing beats is followed to the end of its pool."""
    scorer, test = same_for_all(100, 1, n_users=50)
    counts = tr.adaptive_counts(scorer, test, budget=100)
    assert counts.is_exact.all()
    assert counts.sampled_rank.tolist() == [1]


def test_progress_ends_with_all_rows(mixed):
    scorer, test, train = mixed
    seen = []
    tr.adaptive_counts(
        scorer,
        test,
        train=train,
        budget=50,
        progress=lambda done, total: seen.append((done, total)),
    )
    assert seen[-1] == (300, 300)


def test_the_largest_size_that_is_affordable():
    """Against a search through all sizes."""
    rng = np.random.default_rng(0)
    for _ in range(200):
        reached = int(rng.integers(1, 20))
        pools = reached + rng.integers(1, 30, int(rng.integers(1, 6)))
        wanted = int(rng.integers(reached + 1, 60))
        budget = int(rng.integers(0, 100))
        fitting = [
            size
            for size in range(reached, wanted + 1)
            if (np.minimum(size, pools) - reached).sum() <= budget
        ]
        assert designs._affordable(wanted, reached, pools, budget) == fitting[-1]


def test_presets():
    assert Adaptive(start=100, growth=2.0, stop=0.1).ladder(3706) == (100, 200, 370)
    assert designs.adaptive("lj24").ladder(16_980) == (100, 200, 400, 800, 1600, 1698)
    assert designs.adaptive("lj24").ladder(500) == (100,)
    assert designs.adaptive("lj24", stop=3200).ladder(10**6)[-1] == 3200
    assert designs.adaptive().ladder(100) == (32, 48, 72, 100)
    # A ceiling instead of a budget means LJ24's design.
    assert designs.adaptive(start=50, stop=300).ladder(10**6) == (50, 100, 200, 300)
    assert designs.adaptive(start=50, stop=100, budget=9).ladder(10**6) == (50, 75, 100)
    assert designs.adaptive(Adaptive(hits=3), start=5) == Adaptive(hits=3, start=5)
    # What bounds the cost if nobody says: the ceiling, or else the usual budget.
    assert designs.adaptive("lj24").within(None) is None
    assert designs.adaptive().within(None) == designs.USUAL_BUDGET
    assert designs.adaptive(stop=3200).within(None) is None
    assert designs.adaptive("lj24").within(7) == 7


def test_lj24_by_name(mixed):
    scorer, test, train = mixed
    by_name = tr.adaptive_counts(scorer, test, train=train, design="lj24", stop=0.5)
    assert by_name == tr.adaptive_counts(scorer, test, train=train, start=100, stop=200)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"budget": 0.5}, "budget is 0.5; it must be at least 1"),
        ({"budget": float("nan")}, "budget is nan"),
        ({"design": "lj"}, "unknown design 'lj'"),
        ({"design": 7}, "design is of type int"),
        ({"stop": -1}, "stop is -1"),
        ({"stop": 70.5}, "stop is 70.5"),
        ({"hits": 0}, "hits is 0"),
    ],
)
def test_bad_options(options, message):
    scorer, test = same_for_all(300, 4, n_users=10)
    with pytest.raises(InputError, match=message):
        tr.adaptive_counts(scorer, test, **options)


def test_count_adaptive_checks_its_budget():
    scorer, test = same_for_all(300, 4, n_users=10)
    with pytest.raises(InputError, match="budget is 0"):
        count_adaptive(scorer, prepare(scorer, test), ladder=(5, 10), budget=0)
