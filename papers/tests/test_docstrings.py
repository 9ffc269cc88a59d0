"""What the docstrings show is what comes out."""

from __future__ import annotations

import doctest
import importlib
import pkgutil

import pytest

import truerank_papers

MODULES = [
    module.name for module in pkgutil.walk_packages(truerank_papers.__path__, "truerank_papers.")
]


@pytest.mark.parametrize("name", MODULES)
def test_examples(name):
    module = importlib.import_module(name)
    assert module.__doc__
    assert doctest.testmod(module, raise_on_error=True).failed == 0
