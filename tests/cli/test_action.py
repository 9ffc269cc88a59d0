"""action.yml: the script that it runs, with inputs as GitHub hands them over."""

from __future__ import annotations

import os
import re
import subprocess
import sys
import textwrap
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

ACTION = (Path(__file__).parents[2] / "action.yml").read_text()


def script() -> str:
    """The last script of the action."""
    return textwrap.dedent(ACTION.rpartition("run: |\n")[2])


def run(folder: Path, **inputs: str) -> tuple[int, dict[str, str], str, str]:
    """Exit code, outputs, summary and errors of the action."""
    tool = folder / "temp" / "truerank" / "bin" / "truerank"
    tool.parent.mkdir(parents=True, exist_ok=True)
    tool.write_text(f'#!/bin/sh\nexec "{sys.executable}" -m truerank "$@"\n')
    tool.chmod(0o755)
    files = {name: folder / name for name in ("GITHUB_OUTPUT", "GITHUB_STEP_SUMMARY")}
    for file in files.values():
        file.write_text("")
    found = subprocess.run(
        ["bash", "--noprofile", "--norc", "-eo", "pipefail", "-c", script()],
        cwd=folder,
        env={**os.environ, **inputs, "RUNNER_TEMP": str(folder / "temp")}
        | {name: str(file) for name, file in files.items()},
        capture_output=True,
        text=True,
        check=False,
    )
    outputs = dict(line.split("=", 1) for line in files["GITHUB_OUTPUT"].read_text().splitlines())
    return found.returncode, outputs, files["GITHUB_STEP_SUMMARY"].read_text(), found.stderr


@pytest.fixture
def ranks(tmp_path: Path) -> Path:
    rng = np.random.default_rng(1)
    old = rng.geometric(0.1, 500).clip(1, 900)
    worse = np.where(rng.random(500) < 0.4, old + 200, old)
    for name, rank in {"the old one": old, "new": worse}.items():
        table = pd.DataFrame({"user_id": range(500), "rank": rank, "n_items": 2000})
        table.to_csv(tmp_path / f"{name}.csv", index=False)
    return tmp_path


INPUTS = {
    "NEW": "new.csv",
    "OLD": "the old one.csv",
    "METRIC": "ndcg@10",
    "MARGIN": "0.01",
    "SCOPE": "population",
    "OPTIONS": "--sample-size 2000 --no-replacement -m recall@5",
}


def test_it_fails_with_the_gate_and_leaves_a_comment(ranks: Path) -> None:
    code, outputs, summary, _ = run(ranks, **INPUTS)
    assert code == 3
    assert summary.startswith("### ❌ Gate failed: new is worse than the old one")
    assert "**recall@5.**" in summary
    assert Path(outputs["comment"]).read_text() == summary
    code, again, summary, _ = run(ranks, **INPUTS | {"NEW": INPUTS["OLD"], "OLD": INPUTS["NEW"]})
    assert code == 0
    assert summary.startswith("### ✅ Gate passed")
    assert again["comment"] != outputs["comment"]  # two gates in a job have a comment each


def test_there_is_no_comment_where_nothing_was_compared(ranks: Path) -> None:
    code, outputs, summary, errors = run(ranks, **INPUTS | {"NEW": "missing.csv"})
    assert (code, outputs, summary) == (2, {}, "")
    assert "missing.csv" in errors


def test_every_input_reaches_a_script() -> None:
    """Inputs go through the environment: what they hold is never run as code."""
    declared = set(re.findall(r"^  (\w+):$", ACTION.partition("outputs:")[0], re.M))
    passed = dict(re.findall(r"(\w+): \$\{\{ inputs\.(\w+) \}\}", ACTION))
    assert set(passed.values()) == declared == {name.lower() for name in (*INPUTS, "version")}
    assert all(f"${name}" in ACTION or f"${{{name}" in ACTION for name in passed)
    assert "inputs." not in script()
