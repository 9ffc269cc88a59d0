"""Spark gives the counts of one machine, whatever the partitions, ids, designs and accidents."""

from __future__ import annotations

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
from truerank.designs import LJ24, Adaptive, Auto, Exact, Fixed
from truerank.errors import AssumptionWarning
from truerank.scoring import Callable, Factors

if shutil.which("java") is None:
    pytest.skip("Spark needs Java, and there is no java on the PATH", allow_module_level=True)
pytest.importorskip("pyspark", reason="pyspark is not installed")

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
# Name: the design and the other options of `count`.
DESIGNS = {
    "sampled": (Fixed(sample_size=12), {"seed": 5}),
    "sampled with replacement": (
        Fixed(num_negatives=30, replacement=True),
        {"ties": "random", "seed": 5},
    ),
    "shared": (Fixed(sample_size=12, shared_by=20), {}),
    "adaptive": (LJ24(start=5, stop=60), {"seed": 5}),
    "adaptive with replacement": (
        Adaptive(budget=None, stop=200, replacement=True, hits=2),
        {"ties": "random"},
    ),
    "within a budget": (Adaptive(budget=25, start=8), {"seed": 5}),
    "within a budget, with replacement": (
        Adaptive(budget=60.5, start=8, hits=2, replacement=True),
        {"ties": "pessimistic"},
    ),
    "exact": (Exact(), {}),
    "exact, random ties": (Exact(), {"ties": "random", "seed": 3}),
    "some users": (Fixed(sample_size=12, users=50), {"seed": 5}),
    "some users, shared": (Fixed(sample_size=12, users=50, shared_by=10), {"seed": 5}),
    "some users within a budget": (Adaptive(budget=20, start=8, users=40), {"seed": 1}),
    "some users by activity": (Exact(users=50, stratified=True), {"seed": 5}),
}
# A job or more for each level, or to choose users: met by fewer numbers of partitions.
SEVERAL_JOBS = {name for name in DESIGNS if "budget" in name or "users" in name}


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


def local(name, ids, *, train=True, verb=tr.count):
    design, options = DESIGNS[name]
    scorer = Factors(USERS, ITEMS, user_ids=ids)
    return verb(scorer, (ids, TARGET), design, train=left_out(ids) if train else None, **options)


def left_out(ids):
    return np.repeat(ids, [len(items) for items in TRAIN]), np.concatenate(TRAIN).astype(int)


def same(a, b):
    """Equal, and where weights are whole to the bit."""
    whole = np.array_equal(a.weight, np.round(a.weight))
    return a == b and (not whole or np.array_equal(a.weight, b.weight))


@pytest.mark.parametrize(
    ("name", "train"),
    [(name, True) for name in DESIGNS]
    + [
        (name, False)
        for name in DESIGNS
        if name not in ("shared", "exact, random ties", *SEVERAL_JOBS)
    ],
)
def test_counts_are_those_of_one_machine(users, name, train):
    design, options = DESIGNS[name]
    # Ids take turns, so that every kind meets every number of partitions in every design.
    for at, n_partitions in enumerate((3, 8) if name in SEVERAL_JOBS else PARTITIONS):
        ids = "integer" if (at + train) % 2 else "string"
        spread = users(ids).repartition(n_partitions)
        assert spread.rdd.getNumPartitions() == n_partitions
        if not train:
            spread = spread.drop("train")
        found = tr.spark.count(tr.spark.Users(spread, distinct=at > 0), ITEMS, design, **options)
        assert same(found, local(name, IDS[ids], train=train)), (n_partitions, ids)


@pytest.mark.parametrize("name", ["sampled", "shared", "exact", "some users within a budget"])
def test_ranks_are_those_of_one_machine(users, name):
    design, options = DESIGNS[name]
    options = {**options, "ties": options.get("ties", "random")}
    expected = local_ranks(name, options)
    spread = tr.spark.Users(users("integer").repartition(3), distinct=True)
    found = tr.spark.rank(spread, ITEMS, design, **options).toArrow()
    assert found.sort_by("user_id").to_pydict() == expected.sort_by("user_id").to_pydict()


def local_ranks(name, options):
    ids = IDS["integer"]
    scorer = Factors(USERS, ITEMS, user_ids=ids)
    return tr.rank(scorer, (ids, TARGET), DESIGNS[name][0], train=left_out(ids), **options)


def test_frozen_negatives_are_those_of_the_file(users, tmp_path):
    for name, ids in IDS.items():
        scorer = Factors(USERS, ITEMS, user_ids=ids)
        path = tmp_path / f"{name}.parquet"
        drawn = Fixed(sample_size=12)
        tr.sampling.freeze(scorer, (ids, TARGET), drawn, train=left_out(ids), seed=5).save(path)
        found = tr.spark.count(users(name).repartition(8), ITEMS, tr.designs.Frozen(path))
        assert same(found, local("sampled", ids))


