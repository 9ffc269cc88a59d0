"""Metrics: gains by hand, names and their aliases, and agreement with ranx."""

from __future__ import annotations

import dataclasses
import importlib.util
import json
import math
import os
import subprocess
import sys
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from truerank import InputError, Metric, RankCounts, estimate, metrics

RANKS = np.arange(1, 6)


def gain(name: str, n_items: Any = 5) -> list[float]:
    (metric,) = metrics.parse(name)
    return metric.gain(RANKS, n_items).tolist()


# -- gains ----------------------------------------------------------------------------------


def test_gains_by_hand() -> None:
    assert gain("recall@3") == [1, 1, 1, 0, 0]
    assert gain("recall") == [1, 1, 1, 1, 1]
    assert gain("precision@4") == [0.25, 0.25, 0.25, 0.25, 0]
    assert gain("ap@2") == [1, 1 / 2, 0, 0, 0]
    assert gain("ap") == [1, 1 / 2, 1 / 3, 1 / 4, 1 / 5]
    assert gain("auc") == [1, 0.75, 0.5, 0.25, 0]
    assert gain("auc@2") == [1, 0.75, 0, 0, 0]
    assert gain("ndcg@3") == pytest.approx([1, math.log(2) / math.log(3), 1 / 2, 0, 0], rel=1e-15)
    assert gain("ndcg")[4] == pytest.approx(1 / math.log2(6), rel=1e-15)
    assert gain("r_precision") == [1, 0, 0, 0, 0]


@pytest.mark.parametrize("k", ["", "@1", "@3", "@9"])
@pytest.mark.parametrize(
    "names", [("recall", "recall_min", "hit_rate"), ("ap", "ap_all", "mrr")], ids=lambda n: n[0]
)
def test_names_that_differ_by_the_number_of_targets_are_one_with_one(
    names: tuple[str, ...], k: str
) -> None:
    first, *others = (gain(name + k) for name in names)
    assert all(other == first for other in others)


def test_gains_of_several_targets_by_hand() -> None:
    """A user's three targets at positions 1, 3 and 7 of ten: ranks 1, 2 and 5 among the others."""
    places = {"place": np.array([1, 2, 3]), "n_targets": 3}

    def total(name: str) -> float:
        (metric,) = metrics.parse(name)
        return float(metric.gain([1, 2, 5], 8, **places).sum())

    ideal = 1 + 1 / math.log2(3) + 1 / 2
    wanted = {
        "recall@3": 2 / 3,
        "recall@1": 1 / 3,
        "recall_min@1": 1.0,
        "recall_min@7": 1.0,
        "precision@3": 2 / 3,
        "precision@5": 2 / 5,
        "hit_rate@1": 1.0,
        "ndcg@3": (1 + 1 / 2) / ideal,
        "ndcg": (1 + 1 / 2 + 1 / 3) / ideal,
        "ndcg@2": 1 / (1 + 1 / math.log2(3)),
        "ap@2": 1 / 2,
        "ap_all@2": 1 / 3,
        "ap": (1 + 2 / 3 + 3 / 7) / 3,
        "mrr": 1.0,
        "auc": (1 + 6 / 7 + 3 / 7) / 3,
        "r_precision": 2 / 3,
    }
    assert {name: total(name) for name in wanted} == pytest.approx(wanted, rel=1e-14)


def test_an_offset_moves_positions_and_leaves_places() -> None:
    """Two training items above a target of rank 2 and place 2: it stands at position 5."""
    known = {"place": 2, "n_targets": 2, "offset": 2}
    assert Metric("recall", 4).gain(2, 10, **known) == 0.0
    assert Metric("recall", 5).gain(2, 10, **known) == 0.5
    assert Metric("ap", 5).gain(2, 10, **known) == pytest.approx(2 / 5 / 2)
    assert Metric("auc").gain(2, 10, **known) == pytest.approx(8 / 9 / 2)
    assert Metric("mrr").gain(2, 10, **known) == 0.0


MEAN_RANKS = {"mr", "amr", "amri"}
CUT = sorted({*metrics.NAMES} - MEAN_RANKS - {"r_precision"})


