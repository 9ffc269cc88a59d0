"""`estimate`: from RankCounts to global metrics, and the result it gives."""

from __future__ import annotations

import math
import warnings
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

from truerank import _arguments, _checks, estimators
from truerank import metrics as metrics_module
from truerank._types import IntervalKind, PlugIn, Scope, SupportName
from truerank.errors import FitWarning, InputError
from truerank.estimators import Estimator, Fit, Posterior
from truerank.estimators.support import RankDistribution, Support
from truerank.inference import columns, result
from truerank.inference.fit_test import FitTest, fit_test
from truerank.inference.intervals.fitting import Fitted, bound, fit_to
from truerank.inference.intervals.interval import (
    Interval,
    check_confidence,
    check_kind,
    check_population_size,
    check_scope,
    intervals,
    range_of,
)
from truerank.inference.planning.resolution import resolution
from truerank.inference.result import Result, plain
from truerank.inference.verdicts import ERROR, Settled, not_resolved, settled
from truerank.metrics import Metric, MetricLike
from truerank.outcomes._columns import dropped
from truerank.outcomes.counts import RankCounts
from truerank.progress import Progress

DEFAULT_METRICS = ("recall@10", "ndcg@10", "ap", "auc")
DEFAULT_ESTIMATOR = "smooth"
FLAT = ("value", "low", "high", "resolvable")  # what trackers are told of a metric


