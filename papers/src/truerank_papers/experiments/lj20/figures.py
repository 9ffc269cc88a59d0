"""Figures 1 to 8: recall curves, global and sampled, and the mappings between them."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from truerank import mapping
from truerank._types import FloatArray
from truerank.designs import Fixed
from truerank_papers.datasets import NAMED
from truerank_papers.experiments import words
from truerank_papers.experiments.models import exact_ranks
from truerank_papers.experiments.ranks import GlobalRanks
from truerank_papers.experiments.recall_curves import (
    ends,
    global_recall,
    mapped,
    nearest,
    sampled_recall,
    spread,
)
from truerank_papers.experiments.recall_panels import (
    aligned_panel,
    beta_panel,
    from_straight,
    global_panel,
    relation_panel,
    relative_panel,
    sampled_panel,
)
from truerank_papers.experiments.registry import experiment
from truerank_papers.experiments.results import Figure, Line, Panel, Result
from truerank_papers.experiments.run import Run
from truerank_papers.experiments.winners import best_found

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
        notes=(f"One sample with replacement, n = 100. {_same_leader(ranks, curves)}",),
    )


def _same_leader(ranks: Mapping[str, GlobalRanks], curves: Mapping[str, FloatArray]) -> str:
    """Whether the two curves agree on the best model: what the paper sets out from."""
    at = mapped("beta(0.5)", n_items=N, sample_size=100)
    exact = np.stack([global_recall(one, at) for one in ranks.values()])
    sampled = np.stack([curves[name][None] for name in ranks])  # (n_models, 1, n)
    same = int(best_found(exact, sampled).sum())
    return (
        "The same model leads by sampled recall@k and by global recall@f(k), f by beta(0.5), at "
        f"{words.share(same, at.size, 'k')}."
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
    found = exact_ranks(run, "ml-1m", "MultiVAE", "itemKNN")
    exponents = (0.2, 0.37, 0.5, 1.0)
    panels = [beta_panel(name, ranks, exponents, N) for name, ranks in found.items()]
    return Result(
        figures=(Figure("figure3", tuple(panels)),) if panels else (),
        notes=(
            "Both axes are logarithmic, where Beta(a, 1) is a straight line. "
            f"{ends(found, exponents[1])}",
        ),
    )


@experiment("lj20", "figure4", "f(k; a) beside f(k; 1)")
def figure4(run: Run) -> Result:
    """Computed."""
    panel = relative_panel("ml-1m, n = 100", N, 100, (0.2, 0.6, 0.8))
    return Result(
        figures=(Figure("figure4", (panel,)),),
        notes=(f"Computed by eq. 16 and 17. {from_straight(panel)}",),
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
        notes=(_small_differences(lines),),
    )


def _small_differences(lines: tuple[Line, ...]) -> str:
    """How many ranks an exponent is worth, and whether f grows with it."""
    largest = {line.label: float(np.abs(line.y).max()) for line in lines}
    most = max(largest, key=lambda label: largest[label])
    grows = int((np.diff(np.stack([line.y for line in lines]), axis=0) > 0).all(axis=0).sum())
    return (
        f"Computed. {largest[most]:.2f} ranks of {N:,} at most, for {most}; the paper says below "
        f"1. f grows with a at {words.share(grows, len(lines[0].y), 'k')}; the paper's third "
        "remedy says so once, and once the contrary."
    )


@experiment("lj20", "figure6", "The better model, mapped to an earlier rank")
def figure6(run: Run) -> Result:
    """Two Beta laws and their samples in expectation."""
    k = np.arange(1, 101)
    rank = spread(1, 200)
    lines, cuts = [], []
    for name, a in (("better, a = 0.30", 0.30), ("worse, a = 0.45", 0.45)):
        at = mapping.beta(k, n_items=N, sample_size=100, a=a)
        cuts.append(at)
        lines.append(Line(f"{name}", rank, ((rank - 1) / (N - 1)) ** a))
        some = at <= 200
        lines.append(Line(f"sampled, {name}", at[some], ((at[some] - 1) / (N - 1)) ** a, "points"))
    better, worse = cuts
    left = words.share(int((better < worse).sum()), k.size, "k")
    return Result(
        figures=(Figure("figure6", (Panel("two models", "K", "recall", tuple(lines)),)),),
        notes=(
            "The paper's figure is a sketch; this one is computed for two models whose ranks "
            "follow Beta(a, 1). The points are sampled recall@1, 2, ... in expectation, where f "
            f"puts them: those of the better model lie further left at {left}, by up to "
            f"{(worse - better).max():.1f} ranks.",
        ),
    )


@experiment("lj20", "figure7", "Sampled and global recall aligned, MultiVAE", data=["ml-1m"])
def figure7(run: Run) -> Result:
    """The sampled curve on the global scale, and the global curve on the sampled one."""
    panels = []
    notes = ["One sample, n = 100."]
    design = Fixed(sample_size=100, replacement=True)
    for name, ranks in exact_ranks(run, "ml-1m", "MultiVAE").items():
        curve = sampled_recall(run, f"LJ20 ml-1m {name}", ranks, design, 10)[0]
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
        notes.append(nearest(ranks, curve, RULES, n_items=N))
    return Result(figures=(Figure("figure7", tuple(panels)),) if panels else (), notes=tuple(notes))


@experiment(
    "lj20", "figure8", "The sampled curve as the sample grows", any_of=("book-x", "citeulike")
)
def figure8(run: Run) -> Result:
    """NeuMF, on the largest catalogue at hand."""
    dataset = run.at_hand()[0]
    panels = []
    notes = ["Sampled curves laid on the global scale by `linear`, one sample each."]
    for name, ranks in exact_ranks(run, dataset, "NeuMF").items():
        n_items = int(ranks.n_items.max())
        far = {}
        for last in (n_items, n_items // 20):
            k = spread(1, last)
            lines = [Line("exact", k, global_recall(ranks, k), "dashed")]
            for n in (50, 100, 500, 1000):
                design = Fixed(sample_size=n, replacement=True)
                curve = sampled_recall(run, f"LJ20 {dataset} NeuMF n={n}", ranks, design, 10)[0]
                at = mapped("linear", n_items=n_items, sample_size=n)
                far[f"n = {n}"] = float(np.abs(curve - global_recall(ranks, at)).max())
                some = np.unique(np.rint(np.linspace(0, np.sum(at <= last) - 1, 300)).astype(int))
                lines.append(Line(f"n = {n}", at[some], curve[some]))
            panels.append(Panel(f"{name}, K to {last:,}", "K", "recall", tuple(lines)))
        said = words.listed([f"{distance:.3f} ({n})" for n, distance in far.items()])
        notes.append(f"Largest distance from the exact curve: {said}.")
    if dataset != "book-x":
        notes.append(f"The paper's dataset, book-X, is not at hand; this is {dataset}.")
    return Result(figures=(Figure("figure8", tuple(panels)),) if panels else (), notes=tuple(notes))
