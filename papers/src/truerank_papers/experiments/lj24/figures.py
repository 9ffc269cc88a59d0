"""Figures 1 to 12, on the paper's datasets where they are at hand, else on citeulike or ml-1m."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from truerank._types import FloatArray
from truerank.designs import Fixed
from truerank.estimators.support import RankDistribution, full
from truerank.inference.planning.efficiency import sampling_efficiency
from truerank_papers.datasets import NAMED
from truerank_papers.experiments.lj24._shared import (
    METRICS,
    TOP,
    adaptive_estimates,
    exact,
    fixed_estimates,
)
from truerank_papers.experiments.models import exact_ranks
from truerank_papers.experiments.ranks import GlobalRanks
from truerank_papers.experiments.recall_curves import (
    aligned_panel,
    beta_panel,
    global_panel,
    relation_panel,
    relative_panel,
    sampled_panel,
    sampled_recall,
)
from truerank_papers.experiments.registry import Function, experiment
from truerank_papers.experiments.results import Figure, Line, Panel, Result
from truerank_papers.experiments.run import Run

HERE = ("citeulike", "ml-1m")
RULES = ("linear", "bound", "beta(1)", "beta(0.5)")
Ranks = dict[str, GlobalRanks]
Drawing = Callable[[Run, str, Ranks], tuple[Panel, ...]]


def figure(
    name: str, title: str, printed: str, models: tuple[str, ...], note: str, *, columns: int = 2
) -> Callable[[Drawing], Function]:
    """Register a figure drawn from exact ranks; of all models if none is named."""

    def register(draw: Drawing) -> Function:
        def function(run: Run) -> Result:
            dataset = run.at_hand()[0]
            panels = draw(run, dataset, exact_ranks(run, dataset, *models))
            notes = [note]
            if dataset != printed:
                notes.append(f"The paper's figure shows {printed}; here it is {dataset}.")
            figures = (Figure(name, panels, columns),) if panels else ()
            return Result(figures=figures, notes=tuple(notes))

        function.__doc__ = draw.__doc__
        return experiment("lj24", name, title, any_of=(printed, *HERE))(function)

    return register


def _one_sample(run: Run, dataset: str, model: str, ranks: GlobalRanks, n: int) -> FloatArray:
    """Sampled recall@1 to n of one evaluation."""
    what = f"LJ24 {dataset} {model} curve n={n}"
    return np.asarray(
        sampled_recall(run, what, ranks, Fixed(sample_size=n, replacement=True), 10)[0]
    )


def _pool(ranks: GlobalRanks) -> int:
    return int(ranks.n_items.max())


@figure(
    "figure1",
    "Global recall, sampled recall, and one laid over the other",
    "pinterest-20",
    ("NeuMF",),
    "One sample, n = 100, laid on the global scale by `linear`, the paper's baseline.",
    columns=3,
)
def figure1(run: Run, dataset: str, ranks: Ranks) -> tuple[Panel, ...]:
    """NeuMF."""
    found: tuple[Panel, ...] = ()
    for name, one in ranks.items():
        curve, n_items = _one_sample(run, dataset, name, one, 100), _pool(one)
        found += (
            global_panel("global", {name: one}, 1, n_items),
            sampled_panel("sampled, n = 100", {name: curve}, 1, 100),
            aligned_panel("both", one, curve, ("linear",), n_items=n_items, last=n_items),
        )
    return found


@figure(
    "figure2",
    "Global and sampled recall of all models",
    "yelp",
    (),
    "Whole curves above; below, the windows of the paper: 19 to 46 percent of the items, and k = "
    "20 to 50. One sample, n = 100.",
)
def figure2(run: Run, dataset: str, ranks: Ranks) -> tuple[Panel, ...]:
    """Four panels."""
    curves = {name: _one_sample(run, dataset, name, one, 100) for name, one in ranks.items()}
    n_items = max(map(_pool, ranks.values()))
    first, last = (round(n_items * k / NAMED["yelp"].n_items) for k in (5000, 12_000))
    return (
        global_panel("global", ranks, 1, n_items),
        sampled_panel("sampled", curves, 1, 100),
        global_panel(f"global, K = {first:,} to {last:,}", ranks, first, last),
        sampled_panel("sampled, k = 20 to 50", curves, 20, 50),
    )


@figure(
    "figure3",
    "How the curves are related",
    "yelp",
    ("EASE",),
    "One sample, n = 100, laid on the global scale by `linear`.",
)
def figure3(run: Run, dataset: str, ranks: Ranks) -> tuple[Panel, ...]:
    """EASE."""
    return tuple(
        relation_panel(
            name,
            one,
            _one_sample(run, dataset, name, one, 100),
            "linear",
            n_items=_pool(one),
            times=1,
        )
        for name, one in ranks.items()
    )


@figure(
    "figure4",
    "Beta distributions and where users' targets rank",
    "yelp",
    ("EASE", "itemKNN"),
    "The paper names neither model nor dataset. Both axes are logarithmic, where Beta(a, 1) is a "
    "straight line.",
)
def figure4(run: Run, dataset: str, ranks: Ranks) -> tuple[Panel, ...]:
    """Two models."""
    return tuple(beta_panel(name, one, (0.2, 0.5, 1.0), _pool(one)) for name, one in ranks.items())


@experiment("lj24", "figure5", "f(k; a) beside f(k; 1)")
def figure5(run: Run) -> Result:
    """Computed."""
    panel = relative_panel("yelp, n = 100", NAMED["yelp"].n_items, 100, (0.2, 0.6, 0.8))
    return Result(figures=(Figure("figure5", (panel,)),), notes=("Computed, for yelp.",))


@figure(
    "figure6",
    "Learnt rank distributions",
    "yelp",
    ("EASE",),
    "The paper's figure is a diagram of the methods; this shows what they learn, from one sample, "
    "n = 100. Ranks are grouped in tens. `smooth` is not in the paper.",
)
def figure6(run: Run, dataset: str, ranks: Ranks) -> tuple[Panel, ...]:
    """EASE."""
    names = ("bv", "mle", "mes", "smooth")
    edges = np.arange(0, 301, 10)
    panels = []
    for model, one in ranks.items():
        values = run.redrawn(
            f"LJ24 {dataset} {model} learnt",
            one,
            estimators=names,
            metrics=[f"recall@{k}" for k in edges[1:]],
            repeats=10,
            design=Fixed(sample_size=100, replacement=True),
        )[0]
        total = np.concatenate([[0.0], np.cumsum(one.pmf())])[edges]
        lines = [Line("exact", edges[1:] - 4.5, np.diff(total), "points")]
        lines += [
            Line(name, edges[1:] - 4.5, np.diff(curve, prepend=0.0))
            for name, curve in zip(names, values, strict=True)
        ]
        panels.append(Panel(model, "rank", "share of users in ten ranks", tuple(lines)))
    return tuple(panels)


@figure(
    "figure7",
    "Where targets rank in the sample",
    "yelp",
    (),
    "One sample, n = 100. Rank 1, the blind spot, holds more users than any other.",
)
def figure7(run: Run, dataset: str, ranks: Ranks) -> tuple[Panel, ...]:
    """Shares of users by sampled rank."""
    lines = []
    for name, one in ranks.items():
        share = np.diff(_one_sample(run, dataset, name, one, 100), prepend=0.0)
        lines.append(Line(name, np.arange(1, 101), share, "steps"))
    return (Panel(dataset, "sampled rank", "share of users", tuple(lines), log_x=True),)


@figure(
    "figure8",
    "Error by K: the blind spot",
    "ml-20m",
    ("EASE",),
    "Mean over repeats of |estimate / exact - 1|, recall@K. The paper shows `mle`; `smooth` is not "
    "in it. Adaptive samples begin with 100 and grow to 3,200.",
)
def figure8(run: Run, dataset: str, ranks: Ranks) -> tuple[Panel, ...]:
    """EASE, n = 100 and adaptive."""
    panels = []
    for model, one in ranks.items():
        truth = exact(one)[:TOP]
        values = fixed_estimates(run, dataset, model, one, 100)
        grown, _ = adaptive_estimates(run, dataset, model, one)
        found = {"mle": values["mle"], "smooth": values["smooth"], **grown}
        assert METRICS[TOP - 1] == f"recall@{TOP}"
        lines = tuple(
            Line(
                name,
                np.arange(1, TOP + 1),
                100 * np.abs(one_found[:, :TOP] / truth - 1).mean(axis=0),
            )
            for name, one_found in found.items()
        )
        panels.append(Panel(model, "K", "relative error of recall@K, percent", lines))
    return tuple(panels)


@figure(
    "figure9",
    "Sampling efficiency by terminal size",
    "yelp",
    ("EASE",),
    "C_j of eq. 44 in expectation, from the exact ranks: items sampled for each user whose "
    "sampling ends at that size. The paper sees it rise fast from 12.4 percent of the items on; on "
    "citeulike it grows about in proportion to the size, from 200 at 0.6 percent to 18,000 at 75, "
    "with no bend that says where to stop.",
)
def figure9(run: Run, dataset: str, ranks: Ranks) -> tuple[Panel, ...]:
    """EASE, samples that double from 100."""
    none = np.empty(0)
    lines = []
    for name, one in ranks.items():
        law = RankDistribution(full(_pool(one)), one.pmf(), none, none)
        stages = sampling_efficiency(law, replacement=True)
        lines.append(Line(name, [100 * s.share for s in stages], [s.cost for s in stages]))
    panel = Panel(dataset, "sample size, percent of the items", "items a user", tuple(lines))
    return (panel,) if lines else ()


def _aligned(run: Run, dataset: str, ranks: Ranks, last: int) -> tuple[Panel, ...]:
    found: tuple[Panel, ...] = ()
    for name, one in ranks.items():
        curve = _one_sample(run, dataset, name, one, 500)
        found += tuple(
            aligned_panel(f"{name}, K to {end:,}", one, curve, RULES, n_items=_pool(one), last=end)
            for end in (2000, last)
        )
    return found


_ALIGNED = "One sample, n = 500. `bound` and `beta(0.5)` lie nearest to the exact curve."


@figure("figure10", "Curves aligned, EASE", "pinterest-20", ("EASE",), _ALIGNED)
def figure10(run: Run, dataset: str, ranks: Ranks) -> tuple[Panel, ...]:
    """K to 2,000 and 200."""
    return _aligned(run, dataset, ranks, 200)


@figure("figure11", "Curves aligned, item-KNN", "ml-20m", ("itemKNN",), _ALIGNED)
def figure11(run: Run, dataset: str, ranks: Ranks) -> tuple[Panel, ...]:
    """K to 2,000 and 500."""
    return _aligned(run, dataset, ranks, 500)


@figure(
    "figure12",
    "Exact recall@K of all models",
    "pinterest-20",
    (),
    "In the paper's figure item-KNN and EASE lie on one another, and no estimator tells them "
    "apart (table 6). So they do on citeulike from K = 15 on.",
)
def figure12(run: Run, dataset: str, ranks: Ranks) -> tuple[Panel, ...]:
    """K to 50."""
    return (global_panel(dataset, ranks, 1, TOP),)
