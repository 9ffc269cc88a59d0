"""Commands that other distributions add to ``truerank``, by entry points.

An entry point of the group ``truerank.commands`` has the name of the command and leads to a
``typer.Typer``. It is loaded when its command is run and not before: help and completion show what
the metadata of the distribution tell, so that they are quick, and so that a distribution that
cannot be loaded takes no other command with it. Commands of truerank itself cannot be replaced.
"""

from __future__ import annotations

from functools import cached_property
from importlib.metadata import EntryPoint, entry_points
from typing import Any

import typer
from typer.core import TyperGroup

from truerank.cli import _names
from truerank.errors import MissingExtraError

GROUP = "truerank.commands"

# Commands that the help lists whether their distribution is installed or not: how to get it.
OPTIONAL = {
    "reproduce": "truerank-papers, which is not installed. In a clone of truerank: "
    "pip install ./papers, or make reproduce",
}
REPRODUCE = """Regenerate the papers' tables and figures beside their published numbers.

A command of truerank-papers. In a clone of truerank: pip install ./papers, or make reproduce.
"""


def missing(context: typer.Context) -> None:
    """Stand in for an optional command whose distribution is not installed: say how to get it."""
    name = str(context.info_name)
    raise MissingExtraError(f"truerank {name} comes with {OPTIONAL[name]}")


# Whatever is asked of a command that is not there, the answer is how to get it.
ANYTHING = {"allow_extra_args": True, "ignore_unknown_options": True}


class Commands(TyperGroup):
    """The commands of truerank, then those that other distributions add."""

    @cached_property
    def _added(self) -> dict[str, EntryPoint]:
        """Entry points by the name of their command; the first of a name counts."""
        found: dict[str, EntryPoint] = {}
        for entry in entry_points(group=GROUP):
            if entry.name in OPTIONAL or entry.name not in self.commands:
                found.setdefault(entry.name, entry)
        return found

    def get_params(self, ctx: Any) -> list[Any]:
        """All parameters, ``--help`` among them."""
        return _names.plain(super().get_params(ctx))

    def list_commands(self, ctx: Any) -> list[str]:
        """Names for the help and for completion."""
        try:
            added = sorted(self._added.keys() - self.commands.keys())
        except Exception:  # metadata of some other distribution that cannot be read
            added = []
        return [*super().list_commands(ctx), *added]

    def get_command(self, ctx: Any, cmd_name: str) -> Any:
        """A command as the help shows it: what others add is not loaded for that."""
        known = super().get_command(ctx, cmd_name)
        if known is not None or cmd_name not in self._added:
            return known
        return _build(cmd_name, _announced(self._added[cmd_name]))

    def resolve_command(self, ctx: Any, args: list[str]) -> Any:
        """The command to run: what others add is loaded now."""
        name = args[0]
        if name in self.commands and name not in OPTIONAL:
            return super().resolve_command(ctx, args)
        entry = self._added.get(name)
        if entry is None:
            return super().resolve_command(ctx, args)
        try:
            return name, _build(name, _load(entry)), args[1:]
        except MissingExtraError:
            if ctx.resilient_parsing:  # the shell asks for completions: there are none
                return super().resolve_command(ctx, args)
            raise


def _load(entry: EntryPoint) -> typer.Typer:
    """What an entry point leads to; an error names its distribution."""
    try:
        found = entry.load()
    except Exception as error:
        kind = type(error).__name__
        raise MissingExtraError(
            f"truerank {entry.name} comes with {_distribution(entry)}, which cannot be loaded "
            f"({kind}: {error}); install it again"
        ) from error
    if not isinstance(found, typer.Typer):
        raise MissingExtraError(
            f"truerank {entry.name} comes with {_distribution(entry)}, whose entry point "
            f"{entry.value} is a {type(found).__name__}; it must be a typer.Typer"
        )
    return found


def _announced(entry: EntryPoint) -> typer.Typer:
    """A command that has a line of help and does nothing."""
    app = typer.Typer(add_completion=False)

    @app.command(entry.name, help=f"A command of {_distribution(entry)}.")
    def nothing() -> None:
        """Stand in until it is loaded."""

    return app


def _build(name: str, app: typer.Typer) -> Any:
    command = typer.main.get_command(app)
    command.name = name
    return command


def _distribution(entry: EntryPoint) -> str:
    """Name and version."""
    where = entry.dist
    return "another package" if where is None else f"{where.name} {where.version}"
