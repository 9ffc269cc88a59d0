"""Examples of what is not on the public face, but documented: they run, too."""

from __future__ import annotations

import doctest
import importlib
import pkgutil
import warnings

import numpy as np
import pytest

import truerank
from truerank import inference

FLAGS = doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE
MODULES = [
    *(found.name for found in pkgutil.walk_packages(inference.__path__, f"{inference.__name__}.")),
    "truerank.evaluation.auditing",
]


@pytest.mark.parametrize("path", MODULES)
def test_examples_run(path: str, tmp_path, monkeypatch) -> None:
    monkeypatch.chdir(tmp_path)
    module = importlib.import_module(path)
    finder = doctest.DocTestFinder(exclude_empty=True)
    runner = doctest.DocTestRunner(optionflags=FLAGS)
    told: list[str] = []
    with warnings.catch_warnings():
        for test in finder.find(module, path, extraglobs={"tr": truerank, "np": np}):
            runner.run(test, out=told.append)
    assert not runner.failures, "".join(told)
