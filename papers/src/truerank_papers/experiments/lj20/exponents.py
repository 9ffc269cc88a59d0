"""Table 2: the exponent of Beta(a, 1) that eq. 19 finds."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from truerank import mapping
from truerank.designs import Fixed
from truerank_papers.experiments import words
from truerank_papers.experiments.lj20._shared import (
    DATASETS,
    exponents,
    number,
    pool,
    sampled_curves,
)
from truerank_papers.experiments.models import exact_ranks
from truerank_papers.experiments.published import Numbers
from truerank_papers.experiments.ranks import GlobalRanks
from truerank_papers.experiments.recall_curves import sampled_recall
from truerank_papers.experiments.registry import experiment
from truerank_papers.experiments.results import Result, Table
from truerank_papers.experiments.run import Run


@experiment("lj20", "table2", "The exponent of Beta(a, 1) by model and dataset", any_of=DATASETS)
def table2(run: Run) -> Result:
    """By the fixed point of eq. 19."""
    ours: Numbers = {}
    pools = {}
    for dataset in run.at_hand():
        for name, ranks in exact_ranks(run, dataset).items():
            curves = sampled_curves(run, dataset, name, ranks)
            pools[dataset] = pool(ranks)
            ours[name, dataset] = number(exponents(curves, pools[dataset]))
    table = Table.beside("table2", run.published(), ours, digits=4)
    return Result(
        (table,),
        notes=(
            "The fixed point of eq. 19 from sampled ranks, n = 100, with replacement. The "
            "exponent says how far up a model puts its targets, so it is one of the model, not of "
            "the method: ours are other models.",
            "The paper concludes that the exponents of a dataset are close to one another. Ours: "
            f"{_close(table, pools)}.",
            _overstated(run),
        ),
    )


def _close(table: Table, pools: Mapping[str, int]) -> str:
    """The range of the exponents of each dataset, and of the f(k) that they give."""
    said = []
    for dataset, n_items in pools.items():
        cells = [cell for cell in table.cells if cell.key[1] == dataset]
        found = [cell.ours for cell in cells if cell.ours is not None]
        printed = [cell.published for cell in cells if cell.published is not None]
        k = np.arange(1, 101)
        f = np.stack([mapping.beta(k, n_items=n_items, sample_size=100, a=a) for a in found])
        said.append(
            f"{words.between(found, 2)} on {dataset} (printed: {words.between(printed, 2)}), and "
            f"their f(k) differ by up to {np.ptp(f, axis=0).max():.1f} of {n_items:,} ranks"
        )
    return "; ".join(said)


def _overstated(run: Run) -> str:
    """What eq. 19 finds where the exponent is known."""
    a, n_items, n_users = 0.4, 2000, 4000
    share = ((np.arange(n_users) + 0.5) / n_users) ** (1 / a)
    above = np.floor(share * n_items).astype(np.int64)
    ranks = GlobalRanks(above, np.zeros_like(above), np.full_like(above, n_items))
    design = Fixed(sample_size=100, replacement=True)
    curves = sampled_recall(run, f"LJ20 Beta({a}, 1)", ranks, design, 10)
    return (
        "As an estimate of the exponent eq. 19 is biased, since it takes f(r) for the rank of all "
        f"who have r: of users whose ranks follow Beta({a}, 1), {n_items:,} items, n = 100, it "
        f"finds {exponents(curves, n_items).mean():.3f}."
    )
