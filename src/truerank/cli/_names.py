"""Names in help and completion, read from the library when they are shown.

Help must not load numerical libraries before it is asked for, and no list of names is kept twice:
a text says ``{estimators}`` or ``{metrics}``, and the names stand there when it is printed.
"""

from __future__ import annotations

from typing import Any

from typer.core import TyperCommand


def estimators() -> list[str]:
    """The estimators, the default first."""
    from truerank.estimators import REGISTRY
    from truerank.inference.estimates import DEFAULT_ESTIMATOR

    return sorted(REGISTRY, key=lambda name: name != DEFAULT_ESTIMATOR)


def metrics() -> list[str]:
    """The metrics."""
    from truerank.metrics import NAMES

    return list(NAMES)


_LISTS = {"{estimators}": estimators, "{metrics}": metrics}


class Command(TyperCommand):
    """A command whose help fills in names."""

    def format_help(self, ctx: Any, formatter: Any) -> None:
        for parameter in self.params:
            text = getattr(parameter, "help", None) or ""
            for token, names in _LISTS.items():
                if token in text:
                    text = text.replace(token, ", ".join(names()))
                    parameter.help = text  # type: ignore[attr-defined]
        super().format_help(ctx, formatter)
