"""The models of JL21, LJ20 and LJ24, and where they rank the held-out items."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from truerank.models import ALS, EASE, ItemKNN, Model
from truerank_papers.experiments.ranks import GlobalRanks
from truerank_papers.experiments.run import Run
from truerank_papers.models import NGCF, LightGCN, MultiVAE, NeuMF

MODELS: dict[str, Model[Any]] = {
    "EASE": EASE(),
    "MultiVAE": MultiVAE(),
    "NeuMF": NeuMF(),
    "itemKNN": ItemKNN.jl21(),
    "ALS": ALS(),
}
# NGCF is the sixth model of LJ20; LightGCN, its light sibling, is in no paper here, nor is the same
# without a graph, which shows what the graph is worth.
GRAPH: dict[str, NGCF | LightGCN] = {
    "NGCF": NGCF(),
    "LightGCN": LightGCN(),
    "BPR-MF": LightGCN(layers=0),
}
# With fewer interactions, smaller steps: as many of them or more.
SPARSE = {name: replace(model, batch_size=8192) for name, model in GRAPH.items()}
# An epoch takes seconds on ml-1m and half a minute on catalogues of 10,000 items and more: there,
# fewer epochs of as many steps in all.
SHORTENED = MultiVAE(epochs=10, batch_size=100)
LARGE = {**MODELS, "MultiVAE": SHORTENED}


def model_of(name: str, dataset: str) -> Model[Any]:
    """Choose the settings of a model for a dataset.

    Parameters
    ----------
    name
        Name of the model.
    dataset
        Name of the dataset.

    Returns
    -------
    Model
        Its hyper-parameters.
    """
    known: dict[str, Model[Any]] = (
        {**MODELS, **GRAPH} if dataset == "ml-1m" else {**LARGE, **SPARSE}
    )
    return known[name]


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
        Names of models; those of JL21 and LJ24 unless stated.
    leave_out
        Whether training items are left out of the ranking.

    Returns
    -------
    dict
        Exact ranks by the name of the model, of those models that can be fitted here.
    """
    models = {name: model_of(name, dataset) for name in names or MODELS}
    return run.ranks(dataset, models, leave_out=leave_out)
