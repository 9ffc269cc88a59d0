"""Tables 1 and 2 and figure 2: three recommenders, five instances, 10,000 items."""

from __future__ import annotations

import numpy as np

from truerank import metrics as metrics_module
from truerank._types import FloatArray, IntArray
from truerank.designs import Fixed
from truerank.outcomes.schemes import Scheme, log_probability
from truerank_papers.experiments import words
from truerank_papers.experiments.published import Number, Numbers
from truerank_papers.experiments.ranks import GlobalRanks
from truerank_papers.experiments.registry import experiment
from truerank_papers.experiments.results import Figure, Line, Panel, Result, Table
from truerank_papers.experiments.run import Run

N_ITEMS = 10_000
RANKS = {
    "A": (100, 100, 100, 100, 100),
    "B": (40, 40, 8437, 9266, 4482),
    "C": (212, 2, 743, 5342, 1548),
}
METRICS = ("auc", "ap", "ndcg", "recall@10")
NEAR = 0.01  # of an exact metric
PRINTED_REPEATS = 1000  # behind the printed means of table 2


def _ranks(recommender: str) -> GlobalRanks:
    above = np.array(RANKS[recommender]) - 1
    return GlobalRanks(above, np.zeros_like(above), np.full_like(above, N_ITEMS))


@experiment("kr20", "table1", "Three recommenders on five instances, exact metrics")
def table1(run: Run) -> Result:
    """The exact metrics."""
    wanted = metrics_module.parse(METRICS)
    ours: Numbers = {
        (recommender, metric.key): Number(float(value))
        for recommender in RANKS
        for metric, value in zip(wanted, _ranks(recommender).exact(wanted), strict=True)
    }
    table = Table.beside("table1", run.published(), ours, digits=3)
    same = sum(
        cell.published == round(cell.ours, table.digits)
        for cell in table.cells
        if cell.ours is not None
    )
    agreeing = words.share(same, len(table.cells), "cells")
    return Result((table,), notes=(f"Arithmetic: {agreeing} agree to the digits printed.",))


@experiment("kr20", "table2", "The same recommenders, ranked among 99 sampled items")
def table2(run: Run) -> Result:
    """The naive metrics of redrawn samples."""
    repeats = run.repeats(PRINTED_REPEATS)
    ours: Numbers = {}
    for recommender in RANKS:
        values = run.redrawn(
            f"KR20 toy {recommender}",
            _ranks(recommender),
            estimators=["naive"],
            metrics=METRICS,
            repeats=repeats,
            design=Fixed(sample_size=100, replacement=True),
        )[:, 0]
        for metric, column in zip(METRICS, values.T, strict=True):
            ours[recommender, metric] = Number(float(column.mean()), float(column.std()))
    table = Table.beside("table2", run.published(), ours, digits=3)
    return Result((table,), notes=(_same_law(table, repeats), _orders(table)))


def _same_law(table: Table, repeats: int) -> str:
    """How far means lie from the printed ones, in standard errors of their difference."""
    errors = []
    for cell in table.cells:
        if cell.difference is None or cell.ours_sd is None or cell.published_sd is None:
            continue
        noise = cell.ours_sd**2 / repeats + cell.published_sd**2 / PRINTED_REPEATS
        if noise:  # else nothing is random, and means agree
            # The printed mean is rounded, by up to half of its last digit.
            gap = max(abs(cell.difference) - 0.5 * 10**-table.digits, 0.0)
            errors.append(gap / np.sqrt(noise))
    return (
        "Other draws of the same law: where means are random, they lie within "
        f"{max(errors):.1f} standard errors of the printed ones."
    )


def _orders(table: Table) -> str:
    """By which metrics sampling leaves the recommenders in order."""
    kept: dict[bool, list[str]] = {True: [], False: []}
    for metric in metrics_module.parse(METRICS):
        exact = {name: float(_ranks(name).exact([metric])[0]) for name in RANKS}
        sampled = {name: table[name, metric.key].ours or 0.0 for name in RANKS}
        kept[words.order(exact) == words.order(sampled)].append(metric.key)
    return (
        f"The order of the recommenders is that of table 1 by {words.code(kept[True])}, and "
        f"another by {words.code(kept[False])}."
    )


@experiment("kr20", "figure2", "Expected sampled metrics as the sample grows")
def figure2(run: Run) -> Result:
    """E[M(r)] by eq. 16, no sampling."""
    sizes = np.unique(np.rint(np.geomspace(1, N_ITEMS - 1, 60)).astype(int))
    panels = []
    for metric in metrics_module.parse(METRICS):
        lines = []
        for recommender, ranks in RANKS.items():
            means = [expected(metric, np.array(ranks), int(m) + 1).mean() for m in sizes]
            lines.append(Line(recommender, sizes.tolist(), means))
        panels.append(Panel(metric.key, "sampled negatives m", "expected", tuple(lines), True))
    return Result(figures=(Figure("figure2", tuple(panels)),), notes=(_by_size(panels),))


def _by_size(panels: list[Panel]) -> str:
    """The orders that the paper speaks of, as computed here."""
    (precision,) = metrics_module.parse("ap")
    orders = [
        f"{words.order(_expected_means(precision, m))} at m = {m}" for m in (20, 50, 200, 500)
    ]
    curves = {panel.title: {line.label: line.y for line in panel.lines} for panel in panels}
    sizes = panels[0].lines[0].x
    exact = {name: _ranks(name).exact(metrics_module.parse("recall@10"))[0] for name in RANKS}
    gap = [max(abs(curves["recall@10"][n][i] - exact[n]) for n in RANKS) for i in range(len(sizes))]
    settled = max((i + 1 for i, distance in enumerate(gap) if distance > NEAR), default=0)
    moved = max(np.ptp(curve) for curve in curves["auc"].values())
    return (
        f"Computed by eq. 16. By average precision the order is {words.listed(orders)}; the paper "
        "says A, C, B below m = 50, A, B, C near 200 and C, A, B near 500. recall@10 lies within "
        f"{NEAR} of its exact value from m = {sizes[settled]:,} on, among the sizes drawn; the "
        f"paper says that it takes about 5,000. AUC {words.moved(moved)}."
    )


def _expected_means(metric: metrics_module.Metric, m: int) -> dict[str, float]:
    """The expected metric of each recommender with m sampled negatives."""
    return {
        name: float(expected(metric, np.array(ranks), m + 1).mean())
        for name, ranks in RANKS.items()
    }


def expected(metric: metrics_module.Metric, global_rank: IntArray, sample_size: int) -> FloatArray:
    """Compute E[M(r) | R] for samples with replacement out of N_ITEMS items (KR20 eq. 16).

    Parameters
    ----------
    metric
        The metric M.
    global_rank
        The global ranks R, 1-based, shape (n,).
    sample_size
        Number of items per sample, the target included.

    Returns
    -------
    ndarray
        Shape (n,).
    """
    sampled = np.arange(1, sample_size + 1)
    chance = np.exp(
        log_probability(
            Scheme(True),
            global_rank,
            n_items=N_ITEMS,
            sample_size=sample_size,
            sampled_rank=sampled,
        )
    )
    return np.asarray(metric.gain(sampled, sample_size) @ chance)
