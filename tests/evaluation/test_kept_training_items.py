"""Training items that are kept in the ranking: scored one by one, above the target for sure."""

from __future__ import annotations

import json

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from typer.testing import CliRunner

import truerank as tr
from truerank.cli import app
from truerank.designs import Adaptive, Auto, Exact, Fixed, Frozen
from truerank.errors import InputError
from truerank.estimators.several.classes import classes_of

METRICS = ["recall@10", "precision@10", "hit_rate@5", "ndcg@10", "ap@10", "mrr", "ndcg"]
POLICIES = ("spread", "random", "optimistic", "pessimistic")


def problem(seed: int, *, n_users=60, n_items=120, most=1, n_train=25, rounded=False):
    """Scores that know the training items best, a test, and training items."""
    rng = np.random.default_rng(seed)
    scores = rng.normal(size=(n_users, n_items))
    users, items, train = [], [], ([], [])
    for user in range(n_users):
        order = rng.permutation(n_items)
        t = int(rng.integers(1, most + 1))
        known = order[t : t + int(rng.integers(n_train + 1))]
        users += [user] * t
        items += order[:t].tolist()
        train[0].extend([user] * known.size)
        train[1].extend(known.tolist())
        scores[user, known] += 1.0
        scores[user, order[:t]] += 1.0
    if rounded:
        scores = np.round(scores)
    return scores, (np.array(users), np.array(items)), tuple(map(np.array, train))


def listed(scores, test, train):
    """Of each row of the test: (non-targets above and tied, kept ones above and tied)."""
    found = []
    for user, item in zip(*test, strict=True):
        row, own = scores[user], scores[user, item]
        targets, kept = (set(of[1][of[0] == user].tolist()) for of in (test, train))
        others = [i for i in range(row.size) if i not in targets]
        beside = [i for i in others if i in kept]
        found.append(
            [sum(row[i] > own for i in items) for items in (others, beside)]
            + [sum(row[i] == own for i in items) for items in (others, beside)]
        )
    return np.array(found).T


@pytest.mark.parametrize("most", [1, 6])
@pytest.mark.parametrize("rounded", [False, True])
@pytest.mark.parametrize("ties", [*POLICIES, "mid"])
def test_exact_ranks_are_those_without_training_items(most, rounded, ties):
    scores, test, train = problem(1, most=most, rounded=rounded)
    dense = tr.scoring.Dense(scores)
    kept = tr.count(dense, test, "exact", train=train, keep_train=True, ties=ties)
    assert kept == tr.count(dense, test, "exact", ties=ties)
    assert not kept.offset.any()
    asked = tr.scoring.Callable(lambda u, i: scores[u[:, None], i], n_items=scores.shape[1])
    found = tr.evaluate(asked, test, "exact", train=train, keep_train=True, ties=ties)
    whole = tr.evaluate(asked, test, "exact", ties=ties)
    assert found.counts == whole.counts
    assert found.cost == whole.cost
    assert {key: found[key].value for key in found} == {key: whole[key].value for key in whole}
    assert found.protocol["training_items_kept"]
    assert not found.protocol["training_items_left_out"]


@pytest.mark.parametrize("most", [1, 6])
@pytest.mark.parametrize("ties", ["optimistic", "pessimistic"])
@pytest.mark.parametrize("design", [Fixed(num_negatives=20), Adaptive(budget=60)])
def test_offsets_are_those_of_a_plain_count(design, ties, most):
    scores, test, train = problem(2, most=most, rounded=True)
    _, above, _, tied = listed(scores, test, train)
    for scorer in both(scores):
        table = tr.rank(scorer, test, design, train=train, keep_train=True, ties=ties)
        expected = above + (tied if ties == "pessimistic" else 0)
        np.testing.assert_array_equal(table["offset"].to_numpy(), expected)
        left_out = tr.rank(scorer, test, design, train=train, ties=ties)
        np.testing.assert_array_equal(table["n_items"], left_out["n_items"])


