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
LARGE = {**MODELS, "MultiVAE": MultiVAE(epochs=10, batch_size=100)}


def exact_ranks(
    run: Run, dataset: str, *names: str, leave_out: bool = False
) -> dict[str, GlobalRanks]:
    """Exact ranks by model, of those that can be fitted here; all of them unless named.

    Among all items, or with training items left out (``leave_out``).
    """
    known = MODELS if dataset == "ml-1m" else LARGE
    models = {name: known[name] for name in names or known}
    return run.ranks(dataset, models, leave_out=leave_out)
