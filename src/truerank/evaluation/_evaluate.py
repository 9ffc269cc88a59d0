"""`evaluate`: a model and its test data in, global metrics and the protocol out."""

from __future__ import annotations

import json
import time
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from truerank import _checks, designs, estimators, sampling
from truerank import metrics as metrics_module
from truerank._version import __version__
from truerank.designs import Adaptive
from truerank.errors import InputError
from truerank.estimators import Estimator
from truerank.evaluation import auto, users
from truerank.inference.estimates import (
    DEFAULT_ESTIMATOR,
    DEFAULT_METRICS,
    Estimate,
    Estimates,
    estimate,
    write_report,
)
from truerank.inference.planning.simulate import Design
from truerank.metrics import MetricLike
from truerank.outcomes import tables
from truerank.outcomes.counts import RankCounts
from truerank.outcomes.schemes import Scheme
from truerank.progress import Progress
from truerank.sampling import FrozenNegatives, SharedBlocks
from truerank.scoring import exact, ties
from truerank.scoring.scorer import Scorer
from truerank.scoring.task import Task, interactions, prepare

MODES = ("auto", "exact", "fixed", "adaptive")
_PROTOCOL_KEY = b"truerank.protocol"


@dataclass(frozen=True)
class Evaluation(Mapping[str, Estimate]):
    """What an evaluation found, and how.

    ``result["recall@10"].value`` as in `Estimates`; ``counts`` are the ranks it rests on,
    ``protocol`` says everything a reader needs to judge or repeat it, ``cost`` what it took.
    """

    estimates: Estimates
    counts: RankCounts
    protocol: Mapping[str, Any]
    cost: Mapping[str, float]

    def __getitem__(self, metric: MetricLike) -> Estimate:
        return self.estimates[metric]

    def __iter__(self) -> Iterator[str]:
        return iter(self.estimates)

    def __len__(self) -> int:
        return len(self.estimates)

    def to_pandas(self) -> Any:
        """A pandas DataFrame, one row a metric."""
        return self.estimates.to_pandas()

    def report(self, path: Any, *, name: str = "model", **options: Any) -> None:
        """Write an HTML report on this model; options as in :func:`truerank.report.write`."""
        write_report({name: self}, path, **options)

    def save(self, path: Any) -> None:
        """Write the counts to Parquet with the protocol card in its metadata."""
        self.counts.save(path, notes={_PROTOCOL_KEY: json.dumps(dict(self.protocol)).encode()})

    def __repr__(self) -> str:
        return f"{self.protocol['reason']}\n{self.estimates!r}"


def read_protocol(path: Any) -> dict[str, Any] | None:
    """The protocol card of counts that :meth:`Evaluation.save` wrote; None if there is none."""
    found = tables.parquet_metadata(Path(path)).get(_PROTOCOL_KEY)
    return None if found is None else dict(json.loads(found))