def both(scores):
    """Compiled and asked for: the same numbers."""
    yield tr.scoring.Dense(scores)
    yield tr.scoring.Callable(lambda u, i: scores[u[:, None], i], n_items=scores.shape[1])


@pytest.mark.parametrize("most", [1, 6])
@pytest.mark.parametrize("design", [Fixed(num_negatives=20), Adaptive(budget=60)])
def test_all_scorers_give_the_same_counts(design, most):
    scores, test, train = problem(3, most=most, rounded=True)
    one, two = (
        tr.count(scorer, test, design, train=train, keep_train=True) for scorer in both(scores)
    )
    assert one == two
    assert one.offset.any()


def positions(table):
    """An unbiased estimate of the position of each user's first target, second, ...

    E[r - 1] = (n - 1) (R - 1) / (N - 1), as negatives are uniform.
    """
    columns = {name: table[name].to_numpy() for name in table.column_names}
    r, n, pool = (columns[name] for name in ("rank", "sample_size", "n_items"))
    place = columns.get("place", np.ones_like(r))
    stretched = 1.0 + (r - 1) * (pool - 1) / (n - 1) + (place - 1) + columns.get("offset", 0)
    return stretched[np.lexsort([place, columns["user_id"]])]


@pytest.mark.parametrize("most", [1, 6])
@pytest.mark.parametrize("rounded", [False, True])
@pytest.mark.parametrize("ties", ["random", "optimistic", "pessimistic"])
def test_positions_are_unbiased(most, rounded, ties):
    """Over redraws the mean position of each target is that in the whole ranking."""
    scores, test, train = problem(4, n_users=30, most=most, rounded=rounded)
    dense, design, n = tr.scoring.Dense(scores), Fixed(num_negatives=15), 400
    drawn = [
        tr.rank(dense, test, design, train=train, keep_train=True, ties=ties, seed=seed)
        for seed in range(n)
    ]
    whole = [tr.rank(dense, test, "exact", ties=ties, seed=seed) for seed in range(n)]
    ours, exact = (np.stack([positions(table) for table in all_]) for all_ in (drawn, whole))
    error = np.sqrt((ours.var(axis=0) + exact.var(axis=0)) / n)
    off = np.abs(ours.mean(axis=0) - exact.mean(axis=0))
    assert (off <= 5 * error + 1e-9).all()  # of some 100 targets
    # Without the kept items the same check fails.
    without = np.stack(
        [positions(tr.rank(dense, test, design, train=train, ties=ties, seed=s)) for s in range(n)]
    )
    assert (np.abs(without.mean(axis=0) - exact.mean(axis=0)) > 5 * error + 1e-9).any()


def test_tied_negatives_and_tied_kept_items_are_above_by_one_order():
    """One target that ties with all: positions are uniform, not sums of independent halves."""
    n_items, n_train, n_users = 21, 10, 4000
    scores = np.zeros((n_users, n_items))
    test = (np.arange(n_users), np.zeros(n_users, dtype=int))
    train = (np.repeat(test[0], n_train), np.tile(np.arange(1, 1 + n_train), n_users))
    dense = tr.scoring.Dense(scores)
    for ties in ("random", "spread"):
        counts = tr.count(
            dense, test, Fixed(num_negatives=10), train=train, keep_train=True, ties=ties
        )
        position = counts.sampled_rank + counts.offset
        seen = np.bincount(position, counts.weight, minlength=n_items + 1)[1:]
        expected = n_users / n_items
        chi2 = float(((seen - expected) ** 2 / expected).sum())
        assert chi2 < n_items - 1 + 5 * np.sqrt(2 * (n_items - 1))


