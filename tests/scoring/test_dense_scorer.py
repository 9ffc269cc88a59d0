"""A matrix of scores as a scorer."""

from __future__ import annotations

import numpy as np
import pytest

from truerank.errors import InputError
from truerank.scoring.dense import Dense

SCORES = np.arange(12.0).reshape(3, 4)


@pytest.mark.parametrize("dtype", [np.float64, np.float32, np.int16, np.uint8])
def test_scores_are_the_matrix(dtype):
    scorer = Dense(SCORES.astype(dtype))
    assert scorer.n_items == 4
    np.testing.assert_array_equal(scorer.score_all(np.array([2, 0])), SCORES[[2, 0]])
    some = scorer.score(np.array([2, 0]), np.array([[3, 1], [0, 0]]))
    np.testing.assert_array_equal(some, [[11, 9], [0, 0]])
    assert some.dtype.kind == "f"


def test_lists_and_memory_maps(tmp_path):
    np.save(tmp_path / "scores.npy", SCORES)
    mapped = np.load(tmp_path / "scores.npy", mmap_mode="r")
    assert Dense(mapped).scores is mapped
    for scores in (mapped, SCORES.tolist()):
        np.testing.assert_array_equal(Dense(scores).score_all(np.array([1])), SCORES[[1]])


def test_only_scores_asked_for_are_looked_at():
    scores = SCORES.copy()
    scores[1, 2] = -np.inf
    scorer = Dense(scores)
    scorer.score(np.array([1]), np.array([[0, 1, 3]]))
    np.testing.assert_array_equal(scorer.score_all(np.array([1])), scores[[1]])
    with pytest.raises(InputError, match=r"1 scores that are NaN or infinite.*cannot be ranked"):
        scorer.score(np.array([1]), np.array([[0, 2]]))


@pytest.mark.parametrize(
    ("scores", "message"),
    [
        (SCORES[0], r"scores has shape \(4,\); expected \(n_users, n_items >= 2\)"),
        (SCORES[:, :1], r"scores has shape \(3, 1\)"),
        (SCORES[:0], r"scores has shape \(0, 4\)"),
        (SCORES.astype(str), "it must hold numbers"),
        (SCORES.astype(complex), "it must hold numbers"),
        ([[1.0, 2.0], [3.0]], "scores cannot be read as a matrix"),
        (None, r"scores has shape \(\)"),
    ],
)
def test_matrices_that_do_not_fit(scores, message):
    with pytest.raises(InputError, match=message):
        Dense(scores)


def test_ids_that_do_not_fit():
    with pytest.raises(InputError, match="user_ids has 2 ids; there are 3 users"):
        Dense(SCORES, user_ids=["a", "b"])
    with pytest.raises(InputError, match=r"item_ids has .*3.* more than once"):
        Dense(SCORES, item_ids=[1, 2, 3, 3])
