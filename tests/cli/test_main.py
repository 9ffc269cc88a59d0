from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

import truerank
from truerank import cli
from truerank.cli import demo


def python(*arguments: str, cwd: Path | None = None) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, *arguments]
    return subprocess.run(
        command, cwd=cwd, capture_output=True, text=True, encoding="utf-8", timeout=60
    )


def test_version(run: Any) -> None:
    result = run("--version")
    assert (result.code, result.out) == (0, f"truerank {truerank.__version__}\n")


@pytest.mark.parametrize("arguments", [[], ["--help"], ["-h"]])
def test_help_lists_the_commands(run: Any, arguments: list[str]) -> None:
    result = run(*arguments)
    assert (result.code, result.err) == (0, "")
    for word in ("demo", "estimate", "map", "--version", "truerank estimate ranks.csv"):
        assert word in result.out


def test_help_needs_no_numerical_library() -> None:
    script = (
        "import sys\n"
        "from truerank.cli import main\n"
        "try:\n"
        "    main(['--help'])\n"
        "except SystemExit:\n"
        "    heavy = {'numpy', 'scipy', 'pyarrow', 'narwhals', 'pandas'} & set(sys.modules)\n"
        "    print('loaded:', sorted(heavy))\n"
    )
    assert python("-c", script).stdout.splitlines()[-1] == "loaded: []"


def test_module_runs_and_ends_without_a_traceback(tmp_path: Path) -> None:
    (tmp_path / "ranks.csv").write_text("rank\n0\n")
    options = ("estimate", "ranks.csv", "--n-items", "3706", "--sample-size", "100")
    result = python("-m", "truerank", *options, cwd=tmp_path)
    assert (result.returncode, result.stdout) == (2, "")
    assert result.stderr.startswith("error: ranks.csv: sampled_rank is 0")
    assert len(result.stderr.splitlines()) == 1
    (tmp_path / "ranks.csv").write_text("rank\n1\n9\n")
    result = python("-m", "truerank", *options, "--csv", cwd=tmp_path)
    assert (result.returncode, result.stderr) == (0, "")
    assert result.stdout.startswith("metric,estimator,naive,value,low,high,")


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["estimat"], "error: No such command 'estimat'"),
        (["estimate"], "error: Missing argument 'FILE'. (see truerank estimate --help)"),
        (["--colour"], "error: No such option: --colour"),
    ],
)
def test_usage_errors(run: Any, arguments: list[str], message: str) -> None:
    result = run(*arguments)
    assert (result.code, result.out) == (2, "")
    assert result.err.startswith(message)
    assert len(result.err.splitlines()) == 1


@pytest.fixture
def defect(monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(seed: int) -> None:
        raise ZeroDivisionError("one\ntwo")

    monkeypatch.setattr(demo, "_evaluate", fail)


@pytest.mark.parametrize("arguments", [["--debug", "demo"], ["demo", "--debug"]])
def test_debug_lets_the_traceback_through(defect: None, arguments: list[str]) -> None:
    with pytest.raises(ZeroDivisionError):
        cli.main(arguments)


def test_debug_shows_where_input_failed(here: Path) -> None:
    with pytest.raises(truerank.InputError, match="does not exist"):
        cli.main(["--debug", "estimate", "gone.csv", "--n-items", "9", "--sample-size", "5"])


def test_interrupted(run: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    def interrupt(seed: int) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(demo, "_evaluate", interrupt)
    assert run("demo").code == 130


def test_what_cannot_be_read_or_written_is_named(run: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(seed: int) -> None:
        raise PermissionError(13, "Permission denied", "some/file")

    monkeypatch.setattr(demo, "_evaluate", refuse)
    result = run("demo")
    assert (result.code, result.err) == (2, "error: some/file: Permission denied\n")


def test_terminals_without_unicode_get_plain_characters(tmp_path: Path) -> None:
    (tmp_path / "ranks.csv").write_text("rank\n1\n9\n")
    script = (
        "import sys\n"
        "sys.stdout.reconfigure(encoding='ascii')\n"
        "from truerank.cli import main\n"
        "main('estimate ranks.csv --n-items 3706 --sample-size 100 -e mapped'.split())\n"
    )
    result = python("-c", script, cwd=tmp_path)
    assert (result.returncode, result.stderr) == (0, "")
    assert result.stdout.isascii()
    assert "2 users - pools of 3,706 items" in result.stdout


COMMANDS = sorted(cli.app.registered_commands, key=lambda one: str(one.name))


@pytest.mark.parametrize("command", [str(one.name) for one in COMMANDS])
def test_help_fits_80_columns_with_nothing_cut(run: Any, command: str) -> None:
    text = run(command, "--help").out
    assert "--" in text
    assert max(map(len, text.splitlines())) <= 80
    assert "…" not in text
    assert "<bool>" not in text
