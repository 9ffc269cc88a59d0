"""Likelihoods in blocks, against every entry."""

from __future__ import annotations

import numpy as np
import pytest

import truerank as tr
from truerank.estimators import _banded
from truerank.estimators import likelihood as module
from truerank.estimators.likelihood import likelihood, make_support


def tables():
    """Samples of several kinds, sizes and pools."""
    rng = np.random.default_rng(0)
    share = rng.random(400) ** 3.0
    pools = rng.integers(60_000, 90_000, 400)
    large = 1 + rng.binomial(4999, share)
    small = 1 + rng.binomial(299, share)
    size = rng.choice([200, 2000, 20_000], 400)
    mixed = 1 + rng.binomial(size - 1, share)
    of = tr.RankCounts.from_ranks
    return {
        "with": of(large, n_items=70_000, sample_size=5000, replacement=True),
        "without": of(large, n_items=70_000, sample_size=5000, replacement=False),
        "nearly all": of(large, n_items=5200, sample_size=5000, replacement=False),
        "pools": of(small, n_items=pools, sample_size=300, replacement=False),
        "sizes": of(mixed, n_items=pools, sample_size=size, replacement=True)
        + of(large, n_items=70_000, sample_size=5000, replacement=False),
        "ends": of([1, 1, 5000, 5000, 2], n_items=70_000, sample_size=5000, replacement=False),
    }


@pytest.mark.parametrize("kind", list(tables()))
def test_what_is_left_out_is_next_to_nothing(kind, monkeypatch):
    counts = tables()[kind]
    support = make_support(counts, tr.metrics.parse("recall@10"), "auto")
    monkeypatch.setattr(module, "_BANDED_ABOVE", 1 << 60)
    whole = likelihood(counts, support)
    monkeypatch.setattr(module, "_BANDED_ABOVE", 0)
    monkeypatch.setattr(module, "_FILLED", 2.0)
    found = likelihood(counts, support)
    assert isinstance(found.matrix, _banded.Banded)
    np.testing.assert_allclose(found.matrix.toarray(), whole.matrix, rtol=1e-12, atol=_banded.CUT)
    np.testing.assert_allclose(found.log_scale, whole.log_scale, rtol=1e-13)


def test_products_are_those_of_the_array(monkeypatch):
    monkeypatch.setattr(module, "_BANDED_ABOVE", 0)
    monkeypatch.setattr(module, "_FILLED", 2.0)
    counts = tables()["sizes"]
    matrix = likelihood(counts, make_support(counts, [], "auto")).matrix
    array = matrix.toarray()
    rng = np.random.default_rng(1)
    n_rows, n_columns = array.shape
    near = {"rtol": 1e-12, "atol": 1e-14}
    for shape in ((n_columns,), (n_columns, 3)):
        right = rng.random(shape)
        np.testing.assert_allclose(matrix @ right, array @ right, **near)
    for shape in ((n_rows,), (3, n_rows)):
        left = rng.random(shape)
        np.testing.assert_allclose(left @ matrix, left @ array, **near)
    below = rng.random((n_rows, 2))
    np.testing.assert_allclose(matrix.T @ below, array.T @ below, **near)
    np.testing.assert_array_equal(matrix[3:9], array[3:9])
    np.testing.assert_array_equal(matrix[np.array([7, 2])], array[[7, 2]])
    np.testing.assert_array_equal(matrix[:, :5], array[:, :5])


def test_estimates_do_not_depend_on_it(monkeypatch):
    counts = tables()["without"]
    wanted = ["recall@10", "recall@1000", "ndcg@10", "auc"]
    for estimator in ("smooth", "mle", "mle(steps=None)"):
        found = {}
        for above in (0, 1 << 60):
            monkeypatch.setattr(module, "_BANDED_ABOVE", above)
            est = tr.estimate(counts, wanted, estimator=estimator)
            found[above] = [est[name].value for name in wanted]
        np.testing.assert_allclose(*found.values(), rtol=1e-9)
