from __future__ import annotations

import builtins

import numpy as np
import pytest
from scipy import sparse

from truerank.errors import MissingExtraError
from truerank.models import ALS


def test_ends_where_the_gradient_of_the_documented_loss_vanishes(small):
    """implicit solves for the items last, by a few conjugate gradients from the last solution."""
    pytest.importorskip("implicit")
    model = ALS(dimensions=4, regularisation=0.5, observed_weight=3.0, iterations=60)
    fitted = model.fit(sparse.csr_array(small))
    users, items = (x.astype(np.float64) for x in (fitted.user_factors, fitted.item_factors))
    y = users @ items.T
    pull = np.where(small > 0, 3.0 * (y - 1), y)
    np.testing.assert_allclose(pull.T @ users + 0.5 * items, 0.0, atol=5e-3)


def test_says_which_extra_is_missing(monkeypatch, small):
    original = builtins.__import__

    def without(name, *args, **kwargs):
        if name.split(".")[0] == "implicit":
            raise ImportError(name)
        return original(name, *args, **kwargs)

    monkeypatch.setattr(builtins, "__import__", without)
    with pytest.raises(MissingExtraError, match=r"truerank\[models\]"):
        ALS().fit(sparse.csr_array(small))
