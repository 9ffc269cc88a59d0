"""Intervals of 15 metrics, by gains to first order, against 1,000 refits of redrawn tables.

6,040 users with a pool each, 99 negatives: the size of ml-1m. Both sides redraw from the same fit;
that fit and the value are found before the clock starts.
"""

from __future__ import annotations

import time
from collections.abc import Iterator

import numpy as np

import truerank as tr
from benchmarks._race import Result
from benchmarks.smooth import pools_by_user
from truerank.inference.intervals.error_law import ErrorLaw, error_law
from truerank.inference.intervals.fitting import Fitted

METRICS = tr.metrics.parse(["recall", "ndcg", "ap"], k=[1, 5, 10, 20, 50])
NAMES = ("mle", "wmle", "mes", "bv-mle", "bv-mes", "mn-mle", "mn-mes")
GOAL_SECONDS = 2.0
ALLOWED = 0.25  # of a standard error; refits know theirs within 3 %, and gains err to second order


def run() -> Iterator[Result]:
    """Each estimator once: refits take long."""
    counts = pools_by_user()
    for name in NAMES:
        fitted = Fitted.of(counts, tr.estimators.get(name), METRICS)
        fitted.reference  # noqa: B018 - found once, outside of the clock
        quick, seconds = _timed(fitted, gains=True)
        slow, reference = _timed(fitted, gains=False)
        yield Result(
            f"interval of {name}, 15 metrics, {counts.n_users:,.0f} users' own pools",
            seconds,
            reference,
            "1,000 refits",
            at_most=GOAL_SECONDS,
            difference=float(np.max(np.abs(quick.negatives / slow.negatives - 1.0))),
            allowed=ALLOWED,
            note="difference: of standard errors",
        )


def _timed(fitted: Fitted, *, gains: bool) -> tuple[ErrorLaw, float]:
    start = time.process_time()
    law = error_law(
        fitted.counts,
        fitted.fit,
        fitted.reference,
        fitted.estimator,
        METRICS,
        gains=gains,
        progress=False,
    )
    return law, time.process_time() - start
