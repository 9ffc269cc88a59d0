"""Estimates of several models and estimators as JSON, CSV and tables."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from truerank.cli import _output
from truerank.cli._options import Output
from truerank.progress import reporting

if TYPE_CHECKING:
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    from truerank.inference.estimates import Estimate, Estimates
    from truerank.metrics import Metric
    from truerank.outcomes.counts import RankCounts

NAIVE = "naive"
EXACT = "exact"  # every item was ranked: naive is the truth, and estimators leave it alone


@dataclass(frozen=True)
class Run:
    """One model's results: naive ones and those of each estimator, by its description."""

    model: str
    counts: RankCounts
    naive: Estimates
    estimates: Mapping[str, Estimates]

    def get(self, estimator: str, metric: Metric) -> Estimate | None:
        """The estimate of a metric, None where the estimator is not defined for it."""
        found = self.estimates.get(estimator, self.naive)
        return found.results.get(metric.key)


def write(
    output: Output,
    runs: Sequence[Run],
    metrics: Sequence[Metric],
    *,
    by: str | None,
    clip: bool,
    more: Mapping[str, Any] | None = None,
    before: str = "",
    after: str = "",
) -> None:
    """The results in the form asked for: ``more`` is for JSON, lines before and after for text."""

    def rows() -> list[dict[str, Any]]:
        return [row for run in runs for row in _rows(run, metrics, by)]

    def content() -> dict[str, Any]:
        facts = {run.model: _facts(run.counts) for run in runs}
        if by is None:
            return {"counts": facts[""], **(more or {}), "results": rows()}
        return {"by": by, "counts": facts, "results": rows()}

    def draw(console: Console) -> None:
        for text in (before, None, after):
            if text is None:
                _draw(console, runs, metrics, clip)
            elif text:
                console.print(text, highlight=False, markup=False)

    output.write(content=content, rows=rows, draw=draw)


def _rows(run: Run, metrics: Sequence[Metric], by: str | None) -> Iterator[dict[str, Any]]:
    for metric in metrics:
        for name in run.estimates:
            found = run.get(name, metric)
            row: dict[str, Any] = {"metric": metric.key, "estimator": name}
            row["value"] = None if found is None else found.value
            row["naive"] = run.naive[metric].value
            row["out_of_range"] = found is not None and found.out_of_range
            for fact in ("low", "high", "std_error", "total_error", "resolvable"):
                row[fact] = None if found is None else getattr(found, fact)
            yield row if by is None else {"model": run.model, **row}


def _facts(counts: RankCounts) -> dict[str, Any]:
    users = counts.n_users
    return {
        "users": int(users) if users.is_integer() else users,
        "n_items": _range(counts.n_items),
        "sample_size": _range(counts.sample_size),
        "schemes": [scheme.name for scheme in counts.schemes],
        "outcomes": counts.n_outcomes,
    }


def _range(values: Any) -> dict[str, int]:
    return {"min": int(values.min()), "max": int(values.max())}


def _headline(counts: RankCounts) -> str:
    """Users, pools, sizes and scheme in a line."""
    pools, sizes = _range(counts.n_items), _range(counts.sample_size)
    schemes = []
    for scheme in counts.schemes:
        drawn = f"{'with' if scheme.replacement else 'without'} replacement"
        schemes.append(f"{drawn}, adaptive" if scheme.adaptive else drawn)
    return " · ".join(
        [
            f"{_output.whole(counts.n_users)} users",
            f"pools of {_output.between(pools['min'], pools['max'])} items",
            f"samples of {_output.between(sizes['min'], sizes['max'])}",
            " and ".join(dict.fromkeys(schemes)),
        ]
    )


def _draw(console: Console, runs: Sequence[Run], metrics: Sequence[Metric], clip: bool) -> None:
    for line in _headlines(runs):
        console.print(line, highlight=False, markup=False)
    for columns in _blocks(console, runs, metrics):
        console.print(_table(runs, metrics, columns))
    shown = [run.get(name, metric) for run in runs for name in run.estimates for metric in metrics]
    if any(found is not None and found.out_of_range for found in shown):
        what = "was outside the metric's range and is clipped" if clip else _STRAYED
        console.print(f"! {what}", highlight=False)
    if any(found is not None and found.resolvable is False for found in shown):
        console.print(f"? {_UNRESOLVED}", highlight=False)
    if any(found is None for found in shown):
        console.print(f"{_output.MISSING} not defined for this metric", highlight=False)
    for sentence in _verdicts(runs, metrics):
        console.print(sentence, highlight=False, markup=False)


