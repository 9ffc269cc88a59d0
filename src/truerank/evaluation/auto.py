"""Turn `Auto` into the design that serves the first metric best.

Without a budget that is an exact evaluation if it is quick, else the cheapest design whose error,
predicted by simulating evaluations from a pilot's rank distribution, is small enough. Within a
budget of pairs or seconds it is an exact evaluation if that is covered, else whichever of an
adaptive and a fixed sample is predicted to err less.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass, replace

import numpy as np

from truerank.designs import Adaptive, Auto, Design, Exact, Fixed
from truerank.errors import InputError
from truerank.estimators import Estimator
from truerank.estimators.support import RankDistribution
from truerank.evaluation.pilot import ROW_USERS, START, Pilot, distribution
from truerank.inference.planning.simulate import PredictedError, crowd, predict_error
from truerank.metrics import Metric
from truerank.sampling.carry_out import negatives_within
from truerank.scoring.factors import Factors
from truerank.scoring.ledger import is_function
from truerank.scoring.scorer import Scorer
from truerank.scoring.task import Task

QUICK = 20.0  # seconds that an exact evaluation may always take
SHARED_BY = 64
# Standard deviation under shared negatives, in those of users' own: the largest measured for blocks
# of 64 (docs/benchmarks-evaluation.md).
SHARED_SCATTER = 2.1
_TINY = 2e8  # multiplications, which are quicker than timing them
_PILOT_USERS = 1000
_PILOT_SHARE = 0.1  # of a budget
_FEWEST_USERS = 50  # of a pilot
_AT_ONCE = "ranking all items takes less than a second"
_ROUND = 16  # users of the first look at what a pair takes
_SIMULATED_USERS = 5000


@dataclass(frozen=True)
class Choice:
    """The design chosen, why in one sentence, and the pairs that choosing took."""

    design: Design
    reason: str
    cost: int


def choose(
    scorer: Scorer,
    task: Task,
    metric: Metric,
    estimator: Estimator,
    asked: Auto,
    *,
    seed: int,
    n_users: int | None = None,
) -> Choice:
    """The design for what was asked.

    Parameters
    ----------
    scorer : Scorer
        A `Ledger`, or a scorer that is computed.
    task : Task
        The targets, or those of a part of the users.
    metric : Metric
        Whose error counts.
    estimator : Estimator
        That the evaluation will use.
    asked : Auto
        The error, the budget or the time.
    seed : int
        Seed of the evaluation, whose negatives the pilot begins with.
    n_users : int, optional
        Users of the whole evaluation.

    Returns
    -------
    Choice
        What to do.
    """
    pilot = Pilot(scorer, task, seed=seed, n_users=n_users)
    metric = metric.bound(task.n_items, 1.0 / task.n_targets)
    if asked.budget is not None:
        found = _within_pairs(pilot, metric, estimator, asked.budget)
    elif asked.seconds is not None:
        found = _within_seconds(pilot, metric, estimator, asked.seconds)
    else:
        _check_price(pilot)
        found = _to_error(pilot, metric, estimator, asked.error)
    design, reason = found
    if asked.users is not None and design.users is None:
        design = replace(design, users=asked.users, stratified=asked.stratified)
    return Choice(design, f"{design!r}: {reason}", pilot.cost)


def shrunk(carried: Design, design: Design, reason: str) -> str:
    """The reason for a design that calls which failed left no money for.

    Parameters
    ----------
    carried : Design
        That was carried out.
    design : Design
        That was chosen.
    reason : str
        Why it was chosen.

    Returns
    -------
    str
        One sentence, which begins with the design that was carried out.
    """
    return f"{carried!r} instead of {reason}; calls failed, and what was left covers no more"


def _check_price(pilot: Pilot) -> None:
    """Nobody's money is spent without a word: a `Callable` may cost per pair."""
    if not is_function(pilot.scorer):
        return
    n_users, mean_pool = pilot.n_users, float(pilot.task.n_items.mean())
    asks = ", ".join(
        f"{design!r} up to {n_users * (design.pairs(mean_pool, pilot.beside) or 0):,.0f} pairs"
        for design in (Auto(budget=50), Adaptive(), Fixed(num_negatives=99))
    )
    raise InputError(
        f"the scorer is a Callable, whose pairs may cost money, and the design Auto without a "
        f"bound; say what to ask for: {asks}, Exact() {n_users * pilot.everything:,.0f} pairs, "
        "Auto(seconds=60) what fits the time"
    )