@pytest.mark.parametrize("most", [1, 6])
def test_samples_of_the_whole_pool_are_exact(most):
    scores, test, train = problem(5, most=most)
    dense = tr.scoring.Dense(scores)
    found = tr.evaluate(
        dense, test, Adaptive(start=scores.shape[1], budget=None, stop=scores.shape[1]),
        train=train, keep_train=True, metrics=METRICS,
    )  # fmt: skip
    whole = tr.evaluate(dense, test, "exact", metrics=METRICS)
    for metric in METRICS:
        assert found[metric].value == pytest.approx(whole[metric].value, abs=1e-12)


@pytest.mark.parametrize("design", [Fixed(num_negatives=20), Adaptive(budget=60), Auto(budget=60)])
@pytest.mark.parametrize("most", [1, 6])
def test_kept_items_count_as_cost_and_in_the_budget(design, most):
    scores, test, train = problem(6, most=most)
    pairs: list[int] = []

    def score(users, items):
        pairs.append(np.size(items))
        return scores[users[:, None], items]

    scorer = tr.scoring.Callable(score, n_items=scores.shape[1])
    found = tr.evaluate(scorer, test, design, train=train, keep_train=True, metrics="ndcg@10")
    assert found.cost == sum(pairs)
    kept, n_users = train[0].size, len(scores)
    if isinstance(design, Fixed):
        assert found.cost == test[0].size + kept + 20 * n_users
    else:
        assert 0.9 * 60 * n_users < found.cost <= 60 * n_users
    least = (kept + test[0].size) / n_users
    with pytest.raises(InputError, match=r"training items that are kept"):
        tr.evaluate(
            scorer, test, Adaptive(budget=least), train=train, keep_train=True, metrics="ndcg@10"
        )


def test_calls_that_fail_are_paid_from_the_budget():
    scores, test, train = problem(7, most=3)
    calls: list[int] = []

    def score(users, items):
        calls.append(np.size(items))
        if len(calls) % 4 == 2:
            raise OSError("busy")
        return scores[users[:, None], items]

    scorer = tr.scoring.Callable(score, n_items=scores.shape[1], batch_pairs=300, backoff=0.0)
    found = tr.evaluate(
        scorer, test, Adaptive(budget=60), train=train, keep_train=True, metrics="ndcg@10"
    )
    assert found.cost == sum(calls) <= 60 * len(scores)
    plain = tr.rank(
        tr.scoring.Dense(scores), test, Fixed(num_negatives=5), train=train, keep_train=True
    )
    assert found.counts.offset.max() == plain["offset"].to_numpy().max()


def test_frozen_negatives_beside_kept_items():
    scores, test, train = problem(8, most=4)
    dense, design = tr.scoring.Dense(scores), Fixed(num_negatives=20)
    frozen = Frozen(tr.sampling.freeze(dense, test, design, train=train, seed=3))
    one, two = (
        tr.count(dense, test, each, train=train, keep_train=True, seed=3)
        for each in (design, frozen)
    )
    assert one == two
    assert one.offset.any()


def test_a_table_of_ranks_holds_the_offsets():
    scores, test, train = problem(9, most=4)
    dense, design = tr.scoring.Dense(scores), Fixed(num_negatives=20)
    table = tr.rank(dense, test, design, train=train, keep_train=True)
    again = tr.RankCounts.from_table(table)
    assert again == tr.count(dense, test, design, train=train, keep_train=True, ties="random")


def is_near(found, whole, metric):
    error = abs(found[metric].value - whole[metric].value)
    return error <= found[metric].high - found[metric].low + 1e-12


@pytest.mark.parametrize("most", [1, 6])
@pytest.mark.parametrize("design", [Fixed(num_negatives=100), Adaptive(budget=150)])
def test_estimates_are_near(most, design):
    """Within a whole interval of 95 %, 3.9 standard errors; without the kept items they are not."""
    scores, test, train = problem(10, n_users=1500, n_items=400, most=most)
    dense = tr.scoring.Dense(scores)
    whole = tr.evaluate(dense, test, "exact", metrics=METRICS)
    kept, without = (
        tr.evaluate(dense, test, design, train=train, keep_train=keep, metrics=METRICS)
        for keep in (True, False)
    )
    for metric in METRICS:
        assert is_near(kept, whole, metric), metric
    assert not all(is_near(without, whole, metric) for metric in METRICS)


