"""Exact ranks against a plain count of scores, one user at a time."""

from __future__ import annotations

import sys
import tracemalloc

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse

import truerank as tr
from truerank import _blas
from truerank.errors import InputError
from truerank.outcomes.schemes import Scheme
from truerank.rng import below, draws, mix
from truerank.scoring import _count, _tiles, _whole, exact, ties
from truerank.scoring._ids import Ids
from truerank.scoring.dense import Dense
from truerank.scoring.factors import Factors
from truerank.scoring.scorer import Scorer
from truerank.scoring.task import prepare

BOTH = pytest.mark.parametrize("numba", ["0", "1"], ids=["numpy", "numba"], indirect=True)


@pytest.fixture
def numba(request, monkeypatch):
    if request.param == "1":
        pytest.importorskip("numba")
    monkeypatch.setenv(_count.SWITCH, request.param)


@pytest.fixture
def small_tiles(monkeypatch):
    """Tiles that even small catalogues need many of."""
    monkeypatch.setattr(_tiles, "tile", lambda kernels, task: (8, 24))


def brute_force(scores, test, train=((), ())):
    """(above, tied) by comparing float64 scores, row by row."""
    above, tied = [], []
    for user, target in zip(*test, strict=True):
        left_out = np.zeros(scores.shape[1], dtype=bool)
        for users, items in (test, train):
            left_out[np.asarray(items, dtype=int)[np.asarray(users, dtype=int) == user]] = True
        pool = scores[user][~left_out].astype(np.float64)
        above.append((pool > scores[user, target]).sum())
        tied.append((pool == scores[user, target]).sum())
    return np.array(above), np.array(tied)


def interactions(rng, n_users, n_items, *, n_test, n_train):
    """Distinct (user, item) pairs, in no order: test, and training pairs that are no targets."""
    pairs = rng.permutation(n_users * n_items)
    test, train = pairs[:n_test], pairs[n_test : n_test + n_train]
    return tuple(np.divmod(test, n_items)), tuple(np.divmod(train, n_items))


def integer_factors(rng, n_users, n_items, *, dimensions=5, dtype=np.float32):
    """Factors whose scores are small integers: exact in any order of summation, with many ties."""
    users = rng.integers(-2, 3, size=(n_users, dimensions)).astype(dtype)
    items = rng.integers(-2, 3, size=(n_items, dimensions)).astype(dtype)
    users[0] = 0
    items[:3] = 0
    return users, items


def ranks_of(scorer, test, **options):
    """The ranks of `tr.rank` alone, in the order of the test."""
    return tr.rank(scorer, test, **options)["rank"].to_numpy()


def canonical(scorer, n_users):
    """The scores by `score`, which the ranks are of."""
    return scorer.score_all(np.arange(n_users))


# -- equal to brute force -----------------------------------------------------------------------


@BOTH
@pytest.mark.usefixtures("numba", "small_tiles")
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("n_test", [40, 300], ids=["few", "several targets"])
def test_factors_with_many_ties(dtype, n_test):
    rng = np.random.default_rng(1)
    users, items = integer_factors(rng, 40, 101, dtype=dtype)
    test, train = interactions(rng, 40, 101, n_test=n_test, n_train=900)
    scorer = Factors(users, items)
    above, tied = exact.count(scorer, prepare(scorer, test, train=train))
    expected = brute_force(users.astype(float) @ items.T.astype(float), test, train)
    np.testing.assert_array_equal(above, expected[0])
    np.testing.assert_array_equal(tied, expected[1])
    assert (tied > 0).sum() > n_test / 2


@BOTH
@pytest.mark.usefixtures("numba")
@pytest.mark.parametrize("dtype", [np.float32, np.float64, np.int8])
def test_dense_with_many_ties(dtype, monkeypatch):
    monkeypatch.setattr(_whole, "_SCORES", 500)  # several blocks
    rng = np.random.default_rng(2)
    scores = rng.integers(0, 6, size=(40, 101)).astype(dtype)
    test, train = interactions(rng, 40, 101, n_test=120, n_train=900)
    scorer = Dense(scores)
    found = exact.count(scorer, prepare(scorer, test, train=train))
    np.testing.assert_array_equal(found, brute_force(scores.astype(float), test, train))


