"""Several targets per user: exact metrics are the field's own, ties included."""

from __future__ import annotations

import importlib.util
import itertools
import json
import math
import subprocess
import sys

import numpy as np
import pytest

import truerank as tr
from truerank.designs import Adaptive, Exact, Fixed

KS = (1, 3, 5, 10, 20)
NAMES = ("recall", "recall_min", "precision", "hit_rate", "ndcg", "ap", "ap_all", "mrr")
METRICS = [f"{name}@{k}" for name in NAMES for k in KS] + [
    "auc",
    "r_precision",
    "ndcg",
    "ap",
    "mrr",
]


def by_hand(listed: list[bool], metric: str) -> float:
    """A metric of one ranked list: which positions hold targets."""
    name, _, cut = metric.partition("@")
    t, hits = sum(listed), [p for p, hit in enumerate(listed, 1) if hit]
    k = int(cut) if cut else len(listed)
    found = [p for p in hits if p <= k]
    most = min(t, k)
    if name == "auc":
        negatives = len(listed) - t
        return sum(negatives - (p - 1 - i) for i, p in enumerate(hits)) / negatives / t
    return {
        "recall": len(found) / t,
        "recall_min": len(found) / most,
        "precision": len(found) / k,
        "hit_rate": float(bool(found)),
        "ndcg": sum(1 / math.log2(p + 1) for p in found)
        / sum(1 / math.log2(p + 1) for p in range(1, most + 1)),
        "ap": sum((i + 1) / p for i, p in enumerate(hits) if p <= k) / most,
        "ap_all": sum((i + 1) / p for i, p in enumerate(hits) if p <= k) / t,
        "mrr": 1 / found[0] if found else 0.0,
        "r_precision": len([p for p in hits if p <= t]) / t,
    }[name]


def problem(seed: int, *, n_users=20, n_items=80, most=50, rounded=False):
    """Scores, a test with 1 to ``most`` targets per user, and training items."""
    rng = np.random.default_rng(seed)
    scores = rng.normal(size=(n_users, n_items))
    if rounded:
        scores = np.round(scores)
    users, items, train = [], [], ([], [])
    for user in range(n_users):
        order = rng.permutation(n_items)
        t = int(rng.integers(1, most + 1))
        users += [user] * t
        items += order[:t].tolist()
        train[0].extend([user] * 5)
        train[1].extend(order[t : t + 5].tolist())
    return scores, (np.array(users), np.array(items)), tuple(map(np.array, train))


def ranked(scores, user, targets, left_out):
    order = [i for i in np.argsort(-scores[user], kind="stable") if i not in left_out]
    return [i in targets for i in order]


@pytest.mark.parametrize("seed", range(3))
def test_exact_metrics_are_those_of_the_ranked_list(seed):
    scores, test, train = problem(seed)
    found = tr.evaluate(tr.scoring.Dense(scores), test, Exact(), train=train, metrics=METRICS)
    for metric in METRICS:
        values = [
            by_hand(
                ranked(
                    scores, u, set(test[1][test[0] == u]), set(train[1][train[0] == u].tolist())
                ),
                metric,
            )
            for u in range(len(scores))
        ]
        assert found[metric].value == pytest.approx(np.mean(values), abs=1e-12)
        assert found[metric].low == found[metric].value == found[metric].high
        assert found[metric].naive == pytest.approx(found[metric].value, abs=1e-12)


ORACLE = """
import json, sys
from ranx import Qrels, Run, evaluate
qrels, run, names = json.load(sys.stdin)
json.dump({k: float(v) for k, v in evaluate(Qrels(qrels), Run(run), names).items()}, sys.stdout)
"""


def test_exact_metrics_are_those_of_ranx():
    if importlib.util.find_spec("ranx") is None:
        pytest.skip("ranx, the oracle, is not installed")
    scores, test, _ = problem(7)
    qrels: dict[str, dict[str, int]] = {}
    for user, item in zip(*test, strict=True):
        qrels.setdefault(str(user), {})[str(item)] = 1
    run = {
        str(u): {str(i): float(score) for i, score in enumerate(row)}
        for u, row in enumerate(scores)
    }
    # ranx divides average precision by the number of targets: ours is ap_all.
    names = {
        "recall@20": "recall@20",
        "precision@20": "precision@20",
        "hit_rate@20": "hit_rate@20",
        "ndcg@20": "ndcg@20",
        "map@20": "ap_all@20",
        "mrr@20": "mrr@20",
        "r-precision": "r_precision",
    }
    answer = subprocess.run(  # apart: it compiles with warnings
        [sys.executable, "-W", "ignore", "-c", ORACLE],
        input=json.dumps([qrels, run, list(names)]),
        capture_output=True,
        text=True,
        check=True,
    )
    theirs = json.loads(answer.stdout)
    ours = tr.evaluate(tr.scoring.Dense(scores), test, Exact(), metrics=list(names.values()))
    for name, metric in names.items():
        assert ours[metric].value == pytest.approx(theirs[name], abs=1e-12), name