def test_evaluations_are_those_of_one_machine(users):
    """Estimates, protocol and cost; the reason says what was chosen."""
    ids = IDS["integer"]
    scorer = Factors(USERS, ITEMS, user_ids=ids)
    spread = tr.spark.Users(users("integer").repartition(3), distinct=True)
    options = {"metrics": "recall@10", "seed": 5, "ties": "random"}  # whole counts
    for design in (Exact(users=50), Adaptive(budget=25), Auto(), Auto(budget=30, users=60)):
        expected = tr.evaluate(scorer, (ids, TARGET), design, train=left_out(ids), **options)
        found = tr.spark.evaluate(spread, ITEMS, design, **options)
        assert found.counts == expected.counts
        assert found["recall@10"] == expected["recall@10"]
        assert found.cost == expected.cost
        assert found.protocol == {**expected.protocol, "engine": "spark"}


def test_batches_do_not_matter_either(session, users):
    """One row a batch: what is counted for a user does not depend on its company."""
    kernel = engines.Kernel(ITEMS)
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
    for name in ("sampled", "exact", "within a budget", "some users"):
        design, options = DESIGNS[name]
        found = tr.spark.count(tmp_path / "users", ITEMS, design, **options)
        assert same(found, local(name, IDS[ids]))


def test_item_vectors_may_be_a_file_and_items_have_ids(users, tmp_path):
    ids = IDS["integer"]
    path = tmp_path / "items.npy"
    np.save(path, ITEMS)
    found = tr.spark.count(users("integer"), path, Fixed(sample_size=12), seed=5)
    assert same(found, local("sampled", ids))
    names = [f"item-{i}" for i in range(N_ITEMS)]
    renamed = users("integer").selectExpr(
        "user_id AS who", "concat('item-', item_id) AS item_id", "vector AS features"
    )
    options = {"item_biases": np.arange(N_ITEMS) / 7, "cosine": True, "item_ids": names}
    scorer = Factors(USERS, ITEMS, user_ids=ids, **options)
    columns = {"user_id": "who", "vector": "features"}
    found = tr.spark.count(
        tr.spark.Users(renamed, columns=columns), tr.spark.Items(ITEMS, **options)
    )
    assert same(found, tr.count(scorer, (ids, [names[i] for i in TARGET])))


def test_several_targets_of_a_user_are_a_list(frame):
    ids = IDS["string"]
    targets = [
        np.setdiff1d([t, 3, (t + 1) % N_ITEMS], x).tolist()
        for t, x in zip(TARGET, TRAIN, strict=True)
    ]
    scorer = Factors(USERS, ITEMS, user_ids=ids)
    test = (np.repeat(ids, [len(t) for t in targets]), np.concatenate(targets))
    spread = frame(table(ids, targets=targets)).repartition(3)
    for design in (Fixed(sample_size=20), Adaptive(budget=70, start=8), Exact(users=30)):
        expected = tr.count(scorer, test, design, train=left_out(ids), seed=1)
        assert expected.n_users == (design.users or N_USERS)
        assert tr.spark.count(spread, ITEMS, design, seed=1) == expected


def test_a_column_of_ratings_is_named(users):
    from pyspark.sql import functions as f

    rated = users("integer").withColumn("Rating", f.lit(3.5))
    with pytest.warns(AssumptionWarning, match="have a column Rating; metrics are binary"):
        found = tr.spark.count(rated, ITEMS, Fixed(sample_size=12), seed=2)
    assert found == tr.spark.count(users("integer"), ITEMS, Fixed(sample_size=12), seed=2)


def test_any_scorer_that_pickles(users):
    """Also by a function that no worker can import."""

    def parity(users, items):
        return (users[:, None] * 31 + items * 17) % 101

    scorer = Callable(parity, n_items=N_ITEMS)
    ids = IDS["integer"]
    test, spread = (ids, TARGET), users("integer").drop("vector")
    for design in (Fixed(sample_size=12), Adaptive(budget=25, start=8)):
        expected = tr.count(scorer, test, design, train=left_out(ids), seed=2)
        found = tr.spark.count(spread, tr.spark.Items(scorer), design, seed=2)
        assert same(found, expected)
        # A test as one machine has it, with its training items.
        assert same(tr.spark.count(test, scorer, design, train=left_out(ids), seed=2), expected)


# -- ranks -----------------------------------------------------------------------------------


