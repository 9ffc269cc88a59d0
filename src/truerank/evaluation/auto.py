"""Which mode is cheapest: exact, a fixed sample or an adaptive one.

The scorer is timed on a few users. If ranking everything is quick, that is the answer. If not, a
pilot sample gives a first rank distribution, and simulated evaluations from it say what error each
design would make and what it would cost.
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from dataclasses import dataclass, replace

import numpy as np

from truerank import sampling
from truerank.estimators import Estimator
from truerank.inference.simulate import Design, predict_error
from truerank.metrics import Metric
from truerank.schemes import Scheme, doubling
from truerank.scoring import exact
from truerank.scoring._scorer import Scorer
from truerank.scoring.task import Task
from truerank.support import RankDistribution

QUICK = 20.0  # seconds that an exact evaluation may always take
_PILOT_USERS = 1000
_SIMULATED_USERS = 5000


@dataclass(frozen=True)
class Choice:
    """The mode chosen, the design if it samples, and why in one sentence."""

    mode: str  # "exact", "fixed" or "adaptive"
    design: Design | None
    reason: str


def choose(
    scorer: Scorer,
    task: Task,
    metric: Metric,
    estimator: Estimator,
    *,
    error: float,
    budget: float | None,
    replacement: bool,
    seed: int,
) -> Choice:
    """The cheapest mode with a relative error of at most ``error``; within ``budget`` if given.

    ``budget`` is in scored pairs a user; the lowest error it can buy is then taken.
    """
    everything = float(task.n_items.mean())
    whole = _seconds(scorer, task, exact=True)
    if budget is not None and everything <= budget:
        return Choice("exact", None, f"exact: {everything:,.0f} items a user are within the budget")
    if budget is None and whole <= QUICK:
        return Choice("exact", None, f"exact: ranking all items takes about {_span(whole)}")
    a_pair = _seconds(scorer, task, exact=False)
    law = _pilot(scorer, task, estimator, metric, replacement=replacement, seed=seed)
    found = []
    for design in _designs(int(task.n_items.min()), replacement):
        off, pairs = _predict(law, metric, design, task, estimator)
        found.append((off, pairs, design))
        if budget is None and off <= error:
            break
    if budget is not None:
        fitting = [entry for entry in found if entry[1] <= budget] or found[:1]
        off, pairs, design = min(fitting, key=lambda entry: entry[0])
        why = f"the least error that {budget:,.0f} scored pairs a user buy"
    else:
        good = [entry for entry in found if entry[0] <= error]
        if not good:
            return Choice(
                "exact", None, f"exact: no sample reaches an error of {error:.0%} in {metric.key}"
            )
        off, pairs, design = min(good, key=lambda entry: entry[1])
        if pairs * a_pair * task.n_rows >= whole:
            return Choice(
                "exact",
                None,
                f"exact: about {_span(whole)}, no slower than the sample that {error:.0%} needs",
            )
        why = f"the cheapest with an error of at most {error:.0%}"
    mode = "adaptive" if design.scheme.adaptive else "fixed"
    sizes = design.scheme.ladder or (design.sample_size,)
    return Choice(
        mode,
        design,
        f"{mode}: samples of {' to '.join(map(str, sorted({sizes[0], sizes[-1]})))}, about "
        f"{pairs:,.0f} scored pairs a user instead of {everything:,.0f}; predicted error of "
        f"{metric.key} {off:.1%}, {why}",
    )


def _designs(smallest_pool: int, replacement: bool) -> Iterator[Design]:
    """Designs from cheap to dear: fixed and adaptive ones of growing size."""
    size = 100
    while size < smallest_pool:
        yield Design(Scheme(replacement), size)
        if size > 100:
            yield Design(Scheme(replacement, doubling(100, size)))
        size *= 2


def _pilot(
    scorer: Scorer,
    task: Task,
    estimator: Estimator,
    metric: Metric,
    *,
    replacement: bool,
    seed: int,
) -> RankDistribution:
    """A first rank distribution, from adaptive samples of some users."""
    few = task.take(np.arange(min(task.n_rows, _PILOT_USERS)))
    stop = max(100, min(1600, int(few.n_items.min()) - 1))
    start = min(100, stop)
    counts = sampling.count_adaptive(
        scorer, few, ladder=doubling(start, stop), replacement=replacement, seed=seed
    )
    fit = estimator.fit(counts, metrics=[metric], support="auto", plug_in="plain")
    if fit.distribution is None:
        from truerank.estimators import MLE

        fit = MLE().fit(counts, metrics=[metric], support="auto", plug_in="plain")
    assert fit.distribution is not None
    return fit.distribution


def _predict(
    law: RankDistribution, metric: Metric, design: Design, task: Task, estimator: Estimator
) -> tuple[float, float]:
    """Relative error of a design on the whole task, and its scored pairs a user."""
    n_users = min(task.n_rows, _SIMULATED_USERS)
    predicted = predict_error(
        law,
        metric,
        design=design,
        n_users=n_users,
        estimator=estimator,
        n_items=task.n_items,
        repeats=10,
    )
    more_users = np.sqrt(n_users / task.n_rows)  # the spread shrinks, the bias does not
    scaled = replace(predicted, std_error=predicted.std_error * more_users)
    return scaled.relative, predicted.pairs_per_user


def _seconds(scorer: Scorer, task: Task, *, exact: bool) -> float:
    """Seconds of an exact evaluation, or of one scored pair of a sampled one."""
    few = task.take(np.arange(min(task.n_rows, 64 if exact else 256)))
    taken = []
    for _ in range(2):  # the first run may compile and warm up
        begin = time.perf_counter()
        if exact:
            _exact_count(scorer, few)
        else:
            sampling.count_fixed(scorer, few, sample_size=_small(few), replacement=True, seed=0)
        taken.append(time.perf_counter() - begin)
    per_row = min(taken) / few.n_rows
    return per_row * task.n_rows if exact else per_row / (_small(few) - 1)


def _exact_count(scorer: Scorer, task: Task) -> None:
    exact.count(scorer, task, progress=False)


def _small(task: Task) -> int:
    return int(min(100, task.n_items.min()))


def _span(seconds: float) -> str:
    if seconds < 1:
        return "a second"
    return f"{seconds:.0f} s" if seconds < 120 else f"{seconds / 60:.0f} minutes"
