"""The result of `plan`: designs that reach an error, cheapest first."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from typing import Any

from truerank.designs import Design
from truerank.inference.intervals.interval import normal_quantile
from truerank.inference.planning.efficiency import SHARES, Stage


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
        Scored pairs per user in the mean, the target's own included.
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


@dataclass(frozen=True)
class Plan(Sequence[Planned]):
    """Designs whose predicted error is within ``error``, the cheapest first: ``plan[0]``.

    Attributes
    ----------
    value
        The metric, if ranks are as supposed.
    error
        The relative root mean squared error asked for.
    confidence
        Of the intervals whose half-widths `half_width` gives.
    scope
        Whose metric it is.
    efficiency
        LJ24's curve C_j for adaptive samples that double.
    """

    metric: str
    value: float
    error: float
    confidence: float
    scope: str
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
        """The design of this name; None if that kind does not reach the error."""
        return next((one for one in self.designs if one.name == name), None)

    def to_dict(self) -> dict[str, Any]:
        """Plain, ready for JSON."""
        return {
            "metric": self.metric,
            "value": self.value,
            "error": self.error,
            "confidence": self.confidence,
            "scope": self.scope,
            "n_items": self.n_items,
            "n_users": self.n_users,
            "like": self.source,
            "designs": [one.to_dict() for one in self.designs],
            "efficiency": [asdict(stage) for stage in self.efficiency],
        }

    def to_pandas(self) -> Any:
        """A pandas DataFrame, one row a design."""
        import pandas as pd

        return pd.DataFrame([one.to_dict() for one in self.designs])

    def half_width(self, error: float) -> float:
        """The half-width of an interval with a relative error, as a share of the metric.

        Parameters
        ----------
        error : float
            Relative root mean squared error.

        Returns
        -------
        float
            1.96 times the error at a confidence of 95 %.
        """
        return normal_quantile(0.5 + self.confidence / 2.0) * error

    def headline(self) -> str:
        """What was asked for, in a line."""
        whose = "these users" if self.scope == "these-users" else "all users they are a sample of"
        return (
            f"Goal: {self.metric} ≈ {self.value:.2g} with a relative error of "
            f"{100 * self.error:.3g} % (interval ± {100 * self.half_width(self.error):.2g} %), "
            f"for {whose}"
        )

    def rule(self) -> str:
        """LJ24's rule for the end of adaptive samples, with what its curve says there."""
        low, high = (round(share * self.n_items) for share in SHARES)
        text = f"LJ24 would end adaptive samples at 10 to 15 % of the items, {low:,} to {high:,}"
        near = [stage for stage in self.efficiency if stage.sample_size <= high]
        if not near:
            return f"{text}."
        return (
            f"{text}: by a size of {near[-1].sample_size:,} it takes {near[-1].cost:,.0f} items "
            f"to bring one more user to an end, {near[0].cost:,.0f} at the first."
        )

    def __repr__(self) -> str:
        lines = [f"{self.headline()}; ranks by {self.source}"]
        lines += [
            f"  {one.name:<24} {one.n_users:>9,} users x {one.pairs_per_user:>9,.0f} = "
            f"{one.total_pairs:>13,.0f} pairs, error {100 * one.error:.1f} %: {one.design!r}"
            for one in self.designs
        ]
        return "\n".join(lines)
