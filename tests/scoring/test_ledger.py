"""What is asked of a scorer is counted, limited, and remembered even if a call fails for good."""

from __future__ import annotations

import numpy as np
import pytest

from truerank.designs.purse import Purse
from truerank.errors import InputError, OutOfBudget, TruerankError
from truerank.scoring import Callable
from truerank.scoring.ledger import Ledger, asking_within

USERS, ITEMS = np.arange(5), np.tile(np.arange(8), (5, 1))


class Function:
    """Gives user + item / 100; fails, or gives NaN, in the calls of these numbers, from 1."""

    def __init__(self, fails=(), nan=()):
        self.fails, self.nan = set(fails), set(nan)
        self.calls: list[np.ndarray] = []

    def __call__(self, users, items):
        self.calls.append(users[:, None] * 100 + items)
        if len(self.calls) in self.fails:
            raise ConnectionError("try again")
        scores = users[:, None] + items / 100
        return scores * np.nan if len(self.calls) in self.nan else scores

    @property
    def asked(self):
        return sum(pairs.size for pairs in self.calls)


def scorer(function, **options):
    return Callable(function, n_items=8, batch_pairs=8, backoff=0.0, **options)


@pytest.mark.parametrize("concurrency", [1, 3])
@pytest.mark.parametrize(
    ("broken", "error"),
    [({"fails": [3, 4, 5, 6, 7, 8]}, TruerankError), ({"nan": range(3, 20)}, InputError)],
)
def test_partial_answers_of_a_broken_call_are_kept(broken, error, concurrency):
    function = Function(**broken)
    ledger = Ledger(scorer(function, retries=1, concurrency=concurrency))
    ledger.remember()
    with pytest.raises(error):
        ledger.score(USERS, ITEMS)
    answered = ledger.known
    assert answered >= 16
    assert ledger.asked == function.asked
    function.fails, function.nan = set(), set()
    before = function.asked
    assert np.array_equal(ledger.score(USERS, ITEMS), USERS[:, None] + ITEMS / 100)
    assert function.asked - before == ITEMS.size - answered


def test_every_attempt_is_paid_for():
    function = Function(fails=[2, 3])
    ledger = Ledger(scorer(function), limit=1000)
    ledger.score(USERS, ITEMS)
    purse = ledger.purse
    assert ledger.asked == function.asked == 56
    assert (purse.failed, purse.failed_calls, purse.answered, purse.left) == (16, 2, 40, 944)


@pytest.mark.parametrize("concurrency", [1, 4])
@pytest.mark.parametrize("limit", [1, 39, 41, 43])
def test_no_call_goes_beyond_the_limit(limit, concurrency):
    function = Function(fails=[2, 3])
    ledger = Ledger(scorer(function, concurrency=concurrency), limit=limit)
    ledger.remember()
    with pytest.raises(OutOfBudget):
        ledger.score(USERS, ITEMS)
    assert ledger.asked == function.asked <= limit
    # What is left is of use for those that are missing.
    known = ledger.is_known(USERS, ITEMS)
    assert known.sum() == ledger.known == ledger.purse.answered
    ledger.purse.limit = None
    ledger.score(USERS, ITEMS)
    assert ledger.purse.answered == ITEMS.size


def test_a_call_that_failed_is_not_repeated_if_the_rest_would_not_fit():
    """Whoever asks is told while there is something left."""
    function = Function(fails=[1])
    ledger = Ledger(scorer(function), limit=200)
    ledger.remember()
    ledger.purse.needed = 195
    with pytest.raises(OutOfBudget) as told:
        ledger.score(USERS, ITEMS)
    assert isinstance(told.value.__cause__, ConnectionError)
    assert ledger.asked == 8


def test_calls_are_small_parts_of_a_limit():
    function = Function()
    Ledger(scorer(function), limit=64).score(USERS, ITEMS)
    assert {pairs.size for pairs in function.calls} == {4}
    assert Purse(160).call_size(1000) == 10
    assert Purse(3).call_size(1000) == 1
    assert Purse(20, whole=3200).call_size(1000) == 200
    assert Purse().call_size(1000) == 1000


def test_a_limit_is_for_functions():
    function = scorer(Function())
    assert asking_within(function, None) is function
    ledger = Ledger(function)
    assert asking_within(ledger, 7) is ledger
    limited = asking_within(function, 7)
    assert isinstance(limited, Ledger)
    assert limited.purse.limit == 7


def test_a_shared_ledger_knows_what_is_known_and_tells_what_is_new():
    function = Function()
    ledger = Ledger(scorer(function))
    ledger.remember()
    ledger.score(USERS, ITEMS[:, :2])
    part = ledger.share(10, whole=100)
    part.know(np.array([2, 3]), np.array([0.02, 0.03]))  # of user 0
    part.score(USERS[:2], ITEMS[:2, :5])
    assert part.asked == 4
    pairs, scores = part.news()
    assert sorted(pairs.tolist()) == [4, 10, 11, 12]
    assert np.array_equal(scores, pairs // 8 + pairs % 8 / 100)
    assert ledger.asked == ledger.known == 10


def test_reserves_grow_with_what_failed():
    purse = Purse(1000)
    assert purse.with_reserve(80) == 80
    purse.pay(100)
    purse.lose(100)
    purse.pay(100)
    # One of two calls failed, one of three as if another had been answered: 80 pairs take 120, and
    # a standard deviation of sqrt(80 * 80 / 3) answers more.
    assert purse.with_reserve(80) == pytest.approx((80 + np.sqrt(80 * 80 / 3)) * 1.5)
    assert purse.left == 800
