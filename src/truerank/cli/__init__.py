"""The command line: commands parse, call and print; what goes wrong ends in one line.

Numerical modules are imported inside the commands, so that ``truerank --help`` starts at once.
"""

from __future__ import annotations

import errno
import sys
from collections.abc import Sequence
from typing import Any

import typer

from truerank import __version__, _signals
from truerank.cli import (
    _added,
    _groups,
    _names,
    _output,
    audit,
    compare,
    demo,
    estimate,
    evaluate,
    plan,
    report,
    translate,
)
from truerank.cli import map as map_
from truerank.cli._options import option
from truerank.errors import MissingExtraError, TruerankError

# One line a paragraph: some versions of typer keep line breaks, some do not.
HELP = """What a full recommender evaluation would have said, from a sampled one.

Ranking a held-out item among 100 sampled ones is cheap, but its recall@10 is not the recall@10 \
of the whole catalogue, and may put models in the wrong order. truerank turns sampled ranks into \
global metrics.

\b
See it:       [bold]truerank demo[/]
Correct it:   [bold]truerank estimate ranks.csv --n-items 3706 --sample-size 100[/]
From a model: [bold]truerank evaluate --scores S.npy --test test.csv[/]
Who is best:  [bold]truerank compare all.parquet --by model -m ndcg@10[/]
Show it:      [bold]truerank report all.parquet --output report.html[/]
Plan it:      [bold]truerank plan --n-items 3706 --n-users 6040 --error 0.05[/]
Check it:     [bold]truerank audit --negatives frozen.parquet --test test.csv[/]
Translate k:  [bold]truerank map --n-items 3706 --sample-size 100[/]
Read a paper: [bold]truerank translate -s hr@10=0.6 --n-items 3706 --sample-size 100[/]
The proof:    [bold]truerank reproduce kr20 table3 --data DIR[/]
"""
EPILOG = (
    "Exit codes: 0 well, 1 a failure (or an audit that found something), 2 unusable input, "
    "3 a gate that closed."
)

BAD_INPUT = 2  # also what usage errors end with
FAILURE = 1

app = typer.Typer(
    name="truerank",
    cls=_added.Commands,
    rich_markup_mode="rich",
    epilog=EPILOG,
    context_settings={"help_option_names": ["-h", "--help"]},
)


def _show_version(wanted: bool) -> None:
    if wanted:
        typer.echo(f"truerank {__version__}")
        raise typer.Exit


@app.callback(help=HELP)
@_groups.command
def _root(
    *,
    version: bool = option(
        False, "Print the version and stop.", callback=_show_version, is_eager=True
    ),
    debug: bool = option(False, "Show the Python traceback of an error."),
) -> None:
    """Options that go before any command."""


app.command("demo", help=demo.HELP, cls=_names.Command)(demo.demo)
app.command("estimate", help=estimate.HELP, cls=_names.Command)(estimate.estimate)
app.command("evaluate", help=evaluate.HELP, cls=_names.Command)(evaluate.evaluate)
app.command("compare", help=compare.HELP, cls=_names.Command)(compare.compare)
app.command("report", help=report.HELP, cls=_names.Command)(report.report)
app.command("audit", help=audit.HELP, cls=_names.Command)(audit.audit)
app.command("plan", help=plan.HELP, cls=_names.Command)(plan.plan)
app.command("map", help=map_.HELP, cls=_names.Command)(map_.map_cutoffs)
app.command("translate", help=translate.HELP, cls=_names.Command)(translate.translate)
app.command("reproduce", help=_added.REPRODUCE, context_settings=_added.ANYTHING)(_added.missing)

# Newer typers carry their own copy of click, so the class is found from one that all export.
_ClickException: Any = next(
    base for base in typer.BadParameter.__mro__ if base.__name__ == "ClickException"
)


def main(arguments: Sequence[str] | None = None) -> None:
    """Run the command line and exit: 0, 2 for input that cannot be used, 1 for a failure."""
    with _signals.handled():
        try:
            code = _run(list(sys.argv[1:] if arguments is None else arguments))
        except KeyboardInterrupt:  # a second one, while the first was dealt with
            code = _signals.INTERRUPTED
        except _signals.Terminated:
            code = _signals.TERMINATED
    sys.exit(code)


def _run(arguments: list[str]) -> int:
    try:
        command = typer.main.get_command(app)
        with _output.session():
            code = command.main(
                arguments or ["--help"], prog_name="truerank", standalone_mode=False
            )
        return code if isinstance(code, int) else 0
    except (typer.Abort, KeyboardInterrupt):
        return _signals.INTERRUPTED
    except _signals.Terminated:
        return _signals.TERMINATED
    except _output.PipeClosed:
        return FAILURE
    except Exception as error:
        if "--debug" in arguments:
            raise
        message, code = _explain(error)
        _output.say("error", message)
        return code


def _explain(error: Exception) -> tuple[str, int]:
    """The line an error is told in, and the exit code."""
    if isinstance(error, MissingExtraError):
        return str(error), FAILURE
    if isinstance(error, TruerankError):
        return _output.in_options(str(error)), BAD_INPUT
    if isinstance(error, _ClickException):
        usage: Any = error
        context = getattr(usage, "ctx", None)
        path = context.command_path if context is not None else "truerank"
        return f"{usage.format_message()} (see {path} --help)", BAD_INPUT
    if isinstance(error, OSError) and error.strerror and error.filename:
        return f"{error.filename}: {error.strerror}", BAD_INPUT
    if isinstance(error, OSError) and error.errno == errno.ENOSPC:  # all other writers name theirs
        _output.give_up_stdout()
        return f"cannot write to stdout: {error.strerror}", BAD_INPUT
    kind = type(error).__name__
    return f"unexpected {kind}: {error} (add --debug for the traceback)", FAILURE
