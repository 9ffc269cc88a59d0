"""`truerank report`: files in, one page out."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import pytest

pytest.importorskip("jinja2")

DESIGN = ("--n-items", 900, "--sample-size", 50, "--replacement", "-m", "recall@20")


@pytest.fixture
def tables(here: Any) -> pd.DataFrame:
    rng = np.random.default_rng(0)
    share = rng.random(200)
    parts = []
    for name, power in {"ease": 5.0, "als": 2.0}.items():
        rank = 1 + rng.binomial(49, share**power)
        parts.append(pd.DataFrame({"user_id": range(200), "rank": rank, "model": name}))
        parts[-1].drop(columns="model").to_csv(here / f"{name}.csv", index=False)
    pd.concat(parts).to_csv(here / "all.csv", index=False)
    return pd.concat(parts)


def test_several_files_or_one_that_holds_all(run: Any, here: Any, tables: Any) -> None:
    first = run("report", "ease.csv", "als.csv", *DESIGN, "--title", "Two", "--output", "a.html")
    assert (first.code, first.out) == (0, "a.html\n")
    text = (here / "a.html").read_text(encoding="utf-8")
    assert "<title>Two</title>" in text
    assert "ease is better than als on recall@20" in text
    assert "Paired: the same 200 users" in text
    assert run("report", "all.csv", *DESIGN, "--title", "Two", "--output", "b.html").code == 0
    assert (here / "b.html").read_text(encoding="utf-8") == text


def test_one_model_alone(run: Any, here: Any, tables: Any) -> None:
    assert run("report", "ease.csv", *DESIGN, "--confidence", 0.8).code == 0
    text = (here / "report.html").read_text(encoding="utf-8")
    assert "recall@20 of ease on the whole catalogue is" in text
    assert "80 % interval" in text


def test_what_cannot_be(run: Any, here: Any, tables: Any) -> None:
    (here / "x.html").write_text("rank\n1\n")
    same = run("report", "x.html", "--output", "x.html", *DESIGN)
    assert same.code == 2
    assert "an input file" in same.err
    ending = run("report", "ease.csv", "--output", "page.pdf", *DESIGN)
    assert ending.code == 2
    assert "give it the ending .html" in ending.err
    several = run("report", "ease.csv", "als.csv", "--by", "model", *DESIGN)
    assert several.code == 2
    assert "--by is model, but there are 2 files" in several.err
