"""``truerank compare``: which of several models is better, and how sure that is."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from truerank.cli import _counts, _output
from truerank.cli._answers import CompareOptions, split_metrics
from truerank.cli._groups import command
from truerank.cli._options import ANSWERS, Output, argument, option
from truerank.cli._samples import Samples
from truerank.progress import reporting

if TYPE_CHECKING:
    from rich.console import Console

    from truerank.inference.comparing.comparison import Comparison

# One line a paragraph: some versions of typer keep line breaks, some do not.
HELP = """Which model is better on the whole catalogue, and how sure is that?

Files hold the sampled (or exact) ranks of a model each; or one file holds all, with a column \
model. With a column user_id, models are compared user by user, which is sharper: best of all if \
every model was ranked among the same negatives.

\b
truerank compare ease.csv als.csv --n-items 3706 --sample-size 100
truerank compare all.parquet --by model -m recall@10,ndcg@10
truerank compare ease.parquet als.parquet knn.parquet --baseline knn
truerank compare a.parquet b.parquet --scope population --tests
truerank compare paired.parquet  # saved by PairedCounts, with all models

For these users: would a full evaluation of the very same users say so? For the population: would \
new users say so, too? The latter takes more. The metric is ndcg@10 unless stated.
"""

DEFAULT_METRIC = "ndcg@10"
FILES = (
    "Ranks (.csv, .tsv, .parquet, also .gz), one row per user with columns rank and, to pair "
    "users, user_id; or counts saved by truerank. A model each, named by the file; paired counts "
    "(PairedCounts.save) hold all models, and several such files add up."
)


@command
def compare(
    files: list[Path] = argument(FILES),
    *,
    samples: Samples,
    compared: CompareOptions,
    baseline: str | None = option(
        None, "Compare all with this model instead of every pair.", "MODEL", panel=ANSWERS
    ),
    tests: bool = option(
        False,
        "Show the z- or t-test, and for paired users the sign test and Wilcoxon's.",
        panel=ANSWERS,
    ),
    output: Output,
) -> None:
    """Run ``truerank compare``."""
    given = samples.ranks_input()
    _counts.check_files(files, given)
    models, options = _counts.models(files, compared.by, given)
    from truerank.inference.comparing.compare import compare_all

    wanted = split_metrics(compared.metrics or [DEFAULT_METRIC])
    with reporting(None, 1, "comparing") as advance:
        found = compare_all(models, wanted, baseline=baseline, **compared.options(), **options)
        advance(1)
    output.write(
        content=lambda: {"comparisons": [one.to_dict() for one in found]},
        rows=lambda: [row for one in found for row in one.rows()],
        draw=lambda console: _draw(console, found, tests),
    )


def _draw(console: Console, comparisons: Sequence[Comparison], tests: bool) -> None:
    from rich.text import Text

    from truerank.inference import verdicts

    for at, found in enumerate(comparisons):
        if at:
            console.print()
        console.print(Text(found.verdict, style="bold"))
        console.print(Text(found.how))
        console.print(_ranking(found))
        console.print(_differences(found))
        if tests:
            console.print(_tests(found))
    if not all(one.resolvable for found in comparisons for one in found.ranking):
        console.print(verdicts.LEGEND, highlight=False, markup=False)


def _table(*columns: tuple[str, str]) -> Any:
    from rich import box
    from rich.table import Table

    table = Table(box=box.SIMPLE_HEAD, pad_edge=False)
    for title, justify in columns:
        table.add_column(title, justify=justify, no_wrap=title != "difference")  # type: ignore[arg-type]
    return table


def _ranking(found: Comparison) -> Any:
    from truerank.inference import verdicts

    table = _table(
        ("place", "right"),
        ("model", "left"),
        (found.metric, "right"),
        (f"{100 * found.confidence:g} % interval", "right"),
        ("naive", "right"),
        ("best with", "right"),
    )
    digits = _output.decimals([one.value for one in found.ranking])
    for one in found.ranking:
        table.add_row(
            one.places,
            one.model,
            f"{one.value:.{digits}f}{'' if one.resolvable else verdicts.MARK}",
            f"{one.low:.{digits}f} to {one.high:.{digits}f}",
            f"{one.naive:.{digits}f}",
            f"{100 * one.best_probability:.1f} %",
        )
    return table


def _differences(found: Comparison) -> Any:
    from truerank.inference.comparing.comparison import p_text

    table = _table(
        ("difference", "left"),
        (found.metric, "right"),
        (f"{100 * found.confidence:g} % interval", "right"),
        ("better", "right"),
        ("p", "right"),
        ("p, Holm", "right"),
    )
    digits = _output.decimals([one.value for one in found.ranking])
    for one in found.differences:
        table.add_row(
            f"{one.model} - {one.other}",
            f"{one.value:+.{digits}f}",
            f"{one.low:+.{digits}f} to {one.high:+.{digits}f}",
            f"{100 * one.win_probability:.1f} %",
            p_text(one.p_value),
            p_text(one.p_holm),
        )
    return table


def _tests(found: Comparison) -> Any:
    from truerank.inference.comparing.comparison import p_text

    table = _table(
        ("difference", "left"),
        ("test, for the population", "left"),
        ("statistic", "right"),
        ("p", "right"),
    )
    for one in found.differences:
        for at, test in enumerate(one.tests):
            name = "" if at else f"{one.model} - {one.other}"
            table.add_row(name, test.name, f"{test.statistic:,.4g}", p_text(test.p_value))
    return table
