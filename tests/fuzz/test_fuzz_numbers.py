"""Tables of any numbers give finite values, and intervals inside what a metric can be."""

from __future__ import annotations

import json
import math
import random
from typing import Any

import pytest
from tests.fuzz import fuzz

import truerank as tr

POOLS = (2, 3, 10, 101, 5000, 10**6, 10**9, 2 * 10**9, 10**12)
ESTIMATORS = (
    "naive", "rank-estimate", "cls", "bv", "mle", "wmle", "mes", "bv-mle", "mn-mle", "smooth",
)  # fmt: skip


def drawn(draw: random.Random) -> tuple[dict[str, Any], dict[str, Any]]:
    """Arguments of from_ranks, and of estimate."""
    n_items = draw.choice(POOLS)
    replacement = draw.random() < 0.5
    size = draw.choice((2, 3, 10, 100, 1000))
    size = size if replacement else min(size, n_items)
    ranks = [
        draw.choice((1, size, draw.randint(1, size))) for _ in range(draw.choice((1, 2, 3, 20)))
    ]
    given = {"ranks": ranks, "sample_size": size, "n_items": n_items, "replacement": replacement}
    metrics = [f"{name}@{min(10, n_items)}" for name in ("recall", "ndcg")] + ["ap", "auc"]
    return given, {
        "metrics": metrics,
        "estimator": draw.choice(ESTIMATORS),
        "scope": draw.choice(("these-users", "population")),
        "interval": draw.choice(("total", "sampling")),
        "plug_in": draw.choice(("plain", "posterior")),
    }


METRICS = ("recall", "ndcg", "ap", "auc", "mrr", "precision", "mr", "amr", "recall@1", "ndcg@3",
           "ap@1000000", "hit_rate@2", "recall_min@2", "ap_all@5")  # fmt: skip


def mixed(draw: random.Random) -> tuple[dict[str, Any], dict[str, Any]]:
    """Arguments as of `drawn`, of rows that differ in all that rows may differ in."""
    n_rows = draw.choice((1, 2, 5, 30))
    replacement = draw.random() < 0.5
    pools = draw.sample(POOLS, draw.choice((1, 2, 3)))
    n_items = [draw.choice(pools) for _ in range(n_rows)]
    sizes = draw.sample((2, 3, 10, 100, 1000), draw.choice((1, 2)))
    size = [draw.choice(sizes) for _ in range(n_rows)]
    if not replacement:
        size = [min(one, pool) for one, pool in zip(size, n_items, strict=True)]
    given: dict[str, Any] = {
        "ranks": [draw.choice((1, one, draw.randint(1, one))) for one in size],
        "sample_size": size,
        "n_items": n_items,
        "replacement": replacement,
    }
    if draw.random() < 0.3:
        given["weights"] = [
            draw.choice((1.0, 1e-300, 1e-45, 1e-9, 0.3, 7.0, 1e12)) for _ in range(n_rows)
        ]
    if draw.random() < 0.3:
        given["user_ids"] = [draw.choice("abc") for _ in range(n_rows)]
        given["item_ids"] = list(range(n_rows))
    asked = {
        "metrics": draw.sample(METRICS, draw.randint(1, 4)),
        "estimator": draw.choice((*ESTIMATORS, "mapped", "bv-mes", "mn-mes", "mle(steps=None)")),
        "scope": draw.choice(("these-users", "population")),
        "interval": draw.choice(("total", "sampling")),
        "plug_in": draw.choice(("plain", "posterior")),
        "confidence": draw.choice((0.95, 0.5, 0.999999)),
    }
    if asked["scope"] == "population" and draw.random() < 0.5:
        asked["population_size"] = draw.choice((10**6, 10**12))
    return given, asked


def limits(metric: str, n_items: Any) -> tuple[float, float]:
    """What a metric can be; of mean ranks, but for rounding."""
    if metric == "mr":
        return 1.0 - 1e-9, float(max(n_items if isinstance(n_items, list) else [n_items]))
    return 0.0, 2.0 if metric == "amr" else 1.0


def estimated(given: dict[str, Any], asked: dict[str, Any]) -> None:
    counts = tr.RankCounts.from_ranks(**given)
    est = tr.estimate(counts, **asked)
    linear = asked["estimator"] in ("cls", "bv", "bv-mle", "mn-mle", "naive")
    for one in est.values():
        assert math.isfinite(one.value), f"{one.metric} is {one.value}"
        assert one.low is not None
        assert one.high is not None
        assert math.isfinite(one.low + one.high)
        least, most = limits(one.metric, given["n_items"])
        assert linear or least <= one.low <= one.high <= most, (
            f"{one.metric}: {one.low}, {one.high}"
        )
    json.dumps(est.to_dict(), allow_nan=False)


def test_odd_numbers(record_property: Any) -> None:
    tally = fuzz.Tally("tables of odd numbers")
    for seed, draw in fuzz.inputs("numbers", 60):
        given, asked = drawn(draw)
        tally.look(
            f"{seed}, {given} {asked}",
            lambda given=given, asked=asked: estimated(given, asked),  # type: ignore[misc]
        )
    tally.end(record_property)


def test_mixed_tables(record_property: Any) -> None:
    tally = fuzz.Tally("tables of rows that differ")
    for seed, draw in fuzz.inputs("mixed", 60):
        given, asked = mixed(draw)
        tally.look(
            f"{seed}, {given} {asked}",
            lambda given=given, asked=asked: estimated(given, asked),  # type: ignore[misc]
        )
    tally.end(record_property)


@pytest.mark.parametrize("estimator", ["mle", "smooth"])
def test_pools_beyond_what_numpy_draws_from(estimator: str) -> None:
    given = {"sample_size": 100, "n_items": 2 * 10**9, "replacement": False}
    est = tr.estimate(
        tr.RankCounts.from_ranks([1, 2, 3, 50], **given), "recall@10", estimator=estimator
    )
    assert est["recall@10"].low is not None


def test_pools_too_large_are_refused_at_the_call() -> None:
    with pytest.raises(tr.InputError, match="n_items is 9007199254740992 at row 0; pools of up to"):
        tr.RankCounts.from_ranks([1], sample_size=10, n_items=2**53)
