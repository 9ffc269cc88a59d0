"""``truerank report``: one HTML page on one or several models."""

from __future__ import annotations

from pathlib import Path

from truerank import _files
from truerank.cli import _counts, _output
from truerank.cli._answers import CompareOptions, split_metrics
from truerank.cli._doors import STDOUT
from truerank.cli._groups import command
from truerank.cli._options import OUTPUT, Talk, argument, option
from truerank.cli._samples import Samples
from truerank.cli.compare import FILES

HELP = """Write an HTML page to look at and to share: verdict, metrics, curves, protocol.

One file, no network: attach it to a pull request or a paper. Files hold the ranks of a model \
each, or the counts that truerank saved (with their protocol, if evaluate saved them); or one file \
holds all, with a column model. With a column user_id, models are compared user by user.

\b
truerank report ease.csv als.csv --n-items 3706 --sample-size 100
truerank report all.parquet --output report.html --title "Spring models"
truerank report ease.parquet -m recall@10,ndcg@10 --confidence 0.9
"""


@command
def report(
    files: list[Path] = argument(FILES),
    *,
    samples: Samples,
    compared: CompareOptions,
    title: str = option("Evaluation report", "The title of the page.", "TEXT", panel=OUTPUT),
    output: Path = option(
        Path("report.html"),
        "The page to write.",
        "FILE.html",
        short="-o",
        panel=OUTPUT,
        writes=True,
    ),
    talk: Talk,
) -> None:
    """Run ``truerank report``."""
    given = samples.ranks_input()
    _counts.check_files(files, given)
    models, options = _counts.models(files, compared.by, given, alone=True)
    from truerank.report import render, write

    asked = {
        "title": title,
        "metrics": split_metrics(compared.metrics) if compared.metrics else None,
        **compared.options(),
        **options,
    }
    if output == STDOUT:
        _output.emit(render(models, **asked))
        return
    write(models, output, **asked)
    if not talk.quiet and _files.Target(output).plain:
        _output.emit(f"{output}\n")
