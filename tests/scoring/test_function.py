"""A scorer that is any Python function: what it is asked, and what happens when it fails."""

import contextlib
import os
import pickle
import signal
import sqlite3
import stat
import subprocess
import sys
import threading
import time
from collections import Counter

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from truerank.designs.purse import Purse
from truerank.errors import InputError, TruerankError, TruerankWarning
from truerank.scoring.function import Callable

N_ITEMS = 50


def value(users, items):
    """A score that differs for every pair."""
    return np.asarray(users)[:, None] * 1000.0 + np.asarray(items) / 7


class Recorder:
    """`value`, noting every call; ``then`` may change or break the answer."""

    def __init__(self, then=None):
        self.shapes, self.pairs, self.then = [], Counter(), then
        self._lock = threading.Lock()

    def __call__(self, users, items):
        assert users.shape == items.shape[:1]
        with self._lock:
            self.shapes.append(items.shape)
            self.pairs.update(
                (u, i) for u, row in zip(users.tolist(), items.tolist(), strict=True) for i in row
            )
        answer = value(users, items)
        return answer if self.then is None else self.then(users, items, answer)


def request(rows=12, width=9, seed=0):
    """Users and distinct items for each: one call, if it may hold them."""
    rng = np.random.default_rng(seed)
    return np.arange(rows), rng.permuted(np.tile(np.arange(N_ITEMS), (rows, 1)), axis=1)[:, :width]


# --- what is asked -----------------------------------------------------------------------------


@given(
    st.lists(st.integers(0, 5), min_size=1, max_size=8),
    st.integers(1, 7),
    st.integers(1, 30),
    st.integers(0, 2**32 - 1),
)
def test_every_distinct_pair_is_asked_for_once_in_calls_within_the_bound(
    users, width, batch_pairs, seed
):
    items = np.random.default_rng(seed).integers(0, N_ITEMS, (len(users), width))
    asked = Recorder()
    scorer = Callable(asked, n_items=N_ITEMS, batch_pairs=batch_pairs)
    np.testing.assert_array_equal(scorer.score(np.array(users), items), value(users, items))
    wanted = {(u, i) for u, row in zip(users, items.tolist(), strict=True) for i in row}
    assert asked.pairs == dict.fromkeys(wanted, 1)
    assert all(rows * columns <= batch_pairs for rows, columns in asked.shapes)
    assert scorer.calls == len(asked.shapes)
    assert scorer.scored_pairs == len(wanted)


def test_calls_are_whole_rectangles_of_users_with_equally_many_items():
    asked = Recorder()
    scorer = Callable(asked, n_items=N_ITEMS, batch_pairs=10)
    items = np.stack([np.arange(4)] * 5 + [np.array([0, 0, 1, 1])])  # the last has two distinct
    scorer.score(np.arange(6), items)
    assert asked.shapes == [(2, 4), (2, 4), (1, 4), (1, 2)]


def test_a_user_with_more_items_than_a_call_may_hold_is_asked_for_in_pieces():
    asked = Recorder()
    scorer = Callable(asked, n_items=N_ITEMS, batch_pairs=20)
    scores = scorer.score_all(np.array([3, 1]))
    np.testing.assert_array_equal(scores, value([3, 1], [np.arange(N_ITEMS)] * 2))
    assert sorted(asked.shapes) == [(1, 20)] * 4 + [(2, 10)]


def test_the_order_of_the_request_changes_neither_scores_nor_calls():
    users, items = request()
    first, second = [], []

    def note(into):
        return lambda users, items: (
            into.append((users.tolist(), items.tolist())) or value(users, items)
        )

    scores = Callable(note(first), n_items=N_ITEMS, batch_pairs=30).score(users, items)
    row_order = np.random.default_rng(1).permutation(users.size)
    mixed = Callable(note(second), n_items=N_ITEMS, batch_pairs=30).score(
        users[row_order], items[row_order, ::-1]
    )
    np.testing.assert_array_equal(mixed[:, ::-1], scores[row_order])
    assert first == second


def test_the_function_gets_the_ids_that_users_know():
    seen = []

    def function(users, items):
        seen.append((users.tolist(), items.tolist()))
        return np.zeros(items.shape)

    scorer = Callable(function, user_ids=["ann", "bob"], item_ids=[10, 20, 30])
    scorer.score(scorer.user_ids.rows(["bob"], "test"), np.array([[2, 0]]))
    assert seen == [(["bob"], [[10, 30]])]


def test_whole_numbers_lists_and_single_precision_are_scores():
    users, items = request()
    for answer in (np.int32, np.float32):
        scorer = Callable(lambda u, i, kind=answer: value(u, i).astype(kind), n_items=N_ITEMS)
        scores = scorer.score(users, items)
        assert scores.dtype == np.float64
        np.testing.assert_array_equal(scores, value(users, items).astype(answer))
    scorer = Callable(lambda u, i: value(u, i).tolist(), n_items=N_ITEMS)
    np.testing.assert_array_equal(scorer.score(users, items), value(users, items))


