"""How commands end: interrupted, terminated, with nobody to write to, with scorers that fail."""

from __future__ import annotations

import gzip
import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import truerank as tr
from truerank import _files, _memory, _signals
from truerank.errors import InputError
from truerank.outcomes import _large

DESIGN = ("--n-items", 3706, "--sample-size", 100)
TOOL = (sys.executable, "-m", "truerank")
MAP = (*TOOL, "map", "--n-items", "3706", "--sample-size", "100")


# --- signals -----------------------------------------------------------------------------------


def test_an_interrupt_in_imports_ends_quietly(here: Path) -> None:
    """At every few milliseconds of the start: 130 and not a word, or the answer."""
    begin = time.monotonic()
    subprocess.run(MAP, capture_output=True, check=True, timeout=60)
    whole = time.monotonic() - begin
    code = (
        "import os, signal, sys, threading, time\n"
        "from truerank import __main__ as start\n"
        "end = lambda: (time.sleep(float(sys.argv[1])), os.kill(os.getpid(), signal.SIGINT))\n"
        "threading.Thread(target=end, daemon=True).start()\n"
        "sys.argv[1:] = 'map --n-items 3706 --sample-size 100'.split()\n"
        "start.main()\n"
    )
    codes = set()
    for share in np.linspace(0.02, 0.9, 8):
        command = [sys.executable, "-c", code, str(share * whole)]
        run = subprocess.run(command, capture_output=True, timeout=60, check=False)
        codes.add(run.returncode)
        assert run.returncode in (0, 130), run.stderr.decode()
        assert run.stderr == b""
    assert 130 in codes


@pytest.mark.parametrize(
    ("number", "code"), [(signal.SIGTERM, _signals.TERMINATED), (signal.SIGINT, 130)]
)
def test_what_is_spilled_is_cleaned_up(here: Path, number: int, code: int) -> None:
    spills = here / "spills"
    spills.mkdir()
    (here / "slow.py").write_text(
        "import time\n"
        "from truerank import _files\n"
        "def score(users, items):\n"
        "    with _files.spill() as folder, _files.replacing('half.json') as path:\n"
        "        (folder / 'large').write_bytes(b'x' * 100_000)\n"
        "        open('begun', 'w').close()\n"
        "        time.sleep(60)\n"
    )
    (here / "items.csv").write_text("item_id\n" + "".join(f"{i}\n" for i in range(50)))
    (here / "test.csv").write_text("user_id,item_id\n1,1\n2,2\n")
    files = ["--items", "items.csv", "--test", "test.csv"]
    process = subprocess.Popen(
        [*TOOL, "evaluate", "--scorer", "slow:score", "--design", "exact", *files],
        cwd=here,
        env={**os.environ, "TMPDIR": str(spills)},
        stderr=subprocess.PIPE,
    )
    deadline = time.monotonic() + 60
    while not (here / "begun").exists():
        assert time.monotonic() < deadline
        assert process.poll() is None
        time.sleep(0.02)
    process.send_signal(number)
    assert process.wait(30) == code
    assert process.stderr is not None
    with process.stderr as said:
        assert b"Traceback" not in said.read()
    assert not list(spills.iterdir())
    assert not list(here.glob("*half*")) + list(here.glob(".*half*"))


def test_spills_of_killed_processes_are_swept(tmp_path: Path, monkeypatch: Any) -> None:
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    code = (
        "import os, signal\n"
        "from truerank import _files\n"
        "with _files.spill() as folder:\n"
        "    (folder / 'large').write_bytes(b'x' * 1000)\n"
        "    os.kill(os.getpid(), signal.SIGKILL)\n"
    )
    subprocess.run(
        [sys.executable, "-c", code], env={**os.environ, "TMPDIR": str(tmp_path)}, check=False
    )
    (left,) = tmp_path.iterdir()
    with _files.spill() as folder:
        assert list(tmp_path.iterdir()) == [folder]
        assert folder != left
        with _files.spill() as other:  # that of a live process is left alone
            assert folder.exists()
            assert other != folder
    assert not list(tmp_path.iterdir())


# --- stdout ------------------------------------------------------------------------------------


