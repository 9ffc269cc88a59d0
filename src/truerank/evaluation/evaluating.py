"""`evaluate`: a model and its test data in, global metrics, the protocol and the cost out."""

from __future__ import annotations

import time
from collections.abc import Iterable
from typing import Any

from truerank import _arguments, estimators
from truerank import metrics as metrics_module
from truerank import progress as _progress
from truerank._types import Scope, Ties
from truerank.designs import Auto, Design, Exact
from truerank.errors import InputError
from truerank.estimators import Estimator
from truerank.evaluation import auto
from truerank.evaluation.evaluated import Evaluation, protocol_card
from truerank.evaluation.ranking import prepared
from truerank.inference.estimates import DEFAULT_ESTIMATOR, DEFAULT_METRICS, estimate
from truerank.inference.intervals.interval import check_confidence, check_scope
from truerank.metrics import Metric, MetricLike
from truerank.progress import Progress
from truerank.sampling import users
from truerank.sampling.carry_out import carry_out_within, pairs_within, while_drawing
from truerank.sampling.counting import counts_of
from truerank.scoring import ties as _ties
from truerank.scoring.ledger import asking, is_function
from truerank.scoring.scorer import Scorer


def evaluate(
    scorer: Scorer,
    test: Any,
    design: str | Design = "auto",
    *,
    train: Any = None,
    metrics: MetricLike | Iterable[MetricLike] = DEFAULT_METRICS,
    estimator: str | Estimator = DEFAULT_ESTIMATOR,
    confidence: float | None = 0.95,
    scope: Scope | None = None,
    ties: Ties = "spread",
    seed: int = 0,
    keep_target: bool = False,
    keep_train: bool = False,
    progress: Progress = None,
) -> Evaluation:
    """Evaluate a model on held-out targets: global metrics with intervals, protocol and cost.

    Parameters
    ----------
    scorer : Scorer
        The model, as one of `truerank.scoring`.
    test : table, pair of arrays or sparse matrix
        The targets: a table with user and item columns, a pair (user_ids, item_ids) or a scipy
        sparse matrix. Every row is one target, whatever its rating or relevance.
    design : str or Design, default "auto"
        How negatives are chosen: one of `truerank.designs`, or its name. ``Exact()`` ranks every
        item, ``Fixed(num_negatives=99)`` and ``Adaptive(budget=200)`` sample. ``Auto()`` takes
        what is cheapest for the first metric; a `Callable` scorer, whose pairs may cost money,
        needs ``Auto(budget=...)``, ``Auto(seconds=...)`` or another design.
    train : table, pair of arrays or sparse matrix, optional
        Items to leave out of the ranking, usually the users' training items.
    metrics : str, Metric or list of them, default recall@10, ndcg@10, ap, auc
        As in `truerank.estimate`: ``"recall@1,10"``, ``"ndcg@10"``, ...
    estimator : str or Estimator, default "smooth"
        As in `truerank.estimate`.
    confidence : float or None, default 0.95
        Confidence of the intervals; None for none.
    scope : {"these-users", "population"}, optional
        Whom the intervals are for: the users evaluated, or all of the test's users, of whom the
        design took a sample. If not given, all of them if it did.
    ties : {"spread", "random", "mid", "optimistic", "pessimistic"}
        What items of the target's score do, as in `truerank.count`.
    seed : int, default 0
        Seed of all random draws: negatives, ties and the choice of users.
    keep_target : bool, default False
        Rank targets that are among their user's training items all the same, instead of raising.
    keep_train : bool, default False
        Keep the items of ``train`` in the ranking: negatives are drawn from the others, and these
        are each scored, which counts as cost. Exact ranks are then those without ``train``.
    progress : callable or bool, optional
        None shows a bar on a terminal if it takes long, False nothing; a function is called with
        (rows done, rows in all).

    Returns
    -------
    Evaluation
        ``result["recall@10"].value``, ``.low``, ``.high``; ``result.protocol`` says how it came
        about; ``result.cost`` is the number of all pairs asked of the scorer.

    Examples
    --------
    >>> import numpy as np, truerank as tr
    >>> rng = np.random.default_rng(0)
    >>> scorer = tr.scoring.Factors(rng.normal(size=(500, 8)), rng.normal(size=(2000, 8)))
    >>> test = (np.arange(500), rng.integers(2000, size=500))
    >>> result = tr.evaluate(scorer, test, tr.designs.Fixed(num_negatives=99), metrics="auc")
    >>> result.cost, round(result["auc"].value, 1)
    (50000, 0.5)
    """
    _arguments.check(evaluate, locals())
    _ties.check(ties)
    _progress.check(progress)
    wanted = metrics_module.parse(metrics)
    chosen = estimators.get(estimator)
    asked = prepared(
        scorer, test, design, train=train, seed=seed, keep_target=keep_target, keep_train=keep_train
    )
    task, carried = asked.task, asked.design
    while_drawing(carried, ties, kept=keep_train)  # raises for ties that the design cannot serve
    longest = int((task.whole().n_items + task.n_targets - 1).max())
    check_answers(wanted, chosen, longest, confidence, scope)
    if keep_train:
        check_kept(wanted, carried)
    ledger = asking(scorer)
    budget = getattr(carried, "budget", None)
    if ledger is not None and is_function(ledger):  # its calls may fail, and are paid for then too
        ledger.purse.limit = pairs_within(budget, task)
    begin = time.perf_counter()
    reason, spent = f"{carried!r}, as asked for", 0
    if isinstance(carried, Auto):
        choice = auto.choose(ledger or scorer, task, wanted[0], chosen, carried, seed=seed)
        carried, reason, spent = choice.design, choice.reason, choice.cost
        task = users.fewer(task, carried, seed)
    chosen_design = carried
    ranked, carried = carry_out_within(
        ledger or scorer, task, carried, budget=budget, seed=seed, ties=ties, progress=progress
    )
    if carried != chosen_design:
        reason = auto.shrunk(carried, chosen_design, reason)
    counts = counts_of(task, ranked, ties, seed)
    seconds = time.perf_counter() - begin
    card = protocol_card(
        carried, reason, counts, catalogue=task.catalogue, train=train is not None,
        keep_train=keep_train,
        n_users=task.n_users, population=asked.population, targets=task.n_rows, seed=seed,
        ties="random" if counts.adaptive and ties == "spread" else ties, estimator=chosen,
    ) | dict(ranked.facts)  # fmt: skip
    found = estimate(
        counts,
        wanted,
        estimator=chosen,
        confidence=confidence,
        scope=scope or ("these-users" if carried.users is None else "population"),
        population_size=asked.population,
        seed=seed,
        progress=progress,
    )
    cost = spent + ranked.pairs if ledger is None else ledger.asked
    return Evaluation(found, counts, card, cost, seconds)


def check_answers(
    wanted: Iterable[Metric],
    estimator: Estimator,
    largest: int,
    confidence: float | None,
    scope: str | None,
) -> None:
    """Raise for what cannot be answered, before anything is scored.

    Parameters
    ----------
    wanted : iterable of Metric
        The metrics.
    estimator : Estimator
        Not all of them give every metric.
    largest : int
        Items of the largest pool.
    confidence : float or None
        Confidence of the intervals.
    scope : str or None
        Whom they are for.
    """
    estimators.check_metrics(wanted, estimator, largest)
    if confidence is not None:
        check_confidence(confidence)
    if scope is not None:
        check_scope(scope)


def check_kept(wanted: Iterable[Metric], design: Design) -> None:
    """Raise for metrics that a sample does not give where training items are kept beside it.

    Parameters
    ----------
    wanted : iterable of Metric
        The metrics.
    design : Design
        Exact ranks give them all.
    """
    for metric in () if isinstance(design, Exact) else wanted:
        if metric.depends_on_pool or metric.of_mean_rank:
            raise InputError(
                f"{metric.key} asks for the size of the whole ranking, which counts of a sample do "
                "not hold where training items are kept beside it: give other metrics, or the "
                "design 'exact'"
            )
