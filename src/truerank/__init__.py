"""truerank: what a full recommender evaluation would have said, from a sampled one."""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

from truerank._version import __version__

if TYPE_CHECKING:
    from truerank import (
        data,
        designs,
        estimators,
        mapping,
        metrics,
        models,
        plot,
        sampling,
        scoring,
        spark,
    )
    from truerank.errors import InputError
    from truerank.evaluation import Evaluation, count, evaluate, rank
    from truerank.evaluation.auditing import audit
    from truerank.inference.comparing.compare import compare
    from truerank.inference.comparing.comparison import Comparison
    from truerank.inference.estimates import Estimate, Estimates, estimate
    from truerank.inference.planning.plan import plan
    from truerank.inference.planning.planned import Plan
    from truerank.inference.translating.translate import translate
    from truerank.inference.translating.translation import Translation
    from truerank.metrics import Metric
    from truerank.outcomes.counts import RankCounts
    from truerank.outcomes.paired import PairedCounts
    from truerank.outcomes.schemes import Scheme

# Public name -> the module that holds it (None: the name is a module). Loaded on first use.
_PUBLIC: dict[str, str | None] = {
    "Comparison": "inference.comparing.comparison",
    "Estimate": "inference.estimates",
    "Estimates": "inference.estimates",
    "Evaluation": "evaluation",
    "InputError": "errors",
    "Metric": "metrics",
    "PairedCounts": "outcomes.paired",
    "Plan": "inference.planning.planned",
    "RankCounts": "outcomes.counts",
    "Scheme": "outcomes.schemes",
    "Translation": "inference.translating.translation",
    "audit": "evaluation.auditing",
    "compare": "inference.comparing.compare",
    "count": "evaluation",
    "data": None,
    "designs": None,
    "estimate": "inference.estimates",
    "estimators": None,
    "evaluate": "evaluation",
    "mapping": None,
    "metrics": None,
    "models": None,
    "plan": "inference.planning.plan",
    "plot": None,
    "rank": "evaluation",
    "report": None,
    "sampling": None,
    "scoring": None,
    "spark": None,
    "translate": "inference.translating.translate",
}

__all__ = [
    "Comparison",
    "Estimate",
    "Estimates",
    "Evaluation",
    "InputError",
    "Metric",
    "PairedCounts",
    "Plan",
    "RankCounts",
    "Scheme",
    "Translation",
    "__version__",
    "audit",
    "compare",
    "count",
    "data",
    "designs",
    "estimate",
    "estimators",
    "evaluate",
    "mapping",
    "metrics",
    "models",
    "plan",
    "plot",
    "rank",
    "report",
    "sampling",
    "scoring",
    "spark",
    "translate",
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
