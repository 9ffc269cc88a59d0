"""Item-based collaborative filtering with the cosine of who had what."""

from __future__ import annotations

import itertools
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from scipy import sparse

from truerank import _checks
from truerank._types import FloatArray
from truerank.models._base import Model, TrainMatrix
from truerank.progress import Progress, reporting
from truerank.scoring.weights import ItemWeights

_BLOCK = 2**22  # similarities worked on at a time
_DENSE = 0.25  # a matrix fuller than this is faster (and not much larger) as an array


@dataclass(frozen=True, kw_only=True)
class ItemKNN(Model[ItemWeights]):
    """Item-based collaborative filtering with the cosine of who had what.

    The score of an item is the sum of its similarities to the items that the user had.

    Parameters
    ----------
    neighbours : int or None
        How many similar items count; None for all. Items as similar as the last of them count
        too, so that the order of the catalogue does not matter.
    exponent : float
        Exponent of the cosine: above 1 it favours the close neighbours.
    by : {"row", "column"}
        Whose neighbours: ``"row"``, the nearest items j of every candidate i; or ``"column"``, the
        nearest i of every j, so that an item of the history supports its own neighbours only.
    keep_self : bool
        Let an item be its own neighbour, and count as one. For an item that the user has not had
        it matters only to ``scale_rows`` and to the number of neighbours.
    scale_rows : bool
        Divide the similarities of a candidate i by their Euclidean norm.

    Examples
    --------
    >>> train = ([1, 1, 2, 2, 3], ["a", "b", "a", "b", "a"])
    >>> scorer = tr.models.ItemKNN(neighbours=1).fit(train)
    >>> scorer.score_all(np.array([2])).astype(float).round(2).tolist()
    [[0.0, 0.82]]
    """

    neighbours: int | None = 200
    exponent: float = 1.0
    by: Literal["row", "column"] = "row"
    keep_self: bool = False
    scale_rows: bool = False

    def __post_init__(self) -> None:
        if self.neighbours is not None:
            _checks.integer(self.neighbours, "neighbours", low=1)
        _checks.real(self.exponent, "exponent", low=0.0, open_low=True)
        if self.by not in ("row", "column"):
            raise _checks.unknown("value of by", self.by, ("row", "column"))

    @classmethod
    def kr20_y(cls) -> ItemKNN:
        """Recommender Y of KR20 section 9: q = 3 and all neighbours.

        The denominator of eq. 30 as printed would undo eq. 29; the published figures are those
        without it.

        Returns
        -------
        ItemKNN
            With the paper's hyper-parameters.

        Examples
        --------
        >>> tr.models.ItemKNN.kr20_y().exponent
        3.0
        """
        return cls(neighbours=None, exponent=3.0, keep_self=True, scale_rows=True)

    @classmethod
    def kr20_z(cls) -> ItemKNN:
        """Recommender Z of KR20 section 9: q = 1 and 10 neighbours.

        Taken by column and without the item itself, which gives the published figures; by row, as
        eq. 28 with k' = 10 reads, does not.

        Returns
        -------
        ItemKNN
            With the paper's hyper-parameters.

        Examples
        --------
        >>> tr.models.ItemKNN.kr20_z().neighbours
        10
        """
        return cls(neighbours=10, by="column", scale_rows=True)

    @classmethod
    def jl21(cls) -> ItemKNN:
        """The item-KNN of JL21: the cosine and 200 neighbours.

        Returns
        -------
        ItemKNN
            With the paper's hyper-parameters.

        Examples
        --------
        >>> tr.models.ItemKNN.jl21().neighbours
        200
        """
        return cls(neighbours=200)

    def _fit(self, data: TrainMatrix, *, seed: int, progress: Progress) -> ItemWeights:
        matrix = data.matrix
        had = matrix.T.tocsr()
        n_users_of = matrix.sum(axis=0)
        step = max(1, _BLOCK // data.n_items)
        parts = []
        with reporting(progress, data.n_items, "fitting ItemKNN") as advance:
            for begin in range(0, data.n_items, step):
                together = had[begin : begin + step] @ matrix  # users who had both
                parts.append(self._nearest(together, begin, n_users_of))
                advance(together.shape[0])
        nearest = sparse.vstack(parts, format="csr")
        # Rows of `nearest` are items with their own neighbours; weights lead from an item j of the
        # history to the candidate i, and s_ij = s_ji.
        weights = nearest if self.by == "column" else nearest.T.tocsr()
        if self.scale_rows:  # KR20 eq. 29; its rows are the candidates, columns here
            norm = np.sqrt(np.bincount(weights.indices, weights.data**2, minlength=data.n_items))
            weights.data /= np.where(norm > 0.0, norm, 1.0)[weights.indices]
        weights = weights.astype(np.float32, copy=False)
        if weights.nnz > _DENSE * data.n_items**2:
            weights = weights.toarray()
        return ItemWeights(matrix, weights, user_ids=data.user_ids, item_ids=data.item_ids)

    def _nearest(self, together: Any, begin: int, n_users_of: FloatArray) -> Any:
        """Similarities of the items from ``begin`` on to their neighbours, as a CSR matrix.

        ``together`` is a CSR matrix of the numbers of common users, shape (n, n_items).
        """
        starts, column = together.indptr, together.indices
        row = np.repeat(np.arange(together.shape[0]), np.diff(starts))
        # The square of the cosine is a ratio of whole numbers, so equal ones are equal to the bit.
        square = together.data**2 / (n_users_of[row + begin] * n_users_of[column])
        if not self.keep_self:
            square[row + begin == column] = 0.0
        keep = square > 0.0
        if self.neighbours is not None:
            for first, last in itertools.pairwise(starts):
                if last - first > self.neighbours:
                    own = square[first:last]
                    weakest = np.partition(own, -self.neighbours)[-self.neighbours]
                    keep[first:last] &= own >= weakest
        ends = np.concatenate([[0], np.cumsum(keep)])[starts]
        similarity = square[keep] ** (self.exponent / 2)  # KR20 eq. 27: the cosine to the power q
        # Powers may be tiny: they stay in float64 as long as they can be scaled up again.
        kind = np.float64 if self.scale_rows else np.float32
        return sparse.csr_array(
            (similarity.astype(kind, copy=False), column[keep], ends), shape=together.shape
        )