def test_a_function_may_change_what_it_is_given():
    def greedy(users, items):
        answer = value(users, items)
        users[:], items[:] = 0, 0
        return answer

    users, items = request()
    scorer = Callable(greedy, n_items=N_ITEMS)
    np.testing.assert_array_equal(scorer.score(users, items), value(users, items))


def test_nothing_is_asked_for_an_empty_request():
    scorer = Callable(Recorder(), n_items=N_ITEMS)
    assert scorer.score(np.arange(0), np.zeros((0, 4), int)).shape == (0, 4)
    assert scorer.calls == 0


# --- failures ----------------------------------------------------------------------------------


def failing(times, error=None):
    """A function that fails ``times`` times and is well afterwards."""
    left = [times]
    error = error or ConnectionError("refused")

    def then(users, items, answer):
        left[0] -= 1
        if left[0] >= 0:
            raise error
        return answer

    return Recorder(then)


def test_a_call_that_raises_is_tried_again_after_growing_pauses():
    pauses = []
    scorer = Callable(failing(3), n_items=N_ITEMS, retries=3, backoff=0.5)
    scorer._sleep = pauses.append
    users, items = request()
    np.testing.assert_array_equal(scorer.score(users, items), value(users, items))
    assert pauses == [0.5, 1.0, 2.0]
    assert scorer.calls == 4


def test_pauses_are_never_longer_than_a_minute():
    pauses = []
    scorer = Callable(failing(12), n_items=N_ITEMS, retries=12, backoff=1)
    scorer._sleep = pauses.append
    scorer.score(*request())
    assert max(pauses) == 60.0


def test_the_error_after_the_last_try_names_users_cause_and_remedy():
    scorer = Callable(failing(99), n_items=N_ITEMS, retries=2, backoff=0)
    with pytest.raises(TruerankError, match=r"12 users \(0, 1, 2, 3, 4, \.\.\.\)") as caught:
        scorer.score(np.arange(12), np.zeros((12, 1), int))
    assert "tried 3 times: ConnectionError: refused" in str(caught.value)
    assert "cache= and name=" in str(caught.value)
    assert isinstance(caught.value.__cause__, ConnectionError)
    assert not isinstance(caught.value, InputError)


@pytest.mark.parametrize(
    ("answer", "message"),
    [
        (lambda u, i, s: s.ravel(), r"returned shape \(3,\)"),
        (lambda u, i, s: None, r"returned object \(NoneType\); scores are whole numbers or floats"),
        (lambda u, i, s: (x for x in s), r"returned object \(generator\)"),
        (lambda u, i, s: [[1.0, {}, 2.0]], r"returned object \(list\)"),
        (lambda u, i, s: [[1.0], [1.0, 2.0]], "returned a list"),
        (lambda u, i, s: s.astype(str), "returned <U"),
        (lambda u, i, s: s + 1j, "returned complex128"),
        (lambda u, i, s: np.ma.masked_less(s, 1e9), "returned masked float64"),
        (lambda u, i, s: np.where(i == 7, np.nan, np.inf), r"the first \(inf\) for user 4, item 3"),
        (lambda u, i, s: np.where(i == 7, np.inf, s), r"the first \(\w+\) for user 4, item 7"),
    ],
)
def test_a_wrong_answer_is_an_input_error_and_not_tried_again(answer, message):
    scorer = Callable(Recorder(answer), n_items=N_ITEMS, backoff=0)
    with pytest.raises(InputError, match=message) as caught:
        scorer.score(np.array([4]), np.array([[3, 7, 9]]))
    assert "asked for user 4" in str(caught.value)
    assert scorer.calls == 1


@pytest.mark.parametrize(
    ("answer", "message"),
    [
        (lambda u, i, s: s[:, :-1], r"it returned shape \(1, 2\); expected \(1, 3\)"),
        (lambda u, i, s: s[:0], r"it returned shape \(0, 3\); expected \(1, 3\)"),
        (lambda u, i, s: [], "it returned 0 rows; expected 1"),
        (lambda u, i, s: [None], r"3 of 3 scores are NaN or missing, the first \(nan\) for user 4"),
        (lambda u, i, s: [[1.0, None]], "row 0 has 2 scores instead of 3"),
        (lambda u, i, s: [[None if x == 7 else x for x in i[0].tolist()]], "user 4, item 7"),
        (lambda u, i, s: np.where(i == 7, np.nan, s), r"the first \(nan\) for user 4, item 7"),
    ],
)
def test_an_answer_that_stays_incomplete_is_an_input_error_in_the_end(answer, message):
    scorer = Callable(Recorder(answer), n_items=N_ITEMS, backoff=0, retries=2)
    with pytest.raises(InputError, match=message) as caught:
        scorer.score(np.array([4]), np.array([[3, 7, 9]]))
    assert "asked for user 4, gave no full answer, tried 3 times" in str(caught.value)
    assert scorer.calls == 3


