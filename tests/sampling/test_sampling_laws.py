"""Sampled ranks follow their laws, and depend on nothing but seed, user and draw number."""

from __future__ import annotations

import numpy as np
import pytest
from laws import count_adaptive, sample
from scipy import stats

import truerank as tr
from truerank import InputError
from truerank.designs import LJ24, Fixed
from truerank.outcomes.schemes import Scheme, log_probability
from truerank.sampling import _fused, streams
from truerank.scoring import Callable, Dense, Factors
from truerank.scoring.task import prepare

N_USERS, N_ITEMS = 400, 90


@pytest.fixture(scope="module")
def whole_numbers():
    """Factors of whole numbers: scores are exact, ties plenty."""
    rng = np.random.default_rng(0)
    return (
        rng.integers(-3, 4, (N_USERS, 8)).astype(np.float32),
        rng.integers(-3, 4, (N_ITEMS, 8)).astype(np.float32),
    )


@pytest.fixture(scope="module")
def data():
    rng = np.random.default_rng(1)
    user = np.arange(N_USERS)
    items = np.stack([rng.permutation(N_ITEMS)[:13] for _ in user])
    return (user, items[:, 0]), (np.repeat(user, 12), items[:, 1:].ravel())


def _pool(data, user):
    test, train = data
    out = {int(test[1][user]), *train[1][train[0] == user].tolist()}
    return np.setdiff1d(np.arange(N_ITEMS), list(out))


@pytest.mark.parametrize("replacement", [True, False])
def test_negatives_are_uniform_over_the_pool(whole_numbers, data, replacement):
    task = prepare(Factors(*whole_numbers), data[0], train=data[1])
    rows = np.arange(task.n_rows)
    counts = np.zeros(N_ITEMS)
    expected = np.zeros(N_ITEMS)
    for seed in range(20):
        end = np.full(task.n_rows, 20)
        drawn = streams.negatives(task, rows, task.keys(seed), 0, end, replacement=replacement)
        counts += np.bincount(drawn.ravel(), minlength=N_ITEMS)
        if seed == 0:
            for user in range(N_USERS):
                pool = _pool(data, user)
                assert np.isin(drawn[user], pool).all()
                if not replacement:
                    assert np.unique(drawn[user]).size == 20
                expected[pool] += 20 * 20 / pool.size
    statistic = ((counts - expected) ** 2 / expected).sum()
    # Without replacement counts scatter less than Poisson; both must not scatter more.
    assert stats.chi2.sf(statistic, N_ITEMS - 1) > 1e-4


def test_a_stream_can_be_entered_anywhere(whole_numbers, data):
    task = prepare(Factors(*whole_numbers), data[0], train=data[1])
    rows, keys = np.arange(task.n_rows), task.keys(3)
    for replacement in (True, False):
        long = streams.negatives(
            task, rows, keys, 0, np.full(task.n_rows, 60), replacement=replacement
        )
        later = streams.negatives(
            task, rows, keys, 25, np.full(task.n_rows, 60), replacement=replacement
        )
        assert np.array_equal(later, long[:, 25:])


@pytest.mark.parametrize(
    ("scheme", "size"),
    [(Scheme(True), 12), (Scheme(False), 12), (Scheme(False, (5, 10, 30)), 0)],
    ids=str,
)
def test_outcomes_follow_the_stated_probabilities(scheme, size):
    """300 users at known global ranks, 60 seeds; no ties."""
    n_users, n_items = 300, 50
    rng = np.random.default_rng(0)
    scores = np.stack([rng.permutation(n_items) for _ in range(n_users)]).astype(float)
    target = rng.integers(0, n_items, n_users)
    rank = (scores > scores[np.arange(n_users), target][:, None]).sum(axis=1) + 1
    model, test = Dense(scores), (np.arange(n_users), target)
    sizes, ranks = scheme.outcomes(n_items, size)
    expected = 60 * np.exp(
        log_probability(scheme, rank, n_items=n_items, sample_size=sizes, sampled_rank=ranks)
    ).sum(axis=1)
    seen = dict.fromkeys(zip(sizes.tolist(), ranks.tolist(), strict=True), 0.0)
    for seed in range(60):
        counts = _draw(model, test, scheme, size, seed)
        for n, r, w in zip(counts.sample_size, counts.sampled_rank, counts.weight, strict=True):
            seen[int(n), int(r)] += w
    observed = np.array(list(seen.values()))
    common = expected > 5
    statistic = ((observed - expected)[common] ** 2 / expected[common]).sum()
    assert stats.chi2.sf(statistic, common.sum()) > 1e-4


