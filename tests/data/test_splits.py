"""Laws of splits, each against a plain loop or a count by hand."""

from __future__ import annotations

import datetime
import itertools
from collections import Counter
from collections.abc import Callable
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import truerank as tr
from truerank import rng
from truerank.data import Interactions, Split
from truerank.errors import InputError

Rows = list[tuple[int, int, int]]

SPLITS: dict[str, Callable[[Interactions, int], Split]] = {
    "leave-one-out last": lambda data, seed: data.leave_one_out("last", seed=seed),
    "leave-one-out random": lambda data, seed: data.leave_one_out("random", seed=seed),
    "leave-2-out last": lambda data, seed: data.leave_k_out(2, "last", seed=seed),
    "leave-3-out random": lambda data, seed: data.leave_k_out(3, "random", seed=seed),
    "per-user random": lambda data, seed: data.split_per_user(0.3, "random", seed=seed),
    "per-user last": lambda data, seed: data.split_per_user(0.3, "last", seed=seed),
    "random": lambda data, seed: data.split_random(0.3, seed=seed),
    "by-time": lambda data, seed: data.split_by_time(share=0.3),
}
OF_USERS = [name for name in SPLITS if name not in ("random", "by-time")]

# Some user has four rows, and two rows differ in time: every split has something to hold out.
DISTINCT = st.lists(
    st.tuples(st.integers(0, 7), st.integers(0, 9), st.integers(0, 3)),
    min_size=4,
    max_size=60,
    unique_by=lambda row: row[:2],
).filter(
    lambda rows: (
        max(Counter(row[0] for row in rows).values()) > 3 and len({row[2] for row in rows}) > 1
    )
)
split_names = st.sampled_from(list(SPLITS))


def make(rows: Rows, *, text: bool = False) -> Interactions:
    users, items, times = (np.array(column) for column in zip(*rows, strict=True))
    return (
        Interactions(users.astype(str), items.astype(str), times)
        if text
        else (Interactions(users, items, times))
    )


def listed(data: Interactions) -> list[tuple[Any, ...]]:
    assert data.timestamp is not None
    columns = (data.user_id, data.item_id, data.timestamp)
    return list(zip(*(column.tolist() for column in columns), strict=True))


def grid(n_users: int, n_items: int) -> Interactions:
    """Every user with every item, at times that no two rows of a user share."""
    users, items = np.divmod(np.arange(n_users * n_items), n_items)
    return Interactions(users, items, (items * 7 + users) % n_items)


def word(user: int, item: int, seed: int) -> int:
    """The random word of a pair, from its definition."""
    return int(rng.draws(rng.user_keys([user], seed), rng.user_keys([item], 0))[0])


# --- laws of all splits -------------------------------------------------------------------------


@given(DISTINCT, split_names, st.integers(0, 3))
def test_parts_are_a_partition(rows, name, seed):
    split = SPLITS[name](make(rows), seed)
    assert sorted(listed(split.train) + listed(split.test)) == sorted(rows)
    assert len(split.train)
    assert len(split.test)
    assert split.card().repeated_targets == 0
    # Rows keep their order within each part.
    place = {row: at for at, row in enumerate(rows)}
    for part in split:
        places = [place[row] for row in listed(part)]
        assert places == sorted(places)


@given(DISTINCT, split_names, st.integers(0, 3), st.randoms())
def test_order_of_rows_and_spelling_of_ids_do_not_matter(rows, name, seed, random):
    held_out = sorted(listed(SPLITS[name](make(rows), seed).test))
    shuffled = list(rows)
    random.shuffle(shuffled)
    assert sorted(listed(SPLITS[name](make(shuffled), seed).test)) == held_out
    spelled = listed(SPLITS[name](make(rows, text=True), seed).test)
    assert sorted((int(user), int(item), time) for user, item, time in spelled) == held_out


@given(DISTINCT, st.sampled_from(OF_USERS), st.integers(0, 3))
def test_other_users_do_not_matter(rows, name, seed):
    held_out = listed(SPLITS[name](make(rows), seed).test)
    user = held_out[0][0]
    alone = SPLITS[name](make([row for row in rows if row[0] == user]), seed)
    assert listed(alone.test) == [row for row in held_out if row[0] == user]


