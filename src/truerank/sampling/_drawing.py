"""What a sampler is asked to do, and what it gives back."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from truerank._types import FloatArray, IntArray
from truerank.designs.draws import Draw, Uniform
from truerank.outcomes.schemes import Scheme
from truerank.rng import Keys
from truerank.sampling import _tie_modes
from truerank.scoring.task import Task


@dataclass(frozen=True)
class Ranked:
    """Where the target of each test row stands, all arrays of shape (n_rows,).

    Attributes
    ----------
    above
        Negatives that score above the target; with ties broken, those that go before it.
    tied
        Negatives of the target's very score; 0 where ties were broken.
    sample_size
        The target and its negatives.
    pairs
        Pairs that the scorer was asked for, in all; negatives that targets of a user share once.
    scheme
        The law of the ranks: as asked for, the ladder cut where a budget ended.
    ties_broken
        Whether ties were broken while negatives were drawn.
    replicate
        The replicate group of each row, where negatives were shared; None for independent rows.
    target_score
        The target's own score, where a user has several targets with negatives of their own.
    offset
        Kept items above the target, of which none was drawn; None where they are in the pool, or
        nothing is kept.
    rows
        The test rows that these are, where some were left without negatives; None for all.
    facts
        What the protocol card should say of the negatives.
    """

    above: IntArray
    tied: IntArray
    sample_size: IntArray
    pairs: int
    scheme: Scheme
    ties_broken: bool
    replicate: IntArray | None = None
    target_score: FloatArray | None = None
    offset: IntArray | None = None
    rows: IntArray | None = None
    facts: Mapping[str, Any] = field(default_factory=dict)

    def of(self, rows: IntArray) -> Ranked:
        """Some of the rows; ``pairs`` are still those of all."""
        names = ("above", "tied", "sample_size", "replicate", "target_score", "offset")
        some: dict[str, Any] = {
            name: None if getattr(self, name) is None else getattr(self, name)[rows]
            for name in names
        }
        return replace(self, **some)

    def of_task(self, task: Task) -> Task:
        """The task of the rows that were ranked."""
        task = task if self.rows is None else task.take(self.rows)
        return task.whole() if self.offset is None else task


@dataclass(frozen=True)
class Drawing:
    """Sizes, rules and keys of the negatives to draw.

    Attributes
    ----------
    scheme
        Its ladder holds the sample sizes; one for a fixed sample.
    total
        Negatives to draw for all rows together, at most; None for as many as it takes.
    ties
        A number of `_tie_modes`.
    keys
        Of the streams of negatives, one per test row; rows with equal keys share a stream.
    tie_keys
        By which users break ties, one per test row.
    draw
        How a negative is drawn.
    shared
        Whether rows share streams.
    target_score
        Scores of the targets, where they are known already.
    """

    scheme: Scheme
    total: int | None
    ties: int
    keys: Keys
    tie_keys: Keys
    draw: Draw = Uniform()
    shared: bool = False
    target_score: FloatArray | None = None

    @property
    def breaks_ties(self) -> bool:
        """Whether ties are broken while negatives are drawn."""
        return self.ties != _tie_modes.COUNT
