"""torchmetrics: metrics of the whole catalogue from scores of a target and its negatives."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from truerank.inference.estimates import DEFAULT_ESTIMATOR, DEFAULT_METRICS
from truerank.integrations._library import library
from truerank.metrics import MetricLike

__all__ = ["ranks"]


def ranks(
    *,
    num_negatives: int,
    n_items: int,
    metrics: MetricLike | Iterable[MetricLike] = DEFAULT_METRICS,
    estimator: Any = DEFAULT_ESTIMATOR,
    replacement: bool = False,
    **options: Any,
) -> Any:
    """A ``torchmetrics.Metric`` that counts sampled ranks and estimates the metrics of all items.

    ``update(scores)`` takes scores of shape (B, 1 + num_negatives), the target first;
    ``update(ranks=...)`` sampled ranks of shape (B,), 1-based. The one state is the number of users
    with each rank, ``1 + num_negatives`` numbers whatever the number of users, which processes
    add up. Tied negatives share a user's weight among the tied ranks. ``compute()`` gives a dict of
    values, ``estimates()`` those with intervals, ``counts`` the RankCounts.

    Parameters
    ----------
    num_negatives : int
        Negatives per target.
    n_items : int
        Items that negatives are drawn from, the target included, the same for all users.
    metrics : str, Metric or list of them
        As in `truerank.estimate`.
    estimator : str or Estimator, default "smooth"
        As in `truerank.estimate`.
    replacement : bool, default False
        Whether an item may be drawn twice for a user.
    **options
        Of ``torchmetrics.Metric``.

    Returns
    -------
    torchmetrics.Metric
        The metric.

    Raises
    ------
    MissingExtraError
        If torchmetrics is not installed.

    Examples
    --------
    >>> import torch, torchmetrics
    >>> metric = tr.integrations.torchmetrics.ranks(
    ...     num_negatives=3, n_items=100, metrics=["auc"], estimator="naive"
    ... )
    >>> metric.update(torch.tensor([[0.9, 0.1, 0.2, 0.3], [0.2, 0.9, 0.1, 0.1]]))
    >>> metric.state.tolist()
    [1.0, 1.0, 0.0, 0.0]
    """
    library("torchmetrics")
    from truerank.integrations._torch_metric import SampledRanks

    return SampledRanks(
        num_negatives=num_negatives,
        n_items=n_items,
        metrics=metrics,
        estimator=estimator,
        replacement=replacement,
        **options,
    )


def __dir__() -> list[str]:
    return sorted(__all__)
