"""The public face: its names, what importing it costs, its version."""

from __future__ import annotations

import importlib
import importlib.metadata
import subprocess
import sys
import tomllib
from pathlib import Path
from types import ModuleType

import pytest

import truerank

ROOT = Path(__file__).parents[1]


def run(code: str) -> str:
    """What a fresh interpreter prints."""
    done = subprocess.run(
        [sys.executable, "-W", "error", "-c", code], capture_output=True, text=True, check=True
    )
    return done.stdout.strip()


@pytest.mark.parametrize("name", truerank.__all__)
def test_every_public_name_is_there(name: str) -> None:
    assert getattr(truerank, name) is not None


def test_the_face_is_curated() -> None:
    assert truerank.__all__ == sorted(truerank.__all__)
    assert dir(truerank) == sorted(truerank.__all__)
    assert set(truerank.__all__) >= {"RankCounts", "estimate", "InputError", "Metric", "mapping"}
    space: dict[str, object] = {}
    exec("from truerank import *", space)
    assert set(truerank.__all__) <= set(space)


def test_names_are_what_their_modules_hold() -> None:
    for name in truerank.__all__:
        value = getattr(truerank, name)
        if isinstance(value, ModuleType):
            assert value is importlib.import_module(value.__name__)
            assert value.__name__.endswith(f".{name}")
        elif hasattr(value, "__module__"):
            assert getattr(importlib.import_module(value.__module__), name) is value
        assert getattr(truerank, name) is value  # the same object every time


def test_unknown_names_are_attribute_errors() -> None:
    with pytest.raises(AttributeError, match="module 'truerank' has no attribute 'estimat'"):
        _ = truerank.estimat
    with pytest.raises(ImportError):
        exec("from truerank import estimat")


def test_importing_loads_nothing_heavy() -> None:
    code = "import sys, truerank; print(*sorted({m.partition('.')[0] for m in sys.modules}))"
    loaded = set(run(code).split())
    assert "truerank" in loaded
    assert not loaded & {"numpy", "scipy", "pandas", "polars", "pyarrow", "narwhals", "typer"}


def test_counting_loads_no_statistics() -> None:
    code = (
        "import sys, truerank as tr; "
        "tr.RankCounts.from_ranks([1, 2], n_items=1000, sample_size=10); tr.mapping; tr.metrics; "
        "print(*sys.modules)"
    )
    loaded = set(run(code).split())
    assert "truerank.outcomes.counts" in loaded
    assert not loaded & {"scipy.stats", "scipy.optimize", "pandas", "polars", "pyarrow", "torch"}
    assert not {name for name in loaded if name.startswith("truerank.estimat")}


def test_versions_agree() -> None:
    assert truerank.__version__ == importlib.metadata.version("truerank")
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    assert truerank.__version__ == project["version"]


def test_types_are_shipped() -> None:
    assert (Path(truerank.__file__).parent / "py.typed").exists()
