"""What the tables of LJ20 have in common: datasets, sampled curves, exponents."""

from __future__ import annotations

import numpy as np

from truerank import mapping
from truerank._types import FloatArray
from truerank.designs import Fixed
from truerank.outcomes.counts import RankCounts
from truerank_papers.experiments.published import Number
from truerank_papers.experiments.ranks import GlobalRanks
from truerank_papers.experiments.recall_curves import sampled_recall
from truerank_papers.experiments.run import Run

DATASETS = ("ml-1m", "yelp", "pinterest-20", "citeulike")
CUTS = (1, 2, 5, 10, 20, 50)


def number(values: FloatArray, note: str = "") -> Number:
    """Summarise repeats.

    Parameters
    ----------
    values
        One value per repeat.
    note
        What is to be said about the number.

    Returns
    -------
    Number
        Mean and standard deviation.
    """
    return Number(float(values.mean()), float(values.std()), note)


def exponents(curves: FloatArray, n_items: int) -> FloatArray:
    """Fit the exponent a of Beta(a, 1) by eq. 19.

    Parameters
    ----------
    curves
        Sampled recall@1 to recall@n, shape (repeats, n).
    n_items
        Size of the pool.

    Returns
    -------
    ndarray
        One exponent per repeat, shape (repeats,).
    """
    found = []
    for share in np.diff(curves, prepend=0.0, axis=1):
        seen = np.flatnonzero(share > 0)
        counts = RankCounts.from_ranks(
            seen + 1,
            sample_size=curves.shape[1],
            n_items=n_items,
            replacement=True,
            weights=share[seen],
        )
        found.append(mapping.fit_beta(counts).a)
    return np.array(found)


def sampled_curves(run: Run, dataset: str, model: str, ranks: GlobalRanks) -> FloatArray:
    """Sample evaluations of a model, n = 100, and compute their recall curves.

    Parameters
    ----------
    run
        The run.
    dataset, model
        Names, which choose the random numbers.
    ranks
        Exact ranks of the model.

    Returns
    -------
    ndarray
        Sampled recall@1 to recall@100, shape (repeats, 100).
    """
    design = Fixed(sample_size=100, replacement=True)
    return sampled_recall(run, f"LJ20 {dataset} {model}", ranks, design, run.repeats())


def pool(ranks: GlobalRanks) -> int:
    """Tell the size of the largest pool.

    Parameters
    ----------
    ranks
        Exact ranks of a model.

    Returns
    -------
    int
        Number of items, the target included.
    """
    return int(ranks.n_items.max())
