"""``truerank translate``: what published sampled metrics permit the global ones to be."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from truerank.cli import _output
from truerank.cli._answers import split_metrics
from truerank.cli._groups import command
from truerank.cli._options import ANSWERS, Output, option
from truerank.cli._samples import Draws
from truerank.errors import InputError

if TYPE_CHECKING:
    from rich.console import Console

    from truerank.inference.translating.translation import Translation

# One line a paragraph: some versions of typer keep line breaks, some do not.
HELP = """What a published sampled metric says about the whole catalogue.

A sampled HR@10 of 0.62 fits many rankings of the whole catalogue. This prints the smallest and \
the largest value that a global metric takes over all of them, with a ranking for each; for \
several models also whether they may change places.

\b
truerank translate --sampled hr@10=0.62,ndcg@10=0.36 -m recall@10 \\
    --n-items 3706 --sample-size 100
truerank translate --sampled hr@10=62.0% -m recall@1,10,50 \\
    --n-items 3706 --num-negatives 100 --n-users 6040 --decreasing
truerank translate --sampled A:hr@10=0.62 --sampled B:hr@10=0.58 \\
    --n-items 3706 --sample-size 100

Write values with the decimals of the publication: 0.62 is read as anything from 0.615 to 0.625, \
0.620 as 0.6195 to 0.6205.
"""

PUBLISHED = "What was published"


@command
def translate(
    *,
    sampled: list[str] | None = option(
        None,
        "Sampled metrics: {metrics} (or hr, mrr, ...). Several by comma or by "
        "repeating; several models as A:hr@10=0.62 and B:hr@10=0.58.",
        "NAME@K=VALUE",
        short="-s",
        panel=PUBLISHED,
    ),
    draws: Draws,
    n_users: int | None = option(
        None,
        "Users (times runs) that the values are averages over: allows for the noise of their "
        "negatives; none unless stated.",
        "N",
        panel=PUBLISHED,
    ),
    confidence: float = option(
        0.95,
        "With --n-users: the probability, at the least, that no value is further off.",
        "SHARE",
        panel=PUBLISHED,
    ),
    metrics: list[str] | None = option(
        None,
        "Global metrics, as in recall@1,5,10; those published unless stated. Repeatable.",
        "NAME@K",
        short="-m",
        panel=ANSWERS,
    ),
    decreasing: bool = option(
        False, "Assume that no rank has more users than the rank before it.", panel=ANSWERS
    ),
    output: Output,
) -> None:
    """Run ``truerank translate``."""
    values = _values(sampled or [])
    n_items, sample_size = draws.sizes()
    from truerank.inference.translating.translate import translate as bound

    found = bound(
        values,
        split_metrics(metrics) if metrics else None,
        n_items=n_items,
        sample_size=sample_size,
        replacement=draws.replacement,
        n_users=n_users,
        confidence=confidence,
        decreasing=decreasing,
    )
    output.write(content=found.to_dict, rows=found.rows, draw=lambda console: _draw(console, found))


def _values(texts: Sequence[str]) -> dict[str, Any]:
    """``["A:hr@10=0.62,ndcg@10=0.36"]`` as values by metric, by model if models are named."""
    if not texts:
        raise InputError("--sampled is missing: what was published, as in hr@10=0.62")
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
    console.print(_bounds_table(found))
    if found.comparisons:
        say("Can the order flip?")
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


def _bounds_table(found: Translation) -> Any:
    from rich import box
    from rich.table import Table

    named = any(bounds.model for bounds in found.bounds)
    table = Table(box=box.SIMPLE_HEAD, pad_edge=False)
    table.add_column("metric", no_wrap=True)
    if named:
        table.add_column("model", no_wrap=True)
    table.add_column("lowest", justify="right", no_wrap=True)
    table.add_column("highest", justify="right", no_wrap=True)
    digits = _output.decimals([v for bounds in found.bounds for v in (bounds.low, bounds.high)])
    for metric in dict.fromkeys(bounds.metric for bounds in found.bounds):
        for i, bounds in enumerate(b for b in found.bounds if b.metric == metric):
            table.add_row(
                "" if i else metric,
                *([bounds.model] if named else []),
                f"{bounds.low:.{digits}f}",
                f"{bounds.high:.{digits}f}",
            )
    return table
