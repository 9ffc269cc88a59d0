"""What a scorer may answer: real numbers of the right shape, whichever way they are asked for."""

from __future__ import annotations

import numpy as np
import pytest

import truerank as tr
from truerank.errors import InputError
from truerank.scoring import Callable, Dense, Scorer
from truerank.scoring._ids import Ids
from truerank.scoring.adapters._rows import Rows
from truerank.scoring.scorer import checked, real_numbers

N_USERS, N_ITEMS = 3, 8
TEST = [0, 1, 2], [0, 0, 0]

NO_NUMBERS = {
    "complex": (lambda s: s + 0j, "complex128"),
    "dates": (lambda s: s.astype("datetime64[s]"), r"datetime64\[s\]"),
    "durations": (lambda s: s.astype("timedelta64[s]"), r"timedelta64\[s\]"),
    "strings": (lambda s: s.astype(str), "<U"),
    "bytes": (lambda s: s.astype(bytes), r"\|S"),
    "objects": (lambda s: s.astype(object), "object"),
    "booleans": (lambda s: s > 0, "bool"),
    "records": (lambda s: s.astype([("score", float)]), "score"),
    "masked": (lambda s: np.ma.masked_array(s, s >= 0), "masked float64"),
    "nothing": (lambda s: None, "object"),
}
MISSHAPEN = {
    "flat": (lambda s: s.ravel(), r"returned shape \(\d+,\); expected \(\d+, \d+\)"),
    "narrow": (lambda s: s[:, 1:], r"returned shape \(\d+, \d+\); expected \(\d+, \d+\)"),
    "deep": (lambda s: s[..., None], r"returned shape \(\d+, \d+, 1\); expected"),
    "a number": (lambda s: 1.0, r"returned shape \(\); expected"),
    "ragged": (lambda s: [[1.0], *s[1:].tolist(), [2.0, 3.0]], "list that is no array of numbers"),
}


class Pairs(Scorer):
    """Answers what it is told to, pair by pair."""

    def __init__(self, change):
        self.change = change
        self.user_ids, self.item_ids = Ids("user", N_USERS), Ids("item", N_ITEMS)

    def score(self, users, items):
        return self.change(users[:, None] + 10.0 * items)


class Whole(Pairs):
    """The same for all items at once."""

    def score_all(self, users):
        return self.score(users, np.tile(np.arange(N_ITEMS), (users.size, 1)))


def rows(change):
    every = np.arange(10.0 * N_ITEMS, step=10.0)
    return Rows(
        lambda users: change(users[:, None] + every), who="it", n_users=N_USERS, n_items=N_ITEMS
    )


def function(change):
    return Callable(lambda users, items: change(users[:, None] + 10.0 * items), n_items=N_ITEMS)


def sampled(scorer, test):
    return tr.count(scorer, test, "fixed(sample_size=4)", seed=0)


WAYS = {
    "exact, all items": (Whole, tr.count),
    "exact, pairs": (Pairs, tr.count),
    "sampled": (Pairs, sampled),
    "function": (function, tr.count),
    "function, sampled": (function, sampled),
    "rows of an adapter": (rows, tr.count),
    "rows of an adapter, sampled": (rows, sampled),
}


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("kind", NO_NUMBERS)
def test_what_is_no_number_is_refused_with_its_type(way, kind):
    make, ask = WAYS[way]
    change, name = NO_NUMBERS[kind]
    message = rf"returned .*{name}.*; scores are whole numbers or floats"
    with pytest.raises(InputError, match=message):
        ask(make(change), TEST)


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("kind", MISSHAPEN)
def test_another_shape_is_refused(way, kind):
    make, ask = WAYS[way]
    change, message = MISSHAPEN[kind]
    with pytest.raises(InputError, match=message):
        ask(make(change), TEST)


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize(
    "kind", [np.int8, np.uint16, np.int64, np.float16, np.float32, np.longdouble, list]
)
def test_whole_numbers_and_floats_of_any_width_are_scores(way, kind):
    make, ask = WAYS[way]
    expected = ask(make(lambda s: s), TEST)
    given = make(lambda s: s.tolist() if kind is list else s.astype(kind))
    assert ask(given, TEST) == expected


@pytest.mark.parametrize("kind", [kind for kind in NO_NUMBERS if kind not in ("masked", "nothing")])
def test_a_matrix_that_holds_no_numbers_is_refused(kind):
    change, name = NO_NUMBERS[kind]
    with pytest.raises(InputError, match=rf"scores is of type .*{name}.*; it must hold numbers"):
        Dense(change(np.ones((N_USERS, N_ITEMS))))


def test_floats_stay_single_or_become_double():
    for kind in (np.float32, np.float64):
        scores = np.ones((2, 3), kind)
        assert real_numbers(scores, (2, 3), "it") is scores
    for kind in (np.float16, np.longdouble, np.int32, np.uint64):
        assert real_numbers(np.ones((2, 3), kind), (2, 3), "it").dtype == np.float64


@pytest.mark.parametrize("bad", [np.nan, np.inf, -np.inf])
def test_scores_that_cannot_be_ranked_are_counted_and_the_first_is_shown(bad):
    scores = np.zeros((2, 3))
    scores[1, 1:] = bad
    assert real_numbers(scores, (2, 3), "it") is scores
    with pytest.raises(InputError, match=rf"it returned 2 scores .* \({bad}\) at \(1, 1\); such"):
        checked(scores, (2, 3), "it")
    with pytest.raises(InputError, match="for the pair 1 and 1;"):
        checked(scores, (2, 3), "it", where=lambda at: f"for the pair {at[0]} and {at[1]}")
