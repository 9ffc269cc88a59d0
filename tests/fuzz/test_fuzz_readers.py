"""Any bytes in a file give a result or an InputError, never another exception."""

from __future__ import annotations

import contextlib
import gzip
import io
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from tests.fuzz import fuzz

from truerank import InputError, RankCounts
from truerank.errors import TruerankWarning
from truerank.outcomes.counts import is_saved

EXAMPLES = settings(
    max_examples=fuzz.number(200), suppress_health_check=[HealthCheck.function_scoped_fixture]
)
FEWER = settings(EXAMPLES, max_examples=fuzz.number(100))
ENDINGS = [".csv", ".txt", ".csv.gz", ".parquet"]


def harmless(read: Callable[[], Any]) -> None:
    """``read`` gives counts that are fit for use, or an InputError of one line."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", TruerankWarning)  # anything else stays an error
        try:
            found = read()
        except InputError as error:
            found = str(error)
    if isinstance(found, str):
        assert found
        assert "\n" not in found
        return
    for counts in found.values() if isinstance(found, dict) else [found]:
        assert counts.n_outcomes >= 1
        assert counts.effective_users > 0
        assert repr(counts)
        assert counts + counts != counts


def read_all_ways(path: Path) -> None:
    """Every door through which a file may come in."""
    harmless(lambda: RankCounts.from_table(path, n_items=1000, sample_size=10))
    harmless(lambda: RankCounts.by_model(path))
    if is_saved(path) or path.suffix == ".parquet":
        harmless(lambda: RankCounts.load(path))


@contextlib.contextmanager
def file_of(folder: Path, ending: str, data: bytes) -> Any:
    path = folder / f"ranks{ending}"
    path.write_bytes(data)
    try:
        yield path
    finally:
        path.unlink()


def packed(ending: str, data: bytes) -> bytes:
    return gzip.compress(data, mtime=0) if ending.endswith(".gz") else data


# -- bytes from nowhere ---------------------------------------------------------------------


@pytest.mark.parametrize("ending", ENDINGS)
@EXAMPLES
@given(data=st.binary(max_size=200))
def test_any_bytes(tmp_path: Path, ending: str, data: bytes) -> None:
    if ending == ".parquet" and len(data) % 2:  # as it begins and ends
        data = b"PAR1" + data + b"PAR1"
    if ending == ".csv.gz" and len(data) % 2:
        data = gzip.compress(data, mtime=0)
    with file_of(tmp_path, ending, data) as path:
        read_all_ways(path)


# -- text that is nearly a table ------------------------------------------------------------

CELLS = st.one_of(
    st.sampled_from(
        ["1", "2", "10", "0", "-1", "11", "1.5", "1e3", "nan", "inf", "", "NULL", "9" * 25, "true"]
    ),
    st.sampled_from(
        ["2020-01-01", "12:30", "a,b", '"', '"1"', "\ufeff", "\x00", "u", "1_0", " 3 "]
    ),
    st.text(max_size=5),
)
NAMES = st.one_of(
    st.sampled_from(
        ["rank", "Rank", "sampled_rank", "user_id", "userID", "item_id", "n_items", "sample_size"]
    ),
    st.sampled_from(["num_negatives", "weight", "model", "algorithm", "", " rank", "scheme"]),
    st.text(max_size=4),
)


@st.composite
def texts(draw: st.DrawFn) -> list[list[str]]:
    """A header and rows, most of them of its length."""
    names = draw(st.lists(NAMES, min_size=1, max_size=5))
    if draw(st.booleans()) and "rank" not in names:
        names[0] = "rank"
    rows = draw(st.lists(st.lists(CELLS, min_size=len(names), max_size=len(names)), max_size=6))
    if draw(st.integers(0, 9)) == 0:
        rows.append(draw(st.lists(CELLS, max_size=6)))
    return [names, *rows]


@pytest.mark.parametrize("ending", [".csv", ".tsv.gz"])
@EXAMPLES
@given(table=texts(), newline=st.sampled_from(["\n", "\r\n", "\r"]))
def test_odd_tables(tmp_path: Path, ending: str, table: list[list[str]], newline: str) -> None:
    separator = "\t" if ending.startswith(".tsv") else ","
    text = newline.join(separator.join(row) for row in table)
    data = packed(ending, text.encode(errors="surrogatepass"))
    with file_of(tmp_path, ending, data) as path:
        read_all_ways(path)


# -- good files gone bad --------------------------------------------------------------------


def saved_counts() -> bytes:
    counts = (
        RankCounts.from_ranks([1, 2, 2], n_items=1000, sample_size=10)
        + RankCounts.from_exact_ranks([3, 4], n_items=30)
        + RankCounts.from_ranks([2, 1], n_items=900, sample_size=[16, 32], ladder=[16, 32])
        + RankCounts.from_ranks([2], n_items=900, sample_size=16, weights=[1 / 3])
    )
    buffer = io.BytesIO()
    pq.write_table(counts.to_arrow(), buffer)
    return buffer.getvalue()


def parquet_ranks(**options: Any) -> bytes:
    table = pa.table(
        {
            "user_id": pa.array(["u", "v", "w", "x"]).dictionary_encode(),
            "rank": pa.array([1, 4, 4, 2], pa.int32()),
            "n_items": [1000, 900, 1000, 1000],
            "sample_size": pa.array([10.0, 10.0, 10.0, 12.0]),
            "model": ["a", "b", "a", "b"],
        }
    )
    buffer = io.BytesIO()
    pq.write_table(table, buffer, **options)
    return buffer.getvalue()


TEXT = b"user_id,rank,n_items,sample_size,model\nu,1,1000,10,a\nv,4,900,10,b\nw,4,900,12,a\n"
GOOD = {
    "saved counts": (".parquet", saved_counts()),
    "parquet": (".parquet", parquet_ranks(compression="none", use_dictionary=False)),
    "packed parquet": (".parquet", parquet_ranks(compression="zstd")),
    "csv": (".csv", TEXT),
    "packed csv": (".csv.gz", gzip.compress(TEXT, mtime=0)),
}


@pytest.mark.parametrize("kind", GOOD)
def test_the_good_files_are_good(tmp_path: Path, kind: str) -> None:
    ending, data = GOOD[kind]
    with file_of(tmp_path, ending, data) as path:
        if kind == "saved counts":
            assert RankCounts.load(path).n_users == pytest.approx(7 + 1 / 3)
        else:
            assert list(RankCounts.by_model(path)) == ["a", "b"]


@pytest.mark.parametrize("kind", GOOD)
@FEWER
@given(data=st.data())
def test_cut_short(tmp_path: Path, kind: str, data: st.DataObject) -> None:
    ending, good = GOOD[kind]
    end = data.draw(st.integers(0, len(good)))
    start = data.draw(st.sampled_from([0, 0, 0, 1, 4]))
    with file_of(tmp_path, ending, good[start:end]) as path:
        read_all_ways(path)


@pytest.mark.parametrize("kind", GOOD)
@EXAMPLES
@given(data=st.data())
def test_bits_flipped(tmp_path: Path, kind: str, data: st.DataObject) -> None:
    ending, good = GOOD[kind]
    bad = bytearray(good)
    for _ in range(data.draw(st.integers(1, 3))):
        bad[data.draw(st.integers(0, len(bad) - 1))] ^= 1 << data.draw(st.integers(0, 7))
    with file_of(tmp_path, ending, bytes(bad)) as path:
        read_all_ways(path)


@pytest.mark.parametrize("kind", GOOD)
@FEWER
@given(data=st.data())
def test_bytes_replaced_and_inserted(tmp_path: Path, kind: str, data: st.DataObject) -> None:
    ending, good = GOOD[kind]
    at = data.draw(st.integers(0, len(good)))
    gone = data.draw(st.integers(0, 8))
    new = data.draw(st.binary(max_size=8))
    with file_of(tmp_path, ending, good[:at] + new + good[at + gone :]) as path:
        read_all_ways(path)


# -- the words of a saved file --------------------------------------------------------------

FACTS = st.one_of(
    st.binary(max_size=30),
    st.tuples(
        st.sampled_from(["1", "1 ", "2", "01", "-1", "x"]),
        st.lists(st.one_of(st.floats(), st.sampled_from(["", "1e400", "0x1"])), max_size=4),
    ).map(lambda parts: f"{parts[0]} {' '.join(map(str, parts[1]))}".encode()),
)
SCHEMES = st.one_of(
    st.text(max_size=10),
    st.sampled_from(
        ["with", "without", "with:", "with:10", "with:10,20:hits=2", "without:5,10:hits=0", ":"]
    ),
    st.none(),
)
INTEGERS = st.one_of(st.integers(1, 40), st.integers(-(2**63), 2**63 - 1), st.none())
FLOATS = st.one_of(st.floats(0, 10), st.floats(), st.none())


@EXAMPLES
@given(
    facts=FACTS,
    rows=st.lists(st.tuples(SCHEMES, INTEGERS, INTEGERS, INTEGERS, FLOATS), max_size=4),
)
def test_saved_files_of_any_content(
    tmp_path: Path, facts: bytes, rows: list[tuple[Any, ...]]
) -> None:
    names = ["scheme", "n_items", "sample_size", "sampled_rank", "weight"]
    types = [pa.string(), pa.int64(), pa.int64(), pa.int64(), pa.float64()]
    columns = [pa.array([row[i] for row in rows], kind) for i, kind in enumerate(types)]
    table = pa.table(columns, names=names, metadata={b"truerank.rank_counts": facts})
    buffer = io.BytesIO()
    pq.write_table(table, buffer)
    with file_of(tmp_path, ".parquet", buffer.getvalue()) as path:
        read_all_ways(path)
