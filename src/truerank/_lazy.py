"""Packages whose names load on first use and whose `dir()` shows public names only."""

from __future__ import annotations

import importlib
import sys
from collections.abc import Callable, Iterable, Mapping
from typing import Any


def attach(
    package: str, homes: Mapping[str, str | None], *, loaded: Iterable[str] = ()
) -> tuple[Callable[[str], Any], Callable[[], list[str]], list[str]]:
    """``__getattr__``, ``__dir__`` and ``__all__`` of a package that loads its names on first use.

    Type checkers see none of it: under ``TYPE_CHECKING`` the package imports its names, as ``from
    package.home import Name as Name``, and calls this function otherwise.

    Parameters
    ----------
    package : str
        The ``__name__`` of the package.
    homes : mapping of str to str or None
        Public name -> the module that holds it, relative to the package; None where the name is
        itself a module of the package.
    loaded : iterable of str
        Public names that are there from the start.

    Returns
    -------
    tuple
        What to assign to ``__getattr__, __dir__, __all__``.

    Examples
    --------
    >>> from truerank._lazy import attach
    >>> find, names, public = attach("truerank", {"metrics": None, "Metric": "metrics"})
    >>> names()
    ['Metric', 'metrics']
    >>> find("Metric").__name__
    'Metric'
    """
    public = sorted([*homes, *loaded])

    def find(name: str) -> Any:
        if name not in homes:
            raise AttributeError(f"module {package!r} has no attribute {name!r}")
        home = homes[name]
        module = importlib.import_module(f"{package}.{home or name}")
        value = module if home is None else getattr(module, name)
        setattr(sys.modules[package], name, value)  # the next use does not come here
        return value

    def names() -> list[str]:
        return list(public)

    return find, names, public
