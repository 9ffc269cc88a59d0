"""The public face, walked: every name of `__all__` of the public modules, and their members."""

from __future__ import annotations

import importlib
import importlib.util
import inspect
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from types import FunctionType, ModuleType
from typing import Any

# Public modules that `truerank.__all__` does not lead to.
MORE = ("truerank.errors", "truerank.outcomes")


@dataclass(frozen=True)
class Thing:
    """A public function, class, method or property.

    ``name`` is the public path (``truerank.RankCounts.save``), ``home`` the module that defines it.
    """

    name: str
    value: Any
    home: str

    @property
    def kind(self) -> str:
        """ "class", "property" or "function" (methods too)."""
        if isinstance(self.value, (property, cached_property)):
            return "property"
        return "class" if inspect.isclass(self.value) else "function"

    @property
    def function(self) -> Any:
        """What runs, without what wraps it."""
        if isinstance(self.value, property):
            return self.value.fget
        if isinstance(self.value, cached_property):
            return self.value.func
        return getattr(self.value, "__func__", self.value)  # classmethod, staticmethod

    @property
    def doc(self) -> str:
        """Its own docstring; empty if it has none."""
        return inspect.cleandoc((self.function.__doc__) or "")

    @property
    def signature(self) -> str:
        """Parameters and what is returned, as written; of properties what is returned.

        Empty for classes without a constructor of ours, such as errors: what Python says of those
        differs between its versions.
        """
        if self.kind == "class" and not any(
            "__init__" in vars(base) and _home(base).startswith("truerank")
            for base in self.value.__mro__
        ):
            return ""
        found = inspect.signature(self.function)
        result = _AsWritten(found.return_annotation)
        if self.kind == "property":
            return f" -> {result}"
        plain = [
            p if p.annotation is p.empty else p.replace(annotation=_AsWritten(p.annotation))
            for p in found.parameters.values()
        ]
        if self.kind == "class":
            return str(inspect.Signature(plain))
        return str(inspect.Signature(plain, return_annotation=result))


class _AsWritten:
    """An annotation that shows as in the source, without quotes."""

    def __init__(self, annotation: Any) -> None:
        self.text = annotation if isinstance(annotation, str) else repr(annotation)

    def __repr__(self) -> str:
        return self.text


def modules() -> list[ModuleType]:
    """The public modules: truerank, those that its `__all__` names, those that theirs names..."""
    found: dict[str, ModuleType] = {}
    waiting = [
        importlib.import_module(path)
        for path in ("truerank", *MORE)
        if importlib.util.find_spec(path) is not None
    ]
    while waiting:
        module = waiting.pop()
        if module.__name__ not in found:
            found[module.__name__] = module
            public = (getattr(module, name) for name in names(module))
            waiting += [value for value in public if isinstance(value, ModuleType)]
    return sorted(found.values(), key=lambda module: (module.__name__.count("."), module.__name__))


def names(module: ModuleType) -> list[str]:
    """The public names of a module; where it lists none, those that it defines."""
    if hasattr(module, "__all__"):
        return list(module.__all__)
    home = module.__name__
    own = [name for name, value in vars(module).items() if _home(value) == home]
    return [name for name in own if not name.startswith("_")]


def _home(value: Any) -> str:
    return getattr(value, "__module__", None) or ""


def walk() -> list[Thing]:
    """Every public thing once, under its shortest public name, sorted by name."""
    found: dict[int, Thing] = {}
    for module in modules():
        for name in names(module):
            value = getattr(module, name)
            ours = callable(value) and _home(value).startswith("truerank")
            if ours and not name.startswith("_"):
                found.setdefault(id(value), Thing(f"{module.__name__}.{name}", value, _home(value)))
    inherited: dict[int, Thing] = {}
    for thing in list(found.values()):
        for member in members(thing):
            own = member.name.rpartition(".")[2] in vars(thing.value)
            (found if own else inherited).setdefault(id(member.function), member)
    return sorted((inherited | found).values(), key=lambda thing: thing.name)


def members(thing: Thing) -> Iterator[Thing]:
    """The public methods and properties of a class, those of our own base classes included.

    A member that overrides one of a public base, and has no docstring, is documented there.
    """
    if thing.kind != "class":
        return
    for attribute in inspect.classify_class_attrs(thing.value):
        ours = attribute.defining_class.__module__.startswith("truerank")
        if attribute.name.startswith("_") or not ours:
            continue
        value = inspect.getattr_static(attribute.defining_class, attribute.name)
        kinds = (property, cached_property, classmethod, staticmethod, FunctionType)
        if not isinstance(value, kinds):
            continue
        member = Thing(f"{thing.name}.{attribute.name}", value, attribute.defining_class.__module__)
        if member.doc or not _documented_in_a_base(thing.value, attribute.name):
            yield member


def _documented_in_a_base(kind: type, name: str) -> bool:
    bases = [base for base in kind.__mro__[1:] if name in vars(base)]
    return any(Thing("", vars(base)[name], "").doc for base in bases)
