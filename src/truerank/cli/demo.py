"""``truerank demo``: a catalogue where sampled metrics choose the wrong model."""

from __future__ import annotations

import importlib.util
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from truerank.cli._groups import command
from truerank.cli._options import OUTPUT, Output, option
from truerank.progress import reporting

if TYPE_CHECKING:
    from rich.console import Console
    from rich.table import Table

HELP = """Three models on a synthetic catalogue: exact, naive and corrected metrics.

\b
truerank demo
truerank demo --seed 7
truerank demo --report demo.html
truerank demo --json
"""

METRICS = ("recall@10", "ndcg@10", "auc")
SAMPLE_SIZE = 100
WAYS = ("exact", "naive", "corrected")


@command
def demo(
    *,
    seed: int = option(0, "Another catalogue for another seed.", "SEED", min=0),
    report: Path | None = option(
        None,
        "Also write the report of the three models' samples, a page to look at.",
        "FILE.html",
        panel=OUTPUT,
        writes=True,
    ),
    output: Output,
) -> None:
    """Run ``truerank demo``."""
    if report is not None:
        from truerank.report._page import engine

        engine()  # before anything takes time
    outcome = _evaluate(seed)
    if report is not None:
        from truerank.report import write

        write(
            outcome.sampled,
            report,
            title="truerank demo",
            metrics=METRICS,
            exact=outcome.exact,
        )
    output.write(
        content=lambda: _facts(outcome),
        rows=lambda: _rows(outcome),
        draw=lambda console: _draw(console, outcome, report),
    )


@dataclass(frozen=True)
class Outcome:
    """The demo's numbers: ``values[metric][model][way]``, ways as in WAYS."""

    seed: int
    n_users: int
    n_items: int
    estimator: str
    values: Mapping[str, Mapping[str, Mapping[str, float]]]
    sampled: Mapping[str, Any] = field(default_factory=dict)  # estimates by model
    exact: Mapping[str, Any] = field(default_factory=dict)  # counts of exact ranks by model

    def ranking(self, metric: str, way: str) -> list[str]:
        """The models, best first."""
        models = self.values[metric]
        return sorted(models, key=lambda model: -models[model][way])


def _evaluate(seed: int) -> Outcome:
    """Rank the targets exactly and among sampled negatives; estimate from the sampled ranks."""
    from truerank.data import synthetic
    from truerank.inference.estimates import estimate
    from truerank.outcomes.counts import RankCounts

    data = synthetic.catalogue(seed=seed)
    drawn = synthetic.negatives(data, num_negatives=SAMPLE_SIZE - 1, seed=seed)
    values: dict[str, dict[str, dict[str, float]]] = {metric: {} for metric in METRICS}
    samples, exactly = {}, {}
    models = synthetic.models(data, seed=seed)
    with reporting(None, len(models), "ranking") as advance:
        for model in models:
            exact = RankCounts.from_exact_ranks(
                synthetic.exact_ranks(model, data.targets), n_items=data.n_items
            )
            rank = synthetic.sampled_ranks(model, data.targets, drawn)
            sampled = RankCounts.from_ranks(
                rank,
                n_items=data.n_items,
                sample_size=SAMPLE_SIZE,
                replacement=False,
            )
            truth = estimate(exact, METRICS, estimator="naive")  # on exact ranks it is the truth
            found = estimate(sampled, METRICS)
            samples[model.name], exactly[model.name] = found, exact
            for metric in METRICS:
                numbers = (truth[metric].value, found[metric].naive, found[metric].value)
                values[metric][model.name] = dict(zip(WAYS, numbers, strict=True))
            advance(1)
    return Outcome(seed, data.n_users, data.n_items, found.estimator.name, values, samples, exactly)


def _facts(outcome: Outcome) -> dict[str, Any]:
    return {
        "seed": outcome.seed,
        "n_users": outcome.n_users,
        "n_items": outcome.n_items,
        "sample_size": SAMPLE_SIZE,
        "estimator": outcome.estimator,
        "results": _rows(outcome),
        "winners": {
            metric: {way: outcome.ranking(metric, way)[0] for way in WAYS} for metric in METRICS
        },
    }


def _rows(outcome: Outcome) -> list[dict[str, Any]]:
    return [
        {"metric": metric, "model": model, **numbers}
        for metric, models in outcome.values.items()
        for model, numbers in models.items()
    ]


def _draw(console: Console, outcome: Outcome, report: Path | None) -> None:
    share = SAMPLE_SIZE / outcome.n_items
    _paragraph(
        console,
        f"{outcome.n_users:,} users, {outcome.n_items:,} items, three models. Where does each "
        f"model rank a user's held-out item? Exact: among all items. Naive: among {SAMPLE_SIZE} "
        f"sampled ones, {100 * share:.0f} % of the scores. Corrected: the same sample, "
        f"by {outcome.estimator}. * marks the best of the three.",
    )
    console.print(_table(outcome))
    for sentence in _story(outcome, METRICS[0]):
        _paragraph(console, sentence)
    if report is not None:
        told = f"Here is the report: {report}"
    elif importlib.util.find_spec("jinja2") is not None:
        told = "To look at it: truerank demo --report demo.html"
    else:  # a report needs jinja2, which not everyone has
        told = f"How large a sample should be: truerank plan --n-items {outcome.n_items}"
        told += f" --n-users {outcome.n_users}"
    _paragraph(console, told)


def _paragraph(console: Console, text: str) -> None:
    console.print(text, highlight=False, markup=False)


def _table(outcome: Outcome) -> Table:
    from rich import box
    from rich.table import Table
    from rich.text import Text

    table = Table(box=box.SIMPLE_HEAD, pad_edge=False)
    table.add_column("metric")
    table.add_column("model")
    for way in WAYS:
        table.add_column(way, justify="right")
    for metric, models in outcome.values.items():
        best = {way: outcome.ranking(metric, way)[0] for way in WAYS}
        for i, (model, numbers) in enumerate(models.items()):
            cells = []
            for way in WAYS:
                won = best[way] == model
                right = best["exact"] == model
                style = "dim" if way == "naive" else ""
                if won:
                    style = "bold green" if right else "bold red"
                cells.append(Text(f"{'* ' if won else ''}{numbers[way]:.4f}", style))
            table.add_row(metric if i == 0 else "", model, *cells)
        table.add_section()
    return table


def _story(outcome: Outcome, metric: str) -> tuple[str, str]:
    """What the numbers say, whatever they say."""
    models = outcome.values[metric]
    truth, second = outcome.ranking(metric, "exact")[:2]
    chosen = outcome.ranking(metric, "naive")[0]

    def pick(way: str) -> str:
        best = outcome.ranking(metric, way)[0]
        rival = truth if best != truth else outcome.ranking(metric, way)[1]
        numbers = f"{models[best][way]:.3f} against {models[rival][way]:.3f} for {rival}"
        verdict = "right" if best == truth else "wrong"
        return f"{way.capitalize()} {metric} picks {best} ({numbers}): {verdict}"

    def error(way: str) -> float:
        return max(abs(numbers[way] - numbers["exact"]) for numbers in models.values())

    rival = second if chosen == truth else chosen
    exact = f"{models[truth]['exact']:.3f} against {models[rival]['exact']:.3f}"
    return (
        f"{pick('naive')}, the best is {truth} ({exact}).",
        f"{pick('corrected')}, and at most {error('corrected'):.3f} off where naive is off by up "
        f"to {error('naive'):.3f}.",
    )
