"""What every design is: frozen data with a name, a short spelling and JSON in and out."""

from __future__ import annotations

import json
from abc import ABC, abstractmethod
from dataclasses import Field, dataclass, fields
from typing import Any, ClassVar

import numpy as np

from truerank import _checks
from truerank._checks import shown
from truerank.designs.draws import Draw
from truerank.errors import InputError
from truerank.outcomes.schemes import Scheme


@dataclass(frozen=True, kw_only=True, repr=False)
class Design(ABC):
    """How the negatives of an evaluation are chosen, and for which users.

    A design is data: it compares, prints itself as it was written, and goes to JSON and back. The
    verbs `truerank.rank`, `truerank.count` and `truerank.evaluate` carry it out.

    Attributes
    ----------
    users : int or None
        Evaluate a random sample of this many users; None for all of them.
    stratified : bool
        Whether that sample is stratified by the users' numbers of training items.

    Examples
    --------
    >>> isinstance(tr.designs.Exact(), tr.designs.Design)
    True
    """

    name: ClassVar[str]

    users: int | None = None
    stratified: bool = False

    def __post_init__(self) -> None:
        for field in fields(self):  # plain numbers: they print and go to JSON
            if isinstance(value := getattr(self, field.name), np.generic):
                object.__setattr__(self, field.name, value.item())
        if self.users is not None:
            _checks.integer(self.users, "users", low=1)
        if not isinstance(self.stratified, bool):
            raise InputError(f"stratified is {shown(self.stratified)}; it must be True or False")
        if self.stratified and self.users is None:
            raise InputError("stratified is True, but users is not given: how many users to take")

    @abstractmethod
    def scheme(self, catalogue: int) -> Scheme:
        """The law that the ranks of this design follow.

        Parameters
        ----------
        catalogue : int
            Number of items in the catalogue.

        Returns
        -------
        Scheme
            How negatives are drawn, with the ladder of sizes of an adaptive design.

        Examples
        --------
        >>> tr.designs.Fixed(num_negatives=99).scheme(5000).name
        'without'
        """

    def pairs(self, n_items: float, targets: float = 1.0) -> float | None:
        """The (user, item) pairs per user that this design asks of the scorer, at most.

        Parameters
        ----------
        n_items : float
            Candidates per target, on average, the target included.
        targets : float, default 1
            Targets per user, on average.

        Returns
        -------
        float or None
            Pairs averaged over users, the targets' own scores included; None where it depends
            on the model.

        Examples
        --------
        >>> tr.designs.Fixed(num_negatives=99).pairs(5000)
        100.0
        """
        return None

    def to_dict(self) -> dict[str, Any]:
        """The design as plain data, ready for JSON.

        Returns
        -------
        dict
            ``name`` and every option of the design.

        Examples
        --------
        >>> tr.designs.Exact().to_dict()
        {'name': 'exact', 'users': None, 'stratified': False}
        """
        return {"name": self.name} | {
            field.name: _plain(getattr(self, field.name)) for field in self._told()
        }

    def to_json(self) -> str:
        """The design as one line of JSON; `truerank.designs.from_json` reads it.

        Returns
        -------
        str
            JSON.

        Examples
        --------
        >>> tr.designs.Exact().to_json()
        '{"name": "exact", "users": null, "stratified": false}'
        """
        return json.dumps(self.to_dict())

    def __repr__(self) -> str:
        options = ", ".join(
            f"{field.name}={getattr(self, field.name)!r}"
            for field in self._told()
            if getattr(self, field.name) != field.default
        )
        return f"{type(self).__name__}({options})"

    def _told(self) -> list[Field[Any]]:
        """The fields that say all, those of the users last."""
        return sorted(fields(self), key=lambda field: field.name in ("users", "stratified"))


def check_budget(budget: Any, name: str = "budget") -> float:
    """A budget in scored pairs per user, if it is one.

    Parameters
    ----------
    budget : float
        Pairs per user averaged over users.
    name : str
        What the error calls it.

    Returns
    -------
    float
        The budget.
    """
    number = _checks.real(budget, name, low=0.0, open_low=True)
    if number < 2:
        raise InputError(
            f"{name} is {number:g} scored pairs per user; it must be at least 2, the target's own "
            "score and one negative"
        )
    return number


def check_replacement(replacement: Any) -> bool:
    """``replacement``, if it is True or False."""
    return Scheme(replacement).replacement


def _plain(value: Any) -> Any:
    return value.to_dict() if isinstance(value, Draw) else value