@pytest.mark.parametrize(
    "name", ["leave-one-out random", "leave-3-out random", "per-user random", "random"]
)
def test_seeds_matter(name):
    data = grid(50, 20)
    tests = [set(listed(SPLITS[name](data, seed).test)) for seed in (0, 1, 0)]
    assert tests[0] == tests[2]
    assert len(tests[0] & tests[1]) < len(tests[0]) / 2


@pytest.mark.parametrize("name", list(SPLITS))
def test_training_can_be_split_again_by_the_same_seed(name):
    """A validation part; a threshold on the random words would find nothing left below it."""
    train, _ = SPLITS[name](grid(50, 20), 0)
    # As many rows again for leave-k-out, 0.3 of the remaining 0.7 for shares, and rounding.
    first, again = (len(SPLITS[name](data, 0).test) for data in (grid(50, 20), train))
    assert 0.65 * first < again <= first


# --- leave k out, per user ----------------------------------------------------------------------


@given(DISTINCT, st.sampled_from(["last", "random"]), st.integers(1, 3), st.integers(0, 3))
def test_leave_k_out_equals_a_loop(rows, how, k, seed):
    expected = []
    for user in {row[0] for row in rows}:
        mine = [row for row in rows if row[0] == user]
        mine.sort(key=lambda row: (row[2] if how == "last" else 0, word(*row[:2], seed)))
        expected += mine[-k:] if len(mine) > k else []
    split = make(rows).leave_k_out(k, how, seed=seed)
    assert sorted(listed(split.test)) == sorted(expected)
    if k == 1:
        one = make(rows).leave_one_out(how, seed=seed)
        assert listed(one.test) == listed(split.test)
    for user, _, time in listed(split.test) if how == "last" else []:
        assert time >= max(row[2] for row in listed(split.train) if row[0] == user)


@given(
    DISTINCT,
    st.sampled_from(["last", "random"]),
    st.sampled_from(["0.01", "0.2", "0.25", "0.29", "0.5", "0.9", "0.999"]),
)
def test_per_user_share_equals_a_loop(rows, how, share):
    split = make(rows).split_per_user(float(share), how, seed=1)
    expected = []
    for user in {row[0] for row in rows}:
        mine = [row for row in rows if row[0] == user]
        mine.sort(key=lambda row: (row[2] if how == "last" else 0, word(*row[:2], 1)))
        number = max(int(Fraction(share) * len(mine)), 1) if len(mine) > 1 else 0
        expected += mine[len(mine) - number :]
    assert sorted(listed(split.test)) == sorted(expected)


def test_shares_are_rounded_down_in_decimals():
    # In floats 0.29 x 100 is 28.999999999999996 and 0.57 x 100 is 56.99999999999999.
    for share, number in (("0.29", 29), ("0.57", 57), ("0.07", 7), ("0.2", 20), ("0.199", 19)):
        assert len(grid(1, 100).split_per_user(float(share)).test) == number
        assert len(grid(1, 100).split_random(float(share)).test) == number
    assert len(grid(1, 100).split_per_user(1 - 1e-12).test) == 99


@given(DISTINCT, st.integers(0, 3))
def test_more_holds_out_what_less_does(rows, seed):
    data = make(rows)
    for smaller, larger in (
        (data.leave_k_out(1, seed=seed), data.leave_k_out(2, seed=seed)),
        (data.split_per_user(0.2, seed=seed), data.split_per_user(0.6, seed=seed)),
        (data.split_random(0.2, seed=seed), data.split_random(0.6, seed=seed)),
    ):
        # Those with just enough rows for the smaller k have none at the larger one.
        lost = set(larger.users_without_targets.tolist())
        assert {r for r in listed(smaller.test) if r[0] not in lost} <= set(listed(larger.test))


