"""Models as scorers: what `rank`, `count` and `evaluate` ask for scores.

`Factors` (vectors), `Dense` (a matrix of scores), `ItemWeights` (a history times weights between
items), `Callable` (any function), `Torch` (a module) and `adapters` for other libraries. Each loads
what it needs when it is first used.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from truerank import _lazy

if TYPE_CHECKING:
    from truerank.scoring import adapters as adapters
    from truerank.scoring.dense import Dense as Dense
    from truerank.scoring.factors import Factors as Factors
    from truerank.scoring.function import Callable as Callable
    from truerank.scoring.scorer import Scorer as Scorer
    from truerank.scoring.torch import Torch as Torch
    from truerank.scoring.weights import ItemWeights as ItemWeights
else:
    __getattr__, __dir__, __all__ = _lazy.attach(
        __name__,
        {
            "Callable": "function",
            "Dense": "dense",
            "Factors": "factors",
            "ItemWeights": "weights",
            "Scorer": "scorer",
            "Torch": "torch",
            "adapters": None,
        },
    )
