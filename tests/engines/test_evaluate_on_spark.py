"""`truerank evaluate --engine spark`: the numbers of one machine, from the same files."""

from __future__ import annotations

import json
import shutil

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from typer.testing import CliRunner

import truerank as tr
from truerank.cli import app
from truerank.errors import InputError

N_USERS, N_ITEMS = 60, 300


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """Users and items as matrices and tables, and users with their vectors as rows."""
    path = tmp_path_factory.mktemp("spark")
    rng = np.random.default_rng(0)
    users, items = (rng.standard_normal((n, 8)).astype("f4") for n in (N_USERS, N_ITEMS))
    np.save(path / "U.npy", users)
    np.save(path / "V.npy", items)
    target = rng.integers(0, N_ITEMS, N_USERS)
    train = [np.setdiff1d(rng.choice(N_ITEMS, u % 4), [target[u]]) for u in range(N_USERS)]
    ids = np.arange(N_USERS)
    pq.write_table(pa.table({"user_id": ids, "item_id": target}), path / "test.parquet")
    other = np.repeat(ids, [each.size for each in train])
    left_out = pa.table({"user_id": other, "item_id": np.concatenate(train)})
    pq.write_table(left_out, path / "train.parquet")
    rows = {"user_id": ids, "item_id": target, "vector": list(users), "train": train}
    pq.write_table(pa.table(rows), path / "users.parquet")
    return path


def evaluate(folder, *arguments):
    items = ["--item-factors", str(folder / "V.npy"), "-m", "recall@5,20", "--json"]
    return CliRunner().invoke(app, ["evaluate", *items, *arguments])


def as_tables(folder):
    return [
        "--user-factors", str(folder / "U.npy"), "--test", str(folder / "test.parquet"),
        "--train", str(folder / "train.parquet"),
    ]  # fmt: skip


SPARK = ["--engine", "spark", "--master", "local[2,4]"]


@pytest.mark.parametrize(
    "asked",
    [
        ["--design", "exact"],
        ["--num-negatives", "20"],
        ["--design", "lj24"],
        ["--design", "adaptive", "--budget", "50"],
        ["--design", "exact", "--users", "25"],
        ["--design", "auto"],
    ],
    ids=" ".join,
)
def test_spark_and_one_machine_print_the_same(folder, asked):
    if shutil.which("java") is None:
        pytest.skip("Spark needs Java, and there is no java on the PATH")
    pytest.importorskip("pyspark", reason="pyspark is not installed")
    local = evaluate(folder, *as_tables(folder), *asked)
    assert local.exit_code == 0, local.output
    wanted = json.loads(local.stdout)
    for rows in (as_tables(folder), ["--test", str(folder / "users.parquet")]):
        found = evaluate(folder, *SPARK, *rows, *asked)
        assert found.exit_code == 0, found.output
        answer = json.loads(found.stdout)
        assert answer["results"] == wanted["results"]
        card, known = answer["protocol"], wanted["protocol"]
        assert card.pop("engine") == "spark"
        assert card == known


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--engine", "ray"], "unknown --engine"),
        (["--master", "yarn"], "--master is yarn, but --engine is local"),
    ],
)
def test_engines_that_are_not_known_are_said(folder, arguments, message):
    result = evaluate(folder, *as_tables(folder), *arguments)
    assert isinstance(result.exception, InputError)
    assert message in str(result.exception)


def test_training_items_go_in_the_rows_of_users_with_vectors(folder):
    with pytest.raises(InputError, match="as a column train of lists"):
        tr.spark.evaluate(
            str(folder / "users.parquet"),
            str(folder / "V.npy"),
            train=str(folder / "train.parquet"),
        )
