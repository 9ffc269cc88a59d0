"""Matrix factorisation by the implicit library, with the usual weights."""

from __future__ import annotations

from dataclasses import dataclass

from scipy import sparse

from truerank import _arguments, _checks
from truerank.errors import MissingExtraError
from truerank.models._base import Model, TrainMatrix
from truerank.progress import Progress, reporting
from truerank.scoring.factors import Factors


@dataclass(frozen=True, kw_only=True)
class ALS(Model[Factors]):
    """Matrix factorisation by alternating least squares, fitted by the library ``implicit``.

    The score is v_u . v_i, where the factors V minimise

    observed_weight * sum over observed (y - 1)^2 + sum over the others y^2
    + regularisation * ||V||^2

    `IALS` minimises the same up to the names of the weights, to a smaller residual and slower.
    Needs the extra ``models``.

    Parameters
    ----------
    dimensions : int
        Length of the factors.
    regularisation : float
        Weight of the size of the factors.
    observed_weight : float
        Weight of an observed pair (``alpha`` of implicit); that of the others is 1.
    iterations : int
        Number of iterations, each a step for the users and one for the items.

    Examples
    --------
    >>> tr.models.ALS(dimensions=32)
    ALS(dimensions=32, regularisation=0.01, observed_weight=1.0, iterations=15)
    """

    dimensions: int = 64
    regularisation: float = 0.01
    observed_weight: float = 1.0
    iterations: int = 15

    def __post_init__(self) -> None:
        _arguments.check_fields(self)
        _checks.integer(self.dimensions, "dimensions", low=1)
        _checks.integer(self.iterations, "iterations", low=1)
        _checks.real(self.regularisation, "regularisation", low=0.0, high=1e15)
        _checks.real(self.observed_weight, "observed_weight", low=0.0, high=1e15, open_low=True)

    def _fit(self, data: TrainMatrix, *, seed: int, progress: Progress) -> Factors:
        try:
            from implicit.cpu.als import AlternatingLeastSquares
            from threadpoolctl import threadpool_limits
        except ImportError:
            raise MissingExtraError(
                "ALS needs implicit, which truerank[models] brings: pip install implicit "
                "(IALS does without)"
            ) from None
        # implicit runs its own threads, which those of BLAS would slow down several times.
        with threadpool_limits(1, "blas"):
            model = AlternatingLeastSquares(
                factors=self.dimensions,
                regularization=self.regularisation,
                alpha=self.observed_weight,
                iterations=self.iterations,
                random_state=seed,
            )
            with reporting(progress, self.iterations, "fitting ALS") as advance:
                model.fit_callback = lambda *_: advance(1)
                model.fit(sparse.csr_matrix(data.matrix), show_progress=False)
        return Factors(
            model.user_factors,
            model.item_factors,
            user_ids=data.user_ids,
            item_ids=data.item_ids,
        )
