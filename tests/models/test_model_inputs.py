"""What every model takes, refuses and promises."""

from __future__ import annotations

import dataclasses

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from scipy import sparse

from truerank.errors import InputError
from truerank.evaluation import rank
from truerank.models import ALS, EASE, IALS, ItemKNN, Popularity
from truerank.scoring.scorer import Scorer

MODELS = [
    Popularity(),
    ItemKNN(neighbours=3),
    IALS(dimensions=4, regularisation=1.0, iterations=300),
    ALS(dimensions=4),
    EASE(regularisation=5.0),
]
every_model = pytest.mark.parametrize("model", MODELS, ids=lambda model: type(model).__name__)

USERS = np.array([10, 10, 20, 20, 30])
ITEMS = np.array([7, 5, 7, 9, 5])


@pytest.fixture(autouse=True)
def _needs_implicit(request):
    if "model" in request.fixturenames and isinstance(request.getfixturevalue("model"), ALS):
        pytest.importorskip("implicit")


def all_scores(scorer: Scorer) -> np.ndarray:
    return scorer.score_all(np.arange(scorer.user_ids.n_rows))


@every_model
def test_tables_pairs_and_matrices_are_the_same(model, small):
    users, items = np.nonzero(small)
    columns = {"user_id": users, "item_id": items}
    expected = all_scores(model.fit((users, items), n_users=40, n_items=25))
    for train in (pd.DataFrame(columns), pl.DataFrame(columns), pa.table(columns)):
        scorer = model.fit(train, user_ids=range(40), item_ids=range(25))
        np.testing.assert_array_equal(all_scores(scorer), expected)
    for train in (sparse.csr_matrix(small), sparse.csc_array(small), sparse.coo_array(small)):
        np.testing.assert_array_equal(all_scores(model.fit(train)), expected)


@every_model
def test_order_and_repetition_of_rows_do_not_matter(model, small):
    users, items = np.nonzero(small)
    shuffled = np.random.default_rng(1).permutation(users.size)
    again = np.concatenate([shuffled, shuffled[:20]])
    whole = {"n_users": 40, "n_items": 25}
    np.testing.assert_array_equal(
        all_scores(model.fit((users, items), **whole)),
        all_scores(model.fit((users[again], items[again]), **whole)),
    )


@every_model
def test_pairs_score_as_the_whole_catalogue_does(model, small):
    scorer = model.fit(sparse.csr_array(small))
    users = np.array([5, 3, 5, 39, 0])  # not in order, one twice, one without a history
    items = np.random.default_rng(2).integers(0, 25, (5, 9))
    at_once = scorer.score_all(users)
    np.testing.assert_array_equal(scorer.score(users, items), at_once[np.arange(5)[:, None], items])
    for place, user in enumerate(users):
        np.testing.assert_array_equal(scorer.score_all(np.array([user]))[0], at_once[place])
    assert np.isfinite(all_scores(scorer)).all()


@every_model
def test_same_seed_same_scores(model, small):
    train = sparse.csr_array(small)
    first, again, other = (all_scores(model.fit(train, seed=seed)) for seed in (5, 5, 6))
    np.testing.assert_array_equal(first, again)
    assert np.array_equal(first, other) == (not isinstance(model, (IALS, ALS)))


@every_model
def test_progress_reaches_its_end(model, small):
    seen = []
    model.fit(sparse.csr_array(small), progress=lambda done, total: seen.append((done, total)))
    done = [step for step, _ in seen]
    assert done == sorted(done)
    if isinstance(model, Popularity):
        assert not seen  # over before anybody could look
    elif not isinstance(model, IALS):  # which may stop early
        assert seen[-1][0] == seen[-1][1]


@every_model
def test_hyper_parameters_are_fixed_and_named(model):
    with pytest.raises(dataclasses.FrozenInstanceError):
        model.neighbours = 5
    with pytest.raises(TypeError):
        type(model)(5)


@every_model
def test_evaluates_with_the_users_own_ids(model):
    scorer = model.fit((USERS, ITEMS), item_ids=[11, 9])
    ranks = np.asarray(rank(scorer, ([30, 10], [11, 9]), train=(USERS, ITEMS))["rank"])
    assert scorer.n_items == 4
    assert ((ranks >= 1) & (ranks <= 3)).all()


def test_ids_keep_their_order():
    scorer = Popularity().fit((USERS, ITEMS), user_ids=[5], item_ids=[11, 7])
    assert scorer.user_ids.values(np.arange(4)).tolist() == [5, 10, 20, 30]
    assert scorer.item_ids.values(np.arange(4)).tolist() == [5, 7, 9, 11]
    assert all_scores(scorer)[0].tolist() == [2, 2, 1, 0]