@dataclass(frozen=True)
class Estimate:
    """The estimate of one metric.

    Its interval is found when it is first asked for, those of all metrics at once. Without a
    ``confidence``, all that belongs to the interval is None.

    Attributes
    ----------
    metric : str
        The metric: ``recall@10``.
    value : float
        Its estimate for the whole catalogue.
    naive : float
        The same metric of the sampled ranks as they are, uncorrected.
    out_of_range : bool
        Whether the value as computed lies outside what the metric can be: linear estimators may
        stray.

    Examples
    --------
    >>> ranks = np.random.default_rng(0).geometric(0.3, 200).clip(1, 20)
    >>> counts = tr.RankCounts.from_ranks(ranks, n_items=500, num_negatives=19)
    >>> found = tr.estimate(counts, "recall@100")["recall@100"]
    >>> found.low < found.value < found.high < found.naive
    True
    """

    metric: str
    value: float
    naive: float
    out_of_range: bool = False
    _intervals: _Intervals | None = field(default=None, repr=False, compare=False)

    def __repr__(self) -> str:
        interval = "" if self.low is None else f" {columns.interval(self, 5)}{columns.marks(self)}"
        return f"Estimate({self.metric} = {self.value:.5f}{interval}, naive {self.naive:.5f})"

    @property
    def low(self) -> float | None:
        """Lower end of the interval.

        Returns
        -------
        float or None
            In units of the metric.

        Examples
        --------
        >>> ranks = np.random.default_rng(0).geometric(0.3, 200).clip(1, 20)
        >>> counts = tr.RankCounts.from_ranks(ranks, n_items=500, num_negatives=19)
        >>> found = tr.estimate(counts, "recall@100")["recall@100"]
        >>> 0.0 <= found.low < found.value
        True
        """
        return None if self._interval is None else self._interval.low

    @property
    def high(self) -> float | None:
        """Upper end of the interval.

        Returns
        -------
        float or None
            In units of the metric.

        Examples
        --------
        >>> ranks = np.random.default_rng(0).geometric(0.3, 200).clip(1, 20)
        >>> counts = tr.RankCounts.from_ranks(ranks, n_items=500, num_negatives=19)
        >>> found = tr.estimate(counts, "recall@100")["recall@100"]
        >>> found.value < found.high <= 1.0
        True
        """
        return None if self._interval is None else self._interval.high

    @property
    def std_error(self) -> float | None:
        """Standard error of the value over redraws of the negatives and, for a population, users.

        Returns
        -------
        float or None
            In units of the metric.

        Examples
        --------
        >>> ranks = np.random.default_rng(0).geometric(0.3, 200).clip(1, 20)
        >>> counts = tr.RankCounts.from_ranks(ranks, n_items=500, num_negatives=19)
        >>> found = tr.estimate(counts, "recall@100")["recall@100"]
        >>> 0.0 < found.std_error < 0.1
        True
        """
        return None if self._interval is None else self._interval.std_error

    @property
    def total_error(self) -> float | None:
        """Root mean squared error: the standard error, bias and what the estimator assumes.

        Returns
        -------
        float or None
            In units of the metric; divided by the value it is what ``error=`` means everywhere.

        Examples
        --------
        >>> ranks = np.random.default_rng(0).geometric(0.3, 200).clip(1, 20)
        >>> counts = tr.RankCounts.from_ranks(ranks, n_items=500, num_negatives=19)
        >>> found = tr.estimate(counts, "recall@100")["recall@100"]
        >>> found.total_error >= found.std_error
        True
        """
        return None if self._interval is None else self._interval.total_error

    @property
    def error_budget(self) -> dict[str, float] | None:
        """What the error is made of.

        Returns
        -------
        dict of str to float, or None
            In units of the metric. ``negatives``: scatter over redraws of the negatives; ``ranks``:
            what the estimate does not see of the very ranks of these users; ``law``: what the
            sample leaves open of the rank distribution; ``bias``: the mean error of the estimator,
            as far as it is clear; ``lumps``: what single items that stand out may do where the
            sample does not tell ranks apart; ``misfit`` and ``misfit_better``: how far real
            evaluations may lie from such laws to the worse and to the better; ``users``: scatter
            over redraws of the users, 0 for these users.

        Examples
        --------
        >>> ranks = np.random.default_rng(0).geometric(0.3, 200).clip(1, 20)
        >>> counts = tr.RankCounts.from_ranks(ranks, n_items=500, num_negatives=19)
        >>> found = tr.estimate(counts, "recall@100")["recall@100"]
        >>> max(found.error_budget, key=found.error_budget.get)
        'negatives'
        """
        return None if self._interval is None else self._interval.budget

    @property
    def resolvable(self) -> bool | None:
        """Whether the sample settles the value.

        Returns
        -------
        bool or None
            False where the interval reaches further than half of the value to either side, or
            further than a tenth of it and mostly by assumption: `verdict` says what to do. It is
            the same whatever ``interval`` was asked for.

        Examples
        --------
        >>> ranks = np.random.default_rng(0).geometric(0.3, 200).clip(1, 20)
        >>> counts = tr.RankCounts.from_ranks(ranks, n_items=500, num_negatives=19)
        >>> found = tr.estimate(counts, "recall@100")["recall@100"]
        >>> found.resolvable
        True
        """
        return None if self._interval is None else self._interval.resolvable

    @property
    def verdict(self) -> str | None:
        """What is wrong with a value that is not resolved, and what to do.

        Returns
        -------
        str or None
            Three sentences; None if the sample settles the value.

        Examples
        --------
        >>> ranks = np.random.default_rng(0).geometric(0.3, 200).clip(1, 20)
        >>> counts = tr.RankCounts.from_ranks(ranks, n_items=500, num_negatives=19)
        >>> found = tr.estimate(counts, "recall@100")["recall@100"]
        >>> found.verdict is None
        True
        """
        return None if self._intervals is None else self._intervals.verdict([self])

    @property
    def _interval(self) -> Interval | None:
        return None if self._intervals is None else self._intervals.found[self.metric]

    def __float__(self) -> float:
        return self.value


