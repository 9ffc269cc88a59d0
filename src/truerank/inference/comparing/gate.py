"""A gate: whether a new model may take the place of an old one."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal

from truerank import _checks
from truerank.inference.comparing.comparison import Comparison, Difference
from truerank.inference.result import plain

State = Literal["worse", "open", "as good"]


@dataclass(frozen=True)
class Gate:
    """Whether a new model is worse than an old one by more than a margin, and how sure that is.

    Attributes
    ----------
    metric : str
        The metric.
    new, old : str
        The two models.
    margin : float
        The loss that is accepted, in units of the metric.
    confidence : float
        Confidence of the interval of the difference.
    difference : Difference
        The metric of ``new`` less that of ``old``.
    exact : bool
        Whether all ranks are exact.
    lower_is_better : bool
        Whether small values of the metric are good ones, as of ``mr``.

    Examples
    --------
    >>> from truerank.inference.comparing.gate import Gate
    >>> ranks = {"new": [9, 4, 1, 8, 7, 3], "old": [1, 2, 1, 5, 1, 3]}
    >>> counts = {
    ...     name: tr.RankCounts.from_exact_ranks(one, n_items=10) for name, one in ranks.items()
    ... }
    >>> gate = Gate.of(tr.compare(counts, "recall@3"), "new", "old", margin=0.1)
    >>> gate.passed, gate.state
    (False, 'worse')
    """

    metric: str
    new: str
    old: str
    margin: float
    confidence: float
    difference: Difference
    exact: bool
    lower_is_better: bool = False

    @classmethod
    def of(cls, found: Comparison, new: str, old: str, *, margin: float = 0.0) -> Gate:
        """Judge two models of a comparison.

        Parameters
        ----------
        found : Comparison
            What `truerank.compare` gives.
        new, old : str
            Two of its models.
        margin : float, default 0.0
            The loss that is accepted, in units of the metric.

        Returns
        -------
        Gate
            The judgement.
        """
        margin = _checks.real(margin, "margin", low=0.0)
        return cls(
            found.metric, new, old, margin, found.confidence, found[new, old], found.exact,
            found.lower_is_better,
        )  # fmt: skip

    @property
    def state(self) -> State:
        """What the interval of the difference says.

        Returns
        -------
        {"worse", "open", "as good"}
            ``"worse"``: all of it is a loss beyond the margin. ``"as good"``: none of it is.
            ``"open"``: some of it is.
        """
        losses = [-self.difference.high, -self.difference.low]
        if self.lower_is_better:
            losses = [self.difference.low, self.difference.high]
        if losses[0] > self.margin:
            return "worse"
        return "as good" if losses[1] <= self.margin else "open"

    @property
    def passed(self) -> bool:
        """Whether the new model may go in.

        Returns
        -------
        bool
            False only if it is worse by more than the margin for sure.
        """
        return self.state != "worse"

    @property
    def verdict(self) -> str:
        """The judgement in words.

        Returns
        -------
        str
            One or two sentences.
        """
        off = self.difference
        by = f"{self.metric} {off.value:+.4f} ({100 * self.confidence:g} % interval "
        by += f"{off.low:+.4f} to {off.high:+.4f})"
        worse = f"worse than {self.old} by more than {self.margin:g}"
        if self.state == "worse":
            return f"Gate failed: {self.new} is {worse}: {by}."
        if self.state == "as good":
            return f"Gate passed: {self.new} is not {worse}: {by}."
        more = "" if self.exact else ", more negatives, or both models on the same negatives"
        return (
            f"Gate passed, but not settled: {self.new} may be {worse}: {by}. To settle it, use "
            f"more users{more}."
        )

    def to_dict(self) -> dict[str, Any]:
        """Everything as plain data, ready for JSON.

        Returns
        -------
        dict
            The fields, ``state``, ``passed`` and ``verdict``.
        """
        content: dict[str, Any] = plain(self)
        told = {"state": self.state, "passed": self.passed, "verdict": self.verdict}
        return content | told