@pytest.mark.parametrize("ids", IDS)
def test_ranks_repeated_draws_and_targets(frame, ids):
    """Rows of a user in different partitions make one sample; several targets one user."""
    rng = np.random.default_rng(4)
    columns = {
        "n_items": np.full(400, 500),
        "rank": rng.integers(1, 21, 400),
        "user_id": rng.choice(IDS[ids], 400),
        "item_id": rng.integers(0, 3, 400),
    }
    columns["score"] = -1.0 * columns["item_id"]
    draws, targets = {"repeats": "draws"}, {"rank_among": "negatives"}
    for names, partitions, said in (
        (2, (1, 37), {}),
        (3, (3, 8), draws),
        (5, PARTITIONS, targets),
    ):
        rows = pa.table({name: columns[name] for name in list(columns)[:names]})
        options = {"sample_size": 20, "replacement": True, **said}
        expected = tr.RankCounts.from_table(rows, **options)
        for n_partitions in partitions:
            spread = frame(rows).repartition(n_partitions)
            assert tr.spark.from_table(spread, **options) == expected
    once = pa.table({"user_id": IDS[ids], "pos": TARGET + 1})
    options = {"num_negatives": 99, "n_items": 5000, "columns": {"sampled_rank": "pos"}}
    expected = tr.RankCounts.from_table(once, **options)
    for distinct in (True, False):
        assert same(tr.spark.from_table(frame(once), distinct_users=distinct, **options), expected)


def test_ranks_warn_where_the_local_ones_do(frame):
    rows = pa.table({"rank": [1, 2]})
    with pytest.warns(AssumptionWarning, match="replacement is not said"):
        tr.spark.from_table(frame(rows), sample_size=20, n_items=100)
    two = frame(rows.append_column("model", [["a", "b"]]))
    with pytest.raises(tr.InputError, match="several models, such as a and b"):
        tr.spark.from_table(two, sample_size=20, n_items=1000)


# -- bad input -------------------------------------------------------------------------------


def test_bad_rows_are_input_errors_that_name_them(frame, users):
    ids = IDS["integer"]

    def count(rows, distinct=True):
        return tr.spark.count(tr.spark.Users(rows, distinct=distinct), ITEMS, Fixed(sample_size=12))

    missing = [None, *USERS[1:]]
    with pytest.raises(tr.InputError, match=r"^vector is missing for 1 users, such as 3$"):
        count(frame(table(ids, vectors=missing)))
    twice = frame(table([ids[1], *ids[1:]])).repartition(37)
    with pytest.raises(tr.InputError, match="user 10 has more than one row; give all its targets"):
        count(twice, distinct=False)
    with pytest.raises(tr.InputError, match=r"no column vector \(vector\); found: user_id"):
        count(twice.drop("vector"))
    with pytest.raises(tr.InputError, match="must be array<float> or array<double>"):
        count(twice.withColumn("vector", twice.item_id))


def test_what_cannot_be_evaluated_is_said(users):
    spread = users("integer")
    with pytest.raises(tr.InputError, match=r"design is Auto.*truerank.evaluate takes it"):
        tr.spark.count(spread, ITEMS, "auto")
    with pytest.raises(tr.InputError, match="users is 500; the test has 120 users"):
        tr.spark.count(spread, ITEMS, Exact(users=500))
    with pytest.raises(tr.InputError, match="stratified needs train"):
        tr.spark.count(spread.drop("train"), ITEMS, Exact(users=5, stratified=True))
    with pytest.raises(tr.InputError, match="ties is 'mid'"):
        tr.spark.count(spread, ITEMS, Adaptive(), ties="mid")
    with pytest.raises(tr.InputError, match=r"ties='spread' .* gives counts, not ranks"):
        tr.spark.rank(spread, ITEMS, ties="spread")
    with pytest.raises(tr.InputError, match="give training items in the same rows"):
        tr.spark.count(spread, ITEMS, train=([3], [4]))
    with pytest.raises(tr.InputError, match="the rows are a dict; give a Spark DataFrame"):
        tr.spark.count({"user_id": [1]}, ITEMS)


# -- accidents -------------------------------------------------------------------------------


def test_a_lost_executor_changes_nothing():
    """local-cluster[2,1,1024]: one of two executor processes is killed in the middle of the job."""
    script = Path(__file__).with_name("lost_executor.py")
    done = subprocess.run(
        [sys.executable, str(script)], capture_output=True, text=True, timeout=150, check=False
    )
    assert done.returncode == 0, done.stderr[-3000:]
    assert done.stdout.split() == ["killed", "1", "same", "True"]


def test_ranks_of_several_targets_have_places(frame):
    """As on one machine, also in batches whose users have one target each."""
    rows = pa.table(
        {
            "user_id": pa.array(np.arange(6)),
            "item_id": [[1, 2], [3], [4], [5, 6, 7], [8], [9]],
            "vector": USERS[:6].tolist(),
        }
    )
    ranked = tr.spark.rank(frame(rows).repartition(3), ITEMS)
    found = pa.Table.from_pylist([row.asDict() for row in ranked.collect()]).to_pandas()
    test = ([0, 0, 1, 2, 3, 3, 3, 4, 5], list(range(1, 10)))
    here = tr.rank(tr.scoring.Factors(USERS[:6], ITEMS), test).to_pandas()
    key = ["user_id", "item_id"]
    both = [table.sort_values(key).reset_index(drop=True) for table in (found, here)]
    for column in ("rank", "place", "n_targets", "n_items"):
        assert both[0][column].tolist() == both[1][column].tolist(), column
