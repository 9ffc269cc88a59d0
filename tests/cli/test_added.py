"""Commands that other distributions add: found by their metadata, loaded when they are run."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from importlib.metadata import EntryPoint
from pathlib import Path
from typing import Any

import pytest

from truerank import cli
from truerank.cli import _added

HELLO = '''
import typer

app = typer.Typer(add_completion=False)


@app.command()
def hello(name: str, loud: bool = False) -> None:
    """Greet somebody."""
    typer.echo(f"hello {name}" + "!" * loud)


nothing = 7
'''


@pytest.fixture
def add(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Any:
    """A function that installs a distribution with these lines of entry points."""
    (tmp_path / "greeting_of_tests.py").write_text(HELLO)
    (tmp_path / "broken_of_tests.py").write_text("raise OSError('no such library')")
    monkeypatch.syspath_prepend(tmp_path)

    def install(*lines: str, name: str = "other-dist") -> Path:
        folder = tmp_path / f"{name.replace('-', '_')}-1.2.dist-info"
        folder.mkdir()
        (folder / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {name}\nVersion: 1.2\n")
        (folder / "entry_points.txt").write_text("\n".join(["[truerank.commands]", *lines]))
        return tmp_path

    return install


@pytest.fixture
def alone(monkeypatch: pytest.MonkeyPatch) -> None:
    """Nothing is installed beside truerank."""
    monkeypatch.setattr(_added, "entry_points", lambda **_: ())


def test_a_command_of_another_distribution(run: Any, add: Any) -> None:
    add("hello = greeting_of_tests:app")
    assert "hello      A command of other-dist 1.2." in run("--help").out
    assert run("hello", "you", "--loud").out == "hello you!\n"
    shown = run("hello", "--help")
    assert (shown.code, shown.err) == (0, "")
    assert "Greet somebody." in shown.out
    assert "truerank hello [OPTIONS]" in shown.out
    wrong = run("hello")
    assert (wrong.code, wrong.out) == (2, "")
    assert "(see truerank hello --help)" in wrong.err


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("broken_of_tests:app", "cannot be loaded (OSError: no such library); install it again"),
        ("gone_of_tests:app", "cannot be loaded (ModuleNotFoundError: No module named"),
        ("greeting_of_tests:gone", "cannot be loaded (AttributeError"),
        ("not a reference", "cannot be loaded"),
        ("greeting_of_tests:nothing", "greeting_of_tests:nothing is a int; it must be a typer"),
    ],
)
def test_a_broken_one_breaks_itself_alone(run: Any, add: Any, line: str, message: str) -> None:
    add(f"worse = {line}", f"reproduce = {line}")
    shown = run("--help")
    assert (shown.code, shown.err) == (0, "")
    assert "worse" in shown.out
    options = ("--n-items", "3706", "--sample-size", "100")
    assert run("map", *options).code == 0
    for command in ("worse", "reproduce"):
        failed = run(command, "--help")
        assert (failed.code, failed.out) == (1, "")
        assert failed.err.startswith(f"error: truerank {command} comes with other-dist 1.2, wh")
        assert message in failed.err
        assert failed.err.count("\n") == 1


def test_metadata_that_cannot_be_read_break_no_other_command(
    run: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(**_: Any) -> Any:
        raise TypeError("not a pair")

    monkeypatch.setattr(_added, "entry_points", fail)
    assert run("--help").code == 0
    assert run("map", "--n-items", "3706", "--sample-size", "100").code == 0
    failed = run("reproduce", "kr20")
    assert (failed.code, failed.out) == (1, "")
    assert "not a pair" in failed.err


def test_commands_of_truerank_cannot_be_replaced(run: Any, add: Any) -> None:
    add("estimate = broken_of_tests:app", "map = greeting_of_tests:app")
    assert run("estimate", "--help").code == 0
    assert run("map", "--n-items", "3706", "--sample-size", "100").code == 0
    assert "other-dist" not in run("--help").out


@pytest.mark.usefixtures("alone")
@pytest.mark.parametrize(
    "arguments",
    [(), ("--list",), ("kr20", "table3", "--data", "x", "-q"), ("--nonsense",)],
)
def test_reproduce_without_the_papers_says_how_to_get_them(
    run: Any, arguments: tuple[str, ...]
) -> None:
    found = run("reproduce", *arguments)
    assert (found.code, found.out) == (1, "")
    assert found.err == (
        "error: truerank reproduce comes with truerank-papers, which is not installed. In a clone "
        "of truerank: pip install ./papers, or make reproduce\n"
    )


@pytest.mark.usefixtures("alone")
def test_reproduce_is_in_the_help_without_the_papers(run: Any) -> None:
    line = "reproduce  Regenerate the papers' tables and figures beside their published"
    assert line in run("--help").out
    shown = run("reproduce", "--help")
    assert shown.code == 0
    assert "pip install ./papers" in shown.out


def test_everybody_is_told_of_optional_commands() -> None:
    known = {command.name for command in cli.app.registered_commands}
    assert known >= set(_added.OPTIONAL)


def test_shells_complete_what_others_add(add: Any) -> None:
    where = add("hello = greeting_of_tests:app", "worse = broken_of_tests:app")

    def complete(words: str) -> tuple[list[str], str]:
        typed = {"COMP_WORDS": words, "COMP_CWORD": str(len(words.split(" ")) - 1)}
        path = os.pathsep.join([str(where), *filter(None, [os.environ.get("PYTHONPATH")])])
        done = subprocess.run(
            [sys.executable, "-m", "truerank"],
            env={
                **os.environ,
                **typed,
                "PYTHONPATH": path,
                "_TRUERANK_COMPLETE": "complete_bash",
            },
            capture_output=True,
            text=True,
            timeout=60,
        )
        return done.stdout.split(), done.stderr

    assert complete("truerank hel") == (["hello"], "")
    assert complete("truerank hello --lo") == (["--loud"], "")
    assert complete("truerank worse --lo") == ([], "")


def test_an_entry_without_a_distribution_is_named_all_the_same() -> None:
    assert _added._distribution(EntryPoint("a", "b:c", _added.GROUP)) == "another package"


def test_the_words_of_the_group_are_those_of_the_papers() -> None:
    """The one place where the library and the papers agree on something."""
    text = (Path(__file__).parents[2] / "papers" / "pyproject.toml").read_text()
    assert re.search(rf'^\[project.entry-points."{_added.GROUP}"\]\nreproduce = ', text, re.M)