def test_a_target_that_is_a_training_item_is_no_kept_item():
    scores, test, train = problem(11)
    more = tuple(np.append(one, two[:5]) for one, two in zip(train, test, strict=True))
    dense, design = tr.scoring.Dense(scores), Fixed(num_negatives=20)
    with pytest.raises(InputError, match="keep_target"):
        tr.count(dense, test, design, train=more, keep_train=True)
    found = tr.count(dense, test, design, train=more, keep_train=True, keep_target=True)
    assert found == tr.count(dense, test, design, train=train, keep_train=True)


def test_what_cannot_be_is_refused():
    scores, test, train = problem(12)
    dense, design = tr.scoring.Dense(scores), Fixed(num_negatives=20)
    with pytest.raises(InputError, match="train is not given"):
        tr.count(dense, test, design, keep_train=True)
    with pytest.raises(InputError, match="'mid'"):
        tr.count(dense, test, design, train=train, keep_train=True, ties="mid")
    for metric in ("auc", "amri"):
        with pytest.raises(InputError, match=metric):
            tr.evaluate(dense, test, design, train=train, keep_train=True, metrics=metric)
    models = {"A": dense, "B": tr.scoring.Dense(-scores)}
    with pytest.raises(InputError, match="count each model on its own"):
        tr.count(models, test, design, train=train, keep_train=True)
    both = tr.count(models, test, "exact", train=train, keep_train=True)
    assert both["A"] == tr.count(dense, test, Exact())


def test_users_who_know_everything_else_have_exact_ranks_only():
    scores = np.random.default_rng(0).normal(size=(2, 6))
    test = (np.array([0, 1]), np.array([0, 0]))
    train = (np.array([0] * 5 + [1]), np.array([1, 2, 3, 4, 5, 1]))
    dense = tr.scoring.Dense(scores)
    assert tr.count(dense, test, train=train, keep_train=True) == tr.count(dense, test)
    with pytest.raises(InputError, match="no candidates"):
        tr.count(dense, test, Fixed(num_negatives=2), train=train, keep_train=True)


def test_classes_know_the_offset():
    """Where many kept items are above a target, many others are, too."""
    scores, test, train = problem(10, n_users=1500, n_items=400)
    counts = tr.count(
        tr.scoring.Dense(scores), test, Fixed(num_negatives=100), train=train, keep_train=True
    )
    assert classes_of(counts, 10.0).table.max() > 5
    alone = tr.count(tr.scoring.Dense(scores), test, Fixed(num_negatives=100), train=train)
    assert classes_of(alone, 10.0).table.max() == 0


def test_the_command_line_keeps_training_items(tmp_path):
    scores, test, train = problem(13, most=4)
    np.save(tmp_path / "S.npy", scores)
    for name, (users, items) in (("test", test), ("train", train)):
        pq.write_table(pa.table({"user_id": users, "item_id": items}), tmp_path / f"{name}.parquet")
    found = CliRunner().invoke(
        app,
        [
            "evaluate", "--scores", str(tmp_path / "S.npy"), "--test",
            str(tmp_path / "test.parquet"), "--train", str(tmp_path / "train.parquet"),
            "--num-negatives", "20", "--keep-train", "-m", "ndcg@10", "--json",
        ],
    )  # fmt: skip
    assert found.exit_code == 0, found.output
    ours = tr.evaluate(
        tr.scoring.Dense(scores), test, Fixed(num_negatives=20), train=train, keep_train=True,
        metrics="ndcg@10",
    )  # fmt: skip
    told = json.loads(found.stdout)
    assert told["cost"] == ours.cost
    assert told["results"][0]["value"] == ours["ndcg@10"].value
    assert told["protocol"]["training_items_kept"]
