"""truerank: what a full recommender evaluation would have said, from a sampled one."""

from __future__ import annotations

from typing import TYPE_CHECKING

from truerank import _lazy
from truerank._version import __version__ as __version__

if TYPE_CHECKING:
    from truerank import data as data
    from truerank import designs as designs
    from truerank import errors as errors
    from truerank import estimators as estimators
    from truerank import integrations as integrations
    from truerank import mapping as mapping
    from truerank import metrics as metrics
    from truerank import models as models
    from truerank import plot as plot
    from truerank import report as report
    from truerank import sampling as sampling
    from truerank import scoring as scoring
    from truerank import spark as spark
    from truerank.errors import InputError as InputError
    from truerank.evaluation import Evaluation as Evaluation
    from truerank.evaluation import count as count
    from truerank.evaluation import evaluate as evaluate
    from truerank.evaluation import rank as rank
    from truerank.evaluation.auditing import audit as audit
    from truerank.evaluation.monitor import Monitor as Monitor
    from truerank.inference.comparing.compare import compare as compare
    from truerank.inference.comparing.comparison import Comparison as Comparison
    from truerank.inference.estimates import Estimate as Estimate
    from truerank.inference.estimates import Estimates as Estimates
    from truerank.inference.estimates import estimate as estimate
    from truerank.inference.planning.plan import plan as plan
    from truerank.inference.planning.planned import Plan as Plan
    from truerank.inference.translating.translate import translate as translate
    from truerank.inference.translating.translation import Translation as Translation
    from truerank.inference.translating.translations import TranslatedTable as TranslatedTable
    from truerank.metrics import Metric as Metric
    from truerank.outcomes.counts import RankCounts as RankCounts
    from truerank.outcomes.paired import PairedCounts as PairedCounts
    from truerank.outcomes.schemes import Scheme as Scheme
else:
    # Public name -> the module that holds it (None: the name is a module).
    __getattr__, __dir__, __all__ = _lazy.attach(
        __name__,
        {
            "Comparison": "inference.comparing.comparison",
            "Estimate": "inference.estimates",
            "Estimates": "inference.estimates",
            "Evaluation": "evaluation",
            "InputError": "errors",
            "Metric": "metrics",
            "Monitor": "evaluation.monitor",
            "PairedCounts": "outcomes.paired",
            "Plan": "inference.planning.planned",
            "RankCounts": "outcomes.counts",
            "Scheme": "outcomes.schemes",
            "TranslatedTable": "inference.translating.translations",
            "Translation": "inference.translating.translation",
            "audit": "evaluation.auditing",
            "compare": "inference.comparing.compare",
            "count": "evaluation",
            "data": None,
            "designs": None,
            "errors": None,
            "estimate": "inference.estimates",
            "estimators": None,
            "evaluate": "evaluation",
            "integrations": None,
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
        },
        loaded=["__version__"],
    )
