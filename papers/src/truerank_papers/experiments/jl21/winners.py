"""Tables 4, 8, 9 and 10: how often an estimator puts the best model first."""

from __future__ import annotations

import numpy as np

from truerank_papers.experiments.jl21._shared import ESTIMATORS, METRICS, estimates, exact
from truerank_papers.experiments.models import exact_ranks
from truerank_papers.experiments.published import Number, Numbers
from truerank_papers.experiments.registry import experiment
from truerank_papers.experiments.results import Result, Table
from truerank_papers.experiments.run import Run
from truerank_papers.experiments.winners import best_found, leader


def _winners(run: Run, dataset: str) -> Result:
    ranks = exact_ranks(run, dataset)
    truth = np.stack([exact(one) for one in ranks.values()])
    values = np.stack(list(estimates(run, dataset, ranks).values()))
    right = 100 * best_found(truth, values).mean(axis=0)  # (n_estimators, n_metrics)
    ours: Numbers = {}
    for m, metric in enumerate(METRICS):
        name, k = metric.split("@")
        for e, estimator in enumerate(ESTIMATORS):
            ours[k, name, estimator] = Number(float(right[e, m]))
    said = "; ".join(
        f"{metric}: {leader(dict(zip(ranks, truth[:, m], strict=True)), 1)}"
        for m, metric in enumerate(METRICS)
        if metric.startswith("recall")
    )
    return Result(
        (Table.beside(run.experiment.name, run.published(), ours, digits=0),),
        notes=(
            f"The best of our models, in per mille: {said}.",
            "Who wins, and by how much, is a matter of the models: with others than the paper's "
            "the counts are other counts, and the comparison is one of patterns.",
        ),
    )


@experiment("jl21", "table4", "Winners found on ml-1m", data=["ml-1m"])
def table4(run: Run) -> Result:
    """On ml-1m."""
    return _winners(run, "ml-1m")


@experiment("jl21", "table8", "Winners found on citeulike", data=["citeulike"])
def table8(run: Run) -> Result:
    """On citeulike."""
    return _winners(run, "citeulike")


@experiment("jl21", "table9", "Winners found on yelp", data=["yelp"])
def table9(run: Run) -> Result:
    """On yelp."""
    return _winners(run, "yelp")


@experiment("jl21", "table10", "Winners found on pinterest-20", data=["pinterest-20"])
def table10(run: Run) -> Result:
    """On pinterest-20."""
    return _winners(run, "pinterest-20")
