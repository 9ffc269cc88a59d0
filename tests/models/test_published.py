"""The models on ml-1m give the figures of the papers."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

import truerank as tr
from truerank.evaluation import count
from truerank.models import IALS, ItemKNN

METRICS = ["recall@10", "ndcg@10", "ap", "auc"]


def percent(model, ml_1m, *, leave_out=True):
    """Exact metrics in percent, ties spread."""
    train, test = ml_1m
    scorer = model.fit(train, item_ids=test["item_id"])
    counts = count(scorer, test, train=train if leave_out else None)
    estimates = tr.estimate(counts, METRICS, estimator="naive")
    return np.array([100 * estimates[metric].value for metric in METRICS])


# KR20 table 3, exact columns: training items left out.
def test_kr20_y(ml_1m):
    ours = percent(ItemKNN.kr20_y(), ml_1m)
    assert ours == pytest.approx([8.84, 4.59, 4.32, 85.33], abs=0.02)


def test_kr20_z(ml_1m):
    ours = percent(ItemKNN.kr20_z(), ml_1m)
    assert ours == pytest.approx([9.42, 4.79, 4.44, 74.73], abs=0.1)


def test_kr20_z_by_row_is_another_model(ml_1m):
    """Eq. 28 with k' = 10 read literally does not give the table."""
    ours = percent(replace(ItemKNN.kr20_z(), neighbours=10, column_neighbours=None), ml_1m)
    assert ours == pytest.approx([8.1, 3.9, 3.7, 84.0], abs=0.4)


def test_kr20_x(ml_1m):
    """Where the paper stopped is not said: ten iterations are near enough, and take seconds."""
    model = replace(IALS.kr20_x(), iterations=10, tolerance=None)
    assert percent(model, ml_1m) == pytest.approx([7.60, 3.76, 3.75, 89.13], abs=0.5)


# JL21 table 2: all items ranked, training items among them.
def test_jl21_item_knn(ml_1m):
    recall = percent(ItemKNN.jl21(), ml_1m, leave_out=False)[0]
    assert 10 * recall == pytest.approx(42.72, abs=0.3)
