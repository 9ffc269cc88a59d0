"""EASE: a linear autoencoder in closed form (Steck19)."""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
import numpy.typing as npt
from scipy.linalg import lapack

from truerank import _arguments, _checks
from truerank.errors import InputError
from truerank.models._base import Model, TrainMatrix
from truerank.progress import Progress, reporting
from truerank.scoring.weights import ItemWeights

_BLOCK = 1024  # rows worked on at a time


@dataclass(frozen=True, kw_only=True)
class EASE(Model[ItemWeights]):
    """A linear autoencoder in closed form (Steck19).

    The scores of a user are x_u B, with x_u the user's history and B the minimum of
    ||X - X B||^2 + regularisation ||B||^2 among matrices with zeros on the diagonal.

    One symmetric matrix of n_items x n_items is built, factorised, inverted and turned into the
    weights in place; time grows with the cube of n_items.

    Parameters
    ----------
    regularisation : float
        Lambda of the paper, above 0.
    precision : {"float32", "float64"}
        float64 takes twice the memory and time; needed only where float32 fails.

    Examples
    --------
    >>> train = ([1, 1, 2, 2, 3], ["a", "b", "a", "b", "a"])
    >>> scorer = tr.models.EASE(regularisation=1.0).fit(train)
    >>> scorer.score_all(np.array([2])).round(2).tolist()
    [[0.0, 0.5]]
    """

    regularisation: float = 500.0
    precision: Literal["float32", "float64"] = "float32"

    def __post_init__(self) -> None:
        _arguments.check_fields(self)
        _checks.real(self.regularisation, "regularisation", low=0.0, high=1e15, open_low=True)

    def _fit(self, data: TrainMatrix, *, seed: int, progress: Progress) -> ItemWeights:
        n, kind = data.n_items, np.dtype(self.precision)
        _check_memory(n, kind)
        had = data.matrix.T.tocsr()
        weights = np.empty((n, n), kind)
        with reporting(progress, 3 * n, "fitting EASE") as advance:
            for rows in _blocks(n):
                weights[rows] = (had[rows] @ data.matrix).toarray()
                advance(rows.stop - rows.start)
            weights[np.diag_indices(n)] += self.regularisation
            self._invert(weights, advance)
        # B = I - P / diag(P): column i of P divided by -P_ii, and nothing on the diagonal.
        scale = -1.0 / weights.diagonal()
        for rows in _blocks(n):
            weights[rows] *= scale
        np.fill_diagonal(weights, 0.0)
        return ItemWeights(data.matrix, weights, user_ids=data.user_ids, item_ids=data.item_ids)

    def _invert(self, gram: npt.NDArray[Any], advance: Callable[[int], None]) -> None:
        """The inverse of a positive definite matrix in its own place."""
        factorise, invert = lapack.get_lapack_funcs(("potrf", "potri"), (gram,))
        turned = gram.T  # LAPACK's order; the matrix is symmetric
        factor, info = factorise(turned, lower=1, clean=0, overwrite_a=1)
        if info == 0:
            advance(gram.shape[0])
            inverse, info = invert(factor, lower=1, overwrite_c=1)
            advance(gram.shape[0])
        if info != 0:
            raise InputError(
                f"regularisation is {self.regularisation:g}, too small for {gram.dtype}: the "
                "matrix of counts cannot be inverted; raise it"
                + ("" if gram.dtype == np.float64 else ' or say precision="float64"')
            )
        if not np.shares_memory(inverse, gram):  # LAPACK would not work in place
            gram[:] = inverse.T
        # LAPACK leaves one triangle, here the upper one; the other is its mirror image.
        for rows in _blocks(gram.shape[0]):
            corner = gram[rows, rows]
            gram[rows, rows] = np.triu(corner) + np.triu(corner, 1).T
            for columns in _blocks(rows.start):
                gram[rows, columns] = gram[columns, rows].T


def _blocks(n: int) -> list[slice]:
    return [slice(begin, min(begin + _BLOCK, n)) for begin in range(0, n, _BLOCK)]


def _check_memory(n_items: int, kind: np.dtype[Any]) -> None:
    needed = n_items**2 * kind.itemsize
    try:
        there = os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    except (AttributeError, ValueError, OSError):  # not every system says
        return
    if needed > there:
        raise InputError(
            f"EASE holds a matrix of {n_items} x {n_items} items, {needed / 2**30:.0f} GiB as "
            f"{kind}; this machine has {there / 2**30:.0f} GiB"
        )
