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


@pytest.mark.parametrize("kind", KINDS)
def test_no_flipped_bit_is_loaded_in_silence(tmp_path, kind):
    """Each bit flipped alone: the file is refused with its name, or loads as it was saved."""
    load, make = KINDS[kind][0].load, KINDS[kind][1]
    counts = make()
    path = tmp_path / "counts.parquet"
    counts.save(path)
    whole = path.read_bytes()
    refused = 0
    for at in np.random.default_rng(1).integers(8 * len(whole), size=FLIPS).tolist():
        broken = bytearray(whole)
        broken[at // 8] ^= 1 << at % 8
        path.write_bytes(broken)
        try:
            loaded = load(path)
        except InputError as error:
            message = str(error)
            refused += 1
        else:
            message = str(path)
            assert loaded == counts, f"bit {at}"
        assert str(path) in message
    assert refused > FLIPS / 4


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
