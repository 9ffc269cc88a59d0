"""Figures 1, 2 and 3: the learnt distributions of ranks, in the mean over repeats."""

from __future__ import annotations

import numpy as np

from truerank._types import FloatArray
from truerank.designs import Fixed
from truerank_papers.experiments.models import exact_ranks
from truerank_papers.experiments.ranks import GlobalRanks
from truerank_papers.experiments.registry import experiment
from truerank_papers.experiments.results import Figure, Line, Panel, Result
from truerank_papers.experiments.run import Run

ESTIMATORS = ("bv(gamma=0.1)", "mle", "wmle", "mes")
LAST = 200  # ranks shown
CURVE = tuple(f"recall@{k}" for k in range(1, LAST + 1))


def _curves(
    run: Run, dataset: str, name: str, ranks: GlobalRanks, sample_size: int
) -> dict[str, FloatArray]:
    """The estimated recall at 1 to LAST by estimator, in the mean over repeats; and the exact."""
    values = run.redrawn(
        f"JL21 curves {dataset} {name} n={sample_size}",
        ranks,
        estimators=ESTIMATORS,
        metrics=CURVE,
        repeats=run.repeats(),
        design=Fixed(sample_size=sample_size, replacement=True),
    ).mean(axis=0)
    exact = np.cumsum(ranks.pmf())[:LAST]
    return {"exact": exact, **dict(zip(ESTIMATORS, values, strict=True))}


def _panels(title: str, curves: dict[str, FloatArray]) -> tuple[Panel, Panel]:
    """P(R) and the recall curve."""
    rank = list(range(1, LAST + 1))
    masses, totals = [], []
    for name, curve in curves.items():
        if name == "wmle":  # far above the others, see table 2
            continue
        exact = name == "exact"
        mass = np.diff(curve, prepend=0.0)
        masses.append(Line(name, rank, mass, "points" if exact else "line"))
        totals.append(Line(name, rank, curve, "dashed" if exact else "line"))
    return (
        Panel(f"{title}: P(R)", "rank", "share of users", tuple(masses)),
        Panel(f"{title}: recall@K", "K", "recall", tuple(totals)),
    )


_NOTE = (
    "`wmle` is not drawn: with the printed weights it lies far above all others (see table 2). All "
    "estimators smooth over single probabilities; what adds up to recall@K is close to the exact "
    "curve for `mle` and `mes`."
)


@experiment("jl21", "figure1", "Learnt rank distributions, R up to 200, on ml-1m", data=["ml-1m"])
def figure1(run: Run) -> Result:
    """For item-KNN."""
    ranks = exact_ranks(run, "ml-1m", "itemKNN")
    panels = _panels("itemKNN", _curves(run, "ml-1m", "itemKNN", ranks["itemKNN"], 100))
    return Result(
        figures=(Figure("figure1", panels),),
        notes=("The paper does not say which model it shows; here it is item-KNN.", _NOTE),
    )


@experiment("jl21", "figure2", "Learnt distributions and recall curves on ml-1m", data=["ml-1m"])
def figure2(run: Run) -> Result:
    """For NeuMF, MultiVAE and item-KNN."""
    ranks = exact_ranks(run, "ml-1m", "NeuMF", "MultiVAE", "itemKNN")
    pairs = [_panels(name, _curves(run, "ml-1m", name, one, 100)) for name, one in ranks.items()]
    panels = tuple(panel for row in zip(*pairs, strict=True) for panel in row)
    return Result(figures=(Figure("figure2", panels, columns=len(pairs)),), notes=(_NOTE,))


@experiment(
    "jl21", "figure3", "Learnt distributions for n = 100 and 500 on citeulike", data=["citeulike"]
)
def figure3(run: Run) -> Result:
    """For NeuMF; item-KNN where there is no torch."""
    ranks = exact_ranks(run, "citeulike", "NeuMF") or exact_ranks(run, "citeulike", "itemKNN")
    ((name, one),) = ranks.items()
    pairs = [
        _panels(f"{name}, n = {n}", _curves(run, "citeulike", name, one, n)) for n in (100, 500)
    ]
    panels = tuple(panel for row in zip(*pairs, strict=True) for panel in row)
    notes = (_NOTE, "With n = 500 all estimators are closer to the exact curve, `bv` most of all.")
    return Result(figures=(Figure("figure3", panels),), notes=notes)
