"""The class behind `truerank.integrations.keras.callback`; loaded with keras only."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import keras  # noqa: TID253

from truerank.evaluation.monitor import Monitor


class MonitorCallback(keras.callbacks.Callback):
    """Update a monitor after every epoch."""

    def __init__(self, monitor: Monitor, scorer: Callable[[Any], Any], prefix: str) -> None:
        super().__init__()
        self.monitor, self.scorer, self.prefix = monitor, scorer, prefix

    def on_epoch_end(self, epoch: int, logs: dict[str, Any] | None = None) -> None:
        """Evaluate, add to the logs, and stop if it is time."""
        found = self.monitor.update(self.scorer(self.model), epoch=epoch)
        if logs is not None:
            for metric, one in found.estimates.items():
                told = {"": one.value, "_low": one.low, "_high": one.high}
                logs |= {f"{self.prefix}{metric}{name}": value for name, value in told.items()}
        if found.should_stop:
            self.model.stop_training = True
