"""``truerank audit --by``: models in one file, each looked at on its own."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import truerank as tr

DESIGN = ("--n-items", 3706, "--num-negatives", 99, "--no-replacement")


@pytest.fixture
def both(ranks: np.ndarray, here: Path) -> Path:
    """Ranks of two models: those of one are made up, each 125 times."""
    made_up = np.repeat([1, 3, 17, 54], 125)
    model = np.repeat(["honest", "made up"], 500)
    table = {"Algorithm": model, "seed": [7] * 1000, "rank": np.concatenate([ranks, made_up])}
    pq.write_table(pa.table(table), here / "all.parquet")
    return here / "all.parquet"


def findings(result: Any) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = json.loads(result.out)["findings"]
    return found


def test_each_model_has_its_findings(both: Path, run: Any) -> None:
    assert "--by model" in run("audit", "--ranks", both, *DESIGN).err
    result = run("audit", "--ranks", both, "--by", "Algorithm", *DESIGN, "--json")
    assert result.code == 1
    levels = {one["message"].split(":")[0]: one["level"] for one in findings(result)}
    assert levels == {"made up": "error", "honest": "ok"}
    named = run("audit", "--ranks", both, "--by", "model", "--columns", "model=algorithm", *DESIGN)
    assert "made up: The sampled ranks do not look" in " ".join(named.out.split())
    two = run("audit", "--ranks", both, "--by", "algorithm,seed", *DESIGN, "--json")
    assert any(one["message"].startswith("honest, 7: ") for one in findings(two))


def test_as_each_alone(both: Path, ranks: np.ndarray, run: Any) -> None:
    options: dict[str, Any] = {"n_items": 3706, "num_negatives": 99, "replacement": False}
    alone = tr.audit(counts=tr.RankCounts.from_ranks(ranks, **options))
    by_name = tr.audit(counts={"honest": tr.RankCounts.from_ranks(ranks, **options)})
    assert [one.message for one in by_name] == [f"honest: {one.message}" for one in alone]
    wrong: Any = {"a": 3}
    with pytest.raises(tr.InputError, match="counts of a is 3; it must be RankCounts"):
        tr.audit(counts=wrong)


def test_negatives_of_several_models(here: Path, run: Any) -> None:
    rows = {"user_id": [0, 1] * 2, "item_id": [5, 6] * 2, "model": ["a", "a", "b", "b"]}
    lists = [[1, 2, 3], [7, 8, 9], [1, 2, 3], [6, 8, 9]]
    pq.write_table(pa.table({**rows, "negatives": lists}), here / "n.parquet")
    found = findings(run("audit", "--negatives", "n.parquet", "--by", "model", "--json"))
    messages = {one["code"]: one["message"] for one in found if one["level"] != "ok"}
    assert messages["targets"].startswith("1 target of b is among its own negatives")
    assert any("of a" in one["message"] for one in found)


def test_a_file_without_the_column_is_about_all(both: Path, here: Path, run: Any) -> None:
    negatives = {"user_id": [0, 1], "item_id": [5, 6], "negatives": [[1, 2, 3], [7, 8, 9]]}
    pq.write_table(pa.table(negatives), here / "n.parquet")
    (here / "elliot.tsv").write_text("(0,)\t1\t1\n(1,)\t3\t4\n")
    files = ("--negatives", "n.parquet", "--ranks", both)
    found = findings(run("audit", *files, "--by", "algorithm", *DESIGN, "--json"))
    assert "No target is among its negatives." in [one["message"] for one in found]
    assert {"made up", "honest"} <= {one["message"].split(":")[0] for one in found}
    refused = run("audit", *files, "--by", "epoch", *DESIGN)
    assert refused.code == 2
    assert "--by is epoch, which is no column of n.parquet or" in " ".join(refused.err.split())
    test = ("--test", "n.parquet", "--by", "model")
    assert "--by is model" in run("audit", *test).err


def test_dropped_rows_are_a_finding(here: Path, run: Any) -> None:
    (here / "r.csv").write_text("model,rank\n" + "a,1\na,\nb,2\n" * 5)
    arguments = ("audit", "--ranks", "r.csv", "--by", "model", "--drop-missing", "--json")
    (found,) = [one for one in findings(run(*arguments, *DESIGN)) if one["code"] == "missing-ranks"]
    assert (found["level"], found["count"]) == ("warning", 5)
    assert found["message"] == "a: 5 rows without a rank were left out."
