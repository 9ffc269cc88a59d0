"""Fitted models on disk: found again if and only if everything that decides them is the same."""

from __future__ import annotations

import importlib.util
import json
import os
import pickle
import re
import stat
from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar

import numpy as np
import pytest
from scipy import sparse

import truerank
from truerank.errors import InputError, TruerankWarning
from truerank.models import EASE, IALS, ItemKNN, Model, Popularity, fit_cached
from truerank.scoring import Dense


@dataclass(frozen=True, kw_only=True)
class Counting(Model[Dense]):
    """Random scores, and a count of the fits."""

    scale: float = 1.0
    fits: ClassVar[list[int]] = []

    def _fit(self, data, *, seed, progress):
        self.fits.append(seed)
        scores = np.random.default_rng(seed).random((data.n_users, data.n_items))
        return Dense(self.scale * scores, user_ids=data.user_ids, item_ids=data.item_ids)


USERS, ITEMS = ["a", "a", "b", "c"], [1, 2, 2, 3]


@pytest.fixture
def fits() -> list[int]:
    Counting.fits.clear()
    return Counting.fits


def test_a_second_fit_is_read(tmp_path, fits):
    folder = tmp_path / "not" / "there"
    first = fit_cached(Counting(), (USERS, ITEMS), folder=folder, seed=3)
    again = fit_cached(Counting(), (USERS, ITEMS), folder=folder, seed=3)
    order = [2, 0, 3, 1]  # the order of rows, and pairs given twice, change nothing
    rows = ([USERS[i] for i in order] + ["a"], [ITEMS[i] for i in order] + [1])
    third = fit_cached(Counting(), rows, folder=folder, seed=3)
    assert fits == [3]
    every = np.arange(3)
    for other in (again, third):
        assert np.array_equal(first.score_all(every), other.score_all(every))
        assert other.user_ids.rows(["c"], "test") == [2]
    assert [path.name.split("-")[0] for path in folder.iterdir()] == ["Counting"]


@pytest.mark.parametrize(
    ("model", "rows", "options"),
    [
        (Counting(scale=2.0), (USERS, ITEMS), {}),
        (Counting(), (USERS, ITEMS), {"seed": 1}),
        (Counting(), (USERS, [1, 2, 2, 1]), {}),
        (Counting(), (["a", "a", "b", "d"], ITEMS), {}),
        (Counting(), (USERS, [1, 2, 2, 4]), {}),
        (Counting(), (USERS, ITEMS), {"item_ids": [9]}),
        (Counting(), (USERS, ["1", "2", "2", "3"]), {}),
        (Counting(), (USERS[:3], ITEMS[:3]), {}),
    ],
)
def test_any_difference_is_another_fit(tmp_path, fits, model, rows, options):
    fit_cached(Counting(), (USERS, ITEMS), folder=tmp_path)
    fit_cached(model, rows, folder=tmp_path, **options)
    assert len(fits) == 2
    assert len(list(tmp_path.iterdir())) == 2


def test_other_code_is_another_fit(tmp_path, fits, monkeypatch):
    fit_cached(Counting(), (USERS, ITEMS), folder=tmp_path)
    monkeypatch.setattr("truerank.models.cache.inspect.getsource", lambda module: "changed")
    fit_cached(Counting(), (USERS, ITEMS), folder=tmp_path)
    assert len(fits) == 2


@pytest.mark.parametrize("damage", [b"", b"not an archive", None])
def test_damaged_files_are_named_and_fitted_again(tmp_path, fits, damage):
    fit_cached(Counting(), (USERS, ITEMS), folder=tmp_path)
    (path,) = tmp_path.iterdir()
    path.write_bytes(path.read_bytes()[:-20] if damage is None else damage)
    with pytest.warns(TruerankWarning, match=rf"{path.name} is damaged .* fitted again"):
        fit_cached(Counting(), (USERS, ITEMS), folder=tmp_path)
    fit_cached(Counting(), (USERS, ITEMS), folder=tmp_path)
    assert len(fits) == 2


