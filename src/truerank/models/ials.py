"""Matrix factorisation for implicit feedback by alternating least squares, in plain numpy."""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy import sparse

from truerank import _arguments, _checks
from truerank._types import FloatArray
from truerank.errors import ConvergenceWarning
from truerank.models._base import Model, TrainMatrix
from truerank.progress import Progress, reporting
from truerank.scoring.factors import Factors

_BLOCK = 2**23  # numbers held at a time, in normal equations and in outer products


class FittedFactors(Factors):
    """Factors with the history of their fit.

    Parameters
    ----------
    user_factors : array-like of float, shape (n_users, d)
        Vectors of the users.
    item_factors : array-like of float, shape (n_items, d)
        Vectors of the items.
    item_biases : array-like of float, shape (n_items,), optional
        Added to the scores.
    cosine : bool
        Scale all vectors to unit length first.
    user_ids : array-like, optional
        The ids of the users, in the order of the rows; row numbers if not given.
    item_ids : array-like, optional
        The ids of the items, in the order of the rows; row numbers if not given.

    Attributes
    ----------
    losses : ndarray of float, shape (n_iter,)
        The loss after each iteration; it never rises.
    converged : bool
        Whether the last iteration lowered it by less than the tolerance.

    Examples
    --------
    >>> train = ([1, 1, 2, 2, 3], ["a", "b", "a", "c", "b"])
    >>> fitted = tr.models.IALS(dimensions=2, regularisation=0.1).fit(train)
    >>> fitted.converged
    True
    """

    losses: FloatArray
    converged: bool

    @property
    def n_iter(self) -> int:
        """Number of iterations run, each a step for the users and one for the items.

        Examples
        --------
        >>> train = ([1, 1, 2, 2, 3], ["a", "b", "a", "c", "b"])
        >>> model = tr.models.IALS(dimensions=2, iterations=3, tolerance=None)
        >>> model.fit(train).n_iter
        3
        """
        return int(self.losses.size)


@dataclass(frozen=True, kw_only=True)
class IALS(Model[FittedFactors]):
    """Matrix factorisation by alternating least squares, in plain numpy.

    The score is v_u . v_i, where the factors V minimise the loss of KR20 section 9:

    sum over observed (y - 1)^2 + unobserved_weight * sum over all y^2 + regularisation * ||V||^2

    Parameters
    ----------
    dimensions : int
        Length of the factors.
    regularisation : float
        Lambda of KR20, above 0.
    unobserved_weight : float
        Alpha of KR20: the weight of the zeros, which here stand for all pairs.
    iterations : int
        At most so many iterations, each a step for the users and one for the items.
    tolerance : float or None
        Stop when an iteration lowers the loss by less than this share of it, and warn if none
        does; None runs all iterations.

    Examples
    --------
    >>> train = ([1, 1, 2, 2, 3], ["a", "b", "a", "c", "b"])
    >>> scorer = tr.models.IALS(dimensions=2, regularisation=0.1).fit(train)
    >>> scorer.score_all(np.array([0])).shape
    (1, 3)
    """

    dimensions: int = 16
    regularisation: float = 10.0
    unobserved_weight: float = 0.2
    iterations: int = 100
    tolerance: float | None = 1e-5

    def __post_init__(self) -> None:
        _arguments.check_fields(self)
        _checks.integer(self.dimensions, "dimensions", low=1)
        _checks.integer(self.iterations, "iterations", low=1)
        _checks.real(self.regularisation, "regularisation", low=0.0, high=1e15, open_low=True)
        _checks.real(self.unobserved_weight, "unobserved_weight", low=0.0, high=1e15)
        if self.tolerance is not None:
            _checks.real(self.tolerance, "tolerance", low=0.0)

    @classmethod
    def kr20_x(cls) -> IALS:
        """Recommender X of KR20 section 9; when it was stopped is not printed there.

        Returns
        -------
        IALS
            With the paper's hyper-parameters.

        Examples
        --------
        >>> tr.models.IALS.kr20_x().dimensions
        16
        """
        return cls(dimensions=16, regularisation=10.0, unobserved_weight=0.2)

    def _fit(self, data: TrainMatrix, *, seed: int, progress: Progress) -> FittedFactors:
        matrix, turned = data.matrix, data.matrix.T.tocsr()
        rng = np.random.default_rng(seed)
        items = rng.standard_normal((data.n_items, self.dimensions)) / np.sqrt(self.dimensions)
        losses: list[float] = []
        converged = False
        with reporting(progress, self.iterations, "fitting IALS") as advance:
            while len(losses) < self.iterations and not converged:
                users = self._half_step(matrix, items)
                items = self._half_step(turned, users)
                losses.append(self._loss_after_items(turned, users, items))
                if self.tolerance is not None and len(losses) > 1:
                    converged = losses[-2] - losses[-1] < self.tolerance * losses[-1]
                advance(1)
        if self.tolerance is not None and not converged:
            warnings.warn(
                f"IALS stopped after iterations={self.iterations}, before an iteration lowered the "
                f"loss by less than tolerance={self.tolerance:g} of it",
                ConvergenceWarning,
                stacklevel=3,
            )
        fitted = FittedFactors(
            users.astype(np.float32),
            items.astype(np.float32),
            user_ids=data.user_ids,
            item_ids=data.item_ids,
        )
        fitted.losses, fitted.converged = np.array(losses), converged
        return fitted

    def _half_step(self, matrix: Any, others: FloatArray) -> FloatArray:
        """The best factors of the rows of ``matrix`` for fixed factors of its columns.

        For a row u with ones in the columns I_u, v_u solves
        (alpha V'V + sum over I_u of v v' + lambda 1) v_u = sum over I_u of v.
        """
        n, d = matrix.shape[0], self.dimensions
        common = self.unobserved_weight * (others.T @ others) + self.regularisation * np.eye(d)
        f, g = np.triu_indices(d)
        ours = np.empty((n, d))
        step = max(1, _BLOCK // d**2)
        for begin in range(0, n, step):
            block, found = _compact(matrix[begin : begin + step], others)
            left = np.empty((block.shape[0], d, d))
            # All v v' of a row summed by a sparse product: an outer product per item, not per pair.
            width = max(1, _BLOCK // len(found))
            for first in range(0, f.size, width):
                at = slice(first, first + width)
                outer = block @ (found[:, f[at]] * found[:, g[at]])
                left[:, f[at], g[at]] = left[:, g[at], f[at]] = outer
            left += common
            ours[begin : begin + step] = np.linalg.solve(left, (block @ found)[:, :, None])[..., 0]
        return ours

    def _loss_after_items(self, turned: Any, users: FloatArray, items: FloatArray) -> float:
        """The loss at the end of a step for the items, where it takes a simple form.

        An item's part is v'Av - 2 b'v + (number of its users), with the A and b of `_half_step`;
        where Av = b that is its number of users less b'v. The users' factors add their size.
        """
        explained = float(((turned @ users) * items).sum())
        return float(turned.nnz - explained + self.regularisation * (users**2).sum())


def _compact(matrix: Any, others: FloatArray) -> tuple[Any, FloatArray]:
    """Some rows of a matrix without its empty columns, and the factors of the columns left."""
    used = np.zeros(matrix.shape[1], dtype=np.bool_)
    used[matrix.indices] = True
    used[0] = True  # at least one column
    place = np.cumsum(used) - 1
    compact = sparse.csr_array(
        (matrix.data, place[matrix.indices], matrix.indptr), shape=(matrix.shape[0], place[-1] + 1)
    )
    return compact, others[used]
