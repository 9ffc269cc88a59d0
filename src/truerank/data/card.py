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
    name : str
        Name of the dataset.
    n_interactions : int
        Number of rows.
    n_pairs : int
        Number of distinct pairs of user and item.
    n_users : int
        Number of distinct users.
    n_items : int
        Number of distinct items.
    per_user : tuple of float
        Minimum, quartiles and maximum of the number of rows per user.
    per_item : tuple of float
        Minimum, quartiles and maximum of the number of rows per item.
    n_test : int or None
        Held-out rows among the interactions, if a split was described.

    Examples
    --------
    >>> tr.data.Interactions([1, 1, 2, 2], ["a", "b", "a", "c"]).card()
    interactions
      users          2
      items          3
      interactions   4
      sparsity       33.33%
      per user       2  2  2  2  2   (min, quartiles, max)
      per item       1  1  1  1.5  2   (min, quartiles, max)
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
        """Share of all pairs of a user and an item that do not occur.

        Examples
        --------
        >>> round(tr.data.Interactions([1, 1, 2], ["a", "b", "a"]).card().sparsity, 2)
        0.25
        """
        cells = self.n_users * self.n_items
        return 1.0 - self.n_pairs / cells if cells else float("nan")

    @staticmethod
    def quantiles(counts: Any) -> tuple[float, ...]:
        """Minimum, quartiles and maximum of numbers.

        Parameters
        ----------
        counts : array-like of float
            The numbers.

        Returns
        -------
        tuple of float
            Five numbers; none if there are none.

        Examples
        --------
        >>> tr.data.Card.quantiles([1, 2, 3, 4, 5])
        (1.0, 2.0, 3.0, 4.0, 5.0)
        """
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
