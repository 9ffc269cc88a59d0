"""Files that commands cannot use: each is refused with the thing named, in one line and with 2."""

from __future__ import annotations

import datetime
import decimal
import json
import time
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import truerank as tr
from truerank.errors import AssumptionWarning

SIZES = ("--n-items", 3706, "--sample-size", 100, "--no-replacement")
MODELS = {
    "list": [["a"], ["b"]],
    "struct": [{"x": 1}, {"x": 2}],
    "map": pa.array([[("a", 1)], [("b", 1)]], pa.map_(pa.string(), pa.int64())),
    "time": [datetime.datetime(2020, 1, 1), datetime.datetime(2021, 1, 1)],
    "decimal": [decimal.Decimal("1.5"), decimal.Decimal("2.5")],
    "truth": [True, False],
    "missing": [None, "b"],
}
REFUSED = {
    "list": "column list holds values of type",
    "struct": "column struct holds values of type",
    "map": "column map holds values of type",
    "missing": "column missing has missing values",
    "gone": "no column",
}


def refused(result: Any, message: str) -> None:
    assert (result.code, result.out) == (2, "")
    assert message in result.err
    assert result.err.count("\n") == 1


@pytest.mark.parametrize("command", ["estimate", "compare", "audit"])
@pytest.mark.parametrize("by", [*MODELS, "gone"])
def test_by_a_column_of_any_kind(run: Any, here: Path, command: str, by: str) -> None:
    columns = {name: pa.array(values).take([0] * 6 + [1] * 6) for name, values in MODELS.items()}
    ranks = [1, 2, 3, 50, 9, 4, 2, 2, 3, 60, 9, 1]
    users = [*range(6), *range(6)]
    pq.write_table(pa.table({"user_id": users, "rank": ranks, **columns}), here / "by.parquet")
    file = ("--ranks", "by.parquet") if command == "audit" else ("by.parquet",)
    found = run(command, *file, "--by", by, *SIZES)
    if by in REFUSED:
        refused(found, REFUSED[by])
    else:
        assert found.code == 0, found.err


def test_a_pilot_of_worst_ranks_only(run: Any, here: Path) -> None:
    (here / "worst.csv").write_text("rank\n" + "100\n" * 50)
    refused(run("plan", "--like", "worst.csv", *SIZES), "recall@10 is 0 by a pilot of 50 users")


def test_samples_larger_than_the_pool(run: Any, here: Path) -> None:
    (here / "ranks.csv").write_text("rank\n1\n2\n")
    sizes = ("--n-items", 50, "--sample-size", 100, "--no-replacement")
    for command in (
        ("estimate", "ranks.csv"),
        ("audit", "--ranks", "ranks.csv"),
        ("plan", "--like", "ranks.csv"),
    ):
        refused(run(*command, *sizes), "sample_size is 100 at line 2; without replacement it lies")


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("cut.npy", b"\x93NUMPY\x01", "is not a readable .npy file"),
        ("odd.npy", b"", "is not a readable .npy file"),
        ("cut.npz", b"PK\x03\x04 cut", "is not a readable .npy file: it is an archive"),
    ],
)
def test_damaged_scores(run: Any, here: Path, name: str, content: bytes, message: str) -> None:
    (here / name).write_bytes(content)
    (here / "test.csv").write_text("user_id,item_id\n0,0\n")
    refused(run("evaluate", "--scores", name, "--test", "test.csv"), f"{name} {message}")


@pytest.mark.parametrize(
    "array", [np.array([{}]), np.eye(3) * 1j, np.full((3, 3), "a"), np.ones(3)]
)
def test_arrays_that_are_no_scores(run: Any, here: Path, array: Any) -> None:
    np.save(here / "S.npy", array, allow_pickle=True)
    (here / "test.csv").write_text("user_id,item_id\n0,0\n")
    found = run("evaluate", "--scores", "S.npy", "--test", "test.csv")
    assert found.code == 2
    assert found.err.startswith("error: ")


