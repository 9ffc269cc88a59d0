"""What a sampler is asked to do, and what it gives back."""

from __future__ import annotations

from dataclasses import dataclass

from truerank._types import IntArray
from truerank.outcomes.schemes import Scheme
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
    scheme
        How they were drawn: as asked for, the ladder cut where a budget ended. None for negatives
        that were given.
    """

    above: IntArray
    tied: IntArray
    sample_size: IntArray
    n_scored: IntArray
    scheme: Scheme | None = None


@dataclass(frozen=True)
class Design:
    """Sizes, rules and keys.

    Attributes
    ----------
    scheme
        Its ladder holds the sample sizes; one for a fixed sample.
    budget
        Negatives a row, in the mean over all, at the most; None for as many as it takes.
    ties
        A number of `_tie_modes`.
    keys
        Of the streams of negatives, one a test row; rows with equal keys share a stream.
    tie_keys
        By which ties are broken, one a test row.
    """

    scheme: Scheme
    budget: float | None
    ties: int
    keys: Keys
    tie_keys: Keys
