"""`plan`: how many users and items it takes to know a metric within an error."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field, replace
from typing import Any, get_args

import numpy as np

from truerank import _arguments, _checks, estimators
from truerank import metrics as metrics_module
from truerank import progress as _progress
from truerank._types import PlannedDesign, Scope
from truerank.designs import LJ24, Adaptive, Design, Exact, Fixed
from truerank.designs.auto import check_error
from truerank.errors import InputError
from truerank.estimators import Estimator
from truerank.inference.comparing.user_sampling import hoeffding_users, users_needed
from truerank.inference.intervals.interval import check_confidence, check_scope, normal_quantile
from truerank.inference.planning import like as like_module
from truerank.inference.planning.efficiency import sampling_efficiency
from truerank.inference.planning.frontier import SIMULATED_USERS
from truerank.inference.planning.like import Like
from truerank.inference.planning.planned import Plan, Planned
from truerank.inference.planning.simulate import PredictedError, predict_error
from truerank.metrics import Metric, MetricLike
from truerank.progress import Progress

DESIGNS: tuple[PlannedDesign, ...] = get_args(PlannedDesign)
_FEWEST = 31  # pairs per user; with less, an estimate is made of assumptions
_ONE_SIGMA = 0.6826894921370859  # the confidence of one standard error
_CLOSE = 0.9  # of the error asked for: near enough to it
_ALL = 0.95  # of the users: as good as all of them
_STEPS = 8
_FALL = 0.6  # errors fall about like cost to this power
_GRID = 3.0  # step of the costs at which samples of fewer users are weighed


def plan(
    n_items: int | None = None,
    n_users: int | None = None,
    metric: MetricLike = "recall@10",
    error: float = 0.05,
    *,
    like: Any = None,
    designs: PlannedDesign | Iterable[PlannedDesign] = DESIGNS,
    fewer_users: bool = True,
    estimator: str | Estimator = "smooth",
    confidence: float = 0.95,
    scope: Scope = "these-users",
    models: int = 1,
    seed: int = 0,
    progress: Progress = None,
) -> Plan:
    """The designs that reach a given error, the cheapest first.

    Parameters
    ----------
    n_items : int, optional
        Items a target is ranked among, itself included. May be left out with a pilot.
    n_users : int, optional
        The users there are; a pilot's own if left out.
    metric : str or Metric, default "recall@10"
        One metric.
    error : float, default 0.05
        Relative root mean squared error to reach: 0.05 for 5 % of the metric.
    like : RankCounts, Estimates, RankDistribution or float, optional
        What ranks may be like: those of a pilot (or estimates from it), a rank distribution, or a
        number a for the law P(R <= K) = (K / N)^a; 0.3 unless stated.
    designs : {"adaptive", "lj24", "fixed", "exact"} or list of these
        Which designs to consider.
    fewer_users : bool, default True
        Whether to consider samples of the users, too.
    estimator : str or Estimator, default "smooth"
        That samples are to be evaluated with.
    confidence : float, default 0.95
        Confidence of the intervals whose half-width is shown beside the error.
    scope : {"these-users", "population"}
        Whose metric: that of an exact evaluation of the ``n_users``, or that of all users they are
        a sample of; then even an exact evaluation errs.
    models : int, default 1
        Models to be compared. From two on the plan is for their differences, each model evaluated
        by itself: the error of a difference is sqrt(2) that of one (LJ24 eq. 52). Of more than two
        it has to be smaller, so that intervals that hold for all pairs at once (Bonferroni, LJ24
        section 7.2) are no wider than that of one difference with this error. The cost is that of
        each model.
    seed : int, default 0
        Seed of the simulations.
    progress : callable or bool, optional
        None shows a bar on a terminal if it takes long, False nothing; a function is called with
        (steps done, steps in all).

    Returns
    -------
    Plan
        ``plan[0].design`` goes into `truerank.evaluate` as it is.

    Examples
    --------
    >>> import truerank as tr
    >>> plan = tr.plan(2000, 500, "ndcg@10", 0.1, designs=["fixed", "exact"], fewer_users=False)
    >>> [one.name for one in plan][-1], plan.get("exact").error
    ('exact', 0.0)
    """
    _arguments.check(plan, locals())
    wanted = _one(metric)
    error = check_error(error)
    supposed = like_module.read(like, n_items, wanted)
    wanted = wanted.bound([supposed.n_items])
    if n_users is None:
        if supposed.n_users is None:
            raise InputError("n_users is missing: how many users there are")
        n_users = round(supposed.n_users)
    n_users = _checks.integer(n_users, "n_users", low=1)
    whom = check_scope(scope)
    names: set[str] = set()
    for name in _checks.listed(designs):
        if not isinstance(name, str) or name not in DESIGNS:
            raise _checks.unknown("design", name, DESIGNS)
        names.add(name)
    value, variance = supposed.moments(wanted)
    if value <= 0.0:
        raise InputError(f"{wanted.key} is 0 by {supposed.source}; no error is a share of that")
    n_models = _checks.integer(models, "models", low=1)
    n_pairs = max(1, n_models * (n_models - 1) // 2)
    chance = (1.0 - check_confidence(confidence)) / 2.0
    z = normal_quantile(1.0 - chance)
    widen = normal_quantile(1.0 - chance / n_pairs) / z
    each, several = supposed.targets_per_user, supposed.several
    fewer_users = fewer_users and several is None  # targets of a user are no users of their own
    if several is not None:
        variance = several.variance * each * value**2
    search = _Search(
        supposed,
        wanted,
        value,
        variance,
        round(n_users * each),
        goal=error,
        scale=widen * float(np.sqrt(2.0)) if n_models > 1 else 1.0,
        harder=1.0 if several is None else several.harder,
        population=whom == "population",
        estimator=estimators.get(estimator),
        seed=seed,
    )
    least = search.error(0.0, search.n_users)
    if least > error:
        raise InputError(
            f"error is {error:g}; with {n_users} users even an exact evaluation has a relative "
            f"error of {least:.2g} for {wanted.key} of the population: evaluate more users"
        )
    found: list[Planned] = []
    with _progress.reporting(progress, 7, "planning") as advance:
        for planned in _designs(search, names, fewer_users=fewer_users):
            found += planned
            advance(1)
    if fewer_users and "exact" in names:
        found += _users_only(search, confidence, n_models, n_pairs, z)
    if "exact" in names:
        every = supposed.n_items
        found.append(Planned("exact", Exact(), search.n_users, every, supposed.catalogue, least))
    if several is not None:
        found = [_per_user(one, n_users, each) for one in found]
    return Plan(
        wanted.key,
        value if several is None else several.value,
        error,
        confidence,
        whom,
        supposed.catalogue,
        n_users,
        supposed.source,
        tuple(sorted(found, key=lambda one: one.total_pairs)),
        sampling_efficiency(supposed.distribution),
    )


def _per_user(planned: Planned, n_users: int, targets: float) -> Planned:
    """A design whose errors were predicted for targets, as one for users who have several."""
    pairs = planned.pairs_per_user + (targets - 1.0 if planned.name == "exact" else 0.0)
    return replace(planned, n_users=n_users, pairs_per_user=pairs)


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
    scale: float  # from the error of one model to the error that the goal is in
    harder: float  # from the error of a metric of targets to that of users with several
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
                catalogue=self.like.catalogue,
                seed=self.seed,
                targets=self.like.targets_per_user,
            )
        return self.known[key]

    def items(self, design: Design, n_users: int) -> float:
        """Relative root mean squared error for those evaluated, their choice apart."""
        found = self.predict(design, n_users)
        more = min(1.0, np.sqrt(SIMULATED_USERS / n_users))  # the spread shrinks, not the bias
        return self.harder * float(np.hypot(found.bias, found.std_error * more)) / self.value

    def error(self, items: float, n_users: int) -> float:
        """In terms of the goal: that of the items and that of evaluating so many users."""
        unseen = 0.0 if self.population else 1.0 / self.n_users
        users = self.variance * max(1.0 / n_users - unseen, 0.0) / self.value**2
        return self.scale * float(np.sqrt(items**2 + users))

    def of(self, design: Design, n_users: int) -> float:
        """The error of a design for so many users."""
        return self.error(self.items(design, n_users), n_users)

    @property
    def telling(self) -> float:
        """Pairs per user with which some negatives are likely to come before the cut-off."""
        return max(100.0, 0.25 * self.like.n_items / (self.metric.k or np.inf))

    def adaptive_guess(self) -> float:
        """What samples cost that grow up to that size, or until a negative is above the target."""
        law = self.like.distribution
        rank = np.concatenate([law.support.rank, law.exact_rank])
        mass = np.maximum(np.concatenate([law.mass, law.exact_mass]), 0.0)
        chance = np.maximum(rank - 1.0, 1e-9) / law.n_items
        draws = -np.expm1(self.telling * np.log1p(-np.minimum(chance, 0.999))) / chance
        return max(100.0, 2.0 * float(mass @ draws / mass.sum()))

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


def _adaptive(pairs: int) -> Design:
    return Adaptive(budget=pairs)


def _fixed(pairs: int) -> Design:
    return Fixed(sample_size=pairs)


def _with_replacement(pairs: int) -> Design:
    return Fixed(sample_size=pairs, replacement=True)


def _designs(search: _Search, names: set[str], *, fewer_users: bool) -> Iterator[list[Planned]]:
    """Samples of items, for all users and for fewer."""
    more = int(np.ceil(search.like.targets_per_user)) - 1
    most = int(search.like.n_items) - 1 + more  # pairs; with one more, samples are the whole pool
    fewest = min(_FEWEST + more, most)
    half = max(fewest, most // 2)  # fixed samples of more are hardly cheaper than exact ranks
    enough: dict[str, int] = {}  # pairs per user with which all users meet the goal
    if "adaptive" in names:
        design = search.cheapest(_adaptive, fewest, most, search.adaptive_guess())
        if isinstance(design, Adaptive) and design.budget is not None:
            enough["adaptive"] = int(design.budget)
        yield _all_users(search, "adaptive", design)
    if "lj24" in names:
        yield _all_users(search, "adaptive (LJ24)", _lj24(search))
    if "fixed" in names:
        found = search.cheapest(_fixed, fewest, half, search.telling)
        yield _all_users(search, "fixed", found)
        guess = half
        if isinstance(found, Fixed) and found.sample_size:
            guess = enough["fixed"] = found.sample_size
        again = search.cheapest(_with_replacement, fewest, half, guess)
        yield _all_users(search, "fixed, with replacement", again)
    if fewer_users:
        for name, make, largest in (("adaptive", _adaptive, most), ("fixed", _fixed, half)):
            if name in enough:  # less would not do for fewer users
                yield _fewer_users(search, f"users x {name}", make, enough[name], largest)


def _all_users(search: _Search, name: str, design: Design | None) -> list[Planned]:
    return [] if design is None else [_planned(search, name, design, search.n_users)]


def _planned(search: _Search, name: str, design: Design, n_users: int) -> Planned:
    found = search.predict(design, n_users)
    error = search.of(design, n_users)
    if n_users < search.n_users:
        design = replace(design, users=n_users)
    return Planned(name, design, n_users, found.pairs_per_user, found.sample_size, error)


def _lj24(search: _Search) -> Design | None:
    """The cheaper of the two smallest starts with which doubling meets the goal, if far enough."""
    top, start = search.like.catalogue, 50
    found: list[Design] = []

    def make(start: int) -> Callable[[int], Design]:
        return lambda stop: LJ24(start=start, stop=stop)

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
    least = _enough(search, 0.0)
    costs: dict[int, tuple[float, int]] = {}  # by size: pairs in all and users

    def weigh(size: int) -> None:
        """Fill in a size, unless it costs more than the best even where items err by nothing."""
        known = min((cost for cost, _ in costs.values()), default=np.inf)
        if fewest <= size <= most and least * size < known:
            n_users = _enough(search, few * search.items(make(size), few) ** 2)
            costs[size] = n_users * search.predict(make(size), few).pairs_per_user, n_users

    size = fewest
    while size <= most:
        weigh(size)
        if size not in costs:
            break
        size = int(_GRID * size)
    best = min(costs, key=lambda size: costs[size])
    for near in (best / np.sqrt(_GRID), best * np.sqrt(_GRID)):
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
    search: _Search, confidence: float, n_models: int, n_pairs: int, z: float
) -> Iterator[Planned]:
    """Fewer users, ranked exactly (LJ24 section 7.1)."""
    population_size = None if search.population else float(search.n_users)
    options: dict[str, Any] = {"comparison": n_models > 1, "population_size": population_size}
    margin = search.goal * search.value
    alone = margin * (np.sqrt(2.0) if n_models > 1 else 1.0) / search.scale
    needed = {
        "users": users_needed(alone, variance=search.variance, confidence=_ONE_SIGMA, **options)
    }
    if search.metric.function is None:  # a margin that holds with this confidence, whatever the law
        needed["users (Hoeffding)"] = hoeffding_users(
            z * margin,
            spread=abs(search.metric.best() - search.metric.worst()),
            confidence=confidence,
            n_statements=n_pairs,
            **options,
        )
    for name, number in needed.items():
        n_users = int(np.ceil(number - 1e-9))
        if 0 < n_users < search.n_users:
            error = search.error(0.0, n_users)
            every = search.like.n_items
            design = Exact(users=n_users)
            yield Planned(name, design, n_users, every, search.like.catalogue, error)
