from __future__ import annotations

import csv
import io
import json
import shlex
from typing import Any

import numpy as np
import pytest

import truerank as tr

ASK = ("--n-items", 60, "--n-users", 80, "-m", "recall@5", "--error", 0.3)


def test_text_json_and_csv_say_the_same(run: Any) -> None:
    plan = tr.plan(60, 80, "recall@5", 0.3)
    found = json.loads(run("plan", *ASK, "--json").out)
    assert found == plan.to_dict()
    text = run("plan", *ASK)
    assert (text.code, text.err) == (0, "")
    lines = text.out.splitlines()
    assert max(map(len, lines)) <= 80
    table = lines[next(i for i, line in enumerate(lines) if line.split()[:1] == ["design"]) :]
    names = [line.strip().split("  ")[0] for line in table]
    assert [name for name in names if plan.get(name)] == [one.name for one in plan]
    assert "10 to 15 % of the items, 6 to 9" in text.out
    rows = list(csv.DictReader(io.StringIO(run("plan", *ASK, "--csv").out)))
    assert [float(row["total_pairs"]) for row in rows] == [one.total_pairs for one in plan]
    assert rows[-1]["design"] == "Exact()"
    assert f"truerank evaluate --design {shlex.quote(rows[0]['design'])}" in text.out
    assert plan.headline() in " ".join(text.out.split())


def test_large_numbers_are_not_cut(run: Any) -> None:
    """On 80 columns the names of designs give way."""
    ask = ("--n-items", 10_000, "--n-users", 2000, "-m", "recall@10", "--error", 0.05)
    text = run("plan", *ask).out
    assert max(map(len, text.splitlines())) <= 80
    assert "…" not in text
    for one in json.loads(run("plan", *ask, "--json").out)["designs"]:
        assert f" {one['total_pairs']:,.0f} " in text


def test_numbers_too_large_for_a_table_have_three_digits(run: Any, monkeypatch: Any) -> None:
    plan = tr.plan(10**9, 10**6, "recall@10", 0.05, designs="exact")
    monkeypatch.setattr("truerank.inference.planning.plan.plan", lambda *args, **more: plan)
    text = run("plan", "--n-items", 10**9, "--n-users", 10**6).out
    assert max(map(len, text.splitlines())) <= 80
    assert "interval ±" in text
    assert " 1.00e+15 " in text


def test_a_pilot_file_or_an_exponent(run: Any, ranks: np.ndarray) -> None:
    ask = ("-m", "recall@100", "--error", 0.5, "--confidence", 0.9, "--json")
    pilot = ("--like", "ranks.csv", "--n-items", 3706, "--sample-size", 100)
    found = json.loads(run("plan", *pilot, *ask).out)
    assert (found["n_users"], found["n_items"]) == (500, 3706)
    assert found["like"] == "a pilot of 500 users"
    assert found["confidence"] == 0.9
    found = json.loads(run("plan", *ASK, "--like", "0.7", "--json").out)
    assert found["value"] == pytest.approx((5 / 60) ** 0.7)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (("--like", "no.csv"), "--like is no.csv: neither a number nor a file"),
        (("--sample-size", 100), "--sample-size is about the pilot; give --like FILE"),
        (("--error", 0), "error is 0.0"),
        (("--error", 1.5), "it is a share of the metric below 1"),
        (("--scope", "everyone"), "unknown --scope 'everyone'"),
    ],
)
def test_what_cannot_be_planned(run: Any, here: Any, options: Any, message: str) -> None:
    result = run("plan", *ASK, *options)
    assert result.code == 2
    assert message in result.err
