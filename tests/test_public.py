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
from tests import face

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


def public_modules() -> list[str]:
    return [module.__name__ for module in face.modules()]


@pytest.mark.parametrize("path", public_modules())
def test_dir_shows_public_names_and_nothing_else(path: str) -> None:
    module = importlib.import_module(path)
    public = sorted(getattr(module, "__all__", ()))
    lists = bool(public) and dir(module) == public
    assert lists
    for name in public:
        value = getattr(module, name)
        home = getattr(value, "__name__" if isinstance(value, ModuleType) else "__module__", "")
        # Ours, or a constant: nothing that was imported from elsewhere.
        assert str(home).startswith("truerank") or isinstance(value, (str, tuple, dict))
        assert name == "__version__" or not name.startswith("_")


def test_the_public_modules_are_these() -> None:
    wanted = "data data.synthetic errors estimators estimators.diagnostics mapping metrics models"
    wanted += " designs outcomes plot report sampling scoring scoring.adapters spark integrations"
    tools = "keras lightning mlflow recbole tensorboard torch torchmetrics wandb"
    wanted += "".join(f" integrations.{name}" for name in tools.split())
    expected = {"truerank", *(f"truerank.{name}" for name in wanted.split())}
    assert set(public_modules()) == expected


def test_scorers_can_be_completed_before_any_is_loaded() -> None:
    code = "import truerank as tr; print(*dir(tr.scoring))"
    assert run(code) == "Callable Dense Factors ItemWeights Scorer Torch adapters"


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
