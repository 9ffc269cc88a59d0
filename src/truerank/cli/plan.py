"""``truerank plan``: how many users and items it takes to know a metric."""

from __future__ import annotations

import shlex
from pathlib import Path
from typing import TYPE_CHECKING, Any

from truerank.cli import _counts
from truerank.cli._answers import SCOPE, SCOPES, said
from truerank.cli._groups import command
from truerank.cli._options import Output, option
from truerank.cli._samples import RanksInput, Samples
from truerank.errors import InputError

if TYPE_CHECKING:
    from rich.console import Console

    from truerank.inference.planning.planned import Plan, Planned

HELP = """The cheapest evaluations that know a metric within a given error.

\b
truerank plan --n-items 16980 --n-users 5551 -m recall@10 --error 0.05
truerank plan --n-items 3706 --n-users 6040 -m ndcg@10 --error 0.02 --like 0.4
truerank plan --like counts.parquet -m recall@10 --error 0.02

Each is a design of `truerank evaluate`, for all users or fewer, with the pairs it scores and the \
error predicted from simulated evaluations.
"""


@command
def plan(
    *,
    n_users: int | None = option(
        None, "The users there are; as many as a pilot's unless stated.", "N"
    ),
    metric: str = option("recall@10", "One metric.", "NAME@K", short="-m"),
    error: float = option(
        0.05, "Relative root mean squared error to reach: 0.05 for 5 % of the metric.", "SHARE"
    ),
    confidence: float = option(
        0.95, "Confidence of the intervals whose half-width is shown beside the error.", "SHARE"
    ),
    like: str | None = option(
        None,
        "Ranks of a pilot (as for truerank estimate), or the exponent of the law P(R <= K) = "
        "(K/N)^A; 0.3 unless stated.",
        "FILE|A",
        reads=lambda like: [Path(like)],
    ),
    scope: str | None = option(None, SCOPE, known=SCOPES),
    models: int = option(
        1,
        "Models to be compared: from two on, --error is that of a difference, corrected for all "
        "pairs.",
        "N",
    ),
    samples: Samples,
    output: Output,
) -> None:
    """Run ``truerank plan``."""
    supposed, n_items = _like(like, samples.ranks_input())
    from truerank.inference.planning.plan import plan as search

    found = search(
        n_items,
        n_users,
        metric,
        error,
        like=supposed,
        confidence=confidence,
        models=models,
        **said(scope=scope),
    )
    output.write(content=found.to_dict, rows=found.rows, draw=lambda console: _draw(console, found))


def _like(like: str | None, pilot: RanksInput) -> tuple[Any, int | None]:
    """What --like names, and the items if the pilot does not know them."""
    if like is not None:
        try:
            return float(like), pilot.n_items
        except ValueError:
            pass
        path = Path(like)
        if not path.exists():
            raise InputError(f"--like is {like}: neither a number nor a file that exists")
        return _counts.read([path], pilot), None
    about = [name for name in pilot.said() if name != "n_items"]
    if about:
        raise InputError(f"--{about[0].replace('_', '-')} is about the pilot; give --like FILE")
    return None, pilot.n_items


def options(one: Planned) -> str:
    """A design as options of ``truerank evaluate``."""
    return f"--design {shlex.quote(repr(one.design))}"


def _number(pairs: float) -> str:
    """Pairs in full, or three digits of more than a table has room for."""
    return f"{pairs:,.0f}" if pairs < 1e10 else f"{pairs:.2e}"


def _draw(console: Console, found: Plan) -> None:
    from rich import box
    from rich.table import Table

    console.print(found.headline(), highlight=False, markup=False)
    console.print(
        f"{found.n_users:,} users · {found.n_items:,} items · ranks by {found.source}",
        highlight=False,
        markup=False,
    )
    table = Table(box=box.SIMPLE_HEAD, pad_edge=False)
    # On a narrow screen the names of designs give way: numbers are not cut.
    table.add_column("design", min_width=len("replacement"), overflow="fold")
    for name in ("users", "pairs\nper user", "pairs", "error", "interval ±"):
        table.add_column(name, justify="right", no_wrap=True)
    for one in found:
        table.add_row(
            one.name,
            f"{one.n_users:,}",
            _number(one.pairs_per_user),
            _number(one.total_pairs),
            f"{100 * one.error:.1f} %",
            f"{100 * found.half_width(one.error):.1f} %",
        )
    console.print(table)
    if found:
        console.print(
            f"The cheapest: truerank evaluate {options(found[0])}", highlight=False, soft_wrap=True
        )
    console.print(found.rule(), highlight=False, markup=False)
