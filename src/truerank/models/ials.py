"""Matrix factorisation for implicit feedback by alternating least squares, in plain numpy."""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy import sparse

from truerank import _checks
from truerank._types import FloatArray
from truerank.errors import ConvergenceWarning
from truerank.models._base import Interactions, Model
from truerank.progress import Progress, reporting
from truerank.scoring.factors import Factors

_BLOCK = 2**23  # numbers held at a time, in normal equations and in outer products


class FittedFactors(Factors):
    """Factors that say how they were found.

    Attributes
    ----------
    losses
        The loss after each iteration, shape (n_iter,); it never rises.
    converged
        Whether it fell by less than the tolerance in the end.
    """

    losses: FloatArray
    converged: bool

    @property
    def n_iter(self) -> int:
        """Number of iterations run, each a step for the users and one for the items."""
        return int(self.losses.size)


@dataclass(frozen=True, kw_only=True)
class IALS(Model[FittedFactors]):
    """score(u, i) = v_u . v_i, where V minimises the loss of KR20 section 9.

    sum over observed (y - 1)^2 + unobserved_weight * sum over all y^2 + regularisation * ||V||^2

    Attributes
    ----------
    dimensions
        Of the factors.
    regularisation
        Lambda of KR20.
    unobserved_weight
        Alpha of KR20: the weight of the zeros, which here stand for all pairs.
    iterations
        At most so many, each a step for the users and one for the items.
    tolerance
        Stop when an iteration lowers the loss by less than this share of it, and warn if none
        does; None runs all iterations.
    """

    dimensions: int = 16
    regularisation: float = 10.0
    unobserved_weight: float = 0.2
    iterations: int = 100
    tolerance: float | None = 1e-5

    def __post_init__(self) -> None:
        _checks.integer(self.dimensions, "dimensions", low=1)
        _checks.integer(self.iterations, "iterations", low=1)
        _checks.real(self.regularisation, "regularisation", low=0.0, open_low=True)
        _checks.real(self.unobserved_weight, "unobserved_weight", low=0.0)
        if self.tolerance is not None:
            _checks.real(self.tolerance, "tolerance", low=0.0)

    @classmethod
    def kr20_x(cls) -> IALS:
        """Recommender X of KR20 section 9; where it was stopped is not printed there."""
        return cls(dimensions=16, regularisation=10.0, unobserved_weight=0.2)

    def _fit(self, data: Interactions, *, seed: int, progress: Progress) -> FittedFactors:
        matrix, turned = data.matrix, data.matrix.T.tocsr()
        rng = np.random.default_rng(seed)
        items = rng.standard_normal((data.n_items, self.dimensions)) / np.sqrt(self.dimensions)
        losses: list[float] = []
        converged = False
        with reporting(progress, self.iterations, "fitting IALS") as advance:
            while len(losses) < self.iterations and not converged:
                users = self.half_step(matrix, items)
                items = self.half_step(turned, users)
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

    def half_step(self, matrix: Any, others: FloatArray) -> FloatArray:
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
            # All v v' of a row summed by a sparse product: an outer product an item, not a pair.
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

        An item's part is v'Av - 2 b'v + (number of its users), with the A and b of `half_step`;
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
