"""Weights & Biases: metrics with their intervals, and the protocol card as configuration."""

from __future__ import annotations

from typing import Any

from truerank import _arguments, _checks
from truerank.errors import InputError
from truerank.integrations._library import library, numbers

__all__ = ["log"]


def log(result: Any, *, run: Any = None, step: int | None = None, prefix: str = "") -> None:
    """Log a result to a run of Weights & Biases.

    Metrics are ``ndcg@10/value``, ``/low``, ``/high`` and ``/resolvable`` (1 or 0). The protocol
    card of an evaluation goes to the configuration of the run, under ``truerank``.

    Parameters
    ----------
    result : Evaluation, Estimates or Epoch
        What `truerank.evaluate`, `truerank.estimate` or `truerank.Monitor.update` gives.
    run : wandb.Run, optional
        The run; the active one unless stated.
    step : int, optional
        The step; that of an epoch is its number unless stated.
    prefix : str, default ""
        Put before every name: ``"validation/"``.

    Raises
    ------
    MissingExtraError
        If wandb is not installed.
    InputError
        If there is no run.

    Examples
    --------
    >>> import wandb
    >>> counts = tr.RankCounts.from_exact_ranks([1, 4, 2, 9], n_items=10)
    >>> with wandb.init(mode="offline", dir=".", settings=wandb.Settings(silent=True)) as run:
    ...     tr.integrations.wandb.log(tr.estimate(counts, "recall@5"))
    ...     round(run.summary["recall@5/value"], 4)
    0.75
    """
    _arguments.check(log, locals())
    active = library("wandb").run if run is None else run
    if active is None:
        raise InputError("there is no active run; call wandb.init() first, or give run=")
    if not hasattr(active, "log") or not hasattr(active, "config"):
        raise InputError(f"run is {_checks.shown(run)}; it must be what wandb.init() gives")
    active.log(
        numbers(result, prefix), step=getattr(result, "epoch", None) if step is None else step
    )
    protocol = getattr(result, "protocol", None)
    if protocol is not None:
        active.config.update({"truerank": dict(protocol)}, allow_val_change=True)


def __dir__() -> list[str]:
    return sorted(__all__)
