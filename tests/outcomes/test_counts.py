"""RankCounts: what is counted, how it adds up, how it is kept, and what it refuses."""

from __future__ import annotations

import dataclasses
import itertools
import re
import warnings
from collections import Counter
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given
from hypothesis import strategies as st

from truerank import InputError, RankCounts, metrics
from truerank.errors import AssumptionWarning
from truerank.outcomes._saving import FORMAT_VERSION
from truerank.outcomes.counts import is_saved
from truerank.outcomes.schemes import Scheme

# -- helpers --------------------------------------------------------------------------------


def outcomes(counts: RankCounts) -> dict[tuple[str, int, int, int], float]:
    """(scheme name, n_items, sample_size, sampled_rank) -> weight."""
    names = [counts.schemes[code].name for code in counts.scheme]
    columns = [counts.n_items, counts.sample_size, counts.sampled_rank]
    keys = zip(names, *(column.tolist() for column in columns), strict=True)
    return dict(zip(keys, counts.weight.tolist(), strict=True))


def identical(a: RankCounts, b: RankCounts) -> bool:
    """Equal bit for bit, in every field."""
    return a.schemes == b.schemes and all(
        np.array_equal(getattr(a, field.name), getattr(b, field.name))
        for field in dataclasses.fields(a)
        if field.name != "schemes"
    )


def small(ranks: Any = (1, 2, 3), **options: Any) -> RankCounts:
    return RankCounts.from_ranks(
        list(ranks) if isinstance(ranks, tuple) else ranks,
        **{"n_items": 1000, "sample_size": 10, **options},
    )


# -- counting -------------------------------------------------------------------------------


def test_counting_by_hand() -> None:
    counts = small([3, 1, 1, 10, 3, 1])
    assert outcomes(counts) == {
        ("with", 1000, 10, 1): 3.0,
        ("with", 1000, 10, 3): 2.0,
        ("with", 1000, 10, 10): 1.0,
    }
    assert counts.n_outcomes == 3
    assert counts.n_users == counts.total_weight == counts.squared_weight == 6.0
    assert counts.effective_users == 6.0
    assert counts.schemes == (Scheme(),)
    assert not counts.adaptive
    assert not counts.is_exact.any()


def test_scalars_are_one_value_for_all() -> None:
    ranks = [1, 4, 2, 2]
    wanted = small(ranks)
    for n_items, size in itertools.product(
        (1000, 1000.0, np.int32(1000), np.array(1000), [1000] * 4, np.full(4, 1000, np.uint16)),
        (10, np.array(10), (10,) * 4),
    ):
        assert identical(small(ranks, n_items=n_items, sample_size=size), wanted)


def test_pools_and_sizes_may_differ_by_row() -> None:
    counts = small([1, 2, 2, 1], n_items=[900, 800, 900, 900], sample_size=[10, 10, 12, 10])
    assert outcomes(counts) == {
        ("with", 800, 10, 2): 1.0,
        ("with", 900, 10, 1): 2.0,
        ("with", 900, 12, 2): 1.0,
    }


def test_ranks_come_as_any_kind_of_array() -> None:
    pd, pl = pytest.importorskip("pandas"), pytest.importorskip("polars")
    wanted = small([1, 2, 3])
    for ranks in (
        np.array([1, 2, 3], dtype=np.uint8),
        np.array([1.0, 2.0, 3.0], dtype=np.float32),
        np.array([1, 2, 3], dtype=np.uint64),
        (1, 2, 3),
        range(1, 4),
        ["1", "2", "3"],
        pd.Series([1, 2, 3], index=[7, 8, 9]),
        pd.array([1, 2, 3], dtype="Int64"),
        pl.Series([1, 2, 3]),
        pa.array([1, 2, 3]),
        pa.chunked_array([[1], [2, 3]]),
    ):
        counts = RankCounts.from_ranks(ranks, n_items=1000, sample_size=10)
        assert identical(counts, wanted)


def test_negatives_are_one_less_than_the_sample() -> None:
    ranks = [1, 101, 7]
    assert identical(
        RankCounts.from_ranks(ranks, n_items=5000, num_negatives=100),
        RankCounts.from_ranks(ranks, n_items=5000, sample_size=101),
    )
    assert identical(
        RankCounts.from_ranks(ranks, n_items=5000, num_negatives=[1, 100, 9]),
        RankCounts.from_ranks(ranks, n_items=5000, sample_size=[2, 101, 10]),
    )


def test_order_of_rows_does_not_matter() -> None:
    rng = np.random.default_rng(0)
    ranks, pools = rng.integers(1, 11, 500), rng.integers(900, 910, 500)
    order = rng.permutation(500)
    assert identical(small(ranks, n_items=pools), small(ranks[order], n_items=pools[order]))


def test_outcomes_are_sorted_and_distinct() -> None:
    rng = np.random.default_rng(1)
    counts = small(rng.integers(1, 11, 300), n_items=rng.integers(900, 905, 300))
    keys = list(outcomes(counts))
    assert keys == sorted(set(keys))
    assert len(keys) == counts.n_outcomes


