from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pytest

from truerank.cli import main


@dataclass(frozen=True)
class Result:
    code: int
    out: str
    err: str


Run = Callable[..., Result]


@pytest.fixture
def run(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> Run:
    """Call the command line as the entry point does, 80 columns wide."""
    monkeypatch.setenv("COLUMNS", "80")
    for name in ("FORCE_COLOR", "NO_COLOR", "TTY_COMPATIBLE"):
        monkeypatch.delenv(name, raising=False)

    def call(*arguments: object) -> Result:
        capsys.readouterr()
        with pytest.raises(SystemExit) as stop:
            main([str(argument) for argument in arguments])
        out, err = capsys.readouterr()
        assert isinstance(stop.value.code, int)
        return Result(stop.value.code, out, err)

    return call


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty folder, made the current one."""
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.fixture
def ranks(here: Path) -> np.ndarray:
    """Sampled ranks of 500 users, 100 of 3,706 items, also in the file ranks.csv."""
    rng = np.random.default_rng(7)
    global_rank = np.minimum(rng.geometric(0.005, 500), 3706)
    sampled = 1 + rng.binomial(99, (global_rank - 1) / 3705)
    (here / "ranks.csv").write_text("rank\n" + "".join(f"{rank}\n" for rank in sampled))
    return sampled
