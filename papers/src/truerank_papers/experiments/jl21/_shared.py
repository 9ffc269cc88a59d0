"""What the tables of JL21 have in common: metrics and redrawn estimates."""

from __future__ import annotations

from truerank import metrics as metrics_module
from truerank._types import FloatArray
from truerank.designs import Fixed
from truerank_papers.experiments.ranks import GlobalRanks
from truerank_papers.experiments.run import Run

ESTIMATORS = ("cls", "bv(gamma=0.1)", "bv(gamma=0.01)", "mle", "wmle", "mes")
CUTS = (1, 5, 10, 20)
SAMPLE_SIZE = 100  # the target included
METRICS = tuple(f"{name}@{k}" for name in ("recall", "ndcg", "ap") for k in CUTS)


def estimates(run: Run, dataset: str, ranks: dict[str, GlobalRanks]) -> dict[str, FloatArray]:
    """Estimate all metrics from sampled evaluations, n = 100.

    Parameters
    ----------
    run
        The run.
    dataset
        Name of the dataset.
    ranks
        Exact ranks by model.

    Returns
    -------
    dict
        Estimates in per mille by model, shape (repeats, n_estimators, n_metrics).
    """
    repeats = run.repeats()
    return {
        name: 1000
        * run.redrawn(
            f"JL21 {dataset} {name}",
            one,
            estimators=ESTIMATORS,
            metrics=METRICS,
            repeats=repeats,
            design=Fixed(sample_size=SAMPLE_SIZE, replacement=True),
        )
        for name, one in ranks.items()
    }


def exact(ranks: GlobalRanks) -> FloatArray:
    """Compute the exact metrics.

    Parameters
    ----------
    ranks
        Exact ranks of a model.

    Returns
    -------
    ndarray
        In per mille, shape (n_metrics,).
    """
    return 1000 * ranks.exact(metrics_module.parse(METRICS))
