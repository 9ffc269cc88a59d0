from __future__ import annotations

import warnings
from dataclasses import replace

import numpy as np
import pytest
from scipy import sparse

from truerank.errors import ConvergenceWarning
from truerank.models import IALS, ials

MODEL = IALS(dimensions=5, regularisation=0.7, unobserved_weight=0.3, iterations=8, tolerance=None)


def loss(model: IALS, train: np.ndarray, users: np.ndarray, items: np.ndarray) -> float:
    """As KR20 print it, over every pair."""
    y = users @ items.T
    size = (users**2).sum() + (items**2).sum()
    return (
        (train * (y - 1) ** 2).sum()
        + model.unobserved_weight * (y**2).sum()
        + model.regularisation * size
    )


def gradient(model: IALS, train: np.ndarray, users: np.ndarray, items: np.ndarray) -> np.ndarray:
    """Half the gradient of the loss in the users' factors."""
    y = users @ items.T
    pull = (train * (y - 1) + model.unobserved_weight * y) @ items
    return pull + model.regularisation * users


@pytest.mark.parametrize("block", [1, 60, 2**23])
def test_a_half_step_ends_where_the_gradient_vanishes(small, monkeypatch, block):
    monkeypatch.setattr(ials, "_BLOCK", block)
    items = np.random.default_rng(0).standard_normal((25, 5))
    users = MODEL._half_step(sparse.csr_array(small), items)
    np.testing.assert_allclose(gradient(MODEL, small, users, items), 0.0, atol=1e-10)
    assert (users[3] == 0).all()  # nothing had, nothing known
    items = MODEL._half_step(sparse.csr_array(small.T), users)
    np.testing.assert_allclose(gradient(MODEL, small.T, items, users), 0.0, atol=1e-10)


def test_half_step_by_hand():
    # One dimension, items 1 and 2; the user had the second: (alpha 5 + 4 + lambda) v = 2.
    model = IALS(dimensions=1, regularisation=3.0, unobserved_weight=0.2)
    found = model._half_step(sparse.csr_array([[0.0, 1.0]]), np.array([[1.0], [2.0]]))
    assert found == pytest.approx(np.array([[2 / 8]]))


def test_loss_never_rises_and_is_the_loss(small):
    fitted = MODEL.fit(sparse.csr_array(small), seed=1)
    assert fitted.n_iter == 8
    assert (np.diff(fitted.losses) <= 1e-12 * fitted.losses[0]).all()
    # Factors are padded with zeros, which the loss does not see, and rounded to float32.
    ours = loss(MODEL, small, fitted.user_factors.astype(float), fitted.item_factors.astype(float))
    assert fitted.losses[-1] == pytest.approx(ours, rel=1e-6)


def test_says_whether_it_converged(small):
    train = sparse.csr_array(small)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert not MODEL.fit(train).converged  # not asked for
        done = replace(MODEL, iterations=2000, tolerance=1e-6).fit(train)
    assert done.converged
    assert 2 <= done.n_iter < 2000
    assert done.losses[-2] - done.losses[-1] < 1e-6 * done.losses[-1]
    with pytest.warns(ConvergenceWarning, match=r"after iterations=2, .* tolerance=1e-06"):
        hasty = replace(MODEL, iterations=2, tolerance=1e-6).fit(train)
    assert not hasty.converged


def test_kr20_x_is_what_the_paper_says():
    model = IALS.kr20_x()
    assert (model.dimensions, model.regularisation, model.unobserved_weight) == (16, 10.0, 0.2)
