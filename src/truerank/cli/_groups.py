"""Options in groups: what commands share is written once and read by name."""

from __future__ import annotations

import dataclasses
import functools
import inspect
from collections.abc import Callable
from typing import Any, get_type_hints


def command(function: Callable[..., None]) -> Callable[..., None]:
    """``function`` as typer wants it: a parameter that is a dataclass becomes the class's fields.

    The fields are the options, in order; the function gets the object that they make.
    """
    hints = get_type_hints(function, include_extras=True)
    groups: dict[str, Any] = {}
    options: dict[str, inspect.Parameter] = {}
    for name, parameter in inspect.signature(function).parameters.items():
        if dataclasses.is_dataclass(hints[name]):
            groups[name] = hints[name]
            options |= _fields(hints[name])
        else:
            options[name] = parameter.replace(kind=_KEYWORD, annotation=hints[name])

    @functools.wraps(function)
    def run(**values: Any) -> None:
        for name, group in groups.items():
            fields = [field.name for field in dataclasses.fields(group)]
            values[name] = group(**{field: values.pop(field) for field in fields})
        function(**values)

    run.__signature__ = inspect.Signature(list(options.values()))  # type: ignore[attr-defined]
    run.__annotations__ = {name: option.annotation for name, option in options.items()}
    return run


_KEYWORD = inspect.Parameter.KEYWORD_ONLY


def _fields(group: Any) -> dict[str, inspect.Parameter]:
    hints = get_type_hints(group, include_extras=True)
    found = {}
    for field in dataclasses.fields(group):
        default = inspect.Parameter.empty if field.default is dataclasses.MISSING else field.default
        found[field.name] = inspect.Parameter(
            field.name, _KEYWORD, default=default, annotation=hints[field.name]
        )
    return found
