"""The verbs on Spark: the same designs, options and answers, for users spread over machines.

``users`` are rows with vectors (`Users`, a DataFrame or the path of Parquet files) and ``items``
their item vectors (`Items`, an array or the path of an .npy file); or ``users`` is a test and
``items`` a scorer that knows its users.
"""

from __future__ import annotations

import math
import time
from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np
import numpy.typing as npt

from truerank import _arguments, designs, estimators
from truerank import metrics as metrics_module
from truerank._types import Scope, Ties
from truerank.designs import Adaptive, Auto, Design, Fixed
from truerank.designs.purse import Purse
from truerank.engines.batches import Counted
from truerank.engines.items import Items
from truerank.engines.kernels import Kernel, Lots
from truerank.engines.levels import Climbed, ClimbedTable, carried_out_within
from truerank.engines.levels import check_kept as check_kept_within
from truerank.engines.spark import Job, Users, frame, from_table, is_rows, session
from truerank.errors import InputError
from truerank.estimators import Estimator
from truerank.evaluation import auto
from truerank.evaluation.evaluated import Evaluation, protocol_card
from truerank.evaluation.evaluating import check_answers, check_kept
from truerank.inference.estimates import DEFAULT_ESTIMATOR, DEFAULT_METRICS, estimate
from truerank.metrics import MetricLike
from truerank.outcomes.counts import RankCounts
from truerank.sampling import users as _users
from truerank.sampling.counting import check_whole_ranks
from truerank.scoring.ledger import asking, is_function
from truerank.scoring.task import interactions

__all__ = ["Items", "Users", "count", "evaluate", "frame", "from_table", "rank", "session"]

_PILOT_USERS = 2000  # who are brought to the driver, for Auto to look at


def __dir__() -> list[str]:
    return __all__


def rank(
    users: Any,
    items: Any,
    design: str | Design = "exact",
    *,
    train: Any = None,
    ties: Ties = "random",
    seed: int = 0,
    keep_target: bool = False,
    keep_train: bool = False,
) -> Any:
    """The rank of every target, as a Spark DataFrame with one row per target.

    Parameters
    ----------
    users : Users, DataFrame, str or path; or a test
        Rows of users with their vectors; with a scorer as items, rows without vectors (`Users` or
        a DataFrame), or the targets as in
        `truerank.rank`.
    items : Items, array, str, path or Scorer
        Item vectors, or a scorer that pickles.
    design : str or Design, default "exact"
        How negatives are chosen, as in `truerank.rank`.
    train : table, pair of arrays or sparse matrix, optional
        Items to leave out, with a scorer; rows of users have them in their column ``train``.
    ties : {"random", "mid", "optimistic", "pessimistic"}
        As in `truerank.rank`.
    seed : int, default 0
        Seed of all random draws.
    keep_target : bool, default False
        As in `truerank.rank`.
    keep_train : bool, default False
        As in `truerank.rank`.

    Returns
    -------
    DataFrame
        Columns ``user_id``, ``item_id``, ``rank``, ``sample_size`` and ``n_items``, in no order.

    Examples
    --------
    >>> import truerank as tr
    >>> tr.spark.rank("users.parquet", "items.npy", tr.designs.Fixed(num_negatives=99))
    ... # doctest: +SKIP
    """
    _arguments.check(rank, locals())
    check_whole_ranks(ties)
    run = _Run(
        users, items, train, design,
        seed=seed, ties=ties, keep_target=keep_target, keep_train=keep_train,
    )  # fmt: skip
    if (climbed := run.climbed()) is not None:
        return run.job.ranks(run.kernel, ClimbedTable(run.kernel, climbed).table)
    return run.job.ranks(run.kernel, run.kernel.table)


def count(
    users: Any,
    items: Any,
    design: str | Design = "exact",
    *,
    train: Any = None,
    ties: Ties = "spread",
    seed: int = 0,
    keep_target: bool = False,
    keep_train: bool = False,
) -> RankCounts:
    """The ranks of all targets as counts, equal to those that one machine would count.

    Parameters
    ----------
    users : Users, DataFrame, str or path; or a test
        Rows of users with their vectors; with a scorer as items, rows without vectors (`Users` or
        a DataFrame), or the targets as in
        `truerank.count`.
    items : Items, array, str, path or Scorer
        Item vectors, or a scorer that pickles.
    design : str or Design, default "exact"
        How negatives are chosen, as in `truerank.count`. A budget is kept level by level, one job
        for each.
    train : table, pair of arrays or sparse matrix, optional
        Items to leave out, with a scorer; rows of users have them in their column ``train``.
    ties : {"spread", "random", "mid", "optimistic", "pessimistic"}
        As in `truerank.count`.
    seed : int, default 0
        Seed of all random draws.
    keep_target : bool, default False
        As in `truerank.count`.
    keep_train : bool, default False
        As in `truerank.count`.

    Returns
    -------
    RankCounts
        Distinct outcomes with their weights.

    Examples
    --------
    >>> import truerank as tr
    >>> tr.spark.count("users.parquet", "items.npy", "adaptive")  # doctest: +SKIP
    """
    _arguments.check(count, locals())
    run = _Run(
        users, items, train, design,
        seed=seed, ties=ties, keep_target=keep_target, keep_train=keep_train,
    )  # fmt: skip
    return run.counted()[0].counts