def lossy(share, seed=0):
    """A function of which each score is lost with some chance, by NaN, None or short rows."""
    rng = np.random.default_rng(seed)

    def then(users, items, answer):
        kind = rng.integers(4)
        lost = rng.random(items.shape) < share
        if kind == 0:
            return np.where(lost, np.nan, answer)
        if kind == 1:
            return np.where(lost, None, answer).tolist()
        gone = lost.any(axis=1)
        rows = zip(answer, gone, strict=True)
        if kind == 2:
            return [None if bad else row.tolist() for row, bad in rows]
        return [row[:-1] if bad else row for row, bad in rows]

    return Recorder(then)


@pytest.mark.parametrize("concurrency", [1, 3])
@pytest.mark.parametrize("batch_pairs", [7, 40, 4096])
def test_what_arrived_is_kept_and_only_the_rest_is_asked_for_again(
    tmp_path, batch_pairs, concurrency
):
    function = lossy(0.1)
    scorer = Callable(
        function, n_items=N_ITEMS, batch_pairs=batch_pairs, retries=200, backoff=0,
        concurrency=concurrency, cache=tmp_path, name="lossy",
    )  # fmt: skip
    users, items = request()
    np.testing.assert_array_equal(scorer.score(users, items), value(users, items))
    assert scorer.scored_pairs == items.size  # each arrived once
    assert scorer.asked_pairs == sum(function.pairs.values()) > items.size
    again = Callable(lambda u, i: 1 / 0, n_items=N_ITEMS, cache=tmp_path, name="lossy")
    np.testing.assert_array_equal(again.score(users, items), value(users, items))


def test_a_pair_that_arrived_is_never_asked_for_again():
    """One pair is lost three times: it alone is asked for, of all of its call."""
    function = Recorder(lambda u, i, s: np.where((u[:, None] == 3) & (i == 7), left[0], s))
    left = [np.nan]
    scorer = Callable(function, n_items=N_ITEMS, retries=3)
    pauses = []

    def sleep(seconds):
        pauses.append(seconds)
        if len(pauses) == 3:
            left[0] = 5.0

    scorer._sleep = sleep
    users, items = np.arange(5), np.tile(np.arange(10), (5, 1))
    found = scorer.score(users, items)
    assert found[3, 7] == 5.0
    assert function.shapes == [(5, 10), (1, 1), (1, 1), (1, 1)]
    assert (scorer.asked_pairs, scorer.scored_pairs) == (53, 50)
    assert pauses == [0.5, 1.0, 2.0]


def test_what_arrived_before_the_end_is_kept(tmp_path):
    """Also of the call that failed for good."""
    function = Recorder(lambda u, i, s: np.where(u[:, None] == 3, np.nan, s))
    options = {"n_items": N_ITEMS, "cache": tmp_path, "name": "m", "retries": 1, "backoff": 0}
    users, items = np.arange(5), np.tile(np.arange(10), (5, 1))
    with pytest.raises(InputError, match="user 3, gave no full answer, tried 2 times"):
        Callable(function, **options).score(users, items)
    whole = Recorder()
    scorer = Callable(whole, **options)
    np.testing.assert_array_equal(scorer.score(users, items), value(users, items))
    assert set(whole.pairs) == {(3, item) for item in range(10)}


def test_partial_answers_are_paid_in_full_and_lost_in_part():
    purse = Purse(limit=100)
    first = [True]

    def half(users, items):
        answer = value(users, items)
        if first[0]:
            first[0] = False
            answer[:, ::2] = np.nan
        return answer

    told = []
    purse.tell = told.append
    scorer = Callable(half, n_items=N_ITEMS, batch_pairs=40, backoff=0)
    users, items = np.arange(4), np.tile(np.arange(10), (4, 1))
    scorer._ask(users, items, purse, lambda pairs, scores: None)
    assert purse.call_size(40) == 6  # a sixteenth of the limit
    assert purse.asked == 40 + purse.failed
    assert (purse.failed_calls, purse.failed) == (1, 3)
    assert sum(told) == 40


