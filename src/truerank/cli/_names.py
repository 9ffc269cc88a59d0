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


def plain(parameters: list[Any]) -> list[Any]:
    """Parameters whose help has no type where that says nothing: flags, and files by their name.

    Parameters
    ----------
    parameters : list
        Of a command; changed in place.

    Returns
    -------
    list
        The same.
    """
    for one in parameters:
        if getattr(one, "is_flag", False):
            one.metavar = ""
        elif one.param_type_name == "argument":
            one.display_type_rich = lambda ctx: None
    return parameters


class Command(TyperCommand):
    """A command whose help fills in names."""

    def get_params(self, ctx: Any) -> list[Any]:
        """All parameters, ``--help`` among them."""
        return plain(super().get_params(ctx))

    def format_help(self, ctx: Any, formatter: Any) -> None:
        for parameter in self.params:
            text = getattr(parameter, "help", None) or ""
            for token, names in _LISTS.items():
                if token in text:
                    text = text.replace(token, ", ".join(names()))
                    parameter.help = text  # type: ignore[attr-defined]
        super().format_help(ctx, formatter)