def test_adaptive_samples() -> None:
    counts = RankCounts.from_ranks(
        [2, 1, 3, 1], n_items=9000, sample_size=[100, 400, 200, 400], ladder=[100, 200, 400]
    )
    assert counts.adaptive
    assert counts.schemes == (Scheme(ladder=(100, 200, 400)),)
    assert outcomes(counts)["with:100,200,400", 9000, 400, 1] == 2.0


# -- exact ranks ----------------------------------------------------------------------------


def test_exact_ranks_are_samples_of_the_whole_pool() -> None:
    counts = RankCounts.from_exact_ranks([1, 50, 3], n_items=[50, 50, 60])
    assert outcomes(counts) == {
        ("without", 50, 50, 1): 1.0,
        ("without", 50, 50, 50): 1.0,
        ("without", 60, 60, 3): 1.0,
    }
    assert counts.is_exact.all()


def test_exact_and_sampled_ranks_mix() -> None:
    counts = RankCounts.from_exact_ranks([1, 2], n_items=1000) + small([4])
    assert counts.is_exact.tolist() == [True, True, False]
    assert counts.n_users == 3.0
    # With replacement a sample as large as the pool is no exact rank.
    assert not small([4], n_items=10, replacement=True).is_exact.any()
    # A ladder that ends at the pool is.
    top = RankCounts.from_ranks(
        [1], n_items=40, sample_size=40, replacement=False, ladder=[10, 20, 80]
    )
    assert top.is_exact.all()


def test_exact_rank_beyond_the_pool_is_no_number_of_negatives() -> None:
    with pytest.raises(InputError, match="sampled_rank is 51 at row 1; ranks are 1-based") as info:
        RankCounts.from_exact_ranks([1, 51], n_items=50)
    assert "num_negatives" not in str(info.value)


# -- repeated draws -------------------------------------------------------------------------


def test_repeated_draws_of_a_user_make_one_larger_sample() -> None:
    counts = RankCounts.from_ranks(
        [2, 3, 1, 4],
        n_items=1000,
        sample_size=[10, 10, 10, 5],
        user_ids=["u", "v", "u", "u"],
        repeats="draws",
    )
    # u: negatives 9 + 9 + 4, above the target 1 + 0 + 3.
    assert outcomes(counts) == {("with", 1000, 10, 3): 1.0, ("with", 1000, 23, 5): 1.0}
    assert counts.n_users == 2.0


def test_users_with_one_row_each_count_as_rows() -> None:
    ranks = [3, 1, 2]
    assert identical(small(ranks, user_ids=[9, 4, 7]), small(ranks))


@given(st.lists(st.tuples(st.integers(0, 4), st.integers(1, 6)), min_size=1, max_size=30))
def test_draws_combine_as_in_a_loop(rows: list[tuple[int, int]]) -> None:
    sizes: Counter[int] = Counter()
    above: Counter[int] = Counter()
    for user, rank in rows:
        sizes[user] += 5
        above[user] += rank - 1
    wanted = Counter(("with", 1000, 1 + sizes[user], 1 + above[user]) for user in sizes)
    users, ranks = zip(*rows, strict=True)
    counts = RankCounts.from_ranks(
        ranks, n_items=1000, sample_size=6, user_ids=users, replacement=True, repeats="draws"
    )
    assert outcomes(counts) == dict(wanted)
    assert counts.n_users == len(sizes)


def test_ids_of_any_kind() -> None:
    ranks = [1, 2, 3]
    wanted = small(ranks, user_ids=[5, 6, 5], repeats="draws")
    for ids in (
        ["a", "b", "a"],
        np.array(["a", "b", "a"]),
        np.array(["a", "b", "a"], dtype=object),
        np.array([0.5, 0.25, 0.5]),
        np.array([2**63, 1, 2**63], dtype=np.uint64),
        pa.array(["a", "b", "a"]),
        [b"a", b"b", b"a"],
        np.array(["2020-01-01", "2020-01-02", "2020-01-01"], dtype="datetime64[D]"),
    ):
        assert identical(small(ranks, user_ids=ids, repeats="draws"), wanted)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"n_items": [1000, 999]}, "n_items is 999 at row 1 but 1000 in an earlier draw"),
        ({"n_items": 18, "replacement": False}, "add up to a sample of 19, more than n_items=18"),
        ({"weights": [1.0, 2.0]}, "weight is 2 at row 1; draws of one user share one"),
        ({"ladder": [10, 20], "ranks": [2, 2]}, "repeated adaptive samples of one user do not"),
    ],
)
def test_draws_that_cannot_be_of_one_user(options: dict[str, Any], message: str) -> None:
    options = {"ranks": [1, 2], **options}
    with pytest.raises(InputError, match=message):
        small(user_ids=["u", "u"], repeats="draws", **options)


# -- several targets ------------------------------------------------------------------------

USERS = ["u", "u", "u", "v", "w", "w"]
ITEMS = ["a", "b", "c", "a", "a", "b"]
RANKS = [1, 2, 5, 2, 1, 7]


TARGETS = {
    "user_ids": USERS,
    "item_ids": ITEMS,
    "rank_among": "negatives",
    "shared_negatives": True,
}


def per_user(counts: RankCounts, name: str) -> float:
    """The mean over users of a metric of known ranks."""
    (metric,) = metrics.parse(name)
    gain = metric.gain(
        counts.sampled_rank, counts.n_items, place=counts.place, n_targets=counts.n_targets
    )
    return float(counts.weight @ gain) / counts.n_users


