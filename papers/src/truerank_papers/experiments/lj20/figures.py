"""Figures 1 to 8: recall curves, global and sampled, and the mappings between them."""

from __future__ import annotations

import numpy as np

from truerank import mapping
from truerank.designs import Fixed
from truerank_papers.datasets import NAMED
from truerank_papers.experiments.models import exact_ranks
from truerank_papers.experiments.recall_curves import (
    aligned_panel,
    beta_panel,
    global_panel,
    global_recall,
    mapped,
    relation_panel,
    relative_panel,
    sampled_panel,
    sampled_recall,
    spread,
)
from truerank_papers.experiments.registry import experiment
from truerank_papers.experiments.results import Figure, Line, Panel, Result
from truerank_papers.experiments.run import Run

N = NAMED["ml-1m"].n_items
RULES = ("linear", "bound", "beta(1)", "beta(0.5)")


@experiment("lj20", "figure1", "Global and sampled recall on ml-1m", data=["ml-1m"])
def figure1(run: Run) -> Result:
    """Whole curves and two windows of each; one sample, n = 100."""
    ranks = exact_ranks(run, "ml-1m")
    curves = {
        name: sampled_recall(
            run, f"LJ20 ml-1m {name}", one, Fixed(sample_size=100, replacement=True), 10
        )[0]
        for name, one in ranks.items()
    }
    panels = [
        global_panel(f"global, K = {first} to {last}", ranks, first, last)
        for first, last in ((1, N), (1, 350), (60, 120))
    ]
    panels += [
        sampled_panel(f"sampled, k = {first} to {last}", curves, first, last)
        for first, last in ((1, 100), (1, 10), (2, 5))
    ]
    return Result(
        figures=(Figure("figure1", tuple(panels), columns=3),),
        notes=(
            "One sample with replacement, n = 100. The upper and the lower row have the same "
            "shape, and models cross where they cross: what the paper sets out from.",
        ),
    )


@experiment("lj20", "figure2", "How the curves are related", data=["ml-1m"])
def figure2(run: Run) -> Result:
    """MultiVAE, without replacement."""
    panels = []
    for name, ranks in exact_ranks(run, "ml-1m", "MultiVAE").items():
        design = Fixed(sample_size=100, replacement=False)
        curve = sampled_recall(run, "LJ20 MultiVAE hyper n=100", ranks, design, 10)[0]
        panels.append(relation_panel(name, ranks, curve, "linear", n_items=N, times=5))
    return Result(
        figures=(Figure("figure2", tuple(panels)),) if panels else (),
        notes=("The paper does not name the model; here it is MultiVAE. One sample, n = 100.",),
    )


@experiment("lj20", "figure3", "Beta distributions and where users' targets rank", data=["ml-1m"])
def figure3(run: Run) -> Result:
    """MultiVAE."""
    panels = [
        beta_panel(name, ranks, (0.2, 0.37, 0.5, 1.0), N)
        for name, ranks in exact_ranks(run, "ml-1m", "MultiVAE", "itemKNN").items()
    ]
    return Result(
        figures=(Figure("figure3", tuple(panels)),) if panels else (),
        notes=(
            "Both axes are logarithmic, where Beta(a, 1) is a straight line. The targets bend away "
            "from any: fewer at the very top, since items of the training set stand there, and "
            "fewer at the bottom. So the fitted exponent is one for the middle.",
        ),
    )


@experiment("lj20", "figure4", "f(k; a) beside f(k; 1)")
def figure4(run: Run) -> Result:
    """Computed."""
    panel = relative_panel("ml-1m, n = 100", N, 100, (0.2, 0.6, 0.8))
    return Result(
        figures=(Figure("figure4", (panel,)),),
        notes=("Computed by eq. 16 and 17. All tend to the straight f(k; 1) as k grows.",),
    )


