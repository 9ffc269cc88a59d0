"""Fitted models on disk: found again if and only if everything that decides them is the same."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
import pytest
from scipy import sparse

from truerank.errors import InputError
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


@pytest.mark.parametrize("damage", [b"", b"not a pickle", None])
def test_damaged_files_are_fitted_again(tmp_path, fits, damage):
    fit_cached(Counting(), (USERS, ITEMS), folder=tmp_path)
    (path,) = tmp_path.iterdir()
    path.write_bytes(path.read_bytes()[:-20] if damage is None else damage)
    fit_cached(Counting(), (USERS, ITEMS), folder=tmp_path)
    fit_cached(Counting(), (USERS, ITEMS), folder=tmp_path)
    assert len(fits) == 2


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
    with pytest.raises(InputError, match="model is a str"):
        fit_cached("EASE", (USERS, ITEMS), folder=tmp_path)
    with pytest.raises(InputError, match="seed is -1"):
        fit_cached(Counting(), (USERS, ITEMS), folder=tmp_path, seed=-1)
