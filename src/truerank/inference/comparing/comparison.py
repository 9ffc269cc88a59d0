"""What `compare` gives: models ranked, their differences, and what can be said of them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

from truerank import _arguments
from truerank._types import Alternative, Scope
from truerank.inference.comparing.user_sampling import HypothesisTest
from truerank.inference.result import Result, plain
from truerank.inference.verdicts import MARK, Level, Verdict, caution, larger, listed, whom

_TURNED: dict[Alternative, Alternative] = {
    "two-sided": "two-sided",
    "less": "greater",
    "greater": "less",
}


@dataclass(frozen=True)
class Standing:
    """One model among all that are compared.

    Attributes
    ----------
    model : str
        Its name.
    value : float
        Its metric.
    low, high : float
        The interval of the metric.
    std_error : float
        Standard error of the metric.
    resolvable : bool
        Whether the sample settles the metric, as in `truerank.Estimate`.
    place : int
        Its place by the value, 1 for the best.
    best_place, worst_place : int
        The places that the significant differences (Holm-corrected) leave possible.
    best_probability : float
        The probability that it is the best of all, errors taken as normal.
    naive : float
        The metric of the sampled ranks as they are, uncorrected.
    """

    model: str
    value: float
    low: float
    high: float
    std_error: float
    resolvable: bool
    place: int
    best_place: int
    worst_place: int
    best_probability: float
    naive: float

    @property
    def places(self) -> str:
        """The possible places in words.

        Returns
        -------
        str
            ``2`` or ``1 to 3``.
        """
        if self.best_place == self.worst_place:
            return f"{self.place}"
        return f"{self.best_place} to {self.worst_place}"


@dataclass(frozen=True)
class Difference:
    """The metric of one model less that of another.

    Attributes
    ----------
    model, other : str
        The two models.
    value : float
        The metric of ``model`` less that of ``other``.
    low, high : float
        The interval of the difference.
    std_error : float
        Standard error of the difference.
    resolvable : bool
        Whether the sample settles the difference, rather than assumptions.
    win_probability : float
        The probability that ``model`` is the better one, errors taken as normal.
    p_value : float
        That of equal models, for the scope asked for; it is below 1 - confidence exactly where the
        interval leaves out 0.
    p_bonferroni, p_holm : float
        The p-value, corrected for all differences tested.
    paired : bool
        Whether the covariance of the two models' errors was measured, on the users they share.
    reduction : float or None
        The share of the variance of the difference that pairing takes away; below 0 if their
        gains vary against each other. None if unpaired or without any variance.
    correlation : float or None
        Correlation of the two models' gains over users; None if unpaired or if either does not
        vary.
    tests : tuple of HypothesisTest
        Those of LJ24 section 7.2, for the population, where the estimator has gains per user:
        the two-sample z-test (recall, precision) or t-test; if paired the sign test and Wilcoxon's.
    """

    model: str
    other: str
    value: float
    low: float
    high: float
    std_error: float
    resolvable: bool
    win_probability: float
    p_value: float
    p_bonferroni: float
    p_holm: float
    paired: bool
    reduction: float | None
    correlation: float | None
    tests: tuple[HypothesisTest, ...] = ()

    def reversed(self) -> Difference:
        """The same with the models in the other order.

        Returns
        -------
        Difference
            ``other`` less ``model``.
        """
        return replace(
            self,
            model=self.other,
            other=self.model,
            value=-self.value,
            low=-self.high,
            high=-self.low,
            win_probability=1.0 - self.win_probability,
            tests=tuple(
                replace(
                    test,
                    # The share of users ahead; the sum of ranks stays that of the first given.
                    statistic=_turned(test),
                    difference=-test.difference,
                    alternative=_TURNED[test.alternative],
                )
                for test in self.tests
            ),
        )


def _turned(test: HypothesisTest) -> float:
    if test.name == "sign":
        return 1.0 - test.statistic
    return -test.statistic if test.name.startswith("two-sample") else test.statistic


@dataclass(frozen=True, repr=False)
class Comparison(Result):
    """Models compared on one metric: ``result["EASE", "ALS"].value`` is EASE less ALS.

    Attributes
    ----------
    metric : str
        The metric.
    estimator : str
        The estimator, with its options.
    scope : {"these-users", "population"}
        Whom the answer is for.
    confidence : float
        Confidence of the intervals.
    paired : bool
        Whether the models were compared on the same users.
    how : str
        The same in words, with what pairing was worth.
    exact : bool
        Whether all ranks are exact: nothing was sampled.
    ranking : tuple of Standing
        The models from best to worst.
    differences : tuple of Difference
        Every pair (or each model against the ``baseline``), the better one first; of more than 20
        models those with the best one, unless ``pairs="all"``.
    baseline : str or None
        The model that the others were compared with, if there is one.
    lower_is_better : bool
        Whether smaller values of the metric are better, as of ``mr``.
    n_tested : int
        Number of pairs that p-values are corrected for, listed or not.
    adaptive : bool
        Whether the samples of all models that were sampled are adaptive.

    Examples
    --------
    >>> ranks = {"A": [1, 2, 1, 5, 1, 3], "B": [9, 4, 1, 8, 7, 3]}
    >>> counts = {
    ...     name: tr.RankCounts.from_exact_ranks(one, n_items=10) for name, one in ranks.items()
    ... }
    >>> found = tr.compare(counts, "recall@3")
    >>> round(found["A", "B"].value, 4), found.best
    (0.5, 'A')
    """

    metric: str
    estimator: str
    scope: Scope
    confidence: float
    paired: bool
    how: str
    exact: bool
    ranking: tuple[Standing, ...]
    differences: tuple[Difference, ...]
    baseline: str | None = None
    lower_is_better: bool = False
    n_tested: int = 0
    adaptive: bool = False

    def __getitem__(self, models: tuple[str, str]) -> Difference:
        if isinstance(models, tuple) and all(isinstance(name, str) for name in models):
            if (found := self._by_models.get(models)) is not None:
                return found
            if (found := self._by_models.get(models[::-1])) is not None:
                return found.reversed()
        if len(self.differences) < self.n_tested:
            raise KeyError(
                f"the difference of {models!r} is not listed, as those with {self.ranking[0].model}"
                ' are; compare with pairs="all"'
            )
        there = ", ".join(f"{one.model} and {one.other}" for one in self.differences)
        raise KeyError(f"{models!r} were not compared; there are: {there}")

    @cached_property
    def _by_models(self) -> dict[tuple[str, str], Difference]:
        return {(one.model, one.other): one for one in self.differences}

    def _ipython_key_completions_(self) -> list[tuple[str, str]]:
        """Pairs of models, for the tab key in a notebook."""
        return [(one.model, one.other) for one in self.differences]

    @property
    def best(self) -> str | None:
        """The model that is significantly better (Holm-corrected) than all others.

        Returns
        -------
        str or None
            Its name; None if there is no such model.

        Examples
        --------
        >>> ranks = {"A": [1, 2, 1, 5], "B": [9, 4, 1, 8]}
        >>> counts = {
        ...     name: tr.RankCounts.from_exact_ranks(one, n_items=10) for name, one in ranks.items()
        ... }
        >>> tr.compare(counts, "recall@3").best
        'A'
        """
        leader = self.ranking[0].model
        beaten = [one for one in self.differences if leader in (one.model, one.other)]
        sure = all(self.sure(one) for one in beaten)
        return leader if sure and len(beaten) == len(self.ranking) - 1 else None

    def sure(self, difference: Difference) -> bool:
        """Whether a difference is significant, corrected for all that were tested.

        Parameters
        ----------
        difference : Difference
            One of ``differences``.

        Returns
        -------
        bool
            By Holm's correction, at the confidence asked for.

        Examples
        --------
        >>> ranks = {"A": [1, 2, 1, 5], "B": [9, 4, 1, 8]}
        >>> counts = {
        ...     name: tr.RankCounts.from_exact_ranks(one, n_items=10) for name, one in ranks.items()
        ... }
        >>> found = tr.compare(counts, "recall@3")
        >>> found.sure(found["A", "B"])
        True
        """
        _arguments.check(Comparison.sure, locals())
        return difference.p_holm < 1.0 - self.confidence

    @property
    def certain(self) -> bool:
        """Whether values are exact: nothing was sampled, and no other users are meant.

        Returns
        -------
        bool
            False for ``scope="population"`` even if ranks are exact.

        Examples
        --------
        >>> ranks = {"A": [1, 2, 1, 5], "B": [9, 4, 1, 8]}
        >>> counts = {
        ...     name: tr.RankCounts.from_exact_ranks(one, n_items=10) for name, one in ranks.items()
        ... }
        >>> tr.compare(counts, "recall@3").certain
        True
        """
        return self.exact and self.scope == "these-users"

    @property
    def verdict(self) -> str:
        """The answer: which model is better, what uncorrected numbers say, what to do next.

        Returns
        -------
        str
            Up to three sentences.

        Examples
        --------
        >>> ranks = {"A": [1, 2, 1, 5], "B": [9, 4, 1, 8]}
        >>> counts = {
        ...     name: tr.RankCounts.from_exact_ranks(one, n_items=10) for name, one in ranks.items()
        ... }
        >>> tr.compare(counts, "recall@3").verdict
        'A is better than B on recall@3: +0.5000 against B (exact).'
        """
        return str(self.parts)

    @property
    def parts(self) -> Verdict:
        """The verdict in its three parts, with how sure it is.

        Returns
        -------
        Verdict
            ``level``, ``answer``, ``usual`` and ``action``.

        Examples
        --------
        >>> ranks = {"A": [1, 2, 1, 5], "B": [9, 4, 1, 8]}
        >>> counts = {
        ...     name: tr.RankCounts.from_exact_ranks(one, n_items=10) for name, one in ranks.items()
        ... }
        >>> tr.compare(counts, "recall@3").parts.level
        'settled'
        """
        if self.baseline is not None:
            return self._against_baseline()
        leader = self.ranking[0]
        rivals = [self[leader.model, other.model] for other in self.ranking[1:]]
        open_ = [one for one in rivals if not self.sure(one)]
        closest = max(rivals, key=lambda one: one.p_holm)
        if not open_:
            others = "the others" if len(rivals) > 1 else closest.other
            said = f"{leader.model} is better than {others} on {self.metric}: "
        else:
            names = whom([one.other for one in open_], len(self.ranking))
            said = (
                f"Not decided on {self.metric}: {leader.model} leads {names}, but that may be "
                "chance: "
            )
        interval = f"{100 * self.confidence:g} % interval {closest.low:+.4f} to {closest.high:+.4f}"
        how_sure = "exact" if self.certain else interval
        said += f"{closest.value:+.4f} against {closest.other} ({how_sure})."
        return Verdict(
            self._level(rivals, bool(open_)),
            said,
            self._uncorrected(leader),
            self._next(rivals, bool(open_)),
        )

    def _level(self, differences: Sequence[Difference], undecided: bool) -> Level:
        if not all(one.resolvable for one in differences):
            return "unknown"
        return "open" if undecided else "settled"

    def _against_baseline(self) -> Verdict:
        assert self.baseline is not None
        sure = [one for one in self.differences if self.sure(one)]
        better = [one.model for one in sure if one.other == self.baseline]
        worse = [one.other for one in sure if one.model == self.baseline]
        parts = []
        if better:
            parts.append(f"{listed(better)} {_is(better)} better than {self.baseline}")
        if worse:
            parts.append(f"{listed(worse)} {_is(worse)} worse than {self.baseline}")
        n_open = len(self.differences) - len(sure)
        if n_open:
            parts.append(f"{n_open} of {len(self.differences)} not decided")
        said = f"On {self.metric}, {'; '.join(parts)}."
        level = self._level(self.differences, n_open > 0)
        return Verdict(level, said, action=self._next(self.differences, n_open > 0))

    def _uncorrected(self, leader: Standing) -> str:
        """What the sampled ranks as they are would have said."""
        if self.exact:
            return ""
        way = -1.0 if self.lower_is_better else 1.0
        first = max(self.ranking, key=lambda one: way * one.naive)
        if first.naive != leader.naive and f"{first.naive:.4f}" == f"{leader.naive:.4f}":
            return (
                f"The sampled ranks as they are do not tell {first.model} and {leader.model} apart "
                f"({leader.naive:.4f} each)."
            )
        if first.naive == leader.naive:
            return f"The sampled ranks as they are put {leader.model} first, too."
        return (
            f"The sampled ranks as they are would have put {first.model} first ({first.naive:.4f} "
            f"against {leader.naive:.4f} for {leader.model})."
        )

    def _next(self, differences: Sequence[Difference], undecided: bool) -> str:
        """What to do."""
        if not all(one.resolvable for one in differences):
            return caution(adaptive=self.adaptive)
        more = [] if self.exact else [larger(adaptive=self.adaptive)]
        if self.scope == "population":
            more = ["more users", *more]
        return f"To tell them apart, use {', '.join(more)}." if undecided and more else ""

    def rows(self) -> list[dict[str, Any]]:
        dropped = ("tests",)
        return [
            {
                "metric": self.metric,
                **{key: value for key, value in plain(one).items() if key not in dropped},
            }
            for one in self.differences
        ]

    def to_dict(self) -> dict[str, Any]:
        content: dict[str, Any] = {"verdict": self.verdict, **plain(self)}
        return content

    def _headline(self) -> str:
        return self.verdict

    def _shown(self) -> list[dict[str, str]]:
        if self.certain:
            return [
                {"place": one.places, "model": one.model, self.metric: f"{one.value:.4f}"}
                for one in self.ranking
            ]
        return [
            {
                "place": one.places,
                "model": one.model,
                self.metric: f"{one.value:.4f}{'' if one.resolvable else MARK}",
                f"{100 * self.confidence:g} % interval": f"[{one.low:.4f}, {one.high:.4f}]",
                "naive": f"{one.naive:.4f}",
                "probability to be best": f"{100 * one.best_probability:.1f} %",
            }
            for one in self.ranking
        ]

    def _remarks(self) -> list[str]:
        if self.certain:
            return [self.how]
        places = f"Possible places of each model ({100 * self.confidence:g} %, Holm-corrected)."
        return [self.how, places, *self._unlisted()]

    def _unlisted(self) -> list[str]:
        """What is not in the list of differences."""
        if len(self.differences) >= self.n_tested:
            return []
        return [
            f"Listed are the differences with {self.ranking[0].model}; corrections and places are "
            f'for all {self.n_tested:,} pairs, which pairs="all" lists.'
        ]

    def __repr__(self) -> str:
        lines = [f"Comparison on {self.metric} by {self.estimator}, for {self.scope}"]
        lines += [f"  {self.verdict}", f"  {self.how}"]
        for one in self.ranking:
            ends = f" [{one.low:.5f}, {one.high:.5f}]{'' if one.resolvable else MARK}"
            lines += [
                f"  {one.place}. {one.model:<14} {one.value:.5f}{'' if self.certain else ends}"
            ]
        for two in self.differences:
            how_sure = (
                f" [{two.low:+.5f}, {two.high:+.5f}]  p {p_text(two.p_value)}, "
                f"Holm {p_text(two.p_holm)}"
            )
            lines += [
                f"  {two.model} - {two.other}: {two.value:+.5f}{'' if self.certain else how_sure}"
            ]
        lines += [f"  {line}" for line in self._unlisted()]
        return "\n".join(lines)


def p_text(p_value: float) -> str:
    """A p-value as tables show it.

    Parameters
    ----------
    p_value : float
        From 0 to 1.

    Returns
    -------
    str
        ``0.012`` or ``<0.001``.
    """
    return "<0.001" if p_value < 0.001 else f"{p_value:.3f}"


def _is(names: Sequence[str]) -> str:
    return "is" if len(names) == 1 else "are"
