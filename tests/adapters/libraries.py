"""What the tests of all adapters share: the library or a skip, and data with telling ids."""

import importlib
import importlib.util
import warnings

import numpy as np
import pytest

N_USERS, N_ITEMS = 40, 25


def library(name):
    """The library, or skip the module: each needs an environment of its own (`make adapters`)."""
    if importlib.util.find_spec(name) is None:
        pytest.skip(f"{name} is not installed; `make adapters` tries it", allow_module_level=True)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # what other libraries warn of is theirs to mend
        return importlib.import_module(name)


def interactions():
    """User ids and item ids of 12 to 15 distinct items for each user, in no order.

    Ids are texts that sort differently from the order in which they come.
    """
    rng = np.random.default_rng(7)
    user_names = np.array([f"u{number}" for number in rng.permutation(N_USERS)])
    item_names = np.array([f"i{number}" for number in rng.permutation(N_ITEMS)])
    chosen = [rng.choice(N_ITEMS, rng.integers(12, 16), replace=False) for _ in range(N_USERS)]
    users = np.repeat(np.arange(N_USERS), [len(items) for items in chosen])
    items = np.concatenate(chosen)
    order = rng.permutation(users.size)
    return user_names[users[order]], item_names[items[order]]


def rows_of(scorer, users, items):
    """Row numbers of ids: users (B,), and every one of ``items`` for each, (B, n)."""
    rows = scorer.item_ids.rows(items, "test")
    return scorer.user_ids.rows(users, "test"), np.tile(rows, (len(users), 1))


def check_consistent(scorer):
    """A pair has one score, whichever way and in whichever company it is asked for."""
    users = np.arange(min(9, scorer.user_ids.n_rows))
    every = scorer.score_all(users)
    assert every.shape == (users.size, scorer.n_items)
    items = np.random.default_rng(0).integers(0, scorer.n_items, (users.size, 6))
    wanted = np.take_along_axis(every, items, axis=1)
    np.testing.assert_array_equal(scorer.score(users, items), wanted)
    np.testing.assert_array_equal(scorer.score(users[::-1], items[::-1, ::-1]), wanted[::-1, ::-1])
    alone = [scorer.score(users[[row]], items[[row]])[0] for row in users]
    np.testing.assert_array_equal(alone, wanted)
    twice = scorer.score(np.array([3, 0, 3]), np.array([[1, 2], [1, 2], [2, 1]]))
    np.testing.assert_array_equal(twice[0], twice[2][::-1])