@given(st.sampled_from(metrics.NAMES), st.integers(1, 12), st.integers(1, 20))
def test_no_list_beats_the_ideal_one(name: str, k: int, t: int) -> None:
    metric = Metric(name, k if name in CUT else None).bound([50])
    place = np.arange(1, t + 1)
    best = float(metric.gain(1, 50, place=place, n_targets=t).sum())
    assert metric.ideal(t) == pytest.approx(best, rel=1e-12)
    worse = np.sort(np.random.default_rng(k * 100 + t).integers(1, 50, t))
    way = -1 if metric.lower_is_better else 1
    assert way * metric.gain(worse, 50, place=place, n_targets=t).sum() <= way * best + 1e-12
    if name not in ("recall", "precision", "auc", "ap_all", "amr"):
        assert best == pytest.approx(1.0, rel=1e-12)


def test_pools_may_differ_by_rank() -> None:
    assert gain("auc", np.array([2, 3, 4, 5, 6])) == [1, 1 / 2, 1 / 3, 1 / 4, 1 / 5]
    (auc,) = metrics.parse("auc")
    table = auc.gain(RANKS, np.array([[5], [9]]))
    assert table.tolist() == [gain("auc", 5), gain("auc", 9)]


@given(st.sampled_from(CUT), st.integers(1, 50))
def test_gains_fall_with_the_rank_and_end_at_the_cut_off(name: str, k: int) -> None:
    metric = Metric(name, k)
    found = metric.gain(np.arange(1, 61), 60)
    assert (np.diff(found) <= 0).all()
    assert (found[k:] == 0).all()
    assert found[0] == metric.best() == found.max()
    assert metric.best() == (1 / k if name == "precision" else 1.0)


def test_only_auc_depends_on_the_pool() -> None:
    for name in ("recall@3", "precision@3", "ndcg", "ap", "auc"):
        (metric,) = metrics.parse(name)
        same = np.array_equal(metric.gain(RANKS, 5), metric.gain(RANKS, 50))
        assert metric.depends_on_pool == (name == "auc") == (not same)


# -- names ----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("spelt", "key"),
    [
        ("recall@10", "recall@10"),
        ("HR@10", "hit_rate@10"),
        ("hit@10", "hit_rate@10"),
        ("Hits@10", "hit_rate@10"),
        ("Hit_Rate@10", "hit_rate@10"),
        ("hit-ratio@10", "hit_rate@10"),
        ("mrr", "mrr"),
        ("RR@5", "mrr@5"),
        ("MAP@5", "ap@5"),
        ("map", "ap"),
        ("AP-all@5", "ap_all@5"),
        ("recall_min@5", "recall_min@5"),
        ("R-Precision", "r_precision"),
        ("p@7", "precision@7"),
        ("NDCG@ 10 ", "ndcg@10"),
        (" auc ", "auc"),
        ("Mean-Rank", "mr"),
        ("AAMRI", "amri"),
    ],
)
def test_names_and_aliases(spelt: str, key: str) -> None:
    (metric,) = metrics.parse(spelt)
    assert metric.key == key
    assert metrics.key(spelt) == key
    assert metrics.key(metric) == key
    assert metrics.parse(metric) == (metric,)


@pytest.mark.parametrize(
    ("given_metrics", "k", "keys"),
    [
        ("ndcg@1,5,10", None, ["ndcg@1", "ndcg@5", "ndcg@10"]),
        ("ndcg@[1, 5]", None, ["ndcg@1", "ndcg@5"]),
        (["recall", "auc"], None, ["recall", "auc"]),
        ("recall", 10, ["recall@10"]),
        (["recall", "ndcg"], [5, 10], ["recall@5", "recall@10", "ndcg@5", "ndcg@10"]),
        (["recall@3", "ndcg"], (5,), ["recall@3", "ndcg@5"]),
        ("recall", range(1, 4), ["recall@1", "recall@2", "recall@3"]),
        ("recall", np.array([2, 4]), ["recall@2", "recall@4"]),
        ("recall", (k for k in (2, 4)), ["recall@2", "recall@4"]),
        ("recall", 5.0, ["recall@5"]),
        (["hit_rate@10", "hr@10", Metric("hit", 10)], None, ["hit_rate@10"]),
        (["recall@10", "hr@10"], None, ["recall@10", "hit_rate@10"]),
        (["mrr@5", "rr@5", "map@5", "ap@5"], None, ["mrr@5", "ap@5"]),
        ([Metric("ndcg"), "ap"], 3, ["ndcg@3", "ap@3"]),
        ((name for name in ("ap", "auc")), None, ["ap", "auc"]),
        ("precision", 4, ["precision@4"]),
    ],
)
def test_several_at_once(given_metrics: Any, k: Any, keys: list[str]) -> None:
    if k is not None and "precision" in str(given_metrics):
        with pytest.raises(InputError, match="precision needs a cut-off"):
            metrics.parse(given_metrics)
    assert [metric.key for metric in metrics.parse(given_metrics, k=k)] == keys


