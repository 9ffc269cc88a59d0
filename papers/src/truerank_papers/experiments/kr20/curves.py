"""Figures 1, 3 and 4: metrics as functions of the rank, sampled and corrected."""

from __future__ import annotations

from functools import partial

import numpy as np

from truerank import estimators
from truerank import metrics as metrics_module
from truerank._types import FloatArray
from truerank.outcomes.counts import RankCounts
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
    return Result(
        figures=(Figure("figure3", tuple(panels)),),
        notes=(
            "Computed by eq. 16. Metrics that favour the top lose that as the sample shrinks; at m "
            "= 1 all are linear in the rank, and `recall@10` is 1 whatever the rank. `auc` "
            "stays.",
        ),
    )


@experiment("kr20", "figure4", "Corrected average precision: by sampled rank, and expected by rank")
def figure4(run: Run) -> Result:
    """The corrected gains for m = 100 of 10,000 items, and what they give in expectation."""
    (metric,) = metrics_module.parse("ap")
    sampled = np.arange(1, 102)
    outcomes = RankCounts.from_ranks(sampled, n_items=N_ITEMS, sample_size=101, replacement=True)
    rank = np.unique(np.rint(np.geomspace(1, N_ITEMS, 200)).astype(int))
    left, right = [], [Line("exact", rank.tolist(), metric.gain(rank, N_ITEMS).tolist(), "dashed")]
    for name in (
        "naive",
        "rank-estimate",
        "cls",
        *(f"bv(gamma={g})" for g in ("1", "0.1", "0.01")),
    ):
        gains = _gains(name, metric, outcomes)
        left.append(Line(name, sampled.tolist(), gains.tolist()))
        own = metrics_module.Metric("corrected", function=partial(_look_up, gains))
        right.append(Line(name, rank.tolist(), expected(own, rank, 101).tolist()))
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
                        (-0.2, 0.5),
                    ),
                    Panel(
                        "expected", "rank", "expected AP", tuple(right), True, False, (-0.02, 0.5)
                    ),
                ),
            ),
        ),
        notes=(
            "Small gammas swing between sampled ranks (left), and yet come closest to the metric "
            "in expectation (right). The axes are cut: `naive` goes up to 1.",
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