def _draw(model, test, scheme, size, seed):
    if scheme.adaptive:
        task = prepare(model, test)
        return count_adaptive(
            model, task, ladder=scheme.ladder, replacement=scheme.replacement, seed=seed
        )
    return tr.count(model, test, Fixed(sample_size=size, replacement=scheme.replacement), seed=seed)


@pytest.mark.parametrize("replacement", [True, False])
@pytest.mark.parametrize("ladder", [(20,), (5, 10, 20, 60)], ids=["fixed", "adaptive"])
def test_compiled_and_plain_paths_agree_to_the_bit(
    whole_numbers, data, replacement, ladder, monkeypatch
):
    rng = np.random.default_rng(5)
    rough = [rng.standard_normal(m.shape).astype(np.float32) for m in whole_numbers]
    for factors in (whole_numbers, rough):
        model = Factors(*factors)
        task = prepare(model, data[0], train=data[1])
        mode = "count" if len(ladder) == 1 else "random"
        options = {"ladder": ladder, "replacement": replacement, "seed": 7, "ties": mode}
        fast = sample(model, task, **options)
        with monkeypatch.context() as patch:
            patch.setattr(_fused, "matrices", lambda scorer, n: None)
            plain = sample(model, task, **options)
        assert np.array_equal(fast.above, plain.above)
        assert np.array_equal(fast.tied, plain.tied)
        assert np.array_equal(fast.sample_size, plain.sample_size)


def test_rows_order_and_parts_change_nothing(whole_numbers, data):
    model = Factors(*whole_numbers)
    (user, item), train = data

    def count(rows):
        return tr.count(model, (user[rows], item[rows]), Fixed(sample_size=15), train=train)

    everyone = np.arange(N_USERS)
    shuffled = np.random.default_rng(0).permutation(everyone)
    parts = count(shuffled[:1]) + count(shuffled[1:8]) + count(shuffled[8:])
    assert parts == count(everyone)


def test_ids_as_numbers_or_as_text(whole_numbers, data):
    text = [str(u) for u in range(N_USERS)]
    named = Factors(*whole_numbers, user_ids=text)
    (_, item), train = data
    other = tr.count(
        named,
        (np.array(text), item),
        Fixed(sample_size=15),
        train=(np.array([str(u) for u in train[0]]), train[1]),
        seed=4,
    )
    assert other == tr.count(
        Factors(*whole_numbers), data[0], Fixed(sample_size=15), train=train, seed=4
    )


def test_any_scorer_gives_the_same_counts(whole_numbers, data):
    scores = whole_numbers[0] @ whole_numbers[1].T
    models = [
        Factors(*whole_numbers),
        Dense(scores),
        Callable(lambda u, i: scores[u[:, None], i], n_items=N_ITEMS),
    ]
    found = [tr.count(m, data[0], Fixed(sample_size=15), train=data[1]) for m in models]
    assert found[0] == found[1] == found[2]
    ladder = [tr.count(m, data[0], LJ24(start=5, stop=40), train=data[1]) for m in models]
    assert ladder[0] == ladder[1] == ladder[2]


def test_the_whole_pool_is_the_exact_rank(whole_numbers, data):
    """Adaptive up to the pool, hits beyond reach: everybody ends with the exact rank."""
    model = Factors(*whole_numbers)
    pool = N_ITEMS - 12
    sampled = tr.count(model, data[0], Fixed(sample_size=pool), train=data[1])
    assert sampled == tr.count(model, data[0], train=data[1])


