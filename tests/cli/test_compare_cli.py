from __future__ import annotations

import csv
import io
import json
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

import truerank as tr
from truerank.inference.comparing.compare import compare_all

DESIGN = ("--n-items", 3706, "--sample-size", 100)


@pytest.fixture
def models(here: Path) -> dict[str, pd.DataFrame]:
    """Sampled ranks of 400 users by three models: in a file each, in one, and as counts."""
    rng = np.random.default_rng(3)
    level = rng.random(400)
    tables = {}
    for name, power in {"ease": 5.0, "als": 2.5, "knn": 2.4}.items():
        rank = 1 + rng.binomial(99, np.clip(level + 0.1 * rng.random(400), 0, 1) ** power)
        tables[name] = pd.DataFrame({"user_id": range(400), "rank": rank})
        tables[name].to_csv(here / f"{name}.csv", index=False)
        counts = tr.RankCounts.from_table(tables[name], n_items=3706, sample_size=100)
        counts.save(here / f"{name}.parquet")
    every = [table.assign(model=name) for name, table in tables.items()]
    pd.concat(every).assign(n_items=3706, sample_size=100).to_parquet(here / "all.parquet")
    return tables


def test_the_answer_of_the_library(run: Any, models: dict[str, pd.DataFrame]) -> None:
    files = ("ease.csv", "als.csv", "knn.csv")
    content = json.loads(run("compare", *files, *DESIGN, "-m", "recall@50,ndcg@10", "--json").out)
    asked = ["recall@50", "ndcg@10"]
    want, _ = compare_all(models, asked, n_items=3706, sample_size=100)
    first, second = content["comparisons"]
    assert (first["metric"], second["metric"]) == ("recall@50", "ndcg@10")
    assert first["verdict"] == want.verdict
    assert first["paired"] is True
    assert [one["model"] for one in first["ranking"]] == [one.model for one in want.ranking]
    assert [one["p_holm"] for one in first["differences"]] == [
        one.p_holm for one in want.differences
    ]
    assert len(first["differences"][0]["tests"]) == 3
    alone = tr.compare(models, "recall@50", n_items=3706, sample_size=100)
    assert alone["ease", "als"].value == pytest.approx(want["ease", "als"].value, rel=1e-3)
    both = ("-m", "recall@50", "-m", "ndcg@10")
    assert json.loads(run("compare", "all.parquet", *both, "--json").out) == content
    rows = list(csv.DictReader(io.StringIO(run("compare", "all.parquet", *both, "--csv").out)))
    every = [*first["differences"], *second["differences"]]
    assert [float(row["value"]) for row in rows] == [one["value"] for one in every]
    assert "tests" not in rows[0]


def test_text_says_the_verdict_first(run: Any, models: Any) -> None:
    found = run("compare", "ease.csv", "als.csv", *DESIGN, "-m", "recall@50", "--tests")
    lines = found.out.splitlines()
    assert lines[0].startswith("ease is better than als on recall@50: +0.")
    assert any(line.startswith("Paired: the same 400 users") for line in lines)
    assert any(line.split()[:3] == ["ease", "-", "als"] for line in lines)
    assert "Wilcoxon" in found.out
    assert max(map(len, lines)) <= 80
    counts = run("compare", "ease.parquet", "als.parquet", "knn.parquet", "--scope", "population")
    assert "Unpaired: counts do not say which rank is whose." in counts.out
    assert max(map(len, counts.out.splitlines())) <= 80
    only = run("compare", "all.parquet", "--baseline", "knn", "-m", "recall@50", "--unpaired")
    assert only.out.startswith("On recall@50, ease is better than knn; 1 of 2 not decided.")
    assert "Unpaired: as asked for." in only.out


def test_errors_are_a_line(run: Any, models: Any, here: Path) -> None:
    models["als"].iloc[1:].to_csv(here / "fewer.csv", index=False)
    for arguments, message in [
        (("ease.csv",), "is one file without a column model; give a file for each model"),
        (("ease.csv", "fewer.csv"), "such as user 0; compare on the same users"),
        (("ease.csv", "als.csv", "--by", "model"), "--by is model, but there are 2 files"),
        (("ease.csv", "ease.csv"), "ease.csv is given twice"),
        (("ease.csv", "als.csv", "--baseline", "x"), "unknown baseline 'x'"),
    ]:
        found = run("compare", *arguments, *DESIGN)
        assert found.code == 2
        assert message in found.err
        assert found.err.count("\n") == 1
    assert "--unpaired" in run("compare", "ease.csv", "fewer.csv", *DESIGN).err


