"""Tables 1 and 2 and figure 2: three recommenders, five instances, 10,000 items."""

from __future__ import annotations

import numpy as np

from truerank import metrics as metrics_module
from truerank._types import FloatArray, IntArray
from truerank.designs import Fixed
from truerank.outcomes.schemes import Scheme, log_probability
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
    return Result((table,), notes=("Arithmetic: every cell agrees to the digits printed.",))


@experiment("kr20", "table2", "The same recommenders, ranked among 99 sampled items")
def table2(run: Run) -> Result:
    """The naive metrics of redrawn samples."""
    repeats = run.repeats(1000)
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
    return Result(
        (table,),
        notes=(
            "Other draws of the same law: means agree within what the repeats leave open. The "
            "order by `ap`, `ndcg` and `recall@10` is not that of table 1; by `auc` it is.",
        ),
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
    return Result(
        figures=(Figure("figure2", tuple(panels)),),
        notes=(
            "Computed by eq. 16. As the paper says, the order by average precision is A, C, B "
            "below m = 50, A, B, C near 200, C, A, B near 500; recall@10 needs about 5,000 "
            "negatives; AUC does not move.",
        ),
    )


def expected(metric: metrics_module.Metric, global_rank: IntArray, sample_size: int) -> FloatArray:
    """E[M(r) | R] of samples with replacement out of N_ITEMS (KR20 eq. 16), for each R."""
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
