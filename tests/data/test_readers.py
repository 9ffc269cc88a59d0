"""Every format by hand-made files; errors name file, line and remedy."""

from __future__ import annotations

import gzip
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import truerank as tr
from truerank.errors import InputError

ROWS = [(1, 10), (1, 20), (2, 10), (3, 30)]
TIMES = [5, 7, 6, 8]


def write(folder: Path, name: str, text: str) -> Path:
    path = folder / name
    if name.endswith(".gz"):
        path.write_bytes(gzip.compress(text.encode()))
    else:
        path.write_text(text)
    return path


def rows(data: tr.data.Interactions) -> list[tuple[Any, Any]]:
    return list(zip(data.user_id.tolist(), data.item_id.tolist(), strict=True))


def times(data: tr.data.Interactions) -> list[Any] | None:
    return None if data.timestamp is None else data.timestamp.tolist()


PLAIN = "1{s}10\n1{s}20\n2{s}10\n3{s}30\n"
FULL = "1{s}10{s}4{s}5\n1{s}20{s}5{s}7\n2{s}10{s}3.5{s}6\n3{s}30{s}1{s}8\n"
COMMA, TAB, COLONS, SEMICOLON = ({"s": s} for s in (",", "\t", "::", ";"))


@pytest.mark.parametrize(
    ("name", "text", "expected"),
    [
        ("a.csv", PLAIN.format(**COMMA), None),
        ("a.csv", "user_id,item_id\n" + PLAIN.format(**COMMA), None),
        ("a.csv", FULL.format(**COMMA), TIMES),
        ("ratings.csv", "userId,movieId,rating,timestamp\n" + FULL.format(**COMMA), TIMES),
        ("ratings.csv.gz", "userId,movieId,rating,timestamp\n" + FULL.format(**COMMA), TIMES),
        ("a.csv", "\ufeffuserID,itemID\n" + PLAIN.format(**COMMA), None),
        ("a.csv", '"user_id";"item_id"\n' + PLAIN.format(**SEMICOLON), None),
        ("a.csv", "user_id,item_id\r\n" + PLAIN.format(**COMMA).replace("\n", "\r\n"), None),
        ("a.tsv", PLAIN.format(**TAB), None),
        ("a.tsv", "time\titem\tuser\n5\t10\t1\n7\t20\t1\n6\t10\t2\n8\t30\t3\n", TIMES),
        ("u.data", FULL.format(**TAB), TIMES),
        ("a.txt", FULL.format(**TAB), TIMES),
        ("ratings.dat", FULL.format(**COLONS), TIMES),
        ("ratings.dat", PLAIN.format(**COLONS), None),
        ("ratings.dat.gz", FULL.format(**COLONS), TIMES),
        ("x.train.rating", FULL.format(**TAB), TIMES),
        ("x.train.rating", "1\t10\t1\n1\t20\t1\n2\t10\t1\n3\t30\t1\n", None),
        (
            "x.inter",
            "user_id:token\titem_id:token\trating:float\ttimestamp:float\n" + FULL.format(**TAB),
            TIMES,
        ),
        (
            "x",
            "user_id:token\titem_id:token\n" + PLAIN.format(**TAB),
            None,
        ),
        ("train.txt", "1 10 20\n2 10\n3 30\n4\n", None),
        ("train.txt", "1 10 20 \n2 10\n\n3 30", None),
        ("train.txt.gz", "1 10 20\n2 10\n3 30\n", None),
    ],
)
def test_formats_by_ending_and_content(
    tmp_path: Path, name: str, text: str, expected: list[int] | None
) -> None:
    data = tr.data.read(write(tmp_path, name, text))
    assert rows(data) == ROWS
    assert times(data) == expected
    assert data.name == name.split(".")[0]
    assert data.user_id.dtype == data.item_id.dtype == np.int64


def test_parquet_whatever_its_ending(tmp_path: Path) -> None:
    table = pa.table({"user_id": [1, 1, 2, 3], "item_id": [10, 20, 10, 30], "timestamp": TIMES})
    for name in ("a.parquet", "a.pq", "a"):
        pq.write_table(table, tmp_path / name)
        data = tr.data.read(tmp_path / name)
        assert rows(data) == ROWS
        assert times(data) == TIMES


@pytest.mark.parametrize("frame", [pd.DataFrame, pl.DataFrame, pa.table])
def test_frames_and_pairs(frame: Any) -> None:
    columns = {"customer": [1, 1, 2, 3], "item_id": [10, 20, 10, 30], "time": TIMES}
    data = tr.data.read(frame(columns), columns={"user_id": "customer"})
    assert rows(data) == ROWS
    assert times(data) == TIMES
    assert rows(tr.data.read((columns["customer"], columns["item_id"]))) == ROWS