def spread_over_seeds(split: Callable[[Interactions, int], Split], data: Interactions) -> Any:
    """How often each row is held out in 400 seeds."""
    often = np.zeros(len(data))
    for seed in range(400):
        test = split(data, seed).test
        often[test.user_id * data.n_items + test.item_id] += 1
    return often


@pytest.mark.parametrize("name", ["per-user random", "random"])
def test_every_row_is_held_out_as_often(name):
    data = grid(30, 20)
    often = spread_over_seeds(SPLITS[name], data)
    assert often.sum() == 400 * 0.3 * len(data)
    # Each count is binomial(400, 0.3), so the sum of squared z-scores has mean 600. Squares of
    # counts with a fixed sum of n are correlated by 1/(n - 1)^2; bound at 5 standard deviations.
    n = 20 if name == "per-user random" else 600
    chi2 = ((often - 120) ** 2).sum() / (400 * 0.3 * 0.7)
    assert abs(chi2 - 600) < 5 * np.sqrt(2 * 600 * (1 + 1 / (n - 1)))


def test_shares_of_users_in_a_random_split_are_hypergeometric():
    data = grid(400, 25)
    number = np.bincount(data.split_random(0.2, seed=3).test.user_id, minlength=400)
    assert number.sum() == 2000
    # Drawn without replacement: mean 5, variance 25 x 0.2 x 0.8 x (N - 25) / (N - 1) = 3.99.
    variance = 4 * (10_000 - 25) / (10_000 - 1)
    assert np.abs(number - 5).max() < 5 * np.sqrt(variance)
    # The variance of a sample variance is about 2 variance^2 / users.
    assert abs(number.var() - variance) < 4 * variance * np.sqrt(2 / 400)
    per_user = np.bincount(data.split_per_user(0.2, seed=3).test.user_id)
    assert set(per_user.tolist()) == {5}  # the same check tells the two apart
    assert abs(per_user.var() - variance) > 4 * variance * np.sqrt(2 / 400)


# --- by time ------------------------------------------------------------------------------------


@given(DISTINCT, st.floats(0.01, 0.99))
def test_every_target_is_later_than_all_training(rows, share):
    split = make(rows).split_by_time(share=share)
    times = sorted({row[2] for row in rows})
    assert max(row[2] for row in listed(split.train)) < min(row[2] for row in listed(split.test))
    off = [abs(sum(row[2] >= time for row in rows) - share * len(rows)) for time in times[1:]]
    assert abs(len(split.test) - share * len(rows)) == pytest.approx(min(off))
    again = make(rows).split_by_time(split.protocol["time"])
    assert listed(again.test) == listed(split.test)


def test_times_may_be_dates():
    days = np.array(["2020-01-01", "2020-01-02", "2020-01-03"], "datetime64[D]")
    data = Interactions([1, 1, 1], [1, 2, 3], days)
    second = datetime.datetime(2020, 1, 2)
    for time in (
        "2020-01-02",
        "2020-01-01T12:00:00",
        "2020-01-02T01:00:00+01:00",
        second,
        second.date(),
        second.replace(tzinfo=datetime.UTC),
        np.datetime64("2020-01-02"),
        int(days[1].astype("datetime64[us]").astype(np.int64)),
    ):
        assert data.split_by_time(time).test.item_id.tolist() == [2, 3]


# --- what to look out for -----------------------------------------------------------------------


@given(DISTINCT, split_names)
def test_what_is_missing_in_a_part(rows, name):
    split = SPLITS[name](make(rows), 2)
    users, items = ([{row[at] for row in listed(part)} for part in split] for at in (0, 1))
    assert split.users_without_targets.tolist() == sorted(users[0] - users[1])
    assert split.unseen_users.tolist() == sorted(users[1] - users[0])
    assert split.unseen_items.tolist() == sorted(items[1] - items[0])
    card = split.card()
    assert card.n_targets == len(split.test)
    assert card.share == len(split.test) / len(rows)
    assert card.users_without_targets == len(users[0] - users[1])
    assert card.unseen_users == len(users[1] - users[0])
    assert card.unseen_items == len(items[1] - items[0])
    number = sorted(Counter(row[0] for row in listed(split.test)).values())
    assert card.targets_per_user == (number[0], np.median(number), number[-1])


