"""The checks: what passes is given back as it should be, what fails says value and bound."""

from __future__ import annotations

from decimal import Decimal
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from truerank import _checks, errors
from truerank.errors import InputError


@pytest.mark.parametrize("value", [5, 5.0, np.int8(5), np.uint64(5), np.float32(5)])
def test_whole_numbers_of_any_type(value: Any) -> None:
    found = _checks.integer(value, "x", low=1, high=5)
    assert found == 5
    assert type(found) is int


@pytest.mark.parametrize(
    ("value", "message"),
    [
        (0, r"x is 0; it must be from 1 to 5 \(so it is\)"),
        (6, "x is 6; it must be from 1 to 5"),
        (2.5, "x is 2.5; it must be a whole number, from 1 to 5"),
        (float("nan"), "x is nan; it must be a whole number"),
        (float("-inf"), "x is -inf; it must be a whole number"),
        (True, "x is True"),
        (np.bool_(True), "x is .*True"),
        ("3", "x is '3'"),
        (None, "x is None"),
        (Decimal(3), "x is Decimal"),
        (3 + 0j, "x is "),
        (np.array([3]), "x is array"),
        (10**30, "x is 1000.*; it must be from 1 to 5, and at most 2"),
    ],
)
def test_what_is_no_integer_in_bounds(value: Any, message: str) -> None:
    with pytest.raises(InputError, match=message):
        _checks.integer(value, "x", low=1, high=5, why="so it is")


def test_integers_end_where_floats_lose_count() -> None:
    assert _checks.integer(2**53, "x", low=1) == 2**53
    with pytest.raises(
        InputError, match=r"x is 9007199254740993; it must be at least 1, and at mo"
    ):
        _checks.integer(2**53 + 1, "x", low=1)


@pytest.mark.parametrize("value", [0.5, 1, np.float32(0.5), np.int64(1)])
def test_reals_of_any_type(value: Any) -> None:
    found = _checks.real(value, "x", low=0, high=1)
    assert found == value
    assert type(found) is float


@pytest.mark.parametrize(
    ("value", "options", "message"),
    [
        (-0.5, {}, "x is -0.5; it must be at least 0"),
        (0, {"open_low": True}, "x is 0; it must be above 0"),
        (2, {"high": 1}, "x is 2; it must be at least 0 and at most 1"),
        (float("nan"), {}, "x is nan; it must be at least 0"),
        (float("inf"), {}, "x is inf"),
        (10**400, {}, "it must be at least 0"),
        (True, {}, "x is True; it must be a number at least 0"),
        ("1", {}, "x is '1'; it must be a number at least 0"),
        (None, {}, "x is None"),
    ],
)
def test_what_is_no_real_in_bounds(value: Any, options: dict[str, Any], message: str) -> None:
    with pytest.raises(InputError, match=message):
        _checks.real(value, "x", **{"low": 0, **options})


@given(
    st.lists(st.integers(-(2**53), 2**53), max_size=20),
    st.sampled_from([np.asarray, list, lambda v: np.asarray(v, dtype=object), tuple]),
)
def test_whole_numbers_come_back(values: list[int], kind: Any) -> None:
    found = _checks.whole_numbers(kind(values), "x")
    assert found.dtype == np.int64
    assert found.tolist() == values


@pytest.mark.parametrize("dtype", [np.int8, np.uint8, np.int32, np.uint64, np.float16, np.float64])
def test_whole_numbers_of_every_type(dtype: Any) -> None:
    found = _checks.whole_numbers(np.array([1, 2, 100], dtype=dtype), "x")
    assert found.dtype == np.int64
    assert found.tolist() == [1, 2, 100]


