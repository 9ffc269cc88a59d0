"""Spark gives the counts of one machine, whatever the partitions, ids, designs and accidents."""

from __future__ import annotations

import functools
import shutil
import subprocess
import sys
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import truerank as tr
from truerank import engines
from truerank.errors import AssumptionWarning
from truerank.scoring import Callable, Factors

if shutil.which("java") is None:
    pytest.skip("Spark needs Java, and there is no java on the PATH", allow_module_level=True)
pytest.importorskip("pyspark", reason="Spark needs pyspark: pip install truerank[spark]")

N_USERS, N_ITEMS, WIDTH = 120, 90, 9
PARTITIONS = (1, 3, 8, 37)
_rng = np.random.default_rng(8)
# Small whole numbers: many ties.
USERS = _rng.integers(-2, 3, (N_USERS, WIDTH)).astype(np.float32)
ITEMS = _rng.integers(-2, 3, (N_ITEMS, WIDTH)).astype(np.float32)
TARGET = _rng.integers(0, N_ITEMS, N_USERS)
TRAIN = [
    np.setdiff1d(_rng.choice(N_ITEMS, n), [t]).tolist()
    for n, t in zip(_rng.integers(0, 9, N_USERS), TARGET, strict=True)
]
IDS = {
    "integer": (np.arange(N_USERS) * 7 + 3).tolist(),
    "string": [f"user-{i}" for i in range(N_USERS)],
}
DESIGNS = {
    "sampled": (
        tr.sampled_counts,
        tr.spark.sampled_counts,
        {"sample_size": 12, "seed": 5},
    ),
    "sampled with replacement": (
        tr.sampled_counts,
        tr.spark.sampled_counts,
        {"num_negatives": 30, "replacement": True, "ties": "random", "seed": 5},
    ),
    "shared": (
        tr.sampled_counts,
        tr.spark.sampled_counts,
        {"sample_size": 12, "negatives": tr.sampling.SharedBlocks(n_blocks=6)},
    ),
    "adaptive": (
        tr.adaptive_counts,
        tr.spark.adaptive_counts,
        {"start": 5, "stop": 60, "seed": 5},
    ),
    "adaptive with replacement": (
        tr.adaptive_counts,
        tr.spark.adaptive_counts,
        {"design": "truerank", "stop": 200, "replacement": True, "hits": 2},
    ),
    "exact": (tr.exact_counts, tr.spark.exact_counts, {}),
    "exact, random ties": (tr.exact_counts, tr.spark.exact_counts, {"ties": "random", "seed": 3}),
}


@pytest.fixture(scope="module")
def session():
    found = tr.spark.session(
        "local[2,4]",
        spark_ui_enabled="false",
        spark_driver_host="127.0.0.1",
        spark_sql_shuffle_partitions="2",
        spark_driver_memory="1g",
    )
    found.sparkContext.setLogLevel("OFF")
    yield found
    found.stop()


@pytest.fixture(scope="module")
def users(session, tmp_path_factory):
    """The users as Parquet, in no order: a function of their ids."""
    folder = tmp_path_factory.mktemp("users")
    for name, ids in IDS.items():
        pq.write_table(table(ids), folder / f"{name}.parquet")
    return lambda ids: session.read.parquet(str(folder / f"{ids}.parquet"))


def table(ids, *, vectors=USERS, targets=TARGET):
    rows = np.random.default_rng(1).permutation(N_USERS)
    columns = {
        "user_id": pa.array(ids).take(rows),
        "item_id": pa.array(targets).take(rows),
        "vector": pa.array(list(vectors), pa.list_(pa.float32())).take(rows),
        # No training items: an empty list for some, null for others.
        "train": pa.array([x or (None if i % 2 else []) for i, x in enumerate(TRAIN)]).take(rows),
    }
    return pa.table(columns)


@pytest.fixture
def frame(session, tmp_path):
    """A function that makes a DataFrame of a table."""

    def make(rows):
        path = str(tmp_path / f"{len(list(tmp_path.iterdir()))}.parquet")
        pq.write_table(rows, path)
        return session.read.parquet(path)

    return make


def local(design, ids, *, train=True):
    count, _, chosen = DESIGNS[design]
    scorer = Factors(USERS, ITEMS, user_ids=ids)
    return count(scorer, (ids, TARGET), train=left_out(ids) if train else None, **chosen)