@given(DISTINCT, split_names)
def test_dropping_what_training_does_not_know(rows, name):
    split = SPLITS[name](make(rows), 2)
    users, items = ({row[at] for row in listed(split.train)} for at in (0, 1))
    for by_user, by_item in itertools.product([True, False], repeat=2):
        kept = [
            row
            for row in listed(split.test)
            if (row[0] in users or not by_user) and (row[1] in items or not by_item)
        ]
        if not kept:
            with pytest.raises(InputError, match="no target of interactions is left"):
                split.drop_unseen(users=by_user, items=by_item)
            continue
        less = split.drop_unseen(users=by_user, items=by_item)
        assert listed(less.test) == kept
        assert listed(less.train) == listed(split.train)
        assert less.protocol["dropped"] == len(split.test) - len(kept)
        again = less.drop_unseen(users=by_user, items=by_item)
        assert again.protocol == less.protocol


def test_card_by_hand():
    data = Interactions([1, 1, 1, 2, 2, 3, 4], list("abcabad"), [1, 2, 9, 1, 8, 1, 9], name="shop")
    card = data.split_by_time(8).card()
    assert repr(card) == (
        "shop\n"
        "  split                  by-time time=8\n"
        "  users                  4\n"
        "  items                  4\n"
        "  interactions           7\n"
        "  targets                3 (42.86 %), of 3 users\n"
        "  targets per user       1  1  1   (min, median, max)\n"
        "  users without targets  1\n"
        "  unseen users           1   (targets, but no training rows)\n"
        "  unseen items           2   (among the targets only)\n"
        "  sparsity               56.25 %\n"
        "  per user               1  1  1.5  2.25  3   (min, quartiles, max)\n"
        "  per item               1  1  1.5  2.25  3   (min, quartiles, max)"
    )
    shown = repr(data.split_per_user(0.4, "last", seed=7).card())
    assert "per-user share=0.4, how=last, seed=7" in shown
    less = data.split_by_time(8).drop_unseen()
    assert "by-time time=8, dropped=2" in repr(less.card())
    assert repr(less) == "Split(shop: train of 4, test of 1 rows; 2 users without targets)"
    # Made elsewhere, with a pair in both parts and one twice in the test.
    given_split = Split(Interactions([1, 1], [5, 6]), Interactions([1, 1, 1], [6, 7, 7]))
    assert given_split.card().repeated_targets == 2
    assert "as given" in repr(given_split.card())
    assert "repeated targets" in repr(given_split.card())


def test_how_it_was_made_is_saved(tmp_path: Path):
    data = grid(10, 8)
    for number, make_split in enumerate(SPLITS.values()):
        split = make_split(data, 3)
        split.save(tmp_path / str(number))
        again = tr.data.read_split(tmp_path / str(number), name=split.name)
        assert again.protocol == split.protocol
        assert repr(again.card()) == repr(split.card())
    assert split.protocol["split"] == "by-time"


def test_unseen_users_in_an_evaluation():
    users, items = np.divmod(np.arange(20 * 6), 6)
    data = Interactions(users, (items * 5 + users) % 30, items + 6 * (users == 3))
    split = data.split_by_time(5)
    assert split.unseen_users.tolist() == [3]
    told = {"item_ids": split.item_ids}
    scorer = tr.models.ItemKNN().fit(split.train, **told)
    with pytest.raises(InputError, match="user ids of test are unknown to the scorer: 3"):
        tr.rank(scorer, split.test, train=split.train)
    known = split.drop_unseen(items=False)
    assert len(tr.rank(scorer, known.test, train=known.train)) == len(split.test) - 6
    everyone = tr.models.ItemKNN().fit(split.train, user_ids=split.user_ids, **told)
    assert len(tr.rank(everyone, split.test, train=split.train)) == len(split.test)


# --- errors -------------------------------------------------------------------------------------


