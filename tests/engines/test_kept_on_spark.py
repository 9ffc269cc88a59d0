"""Training items that are kept in the ranking, on Spark: the numbers of one machine."""

from __future__ import annotations

import numpy as np
import pytest

import truerank as tr
from truerank.designs import Adaptive, Exact, Fixed
from truerank.errors import InputError

pytest.importorskip("pyspark")

N_USERS, N_ITEMS = 40, 150


@pytest.fixture(scope="module")
def world():
    """Vectors whose scores tie, a test of one to four targets per user, and training items."""
    rng = np.random.default_rng(0)
    users, items = (rng.integers(-1, 2, (n, 3)).astype("f4") for n in (N_USERS, N_ITEMS))
    test, train = ([], []), ([], [])
    for user in range(N_USERS):
        order = rng.permutation(N_ITEMS)
        t, known = int(rng.integers(1, 5)), int(rng.integers(20))
        test[0].extend([user] * t)
        test[1].extend(order[:t].tolist())
        train[0].extend([user] * known)
        train[1].extend(order[t : t + known].tolist())
    tr.spark.session("local[2,4]")
    scorer = tr.scoring.Factors(users, items)
    return scorer, tuple(map(np.array, test)), tuple(map(np.array, train))


DESIGNS = [Exact(), Fixed(num_negatives=15), Adaptive(budget=60)]


@pytest.mark.parametrize("design", DESIGNS)
def test_counts_and_cost_are_those_of_one_machine(world, design):
    scorer, test, train = world
    options = {"train": train, "keep_train": True, "metrics": "ndcg@10"}
    there = tr.spark.evaluate(test, scorer, design, **options)
    here = tr.evaluate(scorer, test, design, **options)
    assert there.counts == here.counts
    assert there.counts.offset.any() == (design != Exact())
    assert there.cost == here.cost
    assert there.protocol["training_items_kept"]


@pytest.mark.parametrize("design", DESIGNS)
def test_ranks_are_those_of_one_machine(world, design):
    scorer, test, train = world
    options = {"train": train, "keep_train": True}
    there = tr.spark.rank(test, scorer, design, **options).toArrow().to_pandas()
    here = tr.rank(scorer, test, design, **options).to_pandas()
    key = ["user_id", "item_id"]
    there, here = (
        table.sort_values(key).reset_index(drop=True).astype("int64") for table in (there, here)
    )
    assert set(there.columns) == set(here.columns)
    assert (there[here.columns] == here).all(axis=None)


def test_what_cannot_be_is_refused(world):
    scorer, test, train = world
    with pytest.raises(InputError, match="no training items"):
        tr.spark.count(test, scorer, "exact", keep_train=True)
    function = tr.scoring.Callable(lambda u, i: u[:, None] * 0.1 + i, n_items=N_ITEMS)
    for design in (Adaptive(budget=60), "auto(budget=60)"):
        with pytest.raises(InputError, match="a function is asked within a budget"):
            tr.spark.evaluate(
                test, function, design, train=train, keep_train=True, metrics="ndcg@10"
            )
