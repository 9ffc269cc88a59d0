"""Any value for any argument gives a result or an error of ours that names it, nothing else."""

from __future__ import annotations

import warnings
from pathlib import Path
from typing import Any

import pytest
from tests.fuzz import calls, fuzz, values

from truerank.errors import MissingExtraError, TruerankWarning

# Numbers of steps that are honoured, and take as long as they say.
LONG = {("steps", "2**53"), ("iterations", "2**53"), ("iterations", "7"), ("steps", "7")}
# Calls that need a library which the tests do without.
NEED_EXTRAS = {"models.ALS"}


def test_calls_that_work(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", TruerankWarning)
        for name, (function, given) in calls.calls(tmp_path).items():
            try:
                function(**given)
            except MissingExtraError:
                assert name in NEED_EXTRAS, f"{name} needs an extra here, and is not known to"


def test_wrong_arguments(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, record_property: Any
) -> None:
    monkeypatch.chdir(tmp_path)
    known, odd = calls.calls(tmp_path), values.values(tmp_path)
    tally = fuzz.Tally("arguments of the Python API")
    places = [(name, parameter) for name, (_, given) in known.items() for parameter in given]
    for seed, draw in fuzz.inputs("api", 1500):
        name, parameter = draw.choice(places)
        value = draw.choice(list(odd))
        if (parameter, value) in LONG:
            continue
        function, given = known[name]
        changed = {**given, parameter: odd[value]()}
        tally.look(
            f"{seed}, {name}({parameter}={value})",
            lambda function=function, changed=changed: function(**changed),  # type: ignore[misc]
        )
    tally.end(record_property)
