"""``truerank estimate``: global metrics from files of sampled ranks."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from truerank.cli import _counts, _results
from truerank.cli._answers import Answers
from truerank.cli._groups import command
from truerank.cli._options import (
    ANSWERS,
    OUTPUT,
    SAMPLES,
    Output,
    argument,
    check_counts_path,
    option,
)
from truerank.cli._samples import Samples
from truerank.errors import InputError

HELP = """Global metrics from sampled ranks, naive beside corrected.

\b
truerank estimate ranks.csv --n-items 3706 --sample-size 100
truerank estimate ranks.csv --n-items 3706 --num-negatives 100 \\
    -e mle -e "bv(gamma=0.01)" -m recall@1,5,10 -m ndcg@10
truerank estimate all.parquet --by model --json > metrics.json
truerank estimate adaptive.csv --n-items 3706 --ladder 100,200,400
truerank estimate ranks.csv --n-items 3706 --sample-size 100 --plan

A ? behind a value says that the sample is too small to settle it; what to do stands below the \
table, and --plan simulates how large a sample has to be.
"""

FILES = (
    "Sampled ranks (.csv, .tsv, .parquet, also .gz), one row per user with a column rank, or "
    "counts saved by --save-counts. Several files are different users of one model, unless --by."
)


@command
def estimate(
    files: list[Path] = argument(FILES),
    *,
    samples: Samples,
    negatives: Path | None = option(
        None,
        "The file of frozen negatives (ours, NCF's, Elliot's, RecBole's) that targets were ranked "
        "among: it says how many each had. Ranks then need user_id and item_id.",
        "FILE",
        panel=SAMPLES,
    ),
    drop_targets: bool = option(
        False,
        "With --negatives: targets among their own user's negatives were not counted.",
        panel=SAMPLES,
    ),
    answers: Answers,
    by: str | None = option(
        None,
        'Keep the values of a column apart, such as model, or of several by comma; "file": keep '
        "files apart.",
        "COLUMN",
        panel=ANSWERS,
    ),
    support: str = option(
        "auto",
        "Fit on a compressed grid of global ranks (auto), or on every rank (full).",
        known=("auto", "full"),
        panel=ANSWERS,
    ),
    plug_in: str = option(
        "plain",
        "Metric of the estimated distribution (plain), or mean over users of their posteriors.",
        known=("plain", "posterior"),
        panel=ANSWERS,
    ),
    clip: bool = option(False, "Pull values outside a metric's range back into it.", panel=ANSWERS),
    save_counts: Path | None = option(
        None,
        "Also save the counted ranks: a small file that estimate reads again.",
        "FILE.parquet",
        panel=OUTPUT,
        writes=True,
    ),
    output: Output,
) -> None:
    """Run ``truerank estimate``."""
    check_counts_path(save_counts)
    if save_counts is not None and by is not None:
        raise InputError("--save-counts saves the counts of one model; it does not go with --by")
    given = replace(samples.ranks_input(), negatives=negatives, drop_targets=drop_targets)
    if by is not None and negatives is not None:
        raise InputError("--negatives does not go with --by; give one model at a time")
    wanted, _ = answers.wanted(), answers.chosen()  # what is wrong with them is said at once
    counts = _counts.read_by(files, given, by) if by else {"": _counts.read(files, given)}
    options = {"support": support, "plug_in": plug_in, "clip": clip, **answers.intervals()}
    runs = answers.run(counts, **options)
    if save_counts is not None:
        counts[""].save(save_counts)
    _results.write(output, runs, wanted, by=by, clip=clip)
