from __future__ import annotations

import csv
import io
import json
import re
import shlex
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from truerank import RankCounts, mapping
from truerank.cli.map import HELP

# LJ24 table 3, n = 1000: n_items -> f(1) and f(2) by linear, bound, beta(0.5) and beta(1).
LJ24_TABLE_3 = {
    9916: ([1, 5, 9, 11], [11, 15, 19, 21]),
    25815: ([1, 13, 21, 27], [27, 39, 47, 53]),
    20720: ([1, 10, 17, 22], [22, 31, 38, 42]),
}
NAMES = ["linear", "bound", "beta(0.5)", "beta(1)"]


@pytest.mark.parametrize("n_items", LJ24_TABLE_3)
def test_published_table(run: Any, n_items: int) -> None:
    options = ("--n-items", n_items, "--sample-size", 1000, "--k", "1,2")
    content = json.loads(run("map", *options, "--json").out)
    assert (content["n_items"], content["sample_size"]) == (n_items, 1000)
    found = {(row["k"], row["mapping"]): row["global_k"] for row in content["results"]}
    lines = run("map", *options).out.splitlines()
    for k, expected in zip((1, 2), LJ24_TABLE_3[n_items], strict=True):
        assert [round(found[k, name]) for name in NAMES] == expected
        (line,) = [line.split() for line in lines if line.split()[:1] == [str(k)]]
        assert [int(cell) for cell in line[1:]] == expected


def test_sentence_below_the_table(run: Any) -> None:
    out = run("map", "--n-items", 3706, "--sample-size", 100).out
    assert out.splitlines()[0] == "pool of 3,706 items · samples of 100"
    assert out.splitlines()[-1] == "So sampled recall@10 is about global recall@356 (bound)."
    out = run("map", "--n-items", 3706, "--sample-size", 100, "--k", "3", "--mapping", "linear").out
    # (3-1) * 3705/99 + 1 = 75.85
    assert out.splitlines()[-1] == "So sampled recall@3 is about global recall@76 (linear)."


def test_csv(run: Any) -> None:
    out = run("map", "--n-items", 3706, "--sample-size", 100, "-k", "1,100", "--csv").out
    rows = list(csv.DictReader(io.StringIO(out)))
    assert list(rows[0]) == ["k", "mapping", "global_k"]
    assert [row["mapping"] for row in rows] == NAMES * 2
    for row in rows:
        f = mapping.get(row["mapping"])
        expected = float(f(int(row["k"]), n_items=3706, sample_size=100))
        assert float(row["global_k"]) == pytest.approx(expected, rel=1e-12)


def test_num_negatives_and_default_cut_offs(run: Any) -> None:
    one = run("map", "--n-items", 3706, "--num-negatives", 7, "--json")
    assert one.out == run("map", "--n-items", 3706, "--sample-size", 8, "--json").out
    assert sorted({row["k"] for row in json.loads(one.out)["results"]}) == [1, 2, 5]


def test_fitted_to_ranks(run: Any, ranks: np.ndarray, here: Path) -> None:
    counts = RankCounts.from_ranks(ranks, n_items=3706, sample_size=100)
    a = mapping.fit_beta(counts).a
    options = ("--n-items", 3706, "--sample-size", 100, "--ranks", "ranks.csv", "-k", "10")
    result = run("map", *options, "--json")
    row = json.loads(result.out)["results"][-1]
    assert row["mapping"] == f"beta@P(a={a:.3g})"
    expected = float(mapping.beta(10, n_items=3706, sample_size=100, a=a))
    assert row["global_k"] == pytest.approx(expected, rel=1e-9)
    counts.save(here / "counts.parquet")
    assert run("map", "--ranks", "counts.parquet", "-k", "10", "--json").out == result.out


def test_replacement_is_no_matter_for_a_mapping(run: Any, here: Path) -> None:
    (here / "r.csv").write_text("rank\n1\n5\n20\n")
    result = run("map", "--n-items", 200, "--sample-size", 100, "--ranks", "r.csv")
    assert (result.code, result.err) == (0, "")


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ("--sample-size 100", "--n-items is missing"),
        ("--n-items 100", "neither is given"),
        ("--n-items 100 --sample-size 9 --num-negatives 8", "both are given"),
        ("--n-items 1 --sample-size 100", "n_items is 1"),
        ("--n-items 100 --sample-size 1", "sample_size is 1"),
        ("--n-items 100 --sample-size 5 --k 10", "k is 10; it must be from 1 to sample_size=5"),
        ("--n-items 100 --sample-size 5 --k 0", "k is 0"),
        ("--n-items 100 --sample-size 5 --k 1.5", "--k is '1.5'"),
        ("--n-items 100 --sample-size 5 --mapping linaer", "did you mean 'linear'?"),
        ("--n-items 100 --sample-size 5 --mapping beta(x)", "it must be a number above 0"),
        ("--n-items 100 --sample-size 5 --mapping beta@P", "give --ranks FILE"),
        ("--n-items 100 --sample-size 5 --json --csv", "--json and --csv are both given"),
        ("--ranks pools.csv", "n_items is from 90 to 100 in the ranks file"),
    ],
)
def test_bad_input(run: Any, here: Path, options: str, message: str) -> None:
    (here / "pools.csv").write_text("rank,n_items,sample_size\n1,90,10\n2,100,10\n")
    result = run("map", *options.split())
    assert (result.code, result.out) == (2, "")
    assert result.err.startswith("error: ")
    assert message in result.err
    assert len(result.err.splitlines()) == 1


def test_every_example_of_the_help_runs(run: Any, ranks: np.ndarray) -> None:
    examples = re.findall(r"^truerank (.*)$", HELP, re.MULTILINE)
    assert len(examples) >= 3
    for example in examples:
        result = run(*shlex.split(example))
        assert result.code == 0, (example, result.err)
        assert "is about global recall@" in result.out