def evaluate(
    users: Any,
    items: Any,
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
) -> Evaluation:
    """Evaluate a model on held-out targets: global metrics with intervals, protocol and cost.

    Parameters
    ----------
    users : Users, DataFrame, str or path; or a test
        Rows of users with their vectors; with a scorer as items, rows without vectors (`Users` or
        a DataFrame), or the targets as in
        `truerank.evaluate`.
    items : Items, array, str, path or Scorer
        Item vectors, or a scorer that pickles.
    design : str or Design, default "auto"
        How negatives are chosen, as in `truerank.evaluate`. ``Auto`` looks at some of the users
        here, on the driver, and then sends the design that it chose to all.
    train : table, pair of arrays or sparse matrix, optional
        Items to leave out, with a scorer; rows of users have them in their column ``train``.
    metrics : str, Metric or list of them, default recall@10, ndcg@10, ap, auc
        As in `truerank.estimate`.
    estimator : str or Estimator, default "smooth"
        As in `truerank.estimate`.
    confidence : float or None, default 0.95
        Confidence of the intervals; None for none.
    scope : {"these-users", "population"}, optional
        Whom the intervals are for, as in `truerank.evaluate`.
    ties : {"spread", "random", "mid", "optimistic", "pessimistic"}
        As in `truerank.count`.
    seed : int, default 0
        Seed of all random draws.
    keep_target : bool, default False
        As in `truerank.count`.
    keep_train : bool, default False
        As in `truerank.count`.

    Returns
    -------
    Evaluation
        As `truerank.evaluate` gives it; ``cost`` is what all workers asked of the scorer, except
        for tasks that Spark had to run again.

    Examples
    --------
    >>> import truerank as tr
    >>> tr.spark.evaluate("users.parquet", "items.npy")["recall@10"].value  # doctest: +SKIP
    """
    _arguments.check(evaluate, locals())
    wanted = metrics_module.parse(metrics)
    chosen = estimators.get(estimator)
    begin = time.perf_counter()
    run = _Run(
        users, items, train, design,
        seed=seed, ties=ties, keep_target=keep_target, keep_train=keep_train,
    )  # fmt: skip
    check_answers(wanted, chosen, run.kernel.items.n_items, confidence, scope)
    if keep_train:
        check_kept(wanted, run.kernel.design)
    reason, spent = f"{run.kernel.design!r}, as asked for", 0
    if isinstance(run.kernel.design, Auto):
        reason, spent = run.decide(wanted[0], chosen)
    counted, carried = run.counted()
    if carried != run.kernel.design:
        reason = auto.shrunk(carried, run.kernel.design, reason)
    counts = counted.counts
    seconds = time.perf_counter() - begin
    n_users = round(counts.n_users)
    card = protocol_card(
        carried, reason, counts, catalogue=run.kernel.items.n_items, train=run.job.leaves_out,
        keep_train=keep_train,
        n_users=n_users, population=run.population or n_users, targets=counted.targets, seed=seed,
        ties="random" if counts.adaptive and ties == "spread" else ties, estimator=chosen,
    )  # fmt: skip
    found = estimate(
        counts,
        wanted,
        estimator=chosen,
        confidence=confidence,
        scope=scope or ("these-users" if carried.users is None else "population"),
        population_size=run.population,
        seed=seed,
    )
    return Evaluation(found, counts, {**card, "engine": "spark"}, spent + counted.pairs, seconds)


