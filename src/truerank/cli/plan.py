"""``truerank plan``: how many users and items it takes to know a metric."""

from __future__ import annotations

import shlex
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from truerank.cli import _counts
from truerank.cli._answers import SCOPES, ScopeOption
from truerank.cli._groups import command
from truerank.cli._options import Output
from truerank.cli._samples import RanksInput, Samples
from truerank.errors import InputError

if TYPE_CHECKING:
    from rich.console import Console

    from truerank.inference.planning.planned import Plan, Planned

HELP = """The cheapest evaluations that know a metric to a given error.

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
    n_users: Annotated[
        int | None,
        typer.Option(
            "--n-users", metavar="N", help="The users there are; as many as a pilot's if unsaid."
        ),
    ] = None,
    metric: Annotated[
        str, typer.Option("--metrics", "--metric", "-m", metavar="NAME@K", help="One metric.")
    ] = "recall@10",
    error: Annotated[
        float,
        typer.Option(
            "--error",
            metavar="SHARE",
            help="Relative root mean squared error to reach: 0.05 for 5 % of the metric.",
        ),
    ] = 0.05,
    confidence: Annotated[
        float,
        typer.Option(
            "--confidence",
            metavar="SHARE",
            help="Confidence of the intervals whose half-width is shown beside the error.",
        ),
    ] = 0.95,
    like: Annotated[
        str | None,
        typer.Option(
            "--like",
            metavar="FILE|A",
            help="Ranks of a pilot (as for truerank estimate), or the exponent of the law "
            "P(R <= K) = (K/N)^A; 0.3 unless said.",
        ),
    ] = None,
    scope: ScopeOption = None,
    comparison: Annotated[
        bool,
        typer.Option(
            "--comparison", help="--error is that of the difference of two models of about this."
        ),
    ] = False,
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
        scope=scope or SCOPES[0],
        comparison=comparison,
    )
    output.write(
        content=found.to_dict,
        rows=lambda: [one.to_dict() | {"design": repr(one.design)} for one in found],
        draw=lambda console: _draw(console, found),
    )


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
    said = [name for name in pilot.said() if name != "n_items"]
    if said:
        raise InputError(f"--{said[0].replace('_', '-')} is about the pilot; give --like FILE")
    return None, pilot.n_items


def options(one: Planned) -> str:
    """A design as options of ``truerank evaluate``."""
    return f"--design {shlex.quote(repr(one.design))}"


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
    table.add_column("design", no_wrap=True)
    for name in ("users", "pairs per user", "pairs", "error", "interval ±"):
        table.add_column(name, justify="right", no_wrap=True)
    for one in found:
        table.add_row(
            one.name,
            f"{one.n_users:,}",
            f"{one.pairs_per_user:,.0f}",
            f"{one.total_pairs:,.0f}",
            f"{100 * one.error:.1f} %",
            f"{100 * found.half_width(one.error):.1f} %",
        )
    console.print(table)
    if found:
        console.print(
            f"The cheapest: truerank evaluate {options(found[0])}", highlight=False, soft_wrap=True
        )
    console.print(found.rule(), highlight=False, markup=False)