def test_no_call_is_begun_after_the_time_limit(tmp_path, monkeypatch):
    now = [1000.0]
    monkeypatch.setattr("truerank.scoring.function.time.perf_counter", lambda: now[0])

    def slow(users, items):
        now[0] += 4.0
        return value(users, items)

    options = {"n_items": N_ITEMS, "batch_pairs": 10, "cache": tmp_path, "name": "m"}
    users, items = np.arange(6), np.tile(np.arange(10), (6, 1))
    scorer = Callable(slow, time_limit=10.0, **options)
    with pytest.raises(TruerankError, match=r"time_limit is 10 s, and 12 s .* 30 pairs .* only"):
        scorer.score(users, items)
    assert scorer.calls == 3
    more = Callable(Recorder(), **options)
    np.testing.assert_array_equal(more.score(users, items), value(users, items))
    assert more.scored_pairs == 30


def test_pauses_end_with_the_time_limit():
    pauses = []
    scorer = Callable(failing(9), n_items=N_ITEMS, retries=9, backoff=30, time_limit=40.0)
    scorer._sleep = pauses.append
    scorer.score(*request())
    assert max(pauses) <= 40.0


def test_an_answer_that_refuses_to_become_an_array_is_an_input_error():
    class Tensor:
        def __array__(self, dtype=None, copy=None):
            raise RuntimeError("call detach() first")

    scorer = Callable(lambda u, i: Tensor(), n_items=N_ITEMS)
    with pytest.raises(InputError, match=r"a Tensor that is no array .*: call detach\(\) first"):
        scorer.score(*request())


def test_a_call_that_hangs_is_given_up_and_its_users_named():
    release = threading.Event()

    def then(users, items, answer):
        release.wait(30)
        return answer

    scorer = Callable(Recorder(then), n_items=N_ITEMS, timeout=0.05, retries=1, backoff=0)
    began = time.monotonic()
    try:
        with pytest.raises(
            TruerankError, match=r"users 8, 9 .* tried 2 times: .*no answer within 0.05 s"
        ):
            scorer.score(np.array([9, 8]), np.array([[1, 2], [3, 4]]))
        assert time.monotonic() - began < 10
    finally:
        release.set()


def test_a_call_that_hangs_once_is_tried_again():
    release = threading.Event()
    first = [True]

    def then(users, items, answer):
        if first[0]:
            first[0] = False
            release.wait(30)
        return answer

    scorer = Callable(Recorder(then), n_items=N_ITEMS, timeout=1, backoff=0)
    users, items = request()
    try:
        np.testing.assert_array_equal(scorer.score(users, items), value(users, items))
        assert scorer.calls == 2
    finally:
        release.set()


def test_an_error_inside_a_timed_call_is_the_one_reported():
    scorer = Callable(failing(9), n_items=N_ITEMS, timeout=30, retries=0)
    with pytest.raises(TruerankError, match="tried once: ConnectionError: refused"):
        scorer.score(*request())


def test_an_interrupt_passes_through():
    for concurrency in (1, 4):
        scorer = Callable(
            failing(9, KeyboardInterrupt()),
            n_items=N_ITEMS,
            batch_pairs=9,
            concurrency=concurrency,
            backoff=0,
        )
        with pytest.raises(KeyboardInterrupt):
            scorer.score(*request())


# --- several calls at once ---------------------------------------------------------------------


def test_concurrency_gives_identical_scores_and_calls():
    users, items = request(rows=40)
    one, many = Recorder(), Recorder()
    alone = Callable(one, n_items=N_ITEMS, batch_pairs=20)
    together = Callable(many, n_items=N_ITEMS, batch_pairs=20, concurrency=7, timeout=30)
    np.testing.assert_array_equal(together.score(users, items), alone.score(users, items))
    assert many.pairs == one.pairs
    assert sorted(many.shapes) == sorted(one.shapes)
    assert (together.calls, together.scored_pairs) == (alone.calls, alone.scored_pairs)


def test_concurrent_calls_are_under_way_together():
    meeting = threading.Barrier(4, timeout=30)  # breaks unless four calls meet

    def then(users, items, answer):
        meeting.wait()
        return answer

    scorer = Callable(Recorder(then), n_items=N_ITEMS, batch_pairs=3, concurrency=4, retries=0)
    items = np.tile(np.arange(3), (8, 1))
    np.testing.assert_array_equal(scorer.score(np.arange(8), items), value(range(8), items))


def test_after_an_error_no_call_is_begun_and_what_was_under_way_is_kept(tmp_path):
    begun, fail = threading.Barrier(2, timeout=30), threading.Event()

    def then(users, items, answer):
        if users[0] in (0, 1):
            begun.wait()
        if users[0] == 0:
            fail.set()
            raise ConnectionError("refused")
        fail.wait(30)  # so that this one ends after the other has failed
        time.sleep(0.2)
        return answer

    broken = Recorder(then)
    settings = {"n_items": N_ITEMS, "batch_pairs": 2, "cache": tmp_path, "name": "a"}
    scorer = Callable(broken, concurrency=2, retries=0, **settings)
    items = np.tile(np.arange(2), (20, 1))
    with pytest.raises(TruerankError, match=r"user 0 .* kept in .*same cache= and name="):
        scorer.score(np.arange(20), items)
    assert set(broken.pairs) == {(0, 0), (0, 1), (1, 0), (1, 1)}
    asked = Recorder()
    Callable(asked, **settings).score(np.arange(20), items)
    assert (1, 0) not in asked.pairs
    assert len(asked.pairs) == 38