@pytest.mark.parametrize(
    ("values", "message"),
    [
        ([1, 2.5], "x is 2.5 at row 1; it must be a whole number"),
        ([2**53 + 2], "x is 9007199254740994 at row 0"),
        (np.array([2**64 - 1], dtype=np.uint64), "x is 18446744073709551615 at row 0"),
        ([-(2**60)], "x is -1152921504606846976 at row 0"),
        ([1, float("nan")], "x is nan at row 1; it must be a finite number"),
        ([1, None], "x is nan at row 1"),
        (["a"], "x holds values that are not numbers, such as .*'a'"),
        ([1, "a", object()], "x holds values that are not numbers, such as"),
        (np.array([1, [2]], dtype=object), r"such as \[2\]"),
        ([10**400], "x holds values that are not numbers, such as 1000"),
        ([True], "x holds values of type bool; it must hold numbers"),
        ([1j], "x holds values of type complex128"),
        (np.array([1], dtype="timedelta64[s]"), "x holds values of type timedelta64"),
        (np.zeros(1, dtype=[("a", int)]), "x holds values of type"),
        (np.ma.array([1, 2, 3], mask=[0, 0, 1]), "x is masked at row 2"),
        (7, r"x has shape \(\); it must be one-dimensional"),
        ([[1], [2, 3]], "x is nested; it must be one-dimensional"),
        (np.ones((2, 2), dtype=int), r"x has shape \(2, 2\)"),
    ],
)
def test_what_is_no_array_of_whole_numbers(values: Any, message: str) -> None:
    with pytest.raises(InputError, match=message):
        _checks.whole_numbers(values, "x")


def test_a_mask_that_hides_nothing_is_no_harm() -> None:
    values = np.ma.array([1, 2], mask=[False, False])
    assert _checks.whole_numbers(values, "x").tolist() == [1, 2]


def test_arrays_are_copied() -> None:
    values = np.array([1, 2, 3])
    _checks.whole_numbers(values, "x")[0] = 9
    _checks.numeric(values.astype(float), "x")[0] = 9
    assert values.tolist() == [1, 2, 3]


def test_numbers_need_not_be_whole() -> None:
    assert _checks.numeric(["0.5", "2"], "x").tolist() == [0.5, 2.0]
    assert _checks.numeric([Decimal("0.5"), 2], "x").tolist() == [0.5, 2.0]
    with pytest.raises(InputError, match="x is inf at row 0"):
        _checks.numeric([float("inf")], "x")


def test_one_value_or_one_per_row() -> None:
    for value in (4, 4.0, np.int64(4), np.array(4), [4, 4, 4], np.array([4, 4, 4])):
        assert _checks.per_row(value, "x", 3).tolist() == [4, 4, 4]
    with pytest.raises(InputError, match="x has 2 values; there are 3 ranks"):
        _checks.per_row([4, 4], "x", 3)
    with pytest.raises(InputError, match=r"x is 1; it must be at least 2 \(because\)"):
        _checks.per_row(1, "x", 3, low=2, why="because")


def test_within_names_the_first_row() -> None:
    values = np.array([3, 9, 0])
    with pytest.raises(InputError, match="x is 9 at row 1; so there"):
        _checks.within(values, "x", low=1, high=np.array([5, 8, 5]), because="so there")
    _checks.within(values, "x", low=0, high=9, because="")


def test_the_nearest_name_is_offered() -> None:
    found = _checks.unknown("fruit", "Aple", ["apple", "pear"])
    assert str(found) == "unknown fruit 'Aple'; did you mean 'apple'? (known: apple, pear)"
    assert str(_checks.unknown("fruit", "xyz", ["apple"])) == "unknown fruit 'xyz' (known: apple)"


def test_errors_are_of_the_kinds_people_catch() -> None:
    assert issubclass(errors.InputError, (errors.TruerankError, ValueError))
    assert issubclass(errors.InputError, ValueError)
    assert issubclass(errors.MissingExtraError, ImportError)
    for warning in (errors.AssumptionWarning, errors.ConvergenceWarning):
        assert issubclass(warning, errors.TruerankWarning)
        assert issubclass(warning, UserWarning)
