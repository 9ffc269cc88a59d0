"""The numpy streams: against a shuffle done by hand, and by law."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from scipy import stats

import truerank as tr
from truerank.rng import below, draws
from truerank.sampling import streams
from truerank.scoring.factors import Factors
from truerank.scoring.task import prepare

RNG = np.random.default_rng


def by_hand(task, row, key, n, *, replacement):
    """The first n negatives of one row, draw by draw, with the whole catalogue in hand."""
    left_out = set(task.left_out_of(np.array([row]))[1].tolist())
    place = list(range(task.catalogue))
    found = []
    for number in itertools.count():
        if len(found) == n:
            return found
        word = draws(key, number)
        if replacement:
            item = int(below(word, task.catalogue))
        else:
            other = number + int(below(word, task.catalogue - number))
            place[number], place[other] = place[other], place[number]
            item = place[number]
        if item not in left_out:
            found.append(item)


def make_task(n_users, n_items, n_left_out, seed=0, n_targets=1):
    """Users with training items and targets of their own."""
    rng = RNG(seed)
    scorer = Factors(np.ones((n_users, 1)), np.ones((n_items, 1)))
    chosen = np.stack([rng.permutation(n_items) for _ in range(n_users)])
    user = np.arange(n_users)
    test = np.repeat(user, n_targets), chosen[:, :n_targets].ravel()
    train = None
    if n_left_out:
        items = chosen[:, n_targets : n_targets + n_left_out]
        train = np.repeat(user, n_left_out), items.ravel()
    return prepare(scorer, test, train=train)


@pytest.mark.parametrize("replacement", [True, False])
@pytest.mark.parametrize(("n_items", "n_left_out", "n"), [(40, 0, 39), (40, 30, 9), (1000, 5, 60)])
def test_streams_are_those_of_a_shuffle_by_hand(n_items, n_left_out, n, replacement):
    task = make_task(30, n_items, n_left_out)
    keys = task.keys(5)
    end = np.full(task.n_rows, n)
    found = streams.negatives(task, np.arange(30), keys, 0, end, replacement=replacement)
    for row in range(30):
        expected = by_hand(task, row, keys[row], n, replacement=replacement)
        assert found[row].tolist() == expected


def test_a_shuffle_goes_on_to_the_last_item():
    for n in (1, 2, 3, 7, 50):
        swap = np.arange(n) + (RNG(0).random((200, n)) * (n - np.arange(n))).astype(np.int64)
        assert (np.sort(streams._shuffled(swap), axis=1) == np.arange(n)).all()


@pytest.mark.parametrize("replacement", [True, False])
def test_rows_of_unequal_ends_are_filled_up_with_their_target(replacement):
    task = make_task(3, 20, 4)
    keys = task.keys(0)
    end = np.array([5, 2, 3])
    found = streams.negatives(task, np.arange(3), keys, 1, end, replacement=replacement)
    assert found.shape == (3, 4)
    for row in range(3):
        whole = by_hand(task, row, keys[row], 5, replacement=replacement)
        n = end[row] - 1
        assert found[row, :n].tolist() == whole[1 : end[row]]
        assert (found[row, n:] == task.target[row]).all()


@pytest.mark.parametrize("replacement", [True, False])
def test_room_and_company_change_nothing(replacement, monkeypatch):
    task = make_task(50, 200, 60)
    keys, end = task.keys(1), np.full(50, 70)
    whole = streams.negatives(task, np.arange(50), keys, 0, end, replacement=replacement)
    monkeypatch.setattr(streams, "_ROOM", 300)
    rows = RNG(3).permutation(50)[:20]
    part = streams.negatives(task, rows, keys[rows], 0, end[rows], replacement=replacement)
    assert np.array_equal(part, whole[rows])


def test_rows_with_one_key_share_a_stream_but_skip_their_own_items():
    task = make_task(40, 60, 20)
    keys = np.full(40, task.keys(0)[7])
    end = np.full(40, 25)
    found = streams.negatives(task, np.arange(40), keys, 0, end, replacement=False)
    assert found[3].tolist() == by_hand(task, 3, keys[0], 25, replacement=False)
    order = by_hand(make_task(1, 60, 0), 0, keys[0], 59, replacement=False)
    place = {item: at for at, item in enumerate(order)}
    known = [[place[item] for item in row.tolist() if item in place] for row in found]
    assert all(row == sorted(row) for row in known)


@pytest.mark.parametrize("replacement", [True, False])
def test_pairs_of_draws_are_uniform(replacement):
    """First and third negative together, from a pool of 6: all ordered pairs alike."""
    n_users = 20_000
    scorer = Factors(np.ones((n_users, 1)), np.ones((9, 1)))
    everyone = np.arange(n_users)
    train = np.repeat(everyone, 2), np.tile([3, 8], n_users)
    task = prepare(scorer, (everyone, np.zeros(n_users, dtype=np.int64)), train=train)
    end = np.full(n_users, 3)
    found = streams.negatives(task, everyone, task.keys(0), 0, end, replacement=replacement)
    counts = np.bincount(found[:, 0] * 9 + found[:, 2], minlength=81).reshape(9, 9)
    pool = [1, 2, 4, 5, 6, 7]
    inside = counts[np.ix_(pool, pool)]
    assert inside.sum() == n_users
    if not replacement:
        assert not inside.diagonal().any()
        inside = inside[~np.eye(6, dtype=bool)]
    assert stats.chisquare(inside.ravel()).pvalue > 1e-4


def test_several_targets_are_never_each_others_negatives():
    task = make_task(50, 30, 5, n_targets=4)
    rows = np.arange(task.n_rows)
    pool = int(task.n_items[0])
    assert pool == 30 - 5 - 4 + 1
    end = np.full(task.n_rows, pool - 1)
    found = streams.negatives(task, rows, task.keys(0), 0, end, replacement=False)
    for row in rows:
        targets = task.target[task.group == task.group[row]]
        assert not np.isin(found[row], targets).any()
        assert np.unique(found[row]).size == pool - 1
    # Every target of a user has a stream of its own.
    assert (found[0] != found[1]).any()


def test_seeds_and_users_have_streams_of_their_own():
    task = make_task(40, 500, 0)
    end = np.full(40, 30)

    def drawn(seed):
        return streams.negatives(task, np.arange(40), task.keys(seed), 0, end, replacement=False)

    first, second = drawn(0), drawn(1)
    assert (first == first[0]).mean() < 0.1
    assert (first == second).mean() < 0.05
    assert np.array_equal(first, drawn(0))


def test_a_draw_without_a_stream_is_refused_by_every_design():
    """Adaptive designs hand their draw on, as fixed ones do."""
    from truerank.designs import Adaptive, Draw, Fixed

    class Unknown(Draw):
        name = "unknown"

    scorer = tr.scoring.Callable(lambda users, items: items * 1.0, n_items=50)
    for design in (Fixed(num_negatives=5, draw=Unknown()), Adaptive(budget=9, draw=Unknown())):
        with pytest.raises(tr.InputError, match="no stream of negatives; there are: Uniform"):
            tr.count(scorer, ([0, 1], [3, 4]), design)
