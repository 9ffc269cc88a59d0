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
from truerank.designs import LJ24, Adaptive, Auto, Exact, Fixed, Frozen
from truerank.engines.batches import added_up, gathered, whole_users
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
    ("design", "seed"),
    [
        (Fixed(sample_size=30), 1),
        (Fixed(sample_size=30, shared_by=10), 1),
        (LJ24(start=10, stop=150), 0),
        (Exact(), 0),
    ],
    ids=repr,
)
@pytest.mark.parametrize("kind", [np.float32, np.float64])
def test_counts_of_any_batches_are_those_of_all(design, seed, kind):
    """Also of double vectors with single items, which are scored in double precision locally."""
    vectors = USERS.astype(kind) * kind(1.1)
    expected = tr.count(Factors(vectors, ITEMS, user_ids=IDS), (IDS, TARGET), design, seed=seed)
    count = pickle.loads(pickle.dumps(engines.Kernel(ITEMS, design, seed=seed, n_users=70)))
    table = rows(vector=list(vectors))
    for size in (1, 13, 70):
        found = engines.add_up(count(part) for part in table.to_batches(max_chunksize=size))
        assert found == expected
        assert np.array_equal(found.weight, expected.weight)


def test_lists_of_any_kind_and_no_rows():
    count = engines.Kernel(ITEMS)
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
        engines.Kernel(ITEMS, Fixed(sample_size=10))(rows(**changes))


def test_bad_models_and_options_are_input_errors(tmp_path):
    scorer = Factors(USERS, ITEMS)
    with pytest.raises(tr.InputError, match="cosine is given, but the items are a scorer"):
        engines.Items(scorer, cosine=True)
    with pytest.raises(tr.InputError, match=r"nothing\.npy does not exist"):
        engines.Kernel(tmp_path / "nothing.npy")
    np.save(tmp_path / "flat.npy", ITEMS[0])
    with pytest.raises(tr.InputError, match=r"flat.npy: shape \(20,\)"):
        engines.Kernel(tmp_path / "flat.npy")
    with pytest.raises(tr.InputError, match="NaN or infinite values, the first in row 1"):
        engines.Kernel(np.array([[1.0], [np.nan]]))
    with pytest.raises(tr.InputError, match="column"):
        engines.Kernel(ITEMS, columns={"vectors": "x"})
    with pytest.raises(tr.InputError, match=r"no column who \(user_id\); found: user_id, item_id"):
        engines.Kernel(ITEMS, columns={"user_id": "who"})(rows())
    frozen = tr.sampling.freeze(scorer, (IDS - 1000, TARGET), Fixed(sample_size=5))
    with pytest.raises(tr.InputError, match="70 of 70 test rows have no frozen negatives"):
        engines.Kernel(ITEMS, Frozen(frozen))(rows())
    with pytest.raises(tr.InputError, match="unknown design 'exactly'; did you mean 'exact'"):
        engines.Kernel(ITEMS, "exactly")
    with pytest.raises(tr.InputError, match="ties is 'mid'"):
        engines.Kernel(ITEMS, LJ24(), ties="mid")


@pytest.mark.parametrize(
    ("design", "message"),
    [
        (Fixed(sample_size=5, shared_by=9), r"shared_by=9.*no batch knows how many.*say n_users="),
        (Fixed(sample_size=5, users=9), "users=9.*which 9 users are evaluated; truerank.spark"),
        (Adaptive(budget=50), "Adaptive.budget=50.*depends on all others.*engines.within_budget"),
        (Auto(budget=50), "design is Auto"),
    ],
    ids=repr,
)
def test_designs_that_no_batch_can_carry_out_alone(design, message):
    with pytest.raises(tr.InputError, match=message):
        engines.Kernel(ITEMS, design)(rows())


def test_frozen_negatives_of_other_users_do_not_matter():
    """A batch needs those of its own users, which are all that its scorer knows."""
    scorer = Factors(USERS, ITEMS, user_ids=IDS)
    frozen = tr.sampling.freeze(scorer, (IDS, TARGET), Fixed(sample_size=30), seed=4)
    kernel = pickle.loads(pickle.dumps(engines.Kernel(ITEMS, Frozen(frozen))))
    parts = [kernel(part) for part in rows().to_batches(max_chunksize=13)]
    assert engines.add_up(parts) == tr.count(scorer, (IDS, TARGET), Fixed(sample_size=30), seed=4)


@pytest.mark.parametrize("replacement", [True, False])
@pytest.mark.parametrize("budget", [2, 7.5, 41, 120, 1000])
@pytest.mark.parametrize("size", [1, 13, 70])
def test_a_budget_is_kept_by_all_batches_together(budget, size, replacement):
    """The same climb as on one machine, whatever the batches; what it cost is told."""
    design = Adaptive(budget=budget, start=16, replacement=replacement)
    expected = tr.count(Factors(USERS, ITEMS, user_ids=IDS), (IDS, TARGET), design, seed=2)
    batches = rows().to_batches(max_chunksize=size)

    def run(function):
        function = pickle.loads(pickle.dumps(function))
        return [function(batch) for batch in batches[::-1]]

    climbed = engines.within_budget(engines.Kernel(ITEMS, design, seed=2), run)
    found = climbed.counted()
    assert found.counts == expected
    assert np.array_equal(found.counts.weight, expected.weight)
    assert found.pairs == expected.weight @ expected.sample_size <= budget * 70
    assert found.targets == 70


def test_budgets_that_cannot_be_kept():
    pairs = pa.array([[t, (t + 1) % 200] for t in TARGET.tolist()])

    def run(function):
        return [function(rows(item_id=pairs))]

    with pytest.raises(tr.InputError, match=r"design is LJ24.*a budget is that of an Adaptive"):
        engines.within_budget(engines.Kernel(ITEMS, LJ24()), run)
    with pytest.raises(tr.InputError, match=r"budget is 3 .* 2 targets on average.* at least 4"):
        engines.within_budget(engines.Kernel(ITEMS, Adaptive(budget=3)), run)


def test_pairs_and_targets_add_up():
    kernel = engines.Kernel(ITEMS, Fixed(sample_size=30))
    found = added_up(kernel(part) for part in rows().to_batches(max_chunksize=13))
    assert (found.pairs, found.targets) == (70 * 30, 70)
    exact = added_up(engines.Kernel(ITEMS)(rows()))
    assert (exact.pairs, exact.targets) == (70 * 200, 70)


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
        "tr.spark.count({}, [[1.0], [2.0]])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    last = done.stderr.strip().splitlines()[-1]
    assert last.startswith("truerank.errors.MissingExtraError: ")
    assert "pip install 'pyspark>=4'" in last


def test_without_java_the_error_says_so(monkeypatch):
    pytest.importorskip("pyspark", reason="pyspark is not installed")
    monkeypatch.setenv("PATH", "")
    monkeypatch.delenv("JAVA_HOME", raising=False)
    with pytest.raises(TruerankError, match="Spark needs Java 17"):
        tr.spark.session()
