"""The class behind `truerank.integrations.lightning.callback`; loaded with lightning only."""

from __future__ import annotations

import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import lightning  # noqa: TID253
import torch  # noqa: TID253

from truerank.errors import InputError
from truerank.evaluation.monitor import Monitor


class MonitorCallback(lightning.Callback):
    """Update a monitor after every training epoch."""

    def __init__(self, monitor: Monitor, scorer: Callable[[Any], Any], prefix: str) -> None:
        self.monitor, self.scorer, self.prefix = monitor, scorer, prefix
        self.rank, self.n_processes = 0, 1

    def on_train_epoch_end(self, trainer: Any, pl_module: Any) -> None:
        """Evaluate, log, and stop if it is time."""
        found = self.monitor.update(self.scorer(pl_module), epoch=trainer.current_epoch)
        for metric, one in found.estimates.items():
            told = {"": one.value, "/low": one.low, "/high": one.high}
            for name, value in told.items():
                pl_module.log(f"{self.prefix}{metric}{name}", value, rank_zero_only=False)
        trainer.should_stop = trainer.should_stop or found.should_stop

    def setup(self, trainer: Any, pl_module: Any, stage: str) -> None:
        """Which process this is, before a checkpoint is loaded."""
        self.rank, self.n_processes = trainer.global_rank, trainer.world_size

    def state_dict(self) -> dict[str, Any]:
        """What :meth:`Monitor.save` writes, one tensor of bytes for each process."""
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / "monitor.parquet"
            self.monitor.save(path)
            saved = self.monitor._from_all(path.read_bytes())
        # Tensors, which checkpoints may hold where `torch.load` takes weights only.
        return {"monitors": [torch.frombuffer(bytearray(one), dtype=torch.uint8) for one in saved]}

    def load_state_dict(self, state_dict: dict[str, Any]) -> None:
        """Go on from a checkpoint."""
        saved = state_dict["monitors"]
        if len(saved) > 1 and len(saved) != self.n_processes:
            raise InputError(
                f"the checkpoint holds the monitors of {len(saved)} processes, and there are "
                f"{self.n_processes} now; users would be shared out otherwise: use as many"
            )
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / "monitor.parquet"
            path.write_bytes(saved[self.rank if len(saved) > 1 else 0].numpy().tobytes())
            self.monitor.restore(path)