class _Run:
    """One call of a verb: the rows, and the kernel that is sent to them."""

    def __init__(
        self, users: Any, items: Any, train: Any, design: str | Design, **options: Any
    ) -> None:
        self._options = options
        if isinstance(items, Mapping):
            raise InputError(
                "items is a mapping; several models are counted together by truerank.count, on one "
                "machine: on Spark count each part of the users so, and add the counts up, or "
                "count one model at a time"
            )
        ours = Items.of(items)
        if not ours.needs_vectors and not is_rows(users):
            users = Users(frame(_rows(users, train)), distinct=True)
        elif train is not None:
            raise InputError(
                "train is given, but users come as rows: give training items in the same rows, as "
                "a column train of lists"
            )
        rows = Users.of(users)
        self._options["columns"] = rows.columns
        self.job = Job(rows, ours)
        if options["keep_train"] and not self.job.leaves_out:
            raise InputError(
                "keep_train is True, but there are no training items: no train=, and no column "
                "train of the users; without them nothing is left out"
            )
        self.population: int | None = None
        self._purse: Purse | None = None  # of Auto within a budget, if a function is asked
        self._budget = 0.0
        self._take(ours, designs.get(design))

    def _take(self, items: Items, design: Design) -> None:
        """Set the kernel of a design; users are counted and chosen by jobs where it needs that."""
        chosen, n_users = None, None
        if design.users is not None:
            chosen = self._chosen(items, design, design.users)
            n_users = design.users
        elif isinstance(design, Fixed) and design.shared_by is not None:
            n_users = self.job.n_users()
        self.kernel = Kernel(items, design, n_users=n_users, chosen=chosen, **self._options)

    def _chosen(self, items: Items, design: Design, n_users: int) -> npt.NDArray[np.uint64]:
        """The sorted lots of the users that are evaluated."""
        if design.stratified and not self.job.leaves_out:
            raise InputError("stratified needs train: users are stratified by their activity there")
        (table,) = self.job.tables(Lots(Kernel(items, **self._options)))
        lot = table["lot"].to_numpy().view(np.uint64)
        self.population = int(lot.size)
        activity = table["activity"].to_numpy() if design.stratified else None
        return np.sort(lot[_users.pick(lot, n_users, activity)])

    def decide(self, metric: Any, estimator: Estimator) -> tuple[str, int]:
        """Let `Auto` look at some users here; the reason, and the pairs that took."""
        asked = self.kernel.design
        assert isinstance(asked, Auto)
        check_kept_within(self.kernel)
        n_users = asked.users or self.job.n_users()
        # Of those who are evaluated: what is asked here is used there.
        chosen = self.kernel.chosen
        if chosen is None:
            chosen = self._chosen(self.kernel.items, asked, n_users)
        pilot = Kernel(self.kernel.items, asked, chosen=chosen[:_PILOT_USERS], **self._options)
        prepared = pilot.prepare(self.job.rows(pilot))
        assert prepared is not None
        scorer, task = prepared
        ledger = asking(scorer)
        if ledger is not None and is_function(ledger) and asked.budget is not None:
            ledger.purse.limit = math.floor(asked.budget * n_users)
            self._purse, self._budget = ledger.purse, asked.budget
        seed = self._options["seed"]
        choice = auto.choose(
            ledger or scorer, task, metric, estimator, asked, seed=seed, n_users=n_users
        )
        # What was asked here is remembered there.
        items = self.kernel.items if ledger is None else Items(ledger)
        self.population = None
        self._take(items, choice.design)
        return choice.reason, choice.cost

    def climbed(self) -> Climbed | None:
        """All targets after the climb of a design with a budget; None for other designs."""
        design = self.kernel.design
        if isinstance(design, Adaptive) and design.budget is not None:
            return carried_out_within(self.kernel, self.job.tables, design.budget, self._purse)
        if self._purse is not None:
            return carried_out_within(self.kernel, self.job.tables, self._budget, self._purse)
        return None

    def counted(self) -> tuple[Counted, Design]:
        """The counts, with what they took, and the design that was carried out."""
        if (climbed := self.climbed()) is not None:
            return climbed.counted(), climbed.design
        return self.job.counts(self.kernel), self.kernel.design


def _rows(test: Any, train: Any) -> Any:
    """One row per user: ``user_id``, all its targets, and its training items."""
    import pyarrow as pa

    user_id, item_id = interactions(test, "test")
    users, at = np.unique(user_id, return_inverse=True)
    columns = {"user_id": pa.array(users), "item_id": _lists(at, item_id, users.size)}
    if train is not None:
        other, left_out = interactions(train, "train")
        place = np.searchsorted(users, other)
        known = place < users.size
        known[known] = users[place[known]] == other[known]
        columns["train"] = _lists(place[known], left_out[known], users.size)
    return pa.table(columns)


def _lists(row: npt.NDArray[Any], values: npt.NDArray[Any], n_rows: int) -> Any:
    """A column of lists: the values of each row."""
    import pyarrow as pa

    order = np.argsort(row, kind="stable")
    end = np.cumsum(np.bincount(row, minlength=n_rows))
    offsets = np.concatenate([[0], end]).astype(np.int32)
    return pa.ListArray.from_arrays(pa.array(offsets), pa.array(values[order]))
