"""Beside table 4: what `smooth` does where training items are left out, and its intervals."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import numpy as np

from truerank import metrics as metrics_module
from truerank._types import FloatArray
from truerank.designs import Fixed
from truerank.inference import estimates
from truerank_papers.experiments.lj24._shared import (
    METRICS,
    PRINTED,
    TOP,
    exact,
    number,
    relative_error,
)
from truerank_papers.experiments.models import exact_ranks
from truerank_papers.experiments.published import Number, Numbers
from truerank_papers.experiments.ranks import GlobalRanks
from truerank_papers.experiments.results import Table
from truerank_papers.experiments.run import Run

REPEATS = 20
QUICK = ("EASE", "itemKNN", "ALS")  # to rank
HELD = ("recall@1", "recall@10", "recall@50")
DESIGN = Fixed(sample_size=100, replacement=True)


def _ranks(run: Run, *, leave_out: bool) -> Iterator[tuple[str, str, GlobalRanks]]:
    """Dataset, model and ranks, of the small datasets."""
    for dataset in run.at_hand():
        if dataset not in PRINTED:
            names = QUICK if leave_out else ()
            for model, ranks in exact_ranks(run, dataset, *names, leave_out=leave_out).items():
                yield dataset, model, ranks


def left_out(run: Run) -> Table:
    """Measure the errors of `mle` and `smooth` with training items left out, n = 100.

    Parameters
    ----------
    run
        The run.

    Returns
    -------
    Table
        Errors by dataset, model and estimator, in percent.
    """
    names, repeats = ("mle", "smooth"), min(run.repeats(), REPEATS)
    ours: Numbers = {}
    for dataset, model, ranks in _ranks(run, leave_out=True):
        values = run.redrawn(
            f"LJ24 {dataset} {model} left out",
            ranks,
            estimators=names,
            metrics=METRICS[:TOP],
            repeats=repeats,
            design=DESIGN,
            part=5,  # a pool for every user: many outcomes
        )
        truth = exact(ranks)[:TOP]
        for e, name in enumerate(names):
            ours[dataset, model, name] = number(relative_error(values[:, e], truth))
    return Table.beside(
        "table4-left-out",
        None,
        ours,
        keys=("dataset", "model", "estimator"),
        unit=f"percent, {repeats} repeats, training items left out",
    )


def coverage(run: Run) -> Table:
    """Count how often intervals by `smooth` hold the exact value, n = 100.

    Parameters
    ----------
    run
        The run.

    Returns
    -------
    Table
        Percentages by ranking (training items in it or left out), dataset, model and metric.
    """
    repeats = min(run.repeats(), REPEATS)
    ours: Numbers = {}
    for ranking, leave_out in (("all items", False), ("training items left out", True)):
        for dataset, model, ranks in _ranks(run, leave_out=leave_out):
            what = f"LJ24 {dataset} {model} intervals"
            held = run.repeated(
                what,
                _holds(run, what, ranks),
                key=[ranks.digest, repr(DESIGN), list(HELD)],
                repeats=repeats,
                part=5,
            )
            for metric, share in zip(HELD, 100 * held.mean(axis=0), strict=True):
                ours[ranking, dataset, model, metric] = Number(float(share))
    return Table.beside(
        "table4-intervals",
        None,
        ours,
        keys=("ranking", "dataset", "model", "metric"),
        unit=f"percent of {repeats} repeats",
        digits=0,
    )


def _holds(run: Run, what: str, ranks: GlobalRanks) -> Callable[[int, int], FloatArray]:
    """A function of repeats: whether the interval holds the exact value, (repeats, n_metrics)."""
    truth = dict(zip(HELD, ranks.exact(metrics_module.parse(HELD)), strict=True))

    def holds(first: int, last: int) -> FloatArray:
        found = []
        for rng in run.rngs(what, first, last):
            outcomes, weight = ranks.sampled(DESIGN, [rng])
            fit = estimates.estimate(outcomes.reweighted(weight[0]), HELD, estimator="smooth")
            found.append([fit[name].low <= truth[name] <= fit[name].high for name in HELD])
        return np.array(found, dtype=np.float64)

    return holds