def test_a_user_with_several_targets_counts_once() -> None:
    counts = small(RANKS, **TARGETS)
    found = {
        (rank, place, number): weight
        for rank, place, number, weight in zip(
            counts.sampled_rank.tolist(),
            counts.place.tolist(),
            counts.n_targets.tolist(),
            counts.weight.tolist(),
            strict=True,
        )
    }
    assert found == {
        **{(1, 1, 3): 1.0, (2, 2, 3): 1.0, (5, 3, 3): 1.0},  # u
        **{(2, 1, 1): 1.0},  # v
        **{(1, 1, 2): 1.0, (7, 2, 2): 1.0},  # w
    }
    assert counts.n_users == 3.0
    assert counts.total_weight == counts.squared_weight == 6.0
    assert counts.targets_per_user == 2.0
    # As fractions: u has 2 of 3 within 3 positions, v its only one, w 1 of 2.
    wanted = (Fraction(2, 3) + 1 + Fraction(1, 2)) / 3
    assert per_user(counts, "recall@3") == pytest.approx(float(wanted), rel=1e-15)


def test_ndcg_divides_by_ideal_gains() -> None:
    counts = small(RANKS, **TARGETS)
    two = 1 + 1 / np.log2(3)
    three = two + 1 / np.log2(4)
    # Positions: u 1, 3, 7; v 2; w 1, 8.
    u = (1 + 1 / np.log2(4) + 1 / np.log2(8)) / three
    w = (1 + 1 / np.log2(9)) / two
    wanted = (u + 1 / np.log2(3) + w) / 3
    assert per_user(counts, "ndcg") == pytest.approx(wanted, rel=1e-15)
    # Targets that no other item beats give the ideal list: ndcg 1 for each user.
    best = small([1, 1, 1], **{**TARGETS, "user_ids": ["u"] * 3, "item_ids": ITEMS[:3]})
    assert best.place.tolist() == [1, 2, 3]
    assert per_user(best, "ndcg") == pytest.approx(1.0, rel=1e-15)


def test_precision_counts_every_target() -> None:
    counts = small(RANKS, **TARGETS)
    # Within 3 positions u has 2, v 1, w 1; within 10 all 6.
    assert per_user(counts, "precision@3") == pytest.approx(4 / 3 / 3, rel=1e-15)
    assert per_user(counts, "precision@10") == pytest.approx(6 / 10 / 3, rel=1e-15)


def test_repeated_draws_of_a_target_combine() -> None:
    counts = small(
        [2, 3, 4],
        user_ids=["u", "u", "u"],
        item_ids=["a", "b", "a"],
        scores=[0.5, 0.9, 0.5],
        rank_among="negatives",
    )
    assert outcomes(counts) == {("with", 1000, 10, 3): 1.0, ("with", 1000, 19, 5): 1.0}
    assert counts.place.tolist() == [1, 2]
    assert counts.n_users == 1.0


def test_targets_of_different_users_do_not_meet() -> None:
    # The pair of codes is the unit: (0, 1) and (1, 0) are two.
    ids = {"user_ids": [0, 0, 1, 1], "item_ids": [0, 1, 0, 1]}
    counts = small([1, 2, 3, 4], **{**TARGETS, **ids})
    assert counts.n_outcomes == 4
    assert counts.n_users == 2.0
    assert counts.place.tolist() == [1, 2, 1, 2]


# -- weights --------------------------------------------------------------------------------


def test_weights_add_up_and_zeros_vanish() -> None:
    counts = small([1, 1, 2, 3], weights=[0.5, 0.25, 2, 0])
    assert outcomes(counts) == {("with", 1000, 10, 1): 0.75, ("with", 1000, 10, 2): 2.0}
    assert counts.n_users == 2.75
    assert counts.squared_weight == 0.25 + 0.0625 + 4.0
    assert counts.effective_users == 2.75**2 / 4.3125


def test_equal_weights_have_as_many_effective_users_as_rows() -> None:
    assert small([1, 1, 2, 3], weights=[0.25] * 4).effective_users == 4.0


def test_unused_schemes_are_dropped() -> None:
    mixed = small([1], weights=[1.0]) + RankCounts.from_exact_ranks([4], n_items=9)
    assert len(mixed.schemes) == 2
    part = mixed.select(mixed.is_exact)
    assert part is not None
    assert part.schemes == (Scheme(replacement=False),)
    assert part.n_users == 1.0
    assert mixed.select(np.zeros(2, dtype=bool)) is None


# -- adding up ------------------------------------------------------------------------------


@st.composite
def rows(draw: st.DrawFn) -> list[tuple[int, int, int, int]]:
    """(scheme number, n_items, sample_size, sampled_rank) rows of several schemes."""
    made = []
    for _ in range(draw(st.integers(1, 25))):
        scheme = draw(st.integers(0, 3))
        pool = draw(st.integers(20, 23))
        size = draw(st.sampled_from([4, 8])) if scheme < 3 else 4
        high = size if scheme < 2 else (2 if size == 4 else 5)
        low = 2 if scheme >= 2 and size == 4 else 1
        made.append((scheme, pool, size, draw(st.integers(low, max(low, high)))))
    return made


