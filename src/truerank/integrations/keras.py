"""Keras: a monitor as a callback."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from truerank import _arguments
from truerank.evaluation.monitor import Monitor
from truerank.integrations._library import library

__all__ = ["callback"]


def callback(monitor: Monitor, scorer: Callable[[Any], Any], *, prefix: str = "val_") -> Any:
    """A Keras callback that updates a monitor after every epoch, logs it, and stops in time.

    The metrics are added to the logs of the epoch as ``val_ndcg@10``, ``val_ndcg@10_low`` and
    ``val_ndcg@10_high``, for other callbacks and ``model.fit(...).history``. Put it before
    callbacks that read them.

    Parameters
    ----------
    monitor : Monitor
        The monitor.
    scorer : callable
        ``scorer(model)`` gives the scorer of the model as it is now.
    prefix : str, default "val_"
        Put before every name.

    Returns
    -------
    keras.callbacks.Callback
        For ``model.fit(callbacks=[...])``.

    Raises
    ------
    MissingExtraError
        If keras is not installed.

    Examples
    --------
    >>> import keras
    >>> monitor = tr.Monitor((np.arange(50), np.arange(50)))
    >>> found = tr.integrations.keras.callback(monitor, lambda model: model.scorer())
    >>> isinstance(found, keras.callbacks.Callback)
    True
    """
    _arguments.check(callback, locals())
    library("keras")
    from truerank.integrations._keras_callback import MonitorCallback

    return MonitorCallback(monitor, scorer, prefix)


def __dir__() -> list[str]:
    return sorted(__all__)
