from __future__ import annotations

import numpy as np
import pytest
from scipy import sparse

from truerank.errors import InputError
from truerank.models import ItemWeights, weights


@pytest.fixture
def parts(small):
    square = np.random.default_rng(3).standard_normal((25, 25)).astype(np.float32)
    square[np.abs(square) < 0.5] = 0.0
    return sparse.csr_array(small), square


@pytest.mark.parametrize(
    "kind", [np.asarray, np.asfortranarray, sparse.csr_array, sparse.csc_array]
)
def test_is_the_product(parts, kind):
    history, square = parts
    scorer = ItemWeights(history, kind(square))
    np.testing.assert_allclose(
        scorer.score_all(np.arange(40)), history.toarray() @ square, rtol=1e-5, atol=1e-5
    )
    assert scorer.score_all(np.arange(2)).dtype == np.float32


@pytest.mark.parametrize("block", [1, 60, 2**24])
def test_pairs_do_not_depend_on_blocks(parts, monkeypatch, block):
    scorer = ItemWeights(*parts)
    users = np.random.default_rng(4).integers(0, 40, 70)
    items = np.random.default_rng(5).integers(0, 25, (70, 6))
    expected = scorer.score_all(users)[np.arange(70)[:, None], items]
    monkeypatch.setattr(weights, "_BLOCK", block)
    np.testing.assert_array_equal(scorer.score(users, items), expected)


def test_whole_numbers_are_weights_too():
    scorer = ItemWeights(sparse.csr_array([[1, 0], [1, 1]]), [[0, 1], [3, 0]])
    assert scorer.score_all(np.array([0, 1])).tolist() == [[0, 1], [3, 1]]


@pytest.mark.parametrize(
    ("history", "square", "message"),
    [
        (np.eye(2), np.eye(2), "history is of type ndarray"),
        (sparse.csr_array(np.eye(2)), np.eye(3), r"weights has shape \(3, 3\)"),
        (sparse.csr_array(np.eye(2)), [["a", "b"], ["c", "d"]], "must hold numbers"),
        (sparse.csr_array(np.eye(2)), [[0.0, np.nan], [0.0, 0.0]], "weights has NaN"),
        (sparse.csr_array([[np.inf, 0.0]]), np.eye(2), "history has NaN or infinite"),
    ],
)
def test_bad_input(history, square, message):
    with pytest.raises(InputError, match=message):
        ItemWeights(history, square)
