"""Item-based collaborative filtering with the cosine of who had what."""

from __future__ import annotations

import itertools
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy import sparse

from truerank import _arguments, _checks
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
        How many of the items most similar to a candidate i count for it, KR20's k'; None for all.
        Items as similar as the last of them count too, so that the order of the catalogue does
        not matter.
    column_neighbours : int or None
        For how many of the candidates most similar to it an item j of the history counts, KR20's
        k; None for all. With both numbers, s_ij counts where i and j are each among the nearest
        of the other (KR20 eq. 28).
    exponent : float
        Exponent of the cosine: above 1 it favours the close neighbours.
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
    column_neighbours: int | None = None
    exponent: float = 1.0
    keep_self: bool = False
    scale_rows: bool = False

    def __post_init__(self) -> None:
        _arguments.check_fields(self)
        for name in ("neighbours", "column_neighbours"):
            if getattr(self, name) is not None:
                _checks.integer(getattr(self, name), name, low=1)
        _checks.real(self.exponent, "exponent", low=0.0, open_low=True)

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

        Taken by column (k = 10) and without the item itself, which gives the published figures;
        by row, as the paper says (k' = 10), does not.

        Returns
        -------
        ItemKNN
            With the paper's hyper-parameters.

        Examples
        --------
        >>> tr.models.ItemKNN.kr20_z().column_neighbours
        10
        """
        return cls(neighbours=None, column_neighbours=10, scale_rows=True)

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
        # Rows of the matrices below are items with their own nearest ones.
        wanted = {self.neighbours, self.column_neighbours} - {None} or {None}
        nearest: dict[int | None, Any] = {number: [] for number in wanted}
        with reporting(progress, data.n_items, "fitting ItemKNN") as advance:
            for begin in range(0, data.n_items, step):
                together = had[begin : begin + step] @ matrix  # users who had both
                for number, parts in nearest.items():
                    parts.append(self._nearest(together, begin, n_users_of, number))
                advance(together.shape[0])
        nearest = {number: sparse.vstack(parts, format="csr") for number, parts in nearest.items()}
        # Weights lead from an item j of the history, a row, to the candidate i; and s_ij = s_ji.
        # KR20 eq. 28: i is among the k nearest of j, and j among the k' nearest of i.
        if self.column_neighbours is None:
            weights = nearest[self.neighbours].T.tocsr()
        else:
            weights = nearest[self.column_neighbours]
            if self.neighbours is not None:
                weights = weights.multiply(nearest[self.neighbours].T > 0).tocsr()
        if self.scale_rows:  # KR20 eq. 29; its rows are the candidates, columns here
            norm = np.sqrt(np.bincount(weights.indices, weights.data**2, minlength=data.n_items))
            weights.data /= np.where(norm > 0.0, norm, 1.0)[weights.indices]
        weights = weights.astype(np.float32, copy=False)
        if weights.nnz > _DENSE * data.n_items**2:
            weights = weights.toarray()
        return ItemWeights(matrix, weights, user_ids=data.user_ids, item_ids=data.item_ids)

    def _nearest(
        self, together: Any, begin: int, n_users_of: FloatArray, number: int | None
    ) -> Any:
        """Similarities of items from ``begin`` on to their ``number`` nearest, as a CSR matrix.

        ``together`` is a CSR matrix of the numbers of common users, shape (n, n_items).
        """
        starts, column = together.indptr, together.indices
        row = np.repeat(np.arange(together.shape[0]), np.diff(starts))
        # The square of the cosine is a ratio of whole numbers, so equal ones are equal to the bit.
        square = together.data**2 / (n_users_of[row + begin] * n_users_of[column])
        if not self.keep_self:
            square[row + begin == column] = 0.0
        keep = square > 0.0
        if number is not None:
            for first, last in itertools.pairwise(starts):
                if last - first > number:
                    own = square[first:last]
                    weakest = np.partition(own, -number)[-number]
                    keep[first:last] &= own >= weakest
        ends = np.concatenate([[0], np.cumsum(keep)])[starts]
        similarity = square[keep] ** (self.exponent / 2)  # KR20 eq. 27: the cosine to the power q
        # Powers may be tiny: they stay in float64 as long as they can be scaled up again.
        kind = np.float64 if self.scale_rows else np.float32
        return sparse.csr_array(
            (similarity.astype(kind, copy=False), column[keep], ends), shape=together.shape
        )
