"""TensorBoard: metrics with their intervals, as scalars."""

from __future__ import annotations

from typing import Any

from truerank import _arguments
from truerank.errors import InputError
from truerank.integrations._library import numbers

__all__ = ["log"]


def log(result: Any, writer: Any, *, step: int | None = None, prefix: str = "") -> None:
    """Write a result as scalars: ``ndcg@10/value``, ``/low``, ``/high`` and ``/resolvable``.

    Parameters
    ----------
    result : Evaluation, Estimates or Epoch
        What `truerank.evaluate`, `truerank.estimate` or `truerank.Monitor.update` gives.
    writer : SummaryWriter
        Of ``torch.utils.tensorboard`` or tensorboardX: anything with ``add_scalar``.
    step : int, optional
        The step; that of an epoch is its number unless stated.
    prefix : str, default ""
        Put before every name: ``"validation/"``.

    Raises
    ------
    InputError
        If the writer has no ``add_scalar``.

    Examples
    --------
    >>> class Writer:
    ...     def add_scalar(self, name, value, step):
    ...         print(name, round(value, 4), step)
    >>> counts = tr.RankCounts.from_exact_ranks([1, 4, 2, 9], n_items=10)
    >>> found = tr.estimate(counts, "recall@5", confidence=None)
    >>> tr.integrations.tensorboard.log(found, Writer(), step=3)
    recall@5/value 0.75 3
    """
    _arguments.check(log, locals())
    if not hasattr(writer, "add_scalar"):
        raise InputError(
            f"writer is of type {type(writer).__name__}; give a SummaryWriter, which has add_scalar"
        )
    at = getattr(result, "epoch", None) if step is None else step
    for name, value in numbers(result, prefix).items():
        writer.add_scalar(name, value, at)


def __dir__() -> list[str]:
    return sorted(__all__)
