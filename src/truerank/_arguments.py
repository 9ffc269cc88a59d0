"""The door that arguments of public functions pass: what each takes is read off its annotation.

``check(function, locals())`` is the first line of a public function. What is of a wrong kind is
refused there, by the parameter's name and by what it takes; bounds are checked where they are
known. An annotation of Any is not looked at: tables and arrays have readers that check them.
"""

from __future__ import annotations

import collections.abc as abc
import functools
import inspect
import os
import sys
import types
from collections.abc import Callable, Mapping
from dataclasses import fields
from typing import Any, ForwardRef, Literal, Union, get_args, get_origin

import numpy as np

from truerank import _checks
from truerank._checks import shown
from truerank.errors import InputError

Accepts = Callable[[Any], bool]

# How to get what a parameter takes, for classes of ours.
_REMEDIES = {
    "RankCounts": "RankCounts; tr.RankCounts.from_table reads them from a table or file of ranks",
    "Scorer": "a scorer: wrap your model in tr.scoring.Factors, Dense or Callable (several "
    "models go to truerank.count, by name)",
    "Design": "a design of tr.designs, such as Fixed(num_negatives=99)",
    "Estimator": "an estimator of tr.estimators, such as BV(gamma=0.1)",
    "Interactions": "Interactions; tr.data.read reads them from a table or file",
    "FrozenNegatives": "FrozenNegatives; tr.designs.FrozenNegatives.read reads them from a file",
    "Fixed": "tr.designs.Fixed(...)",
    "Model": "a model of tr.models, such as EASE()",
}
_KINDS: dict[Any, tuple[Accepts, str]] = {}


def check(function: Callable[..., Any], given: Mapping[str, Any]) -> None:
    """Raise an InputError for the first argument that is of a wrong kind.

    Parameters
    ----------
    function : callable
        The function or bound method that was called.
    given : mapping of str to object
        Its arguments by name: ``locals()`` on its first line.
    """
    for name, (accepts, words, hint) in _plan(getattr(function, "__func__", function)).items():
        value = given[name]
        if not accepts(value):
            raise _refusal(name, value, words, hint)
        if name == "seed" and value is not None:
            _checks.seed(value)


def check_fields(thing: Any) -> None:
    """The same for the fields of a dataclass, in its ``__post_init__``.

    Numbers of numpy become those of Python.

    Parameters
    ----------
    thing : dataclass instance
        With its fields as they were given.
    """
    for name, (accepts, words, hint) in _plan_of_fields(type(thing)).items():  # type: ignore[arg-type]
        value = getattr(thing, name)
        if not accepts(value):
            raise _refusal(name, value, words, hint)
        if isinstance(value, np.generic):
            object.__setattr__(thing, name, value.item())


def check_options(kind: type, given: Mapping[str, Any]) -> None:
    """The same for keyword arguments that a TypedDict describes.

    Parameters
    ----------
    kind : type
        A TypedDict.
    given : mapping of str to object
        Some of its keys.
    """
    for name, value in given.items():
        annotation = kind.__annotations__.get(name, Any)
        if isinstance(annotation, ForwardRef):
            annotation = annotation.__forward_arg__
        found = _kind(annotation, vars(sys.modules[kind.__module__]))
        if found is not None and not found[0](value):
            raise _refusal(name, value, found[1], found[2])


Plan = dict[str, tuple[Accepts, str, Any]]


@functools.cache
def _plan(function: Callable[..., Any]) -> Plan:
    plan = {}
    for name, parameter in inspect.signature(function).parameters.items():
        several = parameter.kind in (parameter.VAR_KEYWORD, parameter.VAR_POSITIONAL)
        if not several and (kind := _kind(parameter.annotation, function.__globals__)) is not None:
            plan[name] = kind
    return plan


@functools.cache
def _plan_of_fields(kind: Any) -> Plan:
    plan = {}
    for base in reversed(kind.__mro__):
        scope = vars(sys.modules[base.__module__])
        for name in vars(base).get("__annotations__", {}):
            found = _kind(base.__annotations__[name], scope)
            if found is not None and "array" not in found[1]:  # those may come as lists
                plan[name] = found
            else:
                plan.pop(name, None)
    return {field.name: plan[field.name] for field in fields(kind) if field.name in plan}


def _kind(annotation: Any, scope: dict[str, Any]) -> tuple[Accepts, str, Any] | None:
    """(what is accepted, in words, the annotation); None where anything may come."""
    if isinstance(annotation, str):
        try:
            annotation = eval(annotation, scope)  # as typing.get_type_hints does
        except (NameError, TypeError):  # known to type checkers only
            return None
    found = _accepting(annotation)
    return None if found is None else (*found, annotation)


