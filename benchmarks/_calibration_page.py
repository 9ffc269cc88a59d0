"""The page of `benchmarks.calibrate`: coverage, width and flags, computed from kept redraws."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

import truerank as tr
from benchmarks import calibrate, cases, misfit
from benchmarks._report import machine
from truerank.inference.intervals.error_law import ErrorLaw
from truerank.inference.intervals.interval import interval_of, range_of
from truerank.inference.intervals.misfit import Features, Misfit, Stray, sides

CONFIDENCE = 0.95
POOLED = (0.94, 0.97)
GROUP = 0.92
POOR, POOREST = 0.85, 0.75
MOST_POOR = 0.05
SHARP = 1.35
MOST_FLAGGED = 0.15
Z = 1.959964

FloatArray = NDArray[np.float64]


@dataclass(frozen=True)
class Cell:
    """One metric of one configuration, over its redraws; ``sharp`` is half-width / 1.96 RMSE."""

    dataset: str
    model: str
    pool: str
    design: str
    users: int
    metric: str
    redraws: int
    coverage: float
    sharp: float
    error: float
    bias: float
    flagged: float

    @property
    def group(self) -> tuple[str, str, str]:
        return self.dataset, self.pool, self.design


def cells(redraws: int, estimator: str = "smooth", scope: str = "these-users") -> list[Cell]:
    """All cells with at least 10 exact hits on average, the misfit learnt without the dataset."""
    found = []
    metrics = tr.metrics.parse(calibrate.METRICS)
    for (case, design, users), array in calibrate.kept(redraws, estimator).items():
        dataset = next(name for name in cases.DATASETS if case.startswith(f"{name}-"))
        learnt = misfit.learn(redraws, dataset)
        row = dict(zip(calibrate.ROWS, array.transpose(1, 0, 2), strict=True))
        population = cases.load(case).rank.size
        drawn = 0.0 if scope == "these-users" else max(0.0, 1.0 - users / population)
        truth = row["truth"] if scope == "these-users" else row["everyone"]
        for at, metric in enumerate(metrics):
            if row["hits"][0, at] < misfit.MIN_HITS:
                continue
            ends = [
                interval_of(float(row["value"][i, at]), law, 0, CONFIDENCE, drawn, range_of(metric))
                for i, law in enumerate(_laws(row, at, learnt))
            ]
            low, high = np.array([[one.low, one.high] for one in ends]).T
            off = row["value"][:, at] - truth[:, at]
            room = 1e-9 * truth[:, at]  # rounding: some are known exactly
            inside = (low - room <= truth[:, at]) & (truth[:, at] <= high + room)
            rmse = float(np.sqrt((off**2).mean()))
            half = float(((high - low) / 2.0).mean())
            found.append(
                Cell(
                    dataset,
                    case[len(dataset) + 1 : -5],
                    case[-4:],
                    design,
                    users,
                    metric.key,
                    off.size,
                    float(inside.mean()),
                    half / (Z * rmse) if rmse > 1e-7 else float("nan"),
                    rmse / float(truth[:, at].mean()),
                    float(off.mean() / truth[:, at].mean()),
                    float(np.mean([not one.resolvable for one in ends])),
                )
            )
    return found


def _laws(row: dict[str, FloatArray], at: int, learnt: Misfit) -> Iterator[ErrorLaw]:
    told = np.stack([row[name][:, at] for name in calibrate.TOLD], axis=1)
    share = row["reference"][:, at]
    spread = row["negatives"][:, at] + row["ranks"][:, at] + row["law"][:, at]
    unknown = spread > 0.0
    below, above = (
        np.where(unknown, side * share * (1.0 - share), 0.0)
        for side in sides(learnt.of(told), Features(told, row["apart"][:, at]))
    )
    lumps = np.where(unknown, np.sqrt(misfit.variance_of_lumps(row)[:, at]), 0.0)
    for i in range(share.size):
        known = {name: row[name][i, at : at + 1] for name in calibrate.ROWS[5:10]}
        stray = Stray(lumps[i : i + 1], below[i : i + 1], above[i : i + 1])
        yield ErrorLaw(**known, **stray._asdict())


@dataclass(frozen=True)
class Page:
    """What was found, as text."""

    redraws: int

    @cached_property
    def these(self) -> list[Cell]:
        return cells(self.redraws)

    @cached_property
    def everyone(self) -> list[Cell]:
        return cells(self.redraws, scope="population")

    @cached_property
    def others(self) -> dict[str, list[Cell]]:
        return {name: cells(self.redraws, name) for name in calibrate.OTHERS}

    def goals(self, found: Sequence[Cell]) -> list[tuple[str, str, str, bool]]:
        """What was to be shown, the goal, the figure, and whether it is met."""
        pooled = _mean(found, "coverage")
        groups = _groups(found, lambda cell: cell.group)
        worst = min(groups, key=lambda key: _mean(groups[key], "coverage"))
        least = _mean(groups[worst], "coverage")
        poor = float(np.mean([cell.coverage < POOR for cell in found]))
        silent = [cell for cell in found if cell.coverage < POOREST and cell.flagged < 0.5]
        sharp = _sharp(found)
        ours = [
            cell
            for cell in found
            if cell.design in ("ours 200", "ours 400") and int(cell.metric.partition("@")[2]) >= 10
        ]
        flagged = float(np.mean([cell.flagged for cell in ours])) if ours else 0.0
        return [
            ("pooled coverage", "94 to 97 %", _percent(pooled), POOLED[0] <= pooled <= POOLED[1]),
            (
                f"worst group of dataset, pool and design ({', '.join(worst)})",
                "at least 92 %", _percent(least), least >= GROUP,
            ),
            ("cells under 85 %", "at most 5 %", _percent(poor), poor <= MOST_POOR),
            ("unflagged cells under 75 %", "none", f"{len(silent)}", not silent),
            ("half-width over 1.96 RMSE, geometric mean", "at most 1.35", f"{sharp:.2f}",
             sharp <= SHARP),
            ("flagged: ours from 200 pairs on, @10 to @50", "under 15 %", _percent(flagged),
             flagged < MOST_FLAGGED),
        ]  # fmt: skip

    @property
    def met(self) -> bool:
        """Whether all goals are, for these users and the population."""
        return all(goal[-1] for found in (self.these, self.everyone) for goal in self.goals(found))

    def summary(self) -> str:
        """The main figures in a few lines."""
        lines = [f"{len(self.these)} cells, {self.redraws} redraws each"]
        for scope, found in (("these users", self.these), ("population", self.everyone)):
            lines += [
                f"{scope:12} {name:60.60} {figure:>8}  goal {goal}{'' if met else '  MISSED'}"
                for name, goal, figure, met in self.goals(found)
            ]
        return "\n".join(lines)

    def text(self) -> str:
        """The page."""
        found = self.these
        redraws = sorted({cell.redraws for cell in found})
        poor = sorted((c for c in found if c.coverage < POOREST), key=lambda c: c.coverage)
        facts = "; ".join(f"{key} {value}" for key, value in machine().items())
        return "\n".join(
            [
                "# Calibration",
                "",
                f"Written by `make calibrate` ({facts}). Do 95 % intervals hold the metric of the "
                "exact evaluation 19 times out of 20? Users are drawn from five datasets (500, "
                "2,000, and 6,000 or all of them), their negatives are drawn by six designs, the "
                "metrics are estimated, and we look whether the exact metric of those users lies "
                f"inside: {_between(redraws)} redraws of each of "
                f"{len({(c.group, c.model, c.users) for c in found})} configurations, recall, ndcg "
                "and ap at 1, 5, 10, 20 and 50, cells with at least 10 exact hits on average, no "
                "other selection. The misfit term is learnt without the dataset at hand "
                "(`python -m benchmarks.misfit`). The priors of `smooth`, the odds of lumps and "
                "how much of the posterior counts were chosen with all five datasets in view, so "
                "coverage on other data may be lower.",
                "",
                *_table(
                    ["goal", "these users", "population", "asked for"],
                    (
                        [one[0], _marked(one), _marked(two), one[1]]
                        for one, two in zip(
                            self.goals(found), self.goals(self.everyone), strict=True
                        )
                    ),
                ),
                "",
                "The worst group is named for these users. Half-widths are compared with 1.96 "
                "times the root mean squared error over the redraws of a cell: 1 would be an "
                "interval that knows it beforehand. Few redraws scatter: if every cell covered "
                f"{_percent(_mean(found, 'coverage'))}, chance alone would put "
                f"{_percent(_by_chance(found, POOR))} of them under {POOR:.0%} and "
                f"{len(found) * _by_chance(found, POOREST):.0f} under {POOREST:.0%}.",
                "",
                "## By dataset and design",
                "",
                "Coverage for these users.",
                "",
                *self._by_group(),
                "",
                "## By metric",
                "",
                "Coverage, half-width over 1.96 RMSE (geometric mean), and the share of intervals "
                "flagged as not resolved.",
                "",
                *self._by_metric(),
                "",
                "## By model and number of users",
                "",
                *self._by_model(),
                "",
                "## Other estimators",
                "",
                "On some of the configurations, 2,000 users; those that are finished, of 30.",
                "",
                *self._others(),
                "",
                f"## Cells under {POOREST:.0%}",
                "",
                "Error and bias are relative to the metric.",
                "",
                *(_list(poor) if poor else ["None."]),
                "",
            ]
        )

    def _by_group(self) -> Iterator[str]:
        groups = _groups(self.these, lambda cell: cell.group)
        designs = list(dict.fromkeys(cell.design for cell in self.these))
        return _table(
            ["dataset", "training items", *designs],
            (
                [
                    dataset,
                    {"left": "left out", "kept": "kept"}[pool],
                    *(
                        _percent(_mean(groups.get((dataset, pool, design), []), "coverage"))
                        for design in designs
                    ),
                ]
                for dataset in cases.DATASETS
                for pool in cases.POOLS
            ),
        )

    def _by_metric(self) -> Iterator[str]:
        groups = _groups(self.these, lambda cell: (cell.metric, cell.design))
        designs = list(dict.fromkeys(cell.design for cell in self.these))
        return _table(
            ["metric", *designs],
            (
                [metric, *(_three(groups.get((metric, design), [])) for design in designs)]
                for metric in calibrate.METRICS
            ),
        )

    def _by_model(self) -> Iterator[str]:
        groups = _groups(self.these, lambda cell: (cell.model, cell.users))
        redraws = {
            users: _between(sorted({c.redraws for c in self.these if c.users == users}))
            for users in calibrate.USERS
        }
        return _table(
            ["model", *(f"{n:,} users, {times} redraws" for n, times in redraws.items())],
            (
                [model, *(_three(groups.get((model, users), [])) for users in calibrate.USERS)]
                for model in calibrate.MODELS
            ),
        )

    def _others(self) -> Iterator[str]:
        return _table(
            [
                "estimator",
                "configurations",
                "cells",
                "redraws",
                "covered",
                "half-width / 1.96 RMSE",
                "flagged",
            ],
            (
                [
                    name,
                    f"{len({(cell.group, cell.model) for cell in found})}",
                    f"{len(found)}",
                    f"{max(cell.redraws for cell in found)}",
                    _percent(_mean(found, "coverage")),
                    f"{_sharp(found):.2f}",
                    _percent(_mean(found, "flagged")),
                ]
                for name, found in self.others.items()
                if found
            ),
        )


def page(redraws: int) -> Page:
    """The page of what is kept."""
    return Page(redraws)


def _groups(
    found: Sequence[Cell], key: Callable[[Cell], tuple[object, ...]]
) -> dict[tuple[object, ...], list[Cell]]:
    groups: dict[tuple[object, ...], list[Cell]] = {}
    for cell in found:
        groups.setdefault(key(cell), []).append(cell)
    return groups


def _mean(found: Sequence[Cell], name: str) -> float:
    return float(np.mean([getattr(cell, name) for cell in found])) if found else float("nan")


def _sharp(found: Sequence[Cell]) -> float:
    ratios = np.array([cell.sharp for cell in found])
    return float(np.exp(np.nanmean(np.log(ratios))))


def _by_chance(found: Sequence[Cell], below: float) -> float:
    """The share of cells that would be below, did all of them cover what they do on average."""
    from scipy.stats import binom

    redraws = np.array([cell.redraws for cell in found])
    return float(binom.cdf(np.ceil(below * redraws) - 1, redraws, _mean(found, "coverage")).mean())


def _between(numbers: Sequence[int]) -> str:
    return " to ".join(dict.fromkeys(f"{number}" for number in (*numbers[:1], *numbers[-1:])))


def _percent(share: float) -> str:
    return "-" if np.isnan(share) else f"{share:.1%}"


def _three(found: Sequence[Cell]) -> str:
    if not found:
        return "-"
    flagged = _mean(found, "flagged")
    return f"{_mean(found, 'coverage'):.1%}, {_sharp(found):.2f}, {flagged:.0%}"


def _marked(goal: tuple[str, str, str, bool]) -> str:
    return goal[2] if goal[3] else f"**{goal[2]}**"


def _table(head: Sequence[str], rows: Iterator[list[str]]) -> Iterator[str]:
    yield "| " + " | ".join(head) + " |"
    yield "| --- |" + " ---: |" * (len(head) - 1)
    for row in rows:
        yield "| " + " | ".join(row) + " |"


def _list(found: Sequence[Cell]) -> Iterator[str]:
    return _table(
        ["case", "design", "users", "metric", "covered", "error", "bias", "flagged"],
        (
            [
                f"{cell.dataset}, {cell.model}, {cell.pool}",
                cell.design,
                f"{cell.users:,}",
                cell.metric,
                _percent(cell.coverage),
                _percent(cell.error),
                f"{cell.bias:+.1%}",
                _percent(cell.flagged),
            ]
            for cell in found
        ),
    )