@pytest.mark.parametrize(
    ("given_metrics", "k", "message"),
    [
        ("recal@10", None, "unknown metric 'recal'; did you mean 'recall'"),
        ("nDGC@10", None, "unknown metric 'nDGC'; did you mean 'ndcg'"),
        ("hitrate@10", None, "unknown metric 'hitrate'; did you mean 'hit_rate'"),
        (
            "novelty",
            None,
            "unknown metric 'novelty'.*known: recall, recall_min, precision, "
            "hit_rate, ndcg, ap, ap_all, mrr, auc, r_precision, mr, amr, amri, hr",
        ),
        ("", None, "unknown metric ''"),
        ("recall@0", None, "k of recall is 0; it must be at least 1"),
        ("recall@-3", None, "k of recall is -3; it must be at least 1"),
        ("recall@--3", None, "k is '--3'; it must be a whole number"),
        ("recall@1.5", None, "k is '1.5'; it must be a whole number"),
        ("recall@", None, "k is ''; it must be a whole number"),
        ("recall@ten", None, "k is 'ten'; it must be a whole number"),
        ("recall@1,,2", None, "k is ''"),
        ("recall@" + "9" * 5000, None, "it must be a whole number"),
        ("recall", 0, "k is 0; it must be at least 1"),
        ("recall", 2.5, "k is 2.5; it must be a whole number"),
        ("recall", "10", "k is '10'; it must be a whole number"),
        ("recall", [5, -1], "k is -1; it must be at least 1"),
        ("recall", [], "k is empty"),
        ("recall", True, "k is True; it must be a whole number"),
        ([], None, "metrics is empty"),
        (None, None, "metric is None; expected a name"),
        (7, None, "metric is 7; expected a name"),
        (["recall@1", 7], None, "metric is 7; expected a name"),
        ("precision", None, "precision needs a cut-off, as in 'precision@10'"),
        ("r_precision@10", None, "r_precision has no cut-off; give it as 'r_precision', without @"),
        ("r-precision", 10, "r_precision has no cut-off; give it as 'r_precision', without @10"),
    ],
)
def test_bad_metrics(given_metrics: Any, k: Any, message: str) -> None:
    with pytest.raises(InputError, match=message):
        metrics.parse(given_metrics, k=k)


@given(st.text(max_size=12))
def test_any_text_is_a_metric_or_an_input_error(text: str) -> None:
    for name in (text, f"recall@{text}"):
        try:
            found = metrics.parse(name)
        except InputError:
            continue
        assert all(isinstance(metric, Metric) for metric in found)


# -- one's own ------------------------------------------------------------------------------


def test_a_metric_of_ones_own() -> None:
    decay = Metric("decay", k=3, function=lambda rank: np.exp(-rank / 5))
    assert decay.key == "decay@3"
    assert not decay.depends_on_pool
    found = decay.gain(RANKS, 5)
    assert found == pytest.approx([math.exp(-0.2), math.exp(-0.4), math.exp(-0.6), 0, 0])
    (many, few) = metrics.parse(Metric("decay", function=decay.function), k=[3, 1])
    assert many == decay
    assert few.key == "decay@1"
    # A name of ours does not make it ours.
    own = Metric("recall", function=lambda rank: 0.5 * np.ones_like(rank))
    assert own.gain(RANKS, 5).tolist() == [0.5] * 5


def test_an_own_metric_is_estimated_like_ours() -> None:
    counts = RankCounts.from_exact_ranks([1, 2, 7], n_items=20)
    own = Metric("mine", function=lambda rank: 1 / rank)
    found = estimate(counts, [own, "ap"], estimator="naive")
    assert found["mine"].value == found["ap"].value == pytest.approx((1 + 1 / 2 + 1 / 7) / 3)


