"""Table 3: winners by sampled and by global recall."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from truerank._types import FloatArray
from truerank_papers.experiments import words
from truerank_papers.experiments.lj20._shared import CUTS, DATASETS, number, pool, sampled_curves
from truerank_papers.experiments.models import exact_ranks
from truerank_papers.experiments.published import Number, Numbers
from truerank_papers.experiments.ranks import GlobalRanks
from truerank_papers.experiments.recall_curves import global_recall, mapped
from truerank_papers.experiments.registry import experiment
from truerank_papers.experiments.results import Figure, Line, Panel, Result, Table
from truerank_papers.experiments.run import Run
from truerank_papers.experiments.winners import best_found


@experiment("lj20", "table3", "Winners by sampled and by global recall", any_of=DATASETS)
def table3(run: Run) -> Result:
    """Ours alone."""
    ours: Numbers = {}
    agree: Numbers = {}
    panels, said = [], []
    for dataset in run.at_hand():
        ranks = exact_ranks(run, dataset)
        curves = {name: sampled_curves(run, dataset, name, one) for name, one in ranks.items()}
        n_items = pool(next(iter(ranks.values())))
        at = mapped("beta(0.5)", n_items=n_items, sample_size=100)
        for k in CUTS:
            for name, one in ranks.items():
                ours[dataset, str(k), "sampled", name] = number(curves[name][:, k - 1])
                ours[dataset, str(k), "global at f(k)", name] = Number(
                    float(global_recall(one, at[k - 1]))
                )
        lines = []
        for rule in ("bound", "beta(0.5)"):
            right = 100 * _agreement(ranks, curves, rule)[:50]
            lines.append(Line(rule, np.arange(1, 51), right))
            for k in CUTS:
                agree[dataset, rule, str(k)] = Number(float(right[k - 1]))
        recall = np.stack([global_recall(one, at[:50]) for one in ranks.values()])
        said.append(_disagreeing(dataset, right, recall))
        panels.append(
            Panel(
                dataset,
                "k",
                "repeats with the same winner, percent",
                tuple(lines),
                y_limits=(0, 105),
            )
        )
    return Result(
        (
            Table.beside(
                "table3", None, ours, keys=("dataset", "k", "recall", "model"), unit="share",
                digits=4,
            ),
            Table.beside(
                "table3-winners", None, agree, keys=("dataset", "mapping", "k"),
                unit="percent of repeats with the same winner", digits=0,
            ),
        ),
        (Figure("table3", tuple(panels)),),
        notes=(
            "The values of the paper's table 3 are lost in our text; these are ours, n = 100, f by "
            "beta(0.5) in the first table. The paper says that sampled and global recall agree on "
            "the winner in all cases; which three models it compares we do not know, and show all.",
            f"Ours, f by beta(0.5): {'; '.join(said)}. Where models are close, f(k) need only fall "
            "on the other side of a crossing.",
        ),
    )  # fmt: skip


def _disagreeing(dataset: str, right: FloatArray, recall: FloatArray) -> str:
    """Where sampled and global recall have another winner, and how close the best models are.

    ``right`` has the percentage of repeats with the same winner at k = 1, 2, ..., shape (n,);
    ``recall`` each model's global recall there, shape (n_models, n).
    """
    rarely = right < 95.0
    second, first = np.sort(recall, axis=0)[-2:]
    lead = 100 * (first / second - 1)
    often = f"on {dataset} the winner is the same in at least 95 percent of repeats"
    if not rarely.any():
        return f"{often} at all k up to {right.size}"
    text = f"{often} at {right.size - rarely.sum()} of {right.size} k"
    if not rarely.all():
        text += f", where the best model leads by {np.median(lead[~rarely]):.1f} percent in median"
    where = words.spans((np.flatnonzero(rarely) + 1).tolist())
    return f"{text}, but not at k = {where}, where it leads by {np.median(lead[rarely]):.1f}"


def _agreement(
    ranks: Mapping[str, GlobalRanks], curves: Mapping[str, FloatArray], rule: str
) -> FloatArray:
    """Share of repeats whose best model by sampled recall@k is that by global recall@f(k), (n,)."""
    sampled = np.stack(list(curves.values()))  # (n_models, repeats, n)
    n_items = pool(next(iter(ranks.values())))
    at = mapped(rule, n_items=n_items, sample_size=sampled.shape[2])
    exact = np.stack([global_recall(one, at) for one in ranks.values()])
    return np.asarray(best_found(exact, sampled).mean(axis=0))
