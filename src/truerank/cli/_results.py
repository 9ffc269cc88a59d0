"""Estimates of several models and estimators as JSON, CSV and tables."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from truerank.cli import _output
from truerank.cli._options import Output

if TYPE_CHECKING:
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    from truerank.inference.estimates import Estimate, Estimates
    from truerank.inference.planning.planned import Plan
    from truerank.metrics import Metric
    from truerank.outcomes.counts import RankCounts

NAIVE = "naive"
EXACT = "exact"  # every item was ranked: naive is the truth, and estimators leave it alone
_ROUNDING = 1e-12  # a standard error that is none


@dataclass(frozen=True)
class Run:
    """One model's results: naive ones and those of each estimator, by its description.

    ``plans`` are what would settle the metrics that are not resolved, where that was asked for.
    """

    model: str
    counts: RankCounts
    naive: Estimates
    estimates: Mapping[str, Estimates]
    plans: Mapping[str, Plan] | None = None

    def get(self, estimator: str, metric: Metric) -> Estimate | None:
        """The estimate of a metric, None where the estimator is not defined for it."""
        found = self.estimates.get(estimator, self.naive)
        return found.results.get(metric.key)

    @property
    def main(self) -> Estimates:
        """Those that verdicts are told of: the default's, which makes the most of a sample."""
        from truerank.inference.estimates import DEFAULT_ESTIMATOR

        first = next(iter(self.estimates.values()))
        return self.estimates.get(DEFAULT_ESTIMATOR, first)


def write(
    output: Output,
    runs: Sequence[Run],
    metrics: Sequence[Metric],
    *,
    by: str | None = None,
    clip: bool = False,
    more: Mapping[str, Any] | None = None,
    before: str = "",
    after: str = "",
) -> None:
    """The results in the form asked for: ``more`` is for JSON, lines before and after for text."""

    def rows() -> list[dict[str, Any]]:
        return [row for run in runs for row in _rows(run, metrics, by)]

    def content() -> dict[str, Any]:
        from truerank.inference.result import plain

        facts = {run.model: _facts(run.counts) for run in runs}
        plans = {run.model: _plans(run) for run in runs if run.plans is not None}
        found: dict[str, Any] = {"by": by} if by else {}
        tests = {run.model: plain(run.main.fit_test) for run in runs}
        found |= {"counts": facts if by else facts[""], "fit_test": tests if by else tests[""]}
        found |= {**(more or {}), "results": rows()}
        return found | ({"plans": plans if by else plans[""]} if plans else {})

    def draw(console: Console) -> None:
        _say(console, before)
        _draw(console, runs, metrics, clip)
        _say(console, after)

    output.write(content=content, rows=rows, draw=draw)


def _rows(run: Run, metrics: Sequence[Metric], by: str | None) -> Iterator[dict[str, Any]]:
    from truerank.inference import columns

    for metric in metrics:
        for name in run.estimates:
            found = run.get(name, metric)
            known = {"naive": run.naive[metric].value, "out_of_range": False}
            row = columns.row(metric.key, name, found, **known)
            if run.plans is not None:
                plan = run.plans.get(metric.key)
                row["plan"] = None if plan is None else plan.advice()
            yield row if by is None else {"model": run.model, **row}


def _plans(run: Run) -> list[dict[str, Any]]:
    return [plan.to_dict() for plan in (run.plans or {}).values()]


def _facts(counts: RankCounts) -> dict[str, Any]:
    users = counts.n_users
    return {
        "users": int(users) if users.is_integer() else users,
        "n_items": _range(counts.n_items),
        "sample_size": _range(counts.sample_size),
        "schemes": [scheme.name for scheme in counts.schemes],
        "outcomes": counts.n_outcomes,
        **({"n_dropped": counts.n_dropped} if counts.n_dropped else {}),
    }


def _range(values: Any) -> dict[str, int]:
    return {"min": int(values.min()), "max": int(values.max())}


