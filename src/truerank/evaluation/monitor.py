"""`Monitor`: validation during training, every epoch on the same users and negatives."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from truerank import _arguments, _checks, designs, estimators
from truerank import metrics as metrics_module
from truerank._types import PathLike, Scope, Ties
from truerank.designs import Auto, Design
from truerank.errors import InputError
from truerank.estimators import Estimator
from truerank.evaluation import _monitor_file, auto
from truerank.evaluation._monitor_file import Kept
from truerank.evaluation.evaluating import check_answers
from truerank.evaluation.monitored import ROUNDING, Epoch, History, is_real, name
from truerank.evaluation.ranking import prepared
from truerank.inference.comparing.compare import compare_all
from truerank.inference.comparing.comparison import Comparison
from truerank.inference.estimates import DEFAULT_ESTIMATOR, estimate
from truerank.inference.intervals.fitting import Fitted
from truerank.inference.intervals.interval import check_confidence, check_scope
from truerank.inference.result import Result
from truerank.metrics import MetricLike
from truerank.outcomes.counts import RankCounts
from truerank.outcomes.paired import PairedCounts
from truerank.progress import Progress
from truerank.rng import check_seed
from truerank.sampling import users
from truerank.sampling.carry_out import carry_out, pairs_within, while_drawing
from truerank.sampling.counting import counts_of, paired_counts_of
from truerank.sampling.joint import RankedTogether, check_own_negatives
from truerank.sampling.placed import placed
from truerank.scoring import ties as _ties
from truerank.scoring._ids import Ids
from truerank.scoring.ledger import Ledger, asking_once, is_function
from truerank.scoring.scorer import Scorer
from truerank.scoring.task import Task

Gather = Callable[[Any], Sequence[Any]]


@dataclass(frozen=True)
class _Setting:
    """What is the same in every epoch: the targets, the design, the ids of the model."""

    task: Task
    design: Design
    reason: str
    user_ids: Ids
    item_ids: Ids


@dataclass(frozen=True)
class _Part:
    """What one process found: its users' counts, and those together with the best epoch's."""

    counts: RankCounts
    paired: PairedCounts | None
    best: RankCounts | None
    cost: int


class Monitor(Result):
    """Watch a validation metric during training, every epoch on the same users and negatives.

    ``update(scorer)`` once per epoch gives the metrics of the whole catalogue with intervals, and
    the difference to the best epoch so far with an interval of its own. Both epochs meet the same
    negatives, so that most of what chance does is in both and cancels. The interval has the rest:
    an epoch counts against the patience only if it is *really* worse, all of its interval.

    Parameters
    ----------
    test : table, pair of arrays or sparse matrix
        The validation targets, as in `truerank.evaluate`. Under several processes, the targets of
        this process's share of the users.
    train : table, pair of arrays or sparse matrix, optional
        Items to leave out of the ranking, usually the users' training items.
    metrics : str, Metric or list of them, default "ndcg@10"
        As in `truerank.estimate`; the first one decides which epoch is best.
    seconds : float, default 2.0
        Seconds that scoring may take per epoch, about. The first epoch is timed: all items are
        ranked if that suffices, else the design is taken whose predicted error is smallest. It is
        kept from then on, so that epochs compare. Estimating comes on top, half a second to three
        seconds if sampled.
    design : str or Design, optional
        A design of `truerank.designs` instead of one chosen by time, which differs by machine.
    patience : int, default 3
        Stop after so many epochs, since the best one, that are really worse than it.
    estimator : str or Estimator, default "smooth"
        As in `truerank.estimate`.
    confidence : float, default 0.95
        Confidence of the intervals.
    scope : {"population", "these-users"}
        Whom intervals and differences are for. Validation users are a sample: for the population,
        the default, an epoch is really worse only if other users would see that, too. For these
        users, exact ranks have no error and any difference is real.
    ties : {"spread", "random", "optimistic", "pessimistic"}
        What items of the target's score do, as in `truerank.count`.
    seed : int, default 0
        Seed of the negatives, the same in every epoch.
    keep_target : bool, default False
        Rank targets that are among their user's training items all the same, instead of raising.
    gather : callable, optional
        For several processes: gives the list of what all of them pass to it, in the same order to
        each, as `torch.distributed.all_gather_object` does. Counts add up, so that every process
        has the same answer. See `truerank.integrations.torch.gather`.

    See Also
    --------
    truerank.evaluate : One evaluation.
    truerank.plot.history : The epochs as a figure.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> items, taste = rng.normal(size=(500, 8)), rng.normal(size=(200, 8))
    >>> test = (np.arange(200), (taste @ items.T).argmax(axis=1))
    >>> monitor = tr.Monitor(test, metrics=["ndcg@10"], patience=1)
    >>> for noise in (2.0, 1.0, 0.5, 1.5, 3.0):  # a model that learns, and then forgets
    ...     users = taste + noise * rng.normal(size=taste.shape)
    ...     found = monitor.update(tr.scoring.Factors(users, items))
    ...     if monitor.should_stop:
    ...         break
    >>> monitor.best_epoch, len(monitor.history.epochs)
    (3, 4)
    """

    def __init__(
        self,
        test: Any,
        *,
        train: Any = None,
        metrics: MetricLike | Iterable[MetricLike] = "ndcg@10",
        seconds: float = 2.0,
        design: str | Design | None = None,
        patience: int = 3,
        estimator: str | Estimator = DEFAULT_ESTIMATOR,
        confidence: float = 0.95,
        scope: Scope = "population",
        ties: Ties = "spread",
        seed: int = 0,
        keep_target: bool = False,
        gather: Gather | None = None,
    ) -> None:
        _arguments.check(Monitor.__init__, locals())
        self._test, self._train, self._keep_target = test, train, keep_target
        self.metrics = metrics_module.parse(metrics)
        self.patience = _checks.integer(patience, "patience", low=1)
        self._asked = Auto(seconds=seconds) if design is None else designs.get(design)
        check_own_negatives(self._asked)
        self._estimator = estimators.get(estimator)
        self._confidence, self._scope = check_confidence(confidence), check_scope(scope)
        self._ties = ties
        _ties.check(ties)
        while_drawing(self._asked, ties)  # raises for ties that the design cannot serve
        self._seed = check_seed(seed)
        self._gather = gather
        self._setting: _Setting | None = None
        self._fingerprint: str | None = None
        self._reason = ""
        self._kept: Kept | None = None
        self._fitted: Fitted | None = None
        self._rows: list[dict[str, Any]] = []
        self._worse = 0

    # -- what it has found ------------------------------------------------------------------

    @property
    def should_stop(self) -> bool:
        """Whether the last epochs are really worse than the best one, as many as patience allows.

        Returns
        -------
        bool
            False before the first epoch.

        Examples
        --------
        >>> tr.Monitor((np.arange(50), np.arange(50))).should_stop
        False
        """
        return self._worse >= self.patience

    @property
    def best_epoch(self) -> int | None:
        """The epoch with the best value of the first metric, the smallest for ``mr`` and ``amr``.

        Returns
        -------
        int or None
            None before the first epoch.

        Examples
        --------
        >>> monitor = tr.Monitor((np.arange(50), np.arange(50)))
        >>> scores = np.random.default_rng(0).random((50, 400))
        >>> found = monitor.update(tr.scoring.Dense(scores))
        >>> monitor.best_epoch
        1
        """
        return None if self._kept is None else self._kept.epoch

    @property
    def design(self) -> Design | None:
        """The design that every epoch is ranked by.

        Returns
        -------
        Design or None
            None before the first epoch.

        Examples
        --------
        >>> monitor = tr.Monitor((np.arange(50), np.arange(50)))
        >>> scores = np.random.default_rng(0).random((50, 400))
        >>> found = monitor.update(tr.scoring.Dense(scores))
        >>> monitor.design
        Exact()
        """
        return None if isinstance(self._asked, Auto) else self._asked

    @property
    def history(self) -> History:
        """All epochs so far.

        Returns
        -------
        History
            A table: ``to_pandas()``, ``to_dict()``, ``to_markdown()``.

        Examples
        --------
        >>> monitor = tr.Monitor((np.arange(50), np.arange(50)))
        >>> monitor.history.rows()
        []
        """
        return History(tuple(self._rows), self.best_epoch, self.should_stop, self._reason)

    def rows(self) -> list[dict[str, Any]]:
        return self.history.rows()

    def to_dict(self) -> dict[str, Any]:
        return self.history.to_dict()

    def _headline(self) -> str:
        return self.history._headline()

    def _remarks(self) -> Sequence[str]:
        return self.history._remarks()

    def _shown(self) -> Any:
        return self.history._shown()

    def __repr__(self) -> str:
        return repr(self.history)

    # -- an epoch ---------------------------------------------------------------------------

    def update(
        self, scorer: Scorer, *, epoch: int | None = None, progress: Progress = False
    ) -> Epoch:
        """Evaluate the model as it is now, and compare it with the best epoch so far.

        Parameters
        ----------
        scorer : Scorer
            The model, as one of `truerank.scoring`, with the same users and items every time.
        epoch : int, optional
            Its number, above that of the last; the next one, from 1, if not given.
        progress : callable or bool, default False
            As in `truerank.evaluate`.

        Returns
        -------
        Epoch
            The estimates, the difference to the best epoch before, whether to stop.

        Examples
        --------
        >>> monitor = tr.Monitor((np.arange(50), np.arange(50)), metrics=["recall@10"])
        >>> scores = np.random.default_rng(0).random((50, 400))
        >>> found = monitor.update(tr.scoring.Dense(scores))
        >>> better = monitor.update(tr.scoring.Dense(scores + np.eye(50, 400)))
        >>> better.difference.low > 0.0, better.is_best
        (True, True)
        """
        _arguments.check(Monitor.update, locals())
        begin = time.perf_counter()
        number = self._number(epoch)
        part, now = self._count(scorer, number, progress)
        whole = _added(self._from_all(part))
        found = estimate(
            whole.counts, self.metrics, estimator=self._estimator, confidence=self._confidence,
            scope=self._scope, seed=self._seed, progress=progress,
        )  # fmt: skip
        compared = self._compare(whole, found.fitted, number)
        before = self.best_epoch
        first = compared.get(self.metrics[0].key)
        off = None if first is None else first[name(number), name(before)]
        way = -1.0 if self.metrics[0].lower_is_better else 1.0
        if off is None or way * off.value > ROUNDING:
            self._kept, self._fitted, self._worse = now, found.fitted, 0
        elif is_real(off):
            self._worse += 1
        assert self.best_epoch is not None
        result = Epoch(
            number, found, compared, before, self.best_epoch, self._worse, self.should_stop,
            whole.cost, 0.0,
        )  # fmt: skip
        rows = result.rows()  # the intervals are found here
        result = replace(result, seconds=time.perf_counter() - begin)
        self._rows += [row | {"seconds": result.seconds} for row in rows]
        return result

    def _from_all(self, part: Any) -> Sequence[Any]:
        """What all processes have in place of this one's part."""
        if self._gather is None:
            return [part]
        parts = self._gather(part)
        wanted = type(part).__name__
        if not isinstance(parts, (list, tuple)) or not all(
            isinstance(p, type(part)) for p in parts
        ):
            raise InputError(
                f"gather gave {_checks.shown(parts)} for a {wanted}; it must give the list of what "
                "all processes pass to it"
            )
        if not parts:
            raise InputError("gather gave an empty list; what this process passes to it is in it")
        return parts

    def _number(self, epoch: int | None) -> int:
        last = self._rows[-1]["epoch"] if self._rows else None
        if epoch is None:
            return 1 if last is None else int(last) + 1
        number = _checks.integer(epoch, "epoch", low=0)
        if last is not None and number <= last:
            raise InputError(f"epoch is {number}, but epoch {last} was seen already; give a later")
        return number

    def _count(self, scorer: Scorer, epoch: int, progress: Progress) -> tuple[_Part, Kept]:
        """What this process's users say, and what to keep of it should it be the best."""
        setting, asked, spent = self._prepared(scorer)
        task, design = setting.task, setting.design
        if isinstance(asked, Ledger) and is_function(asked):
            budget = getattr(design, "budget", None)
            asked.purse.limit = pairs_within(budget, task)
        ranked = carry_out(asked, task, design, seed=self._seed, ties=self._ties, progress=progress)
        task = ranked.of_task(task)
        places = None
        if not task.several:
            places = placed(asked, task, ranked, design, seed=self._seed, ties=self._ties)
        now = Kept(epoch, ranked, places)
        if isinstance(asked, Ledger):
            cost = asked.asked
        else:
            again = 0 if places is None else places.place.size + task.n_rows
            cost = spent + ranked.pairs + again
        counts = counts_of(setting.task, ranked, self._ties, self._seed)
        paired, best = None, None
        if self._kept is not None and task.several:
            best = counts_of(setting.task, self._kept.ranked, self._ties, self._seed)
        elif self._kept is not None:
            paired = self._together(setting.task, now, self._kept)
        return _Part(counts, paired, best, cost), now

    def _together(self, task: Task, now: Kept, best: Kept) -> PairedCounts:
        names = name(now.epoch), name(best.epoch)
        pairs: tuple[tuple[str, str], ...] = ()
        joint = np.zeros((now.ranked.above.size, 0, 3, 3), dtype=np.int64)
        if now.placed is not None and best.placed is not None:
            pairs, joint = (names,), now.placed.joint(best.placed)[:, None]
        both = dict(zip(names, (now.ranked, best.ranked), strict=True))
        found = RankedTogether(both, pairs, joint)
        return paired_counts_of(task, found, self._ties, self._seed)

    def _prepared(self, scorer: Scorer) -> tuple[_Setting, Scorer, int]:
        """The setting, the scorer as it is to be asked, and pairs that choosing a design took."""
        if self._setting is not None:
            _check_same(self._setting, scorer)
            return self._setting, asking_once(scorer), 0
        asked = prepared(
            scorer, self._test, self._asked, train=self._train, seed=self._seed,
            keep_target=self._keep_target,
        )  # fmt: skip
        task, design, spent = asked.task, asked.design, 0
        longest = int((task.n_items + task.n_targets - 1).max())
        check_answers(self.metrics, self._estimator, longest, self._confidence, self._scope)
        found = asking_once(scorer)
        reason = self._reason or f"{design!r}, as asked for"
        if isinstance(design, Auto):
            choice = auto.choose(
                found, task, self.metrics[0], self._estimator, design, seed=self._seed
            )
            design, reason, spent = choice.design, choice.reason, choice.cost
            if self._gather is not None:  # what the first process has chosen goes for all
                design, reason = self._from_all((design, reason))[0]
            task = users.fewer(task, design, self._seed)
        fingerprint = _monitor_file.fingerprint(task)
        if self._fingerprint not in (None, fingerprint):
            raise InputError(
                "test or train, or the order of the model's items, is not that of the file that "
                "was loaded; give the same, or begin with a new Monitor"
            )
        self._asked, self._reason, self._fingerprint = design, reason, fingerprint
        self._setting = _Setting(task, design, reason, scorer.user_ids, scorer.item_ids)
        self._test = self._train = None  # the task has what is needed of them
        return self._setting, found, spent

    def _compare(self, whole: _Part, fitted: Fitted | None, epoch: int) -> dict[str, Comparison]:
        """The epoch against the best one, on every metric."""
        if self._kept is None:
            return {}
        models: Any = whole.paired
        if models is None:
            models = {name(epoch): whole.counts, name(self._kept.epoch): whole.best}
        known = {name(epoch): fitted, name(self._kept.epoch): self._fitted}
        found = compare_all(
            models, self.metrics, estimator=self._estimator, confidence=self._confidence,
            scope=self._scope, seed=self._seed, progress=False, tests=False,
            fitted={key: one for key, one in known.items() if one is not None},
        )  # fmt: skip
        return {one.metric: one for one in found}

    # -- a file -----------------------------------------------------------------------------

    def save(self, path: PathLike) -> None:
        """Save the state to a Parquet file, which :meth:`load` reads.

        Parameters
        ----------
        path : str or path
            A file name that ends in ``.parquet``; under several processes one for each.

        Examples
        --------
        >>> test = (np.arange(50), np.arange(50))
        >>> monitor = tr.Monitor(test, patience=5)
        >>> scores = np.random.default_rng(0).random((50, 400))
        >>> found = monitor.update(tr.scoring.Dense(scores))
        >>> monitor.save("monitor.parquet")
        >>> again = tr.Monitor.load("monitor.parquet", test)
        >>> again.best_epoch, again.patience
        (1, 5)
        """
        _arguments.check(Monitor.save, locals())
        state = {
            "reason": self._reason,
            "fingerprint": self._fingerprint,
            "worse": self._worse,
            "rows": self._rows,
        }
        _monitor_file.save(path, self._kept, self._options(), state)

    def _options(self) -> dict[str, Any]:
        """The options, as a file holds them."""
        return {
            "metrics": [metric.key for metric in self.metrics],
            "design": self._asked.to_dict(),
            "patience": self.patience,
            "estimator": estimators.describe(self._estimator),
            "confidence": self._confidence,
            "scope": self._scope,
            "ties": self._ties,
            "seed": self._seed,
            "keep_target": self._keep_target,
        }

    @classmethod
    def load(
        cls,
        path: PathLike,
        test: Any,
        *,
        train: Any = None,
        design: str | Design | None = None,
        gather: Gather | None = None,
    ) -> Monitor:
        """Load a saved monitor; the next epoch gives the same result as without the break.

        Parameters
        ----------
        path : str or path
            The Parquet file.
        test : table, pair of arrays or sparse matrix
            The same validation targets; the next update raises if they are others.
        train : table, pair of arrays or sparse matrix, optional
            The same items to leave out.
        design : Design, optional
            Of `truerank.designs.Frozen` alone, whose negatives the file does not hold.
        gather : callable, optional
            As in the constructor.

        Returns
        -------
        Monitor
            Its options are those of the file.

        Examples
        --------
        >>> test = (np.arange(50), np.arange(50))
        >>> monitor = tr.Monitor(test)
        >>> scores = np.random.default_rng(0).random((50, 400))
        >>> found = monitor.update(tr.scoring.Dense(scores))
        >>> monitor.save("monitor.parquet")
        >>> again = tr.Monitor.load("monitor.parquet", test)
        >>> again.update(tr.scoring.Dense(scores)).epoch
        2
        """
        _arguments.check(Monitor.load, locals())
        options, state, kept = _monitor_file.load(path)
        known = options.pop("design")
        found = cls(
            test, train=train, gather=gather,
            design=designs.from_dict(known) if design is None else design, **options,
        )  # fmt: skip
        found._take(state, kept)
        return found

    def restore(self, path: PathLike) -> None:
        """Restore the state that :meth:`save` wrote, in place, with this monitor's own data.

        Parameters
        ----------
        path : str or path
            The Parquet file, of a monitor with the same metrics and seed.

        Examples
        --------
        >>> test = (np.arange(50), np.arange(50))
        >>> monitor = tr.Monitor(test)
        >>> scores = np.random.default_rng(0).random((50, 400))
        >>> found = monitor.update(tr.scoring.Dense(scores))
        >>> monitor.save("monitor.parquet")
        >>> found = monitor.update(tr.scoring.Dense(scores))
        >>> monitor.restore("monitor.parquet")
        >>> len(monitor.history.epochs)
        1
        """
        _arguments.check(Monitor.restore, locals())
        options, state, kept = _monitor_file.load(path)
        mine = self._options()
        for key, value in options.items():
            chosen = key == "design" and isinstance(self._asked, Auto)
            if value != mine[key] and not chosen:
                raise InputError(
                    f"{key} is {mine[key]!r} here and {value!r} in {path}; Monitor.load takes the "
                    "options of the file"
                )
        if self._setting is None:
            self._asked = designs.from_dict(options["design"])
        elif self._fingerprint != state["fingerprint"]:
            raise InputError(f"test or train is not that of {path}")
        self._take(state, kept)

    def _take(self, state: dict[str, Any], kept: Kept | None) -> None:
        self._kept, self._fitted = kept, None
        self._rows, self._worse = state["rows"], state["worse"]
        self._reason, self._fingerprint = state["reason"], state["fingerprint"]


