"""Budgets that batches of users share, where calls of a function fail."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pytest

import truerank as tr
from truerank import engines
from truerank.designs import LJ24, Adaptive, Auto, Exact, Fixed
from truerank.designs.purse import Purse
from truerank.engines.levels import carried_out_within
from truerank.errors import InputError, TruerankError
from truerank.sampling.carry_out import drawing_of, sample
from truerank.sampling.counting import counts_of
from truerank.scoring import Callable, Dense
from truerank.scoring.task import prepare

N_USERS, N_ITEMS, SEED = 60, 200, 3
_rng = np.random.default_rng(5)
SCORES = _rng.random((N_USERS, N_ITEMS))
ORDER = np.argsort(_rng.random((N_USERS, N_ITEMS)) - SCORES, axis=1)


class Meter:
    """Writes down the pairs of each call, then answers or fails."""

    def __init__(self, fails: float = 0.0) -> None:
        self.fails, self.rng = fails, np.random.default_rng(8)
        self.answered: list[np.ndarray] = []
        self.failed: list[np.ndarray] = []

    def __call__(self, users, items):
        fails = self.rng.random() < self.fails
        (self.failed if fails else self.answered).append(users[:, None] * N_ITEMS + items)
        if fails:
            raise ConnectionError("try again")
        return SCORES[users[:, None], items]

    @property
    def asked(self):
        return sum(pairs.size for pairs in self.answered + self.failed)

    @property
    def twice(self):
        pairs = np.concatenate([pairs.ravel() for pairs in self.answered])
        return pairs.size - np.unique(pairs).size


def make_rows(n_targets, n_batches):
    table = pa.table({"user_id": np.arange(N_USERS), "item_id": ORDER[:, :n_targets].tolist()})
    return table.to_batches(max_chunksize=-(-N_USERS // n_batches))


def carried_out(meter, design, n_targets=1, n_batches=4, purse=None, **options):
    scorer = Callable(meter, n_items=N_ITEMS, backoff=0.0, **options)
    batches = make_rows(n_targets, n_batches)
    kernel = engines.Kernel(scorer, design, seed=SEED)
    budget = design.budget if purse is None else purse.limit / N_USERS
    return carried_out_within(
        kernel, lambda function: [function(batch) for batch in batches], budget, purse
    )


def expected_counts(climbed, n_targets):
    """By the scheme, the ladder and the hits that counts carry."""
    test = np.repeat(np.arange(N_USERS), n_targets), ORDER[:, :n_targets].ravel()
    if not climbed.scheme.adaptive:
        return tr.count(Dense(SCORES), test, climbed.design, seed=SEED)
    task = prepare(Dense(SCORES), test, train=None, keep_target=False)
    drawing = drawing_of(climbed.scheme, "random", task, SEED)
    return counts_of(task, sample(Dense(SCORES), task, drawing), "spread", SEED)


DESIGNS = [
    Adaptive(budget=24),
    Adaptive(budget=25.5),
    Adaptive(budget=60, start=8, replacement=True),
    LJ24(budget=130, start=10, stop=0.9),
]


@pytest.mark.parametrize("n_targets", [1, 3])
@pytest.mark.parametrize("n_batches", [1, 7])
@pytest.mark.parametrize("fails", [0.0, 0.15, 0.3])
@pytest.mark.parametrize("design", DESIGNS, ids=repr)
def test_batches_keep_a_budget_together(design, fails, n_batches, n_targets):
    meter = Meter(fails)
    climbed = carried_out(
        meter, design, n_targets, n_batches, batch_pairs=40, retries=30
    )  # fmt: skip
    counted = climbed.counted()
    assert meter.asked == counted.pairs <= design.budget * N_USERS
    assert meter.twice == 0
    assert counted.counts == expected_counts(climbed, n_targets)
    assert climbed.design == design
    if fails:
        assert meter.failed
    else:
        test = np.repeat(np.arange(N_USERS), n_targets), ORDER[:, :n_targets].ravel()
        assert counted.counts == tr.count(Dense(SCORES), test, design, seed=SEED)


@pytest.mark.parametrize("n_targets", [1, 3])
@pytest.mark.parametrize("fails", [0.0, 0.1])
def test_a_fixed_sample_is_shrunk_alike_in_all_batches(fails, n_targets):
    meter, purse = Meter(fails), Purse(30 * n_targets * N_USERS)
    design = Fixed(sample_size=30)
    climbed = carried_out(meter, design, n_targets, purse=purse, batch_pairs=40, retries=30)
    assert meter.asked == climbed.pairs == purse.asked <= purse.limit
    assert meter.twice == 0
    (size,) = np.unique(climbed.sample_size).tolist()
    assert climbed.design == Fixed(sample_size=size)
    assert climbed.counted().counts == expected_counts(climbed, n_targets)
    assert size < 30 if fails and n_targets == 1 else 20 < size <= 30


@pytest.mark.parametrize("n_targets", [1, 3])
@pytest.mark.parametrize("fails", [0.0, 0.1])
def test_an_exact_evaluation_goes_on_as_an_adaptive_one(fails, n_targets):
    meter, purse = Meter(fails), Purse((N_ITEMS + 5) * N_USERS)
    climbed = carried_out(meter, Exact(), n_targets, purse=purse, batch_pairs=40, retries=30)
    assert meter.asked == climbed.pairs == purse.asked <= purse.limit
    assert meter.twice == 0
    assert climbed.design == (Adaptive(budget=N_ITEMS + 5) if fails else Exact())
    assert climbed.counted().counts == expected_counts(climbed, n_targets)


def test_a_budget_that_failures_use_up():
    meter = Meter(0.9)
    with pytest.raises(TruerankError, match=r"3 scored pairs per user, 180 in all, does not suff"):
        carried_out(meter, Adaptive(budget=3), batch_pairs=40, retries=30)
    assert meter.asked <= 3 * N_USERS


def test_errors_of_the_function_are_told_and_not_tried_again():
    meter = Meter(1.0)
    with pytest.raises(TruerankError, match=r"the scoring function failed.* tried 3 times"):
        carried_out(meter, Adaptive(budget=50), batch_pairs=10, retries=2)
    scorer = Callable(lambda users, items: np.full(items.shape, np.inf), n_items=N_ITEMS)
    kernel = engines.Kernel(scorer, Adaptive(budget=50), seed=SEED)
    with pytest.raises(InputError, match=r"NaN or infinite"):
        engines.within_budget(kernel, lambda f: [f(batch) for batch in make_rows(1, 2)])


def test_auto_is_no_design_of_batches():
    with pytest.raises(InputError, match="a budget is that of an Adaptive"):
        engines.within_budget(engines.Kernel(Dense(SCORES), Auto(budget=9)), list)
