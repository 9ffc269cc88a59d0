"""Frozen negatives: ids of text, files that are not what they should be, repeated items."""

from __future__ import annotations

import json

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import truerank as tr
from truerank import InputError
from truerank.designs import Fixed, Frozen
from truerank.sampling import FrozenNegatives, freeze
from truerank.scoring.factors import Factors

RNG = np.random.default_rng


def make(seed=0, text=False, n_users=50, n_items=80):
    rng = RNG(seed)
    ids = {}
    user, item = np.arange(n_users), RNG(7).integers(0, n_items, n_users)
    if text:
        names = (
            np.array([f"u{i}" for i in range(n_users)]),
            np.array([f"é{i}" for i in range(n_items)]),
        )
        ids = {"user_ids": names[0], "item_ids": names[1]}
        user, item = names[0][user], names[1][item]
    factors = (rng.standard_normal((n, 5)) for n in (n_users, n_items))
    return Factors(*factors, **ids), (user, item)


@pytest.mark.parametrize("replacement", [True, False])
@pytest.mark.parametrize("text", [True, False])
def test_round_trip(tmp_path, text, replacement):
    scorer, test = make(text=text)
    known = test[1][(np.arange(50) + 1) % 50]
    fine = known != test[1]
    train = test[0][fine], known[fine]
    design = Fixed(num_negatives=30, replacement=replacement)
    frozen = freeze(scorer, test, design, train=train, seed=11)
    frozen.save(tmp_path / "n.parquet")
    again = FrozenNegatives.load(tmp_path / "n.parquet")
    assert again.hash == frozen.hash
    assert (again.seed, again.replacement) == (11, replacement)
    assert again.protocol == frozen.protocol
    assert again.protocol["training_items_left_out"]
    assert "30 negatives each" in repr(again)
    for model in (scorer, make(seed=1, text=text)[0]):
        drawn = tr.count(model, test, design, train=train, seed=11)
        assert tr.count(model, test, Frozen(again), train=train) == drawn


def test_order_and_parts_of_the_test_do_not_matter():
    scorer, test = make()
    frozen = freeze(scorer, test, Fixed(sample_size=20))
    whole = tr.count(scorer, test, Frozen(frozen))
    rows = RNG(0).permutation(50)
    parts = [
        tr.count(scorer, tuple(x[part] for x in test), Frozen(frozen))
        for part in (rows[:20], rows[20:])
    ]
    assert sum(parts) == whole


def test_ties_are_broken_as_in_a_fresh_draw():
    scorer, test = make()
    flat = Factors(np.ones((50, 1)), np.ones((80, 1)))
    frozen = freeze(scorer, test, Fixed(sample_size=20), seed=3)
    for ties in ("random", "mid", "spread"):
        fresh = tr.count(flat, test, Fixed(sample_size=20), seed=3, ties=ties)
        assert tr.count(flat, test, Frozen(frozen), seed=3, ties=ties) == fresh


def test_rows_may_have_unequal_numbers(tmp_path):
    path = tmp_path / "negatives.txt"
    path.write_text("(0,5)\t1\t2\t3\r\n(1,6)\t1\t2\r\n")
    frozen = FrozenNegatives.from_ncf(path)
    scorer, _ = make()
    counts = tr.count(scorer, ([0, 1], [5, 6]), Frozen(frozen))
    assert sorted(counts.sample_size.tolist()) == [3, 4]
    assert set(counts.n_items.tolist()) == {80}
    assert "2 to 3 negatives" in repr(frozen)
    assert frozen.seed is None


@pytest.mark.parametrize("change", ["item", "order", "user", "replacement"])
def test_every_change_is_noticed(tmp_path, change):
    scorer, test = make()
    path = tmp_path / "n.parquet"
    freeze(scorer, test, Fixed(sample_size=10)).save(path)
    table = pq.read_table(path)
    metadata = dict(table.schema.metadata)
    columns = {name: table[name].to_pylist() for name in table.column_names}
    if change == "item":
        columns["negatives"][3][2] ^= 1
    elif change == "order":
        columns["negatives"][3].reverse()
    elif change == "user":
        columns["user_id"][0], columns["user_id"][1] = columns["user_id"][1::-1]
    else:
        key = b"truerank.frozen_negatives"
        metadata[key] = json.dumps(json.loads(metadata[key]) | {"replacement": True}).encode()
    pq.write_table(pa.table(columns).replace_schema_metadata(metadata), path)
    with pytest.raises(InputError, match="was changed after it was written"):
        FrozenNegatives.load(path)


