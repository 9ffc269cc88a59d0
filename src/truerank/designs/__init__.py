"""How the negatives of an evaluation are chosen.

A design is frozen data: ``Exact()``, ``Fixed(num_negatives=99)``, ``Adaptive(budget=200)``,
``LJ24()``, ``Frozen(negatives)`` or ``Auto(error=0.05)``; by name too: ``"exact"``, ``"adaptive"``,
``"lj24"``, ``"auto"``, with options as in ``"fixed(num_negatives=99)"``.
"""

from __future__ import annotations

import functools
import json
from collections.abc import Callable, Iterable
from dataclasses import fields
from typing import Any

from truerank import _checks
from truerank._spelling import read_call
from truerank.designs.adaptive import LJ24, Adaptive
from truerank.designs.auto import Auto
from truerank.designs.design import Design
from truerank.designs.draws import Draw, Uniform
from truerank.designs.exact import Exact
from truerank.designs.fixed import Fixed
from truerank.designs.frozen import Frozen, FrozenNegatives
from truerank.designs.probability import Probability
from truerank.errors import InputError

__all__ = [
    "LJ24",
    "Adaptive",
    "Auto",
    "Design",
    "Draw",
    "Exact",
    "Fixed",
    "Frozen",
    "FrozenNegatives",
    "Probability",
    "Uniform",
    "from_dict",
    "from_json",
    "get",
]

REGISTRY: dict[str, type[Design]] = {
    kind.name: kind for kind in (Exact, Fixed, Adaptive, LJ24, Frozen, Auto)
}


def __dir__() -> list[str]:
    return __all__


def get(design: str | Design) -> Design:
    """A design from its name, with or without options, or as it is.

    Parameters
    ----------
    design : str or Design
        ``"exact"``, ``"adaptive"``, ``"lj24"``, ``"auto"``, a name with options such as
        ``"fixed(num_negatives=99)"``, or a design.

    Returns
    -------
    Design
        The design.

    Examples
    --------
    >>> import truerank as tr
    >>> tr.designs.get("fixed(num_negatives=99)")
    Fixed(num_negatives=99)
    """
    if isinstance(design, Design):
        return design
    if not isinstance(design, str):
        raise InputError(
            f"design is of type {type(design).__name__}; give one of truerank.designs, such as "
            "Fixed(num_negatives=99), or a name such as 'exact'"
        )
    return _made(*read_call(design, "design", "fixed(num_negatives=99)"))


def from_dict(options: dict[str, Any]) -> Design:
    """The design that :meth:`Design.to_dict` described.

    Parameters
    ----------
    options : dict
        ``name`` and the options of the design.

    Returns
    -------
    Design
        The design.

    Examples
    --------
    >>> import truerank as tr
    >>> tr.designs.from_dict({"name": "adaptive", "budget": 100})
    Adaptive(budget=100)
    """
    if not isinstance(options, dict) or not isinstance(options.get("name"), str):
        raise InputError(f"a design is a dict with a name, not {options!r}")
    rest = dict(options)
    return _made(rest.pop("name"), rest)


def from_json(text: str) -> Design:
    """The design that :meth:`Design.to_json` wrote.

    Parameters
    ----------
    text : str
        JSON.

    Returns
    -------
    Design
        The design.

    Examples
    --------
    >>> import truerank as tr
    >>> tr.designs.from_json(tr.designs.LJ24(stop=0.15).to_json())
    LJ24(stop=0.15)
    """
    try:
        options = json.loads(text)
    except (TypeError, ValueError, RecursionError) as error:
        raise InputError(f"the design is not JSON: {error}") from None
    return from_dict(options)


def fields_of(name: str) -> list[str]:
    """The options of a design.

    Parameters
    ----------
    name : str
        The name of a design.

    Returns
    -------
    list of str
        Names of options.
    """
    if name not in REGISTRY:
        raise _checks.unknown("design", name, REGISTRY)
    return [field.name for field in fields(REGISTRY[name])]


def _made(name: str, options: dict[str, Any]) -> Design:
    more = ["sha256", "replacement", "probability_sha256"] if name == Frozen.name else []
    _check_options(name, options, more)
    return Frozen.from_dict(options) if more else REGISTRY[name](**options)


def _check_options(name: str, options: dict[str, Any], more: Iterable[str] = ()) -> None:
    """Raise for a name or an option that is not known, and say which design has the option."""
    known = [*fields_of(name), *more]
    for option, value in options.items():
        if option not in known:
            others = [other for other in REGISTRY if option in fields_of(other)]
            if not others:
                raise _checks.unknown(f"option of {name}", option, known)
            raise InputError(
                f"{option} is {value!r}, but the design is {name}, which has no such option; leave "
                f"it out, or name a design that has it: {', '.join(others)}"
            )


def _checking(kind: type[Design]) -> Callable[..., None]:
    """The ``__init__`` of a design that says more of a wrong option than Python does."""
    given = kind.__init__

    @functools.wraps(given)
    def __init__(self: Design, *arguments: Any, **options: Any) -> None:
        _check_options(kind.name, options)
        given(self, *arguments, **options)

    return __init__


for _kind in REGISTRY.values():
    _kind.__init__ = _checking(_kind)  # type: ignore[method-assign]