def test_paired_counts_of_a_file_and_of_parts(run: Any, here: Path) -> None:
    rng = np.random.default_rng(0)
    scores = rng.normal(size=(3, 60, 80))
    scores[:, :, 0] += [[1.5], [1.0], [0.5]]
    models = {name: tr.scoring.Dense(one) for name, one in zip("ABC", scores, strict=True)}
    design = tr.designs.Fixed(sample_size=20)
    parts = [
        tr.count(models, (users, 0 * users), design) for users in np.split(np.arange(60), [25])
    ]
    whole = parts[0] + parts[1]
    whole.save(here / "paired.parquet")
    for name, part in zip(("one", "two"), parts, strict=True):
        part.save(here / f"{name}.parquet")
    content = json.loads(run("compare", "paired.parquet", "-m", "recall@10", "--json").out)
    (found,) = content["comparisons"]
    want = tr.compare(whole, "recall@10")
    assert found["verdict"] == want.verdict
    assert "ranked among the same negatives" in found["how"]
    assert [one["std_error"] for one in found["differences"]] == [
        one.std_error for one in want.differences
    ]
    both = run("compare", "one.parquet", "two.parquet", "-m", "recall@10", "--json").out
    assert json.loads(both) == content
    assert tr.compare(here / "paired.parquet", "recall@10").verdict == want.verdict
    estimated = run("estimate", "paired.parquet", "--by", "model", "-m", "recall@10")
    assert "A" in estimated.out


def test_paired_counts_beside_other_files(run: Any, models: Any, here: Path) -> None:
    scores = np.random.default_rng(0).normal(size=(2, 30, 40))
    pair = {name: tr.scoring.Dense(one) for name, one in zip("AB", scores, strict=True)}
    users = np.arange(30)
    tr.count(pair, (users, users), tr.designs.Fixed(sample_size=9)).save(here / "paired.parquet")
    for arguments, said in (
        (("compare", "paired.parquet", "ease.parquet"), "give files of one kind"),
        (("compare", "paired.parquet", "--n-items", 40), "holds saved counts, which carry that"),
        (("compare", "paired.parquet", "--by", "seed"), "--by is seed"),
        (("estimate", "paired.parquet"), "paired counts of several models"),
    ):
        found = run(*arguments)
        assert found.code == 2
        assert said in found.err


@pytest.fixture
def versions(here: Path) -> None:
    """Exact ranks of 500 users by an old model, one that is much worse, and one much like it."""
    rng = np.random.default_rng(1)
    old = rng.geometric(0.1, 500).clip(1, 900)
    worse = np.where(rng.random(500) < 0.4, old + 200, old)
    same = np.where(rng.random(500) < 0.02, old + 1, old)
    for name, rank in {"old": old, "worse": worse, "same": same}.items():
        table = pd.DataFrame({"user_id": range(500), "rank": rank, "n_items": 2000})
        table.assign(sample_size=2000).to_parquet(here / f"{name}.parquet")


@pytest.mark.parametrize(
    ("new", "margin", "code", "said"),
    [
        ("worse", 0.01, 3, "Gate failed: worse is worse than old by more than 0.01"),
        ("worse", 0.9, 0, "Gate passed: worse is not worse than old by more than 0.9"),
        ("same", 0.05, 0, "Gate passed: same is not worse"),
    ],
)
def test_the_gate(run: Any, versions: Any, new: str, margin: float, code: int, said: str) -> None:
    files = (f"{new}.parquet", "old.parquet", "--no-replacement")
    asked = ("--gate", "ndcg@10", "--margin", margin)
    found = run("compare", *files, *asked, "--json")
    assert found.code == code
    gate = json.loads(found.out)["gate"]
    assert gate["verdict"].startswith(said)
    assert gate["passed"] is (code == 0)
    want = tr.compare(
        {name: f"{name}.parquet" for name in (new, "old")}, "ndcg@10", replacement=False
    )
    assert gate["difference"]["high"] == want[new, "old"].high
    text = run("compare", *files, *asked)
    assert text.code == code
    assert " ".join(text.out.split()).startswith(said)


def test_the_comment_of_a_pull_request(run: Any, versions: Any, here: Path) -> None:
    files = ("worse.parquet", "old.parquet", "--no-replacement", "--gate", "ndcg@10")
    found = run("compare", *files, "--margin", 0.01, "-m", "recall@5", "--markdown")
    assert found.code == 3
    assert found.out.startswith("### ❌ Gate failed: worse is worse than old")
    assert "**recall@5.**" in found.out
    assert "| worse | " in found.out.replace("| 2 | worse", "| worse")
    assert "| old - worse | +" in found.out
    assert "<summary>Protocol</summary>" in found.out
    assert "Paired: the same 500 users" in found.out
    assert max(map(len, found.out.splitlines())) > 80  # lines are not wrapped
    assert run("compare", *files, "--markdown", "-o", "comment.md").code == 3
    assert (here / "comment.md").read_text().startswith("### ❌ Gate failed")


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("--margin", 0.01), "--gate is not given"),
        (("--gate", "ndcg@10", "--margin", -1), "margin is -1"),
        (("--gate", "recall@5,10"), "several metrics"),
        (("--gate", "ndcg@10", "same.parquet"), "there are 3: worse, old, same"),
        (("--markdown", "--json"), "--markdown is given, and so is json"),
    ],
)
def test_gates_that_cannot_be(run: Any, versions: Any, arguments: Any, said: str) -> None:
    found = run("compare", "worse.parquet", "old.parquet", "--no-replacement", *arguments)
    assert found.code == 2
    assert said in " ".join(found.err.split())
