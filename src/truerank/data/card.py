"""A dataset at a glance."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

_SHARES = (0.0, 0.25, 0.5, 0.75, 1.0)


@dataclass(frozen=True, repr=False)
class Card:
    """What a paper's table of datasets says, and how the interactions are spread.

    Attributes
    ----------
    n_interactions, n_pairs
        Rows, and distinct pairs of user and item among them.
    per_user, per_item
        Smallest, lower quartile, median, upper quartile and largest number of rows of a user and
        of an item.
    n_test
        Held-out rows among the interactions, if a split was described.
    """

    name: str
    n_interactions: int
    n_pairs: int
    n_users: int
    n_items: int
    per_user: tuple[float, ...]
    per_item: tuple[float, ...]
    n_test: int | None = None

    @property
    def sparsity(self) -> float:
        """Share of the pairs of a user and an item that do not occur."""
        cells = self.n_users * self.n_items
        return 1.0 - self.n_pairs / cells if cells else float("nan")

    @staticmethod
    def quantiles(counts: Any) -> tuple[float, ...]:
        """Minimum, quartiles and maximum of ``counts``; none of nothing."""
        if not len(counts):
            return ()
        return tuple(float(value) for value in np.quantile(counts, _SHARES))

    def __str__(self) -> str:
        rows = [
            ("users", f"{self.n_users:,}"),
            ("items", f"{self.n_items:,}"),
            ("interactions", f"{self.n_interactions:,}"),
        ]
        if self.n_pairs < self.n_interactions:
            rows.append(("distinct pairs", f"{self.n_pairs:,}"))
        if self.n_test is not None:
            rows.append(("held out", f"{self.n_test:,}"))
        rows.append(("sparsity", f"{self.sparsity:.2%}"))
        for what, values in (("per user", self.per_user), ("per item", self.per_item)):
            spread = "  ".join(f"{value:,.10g}" for value in values)
            rows.append((what, f"{spread}   (min, quartiles, max)" if values else "none"))
        return "\n".join([self.name, *(f"  {label:<15}{value}" for label, value in rows)])

    __repr__ = __str__
