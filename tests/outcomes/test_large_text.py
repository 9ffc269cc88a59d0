"""Text files too large to be read whole: the same counts, kinds of columns and errors."""

from __future__ import annotations

import gzip
import io
import tempfile

import numpy as np
import pytest
from pyarrow import csv

from truerank import InputError, RankCounts
from truerank.errors import AssumptionWarning
from truerank.outcomes import _large, _text, tables

DESIGN = {"sample_size": 50, "n_items": 100_000, "replacement": True}
N_ROWS = 3000


@pytest.fixture(autouse=True)
def small_parts(monkeypatch, tmp_path):
    monkeypatch.setattr(_large, "ROWS", 300)
    monkeypatch.setattr(_text, "_BLOCK", 2000)
    scratch = tmp_path / "scratch"
    scratch.mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(scratch))


def lines(*names, user=str, n_rows=N_ROWS):
    rng = np.random.default_rng(0)
    columns = {
        "rank": rng.integers(1, 51, n_rows),
        "user_id": [user(i) for i in rng.integers(0, 900, n_rows)],
        "item_id": np.arange(n_rows),
        "model": rng.choice(["b", "a", "c"], n_rows),
        "weight": rng.integers(1, 4, n_rows),
        "n_items": rng.integers(90_000, 90_003, n_rows),
    }
    rows = zip(*(columns[name] for name in names), strict=True)
    return [",".join(names), *(",".join(map(str, row)) for row in rows)]


def written(path, text):
    data = "\n".join([*text, ""]).encode()
    path.write_bytes(gzip.compress(data) if path.suffix == ".gz" else data)
    return path


def odd_ids(number):
    """Whole numbers at first; further on text, so that 07 and 7 are two users."""
    return f"0{number}" if number % 100 == 7 else str(number)


@pytest.mark.parametrize("name", ["r.csv", "r.csv.gz", "r.txt"])
@pytest.mark.parametrize(
    ("names", "said"),
    [
        (("rank",), {}),
        (("user_id", "rank"), {"repeats": "draws"}),
        (("item_id", "user_id", "rank"), {"rank_among": "negatives", "shared_negatives": True}),
        (("n_items", "rank", "weight"), {"n_items": None}),
    ],
)
@pytest.mark.parametrize("user", [str, odd_ids, "user-{}".format])
def test_parts_give_the_counts_of_the_whole(tmp_path, name, names, said, user):
    path = written(tmp_path / name, lines(*names, user=user))
    assert _large.find(path) is not None
    options = {**DESIGN, **said}
    assert RankCounts.from_table(path, **options) == RankCounts.from_table(
        tables.read(path), **options
    )
    assert not list((tmp_path / "scratch").iterdir())


def test_models_come_in_the_order_of_the_file(tmp_path):
    path = written(tmp_path / "r.csv", lines("user_id", "model", "rank"))
    options = {**DESIGN, "repeats": "draws"}
    expected = RankCounts.by_model(tables.read(path), **options)
    found = RankCounts.by_model(path, **options)
    assert found == expected
    assert list(found) == list(expected)
    assert list(RankCounts.by_model(path, by="MODEL", **options)) == list(expected)
    with pytest.raises(InputError, match="holds 3 models; count each on its own"):
        RankCounts.from_table(path, **options)


VALUES = [
    *("", "1", "0", "2.5", "1,5", "true", "2020-01-01", "12:30", "2020-01-01 10:00:00", "x y"),
    *("2020-01-01T10:00:00Z", "2020-01-01 10:00:00.123456789", "nan", "NULL", "-3", "1e3", "007"),
]


