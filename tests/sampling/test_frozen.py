"""Frozen negatives: the same ones for every model, kept and checked."""

from __future__ import annotations

import numpy as np
import pyarrow.parquet as pq
import pytest

import truerank as tr
from truerank import InputError
from truerank.designs import Fixed, Frozen
from truerank.sampling import FrozenNegatives, freeze
from truerank.scoring import Dense

SCORES = np.random.default_rng(0).random((40, 60))
TEST = (np.arange(40), np.random.default_rng(1).integers(0, 60, 40))


def _lists(negatives):
    return negatives.to_arrow()["negatives"].to_pylist()


@pytest.fixture
def frozen():
    return freeze(Dense(SCORES), TEST, Fixed(num_negatives=12), seed=3)


def test_ranks_are_those_of_the_same_draw(frozen):
    model = Dense(SCORES)
    drawn = tr.count(model, TEST, Fixed(num_negatives=12), seed=3)
    assert tr.count(model, TEST, Frozen(frozen)) == drawn
    other = Dense(SCORES[:, ::-1].copy())
    assert tr.count(other, TEST, Frozen(frozen)) == tr.count(
        other, TEST, Fixed(num_negatives=12), seed=3
    )


def test_round_trip(frozen, tmp_path):
    path = tmp_path / "negatives.parquet"
    frozen.save(path)
    again = FrozenNegatives.load(path)
    assert again.hash == frozen.hash
    assert _lists(again) == _lists(frozen)
    assert again.replacement is False
    assert tr.audit(negatives=again).sound


def test_tampering_is_noticed(frozen, tmp_path):
    path = tmp_path / "negatives.parquet"
    frozen.save(path)
    table = pq.read_table(path)
    users = table["user_id"].to_numpy()[::-1]
    changed = table.set_column(0, "user_id", [users]).replace_schema_metadata(table.schema.metadata)
    pq.write_table(changed, path)
    with pytest.raises(InputError, match="was changed"):
        FrozenNegatives.load(path)


def test_files_of_other_tools(tmp_path):
    path = tmp_path / "test.negative"
    path.write_text("(0,25)\t1\t2\t3\n(1,133)\t4\t5\t6\n\n")
    found = FrozenNegatives.from_ncf(path)
    assert found.user_id.tolist() == [0, 1]
    assert found.item_id.tolist() == [25, 133]
    assert _lists(found) == [[1, 2, 3], [4, 5, 6]]
    path.write_text("(a,x)\ty\tz\n")
    assert _lists(FrozenNegatives.from_ncf(path)) == [["y", "z"]]


@pytest.mark.parametrize(
    ("text", "message"),
    [("(0,25)\t1\n0 25 1\n", "line 2"), ("(0,25)\n", "line 1"), ("", "empty")],
)
def test_bad_lines(tmp_path, text, message):
    path = tmp_path / "test.negative"
    path.write_text(text)
    with pytest.raises(InputError, match=message):
        FrozenNegatives.from_ncf(path)


def test_bad_use(frozen, tmp_path):
    model = Dense(SCORES)
    with pytest.raises(InputError, match="have no frozen negatives"):
        tr.count(model, (TEST[0], (TEST[1] + 1) % 60), Frozen(frozen))
    train = (TEST[0][:1], np.array(_lists(frozen)[0][:1]))
    with pytest.raises(InputError, match="1 frozen negatives are targets or training items"):
        tr.count(model, TEST, Frozen(frozen), train=train)
    with pytest.raises(InputError, match="pool of 60"):
        freeze(model, TEST, Fixed(num_negatives=60))
    tr.count(model, TEST).save(tmp_path / "c.parquet")
    with pytest.raises(InputError):
        FrozenNegatives.load(tmp_path / "c.parquet")
