"""Training that can be stopped and goes on: the state after each epoch, kept as plain arrays."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from contextvars import ContextVar
from pathlib import Path
from typing import Any

import numpy as np

from truerank.models._base import Model, TrainMatrix
from truerank.models._kept import load_arrays, save_arrays, told_damaged
from truerank.models.cache import content_hash

_FOLDER: ContextVar[Path | None] = ContextVar("folder of checkpoints", default=None)


@contextlib.contextmanager
def checkpoints(folder: Path) -> Iterator[None]:
    """Keep the state of trainings in a folder within the block, and go on from what lies there.

    Parameters
    ----------
    folder
        Where states are kept, one file per model, data and seed; made if need be.

    Examples
    --------
    >>> with checkpoints(Path("training")):  # doctest: +SKIP
    ...     scorer = NGCF().fit(train)
    """
    token = _FOLDER.set(Path(folder))
    try:
        yield
    finally:
        _FOLDER.reset(token)


class Checkpoint:
    """The state of one training: the tensors, what Adam remembers of them, the losses so far.

    Parameters
    ----------
    path
        Its file, in numpy's npz format; None keeps nothing.
    """

    def __init__(self, path: Path | None) -> None:
        self.path = path

    @classmethod
    def of(cls, model: Model[Any], data: TrainMatrix, seed: int) -> Checkpoint:
        """Find the checkpoint of a model that learns from some data with some seed.

        Parameters
        ----------
        model
            The hyper-parameters.
        data
            What it learns from.
        seed
            Seed of all random draws.

        Returns
        -------
        Checkpoint
            It keeps nothing outside of a block of `checkpoints`.
        """
        folder = _FOLDER.get()
        if folder is None:
            return cls(None)
        return cls(folder / f"{type(model).__name__}-{content_hash(model, data, seed)}.npz")

    def restore(self, parameters: Any, optimiser: Any, torch: Any) -> list[float]:
        """Set tensors and optimiser to the state that was kept.

        Parameters
        ----------
        parameters
            The tensors to learn; they are changed in place.
        optimiser
            Adam over these.
        torch
            The library.

        Returns
        -------
        list of float
            The losses of the epochs that were done; empty if nothing was kept.
        """
        if self.path is None or not self.path.exists():
            return []
        try:
            kept = load_arrays(self.path)
            losses = list(map(float, kept["losses"]))
            step = torch.tensor(float(kept["step"]))
            parts = [
                [torch.from_numpy(kept[f"{name}{i}"]) for name in ("value", "mean", "square")]
                for i, _ in enumerate(parameters)
            ]
        except Exception as error:  # archives fail in many ways
            told_damaged(self.path, error, "the training starts again")
            return []
        for part, (value, mean, square) in zip(parameters, parts, strict=True):
            with torch.no_grad():
                part.copy_(value)
            optimiser.state[part] = {"step": step.clone(), "exp_avg": mean, "exp_avg_sq": square}
        return losses

    def keep(self, parameters: Any, optimiser: Any, losses: list[float]) -> None:
        """Keep the state after an epoch.

        Parameters
        ----------
        parameters
            The tensors.
        optimiser
            Adam over these.
        losses
            The mean loss per epoch so far.
        """
        if self.path is None:
            return
        arrays: dict[str, Any] = {"losses": np.array(losses)}
        for i, part in enumerate(parameters):
            state = optimiser.state[part]
            arrays["step"] = np.array(float(state["step"]))
            arrays[f"value{i}"] = part.detach().numpy()
            arrays[f"mean{i}"] = state["exp_avg"].numpy()
            arrays[f"square{i}"] = state["exp_avg_sq"].numpy()
        save_arrays(self.path, arrays)