def _headline(counts: RankCounts) -> str:
    """Users, pools, sizes and scheme in a line."""
    from truerank.outcomes._columns import dropped

    pools, sizes = _range(counts.n_items), _range(counts.sample_size)
    if counts.is_exact.all():
        sample = ["every item ranked"]
    else:
        sample = [f"samples of {_output.between(sizes['min'], sizes['max'])}", _drawn(counts)]
    return " · ".join(
        [
            f"{_output.whole(counts.n_users)} users",
            *_several(counts),
            f"pools of {_output.between(pools['min'], pools['max'])} items",
            *sample,
            *([dropped(counts.n_dropped)] if counts.n_dropped else []),
        ]
    )


def _drawn(counts: RankCounts) -> str:
    schemes = []
    for scheme in counts.schemes:
        drawn = f"{'with' if scheme.replacement else 'without'} replacement"
        schemes.append(f"{drawn}, adaptive" if scheme.adaptive else drawn)
    return " and ".join(dict.fromkeys(schemes))


def _several(counts: RankCounts) -> list[str]:
    """How many targets users have, if it is not one each."""
    if not (counts.n_targets > 1).any():
        return []
    each = _range(counts.n_targets)
    mean = f"{counts.targets_per_user:.3g} on average"
    return [f"{_output.between(each['min'], each['max'])} targets per user ({mean})"]


def _draw(console: Console, runs: Sequence[Run], metrics: Sequence[Metric], clip: bool) -> None:
    from truerank.inference import verdicts

    for line in _headlines(runs):
        _say(console, line)
    for names in _blocks(console, runs, metrics):
        console.print(_table(runs, metrics, names))
    shown = [run.get(name, metric) for run in runs for name in run.estimates for metric in metrics]
    if any(found is not None and found.out_of_range for found in shown):
        _say(console, verdicts.OUT_OF_RANGE + (_CLIPPED if clip else _CLIP))
    if any(found is not None and found.resolvable is False for found in shown):
        _say(console, verdicts.LEGEND)
    if any(found is None for found in shown):
        _say(console, f"{_output.MISSING} not defined for this metric")
    for sentence in verdicts.remarks({run.model: run.main for run in runs}):
        _say(console, sentence)
    for run in runs:
        for plan in (run.plans or {}).values():
            _say(console, f"{run.model}: {plan.advice()}" if run.model else plan.advice())


_CLIP = " (--clip pulls values back)"
_CLIPPED = "; pulled back into it"


def _say(console: Console, text: str) -> None:
    if text:
        console.print(text, highlight=False, markup=False)


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
        math.isclose(one.value, one.naive) and (one.std_error or 0.0) < _ROUNDING
        for one in estimates
    )


def _table(runs: Sequence[Run], metrics: Sequence[Metric], names: Sequence[str]) -> Table:
    """One row per metric; with several models, a section per metric and in it a row per model."""
    from rich import box
    from rich.table import Table

    several = len(runs) > 1 or bool(runs[0].model)
    table = Table(box=box.SIMPLE_HEAD, pad_edge=False)
    table.add_column("metric", no_wrap=True)
    if several:
        table.add_column("model")
    rows = [row for metric in metrics for row in _cells(runs, metric, names)]
    for i, name in enumerate(names):
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
    """A value as shown: aligned at the right, except for the mark behind it."""

    number: str
    more: str = ""
    mark: str = ""
    style: str = ""

    def padded(self, width: int) -> _Cell:
        return replace(self, number=self.number.rjust(width))

    def text(self) -> Text:
        from rich.text import Text

        return Text.assemble((self.number, self.style), (self.more, "dim"), (self.mark, "bold red"))


def _cells(runs: Sequence[Run], metric: Metric, names: Sequence[str]) -> list[list[_Cell]]:
    """One row per model; the best of a column is bold."""
    from truerank.inference import columns

    found = {name: [run.get(name, metric) for run in runs] for name in names}
    values = {name: [one.value for one in ones if one] for name, ones in found.items()}
    digits = _output.decimals([value for column in values.values() for value in column])

    def cell(name: str, one: Estimate | None) -> _Cell:
        if one is None:
            return _Cell(_output.MISSING)
        best = len(runs) > 1 and one.value == max(values[name])
        style = "bold" if best else "dim" if name == NAIVE else ""
        more = (column.text(one, digits) for column in columns.IN_CELL)
        told = "".join(f" {text}" for text in more if text)
        return _Cell(f"{one.value:.{digits}f}", told, columns.marks(one), style)

    return [[cell(name, found[name][i]) for name in names] for i in range(len(runs))]