@experiment("lj20", "figure5", "f(k; a) less f(k; 0.3)")
def figure5(run: Run) -> Result:
    """Computed."""
    k = np.arange(1, 101)
    flat = mapping.beta(k, n_items=N, sample_size=100, a=0.3)
    lines = tuple(
        Line(f"a = {a:g}", k, mapping.beta(k, n_items=N, sample_size=100, a=a) - flat)
        for a in (0.24, 0.26, 0.28, 0.32, 0.34)
    )
    return Result(
        figures=(Figure("figure5", (Panel("ml-1m, n = 100", "k", "ranks", lines),)),),
        notes=(
            "Computed. About one rank in 3,706 at most (1.06 for a = 0.24; the paper says below "
            "1). f grows with a: the paper's third remedy says so once, and once the contrary.",
        ),
    )


@experiment("lj20", "figure6", "The better model, mapped to an earlier rank")
def figure6(run: Run) -> Result:
    """Two Beta laws and their samples in expectation."""
    k = np.arange(1, 101)
    rank = spread(1, 200)
    lines = []
    for name, a in (("better, a = 0.30", 0.30), ("worse, a = 0.45", 0.45)):
        at = mapping.beta(k, n_items=N, sample_size=100, a=a)
        lines.append(Line(f"{name}", rank, ((rank - 1) / (N - 1)) ** a))
        some = at <= 200
        lines.append(Line(f"sampled, {name}", at[some], ((at[some] - 1) / (N - 1)) ** a, "points"))
    return Result(
        figures=(Figure("figure6", (Panel("two models", "K", "recall", tuple(lines)),)),),
        notes=(
            "The paper's figure is a sketch; this one is computed for two models whose ranks "
            "follow Beta(a, 1). The points are sampled recall@1, 2, ... in expectation, where f "
            "puts them: those of the better model lie further left.",
        ),
    )


@experiment("lj20", "figure7", "Sampled and global recall aligned, MultiVAE", data=["ml-1m"])
def figure7(run: Run) -> Result:
    """The sampled curve on the global scale, and the global curve on the sampled one."""
    panels = []
    for name, ranks in exact_ranks(run, "ml-1m", "MultiVAE").items():
        curve = sampled_recall(
            run, f"LJ20 ml-1m {name}", ranks, Fixed(sample_size=100, replacement=True), 10
        )[0]
        panels += [
            aligned_panel(f"global scale, K to {last}", ranks, curve, RULES, n_items=N, last=last)
            for last in (N, 300)
        ]
        for last in (100, 8):
            k = np.arange(1, last + 1)
            lines = [Line("sampled", k, curve[:last], "dashed")]
            for rule in RULES:
                at = mapped(rule, n_items=N, sample_size=100)[:last]
                lines.append(Line(rule, k, global_recall(ranks, at)))
            panels.append(Panel(f"sampled scale, k to {last}", "k", "recall", tuple(lines)))
    return Result(
        figures=(Figure("figure7", tuple(panels)),) if panels else (),
        notes=("One sample, n = 100. `bound` and `beta(0.5)` are the nearest in both views.",),
    )


@experiment(
    "lj20", "figure8", "The sampled curve as the sample grows", any_of=("book-x", "citeulike")
)
def figure8(run: Run) -> Result:
    """NeuMF, on the largest catalogue at hand."""
    dataset = run.at_hand()[0]
    panels = []
    for name, ranks in exact_ranks(run, dataset, "NeuMF").items():
        n_items = int(ranks.n_items.max())
        for last in (n_items, n_items // 20):
            k = spread(1, last)
            lines = [Line("exact", k, global_recall(ranks, k), "dashed")]
            for n in (50, 100, 500, 1000):
                design = Fixed(sample_size=n, replacement=True)
                curve = sampled_recall(run, f"LJ20 {dataset} NeuMF n={n}", ranks, design, 10)[0]
                at = mapped("linear", n_items=n_items, sample_size=n)
                some = np.unique(np.rint(np.linspace(0, np.sum(at <= last) - 1, 300)).astype(int))
                lines.append(Line(f"n = {n}", at[some], curve[some]))
            panels.append(Panel(f"{name}, K to {last:,}", "K", "recall", tuple(lines)))
    notes = ["Sampled curves laid on the global scale by `linear`, one sample each."]
    if dataset != "book-x":
        notes.append(f"The paper's dataset, book-X, is not at hand; this is {dataset}.")
    return Result(figures=(Figure("figure8", tuple(panels)),) if panels else (), notes=tuple(notes))
