"""Kernels, without any engine: Arrow rows in, packed counts out."""

from __future__ import annotations

import pickle
import subprocess
import sys

import numpy as np
import pyarrow as pa
import pytest

import truerank as tr
from truerank import engines
from truerank.engines.batches import gathered, whole_users
from truerank.errors import TruerankError
from truerank.scoring import Factors

_rng = np.random.default_rng(3)
USERS = _rng.standard_normal((70, 20), dtype=np.float32)
ITEMS = _rng.standard_normal((200, 20), dtype=np.float32)
TARGET = _rng.integers(0, 200, 70)
IDS = np.arange(70) + 1000


def rows(**changes):
    columns = {"user_id": IDS, "item_id": TARGET, "vector": list(USERS)} | changes
    return pa.table(columns)


@pytest.mark.parametrize(
    ("kernel", "local", "options"),
    [
        (engines.sampled, tr.sampled_counts, {"sample_size": 30, "seed": 1}),
        (engines.adaptive, tr.adaptive_counts, {"start": 10, "stop": 150}),
        (engines.exact, tr.exact_counts, {}),
    ],
)
@pytest.mark.parametrize("kind", [np.float32, np.float64])
def test_counts_of_any_batches_are_those_of_all(kernel, local, options, kind):
    """Also of double vectors with single items, which are scored in double precision locally."""
    vectors = USERS.astype(kind) * kind(1.1)
    expected = local(Factors(vectors, ITEMS, user_ids=IDS), (IDS, TARGET), **options)
    count = pickle.loads(pickle.dumps(kernel(ITEMS, **options)))
    table = rows(vector=list(vectors))
    for size in (1, 13, 70):
        found = engines.add_up(count(part) for part in table.to_batches(max_chunksize=size))
        assert found == expected
        assert np.array_equal(found.weight, expected.weight)


def test_lists_of_any_kind_and_no_rows():
    count = engines.exact(ITEMS)
    expected = count(rows())
    for kind in (pa.large_list(pa.float32()), pa.list_(pa.float32(), 20)):
        assert count(rows(vector=pa.array(list(USERS), kind))) == expected
    words = pa.array([f"u{i}" for i in IDS])
    assert count(rows(user_id=words.dictionary_encode())) == count(rows(user_id=words))
    assert count(rows(train=pa.array([[]] * 69 + [None], pa.list_(pa.int32())))) == expected
    assert len(count(rows().slice(0, 0))) == 0
    sliced = [count(rows().slice(0, 30)), count(rows().slice(30))]
    assert engines.add_up(sliced) == engines.add_up(expected)
    with pytest.raises(tr.InputError, match="there are no rows"):
        engines.add_up([])


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"vector": [None, *USERS[1:]]}, "^vector is missing for 1 users, such as 1000$"),
        ({"vector": [[1.0], *USERS[1:]]}, "1 for user 1000, 20 for user 1001"),
        ({"vector": [[None] * 20, *USERS[1:].tolist()]}, "vector has 20 missing numbers"),
        ({"vector": TARGET}, "vector is of type int64; it must hold lists"),
        ({"vector": list(USERS[:, :5])}, "user_factors have 5 dimensions and item_factors 20"),
        ({"user_id": [1001, *IDS[1:]]}, "user 1001 has more than one row; give all its targets"),
        ({"user_id": [None, *IDS[1:].tolist()]}, "user_id has 1 missing values"),
        ({"item_id": [200, *TARGET[1:]]}, "unknown to the scorer: 200"),
        ({"item_id": [[], *([t] for t in TARGET[1:])]}, "user 1000 has no target"),
        ({"train": TARGET}, "train is of type int64; it must hold lists of items"),
        ({"train": [[1, None], *[[]] * 69]}, "train has 1 missing values"),
        ({"train": [[t] for t in TARGET]}, "70 targets are among their user's training items"),
    ],
)
def test_bad_rows_are_input_errors(changes, message):
    with pytest.raises(tr.InputError, match=message):
        engines.sampled(ITEMS, sample_size=10)(rows(**changes))


def test_bad_models_and_options_are_input_errors(tmp_path):
    scorer = Factors(USERS, ITEMS)
    with pytest.raises(tr.InputError, match="cosine is given, but the model is a scorer"):
        engines.exact(scorer, cosine=True)
    with pytest.raises(tr.InputError, match=r"nothing\.npy cannot be read"):
        engines.exact(tmp_path / "nothing.npy")
    np.save(tmp_path / "flat.npy", ITEMS[0])
    with pytest.raises(tr.InputError, match=r"flat.npy: shape \(20,\)"):
        engines.exact(tmp_path / "flat.npy")
    with pytest.raises(tr.InputError, match="NaN or infinite values, the first in row 1"):
        engines.exact(np.array([[1.0], [np.nan]]))
    with pytest.raises(tr.InputError, match="column"):
        engines.exact(ITEMS, columns={"vectors": "x"})
    with pytest.raises(tr.InputError, match=r"no column who \(user_id\); found: user_id, item_id"):
        engines.exact(ITEMS, columns={"user_id": "who"})(rows())
    frozen = tr.sampling.freeze(scorer, (IDS - 1000, TARGET), sample_size=5)
    with pytest.raises(tr.InputError, match="frozen negatives"):
        engines.sampled(scorer, sample_size=5, negatives=frozen)


def test_batches_are_gathered_and_users_kept_whole():
    table = pa.table({"user_id": np.repeat(np.arange(20), np.arange(20)), "row": np.arange(190)})
    batches = table.to_batches(max_chunksize=7)
    empty = batches[0].slice(0, 0)
    parts = list(gathered([empty, *batches, empty], 300))
    assert pa.concat_tables(parts) == table
    assert 1 < len(parts) < 28
    for pieces in ([pa.Table.from_batches([batch]) for batch in batches], parts, [table]):
        cut = list(whole_users(pieces, "user_id"))
        assert pa.concat_tables(cut) == table
        seen = [set(part["user_id"].to_pylist()) for part in cut]
        assert sum(map(len, seen)) == 19  # nobody in two parts


def test_without_pyspark_the_error_names_the_extra():
    code = (
        "import sys; sys.modules['pyspark'] = None\n"
        "import truerank as tr\n"
        "tr.spark.exact_counts({}, [[1.0], [2.0]])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    last = done.stderr.strip().splitlines()[-1]
    assert last.startswith("truerank.errors.MissingExtraError: ")
    assert "pip install truerank[spark]" in last


def test_without_java_the_error_says_so(monkeypatch):
    pytest.importorskip("pyspark", reason="Spark needs pyspark: pip install truerank[spark]")
    monkeypatch.setenv("PATH", "")
    monkeypatch.delenv("JAVA_HOME", raising=False)
    with pytest.raises(TruerankError, match="Spark needs Java 17"):
        tr.spark.session()
