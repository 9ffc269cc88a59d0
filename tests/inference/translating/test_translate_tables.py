"""`translate`: whole tables, their bad rows, and S3-Rec's printed figures."""

from __future__ import annotations

import csv
import itertools
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

import truerank as tr

S3REC = Path(__file__).parents[3].parent / "shared" / "published" / "s3rec.csv"
HEADER = "dataset,model,metric,value,n_items,n_users"


def written(folder: Path, *lines: str, header: str = HEADER) -> Path:
    path = folder / "table.csv"
    path.write_text("\n".join([header, *lines, ""]), encoding="utf-8")
    return path


def translated(path: Any, **options: Any) -> tr.TranslatedTable:
    given = {"sample_size": 100, "replacement": False, **options}
    found = tr.translate(path, "recall@10", **given)
    assert isinstance(found, tr.TranslatedTable)
    return found


def test_a_table_is_its_datasets(tmp_path: Path) -> None:
    path = written(
        tmp_path,
        "Beauty,GRU4Rec,HR@1,0.1337,12101,22363",
        "Beauty,GRU4Rec,HR@10,0.4106,12101,22363",
        "Sports,Caser,HR@10,0.4014,18357,35598",
        "Beauty,Caser,HR@10,39.42%,12101,22363",
    )
    found = translated(path)
    assert found.problems == ()
    assert list(found.rows()[0]) == ["dataset", "model", "metric", "value", "low", "high"]
    assert [(row["dataset"], row["model"]) for row in found.rows()] == [
        ("Beauty", "GRU4Rec"),
        ("Beauty", "Caser"),
        ("Sports", "Caser"),
    ]
    alone = tr.translate(
        {"HR@1": "0.1337", "HR@10": "0.4106"},
        "recall@10",
        n_items=12101,
        n_users=22363,
        sample_size=100,
        replacement=False,
    )["recall@10"]
    assert found["Beauty"]["GRU4Rec", "hr@10"].value == alone.value
    assert found["Sports"].protocol.n_items == 18357
    with pytest.raises(KeyError, match="'Toys' is no dataset of the table; there are: 'Beauty'"):
        _ = found["Toys"]
    assert found.to_dict()["datasets"][1]["estimates"][0]["naive"] == pytest.approx(0.4014)
    assert "GRU4Rec recall@10" in repr(found)


def test_bad_rows_are_named_and_the_rest_comes_out(tmp_path: Path) -> None:
    good = "B,Good,HR@10,0.4106,12101,22363"
    bad = {
        "B,A,HR@10,41.06,12101,22363": "is 41.06; it must be from 0 to 1, or in percent with the",
        "B,A,HR@200,0.41,12101,22363": "k is 200 in sampled recall@200; it must be from 1 to",
        "B,A,HRR@10,0.41,12101,22363": "unknown metric 'HRR'; did you mean",
        "B,A,MRR,much,12101,22363": "is 'much'; it must be a number such as 0.62",
        "B,,HR@10,0.41,12101,22363": "model is empty",
        "B,A,HR@5,0.41,12102,22363": "n_items is 12102, but 12101 in other rows of the dataset",
        "B,A,HR@5,0.41,12101,2": "n_users is 2, but 22363 in other rows of the dataset",
        "B,A,HR@5,0.41,,22363": "n_items is missing; other rows of the dataset have 12101",
        "C,A,HR@10,0.41,,": "n_items is missing: how many items a target is ranked among; add",
        "D,A,HR@10,0.41,many,9": "n_items is 'many'; it must be a whole number such as 12101",
        "E,A,HR@10,0.41,50,9": "sample_size is 100",
        good: "repeats line 2; counted once",
    }
    found = translated(written(tmp_path, good, *bad))
    assert [row["model"] for row in found.rows()] == ["Good"]
    told = {problem.line: str(problem) for problem in found.problems}
    for line, (row, message) in enumerate(bad.items(), start=3):
        assert message in told.pop(line), row
    assert told == {}


