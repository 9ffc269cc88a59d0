"""Figures 1, 3 and 4: metrics as functions of the rank, sampled and corrected."""

from __future__ import annotations

from functools import partial

import numpy as np

from truerank import estimators
from truerank import metrics as metrics_module
from truerank._types import FloatArray
from truerank.outcomes.counts import RankCounts
from truerank_papers.experiments import words
from truerank_papers.experiments.kr20.toy import METRICS, N_ITEMS, expected
from truerank_papers.experiments.registry import experiment
from truerank_papers.experiments.results import Figure, Line, Panel, Result
from truerank_papers.experiments.run import Run


@experiment("kr20", "figure1", "Metrics by rank, out of 10,000 items")
def figure1(run: Run) -> Result:
    """Gains over all ranks and over the first 100."""
    panels = []
    for title, last in (("all ranks", N_ITEMS), ("top 100", 100)):
        rank = np.unique(np.rint(np.geomspace(1, last, 250)).astype(int))
        lines = tuple(
            Line(metric.key, rank.tolist(), metric.gain(rank, N_ITEMS).tolist())
            for metric in metrics_module.parse(METRICS)
        )
        panels.append(Panel(title, "rank", "metric", lines))
    return Result(figures=(Figure("figure1", tuple(panels)),), notes=("Definitions, drawn.",))


@experiment("kr20", "figure3", "Expected sampled metrics by rank, for growing samples")
def figure3(run: Run) -> Result:
    """E[M(r) | R] by eq. 16 for the first 1,000 ranks."""
    rank = np.arange(1, 1001, 5)
    panels = []
    for metric in metrics_module.parse(METRICS):
        lines = [Line("exact", rank.tolist(), metric.gain(rank, N_ITEMS).tolist(), "dashed")]
        lines += [
            Line(f"m = {m}", rank.tolist(), expected(metric, rank, m + 1).tolist())
            for m in (1, 10, 100, 1000)
        ]
        panels.append(Panel(metric.key, "rank", "expected", tuple(lines)))
    return Result(figures=(Figure("figure3", tuple(panels)),), notes=(_flattened(panels),))


def _flattened(panels: list[Panel]) -> str:
    """What samples make of metrics that favour the top."""
    curves = {p.title: {line.label: np.asarray(line.y) for line in p.lines} for p in panels}
    straight = [
        name for name, lines in curves.items() if np.abs(np.diff(lines["m = 1"], 2)).max() < 1e-12
    ]
    level = [name for name in straight if np.ptp(curves[name]["m = 1"]) < 1e-12]
    rank = panels[0].lines[0].x
    far = rank.index(101)
    ratios = [f"{curve[0] / curve[far]:.3g} ({name})" for name, curve in curves["ap"].items()]
    moved = np.abs(curves["auc"]["m = 1"] - curves["auc"]["exact"]).max()
    return (
        "Computed by eq. 16. Metrics that favour the top lose that as the sample shrinks: `ap` at "
        f"rank 1 over `ap` at rank {rank[far]} is {words.listed(ratios)}. Straight lines in the "
        f"rank at m = 1: {words.code(straight)}; the same at every rank: {words.code(level)}. "
        f"`auc` {words.moved(moved)} as the sample shrinks."
    )


@experiment("kr20", "figure4", "Corrected average precision: by sampled rank, and expected by rank")
def figure4(run: Run) -> Result:
    """The corrected gains for m = 100 of 10,000 items, and what they give in expectation."""
    (metric,) = metrics_module.parse("ap")
    limit = 0.5  # of the drawn axes
    sampled = np.arange(1, 102)
    outcomes = RankCounts.from_ranks(sampled, n_items=N_ITEMS, sample_size=101, replacement=True)
    rank = np.unique(np.rint(np.geomspace(1, N_ITEMS, 200)).astype(int))
    exact = metric.gain(rank, N_ITEMS)
    left, right = [], [Line("exact", rank.tolist(), exact.tolist(), "dashed")]
    jumps, distances = {}, {}
    for name in (
        "naive",
        "rank-estimate",
        "cls",
        *(f"bv(gamma={g})" for g in ("1", "0.1", "0.01")),
    ):
        gains = _gains(name, metric, outcomes)
        left.append(Line(name, sampled.tolist(), gains.tolist()))
        own = metrics_module.Metric("corrected", function=partial(_look_up, gains))
        means = expected(own, rank, 101)
        right.append(Line(name, rank.tolist(), means.tolist()))
        jumps[name] = float(np.abs(np.diff(gains)).max())
        distances[name] = float(np.abs(means - exact).mean())
    top = {line.label: max(line.y) for line in left}
    return Result(
        figures=(
            Figure(
                "figure4",
                (
                    Panel(
                        "corrected",
                        "sampled rank",
                        "corrected AP",
                        tuple(left),
                        True,
                        False,
                        (-0.2, limit),
                    ),
                    Panel(
                        "expected", "rank", "expected AP", tuple(right), True, False, (-0.02, limit)
                    ),
                ),
            ),
        ),
        notes=(
            "Largest jump between neighbouring sampled ranks (left): "
            f"{words.numbered(jumps, 2)}. Mean distance from the metric in expectation over the "
            f"ranks drawn (right), smallest first: {words.numbered(distances, 3, sort=True)}.",
            f"The axes are cut at {limit:g}; there go beyond it "
            f"{words.numbered({name: y for name, y in top.items() if y > limit}, 2)}.",
        ),
    )


def _gains(name: str, metric: metrics_module.Metric, outcomes: RankCounts) -> FloatArray:
    """The corrected gain at each sampled rank."""
    gains = estimators.get(name).gains(outcomes, metrics=[metric], support="auto")
    if gains is None:
        raise TypeError(f"{name} gives no gains")
    return gains[:, 0]


def _look_up(gains: FloatArray, rank: FloatArray) -> FloatArray:
    return np.asarray(gains[rank.astype(np.int64) - 1])