SCHEMES = [
    {"replacement": True},
    {"replacement": False},
    {"replacement": True, "ladder": (4, 8)},
    {"replacement": False, "ladder": (4, 8)},
]


def count(part: list[tuple[int, int, int, int]]) -> list[RankCounts]:
    """Counts of rows, one RankCounts a scheme."""
    made = []
    for scheme, options in enumerate(SCHEMES):
        mine = [row for row in part if row[0] == scheme]
        if mine:
            _, pool, size, rank = (list(column) for column in zip(*mine, strict=True))
            made.append(RankCounts.from_ranks(rank, n_items=pool, sample_size=size, **options))
    return made


@given(rows(), rows(), rows())
def test_parts_add_up_to_the_whole_in_any_order_and_grouping(
    a: list[Any], b: list[Any], c: list[Any]
) -> None:
    whole = sum(count(a + b + c))
    one, two, three = sum(count(a)), sum(count(b)), sum(count(c))
    for total in (
        (one + two) + three,
        one + (two + three),
        three + one + two,
        sum([two, three, one]),
        sum(reversed(count(a) + count(b) + count(c))),
    ):
        assert identical(total, whole)
        assert total == whole


@given(
    st.lists(st.tuples(st.integers(1, 10), st.floats(0.001, 1000.0)), min_size=2, max_size=40),
    st.integers(0, 2**32 - 1),
)
def test_fractions_add_up_to_1e_12(weighted: list[tuple[int, float]], seed: int) -> None:
    ranks, weights = (np.array(column) for column in zip(*weighted, strict=True))
    whole = small(ranks, weights=weights)
    rng = np.random.default_rng(seed)
    order = rng.permutation(ranks.size)
    cut = int(rng.integers(1, ranks.size))
    parts = [small(ranks[at], weights=weights[at]) for at in (order[:cut], order[cut:])]
    assert parts[0] + parts[1] == whole
    assert parts[1] + parts[0] == whole
    assert sum(parts).squared_weight == pytest.approx(whole.squared_weight, rel=1e-12)


def test_several_targets_add_up_over_users() -> None:
    whole = small(RANKS, **TARGETS)
    parts = [
        small(RANKS[at], **{**TARGETS, "user_ids": USERS[at], "item_ids": ITEMS[at]})
        for at in (slice(0, 3), slice(3, 4), slice(4, 6))
    ]
    assert sum(parts) == whole
    assert sum(parts).n_users == 3.0


def test_adding_anything_else_is_a_type_error() -> None:
    for other in (1, None, [small()], "x"):
        with pytest.raises(TypeError):
            small() + other
        with pytest.raises(TypeError):
            other + small()


def test_equality_is_one_bool() -> None:
    counts = small([1, 2, 3])
    assert (counts == small([3, 2, 1])) is True
    for other in (
        small([1, 2, 2]),
        small([1, 2, 3, 3]),
        small([1, 2, 3], n_items=999),
        small([1, 2, 3], sample_size=11),
        small([1, 2, 3], replacement=False),
        small([1, 2, 3], weights=[1, 1, 1 + 1e-9]),
        small([1, 2, 3], **{**TARGETS, "user_ids": [1, 1, 1], "item_ids": [1, 2, 3]}),
        None,
        3,
        "counts",
    ):
        assert (counts == other) is False
        assert (counts != other) is True
    assert counts == small([1, 2, 3], weights=[1, 1, 1 + 1e-15])


def test_from_outcomes_adds_up_repeated_ones() -> None:
    counts = RankCounts.from_outcomes(
        Scheme(replacement=False),
        n_items=[30, 40, 30],
        sample_size=5,
        sampled_rank=[2, 2, 2],
        weight=[10, 20, 5],
        n_users=35,
        squared_weight=35,
    )
    assert outcomes(counts) == {("without", 30, 5, 2): 15.0, ("without", 40, 5, 2): 20.0}
    assert counts.effective_users == 35.0


# -- nothing changes ------------------------------------------------------------------------


def test_counts_cannot_be_changed() -> None:
    counts = small([1, 2]) + RankCounts.from_exact_ranks([1], n_items=9)
    for field in dataclasses.fields(counts):
        with pytest.raises(dataclasses.FrozenInstanceError):
            setattr(counts, field.name, None)
        value = getattr(counts, field.name)
        if isinstance(value, np.ndarray):
            with pytest.raises(ValueError, match="read-only"):
                value[0] = 7
    with pytest.raises(TypeError):
        hash(counts)


def test_what_goes_in_is_left_alone() -> None:
    ranks = np.array([3, 1, 2])
    sizes = np.array([10, 11, 12])
    weights = np.array([0.5, 1.0, 2.0])
    kept = [array.copy() for array in (ranks, sizes, weights)]
    counts = small(ranks, sample_size=sizes, weights=weights)
    for array, copy in zip((ranks, sizes, weights), kept, strict=True):
        np.testing.assert_array_equal(array, copy)
        array[:] = 9  # and counts do not hold on to them
    assert counts.weight.tolist() == [0.5, 1.0, 2.0]


