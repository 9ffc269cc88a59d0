"""How to evaluate: the options, as arguments of evaluate."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any

import typer

from truerank.cli._options import words
from truerank.cli._samples import NumNegatives, SampleSize
from truerank.errors import InputError

HOW = "How to evaluate"


@dataclass(frozen=True)
class Protocol:
    """Options of the modes, designs and draws."""

    mode: Annotated[
        str,
        typer.Option(
            "--mode",
            metavar="auto|exact|fixed|adaptive",
            help="auto times the scorer and takes the cheapest that meets --error or --budget.",
            autocompletion=words("auto", "exact", "fixed", "adaptive"),
            rich_help_panel=HOW,
        ),
    ] = "auto"
    error: Annotated[
        float,
        typer.Option(
            "--error",
            metavar="SHARE",
            help="auto: relative error that the first metric may have.",
            rich_help_panel=HOW,
        ),
    ] = 0.05
    budget: Annotated[
        float | None,
        typer.Option(
            "--budget",
            metavar="PAIRS",
            help="Scored pairs a user in the mean, at the most, the target's own score not "
            "counted. auto is then exact if that is within it, else adaptive.",
            rich_help_panel=HOW,
        ),
    ] = None
    sample_size: SampleSize = None
    num_negatives: NumNegatives = None
    design: Annotated[
        str | None,
        typer.Option(
            "--design",
            metavar="truerank|lj24",
            help="adaptive: ours, from 32 up to the whole pool within --budget (200 unless said), "
            "or LJ24's, from 100, doubling, to a tenth of the catalogue. The next four change it.",
            rich_help_panel=HOW,
        ),
    ] = None
    start: Annotated[
        int | None,
        typer.Option("--start", help="adaptive: first sample size.", rich_help_panel=HOW),
    ] = None
    stop: Annotated[
        float | None,
        typer.Option(
            "--stop",
            help="adaptive: largest sample size; below 1, a share of the catalogue.",
            rich_help_panel=HOW,
        ),
    ] = None
    growth: Annotated[
        float | None,
        typer.Option(
            "--growth", help="adaptive: a sample size over the one before.", rich_help_panel=HOW
        ),
    ] = None
    hits: Annotated[
        int | None,
        typer.Option(
            "--hits",
            help="adaptive: negatives above the target that end a user's sampling.",
            rich_help_panel=HOW,
        ),
    ] = None
    replacement: Annotated[
        bool,
        typer.Option(
            "--replacement/--no-replacement",
            help="Whether an item may be drawn twice for a user.",
            rich_help_panel=HOW,
        ),
    ] = False
    negatives: Annotated[
        str | None,
        typer.Option(
            "--negatives",
            metavar="KIND|FILE",
            help="per-user, shared-block, or a file of frozen ones: .parquet, or lines "
            "'(user,item) negative ...' separated by tabs.",
            rich_help_panel=HOW,
        ),
    ] = None
    ties: Annotated[
        str | None,
        typer.Option(
            "--ties",
            metavar="POLICY",
            help="spread, random, mid, optimistic, pessimistic.",
            autocompletion=words("spread", "random", "mid", "optimistic", "pessimistic"),
            rich_help_panel=HOW,
        ),
    ] = None
    users: Annotated[
        int | None,
        typer.Option(
            "--users", metavar="N", help="Evaluate a sample of N users.", rich_help_panel=HOW
        ),
    ] = None
    stratified: Annotated[
        bool,
        typer.Option("--stratified", help="--users: stratified by activity.", rich_help_panel=HOW),
    ] = False
    keep_target: Annotated[
        bool,
        typer.Option(
            "--keep-target",
            help="Rank targets that are training items of their user all the same.",
            rich_help_panel=HOW,
        ),
    ] = False
    seed: Annotated[int, typer.Option("--seed", help="For all draws.", rich_help_panel=HOW)] = 0

    def arguments(self) -> dict[str, Any]:
        """What is said, as arguments of ``truerank.evaluate``."""
        said = dict(vars(self))
        said["sampler"] = said.pop("mode")
        said["negatives"] = _negatives(self.negatives, replacement=self.replacement)
        return said

    def on_spark(self) -> dict[str, Any]:
        """What is said, as arguments of ``evaluation.evaluate_on_spark``; the rest is refused."""
        said = self.arguments()
        for name in ("budget", "users", "stratified", "negatives", "error"):
            if said.pop(name) != getattr(Protocol, name):
                raise InputError(
                    f"--{name} does not go with --engine spark, where no worker knows all users; "
                    "leave it out (--stop bounds adaptive samples)"
                )
        return said


def _negatives(given: str | None, *, replacement: bool) -> Any:
    """What --negatives names: a kind, or the frozen ones of a file."""
    from truerank import sampling

    if given is None or given in sampling.NEGATIVES:
        return given
    path = Path(given)
    if not path.exists():
        kinds = " or ".join(sampling.NEGATIVES)
        raise InputError(f"--negatives is {given}: neither {kinds} nor a file that exists")
    if path.suffix in (".parquet", ".pq"):
        return sampling.FrozenNegatives.load(path)
    return sampling.FrozenNegatives.from_ncf(path, replacement=replacement)