# --- the cache ---------------------------------------------------------------------------------


def cached(function, folder, name="model 1", **options):
    return Callable(function, n_items=N_ITEMS, cache=folder, name=name, **options)


def test_a_second_run_asks_for_nothing_and_gives_the_same_scores(tmp_path):
    users, items = request()
    first = cached(Recorder(), tmp_path / "new" / "folder")
    scores = first.score(users, items)
    assert first.cached_pairs == 0
    again = cached(Recorder(), tmp_path / "new" / "folder")
    np.testing.assert_array_equal(again.score(users, items), scores)
    assert (again.calls, again.scored_pairs) == (0, 0)
    assert again.cached_pairs == first.scored_pairs


def test_scores_from_the_cache_are_the_same_to_the_bit(tmp_path):
    users, items = request()
    rng = np.random.default_rng(3)
    for number, kind in enumerate([np.float32, np.float64]):
        answer = (rng.standard_normal((1, N_ITEMS)) * 1e-9).astype(kind)
        name = f"model {number}"
        fresh = cached(lambda u, i, a=answer: a[0][i], tmp_path, name).score(users, items)
        kept = cached(lambda u, i: 1 / 0, tmp_path, name).score(users, items)
        np.testing.assert_array_equal(fresh, kept)
        np.testing.assert_array_equal(fresh, answer[0][items])


def test_only_missing_pairs_are_asked_for(tmp_path):
    cached(Recorder(), tmp_path).score(np.array([0, 1]), np.array([[0, 1, 2], [0, 1, 2]]))
    asked = Recorder()
    users, items = np.array([0, 1, 2]), np.array([[0, 1, 5], [2, 6, 7], [1, 2, 3]])
    scorer = cached(asked, tmp_path)
    np.testing.assert_array_equal(scorer.score(users, items), value(users, items))
    assert asked.pairs == dict.fromkeys([(0, 5), (1, 6), (1, 7), (2, 1), (2, 2), (2, 3)], 1)
    assert scorer.cached_pairs == 3


def test_two_names_never_share(tmp_path):
    users, items = request()
    cached(Recorder(), tmp_path, "model 1").score(users, items)
    for name in ("model 2", "model-1", "Model 1", "model 1 "):
        other = cached(Recorder(lambda u, i, s: -s), tmp_path, name)
        np.testing.assert_array_equal(other.score(users, items), -value(users, items))
        assert other.cached_pairs == 0


def test_pairs_are_kept_by_id_whatever_the_rows(tmp_path):
    def spell(users, items):
        return np.array(
            [[len(u) + ord(i) for i in row] for u, row in zip(users, items, strict=True)]
        )

    options = {"cache": tmp_path, "name": "a"}
    first = Callable(spell, user_ids=["ann", "robert"], item_ids=["x", "y", "z"], **options)
    scores = first.score(np.array([0, 1]), np.array([[0, 1], [1, 2]]))
    turned = Callable(spell, user_ids=["robert", "ann"], item_ids=["z", "é", "y", "x"], **options)
    again = turned.score(np.array([1, 0]), np.array([[3, 2], [2, 0]]))
    np.testing.assert_array_equal(again, scores)
    assert turned.calls == 0


def test_large_unsigned_ids_can_be_kept(tmp_path):
    ids = np.array([2**64 - 1, 2**63, 5], dtype=np.uint64)
    for calls in (1, 0):
        scorer = Callable(
            lambda u, i: np.full(i.shape, 2.0), item_ids=ids, cache=tmp_path, name="a"
        )
        scorer.score(np.array([0]), np.array([[0, 1, 2]]))
        assert scorer.calls == calls


def test_pairs_of_earlier_calls_survive_an_error(tmp_path):
    def then(users, items, answer):
        return np.full(items.shape, np.nan) if users[0] == 9 else answer

    users, items = np.arange(12), np.tile(np.arange(5), (12, 1))
    scorer = cached(Recorder(then), tmp_path, batch_pairs=5)
    with pytest.raises(InputError, match=r"NaN .* kept in .* run again with the same cache="):
        scorer.score(users, items)
    asked = Recorder()
    cached(asked, tmp_path, batch_pairs=5).score(users, items)
    assert {user for user, _ in asked.pairs} == {9, 10, 11}


