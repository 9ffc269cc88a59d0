"""The result of `plan`: designs that reach an error, cheapest first."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

from truerank.inference.planning.efficiency import SHARES, Stage


@dataclass(frozen=True)
class Planned:
    """One design.

    Attributes
    ----------
    name
        ``adaptive`` (ours, within a budget), ``adaptive (LJ24)``, ``fixed``, ``fixed, with
        replacement``, ``users`` (fewer of them, ranked exactly), ``users (Hoeffding)``, ``users x
        adaptive``, ``users x fixed``, ``exact``.
    n_users, pairs_per_user, total_pairs
        Users evaluated, and the negatives scored for each in the mean and in all.
    largest_sample
        The largest sample of a user, the target included.
    error
        Predicted, as a share of the metric, in the terms of the plan.
    arguments
        Of :func:`truerank.evaluate`.
    """

    name: str
    n_users: int
    pairs_per_user: float
    largest_sample: int
    error: float
    arguments: Mapping[str, Any]

    @property
    def total_pairs(self) -> float:
        """Negatives scored in all."""
        return self.n_users * self.pairs_per_user

    def to_dict(self) -> dict[str, Any]:
        """Plain, ready for JSON."""
        found = {"name": self.name, "n_users": self.n_users, "pairs_per_user": self.pairs_per_user}
        found |= {"total_pairs": self.total_pairs, "largest_sample": self.largest_sample}
        return {**found, "error": self.error, "arguments": dict(self.arguments)}


@dataclass(frozen=True)
class Plan(Sequence[Planned]):
    """Designs whose predicted error is within ``error``, the cheapest first: ``plan[0]``.

    Attributes
    ----------
    value
        The metric, if ranks are as supposed.
    error, confidence
        What was asked for: with a confidence, the half-width of the interval over the metric;
        without, the root mean squared error over the metric.
    efficiency
        LJ24's curve C_j for adaptive samples that double.
    """

    metric: str
    value: float
    error: float
    confidence: float | None
    target: str
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
            "target": self.target,
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

    def headline(self) -> str:
        """What was asked for, in a line."""
        how = "root mean squared error" if self.confidence is None else _sure(self.confidence)
        return f"{self.metric} of about {self.value:.4g} to {self.error:.2g} of it ({how})"

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
        lines = [f"Plan for {self.headline()}, ranks by {self.source}"]
        lines += [
            f"  {one.name:<24} {one.n_users:>9,} users x {one.pairs_per_user:>9,.0f} = "
            f"{one.total_pairs:>13,.0f} pairs, error {one.error:.4f}"
            for one in self.designs
        ]
        return "\n".join(lines)


def _sure(confidence: float) -> str:
    return f"half-width of the {100 * confidence:.4g} % interval"
