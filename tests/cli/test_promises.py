"""What every command promises: forms of the answer, exit codes, errors, colours, silence, help."""

from __future__ import annotations

import csv
import io
import json
import os
import re
import resource
import subprocess
import sys
from pathlib import Path
from typing import Any, get_args

import numpy as np
import pandas as pd
import pytest
import typer

import truerank as tr
from truerank import cli, progress
from truerank.cli import _options
from truerank.data import synthetic

DESIGN = ("--n-items", "3706", "--sample-size", "100")
CASES: dict[str, tuple[str, ...]] = {
    "demo": (),
    "estimate": ("ranks.csv", *DESIGN, "-m", "auc"),
    "evaluate": ("--scores", "S.npy", "--test", "test.csv", "-m", "recall@5"),
    "compare": ("ranks.csv", "more.csv", *DESIGN, "-m", "recall@50"),
    "audit": ("--ranks", "ranks.csv", *DESIGN),
    "plan": ("--n-items", "40", "--n-users", "30", "-m", "recall@5", "--error", "0.9"),
    "map": DESIGN,
    "translate": ("--sampled", "hr@10=0.62", *DESIGN),
}
# Where the list of results stands in the JSON, if not under "results".
LISTS = {"audit": "findings", "plan": "designs", "translate": "bounds"}
COLOUR = re.compile(r"\x1b\[[\d;]*\b(?:3[0-7]|9[0-7])(?:;\d+)*m")
# Of truerank itself; papers/tests has those of `reproduce`.
COMMANDS = [str(one.name) for one in cli.app.registered_commands if one.name != "reproduce"]
every_command = pytest.mark.parametrize("command", CASES)


class Terminal(io.StringIO):
    encoding = "utf-8"

    def isatty(self) -> bool:
        return True


