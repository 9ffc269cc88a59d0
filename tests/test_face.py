"""The documented face: its examples run, and its names and signatures change on purpose only."""

from __future__ import annotations

import ast
import difflib
import doctest
import importlib.util
import sys
import warnings

import numpy as np
import pytest
from tests import api, face

import truerank
from truerank import _lazy, metrics
from truerank.outcomes import schemes

FLAGS = doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE


OURS = {"numpy", "pandas", "scipy", "truerank"}  # installed wherever the tests run


def libraries(examples: list[doctest.Example]) -> set[str]:
    """Other people's libraries that examples import."""
    found = set()
    for node in ast.walk(ast.parse("".join(example.source for example in examples))):
        if isinstance(node, ast.Import):
            found |= {alias.name.partition(".")[0] for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            found.add(str(node.module).partition(".")[0])
    return found - OURS - set(sys.stdlib_module_names)


# Not public, but with examples.
MORE = [
    face.Thing(f"{value.__module__}.{value.__name__}", value, value.__module__)
    for value in (_lazy.attach, schemes.log_probability)
]

EXAMPLES = [thing for thing in [*face.walk(), *MORE] if ">>>" in thing.doc]


@pytest.fixture(autouse=True)
def _no_figure_stays_open():
    yield
    if pyplot := sys.modules.get("matplotlib.pyplot"):
        pyplot.close("all")


@pytest.mark.parametrize("thing", EXAMPLES, ids=lambda thing: thing.name)
def test_examples_run(thing, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("MPLBACKEND", "Agg")
    space = {"tr": truerank, "np": np}  # as every page of the documentation begins
    test = doctest.DocTestParser().get_doctest(thing.doc, space, thing.name, None, 0)
    needed = libraries(test.examples)
    if absent := {name for name in needed if importlib.util.find_spec(name) is None}:
        pytest.skip(f"{', '.join(sorted(absent))} is not installed; `make adapters` tries it")
    told: list[str] = []
    with warnings.catch_warnings():
        if needed:
            warnings.simplefilter("ignore")  # what other libraries warn of is theirs to mend
        failed = doctest.DocTestRunner(optionflags=FLAGS).run(test, out=told.append).failed
    assert not failed, "".join(told)


def test_names_and_signatures_are_those_of_the_snapshot():
    before = api.SNAPSHOT.read_text(encoding="utf-8").splitlines()
    changes = list(difflib.unified_diff(before, api.lines(), "api.txt", "now", lineterm="", n=0))
    shown = "\n".join(changes)
    assert not changes, f"the public face changed; if on purpose: {api.RENEW}\n{shown}"


def test_docstrings_are_looked_at():
    """A function that is not public and has but a summary shows what the check finds."""
    docstrings = pytest.importorskip("tests.docstrings", reason="numpydoc is not installed")
    bare = face.Thing("truerank.metrics.total_gains", metrics.total_gains, "truerank.metrics")
    found = {problem.split()[0] for problem in docstrings.problems(bare)}
    assert found == {"PR01", "RT01", "EX01"}
    good = face.Thing("truerank.metrics.key", metrics.key, "truerank.metrics")
    assert not list(docstrings.problems(good))
