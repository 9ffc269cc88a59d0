"""Docstrings of the public face, checked by numpydoc and for words: `python -m tests.docstrings`.

Which of numpydoc's checks apply is said in pyproject.toml, [tool.numpydoc_validation].
"""

from __future__ import annotations

import dataclasses
import inspect
import re
import sys
import tomllib
from collections.abc import Iterator
from pathlib import Path

from numpydoc.docscrape import NumpyDocString
from numpydoc.validate import validate
from tests import face

ROOT = Path(__file__).parents[1]

# Modules whose docstrings are not there yet, with all below them. It shrinks, never grows; an
# entry without anything to report has to go.
NOT_YET: tuple[str, ...] = ()

# What DESIGN.md ("Words") asks to be written otherwise.
WORDS = re.compile(
    r"\b(anew|unsaid|unless (?:said|told)|its kin|of everything random|a rank an? \w+)\b", re.I
)


def problems(thing: face.Thing) -> Iterator[str]:
    """What is wrong with a docstring, a line each; nothing if it is well."""
    settings = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["numpydoc_validation"]
    wanted = set(settings["checks"])
    if not thing.doc:
        yield "GL08 has no docstring"
        return
    for code, message in validate(thing.name)["errors"]:
        if code == "PR01" and _fields_are_attributes(thing):
            continue
        if code == "PR03" and _is_keyword_only(thing):
            continue  # their order is for the reader
        if code in wanted:
            yield f"{code} {message}"
    for match in WORDS.finditer(thing.doc):
        yield f"WORD {match[0]!r}: see 'Words' in DESIGN.md"


def _fields_are_attributes(thing: face.Thing) -> bool:
    """Whether a dataclass documents its fields under Attributes, which is as good."""
    if not dataclasses.is_dataclass(thing.value):
        return False
    doc = NumpyDocString(thing.doc)
    sections = [*doc["Attributes"], *doc["Parameters"]]
    told = {name.strip() for entry in sections for name in entry.name.split(",")}
    fields = (field for field in dataclasses.fields(thing.value) if field.init)
    return told >= {field.name for field in fields if not field.name.startswith("_")}


def _is_keyword_only(thing: face.Thing) -> bool:
    return dataclasses.is_dataclass(thing.value) and all(
        field.kw_only for field in dataclasses.fields(thing.value) if field.init
    )


def waiting(thing: face.Thing) -> str | None:
    """The entry of NOT_YET that a thing falls under."""
    return next((entry for entry in NOT_YET if f"{thing.home}.".startswith(f"{entry}.")), None)


def report() -> list[str]:
    """All problems, with file and line."""
    lines = []
    still_waiting = set()
    for thing in face.walk():
        found = list(problems(thing))
        if found and (entry := waiting(thing)) is not None:
            still_waiting.add(entry)
            continue
        if found:
            path = Path(inspect.getsourcefile(thing.function) or "?")
            number = inspect.getsourcelines(thing.function)[1]
            where = path.relative_to(ROOT) if path.is_relative_to(ROOT) else path
            lines += [f"{where}:{number}: {thing.name}: {problem}" for problem in found]
    lines += [
        f"tests/docstrings.py: {entry} has nothing to report: take it out of NOT_YET"
        for entry in NOT_YET
        if entry not in still_waiting
    ]
    return lines


if __name__ == "__main__":
    found = report()
    print("\n".join(found) or f"Docstrings of {len(face.walk())} public names: as agreed")
    sys.exit(bool(found))
