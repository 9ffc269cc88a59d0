"""``truerank audit``: what is wrong with a sampled evaluation."""

from __future__ import annotations

from collections.abc import Collection
from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer

from truerank.cli import _counts
from truerank.cli._groups import command
from truerank.cli._options import Output, option
from truerank.cli._samples import RanksInput, Samples
from truerank.errors import InputError
from truerank.progress import reporting

if TYPE_CHECKING:
    from rich.console import Console

    from truerank.evaluation.auditing import Audit

HELP = """Look for what goes wrong in sampled evaluations: plain sentences, counts, remedies.

\b
truerank audit --negatives frozen.parquet --test test.csv --train train.csv
truerank audit --ranks ranks.csv --n-items 3706 --sample-size 100
truerank audit --negatives a.parquet --negatives b.parquet
truerank audit --ranks all.parquet --by model

Ends with 1 if something is wrong, so that a pipeline can stop.
"""

_UNSOUND = 1
_STYLES = {"error": "bold red", "warning": "bold yellow", "ok": "bold green"}


@command
def audit(
    *,
    negatives: list[Path] | None = option(
        None,
        "Negatives: a table of user_id, item_id (the target) and negatives (a list), or a file of "
        "NCF, Elliot or RecBole. Several files are several models.",
        "FILE",
    ),
    test: Path | None = option(None, "Targets: user_id, item_id.", "FILE"),
    train: Path | None = option(None, "Training data: user_id, item_id.", "FILE"),
    ranks: Path | None = option(None, "Sampled ranks, as for truerank estimate.", "FILE"),
    by: str | None = option(
        None,
        "Keep the values of a column of --ranks and --negatives apart, such as model, or of "
        "several by comma. A file without it is about all of them.",
        "COLUMN",
    ),
    samples: Samples,
    output: Output,
) -> None:
    """Run ``truerank audit``."""
    given = samples.ranks_input()
    if not negatives and test is None and ranks is None:
        raise InputError("nothing to audit; give --negatives, --test or --ranks")
    if ranks is None and given.said():
        name = next(iter(given.said())).replace("_", "-")
        raise InputError(f"--{name} is about sampled ranks; give --ranks FILE")
    from truerank.evaluation.auditing import audit as look

    tables: dict[str, Any] = dict(_counts.names(negatives or ()))
    apart = _counts.told_apart([*(negatives or ()), *([ranks] if ranks else [])], given, by)
    if by is not None:
        tables = _split(tables, apart, given, by)
    with reporting(None, 2, "auditing") as advance:
        counts: Any = None
        if ranks is not None:
            if by is not None and ranks in apart:
                counts = _counts.read_by([ranks], given, by)
            else:
                counts = _counts.read([ranks], given)
        advance(1)
        found = look(
            negatives=tables if len(tables) > 1 else next(iter(tables.values()), None),
            test=test,
            train=train,
            counts=counts,
        )
        advance(1)
    output.write(
        content=found.to_dict,
        rows=found.rows,
        draw=lambda console: _draw(console, found),
    )
    raise typer.Exit(0 if found.sound else _UNSOUND)


def _split(
    tables: dict[str, Any], apart: Collection[Path], given: RanksInput, by: str
) -> dict[str, Any]:
    """Negatives by value of the column; of several files by file and value."""
    from truerank.outcomes.tables import read

    found: dict[str, Any] = {}
    for name, path in tables.items():
        if path not in apart:
            found[name] = path
            continue
        for value, rows in read(path).split(_counts.columns_of(by, given)):
            found[f"{name}, {value}" if len(tables) > 1 else value] = rows
    return found


def _draw(console: Console, found: Audit) -> None:
    from rich.text import Text

    for finding in found:
        line = Text(str(finding))
        line.stylize(_STYLES[finding.level], 0, len(finding.level) + 1)
        console.print(line, soft_wrap=True)
