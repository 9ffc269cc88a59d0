"""``truerank estimate``: global metrics from files of sampled ranks."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Annotated

import typer

from truerank.cli import _counts, _results
from truerank.cli._answers import Answers, run
from truerank.cli._groups import command
from truerank.cli._options import ANSWERS, OUTPUT, Output, check_counts_path, words
from truerank.cli._samples import Samples
from truerank.errors import InputError

HELP = """Global metrics from sampled ranks, naive beside corrected.

\b
truerank estimate ranks.csv --n-items 3706 --sample-size 100
truerank estimate ranks.csv --n-items 3706 --num-negatives 100 \\
    -e mle -e "bv(gamma=0.01)" -m recall@1,5,10 -m ndcg@10
truerank estimate all.parquet --by model --json > metrics.json
truerank estimate adaptive.csv --n-items 3706 --ladder 100,200,400
"""


@command
def estimate(
    files: Annotated[
        list[Path],
        typer.Argument(
            metavar="FILE",
            help="Sampled ranks (.csv, .tsv, .parquet, also .gz), one row a user with a column "
            "rank, or counts saved by --save-counts. Several files are different users of one "
            "model, unless --by.",
            show_default=False,
        ),
    ],
    *,
    samples: Samples,
    answers: Answers,
    by: Annotated[
        str | None,
        typer.Option(
            "--by",
            metavar="COLUMN",
            help='Keep the values of a column apart, such as model; "file": keep files apart.',
            rich_help_panel=ANSWERS,
        ),
    ] = None,
    support: Annotated[
        str,
        typer.Option(
            "--support",
            metavar="auto|full",
            help="Fit on a compressed grid of global ranks, or on every rank.",
            autocompletion=words("auto", "full"),
            rich_help_panel=ANSWERS,
        ),
    ] = "auto",
    plug_in: Annotated[
        str,
        typer.Option(
            "--plug-in",
            metavar="plain|posterior",
            help="Metric of the estimated distribution, or mean over users of their posteriors.",
            autocompletion=words("plain", "posterior"),
            rich_help_panel=ANSWERS,
        ),
    ] = "plain",
    clip: Annotated[
        bool,
        typer.Option(
            "--clip",
            help="Pull values outside a metric's range back into it.",
            rich_help_panel=ANSWERS,
        ),
    ] = False,
    save_counts: Annotated[
        Path | None,
        typer.Option(
            "--save-counts",
            metavar="FILE.parquet",
            help="Also save the counted ranks: a small file that estimate reads again.",
            rich_help_panel=OUTPUT,
        ),
    ] = None,
    output: Output,
) -> None:
    """Run ``truerank estimate``."""
    _check_paths(files, output.output, save_counts, by)
    given = samples.ranks_input()
    wanted, chosen = answers.wanted(), answers.chosen()
    counts = _counts.read_by(files, given, by) if by else {"": _counts.read(files, given)}
    options = {"support": support, "plug_in": plug_in, "clip": clip, **answers.intervals()}
    runs = run(counts, wanted, chosen, options)
    if save_counts is not None:
        counts[""].save(save_counts)
    _results.write(output, runs, wanted, by=by, clip=clip)


def _check_paths(
    files: Sequence[Path], output: Path | None, save_counts: Path | None, by: str | None
) -> None:
    if save_counts is not None and by is not None:
        raise InputError("--save-counts saves the counts of one model; it does not go with --by")
    check_counts_path(save_counts)
    inputs = {path.resolve() for path in files}
    for option, path in (("--output", output), ("--save-counts", save_counts)):
        if path is not None and path.resolve() in inputs:
            raise InputError(f"{option} is {path}, an input file; write to another one")
    if output is not None and save_counts is not None and output.resolve() == save_counts.resolve():
        raise InputError(f"--output and --save-counts are both {output}")