@pytest.mark.filterwarnings("ignore::truerank.errors.TruerankWarning")
def test_no_flipped_bit_changes_a_model(tmp_path):
    every = np.arange(3)
    scores = fit_cached(Counting(), (USERS, ITEMS), folder=tmp_path).score_all(every)
    (path,) = tmp_path.iterdir()
    whole = path.read_bytes()
    for at in np.random.default_rng(0).integers(8 * len(whole), size=300).tolist():
        broken = bytearray(whole)
        broken[at // 8] ^= 1 << at % 8
        path.write_bytes(broken)
        again = fit_cached(Counting(), (USERS, ITEMS), folder=tmp_path)
        assert np.array_equal(again.score_all(every), scores)
        assert again.user_ids.rows(["c"], "test") == [2]


class Trap:
    """Runs a command when it is unpickled."""

    def __init__(self, path):
        self.path = path

    def __reduce__(self):
        return os.mkdir, (str(self.path),)


@pytest.mark.filterwarnings("ignore::truerank.errors.TruerankWarning")
@pytest.mark.parametrize("ending", [".npz", ".pickle"])
def test_a_planted_file_runs_nothing(tmp_path, fits, ending):
    trap = tmp_path / "sprung"
    pickle.loads(pickle.dumps(Trap(trap)))
    assert trap.exists()  # the trap works
    trap.rmdir()
    folder = tmp_path / "kept"
    fit_cached(Counting(), (USERS, ITEMS), folder=folder)
    (path,) = folder.iterdir()
    content = pickle.dumps(("truerank-model-1", Trap(trap)))
    path.with_suffix(ending).write_bytes(content)
    fit_cached(Counting(), (USERS, ITEMS), folder=folder)
    with path.open("wb") as file:
        np.savez(file, tree=np.array([Trap(trap)], dtype=object))
    fit_cached(Counting(), (USERS, ITEMS), folder=folder)
    assert not trap.exists()


def test_files_only_name_classes_of_the_model(tmp_path, fits):
    fit_cached(Counting(), (USERS, ITEMS), folder=tmp_path)
    (path,) = tmp_path.iterdir()
    tree = {"object": "pathlib.PosixPath", "state": {"dict": {}}}
    with path.open("wb") as file:
        np.savez(file, tree=np.frombuffer(json.dumps(tree).encode(), dtype=np.uint8))
    with pytest.warns(TruerankWarning, match="is damaged"):
        fit_cached(Counting(), (USERS, ITEMS), folder=tmp_path)
    assert len(fits) == 2


def test_files_are_private(tmp_path):
    fit_cached(Counting(), (USERS, ITEMS), folder=tmp_path)
    (path,) = tmp_path.iterdir()
    assert stat.S_IMODE(path.stat().st_mode) == 0o600


@dataclass(frozen=True, kw_only=True)
class Odd(Model[Dense]):
    """A model whose scorer holds a function."""

    def _fit(self, data, *, seed, progress):
        fitted = Dense(np.eye(3), item_ids=data.item_ids)
        fitted.hook = print
        return fitted


def test_what_is_no_data_is_not_kept(tmp_path):
    with pytest.warns(TruerankWarning, match=r"Odd is not kept in .*: it holds a builtin_function"):
        fit_cached(Odd(), (USERS, ITEMS), folder=tmp_path)
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize(
    "model",
    [Popularity(), ItemKNN(), EASE(), IALS(dimensions=3, iterations=4, tolerance=None)],
    ids=lambda model: type(model).__name__,
)
def test_every_model_comes_back_as_it_was(tmp_path, small, model):
    train = sparse.csr_array(small)
    every = np.arange(len(small))
    fitted = [fit_cached(model, train, folder=tmp_path) for _ in range(2)]
    assert len(list(tmp_path.iterdir())) == 1
    assert fitted[0] is not fitted[1]
    expected = model.fit(train).score_all(every)
    assert np.array_equal(fitted[0].score_all(every), expected)
    assert np.array_equal(fitted[1].score_all(every), expected)


def test_what_is_no_model(tmp_path):
    with pytest.raises(InputError, match="model is 'EASE'; it must be a model"):
        fit_cached("EASE", (USERS, ITEMS), folder=tmp_path)
    with pytest.raises(InputError, match="seed is -1"):
        fit_cached(Counting(), (USERS, ITEMS), folder=tmp_path, seed=-1)


def test_nothing_anywhere_is_unpickled():
    """No module of ours loads pickles; Spark's own ships closures to its workers."""
    ours = [Path(truerank.__file__).parent]
    if (papers := importlib.util.find_spec("truerank_papers")) is not None:
        ours.append(Path(papers.origin).parent)
    loaders = r"^\s*(import|from) (pickle|joblib|dill|shelve|marshal|cloudpickle)\b"
    calls = r"allow_pickle=True|torch\.load\(|read_pickle|[^d]pickle\.loads?\("
    for path in (path for folder in ours for path in folder.rglob("*.py")):
        assert not re.search(f"{loaders}|{calls}", path.read_text(), re.MULTILINE), path
