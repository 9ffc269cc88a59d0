"""Evaluations of two models drawn again, both on the same negatives."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from truerank._types import IntArray
from truerank.outcomes.schemes import Scheme
from truerank.rng import hypergeometric


@dataclass(frozen=True)
class UsersOfTwo:
    """Users that two models are evaluated on, arrays of shape (n_users,) unless stated.

    Attributes
    ----------
    schemes : tuple of Scheme
        The laws that samples follow.
    scheme : array of int
        The law of each user's samples as an index of ``schemes``, shape (n_users, 2).
    n_items : array of int
        The pool of each user.
    sample_size : array of int
        The size of fixed samples, the same for both models.
    above : array of int
        Items of the pool above the target: by both models, by the first alone, by the second
        alone, by none; shape (n_users, 4).
    """

    schemes: tuple[Scheme, ...]
    scheme: IntArray
    n_items: IntArray
    sample_size: IntArray
    above: IntArray

    @property
    def global_rank(self) -> IntArray:
        """The ranks of each user's target by the two models, 1-based, shape (n_users, 2)."""
        both, one, two, _ = self.above.T
        return np.stack([both + one + 1, both + two + 1], axis=1)

    def evaluate(self, rng: np.random.Generator) -> IntArray:
        """Scheme, pool, sample size and sampled rank by each model, shape (2, 4, n_users)."""
        found = np.zeros((2, 4, self.n_items.size), dtype=np.int64)
        found[:, 0], found[:, 1] = self.scheme.T, self.n_items
        laws, group = np.unique(self.scheme, axis=0, return_inverse=True)
        group = group.reshape(-1)
        for at, (one, two) in enumerate(laws):
            users = np.flatnonzero(group == at)
            found[:, 2:, users] = self._climbed(users, (self.schemes[one], self.schemes[two]), rng)
        return found

    def _climbed(
        self, users: IntArray, schemes: tuple[Scheme, Scheme], rng: np.random.Generator
    ) -> IntArray:
        """Sizes and ranks of users whose samples follow two schemes, shape (2, 2, n_users)."""
        replacement = schemes[0].replacement
        pool, drawn_from = self.n_items[users], self.above[users]
        if not schemes[0].adaptive:
            size = self.sample_size[users]
            size = size if replacement else np.minimum(size, pool)
            hits = _hits(draw(drawn_from, size - 1, replacement, rng))
            return np.stack([np.broadcast_to(size, hits.shape), hits + 1], axis=1)
        left = drawn_from.copy()
        drawn = np.zeros_like(left)
        size = np.ones(users.size, dtype=np.int64)
        ended = np.zeros((2, users.size), dtype=bool)
        found = np.ones((2, 2, users.size), dtype=np.int64)
        steps = sorted({*schemes[0].ladder, *schemes[1].ladder})
        for step in steps:
            on = np.flatnonzero(~ended.all(axis=0))
            if not on.size:
                break
            goal = np.full(on.size, step) if replacement else np.minimum(step, pool[on])
            new = draw(left[on], goal - size[on], replacement, rng)
            drawn[on] += new
            if not replacement:
                left[on] -= new
            size[on] = goal
            hits = _hits(drawn[on])
            for model, scheme in enumerate(schemes):
                if step not in scheme.ladder:
                    continue
                level = scheme.ladder.index(step)
                here = on[~ended[model, on]]
                now = hits[model, ~ended[model, on]]
                found[model, 0, here], found[model, 1, here] = size[here], now + 1
                enough = (*scheme.thresholds, 0)[level]
                stop = now >= enough
                if not replacement:
                    stop |= size[here] >= pool[here]
                ended[model, here[stop]] = True
        return found


def _hits(drawn: IntArray) -> IntArray:
    """Negatives above the target by each model, (2, n), from those of each kind, (n, 4)."""
    both, one, two, _ = drawn.T
    return np.stack([both + one, both + two])


def draw(
    items: IntArray, n_draws: IntArray, replacement: bool, rng: np.random.Generator
) -> IntArray:
    """Draw from items of several kinds: how many of each kind, with or without replacement.

    Parameters
    ----------
    items : array of int
        Items of each kind, shape (n_users, n_kinds).
    n_draws : array of int
        Draws of each user, shape (n_users,).
    replacement : bool
        Whether an item may be drawn twice.
    rng : numpy.random.Generator
        Source of the draws.

    Returns
    -------
    array of int
        Shape (n_users, n_kinds); rows sum to ``n_draws``.
    """
    found = np.zeros_like(items)
    draws, others = np.array(n_draws), items.sum(axis=1)
    for kind in range(items.shape[1] - 1):
        good, others = items[:, kind], others - items[:, kind]
        if replacement:
            chance = good / np.maximum(good + others, 1)
            found[:, kind] = rng.binomial(draws, chance)
        else:
            found[:, kind] = hypergeometric(rng, good, others, draws)
        draws = draws - found[:, kind]
    found[:, -1] = draws
    return found