def test_ndcg_is_that_of_scikit_learn():
    """sklearn.metrics.ndcg_score: DCG of the scores over that of the best order, no ties."""
    scores, test, _ = problem(3)
    found = tr.evaluate(tr.scoring.Dense(scores), test, Exact(), metrics=["ndcg@10", "ndcg"])
    for metric, k in (("ndcg@10", 10), ("ndcg", scores.shape[1])):
        values = []
        for user, row in enumerate(scores):
            truth = np.isin(np.arange(row.size), test[1][test[0] == user]).astype(float)
            discount = 1 / np.log2(np.arange(2, row.size + 2))
            discount[k:] = 0
            gain = truth[np.argsort(-row)] @ discount
            values.append(gain / (np.sort(truth)[::-1] @ discount))
        assert found[metric].value == pytest.approx(np.mean(values), abs=1e-12)


@pytest.mark.parametrize("tied", [False, True])
def test_ndcg_is_what_scikit_learn_says(tied):
    """By its own function, which averages over ties; it is no dependency of ours."""
    reason = "scikit-learn, the oracle, is not installed"
    oracle = pytest.importorskip("sklearn.metrics", reason=reason)
    scores, test, _ = problem(5)
    scores = np.round(scores, 0 if tied else 12)
    truth = np.zeros_like(scores)
    truth[test] = 1.0
    evaluated = np.unique(test[0])
    found = tr.evaluate(tr.scoring.Dense(scores), test, Exact(), metrics=["ndcg@10", "ndcg"])
    for metric, k in (("ndcg@10", 10), ("ndcg", None)):
        value = oracle.ndcg_score(truth[evaluated], scores[evaluated], k=k)
        assert found[metric].value == pytest.approx(value, abs=1e-12)


def tie_orders(scores):
    """All orders of items by falling score, those of one score in every order."""
    groups = [np.flatnonzero(scores == s).tolist() for s in sorted(set(scores), reverse=True)]
    for parts in itertools.product(*(itertools.permutations(group) for group in groups)):
        yield [item for part in parts for item in part]


@pytest.mark.parametrize("seed", range(6))
def test_spread_is_the_mean_over_all_orders_of_tied_items(seed):
    rng = np.random.default_rng(seed)
    scores = rng.integers(0, 3, size=(4, 8)).astype(float)
    targets = [rng.choice(8, size=int(rng.integers(1, 6)), replace=False) for _ in scores]
    test = (np.repeat(np.arange(4), [len(t) for t in targets]), np.concatenate(targets))
    metrics = ["recall@2", "precision@3", "hit_rate@1", "ndcg@3", "ap@3", "mrr@4", "auc", "map"]
    found = tr.evaluate(tr.scoring.Dense(scores), test, Exact(), metrics=[*metrics, "r_precision"])
    for metric in [*metrics, "r_precision"]:
        key = tr.metrics.key(metric)
        values = [
            np.mean([by_hand([i in set(mine) for i in order], key) for order in tie_orders(row)])
            for row, mine in zip(scores, targets, strict=True)
        ]
        assert found[metric].value == pytest.approx(np.mean(values), abs=1e-12), metric


def test_best_of_tied_targets_follows_the_negative_hypergeometric_law():
    """Two targets and two others of one score: the best has 1/2, 1/3, 1/6."""
    counts = tr.count(tr.scoring.Dense(np.zeros((1, 4))), ([0, 0], [0, 1]))
    first = counts.place == 1
    assert counts.weight[first].tolist() == pytest.approx([1 / 2, 1 / 3, 1 / 6])
    assert counts.sampled_rank[first].tolist() == [1, 2, 3]
    assert counts.weight[~first].tolist() == pytest.approx([1 / 6, 1 / 3, 1 / 2])


def test_random_ties_give_positions_that_differ_and_have_the_right_mean():
    scorer = tr.scoring.Dense(np.zeros((1, 6)))
    test = ([0, 0, 0], [0, 1, 2])
    means = []
    for seed in range(400):
        table = tr.rank(scorer, test, seed=seed).to_pandas()
        position = table["rank"] + table["place"] - 1
        assert sorted(position) == sorted(set(position))
        means.append((position <= 2).mean())
    # Each target is in the first two of six with probability 1/3; four standard errors.
    assert abs(np.mean(means) - 1 / 3) < 4 * np.std(means) / 20


@pytest.mark.parametrize("metric", METRICS)
def test_a_perfect_model_gets_the_best_there_is(metric):
    _, test, _ = problem(5)
    scores = np.zeros((20, 80))
    scores[test] = 1.0
    found = tr.evaluate(tr.scoring.Dense(scores), test, Exact(), metrics=metric)[metric]
    ideal = tr.metrics.parse(metric)[0].ideal(np.bincount(test[0])).mean()
    assert found.value == pytest.approx(ideal, abs=1e-12)
    assert not found.out_of_range
    if metric.partition("@")[0] in ("recall_min", "ndcg", "ap", "mrr", "hit_rate", "auc"):
        assert found.value == pytest.approx(1.0, abs=1e-12)


