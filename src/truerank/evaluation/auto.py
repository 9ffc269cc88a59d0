"""Which mode is cheapest: exact, a fixed sample or an adaptive one.

The scorer is timed on a few users. If ranking everything is quick, that is the answer. If not, a
pilot sample gives a first rank distribution, and simulated evaluations from it say what error each
design would make and what it would cost. Where the break-even of sampling lies follows from the
times, and so does whether negatives shared by blocks of users are worth their scatter.
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from dataclasses import dataclass, replace

import numpy as np

from truerank import sampling
from truerank.designs import USUAL_BUDGET, Adaptive
from truerank.estimators import Estimator
from truerank.estimators.support import RankDistribution
from truerank.inference.planning.simulate import Design, crowd, predict_error
from truerank.metrics import Metric
from truerank.outcomes.schemes import Scheme
from truerank.scoring import exact
from truerank.scoring.factors import Factors
from truerank.scoring.scorer import Scorer
from truerank.scoring.task import Task

Negatives = str | sampling.SharedBlocks
QUICK = 20.0  # seconds that an exact evaluation may always take
# Standard deviation under shared negatives, in those of users' own: the largest measured for blocks
# of 64 (docs/benchmarks-evaluation.md).
SHARED_SCATTER = 2.1
_PILOT_USERS = 1000
_SIMULATED_USERS = 5000


@dataclass(frozen=True)
class Choice:
    """The mode chosen, the design if it samples, and why in one sentence."""

    mode: str  # "exact", "fixed" or "adaptive"
    design: Design | None
    reason: str
    negatives: Negatives | sampling.FrozenNegatives = "per-user"


@dataclass(frozen=True)
class _Candidate:
    """A design, its relative error, scored pairs a user and seconds."""

    design: Design
    negatives: Negatives
    error: float
    pairs: float
    seconds: float


def choose(
    scorer: Scorer,
    task: Task,
    metric: Metric,
    estimator: Estimator,
    *,
    error: float,
    budget: float | None,
    ladder: Adaptive,
    replacement: bool,
    seed: int,
    negatives: Negatives | None = None,
) -> Choice:
    """The cheapest mode with a relative error of at most ``error``, or what ``budget`` buys.

    Within a budget (scored pairs a user) that is an exact evaluation, or else the adaptive one
    that spends it: it adapts to the model by itself. ``negatives`` are those of
    `sampling.sampled_counts`; without, sharing is weighed, but for a budget, as it makes no pair
    cheaper.
    """
    everything = float(task.n_items.mean())
    if budget is not None:
        if everything - 1 <= budget:
            return Choice(
                "exact", None, f"exact: {everything:,.0f} items a user are within the budget"
            )
        said = f"{budget:,.0f} scored pairs a user instead of {everything:,.0f}"
        if negatives not in (None, "per-user"):
            fixed = Design(Scheme(replacement), int(budget) + 1)
            return Choice("fixed", fixed, f"fixed, with shared negatives: {said}", negatives)
        spent = adaptive(ladder, task, budget, replacement=replacement)
        return Choice("adaptive", spent, f"adaptive: {said}")
    whole = _seconds(scorer, task)
    if whole <= QUICK:
        return Choice("exact", None, f"exact: ranking all items takes about {_span(whole)}")
    law = _pilot(scorer, task, estimator, metric, ladder, replacement=replacement, seed=seed)
    # Sharing makes products of factors faster.
    both = ("per-user", "shared-block") if isinstance(scorer, Factors) else ("per-user",)
    kinds: tuple[Negatives, ...] = both if negatives is None else (negatives,)
    pair = {kind: _seconds(scorer, task, kind) for kind in kinds}
    found: list[_Candidate] = []
    for design in _designs(task, ladder, replacement=replacement):
        found += _predict(law, metric, design, task, estimator, pair)
        if all(any(c.error <= error for c in found if c.negatives == kind) for kind in pair):
            break
    good = [c for c in found if c.error <= error]
    if not good:
        return Choice(
            "exact", None, f"exact: no sample reaches an error of {error:.0%} in {metric.key}"
        )
    best = min(good, key=lambda c: c.seconds)
    if best.seconds >= whole:
        return Choice(
            "exact",
            None,
            f"exact: about {_span(whole)}, no slower than the sample that {error:.0%} needs",
        )
    mode = "adaptive" if best.design.scheme.adaptive else "fixed"
    shared = ", shared by blocks of users" if best.negatives != "per-user" else ""
    return Choice(
        mode,
        best.design,
        f"{mode}: about {best.pairs:,.0f} scored pairs a user{shared}, instead of "
        f"{everything:,.0f}; predicted error of {metric.key} {best.error:.1%}, the cheapest with "
        f"an error of at most {error:.0%}",
        best.negatives,
    )


def adaptive(ladder: Adaptive, task: Task, budget: float | None, *, replacement: bool) -> Design:
    """Adaptive samples for a task, within a budget."""
    return Design(Scheme(replacement, ladder.ladder(task.catalogue), ladder.hits), budget=budget)


def _designs(task: Task, ladder: Adaptive, *, replacement: bool) -> Iterator[Design]:
    """Designs from cheap to dear: adaptive and fixed ones of growing cost."""
    budget = 50
    while budget < task.n_items.mean():
        yield adaptive(ladder, task, budget, replacement=replacement)
        if budget < task.n_items.min():
            yield Design(Scheme(replacement), budget + 1)
        budget *= 2


def _pilot(
    scorer: Scorer,
    task: Task,
    estimator: Estimator,
    metric: Metric,
    ladder: Adaptive,
    *,
    replacement: bool,
    seed: int,
) -> RankDistribution:
    """A first rank distribution, from adaptive samples of some users."""
    few = task.take(np.arange(min(task.n_rows, _PILOT_USERS)))
    counts = sampling.count_adaptive(
        scorer,
        few,
        ladder=ladder.ladder(task.catalogue),
        hits=ladder.hits,
        budget=USUAL_BUDGET,
        replacement=replacement,
        seed=seed,
    )
    fit = estimator.fit(counts, metrics=[metric], support="auto", plug_in="plain")
    if fit.distribution is None:
        from truerank.estimators import MLE

        fit = MLE().fit(counts, metrics=[metric], support="auto", plug_in="plain")
    assert fit.distribution is not None
    return fit.distribution


def _predict(
    law: RankDistribution,
    metric: Metric,
    design: Design,
    task: Task,
    estimator: Estimator,
    pair: dict[Negatives, float],
) -> Iterator[_Candidate]:
    """What a design would do on the whole task, for each kind of negatives and its time a pair."""
    n_users = min(task.n_rows, _SIMULATED_USERS)
    users = crowd(law, n_users, task.n_items)
    predicted = predict_error(users, metric, design=design, estimator=estimator)
    more_users = np.sqrt(n_users / task.n_rows)  # the spread shrinks, the bias does not
    for kind, seconds in pair.items():
        shared = kind != "per-user"
        if shared and design.scheme.adaptive:
            continue
        spread = predicted.std_error * more_users * (SHARED_SCATTER if shared else 1.0)
        yield _Candidate(
            design,
            kind,
            replace(predicted, std_error=spread).relative,
            predicted.pairs_per_user,
            predicted.pairs_per_user * seconds * task.n_rows,
        )


def _seconds(scorer: Scorer, task: Task, negatives: Negatives | None = None) -> float:
    """Seconds of an exact evaluation, or of one scored pair with such negatives."""
    few = task.take(np.arange(min(task.n_rows, 64 if negatives is None else 256)))
    size = int(min(100, few.n_items.min()))
    taken = []
    for _ in range(2):  # the first run may compile and warm up
        begin = time.perf_counter()
        if negatives is None:
            exact.count(scorer, few, progress=False)
        else:
            sampling.count_fixed(
                scorer,
                few,
                sample_size=size,
                replacement=True,
                seed=0,
                negatives=negatives,
                progress=False,
            )
        taken.append(time.perf_counter() - begin)
    per_row = min(taken) / few.n_rows
    return per_row * task.n_rows if negatives is None else per_row / (size - 1)


def _span(seconds: float) -> str:
    if seconds < 1:
        return "a second"
    return f"{seconds:.0f} s" if seconds < 120 else f"{seconds / 60:.0f} minutes"
