"""The result of `plan`: designs that reach an error, cheapest first."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from truerank import _arguments
from truerank._types import Scope
from truerank.designs import Design
from truerank.inference.intervals.interval import t_quantile
from truerank.inference.planning.efficiency import SHARES, Stage, elbow
from truerank.inference.result import Result, plain
from truerank.inference.verdicts import percent


@dataclass(frozen=True)
class Planned:
    """One design and what it is predicted to cost and to err.

    Attributes
    ----------
    name : str
        ``adaptive`` (ours, within a budget), ``adaptive (LJ24)``, ``fixed``, ``fixed, with
        replacement``, ``users`` (fewer of them, ranked exactly), ``users (Hoeffding)``, ``users x
        adaptive``, ``users x fixed``, ``exact``.
    design : Design
        Goes into `truerank.evaluate` as it is.
    n_users : int
        Users evaluated.
    pairs_per_user : float
        Scored pairs per user on average, the target's own included.
    largest_sample : int
        The largest sample of a user, the target included.
    error : float
        Predicted relative root mean squared error.
    """

    name: str
    design: Design
    n_users: int
    pairs_per_user: float
    largest_sample: int
    error: float

    @property
    def total_pairs(self) -> float:
        """Scored pairs in all.

        Returns
        -------
        float
            Users times pairs per user.
        """
        return self.n_users * self.pairs_per_user

    def to_dict(self) -> dict[str, Any]:
        """The design as plain data, ready for JSON.

        Returns
        -------
        dict
            ``name``, ``design``, users, pairs and the predicted error.
        """
        return {
            "name": self.name,
            "design": self.design.to_dict(),
            "n_users": self.n_users,
            "pairs_per_user": self.pairs_per_user,
            "total_pairs": self.total_pairs,
            "largest_sample": self.largest_sample,
            "error": self.error,
        }


@dataclass(frozen=True, repr=False)
class Plan(Result, Sequence[Planned]):
    """Designs whose predicted error is within the one asked for, the cheapest first: ``plan[0]``.

    Attributes
    ----------
    metric : str
        The metric.
    value : float
        Its value, if ranks are as supposed.
    error : float
        The relative root mean squared error asked for.
    confidence : float
        Confidence of the intervals whose half-widths `half_width` gives.
    scope : {"these-users", "population"}
        Whom the answer is for.
    n_items : int
        Items a target is ranked among, itself included; the largest pool.
    n_users : int
        The users there are.
    source : str
        Where the distribution of ranks comes from, in words.
    designs : tuple of Planned
        The designs.
    efficiency : tuple of Stage
        LJ24's curve C_j for adaptive samples that double.

    Examples
    --------
    >>> plan = tr.plan(500, 200, "recall@50", 0.2, designs=["fixed", "exact"], fewer_users=False)
    >>> plan[-1].design, plan[0].total_pairs < plan[-1].total_pairs
    (Exact(), True)
    """

    metric: str
    value: float
    error: float
    confidence: float
    scope: Scope
    n_items: int
    n_users: int
    source: str
    designs: tuple[Planned, ...]
    efficiency: tuple[Stage, ...]

    def __getitem__(self, at: Any) -> Any:
        return self.designs[at]

    def __len__(self) -> int:
        return len(self.designs)

    def __iter__(self) -> Iterator[Planned]:
        return iter(self.designs)

    def get(self, name: str) -> Planned | None:
        """The planned design of a name.

        Parameters
        ----------
        name : str
            As in `Planned`.

        Returns
        -------
        Planned or None
            None if no design of that kind reaches the error.

        Examples
        --------
        >>> tr.plan(500, 200, "recall@50", 0.2, designs="exact").get("exact").error
        0.0
        """
        _arguments.check(Plan.get, locals())
        return next((one for one in self.designs if one.name == name), None)

    def rows(self) -> list[dict[str, Any]]:
        return [one.to_dict() | {"design": repr(one.design)} for one in self.designs]

    def to_dict(self) -> dict[str, Any]:
        content = {
            "metric": self.metric,
            "value": self.value,
            "error": self.error,
            "confidence": self.confidence,
            "scope": self.scope,
            "n_items": self.n_items,
            "n_users": self.n_users,
            "like": self.source,
            "designs": [one.to_dict() for one in self.designs],
            "efficiency": list(self.efficiency),
        }
        return {name: plain(value) for name, value in content.items()}

    def half_width(self, error: float) -> float:
        """The half-width of an interval with a relative error, as a share of the metric.

        Parameters
        ----------
        error : float
            Relative root mean squared error.

        Returns
        -------
        float
            2.00 times the error at a confidence of 95 %.

        Examples
        --------
        >>> plan = tr.plan(500, 200, "recall@50", 0.2, designs="exact")
        >>> round(plan.half_width(0.05), 3)
        0.1
        """
        _arguments.check(Plan.half_width, locals())
        return t_quantile(0.5 + self.confidence / 2.0) * error

    def headline(self) -> str:
        """What was asked for.

        Returns
        -------
        str
            A line with metric, error and whom it is for.

        Examples
        --------
        >>> tr.plan(500, 200, "recall@50", 0.2, designs="exact").headline()
        'Goal: recall@50 ≈ 0.5 with a relative error of 20 % (interval ± 40 %), for these users'
        """
        whose = "these users" if self.scope == "these-users" else "all users they are a sample of"
        half = float(f"{self.half_width(self.error):.2g}")
        return (
            f"Goal: {self.metric} ≈ {self.value:.2g} with a relative error of "
            f"{percent(self.error)} (interval ± {percent(half)}), "
            f"for {whose}"
        )

    def advice(self) -> str:
        """The cheapest design, as what to do next.

        Returns
        -------
        str
            A sentence with the design and its cost.

        Examples
        --------
        >>> plan = tr.plan(500, 200, "recall@50", 0.2, designs="exact", fewer_users=False)
        >>> plan.advice()
        'For recall@50 within 20 %: Exact(), about 500 scored pairs per user.'
        """
        goal = f"For {self.metric} within {percent(self.error)}"
        if not self.designs:
            return f"{goal}: rank all items; no smaller sample that was simulated reaches that."
        best = self.designs[0]
        few = f" for {best.n_users:,} users" if best.n_users < self.n_users else ""
        return (
            f"{goal}: {best.design!r}, about {best.pairs_per_user:,.0f} scored pairs per user{few}."
        )

    def rule(self) -> str:
        """LJ24's rule for the end of adaptive samples, with what its curve says there.

        Returns
        -------
        str
            A sentence.

        Examples
        --------
        >>> tr.plan(500, 200, "recall@50", 0.2, designs="exact").rule()[:62]
        'LJ24 would end adaptive samples at 10 to 15 % of the items, 50'
        """
        low, high = (round(share * self.n_items) for share in SHARES)
        text = f"LJ24 would end adaptive samples at 10 to 15 % of the items, {low:,} to {high:,}"
        near = [stage for stage in self.efficiency if stage.sample_size <= high]
        if not near:
            return f"{text}."
        text += (
            f": by a size of {near[-1].sample_size:,} it takes {near[-1].cost:,.0f} items "
            f"to bring one more user to an end, {near[0].cost:,.0f} at the first."
        )
        bend = elbow(self.efficiency)
        if bend is None:
            return text
        return f"{text} Its curve bends most at {bend.sample_size:,} ({100 * bend.share:.0f} %)."

    def _headline(self) -> str:
        return f"{self.headline()}; ranks by {self.source}"

    def _shown(self) -> list[dict[str, str]]:
        return [
            {
                "name": one.name,
                "users": f"{one.n_users:,}",
                "pairs per user": f"{one.pairs_per_user:,.0f}",
                "pairs": f"{one.total_pairs:,.0f}",
                "error": f"{100 * one.error:.1f} %",
                "interval ±": f"{100 * self.half_width(one.error):.1f} %",
                "design": repr(one.design),
            }
            for one in self.designs
        ]

    def __repr__(self) -> str:
        lines = [
            f"  {one.name:<24} {one.n_users:>9,} users x {one.pairs_per_user:>9,.0f} = "
            f"{one.total_pairs:>13,.0f} pairs, error {100 * one.error:.1f} %: {one.design!r}"
            for one in self.designs
        ]
        return "\n".join([self._headline(), *lines])