def test_string_ids():
    scorer = Popularity().fit((["b", "a", "b"], ["y", "y", "x"]), item_ids=["a long name"])
    assert scorer.user_ids.rows(["a", "b"], "test").tolist() == [0, 1]
    assert scorer.item_ids.values(np.arange(3)).tolist() == ["a long name", "x", "y"]
    assert all_scores(scorer).tolist() == [[0, 1, 2]] * 2


def test_ids_of_a_matrix():
    scorer = Popularity().fit(
        sparse.csr_array([[1, 0, 4], [0, 0, 2]]), user_ids=["u", "t"], item_ids=[30, 20, 10]
    )
    assert scorer.user_ids.rows(["t"], "test").tolist() == [1]
    assert scorer.item_ids.rows([10], "test").tolist() == [2]
    assert all_scores(scorer)[0].tolist() == [1, 0, 2]  # the values are not looked at


def test_a_matrix_may_know_of_more_users_and_items():
    scorer = Popularity().fit(sparse.csr_array([[1, 1]]), n_users=3, n_items=4)
    assert all_scores(scorer).tolist() == [[1, 1, 0, 0]] * 3


@pytest.mark.parametrize(
    ("train", "options", "message"),
    [
        (([], []), {}, "train is empty"),
        (sparse.csr_array((2, 3)), {}, "train is empty"),
        (([1, 2], [1]), {}, r"\(2,\) user ids and \(1,\) item ids"),
        (([0, 1], [0, 0]), {}, "train has 1 item; ranking needs a catalogue of at least 2"),
        (([0, 1], [0, 5]), {"n_items": 4}, r"1 item ids of train are unknown.*: 5"),
        (([0, 1], [0, 1]), {"n_items": 0}, "n_items is 0; it must be at least 1"),
        (([0, 1], [0, 1]), {"n_items": 2, "item_ids": [0, 1]}, "both item_ids= and n_items="),
        (([0, 1], [0, 1]), {"item_ids": ["a"]}, "both as numbers or both as strings"),
        (([0, 1], [0, None]), {}, "missing values"),
        (([0, 1], [0.5, 1.0]), {}, "whole number"),
        (([0, 1], [0, 1]), {"seed": -1}, "seed is -1"),
        (([0, 1], [0, 1]), {"progress": "yes"}, "progress is 'yes'"),
        (sparse.csr_array([[1, 1]]), {"n_items": 1}, r"n_items is 1; .*train has 2 items"),
        (sparse.csr_array([[1, 1]]), {"item_ids": [4]}, "item_ids has 1 ids; there are 2 items"),
        (sparse.csr_array([[1, 1]]), {"item_ids": [4, 4]}, "4 more than once|4\\) more than once"),
        (sparse.csr_array(([1.0, 0.0], ([0, 0], [0, 1]))), {}, "stored zeros"),
        ({"user": [1]}, {}, "table is of type dict"),
        (pd.DataFrame({"user_id": [1]}), {}, "no column user_id and item_id"),
    ],
)
def test_bad_interactions(train, options, message):
    with pytest.raises(InputError, match=message):
        ItemKNN().fit(train, **options)


@pytest.mark.parametrize(
    ("model", "options", "message"),
    [
        (ItemKNN, {"neighbours": 0}, "neighbours is 0"),
        (ItemKNN, {"exponent": 0.0}, "exponent is 0.0; it must be above 0"),
        (ItemKNN, {"column_neighbours": 0}, "column_neighbours is 0"),
        (IALS, {"dimensions": 0}, "dimensions is 0"),
        (IALS, {"iterations": 0}, "iterations is 0"),
        (IALS, {"regularisation": 0.0}, "regularisation is 0.0; it must be above 0"),
        (IALS, {"unobserved_weight": -1.0}, "unobserved_weight is -1.0"),
        (IALS, {"tolerance": -1.0}, "tolerance is -1.0"),
        (ALS, {"dimensions": 1.5}, "dimensions is 1.5"),
        (ALS, {"observed_weight": float("nan")}, "observed_weight is nan"),
        (EASE, {"regularisation": -5}, "regularisation is -5"),
        (EASE, {"precision": "float16"}, "unknown precision 'float16'"),
    ],
)
def test_bad_hyper_parameters(model, options, message):
    with pytest.raises(InputError, match=message):
        model(**options)
