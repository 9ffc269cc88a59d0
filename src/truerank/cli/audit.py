"""``truerank audit``: what is wrong with a sampled evaluation."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from truerank.cli import _counts, _output
from truerank.cli._options import Json, NItems, NumNegatives, SampleSize

HELP = """Look for what goes wrong in sampled evaluations: plain sentences, counts, remedies.

\b
truerank audit --negatives frozen.parquet --test test.csv --train train.csv
truerank audit --ranks ranks.csv --n-items 3706 --sample-size 100
truerank audit --negatives a.parquet --negatives b.parquet

Ends with 1 if something is wrong, so that a pipeline can stop.
"""

_UNSOUND = 1


def audit(
    negatives: Annotated[
        list[Path] | None,
        typer.Option(
            "--negatives",
            metavar="FILE",
            help="Negatives: user_id, item_id (the target), negatives (a list). Several files are "
            "several models.",
        ),
    ] = None,
    test: Annotated[
        Path | None, typer.Option("--test", metavar="FILE", help="Targets: user_id, item_id.")
    ] = None,
    train: Annotated[
        Path | None,
        typer.Option("--train", metavar="FILE", help="Training data: user_id, item_id."),
    ] = None,
    ranks: Annotated[
        Path | None,
        typer.Option("--ranks", metavar="FILE", help="Sampled ranks, as for truerank estimate."),
    ] = None,
    n_items: NItems = None,
    sample_size: SampleSize = None,
    num_negatives: NumNegatives = None,
    json_: Json = False,
) -> None:
    """Run ``truerank audit``."""
    from truerank.auditing import audit as look

    tables: dict[str, Any] = {path.stem: path for path in negatives or ()}
    counts = None
    if ranks is not None:
        counts = _counts.read([ranks], _counts.Design(n_items, sample_size, num_negatives))
    found = look(
        negatives=tables if len(tables) > 1 else next(iter(tables.values()), None),
        test=test,
        train=train,
        counts=counts,
    )
    if json_:
        _output.emit(
            _output.to_json(
                {"sound": found.sound, "findings": [vars(finding) for finding in found]}
            )
        )
    else:
        _output.emit("".join(f"{finding}\n" for finding in found))
    raise typer.Exit(0 if found.sound else _UNSOUND)
