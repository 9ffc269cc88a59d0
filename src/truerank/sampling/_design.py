"""What a sampler is asked to do, and what it gives back."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from truerank._checks import IntArray
from truerank.rng import Keys


@dataclass(frozen=True)
class Sampled:
    """What was drawn for each test row, all arrays of shape (n_rows,).

    Attributes
    ----------
    above
        Negatives that score above the target; with ties broken, those that go before it.
    tied
        Negatives of the target's very score; 0 where ties were broken.
    sample_size
        The target and its negatives.
    n_scored
        Pairs the scorer was asked for. Scorers that are asked in batches score the target with
        every batch of negatives, others once.
    """

    above: IntArray
    tied: IntArray
    sample_size: IntArray
    n_scored: IntArray


@dataclass(frozen=True)
class Design:
    """Sizes, rules and keys.

    Attributes
    ----------
    ladder
        Sample sizes, increasing; one for a fixed sample.
    hits
        Negatives above the target that end the climb.
    ties
        A number of `_tie_modes`.
    keys
        Of the streams of negatives, one a test row; rows with equal keys share a stream.
    tie_keys
        By which ties are broken, one a test row.
    """

    ladder: tuple[int, ...]
    hits: int
    replacement: bool
    ties: int
    keys: Keys
    tie_keys: Keys

    def goal(self, size: int, pool: IntArray) -> IntArray:
        """Sample sizes at a stage of the ladder: without replacement no more than the pool."""
        return np.full_like(pool, size) if self.replacement else np.minimum(size, pool)
