"""Laws of splits and cores, each against a plain loop; cards against counts by hand."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

import truerank as tr
from truerank.data import Interactions
from truerank.errors import InputError

PAIRS = st.lists(
    st.tuples(st.integers(0, 7), st.integers(0, 9), st.integers(0, 3)), min_size=1, max_size=60
)
DISTINCT = st.lists(
    st.tuples(st.integers(0, 7), st.integers(0, 9), st.integers(0, 3)),
    min_size=1,
    max_size=60,
    unique_by=lambda row: row[:2],
).filter(lambda rows: max(Counter(row[0] for row in rows).values()) > 1)


def make(rows: list[tuple[int, int, int]], *, text: bool = False) -> Interactions:
    users, items, times = (np.array(column) for column in zip(*rows, strict=True))
    if text:
        items = np.array([f"i{item}" for item in items])
    return Interactions(users, items, times)


def listed(data: Interactions) -> list[tuple[Any, ...]]:
    columns = [data.user_id, data.item_id, *([] if data.timestamp is None else [data.timestamp])]
    return list(zip(*(column.tolist() for column in columns), strict=True))


# --- leave one out ------------------------------------------------------------------------------


@given(DISTINCT, st.sampled_from(["last", "random"]), st.integers(0, 3), st.booleans())
def test_split_then_join_gives_the_whole(rows, how, seed, text):
    data = make(rows, text=text)
    split = data.leave_one_out(how, seed=seed)
    assert sorted(listed(split.whole)) == sorted(listed(data))
    count = Counter(row[0] for row in rows)
    assert sorted(split.test.user_id.tolist()) == sorted(u for u in count if count[u] > 1)
    assert split.item_ids.tolist() == data.item_ids.tolist()
    assert split.user_ids.tolist() == sorted(count)


@given(DISTINCT, st.integers(0, 3))
def test_last_is_the_latest(rows, seed):
    split = make(rows).leave_one_out("last", seed=seed)
    for user, _, time in listed(split.test):
        assert time == max(row[2] for row in rows if row[0] == user)


@given(DISTINCT, st.sampled_from(["last", "random"]), st.integers(0, 3), st.randoms())
def test_order_and_other_users_do_not_matter(rows, how, seed, random):
    held_out = listed(make(rows).leave_one_out(how, seed=seed).test)
    shuffled = list(rows)
    random.shuffle(shuffled)
    assert sorted(listed(make(shuffled).leave_one_out(how, seed=seed).test)) == sorted(held_out)
    user = held_out[0][0]
    alone = make([row for row in rows if row[0] == user]).leave_one_out(how, seed=seed)
    assert listed(alone.test) == [row for row in held_out if row[0] == user]


def test_random_is_uniform_over_items_and_ties():
    # 3,000 users with 4 items each; the last two at one time.
    users, items = np.repeat(np.arange(3000), 4), np.tile(np.arange(4), 3000)
    data = Interactions(users, items, np.array([0, 1, 2, 2])[items])
    found = np.bincount(data.leave_one_out("random", seed=1).test.item_id, minlength=4)
    assert np.abs(found - 750).max() < 4 * np.sqrt(3000 * 3 / 16)
    ties = np.bincount(data.leave_one_out("last", seed=1).test.item_id, minlength=4)
    assert ties[:2].tolist() == [0, 0]
    assert abs(ties[2] - 1500) < 4 * np.sqrt(750)
    other = data.leave_one_out("random", seed=2).test.item_id
    assert 0.6 < (other != data.leave_one_out("random", seed=1).test.item_id).mean() < 0.9


def test_number_ids_as_strings_give_the_same_split():
    data = make([(u, i, 0) for u in range(50) for i in range(5)])
    words = Interactions(data.user_id.astype(str), data.item_id.astype(str))
    numbers = data.leave_one_out("random", seed=3).test
    assert words.leave_one_out("random", seed=3).test.item_id.tolist() == [
        str(item) for item in numbers.item_id
    ]


def test_what_cannot_be_left_out():
    with pytest.raises(InputError, match=r'no timestamps; .*how="random"'):
        Interactions([1, 1], [2, 3]).leave_one_out("last")
    with pytest.raises(InputError, match=r"1 rows that repeat .* distinct"):
        Interactions([1, 1, 1], [2, 3, 2]).leave_one_out("random")
    with pytest.raises(InputError, match=r"no user of .* has 2"):
        Interactions([1, 2], [2, 3]).leave_one_out("random")
    with pytest.raises(InputError, match="unknown how 'first'"):
        Interactions([1, 1], [2, 3]).leave_one_out("first")
    with pytest.raises(InputError, match="seed is -1"):
        Interactions([1, 1], [2, 3]).leave_one_out("random", seed=-1)


# --- cores --------------------------------------------------------------------------------------


def core_by_loop(rows: list[tuple[int, int, int]], k: int, k_items: int) -> list[Any]:
    """Drop one offender at a time until there is none."""
    rows = list(rows)
    while True:
        users = Counter(user for user, _ in {row[:2] for row in rows})
        items = Counter(item for _, item in {row[:2] for row in rows})
        bad = [row for row in rows if users[row[0]] < k or items[row[1]] < k_items]
        if not bad:
            return rows
        rows = [row for row in rows if row != bad[0]]


@given(PAIRS, st.integers(1, 4), st.integers(1, 4))
def test_core_equals_a_loop_and_is_a_fixed_point(rows, k, k_items):
    expected = core_by_loop(rows, k, k_items)
    if not expected:
        with pytest.raises(InputError, match=r"nothing of interactions is left: .*ask for less"):
            make(rows).k_core(k, items=k_items)
        return
    core = make(rows).k_core(k, items=k_items)
    assert listed(core) == expected
    assert listed(core.k_core(k, items=k_items)) == expected


def test_core_is_iterated():
    # User 2 goes, then item 12 has one user left and goes, then user 1 has one item left.
    rows = [(0, 10, 0), (0, 11, 0), (1, 10, 0), (1, 12, 0), (2, 12, 0), (3, 10, 0), (3, 11, 0)]
    assert listed(make(rows).k_core(2)) == [rows[0], rows[1], rows[5], rows[6]]
    with pytest.raises(InputError, match="k is 0"):
        make(rows).k_core(0)


@given(PAIRS)
def test_distinct_keeps_the_earliest(rows):
    expected: dict[tuple[int, int], tuple[int, int]] = {}
    for at, (user, item, time) in enumerate(rows):
        expected[user, item] = min(expected.get((user, item), (time, at)), (time, at))
    places = sorted(at for _, at in expected.values())
    assert listed(make(rows).distinct()) == [rows[at] for at in places]


# --- cards --------------------------------------------------------------------------------------


def test_card_by_hand():
    data = Interactions(["a", "a", "a", "b"], [1, 2, 2, 1], name="mine")
    card = data.card()
    assert (card.n_users, card.n_items, card.n_interactions, card.n_pairs) == (2, 2, 4, 3)
    assert card.sparsity == 0.25
    assert card.per_user == (1, 1.5, 2, 2.5, 3)
    assert card.per_item == (2, 2, 2, 2, 2)
    lines = repr(card).splitlines()
    assert lines[0] == "mine"
    assert [line.split()[-1] for line in lines[1:4]] == ["2", "2", "4"]
    assert "distinct pairs 3" in " ".join(repr(card).split())
    assert "sparsity 25.00 %" in " ".join(repr(card).split())
    assert "targets 1 " in " ".join(repr(data.distinct().leave_one_out("random").card()).split())
    assert repr(data) == "Interactions(mine: 4 rows of 2 users and 2 items)"


# --- in and out ---------------------------------------------------------------------------------


def test_a_table_for_everyone(tmp_path: Path):
    data = make([(0, 1, 5), (0, 2, 6), (1, 0, 7), (1, 2, 8)], text=True)
    assert pl.DataFrame(data).rows() == listed(data)
    assert list(data.to_pandas().itertuples(index=False, name=None)) == listed(data)
    data.save(tmp_path / "x.parquet")
    assert listed(tr.data.read(tmp_path / "x.parquet")) == listed(data)
    assert listed(tr.data.read(data)) == listed(data)
    split = data.leave_one_out("last")
    split.save(tmp_path / "new" / "folder")
    again = tr.data.read_split(tmp_path / "new" / "folder", name="folder")
    assert [listed(part) for part in again] == [listed(part) for part in split]


def test_straight_into_models_and_evaluation():
    catalogue = tr.data.synthetic.catalogue(n_users=60, n_items=40, seed=1)
    data = tr.data.synthetic.interactions(catalogue, per_user=8.0, seed=1)
    train, test = split = data.leave_one_out("last")
    scorer = tr.models.ItemKNN().fit(train, item_ids=split.item_ids)
    ranks = tr.rank(scorer, test, train=train)["rank"].to_numpy()
    frames = [pd.DataFrame({"user_id": p.user_id, "item_id": p.item_id}) for p in split]
    same = tr.rank(scorer, frames[1], train=frames[0])["rank"].to_numpy()
    assert ranks.tolist() == same.tolist()
    result = tr.evaluate(scorer, test, train=train, metrics=["recall@5"], confidence=None)
    assert result["recall@5"].value == pytest.approx((ranks <= 5).mean(), abs=0.05)


def test_parts_of_different_type_join_as_strings():
    split = tr.data.Split(Interactions([1], [2]), Interactions([1], ["x"]))
    assert listed(split.whole) == [(1, "2"), (1, "x")]


@pytest.mark.parametrize(
    ("columns", "message"),
    [
        (([1, 2], [3]), "different length"),
        (([1, None], [3, 4]), "user_id of interactions has missing values"),
        (([1.5], [3]), "1.5 at row 0"),
        (([[1]], [3]), "one-dimensional"),
        (([1], [3], [np.nan]), "timestamp of interactions is nan at row 0"),
        (([1], [3], np.array(["NaT"], "datetime64[s]")), "missing at row 0"),
    ],
)
def test_impossible_interactions(columns, message):
    with pytest.raises(InputError, match=message):
        Interactions(*columns)


def test_given_arrays_are_left_alone():
    users = np.array([1, 1])
    data = Interactions(users, [2, 3])
    users[0] = 7
    assert users.tolist() == [7, 1]
    assert data.user_id.tolist() == [1, 1]