def _within_pairs(
    pilot: Pilot, metric: Metric, estimator: Estimator, budget: float
) -> tuple[Design, str]:
    """What errs least within a budget of pairs per user, the pilot's own among them."""
    everything = pilot.everything
    if everything <= budget:
        return Exact(), f"all {everything:,.0f} items per user are within the budget of {budget:g}"
    negatives_within(budget, pilot.task)  # raises if it does not cover the targets
    n_users, least = _PILOT_USERS, min(_FEWEST_USERS, pilot.n_users)
    if pilot.ledger is None:  # what is computed is not remembered: the pilot is an expense
        share = _PILOT_SHARE * budget if (1 - _PILOT_SHARE) * budget > pilot.beside + 2 else 0
        n_users = min(n_users, int(share * pilot.n_users / (START - 1 + pilot.beside)))
    within = f"within {budget:,.6g} scored pairs per user instead of {everything:,.0f}"
    if n_users < least:
        return Adaptive(budget=budget), f"{within}; there is no room for a pilot"
    before = pilot.spent  # by timing, which a budget in seconds has left out
    law = distribution(pilot.start(budget, n_users), metric, estimator)
    left = budget - math.ceil(pilot.spent - before)
    candidates: list[Design] = [Adaptive(budget=left)]
    size = pilot.sample_size(left)
    if size <= pilot.task.n_items.min():
        candidates.append(Fixed(sample_size=size))
    return _better(candidates, law, pilot, metric, estimator, within)


def _better(
    candidates: list[Design],
    law: RankDistribution,
    pilot: Pilot,
    metric: Metric,
    estimator: Estimator,
    within: str,
) -> tuple[Design, str]:
    """The design with the smallest predicted error, and what the others would do."""
    errors = {
        design: _relative(_predict(law, metric, design, pilot, estimator), pilot)
        for design in candidates
    }
    best, *others = sorted(candidates, key=lambda design: errors[design])
    text = f"{within}; predicted error of {metric.key} {100 * errors[best]:.1f} %"
    return best, text + "".join(
        f", against {100 * errors[other]:.1f} % by {other!r}" for other in others
    )


def _within_seconds(
    pilot: Pilot, metric: Metric, estimator: Estimator, seconds: float
) -> tuple[Design, str]:
    """What errs least of what takes about so long."""
    if pilot.ledger is None or pilot.scorer.scores_rows:
        if seconds >= 1.0 and pilot.multiplications <= _TINY and pilot.ledger is None:
            return Exact(), _AT_ONCE
        whole = pilot.seconds_exact()
        if whole <= seconds:
            return Exact(), f"ranking all items takes about {_span(whole)}"
        if pilot.ledger is not None:  # a pair costs as much as all items of its user
            n_users = max(ROW_USERS, int(pilot.n_users * seconds / whole))
            return Exact(users=min(n_users, pilot.n_users)), (
                f"this model scores all items of a user at a time; all users would take about "
                f"{_span(whole)}"
            )
        pairs = seconds / pilot.seconds_per_pair() / pilot.n_users
        return _within_pairs(pilot, metric, estimator, _at_least(pairs, pilot))
    for n_users, size in _rounds(pilot):
        pilot.start(pilot.everything, n_users, size)
        if pilot.ledger.seconds >= min(seconds / 10, 1.0):
            break  # the time per pair is known well enough
        if pilot.ledger.asked and n_users >= pilot.task.n_users:
            break
    per_pair = pilot.seconds_per_asked_pair()
    if per_pair is None:
        return _from_cache(pilot)
    left = max(seconds - pilot.ledger.seconds, 0.0) / max(per_pair, 1e-12)
    budget = (pilot.ledger.known + left) / pilot.n_users
    if budget >= pilot.everything:
        whole = per_pair * pilot.everything * pilot.n_users
        return Exact(), f"ranking all items takes about {_span(whole)}"
    size = min(START, int(pilot.task.n_items.min()))
    if budget < size - 1 + pilot.beside:  # those who were looked at have so many
        n_users = max(_ROUND, int(budget * pilot.n_users / (size - 1 + pilot.beside)))
        return Fixed(sample_size=size, users=min(n_users, pilot.n_users)), (
            f"a pair takes about {per_pair:.2g} s, so that there is no time for all users"
        )
    return _within_pairs(pilot, metric, estimator, math.floor(budget))


def _rounds(pilot: Pilot) -> Iterator[tuple[int, int]]:
    """Users and sample sizes to look at, more and more, until something has to be asked for."""
    size = START
    while True:
        n_users = _ROUND
        yield n_users, size
        while n_users < pilot.task.n_users:
            n_users *= 4
            yield n_users, size
        if size >= pilot.task.n_items.min():
            return
        size *= 2


