"""The climb of a ladder where calls of a scorer fail."""

from __future__ import annotations

import numpy as np
import pytest

from truerank.designs.climb import Money, climb
from truerank.designs.purse import Purse
from truerank.errors import OutOfBudget, TruerankError
from truerank.outcomes.schemes import Scheme

POOLS = np.full(20, 50)


def steps(users, before, goal):
    """Every new negative has to be asked for, and targets with the first."""
    wanted = np.full(int((goal - before).max()) + 1, users.size)
    wanted[0] = users.size if before[0] == 1 else 0
    return wanted


def test_a_scorer_that_is_down_is_given_up():
    purse = Purse(10**6)

    def draw(users, before, goal):
        purse.pay(10)
        purse.lose(10)
        raise OutOfBudget("no more") from ConnectionError("down")

    with pytest.raises(TruerankError, match=r"4 times in a row.* ConnectionError: down; 999,960"):
        climb(Scheme(False, (10,)), POOLS, draw, total=10**5, money=Money(purse, steps))
    assert purse.asked == 40


@pytest.mark.parametrize("lost", [0, 100, 300, 700])
def test_a_level_is_as_large_as_what_is_left_covers(lost):
    """1,000 pairs are a target and 49 negatives for each of 20 users."""
    purse = Purse(1000)
    failures = [lost] if lost else []

    def draw(users, before, goal):
        if failures:
            purse.pay(failures[0])
            purse.lose(failures.pop())
            raise OutOfBudget("think it over")
        purse.pay(int((goal - before).sum()) + (users.size if before[0] == 1 else 0))
        return np.zeros(users.size, dtype=np.int64)

    scheme, _, size = climb(Scheme(False, (50,)), POOLS, draw, total=980, money=Money(purse, steps))
    (reached,) = np.unique(size).tolist()
    assert scheme.ladder == (reached,)
    assert purse.asked == 20 * reached + lost <= 1000
    # Within a few negatives of all that could be had: a reserve is kept.
    assert (1000 - lost) // 20 - 6 <= reached <= (1000 - lost) // 20
    if not lost:
        assert reached == 50
