"""``truerank evaluate`` and ``truerank audit``."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest


def run(folder: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "truerank", *arguments],
        cwd=folder,
        capture_output=True,
        text=True,
        check=False,
    )


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    path = tmp_path_factory.mktemp("evaluate")
    rng = np.random.default_rng(0)
    users, items = (rng.standard_normal((n, 8)).astype(np.float32) for n in (120, 300))
    order = np.argsort(-(users @ items.T), axis=1)
    np.save(path / "U.npy", users)
    np.save(path / "V.npy", items)
    np.save(path / "S.npy", users @ items.T)
    ids = np.arange(120)
    # Targets from third to twelfth place of their user's list; the two before are training items.
    target = order[ids, 2 + ids % 10]
    pq.write_table(pa.table({"user_id": ids, "item_id": target}), path / "test.parquet")
    train = pa.table({"user_id": np.repeat(ids, 2), "item_id": order[:, :2].ravel()})
    pq.write_table(train, path / "train.parquet")
    pq.write_table(pa.table({"item_id": np.arange(300)}), path / "items.parquet")
    (path / "my_model.py").write_text(
        "import numpy as np\nS = np.load('S.npy')\n"
        "def score(users, items):\n    return S[users[:, None], items]\n"
    )
    return path


DATA = ("--test", "test.parquet", "--train", "train.parquet")
FACTORS = ("--user-factors", "U.npy", "--item-factors", "V.npy")


@pytest.mark.parametrize(
    "model",
    [FACTORS, ("--scores", "S.npy"), ("--scorer", "my_model:score", "--items", "items.parquet")],
    ids=["factors", "scores", "scorer"],
)
def test_every_kind_of_model(folder, model):
    done = run(folder, "evaluate", *model, *DATA, "--design", "exact", "-m", "recall@5", "--json")
    assert done.returncode == 0, done.stderr
    content = json.loads(done.stdout)
    # Ranks are 1 to 10, twelve users each.
    assert content["results"][0]["value"] == pytest.approx(0.5)
    assert content["protocol"]["design"]["name"] == "exact"
    # All that a matrix computes, or all pairs asked of a function.
    assert content["cost"] == 120 * (298 if "--scorer" in model else 300)
    assert content["pairs_per_user"] == content["cost"] / 120


def test_text_says_why_and_what_it_cost(folder):
    done = run(folder, "evaluate", *FACTORS, *DATA)
    assert done.returncode == 0, done.stderr
    assert done.stdout.startswith("Exact(): ranking all items takes less than a second")
    assert re.search(r"metric +exact\n", done.stdout)
    assert "36,000 pairs scored (300.0 per user)" in done.stdout


def test_a_budget_and_a_design(folder):
    asked = ("evaluate", *FACTORS, *DATA, "-m", "recall@10", "--json")
    done = run(folder, *asked, "--budget", "60")
    assert done.returncode == 0, done.stderr
    content = json.loads(done.stdout)
    assert content["protocol"]["design"]["name"] == "adaptive"
    assert content["protocol"]["design"]["budget"] == 60
    assert 55 < content["pairs_per_user"] <= 60
    content = json.loads(run(folder, *asked, "--design", "lj24(start=20, stop=0.3)").stdout)
    assert content["protocol"]["sample_sizes"] == [20, 40, 80, 90]
    assert content["protocol"]["design"]["budget"] is None
    # As loose options and in one word: the same design.
    loose = json.loads(run(folder, *asked, "--design", "adaptive", "--budget", "40").stdout)
    whole = json.loads(run(folder, *asked, "--design", "adaptive(budget=40)").stdout)
    assert loose["protocol"] == whole["protocol"]
    assert loose["results"] == whole["results"]


def test_counts_are_saved_and_read_again(folder):
    done = run(
        folder, "evaluate", *FACTORS, *DATA, "--num-negatives", "30",
        "--save-counts", "counts.parquet", "-m", "recall@10", "--json",
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    again = run(folder, "estimate", "counts.parquet", "-m", "recall@10", "--json")
    assert json.loads(again.stdout)["results"] == json.loads(done.stdout)["results"]


def test_negatives_of_a_file(folder):
    users, targets = (column.to_pylist() for column in pq.read_table(folder / "test.parquet"))
    others = [[item for item in range(290, 300) if item != target] for target in targets]
    lines = [
        "\t".join([f"({user},{target})", *map(str, items)])
        for user, target, items in zip(users, targets, others, strict=True)
    ]
    (folder / "test.negative").write_text("\n".join(lines))
    done = run(folder, "evaluate", *FACTORS, *DATA[:2], "--negatives", "test.negative", "--json")
    assert done.returncode == 0, done.stderr
    protocol = json.loads(done.stdout)["protocol"]
    assert protocol["design"]["name"] == "frozen"
    assert protocol["design"]["negatives"] == "test.negative"
    assert set(protocol["sample_sizes"]) <= {10, 11}


def test_a_cached_scorer_is_not_asked_twice(folder):
    model = ("--scorer", "my_model:score", "--items", "items.parquet")
    cache = ("--cache", "scored", "--name", "v1", "--num-negatives", "10")
    first = run(folder, "evaluate", *model, *DATA, *cache, "--json")
    assert first.returncode == 0, first.stderr
    (folder / "my_model.py").write_text("def score(users, items):\n    raise RuntimeError\n")
    second = run(folder, "evaluate", *model, *DATA, *cache, "--json")
    assert second.returncode == 0, second.stderr
    assert json.loads(second.stdout)["results"] == json.loads(first.stdout)["results"]
    assert json.loads(first.stdout)["cost"] == 120 * 11
    assert json.loads(second.stdout)["cost"] == 0  # what is kept is not asked for


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ((), "none is given"),
        ((*FACTORS, "--scores", "S.npy"), "several are given"),
        (("--user-factors", "U.npy"), "--item-factors is missing"),
        (("--scores", "missing.npy"), "missing.npy does not exist"),
        (("--scores", "test.parquet"), "not a readable .npy file"),
        (("--scorer", "my_model", "--items", "items.parquet"), "module:function"),
        (("--scorer", "my_model:score"), "--items is missing"),
        (("--scorer", "no_such:f", "--items", "items.parquet"), "cannot import no_such"),
        ((*FACTORS, "--design", "magic"), "unknown design 'magic'"),
        ((*FACTORS, "--design", "adptive"), "did you mean 'adaptive'?"),
        ((*FACTORS, "--design", "exact", "--budget", "50"), "--budget does not go with the design"),
        ((*FACTORS, "--negatives", "own"), "--negatives is own, a file that does not exist"),
        ((*FACTORS, "--stratified"), "users is not given"),
        ((*FACTORS, "--budget", "0"), "budget is 0"),
        ((*FACTORS, "--users", "5000"), "users is 5000"),
        ((*FACTORS, "--save-counts", "x.csv"), "ending .parquet"),
        ((*FACTORS, "--cache", "x"), "--cache goes with --scorer"),
        ((*FACTORS, "--retries", "2"), "--retries goes with --scorer"),
        ((*FACTORS, "--time-limit", "2"), "--time-limit goes with --scorer"),
        (
            ("--scorer", "my_model:score", "--items", "items.parquet", "--concurrency", "0"),
            "concurrency is 0",
        ),
        (
            ("--scorer", "my_model:score", "--items", "items.parquet", "--timeout", "-1"),
            "timeout is -1",
        ),
    ],
)
def test_bad_input(folder, arguments, message):
    done = run(folder, "evaluate", *arguments, *DATA)
    assert done.returncode == 2
    assert message in done.stderr
    assert done.stdout == ""


def test_audit(folder):
    done = run(folder, "audit", "--test", "test.parquet", "--train", "train.parquet")
    assert done.returncode in (0, 1)
    assert "No target is a training item of its user." in done.stdout
    lists = pa.table({"user_id": [0, 1], "item_id": [5, 6], "negatives": [[5, 7, 8], [1, 1, 2]]})
    pq.write_table(lists, folder / "negatives.parquet")
    done = run(folder, "audit", "--negatives", "negatives.parquet", "--json")
    assert done.returncode == 1
    codes = {f["code"]: f["count"] for f in json.loads(done.stdout)["findings"]}
    assert (codes["targets"], codes["duplicates"]) == (1, 1)
    assert run(folder, "audit").returncode == 2
