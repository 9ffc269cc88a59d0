"""Models as scorers, and their exact ranks.

`Factors` (vectors), `Dense` (a matrix of scores), `ItemWeights` (a history times weights between
items), `Callable` (any function), `Torch` (a module) and `adapters` for other libraries; each loads
what it needs when it is first used.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from truerank.scoring import adapters
    from truerank.scoring.dense import Dense
    from truerank.scoring.factors import Factors
    from truerank.scoring.function import Callable
    from truerank.scoring.scorer import Scorer
    from truerank.scoring.torch import Torch
    from truerank.scoring.weights import ItemWeights

__all__ = ["Callable", "Dense", "Factors", "ItemWeights", "Scorer", "Torch", "adapters"]

_HOMES = {
    "Callable": "function",
    "Dense": "dense",
    "Factors": "factors",
    "ItemWeights": "weights",
    "Scorer": "scorer",
    "Torch": "torch",
}


def __getattr__(name: str) -> Any:
    if name == "adapters":
        return importlib.import_module("truerank.scoring.adapters")
    if name not in _HOMES:
        raise AttributeError(f"module 'truerank.scoring' has no attribute {name!r}")
    return getattr(importlib.import_module(f"truerank.scoring.{_HOMES[name]}"), name)