def evaluate(
    scorer: Scorer,
    test: Any,
    *,
    train: Any = None,
    sampler: str = "auto",
    metrics: MetricLike | Iterable[MetricLike] = DEFAULT_METRICS,
    k: int | Iterable[int] | None = None,
    estimator: str | Estimator = DEFAULT_ESTIMATOR,
    seed: int = 0,
    sample_size: int | None = None,
    num_negatives: int | None = None,
    budget: float | None = None,
    design: str | Adaptive | None = None,
    start: int | None = None,
    stop: float | None = None,
    growth: float | None = None,
    hits: int | None = None,
    replacement: bool = False,
    ties: str | None = None,
    negatives: str | SharedBlocks | FrozenNegatives | None = None,
    users: int | None = None,
    stratified: bool = False,
    error: float = 0.05,
    keep_target: bool = False,
    confidence: float | None = 0.95,
    target: str | None = None,
    progress: Progress = None,
) -> Evaluation:
    """Evaluate a model on held-out targets.

    Parameters
    ----------
    scorer
        The model, as one of `truerank.scoring`.
    test, train
        Tables with user and item columns, pairs (user_ids, item_ids) or scipy sparse matrices:
        the targets to rank, and items to leave out of the ranking.
    sampler
        ``"exact"`` ranks every item; ``"fixed"`` samples ``sample_size`` (or ``num_negatives``)
        for every user; ``"adaptive"`` grows samples for users whose target still leads, as in
        `adaptive_counts`; ``"auto"`` times the scorer and picks the cheapest of these whose
        predicted relative ``error`` in the first metric is small enough. With a ``budget``,
        ``"auto"`` is exact if the budget covers that, else adaptive.
    metrics, k, estimator, confidence
        As in :func:`truerank.estimate`.
    seed
        For negatives, ties and the choice of users.
    budget
        Scored pairs a target, in the mean over all targets, at the most; the target's own score is
        not counted. A fixed sample then has that many negatives. Not with ``"exact"``.
    design, start, stop, growth, hits
        Of adaptive samples, as in `adaptive_counts`.
    ties
        See `truerank.scoring.ties`; spread, or random for adaptive samples, if not given.
    negatives
        ``"per-user"``, ``"shared-block"`` or frozen ones (see `truerank.sampling`), the latter two
        for samples of a fixed size. If not given they are the users' own, unless ``"auto"`` finds
        that sharing pays in spite of its greater scatter.
    users, stratified
        Evaluate a random sample of this many users, stratified by activity if asked for.
    target
        What intervals are for, as in :func:`truerank.estimate`: the users evaluated, or all of the
        test's (``"population"``) if only some were.
    """
    if sampler not in MODES:
        raise _checks.unknown("sampler", sampler, MODES)
    if not isinstance(scorer, Scorer):
        raise InputError(
            f"scorer is of type {type(scorer).__name__}; wrap your model in one of "
            "truerank.scoring, such as Factors(U, V), Dense(S) or Callable(function)"
        )
    wanted = metrics_module.parse(metrics, k=k)
    chosen = estimators.get(estimator)
    test_ids, population = _choose_users(test, train, users, seed, stratified=stratified)
    task = prepare(scorer, test_ids, train=train, keep_target=keep_target)
    sizes = (sample_size, num_negatives)
    ladder = designs.adaptive(
        design, budget=budget, start=start, stop=stop, growth=growth, hits=hits
    )
    if budget is not None:
        designs.check_budget(budget)
    _check_negatives(negatives, sampler)
    if isinstance(negatives, FrozenNegatives) and sampler != "exact":
        choice = _frozen(negatives, sizes, budget)
    elif sampler == "auto":
        choice = auto.choose(
            scorer,
            task,
            wanted[0],
            chosen,
            error=_checks.real(error, "error", low=0.0, open_low=True),
            budget=budget,
            ladder=ladder,
            replacement=replacement,
            seed=seed,
            negatives=negatives,  # type: ignore[arg-type] # not frozen: sampler is auto
        )
    else:
        choice = _asked_for(sampler, task, sizes, ladder, budget, replacement=replacement)
        choice = replace(choice, negatives=negatives or choice.negatives)
    begin = time.perf_counter()
    policy = ties or ("random" if choice.mode == "adaptive" else "spread")
    counts = _count(scorer, task, choice, seed, policy, progress)
    seconds = time.perf_counter() - begin
    pairs = counts.pairs_per_user
    protocol = protocol_card(
        choice.mode, choice.reason, counts, catalogue=task.catalogue, train=train is not None,
        n_users=task.n_users, population=population, targets=task.n_rows, ties=policy, seed=seed,
        estimator=chosen, stratified=stratified and users is not None, negatives=choice.negatives,
        budget=None if choice.design is None else choice.design.budget,
    )  # fmt: skip
    found = estimate(
        counts,
        wanted,
        estimator=chosen,
        confidence=confidence,
        target=target or ("these-users" if users is None else "population"),
        population=population,
        seed=seed,
        progress=progress,
    )
    cost = {"seconds": seconds, "pairs_per_user": pairs, "pairs": pairs * task.n_rows}
    return Evaluation(found, counts, protocol, cost)


def _choose_users(
    test: Any, train: Any, n_users: int | None, seed: int, *, stratified: bool
) -> tuple[Any, int]:
    """The test rows of the users to evaluate, and how many users there are in all."""
    user_id, item_id = interactions(test, "test")
    population = int(np.unique(user_id).size)
    if n_users is None:
        return (user_id, item_id), population
    activity = None
    if stratified:
        if train is None:
            raise InputError("stratified needs train: users are stratified by their activity there")
        activity = users.activity(user_id, interactions(train, "train")[0])
    rows = users.choose(user_id, n_users, seed=seed, activity=activity)
    return (user_id[rows], item_id[rows]), population


