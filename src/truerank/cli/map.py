"""``truerank map``: the global cut-off that a sampled one stands for."""

from __future__ import annotations

import warnings
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from truerank.cli import _counts
from truerank.cli._groups import command
from truerank.cli._options import Output, integers, option
from truerank.cli._samples import RanksInput, Samples
from truerank.errors import AssumptionWarning, InputError

if TYPE_CHECKING:
    from rich.console import Console

    from truerank._types import IntArray
    from truerank.outcomes.counts import RankCounts

HELP = """The global K that a sampled k stands for: sampled recall@k is about global recall@K.

\b
truerank map --n-items 3706 --sample-size 100 --k 1,2,5,10
truerank map --n-items 3706 --num-negatives 100 --mapping "beta(0.3)"
truerank map --n-items 3706 --sample-size 100 --ranks ranks.csv
"""

DEFAULT_K = (1, 2, 5, 10, 20, 50)
_FITTED = "beta@P"
_EXAMPLE = 10  # the cut-off that the sentence below the table is about


@command
def map_cutoffs(
    *,
    samples: Samples,
    k: list[str] | None = option(None, "Sampled cut-offs, as in 1,2,5,10.", "K", short="-k"),
    mapping: list[str] | None = option(
        None,
        "linear, bound, beta(0.5) with any exponent, or beta@P, fitted to --ranks. Repeatable.",
        "NAME",
        suggest=("linear", "bound", "beta(0.5)", "beta(1)", _FITTED),
    ),
    ranks: Path | None = option(
        None, "Sampled ranks to fit beta@P to, as for truerank estimate.", "FILE"
    ),
    output: Output,
) -> None:
    """Run ``truerank map``."""
    cuts = integers(k, "--k")
    counts = None
    if ranks is not None:
        counts = _read(ranks, samples.ranks_input())
        n_items = _one(counts.n_items, "n_items")
        sample_size = _one(counts.sample_size, "sample_size")
    else:
        given = samples.ranks_input()
        if given.zero_based or given.drop_missing:
            name = "--zero-based" if given.zero_based else "--drop-missing"
            raise InputError(f"{name} is about sampled ranks; give --ranks FILE")
        n_items, sample_size = samples.sizes()
    if cuts is None:
        cuts = tuple(cut for cut in DEFAULT_K if cut <= sample_size)
    mapped = _map(mapping, cuts, n_items, sample_size, counts)
    rows = [
        {"k": cut, "mapping": name, "global_k": values[i]}
        for i, cut in enumerate(cuts)
        for name, values in mapped.items()
    ]
    output.write(
        content=lambda: {"n_items": n_items, "sample_size": sample_size, "results": rows},
        rows=lambda: rows,
        draw=lambda console: _draw(console, (n_items, sample_size), cuts, mapped),
    )


def _read(ranks: Path, given: RanksInput) -> RankCounts:
    with warnings.catch_warnings():
        # With or without replacement: a mapping is the same.
        warnings.filterwarnings("ignore", ".*replacement is not said", AssumptionWarning)
        return _counts.read([ranks], given)


def _map(
    names: Sequence[str] | None,
    cuts: Sequence[int],
    n_items: int,
    sample_size: int,
    counts: RankCounts | None,
) -> dict[str, list[float]]:
    """f(k) for each cut-off, by the name of the mapping."""
    from truerank import mapping

    mapped = {}
    for name in names or [*mapping.USUAL, *([_FITTED] if counts is not None else [])]:
        label = name.strip()
        if label.lower() == _FITTED.lower():
            if counts is None:
                raise InputError("mapping beta@P is fitted to sampled ranks; give --ranks FILE")
            label = f"beta@P(a={mapping.fit_beta(counts).a:.3g})"
        f = mapping.get(name, counts)
        mapped[label] = [float(v) for v in f(cuts, n_items=n_items, sample_size=sample_size)]
    return mapped


def _one(values: IntArray, name: str) -> int:
    distinct = sorted(set(values.tolist()))
    if len(distinct) > 1:
        raise InputError(
            f"{name} is from {distinct[0]} to {distinct[-1]} in the ranks file; a map is for one"
        )
    return int(distinct[0])


def _draw(
    console: Console,
    pool: tuple[int, int],
    cuts: Sequence[int],
    mapped: Mapping[str, Sequence[float]],
) -> None:
    from rich import box
    from rich.table import Table

    n_items, sample_size = pool
    console.print(f"pool of {n_items:,} items · samples of {sample_size:,}", highlight=False)
    table = Table(box=box.SIMPLE_HEAD, pad_edge=False)
    table.add_column("sampled k", justify="right")
    for name in mapped:
        table.add_column(name, justify="right", no_wrap=True)
    for i, cut in enumerate(cuts):
        table.add_row(f"{cut:,}", *(f"{values[i]:,.0f}" for values in mapped.values()))
    console.print(table)
    name = "bound" if "bound" in mapped else list(mapped)[-1]
    at = cuts.index(_EXAMPLE) if _EXAMPLE in cuts else -1
    console.print(
        f"So sampled recall@{cuts[at]} is about global recall@{mapped[name][at]:.0f} ({name}).",
        highlight=False,
        markup=False,
    )
