"""What the tables of JL21 have in common: metrics and redrawn estimates."""

from __future__ import annotations

from truerank import metrics as metrics_module
from truerank._types import FloatArray
from truerank.designs import Fixed
from truerank_papers.experiments.ranks import GlobalRanks
from truerank_papers.experiments.run import Run

ESTIMATORS = ("cls", "bv(gamma=0.1)", "bv(gamma=0.01)", "mle", "wmle", "mes")
CUTS = (1, 5, 10, 20)
METRICS = tuple(f"{name}@{k}" for name in ("recall", "ndcg", "ap") for k in CUTS)


def estimates(run: Run, dataset: str, ranks: dict[str, GlobalRanks]) -> dict[str, FloatArray]:
    """Of redrawn samples, n = 100, in per mille: (repeats, n_estimators, n_metrics)."""
    repeats = run.repeats()
    return {
        name: 1000
        * run.redrawn(
            f"JL21 {dataset} {name}",
            one,
            estimators=ESTIMATORS,
            metrics=METRICS,
            repeats=repeats,
            design=Fixed(sample_size=100, replacement=True),
        )
        for name, one in ranks.items()
    }


def exact(ranks: GlobalRanks) -> FloatArray:
    """The exact metrics in per mille, (n_metrics,)."""
    return 1000 * ranks.exact(metrics_module.parse(METRICS))
