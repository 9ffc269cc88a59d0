"""Ranks files that start from 0 or have gaps, and where their errors point, in every command."""

from __future__ import annotations

import json
import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import truerank as tr

DESIGN = ("--n-items", 3706, "--num-negatives", 99, "--no-replacement")
OPTIONS: dict[str, Any] = {"n_items": 3706, "num_negatives": 99, "replacement": False}


def write(path: Path, ranks: Any, *, users: bool = True) -> Path:
    lines = [f"{user},{rank}\n" if users else f"{rank}\n" for user, rank in enumerate(ranks)]
    path.write_text(("user_id,rank\n" if users else "rank\n") + "".join(lines))
    return path


COMMANDS: dict[str, Any] = {
    "estimate": lambda path: ("estimate", path),
    "estimate by": lambda path: ("estimate", path, "--by", "file"),
    "compare": lambda path: ("compare", path, path.with_name("other.csv")),
    "audit": lambda path: ("audit", "--ranks", path),
    "plan": lambda path: ("plan", "--like", path, "--error", 0.5),
    "map": lambda path: ("map", "--ranks", path),
}


@pytest.fixture
def files(ranks: np.ndarray, here: Path) -> Path:
    """As people have them: from 0, with a gap in line 5; other.csv has the same gap."""
    cells = [str(rank - 1) for rank in ranks]
    cells[3] = ""
    write(here / "other.csv", [*cells[:3], "", *cells[:3:-1]])
    return write(here / "odd.csv", cells)


@pytest.mark.parametrize("command", COMMANDS)
def test_every_command_takes_both(command: str, files: Path, run: Any) -> None:
    arguments = (*COMMANDS[command](files), *DESIGN)
    found = run(*arguments)
    assert found.code == 2
    assert "sampled_rank is nan at line 5; 1 of 500 rows have no rank" in found.err
    assert "--drop-missing" in found.err
    found = run(*arguments, "--drop-missing")
    assert found.code == 2
    assert "sampled_rank is 0 at line" in found.err
    assert "--zero-based" in found.err
    found = run(*arguments, "--drop-missing", "--zero-based")
    assert found.code in ((0, 1) if command == "audit" else (0,))
    assert "1 row without a rank was left out" in found.err


def test_report_takes_both(files: Path, here: Path, run: Any) -> None:
    pytest.importorskip("jinja2")
    pytest.importorskip("matplotlib")
    flags = ("--drop-missing", "--zero-based", "-m", "recall@10", "-o", "page.html")
    found = run("report", files, *DESIGN, *flags)
    assert found.code == 0, found.err
    assert "1 row without a rank was left out" in found.err
    assert "1 row without a rank was left out" in (here / "page.html").read_text()


def test_the_same_as_from_one_and_whole(ranks: np.ndarray, files: Path, run: Any) -> None:
    """1 is added and the row is gone: nothing else differs."""
    flags = (*DESIGN, "-m", "recall@10", "-e", "naive", "--json")
    plain = json.loads(
        run("estimate", write(files.with_name("p.csv"), np.delete(ranks, 3)), *flags).out
    )
    odd = json.loads(run("estimate", files, *flags, "--zero-based", "--drop-missing").out)
    assert odd["results"] == plain["results"]
    assert odd["counts"] == {**plain["counts"], "n_dropped": 1}
    text = run("estimate", files, *flags[:-1], "--zero-based", "--drop-missing", "-q")
    assert "1 row without a rank was left out" in " ".join(text.out.split())
    assert not text.err


def test_results_say_how_many_rows_were_left_out(files: Path, run: Any) -> None:
    found = run("compare", files, files.with_name("other.csv"), *DESIGN, "--zero-based",
                "--drop-missing", "--json")  # fmt: skip
    (one,) = json.loads(found.out)["comparisons"]
    assert "2 rows without a rank were left out." in one["how"]


def test_counts_remember_what_was_left_out(tmp_path: Path) -> None:
    table = pa.table({"user_id": [1, 2, 3, 4], "rank": [0, None, 4, 7]})
    options = {**OPTIONS, "zero_based": True, "drop_missing": True}
    with pytest.warns(tr.errors.AssumptionWarning, match="table: 1 row without a rank was left"):
        counts = tr.RankCounts.from_table(table, **options)
    assert counts.sampled_rank.tolist() == [1, 5, 8]
    assert (counts.n_dropped, (counts + counts).n_dropped) == (1, 2)
    assert "1 row without a rank" in repr(counts)
    counts.save(tmp_path / "counts.parquet")
    assert tr.RankCounts.load(tmp_path / "counts.parquet").n_dropped == 1
    est = tr.estimate(counts, "recall@10", estimator="naive", confidence=None)
    assert est.to_dict()["n_dropped"] == 1
    assert "1 row without a rank was left out." in repr(est)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", tr.errors.AssumptionWarning)
        paired = tr.PairedCounts.from_tables({"a": table, "b": table}, **options)
    paired.save(tmp_path / "paired.parquet")
    both = tr.PairedCounts.load(tmp_path / "paired.parquet") + paired
    with (
        pytest.warns(tr.errors.AssumptionWarning),
        pytest.raises(tr.InputError, match=r"are not in b, .*\(1 row without a rank was left out"),
    ):
        tr.PairedCounts.from_tables({"a": table.slice(2), "b": table.slice(0, 3)}, **options)
    assert (paired.n_dropped, both.n_dropped, both["b"].n_dropped) == ((1, 1), (2, 2), 2)


