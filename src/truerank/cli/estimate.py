"""``truerank estimate``: global metrics from files of sampled ranks."""

from __future__ import annotations

import contextlib
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated

import typer

from truerank.cli import _counts, _output
from truerank.cli._answers import (
    Confidence,
    Cuts,
    Estimators,
    Metrics,
    Target,
    interval_options,
    parse_estimators,
    parse_metrics,
    run,
)
from truerank.cli._options import (
    ANSWERS,
    OUTPUT,
    Columns,
    Csv,
    Hits,
    Json,
    Ladder,
    NItems,
    NumNegatives,
    Replacement,
    SampleSize,
    integers,
    pairs,
)
from truerank.cli._results import render
from truerank.errors import InputError

HELP = """Global metrics from sampled ranks, naive beside corrected.

\b
truerank estimate ranks.csv --n-items 3706 --sample-size 100
truerank estimate ranks.csv --n-items 3706 --num-negatives 100 \\
    -e mle -e "bv(gamma=0.01)" -m recall@1,5,10 -m ndcg@10
truerank estimate all.parquet --by model --json > metrics.json
truerank estimate adaptive.csv --n-items 3706 --ladder 100,200,400
"""


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
    n_items: NItems = None,
    sample_size: SampleSize = None,
    num_negatives: NumNegatives = None,
    replacement: Replacement = None,
    ladder: Ladder = None,
    hits: Hits = None,
    columns: Columns = None,
    estimator: Estimators = None,
    metrics: Metrics = None,
    k: Cuts = None,
    confidence: Confidence = 0.95,
    target: Target = None,
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
            rich_help_panel=ANSWERS,
        ),
    ] = "auto",
    plug_in: Annotated[
        str,
        typer.Option(
            "--plug-in",
            metavar="plain|posterior",
            help="Metric of the estimated distribution, or mean over users of their posteriors.",
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
    json_: Json = False,
    csv_: Csv = False,
    output: Annotated[
        Path | None,
        typer.Option(
            "--output",
            "-o",
            metavar="FILE",
            help="Write there instead; .json and .csv choose the format.",
            rich_help_panel=OUTPUT,
        ),
    ] = None,
    save_counts: Annotated[
        Path | None,
        typer.Option(
            "--save-counts",
            metavar="FILE.parquet",
            help="Also save the counted ranks: a small file that estimate reads again.",
            rich_help_panel=OUTPUT,
        ),
    ] = None,
) -> None:
    """Run ``truerank estimate``."""
    kind = _output.output_format(json_=json_, csv_=csv_, path=output)
    _check_paths(files, output, save_counts, by)
    design = _counts.Design(
        n_items=n_items,
        sample_size=sample_size,
        num_negatives=num_negatives,
        replacement=replacement,
        ladder=integers(ladder, "--ladder"),
        hits=hits,
        columns=pairs(columns, "--columns"),
    )
    wanted = parse_metrics(metrics, integers(k, "--k"))
    chosen = parse_estimators(estimator)
    counts = _counts.read_by(files, design, by) if by else {"": _counts.read(files, design)}
    options = {"support": support, "plug_in": plug_in, "clip": clip}
    options |= interval_options(confidence, target)
    runs = [run(name, one, wanted, chosen, options) for name, one in counts.items()]
    text = render(kind, runs, wanted, by=by, clip=clip, path=output)
    with contextlib.ExitStack() as stack:
        if output is not None:
            from truerank import tables

            stack.enter_context(tables.replacing(output)).write_text(text, encoding="utf-8")
        if save_counts is not None:
            counts[""].save(save_counts)
    if output is None:
        _output.emit(text)


def _check_paths(
    files: Sequence[Path], output: Path | None, save_counts: Path | None, by: str | None
) -> None:
    if save_counts is not None and by is not None:
        raise InputError("--save-counts saves the counts of one model; it does not go with --by")
    if save_counts is not None and save_counts.suffix not in (".parquet", ".pq"):
        raise InputError(f"--save-counts is {save_counts}; give it the ending .parquet")
    inputs = {path.resolve() for path in files}
    for option, path in (("--output", output), ("--save-counts", save_counts)):
        if path is not None and path.resolve() in inputs:
            raise InputError(f"{option} is {path}, an input file; write to another one")
    if output is not None and save_counts is not None and output.resolve() == save_counts.resolve():
        raise InputError(f"--output and --save-counts are both {output}")
