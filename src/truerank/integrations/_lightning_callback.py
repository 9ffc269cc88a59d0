"""The class behind `truerank.integrations.lightning.callback`; loaded with lightning only."""

from __future__ import annotations

import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import lightning  # noqa: TID253

from truerank.evaluation.monitor import Monitor


class MonitorCallback(lightning.Callback):
    """Update a monitor after every training epoch."""

    def __init__(self, monitor: Monitor, scorer: Callable[[Any], Any], prefix: str) -> None:
        self.monitor, self.scorer, self.prefix = monitor, scorer, prefix

    def on_train_epoch_end(self, trainer: Any, pl_module: Any) -> None:
        """Evaluate, log, and stop if it is time."""
        found = self.monitor.update(self.scorer(pl_module), epoch=trainer.current_epoch)
        for metric, one in found.estimates.items():
            told = {"": one.value, "/low": one.low, "/high": one.high}
            for name, value in told.items():
                pl_module.log(f"{self.prefix}{metric}{name}", value, rank_zero_only=False)
        trainer.should_stop = trainer.should_stop or found.should_stop

    def state_dict(self) -> dict[str, Any]:
        """What :meth:`Monitor.save` writes, as bytes."""
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / "monitor.parquet"
            self.monitor.save(path)
            return {"monitor": path.read_bytes()}

    def load_state_dict(self, state_dict: dict[str, Any]) -> None:
        """Go on from a checkpoint."""
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / "monitor.parquet"
            path.write_bytes(state_dict["monitor"])
            self.monitor.restore(path)