def _from_cache(pilot: Pilot) -> tuple[Design, str]:
    """The largest sample of all users, none of which had to be asked for."""
    size, largest = int(pilot.task.n_items.min()), int(pilot.task.n_items.max())
    design = Exact() if size == largest else Fixed(sample_size=size)
    return design, "all its scores are in the scorer's cache, so that nothing was timed"


def _at_least(budget: float, pilot: Pilot) -> float:
    """A whole number of pairs per user, enough for each target and one negative."""
    return max(math.floor(budget), math.ceil(pilot.beside + 1))


def _to_error(
    pilot: Pilot, metric: Metric, estimator: Estimator, error: float
) -> tuple[Design, str]:
    """The quickest design with a relative error of at most ``error``."""
    if pilot.ledger is None:
        if pilot.multiplications <= _TINY:
            return Exact(), _AT_ONCE
        whole = pilot.seconds_exact()
    elif pilot.scorer.scores_rows:
        return Exact(), "this model scores all items of a user at a time: samples are no cheaper"
    else:
        pilot.start(pilot.everything, _ROUND)
        whole = (pilot.seconds_per_asked_pair() or 0.0) * pilot.everything * pilot.n_users
    if whole <= QUICK:
        return Exact(), f"ranking all items takes about {_span(whole)}"
    law = distribution(pilot.counts(Adaptive(), _PILOT_USERS), metric, estimator)
    pair: dict[int | None, float] = {None: pilot.seconds_per_asked_pair() or 0.0}
    if pilot.ledger is None:
        pair[None] = pilot.seconds_per_pair()
    if isinstance(pilot.scorer, Factors):  # sharing makes products of factors faster
        pair[SHARED_BY] = pilot.seconds_per_pair(shared_by=SHARED_BY)
    found: list[tuple[float, float, Design]] = []  # seconds, error, design
    for design in _growing(pilot):
        predicted = _predict(law, metric, design, pilot, estimator)
        for shared_by, seconds in pair.items():
            if shared_by is not None and not isinstance(design, Fixed):
                continue
            here = replace(design, shared_by=shared_by) if isinstance(design, Fixed) else design
            wide = SHARED_SCATTER if shared_by is not None else 1.0
            off = _relative(predicted, pilot, wide)
            if off <= error:
                n_pairs = (predicted.pairs_per_user + pilot.kept) * pilot.n_users
                found.append((n_pairs * seconds, off, here))
        if len({getattr(design, "shared_by", None) for *_, design in found}) == len(pair):
            break
    if not found:
        return Exact(), f"no sample reaches an error of {100 * error:.1f} % in {metric.key}"
    seconds, off, best = min(found, key=lambda one: one[0])
    if seconds >= whole:
        return Exact(), (
            f"about {_span(whole)}, no slower than the sample that an error of {100 * error:.1f} % "
            "needs"
        )
    return best, (
        f"predicted error of {metric.key} {100 * off:.1f} % in about {_span(seconds)}, the "
        f"cheapest with at most {100 * error:.1f} %; ranking all items takes about {_span(whole)}"
    )


def _growing(pilot: Pilot) -> Iterator[Design]:
    """Designs by cost, the cheapest first: adaptive and fixed ones."""
    pairs, n_items = 51, pilot.task.n_items  # for the first target of a user
    while pairs < n_items.mean():
        yield Adaptive(budget=math.ceil(pairs - 1 + pilot.beside))
        if pairs <= n_items.min():
            yield Fixed(sample_size=pairs)
        pairs *= 2


def _predict(
    law: RankDistribution, metric: Metric, design: Design, pilot: Pilot, estimator: Estimator
) -> PredictedError:
    """The error on users such as those of the task, at most so many; targets stand for users."""
    users = crowd(law, _simulated(pilot), pilot.task.n_items)
    if isinstance(design, Adaptive) and design.budget is not None:
        design = replace(design, budget=design.budget - pilot.kept)  # what it has for targets
    return predict_error(
        users,
        metric,
        design=design,
        estimator=estimator,
        catalogue=pilot.task.catalogue,
        targets=pilot.targets,
    )


def _simulated(pilot: Pilot) -> int:
    return min(round(pilot.targets * pilot.n_users), _SIMULATED_USERS)


def _relative(predicted: PredictedError, pilot: Pilot, wide: float = 1.0) -> float:
    """The relative error for all users: with more of them the spread shrinks, not the bias."""
    share = _simulated(pilot) / (pilot.targets * pilot.n_users)
    spread = predicted.std_error * float(np.sqrt(share)) * wide
    return replace(predicted, std_error=spread).relative


def _span(seconds: float) -> str:
    if seconds < 1:
        return "a second"
    return f"{seconds:.0f} s" if seconds < 120 else f"{seconds / 60:.0f} minutes"