@pytest.mark.parametrize(
    ("card", "message"),
    [
        ({"version": 99}, "upgrade truerank"),
        ({"sha256": None}, "was changed"),
        ([1], "is damaged"),
        ("no json", "is damaged"),
    ],
)
def test_bad_metadata(tmp_path, card, message):
    scorer, test = make()
    path = tmp_path / "n.parquet"
    freeze(scorer, test, Fixed(sample_size=10)).save(path)
    table = pq.read_table(path)
    key = b"truerank.frozen_negatives"
    if isinstance(card, dict):
        card = json.loads(table.schema.metadata[key]) | card
    text = card if isinstance(card, str) else json.dumps(card)
    pq.write_table(table.replace_schema_metadata({key: text.encode()}), path)
    with pytest.raises(InputError, match=message):
        FrozenNegatives.load(path)


def test_bad_columns(tmp_path):
    scorer, test = make()
    path = tmp_path / "n.parquet"
    freeze(scorer, test, Fixed(sample_size=10)).save(path)
    table = pq.read_table(path)
    pq.write_table(table.drop_columns("negatives"), path)
    with pytest.raises(InputError, match="no column negatives"):
        FrozenNegatives.load(path)
    lists = pa.array([None, *table["negatives"].to_pylist()[1:]])
    damaged = table.set_column(2, "negatives", lists)
    pq.write_table(damaged.replace_schema_metadata(table.schema.metadata), path)
    with pytest.raises(InputError, match="is damaged"):
        FrozenNegatives.load(path)
    with pytest.raises(InputError, match="does not exist"):
        FrozenNegatives.load(tmp_path / "none.parquet")
    with pytest.raises(InputError, match="must end in"):
        freeze(scorer, test, Fixed(sample_size=10)).save(tmp_path / "n.csv")


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("(0,1)\t2\n(0,1)\t3\n", r"line 2 repeats \(0,1\) of line 1"),
        ("(0,1)\t2\t\t3\n", "line 1 has an empty negative"),
        ("(0,1,2)\t3\n", "line 1 begins with"),
        ("0\t1\t2\n", "line 1 begins with '0'"),
        ("\n\n", "is empty"),
        ("(0,1)\t4\t5\t4\n", "1 frozen negatives repeat another one"),
    ],
)
def test_bad_text(tmp_path, text, message):
    path = tmp_path / "negatives.txt"
    path.write_text(text)
    with pytest.raises(InputError, match=message):
        FrozenNegatives.from_ncf(path)


def test_text_that_cannot_be_read(tmp_path):
    path = tmp_path / "negatives.txt"
    with pytest.raises(InputError, match="cannot be read"):
        FrozenNegatives.from_ncf(path)
    path.write_bytes(b"(0,1)\t\xff\xfe\n")
    with pytest.raises(InputError, match="cannot be read"):
        FrozenNegatives.from_ncf(path)


def test_repeated_negatives_are_for_draws_with_replacement(tmp_path):
    path = tmp_path / "negatives.txt"
    path.write_text("(0,1)\t4\t5\t4\n")
    frozen = FrozenNegatives.from_ncf(path, replacement=True)
    scorer, _ = make()
    counts = tr.count(scorer, ([0], [1]), Frozen(frozen))
    assert counts.schemes[0].replacement


def test_ids_of_text_and_numbers_do_not_mix(tmp_path):
    path = tmp_path / "negatives.txt"
    path.write_text("(0,1)\t4\t5\n")
    scorer, test = make(text=True)
    with pytest.raises(InputError, match="both as numbers or both as strings"):
        tr.count(scorer, test, Frozen(path))
    path.write_text("(0,1)\t4\tx5\n")
    found = FrozenNegatives.from_ncf(path)
    assert (found.user_id.tolist(), found.negative.tolist()) == ([0], ["4", "x5"])


def test_bad_use():
    scorer, test = make()
    frozen = freeze(scorer, test, Fixed(sample_size=10))
    own = FrozenNegatives(frozen.user_id, frozen.item_id, frozen.start, np.repeat(test[1], 9), True)
    with pytest.raises(InputError, match="450 frozen negatives are targets"):
        tr.count(scorer, test, Frozen(own))
    unknown = FrozenNegatives(
        frozen.user_id, frozen.item_id, frozen.start, frozen.negative + 1000, False
    )
    with pytest.raises(InputError, match="unknown to the scorer"):
        tr.count(scorer, test, Frozen(unknown))


def test_only_fixed_designs_are_frozen():
    scorer, test = make()
    for design in ("exact", Fixed(sample_size=10, shared_by=5), Fixed(sample_size=10, users=5), 10):
        with pytest.raises(InputError, match=r"design is .*Fixed"):
            freeze(scorer, test, design)
