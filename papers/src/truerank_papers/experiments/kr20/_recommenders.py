"""Recommenders X, Y and Z of section 6 on MovieLens 1M, and where they rank the targets."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from truerank.models import IALS, ItemKNN, Model
from truerank_papers.experiments.ranks import GlobalRanks
from truerank_papers.experiments.run import Run

DATA = "ml-1m"
METRICS = ("recall@10", "ndcg@10", "ap", "auc")
TOP = METRICS[:3]  # those that favour the top
ESTIMATORS = (
    "naive",
    "rank-estimate",
    "cls",
    *(f"bv(gamma={gamma})" for gamma in ("1", "0.1", "0.01", "0.001")),
)
# Where the paper stopped is not said; twenty iterations are near the end of the loss's fall.
X = replace(IALS.kr20_x(), iterations=20, tolerance=None)
MODELS: dict[str, Model[Any]] = {
    "X": X,
    "Y": ItemKNN.kr20_y(),
    "Z": ItemKNN.kr20_z(),
}


def exact_ranks(run: Run) -> dict[str, GlobalRanks]:
    """Rank the held-out items by X, Y and Z, training items left out.

    Parameters
    ----------
    run
        The run that needs them.

    Returns
    -------
    dict
        Exact ranks by the name of the recommender.
    """
    return run.ranks(DATA, MODELS, leave_out=True)
