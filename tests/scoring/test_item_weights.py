from __future__ import annotations

import numpy as np
import pytest
from scipy import sparse

from truerank.errors import InputError
from truerank.scoring import weights
from truerank.scoring.weights import ItemWeights


@pytest.fixture
def parts():
    """40 users and 25 items; user 3 has nothing and nobody has item 7."""
    rng = np.random.default_rng(3)
    history = (rng.random((40, 25)) < 0.2) * rng.integers(1, 4, (40, 25))
    history[3] = history[:, 7] = 0
    square = rng.standard_normal((25, 25)).astype(np.float32)
    square[np.abs(square) < 0.5] = 0.0
    return sparse.csr_array(history), square


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


@pytest.mark.parametrize("kind", [sparse.coo_matrix, sparse.csc_array, sparse.csr_matrix])
def test_the_weights_of_a_users_items_are_summed(parts, kind):
    history, square = parts[0].toarray(), parts[1]
    by_hand = [
        [sum(history[u, j] * float(square[j, i]) for j in range(25)) for i in range(25)]
        for u in range(40)
    ]
    scores = ItemWeights(kind(history), square).score_all(np.arange(40))
    np.testing.assert_allclose(scores, by_hand, rtol=1e-5, atol=1e-5)


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
