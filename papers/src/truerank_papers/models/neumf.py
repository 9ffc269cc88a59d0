"""Neural matrix factorisation: a product of embeddings beside a network of others."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from truerank import _checks
from truerank._types import FloatArray, IntArray
from truerank.errors import InputError
from truerank.models._base import Model, TrainMatrix
from truerank.progress import Progress
from truerank.scoring.torch import Torch
from truerank_papers.models._torch import import_torch, layer, seeded, train

_SPREAD = 0.01  # standard deviation of the embeddings at the start, as published


class TrainedNetwork(Torch):
    """A scorer whose network was learnt epoch by epoch.

    Attributes
    ----------
    losses
        Mean training loss per epoch, shape (epochs,).
    """

    losses: FloatArray


@dataclass(frozen=True)
class Network:
    """The network of NeuMF: score = w . [p_u * q_i, MLP([r_u, s_i])] + b, of tensors.

    Parameters
    ----------
    products
        Embeddings p of users and q of items, for the product.
    inputs
        Embeddings r of users and s of items, for the multilayer perceptron.
    layers
        (weight, bias) of each layer of the perceptron, each followed by a rectifier.
    output
        (w, b) of the score: the weights of the product first.
    """

    products: tuple[Any, Any]
    inputs: tuple[Any, Any]
    layers: tuple[tuple[Any, Any], ...]
    output: tuple[Any, Any]

    def __call__(self, users: Any, items: Any) -> Any:
        """Score pairs of a user and an item.

        Parameters
        ----------
        users, items
            Row numbers, 0-based, both of shape (n_pairs,).

        Returns
        -------
        Tensor
            Scores, shape (n_pairs,).
        """
        p, q = self.products
        weight, bias = self.output
        r, s = self.inputs
        (first, first_bias), *rest = self.layers
        half = r.shape[1]  # [r, s] times the first weights, without joining r and s
        hidden = r[users] @ first[:, :half].T + s[items] @ first[:, half:].T
        hidden = (hidden + first_bias).relu()
        for matrix, offset in rest:
            hidden = (hidden @ matrix.T + offset).relu()
        product = (p[users] * q[items]) @ weight[0, : p.shape[1]]
        return product + hidden @ weight[0, p.shape[1] :] + bias

    def parts(self) -> list[Any]:
        """List all tensors to be learnt.

        Returns
        -------
        list
            Tensors, users before items and weights before biases.
        """
        pairs = (self.products, self.inputs, *self.layers, self.output)
        return [part for pair in pairs for part in pair]


@dataclass(frozen=True, kw_only=True)
class NeuMF(Model[TrainedNetwork]):
    """NeuMF of He17: a product of embeddings beside a network of others, in torch.

    Learns by the log loss to tell the items of a user from ``negatives`` times as many others,
    which are drawn again in each epoch. There is no pre-training.

    Parameters
    ----------
    dimensions
        Number of dimensions of the embeddings that are multiplied.
    layers
        Widths of the network: of its input, half of it the user's embedding and half the item's,
        and of its hidden layers.
    negatives
        Number of negatives per interaction.
    epochs
        Number of passes over the interactions.
    batch_size
        Number of pairs per batch; the publication has 256.
    learning_rate
        Step size of Adam.

    Examples
    --------
    >>> NeuMF(epochs=5).layers
    (64, 32, 16, 8)
    """

    dimensions: int = 8
    layers: tuple[int, ...] = (64, 32, 16, 8)
    negatives: int = 4
    epochs: int = 20
    batch_size: int = 1024
    learning_rate: float = 1e-3

    def __post_init__(self) -> None:
        for name in ("dimensions", "negatives", "epochs", "batch_size"):
            _checks.integer(getattr(self, name), name, low=1)
        _checks.real(self.learning_rate, "learning_rate", low=0.0, open_low=True)
        if not isinstance(self.layers, tuple) or len(self.layers) < 2:
            raise InputError(f"layers is {self.layers!r}; it must be a tuple of 2 widths or more")
        for width in self.layers:
            _checks.integer(width, "layers", low=1)
        if self.layers[0] % 2:
            raise InputError(f"layers begins with {self.layers[0]}; half of it must be whole")

    def _fit(self, data: TrainMatrix, *, seed: int, progress: Progress) -> TrainedNetwork:
        torch = import_torch("NeuMF")
        rng = np.random.default_rng(seed)
        n_pairs = data.matrix.nnz * (1 + self.negatives)
        with seeded(torch, seed):
            network = self._start(torch, data)

            def batches() -> Iterator[tuple[Any, int]]:
                columns = pairs(data.matrix, self.negatives, rng)
                order = rng.permutation(columns[0].size)
                users, items, had = (torch.from_numpy(column[order]) for column in columns)
                for begin in range(0, order.size, self.batch_size):
                    at = slice(begin, begin + self.batch_size)
                    loss = torch.nn.functional.binary_cross_entropy_with_logits(
                        network(users[at], items[at]), had[at]
                    )
                    yield loss, int(had[at].numel())

            losses = train(
                torch,
                network.parts(),
                batches,
                learning_rate=self.learning_rate,
                epochs=self.epochs,
                n_batches=-(-n_pairs // self.batch_size),
                what="NeuMF",
                progress=progress,
            )
        fitted = TrainedNetwork(
            network,
            user_ids=np.arange(data.n_users) if data.user_ids is None else data.user_ids,
            item_ids=data.item_ids,
            n_items=None if data.item_ids is not None else data.n_items,
        )
        fitted.losses = losses
        return fitted

    def _start(self, torch: Any, data: TrainMatrix) -> Network:
        def embeddings(width: int) -> tuple[Any, Any]:
            users, items = (
                (_SPREAD * torch.randn(n, width)).requires_grad_()
                for n in (data.n_users, data.n_items)
            )
            return users, items

        widths = list(zip(self.layers, self.layers[1:], strict=False))
        return Network(
            products=embeddings(self.dimensions),
            inputs=embeddings(self.layers[0] // 2),
            layers=tuple(layer(torch, n_in, n_out) for n_in, n_out in widths),
            output=layer(torch, self.dimensions + self.layers[-1], 1),
        )


def pairs(matrix: Any, negatives: int, rng: Any) -> tuple[IntArray, IntArray, FloatArray]:
    """List the pairs of one epoch: all interactions, and negatives.

    Parameters
    ----------
    matrix
        Interactions, CSR of shape (n_users, n_items), indices sorted.
    negatives
        Number of negatives per interaction. They are uniform over the items that the user does not
        have; users who have everything get none.
    rng
        Generator of the negatives.

    Returns
    -------
    users, items : ndarray
        Row numbers, 0-based, shape (n_pairs,).
    had : ndarray
        1.0 for interactions and 0.0 for negatives, shape (n_pairs,).
    """
    n_users, n_items = matrix.shape
    length = np.diff(matrix.indptr)
    users = np.repeat(np.arange(n_users), length)
    known = users * n_items + matrix.indices  # in order, since indices are
    drawn_for = np.repeat(users[(length < n_items)[users]], negatives)
    drawn = rng.integers(n_items, size=drawn_for.size)
    again = np.arange(drawn.size)
    while again.size:
        code = drawn_for[again] * n_items + drawn[again]
        at = np.minimum(np.searchsorted(known, code), known.size - 1)
        again = again[known[at] == code]
        drawn[again] = rng.integers(n_items, size=again.size)
    had = np.zeros(known.size + drawn.size, dtype=np.float32)
    had[: known.size] = 1.0
    return (
        np.concatenate([users, drawn_for]),
        np.concatenate([matrix.indices.astype(np.int64), drawn]),
        had,
    )