@dataclass(frozen=True)
class _Intervals:
    """All that intervals need, until someone asks for one; ``asked`` is what is wanted of them."""

    fitted: Fitted
    asked: Mapping[str, Any]
    _settled: dict[float, list[Settled]] = field(default_factory=dict, compare=False)

    @cached_property
    def found(self) -> dict[str, Interval]:
        fitted, counts = self.fitted, self.fitted.counts
        per_user = counts.total_weight / counts.n_users
        if math.isclose(per_user, 1.0, rel_tol=1e-12):  # up to rounding: no end leaves the range
            per_user = 1.0
        ranges = [range_of(metric, counts) for metric in fitted.metrics]
        ends = intervals(
            fitted.fit, fitted.law, fitted.metrics, counts.n_users, ranges=ranges, **self.asked
        )
        return {
            metric.key: interval.scaled(per_user)
            for metric, interval in zip(fitted.metrics, ends, strict=True)
        }

    def verdict(self, results: Iterable[Estimate], error: float = ERROR) -> str | None:
        """On those of the results that are not resolved."""
        open_ = [one for one in results if one.resolvable is False]
        if not open_:
            return None
        own = self.fitted.is_reference
        names = {one.metric.partition("@")[0] for one in open_}
        known = [one for one in self.settled_by(error) if one.name in names] if own else []
        other = None if own else DEFAULT_ESTIMATOR
        return not_resolved(open_, self.fitted.counts, known, error=error, other=other)

    def settled_by(self, error: float) -> list[Settled]:
        """For all metrics at once, and once."""
        if error not in self._settled:
            self._settled[error] = settled(self.fitted, self.fitted.metrics, error=error)
        return self._settled[error]