# -- what it says ---------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("counts", "parts"),
    [
        (
            small([1] * 1500),
            ["1,500 users", "pools of 1,000 items", "sample sizes 10;", "with rep"],
        ),
        (small([1, 2], n_items=[900, 1000]), ["2 users", "pools of 900 to 1,000 items"]),
        (small([1, 2], sample_size=[8, 10]), ["sample sizes 8 to 10", "2 outcomes"]),
        (small([1, 2], weights=[0.5, 0.75]), ["1.25 users"]),
        (small([1], weights=[1234567.0]), ["1,234,567 users"]),
        (
            RankCounts.from_ranks(
                [2], n_items=9000, sample_size=50, ladder=[50, 100], replacement=False
            ),
            ["adaptive, without replacement"],
        ),
        (
            RankCounts.from_exact_ranks([2], n_items=50) + small([1, 2, 3]),
            ["4 users", "pools of 50 to 1,000", "without replacement", "25 % exact"],
        ),
    ],
)
def test_repr_tells_users_pools_and_sizes(counts: RankCounts, parts: list[str]) -> None:
    for part in parts:
        assert part in repr(counts)


# -- the warning about replacement ----------------------------------------------------------


@pytest.mark.parametrize(
    ("n_items", "sample_size", "warns"),
    [(100, 5, False), (100, 6, True), (60, 3, False), (59, 3, True), (2000, 100, False)],
)
def test_replacement_unsaid_warns_above_five_percent(
    n_items: int, sample_size: int, warns: bool
) -> None:
    options = {"n_items": n_items, "sample_size": sample_size}
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        counts = RankCounts.from_ranks([1], **options)
    assert [w.category for w in caught] == [AssumptionWarning] * warns
    assert counts.schemes == (Scheme(replacement=True),)
    if warns:
        assert f"sample_size {sample_size} is" in str(caught[0].message)
        assert f"n_items={n_items}" in str(caught[0].message)
        assert Path(caught[0].filename) == Path(__file__)
    for said in (True, False, np.bool_(True)):  # warnings are errors here
        assert RankCounts.from_ranks([1], replacement=said, **options).schemes == (
            Scheme(replacement=bool(said)),
        )


def test_one_user_above_five_percent_is_enough() -> None:
    with pytest.warns(AssumptionWarning, match="sample_size 10 is 25 % of n_items=40"):
        small([1, 1, 1], n_items=[1000, 40, 1000])


def test_draws_count_together() -> None:
    five = {"ranks": [1] * 5, "sample_size": 10, "n_items": 900}
    small(**five, user_ids=range(5))
    with pytest.warns(AssumptionWarning, match="sample_size 46 is 5 % of n_items=900"):
        small(**five, user_ids=[0] * 5, repeats="draws")


def test_bad_input_is_refused_before_anything_is_assumed() -> None:
    with pytest.raises(InputError, match="sampled_rank"):
        small([1, 99], n_items=40)


# -- files ----------------------------------------------------------------------------------

KEPT = {
    "whole users": small([1, 2, 2, 9]),
    "fractions": small([1, 2, 3], weights=[1 / 3, 0.1, 1e-9]),
    "several targets": small(RANKS, **TARGETS),
    "several schemes": sum(
        [
            small([1, 2]),
            small([4], replacement=False),
            RankCounts.from_exact_ranks([5], n_items=700),
            RankCounts.from_ranks([2, 1], n_items=900, sample_size=[16, 32], ladder=[16, 32]),
            RankCounts.from_ranks(
                [3], n_items=900, sample_size=16, ladder=[16, 32], hits=2, replacement=False
            ),
        ]
    ),
}


@pytest.mark.parametrize("name", KEPT)
def test_saved_counts_come_back_bit_for_bit(name: str, tmp_path: Path) -> None:
    path = tmp_path / "counts.parquet"
    KEPT[name].save(path)
    assert is_saved(path)
    assert identical(RankCounts.load(path), KEPT[name])
    assert identical(RankCounts.load(str(path)), KEPT[name])
    assert [p.name for p in tmp_path.iterdir()] == ["counts.parquet"]


def test_saving_replaces_what_was_there(tmp_path: Path) -> None:
    path = tmp_path / "counts.pq"
    small([1]).save(path)
    small([2]).save(str(path))
    assert RankCounts.load(path) == small([2])


def test_saved_counts_are_readable_by_others(tmp_path: Path) -> None:
    pd = pytest.importorskip("pandas")
    path = tmp_path / "counts.parquet"
    KEPT["several schemes"].save(path)
    frame = pd.read_parquet(path)
    key = ["scheme", "n_items", "sample_size", "sampled_rank", "replicate"]
    assert list(frame.columns) == [*key, "weight"]
    assert set(frame["scheme"]) == {s.name for s in KEPT["several schemes"].schemes}
    pd.testing.assert_frame_equal(frame, KEPT["several schemes"].to_pandas())


def rewritten(path: Path, facts: bytes | None, **columns: Any) -> Path:
    """A saved file with other metadata or other columns."""
    table = small([1, 2, 3]).to_arrow()
    old = table.schema.metadata
    for name, values in columns.items():
        at = table.schema.get_field_index(name)
        table = table.remove_column(at) if values is None else table.set_column(at, name, [values])
    ((key, _),) = old.items()
    table = table.replace_schema_metadata(old if facts is None else {key: facts})
    pq.write_table(table, path)
    return path


