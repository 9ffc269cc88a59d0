"""Any command line, on sound and damaged files, ends in 0, or in 2 with one line that says why."""

from __future__ import annotations

import contextlib
import io
import random
from pathlib import Path
from typing import Any

import pytest
from tests.fuzz import fuzz, world

from truerank.cli import _run

VALUES = (
    "0", "1", "-1", "10", "500", "0.5", "nan", "x", "9" * 5000, "1e400", "recall@10", "ndcg",
    "bv(gamma=", "model", "user_id", "rank", "rank=Pos", "sampled_rank=rank", "exact",
    "adaptive(budget=3)", "fixed", "", "[/b]", "2,1", "100,200",
)  # fmt: skip
SAMPLES = ("--n-items", "--sample-size", "--num-negatives", "--ladder", "--hits", "--columns")
FLAGS = ("--zero-based", "--drop-missing")  # of commands that take the options above
OPTIONS: dict[str, tuple[str, ...]] = {
    "estimate": (*SAMPLES, "-e", "-m", "--confidence", "--by", "--support", "--negatives"),
    "compare": (*SAMPLES, "--by", "-m", "-e", "--confidence", "--baseline"),
    "report": (*SAMPLES, "--by", "-m", "--title"),
    "audit": (*SAMPLES, "--negatives", "--test", "--train", "--ranks", "--by"),
    "plan": (*SAMPLES, "--n-users", "-m", "--error", "--like", "--models", "--confidence"),
    "map": ("--n-items", "--sample-size", "--num-negatives", "-k"),
    "translate": ("-s", "--n-items", "--sample-size", "-m", "--n-users"),
    "evaluate": (
        "--test", "--train", "--scores", "--user-factors", "--item-factors", "--design",
        "--budget", "-m", "--seed", "--users", "--negatives", "--items",
    ),
}  # fmt: skip
TAKES_FILES = ("estimate", "compare", "report")
# Command lines that read each file, which the other fuzzer then damages.
READING = (
    ["estimate", "ranks.csv"],
    ["estimate", "ranks.csv.gz"],
    ["estimate", "ranks.tsv"],
    ["estimate", "ranks.csv", "--zero-based", "--drop-missing"],
    ["audit", "--ranks", "ranks.parquet", "--by", "model"],
    ["estimate", "counts.parquet"],
    ["estimate", "ranks.parquet", "--by", "model"],
    ["compare", "paired.parquet"],
    ["report", "evaluated.parquet"],
    ["audit", "--negatives", "negatives.parquet", "--test", "test.csv", "--train", "train.csv"],
    ["evaluate", "--scores", "S.npy", "--test", "test.parquet", "--design", "exact"],
    ["evaluate", "--user-factors", "U.npy", "--item-factors", "V.npy", "--test", "test.csv"],
)


def ran(arguments: list[str]) -> None:
    """Run a command line; raise if it ends in another way than it should."""
    said = io.StringIO()
    with contextlib.redirect_stderr(said), contextlib.redirect_stdout(io.StringIO()):
        code = _run(arguments)
    text = said.getvalue()
    assert code in ((0, 1, 2) if arguments[0] == "audit" else (0, 2)), f"exit code {code}: {text}"
    assert "unexpected" not in text, text
    assert "Traceback" not in text, text


def line(draw: random.Random, files: list[str]) -> list[str]:
    command = draw.choice(list(OPTIONS))
    found = [command]
    if command in TAKES_FILES:
        found += draw.sample(files, draw.choice((1, 1, 2)))
    for option in draw.sample(OPTIONS[command], draw.randint(0, 4)):
        found += [option, draw.choice(files if draw.random() < 0.5 else VALUES)]
    if SAMPLES[-1] in OPTIONS[command]:
        found += [flag for flag in FLAGS if draw.random() < 0.2]
    return found if command == "report" else [*found, draw.choice(("--json", "--csv", "-q"))]


def damaged(draw: random.Random, data: bytes) -> bytes:
    """Cut short, or with some bytes changed."""
    if draw.random() < 0.3:
        return data[: draw.randrange(len(data))]
    changed = bytearray(data)
    for _ in range(draw.choice((1, 1, 3, 20))):
        changed[draw.randrange(len(changed))] = draw.randrange(256)
    return bytes(changed)


def test_command_lines(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, record_property: Any
) -> None:
    monkeypatch.chdir(tmp_path)
    files = [*sorted(path.name for path in world.files(tmp_path).values()), "nothing.csv", "."]
    tally = fuzz.Tally("command lines")
    for seed, draw in fuzz.inputs("cli", 150):
        arguments = line(draw, files)
        shown = " ".join(part[:40] for part in arguments)
        tally.look(f"{seed}, {shown}", lambda arguments=arguments: ran(arguments))  # type: ignore[misc]
    tally.end(record_property)


def test_damaged_files(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, record_property: Any
) -> None:
    monkeypatch.chdir(tmp_path)
    world.files(tmp_path)
    tally = fuzz.Tally("damaged files")
    for seed, draw in fuzz.inputs("damaged", 60):
        arguments = draw.choice(READING)
        path = tmp_path / draw.choice([part for part in arguments if "." in part])
        sound = path.read_bytes()
        path.write_bytes(damaged(draw, sound))
        shown = " ".join(arguments)
        tally.look(
            f"{seed}, {path.name} of {shown}",
            lambda arguments=arguments: ran([*arguments, "-q"]),  # type: ignore[misc]
        )
        path.write_bytes(sound)
    tally.end(record_property)
