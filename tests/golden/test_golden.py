"""Counts of every design and engine are, bit for bit, those that were counted before.

``counts.json`` holds digests of counts by data that is made up here; it changes only if the draws
themselves are meant to.
"""

from __future__ import annotations

import dataclasses
import hashlib
import json
import re
import shutil
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

import truerank as tr
from truerank.designs import LJ24, Adaptive, Design, Exact, Fixed, Frozen

GOLDEN = json.loads(Path(__file__).with_name("counts.json").read_text())

rng = np.random.default_rng(2026)
USERS = rng.standard_normal((300, 8)).astype(np.float32)
ITEMS = rng.standard_normal((400, 8)).astype(np.float32)
ORDER = np.argsort(rng.random((300, 400)) - 0.15 * (USERS @ ITEMS.T), axis=1)
TEST = (np.arange(300), ORDER[:, 0].copy())
TRAIN = (np.repeat(np.arange(300), 12), ORDER[:, 1:13].ravel().copy())
SEVERAL = (np.repeat(np.arange(300), 3), ORDER[:, [0, 20, 21]].ravel().copy())
SCORES = np.round(USERS @ ITEMS.T, 1)  # many ties

SCORERS = {
    "factors": lambda: tr.scoring.Factors(USERS, ITEMS),
    "dense": lambda: tr.scoring.Dense(SCORES),
    "callable": lambda: tr.scoring.Callable(lambda u, i: SCORES[u[:, None], i], n_items=400),
}


def digest(counts: tr.RankCounts) -> str:
    found = hashlib.sha256("|".join(scheme.name for scheme in counts.schemes).encode())
    for name in ("scheme", "n_items", "sample_size", "sampled_rank", "replicate"):
        found.update(getattr(counts, name).astype("<i8").tobytes())
    found.update(counts.weight.astype("<f8").tobytes())
    found.update(repr((float(counts.n_users), float(counts.squared_weight))).encode())
    if counts.several:
        for name in ("place", "n_targets", "offset", "block"):
            found.update(getattr(counts, name).astype("<i8").tobytes())
    return found.hexdigest()[:32]


def design_of(case: str) -> tuple[Design, dict[str, Any]]:
    """The design and the options that a case of the golden file stands for."""
    replacement = {"replacement": "replacement=True" in case}
    options: dict[str, Any] = {}
    if " several" in case:
        options["test"] = SEVERAL
    words = case.split()
    if "exact" in words:
        design: Design = Exact()
        if words[-1] in ("spread", "random", "mid", "optimistic", "pessimistic"):
            options["ties"] = words[-1]
    elif "shared" in words:
        design = Fixed(sample_size=20, shared_by=16, **replacement)
    elif "40..200" in words:
        design = LJ24(start=40, stop=200, hits=2, growth=1.7, **replacement)
    elif "lj24" in words:
        design = LJ24(start=20, stop=0.5, **replacement)
    elif "several adaptive" in case:
        design = Adaptive(budget=3 * 51)  # 150 negatives that three targets share
    elif "adaptive" in words:
        (negatives,) = re.findall(r"adaptive (\d+)", case)
        design = Adaptive(budget=int(negatives) + 1, **replacement)
    else:
        design = Fixed(sample_size=20, **replacement)
        if words[-1] == "random":
            options["ties"] = "random"
    if "users" in words:
        design = dataclasses.replace(design, users=100, stratified="stratified" in words)
    return design, options


LOCAL = [
    case
    for case in GOLDEN
    if case.split()[0] in SCORERS and " rank " not in case and not case.endswith("frozen")
]


@pytest.mark.parametrize("case", LOCAL)
def test_counts_are_those_of_before(case: str) -> None:
    design, options = design_of(case)
    scorer = SCORERS[case.split()[0]]()
    counts = tr.count(scorer, options.pop("test", TEST), design, train=TRAIN, seed=3, **options)
    assert digest(counts) == GOLDEN[case]


@pytest.mark.parametrize("kind", SCORERS)
def test_frozen_counts_are_those_of_before(kind: str) -> None:
    scorer = SCORERS[kind]()
    frozen = tr.sampling.freeze(scorer, TEST, Fixed(sample_size=15), train=TRAIN, seed=5)
    counts = tr.count(scorer, TEST, Frozen(frozen), train=TRAIN)
    assert digest(counts) == GOLDEN[f"{kind} frozen"]


@pytest.mark.parametrize(
    ("case", "design"), [("fixed 20", Fixed(sample_size=20)), ("exact", "exact")]
)
def test_ranks_are_those_of_before(case: str, design: Any) -> None:
    table = tr.rank(SCORERS["factors"](), TEST, design, train=TRAIN, seed=3)
    ranks = np.asarray(table["rank"]).astype("<i8").tobytes()
    assert hashlib.sha256(ranks).hexdigest()[:32] == GOLDEN[f"factors rank {case}"]


@pytest.fixture(scope="module")
def spark_users() -> Any:
    """The users of the golden file as rows of a local Spark session."""
    if shutil.which("java") is None:
        pytest.skip("Spark needs Java, and there is no java on the PATH")
    pytest.importorskip("pyspark", reason="pyspark is not installed")
    tr.spark.session("local[2,4]", spark_ui_enabled="false", spark_driver_host="127.0.0.1")
    columns = {"user_id": TEST[0], "item_id": TEST[1], "vector": pa.array(list(USERS))}
    return tr.spark.frame(pa.table({**columns, "train": pa.array(list(ORDER[:, 1:13]))}))


SPARK = {
    "spark exact": Exact(),
    "spark fixed": Fixed(sample_size=20),
    "spark shared": Fixed(sample_size=20, shared_by=16),
    "spark adaptive": LJ24(start=20, stop=0.5),
    # What Spark refused before it now counts as one machine does.
    "factors adaptive 59 replacement=False": Adaptive(budget=60),
    "factors users fixed": Fixed(sample_size=20, users=100),
    "factors users stratified": Fixed(sample_size=20, users=100, stratified=True),
}


@pytest.mark.parametrize("case", SPARK)
def test_counts_on_spark_are_those_of_before(spark_users: Any, case: str) -> None:
    assert digest(tr.spark.count(spark_users, ITEMS, SPARK[case], seed=3)) == GOLDEN[case]


def test_frozen_counts_on_spark_are_those_of_before(spark_users: Any) -> None:
    scorer = SCORERS["factors"]()
    frozen = tr.sampling.freeze(scorer, TEST, Fixed(sample_size=15), train=TRAIN, seed=5)
    assert digest(tr.spark.count(spark_users, ITEMS, Frozen(frozen))) == GOLDEN["factors frozen"]
