"""What the models in torch share: the import, the seed, the training loop, the layers."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np

from truerank._types import FloatArray
from truerank.errors import MissingExtraError
from truerank.progress import Progress, reporting


def import_torch(model: str) -> Any:
    """Import torch.

    Parameters
    ----------
    model
        Name of the model that needs it, for the message.

    Returns
    -------
    module
        ``torch``.

    Raises
    ------
    MissingExtraError
        If torch is not installed.
    """
    try:
        import torch
    except ImportError as error:
        raise MissingExtraError(
            f"{model} needs torch, which truerank[models] brings: pip install torch"
        ) from error
    return torch


@contextlib.contextmanager
def seeded(torch: Any, seed: int) -> Iterator[None]:
    """Seed torch within the block, and keep it to one thread; outside, all stays as it was.

    The batches are small, and threads that wait for each other take far longer than one where the
    machine is busy; sums in another order would give other models, too.

    Parameters
    ----------
    torch
        The library.
    seed
        Seed of all random numbers that torch draws in the block.
    """
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)
        threads = torch.get_num_threads()
        torch.set_num_threads(1)
        try:
            yield
        finally:
            torch.set_num_threads(threads)


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
    """Minimise a loss with Adam.

    Parameters
    ----------
    torch
        The library.
    parameters
        The tensors to learn; they are changed in place.
    batches
        Each call starts an epoch and gives (mean loss of a batch, number of its rows), batch by
        batch.
    learning_rate
        Step size of Adam.
    epochs
        Number of passes over the data.
    n_batches
        Number of batches per epoch, for the progress bar.
    what
        Name of the model, for the progress bar.
    progress
        As for `truerank.models.Model.fit`.

    Returns
    -------
    ndarray
        The mean loss per epoch, shape (epochs,).
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
    """Make the tensors of a linear layer, to be learnt.

    Parameters
    ----------
    torch
        The library.
    n_in, n_out
        Number of inputs and of outputs.

    Returns
    -------
    weight : Tensor
        Shape (n_out, n_in), drawn by Glorot's rule.
    bias : Tensor
        Shape (n_out,), zeros.
    """
    weight = torch.empty(n_out, n_in)
    torch.nn.init.xavier_uniform_(weight)
    return weight.requires_grad_(), torch.zeros(n_out, requires_grad=True)
