"""Options that several commands share, and how their texts are read."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated

import typer

from truerank.errors import InputError

# Panels of the help.
SAMPLES = "How the ranks were sampled"
ANSWERS = "What to estimate"
OUTPUT = "Output"

NItems = Annotated[
    int | None,
    typer.Option(
        "--n-items",
        metavar="N",
        help="Items the target is ranked among in the full evaluation, itself included.",
        rich_help_panel=SAMPLES,
    ),
]
SampleSize = Annotated[
    int | None,
    typer.Option(
        "--sample-size",
        metavar="N",
        help="Items the target was ranked among, itself included: 100 negatives make 101.",
        rich_help_panel=SAMPLES,
    ),
]
NumNegatives = Annotated[
    int | None,
    typer.Option(
        "--num-negatives",
        metavar="N",
        help="The same, without the target: give one of the two.",
        rich_help_panel=SAMPLES,
    ),
]
Replacement = Annotated[
    bool | None,
    typer.Option(
        "--replacement/--no-replacement",
        help="Whether an item may be drawn twice for a user. Unsaid: with replacement.",
        rich_help_panel=SAMPLES,
    ),
]
Ladder = Annotated[
    list[str] | None,
    typer.Option(
        "--ladder",
        metavar="SIZES",
        help="Adaptive samples: the sizes a user may end with, as in 100,200,400.",
        rich_help_panel=SAMPLES,
    ),
]
Hits = Annotated[
    int | None,
    typer.Option(
        "--hits",
        metavar="N",
        help="Adaptive samples: negatives above the target that end the sampling. Unsaid: 1.",
        rich_help_panel=SAMPLES,
    ),
]
Columns = Annotated[
    list[str] | None,
    typer.Option(
        "--columns",
        metavar="OURS=YOURS",
        help="A column under another name: sampled_rank=pos. Ours: sampled_rank, sample_size, "
        "num_negatives, n_items, user_id, item_id, weight, model.",
        rich_help_panel=SAMPLES,
    ),
]
Json = Annotated[
    bool, typer.Option("--json", help="Print JSON and nothing else.", rich_help_panel=OUTPUT)
]
Csv = Annotated[
    bool,
    typer.Option(
        "--csv", help="Print CSV and nothing else, one value a row.", rich_help_panel=OUTPUT
    ),
]


def sizes(
    n_items: int | None, sample_size: int | None, num_negatives: int | None
) -> tuple[int, int]:
    """The pool and the sample size, where no file can say them."""
    if n_items is None:
        raise InputError("--n-items is missing: how many items the catalogue has")
    if (sample_size is None) == (num_negatives is None):
        both = "neither is" if sample_size is None else "both are"
        raise InputError(f"give --sample-size or --num-negatives: {both} given")
    return n_items, sample_size if sample_size is not None else (num_negatives or 0) + 1


def integers(texts: Sequence[str] | None, name: str) -> tuple[int, ...] | None:
    """``["1,2", "5"]`` as (1, 2, 5); None if there are none."""
    if not texts:
        return None
    parts = [part.strip() for text in texts for part in text.split(",")]
    for part in parts:
        if not part.removeprefix("-").isdecimal():
            raise InputError(f"{name} is {part!r}; it must be a whole number, or several: 1,5,10")
    return tuple(int(part) for part in parts)


def pairs(texts: Sequence[str] | None, name: str) -> dict[str, str] | None:
    """``["sampled_rank=pos"]`` as a dict; None if there are none."""
    if not texts:
        return None
    found: dict[str, str] = {}
    for text in texts:
        key, equals, value = (part.strip() for part in text.partition("="))
        if not (key and equals and value):
            raise InputError(f"{name} is {text!r}; write it as ours=yours: sampled_rank=pos")
        found[key] = value
    return found
