"""Compiled and plain sampling give the same numbers, whatever threads and batches."""

from __future__ import annotations

import sys

import numpy as np
import pytest
from laws import rank_among, sample

from truerank import InputError
from truerank.sampling import _batched, _fused, blocks, streams
from truerank.scoring.dense import Dense
from truerank.scoring.factors import Factors, lane_dot
from truerank.scoring.task import prepare

pytest.importorskip("numba")
SWITCH = _fused.SWITCH
RNG = np.random.default_rng


@pytest.fixture
def both(monkeypatch):
    """Run a function compiled and plain, check that all is equal, give the compiled result."""

    def run(function, *arguments, **options):
        monkeypatch.setenv(SWITCH, "0")
        plain = function(*arguments, **options)
        monkeypatch.setenv(SWITCH, "1")
        compiled = function(*arguments, **options)
        for name in ("above", "tied", "sample_size"):
            assert np.array_equal(getattr(compiled, name), getattr(plain, name)), name
        return compiled

    return run


def make(n_users=120, n_items=90, width=20, kind=np.float32, whole=False, left_out=12):
    """Factors with or without ties, their scores as a matrix, and a task."""
    rng = RNG(width)
    users, items = (rng.standard_normal((n, width)).astype(kind) for n in (n_users, n_items))
    if whole:
        users, items = np.round(users), np.round(items)
    scorer = Factors(users, items)
    every = np.broadcast_to(np.arange(n_items), (n_users, n_items))
    chosen = np.stack([rng.permutation(n_items) for _ in range(n_users)])[:, : left_out + 1]
    user = np.arange(n_users)
    train = (np.repeat(user, left_out), chosen[:, 1:].ravel()) if left_out else None
    task = prepare(scorer, (user, chosen[:, 0]), train=train)
    return scorer, Dense(scorer.score(user, every)), task


@pytest.mark.parametrize("ties", ["count", "random", "optimistic", "pessimistic"])
@pytest.mark.parametrize("replacement", [True, False])
@pytest.mark.parametrize("kind", [np.float32, np.float64])
def test_fixed_samples(both, ties, replacement, kind):
    for whole, width in ((True, 4), (False, 20), (False, 48)):
        scorer, dense, task = make(kind=kind, whole=whole, width=width)
        for size in (2, 30, int(task.n_items[0])):
            options = {"ladder": (size,), "replacement": replacement, "seed": 3, "ties": ties}
            one = both(sample, scorer, task, **options)
            other = both(sample, dense, task, **options)
            assert np.array_equal(one.above, other.above)
            assert (one.tied > 0).any() == (whole and ties == "count")


@pytest.mark.parametrize("hits", [1, 3])
@pytest.mark.parametrize("replacement", [True, False])
def test_ladders(both, replacement, hits):
    """The last rung is beyond the pools: without replacement samples end there."""
    scorer, dense, task = make(whole=True, width=5)
    for ladder in ((2, 3, 4, 200), (10, 20, 40), (90,)):
        for model in (scorer, dense):
            found = both(
                sample, model, task, ladder=ladder, hits=hits, replacement=replacement,
                ties="random",
            )  # fmt: skip
            largest = ladder[-1] if replacement else min(ladder[-1], task.n_items[0])
            assert found.sample_size.max() == largest


@pytest.mark.parametrize("ties", ["count", "random", "pessimistic"])
@pytest.mark.parametrize("replacement", [True, False])
@pytest.mark.parametrize("size", [2, 16, 17, 30, 78])
def test_shared_blocks(both, size, replacement, ties):
    """Users have 12 of 90 items left out: some need candidates beyond the usual surplus."""
    for whole in (True, False):
        scorer, _, task = make(whole=whole, width=7)
        keys = blocks.stream_keys(blocks.assign(task, 20, task.n_users, 1), 1)
        options = {"ladder": (size,), "replacement": replacement, "stream_keys": keys, "seed": 1}
        both(sample, scorer, task, **options, ties=ties)


@pytest.mark.parametrize("replacement", [True, False])
def test_shared_blocks_of_users_with_little_left(both, replacement):
    scorer, _, task = make(n_items=400, left_out=380)
    keys = blocks.stream_keys(np.zeros(task.n_rows, dtype=np.int64), 0)
    both(sample, scorer, task, ladder=(15,), replacement=replacement, stream_keys=keys)


@pytest.mark.parametrize("ties", ["count", "random"])
def test_given_negatives(both, ties):
    scorer, dense, task = make(whole=True, width=4)
    length = RNG(0).integers(1, 40, task.n_rows)
    start = np.concatenate([[0], np.cumsum(length)])
    items = RNG(1).integers(0, task.catalogue, start[-1])
    found = both(rank_among, scorer, task, start, items, ties=ties)
    assert np.array_equal(found.above, both(rank_among, dense, task, start, items, ties=ties).above)
    assert np.array_equal(found.sample_size, length + 1)