def _accepting(hint: Any) -> tuple[Accepts, str] | None:
    if hint in _KINDS if isinstance(hint, abc.Hashable) else False:
        return _KINDS[hint]
    origin = get_origin(hint)
    if origin in (Union, types.UnionType):
        members = get_args(hint)
        paths = any(get_origin(part) is os.PathLike for part in members)
        parts = [
            (_is_path, "a path") if paths and part is str else _accepting(part) for part in members
        ]
        known = [part for part in parts if part is not None]
        if len(known) < len(parts):
            return None
        words = dict.fromkeys(words for _, words in known if words != "None")
        optional = [words for _, words in known if words == "None"]
        return (
            lambda value: any(accepts(value) for accepts, _ in known),
            " or ".join([*words, *optional]),
        )
    if origin is Literal:
        names = get_args(hint)
        return lambda value: _is_text(value) and value in names, " or ".join(map(repr, names))
    if origin is np.ndarray:
        return None if Any in get_args(get_args(hint)[1]) else _arrays(hint)
    if origin in (abc.Sequence, abc.Iterable) and _ours(get_args(hint)[0]):
        return _sequence(get_args(hint)[0])
    plain = origin or hint
    if plain in _PROTOCOLS:
        return _PROTOCOLS[plain]
    if _ours(plain) and not getattr(plain, "_is_protocol", False):
        words = _REMEDIES.get(plain.__name__, plain.__name__)
        return lambda value: isinstance(value, plain), words
    return None


def _ours(hint: Any) -> bool:
    return isinstance(hint, type) and hint.__module__.startswith("truerank")


def _arrays(hint: Any) -> tuple[Accepts, str]:
    """Arrays of whole numbers, or of numbers."""
    (held,) = get_args(get_args(hint)[1])
    whole = isinstance(held, type) and issubclass(held, np.integer)
    numbers = "iu" if whole else "iuf"
    return (
        lambda value: (
            isinstance(value, np.ndarray) and value.ndim > 0 and value.dtype.kind in numbers
        ),
        f"a numpy array of {'whole ' if whole else ''}numbers",
    )


def _sequence(kind: type) -> tuple[Accepts, str]:
    return (
        lambda value: (
            isinstance(value, (list, tuple)) and all(isinstance(one, kind) for one in value)
        ),
        f"a list of {kind.__name__}",
    )


def _refusal(name: str, value: Any, words: str, hint: Any) -> InputError:
    members = get_args(hint) if get_origin(hint) in (Union, types.UnionType) else (hint,)
    literals = [part for part in members if get_origin(part) is Literal]
    if len([part for part in members if part is not type(None)]) == len(literals) == 1 and _is_text(
        value
    ):
        return _checks.unknown(name, value, get_args(literals[0]))
    kind = type(value).__name__
    said = shown(value)
    if "number" in words and isinstance(value, int) and not isinstance(value, bool):
        most = "2**63 - 1" if name == "seed" else "2**53"
        return InputError(f"{name} is {said}; it must be at most {most}")
    plain = type(value).__module__ == "builtins" or kind in said
    of_type = "" if plain else f" (of type {kind})"
    return InputError(f"{name} is {said}{of_type}; it must be {words}")


def _is_text(value: Any) -> bool:
    return isinstance(value, str)


def _is_path(value: Any) -> bool:
    """Text that a file may be called."""
    if not isinstance(value, str) or "\0" in value:
        return False
    try:
        os.fsencode(value)
    except UnicodeEncodeError:
        return False
    return True


def _is_flag(value: Any) -> bool:
    return isinstance(value, (bool, np.bool_))


def _is_whole(value: Any) -> bool:
    if isinstance(value, (float, np.floating)):
        return float(value).is_integer() and abs(float(value)) <= _checks.LARGEST_INT
    return (
        isinstance(value, (int, np.integer))
        and not isinstance(value, bool)
        and abs(int(value)) < 2**63
    )


def _is_number(value: Any) -> bool:
    if not isinstance(value, (int, float, np.integer, np.floating)) or isinstance(value, bool):
        return False
    try:
        float(value)
    except OverflowError:
        return False
    return True


_KINDS |= {
    int: (_is_whole, "a whole number"),
    float: (_is_number, "a number"),
    bool: (_is_flag, "True or False"),
    str: (_is_text, "text"),
    type(None): (lambda value: value is None, "None"),
}
_PROTOCOLS: dict[Any, tuple[Accepts, str]] = {
    os.PathLike: (lambda value: isinstance(value, os.PathLike), "a path"),
    abc.Mapping: (lambda value: isinstance(value, abc.Mapping), "a dict"),
    dict: (lambda value: isinstance(value, dict), "a dict"),
    abc.Callable: (callable, "a function"),
    np.random.Generator: (
        lambda value: isinstance(value, np.random.Generator),
        "a generator of numpy: np.random.default_rng(0)",
    ),
}
