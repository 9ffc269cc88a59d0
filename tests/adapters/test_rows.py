"""What the adapters have in common; needs none of the libraries."""

import subprocess
import sys
from types import SimpleNamespace

import numpy as np
import pytest
from libraries import check_consistent

from truerank.errors import InputError, MissingExtraError
from truerank.scoring.adapters import _rows, from_implicit, from_lenskit, from_recbole
from truerank.scoring.adapters._rows import Rows, unscored_last


def test_importing_the_adapters_imports_no_library():
    code = (
        "import sys, truerank.scoring.adapters; "
        "names = {'cornac', 'implicit', 'lenskit', 'recbole', 'rectools', 'torch', 'pandas'}; "
        "sys.exit(str(names & set(sys.modules)) if names & set(sys.modules) else 0)"
    )
    subprocess.run([sys.executable, "-c", code], check=True, timeout=60)


def test_whole_rows_give_pairs_in_blocks_of_any_size(monkeypatch):
    table = np.random.default_rng(0).standard_normal((12, 7))
    for block in (1, 7, 20, 1000):
        monkeypatch.setattr(_rows, "_BLOCK", block)
        scorer = Rows(lambda users: table[users], who="a model", n_users=12, n_items=7)
        check_consistent(scorer)
        users, items = np.array([11, 0, 11, 5]), np.array([[0, 6], [1, 1], [3, 2], [4, 4]])
        np.testing.assert_array_equal(scorer.score(users, items), table[users[:, None], items])


def test_wrong_rows_are_an_error_with_the_models_name():
    scorer = Rows(lambda users: np.zeros((1, 3)), who="a model", n_users=12, n_items=7)
    with pytest.raises(InputError, match=r"a model returned shape \(1, 3\); expected \(2, 7\)"):
        scorer.score_all(np.array([0, 1]))
    with pytest.raises(InputError, match="a model knows 1 items"):
        Rows(lambda users: users, who="a model", n_users=12, n_items=1)


def test_items_without_a_score_come_last_in_their_row_and_tie():
    nan = np.nan
    scores = np.array(
        [[3.0, nan, 5.0, nan], [-1e30, nan, 0.0, 1.0], [nan, nan, nan, nan], [1.0, 2.0, 3.0, 4.0]],
        dtype=np.float32,
    )
    found = unscored_last(scores)
    known = ~np.isnan(scores)
    np.testing.assert_array_equal(found[known], scores[known])
    for row in range(4):
        unscored = found[row][~known[row]]
        assert len(set(unscored)) <= 1
        assert np.isfinite(unscored).all()
        if known[row].any() and unscored.size:
            assert np.float32(unscored[0]) < scores[row][known[row]].min()


def test_factors_on_a_gpu_are_fetched():
    factors = np.random.default_rng(0).standard_normal((4, 3)).astype(np.float32)
    remote = SimpleNamespace(to_numpy=lambda: factors)
    model = SimpleNamespace(user_factors=remote, item_factors=remote)
    scores = from_implicit(model, item_ids=["a", "b", "c", "d"]).score_all(np.arange(4))
    np.testing.assert_allclose(scores, factors @ factors.T, rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize(
    ("adapter", "name"), [(from_lenskit, "lenskit"), (from_recbole, "recbole")]
)
def test_a_library_that_is_missing_is_named(monkeypatch, adapter, name):
    monkeypatch.setitem(sys.modules, name, None)
    with pytest.raises(MissingExtraError, match=f"pip install {name}"):
        adapter(None, None)
