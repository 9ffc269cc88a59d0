"""Models to evaluate: for demonstrations and baselines.

A model is a frozen set of hyper-parameters; ``fit`` takes interactions and returns a scorer::

    scorer = tr.models.EASE(regularisation=200.0).fit(train, item_ids=catalogue)
"""

from __future__ import annotations

from truerank.models._base import Model
from truerank.models.als import ALS
from truerank.models.cache import fit_cached
from truerank.models.ease import EASE
from truerank.models.ials import IALS, FittedFactors
from truerank.models.item_knn import ItemKNN
from truerank.models.popularity import Popularity

__all__ = [
    "ALS",
    "EASE",
    "IALS",
    "FittedFactors",
    "ItemKNN",
    "Model",
    "Popularity",
    "fit_cached",
]


def __dir__() -> list[str]:
    return sorted(__all__)