@pytest.mark.parametrize("width", [1, 15, 16, 17, 64, 100])
@pytest.mark.parametrize("kind", [np.float32, np.float64])
def test_vector_code_adds_in_the_order_of_lane_dot(width, kind):
    """To the last bit, for one pair and for candidates as columns."""
    import numba

    from truerank.sampling._lanes_numba import PIECE, count_piece, row_dot

    dot = numba.njit(lambda a, i, b, j: row_dot(a, i, b, j))
    compare = numba.njit(lambda a, i, columns, at, best: count_piece(a, i, columns, at, best))
    rng = RNG(width)
    n = 2 * PIECE
    scorer = Factors(*(rng.standard_normal((n, width)).astype(kind) for _ in range(2)))
    users, items = scorer.user_factors, scorer.item_factors
    expected = lane_dot(users[:, None], items[None])
    compiled = np.array([[dot(users, i, items, j) for j in range(n)] for i in range(n)], kind)
    assert np.array_equal(compiled, expected)
    columns = np.ascontiguousarray(items.reshape(2, PIECE, -1).transpose(0, 2, 1))
    for user in range(n):
        best = expected[user, 5]
        found = [compare(users, user, columns, at, best) for at in range(2)]
        higher = [bool(found[j // PIECE] >> (j % PIECE) & 1) for j in range(n)]
        ties = [bool(found[j // PIECE] >> (PIECE + j % PIECE) & 1) for j in range(n)]
        assert np.array_equal(higher, expected[user] > best)
        assert np.array_equal(ties, expected[user] == best)


@pytest.mark.parametrize("numba", ["0", "1"])
@pytest.mark.parametrize("ladder", [(20,), (5, 20, 60)], ids=["fixed", "adaptive"])
def test_batches_and_threads_change_nothing(numba, ladder, monkeypatch):
    monkeypatch.setenv(SWITCH, numba)
    scorer, _, task = make(whole=True)
    keys = blocks.stream_keys(blocks.assign(task, 20, task.n_users, 0), 0)

    def draw(shared):
        return sample(
            scorer, task, ladder=ladder, ties="random", stream_keys=keys if shared else None
        )

    before = draw(False), draw(True)
    for pairs, room, threads in ((1, 300, 1), (700, 5000, 3)):
        monkeypatch.setattr(_batched, "_PAIRS", pairs)
        monkeypatch.setattr(_fused, "_PAIRS", pairs)
        monkeypatch.setattr(streams, "_ROOM", room)
        monkeypatch.setattr(_fused, "_n_threads", lambda threads=threads: threads)
        for shared, old in enumerate(before):
            new = draw(bool(shared))
            assert np.array_equal(new.above, old.above)
            assert np.array_equal(new.sample_size, old.sample_size)


def test_matrices_of_any_layout_and_kind(both):
    _, dense, task = make(whole=True, width=4)
    expected = both(sample, dense, task, ladder=(30,))
    scores = dense.scores
    fixed = scores.copy()
    fixed.setflags(write=False)
    variants = [np.asfortranarray(scores), scores[:, ::-1].copy()[:, ::-1], fixed]
    variants += [scores.astype(kind) for kind in (np.float64, np.int32, np.float16)]
    for variant in variants:
        found = both(sample, Dense(variant), task, ladder=(30,))
        assert np.array_equal(found.above, expected.above)


def test_memory_mapped_scores(both, tmp_path):
    _, dense, task = make()
    np.save(tmp_path / "scores.npy", dense.scores)
    mapped = Dense(np.load(tmp_path / "scores.npy", mmap_mode="r"))
    expected = both(sample, dense, task, ladder=(30,))
    assert np.array_equal(both(sample, mapped, task, ladder=(30,)).above, expected.above)


@pytest.mark.parametrize("numba", ["0", "1"])
@pytest.mark.parametrize("value", [np.nan, np.inf, -np.inf])
def test_scores_that_cannot_be_ranked(numba, value, monkeypatch):
    monkeypatch.setenv(SWITCH, numba)
    _, dense, task = make()
    scores = dense.scores.copy()
    scores[7] = value
    with pytest.raises(InputError, match="NaN or infinite"):
        sample(Dense(scores), task, ladder=(30,))
    start, items = np.arange(task.n_rows + 1), np.zeros(task.n_rows, dtype=np.int64)
    with pytest.raises(InputError, match="NaN or infinite"):
        rank_among(Dense(scores), task, start, items)


def test_a_scorer_that_scores_otherwise_is_asked(monkeypatch):
    class Reversed(Factors):
        def score(self, users, items):
            return -super().score(users, items)

    monkeypatch.setenv(SWITCH, "1")
    scorer, _, task = make(left_out=0)
    other = Reversed(scorer.user_factors, scorer.item_factors)
    best_first = sample(scorer, task, ladder=(90,)).above
    assert np.array_equal(sample(other, task, ladder=(90,)).above, 89 - best_first)


def test_numba_is_loaded_for_large_tasks_only(monkeypatch):
    scorer, _, _ = make()
    monkeypatch.delenv(SWITCH, raising=False)
    monkeypatch.delitem(sys.modules, "numba", raising=False)
    assert _fused.matrices(scorer, _fused._WORTH_NUMBA - 1) is None
    assert _fused.matrices(scorer, _fused._WORTH_NUMBA) is not None
    monkeypatch.setattr(_fused, "_kernels", lambda: None)  # not installed
    assert _fused.matrices(scorer, _fused._WORTH_NUMBA) is None


def test_progress_is_told(monkeypatch):
    scorer, _, task = make(whole=True)
    for numba in ("0", "1"):
        monkeypatch.setenv(SWITCH, numba)
        for ladder in ((20,), (3, 6, 200)):
            told = []
            sample(
                scorer, task, ladder=ladder, ties="random",
                progress=lambda done, total, told=told: told.append((done, total)),
            )  # fmt: skip
            assert told[-1] == (task.n_rows, task.n_rows)
            assert told == sorted(told)
