"""``truerank translate``: global metrics from published sampled ones."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer

from truerank.cli import _output
from truerank.cli._answers import split_metrics
from truerank.cli._groups import command
from truerank.cli._options import ANSWERS, Output, argument, option
from truerank.cli._samples import Draws
from truerank.errors import InputError

if TYPE_CHECKING:
    from rich.console import Console

    from truerank.inference.translating.translation import Translated, Translation
    from truerank.inference.translating.translations import TranslatedTable

# One line a paragraph: some versions of typer keep line breaks, some do not.
HELP = """What published sampled metrics say about the whole catalogue.

Estimates of the global metrics with intervals, by a smooth distribution of ranks; the smallest \
and largest values over all distributions that fit; for several models who is ahead, and how sure.

\b
truerank translate --sampled hr@10=0.62,ndcg@10=0.36 -m recall@10 \\
    --n-items 3706 --sample-size 100
truerank translate --sampled hr@10=62.0% -m recall@1,10,50 \\
    --n-items 3706 --num-negatives 100 --n-users 6040 --decreasing
truerank translate --sampled A:hr@10=0.62 --sampled B:hr@10=0.58 \\
    --n-items 3706 --sample-size 100

A whole table, with columns dataset, model, metric, value, n_items, n_users, gives dataset, model, \
metric, value, low, high:

\b
truerank translate table.csv --sample-size 100 -m recall@10 --csv

Rows that cannot be used are named, the others are translated, and the command ends with 1.

