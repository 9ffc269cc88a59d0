"""`plan`: how many users and items it takes to know a metric to a given error."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from truerank import _checks, estimators
from truerank import metrics as metrics_module
from truerank import progress as _progress
from truerank.designs import make_ladder
from truerank.errors import InputError
from truerank.estimators import Estimator
from truerank.inference.comparing.user_sampling import hoeffding_users, users_needed
from truerank.inference.intervals.interval import check_confidence, check_target, normal_quantile
from truerank.inference.planning import like as like_module
from truerank.inference.planning.efficiency import sampling_efficiency
from truerank.inference.planning.frontier import SIMULATED_USERS, adaptive_design, fixed_design
from truerank.inference.planning.like import Like
from truerank.inference.planning.planned import Plan, Planned
from truerank.inference.planning.simulate import Design, PredictedError, predict_error
from truerank.metrics import Metric, MetricLike
from truerank.outcomes.schemes import Scheme
from truerank.progress import Progress

KINDS = ("adaptive", "lj24", "fixed", "users", "exact")
_FEWEST = 30  # negatives; with less, an estimate is made of assumptions
_ONE_SIGMA = 0.6826894921370859  # the confidence of one standard error
_CLOSE = 0.93  # of the error asked for: near enough to it
_ALL = 0.95  # of the users: as good as all of them
_STEPS = 8
_FALL = 0.6  # errors fall about like cost to this power
_GRID = 3.0  # step of the costs at which samples of fewer users are weighed


def plan(
    n_items: int | None = None,
    n_users: int | None = None,
    metric: MetricLike = "recall@10",
    error: float = 0.05,
    confidence: float | None = 0.95,
    *,
    like: Any = None,
    target: str = "these-users",
    comparison: bool = False,
    kinds: Iterable[str] = KINDS,
    estimator: str | Estimator = "smooth",
    seed: int = 0,
    progress: Progress = None,
) -> Plan:
    """The cheapest designs that know a metric to a given error, the cheapest first.

    Parameters
    ----------
    n_items
        Items a target is ranked among, itself included. May be left out with a pilot.
    n_users
        The users there are; a pilot's own if left out.
    metric
        One metric, such as ``"recall@10"``.
    error
        A share of the metric: 0.02 for 2 %. With a ``confidence``, the half-width of the interval
        at that confidence; with ``confidence=None`` the root mean squared error, as in
        :func:`truerank.evaluate`.
    like
        What ranks may be like: `RankCounts` of a pilot (or estimates from it), a
        `RankDistribution`, or a number a for the law P(R <= K) = (K / N)^a; 0.3 unless said.
    target
        ``"these-users"``: the metric of an exact evaluation of the ``n_users``. ``"population"``:
        that of all users they are a sample of; then even an exact evaluation errs.
    comparison
        For the difference of two models such as this, each evaluated for itself: its error is
        sqrt(2) that of one (as in LJ24 eq. 52), the cost that of each.
    kinds
        Which of ``"adaptive"``, ``"lj24"``, ``"fixed"``, ``"users"``, ``"exact"`` to consider.
    estimator
        That samples are to be evaluated with.
    seed, progress
        Of the simulations, and whether a bar is shown should they take long.
    """
    wanted = _one(metric)
    error = _checks.real(error, "error", low=0.0, open_low=True)
    if error >= 1.0:
        raise InputError(f"error is {error:g}, a share of the metric below 1: 0.05 for 5 %")
    supposed = like_module.read(like, n_items, wanted)
    if n_users is None:
        if supposed.n_users is None:
            raise InputError("n_users is missing: how many users there are")
        n_users = round(supposed.n_users)
    n_users = _checks.integer(n_users, "n_users", low=1)
    check_target(target)
    chosen = set(kinds)
    for kind in chosen - set(KINDS):
        raise _checks.unknown("kind", kind, KINDS)
    value, variance = supposed.moments(wanted)
    if value <= 0.0:
        raise InputError(f"{wanted.key} is 0 by {supposed.source}; no error is a share of that")
    sure = _ONE_SIGMA if confidence is None else check_confidence(confidence)
    search = _Search(
        supposed,
        wanted,
        value,
        variance,
        n_users,
        goal=error,
        scale=normal_quantile(0.5 + sure / 2.0) * (np.sqrt(2.0) if comparison else 1.0),
        population=target == "population",
        estimator=estimators.get(estimator),
        seed=seed,
    )
    least = search.error(0.0, n_users)
    if least > error:
        raise InputError(
            f"error is {error:g}; with {n_users} users even an exact evaluation knows {wanted.key} "
            f"of the population to {least:.2g} only"
        )
    found: list[Planned] = []
    with _progress.reporting(progress, 7, "planning") as advance:
        for planned in _designs(search, chosen):
            found += planned
            advance(1)
    if "users" in chosen:
        found += _users_only(search, sure, comparison, hoeffding=confidence is not None)
    if "exact" in chosen:
        exact = {"sampler": "exact"}
        every = supposed.n_items - 1.0
        found.append(Planned("exact", n_users, every, supposed.catalogue, least, exact))
    return Plan(
        wanted.key,
        value,
        error,
        confidence,
        target,
        supposed.catalogue,
        n_users,
        supposed.source,
        tuple(sorted(found, key=lambda one: one.total_pairs)),
        sampling_efficiency(supposed.distribution),
    )


def _one(metric: MetricLike) -> Metric:
    found, *more = metrics_module.parse(metric)
    if more:
        raise InputError(f"metric {metric!r} is several; plan for one at a time")
    return found


@dataclass
class _Search:
    """Predicted errors of designs, and the cheapest that meets the goal."""

    like: Like
    metric: Metric
    value: float
    variance: float
    n_users: int
    goal: float
    scale: float  # from a standard error to what the goal is in
    population: bool
    estimator: Estimator
    seed: int
    known: dict[tuple[Design, int], PredictedError] = field(default_factory=dict)

    def predict(self, design: Design, n_users: int) -> PredictedError:
        """For no more users than are simulated."""
        key = design, min(n_users, SIMULATED_USERS)
        if key not in self.known:
            self.known[key] = predict_error(
                self.like.users(key[1]),
                self.metric,
                design=design,
                estimator=self.estimator,
                seed=self.seed,
            )
        return self.known[key]

    def items(self, design: Design, n_users: int) -> float:
        """Relative root mean squared error for those evaluated, their choice apart."""
        found = self.predict(design, n_users)
        more = min(1.0, np.sqrt(SIMULATED_USERS / n_users))  # the spread shrinks, not the bias
        return float(np.hypot(found.bias, found.std_error * more)) / self.value

    def error(self, items: float, n_users: int) -> float:
        """In terms of the goal: that of the items and that of evaluating so many users."""
        unseen = 0.0 if self.population else 1.0 / self.n_users
        users = self.variance * max(1.0 / n_users - unseen, 0.0) / self.value**2
        return self.scale * float(np.sqrt(items**2 + users))

    def of(self, design: Design, n_users: int) -> float:
        """The error of a design for so many users."""
        return self.error(self.items(design, n_users), n_users)

    def cheapest(
        self, make: Callable[[int], Design], low: int, high: int, guess: float = 100.0
    ) -> Design | None:
        """The design of the smallest size from ``low`` to ``high`` that meets the goal."""
        at = int(np.clip(guess, low, high))
        bad, good = 0, high + 1  # sizes; the first of the two is too small
        errors: dict[int, float] = {}
        for _ in range(_STEPS):
            errors[at] = self.of(make(at), self.n_users)
            if errors[at] <= self.goal:
                good = at
            else:
                bad = at
            enough = good in errors and (errors[good] >= _CLOSE * self.goal or good <= low)
            if enough or bad >= high or good - bad <= max(1, good // 50):
                break
            at = _next(errors, bad, good, low, high, self.goal)
        return make(good) if good in errors else None


def _next(errors: dict[int, float], bad: int, good: int, low: int, high: int, goal: float) -> int:
    """The size to try, by a power law through the nearest errors or through the nearest one."""
    if bad in errors and good in errors:
        fall = np.log(errors[bad] / max(errors[good], 1e-12)) / np.log(good / bad)
        at = bad * (errors[bad] / (0.97 * goal)) ** (1.0 / max(fall, 0.1))
        return int(np.clip(round(at), bad + 1, good - 1))
    near = bad if bad in errors else good
    factor = (max(errors[near], 1e-12) / (0.97 * goal)) ** (1.0 / _FALL)
    at = near * float(np.clip(factor, 0.05, 8.0))
    return int(np.clip(round(at), max(low, bad + 1), min(high, good - 1)))


def _designs(search: _Search, kinds: set[str]) -> Iterator[list[Planned]]:
    """Samples of items, for all users and for fewer."""
    most = int(search.like.n_items) - 2  # negatives; with one more, samples are the whole pool
    fewest = min(_FEWEST, most)
    half = max(fewest, most // 2)  # fixed samples of more are hardly cheaper than exact ranks

    def adaptive(budget: int) -> Design:
        return adaptive_design(search.like.catalogue, budget)

    if "adaptive" in kinds:
        yield _all_users(search, "adaptive", search.cheapest(adaptive, fewest, most))
    if "lj24" in kinds:
        yield _all_users(search, "adaptive (LJ24)", _lj24(search))
    if "fixed" in kinds:
        found = search.cheapest(fixed_design, fewest, half)
        yield _all_users(search, "fixed", found)
        guess = half if found is None else found.sample_size
        again = search.cheapest(
            lambda size: fixed_design(size, replacement=True), fewest, half, guess
        )
        yield _all_users(search, "fixed, with replacement", again)
    if "users" in kinds:
        for name, make, largest in (("adaptive", adaptive, most), ("fixed", fixed_design, half)):
            if name in kinds:
                yield _fewer_users(search, f"users x {name}", make, fewest, largest)


def _all_users(search: _Search, name: str, design: Design | None) -> list[Planned]:
    return [] if design is None else [_planned(search, name, design, search.n_users)]


def _planned(search: _Search, name: str, design: Design, n_users: int) -> Planned:
    found = search.predict(design, n_users)
    arguments: dict[str, Any] = {"sampler": "adaptive" if design.scheme.adaptive else "fixed"}
    if design.budget is not None:
        arguments["budget"] = design.budget
    elif design.scheme.adaptive:
        start, *_, stop = design.scheme.ladder
        arguments |= {"design": "lj24", "start": start, "stop": stop}
    else:
        arguments |= {"sample_size": design.sample_size, "replacement": design.scheme.replacement}
    if n_users < search.n_users:
        arguments["users"] = n_users
    error = search.of(design, n_users)
    return Planned(name, n_users, found.pairs_per_user, found.sample_size, error, arguments)


def _lj24(search: _Search) -> Design | None:
    """The cheaper of the two smallest starts with which doubling meets the goal, if far enough."""
    top, start = search.like.catalogue, 50
    found: list[Design] = []

    def make(start: int) -> Callable[[int], Design]:
        return lambda stop: Design(Scheme(False, make_ladder(start, stop)))

    while 2 * start < top and len(found) < 2:
        if search.of(make(start)(top), search.n_users) <= search.goal:
            design = search.cheapest(make(start), 2 * start, top, 0.1 * top)
            found += [] if design is None else [design]
        start *= 2
    return min(found, key=lambda d: search.predict(d, search.n_users).pairs_per_user, default=None)


def _fewer_users(
    search: _Search, name: str, make: Callable[[int], Design], fewest: int, most: int
) -> list[Planned]:
    """Fewer users with a sample of items each."""
    few = min(search.n_users, SIMULATED_USERS)
    costs: dict[int, tuple[float, int]] = {}  # by size: pairs in all and users

    def weigh(size: int) -> float:
        """Fill in a size; the share of the error that items make up."""
        per_user = few * search.items(make(size), few) ** 2
        n_users = _enough(search, per_user)
        costs[size] = n_users * search.predict(make(size), few).pairs_per_user, n_users
        return per_user / (per_user + search.variance / search.value**2)

    size = fewest
    while size <= most and weigh(size) > 0.1:
        size = int(_GRID * size)
    best = min(costs, key=lambda size: costs[size])
    for near in (best / np.sqrt(_GRID), best * np.sqrt(_GRID)):
        if fewest <= near <= most:
            weigh(round(near))
    best = min(costs, key=lambda size: costs[size])
    design, n_users = make(best), costs[best][1]
    for _ in range(4):  # with fewer users an estimator errs a little more than in proportion
        if n_users > _ALL * search.n_users:
            return []
        if search.of(design, n_users) <= search.goal:
            return [_planned(search, name, design, n_users)]
        n_users = _enough(search, n_users * search.items(design, n_users) ** 2)
    return []


def _enough(search: _Search, per_user: float) -> int:
    """Users who meet the goal where items add a relative variance of ``per_user`` for each."""
    share = search.variance / search.value**2
    unseen = 0.0 if search.population else share / search.n_users
    needed = (per_user + share) / ((0.99 * search.goal / search.scale) ** 2 + unseen)
    return max(2, int(np.ceil(needed)))


def _users_only(
    search: _Search, confidence: float, comparison: bool, *, hoeffding: bool
) -> Iterator[Planned]:
    """Fewer users, ranked exactly (LJ24 section 7.1)."""
    population = None if search.population else float(search.n_users)
    options: dict[str, Any] = {"confidence": confidence, "comparison": comparison}
    margin = search.goal * search.value
    needed = {
        "users": users_needed(margin, variance=search.variance, population=population, **options)
    }
    if hoeffding and search.metric.function is None:
        needed["users (Hoeffding)"] = hoeffding_users(
            margin, spread=search.metric.best(), population=population, **options
        )
    for name, number in needed.items():
        n_users = int(np.ceil(number - 1e-9))
        if 0 < n_users < search.n_users:
            arguments = {"sampler": "exact", "users": n_users}
            error = search.error(0.0, n_users)
            every = search.like.n_items - 1.0
            yield Planned(name, n_users, every, search.like.catalogue, error, arguments)
