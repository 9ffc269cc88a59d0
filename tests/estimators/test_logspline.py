"""The splines of log-spline laws, against scipy's."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.interpolate import BSpline

from truerank.estimators import _logspline
from truerank.estimators._logspline import DEGREE, _knots, log_spline, splines
from truerank.estimators.support import compressed


@pytest.mark.parametrize(("n_items", "n_functions"), [(2, 20), (100, 20), (3706, 26), (10**9, 48)])
def test_splines_are_those_of_scipy(n_items, n_functions):
    knots = _knots(n_items, n_functions)
    within = np.random.default_rng(0).uniform(knots[0], knots[-1], 1000)
    at = np.concatenate([knots, within])
    expected = BSpline.design_matrix(at, knots, DEGREE).toarray()
    np.testing.assert_allclose(splines(at, knots), expected, rtol=0, atol=1e-14)
    np.testing.assert_allclose(splines(at, knots).sum(axis=1), 1.0, rtol=0, atol=1e-14)


def test_products_of_splines_leave_out_zeros_only(monkeypatch):
    spline = log_spline(compressed(100_000, sharpness=5000.0), 30)
    weight = np.random.default_rng(0).standard_normal(spline.basis.shape[0])
    expected = spline.basis.T @ (weight[:, None] * spline.basis)
    monkeypatch.setattr(_logspline, "_MANY_POINTS", 1)
    np.testing.assert_allclose(spline.gram(weight), expected, rtol=1e-12, atol=1e-12)
