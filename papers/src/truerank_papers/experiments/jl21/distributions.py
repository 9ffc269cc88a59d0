"""Figures 1, 2 and 3: the learnt distributions of ranks, in the mean over repeats."""

from __future__ import annotations

import numpy as np

from truerank._types import FloatArray
from truerank.designs import Fixed
from truerank_papers.experiments import words
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


def _drawn(curves: dict[str, dict[str, FloatArray]]) -> tuple[Panel, ...]:
    """Rank distributions in a row, and recall curves in the next."""
    pairs = [_panels(what, found) for what, found in curves.items()]
    return tuple(panel for row in zip(*pairs, strict=True) for panel in row)


def _distances(curves: dict[str, FloatArray]) -> dict[str, float]:
    """The largest distance of each estimated recall curve from the exact one."""
    return {
        name: float(np.abs(curve - curves["exact"]).max())
        for name, curve in curves.items()
        if name != "exact"
    }


def _notes(curves: dict[str, dict[str, FloatArray]]) -> tuple[str, ...]:
    """How near the curves come, by what is drawn."""
    distances = {what: _distances(found) for what, found in curves.items()}
    ratios = [found["wmle"][9] / found["exact"][9] for found in curves.values()]
    said = "; ".join(
        f"{what}: {words.numbered({k: v for k, v in found.items() if k != 'wmle'}, 4, sort=True)}"
        for what, found in distances.items()
    )
    return (
        "`wmle` is not drawn: with the printed weights its recall@10 is "
        f"{words.between(ratios, 1)} times the exact one (see table 2).",
        "Estimators smooth over single probabilities. Largest distance of the estimated recall@K "
        f"from the exact one up to K = {LAST}, nearest first: {said}.",
    )


@experiment("jl21", "figure1", "Learnt rank distributions, R up to 200, on ml-1m", data=["ml-1m"])
def figure1(run: Run) -> Result:
    """For item-KNN."""
    ranks = exact_ranks(run, "ml-1m", "itemKNN")
    curves = {"itemKNN": _curves(run, "ml-1m", "itemKNN", ranks["itemKNN"], 100)}
    return Result(
        figures=(Figure("figure1", _drawn(curves)),),
        notes=(
            "The paper does not say which model it shows; here it is item-KNN.",
            *_notes(curves),
        ),
    )


@experiment("jl21", "figure2", "Learnt distributions and recall curves on ml-1m", data=["ml-1m"])
def figure2(run: Run) -> Result:
    """For NeuMF, MultiVAE and item-KNN."""
    ranks = exact_ranks(run, "ml-1m", "NeuMF", "MultiVAE", "itemKNN")
    curves = {name: _curves(run, "ml-1m", name, one, 100) for name, one in ranks.items()}
    figure = Figure("figure2", _drawn(curves), columns=len(curves))
    return Result(figures=(figure,), notes=_notes(curves))


@experiment(
    "jl21", "figure3", "Learnt distributions for n = 100 and 500 on citeulike", data=["citeulike"]
)
def figure3(run: Run) -> Result:
    """For NeuMF; item-KNN where there is no torch."""
    ranks = exact_ranks(run, "citeulike", "NeuMF") or exact_ranks(run, "citeulike", "itemKNN")
    ((name, one),) = ranks.items()
    curves = {f"{name}, n = {n}": _curves(run, "citeulike", name, one, n) for n in (100, 500)}
    few, many = map(_distances, curves.values())
    gains = {drawn: few[drawn] / many[drawn] for drawn in few if drawn != "wmle"}
    notes = (
        *_notes(curves),
        f"From n = 100 to 500 that distance shrinks by a factor of: {words.numbered(gains, 1)}.",
    )
    return Result(figures=(Figure("figure3", _drawn(curves)),), notes=notes)
