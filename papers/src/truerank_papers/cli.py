"""``truerank reproduce``: the papers' tables and figures beside their published numbers."""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import Annotated

import typer

from truerank.cli import _names, _output
from truerank.cli._groups import command
from truerank.cli._options import OUTPUT, Talk
from truerank.errors import InputError

HELP = """Regenerate the papers' tables and figures beside their published numbers.

\b
truerank reproduce --list
truerank reproduce kr20 table1
truerank reproduce kr20 table3 --data DIR --repeats 100
truerank reproduce jl21 --data DIR --output reproduction
truerank reproduce all --data DIR

With a TABLE it is printed, ours beside the published one, with what differs and why, and where \
its files are. DIR holds a folder for each dataset, by name (DIR/ml-1m/train.parquet, \
test.parquet). Repeats are kept as they finish: a run that was stopped goes on where it was.
"""


app = typer.Typer(add_completion=False, rich_markup_mode="rich")


@app.command(help=HELP, cls=_names.Command)
@command
def reproduce(
    *,
    paper: Annotated[
        str | None,
        typer.Argument(metavar="PAPER", help="A paper (see --list), or all.", show_default=False),
    ] = None,
    name: Annotated[
        str | None,
        typer.Argument(metavar="TABLE", help="table3, figure6; without it the whole paper."),
    ] = None,
    list_: Annotated[bool, typer.Option("--list", help="What there is, and the data it needs.")] = (
        False
    ),
    data: Annotated[
        Path | None, typer.Option("--data", metavar="DIR", help="The folder of datasets.")
    ] = None,
    repeats: Annotated[
        int | None,
        typer.Option("--repeats", metavar="N", help="Number of repeats; by default the paper's."),
    ] = None,
    seed: Annotated[
        int, typer.Option("--seed", metavar="SEED", min=0, help="Seed of all random draws.")
    ] = 0,
    output: Annotated[
        Path,
        typer.Option(
            "--output", "-o", metavar="DIR", help="Where results go.", rich_help_panel=OUTPUT
        ),
    ] = Path("reproduction"),
    cache: Annotated[
        Path | None,
        typer.Option(
            "--cache",
            metavar="DIR",
            help="Where models, ranks and finished repeats are kept; OUTPUT/.cache by default.",
            rich_help_panel=OUTPUT,
        ),
    ] = None,
    fit: Annotated[
        bool,
        typer.Option(
            "--fit/--no-fit",
            help="Fit models that were not fitted yet, or leave them out of the tables.",
        ),
    ] = True,
    talk: Talk,
) -> None:
    """Run ``truerank reproduce``.

    Parameters
    ----------
    paper, name
        What to regenerate.
    list_
        Whether to list the experiments instead.
    data
        Folder of datasets.
    repeats
        Number of repeats.
    seed
        Seed of all random draws.
    output, cache
        Folders for the results, and for what is kept.
    fit
        Whether models that were not fitted yet are fitted.
    talk
        How much to say.
    """
    from truerank_papers.experiments import experiments, pages
    from truerank_papers.experiments.reproducing import reproduce as run
    from truerank_papers.experiments.shown import show

    if list_:
        for known in experiments(None if paper in (None, "all") else paper):
            needs = f"  [{known.needs}]" if known.needs else ""
            _output.emit(f"{known.paper:6}{known.name:10}{known.title}{needs}\n")
        return
    if paper is None:
        raise InputError("say what to reproduce: kr20 table3, kr20, or all (see --list)")
    told: set[str] = set()
    for outcome in run(
        paper, name, data=data, out=output, cache=cache, repeats=repeats, seed=seed, fit=fit
    ):
        if outcome.result is None:
            _output.emit(f"{outcome.experiment}: skipped. {outcome.skipped}\n")
            continue
        one, result = outcome.experiment, outcome.result
        if name is not None:
            _output.emit(_output.to_text(partial(show, experiment=one, result=result, out=output)))
            _output.emit(f"{one}: {outcome.seconds:.1f} s\n")
        else:
            folder = output / one.paper
            files = [path.name for path in pages.files(one, result, output)]
            written = ", ".join(file for file in files if (folder / file).exists())
            _output.emit(f"{one}: {outcome.seconds:.1f} s, in {folder}: {written}\n")
        for line in outcome.left_out:
            if line not in told:
                told.add(line)
                _output.say("warning", line)