@dataclass(frozen=True, eq=False, repr=False)
class Estimates(Result, Mapping[str, Estimate]):
    """Estimates by metric: ``est["recall@10"].value`` (aliases such as ``map`` work too).

    Attributes
    ----------
    estimator : Estimator
        The estimator that made them.
    results : mapping of str to Estimate
        The estimates by the name of the metric.
    counts : RankCounts
        The sampled ranks behind them.
    fit : Fit
        What the estimator found.
    options : mapping
        The options that `truerank.estimate` was given: ``confidence``, ``scope``, ``seed``, ...
    fit_test : FitTest or None
        Whether the sampled ranks agree with the law fitted to them: statistic, p-value, verdict.

    Examples
    --------
    >>> counts = tr.RankCounts.from_exact_ranks([1, 4, 2, 9], n_items=10)
    >>> est = tr.estimate(counts, ["hit_rate@5", "ndcg@5"])
    >>> list(est), round(est["hr@5"].value, 4)
    (['hit_rate@5', 'ndcg@5'], 0.75)
    """

    estimator: Estimator
    results: Mapping[str, Estimate]
    counts: RankCounts
    fit: Fit
    options: Mapping[str, Any] = field(default_factory=dict)
    fit_test: FitTest | None = None

    def __getitem__(self, metric: MetricLike) -> Estimate:
        key = metrics_module.key(metric)
        if key not in self.results:
            raise KeyError(
                f"{_checks.shown(metric)} was not estimated; there are: {', '.join(self.results)}"
            )
        return self.results[key]

    def __iter__(self) -> Iterator[str]:
        return iter(self.results)

    def __len__(self) -> int:
        return len(self.results)

    @property
    def distribution(self) -> RankDistribution | None:
        """The estimated distribution of global ranks.

        Returns
        -------
        RankDistribution or None
            With ``.cdf([1, 10])`` and ``.pmf([1, 10])``; None for estimators that have none.

        Examples
        --------
        >>> counts = tr.RankCounts.from_exact_ranks([1, 4, 2, 9], n_items=10)
        >>> tr.estimate(counts).distribution.cdf([1, 2, 10]).round(4).tolist()
        [0.25, 0.5, 1.0]
        """
        return self.fit.distribution

    @property
    def posterior(self) -> Posterior | None:
        """The posterior over rank distributions.

        Returns
        -------
        Posterior or None
            Of the estimator smooth; None for others.

        Examples
        --------
        >>> counts = tr.RankCounts.from_exact_ranks([1, 4, 2, 9], n_items=10)
        >>> tr.estimate(counts, estimator="mle").posterior is None
        True
        """
        return self.fit.posterior

    @property
    def converged(self) -> bool | None:
        """Whether the fit converged.

        Returns
        -------
        bool or None
            None for closed forms, and for an EM that stops after a fixed number of steps.

        Examples
        --------
        >>> counts = tr.RankCounts.from_exact_ranks([1, 4, 2, 9], n_items=10)
        >>> tr.estimate(counts, estimator="naive").converged is None
        True
        """
        return self.fit.converged

    @property
    def n_iter(self) -> int | None:
        """Iterations of the fit.

        Returns
        -------
        int or None
            None for closed forms.

        Examples
        --------
        >>> counts = tr.RankCounts.from_exact_ranks([1, 4, 2, 9], n_items=10)
        >>> tr.estimate(counts, estimator="naive").n_iter is None
        True
        """
        return self.fit.n_iter

    @property
    def details(self) -> Mapping[str, float]:
        """Further facts about the fit, by name.

        Returns
        -------
        mapping of str to float
            By name, such as the smoothing that was chosen.

        Examples
        --------
        >>> counts = tr.RankCounts.from_exact_ranks([1, 4, 2, 9], n_items=10)
        >>> dict(tr.estimate(counts, estimator="naive").details)
        {}
        """
        return self.fit.details

    @property
    def fitted(self) -> Fitted | None:
        """The fit with the law of its errors, as `truerank.compare` uses it.

        Returns
        -------
        Fitted or None
            None without intervals.

        Examples
        --------
        >>> counts = tr.RankCounts.from_exact_ranks([1, 4, 2, 9], n_items=10)
        >>> [metric.key for metric in tr.estimate(counts, "recall@5").fitted.metrics]
        ['recall@5']
        """
        return None if self._later is None else self._later.fitted

    @property
    def verdicts(self) -> dict[str, str]:
        """What is wrong with each metric that is not resolved, and what to do.

        Returns
        -------
        dict of str to str
            Sentences by metric; empty if the sample settles all of them.

        Examples
        --------
        >>> counts = tr.RankCounts.from_exact_ranks([1, 4, 2, 9], n_items=10)
        >>> tr.estimate(counts, "recall@5").verdicts
        {}
        """
        said = {key: one.verdict for key, one in self.results.items()}
        return {key: text for key, text in said.items() if text is not None}

    def verdict(self, metric: MetricLike | None = None, *, error: float = ERROR) -> str | None:
        """What is wrong with metrics that are not resolved, and what to do.

        It costs no fit and no simulation; ``truerank.plan(like=est, metric=...)`` simulates
        samples that would settle a metric.

        Parameters
        ----------
        metric : str or Metric, optional
            One metric; all of them if not given.
        error : float, default 0.05
            Relative root mean squared error within which a metric counts as known.

        Returns
        -------
        str or None
            Three sentences; None if the sample settles the metric, or without intervals.

        Examples
        --------
        >>> ranks = [1, 1, 1, 2, 1, 1, 3, 1] * 20
        >>> counts = tr.RankCounts.from_ranks(ranks, n_items=5000, num_negatives=9)
        >>> print(tr.estimate(counts, "recall@1").verdict())  # doctest: +ELLIPSIS
        recall@1 is not resolved: 9 negatives out of 5,000 items are too few to settle it, ...
        """
        _arguments.check(Estimates.verdict, locals())
        results = list(self.results.values()) if metric is None else [self[metric]]
        return None if self._later is None else self._later.verdict(results, error)

    def resolution(
        self,
        error: float = ERROR,
        metric: MetricLike = "recall",
        *,
        seed: int = 0,
        progress: Progress = None,
    ) -> int | None:
        """The smallest K at which this sample knows a metric within an error.

        Parameters
        ----------
        error : float, default 0.05
            Relative root mean squared error for these users, with bias and what the estimator
            assumes in it.
        metric : str or Metric, default "recall"
            The metric; a cut-off that it has is left out.
        seed : int, default 0
            Seed of the redrawn evaluations.
        progress : callable or bool, optional
            As in `truerank.estimate`.

        Returns
        -------
        int or None
            This K and all larger ones are known within the error; None if the largest is not.

        Examples
        --------
        >>> counts = tr.RankCounts.from_exact_ranks([1, 4, 2, 9], n_items=10)
        >>> tr.estimate(counts).resolution(error=0.01)
        1
        """
        _arguments.check(Estimates.resolution, locals())
        return resolution(self.counts, self.estimator, metric, error, seed=seed, progress=progress)

    def with_intervals_of(self, metrics: MetricLike | Iterable[MetricLike]) -> Estimates:
        """The same estimates with intervals of some metrics only, which is quicker.

        Parameters
        ----------
        metrics : str, Metric or list of these
            Metrics that were estimated.

        Returns
        -------
        Estimates
            The others have no intervals.

        Examples
        --------
        >>> counts = tr.RankCounts.from_exact_ranks([1, 4, 2, 9], n_items=10)
        >>> some = tr.estimate(counts, ["recall@5", "auc"]).with_intervals_of("auc")
        >>> some["recall@5"].low is None, some["auc"].low is None
        (True, False)
        """
        keys = {self[metric].metric for metric in _checks.listed(metrics)}
        later = self._later
        if later is not None:
            fitted = later.fitted
            some = fitted.on([metric for metric in fitted.metrics if metric.key in keys])
            later = _Intervals(some, later.asked)
        results = {
            key: replace(one, _intervals=later if key in keys else None)
            for key, one in self.results.items()
        }
        return replace(self, results=results)

    def again(self, metrics: MetricLike | Iterable[MetricLike], **changes: Any) -> Estimates:
        """Other metrics of the same counts by the same estimator.

        Parameters
        ----------
        metrics : str, Metric or list of these
            What to estimate, as in `truerank.estimate`.
        **changes
            Options of `truerank.estimate` that differ; the others are as before.

        Returns
        -------
        Estimates
            The estimates.

        Examples
        --------
        >>> counts = tr.RankCounts.from_exact_ranks([1, 4, 2, 9], n_items=10)
        >>> list(tr.estimate(counts, "recall@5").again("ndcg@1,5", confidence=0.9))
        ['ndcg@1', 'ndcg@5']
        """
        options = {**self.options, **changes}
        return estimate(self.counts, metrics, estimator=self.estimator, **options)

    def rows(self) -> list[dict[str, Any]]:
        name = estimators.describe(self.estimator)
        return [columns.row(one.metric, name, one) for one in self.results.values()]

    def to_dict(self, *, flat: bool = False) -> dict[str, Any]:
        """Everything as plain data, ready for JSON or for an experiment tracker.

        Parameters
        ----------
        flat : bool, default False
            One level of names, ``ndcg@10/value``, ``/low``, ``/high`` and ``/resolvable``.

        Returns
        -------
        dict
            Lists, dicts, texts, numbers, truth values and None; if flat, numbers and truth values
            by name, what is not known left out.

        Examples
        --------
        >>> counts = tr.RankCounts.from_exact_ranks([1, 4, 2, 9], n_items=10)
        >>> list(tr.estimate(counts, "recall@5", confidence=None).to_dict(flat=True))
        ['recall@5/value']
        >>> list(tr.estimate(counts, "recall@5").to_dict(flat=True))
        ['recall@5/value', 'recall@5/low', 'recall@5/high', 'recall@5/resolvable']
        """
        _arguments.check(Estimates.to_dict, locals())
        if flat:
            return result.flat(self.rows(), FLAT)
        content = {
            "estimator": estimators.describe(self.estimator),
            "confidence": self.options.get("confidence"),
            "scope": self.options.get("scope"),
            "interval": self.options.get("interval"),
            "converged": self.converged,
            "fit_test": self.fit_test,
            **({"n_dropped": self.counts.n_dropped} if self.counts.n_dropped else {}),
            "results": self.rows(),
        }
        return {name: plain(value) for name, value in content.items()}

    @property
    def _later(self) -> _Intervals | None:
        known = (one._intervals for one in self.results.values())
        return next((later for later in known if later is not None), None)

    @property
    def _certain(self) -> bool:
        """Whether values are exact: nothing was sampled, and no other users are meant."""
        whole = bool(self.counts.is_exact.all())
        return whole and self.options.get("scope", "these-users") == "these-users"

    def _shown(self) -> list[dict[str, str]]:
        if self._certain:
            return [{"metric": k, "exact": f"{one.value:.4f}"} for k, one in self.results.items()]
        return [
            {"metric": one.metric, **{c.heading: c.text(one, 4) for c in columns.SHOWN}}
            for one in self.results.values()
        ]

    def _ipython_key_completions_(self) -> list[str]:
        """Metrics, for the tab key in a notebook."""
        return list(self)

    def _headline(self) -> str:
        if self._certain:
            return f"Exact values from {self.counts!r}"
        return f"Estimates by {estimators.describe(self.estimator)} from {self.counts!r}"

    def _remarks(self) -> list[str]:
        verdict = self.verdict()
        test = self.fit_test
        told = [] if test is None or test.fits else [test.verdict]
        if self.counts.n_dropped:
            told.append(f"{dropped(self.counts.n_dropped)}.")
        return told if verdict is None else [*told, verdict]

    def __repr__(self) -> str:
        lines = [self._headline()]
        for one in self.results.values():
            if self._certain:
                lines.append(f"  {one.metric:<14} {one.value:.5f}   (exact)")
                continue
            interval = f" {columns.interval(one, 5)}" if one.low is not None else ""
            lines.append(
                f"  {one.metric:<14} {one.value:.5f}{interval}{columns.marks(one)}   "
                f"(naive {one.naive:.5f})"
            )
        return "\n".join([*lines, *self._remarks()])


