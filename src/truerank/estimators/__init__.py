"""Estimators of global metrics, one idea per file, and their registry.

By name (``"mle"``), by name with options (``"bv(gamma=0.1)"``) or as objects (``BV(gamma=0.1)``).
"""

from __future__ import annotations

from truerank.estimators import diagnostics
from truerank.estimators._base import Estimator, Fit
from truerank.estimators._posterior import Component, Posterior
from truerank.estimators.cls import CLS
from truerank.estimators.linear import BV, MN
from truerank.estimators.mapped import Mapped
from truerank.estimators.maxent import MES
from truerank.estimators.mle import MLE, WMLE
from truerank.estimators.naive import Naive
from truerank.estimators.rank_estimate import RankEstimate
from truerank.estimators.registry import REGISTRY, describe, get
from truerank.estimators.registry import check as check  # for inference, no part of the face
from truerank.estimators.registry import check_metrics as check_metrics
from truerank.estimators.smooth import Smooth
from truerank.estimators.support import RankDistribution, Support

__all__ = [
    "BV",
    "CLS",
    "MES",
    "MLE",
    "MN",
    "REGISTRY",
    "WMLE",
    "Component",
    "Estimator",
    "Fit",
    "Mapped",
    "Naive",
    "Posterior",
    "RankDistribution",
    "RankEstimate",
    "Smooth",
    "Support",
    "describe",
    "diagnostics",
    "get",
]


def __dir__() -> list[str]:
    return sorted(__all__)