@pytest.mark.parametrize(
    ("function", "message"),
    [
        (lambda rank: 1.0, r"must return one finite gain per rank: got shape \(\)"),
        (lambda rank: rank[:2], r"got shape \(2,\) for ranks of shape \(5,\)"),
        (lambda rank: np.full(rank.shape, np.nan), "one finite gain per rank"),
        (lambda rank: rank * np.inf, "one finite gain"),
    ],
)
def test_own_metrics_that_give_no_gain(function: Any, message: str) -> None:
    with pytest.raises(InputError, match=message):
        Metric("mine", function=function).gain(RANKS, 5)


def test_own_metrics_that_are_none() -> None:
    with pytest.raises(InputError, match="function is 3; it must be a function or None"):
        Metric("mine", function=3)  # type: ignore[arg-type]
    with pytest.raises(InputError, match="unknown metric 'mine'"):
        Metric("mine")
    with pytest.raises(InputError, match="k of mine is 0; it must be at least 1"):
        Metric("mine", k=0, function=np.sqrt)
    with pytest.raises(InputError, match="two different metrics are called 'mine'"):
        metrics.parse([Metric("mine", function=np.sqrt), Metric("mine", function=np.log)])


def test_metrics_cannot_be_changed() -> None:
    with pytest.raises(dataclasses.FrozenInstanceError):
        Metric("recall", 10).k = 5  # type: ignore[misc]


# -- the oracle -----------------------------------------------------------------------------


ORACLE = """
import json, sys
from ranx import Qrels, Run, evaluate
qrels, run, names = json.load(sys.stdin)
json.dump({k: float(v) for k, v in evaluate(Qrels(qrels), Run(run), names).items()}, sys.stdout)
"""


def test_exact_ranks_give_what_ranx_gives() -> None:
    if importlib.util.find_spec("ranx") is None:
        pytest.skip("ranx, the oracle, is not installed")
    rng = np.random.default_rng(0)
    n_users, n_items = 40, 30
    ranks = np.minimum(rng.geometric(0.15, n_users), n_items)
    target = {f"u{user}": {"target": 1} for user in range(n_users)}
    run = {  # scores fall with the rank; the target stands at its own
        f"u{user}": {
            "target" if rank == ranks[user] else f"i{rank}": float(n_items - rank)
            for rank in range(1, n_items + 1)
        }
        for user in range(n_users)
    }
    names = {  # ours -> theirs
        "recall@1": "recall@1",
        "recall@10": "hit_rate@10",
        "hit_rate@10": "hit_rate@10",
        "ndcg@5": "ndcg@5",
        "ndcg@10": "ndcg@10",
        "ap": "mrr",
        "mrr": "mrr",
        "mrr@5": "mrr@5",
        "ap_all@5": "map@5",
        "r_precision": "r-precision",
        "precision@5": "precision@5",
    }
    done = subprocess.run(  # compiling its kernels would take most of a minute
        [sys.executable, "-W", "ignore", "-c", ORACLE],
        input=json.dumps([target, run, list(names.values())]),
        env={**os.environ, "NUMBA_DISABLE_JIT": "1"},
        capture_output=True,
        text=True,
        check=True,
    )
    theirs = json.loads(done.stdout)
    counts = RankCounts.from_exact_ranks(ranks, n_items=n_items)
    ours = estimate(counts, list(names), estimator="naive")
    for our, their in names.items():
        assert ours[our].value == pytest.approx(theirs[their], rel=1e-12), our


def test_all_gains_are_those_of_each_metric():
    ranks = np.array([3.5, 1.0, 7.25, 900.0, 10.0, 2.0])
    own = Metric("own", 5, lambda rank: 1.0 / rank**2)
    wanted = [*metrics.parse(["recall@1,10", "ndcg@10", "ap", "auc", "precision@3", "ndcg"]), own]
    each = np.stack([metric.gain(ranks, 1000) for metric in wanted], axis=1)
    np.testing.assert_allclose(metrics.all_gains(wanted, ranks, 1000), each, rtol=1e-15)
    weights = np.random.default_rng(0).random((3, ranks.size))
    totals = metrics.all_total_gains(wanted, ranks, 1000, weights)
    np.testing.assert_allclose(totals, weights @ each, rtol=1e-13)
    nothing = metrics.all_total_gains(wanted, np.empty(0), 1000, np.empty((2, 0)))
    assert nothing.tolist() == [[0.0] * len(wanted)] * 2
