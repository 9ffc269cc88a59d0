"""Figures 1 to 12, on the paper's datasets where they are at hand, else on citeulike or ml-1m."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from truerank._types import FloatArray
from truerank.designs import Fixed
from truerank.estimators.support import RankDistribution, full
from truerank.inference.planning.efficiency import elbow, sampling_efficiency
from truerank_papers.datasets import NAMED
from truerank_papers.experiments import words
from truerank_papers.experiments.lj24._shared import (
    METRICS,
    START,
    STOP,
    TOP,
    adaptive_estimates,
    exact,
    fixed_estimates,
)
from truerank_papers.experiments.models import exact_ranks
from truerank_papers.experiments.ranks import GlobalRanks
from truerank_papers.experiments.recall_curves import ends, nearest, sampled_recall
from truerank_papers.experiments.recall_panels import (
    aligned_panel,
    beta_panel,
    from_straight,
    global_panel,
    relation_panel,
    relative_panel,
    sampled_panel,
)
from truerank_papers.experiments.registry import Function, experiment
from truerank_papers.experiments.results import Figure, Line, Panel, Result
from truerank_papers.experiments.run import Run

HERE = ("citeulike", "ml-1m")
RULES = ("linear", "bound", "beta(1)", "beta(0.5)")
WINDOW = (5000, 12_000)  # of K on yelp, in the paper's figure 2
CLOSE = 0.02  # relative distance of two curves that lie on one another
Ranks = dict[str, GlobalRanks]


class Drawn(NamedTuple):
    """Panels, and what they show."""

    panels: tuple[Panel, ...]
    notes: tuple[str, ...] = ()


Drawing = Callable[[Run, str, Ranks], Drawn]


def figure(
    name: str, title: str, printed: str, models: tuple[str, ...], note: str, *, columns: int = 2
) -> Callable[[Drawing], Function]:
    """Register a figure that is drawn from exact ranks, as a decorator.

    Parameters
    ----------
    name, title
        As for `experiment`.
    printed
        The dataset that the paper's figure shows.
    models
        Names of models; all of them if there is none.
    note
        What is drawn; what it shows is told by the function.
    columns
        Number of panels per row.

    Returns
    -------
    Callable
        The decorator of a function of (run, dataset, ranks) that gives panels and notes.
    """

    def register(draw: Drawing) -> Function:
        def function(run: Run) -> Result:
            dataset = run.at_hand()[0]
            panels, found = draw(run, dataset, exact_ranks(run, dataset, *models))
            notes = [note, *found]
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
def figure1(run: Run, dataset: str, ranks: Ranks) -> Drawn:
    """NeuMF."""
    found: tuple[Panel, ...] = ()
    for name, one in ranks.items():
        curve, n_items = _one_sample(run, dataset, name, one, 100), _pool(one)
        found += (
            global_panel("global", {name: one}, 1, n_items),
            sampled_panel("sampled, n = 100", {name: curve}, 1, 100),
            aligned_panel("both", one, curve, ("linear",), n_items=n_items, last=n_items),
        )
    return Drawn(found)


@figure(
    "figure2",
    "Global and sampled recall of all models",
    "yelp",
    (),
    "Whole curves above; below, the windows of the paper: "
    f"{words.between([100 * k / NAMED['yelp'].n_items for k in WINDOW], 0)} percent of the "
    "items, and k = 20 to 50. One sample, n = 100.",
)
def figure2(run: Run, dataset: str, ranks: Ranks) -> Drawn:
    """Four panels."""
    curves = {name: _one_sample(run, dataset, name, one, 100) for name, one in ranks.items()}
    n_items = max(map(_pool, ranks.values()))
    first, last = (round(n_items * k / NAMED["yelp"].n_items) for k in WINDOW)
    return Drawn(
        (
            global_panel("global", ranks, 1, n_items),
            sampled_panel("sampled", curves, 1, 100),
            global_panel(f"global, K = {first:,} to {last:,}", ranks, first, last),
            sampled_panel("sampled, k = 20 to 50", curves, 20, 50),
        )
    )


@figure(
    "figure3",
    "How the curves are related",
    "yelp",
    ("EASE",),
    "One sample, n = 100, laid on the global scale by `linear`.",
)
def figure3(run: Run, dataset: str, ranks: Ranks) -> Drawn:
    """EASE."""
    panels = []
    for name, one in ranks.items():
        curve = _one_sample(run, dataset, name, one, 100)
        panels.append(relation_panel(name, one, curve, "linear", n_items=_pool(one), times=1))
    return Drawn(tuple(panels))


@figure(
    "figure4",
    "Beta distributions and where users' targets rank",
    "yelp",
    ("EASE", "itemKNN"),
    "The paper names neither model nor dataset. Both axes are logarithmic, where Beta(a, 1) is a "
    "straight line.",
)
def figure4(run: Run, dataset: str, ranks: Ranks) -> Drawn:
    """Two models."""
    exponents = (0.2, 0.5, 1.0)
    panels = [beta_panel(name, one, exponents, _pool(one)) for name, one in ranks.items()]
    return Drawn(tuple(panels), (ends(ranks, exponents[0]),))


@experiment("lj24", "figure5", "f(k; a) beside f(k; 1)")
def figure5(run: Run) -> Result:
    """Computed."""
    panel = relative_panel("yelp, n = 100", NAMED["yelp"].n_items, 100, (0.2, 0.6, 0.8))
    notes = (f"Computed, for yelp. {from_straight(panel)}",)
    return Result(figures=(Figure("figure5", (panel,)),), notes=notes)


@figure(
    "figure6",
    "Learnt rank distributions",
    "yelp",
    ("EASE",),
    "The paper's figure is a diagram of the methods; this shows what they learn, from one sample, "
    "n = 100. Ranks are grouped in tens. `smooth` is not in the paper.",
)
def figure6(run: Run, dataset: str, ranks: Ranks) -> Drawn:
    """EASE."""
    names = ("bv", "mle", "mes", "smooth")
    edges = np.arange(0, 301, 10)
    panels, notes = [], []
    for model, one in ranks.items():
        values = run.redrawn(
            f"LJ24 {dataset} {model} learnt",
            one,
            estimators=names,
            metrics=[f"recall@{k}" for k in edges[1:]],
            repeats=10,
            design=Fixed(sample_size=100, replacement=True),
        )[0]
        share = np.diff(np.concatenate([[0.0], np.cumsum(one.pmf())])[edges])
        learnt = {
            name: np.diff(curve, prepend=0.0) for name, curve in zip(names, values, strict=True)
        }
        lines = [Line("exact", edges[1:] - 4.5, share, "points")]
        lines += [Line(name, edges[1:] - 4.5, mass) for name, mass in learnt.items()]
        panels.append(Panel(model, "rank", "share of users in ten ranks", tuple(lines)))
        off = {name: float(100 * np.abs(mass - share).sum()) for name, mass in learnt.items()}
        notes.append(
            f"Users in wrong groups, up to rank {edges[-1]}, in percent of all, fewest first "
            f"({model}): {words.numbered(off, 2, sort=True)}."
        )
    return Drawn(tuple(panels), tuple(notes))


@figure(
    "figure7",
    "Where targets rank in the sample",
    "yelp",
    (),
    "One sample, n = 100.",
)
def figure7(run: Run, dataset: str, ranks: Ranks) -> Drawn:
    """Shares of users by sampled rank."""
    lines, first, others = [], [], []
    for name, one in ranks.items():
        share = np.diff(_one_sample(run, dataset, name, one, 100), prepend=0.0)
        lines.append(Line(name, np.arange(1, 101), share, "steps"))
        first.append(100 * share[0])
        others.append(100 * share[1:].max())
    panel = Panel(dataset, "sampled rank", "share of users", tuple(lines), log_x=True)
    note = (
        f"Rank 1, the blind spot, holds {words.between(first, 1)} percent of the users, depending "
        f"on the model; the fullest of the other ranks {words.between(others, 1)}."
    )
    return Drawn((panel,), (note,))


@figure(
    "figure8",
    "Error by K: the blind spot",
    "ml-20m",
    ("EASE",),
    "Mean over repeats of |estimate / exact - 1|, recall@K. The paper shows `mle`; `smooth` is not "
    f"in it. Adaptive samples begin with {START} and grow to {STOP:,}.",
)
def figure8(run: Run, dataset: str, ranks: Ranks) -> Drawn:
    """EASE, n = 100 and adaptive."""
    panels, notes = [], []
    for model, one in ranks.items():
        truth = exact(one)[:TOP]
        values = fixed_estimates(run, dataset, model, one, 100)
        grown, _ = adaptive_estimates(run, dataset, model, one)
        found = {"mle": values["mle"], "smooth": values["smooth"], **grown}
        assert METRICS[TOP - 1] == f"recall@{TOP}"
        errors = {
            name: 100 * np.abs(recall[:, :TOP] / truth - 1).mean(axis=0)
            for name, recall in found.items()
        }
        k = np.arange(1, TOP + 1)
        lines = tuple(Line(name, k, error) for name, error in errors.items())
        panels.append(Panel(model, "K", "relative error of recall@K, percent", lines))
        at = {cut: {name: error[cut - 1] for name, error in errors.items()} for cut in (1, 10, TOP)}
        said = "; ".join(f"K = {cut}: {words.numbered(here, 1)}" for cut, here in at.items())
        notes.append(f"In percent ({model}), at {said}.")
    return Drawn(tuple(panels), tuple(notes))


@figure(
    "figure9",
    "Sampling efficiency by terminal size",
    "yelp",
    ("EASE",),
    "C_j of eq. 44 in expectation, from the exact ranks: items sampled for each user whose "
    "sampling ends at that size. The paper sees it rise fast from 12.4 percent of the items on.",
)
def figure9(run: Run, dataset: str, ranks: Ranks) -> Drawn:
    """EASE, samples that double from 100."""
    none = np.empty(0)
    lines, notes = [], []
    for name, one in ranks.items():
        law = RankDistribution(full(_pool(one)), one.pmf(), none, none)
        stages = sampling_efficiency(law, replacement=True)
        shares, costs = [100 * s.share for s in stages], [s.cost for s in stages]
        lines.append(Line(name, shares, costs))
        # How fast the cost grows, from each size to the next: 1 is in proportion.
        powers = np.diff(np.log(costs)) / np.diff(np.log(shares))
        notes.append(
            f"{name} on {dataset}: from {costs[0]:,.0f} items per user at {shares[0]:.1f} percent "
            f"to {costs[-1]:,.0f} at {shares[-1]:.0f}, about as the size to the power of "
            f"{words.between(powers, 1)} from one size to the next (1 is in proportion)."
        )
        bend = elbow(stages)
        if bend is not None:
            notes.append(
                "The curve lies furthest below the straight line between its ends at "
                f"{100 * bend.share:.1f} percent ({bend.sample_size:,} items); the paper's default "
                "is 10 to 15 percent."
            )
    panel = Panel(dataset, "sample size, percent of the items", "items per user", tuple(lines))
    return Drawn((panel,) if lines else (), tuple(notes))


def _aligned(run: Run, dataset: str, ranks: Ranks, last: int) -> Drawn:
    found: tuple[Panel, ...] = ()
    notes = []
    for name, one in ranks.items():
        curve = _one_sample(run, dataset, name, one, 500)
        found += tuple(
            aligned_panel(f"{name}, K to {end:,}", one, curve, RULES, n_items=_pool(one), last=end)
            for end in (2000, last)
        )
        notes.append(nearest(one, curve, RULES, n_items=_pool(one)))
    return Drawn(found, tuple(notes))


_ALIGNED = "One sample, n = 500."


@figure("figure10", "Curves aligned, EASE", "pinterest-20", ("EASE",), _ALIGNED)
def figure10(run: Run, dataset: str, ranks: Ranks) -> Drawn:
    """K to 2,000 and 200."""
    return _aligned(run, dataset, ranks, 200)


@figure("figure11", "Curves aligned, item-KNN", "ml-20m", ("itemKNN",), _ALIGNED)
def figure11(run: Run, dataset: str, ranks: Ranks) -> Drawn:
    """K to 2,000 and 500."""
    return _aligned(run, dataset, ranks, 500)


@figure(
    "figure12",
    "Exact recall@K of all models",
    "pinterest-20",
    (),
    "In the paper's figure item-KNN and EASE lie on one another, and no estimator tells them "
    "apart (table 6).",
)
def figure12(run: Run, dataset: str, ranks: Ranks) -> Drawn:
    """K to 50."""
    one, other = (exact(ranks[name])[:TOP] for name in ("itemKNN", "EASE"))
    close = np.flatnonzero(np.abs(other / one - 1) < CLOSE) + 1
    note = (
        f"Here their recall@K differs by less than {100 * CLOSE:.0f} percent at K = "
        f"{words.spans(close.tolist())}."
    )
    return Drawn((global_panel(dataset, ranks, 1, TOP),), (note,))
