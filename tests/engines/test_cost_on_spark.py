"""Honest costs on Spark: what all workers asked is what is told, within the budget, once each."""

from __future__ import annotations

import os
import shutil
import sys
from pathlib import Path

import numpy as np
import pytest

import truerank as tr
from truerank import InputError, designs
from truerank.designs import LJ24, Adaptive, Auto, Exact, Fixed, Frozen
from truerank.errors import TruerankError
from truerank.sampling import users
from truerank.sampling.carry_out import drawing_of, sample
from truerank.sampling.counting import counts_of
from truerank.scoring import Callable, Dense
from truerank.scoring.task import prepare

if shutil.which("java") is None:
    pytest.skip("Spark needs Java, and there is no java on the PATH", allow_module_level=True)
pyspark = pytest.importorskip("pyspark", reason="pyspark is not installed")
# Workers cannot import this file: what it defines goes to them with its code.
pyspark.cloudpickle.register_pickle_by_value(sys.modules[__name__])

N_USERS, N_ITEMS, SEED = 60, 120, 3
_rng = np.random.default_rng(5)
SCORES = _rng.random((N_USERS, N_ITEMS))
ORDER = np.argsort(_rng.random((N_USERS, N_ITEMS)) - SCORES, axis=1)
TRAIN = np.repeat(np.arange(N_USERS), 5), ORDER[:, 3:8].ravel()
TESTS = {
    n: (np.repeat(np.arange(N_USERS), n), ORDER[:, :n].ravel()) for n in (1, 3)
}  # by the number of targets


class Meter:
    """A function that appends what it is asked for to a file of its process in a folder."""

    def __init__(self, folder, *, fails_every: int | None = None) -> None:
        self.folder, self.fails_every, self.calls = str(folder), fails_every, 0

    def __call__(self, users, items):
        self.calls += 1
        failing = self.fails_every is not None and self.calls % self.fails_every == 0
        with open(f"{self.folder}/{'failed' if failing else 'asked'}-{os.getpid()}", "a") as file:
            for user, row in zip(users.tolist(), items.tolist(), strict=True):
                file.writelines(f"{user} {item}\n" for item in row)
        if failing:
            raise ConnectionError("try again")
        return SCORES[users[:, None], items]

    def pairs(self, kind):
        """Pairs that were asked for and answered, or failed."""
        files = Path(self.folder).glob(f"{kind}-*")
        return [line for file in files for line in file.read_text().splitlines()]


@pytest.fixture(scope="module", autouse=True)
def session():
    found = tr.spark.session(
        "local[2,4]",
        spark_ui_enabled="false",
        spark_driver_host="127.0.0.1",
        spark_sql_shuffle_partitions="2",
    )
    found.sparkContext.setLogLevel("OFF")
    yield found
    found.stop()


@pytest.fixture
def meter(tmp_path):
    (tmp_path / "calls").mkdir()
    return Meter(tmp_path / "calls")


def evaluate(meter, design, test, **options):
    scorer = Callable(meter, n_items=N_ITEMS, backoff=0.0, **options)
    return tr.spark.evaluate(
        test, scorer, design, train=TRAIN, metrics="recall@5", confidence=None, seed=SEED
    )


def keeps_the_law(meter, result, design, test):
    """What was asked, by retries too, is what is told, and no more than agreed; none twice."""
    asked, failed = meter.pairs("asked"), meter.pairs("failed")
    assert len(asked) + len(failed) == result.cost
    assert len(asked) == len(set(asked))
    budget = getattr(design, "budget", None)
    if budget is not None:
        assert result.cost <= budget * result.protocol["users"]
    carried = designs.from_dict(result.protocol["design"])
    (scheme,) = result.counts.schemes
    if not (failed and scheme.adaptive):
        assert result.counts == tr.count(Dense(SCORES), test, carried, train=TRAIN, seed=SEED)
        return
    # Calls that failed may have ended the climb anywhere: what counts is where.
    rows, _ = users.take(test, TRAIN, carried, SEED)
    task = prepare(Dense(SCORES), rows, train=TRAIN, keep_target=False)
    drawing = drawing_of(scheme, "random", task, SEED)
    ranked = sample(Dense(SCORES), task, drawing)
    assert result.counts == counts_of(task, ranked, "spread", SEED)


