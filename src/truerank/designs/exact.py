"""All items of every pool."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from truerank.designs.design import Design
from truerank.outcomes.schemes import Scheme


@dataclass(frozen=True, kw_only=True, repr=False)
class Exact(Design):
    """Rank every target among all items of its pool.

    Parameters
    ----------
    users : int, optional
        Evaluate a random sample of this many users.
    stratified : bool, default False
        Stratify that sample by the users' numbers of training items.

    Examples
    --------
    >>> import truerank as tr
    >>> tr.designs.Exact()
    Exact()
    >>> tr.designs.Exact(users=1000).to_dict()
    {'name': 'exact', 'users': 1000, 'stratified': False}
    """

    name: ClassVar[str] = "exact"

    def scheme(self, catalogue: int) -> Scheme:
        return Scheme(replacement=False)

    def pairs(self, n_items: float, targets: float = 1.0) -> float:
        return n_items - 1 + targets
