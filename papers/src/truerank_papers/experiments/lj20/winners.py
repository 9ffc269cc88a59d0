"""Table 3: winners by sampled and by global recall."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from truerank._types import FloatArray
from truerank.designs import Fixed
from truerank_papers.experiments import words
from truerank_papers.experiments.lj20._shared import CUTS, DATASETS, number
from truerank_papers.experiments.models import GRAPH, MODELS, exact_ranks, model_of
from truerank_papers.experiments.published import Number, Numbers
from truerank_papers.experiments.ranks import GlobalRanks
from truerank_papers.experiments.recall_curves import global_recall, mapped, sampled_recall
from truerank_papers.experiments.registry import experiment
from truerank_papers.experiments.results import Figure, Line, Panel, Result, Table
from truerank_papers.experiments.run import Run
from truerank_papers.experiments.winners import best_found

RULES = ("bound", "beta(0.5)")
NAMES = (*MODELS, *GRAPH)


@experiment("lj20", "table3", "Winners by sampled and by global recall", any_of=DATASETS)
def table3(run: Run) -> Result:
    """Training items not ranked, drawn without replacement: the paper's `actual` sampling."""
    repeats = run.repeats()
    design = Fixed(sample_size=100, replacement=False)
    ours: Numbers = {}
    agree: Numbers = {}
    panels, said = [], []
    for dataset in run.at_hand():
        ranks = exact_ranks(run, dataset, *NAMES, leave_out=True)
        curves = {
            name: sampled_recall(run, f"LJ20 actual {dataset} {name}", one, design, repeats)
            for name, one in ranks.items()
        }
        n_items = len(run.split(dataset).item_ids)
        cuts = {rule: mapped(rule, n_items=n_items, sample_size=100) for rule in RULES}
        for k in CUTS:
            for name in ranks:
                ours[dataset, str(k), "sampled", name] = number(curves[name][:, k - 1])
            for rule, at in cuts.items():
                for name, one in ranks.items():
                    ours[dataset, str(k), rule, name] = Number(float(global_recall(one, at[k - 1])))
        lines = []
        for rule, at in cuts.items():
            right = 100 * _agreement(ranks, curves, at)[:50]
            lines.append(Line(rule, np.arange(1, 51), right))
            for k in CUTS:
                agree[dataset, rule, str(k)] = Number(float(right[k - 1]))
        recall = np.stack([global_recall(one, cuts["beta(0.5)"][:50]) for one in ranks.values()])
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
        panels.append(_losses(run, dataset, ranks))
    table = Table.beside("table3", run.published(), ours, digits=4)
    return Result(
        (
            table,
            Table.beside(
                "table3-winners", None, agree, keys=("dataset", "mapping", "k"),
                unit="percent of repeats with the same winner", digits=0,
            ),
        ),
        (Figure("table3", tuple(panels)),),
        notes=(
            "Negatives are drawn without replacement from items that the user has not had, which "
            "alone are ranked, while f still counts all items: the sampling that table 5 calls "
            "`actual`, with whose printed MultiVAE figures the printed table 3 agrees.",
            *_printed_winners(table),
            *_distances(table),
            f"Ours, f by beta(0.5): {'; '.join(said)}. Where models are close, f(k) need only fall "
            "on the other side of a crossing.",
            *_graph_models(run, table),
        ),
    )  # fmt: skip


def _losses(run: Run, dataset: str, ranks: Mapping[str, GlobalRanks]) -> Panel:
    """The training losses of the models on the graph."""
    lines = []
    for name in GRAPH:
        if name in ranks:
            losses = run.fitted(dataset, model_of(name, dataset)).losses
            lines.append(Line(name, np.arange(1, losses.size + 1), losses))
    return Panel(f"{dataset}: training loss", "epoch", "mean loss (BPR)", tuple(lines))


def _graph_models(run: Run, table: Table) -> list[str]:
    """What NGCF and LightGCN are here, and where they stand."""
    said = []
    for dataset in run.at_hand():
        column = {
            cell.key[3]: cell.ours
            for cell in table.cells
            if cell.key[:3] == (dataset, "10", "beta(0.5)") and cell.ours is not None
        }
        said.append(f"on {dataset} {words.order(column)}")
    one = GRAPH["NGCF"]
    return [
        "NGCF is among the paper's models (section 5) but not in its table; LightGCN is its light "
        "sibling, BPR-MF the same without a graph: plain matrix factorisation. All are smaller "
        "than published, so that they learn in minutes on one core: "
        f"`{one!r}`, no dropout, the last epoch kept. By global recall@f(10) the models stand "
        f"{words.listed(said)}."
    ]


def _distances(table: Table) -> list[str]:
    """How far our cells lie from the printed ones, by dataset and model."""
    gaps: dict[str, dict[str, list[float]]] = {}
    for cell in table.cells:
        if cell.difference is not None:
            of_model = gaps.setdefault(cell.key[0], {}).setdefault(cell.key[3], [])
            of_model.append(abs(cell.difference))
    said = [
        f"on {dataset} {words.numbered({name: max(gap) for name, gap in models.items()}, 3)}"
        for dataset, models in gaps.items()
    ]
    return [f"Furthest from the print: {'; '.join(said)}."] if said else []


def _printed_winners(table: Table) -> list[str]:
    """Where the printed sampled and global columns have the same winner, and where ours does."""
    rows: dict[tuple[str, str], dict[str, dict[str, float]]] = {}
    mine: dict[tuple[str, str], dict[str, float]] = {}
    for cell in table.cells:
        dataset, k, column, model = cell.key
        if cell.published is not None:
            here = rows.setdefault((dataset, k), {})
            here.setdefault(column, {})[model] = cell.published
            if column == "sampled" and cell.ours is not None:
                mine.setdefault((dataset, k), {})[model] = cell.ours

    def best(values: Mapping[str, float]) -> str:
        return max(values, key=lambda name: values[name])

    text = []
    for rule in RULES:
        same = sum(best(row["sampled"]) == best(row[rule]) for row in rows.values())
        text.append(f"{words.share(same, len(rows), 'rows')} by {rule}")
    found = [
        "In the printed table the sampled and the global column have the same winner in "
        f"{words.listed(text)}."
    ]
    shared = {
        key: {name: rows[key]["sampled"][name] for name in values}
        for key, values in mine.items()
        if len(values) > 1
    }
    if shared:
        same = sum(best(printed) == best(mine[key]) for key, printed in shared.items())
        found.append(
            "Among the models that both have, our sampled column has the winner of the printed one "
            f"in {words.share(same, len(shared), 'rows')}."
        )
    return found


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
    ranks: Mapping[str, GlobalRanks], curves: Mapping[str, FloatArray], at: FloatArray
) -> FloatArray:
    """Share of repeats whose best model by sampled recall@k is that by global recall@f(k), (n,)."""
    sampled = np.stack(list(curves.values()))  # (n_models, repeats, n)
    exact = np.stack([global_recall(one, at) for one in ranks.values()])
    return np.asarray(best_found(exact, sampled).mean(axis=0))