@pytest.mark.parametrize("form", [[], ["--json"]])
def test_stdout_that_cannot_be_written(form: list[str]) -> None:
    closed = subprocess.run(
        ["bash", "-c", 'exec "$@" >&-', "bash", *MAP, *form],
        capture_output=True,
        timeout=60,
        check=False,
    )
    assert closed.returncode == 2
    assert closed.stderr.startswith(b"error: stdout is closed; give a file with --output")
    with open("/dev/full", "wb") as full:
        command = [*MAP, *form]
        disk = subprocess.run(command, stdout=full, stderr=-1, timeout=60, check=False)
    assert disk.returncode == 2
    assert disk.stderr == b"error: cannot write to stdout: No space left on device\n"
    reader, writer = os.pipe()
    os.close(reader)
    gone = subprocess.run(command, stdout=writer, stderr=-1, timeout=60, check=False)
    os.close(writer)
    assert (gone.returncode, gone.stderr) == (1, b"")


@pytest.mark.parametrize("option", ["--help", "--version"])
def test_a_full_disk_behind_help(option: str) -> None:
    with open("/dev/full", "wb") as full:
        disk = subprocess.run([*TOOL, option], stdout=full, stderr=-1, timeout=60, check=False)
    assert disk.returncode == 2
    assert disk.stderr == b"error: cannot write to stdout: No space left on device\n"


# --- scorers -----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("content", "name", "message"),
    [
        ("raise RuntimeError('not today')", "mod1", "importing mod1 raised RuntimeError: not tod"),
        ("import sys; sys.exit(3)", "mod2", "importing mod2 raised SystemExit: 3"),
        ("this is no Python", "mod3", "importing mod3 raised SyntaxError"),
        ("", ".mod4", "there is nothing that it is relative to"),
        ("import sys\ndef score(u, i): sys.exit(0)", "mod5", "SystemExit: 0"),
    ],
)
def test_scorers_that_fail(run: Any, here: Path, content: str, name: str, message: str) -> None:
    (here / f"{name.strip('.')}.py").write_text(content)
    (here / "items.csv").write_text("item_id\n" + "".join(f"{i}\n" for i in range(50)))
    (here / "test.csv").write_text("user_id,item_id\n1,1\n2,2\n")
    files = ("--items", "items.csv", "--test", "test.csv", "--design", "exact")
    result = run("evaluate", "--scorer", f"{name}:score", *files)
    assert (result.code, result.out) == (2, "")
    assert message in result.err


# --- inputs that grow --------------------------------------------------------------------------


def test_a_gzip_file_that_grows_out_of_proportion(
    run: Any, here: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(_files, "_UNPACKED", 1 << 20)
    with gzip.open(here / "bomb.csv.gz", "wb") as file:
        file.write(b"user_id,item_id,rank\n" + b"1,1,1\n" * 2_000_000)
    with gzip.open(here / "usual.csv.gz", "wb") as file:
        file.write(b"rank\n" + b"1\n" * 1000)
    result = run("estimate", "bomb.csv.gz", *DESIGN)
    assert result.code == 2
    assert "bomb.csv.gz has " in result.err
    assert "unpack it first" in result.err
    with pytest.raises(InputError, match="unpack it first"):
        tr.data.read(here / "bomb.csv.gz")
    assert run("estimate", "usual.csv.gz", *DESIGN, "--confidence", 0).code == 0


def test_memory_is_asked_about_first(run: Any, here: Path, ranks: np.ndarray) -> None:
    sizes = ("--n-items", 10**12, "--sample-size", 100, "--support", "full", "-e", "mle")
    result = run("estimate", "ranks.csv", *sizes)
    assert result.code == 2
    assert "GiB of memory" in result.err
    assert "support='auto'" in result.err


def test_there_is_memory() -> None:
    free = _memory.available()
    assert free is None or free > 2**20
    _memory.check(1.0, "this", "go on")


def test_a_folder_that_links_to_itself_counts_once(tmp_path: Path) -> None:
    folder = tmp_path / "ranks"
    (folder / "more").mkdir(parents=True)
    pq.write_table(pa.table({"rank": [1, 2, 3]}), folder / "a.parquet")
    pq.write_table(pa.table({"rank": [4]}), folder / "more/b.parquet")
    (folder / "again").symlink_to(".")
    (folder / "more/up").symlink_to("..")
    (folder / "c.parquet").symlink_to("a.parquet")
    found = _large.find(folder)
    assert found is not None
    assert found.n_rows([]) == 4