def left_out(ids):
    return np.repeat(ids, [len(items) for items in TRAIN]), np.concatenate(TRAIN).astype(int)


def same(a, b):
    """Equal, and where weights are whole to the bit."""
    whole = np.array_equal(a.weight, np.round(a.weight))
    return a == b and (not whole or np.array_equal(a.weight, b.weight))


@pytest.mark.parametrize(
    ("design", "train"),
    [(design, True) for design in DESIGNS]
    + [(design, False) for design in DESIGNS if design not in ("shared", "exact, random ties")],
)
def test_counts_are_those_of_one_machine(users, design, train):
    _, count, options = DESIGNS[design]
    # Ids take turns, so that every kind meets every number of partitions in every design.
    for at, n_partitions in enumerate(PARTITIONS):
        ids = "integer" if (at + train) % 2 else "string"
        spread = users(ids).repartition(n_partitions)
        assert spread.rdd.getNumPartitions() == n_partitions
        if not train:
            spread = spread.drop("train")
        found = count(spread, ITEMS, distinct_users=at > 0, **options)
        assert same(found, local(design, IDS[ids], train=train)), (n_partitions, ids)


def test_batches_do_not_matter_either(session, users):
    """One row a batch: what is counted for a user does not depend on its company."""
    kernel = engines.exact(ITEMS)
    rows = table(IDS["integer"])
    parts = [kernel(batch) for batch in rows.to_batches(max_chunksize=1)]
    assert len(parts) == N_USERS
    assert same(engines.add_up(parts), local("exact", IDS["integer"]))
    assert same(engines.add_up(kernel(rows)), local("exact", IDS["integer"]))


@pytest.mark.parametrize("ids", IDS)
def test_workers_may_read_the_files_themselves(session, tmp_path, ids):
    rows = table(IDS[ids])
    (tmp_path / "users").mkdir()
    for i in range(3):  # of several row groups each
        part = tmp_path / "users" / f"part-{i}.parquet"
        pq.write_table(rows.slice(i * 40, 40), part, row_group_size=11)
    for design in ("sampled", "exact"):
        _, count, options = DESIGNS[design]
        assert same(count(tmp_path / "users", ITEMS, **options), local(design, IDS[ids]))


def test_item_vectors_may_be_a_file_and_items_have_ids(users, tmp_path):
    ids = IDS["integer"]
    path = tmp_path / "items.npy"
    np.save(path, ITEMS)
    found = tr.spark.sampled_counts(users("integer"), path, sample_size=12, seed=5)
    assert same(found, local("sampled", ids))
    names = [f"item-{i}" for i in range(N_ITEMS)]
    renamed = users("integer").selectExpr(
        "user_id AS who", "concat('item-', item_id) AS item_id", "vector AS features"
    )
    options = {"item_biases": np.arange(N_ITEMS) / 7, "cosine": True, "item_ids": names}
    scorer = Factors(USERS, ITEMS, user_ids=ids, **options)
    columns = {"user_id": "who", "vector": "features"}
    found = tr.spark.exact_counts(renamed, ITEMS, columns=columns, **options)
    assert same(found, tr.exact_counts(scorer, (ids, [names[i] for i in TARGET])))


def test_several_targets_of_a_user_are_a_list(frame):
    ids = IDS["string"]
    targets = [
        np.setdiff1d([t, 3, (t + 1) % N_ITEMS], x).tolist()
        for t, x in zip(TARGET, TRAIN, strict=True)
    ]
    scorer = Factors(USERS, ITEMS, user_ids=ids)
    test = (np.repeat(ids, [len(t) for t in targets]), np.concatenate(targets))
    expected = tr.sampled_counts(scorer, test, train=left_out(ids), sample_size=20, seed=1)
    assert expected.n_users == N_USERS
    spread = frame(table(ids, targets=targets)).repartition(3)
    assert tr.spark.sampled_counts(spread, ITEMS, sample_size=20, seed=1) == expected


