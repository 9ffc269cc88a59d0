"""Ids and rows: both ways, and ids that are not known."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from truerank.errors import InputError
from truerank.scoring._ids import Ids


def test_row_numbers_by_default():
    ids = Ids("user", 5)
    np.testing.assert_array_equal(ids.rows([4, 0, 4], "test"), [4, 0, 4])
    np.testing.assert_array_equal(ids.rows(np.array([3.0]), "test"), [3])
    np.testing.assert_array_equal(ids.values(np.array([2, 1])), [2, 1])


@given(st.lists(st.text(st.characters(codec="ascii", exclude_characters="\0")), unique=True))
def test_texts(values):
    if not values:
        return
    ids = Ids("item", None, values)
    assert ids.n_rows == len(values)
    rows = ids.rows(values[::-1], "test")
    np.testing.assert_array_equal(rows, np.arange(len(values))[::-1])
    assert ids.values(rows).tolist() == values[::-1]


@given(st.lists(st.integers(-(2**53), 2**53), min_size=1, unique=True))
def test_numbers(values):
    ids = Ids("item", len(values), values)
    for given_as in (values, np.array(values, dtype=object), np.array(values)):
        np.testing.assert_array_equal(ids.rows(given_as, "test"), np.arange(len(values)))


@pytest.mark.parametrize("where", ["test", "train"])
def test_unknown_ids_are_counted_and_some_named(where):
    ids = Ids("user", None, [10, 20, 30])
    with pytest.raises(
        InputError,
        match=rf"6 user ids of {where} are unknown to the scorer: 1, 2, 3, 4, 5, \.\.\.$",
    ):
        ids.rows([1, 2, 2, 3, 4, 5, 6, 10], where)
    with pytest.raises(InputError, match=r"1 user ids of test are unknown to the scorer: 21$"):
        ids.rows([20, 21, 21], "test")


@pytest.mark.parametrize("bad", [-1, 5])
def test_row_numbers_out_of_range(bad):
    with pytest.raises(
        InputError, match=rf"1 item ids of test .*: {bad} \(rows 0 to 4; give item_ids="
    ):
        Ids("item", 5).rows([0, bad], "test")


def test_numbers_for_texts_and_texts_for_numbers():
    with pytest.raises(InputError, match="both as numbers or both as strings"):
        Ids("user", None, ["1", "2"]).rows([1, 2], "test")
    with pytest.raises(InputError, match="both as numbers or both as strings"):
        Ids("user", None, [1, 2]).rows(["1", "2"], "test")


@pytest.mark.parametrize(
    ("values", "message"),
    [
        ([1, 2, 1], "user_ids has .*1.* more than once"),
        (["a", "b", "a"], "user_ids has .*a.* more than once"),
        ([[1, 2]], r"user_ids has shape \(1, 2\)"),
        ([1.5, 2.0], r"user_ids is 1.5 at row 0; it must be a whole number"),
        ([1.0, np.nan], "user_ids is nan at row 1"),
        (["a", None], "user_ids has missing values"),
        ([True, False], "user_ids are of type bool"),
        (np.array(["2020-01-01"], dtype="datetime64[D]"), "user_ids are of type datetime64"),
        (np.array(["a", 1], dtype=object), "user_ids holds values that are not numbers"),
    ],
)
def test_ids_that_cannot_be(values, message):
    with pytest.raises(InputError, match=message):
        Ids("user", None, values)


@pytest.mark.parametrize("odd", ["01", " 1", "1.0", "1e0", "+1"])
def test_texts_that_only_look_like_row_numbers_are_refused(odd):
    """Two users of the test, "1" and "01", would be one."""
    ids = Ids("user", 5)
    assert ids.rows(["1", "4"], "test").tolist() == [1, 4]
    with pytest.raises(InputError, match="of test is no row number as it is written; give user_id"):
        ids.rows(["1", odd], "test")
