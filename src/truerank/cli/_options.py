"""What every command has: where its answer goes and in what form; and how texts are read."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from truerank.cli import _output
from truerank.errors import InputError

if TYPE_CHECKING:
    from rich.console import Console

# Panels of the help.
SAMPLES = "How the ranks were sampled"
ANSWERS = "What to estimate"
OUTPUT = "Output"


def option(
    names: str,
    text: str,
    metavar: str | None = None,
    *,
    panel: str | None = None,
    known: Sequence[str] = (),
    **more: Any,
) -> Any:
    """An option of the command line, for ``Annotated``.

    Parameters
    ----------
    names : str
        Its spellings, separated by spaces: ``"--metrics -m"``.
    text : str
        What it does.
    metavar : str, optional
        What stands for its value in the help; the known values if not given.
    panel : str, optional
        The heading that it stands under.
    known : list of str
        Values that the shell completes.
    **more
        As typer takes them.

    Returns
    -------
    typer.models.OptionInfo
        The option.
    """
    if known:
        more |= {"autocompletion": words(*known)}
        metavar = metavar or "|".join(known)
    return typer.Option(*names.split(), help=text, metavar=metavar, rich_help_panel=panel, **more)


def words(*known: str) -> Callable[[str], list[str]]:
    """For the shell's completion: those of ``known`` that begin as what was typed."""
    return lambda incomplete: [word for word in known if word.startswith(incomplete)]


def _hush(quiet: bool) -> bool:
    if quiet:
        _output.hush()
    return quiet


@dataclass(frozen=True)
class Talk:
    """How much a command says beside its answer."""

    quiet: Annotated[
        bool,
        typer.Option(
            "--quiet",
            "-q",
            callback=_hush,
            is_eager=True,
            help="The answer only: no progress bar, no warnings.",
            rich_help_panel=OUTPUT,
        ),
    ] = False
    debug: Annotated[
        bool,
        typer.Option(
            "--debug", help="Show the Python traceback of an error.", rich_help_panel=OUTPUT
        ),
    ] = False


@dataclass(frozen=True)
class Output(Talk):
    """Where the answer goes and in what form."""

    json: Annotated[
        bool, typer.Option("--json", help="Print JSON and nothing else.", rich_help_panel=OUTPUT)
    ] = False
    csv: Annotated[
        bool,
        typer.Option(
            "--csv", help="Print CSV and nothing else, one value a row.", rich_help_panel=OUTPUT
        ),
    ] = False
    output: Annotated[
        Path | None,
        typer.Option(
            "--output",
            "-o",
            metavar="FILE",
            help="Write there instead; .json and .csv choose the format.",
            rich_help_panel=OUTPUT,
        ),
    ] = None

    def __post_init__(self) -> None:
        if self.json and self.csv:
            raise InputError("--json and --csv are both given; give one")
        if self.output is not None and not self.output.parent.is_dir():
            raise InputError(
                f"--output is {self.output}, but the folder {self.output.parent} does not exist"
            )

    @property
    def kind(self) -> str:
        """``json``, ``csv`` or ``text``: what the flags say, else the ending of the file."""
        if self.json or self.csv:
            return "json" if self.json else "csv"
        ending = "" if self.output is None else self.output.suffix.lower().removeprefix(".")
        return ending if ending in ("json", "csv") else "text"

    def write(
        self,
        *,
        content: Callable[[], Any],
        rows: Callable[[], Sequence[Mapping[str, Any]]],
        draw: Callable[[Console], None],
    ) -> None:
        """The answer in the form asked for: JSON, rows of CSV, or what is drawn on a console."""
        if self.kind == "json":
            text = _output.to_json(content())
        elif self.kind == "csv":
            text = _output.to_csv(rows())
        else:
            text = _output.to_text(draw, path=self.output)
        if self.output is None:
            _output.emit(text)
        else:
            from truerank.outcomes import tables

            with tables.replacing(self.output) as path:
                path.write_text(text, encoding="utf-8")


def check_counts_path(path: Path | None) -> None:
    """Counts are saved as Parquet, and found again by that ending."""
    if path is not None and path.suffix not in (".parquet", ".pq"):
        raise InputError(f"--save-counts is {path}; give it the ending .parquet")


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
