"""A variational autoencoder with a multinomial likelihood."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from truerank import _checks
from truerank._types import FloatArray
from truerank.models._base import Model, TrainMatrix
from truerank.progress import Progress
from truerank.scoring.factors import Factors
from truerank_papers.models._torch import import_torch, layer, seeded, train

_BLOCK = 2**24  # numbers of a dense part of the matrix, at a time


class TrainedFactors(Factors):
    """A scorer whose factors were learnt epoch by epoch.

    Attributes
    ----------
    losses
        Mean training loss per epoch, shape (epochs,).
    """

    losses: FloatArray


@dataclass(frozen=True, kw_only=True)
class MultiVAE(Model[TrainedFactors]):
    """Mult-VAE of Liang18: a variational autoencoder of users' histories, in torch.

    A user's history x, scaled to length 1, goes through a hidden layer to the mean and variance of
    a latent vector z; z goes through a hidden layer h to the scores w_i . h + b_i, whose softmax is
    the likelihood of each item in the history. The loss of a user is
    -sum over the items of the history of log softmax + weight * KL(q(z|x) || N(0, 1)).

    A fitted model takes the mean of z, so that scores are products of factors: h of the user's
    training items, and w, b of the items.

    Parameters
    ----------
    hidden
        Width of the hidden layers.
    latent
        Number of dimensions of z.
    dropout
        Share of a history that is left out in training, at random in each batch.
    kl_weight
        Final weight of the KL term.
    anneal_steps
        The weight of the KL term grows from 0 by 1 / ``anneal_steps`` per batch up to
        ``kl_weight``.
    epochs
        Number of passes over the users. The publication has 200 and keeps the best of them by
        held-out users; here the last is kept.
    batch_size
        Number of users per batch.
    learning_rate
        Step size of Adam.

    Examples
    --------
    >>> MultiVAE(epochs=10, batch_size=100).hidden
    600
    """

    hidden: int = 600
    latent: int = 200
    dropout: float = 0.5
    kl_weight: float = 0.2
    anneal_steps: int = 200_000
    epochs: int = 50
    batch_size: int = 500
    learning_rate: float = 1e-3

    def __post_init__(self) -> None:
        for name in ("hidden", "latent", "anneal_steps", "epochs", "batch_size"):
            _checks.integer(getattr(self, name), name, low=1)
        _checks.real(self.dropout, "dropout", low=0.0, high=0.99)
        _checks.real(self.kl_weight, "kl_weight", low=0.0)
        _checks.real(self.learning_rate, "learning_rate", low=0.0, open_low=True)

    def _fit(self, data: TrainMatrix, *, seed: int, progress: Progress) -> TrainedFactors:
        torch = import_torch("MultiVAE")
        some = np.flatnonzero(np.diff(data.matrix.indptr))  # users who have something to learn from
        n_batches = -(-some.size // self.batch_size)
        n_done = 0
        with seeded(torch, seed):
            layers = [
                layer(torch, data.n_items, self.hidden),
                layer(torch, self.hidden, 2 * self.latent),
                layer(torch, self.latent, self.hidden),
                layer(torch, self.hidden, data.n_items),
            ]

            def batches() -> Iterator[tuple[Any, int]]:
                nonlocal n_done
                order = some[torch.randperm(some.size).numpy()]
                for begin in range(0, some.size, self.batch_size):
                    rows = order[begin : begin + self.batch_size]
                    weight = min(self.kl_weight, n_done / self.anneal_steps)
                    noise = torch.randn(rows.size, self.latent)
                    history = _dense(torch, data.matrix, rows)
                    kept = torch.nn.functional.dropout(_unit(torch, history), self.dropout)
                    yield self.loss(torch, layers, history, kept, noise, weight), rows.size
                    n_done += 1

            losses = train(
                torch,
                [part for pair in layers for part in pair],
                batches,
                learning_rate=self.learning_rate,
                epochs=self.epochs,
                n_batches=n_batches,
                what="MultiVAE",
                progress=progress,
            )
        with torch.no_grad():
            users = np.empty((data.n_users, self.hidden), dtype=np.float32)
            step = max(1, _BLOCK // data.n_items)
            for begin in range(0, data.n_users, step):
                rows = np.arange(begin, min(begin + step, data.n_users))
                mean, _ = self._encode(layers, _unit(torch, _dense(torch, data.matrix, rows)))
                users[rows] = self._decode(layers, mean).numpy()
        weight, bias = (part.detach().numpy() for part in layers[3])
        fitted = TrainedFactors(
            users, weight, item_biases=bias, user_ids=data.user_ids, item_ids=data.item_ids
        )
        fitted.losses = losses
        return fitted

    def loss(
        self, torch: Any, layers: Any, history: Any, kept: Any, noise: Any, weight: float
    ) -> Any:
        """Mean loss of a batch of users.

        Parameters
        ----------
        torch
            The library.
        layers
            (weight, bias) of the four layers: two of the encoder, two of the decoder.
        history
            Zeros and ones, shape (n_users, n_items).
        kept
            What dropout left of the scaled histories, the same shape.
        noise
            Standard normal, shape (n_users, latent): z is its mean plus its deviation times this.
        weight
            Weight of the KL term.

        Returns
        -------
        Tensor
            The loss, a scalar.
        """
        mean, log_variance = self._encode(layers, kept)
        z = mean + (0.5 * log_variance).exp() * noise
        matrix, bias = layers[3]
        scores = torch.log_softmax(self._decode(layers, z) @ matrix.T + bias, dim=1)
        fit = -(scores * history).sum(dim=1).mean()
        kl = 0.5 * (log_variance.exp() + mean**2 - 1.0 - log_variance).sum(dim=1).mean()
        return fit + weight * kl

    def _encode(self, layers: Any, kept: Any) -> tuple[Any, Any]:
        """Mean and log-variance of z."""
        (first, first_bias), (second, second_bias) = layers[:2]
        out = (kept @ first.T + first_bias).tanh() @ second.T + second_bias
        return out[:, : self.latent], out[:, self.latent :]

    def _decode(self, layers: Any, z: Any) -> Any:
        """The hidden layer before the scores."""
        weight, bias = layers[2]
        return (z @ weight.T + bias).tanh()


def _dense(torch: Any, matrix: Any, rows: Any) -> Any:
    return torch.from_numpy(matrix[rows].toarray().astype(np.float32))


def _unit(torch: Any, history: Any) -> Any:
    return torch.nn.functional.normalize(history, dim=1)
