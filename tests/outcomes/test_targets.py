"""Several targets per user: what ranks have to come with, and what is made of them."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given
from hypothesis import strategies as st

import truerank as tr
from truerank import InputError, RankCounts
from truerank.outcomes import _places
from truerank.outcomes.schemes import Scheme

# Two users: ann has three targets, bob one.
USERS = ["ann", "ann", "ann", "bob"]
ITEMS = ["x", "y", "z", "x"]
RANKS = [4, 1, 2, 3]
TABLE = {"user_id": USERS, "item_id": ITEMS, "rank": RANKS}
DESIGN = {"n_items": 1000, "sample_size": 10, "replacement": False}
SHARED = {"rank_among": "negatives", "shared_negatives": True}


def count(ranks: Any = tuple(RANKS), **options: Any) -> RankCounts:
    given = {**DESIGN, "user_ids": USERS, "item_ids": ITEMS, **options}
    return RankCounts.from_ranks(list(ranks), **given)


def rows(counts: RankCounts, *names: str) -> list[tuple[int, ...]]:
    """(sampled_rank, place, n_targets, more) of every outcome, sorted."""
    columns = [getattr(counts, name) for name in ("sampled_rank", "place", "n_targets", *names)]
    return sorted(zip(*(column.tolist() for column in columns), strict=True))


# -- what is missing is named ---------------------------------------------------------------


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (
            {"item_ids": None},
            r"the user of row 1 has more than one row, and there is no item_id: give item_id if "
            r"users have several targets \(or say repeats='targets'\), or say repeats='draws'",
        ),
        (
            {},
            "several targets and rank_among is not given: say rank_among='negatives' if each rank "
            "is among the user's non-targets, rank_among='list' if all targets of a user stand in",
        ),
        (
            {"rank_among": "negatives"},
            "each ranked among negatives of its own, .* give score .* or say shared_negatives=True",
        ),
        (
            {"rank_among": "negatives", "shared_negatives": False},
            "give score .* or say shared_negatives=True",
        ),
        (
            # A sample as large as the pool, drawn with replacement, is none of the whole pool.
            {"rank_among": "negatives", "n_items": 10, "replacement": True},
            "give score .* or say shared_negatives=True",
        ),
        ({"rank_among": "items"}, "unknown rank_among 'items'.*known: negatives, list"),
        ({"rank_among": "negatives", "repeats": "rows"}, "unknown repeats 'rows'.*targets, draws"),
        (
            {"ranks": [4, 1, 4, 3], "rank_among": "list"},
            "rank_among is 'list' and rank 4 occurs twice for the user of row 2; positions in one "
            "list differ: were they ranked among the negatives",
        ),
        (
            {"item_ids": ["x", "y", "x", "x"], "rank_among": "list"},
            "rank_among is 'list' and a target has several rows; .* among the negatives",
        ),
        (
            {"place": [3, 1, 2, 2], "n_targets": [3, 3, 3, 1]},
            "place is 2 at row 3; the user has n_targets=1, and the best of them has place 1",
        ),
        ({"place": [3, 1, 2, 1]}, "place is 3 at row 0; the user has n_targets=1"),
        ({"place": [0, 1, 2, 1], "n_targets": 3}, "place is 0 at row 0; it is at least 1"),
        (
            {"place": [3, 1, 3, 1], "n_targets": [3, 3, 3, 1]},
            "place is 3 at row 2 and for another target of the same user",
        ),
        (
            {"n_targets": [2, 2, 2, 1], **SHARED},
            "n_targets is 2 at row 0; its user has 3 targets here",
        ),
        ({"n_targets": [0, 3, 3, 1], **SHARED}, "n_targets is 0 at row 0; it is at least 1"),
        ({"n_targets": 3, "user_ids": None, "item_ids": None}, "n_targets .* there is no user_id"),
        ({"offset": [0, -1, 0, 0], **SHARED}, "offset is -1 at row 1; it is at least 0"),
        ({"offset": [0, 0], **SHARED}, "offset has 2 values; there are 4 ranks"),
        ({"rank_among": "negatives", "scores": [1, 2, 3]}, "scores has 3 values; there are 4"),
        ({"rank_among": "negatives", "scores": [1, 2, np.nan, 3]}, "score is nan at row 2"),
        (
            {"item_ids": ["x", "y", "x", "x"], "rank_among": "negatives", "scores": [1, 2, 3, 4]},
            "score is 3 at row 2 but 1 in an earlier draw of the same target",
        ),
        (
            {"item_ids": ["x", "y", "x", "x"], **SHARED},
            "the target of row 1 met 9 negatives and another of its user 18, .* give score",
        ),
        ({"weights": [1, 1, 2, 1], **SHARED}, "weight is 2 at row 2; draws of one user share one"),
        ({"ranks": [0, 1, 2, 3], **SHARED}, "sampled_rank is 0 at row 0: these look like 0-based"),
    ],
)
def test_what_is_missing_or_wrong_is_named(options: dict[str, Any], message: str) -> None:
    with pytest.raises(InputError, match=message):
        count(**options)


@pytest.mark.parametrize(
    ("columns", "options", "message"),
    [
        (("user_id", "rank"), {}, "no item_id: give item_id if users have several targets"),
        (("user_id", "item_id", "rank"), {}, "rank_among is not given"),
        (("user_id", "item_id", "rank"), {"rank_among": "negatives"}, "give score"),
    ],
)
def test_what_a_table_misses_is_named(
    columns: tuple[str, ...], options: dict[str, Any], message: str
) -> None:
    table = pa.table({name: TABLE[name] for name in columns})
    with pytest.raises(InputError, match=message):
        RankCounts.from_table(table, **DESIGN, **options)
    with_model = table.append_column("model", pa.array(["m"] * 4))
    with pytest.raises(InputError, match=message):
        RankCounts.by_model(with_model, **DESIGN, **options)


# -- places ---------------------------------------------------------------------------------

WANTED = [(1, 1, 3), (2, 2, 3), (3, 1, 1), (4, 3, 3)]


def test_every_door_gives_the_same_places() -> None:
    """Ranks 4, 1 and 2 of three targets among the same negatives: places 3, 1 and 2."""
    assert rows(count(**SHARED)) == WANTED
    scores = {"rank_among": "negatives", "scores": [0.1, 0.9, 0.5, 0.2]}
    assert rows(count(**scores)) == WANTED
    assert rows(count(place=[3, 1, 2, 1], n_targets=[3, 3, 3, 1])) == WANTED
    assert rows(count(item_ids=None, repeats="targets", **SHARED)) == WANTED
    table = pa.table(TABLE)
    assert RankCounts.from_table(table, **DESIGN, **SHARED) == count(**SHARED)
    for name in ("score", "prediction"):
        found = RankCounts.from_table(
            table.append_column(name, pa.array(scores["scores"])), **DESIGN, rank_among="negatives"
        )
        assert found == count(**scores)
    known = table.append_column("place", pa.array([3, 1, 2, 1]))
    known = known.append_column("n_targets", pa.array([3, 3, 3, 1]))
    assert rows(RankCounts.from_table(known, **DESIGN)) == WANTED


def test_scores_order_targets_that_met_other_negatives() -> None:
    """The best target was unlucky with its negatives."""
    counts = count(rank_among="negatives", scores=[0.9, 0.5, 0.1, 0.2])
    assert rows(counts) == [(1, 2, 3), (2, 3, 3), (3, 1, 1), (4, 1, 3)]
    assert not counts.replicate.any()


def test_targets_that_met_the_same_negatives_are_marked() -> None:
    for counts in (count(**SHARED), count(ranks=[6, 1, 3, 3], rank_among="list")):
        several = counts.n_targets > 1
        shared = np.array([scheme.shared for scheme in counts.schemes])[counts.scheme]
        assert (shared == several).all()
        assert not counts.replicate.any()
        assert (counts.block[several] > 0).all()
        assert (counts.block[~several] == 0).all()
        assert len(set(counts.block[several].tolist())) == 1


def test_rows_in_any_order_give_the_same_counts() -> None:
    order = [2, 3, 0, 1]
    scores = [0.5, 0.5, 0.5, 0.1]  # all of one score
    for options in (SHARED, {"rank_among": "negatives", "scores": scores}):
        turned = {
            name: [values[at] for at in order] if name == "scores" else values
            for name, values in options.items()
        }
        found = RankCounts.from_ranks(
            [RANKS[at] for at in order],
            **DESIGN,
            user_ids=[USERS[at] for at in order],
            item_ids=[ITEMS[at] for at in order],
            **turned,
        )
        assert found == count(**options)


def test_exact_ranks_need_no_scores() -> None:
    ids = {"user_ids": USERS, "item_ids": ITEMS}
    counts = RankCounts.from_exact_ranks(RANKS, n_items=20, **ids, rank_among="negatives")
    assert rows(counts) == WANTED
    assert counts.is_exact.all()
    listed = RankCounts.from_exact_ranks(
        [6, 1, 3, 3], n_items=[22, 22, 22, 20], **ids, rank_among="list"
    )
    assert rows(listed) == WANTED
    assert listed.is_exact.all()


def test_equal_ranks_among_the_same_negatives_need_no_order() -> None:
    counts = count(ranks=[2, 2, 2, 3], **SHARED)
    assert rows(counts) == [(2, 1, 3), (2, 2, 3), (2, 3, 3), (3, 1, 1)]


def test_targets_that_are_not_listed_count_in_their_number() -> None:
    """A list cut at its end: two of ann's five targets are in it, and bob's one of two."""
    ids = {"user_ids": ["ann", "ann", "bob"], "item_ids": ["x", "y", "x"]}
    whole = count(ranks=[3, 1, 2], **ids, n_targets=[5, 5, 2], rank_among="list", n_items=1005)
    assert rows(whole, "n_items", "sample_size") == [
        *((1, 1, 5, 1001, 6), (2, 1, 2, 1004, 9)),
        (2, 2, 5, 1001, 6),
    ]
    # Users alone give the same, though the one has a single row.
    parts = [
        count(
            ranks=ranks,
            user_ids=users,
            item_ids=items,
            n_targets=number,
            rank_among="list",
            n_items=1005,
        )
        for ranks, users, items, number in (
            ([3, 1], ["ann", "ann"], ["x", "y"], 5),
            ([2], ["bob"], ["x"], 2),
        )
    ]
    assert parts[0] + parts[1] == whole


def test_an_offset_is_kept_apart() -> None:
    counts = count(**SHARED, offset=[2, 0, 0, 7])
    assert rows(counts, "offset") == [(1, 1, 3, 0), (2, 2, 3, 0), (3, 1, 1, 7), (4, 3, 3, 2)]
    alone = RankCounts.from_ranks([1, 1, 2], **DESIGN, offset=[0, 3, 3])
    assert alone.several
    assert alone.n_outcomes == 3
    assert alone.targets_per_user == 1.0


# -- ranks among the negatives, and positions in one list -------------------------------------


@st.composite
def lists(draw: st.DrawFn) -> list[tuple[int, int, int, int]]:
    """(user, position, rank among the negatives, number of targets) of lists of 12 negatives."""
    made = []
    for user in range(draw(st.integers(1, 6))):
        t = draw(st.integers(1, 5))
        order = draw(st.permutations([True] * t + [False] * 12))
        positions = [at for at, hit in enumerate(order, 1) if hit]
        made += [(user, p, p - i, t) for i, p in enumerate(positions)]
    return made


@given(lists(), st.booleans(), st.randoms(use_true_random=False))
def test_positions_in_a_list_give_the_ranks_among_the_negatives(
    made: list[tuple[int, int, int, int]], as_sizes: bool, random: Any
) -> None:
    random.shuffle(made)
    user, position, rank, t = (np.array(column) for column in zip(*made, strict=True))
    ids = {"user_ids": user, "item_ids": np.arange(user.size), "replacement": False}
    pool = 301  # of each target: itself and 300 others that are no targets
    wanted = RankCounts.from_ranks(
        rank, num_negatives=12, n_items=pool, rank_among="negatives", shared_negatives=True, **ids
    )
    # A list counts all targets of its user; negatives are negatives.
    size = {"sample_size": 12 + t} if as_sizes else {"num_negatives": 12}
    found = RankCounts.from_ranks(position, n_items=pool + t - 1, rank_among="list", **size, **ids)
    assert found == wanted
    assert (found.sample_size == 13).all()
    assert (found.n_items == pool).all()
    # Places that are given say the same.
    place = position - rank + 1
    known = RankCounts.from_ranks(
        position,
        n_items=pool + t - 1,
        rank_among="list",
        place=place,
        n_targets=t,
        **size,
        **ids,
    )
    assert known == wanted
    # And so do scores.
    scored = RankCounts.from_ranks(
        rank, num_negatives=12, n_items=pool, rank_among="negatives", scores=-position, **ids
    )
    assert rows(scored) == rows(wanted)


def test_list_and_negatives_give_the_same_metrics() -> None:
    """A list made by hand: t n t n n n t, of three targets and four negatives."""
    ids = {"user_ids": [0] * 3, "item_ids": [0, 1, 2]}
    metrics = ["recall@3", "ndcg@7", "ap@5", "hit_rate@1", "mrr", "precision@3", "r_precision"]
    found = [
        tr.estimate(counts, metrics)
        for counts in (
            RankCounts.from_exact_ranks([1, 3, 7], n_items=7, rank_among="list", **ids),
            RankCounts.from_exact_ranks([1, 2, 5], n_items=5, rank_among="negatives", **ids),
        )
    ]
    ideal = 1 + 1 / np.log2(3) + 1 / 2
    by_hand = [2 / 3, (1 + 1 / 2 + 1 / 3) / ideal, (1 + 2 / 3) / 3, 1.0, 1.0, 2 / 3, 2 / 3]
    for one in found:
        assert [one[metric].value for metric in metrics] == pytest.approx(by_hand, rel=1e-12)


# -- weights --------------------------------------------------------------------------------


def test_weights_are_those_of_users() -> None:
    counts = count(weights=[2.0, 2.0, 2.0, 0.5], **SHARED)
    assert counts.n_users == 2.5
    assert counts.total_weight == 6.5
    assert counts.squared_weight == 3 * 4.0 + 0.25
    weight = dict(zip(rows(counts), [2.0, 2.0, 0.5, 2.0], strict=True))
    found = zip(
        counts.sampled_rank.tolist(), counts.place.tolist(), counts.n_targets.tolist(), strict=True
    )
    assert dict(zip(found, counts.weight.tolist(), strict=True)) == weight


def test_weighted_users_give_weighted_means() -> None:
    ids = {"user_ids": USERS, "item_ids": ITEMS, "rank_among": "negatives"}
    counts = RankCounts.from_exact_ranks(RANKS, n_items=20, weights=[2, 2, 2, 0.5], **ids)
    # ann has 2 of 3 within 3 positions (1, 3 and 6), bob his one, at 3.
    found = tr.estimate(counts, ["recall@3", "precision@3"])
    assert found["recall@3"].value == pytest.approx((2 * 2 / 3 + 0.5 * 1) / 2.5)
    assert found["precision@3"].value == pytest.approx((2 * 2 / 3 + 0.5 * 1 / 3) / 2.5)


def test_a_user_of_weight_zero_does_not_count() -> None:
    counts = count(weights=[0, 0, 0, 1], **SHARED)
    assert rows(counts) == [(3, 1, 1)]
    assert counts.n_users == 1.0
    assert not counts.several


# -- repeated draws -------------------------------------------------------------------------


def test_draws_and_targets_are_told_apart_by_words() -> None:
    draws = count(item_ids=None, repeats="draws")
    assert rows(draws, "sample_size") == [(3, 1, 1, 10), (5, 1, 1, 28)]
    assert not draws.several
    targets = count(item_ids=None, repeats="targets", **SHARED)
    assert targets.n_users == draws.n_users == 2.0
    assert targets.total_weight == 4.0


def test_repeated_draws_of_several_targets_make_one_sample_each() -> None:
    counts = RankCounts.from_ranks(
        [2, 5, 3, 1],
        **DESIGN,
        user_ids=["ann"] * 4,
        item_ids=["x", "y", "x", "y"],
        **SHARED,
    )
    # x: 1 + 2 negatives above of 18, y: 4 + 0.
    assert rows(counts, "sample_size") == [(4, 1, 2, 19), (5, 2, 2, 19)]


# -- files ----------------------------------------------------------------------------------


def facts(path: Path) -> list[str]:
    (value,) = (
        value
        for key, value in pq.read_schema(path).metadata.items()
        if key == b"truerank.rank_counts"
    )
    return value.decode().split()


def test_several_targets_are_saved_as_format_2(tmp_path: Path) -> None:
    path = tmp_path / "counts.parquet"
    counts = count(**SHARED, offset=[0, 4, 0, 0], weights=[1 / 3, 1 / 3, 1 / 3, 0.1])
    counts.save(path)
    assert facts(path)[0] == "2"
    assert pq.read_schema(path).names == [
        *("scheme", "n_items", "sample_size", "sampled_rank", "replicate"),
        *("place", "n_targets", "offset", "block", "weight"),
    ]
    found = RankCounts.load(path)
    assert found == counts
    for name in ("place", "n_targets", "offset", "block", "weight", "replicate"):
        assert np.array_equal(getattr(found, name), getattr(counts, name))
    assert (found.n_users, found.squared_weight) == (counts.n_users, counts.squared_weight)


def test_one_target_is_saved_as_format_1(tmp_path: Path) -> None:
    path = tmp_path / "counts.parquet"
    counts = RankCounts.from_ranks([1, 3, 1], **DESIGN)
    counts.save(path)
    assert facts(path) == ["1", "3.0", "3.0", "sealed"]
    assert pq.read_schema(path).names == [
        *("scheme", "n_items", "sample_size", "sampled_rank", "replicate", "weight"),
    ]
    found = RankCounts.load(path)
    assert found == counts
    assert not found.several


def test_files_of_format_1_are_still_read(tmp_path: Path) -> None:
    """As a truerank that knew of one target per user wrote it."""
    table = pa.table(
        {
            "scheme": pa.array(["without", "without"]).dictionary_encode(),
            "n_items": [1000, 1000],
            "sample_size": [10, 10],
            "sampled_rank": [1, 3],
            "replicate": [0, 0],
            "weight": [2.0, 1.0],
        },
        metadata={b"truerank.rank_counts": b"1 3.0 3.0"},
    )
    pq.write_table(table, tmp_path / "old.parquet")
    found = RankCounts.load(tmp_path / "old.parquet")
    assert found == RankCounts.from_ranks([1, 3, 1], **DESIGN)


@pytest.mark.parametrize(
    ("column", "values", "message"),
    [
        ("place", [0, 1, 1, 1], "place is 0 at row 0"),
        ("place", [1, 9, 1, 1], "place is 9 at row 1; the user has n_targets="),
        ("n_targets", [3, 0, 1, 3], "n_targets is 0 at row 1"),
        ("offset", [0, 0, 0, -1], "offset is -1 at row 3"),
        ("block", [1, 101, 0, 1], "block is 101 at row 1; 0 is none, blocks are 1 to 100"),
        ("place", [1.5, 1, 1, 1], "place is 1.5 at row 0"),
    ],
)
def test_damaged_columns_are_refused(
    tmp_path: Path, column: str, values: list[float], message: str
) -> None:
    table = count(**SHARED).to_arrow()
    at = table.schema.get_field_index(column)
    path = tmp_path / "counts.parquet"
    pq.write_table(table.set_column(at, column, [values]), path)
    with pytest.raises(InputError, match=f"is damaged: {message}"):
        RankCounts.load(path)


# -- what counts say of themselves ----------------------------------------------------------


def test_counts_say_how_many_targets_users_have() -> None:
    counts = count(**SHARED)
    assert counts.several
    assert counts.targets_per_user == 2.0
    assert "2 users, 1 to 3 targets each" in repr(counts)
    assert "targets" not in repr(RankCounts.from_ranks([1, 3], **DESIGN))


def test_single_forgets_places_and_keeps_ranks() -> None:
    counts = count(**SHARED)
    alone = counts.single()
    assert not alone.several
    assert alone.sampled_rank.tolist() == [1, 2, 3, 4]
    assert alone.total_weight == counts.total_weight


def test_from_outcomes_takes_places() -> None:
    counts = RankCounts.from_outcomes(
        Scheme(replacement=False),
        n_items=1000,
        sample_size=10,
        sampled_rank=[4, 1, 2, 3],
        weight=[1, 1, 1, 1],
        place=[3, 1, 2, 1],
        n_targets=[3, 3, 3, 1],
        block=_places.blocks(np.array(USERS), np.array([3, 3, 3, 1])),
        n_users=2,
    )
    assert counts == count(place=[3, 1, 2, 1], n_targets=[3, 3, 3, 1])


def test_chances_of_tied_targets_by_enumeration() -> None:
    """Two targets and two others of one score: the best has 1/2, 1/3, 1/6 (negative
    hypergeometric), not an even spread."""
    chance = _places.before_tied(np.array([1, 2]), np.array([2, 2]), np.array([2, 2]))
    assert chance.tolist() == [
        pytest.approx([1 / 2, 1 / 3, 1 / 6]),
        pytest.approx([1 / 6, 1 / 3, 1 / 2]),
    ]
    one = _places.before_tied(np.array([1]), np.array([1]), np.array([3]))
    assert one.tolist() == [pytest.approx([1 / 4] * 4)]


def test_chances_of_tied_targets_are_those_of_whole_numbers() -> None:
    """Against binomial coefficients without rounding, for small numbers and very large ones."""
    cases = [(1, 3, 0), (3, 3, 7), (2, 5, 40), (30, 30, 60), (150, 300, 5000), (1, 300, 5000)]
    j, a, b = (np.array(column) for column in zip(*cases, strict=True))
    found = _places.before_tied(j, a, b)
    for row, (place, targets, others) in enumerate(cases):
        ways = math.comb(targets + others, others)
        for x in {0, 1, others // 3, others // 2, others - 1, others} & set(range(others + 1)):
            before = math.comb(x + place - 1, x)
            chance = before * math.comb(others - x + targets - place, others - x) / ways
            assert found[row, x] == pytest.approx(chance, rel=1e-9, abs=1e-300)
        assert not found[row, others + 1 :].any()
    assert found.sum(axis=1) == pytest.approx(np.ones(len(cases)), rel=1e-12)