@pytest.mark.parametrize("share", [0, 1, -0.1, 1.5, 20, np.nan, "0.2", None, True])
def test_shares_are_shares(share):
    data = grid(3, 4)
    for split in (data.split_per_user, data.split_random):
        with pytest.raises(InputError, match=r"share is .*; it must be"):
            split(share)
    with pytest.raises(InputError, match="share"):
        data.split_by_time(share=share)


def test_users_with_too_few():
    data = Interactions([1, 1, 1, 2, 2, 3, 4, 5], [1, 2, 3, 1, 2, 1, 1, 1])
    split = data.leave_k_out(2, "random")
    assert split.users_without_targets.tolist() == [2, 3, 4, 5]
    assert set(split.test.user_id.tolist()) == {1}
    with pytest.raises(
        InputError,
        match=r"4 of 5 users of interactions have less than 3 interactions, such as 2, 3, 4; "
        r'.*too_few="train".*k_core\(3, items=1\)',
    ):
        data.leave_k_out(2, "random", too_few="refuse")
    assert len(data.k_core(3, items=1).leave_k_out(2, "random", too_few="refuse").test) == 2
    for refused in (
        lambda: data.leave_one_out("random", too_few="refuse"),
        lambda: data.split_per_user(0.2, too_few="refuse"),
    ):
        with pytest.raises(InputError, match=r"3 of 5 users .* less than 2 .* such as 3, 4, 5"):
            refused()
    with pytest.raises(InputError, match="no user of interactions has 4 interactions"):
        data.leave_k_out(3, "random")
    with pytest.raises(InputError, match="unknown too_few 'drop'"):
        data.leave_k_out(2, "random", too_few="drop")


@pytest.mark.parametrize("name", list(SPLITS))
def test_repeated_pairs_are_refused(name):
    data = Interactions([1, 1, 1, 1, 1], [2, 3, 2, 4, 5], [1, 2, 3, 4, 5])
    with pytest.raises(InputError, match=r"1 rows that repeat .* distinct\(\) first"):
        SPLITS[name](data, 0)
    assert len(SPLITS[name](data.distinct(), 0).test)


@pytest.mark.parametrize(
    ("split", "message"),
    [
        (lambda d: d.leave_k_out(0), "k is 0; it must be at least 1"),
        (lambda d: d.leave_k_out(1.5), "k is 1.5"),
        (lambda d: d.leave_k_out(1, "first"), "unknown how 'first'"),
        (lambda d: d.split_per_user(0.2, seed=-1), "seed is -1"),
        (lambda d: d.split_random(0.2, seed="x"), "seed is 'x'"),
        (lambda d: d.take([0]).split_random(0.2), "has 1 rows; a split needs two"),
        (lambda d: d.split_by_time(), "give either time= .* or share="),
        (lambda d: d.split_by_time(2, share=0.2), "and not both"),
        (lambda d: d.split_by_time(0), "time is 0; the times of .* go from 0 to 3, and both parts"),
        (lambda d: d.split_by_time(4), "time is 4"),
        (lambda d: d.split_by_time("2020-01-31"), "'2020-01-31', .* in microseconds since 1970"),
        (lambda d: d.split_by_time("soon"), "time is 'soon'; it must be a number or a date"),
        (lambda d: d.split_by_time(np.nan), "time is nan; it must be"),
        (lambda d: d.split_by_time(np.datetime64("NaT")), "it must be a number or a date"),
        (lambda d: d.take([0]).split_by_time(share=0.5), "less than two different times"),
    ],
)
def test_impossible_splits(split, message):
    with pytest.raises(InputError, match=message):
        split(grid(1, 4))


@pytest.mark.parametrize("name", ["leave-one-out last", "leave-2-out last", "per-user last"])
def test_the_last_needs_times(name):
    with pytest.raises(InputError, match=r'no timestamps; .*how="random".* timestamp column'):
        SPLITS[name](Interactions([1, 1], [2, 3]), 0)
    with pytest.raises(InputError, match=r"no timestamps; split at random"):
        SPLITS["by-time"](Interactions([1, 1], [2, 3]), 0)
