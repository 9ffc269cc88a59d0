"""Paired counts: joint counts of negatives, spread ties, adding up, saving and loading."""

from __future__ import annotations

import json

import numpy as np
import pandas as pd
import pyarrow.parquet as pq
import pytest

import truerank as tr
from truerank.errors import InputError
from truerank.outcomes.counts import is_saved
from truerank.outcomes.paired import is_saved_paired

N_ITEMS, SIZE = 12, 6


def scorers(names="AB", seed=0, n_users=40, levels=4):
    """Scores of few levels, so that ties are many."""
    rng = np.random.default_rng(seed)
    return {
        name: tr.scoring.Dense(rng.integers(levels, size=(n_users, N_ITEMS)) * 1.0)
        for name in names
    }


def counted(names="AB", users=range(40), seed=0, **options):
    users = np.array(users)
    test = users, (users * 5) % N_ITEMS
    design = options.pop("design", tr.designs.Fixed(sample_size=SIZE))
    return tr.count(scorers(names, seed), test, design, **options)


def test_ties_are_spread_as_in_counts_of_one_model():
    paired = counted()
    assert paired.tied.any()
    for name, scorer in scorers().items():
        users = np.arange(40)
        alone = tr.count(scorer, (users, (users * 5) % N_ITEMS), tr.designs.Fixed(sample_size=SIZE))
        assert paired[name] == alone
        np.testing.assert_array_equal(paired[name].weight, alone.weight)


@pytest.mark.parametrize("design", ["exact", "fixed(sample_size=6)", "adaptive(budget=8, start=4)"])
def test_the_law_is_that_of_the_table(design, tmp_path):
    """What `tr.rank` notes about the draws is read for several models as for one."""
    users = np.arange(40)
    tables = {}
    for name, scorer in scorers().items():
        table = tr.rank(scorer, (users, (users * 5) % N_ITEMS), design)
        pq.write_table(table, tmp_path / f"{name}.parquet")
        tables[name] = tmp_path / f"{name}.parquet"
    paired = tr.PairedCounts.from_tables(tables)
    for name, path in tables.items():
        assert paired[name] == tr.RankCounts.from_table(path)
        assert not paired[name].schemes[0].replacement
    if design.startswith("fixed"):  # what is said goes before
        assert tr.PairedCounts.from_tables(tables, replacement=True)["A"].schemes[0].replacement


def test_spread_writes_tied_ranks_out():
    paired = counted()
    row, outcomes = paired.spread("B")
    at = paired.models.index("B")
    for joint in range(paired.n_outcomes):
        mine = outcomes[:, row == joint]
        first, tied = paired.sampled_rank[joint, at], paired.tied[joint, at]
        assert mine[3].tolist() == list(range(first, first + tied + 1))
        assert set(mine[2].tolist()) == {paired.sample_size[joint, at]}


def test_too_many_ties_to_spread(monkeypatch):
    from truerank.outcomes import paired as module

    monkeypatch.setattr(module, "MOST_OUTCOMES", 10)
    with pytest.raises(InputError, match="A has so many ties"):
        counted().spread("A")


def test_parts_add_up_to_the_whole():
    whole = counted()
    parts = counted(users=range(15)) + counted(users=range(15, 40))
    assert parts == whole
    np.testing.assert_array_equal(parts.weight, whole.weight)
    assert parts.n_users == 40


def test_models_and_pairs_in_another_order_add_up():
    first, second = counted(users=range(15)), counted(users=range(15, 40))
    turned = tr.PairedCounts._build(
        ("B", "A"),
        second.schemes,
        second.scheme[:, ::-1],
        second.n_items,
        second.sample_size[:, ::-1],
        second.sampled_rank[:, ::-1],
        second.weight,
        n_users=second.n_users,
        squared_weight=second.squared_weight,
        tied=second.tied[:, ::-1],
        pairs=(("B", "A"),),
        joint=second.joint.transpose(0, 1, 3, 2),
    )
    np.testing.assert_array_equal(turned.joint_counts("A", "B").sum(0), second.joint.sum((0, 1)))
    assert first + turned == counted()


