"""What would settle the metrics that a sample does not settle: plans, by simulation."""

from __future__ import annotations

from typing import TYPE_CHECKING

from truerank import progress as _progress
from truerank.inference.planning.plan import plan
from truerank.inference.planning.planned import Plan
from truerank.inference.verdicts import ERROR
from truerank.progress import Progress

if TYPE_CHECKING:
    from truerank.inference.estimates import Estimates


def remedies(
    estimates: Estimates, *, error: float = ERROR, seed: int = 0, progress: Progress = None
) -> dict[str, Plan]:
    """The cheapest adaptive samples that would settle what estimates leave open.

    Parameters
    ----------
    estimates : Estimates
        Estimates with intervals.
    error : float, default 0.05
        Relative root mean squared error to reach.
    seed : int, default 0
        Seed of the simulations.
    progress : callable or bool, optional
        As in `truerank.estimate`.

    Returns
    -------
    dict of str to Plan
        A plan for each metric that is not resolved; it is empty if no sample of fewer than all
        items reaches the error.

    Examples
    --------
    >>> from truerank.inference.planning.remedies import remedies
    >>> counts = tr.RankCounts.from_exact_ranks([1, 4, 2, 9], n_items=10)
    >>> remedies(tr.estimate(counts))
    {}
    """
    fitted = estimates.fitted
    metrics = () if fitted is None else fitted.metrics
    open_ = [metric for metric in metrics if estimates[metric].resolvable is False]
    found = {}
    with _progress.reporting(progress, len(open_), "planning") as advance:
        for metric in open_:
            found[metric.key] = plan(
                metric=metric,
                error=error,
                like=estimates,
                designs="adaptive",
                fewer_users=False,
                estimator=estimates.estimator,
                seed=seed,
                progress=False,
            )
            advance(1)
    return found
