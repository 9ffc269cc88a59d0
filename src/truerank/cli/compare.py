"""``truerank compare``: which of several models is better, and how sure that is."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

import typer

from truerank.cli import _counts, _gate, _names, _output
from truerank.cli._answers import CompareOptions, split_metrics
from truerank.cli._groups import command
from truerank.cli._options import ANSWERS, OUTPUT, Output, argument, option
from truerank.cli._samples import Samples
from truerank.errors import InputError
from truerank.progress import reporting

if TYPE_CHECKING:
    from rich.console import Console

    from truerank._types import Pairs
    from truerank.inference.comparing.comparison import Comparison
    from truerank.inference.comparing.gate import Gate

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
truerank compare new.parquet old.parquet --gate ndcg@10 --margin 0.01

For these users: would a full evaluation of the very same users say so? For the population: would \
new users say so, too? The latter takes more. The metric is ndcg@10 unless stated. With --gate it \
ends with 3 if the first model is worse than the second by more than the margin, for sure.
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
    pairs: str = option(
        "auto",
        "Which differences to list: all, or those with the best model alone (best), as auto does "
        "for more than 20 models. Corrections and places are for all pairs either way.",
        known=("auto", "best", "all"),
        panel=ANSWERS,
    ),
    tests: bool = option(
        False,
        "Show the z- or t-test, and for paired users the sign test and Wilcoxon's.",
        panel=ANSWERS,
    ),
    gate: str | None = option(
        None,
        "End with 3 if the first of two models, the new one, is worse on this metric than the "
        "second by more than --margin: the whole interval of the difference says so.",
        "NAME@K",
        panel=ANSWERS,
        suggest=_names.metrics,
    ),
    margin: float | None = option(
        None,
        "The loss that --gate accepts, in units of the metric; 0 unless stated.",
        "LOSS",
        panel=ANSWERS,
    ),
    markdown: bool = option(False, "Print Markdown: a comment for a pull request.", panel=OUTPUT),
    output: Output,
) -> None:
    """Run ``truerank compare``."""
    if markdown and output.kind != "text":
        raise InputError(f"--markdown is given, and so is {output.kind}; give one of them")
    given = samples.ranks_input()
    _counts.check_files(files, given)
    models, options = _counts.models(files, compared.by, given)
    from truerank.inference.comparing.compare import compare_all

    wanted = split_metrics(compared.metrics or [gate or DEFAULT_METRIC])
    if gate is not None:
        wanted = _with(wanted, gate)
    with reporting(None, 1, "comparing") as advance:
        found = compare_all(
            models,
            wanted,
            baseline=baseline,
            pairs=cast("Pairs", pairs),
            **compared.options(),
            **options,
        )
        advance(1)
    judged = _gate.judge(found, gate, margin, _in_order(models, found))
    output.write(
        content=lambda: (
            {"comparisons": [one.to_dict() for one in found]}
            | ({} if judged is None else {"gate": judged.to_dict()})
        ),
        rows=lambda: [row for one in found for row in one.rows()],
        draw=lambda console: (
            console.print(
                _gate.comment(found, judged, files), soft_wrap=True, markup=False, highlight=False
            )
            if markdown
            else _draw(console, found, tests, judged)
        ),
    )
    if judged is not None and not judged.passed:
        raise typer.Exit(_gate.FAILED)


def _with(wanted: list[str], gate: str) -> list[str]:
    """The metrics, the gate's among them."""
    from truerank.metrics import parse

    (on, *more) = parse(gate)
    if more:
        raise InputError(f"--gate is {gate}, which is several metrics; give one")
    return wanted if on in parse(wanted) else [*wanted, gate]


def _in_order(models: Any, found: Sequence[Comparison]) -> list[str]:
    """Names of the models as they were given; of one table, as they come in it."""
    names = getattr(models, "models", models)
    known = [one.model for one in found[0].ranking]
    if not isinstance(names, (Mapping, tuple)):
        return sorted(known)
    return [str(name) for name in names]


def _draw(
    console: Console, comparisons: Sequence[Comparison], tests: bool, gate: Gate | None
) -> None:
    from rich.text import Text

    from truerank.inference import verdicts

    if gate is not None:
        console.print(Text(gate.verdict, style="bold"))
        console.print()
    for at, found in enumerate(comparisons):
        if at:
            console.print()
        console.print(Text(found.verdict, style="bold"))
        console.print(Text(found.how))
        console.print(_ranking(found))
        console.print(_differences(found))
        for line in found._unlisted():
            console.print(Text(line))
        if tests:
            console.print(_tests(found))
    if not all(one.resolvable for found in comparisons for one in found.ranking):
        console.print(verdicts.LEGEND, highlight=False, markup=False)


def _table(*columns: tuple[str, str]) -> Any:
    from rich import box
    from rich.table import Table

    table = Table(box=box.SIMPLE_HEAD, pad_edge=False)
    for title, justify in columns:
        wraps = title in ("model", "difference")
        table.add_column(title, justify=justify, no_wrap=not wraps, overflow="fold")  # type: ignore[arg-type]
    return table


def _ranking(found: Comparison) -> Any:
    """Place, model, value and interval, what the sample says, and the chance to be the best."""
    from truerank.inference import verdicts

    interval = f" [{100 * found.confidence:g} % interval]"
    certain = found.certain
    table = _table(
        ("place", "right"),
        ("model", "left"),
        (f"{found.metric}{'' if certain else interval}", "right" if certain else "left"),
        *([] if found.exact else [("naive", "right")]),
        *([] if certain else [("best with", "right")]),
    )
    digits = _output.decimals([one.value for one in found.ranking])
    for one in found.ranking:
        mark = "" if one.resolvable else verdicts.MARK
        ends = f" [{one.low:.{digits}f}, {one.high:.{digits}f}]{mark}"
        table.add_row(
            one.places,
            one.model,
            f"{one.value:.{digits}f}{'' if certain else ends}",
            *([] if found.exact else [f"{one.naive:.{digits}f}"]),
            *([] if certain else [_percent(one.best_probability)]),
        )
    return table


def _differences(found: Comparison) -> Any:
    from truerank.inference.comparing.comparison import p_text

    interval = f" [{100 * found.confidence:g} % interval]"
    certain = found.certain
    table = _table(
        ("difference", "left"),
        (f"{found.metric}{'' if certain else interval}", "right" if certain else "left"),
        *([] if certain else [("better", "right"), ("p", "right"), ("p, Holm", "right")]),
    )
    digits = _output.decimals([one.value for one in found.ranking])
    for one in found.differences:
        ends = f" [{one.low:+.{digits}f}, {one.high:+.{digits}f}]"
        sure = [_percent(one.win_probability), p_text(one.p_value), p_text(one.p_holm)]
        table.add_row(
            f"{one.model} - {one.other}",
            f"{one.value:+.{digits}f}{'' if certain else ends}",
            *([] if certain else sure),
        )
    return table


def _percent(chance: float) -> str:
    """No simulation makes a chance 0 or 100 %."""
    if chance > 0.9995:
        return ">99.9 %"
    return "<0.1 %" if chance < 0.0005 else f"{100 * chance:.1f} %"


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