def estimate(
    counts: RankCounts,
    metrics: MetricLike | Iterable[MetricLike] = DEFAULT_METRICS,
    *,
    estimator: str | Estimator = DEFAULT_ESTIMATOR,
    confidence: float | None = 0.95,
    scope: Scope = "these-users",
    population_size: float | None = None,
    interval: IntervalKind = "total",
    support: SupportName | Support = "auto",
    plug_in: PlugIn = "plain",
    clip: bool = False,
    seed: int = 0,
    progress: Progress = None,
) -> Estimates:
    """Global metrics from sampled ranks.

    Parameters
    ----------
    counts : RankCounts
        The sampled ranks.
    metrics : str, Metric or list of these
        ``"recall@10"``, ``"ndcg@1,5,10"``, ``"ap"``, ``"auc"``, ... or
        :class:`~truerank.metrics.Metric` objects.
    estimator : str or Estimator, default "smooth"
        By name (``"smooth"``, ``"bv(gamma=0.1)"``, ...) or an object of ``truerank.estimators``.
    confidence : float or None, default 0.95
        Confidence of the intervals ``est["recall@10"].low`` and ``.high``. They are found when
        first asked for, so that values alone cost nothing more. None: no intervals.
    scope : {"these-users", "population"}
        Whom the answer is for. ``"these-users"``: the metric that an exact evaluation of the same
        users would give, so that only the sampled negatives are random. ``"population"``: the
        metric of all users that these are a sample of, whose intervals are wider.
    population_size : float, optional
        The number of all those users, where it is known: a sample of most of them says more.
    interval : {"total", "sampling"}
        ``"total"``: about all that is known of the error, so that the exact evaluation falls in it
        as often as ``confidence`` says. ``"sampling"``: about the scatter of the drawn negatives
        (and users) alone, as if the estimator were right in everything else.
    support : {"auto", "full"} or Support
        ``"auto"`` fits on a compressed grid of global ranks, ``"full"`` on every rank.
    plug_in : {"plain", "posterior"}
        ``"plain"``: the metric of the estimated distribution, as published. ``"posterior"``: the
        mean over outcomes of E[gain | outcome], which is exact wherever the rank was. For
        estimators with a distribution; metrics whose gain depends on the pool (auc) always take
        the second when pools differ, and smooth always does.
    clip : bool, default False
        Whether to pull values that strayed back into the metric's range (they stay flagged).
    seed : int, default 0
        Seed of the simulations behind intervals.
    progress : callable or bool, optional
        None shows a bar on a terminal if simulations take long, False nothing; a function is
        called with (steps done, steps in all).

    Returns
    -------
    Estimates
        ``est["recall@10"].value``, ``.low``, ``.high``, ``.resolvable``, ``.naive``.

    Warns
    -----
    FitWarning
        If the ranks do not look like ranks among uniform draws, or the fitted law cannot follow
        them; ``est.fit_test`` tells more.

    Examples
    --------
    Ranks among 99 sampled negatives, of 3,706 items:

    >>> rng = np.random.default_rng(0)
    >>> ranks = 1 + rng.binomial(99, rng.beta(0.4, 4.0, size=2000))
    >>> counts = tr.RankCounts.from_ranks(ranks, n_items=3706, num_negatives=99, replacement=True)
    >>> est = tr.estimate(counts, ["recall@100", "auc"])
    >>> print(f"{est['recall@100'].value:.2f}, not {est['recall@100'].naive:.2f}")
    0.44, not 1.00
    >>> est["recall@100"].resolvable
    True
    """
    _arguments.check(estimate, locals())
    if not isinstance(counts, RankCounts):
        raise InputError(
            f"counts is of type {type(counts).__name__}; make it with RankCounts.from_ranks"
        )
    given: dict[str, Any] = {
        "confidence": confidence,
        "scope": scope,
        "population_size": population_size,
        "interval": interval,
        "support": support,
        "plug_in": plug_in,
        "clip": clip,
        "seed": seed,
        "progress": progress,
    }
    asked = _interval_options(counts, confidence, scope, population_size, interval)
    chosen = estimators.get(estimator)
    wanted = bound(metrics_module.parse(metrics), counts)
    estimators.check(wanted, chosen, counts, plug_in)
    fitted = Fitted.of(
        counts, chosen, wanted, support=support, plug_in=plug_in, seed=seed, progress=progress
    )
    naive = fit_to(counts, estimators.Naive(), wanted, support, "plain")
    later = None if asked is None else _Intervals(fitted, asked)
    results = {m.key: _result(m, fitted.fit, naive, counts, later, clip=clip) for m in wanted}
    tested = fit_test(counts, chosen, fitted.fit)
    if not tested.fits:
        warnings.warn(tested.verdict, FitWarning, stacklevel=2)
    return Estimates(chosen, results, counts, fitted.fit, given, tested)


def _interval_options(
    counts: RankCounts,
    confidence: float | None,
    scope: str,
    population_size: float | None,
    interval: str,
) -> dict[str, Any] | None:
    """What was asked of the intervals, checked; None without any."""
    check_scope(scope)
    check_kind(interval)
    check_population_size(population_size, counts.n_users)
    if confidence is None:
        return None
    return {
        "confidence": check_confidence(confidence),
        "scope": scope,
        "population_size": population_size,
        "interval": interval,
    }


def _result(
    metric: Metric,
    fit: Fit,
    naive: Fit,
    counts: RankCounts,
    intervals: _Intervals | None,
    *,
    clip: bool,
) -> Estimate:
    # Users may have several targets: metrics are per user.
    per_user = counts.total_weight / counts.n_users
    value, plain = fit.values[metric.key], naive.values[metric.key]
    reach = range_of(metric, counts)
    stray = reach.known and abs(value - reach.clipped(value)) > 1e-9 * max(map(abs, reach))
    if reach.known and (clip or not stray):  # not by rounding either, as its interval does not
        value = reach.clipped(value)
    return Estimate(metric.key, value * per_user, plain * per_user, stray, intervals)