def test_large_files_drop_rows_part_by_part(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from truerank.outcomes import _large

    monkeypatch.setattr(_large, "ROWS", 4)
    ranks = [None, None, None, None, 0, 1, None, 3, 4]
    table = pa.table({"rank": ranks, "model": ["a", "b"] * 4 + ["a"]})
    path = tmp_path / "ranks.parquet"
    pq.write_table(table, path, row_group_size=4)
    options = {**OPTIONS, "zero_based": True, "drop_missing": True}
    with pytest.warns(tr.errors.AssumptionWarning, match="5 rows without a rank were left out"):
        found = tr.RankCounts.by_model(path, **options)
    assert {name: (one.n_users, one.n_dropped) for name, one in found.items()} == {
        "a": (2, 3), "b": (2, 2)
    }  # fmt: skip
    nothing = pa.table({"rank": pa.array([None] * 3, pa.int64())})
    with pytest.raises(tr.InputError, match=r"no row has a rank \(3 without one\)"):
        tr.RankCounts.from_table(nothing, **options)


@pytest.mark.parametrize(
    ("text", "flags", "message"),
    [
        ("rank\n1\n\n\n0\n", (), "sampled_rank is 0 at line 5"),
        ("rank\n1\n250\n", (), "sampled_rank is 250 at line 3"),
        ("rank\n1\n2.5\n", (), "sampled_rank is 2.5 at line 3"),
        ("rank\n1\nfirst\n", (), "such as 'first' at line 3"),
        ("rank\n-1\n0\n", ("--zero-based",), "sampled_rank is -1 at line 2; ranks that"),
        ("rank\n0\n100\n", ("--zero-based",), "sampled_rank is 101 at line 3"),
        ("rank\n\n1\nNA\n", (), "sampled_rank is nan at line 4; 1 of 2 rows"),
        ("user_id;rank\n1;2,0\n2;\n", (), "sampled_rank is nan at line 3"),
        ("rank,weight\n1,1\n,1\n2,-1\n", ("--drop-missing",), "weight is -1 at line 4"),
        ("user_id,rank\n7,1\n7,2\n", (), "the user of line 3 has more than one row"),
    ],
)  # fmt: skip
def test_errors_name_the_line_of_the_file(
    here: Path, run: Any, text: str, flags: tuple[str, ...], message: str
) -> None:
    import gzip

    (here / "r.csv").write_text(text)
    (here / "r.csv.gz").write_bytes(gzip.compress(text.encode()))
    for name in ("r.csv", "r.csv.gz"):
        found = run("estimate", name, *DESIGN, *flags)
        assert found.code == 2
        assert message in " ".join(found.err.split())


def test_a_model_among_several_keeps_its_lines(here: Path, run: Any) -> None:
    (here / "r.csv").write_text("model,user_id,rank\na,1,1\nb,1,2\na,2,1\nb,2,0\n")
    for command in ("estimate", "compare"):
        found = run(command, "r.csv", "--by", "model", *DESIGN)
        assert "sampled_rank is 0 at line 5" in " ".join(found.err.split())
    table = pa.table({"rank": [None, 1, 0]})
    with pytest.raises(tr.InputError, match="sampled_rank is 0 at row 2"):
        tr.RankCounts.from_table(table, drop_missing=True, **OPTIONS)


def test_ranks_that_start_from_zero() -> None:
    ranks = np.array([0, 3, 99])
    options = {**OPTIONS, "zero_based": True}
    assert tr.RankCounts.from_ranks(ranks, **options) == tr.RankCounts.from_ranks(
        ranks + 1, **OPTIONS
    )
    exact = tr.RankCounts.from_exact_ranks(ranks, n_items=100, zero_based=True)
    assert exact == tr.RankCounts.from_exact_ranks(ranks + 1, n_items=100)


@pytest.mark.parametrize("flag", ["--zero-based", "--drop-missing"])
def test_no_file_of_ranks_no_option(run: Any, here: Path, flag: str) -> None:
    sizes = ("--n-items", 3706, "--sample-size", 100)
    assert "give --ranks FILE" in run("map", *sizes, flag).err
    assert "give --like FILE" in run("plan", "--n-items", 3706, flag).err
    tr.RankCounts.from_ranks([1, 2], **OPTIONS).save("c.parquet")
    found = run("estimate", "c.parquet", flag)
    assert found.code == 2
    assert "holds saved counts" in found.err
