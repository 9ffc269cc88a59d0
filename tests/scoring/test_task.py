"""Laying out an evaluation: pools, numbers of targets and keys, and data that does not fit."""

from __future__ import annotations

import warnings

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import sparse

import truerank as tr
from truerank.errors import AssumptionWarning, InputError
from truerank.scoring.dense import Dense
from truerank.scoring.task import interactions, prepare

SCORER = Dense(np.zeros((4, 6)))
NAMED = Dense(np.zeros((2, 3)), user_ids=["ann", "bob"], item_ids=["x", "y", "z"])


def left_out(task, row):
    return task.left_out_of(np.array([row]))[1].tolist()


def test_a_task_by_hand():
    """User 2 has targets 5 and 1 and training items 0 and 3; user 0 target 1; user 3 has none."""
    test = [2, 0, 2], [5, 1, 1]
    train = [2, 3, 2, 2, 0], [3, 3, 0, 3, 4]
    task = prepare(SCORER, test, train=train)
    assert task.n_rows == 3
    assert task.n_users == 2
    assert task.user.tolist() == [2, 0, 2]
    assert task.target.tolist() == [5, 1, 1]
    assert task.n_targets.tolist() == [2, 1, 2]
    assert task.several
    assert [left_out(task, row) for row in range(3)] == [[0, 1, 3, 5], [1, 4], [0, 1, 3, 5]]
    assert task.n_items.tolist() == [3, 5, 3]  # 6 - 4 + 1, 6 - 2 + 1
    position, item = task.left_out_of(np.array([1, 0]))
    assert position.tolist() == [0, 0, 1, 1, 1, 1]
    assert item.tolist() == [1, 4, 0, 1, 3, 5]


def test_without_train_only_targets_are_left_out():
    task = prepare(SCORER, ([1, 1], [0, 5]))
    assert task.n_items.tolist() == [5, 5]
    assert left_out(task, 0) == [0, 5]


pairs = st.tuples(st.integers(0, 3), st.integers(0, 4))  # item 5 stays a candidate


@given(st.lists(pairs, min_size=1, unique=True), st.data())
def test_pools_hold_what_is_neither_known_nor_another_target(pairs, data):
    test = pairs[: data.draw(st.integers(1, len(pairs)))]
    train = pairs[len(test) :]
    options = {"train": tuple(zip(*train, strict=True))} if train else {}
    task = prepare(SCORER, tuple(zip(*test, strict=True)), **options)
    for row, (user, target) in enumerate(test):
        gone = {item for u, item in pairs if u == user}
        assert left_out(task, row) == sorted(gone)
        assert task.n_items[row] == 6 - len(gone) + 1
        assert task.n_targets[row] == sum(u == user for u, _ in test)
        assert (task.user[row], task.target[row]) == (user, target)


@pytest.mark.parametrize("kind", ["pandas", "polars", "arrow", "csv", "sparse", "lists"])
def test_data_of_any_kind(kind, tmp_path):
    users, items = [0, 1, 3], [2, 0, 5]
    columns = {"userID": users, "itemID": items, "rating": [5.0, 5.0, 5.0]}
    if kind == "pandas":
        data = pytest.importorskip("pandas").DataFrame(columns)
    elif kind == "polars":
        data = pytest.importorskip("polars").DataFrame(columns)
    elif kind == "arrow":
        data = pytest.importorskip("pyarrow").table(columns)
    elif kind == "csv":
        data = tmp_path / "test.csv"
        rows = zip(*columns.values(), strict=True)
        data.write_text("\n".join(["userID,itemID,rating", *(f"{u},{i},{r}" for u, i, r in rows)]))
    elif kind == "sparse":
        data = sparse.csr_array((np.ones(3), (users, items)), shape=(4, 6))
    else:
        data = (users, items)
    task = prepare(SCORER, data)
    assert task.user.tolist() == users
    assert task.target.tolist() == items


def test_ids_are_translated():
    task = prepare(NAMED, (["bob", "ann"], ["z", "x"]), train=(["ann"], ["y"]))
    assert task.user.tolist() == [1, 0]
    assert task.target.tolist() == [2, 0]
    assert task.user_id.tolist() == ["bob", "ann"]
    assert left_out(task, 1) == [0, 1]