@pytest.mark.parametrize(
    ("facts", "columns", "message"),
    [
        (f"{FORMAT_VERSION + 1} 3.0 3.0".encode(), {}, "RankCounts format '3'.*reads up to 2: upg"),
        (b"12 new things", {}, "format '12'.*upgrade truerank"),
        (b"", {}, "format ''"),
        (b"\xff\xfe", {}, "format"),
        (b"9" * 5000 + b" 3 3", {}, "format '9999"),
        (b"1 3.0", {}, "is damaged"),
        (b"1 3.0 3.0 3.0", {}, "is damaged"),
        (b"1 three 3.0", {}, "is damaged"),
        (b"1 nan 3.0", {}, "n_users is nan"),
        (b"1 inf 3.0", {}, "n_users is inf"),
        (b"1 0 3.0", {}, "n_users is 0.0; it must be above 0"),
        (b"1 3.0 -1", {}, "squared_weight is -1.0; it must be above 0"),
        (None, {"scheme": ["with", "perhaps", "with"]}, "is damaged: scheme is 'perhaps'"),
        (None, {"scheme": ["with", None, "with"]}, "is damaged: scheme is None"),
        (None, {"scheme": None}, "is damaged: .* has no column scheme; found: n_items"),
        (None, {"weight": None}, "has no column weight; found: scheme, n_items"),
        (None, {"sampled_rank": [1, 0, 2]}, "sampled_rank is 0 at row 1"),
        (None, {"sampled_rank": [1, 12, 2]}, "sampled_rank is 12 at row 1"),
        (None, {"sample_size": [10, 1, 10]}, "sample_size is 1 at row 1"),
        (None, {"n_items": [10, 1, 10]}, "n_items is 1 at row 1"),
        (None, {"weight": [1.0, -1.0, 1.0]}, "weight is -1 at row 1"),
        (None, {"weight": [0.0, 0.0, 0.0]}, "all weights are 0"),
        (None, {"weight": [1.0, float("nan"), 1.0]}, "weight is nan at row 1"),
    ],
)
def test_damaged_and_newer_files_are_refused(
    facts: bytes | None, columns: dict[str, Any], message: str, tmp_path: Path
) -> None:
    path = rewritten(tmp_path / "counts.parquet", facts, **columns)
    with pytest.raises(InputError, match=message):
        RankCounts.load(path)


def test_schemes_spelt_otherwise_are_still_read(tmp_path: Path) -> None:
    spelt = ["with", "with:0010:hits=1", "with:10"]
    path = rewritten(tmp_path / "counts.parquet", None, scheme=spelt, sampled_rank=[1, 2, 2])
    assert outcomes(RankCounts.load(path)) == {
        ("with", 1000, 10, 1): 1.0,
        ("with:10", 1000, 10, 2): 2.0,
    }


def test_loading_what_is_no_counts_file(tmp_path: Path) -> None:
    ranks = tmp_path / "ranks.parquet"
    pq.write_table(pa.table({"rank": [1, 2]}), ranks)
    text = tmp_path / "ranks.csv"
    text.write_text("rank\n1\n")
    for path in (ranks, text):
        with pytest.raises(InputError, match=r"holds no RankCounts.*RankCounts.from_table"):
            RankCounts.load(path)
        assert not is_saved(path)
    with pytest.raises(InputError, match=r"nowhere.parquet does not exist"):
        RankCounts.load(tmp_path / "nowhere.parquet")
    for path in (tmp_path / "nowhere.parquet", tmp_path, tmp_path / ("x" * 5000)):
        assert not is_saved(path)


def test_saving_where_it_cannot_be_read_again(tmp_path: Path) -> None:
    for name in ("counts", "counts.csv", "counts.parquet.gz"):
        with pytest.raises(InputError, match=r"its name must end in \.parquet"):
            small().save(tmp_path / name)
    with pytest.raises(InputError, match=r"the folder .* does not exist"):
        small().save(tmp_path / "nowhere" / "counts.parquet")
    folder = tmp_path / "folder.parquet"
    folder.mkdir()
    with pytest.raises(InputError, match="it is a folder"):
        small().save(folder)
    assert list(tmp_path.iterdir()) == [folder]


# -- bad input ------------------------------------------------------------------------------

NAN = float("nan")


