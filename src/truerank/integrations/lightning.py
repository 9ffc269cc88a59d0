"""Lightning: a monitor as a callback."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from truerank import _arguments
from truerank.evaluation.monitor import Monitor
from truerank.integrations._library import library

__all__ = ["callback"]


def callback(monitor: Monitor, scorer: Callable[[Any], Any], *, prefix: str = "") -> Any:
    """A Lightning callback that updates a monitor after every epoch, logs it, and stops in time.

    The metrics are logged as ``ndcg@10``, ``ndcg@10/low`` and ``ndcg@10/high``, for
    ``ModelCheckpoint(monitor="ndcg@10", mode="max")``. The state of the monitor goes into
    checkpoints. Put the callback before others that read the metrics, such as ``EarlyStopping``.
    Under DDP give the monitor a share of the users and
    ``gather=truerank.integrations.torch.gather``; a checkpoint has the state of every process.

    Parameters
    ----------
    monitor : Monitor
        A new one, which has not seen an epoch, or one to go on with.
    scorer : callable
        ``scorer(module)`` gives the scorer of the LightningModule as it is now, such as
        ``lambda module: truerank.scoring.Factors(module.users.weight, module.items.weight)``.
    prefix : str, default ""
        Put before every name that is logged.

    Returns
    -------
    lightning.Callback
        For ``Trainer(callbacks=[...])``.

    Raises
    ------
    MissingExtraError
        If lightning is not installed.

    Examples
    --------
    >>> import lightning
    >>> monitor = tr.Monitor((np.arange(50), np.arange(50)))
    >>> weights = lambda module: tr.scoring.Factors(module.users.weight, module.items.weight)
    >>> found = tr.integrations.lightning.callback(monitor, weights)
    >>> isinstance(found, lightning.Callback)
    True
    """
    _arguments.check(callback, locals())
    library("lightning")
    from truerank.integrations._lightning_callback import MonitorCallback

    return MonitorCallback(monitor, scorer, prefix)


def __dir__() -> list[str]:
    return sorted(__all__)