def test_keys_are_by_user_and_target():
    users, items = np.array([2, 0, 2, 1]), np.array([5, 1, 1, 0])
    task = prepare(SCORER, (users, items))
    keys = task.keys(7)
    assert np.unique(keys).size == 4
    order = np.array([3, 2, 0, 1])
    shuffled = prepare(SCORER, (users[order], items[order]))
    np.testing.assert_array_equal(shuffled.keys(7), keys[order])
    alone = prepare(SCORER, ([1], [4]))
    assert alone.keys(7)[0] == keys[3]  # one target: by user only
    assert (task.keys(8) != keys).all()


def test_some_rows_of_a_task():
    task = prepare(SCORER, ([2, 0, 2, 1], [5, 1, 1, 0]), train=([2, 1], [3, 4]))
    rows = np.array([3, 0])
    part = task.take(rows)
    assert part.n_rows == 2
    assert part.n_users == 2
    for name in ("user", "target", "user_id", "n_items", "n_targets"):
        np.testing.assert_array_equal(getattr(part, name), getattr(task, name)[rows])
    assert [left_out(part, i) for i in range(2)] == [left_out(task, i) for i in rows]


def test_blocks_cover_the_rows():
    task = prepare(SCORER, ([0, 1, 2], [0, 0, 0]))
    assert [list(range(3))[at] for at in task.blocks(2)] == [[0, 1], [2]]


# -- what does not fit --------------------------------------------------------------------------


def test_unknown_ids():
    with pytest.raises(InputError, match=r"2 user ids of test are unknown.*: 4, 9 \(rows 0 to 3"):
        prepare(SCORER, ([0, 9, 4, 9], [0, 1, 2, 3]))
    with pytest.raises(InputError, match=r"1 item ids of train are unknown.*: 6 \(rows 0 to 5"):
        prepare(SCORER, ([0], [0]), train=([0, 1], [6, 1]))
    with pytest.raises(InputError, match=r"1 user ids of test are unknown to the scorer: eve"):
        prepare(NAMED, (["ann", "eve"], ["x", "y"]))


def test_rows_that_occur_twice():
    with pytest.raises(
        InputError, match="1 test rows occur more than once, such as user bob, item y"
    ):
        prepare(NAMED, (["bob", "ann", "bob"], ["y", "y", "y"]))


def test_empty_data():
    with pytest.raises(InputError, match="test is empty; there is nothing to rank"):
        prepare(SCORER, (np.array([], int), np.array([], int)))
    with pytest.raises(InputError, match="train is empty; leave it out"):
        prepare(SCORER, ([0], [0]), train=(np.array([], int), np.array([], int)))
    with pytest.raises(InputError, match="test is empty"):
        prepare(SCORER, sparse.csr_array((4, 6)))


def test_targets_among_training_items():
    test, train = ([0, 1, 2], [0, 1, 2]), ([0, 2, 2, 3], [0, 2, 3, 3])
    with pytest.raises(
        InputError, match=r"2 targets are among .* \(the first: item 0\); .*keep_target=True"
    ):
        prepare(SCORER, test, train=train)
    task = prepare(SCORER, test, train=train, keep_target=True)
    assert task.n_items.tolist() == [6, 6, 5]


def test_pools_without_candidates():
    with pytest.raises(InputError, match="user 1 has no candidates but the target: all 6 items"):
        prepare(SCORER, ([0, 1], [0, 0]), train=([1] * 5, [1, 2, 3, 4, 5]))


@pytest.mark.parametrize(
    ("source", "message"),
    [
        (([1, 2], [3]), r"test has \(2,\) user ids and \(1,\) item ids"),
        (([[1, 2]], [[3, 4]]), r"test has \(1, 2\) user ids"),
        (([1], [2], [3]), r"test is a sequence of 3; give \(user_ids, item_ids\)"),
        ("nothing.csv", "nothing.csv"),
        (7, "table is of type int"),
    ],
)
def test_data_that_cannot_be_read(source, message):
    with pytest.raises(InputError, match=message):
        interactions(source, "test")