def _check_negatives(negatives: Any, sampler: str) -> None:
    if negatives is None:
        return
    sampling.check_negatives(negatives)
    if sampler == "adaptive" and negatives != "per-user":
        raise InputError(
            f"negatives is {negatives!r}, but adaptive samples continue each user's own stream; "
            'take sampler="fixed", or leave negatives out'
        )


def _frozen(
    negatives: FrozenNegatives, sizes: tuple[int | None, int | None], budget: float | None
) -> auto.Choice:
    """A fixed sample of the frozen negatives; those of one size only can be said in one number."""
    if budget is not None:
        raise InputError(f"budget is {budget:g}, but frozen negatives are as many as they are")
    lengths = np.unique(np.diff(negatives.start)) + 1
    size = int(lengths[0]) if lengths.size == 1 else 0
    if sizes != (None, None):
        size = sampling.sample_size_of(*sizes)
    design = Design(Scheme(negatives.replacement), size)
    return auto.Choice("fixed", design, "fixed: the negatives are frozen", negatives)


def _asked_for(
    sampler: str,
    task: Task,
    sizes: tuple[int | None, int | None],
    ladder: Adaptive,
    budget: float | None,
    *,
    replacement: bool,
) -> auto.Choice:
    """The design of a mode that was asked for by name."""
    if sampler == "exact":
        if budget is not None:
            raise InputError(f"budget is {budget:g}, but sampler='exact' scores every item")
        return auto.Choice("exact", None, "exact: asked for")
    if sampler == "fixed":
        if budget is not None:
            if sizes != (None, None):
                raise InputError("budget and a sample size are both given; give one of them")
            size = int(budget) + 1
        else:
            size = sampling.sample_size_of(*sizes) if sizes != (None, None) else 100
        return auto.Choice("fixed", Design(Scheme(replacement), size), "fixed: asked for")
    design = auto.adaptive(ladder, task, ladder.within(budget), replacement=replacement)
    return auto.Choice("adaptive", design, "adaptive: asked for")


def _count(
    scorer: Scorer,
    task: Task,
    choice: auto.Choice,
    seed: int,
    policy: str,
    progress: Progress,
) -> RankCounts:
    if choice.design is None:
        above, tied = exact.count(scorer, task, progress=progress)
        return ties.counts(
            above,
            tied,
            policy,
            scheme=Scheme(replacement=False),
            n_items=task.n_items,
            sample_size=task.n_items,
            weight=task.weight,
            n_users=task.n_users,
            keys=task.keys(seed),
        )
    scheme = choice.design.scheme
    if scheme.adaptive:
        return sampling.count_adaptive(
            scorer,
            task,
            ladder=scheme.ladder,
            hits=scheme.hits,
            budget=choice.design.budget,
            replacement=scheme.replacement,
            seed=seed,
            ties=policy,
            progress=progress,
        )
    return sampling.count_fixed(
        scorer,
        task,
        sample_size=choice.design.sample_size or None,
        replacement=scheme.replacement,
        seed=seed,
        ties=policy,
        negatives=choice.negatives,
        progress=progress,
    )


def protocol_card(
    mode: str,
    reason: str,
    counts: RankCounts,
    *,
    catalogue: int,
    train: bool,
    n_users: int,
    population: int,
    targets: int | None,
    ties: str,
    seed: int,
    estimator: Estimator,
    stratified: bool = False,
    budget: float | None = None,
    negatives: str | SharedBlocks | FrozenNegatives = "per-user",
) -> dict[str, Any]:
    """The protocol card: all that a reader needs to know of how the numbers came about."""
    card: dict[str, Any] = {
        "mode": mode,
        "reason": reason,
        "n_items": catalogue,
        "pool_sizes": [int(counts.n_items.min()), int(counts.n_items.max())],
        "training_items_left_out": train,
        "users": n_users,
        "population": population,
        "stratified": stratified,
        "targets": targets,
        "ties": ties,
        "seed": seed,
        "estimator": estimators.describe(estimator),
        "truerank": __version__,
    }
    if mode != "exact":
        scheme = counts.schemes[0]  # a budget may have cut the ladder of the design
        card["replacement"] = scheme.replacement
        card["sample_sizes"] = list(scheme.ladder or np.unique(counts.sample_size).tolist())
        card["hits"] = scheme.hits if isinstance(scheme.hits, int) else list(scheme.hits)
        card["budget"] = budget
        card["negatives"] = negatives if isinstance(negatives, str) else repr(negatives)
        card["negatives_hash"] = getattr(negatives, "hash", None)
    return card
