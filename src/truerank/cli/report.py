"""``truerank report``: one HTML page on one or several models."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from truerank.cli import _counts, _output
from truerank.cli._answers import ESTIMATORS, Confidence, Metrics, ScopeOption, split_metrics
from truerank.cli._groups import command
from truerank.cli._options import ANSWERS, OUTPUT, Talk, words
from truerank.cli._samples import Samples
from truerank.errors import InputError

HELP = """Write an HTML page to look at and to share: verdict, metrics, curves, protocol.

One file, no network: attach it to a pull request or a paper. Files hold the ranks of a model \
each, or the counts that truerank saved (with their protocol, if evaluate saved them); or one file \
holds all, with a column model. With a column user_id, models are compared user by user.

\b
truerank report ease.csv als.csv --n-items 3706 --sample-size 100
truerank report all.parquet --out report.html --title "Spring models"
truerank report ease.parquet -m recall@10,ndcg@10 --confidence 0.9
"""


@command
def report(
    files: Annotated[
        list[Path],
        typer.Argument(
            metavar="FILE",
            help="Ranks (.csv, .tsv, .parquet, also .gz), one row a user with columns rank and, to "
            "pair users, user_id; or counts saved by truerank. A model each, named by the file.",
            show_default=False,
        ),
    ],
    *,
    samples: Samples,
    by: Annotated[
        str | None,
        typer.Option(
            "--by",
            metavar="COLUMN",
            help="One file holds all models: the column that tells them apart. Unsaid, with a "
            "single file: model, if there is one.",
            rich_help_panel=ANSWERS,
        ),
    ] = None,
    metrics: Metrics = None,
    estimator: Annotated[
        str,
        typer.Option(
            "--estimator",
            "-e",
            metavar="NAME",
            help="As in truerank estimate.",
            autocompletion=words(*ESTIMATORS),
            rich_help_panel=ANSWERS,
        ),
    ] = "smooth",
    scope: ScopeOption = None,
    confidence: Confidence = 0.95,
    unpaired: Annotated[
        bool,
        typer.Option(
            "--unpaired",
            help="Compare as if each model had users of its own.",
            rich_help_panel=ANSWERS,
        ),
    ] = False,
    title: Annotated[
        str, typer.Option("--title", metavar="TEXT", help="Its title.", rich_help_panel=OUTPUT)
    ] = "Evaluation report",
    out: Annotated[
        Path,
        typer.Option(
            "--out",
            "-o",
            metavar="FILE.html",
            help="The page to write.",
            rich_help_panel=OUTPUT,
        ),
    ] = Path("report.html"),
    talk: Talk,
) -> None:
    """Run ``truerank report``."""
    if out.resolve() in {path.resolve() for path in files}:
        raise InputError(f"--out is {out}, an input file; write to another one")
    given = samples.ranks_input()
    _counts.check_files(files, given)
    models, options = _counts.models(files, by, given, alone=True)
    from truerank.report import write

    write(
        models,
        out,
        title=title,
        metrics=split_metrics(metrics) if metrics else None,
        estimator=estimator,
        confidence=confidence,
        scope=scope,
        unpaired=unpaired,
        **options,
    )
    if not talk.quiet:
        _output.emit(f"{out}\n")
