"""Saved counts with a checksum: no flipped bit is loaded in silence, and older files still load."""

from __future__ import annotations

import json

import numpy as np
import pandas as pd
import pyarrow.parquet as pq
import pytest

import truerank as tr
from truerank.errors import InputError
from truerank.outcomes import _sealed, tables
from truerank.outcomes.counts import is_saved
from truerank.outcomes.paired import is_saved_paired

FLIPS = 300


def ranks_of_models() -> pd.DataFrame:
    rng = np.random.default_rng(3)
    return pd.DataFrame(
        {
            "user_id": np.tile(np.arange(40), 2),
            "model": np.repeat(["A", "B"], 40),
            "rank": 1 + rng.binomial(99, rng.beta(1, 8, 80)),
        }
    )


KINDS = {
    "rank": (
        tr.RankCounts,
        lambda: tr.RankCounts.from_ranks(
            1 + np.random.default_rng(0).binomial(99, 0.1, 200), num_negatives=99, n_items=3706
        ),
    ),
    "paired": (
        tr.PairedCounts,
        lambda: tr.PairedCounts.from_table(ranks_of_models(), num_negatives=99, n_items=3706),
    ),
}


def check_flips(path, load, same):
    """Each of some bits flipped alone: the file is refused by name, or loads as it was saved."""
    whole = path.read_bytes()
    refused = 0
    for at in np.random.default_rng(1).integers(8 * len(whole), size=FLIPS).tolist():
        broken = bytearray(whole)
        broken[at // 8] ^= 1 << at % 8
        path.write_bytes(broken)
        try:
            loaded = load(path)
        except InputError as error:
            refused += 1
            message = str(error)
        else:
            message = str(path)
            assert same(loaded), f"bit {at}"
        assert str(path) in message
    assert refused > FLIPS / 4


@pytest.mark.parametrize("kind", KINDS)
def test_no_flipped_bit_is_loaded_in_silence(tmp_path, kind):
    counts = KINDS[kind][1]()
    counts.save(tmp_path / "counts.parquet")
    check_flips(tmp_path / "counts.parquet", KINDS[kind][0].load, lambda loaded: loaded == counts)


@pytest.mark.parametrize("named", [False, True])
def test_frozen_negatives_are_sealed(tmp_path, named):
    """With their seed and protocol, which their own hash leaves out; of numbers and of texts."""
    items = np.array([f"item {i}" for i in range(30)]) if named else np.arange(30)
    scorer = tr.scoring.Dense(np.random.default_rng(0).random((8, 30)), item_ids=items)
    design = tr.designs.Fixed(num_negatives=5)
    frozen = tr.sampling.freeze(scorer, (np.arange(8), items[::3][:8]), design)
    path = tmp_path / "negatives.parquet"
    frozen.save(path)

    def same(loaded):
        told = (frozen.seed, dict(frozen.protocol))
        return loaded == frozen and (loaded.seed, dict(loaded.protocol)) == told

    assert same(tr.designs.FrozenNegatives.load(path))
    saved = tmp_path / "saved.parquet"
    frozen.save(saved)
    check_flips(path, tr.designs.FrozenNegatives.load, same)
    with pytest.raises(InputError, match="holds no RankCounts"):
        tr.RankCounts.load(saved)


def test_monitors_are_sealed(tmp_path):
    test = (np.arange(20), np.arange(20))
    scores = np.random.default_rng(0).random((20, 300))
    design = tr.designs.Fixed(num_negatives=20)  # the file holds where each negative stands
    monitor = tr.Monitor(test, metrics="recall@5", design=design)
    monitor.update(tr.scoring.Dense(scores))
    path = tmp_path / "monitor.parquet"
    monitor.save(path)
    saved = path.read_bytes()

    def same(loaded):
        loaded.save(tmp_path / "again.parquet")
        return (tmp_path / "again.parquet").read_bytes() == saved

    check_flips(path, lambda path: tr.Monitor.load(path, test), same)


def test_damaged_interactions_are_refused(tmp_path):
    """Pages have checksums; what a flip changes elsewhere is the name of a column at most."""
    users, items = np.repeat(np.arange(50), 4), np.arange(200) % 17
    data = tr.data.Interactions(users, items)
    path = tmp_path / "data.parquet"
    data.save(path)

    def same(loaded):
        return (loaded.user_id == users).all() and (loaded.item_id == items).all()

    check_flips(path, tr.data.read, same)


@pytest.mark.parametrize("kind", KINDS)
def test_changed_by_hand(tmp_path, kind):
    load, make = KINDS[kind][0].load, KINDS[kind][1]
    path = tmp_path / "counts.parquet"
    make().save(path)
    table = pq.read_table(path)
    weight = table["weight"].to_numpy().copy()
    weight[0] += 1
    at = table.column_names.index("weight")
    pq.write_table(table.set_column(at, "weight", [weight]), path)
    with pytest.raises(InputError, match=r"counts\.parquet is damaged: .* checksum; restore it"):
        load(path)
    pq.write_table(table, path, compression="none", row_group_size=3)  # the same otherwise kept
    assert load(path) == make()


@pytest.mark.parametrize("kind", KINDS)
def test_files_of_earlier_versions_have_none(tmp_path, kind):
    load, make = KINDS[kind][0].load, KINDS[kind][1]
    path = tmp_path / "counts.parquet"
    pq.write_table(make().to_arrow(), path)  # as they were saved before
    assert load(path) == make()


@pytest.mark.parametrize("kind", KINDS)
def test_a_checksum_that_is_gone(tmp_path, kind):
    load, make = KINDS[kind][0].load, KINDS[kind][1]
    path = tmp_path / "counts.parquet"
    make().save(path)
    table = pq.read_table(path)
    kept = {key: value for key, value in table.schema.metadata.items() if key != _sealed.KEY}
    pq.write_table(table.replace_schema_metadata(kept), path)
    with pytest.raises(InputError, match="is damaged"):
        load(path)


def test_counts_that_do_not_say_so_any_more(tmp_path):
    path = tmp_path / "counts.parquet"
    KINDS["rank"][1]().save(path)
    table = pq.read_table(path)
    kept = {
        key.replace(b"rank_c", b"rank_b"): value for key, value in table.schema.metadata.items()
    }
    pq.write_table(table.replace_schema_metadata(kept), path)
    assert is_saved(path)  # so that nobody takes them for a table of ranks
    assert not is_saved_paired(path)
    with pytest.raises(InputError, match=r"counts\.parquet is damaged"):
        tr.RankCounts.load(path)


def test_the_protocol_is_sealed_too(tmp_path):
    path = tmp_path / "counts.parquet"
    counts = KINDS["rank"][1]()
    counts.save(path, notes={b"truerank.protocol": json.dumps({"seed": 1}).encode()})
    assert tr.RankCounts.load(path) == counts
    table = pq.read_table(path)
    forged = {**table.schema.metadata, b"truerank.protocol": json.dumps({"seed": 2}).encode()}
    pq.write_table(table.replace_schema_metadata(forged), path)
    with pytest.raises(InputError, match="is damaged"):
        tr.RankCounts.load(path)
    assert tables.parquet_metadata(path)[b"truerank.protocol"] == b'{"seed": 2}'