@pytest.mark.parametrize(
    ("rows", "message"),
    [
        ("0,3,5\n1,4,0\n", "column rating of 1 rows are not above 0 (the first, row 1: 0)"),
        ("0,3,5\n1,4,5\n1,4,5\n", "1 test rows occur more than once, such as user 1, item 4"),
        ("0,3,5\n1,99,5\n", "1 item ids of test are unknown to the scorer: 99"),
        ("0,3,5\n77,4,5\n", "1 user ids of test are unknown to the scorer: 77"),
        ("0,3,5\n1,,5\n", "item_ids of test is nan at row 1"),
    ],
)
def test_targets_that_cannot_be_ranked(run: Any, here: Path, rows: str, message: str) -> None:
    np.save(here / "S.npy", np.random.default_rng(0).random((3, 6)))
    (here / "test.csv").write_text("user_id,item_id,rating\n" + rows)
    refused(run("evaluate", "--scores", "S.npy", "--test", "test.csv"), message)


def test_ratings_of_several_degrees_are_named(run: Any, here: Path) -> None:
    np.save(here / "S.npy", np.random.default_rng(0).random((3, 6)))
    (here / "test.csv").write_text("user_id,item_id,rating\n0,3,5\n1,4,2\n")
    found = run("evaluate", "--scores", "S.npy", "--test", "test.csv", "-m", "recall@5")
    assert found.code == 0
    assert "warning: test: column rating has 2 degrees of relevance" in found.err


def test_a_split_with_a_protocol_that_is_none(here: Path) -> None:
    data = tr.data.Interactions([1, 1, 2, 2], ["a", "b", "a", "c"])
    data.leave_one_out("random").save(here / "mine")
    path = here / "mine/test.parquet"
    table = pq.read_table(path)
    (key,) = (key for key in table.schema.metadata if json_in(table.schema.metadata[key]))
    for notes in (b"{", b"[" * 100_000, b"[1]", b"3"):
        pq.write_table(table.replace_schema_metadata({key: notes}), path)
        with pytest.raises(tr.InputError, match="the note on how it was split is damaged"):
            tr.data.read_split(here / "mine")


def json_in(value: bytes) -> bool:
    try:
        return isinstance(json.loads(value), dict)
    except ValueError:
        return False


def test_sampled_tables_keep_how_they_were_drawn(here: Path) -> None:
    scorer = tr.scoring.Dense(np.random.default_rng(0).random((8, 30)))
    test = (np.arange(8), np.arange(8))
    for replacement in (False, True):
        design = tr.designs.Fixed(num_negatives=9, replacement=replacement)
        table = tr.rank(scorer, test, design)
        pq.write_table(table, here / "ranks.parquet")
        for source in (table, here / "ranks.parquet"):
            (scheme,) = tr.RankCounts.from_table(source).schemes
            assert scheme.replacement == replacement


def test_small_and_large_pools_in_one_table() -> None:
    """The small ones do not refine the grid of the large ones: seconds of the processor, not 12."""
    pools, sizes = [10, 10**9] * 20, [5, 100] * 20
    counts = tr.RankCounts.from_ranks(
        [1, 30] * 20, sample_size=sizes, n_items=pools, replacement=False
    )
    begin = time.process_time()
    est = tr.estimate(counts, ["recall@5", "ndcg@5"])
    assert all(0.0 <= one.low <= one.value <= one.high <= 1.0 for one in est.values())
    assert time.process_time() - begin < 4.0


def test_a_table_instead_of_counts_names_the_way_in() -> None:
    with pytest.raises(tr.InputError, match="from_table reads them from a table or file of ranks"):
        tr.estimate(pa.table({"rank": [1, 2]}), "recall@10")  # type: ignore[arg-type]


def test_replacement_that_matters_is_asked_for() -> None:
    with pytest.warns(AssumptionWarning, match="Say replacement=True or replacement=False"):
        tr.RankCounts.from_ranks([1, 2], sample_size=10, n_items=100)
