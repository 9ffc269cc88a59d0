"""Counts from score arrays: positive scores and those of their negatives."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from truerank import InputError, RankCounts, estimate
from truerank.errors import AssumptionWarning


def test_ranks_without_ties_are_those_of_the_scores() -> None:
    rng = np.random.default_rng(0)
    positive, negative = rng.random(50), rng.random((50, 20))
    found = RankCounts.from_scores(positive, negative, n_items=900, replacement=False)
    ranks = 1 + (negative > positive[:, None]).sum(axis=1)
    wanted = RankCounts.from_ranks(ranks, num_negatives=20, n_items=900, replacement=False)
    assert found == wanted
    assert found.effective_users == wanted.effective_users == 50
    naive = estimate(found, "mrr", estimator="naive", confidence=None)["mrr"].value
    assert naive == pytest.approx((1 / ranks).mean())  # what OGB's evaluator reports


@pytest.mark.parametrize("replacement", [False, True])
def test_ties_share_the_weight(replacement: bool) -> None:
    """Ten thousand ways to break them at random, within 4 standard errors."""
    positive, negative = [1.0], [[2.0, 1.0, 1.0, 0.0]]
    options: dict[str, Any] = {"n_items": 100_000, "replacement": replacement}
    found = RankCounts.from_scores(positive, negative, **options)
    assert found.sampled_rank.tolist() == [2, 3, 4]
    assert found.weight == pytest.approx([1 / 3] * 3, abs=1e-4)
    assert found.n_users == pytest.approx(found.effective_users) == 1
    for ties, rank in (("optimistic", 2), ("pessimistic", 4)):
        counts = RankCounts.from_scores(positive, negative, ties=ties, **options)  # type: ignore[arg-type]
        assert counts.sampled_rank.tolist() == [rank]


def test_pools_may_differ_and_minus_infinity_is_a_score() -> None:
    negative = [[0.0, -np.inf], [3.0, 4.0]]
    counts = RankCounts.from_scores([1, 2], negative, n_items=[90, 80])
    assert counts.n_items.tolist() == [80, 90]
    assert counts.sampled_rank.tolist() == [3, 1]


@pytest.mark.parametrize(
    ("positive", "negative", "options", "message"),
    [
        ([1.0, 2.0], [[1.0]], {}, "negative has 1 rows of scores; there are 2 positive scores"),
        ([1.0], [1.0], {}, r"negative has shape \(1,\); it must be \(n_rows, num_negatives\)"),
        ([[1.0]], [[1.0]], {}, r"positive has shape \(1, 1\); it must be \(n_rows,\)"),
        ([1.0], [[1.0, np.nan]], {}, r"negative is NaN at \(0, 1\)"),
        ([np.nan], [[1.0, 2.0]], {}, "positive is NaN at 0"),
        (["a"], [[1.0]], {}, "positive is of type <U1; it must hold numbers"),
        ([1.0, 1.0], [[1.0], [1.0, 2.0]], {}, "negative has rows of different lengths"),
        ([], np.empty((0, 3)), {}, "nothing to count"),
        ([1.0], [[]], {}, "nothing to count"),
        ([1.0], [[1.0]], {"ties": "mid"}, "unknown ties 'mid'"),
        ([1.0], [[1.0]], {"n_items": 1}, "n_items is 1"),
        ([1.0], [[1.0] * 30], {"n_items": 20, "replacement": False}, "sample_size is 31"),
    ],
)
def test_bad_scores_are_refused(
    positive: Any, negative: Any, options: dict[str, Any], message: str
) -> None:
    with pytest.raises(InputError, match=message):
        RankCounts.from_scores(positive, negative, **({"n_items": 1000} | options))


def test_large_samples_ask_how_they_were_drawn() -> None:
    with pytest.warns(AssumptionWarning, match="replacement is not said"):
        RankCounts.from_scores([1.0], [[0.5] * 30], n_items=100)