def _added(parts: Sequence[_Part]) -> _Part:
    """What all processes found together."""
    first, *others = parts
    for other in others:
        paired = best = None
        if first.paired is not None and other.paired is not None:
            paired = first.paired + other.paired
        if first.best is not None and other.best is not None:
            best = first.best + other.best
        first = _Part(first.counts + other.counts, paired, best, first.cost + other.cost)
    return first


def _check_same(setting: _Setting, scorer: Any) -> None:
    """Raise unless rows still mean the same users and items: negatives are drawn by row."""
    if not isinstance(scorer, Scorer):
        raise InputError(
            f"scorer is of type {type(scorer).__name__}; wrap your model in one of "
            "truerank.scoring, such as Factors(U, V), Dense(S) or Torch(module)"
        )
    for kind, before, now in (
        ("users", setting.user_ids, scorer.user_ids),
        ("items", setting.item_ids, scorer.item_ids),
    ):
        if before.n_rows != now.n_rows:
            raise InputError(
                f"the scorer has {now.n_rows} {kind}, but had {before.n_rows} in the epoch before; "
                "a Monitor watches one model: begin with a new one"
            )
        rows = np.arange(now.n_rows or 0)
        if before is not now and not np.array_equal(before.values(rows), now.values(rows)):
            raise InputError(
                f"the ids of the scorer's {kind} changed since the epoch before; a Monitor "
                "watches one model: begin with a new one"
            )