@pytest.mark.parametrize(
    ("options", "message"),
    [
        # ranks
        ({"ranks": []}, "ranks is empty"),
        ({"ranks": [1, 0]}, "sampled_rank is 0 at row 1: these look like 0-based ranks.*add 1"),
        ({"ranks": [3, -2]}, "sampled_rank is -2 at row 1; .* from 1 to sample_size=10"),
        ({"ranks": [3, 12]}, "sampled_rank is 12 at row 1; .* from 1 to sample_size=10"),
        ({"ranks": [3, 11]}, "sampled_rank is 11 at row 1.*sample_size=10.*num_negatives=10"),
        ({"ranks": [3, 11, 40]}, "sampled_rank is 11 at row 1; ranks are 1-based"),
        ({"ranks": [1.5]}, "sampled_rank is 1.5 at row 0; it must be a whole number"),
        ({"ranks": [1, NAN]}, "sampled_rank is nan at row 1; it must be a finite number"),
        ({"ranks": [1, None]}, "sampled_rank is nan at row 1"),
        ({"ranks": [float("inf")]}, "sampled_rank is inf at row 0"),
        ({"ranks": [2**60]}, "it must be a whole number of at most 2"),
        ({"ranks": [1e300]}, r"sampled_rank is 1e\+300 at row 0"),
        ({"ranks": ["1", "first"]}, "sampled_rank holds values that are not numbers, such as"),
        ({"ranks": [10**400, 1]}, "not numbers"),
        ({"ranks": [True, True]}, "sampled_rank holds values of type bool"),
        ({"ranks": [1 + 2j]}, "of type complex128"),
        ({"ranks": np.array(["2020-01-01"], dtype="datetime64[s]")}, "of type datetime64"),
        ({"ranks": np.ma.array([1, 2], mask=[False, True])}, "sampled_rank is masked at row 1"),
        ({"ranks": 3}, r"sampled_rank has shape \(\); it must be one-dim"),
        ({"ranks": [[1, 2], [3, 4]]}, r"sampled_rank has shape \(2, 2\)"),
        ({"ranks": [[1], [3, 4]]}, "sampled_rank is nested"),
        # pools
        ({"n_items": 1}, "n_items is 1; it must be at least 2 .a pool holds the target and"),
        ({"n_items": 0}, "n_items is 0; it must be at least 2"),
        ({"n_items": [1000, 1, 1000]}, "n_items is 1 at row 1; a pool holds the target and"),
        ({"n_items": 99.5}, "n_items is 99.5; it must be a whole number"),
        ({"n_items": NAN}, "n_items is nan; it must be a whole number"),
        ({"n_items": None}, "n_items is None; it must be a whole number"),
        ({"n_items": "many"}, "n_items is 'many'"),
        ({"n_items": True}, "n_items is True"),
        ({"n_items": 10**30}, "at most 2"),
        ({"n_items": [1000, 1000]}, "n_items has 2 values; there are 3 ranks"),
        ({"n_items": [1000, NAN, 1000]}, "n_items is nan at row 1"),
        # sizes
        ({"sample_size": 1}, "sample_size is 1; it must be at least 2 .it counts the target"),
        ({"sample_size": 0}, "sample_size is 0; it must be at least 2"),
        ({"sample_size": [10, 1, 10]}, "sample_size is 1 at row 1; it counts the target"),
        ({"sample_size": [10, 10]}, "sample_size has 2 values; there are 3 ranks"),
        ({"sample_size": [[10], [1, 2]]}, "sample_size is nested"),
        ({"sample_size": None}, "sample_size and num_negatives: neither given"),
        ({"num_negatives": 9}, "sample_size and num_negatives: both given"),
        ({"sample_size": None, "num_negatives": 0}, "num_negatives is 0; it must be at least 1"),
        ({"sample_size": None, "num_negatives": [9, 0, 9]}, "sample_size is 1 at row 1"),
        ({"sample_size": None, "num_negatives": [2**63 - 1] * 3}, "num_negatives is 92233"),
        (
            {"sample_size": 1001, "replacement": False},
            r"sample_size is 1001 at row 0; .*n_items is 1000",
        ),
        # schemes
        ({"replacement": "yes"}, "replacement is 'yes'; it must be True or False"),
        ({"ladder": 10}, "ladder is 10; it must be a sequence"),
        ({"ladder": [10, 5]}, "its sizes must increase"),
        ({"hits": 2}, "hits is 2; it has no meaning without a ladder"),
        ({"ladder": [10, 20]}, r"impossible adaptive outcome at row 0: sample_size 10, sampled_ra"),
        ({"ladder": [8, 20]}, r"row 0: sample_size 10.*the sizes of this ladder are \[8, 20\]"),
        ({"ladder": [5, 10], "ranks": [1, 7, 1]}, "row 1: .*allows ranks 1 to 6"),
        # ids
        ({"user_ids": [1, 2]}, "user_ids has 2 values; there are 3 ranks"),
        ({"user_ids": [1, None, 2]}, "user_ids has 1 missing values"),
        ({"user_ids": [1.0, NAN, NAN]}, "user_ids has 2 missing values"),
        ({"user_ids": ["a", NAN, "b"]}, "user_ids has 1 missing values"),
        ({"user_ids": [1, "1", 2]}, "user_ids cannot be read as ids"),
        ({"user_ids": [[1], [1, 2], [3]]}, "user_ids cannot be read as ids"),
        ({"user_ids": "abc"}, "user_ids cannot be read as ids"),
        ({"item_ids": [1, 2, 3]}, "item_ids is given without user_ids"),
        ({"user_ids": [1, 2, 3], "item_ids": [1, 2]}, "item_ids has 2 values; there are 3"),
        # weights
        ({"weights": [1, -0.5, 1]}, "weight is -0.5 at row 1; weights are at least 0"),
        ({"weights": [0, 0, 0]}, "all weights are 0"),
        ({"weights": [1, NAN, 1]}, "weight is nan at row 1"),
        ({"weights": [1, float("inf"), 1]}, "weight is inf at row 1"),
        ({"weights": [1, 1e-61, 1]}, r"weight is 1e-61 at row 1; weights are 0, or at least 1e-60"),
        ({"weights": [1, 1e200, 1]}, r"weight is 1e\+200 at row 1; weights are at most 1e\+100"),
        ({"weights": [1e-200] * 3}, "squared_weight is 0.0; it must be above 0"),
        ({"weights": [1, 2]}, "weights has 2 values; there are 3 ranks"),
        ({"weights": 2.0}, r"weight has shape \(\)"),
        # several targets: test_targets.py has the rest
        ({"repeats": "target"}, "unknown repeats 'target'; did you mean 'targets'"),
        ({"rank_among": "negative"}, "unknown rank_among 'negative'; did you mean 'negatives'"),
    ],
)
def test_bad_input_names_the_thing_and_its_bound(options: dict[str, Any], message: str) -> None:
    options = {"ranks": [1, 2, 3], **options}
    with pytest.raises(InputError, match=message):
        small(**options)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"sampled_rank": [], "weight": []}, "ranks is empty"),
        ({"weight": [0.0]}, "all weights are 0"),
        ({"weight": [-1.0]}, "weight is -1 at row 0"),
        ({"sampled_rank": [6]}, "num_negatives=5"),
        ({"n_users": NAN}, "n_users is nan; it must be above 0"),
        ({"n_users": 0.0}, "n_users is 0.0; it must be above 0"),
        ({"squared_weight": -1.0}, "squared_weight is -1.0; it must be above 0"),
        ({"sample_size": 1}, "sample_size is 1; it must be at least 2"),
        ({"n_items": 1}, "n_items is 1; it must be at least 2"),
    ],
)
def test_bad_outcomes(options: dict[str, Any], message: str) -> None:
    given_options = {"n_items": 30, "sample_size": 5, "sampled_rank": [2], "weight": [1.0]}
    with pytest.raises(InputError, match=message):
        RankCounts.from_outcomes(Scheme(), **{**given_options, **options})


