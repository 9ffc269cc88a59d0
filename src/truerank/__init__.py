"""truerank: what a full recommender evaluation would have said, from a sampled one."""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from truerank import estimators, mapping, metrics, schemes
    from truerank.counts import RankCounts
    from truerank.errors import InputError
    from truerank.estimates import Estimate, Estimates, estimate
    from truerank.metrics import Metric

__version__ = "0.1.0"

# Public name -> the module that holds it (None: the name is a module). Loaded on first use.
_PUBLIC: dict[str, str | None] = {
    "Estimate": "estimates",
    "Estimates": "estimates",
    "InputError": "errors",
    "Metric": "metrics",
    "RankCounts": "counts",
    "estimate": "estimates",
    "estimators": None,
    "mapping": None,
    "metrics": None,
    "schemes": None,
}

__all__ = [
    "Estimate",
    "Estimates",
    "InputError",
    "Metric",
    "RankCounts",
    "__version__",
    "estimate",
    "estimators",
    "mapping",
    "metrics",
    "schemes",
]


def __getattr__(name: str) -> Any:
    if name not in _PUBLIC:
        raise AttributeError(f"module 'truerank' has no attribute {name!r}")
    home = _PUBLIC[name]
    module = importlib.import_module(f"truerank.{home or name}")
    value = module if home is None else getattr(module, name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted(__all__)