def test_counted_lists_number_users_by_line(tmp_path: Path) -> None:
    path = write(tmp_path, "users.dat", "2 10 20\n0\n1 10\n1 30\n")
    assert rows(tr.data.read(path, format="counted")) == [(0, 10), (0, 20), (2, 10), (3, 30)]


def test_format_overrules_ending_and_content(tmp_path: Path) -> None:
    path = write(tmp_path, "a.csv", "1 10 20\n2 30 40\n")
    assert rows(tr.data.read(path, format="adjacency")) == [(1, 10), (1, 20), (2, 30), (2, 40)]


def test_names_for_files_without_header(tmp_path: Path) -> None:
    path = write(tmp_path, "a.csv", "ann,5,x\nbob,6,y\n")
    data = tr.data.read(path, columns=["user_id", "timestamp", "item_id"])
    assert rows(data) == [("ann", "x"), ("bob", "y")]
    assert times(data) == [5, 6]


def test_names_of_strange_headers(tmp_path: Path) -> None:
    path = write(tmp_path, "a.csv", '"User-ID";"ISBN";"Rating"\n1;"0195153448";0\n2;"05";7\n')
    columns = {"user_id": "User-ID", "item_id": "ISBN"}
    data = tr.data.read(path, columns=columns)
    assert rows(data) == [(1, "0195153448"), (2, "05")]
    assert rows(tr.data.read(path, columns=columns, min_rating=1)) == [(2, "05")]


@pytest.mark.parametrize("last", ["007", "9007199254740993", "1.0", "-0", "+1", "x"])
def test_ids_stay_strings_unless_all_are_plain_numbers(tmp_path: Path, last: str) -> None:
    data = tr.data.read(write(tmp_path, "a.csv", f"user_id,item_id\n-5,1\n0,{last}\n"))
    assert data.user_id.tolist() == [-5, 0]
    assert data.item_id.tolist() == ["1", last]


@pytest.mark.parametrize(
    ("stamps", "expected"),
    [
        (["1.5", "2"], [1.5, 2.0]),
        (["9.7e8", "1"], [9.7e8, 1.0]),
        (["1970-01-01", "1970-01-02"], [0, 86_400_000_000]),
        (["1970-01-01 00:00:01", "1970-01-01T00:00:00"], [1_000_000, 0]),
        (["1970-01-01T00:00:01Z", "1970-01-01T01:00:00+01:00"], [1_000_000, 0]),
    ],
)
def test_times_are_numbers_or_dates(
    tmp_path: Path, stamps: list[str], expected: list[float]
) -> None:
    text = "user_id,item_id,timestamp\n" + "".join(f"1,2,{stamp}\n" for stamp in stamps)
    assert times(tr.data.read(write(tmp_path, "a.csv", text))) == expected


def test_dates_of_frames() -> None:
    frame = pd.DataFrame(
        {"user_id": [1], "item_id": [2], "timestamp": pd.to_datetime(["1970-01-02"])}
    )
    assert times(tr.data.read(frame)) == [86_400_000_000]


def test_min_rating(tmp_path: Path) -> None:
    path = write(tmp_path, "ratings.dat", FULL.format(**COLONS))
    assert rows(tr.data.read(path, min_rating=3.5)) == [(1, 10), (1, 20), (2, 10)]
    assert times(tr.data.read(path, min_rating=5)) == [7]


