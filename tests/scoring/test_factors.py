"""Factors as a scorer: its scores, their order of summation, and what it refuses."""

from __future__ import annotations

import warnings

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from truerank.errors import InputError
from truerank.scoring.factors import LANES, Factors, lane_dot, row_norms

USERS = np.arange(6.0).reshape(3, 2)
ITEMS = np.arange(8.0).reshape(4, 2)


def every(scorer):
    return scorer.score_all(np.arange(scorer.user_factors.shape[0]))


def lane_dot_by_hand(a, b):
    """In plain loops: each lane in order, then halves onto halves."""
    lanes = [a.dtype.type(0)] * LANES
    for begin in range(0, a.size, LANES):
        for lane in range(LANES):
            product = a[begin + lane] * b[begin + lane]
            lanes[lane] = lanes[lane] + product
    while len(lanes) > 1:
        half = len(lanes) // 2
        lanes = [lanes[i] + lanes[half + i] for i in range(half)]
    return lanes[0]


@pytest.mark.parametrize("dtype", [np.float32, np.float64, np.float16, np.int32, np.uint8])
def test_scores_are_dot_products(dtype):
    scorer = Factors(USERS.astype(dtype), ITEMS.astype(dtype))
    np.testing.assert_array_equal(every(scorer), USERS @ ITEMS.T)
    some = scorer.score(np.array([2, 0]), np.array([[3, 1], [0, 0]]))
    np.testing.assert_array_equal(some, (USERS @ ITEMS.T)[[[2], [0]], [[3, 1], [0, 0]]])
    assert every(scorer).dtype == (np.float32 if dtype in (np.float32, np.float16) else np.float64)


def test_lists_and_other_orders_of_memory_are_welcome():
    for users, items in ((USERS.tolist(), ITEMS.tolist()), (np.asfortranarray(USERS), ITEMS[::1])):
        np.testing.assert_array_equal(every(Factors(users, items)), USERS @ ITEMS.T)


def test_biases_are_added():
    scorer = Factors(USERS, ITEMS, item_biases=[1, 2, 3, 4])
    np.testing.assert_array_equal(every(scorer), USERS @ ITEMS.T + [1, 2, 3, 4])


@pytest.mark.parametrize("scale", [1.0, 1e-30, 1e30])
def test_cosine(scale):
    rng = np.random.default_rng(0)
    users, items = rng.standard_normal((2, 5, 7))
    users[0] = 0
    unit = [x / np.maximum(np.linalg.norm(x, axis=1, keepdims=True), 1e-9) for x in (users, items)]
    scorer = Factors((users * scale).astype(np.float32), items.astype(np.float32), cosine=True)
    np.testing.assert_allclose(every(scorer), unit[0] @ unit[1].T, atol=1e-6)  # float32
    assert (every(scorer)[0] == 0).all()


@given(st.integers(0, 2**32), st.integers(1, 5), st.sampled_from([np.float32, np.float64]))
def test_the_order_of_summation_is_fixed(seed, n_lanes, dtype):
    a, b = np.random.default_rng(seed).standard_normal((2, n_lanes * LANES)).astype(dtype)
    assert lane_dot(a, b) == lane_dot_by_hand(a, b)
    # Beside others and alone.
    many = lane_dot(np.stack([b, a, a]), np.stack([a, b, a]))
    assert many[1] == lane_dot(a, b)


def test_scores_do_not_depend_on_what_else_is_asked_for(monkeypatch):
    monkeypatch.setattr("truerank.scoring.factors._GATHER", 500)
    rng = np.random.default_rng(1)
    scorer = Factors(*(rng.standard_normal((n, 37)).astype(np.float32) for n in (20, 30)))
    whole = every(scorer)
    items = rng.integers(30, size=(20, 11))
    np.testing.assert_array_equal(
        scorer.score(np.arange(20), items), np.take_along_axis(whole, items, axis=1)
    )


def test_fitting_factors_are_not_copied(tmp_path):
    users = np.ones((3, 2 * LANES), dtype=np.float32)
    np.save(tmp_path / "items.npy", users)
    items = np.load(tmp_path / "items.npy", mmap_mode="r")
    scorer = Factors(users, items)
    assert np.shares_memory(scorer.user_factors, users)
    assert np.shares_memory(scorer.item_factors, items)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_norms(dtype):
    tiny, huge = np.finfo(dtype).tiny, np.finfo(dtype).max
    rows = np.array([[3, 4], [0, 0], [tiny, 0], [huge / 2, huge / 2], [1e-30, -1e-30]], dtype=dtype)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        norms = row_norms(rows)
    expected = [5, 0, tiny, huge / 2**0.5, 1e-30 * 2**0.5]
    np.testing.assert_allclose(norms, np.array(expected, dtype=dtype), rtol=1e-6)


@pytest.mark.parametrize(
    ("users", "items", "message"),
    [
        (USERS, ITEMS[:, :1], "user_factors have 2 dimensions and item_factors 1"),
        (USERS[0], ITEMS, r"user_factors has shape \(2,\); expected \(rows, dimensions\)"),
        (USERS, ITEMS[:0], r"item_factors has shape \(0, 2\)"),
        (USERS[:, :0], ITEMS[:, :0], r"user_factors has shape \(3, 0\)"),
        (USERS, ITEMS[:1], "item_factors has 1 rows; ranking needs at least 2 items"),
        (USERS.astype(str), ITEMS, "user_factors is of type <U32; it must hold numbers"),
        (USERS.astype(complex), ITEMS, "user_factors is of type complex128"),
        ([[1.0], [2.0, 3.0]], ITEMS, "user_factors cannot be read as a matrix"),
        (None, ITEMS, r"user_factors has shape \(\)"),
    ],
)
def test_shapes_and_types_that_do_not_fit(users, items, message):
    with pytest.raises(InputError, match=message):
        Factors(users, items)


@pytest.mark.parametrize("bad", [np.nan, np.inf, -np.inf])
def test_values_that_are_not_finite(bad):
    items = np.zeros((40_000, 2), dtype=np.float32)
    items[33_333, 1] = bad
    with pytest.raises(InputError, match=r"item_factors has NaN or infinite values.*row 33333"):
        Factors(USERS, items)


@pytest.mark.parametrize(
    ("biases", "message"),
    [
        ([1, 2, 3], r"item_biases has shape \(3,\); expected \(4,\)"),
        ([[1, 2, 3, 4]], r"item_biases has shape \(1, 4\)"),
        ([1, 2, 3, np.nan], "item_biases is nan at row 3"),
        (["a", "b", "c", "d"], "item_biases holds values that are not numbers"),
    ],
)
def test_biases_that_do_not_fit(biases, message):
    with pytest.raises(InputError, match=message):
        Factors(USERS, ITEMS, item_biases=biases)


def test_scores_that_could_overflow():
    large = np.full((3, 2), 1e20, dtype=np.float32)
    with pytest.raises(InputError, match=r"up to 1.41e\+20 .*overflow float32; scale them down"):
        Factors(large, large)
    with pytest.raises(InputError, match="overflow float32"):
        Factors(large[:, :1], np.zeros((4, 1), np.float32), item_biases=[1e39, 0, 0, 0])
    Factors(large, large, cosine=True)
    Factors(large.astype(np.float64), large)


def test_ids_that_do_not_fit():
    with pytest.raises(InputError, match="user_ids has 2 ids; there are 3 users"):
        Factors(USERS, ITEMS, user_ids=["a", "b"])
    with pytest.raises(InputError, match="item_ids has 5 ids; there are 4 items"):
        Factors(USERS, ITEMS, item_ids=[1, 2, 3, 4, 5])