def test_input_errors_are_value_errors_of_one_line() -> None:
    with pytest.raises(ValueError, match=re.compile("^[^\n]+$")):
        small([0])


def _grouped() -> RankCounts:
    return RankCounts.from_outcomes(
        Scheme(replacement=True),
        n_items=50,
        sample_size=5,
        sampled_rank=[1, 1, 2, 1],
        replicate=[3, 7, 3, 0],
        weight=[2, 1, 1, 4],
    )


def test_replicate_groups_are_kept_apart_until_pooled(tmp_path: Path) -> None:
    counts = _grouped()
    assert counts.replicate.tolist() == [0, 3, 7, 3]
    assert counts.weight.tolist() == [4, 2, 1, 1]
    assert "shared" in repr(counts)
    counts.save(tmp_path / "counts.parquet")
    assert RankCounts.load(tmp_path / "counts.parquet") == counts
    assert (counts + counts).weight.tolist() == [8, 4, 2, 2]
    pooled = counts.pooled()
    assert pooled.weight.tolist() == [7, 1]
    assert pooled != counts
    assert (pooled.n_users, pooled.squared_weight) == (counts.n_users, counts.squared_weight)
    assert pooled.pooled() is pooled


@pytest.mark.parametrize("replicate", [[-1, 0, 0, 0], [101, 0, 0, 0], [1, 2], [0.5, 0, 0, 0]])
def test_bad_replicate_groups(replicate: list[float]) -> None:
    with pytest.raises(InputError, match="replicate"):
        RankCounts.from_outcomes(
            Scheme(replacement=True),
            n_items=50,
            sample_size=5,
            sampled_rank=[1, 1, 2, 1],
            replicate=replicate,
            weight=[2, 1, 1, 4],
        )


def test_as_users_keeps_proportions_and_says_how_many():
    counts = RankCounts.from_ranks([1, 1, 2, 5], sample_size=10, n_items=100, replacement=True)
    few = (counts + counts).as_users(3)
    assert few.weight.tolist() == [1.5, 0.75, 0.75]
    assert few.effective_users == pytest.approx(3)
    assert few.sampled_rank.tolist() == counts.sampled_rank.tolist()


@pytest.mark.parametrize(
    "sample", [{"num_negatives": 99}, {"sample_size": 100}, {"sample_size": 100, "hits": 2}]
)
def test_many_ranks_of_one_size_are_counted_as_one_by_one(sample):
    """Arrays of ranks alone are counted before they are looked at; lists are not."""
    ranks = np.random.default_rng(0).integers(1, 101, 5000)
    if "hits" in sample:
        sample = sample | {"ladder": (100, 400)}
        ranks = np.where(ranks < 3, 3, ranks)
    options = {**sample, "n_items": 3706, "replacement": False}
    quick = RankCounts.from_ranks(ranks, **options)
    slow = RankCounts.from_ranks(ranks.tolist(), **options)
    assert quick == slow
    assert (quick.n_users, quick.squared_weight) == (slow.n_users, slow.squared_weight)


@pytest.mark.parametrize("bad", [0, 101])
def test_a_bad_one_of_many_ranks_is_named(bad):
    ranks = np.full(5000, 7)
    ranks[4321] = bad
    with pytest.raises(InputError, match=f"sampled_rank is {bad} at row 4321"):
        RankCounts.from_ranks(ranks, n_items=3706, num_negatives=99)
