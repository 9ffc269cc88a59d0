"""A small DistMult in numpy, with inverse relations: good enough to be evaluated."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
from scipy.sparse import csr_array

from truerank.data import Queries, Triples

Floats = npt.NDArray[np.float32]


@dataclass(frozen=True)
class DistMult:
    """score(e, r, x) = sum(E[e] * R[r] * E[x]); questions for heads have relations of their own."""

    entities: Floats  # (n_entities, d)
    relations: Floats  # (2 * n_relations, d)

    def vectors(self, queries: Queries) -> Floats:
        """The vectors of questions, shape (n_queries, d): what scores a question is a product."""
        shift = np.where(queries.side == "tail", 0, self.relations.shape[0] // 2)
        relation = queries.relation.astype(np.int64) + shift
        return np.asarray(self.entities[queries.entity] * self.relations[relation])


def fit(
    train: Triples,
    n_entities: int,
    n_relations: int,
    *,
    dim: int = 64,
    epochs: int = 10,
    batch: int = 2048,
    negatives: int = 1024,
    rate: float = 0.1,
    seed: int = 0,
) -> DistMult:
    """Softmax over the answer and shared random entities, by Adagrad."""
    rng = np.random.default_rng(seed)
    head, relation, tail = (
        part.astype(np.int64) for part in (train.head, train.relation, train.tail)
    )
    given = np.concatenate([head, tail])
    asked = np.concatenate([relation, relation + n_relations])
    answer = np.concatenate([tail, head])
    entities = (rng.standard_normal((n_entities, dim)) * 0.1).astype(np.float32)
    relations = (1.0 + rng.standard_normal((2 * n_relations, dim)) * 0.1).astype(np.float32)
    squares = [np.full((len(table), 1), 1e-8, np.float32) for table in (entities, relations)]
    for _ in range(epochs):
        order = rng.permutation(given.size)
        for begin in range(0, given.size, batch):
            at = order[begin : begin + batch]
            others = rng.choice(n_entities, negatives, replace=False)
            e, r, x = entities[given[at]], relations[asked[at]], entities[answer[at]]
            n = entities[others]
            query = e * r
            logits = np.column_stack([(query * x).sum(1), query @ n.T])
            logits -= logits.max(axis=1, keepdims=True)
            chance = np.exp(logits)
            chance /= chance.sum(axis=1, keepdims=True)
            miss, more = chance[:, :1] - 1.0, chance[:, 1:]
            pull = miss * x + more @ n
            rows = np.concatenate([given[at], answer[at], others])
            slopes = np.concatenate([pull * r, miss * query, more.T @ query])
            _step(entities, squares[0], rows, slopes, rate)
            _step(relations, squares[1], asked[at], pull * e, rate)
    return DistMult(entities, relations)


def _step(
    table: Floats, squares: Floats, rows: npt.NDArray[np.int64], slopes: Floats, rate: float
) -> None:
    """Adagrad, one rate per row; rows that occur several times add up."""
    distinct, at = np.unique(rows, return_inverse=True)
    ones = np.ones(rows.size, np.float32)
    add = csr_array((ones, (at, np.arange(rows.size))), shape=(distinct.size, rows.size))
    slope = add @ slopes
    squares[distinct] += (slope**2).mean(axis=1, keepdims=True)
    table[distinct] -= rate * slope / np.sqrt(squares[distinct])
