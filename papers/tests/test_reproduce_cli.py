"""``truerank reproduce`` lists, runs, and says what is missing."""

from __future__ import annotations

import re
import shlex
import subprocess
import sys
from pathlib import Path

import pytest

from truerank import cli
from truerank.cli import main
from truerank_papers.cli import HELP

pytestmark = pytest.mark.usefixtures("installed")

DOCS = Path(__file__).parents[2] / "docs"


def call(capsys, *arguments):
    with pytest.raises(SystemExit) as stopped:
        main(["reproduce", *map(str, arguments)])
    out, err = capsys.readouterr()
    return stopped.value.code, out, " ".join(err.split())


def test_list(capsys):
    code, out, _ = call(capsys, "--list")
    assert code == 0
    assert "kr20  table3" in out
    assert "[ml-1m]" in out
    assert call(capsys, "kr20", "--list")[1].count("\n") == 10


def test_help_shows_flags_as_flags(capsys, monkeypatch):
    monkeypatch.setenv("COLUMNS", "80")
    code, out, _ = call(capsys, "--help")
    assert code == 0
    assert "--no-fit" in out
    assert "<" not in out
    assert "…" not in out


def test_a_table_without_data(capsys, monkeypatch, tmp_path):
    monkeypatch.setenv("COLUMNS", "120")
    code, out, _ = call(capsys, "kr20", "table2", "--repeats", 30, "--output", tmp_path)
    assert code == 0
    lines = [line.split() for line in out.splitlines()]
    assert out.startswith("KR20 table 2. The same recommenders")
    head = ["recommender", "metric", "ours", "published", "difference", "in", "printed", "sd"]
    assert head in lines
    (cell,) = [line for line in lines if line[:2] == ["C", "auc"]]
    assert cell[5:8] == ["0.843", "±", "0.014"]  # printed, beside ours
    assert "Other draws of the same law" in out
    for file in ("kr20/table2.md", "kr20/table2.csv", "kr20/table2.json", "kr20.md", "kr20.html"):
        assert f"  {tmp_path / file}\n" in out
    assert out.splitlines()[-1].startswith("kr20 table2: ")
    assert "30 repeats" in (tmp_path / "kr20.md").read_text()


def test_a_paper_skips_what_has_no_data(capsys, tmp_path):
    code, out, _ = call(capsys, "jl21", "--data", tmp_path, "--output", tmp_path / "out")
    assert code == 0
    assert "jl21 table2: skipped. jl21 table2 needs ml-1m" in out


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ((), "say what to reproduce"),
        (("kr21",), "did you mean 'kr20'"),
        (("kr20", "tables3"), "did you mean 'table3'"),
        (("kr20", "table3"), "needs ml-1m"),
        (("kr20", "table2", "--repeats", 1), "repeats is 1; it must be at least 2"),
    ],
)
def test_what_cannot_be_done_is_said(capsys, tmp_path, arguments, message):
    code, _, err = call(capsys, *arguments, "--output", tmp_path)
    assert code == 2
    assert message in err


def test_help_has_whole_examples_and_the_common_options(capsys, monkeypatch):
    monkeypatch.setenv("COLUMNS", "80")
    code, out, err = call(capsys, "--help")
    assert (code, err) == (0, "")
    assert "\\b" not in out
    examples = [line.strip() for line in HELP.splitlines() if line.startswith("truerank ")]
    assert len(examples) >= 3
    shown = [line.strip() for line in out.splitlines()]
    for example in examples:
        assert example.startswith("truerank reproduce")
        assert example in shown
    for option in ("--quiet", "--debug"):
        assert option in out
    assert re.findall(r"╭─ (.*?) ─", out)[-1] == "Output"


def test_the_first_help_has_the_line_of_this_one(capsys):
    """It is told by truerank itself, which does not load us for that."""
    (known,) = (one for one in cli.app.registered_commands if one.name == "reproduce")
    assert known.help.splitlines()[0] == HELP.splitlines()[0]


def test_help_does_not_load_the_papers():
    script = (
        "import sys\n"
        "from truerank.cli import main\n"
        "try:\n"
        "    main(['--help'])\n"
        "except SystemExit:\n"
        "    print('loaded:', [name for name in sys.modules if 'papers' in name])\n"
    )
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True)
    assert "reproduce" in done.stdout
    assert done.stdout.splitlines()[-1] == "loaded: []"


def test_commands_of_the_page_run(capsys, tmp_path, monkeypatch):
    """Those that need no data."""
    text = (DOCS / "reproduction" / "index.md").read_text(encoding="utf-8")
    lines = [line.partition("  #")[0].rstrip() for line in text.splitlines()]
    commands = [line for line in lines if line.startswith("truerank reproduce ")]
    assert len(commands) >= 3
    monkeypatch.chdir(tmp_path)
    ran = 0
    for command in commands:
        if "--data" not in command:
            code, _, err = call(capsys, *shlex.split(command)[2:], "--quiet")
            assert (code, err) == (0, "")
            ran += 1
    assert ran >= 2