@BOTH
@pytest.mark.usefixtures("numba", "small_tiles")
@pytest.mark.parametrize("dimensions", [1, 16, 33, 200])
@pytest.mark.parametrize("scale", [1.0, 1e-19, 1e-25, 1e17])
def test_factors_hardly_apart(dimensions, scale):
    """Scores that differ in their last bits, where products depend on where a pair stands."""
    rng = np.random.default_rng(3)
    users = (rng.standard_normal((30, dimensions)) * scale).astype(np.float32)
    items = np.repeat(rng.standard_normal((1, dimensions)) * scale, 90, axis=0).astype(np.float32)
    nudged = rng.integers(dimensions, size=60)
    items[np.arange(60), nudged] = np.nextafter(items[np.arange(60), nudged], np.float32(np.inf))
    scorer = Factors(users, items)
    test, train = interactions(rng, 30, 90, n_test=100, n_train=300)
    found = exact.count(scorer, prepare(scorer, test, train=train))
    np.testing.assert_array_equal(found, brute_force(canonical(scorer, 30), test, train))


@settings(max_examples=40)
@given(st.integers(0, 2**32), st.integers(2, 60), st.integers(1, 40), st.booleans())
def test_any_factors(seed, n_items, dimensions, cosine):
    rng = np.random.default_rng(seed)
    users = rng.standard_normal((20, dimensions)).astype(np.float32)
    items = rng.standard_normal((n_items, dimensions)).astype(np.float32)
    items[n_items // 2 :] = items[: n_items - n_items // 2]
    scorer = Factors(users, items, cosine=cosine, item_biases=rng.integers(0, 3, n_items))
    test = np.arange(20), rng.integers(n_items, size=20)
    found = exact.count(scorer, prepare(scorer, test), progress=False)
    np.testing.assert_array_equal(found, brute_force(canonical(scorer, 20), test))


@BOTH
@pytest.mark.usefixtures("numba")
def test_items_of_equal_vectors_tie_exactly():
    rng = np.random.default_rng(4)
    some = rng.standard_normal((50, 64)).astype(np.float32)
    items = some[rng.integers(50, size=5000)]  # over a tile, about 100 of each
    users = rng.standard_normal((300, 64)).astype(np.float32)
    target = rng.integers(5000, size=300)
    scorer = Factors(users, items)
    _, tied = exact.count(scorer, prepare(scorer, (np.arange(300), target)))
    same = (items[target][:, None, :] == some[None]).all(axis=2).argmax(axis=1)
    copies = np.array([(items == some[i]).all(axis=1).sum() for i in range(50)])
    np.testing.assert_array_equal(tied, copies[same] - 1)


@BOTH
@pytest.mark.usefixtures("numba")
@pytest.mark.parametrize("copies", [1, 3, 60])  # looked for one by one, and all at once
def test_many_targets_of_a_user_among_items_of_equal_vectors(copies):
    rng = np.random.default_rng(5)
    some = rng.standard_normal((2400 // copies, 16)).astype(np.float32)
    items = np.repeat(some, copies, axis=0)
    users = rng.standard_normal((30, 16)).astype(np.float32)
    test = np.repeat(np.arange(30), 9), np.concatenate([rng.permutation(2400)[:9] for _ in users])
    train = np.repeat(np.arange(30), 5), rng.integers(2400, size=150)
    scorer = Factors(users, items)
    task = prepare(scorer, test, train=train, keep_target=True)
    found = exact.count(scorer, task, progress=False)
    np.testing.assert_array_equal(found, brute_force(canonical(scorer, 30), test, train))


def test_users_of_zeros_tie_with_everything():
    scorer = Factors(np.zeros((2, 8), np.float32), np.ones((30, 8), np.float32))
    above, tied = exact.count(scorer, prepare(scorer, ([0, 1], [3, 4]), train=([1], [5])))
    assert above.tolist() == [0, 0]
    assert tied.tolist() == [29, 28]


# -- the same whatever is around ----------------------------------------------------------------


@BOTH
@pytest.mark.usefixtures("numba")
@pytest.mark.parametrize("kind", ["factors", "dense"])
def test_parts_of_the_test_give_the_ranks_of_the_whole(kind):
    rng = np.random.default_rng(5)
    users = rng.standard_normal((1100, 24)).astype(np.float32)
    items = rng.standard_normal((400, 24)).astype(np.float32)
    items[200:300] = items[:100]
    scorer = Factors(users, items) if kind == "factors" else Dense(users @ items.T)
    user, target = rng.permutation(1100), rng.integers(400, size=1100)
    train = rng.integers(1100, size=20_000), rng.integers(400, size=20_000)
    options = {"train": train, "keep_target": True, "seed": 3}
    whole = ranks_of(scorer, (user, target), **options)
    for size in (1, 7, 64, 1000):
        begins = range(0, 1100, size) if size > 1 else range(0, 60)
        parts = [
            ranks_of(scorer, (user[i : i + size], target[i : i + size]), **options) for i in begins
        ]
        np.testing.assert_array_equal(np.concatenate(parts), whole[: len(begins) * size])


@pytest.mark.parametrize("n_test", [1500, 7000], ids=["few targets", "many targets"])
def test_numba_and_numpy_agree(n_test, monkeypatch):
    pytest.importorskip("numba")
    rng = np.random.default_rng(6)
    users = rng.standard_normal((600, 40)).astype(np.float32)
    items = rng.standard_normal((9000, 40)).astype(np.float32)
    items[4000:5000] = items[:1000]
    test, train = interactions(rng, 600, 9000, n_test=n_test, n_train=40_000)
    scorer = Factors(users, items)
    plan = prepare(scorer, test, train=train)
    found = {}
    for switch in ("0", "1"):
        monkeypatch.setenv(_count.SWITCH, switch)
        found[switch] = exact.count(scorer, plan)
    np.testing.assert_array_equal(found["0"], found["1"])
    assert found["0"][1].any()


def test_tiles_and_threads_do_not_matter(monkeypatch):
    rng = np.random.default_rng(7)
    users = rng.standard_normal((200, 20)).astype(np.float32)
    items = rng.standard_normal((700, 20)).astype(np.float32)
    test, train = interactions(rng, 200, 700, n_test=500, n_train=9000)
    scorer = Factors(users, items)
    plan = prepare(scorer, test, train=train)
    expected = exact.count(scorer, plan)
    for size in ((1, 700), (64, 13), (200, 64)):
        monkeypatch.setattr(_tiles, "tile", lambda kernels, task, size=size: size)
        np.testing.assert_array_equal(exact.count(scorer, plan), expected)
    monkeypatch.setattr(_blas, "_library", lambda: None)
    np.testing.assert_array_equal(exact.count(scorer, plan), expected)


def test_small_runs_do_without_numba(monkeypatch):
    monkeypatch.delenv(_count.SWITCH, raising=False)
    monkeypatch.delitem(sys.modules, "numba", raising=False)
    assert isinstance(_count.kernels(1000), _count.Numpy)


def test_the_threads_of_blas_are_put_back():
    controller = pytest.importorskip("threadpoolctl").ThreadpoolController()
    before = [library["num_threads"] for library in controller.info()]
    with _blas.one_thread() as workers:
        assert workers >= 1
        with _blas.one_thread() as nested:
            assert nested == workers
    assert [library["num_threads"] for library in controller.info()] == before


# -- the public calls ---------------------------------------------------------------------------


def test_ranks_worked_by_hand():
    #                 items: 0    1    2    3    4    5
    scorer = Dense(np.array([[0.9, 0.5, 0.5, 0.5, 0.1, 0.7]] * 2))
    test = [1, 0, 0], [4, 3, 0]
    train = [0, 1], [5, 5]
    # User 0: targets 3 and 0, pool 1 2 4 beside them; user 1: target 4, pool 0 1 2 3.
    expect = {"optimistic": [5, 1, 1], "pessimistic": [5, 3, 1], "mid": [5.0, 2.0, 1.0]}
    for policy, ranks in expect.items():
        found = ranks_of(scorer, test, train=train, ties=policy)
        assert found.tolist() == ranks
        assert found.dtype == (np.float64 if policy == "mid" else np.int64)
    counts = tr.count(scorer, test, train=train)
    assert counts.schemes == (Scheme(replacement=False),)
    assert counts.n_users == 2
    assert counts.squared_weight == 3
    assert counts.total_weight == pytest.approx(3, rel=1e-14)
    table = {
        (n_items, rank, place, number): weight
        for n_items, rank, place, number, weight in zip(
            counts.n_items.tolist(),
            counts.sampled_rank.tolist(),
            counts.place.tolist(),
            counts.n_targets.tolist(),
            counts.weight.tolist(),
            strict=True,
        )
    }
    third = pytest.approx(1 / 3)
    tied = {(4, rank, 2, 2): third for rank in (1, 2, 3)}  # target 3 with items 1 and 2
    assert table == {(4, 1, 1, 2): 1, **tied, (5, 5, 1, 1): 1}
    assert counts.is_exact.all()


def test_a_constant_scorer_hits_by_chance():
    scorer = Factors(np.ones((50, 3), np.float32), np.ones((200, 3), np.float32))
    counts = tr.count(scorer, (np.arange(50), np.arange(50)))
    hits = counts.weight[counts.sampled_rank <= 10].sum() / counts.n_users
    assert hits == pytest.approx(10 / 200, rel=1e-12)
    assert counts.n_outcomes == 200
    ranks = ranks_of(scorer, (np.arange(50), np.arange(50)), seed=1)
    assert ranks.min() >= 1
    assert ranks.max() <= 200
    assert np.unique(ranks).size > 30


def test_random_ties_are_by_user_and_seed():
    scorer = Dense(np.zeros((100, 60)))
    user, target = np.arange(100), np.arange(100) % 60
    ranks = ranks_of(scorer, (user, target), seed=7)
    mixed = np.random.default_rng(0).permutation(100)
    again = ranks_of(scorer, (user[mixed], target[mixed]), seed=7)
    np.testing.assert_array_equal(again, ranks[mixed])
    assert (ranks_of(scorer, (user, target), seed=8) != ranks).any()
    keys = prepare(scorer, (user, target)).keys(7)
    np.testing.assert_array_equal(ranks, 1 + below(draws(mix(keys ^ ties._STREAM), 0), 60))


def test_targets_inside_train():
    scorer = Dense(np.arange(12.0).reshape(2, 6))
    test, train = ([0, 1], [3, 4]), ([0, 0, 1], [3, 5, 2])
    with pytest.raises(InputError, match=r"1 targets are among.*item 3.*keep_target=True"):
        ranks_of(scorer, test, train=train)
    ranks = ranks_of(scorer, test, train=train, keep_target=True)
    assert ranks.tolist() == [2, 2]  # 4 above 3 (5 is left out), and 5 above 4
    assert tr.count(scorer, test, train=train, keep_target=True).n_items.tolist() == [5]


def test_sparse_tables_and_ids():
    scores = np.array([[1.0, 2.0, 3.0], [3.0, 2.0, 1.0]])
    scorer = Dense(scores, user_ids=["ann", "bob"], item_ids=[10, 20, 30])
    assert ranks_of(scorer, (["bob", "ann"], [30, 10])).tolist() == [3, 3]
    frame = pytest.importorskip("pandas").DataFrame({"user_id": ["ann"], "item_id": [20]})
    assert ranks_of(scorer, frame).tolist() == [2]
    matrix = sparse.csr_matrix(([1, 1], ([0, 1], [1, 2])), shape=(2, 3))
    assert ranks_of(Dense(scores), matrix).tolist() == [2, 3]


def test_progress_is_reported():
    scorer = Dense(np.zeros((700, 30_000), dtype=np.float32))
    seen = []
    ranks_of(scorer, (np.arange(700), np.arange(700)), progress=lambda *done: seen.append(done))
    assert seen == sorted(seen)
    assert len(seen) > 1
    assert seen[-1] == (700, 700)


def test_memory_is_bounded():
    """Far below users x items, for any number of users."""
    rng = np.random.default_rng(8)
    users, items = (rng.standard_normal((n, 16)).astype(np.float32) for n in (3000, 20_000))
    scorer = Factors(users, items)
    plan = prepare(scorer, (np.arange(3000), rng.integers(20_000, size=3000)))
    exact.count(scorer, plan)
    tracemalloc.start()
    exact.count(scorer, plan)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    with _blas.one_thread() as n_workers:
        assert peak < 10e6 + 8e6 * n_workers


# -- scorers of all sorts -----------------------------------------------------------------------


class Asked(Scorer):
    """A scorer without score_all that remembers what it was asked."""

    def __init__(self, scores):
        self.scores = scores
        self.user_ids = Ids("user", scores.shape[0])
        self.item_ids = Ids("item", scores.shape[1])
        self.pairs = []

    def score(self, users, items):
        for user, row in zip(users.tolist(), items.tolist(), strict=True):
            self.pairs.extend((user, item) for item in row)
        return self.scores[users[:, None], items]


@BOTH
@pytest.mark.usefixtures("numba")
@pytest.mark.parametrize("asked", [2**20, 150, 20])
def test_scorers_that_score_pairs_are_asked_for_candidates_once(asked, monkeypatch):
    monkeypatch.setattr(_whole, "_ASKED", asked)
    rng = np.random.default_rng(9)
    scores = rng.integers(0, 9, size=(12, 50)).astype(float)
    test, train = interactions(rng, 12, 50, n_test=30, n_train=150)
    left_out = set(zip(*(x.tolist() for x in train), strict=True))
    scorer = Asked(scores.copy())
    scorer.scores[train] = np.nan  # would be found out
    found = exact.count(scorer, prepare(scorer, test, train=train))
    np.testing.assert_array_equal(found, brute_force(scores, test, train))
    assert len(scorer.pairs) == len(set(scorer.pairs))
    assert not left_out & set(scorer.pairs)


@BOTH
@pytest.mark.usefixtures("numba")
@pytest.mark.parametrize("mask", [-np.inf, np.inf, np.nan])
def test_left_out_items_may_be_masked_already(mask):
    rng = np.random.default_rng(10)
    scores = rng.standard_normal((12, 50))
    test, train = interactions(rng, 12, 50, n_test=20, n_train=150)
    expected = brute_force(scores, test, train)
    scores[train] = mask
    scorer = Dense(scores)
    np.testing.assert_array_equal(exact.count(scorer, prepare(scorer, test, train=train)), expected)
    assert np.array_equal(scores[train], np.full(150, mask), equal_nan=True)


@pytest.mark.parametrize("make", [Dense, Asked])
@pytest.mark.parametrize("bad", [np.nan, np.inf, -np.inf])
def test_scores_that_cannot_be_ranked(make, bad):
    scores = np.ones((30, 8))
    scores[17, [2, 5]] = bad
    scorer = make(scores)
    test = np.arange(30), np.zeros(30, int)
    with pytest.raises(InputError, match=r"user 17 has 2 candidates .* NaN or infinite.*train="):
        ranks_of(scorer, test)
    ranks = ranks_of(scorer, test, train=([17, 17], [2, 5]), ties="optimistic")
    assert ranks.tolist() == [1] * 30
    scores[17, 0] = bad
    with pytest.raises(InputError, match=r"user 17 "):
        ranks_of(scorer, test, train=([17, 17], [2, 5]))


def test_a_target_without_a_score_is_named():
    scores = np.ones((3, 8))
    scores[1, 4] = np.nan
    scorer = Dense(scores, user_ids=["a", "b", "c"])
    with pytest.raises(InputError, match=r"user b for its target, item 4, is nan"):
        ranks_of(scorer, (["b", "a"], [4, 4]))


@pytest.mark.parametrize(
    ("answer", "message"),
    [
        (np.zeros((3, 7)), r"Wrong returned shape \(3, 7\); expected \(3, 8\)"),
        (np.zeros(8), r"shape \(8,\)"),
        ([["high"] * 8] * 3, "Wrong returned <U4"),
        ([[1.0], [2.0, 3.0]], "no array of numbers"),
        (None, "Wrong returned"),
    ],
)
def test_scorers_that_answer_wrongly(answer, message):
    class Wrong(Asked):
        def score_all(self, users):
            return answer

    with pytest.raises(InputError, match=message):
        ranks_of(Wrong(np.zeros((3, 8))), ([0, 1, 2], [0, 0, 0]))


def test_a_scorers_own_array_is_not_written_to():
    class Own(Asked):
        def score_all(self, users):
            return self.scores

    scorer = Own(np.zeros((3, 8)))
    ranks_of(scorer, ([0, 1, 2], [0, 0, 0]))
    assert (scorer.scores == 0).all()


def test_policies_that_are_not_known():
    scorer = Dense(np.zeros((3, 8)))
    test = [0], [0]
    for call in (tr.rank, tr.count, tr.evaluate):
        with pytest.raises(InputError, match="did you mean 'optimistic'"):
            call(scorer, test, ties="optimist")
    with pytest.raises(InputError, match="gives counts, not ranks"):
        ranks_of(scorer, test, ties="spread")
    with pytest.raises(InputError, match="seed is -1"):
        ranks_of(scorer, test, seed=-1)
    with pytest.raises(InputError, match="progress is 'yes'"):
        ranks_of(scorer, test, progress="yes")
