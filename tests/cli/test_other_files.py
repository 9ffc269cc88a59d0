"""Files of negatives as other tools write them: NCF, Elliot, RecBole, plain tables."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from pyarrow import csv

import truerank as tr
from truerank import InputError
from truerank.designs import Frozen, FrozenNegatives

USERS, TARGETS = [3, 5, 8], [30, 31, 32]
LISTS = [[1, 2, 40], [7, 9], [10, 11, 30]]
SCORER = tr.scoring.Dense(np.random.default_rng(0).random((9, 50)))


def ncf(folder: Path) -> Path:
    path = folder / "ml.test.negative"
    rows = zip(USERS, TARGETS, LISTS, strict=True)
    path.write_text("".join(f"({u},{i})\t" + "\t".join(map(str, n)) + "\n" for u, i, n in rows))
    return path


def elliot(folder: Path) -> Path:
    path = folder / "test_negative.tsv"
    rows = zip(USERS, LISTS, strict=True)
    path.write_text("".join(f"({u},)\t" + "\t".join(map(str, n)) + "\n" for u, n in rows))
    return path


def recbole(folder: Path) -> Path:
    path = folder / "data.test.inter"
    lines = ["user_id:token\titem_id:token\tlabel:float"]
    for user, target, negatives in zip(USERS, TARGETS, LISTS, strict=True):
        lines += [f"{user}\t{target}\t1.0", *(f"{user}\t{item}\t0.0" for item in negatives)]
    path.write_text("\n".join(lines) + "\n")
    return path


def table(folder: Path) -> Path:
    path = folder / "negatives.parquet"
    pq.write_table(pa.table({"user_id": USERS, "item_id": TARGETS, "negatives": LISTS}), path)
    return path


@pytest.mark.parametrize("write", [ncf, elliot, recbole, table])
def test_all_say_the_same(tmp_path: Path, write: Any) -> None:
    frozen = FrozenNegatives.read(write(tmp_path))
    assert frozen.user_id.tolist() == USERS
    assert np.split(frozen.negative, frozen.start[1:-1])[2].tolist() == LISTS[2]
    assert frozen.by_user == (write is elliot)
    expected = tr.count(SCORER, (USERS, TARGETS), Frozen(ncf(tmp_path)))
    assert tr.count(SCORER, (USERS, TARGETS), Frozen(frozen)) == expected
    # A part of the users, and a round through our own file.
    frozen.save(tmp_path / "ours.parquet")
    again = FrozenNegatives.read(tmp_path / "ours.parquet")
    assert again == frozen
    assert tr.count(SCORER, (USERS[:2], TARGETS[:2]), Frozen(again.of_users([3, 5]))).n_users == 2


@pytest.mark.parametrize("write", [ncf, elliot, recbole, table])
def test_every_command_reads_them(tmp_path: Path, write: Any, run: Any) -> None:
    path = write(tmp_path)
    test = tmp_path / "ml.test.rating"  # NCF's
    rows = zip(USERS, TARGETS, strict=True)
    test.write_text("".join(f"{user}\t{item}\t5\t97\n" for user, item in rows))
    np.save(tmp_path / "s.npy", np.random.default_rng(0).random((9, 50)))
    found = run("audit", "--negatives", path, "--test", test, "--json")
    codes = {one["code"]: one["level"] for one in json.loads(found.out)["findings"]}
    assert codes["targets"] == "ok"
    assert codes["users-without-negatives"] == "ok"
    scores = ("--scores", tmp_path / "s.npy", "--test", test, "--negatives", path)
    found = run("evaluate", *scores, "-m", "auc", "--json")
    assert found.code == 0, found.err
    expected = tr.count(SCORER, (USERS, TARGETS), Frozen(ncf(tmp_path)))
    auc = tr.estimate(expected, "auc")["auc"].value
    assert json.loads(found.out)["results"][0]["value"] == pytest.approx(auc)
    ranks = tr.rank(SCORER, (USERS, TARGETS), Frozen(ncf(tmp_path))).drop_columns(["sample_size"])
    ranks = ranks.replace_schema_metadata(None)
    csv.write_csv(ranks.drop_columns(["n_items"]), tmp_path / "ranks.csv")
    frozen = ("--negatives", path, "--n-items", 50, "-m", "auc", "--json")
    found = run("estimate", tmp_path / "ranks.csv", *frozen)
    assert found.code == 0, found.err
    assert json.loads(found.out)["results"][0]["value"] == pytest.approx(auc)


def test_targets_among_negatives_are_dropped_with_a_count(tmp_path: Path, run: Any) -> None:
    path = tmp_path / "ml.test.negative"
    path.write_text("(3,30)\t1\t30\t2\n(5,31)\t4\t6\t7\n")
    test = tmp_path / "test.csv"
    test.write_text("user_id,item_id\n3,30\n5,31\n")
    np.save(tmp_path / "s.npy", np.random.default_rng(0).random((9, 50)))
    found = run("audit", "--negatives", path)
    assert found.code == 1
    assert "1 target is among its own negatives" in found.out
    assert "drop_targets=True" in found.out.replace("\n", " ")
    scores = ("--scores", tmp_path / "s.npy", "--test", test, "--negatives", path, "-m", "auc")
    assert "--drop-targets" in run("evaluate", *scores).err
    found = run("evaluate", *scores, "--drop-targets", "--json")
    assert json.loads(found.out)["protocol"]["dropped_targets"] == 1


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("(3,30)\t1\n(5,)\t2\n", r"line 2 begins with '\(5,\)', unlike the lines before it"),
        ("(3,)\t1\n(3,)\t2\n", r"line 2 repeats \(3,\) of line 1"),
        ("user_id\titem_id\n3\t1\n", "is no file of negatives: it begins neither with"),
        ("user_id\titem_id\tlabel\n3\t1\tx\n", "line 2 is .*; a label must be a number"),
        ("user_id\titem_id\tlabel\n3\t1\t1\n", r"user 3 has no negatives \(label 0\)"),
        ("user_id\titem_id\tlabel\n3\t1\t0\n", r"user 3 has no target \(label 1\)"),
        ("user_id,item_id,label\n3,1,1\n3,2,0\n3,2,0\n", "repeat another one of their row"),
        ("", "is empty; there are no negatives in it"),
    ],
)
def test_bad_files(tmp_path: Path, text: str, message: str) -> None:
    path = tmp_path / "negatives.txt"
    path.write_text(text)
    with pytest.raises(InputError, match=message):
        FrozenNegatives.read(path)


def test_estimate_says_what_does_not_go_with_negatives(tmp_path: Path, run: Any) -> None:
    path = ncf(tmp_path)
    (tmp_path / "ranks.csv").write_text("user_id,item_id,rank\n3,30,1\n4,30,2\n")
    given = ("estimate", tmp_path / "ranks.csv", "--n-items", 50, "--negatives", path)
    assert "1 targets have no negatives in" in run(*given).err
    assert "--sample-size is given, but --negatives says" in run(*given, "--sample-size", 4).err
    assert "--negatives does not go with --by" in run(*given, "--by", "model").err
    (tmp_path / "ranks.csv").write_text("user_id,rank\n3,1\n")
    assert "has no column item_id" in run(*given).err


def test_an_audit_of_negatives_by_user_needs_the_test(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="names no targets; give the test as well"):
        tr.audit(negatives=elliot(tmp_path))
    assert tr.audit(negatives=elliot(tmp_path), test=(USERS, TARGETS)).findings


def test_repeated_negatives_are_a_finding_of_the_audit(tmp_path: Path) -> None:
    path = tmp_path / "x.test.negative"
    path.write_text("(3,30)\t1\t1\t2\n")
    codes = {one.code: one.count for one in tr.audit(negatives=path)}
    assert codes["duplicates"] == 1


@pytest.mark.parametrize("name", ["ranks.csv", "ranks.npy", "ranks.parquet", "ranks"])
def test_folders_are_named_as_such(run: Any, here: Path, name: str) -> None:
    (here / name).mkdir()
    (here / "test.csv").write_text("user_id,item_id\n1,1\n")
    np.save(here / "S.npy", np.eye(3))
    for arguments in (
        ("estimate", name, "--n-items", 3706, "--sample-size", 100),
        ("evaluate", "--scores", name, "--test", "test.csv"),
        ("evaluate", "--scores", "S.npy", "--test", name),
        ("audit", "--negatives", name),
        ("translate", name, "--sample-size", 100),
    ):
        result = run(*arguments)
        assert (result.code, result.out) == (2, "")
        assert f"{name} is a folder" in result.err