def test_values_that_contradict_leave_their_model_out(tmp_path: Path) -> None:
    path = written(
        tmp_path,
        "B,A,HR@10,0.41,900,500",
        "B,A,NDCG@10,0.44,900,500",
        "B,Good,HR@10,0.41,900,500",
        "B,Twice,HR@10,0.41,900,500",
        "B,Twice,hit@10,0.42,900,500",
    )
    found = translated(path)
    assert [row["model"] for row in found.rows()] == ["Good"]
    first, *others = map(str, found.problems)
    assert "line 2 (B A HR@10 0.41): no sampled ranks fit" in first
    assert len(others) == 2
    assert "is given 2 times with different values (0.41, 0.42): none is used" in others[0]


def test_a_column_that_tells_repeated_rows_apart_is_named(tmp_path: Path) -> None:
    path = written(
        tmp_path,
        "B,A,full,HR@10,0.02,900,500",
        "B,A,sampled-99,HR@10,0.41,900,500",
        "B,Good,sampled-99,HR@10,0.41,900,500",
        header="dataset,model,ranking,metric,value,n_items,n_users",
    )
    told = translated(path).problems
    assert "they differ in the column ranking (full, sampled-99)" in str(told[0])


def test_options_fill_in_what_a_table_does_not_say(tmp_path: Path) -> None:
    path = written(tmp_path, "A,HR@10,0.4100", header="model,metric,value")
    found = translated(path, n_items=900, n_users=500)
    assert (found[""].protocol.n_items, found[""].protocol.n_users) == (900, 500)
    with pytest.raises(tr.InputError, match=r"no row of the table can be used; line 2 .A HR@10"):
        translated(path)
    with pytest.raises(tr.InputError, match="has no column value; found: model, metric"):
        translated(written(tmp_path, "A,HR@10", header="model,metric"))
    with pytest.raises(tr.InputError, match="has no rows"):
        translated(written(tmp_path))
    with pytest.raises(tr.InputError, match=r"nowhere.csv cannot be read"):
        translated(tmp_path / "nowhere.csv")


def test_floats_get_back_the_zeros_that_they_lost() -> None:
    frame = pd.DataFrame(
        {"model": ["A", "A"], "metric": ["HR@1", "HR@10"], "value": [0.13, 0.4106]}
    )
    found = translated(frame, n_items=900, n_users=500)
    assert [value.text for value in found[""].published] == ["0.1300", "0.4106"]


def test_s3rec() -> None:
    """Thirty models whose figures among 99 and among all items the authors printed."""
    if not S3REC.exists():
        pytest.skip("shared/published/s3rec.csv is not beside the repository")
    with S3REC.open(encoding="utf-8") as file:
        rows = list(csv.DictReader(file))
    frame = pd.DataFrame([row for row in rows if row["ranking"] == "sampled-99"])
    asked = ["recall@10", "recall@20", "ndcg@10"]
    found = tr.translate(frame, asked, sample_size=100, replacement=False)
    estimate = {(r["dataset"], r["model"], r["metric"]): r for r in found.rows()}
    truth = {
        (row["dataset"], row["model"], row["metric"].lower().replace("hr", "recall")): float(
            row["value"]
        )
        for row in rows
        if row["ranking"] == "full"
    }
    both = [key for key in estimate if key in truth]
    assert len(both) == 90
    value, low, high = (np.array([estimate[k][c] for k in both]) for c in ("value", "low", "high"))
    exact = np.array([truth[key] for key in both])
    assert np.median(np.abs(value / exact - 1)) <= 0.16
    assert ((low <= exact) & (exact <= high)).mean() >= 0.90
    for metric in asked:
        at = [i for i, key in enumerate(both) if key[2] == metric]
        error = np.sqrt(np.mean((value - exact)[at] ** 2))
        assert np.mean((high - low)[at] / 2) <= 1.5 * 1.96 * error
    wrong = sum(
        (estimate[one]["value"] - estimate[other]["value"]) * (truth[one] - truth[other]) < 0
        for one, other in itertools.combinations(both, 2)
        if one[0] == other[0] and one[2] == other[2] == "recall@10"
    )
    assert wrong <= 22  # of 135; the sampled HR@10 misorders 32
