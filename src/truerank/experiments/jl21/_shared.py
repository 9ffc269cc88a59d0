"""What the tables of JL21 have in common: models, metrics, redrawn estimates."""

from __future__ import annotations

from typing import Any

from truerank import metrics as metrics_module
from truerank._checks import FloatArray
from truerank.experiments.ranks import GlobalRanks
from truerank.experiments.run import Run, fixed
from truerank.models import ALS, EASE, ItemKNN, Model, MultiVAE, NeuMF

ESTIMATORS = ("cls", "bv(gamma=0.1)", "bv(gamma=0.01)", "mle", "wmle", "mes")
CUTS = (1, 5, 10, 20)
METRICS = tuple(f"{name}@{k}" for name in ("recall", "ndcg", "ap") for k in CUTS)
MODELS: dict[str, Model[Any]] = {
    "EASE": EASE(),
    "MultiVAE": MultiVAE(),
    "NeuMF": NeuMF(),
    "itemKNN": ItemKNN.jl21(),
    "ALS": ALS(),
}
# An epoch takes seconds on ml-1m and half a minute on catalogues of 10,000 items and more: there,
# fewer epochs of as many steps in all.
LARGE = {**MODELS, "MultiVAE": MultiVAE(epochs=10, batch_size=100)}


def exact_ranks(run: Run, dataset: str, *names: str) -> dict[str, GlobalRanks]:
    """Exact ranks among all items, of the models that can be fitted here."""
    known = MODELS if dataset == "ml-1m" else LARGE
    models = {name: known[name] for name in names or known}
    return run.ranks(dataset, models, leave_out=False)


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
            design=fixed(100, replacement=True),
        )
        for name, one in ranks.items()
    }


def exact(ranks: GlobalRanks) -> FloatArray:
    """The exact metrics in per mille, (n_metrics,)."""
    return 1000 * ranks.exact(metrics_module.parse(METRICS))
