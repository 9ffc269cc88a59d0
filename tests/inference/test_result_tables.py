"""Results as tables of other libraries, and as notebooks show them."""

from __future__ import annotations

import json
import sys

import numpy as np
import pytest

import truerank as tr
from truerank.errors import MissingExtraError

RANKS = np.random.default_rng(0).geometric(0.2, 300).clip(1, 50)
COUNTS = tr.RankCounts.from_ranks(RANKS, sample_size=50, n_items=800, replacement=False)
EST = tr.estimate(COUNTS, ["recall@10", "ndcg@10"])


def test_tables_hold_the_same_in_every_library():
    rows = EST.rows()
    assert EST.to_arrow().to_pylist() == rows
    assert EST.to_polars().to_dicts() == rows
    assert EST.to_pandas()["value"].tolist() == [row["value"] for row in rows]


def test_without_the_library_the_message_names_it(monkeypatch):
    monkeypatch.setitem(sys.modules, "pandas", None)
    monkeypatch.setitem(sys.modules, "polars", None)
    interactions = tr.data.Interactions([1], [2])
    for result in (EST, COUNTS, interactions):
        with pytest.raises(MissingExtraError, match="to_pandas needs pandas: pip install pandas"):
            result.to_pandas()
    for result in (EST, COUNTS):
        with pytest.raises(MissingExtraError, match="to_polars needs polars: pip install polars"):
            result.to_polars()


def test_every_result_is_a_table_in_every_form():
    test = np.arange(50), np.arange(50)
    scorer = tr.scoring.Dense(np.random.default_rng(0).random((50, 400)))
    worse = tr.RankCounts.from_ranks(RANKS + 0, sample_size=50, n_items=800, replacement=False)
    results = [
        EST,
        tr.compare({"a": COUNTS, "b": worse}, "recall@10"),
        tr.evaluate(scorer, test, "adaptive(budget=20)", metrics="recall@10"),
        tr.plan(like=COUNTS, metric="recall@10", error=0.1, designs=["fixed", "exact"]),
        tr.translate({"hr@10": "0.62"}, n_items=1000, num_negatives=99, replacement=False),
        tr.audit(test=test),
        COUNTS,
    ]
    for result in results:
        n_rows = result.to_arrow().num_rows
        assert n_rows > 0
        assert len(result.to_pandas()) == len(result.to_polars()) == n_rows
        assert json.loads(json.dumps(result.to_dict(), allow_nan=False))
        assert result.to_markdown().startswith("| ")
        assert "<table>" in result._repr_html_()


def test_counts_as_plain_data_hold_all_outcomes():
    found = COUNTS.to_dict()
    assert found["n_users"] == 300.0
    assert sum(one["weight"] for one in found["outcomes"]) == 300.0
    assert [one["sampled_rank"] for one in found["outcomes"]] == COUNTS.sampled_rank.tolist()


def test_an_estimate_shows_its_interval():
    one = EST["recall@10"]
    assert repr(one).startswith(f"Estimate(recall@10 = {one.value:.5f} [{one.low:.5f}")
    bare = tr.estimate(COUNTS, "recall@10", confidence=None)["recall@10"]
    assert repr(bare) == f"Estimate(recall@10 = {bare.value:.5f}, naive {bare.naive:.5f})"


def test_keys_complete_on_tab():
    assert EST._ipython_key_completions_() == ["recall@10", "ndcg@10"]
    options = {"n_items": 1000, "num_negatives": 99, "replacement": False}
    (pair,) = tr.compare({"a": COUNTS, "b": COUNTS}, "recall@10")._ipython_key_completions_()
    assert set(pair) == {"a", "b"}
    one = tr.translate({"hr@10": "0.62"}, "recall@10", **options)
    assert one._ipython_key_completions_() == ["recall@10"]
    two = tr.translate({"A": {"hr@10": "0.62"}, "B": {"hr@10": "0.52"}}, "recall@10", **options)
    assert two._ipython_key_completions_() == [("A", "recall@10"), ("B", "recall@10")]
    assert two["A", "recall@10"].model == "A"


def test_notebooks_show_counts_as_a_table():
    page = COUNTS._repr_html_()
    assert "<td>300</td>" in page
    assert "<td>50</td>" in page
    assert COUNTS.to_markdown().splitlines()[2].startswith("| 300 |")
    assert COUNTS.to_polars()["weight"].sum() == 300