def test_adaptive_never_stoppers_have_the_fixed_sample(whole_numbers, data):
    model = Factors(*whole_numbers)
    task = prepare(model, data[0], train=data[1])
    fixed = sample(model, task, ladder=[40], seed=2, ties="random")
    ladder = sample(model, task, ladder=[5, 10, 20, 40], hits=39, seed=2, ties="random")
    assert (ladder.sample_size == 40).all()
    assert np.array_equal(fixed.above, ladder.above)
    stopped = sample(model, task, ladder=[5, 10, 20, 40], seed=2, ties="random")
    same = stopped.sample_size == 40
    assert same.any()
    assert np.array_equal(stopped.above[same], fixed.above[same])


def test_a_constant_scorer_gets_its_due(data):
    """HR@10 = 10/N from the whole pool; any sample gives n ranks of equal weight."""
    model = Dense(np.zeros((N_USERS, N_ITEMS)))
    counts = tr.count(model, data[0], Fixed(sample_size=N_ITEMS))
    assert tr.estimate(counts, "hr@10")["hr@10"].value == pytest.approx(10 / N_ITEMS)
    counts = tr.count(model, data[0], Fixed(sample_size=20))
    assert counts.weight == pytest.approx(np.full(20, N_USERS / 20))
    est = tr.estimate(counts, "hr@10", estimator="bv(gamma=1)", support="full")
    assert est["hr@10"].value == pytest.approx(10 / N_ITEMS, abs=1e-9)


def test_shared_blocks(whole_numbers, data):
    model = Factors(*whole_numbers)
    design = Fixed(sample_size=15, shared_by=64)
    counts = tr.count(model, data[0], design, train=data[1])
    assert counts.n_users == N_USERS
    assert (counts.replicate > 0).all()
    assert counts == tr.count(model, tuple(part[::-1] for part in data[0]), design, train=data[1])


def test_shared_blocks_are_right_in_the_mean(whole_numbers, data):
    """Sampled auc is unbiased however negatives are drawn; 60 seeds."""
    model = Factors(*whole_numbers)
    exact = tr.count(model, data[0], train=data[1])
    truth = tr.estimate(exact, "auc", estimator="naive")["auc"].value
    design = Fixed(sample_size=15, shared_by=64)
    values = [
        tr.estimate(
            tr.count(model, data[0], design, train=data[1], seed=s), "auc", estimator="naive"
        )["auc"].value
        for s in range(60)
    ]
    assert abs(np.mean(values) - truth) < 4 * np.std(values) / np.sqrt(60)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({}, "neither given"),
        (
            {"sample_size": 5, "num_negatives": 5},
            "sample_size is 5 and num_negatives is 5; give one",
        ),
        ({"sample_size": 1}, "sample_size is 1"),
        ({"num_negatives": 0}, "num_negatives is 0"),
        ({"sample_size": 5, "draw": "popular"}, "unknown draw 'popular'"),
    ],
)
def test_bad_designs(arguments, message):
    with pytest.raises(InputError, match=message):
        Fixed(**arguments)


@pytest.mark.parametrize(
    ("size", "options", "message"),
    [
        (80, {}, "smaller"),
        (5, {"ties": "mode"}, "unknown ties"),
        (5, {"seed": -1}, "seed is -1"),
    ],
)
def test_bad_input(whole_numbers, data, size, options, message):
    with pytest.raises(InputError, match=message):
        tr.count(
            Factors(*whole_numbers), data[0], Fixed(sample_size=size), train=data[1], **options
        )


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"start": 1}, "start is 1"),
        ({"start": 50, "stop": 10}, "stop is 10"),
        ({"growth": 1.0}, "growth is 1.0"),
        ({"hits": 0}, "hits"),
    ],
)
def test_bad_adaptive_designs(arguments, message):
    with pytest.raises(InputError, match=message):
        LJ24(**arguments)