def test_a_sum_knows_the_pairs_that_both_parts_know():
    names = "ABCDEF"
    kept = counted(names, users=range(20), baseline="B")
    other = counted(names, users=range(20, 40), baseline="C")
    total = kept + other
    assert set(map(frozenset, total.pairs)) == {
        frozenset(pair) for pair in kept.pairs if frozenset(pair) in map(frozenset, other.pairs)
    }
    assert frozenset("BC") in map(frozenset, total.pairs)
    one = pd.DataFrame({"user_id": [90], "rank": [1]})
    without = tr.PairedCounts.from_tables(
        dict.fromkeys(names, one), sample_size=SIZE, n_items=N_ITEMS, replacement=False
    )
    assert (total + without).pairs == ()
    assert (total + without).joint_counts("A", "B") is None


@pytest.mark.parametrize(
    "design", [tr.designs.Fixed(sample_size=SIZE), tr.designs.Adaptive(start=3, budget=6)]
)
def test_saved_and_loaded(tmp_path, design):
    paired = counted("ABC", design=design)
    path = tmp_path / "paired.parquet"
    paired.save(path)
    back = tr.PairedCounts.load(path)
    assert back == paired
    assert (back.n_users, back.squared_weight) == (paired.n_users, paired.squared_weight)
    np.testing.assert_array_equal(back.weight, paired.weight)
    assert is_saved_paired(path)
    assert not is_saved(path)
    assert "above_below.A.B" in pq.read_table(path).column_names


def test_a_file_that_holds_something_else(tmp_path):
    paired, path = counted(), tmp_path / "paired.parquet"
    with pytest.raises(InputError, match=r"must end in \.parquet"):
        paired.save(tmp_path / "paired.csv")
    paired["A"].save(path)
    with pytest.raises(InputError, match=r"holds no PairedCounts.*from_tables"):
        tr.PairedCounts.load(path)
    paired.save(path)
    with pytest.raises(InputError, match=r"holds no RankCounts.*PairedCounts\.load"):
        tr.RankCounts.load(path)


def test_damaged_files(tmp_path):
    path = tmp_path / "paired.parquet"
    counted().save(path)
    table = pq.read_table(path)

    def kept(change=None, **facts):
        metadata = dict(table.schema.metadata)
        known = json.loads(metadata[b"truerank.paired_counts"])
        metadata[b"truerank.paired_counts"] = json.dumps(known | facts).encode()
        written = table.replace_schema_metadata(metadata)
        pq.write_table(change(written) if change else written, path)

    kept(version=99)
    with pytest.raises(InputError, match=r"format '99'.*upgrade truerank"):
        tr.PairedCounts.load(path)
    kept(lambda one: one.drop_columns(["tied.A"]))
    with pytest.raises(InputError, match="damaged"):
        tr.PairedCounts.load(path)
    first = table["above_above.A.B"].to_numpy()
    at = table.column_names.index("above_above.A.B")
    kept(lambda one: one.set_column(at, "above_above.A.B", [first + 1]))
    with pytest.raises(InputError, match="damaged: joint counts of A and B at row 0"):
        tr.PairedCounts.load(path)


def test_joint_counts_that_cannot_be():
    paired = counted()

    def build(**change):
        given = {
            "tied": paired.tied, "pairs": paired.pairs, "joint": paired.joint, "n_users": 40.0,
            "squared_weight": 40.0,
        } | change  # fmt: skip
        return tr.PairedCounts._build(
            paired.models,
            paired.schemes,
            paired.scheme,
            paired.n_items,
            paired.sample_size,
            paired.sampled_rank,
            paired.weight,
            **given,
        )

    assert build() == paired
    with pytest.raises(InputError, match="the models are A, B"):
        build(pairs=(("A", "C"),))
    with pytest.raises(InputError, match=r"joint has shape"):
        build(pairs=())
    with pytest.raises(InputError, match="below 0"):
        build(joint=paired.joint - 1)
    with pytest.raises(InputError, match="more than sample_size"):
        build(tied=paired.tied + SIZE)
    moved = paired.joint.copy()
    row = int(np.argmax(moved[:, 0, 2, 2] > 0))
    moved[row, 0, 2, 2] -= 1
    moved[row, 0, 0, 2] += 1
    with pytest.raises(InputError, match=f"above the target by A at row {row}"):
        build(joint=moved, tied=0 * paired.tied)