@pytest.fixture
def files(ranks: np.ndarray, here: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    rng = np.random.default_rng(1)
    frame = pd.DataFrame({"rank": np.minimum(ranks + rng.integers(0, 9, ranks.size), 100)})
    frame.to_csv("more.csv", index=False)
    np.save("S.npy", rng.random((40, 30)))
    pd.DataFrame({"user_id": range(40), "item_id": rng.integers(0, 30, 40)}).to_csv("test.csv")
    draw = synthetic.catalogue
    monkeypatch.setattr(synthetic, "catalogue", lambda **options: draw(n_users=300, **options))
    return here


def test_no_command_is_forgotten() -> None:
    assert set(COMMANDS) - {"report"} == set(CASES)  # which writes a file of its own


@every_command
def test_text_json_csv_and_files(run: Any, files: Path, command: str) -> None:
    text = run(command, *CASES[command])
    assert (text.code, text.err) == (0, "")
    assert "\x1b" not in text.out  # nobody looks at colours in a pipe
    as_json = run(command, *CASES[command], "--json")
    content = json.loads(as_json.out)
    as_csv = run(command, *CASES[command], "--csv")
    rows = list(csv.DictReader(io.StringIO(as_csv.out)))
    assert (as_json.code, as_json.err, as_csv.code, as_csv.err) == (0, "", 0, "")
    if command == "compare":
        assert len(rows) == len(content["comparisons"][0]["differences"])
    else:
        assert len(rows) == len(content[LISTS.get(command, "results")]) > 0
    if command == "evaluate":  # its JSON tells the seconds, too
        content = content["results"]
    for path, answer in (("a.json", as_json), ("a.CSV", as_csv), ("a.txt", text)):
        silent = run(command, *CASES[command], "-o", path)
        assert (silent.code, silent.out, silent.err) == (0, "", "")
        written = Path(path).read_text(encoding="utf-8")
        if path == "a.json":
            again = json.loads(written)
            assert (again["results"] if command == "evaluate" else again) == content
        elif path == "a.CSV":
            assert written == answer.out
        else:
            assert "\x1b" not in written
    both = run(command, *CASES[command], "--json", "--csv")
    assert (both.code, both.err) == (2, "error: --json and --csv are both given; give one\n")
    nowhere = run(command, *CASES[command], "-o", "gone/a.json")
    assert (nowhere.code, nowhere.err) == (
        2,
        "error: --output is gone/a.json, but the folder gone does not exist\n",
    )


def on_terminal(
    monkeypatch: pytest.MonkeyPatch, arguments: tuple[str, ...], **environment: str
) -> tuple[str, str]:
    """What a terminal gets on stdout and stderr."""
    out, err = Terminal(), Terminal()
    with monkeypatch.context() as patch:
        for name in ("FORCE_COLOR", "NO_COLOR", "TTY_COMPATIBLE"):
            patch.delenv(name, raising=False)
        for name, value in {"TERM": "xterm-256color", "COLUMNS": "80", **environment}.items():
            patch.setenv(name, value)
        patch.setattr(sys, "stdout", out)
        patch.setattr(sys, "stderr", err)
        with pytest.raises(SystemExit):
            cli.main(list(arguments))
    return out.getvalue(), err.getvalue()


@every_command
def test_colours_only_for_terminals_that_want_them(
    files: Path, command: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    arguments = (command, *CASES[command], "--quiet")
    assert "\x1b[" in on_terminal(monkeypatch, arguments)[0]
    plain, _ = on_terminal(monkeypatch, arguments, NO_COLOR="1")
    assert not COLOUR.search(plain)
    _, red = on_terminal(monkeypatch, (command, "--nonsense"))
    assert COLOUR.search(red)
    assert not COLOUR.search(on_terminal(monkeypatch, (command, "--nonsense"), NO_COLOR="1")[1])


@pytest.mark.parametrize("command", [name for name in CASES if name != "map"])  # done at once
def test_bars_with_the_time_left_unless_quiet(
    files: Path, command: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(progress, "PATIENCE", 0.0)
    arguments = (command, *CASES[command])
    out, err = on_terminal(monkeypatch, arguments)
    assert re.search(r"━.*(\d:\d\d:\d\d|-:--:--)", err)
    quiet = on_terminal(monkeypatch, (*arguments, "--quiet"))
    if command != "evaluate":  # which tells the seconds
        assert quiet[0] == out
    assert quiet[1] == ""


@pytest.mark.parametrize("command", ["estimate", "compare", "audit", "translate"])
def test_quiet_means_no_warnings_either(run: Any, files: Path, command: str) -> None:
    small = [{"3706": "1500"}.get(argument, argument) for argument in CASES[command]]
    loud = run(command, *small)
    assert loud.err.startswith("warning: ")
    for flag in ("--quiet", "-q"):
        quiet = run(command, *small, flag)
        assert (quiet.code, quiet.out, quiet.err) == (loud.code, loud.out, "")
    assert run(command, *small).err == loud.err  # and only where it was asked for


BAD: dict[str, tuple[tuple[str, ...], str]] = {
    "demo": (("--seed", "-1"), "Invalid value for '--seed'"),
    "estimate": (("gone.csv",), "gone.csv does not exist"),
    "evaluate": (("--test", "gone.csv", "--scores", "S.npy"), "gone.csv does not exist"),
    "compare": (("ranks.csv", "gone.csv", *DESIGN), "gone.csv does not exist"),
    "audit": ((), "nothing to audit; give --negatives, --test or --ranks"),
    "plan": (("--n-users", "80"), "--n-items is missing"),
    "map": ((), "--n-items is missing"),
    "translate": ((), "--sampled is missing"),
}


@every_command
def test_bad_input_ends_in_one_line_and_2(run: Any, files: Path, command: str) -> None:
    arguments, message = BAD[command]
    found = run(command, *arguments)
    assert (found.code, found.out) == (2, "")
    assert found.err.startswith("error: ")
    assert message in found.err
    assert found.err.count("\n") == 1
    unknown = run(command, "--nonsense")
    assert (unknown.code, unknown.out) == (2, "")
    assert f"(see truerank {command} --help)" in unknown.err


@every_command
def test_a_defect_ends_in_one_line_and_1(
    run: Any, files: Path, command: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(*_: Any, **__: Any) -> None:
        raise ZeroDivisionError("one\ntwo")

    monkeypatch.setattr(_options.Output, "write", fail)
    found = run(command, *CASES[command])
    assert (found.code, found.out) == (1, "")
    assert found.err == (
        "error: unexpected ZeroDivisionError: one two (add --debug for the traceback)\n"
    )
    with pytest.raises(ZeroDivisionError):
        cli.main([command, *CASES[command], "--debug"])


def test_a_missing_extra_ends_in_1(run: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*_: Any, **__: Any) -> None:
        raise tr.errors.MissingExtraError("x needs pip install truerank[y]")

    monkeypatch.setattr(_options.Output, "write", fail)
    found = run("map", *CASES["map"])
    assert (found.code, found.err) == (1, "error: x needs pip install truerank[y]\n")


@pytest.mark.parametrize("command", COMMANDS)
def test_help_has_whole_examples_and_the_common_options(run: Any, command: str) -> None:
    found = run(command, "--help")
    assert (found.code, found.err) == (0, "")
    assert "\\b" not in found.out
    help_ = next(one.help for one in cli.app.registered_commands if one.name == command)
    examples = [line.strip() for line in help_.splitlines() if line.startswith("truerank ")]
    assert len(examples) >= 3
    shown = [line.strip() for line in found.out.splitlines()]
    for example in examples:
        assert example.startswith(f"truerank {command}")
        assert example in shown
    answer = ("--json", "--csv", "--output") if command in CASES else ()
    for option in (*answer, "--quiet", "--debug"):
        assert option in found.out
    # What is asked for comes before where it goes.
    assert re.findall(r"╭─ (.*?) ─", found.out)[-1] == "Output"


def test_the_first_help_shows_its_examples_whole(run: Any) -> None:
    shown = [line.strip() for line in run("--help").out.splitlines()]
    examples = [
        re.sub(r"\[/?\w*\]", "", line) for line in cli.HELP.splitlines() if "[bold]" in line
    ]
    assert len(examples) >= len(CASES)
    for example in examples:
        assert example in shown


def python(*arguments: str, **environment: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, *arguments],
        env={**os.environ, **environment},
        capture_output=True,
        text=True,
        timeout=60,
    )


def test_help_starts_in_less_than_a_second() -> None:
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    assert python("-m", "truerank", "--help").returncode == 0
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    assert after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime < 1.0


def test_shells_complete() -> None:
    def complete(words: str) -> list[str]:
        typed = {"COMP_WORDS": words, "COMP_CWORD": str(len(words.split(" ")) - 1)}
        done = python("-m", "truerank", _TRUERANK_COMPLETE="complete_bash", **typed)
        return done.stdout.split()

    assert complete("truerank es") == ["estimate"]
    assert complete("truerank estimate -e mn") == ["mn-mle", "mn-mes"]
    assert "--num-negatives" in complete("truerank compare --n")
    script = python(
        "-m", "truerank", "--show-completion", "bash", _TYPER_FORCE_DISABLE_TERMINAL="1"
    )
    assert "_TRUERANK_COMPLETE=complete_bash" in script.stdout


def test_what_is_completed_is_what_there_is() -> None:
    from truerank import _types
    from truerank.cli import _answers, _names, _protocol

    assert set(_names.estimators()) == set(tr.estimators.REGISTRY)
    assert get_args(_types.Scope) == _answers.SCOPES
    assert get_args(_types.Ties) == _protocol.TIES


def every_option() -> list[Any]:
    command = typer.main.get_command(cli.app)
    return [
        (name, one)
        for name, sub in command.commands.items()
        if name in COMMANDS
        for one in sub.params
        if one.param_type_name == "option" and one.name != "help"
    ]


# What DESIGN.md ("Words") asks to be written otherwise.
ODD = re.compile(r"[Uu]nsaid|unless said|\bkin\b|(pairs|items|negatives|vector|row|value) an? \w+")


def test_options_are_spelled_like_their_parameters_and_explained() -> None:
    """No option has a second long spelling; each says what it does in a sentence."""
    options = every_option()
    assert len(options) > 80
    for command, one in options:
        spelling = f"--{one.name.replace('_', '-')}"
        assert [text for text in one.opts if text.startswith("--")] == [spelling], command
        assert one.help[-1] == ".", (command, spelling)
        assert not ODD.search(one.help), (command, spelling)


@pytest.mark.parametrize(
    ("command", "option", "value", "nearest"),
    [
        ("evaluate", "--ties", "midd", "mid"),
        ("evaluate", "--engine", "sparc", "spark"),
        ("compare", "--scope", "users", "these-users"),
        ("plan", "--scope", "populace", "population"),
    ],
)
def test_unknown_values_are_refused_with_the_nearest(
    run: Any, files: Path, command: str, option: str, value: str, nearest: str
) -> None:
    found = run(command, *CASES[command], option, value)
    assert (found.code, found.out) == (2, "")
    assert f"unknown {option} {value!r}; did you mean {nearest!r}?" in found.err


def test_a_reader_who_goes_away_is_told_nothing() -> None:
    reading, writing = os.pipe()
    os.close(reading)
    done = subprocess.run(
        [sys.executable, "-m", "truerank", "map", *CASES["map"]],
        stdout=writing,
        stderr=subprocess.PIPE,
        timeout=60,
    )
    os.close(writing)
    assert (done.returncode, done.stderr) == (1, b"")


def test_an_exact_evaluation_is_told_as_such(run: Any, files: Path) -> None:
    found = run("evaluate", *CASES["evaluate"], "--design", "exact")
    assert re.search(r"metric +exact\n", found.out)
    assert "smooth" not in found.out
    some = run("evaluate", *CASES["evaluate"], "--design", "exact", "--users", 20)
    assert "smooth" in some.out  # for all users that is an estimate


def test_quoted_designs_are_not_turned_into_options(run: Any, files: Path) -> None:
    found = run("evaluate", *CASES["evaluate"], "--design", "fixed(num_negatives=5")
    assert found.code == 2
    assert "--design 'fixed(num_negatives=5' cannot be read" in found.err
    assert "write options as 'fixed(num_negatives=99)'" in found.err