def test_the_file_is_opened_at_first_use_and_can_be_closed(tmp_path):
    scorer = cached(Recorder(), tmp_path / "folder")
    assert not (tmp_path / "folder").exists()
    users, items = request()
    scorer.score(users, items)
    scorer.close()
    assert [path.suffix for path in (tmp_path / "folder").iterdir()] == [".pairs"]
    scorer.score(users, items)
    assert scorer.calls == 1


def test_a_scorer_can_be_pickled(tmp_path):
    scorer = cached(value, tmp_path)
    users, items = request()
    scores = scorer.score(users, items)
    copy = pickle.loads(pickle.dumps(scorer))
    np.testing.assert_array_equal(copy.score(users, items), scores)
    assert copy.calls == 1


def the_file(folder):
    (path,) = folder.glob("*.pairs")
    return path


def fill(folder):
    scorer = cached(Recorder(), folder)
    scorer.score(*request(rows=400, width=40))
    scorer.close()
    return the_file(folder)


def scribble_in_the_middle(path):
    content = bytearray(path.read_bytes())
    content[4096:-4096] = b"\x5a" * (len(content) - 8192)
    path.write_bytes(content)


def cut(path):
    path.write_bytes(path.read_bytes()[:10_000])


def damage_the_start(path):
    path.write_bytes(b"\0" * 60 + path.read_bytes()[60:])


@pytest.mark.parametrize("damage", [scribble_in_the_middle, cut, damage_the_start])
def test_a_damaged_cache_gives_what_is_left(tmp_path, damage):
    """Scores are right whatever was damaged, and what is lost is asked for once."""
    users, items = request(rows=400, width=40)
    damage(fill(tmp_path))
    asked = Recorder()
    scorer = cached(asked, tmp_path)
    with pytest.warns(TruerankWarning, match=r"\.pairs is damaged in .* scored again"):
        scores = scorer.score(users, items)
    np.testing.assert_array_equal(scores, value(users, items))
    scorer.close()
    again = cached(Recorder(), tmp_path)
    with pytest.warns(TruerankWarning, match="damaged"):
        np.testing.assert_array_equal(again.score(users, items), scores)
    assert again.calls == 0