@pytest.mark.parametrize(
    "design",
    [
        Exact(users=20),
        Fixed(num_negatives=10),
        Fixed(num_negatives=80, replacement=True, shared_by=10),
        Adaptive(budget=20),
        LJ24(start=8, stop=0.5),
        Auto(budget=20, users=50, stratified=True),
        Auto(seconds=100.0),
    ],
    ids=repr,
)
def test_of_a_function(meter, design):
    test = TESTS[1]
    result = evaluate(meter, design, test)
    keeps_the_law(meter, result, design, test)


@pytest.mark.parametrize(
    "design",
    [Exact(), Fixed(num_negatives=40), Adaptive(budget=100, replacement=True), Auto(budget=60)],
    ids=repr,
)
def test_of_several_targets(meter, design):
    result = evaluate(meter, design, TESTS[3])
    keeps_the_law(meter, result, design, TESTS[3])


def test_of_frozen_negatives(meter):
    test = TESTS[1]
    frozen = tr.sampling.freeze(
        Dense(SCORES), test, Fixed(num_negatives=10), train=TRAIN, seed=SEED
    )
    result = evaluate(meter, Frozen(frozen), test)
    assert result.cost == len(set(meter.pairs("asked"))) == 11 * N_USERS
    assert result.protocol["design"] == Frozen(frozen).to_dict()


@pytest.mark.parametrize("design", [Fixed(num_negatives=30), Auto(budget=40)], ids=repr)
def test_whatever_is_in_the_cache(meter, tmp_path, design):
    cache = {"cache": tmp_path / "cache", "name": "model"}
    first = Callable(lambda users, items: SCORES[users[:, None], items], n_items=N_ITEMS, **cache)
    tr.evaluate(first, TESTS[1], Fixed(num_negatives=15, users=40), train=TRAIN, seed=SEED)
    first.close()
    result = evaluate(meter, design, TESTS[1], **cache)
    keeps_the_law(meter, result, design, TESTS[1])
    assert 0 < result.cost < 31 * N_USERS
    again = evaluate(meter, designs.from_dict(result.protocol["design"]), TESTS[1], **cache)
    assert again.cost == 0


@pytest.mark.parametrize("n_targets", [1, 3])
@pytest.mark.parametrize(
    "design",
    [
        Adaptive(budget=20),
        Adaptive(budget=100, replacement=True),
        LJ24(budget=40, start=8, stop=0.5),
        Auto(budget=20, users=50, stratified=True),
        Auto(budget=116),  # an exact evaluation takes 115 or 117
    ],
    ids=repr,
)
def test_retries_come_from_the_budget(meter, design, n_targets):
    meter.fails_every = 4
    result = evaluate(meter, design, TESTS[n_targets], batch_pairs=32)
    assert meter.pairs("failed")
    keeps_the_law(meter, result, design, TESTS[n_targets])


def test_retries_with_a_cache(meter, tmp_path):
    meter.fails_every = 4
    cache = {"cache": tmp_path / "cache", "name": "model"}
    result = evaluate(meter, Adaptive(budget=20), TESTS[1], batch_pairs=32, **cache)
    assert meter.pairs("failed")
    keeps_the_law(meter, result, Adaptive(budget=20), TESTS[1])


def test_a_budget_that_failures_use_up(meter):
    meter.fails_every = 2
    with pytest.raises(TruerankError, match=r"2.5 scored pairs per user, 150 in all, does not"):
        evaluate(meter, Adaptive(budget=2.5), TESTS[1], batch_pairs=32)
    assert len(meter.pairs("asked") + meter.pairs("failed")) <= 150


def test_a_function_needs_a_bound(meter):
    with pytest.raises(InputError, match=r"may cost money.*Exact\(\) 6,900 pairs, Auto\(seconds"):
        evaluate(meter, Auto(), TESTS[1])
    scorer = Callable(meter, n_items=N_ITEMS)
    with pytest.raises(InputError, match="unknown scope"):
        tr.spark.evaluate(TESTS[1], scorer, "exact", scope="all")
    with pytest.raises(InputError, match="users is 90; the test has 60 users"):
        evaluate(meter, Exact(users=90), TESTS[1])
    assert not os.listdir(meter.folder)
