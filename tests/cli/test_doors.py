"""What commands read and write: no input is overwritten, and what is no file stays what it is."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import truerank as tr

DESIGN = ("--n-items", 3706, "--sample-size", 100)


@pytest.fixture
def inputs(here: Path, ranks: np.ndarray) -> Path:
    """A file of every kind that commands read."""
    rows = "".join(f"{user},{rank}\n" for user, rank in enumerate(ranks))
    for name in ("a.csv", "b.csv"):
        (here / name).write_text("user_id,rank\n" + rows)
    np.save(here / "S.npy", np.random.default_rng(0).normal(size=(5, 20)))
    (here / "test.csv").write_text("user_id,item_id\n" + "".join(f"{u},{u}\n" for u in range(5)))
    (here / "items.csv").write_text("item_id\n" + "".join(f"{i}\n" for i in range(20)))
    (here / "n.tsv").write_text("(0,1)\t2\t3\n(1,2)\t5\t6\n")
    (here / "table.csv").write_text(
        "dataset,model,metric,value,n_items,n_users\nd,A,hr@10,0.6,3706,6040\n"
    )
    (here / "mine.py").write_text("def score(users, items):\n    return items * 1.0\n")
    return here


EVALUATE = ("evaluate", "--test", "test.csv")
COMMANDS = {
    "estimate": ("ranks.csv", ("estimate", "ranks.csv", *DESIGN)),
    "compare": ("a.csv", ("compare", "a.csv", "b.csv", *DESIGN)),
    "report": ("a.csv", ("report", "a.csv", "b.csv", *DESIGN)),
    "evaluate scores": ("S.npy", (*EVALUATE, "--scores", "S.npy")),
    "evaluate test": ("test.csv", (*EVALUATE, "--scores", "S.npy")),
    "evaluate scorer": ("mine.py", (*EVALUATE, "--scorer", "mine:score", "--items", "items.csv")),
    "evaluate items": ("items.csv", (*EVALUATE, "--scorer", "mine:score", "--items", "items.csv")),
    "audit negatives": ("n.tsv", ("audit", "--negatives", "n.tsv")),
    "audit ranks": ("ranks.csv", ("audit", "--ranks", "ranks.csv", *DESIGN)),
    "plan": ("ranks.csv", ("plan", "--like", "ranks.csv", *DESIGN)),
    "map": ("ranks.csv", ("map", "--ranks", "ranks.csv", *DESIGN)),
    "translate": ("table.csv", ("translate", "table.csv", "--sample-size", 100)),
}


@pytest.mark.parametrize("name", COMMANDS)
@pytest.mark.parametrize("link", ["", "hard", "soft"])
def test_no_input_is_overwritten(run: Any, inputs: Path, name: str, link: str) -> None:
    file, command = COMMANDS[name]
    before = (inputs / file).read_bytes()
    output = f"{link}-{file}" if link else file
    if link == "hard":
        os.link(inputs / file, inputs / output)
    elif link == "soft":
        (inputs / output).symlink_to(file)
    result = run(*command, "-o", output)
    assert (result.code, result.out) == (2, "")
    assert f"--output is {output}, an input file" in result.err
    assert (inputs / file).read_bytes() == before


@pytest.mark.parametrize("file", ["n.tsv", "own/__init__.py"])
def test_inputs_within_an_option_are_inputs(run: Any, inputs: Path, file: str) -> None:
    (inputs / "own").mkdir()
    (inputs / "own/__init__.py").write_text("def score(users, items):\n    return items * 1.0\n")
    before = (inputs / file).read_bytes()
    for options in (
        ("--scores", "S.npy", "--design", 'frozen(negatives="n.tsv")'),
        ("--scorer", "own:score", "--items", "items.csv", "--negatives", "n.tsv"),
    ):
        result = run(*EVALUATE, *options, "-o", file)
        assert ("an input file" in result.err) == (file in str(options) or file[:3] in options[1])
        if result.code == 0:
            (inputs / file).write_bytes(before)
        assert (inputs / file).read_bytes() == before


def test_pipes_and_devices_are_no_inputs(run: Any, inputs: Path) -> None:
    """They may have no end, and are read more than once."""
    os.mkfifo(inputs / "pipe.csv")
    for arguments, message in (
        (("estimate", "pipe.csv", *DESIGN), "pipe.csv is a pipe"),
        (("audit", "--negatives", "/dev/zero"), "/dev/zero is a device"),
        ((*EVALUATE, "--scores", "pipe.csv"), "pipe.csv is a pipe"),
        (("plan", "--like", "pipe.csv", *DESIGN), "pipe.csv is a pipe"),
    ):
        result = run(*arguments)
        assert (result.code, result.out) == (2, "")
        assert message in result.err
    for read in (
        tr.RankCounts.from_table,
        tr.RankCounts.load,
        tr.data.read,
        tr.designs.FrozenNegatives.read,
    ):
        with pytest.raises(tr.InputError, match=r"pipe\.csv is a pipe"):
            read(inputs / "pipe.csv")


def test_two_outputs_are_two_files(run: Any, inputs: Path) -> None:
    (inputs / "soft.parquet").symlink_to("x.parquet")
    command = (*EVALUATE, "--scores", "S.npy", "--save-counts", "x.parquet", "-o")
    for output in ("x.parquet", "./x.parquet", "soft.parquet"):
        result = run(*command, output)
        assert result.code == 2
        assert "--save-counts and --output are both x.parquet" in result.err
        assert not (inputs / "x.parquet").exists()
    result = run("demo", "--report", "x.html", "-o", "x.html")
    assert "--report and --output are both x.html" in result.err


def test_a_file_of_a_cache_is_an_input(run: Any, inputs: Path) -> None:
    command = (*EVALUATE, "--scorer", "mine:score", "--items", "items.csv", "--design", "exact")
    command = (*command, "--cache", "kept", "--name", "m", "-m", "recall@5", "-o")
    (inputs / "kept").mkdir()
    for _ in range(2):  # other files may lie beside it
        assert run(*command, "kept/a.json").code == 0
    (kept,) = (inputs / "kept").glob("*.pairs")
    before = kept.read_bytes()
    assert run(*command, kept).code == 2
    assert kept.read_bytes() == before


def test_a_file_of_an_input_folder_is_an_input(run: Any, inputs: Path) -> None:
    (inputs / "ranks").mkdir()
    part = inputs / "ranks/a.parquet"
    tr.RankCounts.from_exact_ranks([1, 2], n_items=9).save(part)
    before = part.read_bytes()
    result = run("estimate", "ranks", *DESIGN, "-o", "ranks/a.parquet")
    assert result.code == 2
    assert "a file of the input ranks" in result.err
    assert part.read_bytes() == before


def test_read_only_and_circles_are_refused_at_once(run: Any, inputs: Path) -> None:
    (inputs / "old.json").write_text("old")
    (inputs / "old.json").chmod(0o444)
    (inputs / "x.csv").symlink_to("y.csv")
    (inputs / "y.csv").symlink_to("x.csv")
    for arguments, message in (
        (("estimate", "ranks.csv", *DESIGN, "-o", "old.json"), "old.json: it is read-only"),
        (("estimate", "ranks.csv", *DESIGN, "-o", "x.csv"), "links go round in a circle"),
        (("estimate", "x.csv", *DESIGN), "x.csv: its symbolic links go round in a circle"),
        (("audit", "--negatives", "x.csv"), "x.csv: its symbolic links go round in a circle"),
    ):
        result = run(*arguments)
        assert (result.code, result.out) == (2, "")
        assert message in result.err
    assert (inputs / "old.json").read_text() == "old"


def test_dash_is_stdout(run: Any, inputs: Path) -> None:
    result = run("map", *DESIGN, "--json", "-o", "-")
    assert result.code == 0
    assert json.loads(result.out)["n_items"] == 3706
    result = run("report", "ranks.csv", *DESIGN, "-o", "-")
    assert result.out.startswith("<!DOCTYPE html>")
    assert not (inputs / "-").exists()


def test_stdout_and_process_substitution(inputs: Path) -> None:
    tool = f"{sys.executable} -m truerank map --n-items 3706 --sample-size 100 -k 10"
    script = f"""
    {{ echo first; {tool} --json -o /dev/stdout; echo last; }} > all.txt
    {tool} --csv -o >(cat > there.csv)
    for i in $(seq 100); do [ -s there.csv ] && break; sleep 0.1; done
    """
    subprocess.run(["bash", "-c", script], cwd=inputs, check=True, timeout=120)
    first, *middle, last = (inputs / "all.txt").read_text().splitlines()
    assert (first, last) == ("first", "last")
    assert json.loads("\n".join(middle))["sample_size"] == 100
    assert (inputs / "there.csv").read_text().startswith("k,mapping,global_k\n")