@pytest.mark.parametrize(
    ("name", "text", "options", "message"),
    [
        ("a.csv", "user_id,item_id\n1,2\n\n3\n", {}, r"a\.csv, line 4: it has 1 fields where .* 2"),
        ("a.csv", "user_id,item_id\n1,2\n3,\n", {}, r"a\.csv, line 3: item_id is missing"),
        ("a.csv", "1,2\n\n,4\n", {}, r"a\.csv, line 3: user_id is missing"),
        (
            "a.csv",
            "user_id,item_id,timestamp\n1,2,5\n1,3,soon\n",
            {},
            r"line 3: timestamp is 'soon'; it must be a number or a date",
        ),
        ("a.dat", "1::2::3::4\n1::2::3\n", {}, r"line 2: it has 3 fields where line 1 has 4"),
        ("a.dat", "1::2::3::4\n1::2:7:3::4\n", {}, r"line 2: fields must be separated by '::'"),
        ("a.csv", "customer,product\n1,2\n", {}, r"line 1 is .*columns=\{"),
        ("a.csv", "1,2,3\n", {}, r"3 columns and no header; name them"),
        ("a.csv", "1,2,3\n", {"columns": ["user_id"]}, r"columns has 1 names; line 1 .* has 3"),
        ("a.csv", "user_id,thing\n1,2\n", {}, r"no column item_id; found: user_id, thing\. Say"),
        ("a.csv", "user_id,item_id\n1,2\n", {"columns": {"user": "x"}}, r"columns names user"),
        ("a.csv", "user_id,item_id\n", {}, r"a\.csv has no rows"),
        ("a.csv", "user_id,item_id,item_id\n1,2,3\n", {}, r"a\.csv has unusable column names"),
        ("a.csv", "user_id,item_id\n1,2\n", {"min_rating": 4}, r"no rating column"),
        ("a.csv", "1,2,3,4\n", {"min_rating": 4}, r"no rating of min_rating=4 or more"),
        ("a.csv", "1,2\n", {"format": "cvs"}, r"unknown format 'cvs'; did you mean 'csv'"),
        ("a.csv", "1,2\n", {"format": "parquet"}, r"a\.csv is no Parquet file"),
        ("a.inter", "1\t2\n", {}, r"line 1: .* is no header of an \.inter file"),
        ("a.txt", "", {}, r"a\.txt is empty"),
        ("a.txt", "1 2 3 4\n5 6 7 8\n", {}, r"every line .* has 4 fields .*adjacency"),
        ("users.dat", "2 7 8\n1 9\n", {}, r"begins with the number of its other fields"),
        ("u.dat", "2 7 8\n3 9\n", {"format": "counted"}, r"u\.dat, line 2: it begins with '3'"),
        ("a.txt", "1\n2\n", {}, r"no line with a user and an item"),
        ("a.txt", "1 2\n", {"columns": ["user_id"]}, r"adjacency, which has no columns to name"),
    ],
)
def test_errors_name_file_line_and_remedy(
    tmp_path: Path, name: str, text: str, options: dict[str, Any], message: str
) -> None:
    with pytest.raises(InputError, match=message):
        tr.data.read(write(tmp_path, name, text), **options)


def test_errors_of_paths_and_tables(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="does not exist"):
        tr.data.read(tmp_path / "none.csv")
    with pytest.raises(InputError, match=r"is a folder; .*read_split"):
        tr.data.read(tmp_path)
    (tmp_path / "latin.csv").write_bytes(b"user_id,item_id\n1,caf\xe9\n")
    with pytest.raises(InputError, match=r"latin\.csv .*UTF-?8"):
        tr.data.read(tmp_path / "latin.csv")
    frame = pd.DataFrame({"user_id": [1], "item_id": [2]})
    with pytest.raises(InputError, match="only files have one"):
        tr.data.read(frame, format="csv")
    with pytest.raises(InputError, match="names of its own"):
        tr.data.read(frame, columns=["user_id", "item_id"])
    with pytest.raises(InputError, match="sequence of 3"):
        tr.data.read(([1], [2], [3]))


def test_splits_from_folders(tmp_path: Path) -> None:
    write(tmp_path, "train.txt", "1 10 20\n2 10\n")
    with pytest.raises(InputError, match=r"has no test file, such as test\.parquet"):
        tr.data.read_split(tmp_path)
    write(tmp_path, "test.txt", "1 30\n")
    split = tr.data.read_split(tmp_path)
    assert rows(split.train) == [(1, 10), (1, 20), (2, 10)]
    assert rows(split.test) == [(1, 30)]
    write(tmp_path, "yelp.train.rating", "1\t11\t5\n")
    write(tmp_path, "yelp.test.rating", "1\t12\t5\n")
    write(tmp_path, "yelp.test.negative", "(1,12)\t3\t4\n")
    assert rows(tr.data.read_split(tmp_path, name="yelp").whole) == [(1, 11), (1, 12)]
    assert rows(tr.data.read_split(tmp_path).test) == [(1, 30)]
    write(tmp_path, "test.csv", "1,30\n")
    with pytest.raises(InputError, match=r"several test files: test\.csv, test\.txt"):
        tr.data.read_split(tmp_path)


@pytest.mark.parametrize(("name", "separator"), [("a.csv.gz", ","), ("a.txt.gz", " ")])
def test_damaged_compression(tmp_path: Path, name: str, separator: str) -> None:
    rows = "".join(f"{user}{separator}{user**3}\n" for user in range(5000))
    assert len(tr.data.read(write(tmp_path, name, rows))) == 5000
    whole = gzip.compress(rows.encode())
    flipped = bytearray(whole)
    flipped[len(whole) // 2] ^= 0xFF
    for content in (b"no gzip", whole[: len(whole) // 2], bytes(flipped)):
        (tmp_path / name).write_bytes(content)
        with pytest.raises(InputError, match=rf"{name} (cannot be read|is not a readable)"):
            tr.data.read(tmp_path / name)
