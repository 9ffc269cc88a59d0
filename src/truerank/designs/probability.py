"""The probabilities that items were drawn by, where negatives were not drawn uniformly."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from truerank import _arguments, _checks
from truerank._types import FloatArray
from truerank.errors import InputError
from truerank.outcomes import tables


@dataclass(frozen=True, eq=False, repr=False)
class Probability:
    """The probability of each item to be drawn, for `truerank.designs.Frozen`.

    Only ratios matter: the numbers need not sum to 1.

    Parameters
    ----------
    item_id : array-like
        Ids of all items that a target may be ranked among, each once.
    probability : array-like of float
        How likely each of them is drawn, at least 0.
    path : path, optional
        The file they were read from.

    Examples
    --------
    >>> q = tr.designs.Probability([10, 11, 12], [0.5, 0.25, 0.25])
    >>> q.share_kept
    0.75
    """

    item_id: npt.NDArray[Any]
    probability: FloatArray
    path: Path | None = None

    def __post_init__(self) -> None:
        ids = _checks.ids(self.item_id, "item_id of probability")
        values = _checks.numeric(self.probability, "probability")
        if values.shape != ids.shape or not ids.size:
            raise InputError(
                f"probability has {ids.size} items and {values.size} numbers; give one for each"
            )
        bad = ~np.isfinite(values) | (values < 0.0)
        if bad.any():
            row = int(np.argmax(bad))
            raise InputError(
                f"probability of item {ids[row]} is {values[row]:g}; it must be at least 0"
            )
        order = np.argsort(ids, kind="stable")
        ids, values = ids[order], values[order]
        twice = ids[1:] == ids[:-1]
        if twice.any():
            raise InputError(f"probability has item {ids[1:][twice][0]} more than once")
        object.__setattr__(self, "item_id", ids)
        object.__setattr__(self, "probability", values)

    @classmethod
    def of(cls, source: Any) -> Probability:
        """Probabilities from an object, a table or a file.

        Parameters
        ----------
        source : Probability, dict, table or path
            A dict from item ids to numbers; or a table or file with the columns ``item_id`` and
            ``probability``.

        Returns
        -------
        Probability
            The probabilities.

        Examples
        --------
        >>> tr.designs.Probability.of({"a": 3, "b": 1})
        Probability(2 items; 1 to 3)
        """
        if isinstance(source, cls):
            return source
        if isinstance(source, Mapping):
            return cls(list(source), list(source.values()))  # type: ignore[arg-type]
        table = tables.read(source)
        name = table.find("item_id")
        if name is None or "probability" not in [c.strip().lower() for c in table.columns]:
            raise table.missing("item_id and probability")
        values = _checks.numeric(table.values("probability"), f"probability of {table.name}")
        path = Path(source) if isinstance(source, (str, os.PathLike)) else None
        return cls(table.values(name), values, path)

    @classmethod
    def popularity(
        cls, train: Any, *, alpha: float = 1.0, add: float = 0.0, item_ids: Any = None
    ) -> Probability:
        """Probabilities by popularity: (number of training rows + ``add``) to the power ``alpha``.

        With ``alpha=1`` also those of in-batch negatives, which occur as often as in training.

        Parameters
        ----------
        train : table or pair of arrays
            Training data: ``item_id`` of each row, or (user_ids, item_ids).
        alpha : float, default 1
            The power: 0.75 is usual after word2vec, 0 is uniform.
        add : float, default 0
            Added to every count, so that items without training rows can be drawn.
        item_ids : array-like, optional
            All items; those of ``train`` if not given.

        Returns
        -------
        Probability
            The probabilities.

        Examples
        --------
        >>> tr.designs.Probability.popularity(([1, 1, 2], [10, 11, 10]), alpha=1).probability
        array([2., 1.])
        """
        _arguments.check(Probability.popularity, locals())
        if isinstance(train, (tuple, list)) and len(train) == 2:
            seen = _checks.ids(train[1], "item_id of train")
        else:
            table = tables.read(train)
            name = table.find("item_id")
            if name is None:
                raise table.missing("item_id")
            seen = _checks.ids(table.values(name), f"{name} of {table.name}")
        power = _checks.real(alpha, "alpha", low=-100.0, high=100.0)
        more = _checks.real(add, "add", low=0.0)
        ids, count = np.unique(seen, return_counts=True)
        if item_ids is not None:
            every = np.unique(_checks.ids(item_ids, "item_ids"))
            if not every.size:
                raise InputError("item_ids is empty; give the items that may be drawn")
            found = np.zeros(every.size, dtype=np.int64)
            at = np.minimum(np.searchsorted(every, ids), every.size - 1)
            known = every[at] == ids
            found[at[known]] = count[known]
            ids, count = every, found
        return cls(ids, (count + more) ** power)

    @classmethod
    def log_uniform(cls, item_ids: Any) -> Probability:
        """The log-uniform (Zipf-like) law of candidate samplers: log(1 + 1/k) for the k-th item.

        Parameters
        ----------
        item_ids : array-like
            Items from the most popular to the least.

        Returns
        -------
        Probability
            The probabilities.

        Examples
        --------
        >>> tr.designs.Probability.log_uniform([7, 3, 5]).probability.round(3).tolist()
        [0.405, 0.288, 0.693]
        """
        ids = np.asarray(item_ids)
        return cls(ids, np.log1p(1.0 / np.arange(1, ids.size + 1)))

    @property
    def share_kept(self) -> float:
        """The share of drawn negatives that are left when they are thinned to uniform ones.

        Examples
        --------
        >>> tr.designs.Probability.of({"a": 3, "b": 1}).share_kept
        0.5
        """
        total = float(self.probability.sum())
        return float(self.probability.size * self.probability.min() / total) if total else 0.0

    @cached_property
    def hash(self) -> str:
        """SHA-256 of items and probabilities.

        Examples
        --------
        >>> len(tr.designs.Probability.of({"a": 3, "b": 1}).hash)
        64
        """
        digest = hashlib.sha256("\n".join(map(str, self.item_id.tolist())).encode())
        digest.update(self.probability.astype("<f8").tobytes())
        return digest.hexdigest()

    def of_items(self, item_ids: npt.NDArray[Any]) -> FloatArray:
        """The probabilities of some items.

        Parameters
        ----------
        item_ids : array
            Ids of items.

        Returns
        -------
        array of float
            One per item.

        Examples
        --------
        >>> tr.designs.Probability.of({"a": 3, "b": 1}).of_items(np.array(["b", "a", "b"]))
        array([1., 3., 1.])
        """
        _arguments.check(Probability.of_items, locals())
        item_ids = _checks.ids(item_ids, "item_ids")
        at = np.minimum(np.searchsorted(self.item_id, item_ids), self.item_id.size - 1)
        unknown = self.item_id[at] != item_ids
        if unknown.any():
            raise InputError(
                f"{int(unknown.sum())} items have no probability (the first: "
                f"{item_ids[np.argmax(unknown)]}); give one for every item of the catalogue"
            )
        return np.asarray(self.probability[at])

    def __eq__(self, other: object) -> bool:
        """Whether items and probabilities are the same."""
        if not isinstance(other, Probability):
            return NotImplemented
        return self.hash == other.hash

    def __hash__(self) -> int:
        return hash(self.hash)

    def __repr__(self) -> str:
        low, high = self.probability.min(), self.probability.max()
        return f"Probability({self.item_id.size:,} items; {low:g} to {high:g})"
