"""A dataset at a glance."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from truerank import _checks

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

    Examples
    --------
    >>> tr.data.Interactions([1, 1, 2, 2], ["a", "b", "a", "c"]).card()
    interactions
      users          2
      items          3
      interactions   4
      sparsity       33.33 %
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
        numbers = _checks.numeric(counts, "counts")
        if not numbers.size:
            return ()
        return tuple(float(value) for value in np.quantile(numbers, _SHARES))

    def _sizes(self) -> list[tuple[str, str]]:
        rows = [
            ("users", f"{self.n_users:,}"),
            ("items", f"{self.n_items:,}"),
            ("interactions", f"{self.n_interactions:,}"),
        ]
        if self.n_pairs < self.n_interactions:
            rows.append(("distinct pairs", f"{self.n_pairs:,}"))
        return rows

    def _spread(self) -> list[tuple[str, str]]:
        return [
            ("sparsity", f"{100 * self.sparsity:.2f} %"),
            ("per user", _quantiles(self.per_user, "min, quartiles, max")),
            ("per item", _quantiles(self.per_item, "min, quartiles, max")),
        ]

    def _rows(self) -> list[tuple[str, str]]:
        return self._sizes() + self._spread()

    def __str__(self) -> str:
        rows = self._rows()
        width = max(15, *(len(label) + 2 for label, _ in rows))
        return "\n".join([self.name, *(f"  {label:<{width}}{value}" for label, value in rows)])

    __repr__ = __str__


@dataclass(frozen=True, repr=False)
class SplitCard(Card):
    """The card of a split: how it was made, its targets, and what to look out for.

    Attributes
    ----------
    name : str
        Name of the dataset.
    n_interactions : int
        Number of rows, of both parts.
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
    protocol : mapping of str to Any
        How the split was made: ``split``, ``share``, ``k``, ``how``, ``time``, ``seed``, as far as
        they apply, and ``dropped``, the number of targets dropped since; empty if it was given.
    n_targets : int
        Held-out rows.
    targets_per_user : tuple of float
        Minimum, median and maximum of the number of targets, over users who have some.
    users_without_targets : int
        Users of the training part only.
    unseen_users : int
        Users who have targets and no training rows.
    unseen_items : int
        Items that occur among the targets only.
    repeated_targets : int
        Targets that are training rows of their user, or stand among the targets before.

    Examples
    --------
    >>> data = tr.data.Interactions([1, 1, 1, 2, 2, 3], ["a", "b", "c", "a", "c", "c"])
    >>> data.split_per_user(0.4, seed=5).card()
    interactions
      split                  per-user share=0.4, how=random, seed=5
      users                  3
      items                  3
      interactions           6
      targets                2 (33.33 %), of 2 users
      targets per user       1  1  1   (min, median, max)
      users without targets  1
      unseen users           0   (targets, but no training rows)
      unseen items           1   (among the targets only)
      sparsity               33.33 %
      per user               1  1.5  2  2.5  3   (min, quartiles, max)
      per item               1  1.5  2  2.5  3   (min, quartiles, max)
    """

    protocol: Mapping[str, Any]
    n_targets: int
    targets_per_user: tuple[float, ...]
    users_without_targets: int
    unseen_users: int
    unseen_items: int
    repeated_targets: int

    @property
    def share(self) -> float:
        """Share of the interactions that is held out.

        Examples
        --------
        >>> data = tr.data.Interactions([1, 1, 1, 2, 2], ["a", "b", "c", "a", "c"])
        >>> data.split_per_user(0.2).card().share
        0.4
        """
        return self.n_targets / self.n_interactions if self.n_interactions else float("nan")

    def _rows(self) -> list[tuple[str, str]]:
        options = [f"{key}={value}" for key, value in self.protocol.items() if key != "split"]
        made = " ".join([self.protocol.get("split", "as given"), ", ".join(options)]).strip()
        users = self.n_users - self.users_without_targets
        rows = [
            ("split", made),
            *self._sizes(),
            ("targets", f"{self.n_targets:,} ({100 * self.share:.2f} %), of {users:,} users"),
            ("targets per user", _quantiles(self.targets_per_user, "min, median, max")),
            ("users without targets", f"{self.users_without_targets:,}"),
            ("unseen users", f"{self.unseen_users:,}   (targets, but no training rows)"),
            ("unseen items", f"{self.unseen_items:,}   (among the targets only)"),
        ]
        if self.repeated_targets:
            rows.append(
                ("repeated targets", f"{self.repeated_targets:,}   (in training, or twice)")
            )
        return rows + self._spread()


def _quantiles(values: tuple[float, ...], which: str) -> str:
    spread = "  ".join(f"{value:,.10g}" for value in values)
    return f"{spread}   ({which})" if values else "none"
