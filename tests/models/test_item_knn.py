from __future__ import annotations

from dataclasses import replace
from math import sqrt

import numpy as np
import pytest
from scipy import sparse

from truerank.models import ItemKNN, item_knn

# Items a, b, c, d; their users: {0, 1}, {0, 1, 2, 3}, {1}, {}.
TRAIN = np.array([[1, 1, 0, 0], [1, 1, 1, 0], [0, 1, 0, 0], [0, 1, 0, 0]])
AB, AC, BC = 2 / sqrt(2 * 4), 1 / sqrt(2), 1 / sqrt(4)  # AB = AC > BC


def weights_of(model: ItemKNN, train: np.ndarray) -> np.ndarray:
    """s_ij with the candidate i as row, as the papers write it."""
    found = model.fit(sparse.csr_array(train)).weights
    return (found.toarray() if sparse.issparse(found) else found).T


def plain(model: ItemKNN, train: np.ndarray) -> np.ndarray:
    """s_ij the slow way, in exact cosines rounded so that ties are ties."""
    together = train.T @ train
    size = np.maximum(np.diag(together), 1.0)
    cosine = np.round(together / np.sqrt(np.outer(size, size)), 12)
    if not model.keep_self:
        np.fill_diagonal(cosine, 0.0)
    chosen = cosine > 0
    for i in range(len(cosine)):
        if model.neighbours is not None:
            chosen[i] &= cosine[i] >= np.sort(cosine[i])[::-1][model.neighbours - 1]
        if model.column_neighbours is not None:
            column = cosine[:, i]
            chosen[:, i] &= column >= np.sort(column)[::-1][model.column_neighbours - 1]
    similarity = np.where(chosen, cosine, 0.0) ** model.exponent
    if model.scale_rows:
        norm = np.linalg.norm(similarity, axis=1, keepdims=True)
        similarity = similarity / np.where(norm > 0, norm, 1.0)
    return similarity


def test_cosines_by_hand():
    expected = [[0, AB, AC, 0], [AB, 0, BC, 0], [AC, BC, 0, 0], [0, 0, 0, 0]]
    np.testing.assert_allclose(weights_of(ItemKNN(neighbours=None), TRAIN), expected, rtol=1e-6)


def test_scores_sum_over_the_history():
    scores = ItemKNN(neighbours=None).fit(sparse.csr_array(TRAIN)).score_all(np.array([0, 2]))
    np.testing.assert_allclose(scores, [[AB, AB, AC + BC, 0], [AB, 0, BC, 0]], rtol=1e-6)


def test_exponent_self_and_scaling_by_hand():
    found = weights_of(ItemKNN.kr20_y(), TRAIN)
    a = np.array([1, AB**3, AC**3, 0])
    np.testing.assert_allclose(found[0], a / np.linalg.norm(a), rtol=1e-6)
    assert found[3].tolist() == [0, 0, 0, 0]  # never seen: no similarity, and no division by zero


def test_neighbours_by_row_and_by_column():
    one = ItemKNN(neighbours=1)
    # The nearest of b is a, and of c it is a; b and c are equally near to a.
    by_row = [[0, AB, AC, 0], [AB, 0, 0, 0], [AC, 0, 0, 0], [0, 0, 0, 0]]
    np.testing.assert_allclose(weights_of(one, TRAIN), by_row, rtol=1e-6)
    np.testing.assert_allclose(
        weights_of(ItemKNN(neighbours=None, column_neighbours=1), TRAIN),
        np.transpose(by_row),
        rtol=1e-6,
    )
    # Both (KR20 eq. 28): s_ba needs a in N(b), which it is, and b in N(a), which it is as well;
    # with two neighbours by row and one by column, b keeps c only if b is the nearest of c.
    both = [[0, AB, AC, 0], [AB, 0, 0, 0], [AC, 0, 0, 0], [0, 0, 0, 0]]
    np.testing.assert_allclose(
        weights_of(replace(one, neighbours=2, column_neighbours=1), TRAIN), both, rtol=1e-6
    )
    # An item kept as its own neighbour takes the one place.
    kept = weights_of(replace(one, keep_self=True), TRAIN)
    np.testing.assert_allclose(kept, np.diag([1, 1, 1, 0]), rtol=1e-6)


@pytest.mark.parametrize("neighbours", [None, 1, 4, 200])
@pytest.mark.parametrize("column_neighbours", [None, 2, 4])
@pytest.mark.parametrize("keep_self", [False, True])
@pytest.mark.parametrize("scale_rows", [False, True])
@pytest.mark.parametrize("exponent", [1.0, 2.5])
def test_equals_the_plain_way(
    small, monkeypatch, neighbours, column_neighbours, keep_self, scale_rows, exponent
):
    monkeypatch.setattr(item_knn, "_BLOCK", 100)  # 4 items at a time
    model = ItemKNN(
        neighbours=neighbours,
        column_neighbours=column_neighbours,
        keep_self=keep_self,
        scale_rows=scale_rows,
        exponent=exponent,
    )
    n = small.shape[1]
    capped = replace(model, neighbours=min(neighbours, n)) if neighbours else model
    np.testing.assert_allclose(weights_of(model, small), plain(capped, small), rtol=1e-5, atol=1e-7)


def test_high_powers_are_scaled_before_they_are_lost():
    """0.5**400 is nothing in float32, and 1 once it is scaled to unit length."""
    model = ItemKNN(neighbours=None, exponent=400.0, scale_rows=True)
    found = weights_of(model, np.array([[0, 1, 1], [0, 1, 0], [0, 1, 0], [0, 1, 0]]))
    assert found.tolist() == [[0, 0, 0], [0, 0, 1], [0, 1, 0]]


def test_order_of_items_does_not_matter(small):
    order = np.random.default_rng(6).permutation(25)
    model = ItemKNN.kr20_z()
    np.testing.assert_allclose(
        weights_of(model, small)[np.ix_(order, order)], weights_of(model, small[:, order])
    )


def test_thin_weights_stay_sparse():
    rng = np.random.default_rng(7)
    train = sparse.csr_array(rng.random((50, 200)) < 0.02)
    assert sparse.issparse(ItemKNN(neighbours=5).fit(train).weights)
    full = sparse.csr_array(rng.random((50, 20)) < 0.5)
    assert not sparse.issparse(ItemKNN(neighbours=None).fit(full).weights)
