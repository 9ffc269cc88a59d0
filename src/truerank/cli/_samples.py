"""How ranks were sampled: the options that say so, and what they come to."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any, ClassVar

from truerank.cli._options import SAMPLES, integers, option, pairs
from truerank.errors import InputError


@dataclass(frozen=True)
class RanksInput:
    """What the options say about ranks files; None where they do not. Saved counts know it all."""

    n_items: int | None = None
    sample_size: int | None = None
    num_negatives: int | None = None
    replacement: bool | None = None
    ladder: tuple[int, ...] | None = None
    hits: int | None = None
    rank_among: str | None = None
    repeats: str | None = None
    shared_negatives: bool | None = None
    columns: Mapping[str, str] | None = None
    zero_based: bool | None = None
    drop_missing: bool | None = None
    negatives: Path | None = None
    drop_targets: bool = False

    def said(self) -> dict[str, Any]:
        """What is said, as arguments of RankCounts.from_table."""
        return {
            name: value
            for name, value in vars(self).items()
            if value is not None and name not in ("negatives", "drop_targets")
        }


@dataclass(frozen=True)
class Draws:
    """Options about samples of one size out of one pool."""

    PANEL: ClassVar[str] = SAMPLES

    n_items: int | None = option(
        None, "Items the target is ranked among in the full evaluation, itself included.", "N"
    )
    sample_size: int | None = option(
        None, "Items the target was ranked among, itself included: 100 negatives make 101.", "N"
    )
    num_negatives: int | None = option(
        None, "The same without the target: give one of the two.", "N"
    )
    replacement: bool | None = option(
        None, "Whether an item may be drawn twice for a user; with replacement unless stated."
    )

    def arguments(self) -> dict[str, Any]:
        """The options as arguments of the library, where a file may say some of them."""
        if (self.sample_size is None) == (self.num_negatives is None):
            both = "neither is" if self.sample_size is None else "both are"
            raise InputError(f"give --sample-size or --num-negatives: {both} given")
        return {field.name: getattr(self, field.name) for field in fields(Draws)}

    def sizes(self) -> tuple[int, int]:
        """The pool and the sample size, where no file can say them."""
        if self.n_items is None:
            raise InputError("--n-items is missing: how many items the catalogue has")
        if (self.sample_size is None) == (self.num_negatives is None):
            both = "neither is" if self.sample_size is None else "both are"
            raise InputError(f"give --sample-size or --num-negatives: {both} given")
        size = self.sample_size
        if size is None:
            size = (self.num_negatives or 0) + 1
        if size > self.n_items >= 2:
            raise InputError(
                f"the sample size is {size}, the target included; it must be at most "
                f"--n-items {self.n_items}"
            )
        return self.n_items, size


@dataclass(frozen=True)
class Samples(Draws):
    """Options about the samples behind a ranks file."""

    ladder: list[str] | None = option(
        None, "Adaptive samples: the sizes a user may end with, as in 100,200,400.", "SIZES"
    )
    hits: int | None = option(
        None,
        "Adaptive samples: negatives above the target that end the sampling; 1 unless stated.",
        "N",
    )
    rank_among: str | None = option(
        None,
        "Several targets per user: ranks among the user's non-targets, or positions in one list "
        "with all its targets.",
        known=("negatives", "list"),
    )
    repeats: str | None = option(
        None,
        "What several rows of a user are if there is no column item_id.",
        known=("targets", "draws"),
    )
    shared_negatives: bool = option(
        False,
        "Several targets per user: they met the same negatives, so that ranks order them and no "
        "column score is needed.",
    )
    columns: list[str] | None = option(
        None,
        "A column under another name: sampled_rank=pos. Ours: sampled_rank, sample_size, "
        "num_negatives, n_items, user_id, item_id, weight, model; score, place, n_targets, offset.",
        "OURS=YOURS",
    )
    zero_based: bool = option(False, "Ranks start from 0: 1 is added to each.")
    drop_missing: bool = option(
        False, "Leave out rows without a rank, and say how many; an error unless stated."
    )

    def ranks_input(self) -> RanksInput:
        """The options, read."""
        said = {
            "ladder": integers(self.ladder, "--ladder"),
            "columns": pairs(self.columns, "--columns"),
            "shared_negatives": self.shared_negatives or None,
            "zero_based": self.zero_based or None,
            "drop_missing": self.drop_missing or None,
        }
        return RanksInput(**{**vars(self), **said})
