"""Options in groups: what commands share is written once and read by name."""

from __future__ import annotations

import dataclasses
import functools
import inspect
from collections.abc import Callable
from typing import Annotated, Any, get_type_hints

from truerank.cli import _doors
from truerank.cli._options import declared, paths
from truerank.errors import TruerankError

_KEYWORD = inspect.Parameter.KEYWORD_ONLY


def command(function: Callable[..., None]) -> Callable[..., None]:
    """A function as typer wants it, its options declared by `truerank.cli._options.option`.

    A parameter that is a dataclass becomes the fields of the class, which are options in order;
    the function gets the object that they make. The attribute ``PANEL`` of such a class is the
    heading that its options stand under. What it reads and writes is checked before it runs.

    Parameters
    ----------
    function : callable
        The command.

    Returns
    -------
    callable
        With one keyword parameter per option.
    """
    hints = get_type_hints(function, include_extras=True)
    groups: dict[str, Any] = {}
    options: dict[str, inspect.Parameter] = {}
    declarations: dict[str, Any] = {}
    for name, parameter in inspect.signature(function).parameters.items():
        kind = hints[name]
        if dataclasses.is_dataclass(kind):
            groups[name] = kind
            options |= _fields(kind)
            declarations |= {field.name: field for field in dataclasses.fields(kind)}
        else:
            declarations[name] = parameter.default
            options[name] = _parameter(name, kind, parameter.default)

    @functools.wraps(function)
    def run(**values: Any) -> None:
        found = [paths(declarations[name], name, value) for name, value in values.items()]
        for name, group in groups.items():
            fields = [field.name for field in dataclasses.fields(group)]
            values[name] = group(**{field: values.pop(field) for field in fields})
        _doors.check(
            [path for inputs, _ in found for path in inputs],
            [path for _, outputs in found for path in outputs],
        )
        try:
            function(**values)
        except EOFError as error:  # which click takes for an interrupt, and says nothing
            raise TruerankError(f"a file ended too early: {error or 'EOFError'}") from error

    run.__signature__ = inspect.Signature(list(options.values()))  # type: ignore[attr-defined]
    run.__annotations__ = {name: option.annotation for name, option in options.items()}
    return run


def _fields(group: Any) -> dict[str, inspect.Parameter]:
    hints = get_type_hints(group, include_extras=True)
    panel = getattr(group, "PANEL", None)
    return {
        field.name: _parameter(field.name, hints[field.name], field, panel)
        for field in dataclasses.fields(group)
    }


def _parameter(name: str, kind: Any, default: Any, panel: str | None = None) -> inspect.Parameter:
    info = declared(default, name, kind, panel)
    if isinstance(default, dataclasses.Field):
        default = default.default
    if default is dataclasses.MISSING:
        default = inspect.Parameter.empty
    annotation = kind if info is None else Annotated[kind, info]
    return inspect.Parameter(name, _KEYWORD, default=default, annotation=annotation)
