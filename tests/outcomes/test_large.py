"""Files larger than memory: the counts of parts are those of the whole."""

from __future__ import annotations

import tempfile

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from truerank import InputError, RankCounts
from truerank.errors import AssumptionWarning
from truerank.outcomes import _large, tables

N_ROWS = 5000
DESIGN = {"sample_size": 50, "n_items": 100_000, "replacement": True}
DRAWS = {"repeats": "draws"}
TARGET = ("user_id", "item_id", "score")
AMONG = {"rank_among": "negatives"}


@pytest.fixture(autouse=True)
def small_parts(monkeypatch, tmp_path):
    monkeypatch.setattr(_large, "ROWS", 700)
    scratch = tmp_path / "scratch"
    scratch.mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(scratch))


def rows(*names):
    rng = np.random.default_rng(0)
    columns = {
        "rank": rng.integers(1, 51, N_ROWS),
        "user_id": rng.integers(0, 900, N_ROWS),
        "item_id": rng.integers(0, 4, N_ROWS),
        "score": np.empty(N_ROWS),
        "model": rng.choice(["a", "b", "c"], N_ROWS),
        "weight": rng.random(N_ROWS),
        "unused": rng.random(N_ROWS),
    }
    # Some targets of a user have the same score, and the draws of one target always do.
    columns["score"] = rng.integers(0, 3, (900, 4))[columns["user_id"], columns["item_id"]]
    return pa.table({name: columns[name] for name in ("rank", "unused", *names)})


def folder(table, path):
    """As Spark writes it: several files, one of them empty, and a mark."""
    (path / "ranks").mkdir()
    for i in range(5):
        pq.write_table(table.slice(i * 1100, 1100), path / "ranks" / f"part-{i}.parquet")
    pq.write_table(table.slice(0, 0), path / "ranks" / "part-9.parquet")
    (path / "ranks" / "_SUCCESS").touch()
    return path / "ranks"


@pytest.mark.parametrize(
    ("names", "said"),
    [((), {}), (("user_id",), DRAWS), (TARGET, AMONG), (("weight",), {})],
)
@pytest.mark.parametrize("text", [False, True], ids=["integers", "strings"])
def test_parts_give_the_counts_of_the_whole(tmp_path, names, said, text):
    table = rows(*names)
    if text and "user_id" in names:
        table = table.set_column(
            2, "user_id", [[f"user-{i}" for i in table["user_id"].to_pylist()]]
        )
    expected = RankCounts.from_table(table, **DESIGN, **said)
    assert expected.several == ("item_id" in names)
    path = tmp_path / "ranks.parquet"
    pq.write_table(table, path, row_group_size=999)
    assert _large.find(path) is not None
    found = RankCounts.from_table(path, **DESIGN, **said)
    assert found == expected
    assert np.isclose(found.squared_weight, expected.squared_weight)
    assert RankCounts.from_table(folder(table, tmp_path), **DESIGN, **said) == expected
    assert not list((tmp_path / "scratch").iterdir())


def test_models_are_kept_apart(tmp_path):
    table = rows("user_id", "model")
    expected = RankCounts.by_model(table, **DESIGN, **DRAWS)
    path = folder(table, tmp_path)
    assert RankCounts.by_model(path, **DESIGN, **DRAWS) == expected
    with pytest.raises(InputError, match="holds 3 models; count each on its own"):
        RankCounts.from_table(path, **DESIGN)


def test_no_part_is_larger_than_agreed(tmp_path):
    path = folder(rows("user_id"), tmp_path)
    sizes = [len(part) for part in _large.find(path).parts(["rank", "user_id"], "user_id")]
    assert sum(sizes) == N_ROWS
    assert len(sizes) == 15
    assert max(sizes) < 700
    assert max(len(part) for part in _large.find(path).parts(["rank"])) <= 700 + 400


def test_what_is_wrong_is_said_once_and_where(tmp_path):
    table = rows()
    with pytest.warns(AssumptionWarning, match="replacement is not said") as told:
        RankCounts.from_table(folder(table, tmp_path), sample_size=50, n_items=500)
    assert len(told) == 1
    bad = table.to_pydict()
    bad["rank"][3000] = 51 + 9
    path = tmp_path / "bad.parquet"
    pq.write_table(pa.table(bad), path, row_group_size=500)
    with pytest.raises(InputError, match=r"is 60 at row 3000;"):
        RankCounts.from_table(path, **DESIGN)
    bad["user_id"] = list(range(N_ROWS))  # rows of a part are no longer next to each other
    pq.write_table(pa.table(bad), path, row_group_size=500)
    with pytest.raises(InputError, match=r"is 60 at row \d+.*after the first [\d,]+ rows"):
        RankCounts.from_table(path, **DESIGN)
    with pytest.raises(InputError, match="has no column rank or sampled_rank; found: pos"):
        RankCounts.from_table(folder(pa.table({"pos": [1] * 5000}), tmp_path / "scratch"), **DESIGN)
    missing = rows("user_id").to_pydict()
    missing["user_id"][17] = None
    pq.write_table(pa.table(missing), path)
    with pytest.raises(InputError, match="user_id has 1 missing values"):
        RankCounts.from_table(path, **DESIGN)
    (tmp_path / "broken").mkdir()
    (tmp_path / "broken" / "x.parquet").write_bytes(b"no parquet")
    with pytest.raises(InputError, match="cannot be read as Parquet"):
        RankCounts.from_table(tmp_path / "broken", **DESIGN)


def test_the_law_is_that_of_the_files(tmp_path):
    """What `tr.rank` notes about the draws is read from large files too; folders hold one law."""
    notes = {name: {tables.SCHEME_KEY: name.encode()} for name in ("without", "without:10,20,50")}
    plain = rows().append_column("n_items", pa.array(np.full(N_ROWS, 60)))
    plain = plain.append_column("sample_size", pa.array(np.full(N_ROWS, 50)))
    ranks = tmp_path / "ranks"
    ranks.mkdir()
    pq.write_table(plain.replace_schema_metadata(notes["without"]), ranks / "a.parquet")
    for source in (ranks, ranks / "a.parquet"):
        counts = RankCounts.from_table(source)
        assert [scheme.name for scheme in counts.schemes] == ["without"]
        counts = RankCounts.from_table(source, replacement=True)
        assert [scheme.name for scheme in counts.schemes] == ["with"]
    pq.write_table(plain.replace_schema_metadata(notes["without:10,20,50"]), ranks / "b.parquet")
    with pytest.raises(InputError, match="without:10,20,50"):
        RankCounts.from_table(ranks)
