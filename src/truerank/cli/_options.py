"""Options of the command line: how one is declared, and those that every command has."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import MISSING, Field, dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar

import typer

from truerank import _files
from truerank.cli import _output
from truerank.cli._doors import STDOUT, Named
from truerank.errors import InputError

if TYPE_CHECKING:
    from rich.console import Console

# Panels of the help.
SAMPLES = "How the ranks were sampled"
ANSWERS = "What to estimate"
OUTPUT = "Output"

_SPEC = "option"  # where a field keeps what its option is


def option(
    default: Any,
    text: str,
    metavar: str | None = None,
    *,
    short: str | None = None,
    known: Sequence[str] = (),
    suggest: Sequence[str] | Callable[[], Sequence[str]] = (),
    panel: str | None = None,
    writes: bool = False,
    reads: Callable[[Any], Iterable[Path]] | None = None,
    **more: Any,
) -> Any:
    """Declare an option as the default of a field or parameter, which it is spelled like.

    Parameters
    ----------
    default : object
        Its value where it is not given; ``...`` if it must be.
    text : str
        What it does.
    metavar : str, optional
        What stands for its value in the help; the known values if not given.
    short : str, optional
        A short spelling: ``"-m"``.
    known : list of str
        All values there are: the shell completes them, others are refused with the nearest.
    suggest : list of str, or callable
        Some values there are, for the shell to complete; called when it does.
    panel : str, optional
        The heading that it stands under; that of its group if not given.
    writes : bool
        Whether its value is a path that is written; other paths are read.
    reads : callable, optional
        The files that its value has read, where that is not simply its path.
    **more
        As typer takes them.

    Returns
    -------
    dataclasses.Field
        The declaration, which `truerank.cli._groups.command` reads.
    """
    spec = _Option(text, metavar, short, tuple(known), suggest, panel, writes, reads, more)
    return field(default=MISSING if default is ... else default, metadata={_SPEC: spec})


def argument(text: str, metavar: str = "FILE", *, default: Any = ...) -> Any:
    """Declare an argument.

    Parameters
    ----------
    text : str
        What it is.
    metavar : str
        What stands for it in the help.
    default : object
        Its value where it is not given; ``...`` if it must be.

    Returns
    -------
    dataclasses.Field
        The declaration.
    """
    return field(
        default=MISSING if default is ... else default,
        metadata={_SPEC: typer.Argument(metavar=metavar, help=text, show_default=False)},
    )


def declared(default: Any, name: str, kind: Any, panel: str | None) -> Any:
    """What typer has to know of an option; None for what is none.

    Parameters
    ----------
    default : object
        The default of a field or parameter.
    name : str
        Its name.
    kind : type
        Its type.
    panel : str or None
        The heading of its group.

    Returns
    -------
    typer.models.OptionInfo or typer.models.ArgumentInfo or None
        For ``Annotated``.
    """
    if not isinstance(default, Field) or _SPEC not in default.metadata:
        return None
    spec = default.metadata[_SPEC]
    return spec.info(name, kind, panel) if isinstance(spec, _Option) else spec


@dataclass(frozen=True)
class _Option:
    text: str
    metavar: str | None
    short: str | None
    known: tuple[str, ...]
    suggest: Sequence[str] | Callable[[], Sequence[str]]
    panel: str | None
    writes: bool
    reads: Callable[[Any], Iterable[Path]] | None
    more: Mapping[str, Any]

    def info(self, name: str, kind: Any, panel: str | None) -> Any:
        """For typer; a truth value that may be left open has a spelling for no as well."""
        spelling = name.replace("_", "-")
        long = f"--{spelling}/--no-{spelling}" if kind == (bool | None) else f"--{spelling}"
        more = dict(self.more)
        if words := self.known or self.suggest:
            more["autocompletion"] = lambda incomplete: [
                word
                for word in (words() if callable(words) else words)
                if word.startswith(incomplete)
            ]
        if self.known:
            more["callback"] = _one_of(f"--{spelling}", self.known)
        return typer.Option(
            long,
            *([self.short] if self.short else []),
            help=self.text,
            metavar=self.metavar or "|".join(self.known) or None,
            rich_help_panel=self.panel or panel,
            **more,
        )


def paths(default: Any, name: str, value: Any) -> tuple[list[Named], list[Named]]:
    """The files that the value of an option or argument has read and written.

    Parameters
    ----------
    default : object
        The default of a field or parameter, which declares it.
    name : str
        Its name.
    value : object
        What was given.

    Returns
    -------
    list of Named, list of Named
        Inputs and outputs.
    """
    spec = default.metadata.get(_SPEC) if isinstance(default, Field) else None
    label = f"--{name.replace('_', '-')}" if isinstance(spec, _Option) else "FILE"
    if isinstance(spec, _Option) and spec.reads is not None:
        return [Named(label, path) for path in ([] if value is None else spec.reads(value))], []
    several = value if isinstance(value, (list, tuple)) else [value]
    named = [Named(label, path) for path in several if isinstance(path, Path)]
    return ([], named) if isinstance(spec, _Option) and spec.writes else (named, [])


def _one_of(name: str, known: Sequence[str]) -> Callable[[Any], Any]:
    def check(value: Any) -> Any:
        if value is not None and value not in known:
            from truerank import _checks

            raise _checks.unknown(name, value, known)
        return value

    return check


def _hush(quiet: bool) -> bool:
    if quiet:
        _output.hush()
    return quiet


@dataclass(frozen=True)
class Talk:
    """How much a command says beside its answer."""

    PANEL: ClassVar[str] = OUTPUT

    quiet: bool = option(
        False, "The answer only: no progress bar, no warnings.", short="-q", callback=_hush,
        is_eager=True,
    )  # fmt: skip
    debug: bool = option(False, "Show the Python traceback of an error.")


@dataclass(frozen=True)
class Output(Talk):
    """Where the answer goes and in what form."""

    json: bool = option(False, "Print JSON and nothing else.")
    csv: bool = option(False, "Print CSV and nothing else, one value per row.")
    output: Path | None = option(
        None,
        "Write to this file instead; .json and .csv choose the format.",
        "FILE",
        short="-o",
        writes=True,
    )

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

    @property
    def printed(self) -> bool:
        """Whether the answer goes to stdout."""
        return self.output is None or self.output == STDOUT

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
            text = _output.to_text(draw, path=None if self.printed else self.output)
        if self.output is None or self.printed:
            _output.emit(text)
        else:
            with _files.replacing(self.output) as path:
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
        if not part.removeprefix("-").isdecimal() or len(part) > 17:
            raise InputError(
                f"{name} is {part[:40]!r}; it must be a whole number, or several: 1,5,10"
            )
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