def test_tables_without_the_columns():
    frame = pytest.importorskip("pandas").DataFrame({"user_id": [1], "article": [2]})
    with pytest.raises(InputError, match=r"no column user_id and item_id; found: user_id, article"):
        interactions(frame, "test")


def test_missing_ids():
    frame = pytest.importorskip("pandas").DataFrame({"user_id": [1, None], "item_id": [2, 3]})
    with pytest.raises(InputError, match="user_ids of test is nan at row 1"):
        prepare(SCORER, frame)


# -- relevance ----------------------------------------------------------------------------------


def test_rows_that_are_not_relevant_are_no_targets():
    scorer = Dense(np.random.default_rng(0).random((3, 6)))
    test = pd.DataFrame({"user_id": [0, 1, 2], "item_id": [1, 2, 3], "label": [1, 0, 1]})
    with pytest.raises(InputError, match=r"column label of 1 rows are not above 0 .*row 1: 0"):
        prepare(scorer, test)
    assert prepare(scorer, test[test["label"] > 0]).n_rows == 2
    explicit = sparse.csr_matrix(([1.0, 0.0], ([0, 1], [1, 2])), shape=(3, 6))
    with pytest.raises(InputError, match="values of 1 rows are not above 0"):
        prepare(scorer, explicit)


def test_degrees_of_relevance_are_named():
    scorer = Dense(np.random.default_rng(0).random((3, 6)))
    test = pd.DataFrame({"user_id": [0, 1, 2], "item_id": [1, 2, 3], "relevance": [1, 3, 2]})
    with pytest.warns(AssumptionWarning, match="column relevance has 3 degrees of relevance"):
        prepare(scorer, test)
    graded = sparse.csr_matrix(([5.0, 3.0], ([0, 1], [1, 2])), shape=(3, 6))
    with pytest.warns(AssumptionWarning, match=r"values have 2 degrees .* \(a matrix of ones"):
        prepare(scorer, graded)
    test["relevance"] = "high"
    with pytest.raises(InputError, match="column relevance must hold numbers"):
        prepare(scorer, test)


@pytest.mark.parametrize("role", ["relevance", "label", "rating", "Rating"])
def test_degrees_of_any_column_are_named(role):
    scorer = Dense(np.random.default_rng(0).random((3, 6)))
    test = pd.DataFrame({"user_id": [0, 1, 2], "item_id": [1, 2, 3], role: [5.0, 3.5, 5.0]})
    for evaluate in (
        lambda: tr.count(scorer, test),
        lambda: tr.rank(scorer, test),
        lambda: tr.evaluate(scorer, test, "exact", metrics="recall@5"),
        lambda: tr.sampling.freeze(scorer, test, tr.designs.Fixed(num_negatives=2)),
        lambda: tr.Monitor(test, metrics="recall@5").update(scorer),
    ):
        with pytest.warns(AssumptionWarning, match=f"column {role} has 2 degrees of relevance"):
            evaluate()
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        tr.count(scorer, test.drop(columns=role))  # the option to leave them out
        tr.count(scorer, test.assign(**{role: 5.0}))  # all alike
        tr.count(scorer, test[["user_id", "item_id"]], train=test.assign(item_id=[3, 4, 5]))
    with pytest.raises(InputError, match=f"column {role} of 1 rows .* or the column if it does"):
        tr.count(scorer, test.assign(**{role: [5.0, 0.0, 1.0]}))


@pytest.mark.parametrize("name", ["test.rating", "test.inter"])
def test_degrees_in_files_of_other_tools_are_named(tmp_path, name):
    scorer = Dense(np.random.default_rng(0).random((3, 6)))
    header = "" if name.endswith("rating") else "user_id:token\titem_id:token\trating:float\n"
    ends = ("\t9", "\t8") if name.endswith("rating") else ("", "")
    (tmp_path / name).write_text(f"{header}0\t1\t5{ends[0]}\n1\t2\t3{ends[1]}\n")
    with pytest.warns(AssumptionWarning, match="column rating has 2 degrees of relevance"):
        assert tr.count(scorer, tmp_path / name).n_users == 2