def test_no_flipped_bit_gives_a_wrong_score_and_each_costs_one_block(tmp_path):
    users, items = request(rows=60, width=20)
    first = cached(Recorder(), tmp_path, batch_pairs=40)
    whole_scores = first.score(users, items)
    first.close()
    path = the_file(tmp_path)
    whole = path.read_bytes()
    flipped = np.random.default_rng(5).integers(8 * len(whole), size=150).tolist()
    for at in flipped:
        broken = bytearray(whole)
        broken[at // 8] ^= 1 << at % 8
        path.write_bytes(broken)
        asked = Recorder()
        scorer = cached(asked, tmp_path, batch_pairs=40)
        with pytest.warns(TruerankWarning, match="damaged in one place"):
            np.testing.assert_array_equal(scorer.score(users, items), whole_scores)
        assert len(asked.pairs) <= 40  # those of one batch
        scorer.close()


def test_what_is_no_cache_is_left_alone(tmp_path):
    path = fill(tmp_path)
    path.write_bytes(b"some other file" * 100)
    before = path.read_bytes()
    with pytest.raises(TruerankError, match="no cache of scored pairs of this version"):
        cached(Recorder(), tmp_path).score(*request())
    assert path.read_bytes() == before


def test_the_file_is_private(tmp_path):
    assert stat.S_IMODE(fill(tmp_path).stat().st_mode) == 0o600


def old_cache(folder, rows, name="model 1"):
    """A cache as earlier versions kept it, in a database."""
    path = cached(value, folder, name)._cache.path.with_suffix(".sqlite")
    with contextlib.closing(sqlite3.connect(path)) as database:
        database.execute("CREATE TABLE pairs (user TEXT, item TEXT, score REAL)")
        database.executemany("INSERT INTO pairs VALUES (?, ?, ?)", rows)
        database.commit()
    return path


def test_caches_of_earlier_versions_are_taken_over(tmp_path):
    users, items = request()
    scores = value(users, items)
    triples = zip(np.repeat(users, items.shape[1]), items.ravel(), scores.ravel(), strict=True)
    old_cache(tmp_path, sorted({(str(u), str(i), s) for u, i, s in triples}))
    scorer = cached(Recorder(), tmp_path)
    np.testing.assert_array_equal(scorer.score(users, items), scores)
    assert scorer.calls == 0


def test_a_damaged_cache_of_an_earlier_version_is_an_error(tmp_path):
    path = old_cache(tmp_path, [("1", "2", 3.0)])
    path.write_bytes(b"not a database at all" * 100)
    for _ in range(2):
        with pytest.raises(TruerankError, match=r"\.sqlite is damaged: .* move it away"):
            cached(Recorder(), tmp_path).score(*request())


def test_a_cache_that_holds_another_name_is_refused(tmp_path):
    path = fill(tmp_path)
    scorer = cached(Recorder(), tmp_path, "model 2")
    path.rename(scorer._cache.path)
    with pytest.raises(TruerankError, match="holds scores of 'model 1', not of 'model 2'"):
        scorer.score(*request())


def test_a_cache_that_stays_locked_is_an_error(tmp_path, monkeypatch):
    monkeypatch.setattr("truerank.scoring._pair_cache._WAIT", 0.05)
    path = fill(tmp_path)
    code = (
        "import sys, time; from pathlib import Path; from truerank.scoring._pair_log import Log\n"
        "with Log(Path(sys.argv[1])).locked(1):\n"
        "    print('locked', flush=True); time.sleep(60)\n"
    )
    other = subprocess.Popen([sys.executable, "-c", code, str(path)], stdout=subprocess.PIPE)
    try:
        assert other.stdout.readline() == b"locked\n"
        with pytest.raises(TruerankError, match="in use by another process"):
            cached(Recorder(), tmp_path).score(*request())
    finally:
        other.kill()
        other.wait()
        other.stdout.close()


def test_a_file_in_place_of_the_folder_is_an_error(tmp_path):
    (tmp_path / "file").write_text("")
    with pytest.raises(InputError, match="no usable folder"):
        cached(Recorder(), tmp_path / "file").score(*request())


# --- other processes ---------------------------------------------------------------------------

RUN = """
import itertools, os, sys, threading, time
import numpy as np
from truerank.scoring.function import Callable

folder, log, concurrency, hang_after = sys.argv[1], sys.argv[2], *map(int, sys.argv[3:])
begun = itertools.count(1)
out = os.open(log, os.O_WRONLY | os.O_CREAT | os.O_APPEND)

def function(users, items):
    line = ";".join(f"{u},{i}" for u, row in zip(users, items) for i in row)
    os.write(out, f"{threading.current_thread().name}:{line}\\n".encode())
    time.sleep(0.002 if next(begun) <= hang_after else 600)
    return users[:, None] * 1000.0 + items / 7

scorer = Callable(
    function, n_items=50, batch_pairs=20, concurrency=concurrency, cache=folder, name="a"
)
items = np.random.default_rng(0).integers(0, 50, (200, 10))
parts = [scorer.score(np.arange(b, b + 50), items[b : b + 50]) for b in range(0, 200, 50)]
np.save(log + ".npy", np.concatenate(parts))
"""


def calls_in(log):
    """The calls noted in a log, each (thread, pairs)."""
    lines = log.read_text().splitlines() if log.exists() else []
    split = [line.split(":") for line in lines]
    return [
        (thread, [tuple(map(int, pair.split(","))) for pair in pairs.split(";")])
        for thread, pairs in split
    ]


def start(folder, log, *, concurrency=1, hang_after=10**9):
    arguments = map(str, [folder, log, concurrency, hang_after])
    return subprocess.Popen([sys.executable, "-c", RUN, *arguments])


@pytest.mark.parametrize("concurrency", [1, 4])
def test_a_killed_run_goes_on_without_paying_again(tmp_path, concurrency):
    logs = [tmp_path / f"log{number}" for number in range(3)]
    for log, hang_after in zip(logs[:2], [15, 20], strict=True):
        run = start(tmp_path / "cache", log, concurrency=concurrency, hang_after=hang_after)
        deadline = time.monotonic() + 60
        while len(calls_in(log)) <= hang_after:
            assert run.poll() is None
            assert time.monotonic() < deadline
            time.sleep(0.005)
        run.send_signal(signal.SIGKILL)
        assert run.wait(30) == -signal.SIGKILL
    assert start(tmp_path / "cache", logs[2], concurrency=concurrency).wait(60) == 0

    users, items = np.arange(200), np.random.default_rng(0).integers(0, 50, (200, 10))
    np.testing.assert_array_equal(np.load(f"{logs[2]}.npy"), value(users, items))
    asked = [Counter(pair for _, call in calls_in(log) for pair in call) for log in logs]
    assert all(count == 1 for run in asked for count in run.values())
    # Asked twice: nothing but what was under way at the kill, the last call of each thread.
    for number in (0, 1):
        last = dict(calls_in(logs[number]))
        assert len(last) <= concurrency
        under_way = {pair for call in last.values() for pair in call}
        later = set().union(*asked[number + 1 :])
        assert set(asked[number]) & later <= under_way
    wanted = {(u, i) for u, row in enumerate(items.tolist()) for i in row}
    assert set().union(*asked) == wanted


@pytest.mark.parametrize("concurrency", [1, 4])
def test_processes_may_share_a_cache(tmp_path, concurrency):
    runs = [
        start(tmp_path / "cache", tmp_path / f"log{number}", concurrency=concurrency)
        for number in range(3)
    ]
    assert [run.wait(60) for run in runs] == [0, 0, 0]
    scores = [np.load(tmp_path / f"log{number}.npy") for number in range(3)]
    np.testing.assert_array_equal(scores[0], scores[1])
    np.testing.assert_array_equal(scores[0], scores[2])
    assert start(tmp_path / "cache", tmp_path / "log3").wait(60) == 0
    assert calls_in(tmp_path / "log3") == []
    # No pair is paid for twice, though all began at once.
    calls = [call for number in range(3) for _, call in calls_in(tmp_path / f"log{number}")]
    asked = Counter(pair for call in calls for pair in call)
    assert set(asked.values()) == {1}


def test_threads_may_share_a_cache_beside_a_process(tmp_path):
    """Each with a scorer of its own; one that is closed in between drops no lock of the others."""
    cache, asked = {"cache": tmp_path / "cache", "name": "a"}, []

    def function(users, items):
        rows = zip(users.tolist(), items.tolist(), strict=True)
        asked.extend((user, item) for user, row in rows for item in row)
        time.sleep(0.001)
        return users[:, None] * 1000.0 + items / 7

    def run():
        items = np.random.default_rng(0).integers(0, 50, (200, 10))  # as the process does
        Callable(function, n_items=50, batch_pairs=20, **cache).score(np.arange(200), items)

    def open_and_close():
        for _ in range(20):
            other = Callable(function, n_items=50, **cache)
            other._is_cached(np.array([0]), np.array([0]))
            other.close()
            time.sleep(0.02)

    process = start(tmp_path / "cache", tmp_path / "log")
    threads = [threading.Thread(target=target) for target in (run, run, open_and_close)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)
    assert process.wait(60) == 0
    paid = Counter(asked + [pair for _, call in calls_in(tmp_path / "log") for pair in call])
    assert set(paid.values()) == {1}


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork on this platform")
def test_a_forked_process_opens_its_own_connection(tmp_path):
    code = f"""
import os, numpy as np
from truerank.scoring.function import Callable
scorer = Callable(lambda u, i: i * 1.0, n_items=50, cache={str(tmp_path)!r}, name="a")
scorer.score(np.array([0]), np.array([[1, 2]]))
child = os.fork()
if not child:
    ok = (scorer.score(np.array([0]), np.array([[1, 3]])) == [[1, 3]]).all()
    os._exit(0 if ok and scorer.calls == 2 else 1)
assert os.waitpid(child, 0)[1] == 0
scorer.score(np.array([0]), np.array([[1, 2, 3]]))
assert scorer.calls == 1, scorer.calls
"""
    subprocess.run([sys.executable, "-c", code], check=True, timeout=60)


# --- arguments ---------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({}, "give item_ids= or n_items="),
        ({"n_items": 1}, "n_items is 1; it must be at least 2"),
        ({"item_ids": [5]}, "at least 2 items"),
        ({"item_ids": [5, 6, 7], "n_items": 4}, "item_ids has 3 ids; there are 4 items"),
        ({"n_items": 5, "batch_pairs": 0}, "batch_pairs is 0"),
        ({"n_items": 5, "retries": -1}, "retries is -1"),
        ({"n_items": 5, "backoff": -0.5}, "backoff is -0.5"),
        ({"n_items": 5, "timeout": 0}, "timeout is 0; it must be above 0"),
        ({"n_items": 5, "concurrency": 0}, "concurrency is 0"),
        ({"n_items": 5, "cache": "folder"}, "a cache needs the name of the model"),
        ({"n_items": 5, "cache": "folder", "name": " "}, "a cache needs the name of the model"),
        ({"n_items": 5, "cache": 3, "name": "a"}, "cache is 3; it must be the path of a folder"),
        ({"n_items": 5, "name": "a"}, "there is no cache="),
    ],
)
def test_arguments_out_of_bounds(options, message):
    with pytest.raises(InputError, match=message):
        Callable(value, **options)


def test_what_is_no_function_is_refused():
    async def later(users, items):
        return value(users, items)

    with pytest.raises(InputError, match="function is 'module:score'; it must be a function"):
        Callable("module:score", n_items=5)
    with pytest.raises(InputError, match="coroutine function; wrap it"):
        Callable(later, n_items=5)


def test_rows_that_do_not_exist_are_refused():
    scorer = Callable(value, n_items=5)
    with pytest.raises(InputError, match="item rows must be from 0 to 4"):
        scorer.score(np.array([0]), np.array([[5]]))
    with pytest.raises(InputError, match=r"must be \(B,\) and \(B, n\)"):
        scorer.score(np.array([0, 1]), np.array([[0]]))