Write values with the decimals of the publication: 0.62 is read as anything from 0.615 to 0.625, \
0.620 as 0.6195 to 0.6205.
"""

PUBLISHED = "What was published"
_LEFT_OUT = 1


@command
def translate(
    table: Path | None = argument(
        "A table of published values (.csv, .tsv, .parquet): columns dataset, model, metric, "
        "value, n_items, n_users.",
        default=None,
    ),
    *,
    sampled: list[str] | None = option(
        None,
        "Sampled metrics, in place of a table: {metrics} (or hr, mrr, ...). Several by comma or by "
        "repeating; several models as A:hr@10=0.62 and B:hr@10=0.58.",
        "NAME@K=VALUE",
        short="-s",
        panel=PUBLISHED,
    ),
    draws: Draws,
    n_users: int | None = option(
        None,
        "Users that the values are averages over; unless stated, estimates allow for the noise of "
        "1,000 users, bounds for none.",
        "N",
        panel=PUBLISHED,
    ),
    runs: int = option(
        1,
        "Runs, each with negatives of its own, that the values are averages over.",
        "N",
        panel=PUBLISHED,
    ),
    training_items: str = option(
        "left-out",
        "Whether users' training items were left out of the items that targets are ranked among.",
        known=("left-out", "kept"),
        panel=PUBLISHED,
    ),
    confidence: float = option(
        0.95,
        "Of intervals; for bounds, the probability, at the least, that no value is further off "
        "than its noise.",
        "SHARE",
        panel=ANSWERS,
    ),
    metrics: list[str] | None = option(
        None,
        "Global metrics, as in recall@1,5,10; those published unless stated. Repeatable.",
        "NAME@K",
        short="-m",
        panel=ANSWERS,
    ),
    decreasing: bool = option(
        False,
        "Bounds: assume that no rank has more users than the rank before it.",
        panel=ANSWERS,
    ),
    output: Output,
) -> None:
    """Run ``truerank translate``."""
    options: dict[str, Any] = {
        "n_users": n_users,
        "runs": runs,
        "training_items": training_items,
        "confidence": confidence,
        "decreasing": decreasing,
    }
    asked = split_metrics(metrics) if metrics else None
    from truerank.inference.translating.translate import translate as answer

    if table is not None:
        if sampled:
            raise InputError("a table and --sampled are both given; give one of them")
        whole = answer(table, asked, **draws.arguments(), **options)
        output.write(
            content=whole.to_dict, rows=whole.rows, draw=lambda console: _table(console, whole)
        )
        for problem in whole.problems:
            _output.say("warning", _output.in_options(f"{table}, {problem}"))
        raise typer.Exit(_LEFT_OUT if whole.problems else 0)
    values = _values(sampled or [])
    n_items, sample_size = draws.sizes()
    found = answer(
        values,
        asked,
        n_items=n_items,
        sample_size=sample_size,
        replacement=draws.replacement,
        **options,
    )
    _ = found.bounds  # what contradicts is said before anything is written
    output.write(content=found.to_dict, rows=found.rows, draw=lambda console: _draw(console, found))


def _values(texts: Sequence[str]) -> dict[str, Any]:
    """``["A:hr@10=0.62,ndcg@10=0.36"]`` as values by metric, by model if models are named."""
    if not texts:
        raise InputError(
            "--sampled is missing: what was published, as in hr@10=0.62; or give a table"
        )
    models: dict[str, dict[str, str]] = {}
    for text in texts:
        name, colon, rest = text.rpartition(":")
        name = name.strip()
        if colon and not name:
            raise InputError(f"--sampled is {text!r}; there is no model before the colon")
        values = models.setdefault(name, {})
        for part in rest.split(","):
            metric, equals, value = (piece.strip() for piece in part.partition("="))
            if not (metric and equals and value):
                raise InputError(f"--sampled is {text!r}; write it as hr@10=0.62,ndcg@10=0.36")
            if metric in values:
                raise InputError(f"--sampled {metric} is given twice{name and f' for {name}'}")
            values[metric] = value
    if "" not in models:
        return dict(models)
    if len(models) > 1:
        raise InputError("--sampled names a model in some places only; name it in all or in none")
    return dict(models[""])


def _draw(console: Console, found: Translation) -> None:
    from rich.padding import Padding
    from rich.text import Text

    def say(text: str, indent: int = 0) -> None:
        console.print(Padding(Text(text), (0, 0, 0, indent)))

    say(str(found.protocol))
    console.print(_published_table(found))
    for sentence in found.sentences:
        say(sentence)
    console.print(_answers_table(found))
    for sentence in found.assumptions:
        say(sentence)
    if found.leads:
        say("Who is ahead?")
        for lead in found.leads:
            say(str(lead), indent=2)
        say("Can the order flip, whatever the ranks?")
        for comparison in found.comparisons:
            say(str(comparison), indent=2)
            for side in comparison.examples:
                say(str(side), indent=4)
        return
    for bounds in found.bounds:
        say(f"Lowest {bounds.metric}, for example:")
        say(str(bounds.low_example), indent=2)
        say(f"Highest {bounds.metric}:")
        say(str(bounds.high_example), indent=2)


def _table(console: Console, whole: TranslatedTable) -> None:
    """A table per dataset, and the orders that are likely to flip."""
    from rich import box
    from rich.table import Table
    from rich.text import Text

    for dataset, found in whole.translations.items():
        console.print(Text(f"{dataset and f'{dataset}: '}{found.protocol}"))
        shown = Table(box=box.SIMPLE_HEAD, pad_edge=False)
        shown.add_column("metric", no_wrap=True)
        shown.add_column("model", no_wrap=True)
        for title in ("published", "estimate", "interval"):
            shown.add_column(title, justify="right", no_wrap=True)
        digits = _output.decimals([one.value for one in found.estimates])
        for metric in dict.fromkeys(one.metric for one in found.estimates):
            mine = [one for one in found.estimates if one.metric == metric]
            for i, one in enumerate(sorted(mine, key=lambda one: -one.value)):
                shown.add_row("" if i else metric, one.model, *_cells(one, digits))
        console.print(shown)
        for text in [*found.assumptions, *map(str, found.flips)]:
            console.print(Text(text))


def _cells(one: Translated, digits: int) -> tuple[str, str, str]:
    """Published, estimated, and the interval."""
    naive = _output.MISSING if one.naive is None else f"{one.naive:.4f}"
    sign = "" if one.resolvable else " ?"
    ends = f"{one.low:.{digits}f} to {one.high:.{digits}f}"
    return naive, f"{one.value:.{digits}f}{sign}", ends


def _published_table(found: Translation) -> Any:
    """What was read: the values, and between what their expectations lie."""
    from rich import box
    from rich.table import Table

    named = any(value.model for value in found.published)
    table = Table(box=box.SIMPLE_HEAD, pad_edge=False)
    for title in (*(["model"] if named else []), "sampled"):
        table.add_column(title, no_wrap=True)
    table.add_column("published", justify="right", no_wrap=True)
    table.add_column("expected", no_wrap=True)
    digits = _output.decimals([end for value in found.published for end in value.interval])
    for value in found.published:
        low, high = value.interval
        table.add_row(
            *([value.model] if named else []),
            value.metric,
            value.text,
            f"{low:.{digits}f} to {high:.{digits}f}",
        )
    return table


def _answers_table(found: Translation) -> Any:
    """Estimates, and the bounds beside them."""
    from rich import box
    from rich.table import Table

    named = any(one.model for one in found.estimates)
    table = Table(box=box.SIMPLE_HEAD, pad_edge=False)
    table.add_column("metric", no_wrap=True)
    if named:
        table.add_column("model", no_wrap=True)
    for title in ("estimate", f"{100 * found.protocol.confidence:g} % interval", "bounds"):
        table.add_column(title, justify="right", no_wrap=True)
    digits = _output.decimals([one.value for one in found.estimates])
    for metric in dict.fromkeys(one.metric for one in found.estimates):
        for i, one in enumerate(one for one in found.estimates if one.metric == metric):
            bounds = found.bound((one.model, metric))
            _, value, ends = _cells(one, digits)
            table.add_row(
                "" if i else metric,
                *([one.model] if named else []),
                value,
                ends,
                f"{bounds.low:.{digits}f} to {bounds.high:.{digits}f}",
            )
    return table
