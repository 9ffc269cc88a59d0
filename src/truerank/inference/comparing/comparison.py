"""What `compare` gives: models ranked, their differences, and what can be said of them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any

from truerank.inference.comparing.user_sampling import HypothesisTest


@dataclass(frozen=True)
class Standing:
    """One model in the ranking of all.

    ``place`` is that of its value. ``best_place`` and ``worst_place`` are what the differences
    that are significant (after Holm) leave open. ``best_probability`` is the chance that it is
    the best of all, errors taken as normal.
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


@dataclass(frozen=True)
class Difference:
    """The metric of ``model`` less that of ``other``.

    Attributes
    ----------
    p_value
        Of the two models being equal, for the scope asked for; it is below 1 - confidence
        exactly where the interval leaves out 0. Then adjusted for all differences tested.
    win_probability
        The chance that ``model`` is the better one, errors taken as normal.
    paired
        Whether the covariance of the two models' errors was measured, on the users they share.
    reduction
        The share of the variance of the difference that pairing takes away; below 0 if their
        gains vary against each other. None if unpaired or without any variance.
    correlation
        Of the two models' gains over users; None if unpaired or if either does not vary.
    tests
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
        """The same with the models in the other order."""
        turned = {"two-sided": "two-sided", "less": "greater", "greater": "less"}
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
                    alternative=turned[test.alternative],
                )
                for test in self.tests
            ),
        )


def _turned(test: HypothesisTest) -> float:
    if test.name == "sign":
        return 1.0 - test.statistic
    return -test.statistic if test.name.startswith("two-sample") else test.statistic


@dataclass(frozen=True)
class Comparison:
    """Models compared on one metric: ``result["EASE", "ALS"].value`` is EASE less ALS.

    ``ranking`` has the models from best to worst, ``differences`` every pair (or each model
    against the ``baseline``) with the better one first. ``paired`` says whether the models were
    compared on the same users, ``how`` in words.
    """

    metric: str
    estimator: str
    scope: str
    confidence: float
    paired: bool
    how: str
    ranking: tuple[Standing, ...]
    differences: tuple[Difference, ...]
    baseline: str | None = None

    def __getitem__(self, models: tuple[str, str]) -> Difference:
        for found in self.differences:
            if (found.model, found.other) == models:
                return found
            if (found.other, found.model) == models:
                return found.reversed()
        there = ", ".join(f"{one.model} and {one.other}" for one in self.differences)
        raise KeyError(f"{models!r} were not compared; there are: {there}")

    @property
    def best(self) -> str | None:
        """The model that is significantly better (after Holm) than all others, if there is one."""
        leader = self.ranking[0].model
        beaten = [one for one in self.differences if leader in (one.model, one.other)]
        sure = all(one.p_holm < 1.0 - self.confidence for one in beaten)
        return leader if sure and len(beaten) == len(self.ranking) - 1 else None

    @property
    def verdict(self) -> str:
        """The answer in a sentence or two."""
        if self.baseline is not None:
            return self._against_baseline()
        leader = self.ranking[0]
        rivals = [self[leader.model, other.model] for other in self.ranking[1:]]
        open_ = [one for one in rivals if one.p_holm >= 1.0 - self.confidence]
        closest = max(rivals, key=lambda one: one.p_holm)
        if not open_:
            others = "the others" if len(rivals) > 1 else closest.other
            said = f"{leader.model} is better than {others} on {self.metric}: {_lead(closest)}."
        else:
            names = _listed([one.other for one in open_])
            said = (
                f"Not decided on {self.metric}: {leader.model} leads {names}, but that may be "
                f"chance: {_lead(closest)}."
            )
        return said + self._caution(rivals)

    def _against_baseline(self) -> str:
        assert self.baseline is not None
        sure = [one for one in self.differences if one.p_holm < 1.0 - self.confidence]
        better = [one.model for one in sure if one.other == self.baseline]
        worse = [one.other for one in sure if one.model == self.baseline]
        parts = []
        if better:
            parts.append(f"{_listed(better)} {_is(better)} better than {self.baseline}")
        if worse:
            parts.append(f"{_listed(worse)} {_is(worse)} worse than {self.baseline}")
        n_open = len(self.differences) - len(sure)
        if n_open:
            parts.append(f"{n_open} of {len(self.differences)} not decided")
        return f"On {self.metric}, {'; '.join(parts)}." + self._caution(self.differences)

    def _caution(self, differences: Sequence[Difference]) -> str:
        if all(one.resolvable for one in differences):
            return ""
        return (
            " More of the error comes from what the estimator assumes than from what was seen: "
            "a larger sample is called for."
        )

    def to_dict(self) -> list[dict[str, Any]]:
        """One plain dict a difference, ready for JSON."""
        return [{"metric": self.metric, **asdict(one)} for one in self.differences]

    def to_pandas(self) -> Any:
        """A pandas DataFrame, one row a difference, without the tests."""
        import pandas as pd

        return pd.DataFrame(self.to_dict()).drop(columns="tests")

    def __repr__(self) -> str:
        lines = [f"Comparison on {self.metric} by {self.estimator}, for {self.scope}"]
        lines += [f"  {self.verdict}", f"  {self.how}"]
        lines += [
            f"  {one.place}. {one.model:<14} {one.value:.5f} [{one.low:.5f}, {one.high:.5f}]"
            for one in self.ranking
        ]
        lines += [
            f"  {one.model} - {one.other}: {one.value:+.5f} [{one.low:+.5f}, {one.high:+.5f}]  "
            f"p {p_text(one.p_value)}, Holm {p_text(one.p_holm)}"
            for one in self.differences
        ]
        return "\n".join(lines)


def p_text(p_value: float) -> str:
    """``0.012`` or ``<0.001``."""
    return "<0.001" if p_value < 0.001 else f"{p_value:.3f}"


def _lead(one: Difference) -> str:
    p = p_text(one.p_holm)
    equals = "" if p.startswith("<") else "= "
    return (
        f"{one.value:+.4f} [{one.low:+.4f}, {one.high:+.4f}] against {one.other}, "
        f"p {equals}{p.replace('<', '< ')} (Holm)"
    )


def _listed(names: Sequence[str]) -> str:
    return names[0] if len(names) == 1 else f"{', '.join(names[:-1])} and {names[-1]}"


def _is(names: Sequence[str]) -> str:
    return "is" if len(names) == 1 else "are"