def test_any_scorer_that_pickles(users):
    """Also by a function that no worker can import."""

    def parity(users, items):
        return (users[:, None] * 31 + items * 17) % 101

    scorer = Callable(parity, n_items=N_ITEMS)
    ids = IDS["integer"]
    expected = tr.sampled_counts(scorer, (ids, TARGET), train=left_out(ids), sample_size=12, seed=2)
    spread = users("integer").drop("vector")
    assert same(tr.spark.sampled_counts(spread, scorer, sample_size=12, seed=2), expected)


# -- ranks -----------------------------------------------------------------------------------


@pytest.mark.parametrize("ids", IDS)
def test_ranks_repeated_draws_and_targets(frame, ids):
    """Rows of a user in different partitions make one sample; several targets share its weight."""
    rng = np.random.default_rng(4)
    columns = {
        "n_items": np.full(400, 500),
        "rank": rng.integers(1, 21, 400),
        "user_id": rng.choice(IDS[ids], 400),
        "item_id": rng.integers(0, 3, 400),
    }
    for names, partitions in ((2, (1, 37)), (3, (3, 8)), (4, PARTITIONS)):
        rows = pa.table({name: columns[name] for name in list(columns)[:names]})
        options = {"sample_size": 20, "replacement": True}
        expected = tr.RankCounts.from_table(rows, **options)
        for n_partitions in partitions:
            spread = frame(rows).repartition(n_partitions)
            assert tr.spark.rank_counts(spread, **options) == expected
    once = pa.table({"user_id": IDS[ids], "pos": TARGET + 1})
    options = {"num_negatives": 99, "n_items": 5000, "columns": {"sampled_rank": "pos"}}
    expected = tr.RankCounts.from_table(once, **options)
    for distinct in (True, False):
        assert same(tr.spark.rank_counts(frame(once), distinct_users=distinct, **options), expected)


def test_ranks_warn_where_the_local_ones_do(frame):
    rows = pa.table({"rank": [1, 2]})
    with pytest.warns(AssumptionWarning, match="replacement is not said"):
        tr.spark.rank_counts(frame(rows), sample_size=20, n_items=100)
    two = frame(rows.append_column("model", [["a", "b"]]))
    with pytest.raises(tr.InputError, match="several models, such as a and b"):
        tr.spark.rank_counts(two, sample_size=20, n_items=1000)


# -- bad input -------------------------------------------------------------------------------


def test_bad_rows_are_input_errors_that_name_them(frame, users):
    ids = IDS["integer"]
    count = functools.partial(tr.spark.sampled_counts, sample_size=12, distinct_users=True)
    missing = [None, *USERS[1:]]
    with pytest.raises(tr.InputError, match=r"^vector is missing for 1 users, such as 3$"):
        count(frame(table(ids, vectors=missing)), ITEMS)
    twice = frame(table([ids[1], *ids[1:]])).repartition(37)
    with pytest.raises(tr.InputError, match="user 10 has more than one row; give all its targets"):
        count(twice, ITEMS, distinct_users=False)
    with pytest.raises(tr.InputError, match=r"no column vector \(vector\); found: user_id"):
        count(twice.drop("vector"), ITEMS)
    with pytest.raises(tr.InputError, match="must be array<float> or array<double>"):
        count(twice.withColumn("vector", twice.item_id), ITEMS)


def test_designs_that_need_all_users_are_refused(users):
    spread = users("integer")
    for options in ({}, {"budget": 50}, {"design": "truerank"}):
        with pytest.raises(tr.InputError, match="say stop="):
            tr.spark.adaptive_counts(spread, ITEMS, **options)
    with pytest.raises(tr.InputError, match="SharedBlocks"):
        tr.spark.sampled_counts(spread, ITEMS, sample_size=12, negatives="shared-block")
    with pytest.raises(tr.InputError, match="the rows are a dict; give a Spark DataFrame"):
        tr.spark.exact_counts({"user_id": [1]}, ITEMS)


# -- accidents -------------------------------------------------------------------------------


def test_a_lost_executor_changes_nothing():
    """local-cluster[2,1,1024]: one of two executor processes is killed in the middle of the job."""
    script = Path(__file__).with_name("lost_executor.py")
    done = subprocess.run(
        [sys.executable, str(script)], capture_output=True, text=True, timeout=150, check=False
    )
    assert done.returncode == 0, done.stderr[-3000:]
    assert done.stdout.split() == ["killed", "1", "same", "True"]
