"""Any value for any argument gives a result or an error of ours that names it, nothing else."""

from __future__ import annotations

import warnings
from pathlib import Path
from typing import Any

import pytest
from tests import face
from tests.fuzz import calls, calls_of_tools, fuzz, values

from truerank.errors import InputError, MissingExtraError, TruerankWarning

# Numbers of steps that are honoured, and take as long as they say.
LONG = {("steps", "2**53"), ("iterations", "2**53"), ("iterations", "7"), ("steps", "7")}
# Calls that need a library which the tests do without, or its models.
NEED_EXTRAS = ("models.ALS", "scoring.Torch", "scoring.adapters.", "integrations.")
# What truerank makes itself, or calls: results, and methods of estimators, scorers and designs.
NOT_CALLED = {
    "Comparison", "Estimate", "Estimates", "Evaluation", "InputError", "PairedCounts", "Plan",
    "RankCounts", "TranslatedTable", "Translation", "data.Card", "data.Queries", "data.SplitCard",
    "data.synthetic.Catalogue", "data.synthetic.SyntheticModel", "designs.Design",
    "designs.Design.pairs", "designs.Design.scheme", "designs.Draw.check",
    "designs.Frozen.from_dict", "estimators.BV.corrected_gains", "estimators.Component",
    "estimators.Estimator.fit", "estimators.Estimator.gains", "estimators.Estimator.influence",
    "estimators.Estimator.refit", "estimators.Fit", "estimators.Posterior",
    "estimators.Posterior.given_outcomes", "estimators.RankDistribution", "estimators.Support",
    "estimators.diagnostics.ErrorBound", "integrations.recbole.Corrected", "mapping.BetaFit",
    "models.FittedFactors", "models.Model", "scoring.Scorer", "scoring.Scorer.score",
    "scoring.Scorer.score_all",
}  # fmt: skip
NOT_CALLED_IN = ("errors.", "spark.")  # Spark is slow: its arguments pass the same door


def known_calls(folder: Path) -> dict[str, calls.Call]:
    return calls.calls(folder) | calls_of_tools.calls(folder)


def test_every_public_function_has_a_call(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", TruerankWarning)
        known = {name.split()[0] for name in known_calls(tmp_path)}
    for thing in face.walk():
        name = thing.name.removeprefix("truerank.")
        takes_nothing = thing.signature.split(" ->")[0] in ("(self)", "(cls)", "()")
        if thing.kind == "property" or takes_nothing or name.startswith(NOT_CALLED_IN):
            continue
        assert (name in known) != (name in NOT_CALLED), name


def test_calls_that_work(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", TruerankWarning)
        for name, (function, given) in known_calls(tmp_path).items():
            try:
                function(**given)
            except (MissingExtraError, InputError):
                assert name.startswith(NEED_EXTRAS), f"{name} does not work here"


def test_wrong_arguments(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, record_property: Any
) -> None:
    monkeypatch.chdir(tmp_path)
    known, odd = known_calls(tmp_path), values.values(tmp_path)
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