@pytest.mark.parametrize("separator", [",", ";"])
def test_columns_are_of_the_kinds_that_arrow_finds(tmp_path, separator):
    """Each column mostly holds one kind of value; others stand somewhere among them."""
    rng = np.random.default_rng(1)
    values = [value for value in VALUES if separator not in value]
    path = tmp_path / "r.csv"
    kinds = set()
    for _ in range(60):
        n_rows = int(rng.integers(1, 400))
        some = rng.choice(values, (n_rows, 5)).astype(object)
        some[:, 1:] = rng.choice(values, 4)
        for column in range(2, 5):
            row = rng.integers(n_rows, size=2)
            some[row, column] = rng.choice(values, 2)
        written(path, [separator.join("abcde"), *map(separator.join, some.tolist())])
        whole = tables.read(path).native
        file = _text.TextFile(path)
        found = file.settle(list("eacd"))
        assert found.n_rows == len(whole)
        parts = list(file.blocks(found, list("eacd")))
        for name in "eacd":
            column = [value for part in parts for value in part[name].to_pylist()]
            assert repr(column) == repr(whole[name].to_pylist())
            assert {part[name].type for part in parts} == {whole[name].type}
            kinds.add(whole[name].type)
    assert len(kinds) >= 7


@pytest.mark.parametrize("users", [False, True])
@pytest.mark.parametrize(
    ("bad", "said"),
    [
        ("x", "holds values that are not numbers, such as 'x' at line 2345"),
        ("51", r"sampled_rank is 51 at line 2345, one more than"),
        ("60", r"sampled_rank is 60 at line 2345; ranks are 1-based"),
        ("2.5", r"sampled_rank is 2.5 at line 2345; it must be a whole number"),
        ("", r"r.csv: sampled_rank is nan at line 2345; 2 of 3,000 rows have no rank"),
        ("7,7", r"r.csv, line 2345: it has \d fields where the header has \d: .*7,7"),
    ],
)
def test_bad_lines_are_named(tmp_path, users, bad, said):
    text = lines("user_id", "rank", user="u{}".format) if users else lines("rank", "n_items")
    if users:  # every user once
        text[1:] = [f"u{at},{row.split(',')[1]}" for at, row in enumerate(text[1:])]
    for at in [2341, 2600] if bad == "" else [2341]:
        fields = text[at].split(",")
        fields[int(users)] = bad
        text[at] = ",".join(fields)
    text[100:100] = ["", "", ""]  # blank lines are no rows, but lines
    path = written(tmp_path / "r.csv", text)
    options = dict(DESIGN) if users else {**DESIGN, "n_items": None}
    for source in (path, tables.read(path)) if "fields" not in said else (path,):
        with pytest.raises(InputError, match=said):
            RankCounts.from_table(source, **options)
    if "fields" in said:
        with pytest.raises(InputError, match=said):
            tables.read(path)


def test_rows_without_a_rank_are_dropped_in_parts(tmp_path):
    text = lines("user_id", "rank")
    for row in (3, 700, 2900):
        text[row] = text[row].split(",")[0] + ","
    path = written(tmp_path / "r.csv", text)
    options = {**DESIGN, "repeats": "draws", "drop_missing": True}
    with pytest.warns(AssumptionWarning, match="3 rows without a rank"):
        found = RankCounts.from_table(path, **options)
    with pytest.warns(AssumptionWarning, match="3 rows without a rank"):
        assert found == RankCounts.from_table(tables.read(path), **options)


def test_files_that_are_something_else(tmp_path):
    zipped = written(tmp_path / "r.csv.gz", lines("rank")).rename(tmp_path / "r.csv")
    with pytest.raises(InputError, match="is compressed by gzip"):
        RankCounts.from_table(zipped, **DESIGN)
    text = ["rank,rank", *(f"{row},{row}" for row in lines("rank")[1:])]
    double = written(tmp_path / "d.csv", text)
    with pytest.raises(InputError, match="has unusable column names"):
        RankCounts.from_table(double, **DESIGN)
    cut = gzip.compress("\n".join(lines("user_id", "rank")).encode())[:-30]
    (tmp_path / "cut.csv.gz").write_bytes(cut)
    with pytest.raises(InputError, match=r"cut.csv.gz is not a readable .csv file"):
        RankCounts.from_table(tmp_path / "cut.csv.gz", **DESIGN)


def test_what_arrow_says_of_uneven_lines_is_understood():
    """The line is read from its message."""
    with pytest.raises(ValueError, match="Expected 2 columns") as told:
        csv.read_csv(io.BytesIO(b"a,b\n1,2\n3\n"), csv.ReadOptions(use_threads=False))
    found = _text._UNEVEN.search(str(told.value))
    assert found
    assert found.group("row", "header", "found", "text") == ("3", "2", "1", "3")
