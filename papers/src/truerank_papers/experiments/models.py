"""The models of JL21, LJ20 and LJ24, and where they rank the held-out items."""

from __future__ import annotations

from typing import Any

from truerank.models import ALS, EASE, ItemKNN, Model
from truerank_papers.experiments.ranks import GlobalRanks
from truerank_papers.experiments.run import Run
from truerank_papers.models import MultiVAE, NeuMF

MODELS: dict[str, Model[Any]] = {
    "EASE": EASE(),
    "MultiVAE": MultiVAE(),
    "NeuMF": NeuMF(),
    "itemKNN": ItemKNN.jl21(),
    "ALS": ALS(),
}
# An epoch takes seconds on ml-1m and half a minute on catalogues of 10,000 items and more: there,
# fewer epochs of as many steps in all.
SHORTENED = MultiVAE(epochs=10, batch_size=100)
LARGE = {**MODELS, "MultiVAE": SHORTENED}


def exact_ranks(
    run: Run, dataset: str, *names: str, leave_out: bool = False
) -> dict[str, GlobalRanks]:
    """Rank the held-out items of a dataset by the papers' models.

    Parameters
    ----------
    run
        The run that needs them.
    dataset
        Name of the dataset.
    *names
        Names of models; all of them unless stated.
    leave_out
        Whether training items are left out of the ranking.

    Returns
    -------
    dict
        Exact ranks by the name of the model, of those models that can be fitted here.
    """
    known = MODELS if dataset == "ml-1m" else LARGE
    models = {name: known[name] for name in names or known}
    return run.ranks(dataset, models, leave_out=leave_out)
