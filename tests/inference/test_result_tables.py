"""Results as tables of other libraries, and as notebooks show them."""

from __future__ import annotations

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
    with pytest.raises(MissingExtraError, match="to_pandas needs pandas: pip install pandas"):
        EST.to_pandas()


def test_an_estimate_shows_its_interval():
    one = EST["recall@10"]
    assert repr(one).startswith(f"Estimate(recall@10 = {one.value:.5f} [{one.low:.5f}")
    bare = tr.estimate(COUNTS, "recall@10", confidence=None)["recall@10"]
    assert repr(bare) == f"Estimate(recall@10 = {bare.value:.5f}, naive {bare.naive:.5f})"


def test_keys_complete_on_tab():
    assert EST._ipython_key_completions_() == ["recall@10", "ndcg@10"]


def test_notebooks_show_counts_as_a_table():
    page = COUNTS._repr_html_()
    assert "<td>300</td>" in page
    assert "<td>50</td>" in page
    assert COUNTS.to_markdown().splitlines()[2].startswith("| 300 |")
    assert COUNTS.to_polars()["weight"].sum() == 300