DESIGNS = [
    Exact(),
    Fixed(num_negatives=9),
    Fixed(num_negatives=9, replacement=True),
    Adaptive(budget=200, start=4),
    Fixed(num_negatives=9, shared_by=5),
]


@pytest.mark.parametrize("design", DESIGNS, ids=repr)
@pytest.mark.parametrize("rounded", [False, True])
def test_parts_of_users_add_up_to_the_whole(design, rounded):
    scores, test, train = problem(2, rounded=rounded)
    scorer = tr.scoring.Dense(scores)
    if isinstance(design, Adaptive) or getattr(design, "shared_by", None):
        pytest.skip("who goes on, or shares, depends on all users")
    whole = tr.count(scorer, test, design, train=train)
    first = test[0] < 9
    parts = [
        tr.count(scorer, (test[0][at], test[1][at]), design, train=train) for at in (first, ~first)
    ]
    assert parts[0] + parts[1] == whole
    assert whole.n_users == 20
    assert whole.total_weight == pytest.approx(test[0].size)


@pytest.mark.parametrize("design", DESIGNS, ids=repr)
def test_compiled_plain_and_called_scorers_count_alike(design, monkeypatch):
    scores, test, train = problem(4, rounded=True)
    found = []
    for numba in "01":
        monkeypatch.setenv("TRUERANK_NUMBA", numba)
        found.append(tr.count(tr.scoring.Dense(scores), test, design, train=train))
    call = tr.scoring.Callable(lambda u, i: scores[u[:, None], i], n_items=80)
    if not isinstance(design, Adaptive):  # a function's budget is counted in pairs asked for
        found.append(tr.count(call, test, design, train=train))
    assert all(one == found[0] for one in found[1:])


def test_ranks_of_a_table_are_counted_again():
    scores, test, train = problem(6)
    scorer = tr.scoring.Dense(scores)
    for design in (Exact(), Fixed(num_negatives=9)):
        table = tr.rank(scorer, test, design, train=train)
        assert {"place", "n_targets"} <= set(table.column_names)
        counts = tr.RankCounts.from_table(table, replacement=False)
        assert counts == tr.count(scorer, test, design, train=train, ties="random")


def test_one_target_per_user_has_no_places():
    scores, test, _ = problem(1, most=1)
    counts = tr.count(tr.scoring.Dense(scores), test, Fixed(num_negatives=9))
    assert not counts.several
    assert counts.place.tolist() == counts.n_targets.tolist() == [1] * counts.n_outcomes
    assert "place" not in counts.to_arrow().column_names
    assert "place" not in tr.rank(tr.scoring.Dense(scores), test).column_names


def test_models_are_not_counted_together():
    scores, test, _ = problem(1)
    models = {"A": tr.scoring.Dense(scores), "B": tr.scoring.Dense(-scores)}
    with pytest.raises(tr.InputError, match="count each model on its own"):
        tr.count(models, test, Fixed(num_negatives=9))


def found_by_hand(listed: list[bool], k: int | None) -> float:
    """Average precision over the targets among the first k positions."""
    hits = [p for p, hit in enumerate(listed[:k], 1) if hit]
    return sum((i + 1) / p for i, p in enumerate(hits)) / len(hits) if hits else 0.0


@pytest.mark.parametrize("most", [1, 50])
@pytest.mark.parametrize("k", [1, 5, 20, None])
def test_average_precision_of_what_is_found_is_that_of_the_ranked_list(k, most):
    scores, test, train = problem(17, most=most)
    dense = tr.scoring.Dense(scores)
    lists = [
        ranked(scores, u, set(test[1][test[0] == u]), set(train[1][train[0] == u].tolist()))
        for u in range(len(scores))
    ]
    table = tr.rank(dense, test, "exact", train=train)
    expected = np.mean([found_by_hand(listed, k) for listed in lists])
    for each in (table, table.to_pandas(), table.to_pydict()):
        assert tr.metrics.ap_found(each, k) == pytest.approx(expected, abs=1e-12)
    if k is None:  # all are found
        whole = tr.evaluate(dense, test, "exact", train=train, metrics="ap")
        assert tr.metrics.ap_found(table) == pytest.approx(whole["ap"].value, abs=1e-12)


def test_average_precision_of_what_is_found_is_for_exact_ranks_of_whole_users():
    scores, test, _ = problem(18, most=5)
    dense = tr.scoring.Dense(scores)
    with pytest.raises(tr.InputError, match="are those of samples"):
        tr.metrics.ap_found(tr.rank(dense, test, Fixed(num_negatives=9)))
    table = tr.rank(dense, test, "exact")
    with pytest.raises(tr.InputError, match="all targets of each user"):
        tr.metrics.ap_found(table.slice(int(np.argmax(table["n_targets"].to_numpy() > 1)) + 1))
    with pytest.raises(tr.InputError, match="no column sample_size"):
        tr.metrics.ap_found(table.drop_columns(["sample_size"]))
    with pytest.raises(tr.InputError, match=r"depends on all targets .* truerank.metrics.ap_found"):
        tr.evaluate(dense, test, "exact", metrics="map_found@10")