def _verdicts(runs: Sequence[Run], metrics: Sequence[Metric]) -> Iterator[str]:
    """What would resolve the metrics that a sample does not resolve, by the default estimator.

    It makes the most of a sample; of others the mark has to do.
    """
    from truerank.inference.estimates import DEFAULT_ESTIMATOR

    told = [(run.model, run.estimates.get(DEFAULT_ESTIMATOR)) for run in runs]
    with reporting(None, len(told) * len(metrics), "planning a remedy") as advance:
        for model, found in told:
            for metric in metrics:
                sentence = None if found is None else found.verdict(metric)
                advance(1)
                if sentence is not None:
                    yield f"{model}: {sentence}" if model else sentence


_UNRESOLVED = "not resolved: bias or what the estimator assumes outweighs the sample"
_STRAYED = "outside the metric's range: this estimator may stray (--clip pulls it back)"


def _headlines(runs: Sequence[Run]) -> list[str]:
    lines = {run.model: _headline(run.counts) for run in runs}
    if len(runs) > 1 and len(set(lines.values())) == 1:
        return [f"{len(runs)} models, each: {_headline(runs[0].counts)}"]
    return [f"{model}: {line}" if model else line for model, line in lines.items()]


def _blocks(
    console: Console, runs: Sequence[Run], metrics: Sequence[Metric]
) -> Iterator[list[str]]:
    """Estimators in groups whose tables fit the console, naive first in each."""
    if _all_exact(runs):
        yield [EXACT]
        return
    block = [NAIVE]
    for name in runs[0].estimates:
        if name == NAIVE:
            continue
        if len(block) > 1 and not _output.fits(console, _table(runs, metrics, [*block, name])):
            yield block
            block = [NAIVE]
        block.append(name)
    yield block


def _all_exact(runs: Sequence[Run]) -> bool:
    """Whether there is one number for each metric, whatever the estimator."""
    estimates = [one for run in runs for found in run.estimates.values() for one in found.values()]
    return all(bool(run.counts.is_exact.all()) for run in runs) and all(
        math.isclose(one.value, one.naive) and not one.std_error for one in estimates
    )


def _table(runs: Sequence[Run], metrics: Sequence[Metric], columns: Sequence[str]) -> Table:
    """A row a metric; with several models, a section a metric and in it a row a model."""
    from rich import box
    from rich.table import Table

    several = len(runs) > 1 or bool(runs[0].model)
    table = Table(box=box.SIMPLE_HEAD, pad_edge=False)
    table.add_column("metric", no_wrap=True)
    if several:
        table.add_column("model")
    rows = [row for metric in metrics for row in _cells(runs, metric, columns)]
    for i, name in enumerate(columns):
        width = max(len(name), *(len(row[i].number) for row in rows))
        table.add_column(name.rjust(width), no_wrap=True)
        for row in rows:
            row[i] = row[i].padded(width)
    heads = [
        [metric.key if run is runs[0] else "", *([run.model] if several else [])]
        for metric in metrics
        for run in runs
    ]
    for head, row in zip(heads, rows, strict=True):
        if several and head[0]:
            table.add_section()
        table.add_row(*head, *(cell.text() for cell in row))
    return table


@dataclass(frozen=True)
class _Cell:
    """A value as shown: aligned at the right, but for the mark behind it."""

    number: str
    interval: str = ""
    mark: str = ""
    style: str = ""

    def padded(self, width: int) -> _Cell:
        return replace(self, number=self.number.rjust(width))

    def text(self) -> Text:
        from rich.text import Text

        return Text.assemble(
            (self.number, self.style), (self.interval, "dim"), (self.mark, "bold red")
        )


def _cells(runs: Sequence[Run], metric: Metric, columns: Sequence[str]) -> list[list[_Cell]]:
    """A row a model; the best of a column is bold."""
    found = {name: [run.get(name, metric) for run in runs] for name in columns}
    values = {name: [one.value for one in ones if one] for name, ones in found.items()}
    decimals = _output.decimals([value for column in values.values() for value in column])

    def cell(name: str, one: Estimate | None) -> _Cell:
        if one is None:
            return _Cell(_output.MISSING)
        best = len(runs) > 1 and one.value == max(values[name])
        style = "bold" if best else "dim" if name == NAIVE else ""
        mark = ("!" if one.out_of_range else "") + ("?" if one.resolvable is False else "")
        interval = ""
        if one.low is not None:
            interval = f" [{one.low:.{decimals}f}, {one.high:.{decimals}f}]"
        return _Cell(f"{one.value:.{decimals}f}", interval, mark, style)

    return [[cell(name, found[name][i]) for name in columns] for i in range(len(runs))]
