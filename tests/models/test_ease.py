from __future__ import annotations

import numpy as np
import pytest
from scipy import sparse

from truerank.errors import InputError
from truerank.models import EASE, ease


def closed_form(train: np.ndarray, regularisation: float) -> np.ndarray:
    inverse = np.linalg.inv(train.T @ train + regularisation * np.eye(train.shape[1]))
    weights = -inverse / np.diag(inverse)
    np.fill_diagonal(weights, 0.0)
    return weights


def test_by_hand():
    # X'X + 1 = [[2, 1], [1, 3]], its inverse [[3, -1], [-1, 2]] / 5.
    found = EASE(regularisation=1.0).fit(sparse.csr_array([[1, 1], [0, 1]])).weights
    np.testing.assert_allclose(found, [[0, 1 / 2], [1 / 3, 0]], rtol=1e-6)


@pytest.mark.parametrize("block", [3, 8, 25, 1024])
@pytest.mark.parametrize(("precision", "close"), [("float32", 1e-4), ("float64", 1e-12)])
def test_equals_the_closed_form(small, monkeypatch, block, precision, close):
    monkeypatch.setattr(ease, "_BLOCK", block)
    found = EASE(regularisation=2.0, precision=precision).fit(sparse.csr_array(small)).weights
    assert found.dtype == precision
    np.testing.assert_allclose(found, closed_form(small, 2.0), atol=close)
    assert (np.diag(found) == 0).all()


def test_no_weights_but_the_diagonal_could_do_better(small):
    """The gradient of the loss vanishes everywhere but on the diagonal, which is held at zero."""
    found = EASE(regularisation=2.0, precision="float64").fit(sparse.csr_array(small)).weights
    gradient = small.T @ (small @ found - small) + 2.0 * found
    off_diagonal = ~np.eye(25, dtype=bool)
    np.testing.assert_allclose(gradient[off_diagonal], 0.0, atol=1e-12)


def test_works_in_the_place_of_one_matrix(monkeypatch, small):
    """LAPACK takes the matrix as it lies; a silent copy would double the memory."""
    given, returned = [], []
    original = ease.lapack.get_lapack_funcs

    def spy(names, arrays):
        def watched(function):
            def call(array, **options):
                result = function(array, **options)
                given.append(array)
                returned.append(result[0])
                return result

            return call

        return [watched(function) for function in original(names, arrays)]

    monkeypatch.setattr(ease.lapack, "get_lapack_funcs", spy)
    scorer = EASE().fit(sparse.csr_array(small))
    assert len(given) == 2
    assert all(np.shares_memory(array, scorer.weights) for array in (*given, *returned))


def test_too_little_regularisation():
    twins = sparse.csr_array(np.ones((3000, 4)))
    with pytest.raises(
        InputError, match=r'too small for float32.*raise it or say precision="float'
    ):
        EASE(regularisation=1e-6).fit(twins)
    with pytest.raises(InputError, match=r"too small for float64.*; raise it$"):
        EASE(regularisation=1e-14, precision="float64").fit(twins)


def test_too_many_items(monkeypatch):
    monkeypatch.setattr(ease.os, "sysconf", lambda name: {"SC_PAGE_SIZE": 4096}.get(name, 10))
    with pytest.raises(InputError, match=r"200 x 200 items, .* GiB as float32; this machine has"):
        EASE().fit(([0, 1], [0, 1]), n_items=200)
