"""What the models in torch share: the import, the seed, the loop over epochs."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np

from truerank._types import FloatArray
from truerank.errors import MissingExtraError
from truerank.progress import Progress, reporting


def import_torch(model: str) -> Any:
    """The torch library, for the model of this name."""
    try:
        import torch
    except ImportError as error:
        raise MissingExtraError(f"{model} needs torch: pip install 'truerank[models]'") from error
    return torch


@contextlib.contextmanager
def seeded(torch: Any, seed: int) -> Iterator[None]:
    """All random numbers of torch from ``seed``; outside, its state stays as it was."""
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)
        yield


def train(
    torch: Any,
    parameters: Sequence[Any],
    batches: Callable[[], Iterator[tuple[Any, int]]],
    *,
    learning_rate: float,
    epochs: int,
    n_batches: int,
    what: str,
    progress: Progress,
) -> FloatArray:
    """Adam over ``epochs`` passes; the mean loss of each, shape (epochs,).

    Parameters
    ----------
    batches
        Each call is an epoch: (mean loss of a batch, number of its rows), one batch after another.
    n_batches
        In one epoch, for the progress.
    """
    optimiser = torch.optim.Adam(parameters, lr=learning_rate)
    losses = []
    with reporting(progress, epochs * n_batches, f"fitting {what}") as advance:
        for _ in range(epochs):
            total, rows = 0.0, 0
            for loss, size in batches():
                optimiser.zero_grad()
                loss.backward()
                optimiser.step()
                total, rows = total + float(loss.detach()) * size, rows + size
                advance(1)
            losses.append(total / rows)
    return np.array(losses)


def layer(torch: Any, n_in: int, n_out: int) -> tuple[Any, Any]:
    """Weights (n_out, n_in) by Glorot's rule and biases of zero, to be learnt."""
    weight = torch.empty(n_out, n_in)
    torch.nn.init.xavier_uniform_(weight)
    return weight.requires_grad_(), torch.zeros(n_out, requires_grad=True)
