"""Embeddings that spread over the graph of users and items: NGCF, and LightGCN without its weights.

Both learn by Bayesian personalised ranking: an item of the user is to score above one it has not.
All random draws of an epoch come from (seed, number of the epoch), so that a training that was
stopped goes on as if it had not been (see `truerank_papers.models.checkpoints`).
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy import sparse

from truerank import _checks
from truerank._types import FloatArray
from truerank.models._base import Model, TrainMatrix
from truerank.progress import Progress, reporting
from truerank.scoring.factors import Factors
from truerank_papers.models._torch import import_torch, seeded
from truerank_papers.models.checkpoints import Checkpoint
from truerank_papers.models.neumf import pairs

_SLOPE = 0.2  # of NGCF's rectifier below 0, as published
_SPREAD = 0.1  # standard deviation of the embeddings at the start


class SpreadFactors(Factors):
    """Factors that were learnt on a graph, epoch by epoch.

    Attributes
    ----------
    losses
        Mean training loss per epoch, shape (epochs,).
    """

    losses: FloatArray


def normalised(matrix: Any) -> sparse.csr_array:
    """Scale the adjacency of the graph of users and items: D^-1/2 A D^-1/2.

    Parameters
    ----------
    matrix
        Interactions, CSR of shape (n_users, n_items).

    Returns
    -------
    csr_array
        Shape (n_users + n_items, n_users + n_items), users first. Nodes without an edge have
        zeros.
    """
    edges = sparse.csr_array(matrix, dtype=np.float64)
    graph = sparse.csr_array(sparse.block_array([[None, edges], [edges.T, None]]))
    degree = np.asarray(graph.sum(axis=1)).ravel()
    scale = np.divide(1.0, np.sqrt(degree), where=degree > 0, out=np.zeros_like(degree))
    return sparse.csr_array(sparse.diags_array(scale) @ graph @ sparse.diags_array(scale))


def neighbours(torch: Any, graph: sparse.csr_array) -> Callable[[Any], Any]:
    """Make the product of a symmetric sparse matrix and a tensor a step of torch.

    Its derivative is the same product, which torch, not knowing of the symmetry, takes 15 times as
    long for.

    Parameters
    ----------
    torch
        The library.
    graph
        A symmetric matrix.

    Returns
    -------
    Callable
        Takes a tensor of shape (n_nodes, n) and gives the product, of the same shape.
    """

    def times(tensor: Any) -> Any:
        return torch.from_numpy(graph @ np.ascontiguousarray(tensor.detach().numpy()))

    class Product(torch.autograd.Function):  # type: ignore[misc]
        @staticmethod
        def forward(context: Any, tensor: Any) -> Any:
            return times(tensor)

        @staticmethod
        def backward(context: Any, slope: Any) -> Any:
            return times(slope)

    function: Callable[[Any], Any] = Product.apply
    return function


@dataclass(frozen=True, kw_only=True)
class _OnGraph(Model[SpreadFactors]):
    """What the two models share.

    Parameters
    ----------
    dimensions
        Length of the embeddings.
    layers
        Number of times that embeddings spread over the graph.
    epochs
        Number of passes over the interactions.
    batch_size
        Number of interactions per step. Each step spreads the embeddings of the whole graph, so
        few large steps are quicker than the 1,024 to 2,048 of the publications.
    learning_rate
        Step size of Adam.
    regularisation
        Weight of the squared length of a batch's embeddings.
    """

    dimensions: int = 32
    layers: int = 2
    epochs: int = 40
    batch_size: int = 32_768
    learning_rate: float = 1e-2
    regularisation: float = 1e-4

    def __post_init__(self) -> None:
        for name in ("dimensions", "epochs", "batch_size"):
            _checks.integer(getattr(self, name), name, low=1)
        _checks.integer(self.layers, "layers", low=0)
        _checks.real(self.learning_rate, "learning_rate", low=0.0, open_low=True)
        _checks.real(self.regularisation, "regularisation", low=0.0)

    @abstractmethod
    def _weights(self, torch: Any) -> list[Any]:
        """What is learnt beside the embeddings, drawn at random."""

    @abstractmethod
    def propagate(self, torch: Any, near: Any, start: Any, weights: Any) -> Any:
        """Spread embeddings over the graph.

        Parameters
        ----------
        torch
            The library.
        near
            The product of the scaled adjacency and embeddings, as a function of these.
        start
            Embeddings of the nodes, shape (n_nodes, dimensions).
        weights
            What is learnt beside them.

        Returns
        -------
        Tensor
            What scores are products of, shape (n_nodes, n_features).
        """

    def _fit(self, data: TrainMatrix, *, seed: int, progress: Progress) -> SpreadFactors:
        torch = import_torch(type(self).__name__)
        scaled = normalised(data.matrix).astype(np.float32)
        near = neighbours(torch, scaled)
        with seeded(torch, seed):
            start = (_SPREAD * torch.randn(scaled.shape[0], self.dimensions)).requires_grad_()
            weights = self._weights(torch)
        parameters = [start, *weights]
        optimiser = torch.optim.Adam(parameters, lr=self.learning_rate)
        checkpoint = Checkpoint.of(self, data, seed)
        losses = checkpoint.restore(parameters, optimiser, torch)
        n_batches = -(-data.matrix.nnz // self.batch_size)
        with reporting(progress, self.epochs * n_batches, f"fitting {type(self).__name__}") as done:
            if losses:  # of a training that was stopped
                done(len(losses) * n_batches)
            for epoch in range(len(losses), self.epochs):
                total = 0.0
                for users, liked, other in self._batches(data, seed, epoch):
                    optimiser.zero_grad()
                    spread = self.propagate(torch, near, start, weights)
                    rows = [torch.from_numpy(part) for part in (users, liked, other)]
                    loss = self.loss(torch, spread, start, *rows)
                    loss.backward()
                    optimiser.step()
                    total += float(loss.detach()) * users.size
                    done(1)
                losses.append(total / data.matrix.nnz)
                checkpoint.keep(parameters, optimiser, losses)
        with torch.no_grad():
            spread = self.propagate(torch, near, start, weights).numpy()
        fitted = SpreadFactors(
            spread[: data.n_users],
            spread[data.n_users :],
            user_ids=data.user_ids,
            item_ids=data.item_ids,
        )
        fitted.losses = np.array(losses)
        return fitted

    def _batches(self, data: TrainMatrix, seed: int, epoch: int) -> Iterator[tuple[Any, Any, Any]]:
        """Users, items they have and items they have not, as numbers of nodes."""
        rng = np.random.default_rng([seed, epoch])
        users, items, had = pairs(data.matrix, 1, rng)
        n_had = int(had.sum())
        # Users who have everything have no negatives: their interactions are left out.
        some = np.flatnonzero((np.diff(data.matrix.indptr) < data.n_items)[users[:n_had]])
        order = rng.permutation(some.size)
        for begin in range(0, order.size, self.batch_size):
            at = order[begin : begin + self.batch_size]
            yield (
                users[some[at]],
                data.n_users + items[some[at]],
                data.n_users + items[n_had + at],
            )

    def loss(self, torch: Any, spread: Any, start: Any, users: Any, liked: Any, other: Any) -> Any:
        """Mean loss of a batch: BPR, and the squared length of its embeddings.

        Parameters
        ----------
        torch
            The library.
        spread, start
            Embeddings after and before they spread, one row per node.
        users, liked, other
            Numbers of nodes: the users, an item of each, and one it has not; shape (n,).

        Returns
        -------
        Tensor
            The loss, a scalar.
        """
        ahead = (spread[users] * (spread[liked] - spread[other])).sum(dim=1)
        length = sum((start[rows] ** 2).sum() for rows in (users, liked, other))
        ranking = torch.nn.functional.softplus(-ahead).mean()
        return ranking + self.regularisation * length / (2 * users.numel())


@dataclass(frozen=True, kw_only=True)
class NGCF(_OnGraph):
    """NGCF of Wang19: embeddings spread over the graph, each layer with weights of its own.

    E_l = LeakyReLU((L + I) E_{l-1} W_l + (L E_{l-1} * E_{l-1}) V_l), where L is the scaled
    adjacency; scores are products of [E_0, E_1, ...], each row of E_l scaled to unit length from
    l = 1 on. Messages are not dropped at random.

    Parameters
    ----------
    dimensions
        Length of the embeddings; the publication has 64.
    layers
        Number of times that embeddings spread over the graph; the publication has 3. With 0 it is
        plain matrix factorisation by BPR.
    epochs
        Number of passes over the interactions; the publication stops by held-out users.
    batch_size
        Number of interactions per step. Each step spreads the embeddings of the whole graph, so
        few large steps are quicker than the publication's 1,024.
    learning_rate
        Step size of Adam.
    regularisation
        Weight of the squared length of a batch's embeddings.

    Examples
    --------
    >>> NGCF(epochs=5).layers
    2
    """

    def _weights(self, torch: Any) -> list[Any]:
        weights = []
        for _ in range(2 * self.layers):
            weight = torch.empty(self.dimensions, self.dimensions)
            weights.append(torch.nn.init.xavier_uniform_(weight).requires_grad_())
        return weights

    def propagate(self, torch: Any, near: Any, start: Any, weights: Any) -> Any:
        here, found = start, [start]
        for own, product in zip(weights[::2], weights[1::2], strict=True):
            beside = near(here)
            here = torch.nn.functional.leaky_relu(
                (beside + here) @ own + (beside * here) @ product, _SLOPE
            )
            found.append(torch.nn.functional.normalize(here, dim=1))
        return torch.cat(found, dim=1)


@dataclass(frozen=True, kw_only=True)
class LightGCN(_OnGraph):
    """LightGCN of He20: NGCF without weights and rectifier, the mean over layers.

    E_l = L E_{l-1}; scores are products of the mean of E_0, E_1, ....

    Parameters
    ----------
    dimensions
        Length of the embeddings; the publication has 64.
    layers
        Number of times that embeddings spread over the graph; the publication has 3. With 0 it is
        plain matrix factorisation by BPR.
    epochs
        Number of passes over the interactions; the publication stops by held-out users.
    batch_size
        Number of interactions per step. Each step spreads the embeddings of the whole graph, so
        few large steps are quicker than the publication's 2,048.
    learning_rate
        Step size of Adam.
    regularisation
        Weight of the squared length of a batch's embeddings.

    Examples
    --------
    >>> LightGCN(epochs=5).dimensions
    32
    """

    def _weights(self, torch: Any) -> list[Any]:
        return []

    def propagate(self, torch: Any, near: Any, start: Any, weights: Any) -> Any:
        here, total = start, start
        for _ in range(self.layers):
            here = near(here)
            total = total + here
        return total / (self.layers + 1)
