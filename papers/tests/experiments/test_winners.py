"""Who wins: counted as written out, ties and all, and over evaluations drawn from exact ranks."""

from __future__ import annotations

import numpy as np
import pytest

from truerank.designs import LJ24, Fixed
from truerank.errors import InputError
from truerank_papers.experiments.winners import best_found, best_two_found, leader, winner_test

N_ITEMS, N_USERS = 300, 800


def global_ranks() -> np.ndarray:
    """Two models' ranks of the same users, (2, n_users): recall@K is about (K/N)^0.4, (K/N)^0.5."""
    level = np.random.default_rng(0).random((2, N_USERS))
    return np.ceil(N_ITEMS * level ** np.array([[2.5], [2.0]])).astype(np.int64)


def test_the_best_two_in_any_order():
    truth = np.array([3.0, 1.0, 2.0])
    found = np.array([[2.0, 3.0, 1.0], [1.0, 2.0, 3.0], [3.0, 1.0, 2.0]])  # (models, repeats)
    assert best_two_found(truth, found).tolist() == [True, False, False]
    assert best_found(truth, found).tolist() == [False, True, False]


def test_counted_as_written_out():
    """Whole numbers, so that exact values and estimates tie often; the first of a tie is picked."""
    rng = np.random.default_rng(1)
    exact = rng.integers(0, 4, (4, 3)).astype(float)  # models, metrics
    estimated = rng.integers(0, 4, (4, 50, 2, 3)).astype(float)  # models, repeats, estimators, ...
    won, two = best_found(exact, estimated), best_two_found(exact, estimated)
    assert won.shape == two.shape == (50, 2, 3)
    for r, e, m in np.ndindex(won.shape):
        truth = exact[:, m].tolist()
        order = sorted(range(4), key=lambda i: -estimated[i, r, e, m])  # stable
        assert won[r, e, m] == (truth[order[0]] == max(truth))
        pair = sorted((truth[order[0]], truth[order[1]]), reverse=True)
        assert two[r, e, m] == (pair == sorted(truth, reverse=True)[:2])


def test_the_leader_is_named():
    assert leader({"a": 0.25, "b": 0.5, "c": 0.375}, 2) == "b (0.50, next 0.38)"
    assert leader({"a": 1.0, "b": 1.0}, 1) == "a (1.0, next 1.0)"


def test_winners():
    """LJ24 table 6: with all items the best always wins; with few, who is clearly ahead."""
    a, b = global_ranks()
    ranks = {"A": a, "B": b, "C": np.minimum(2 * b, N_ITEMS)}
    options = {"n_items": N_ITEMS, "repeats": 30}
    every = Fixed(sample_size=N_ITEMS, replacement=False)
    (exact,) = winner_test(ranks, "recall@20", design=every, estimator="bv", **options)
    assert (exact.winner, exact.wins, exact.top2) == ("A", 30, 30)
    assert exact.exact["B"] == pytest.approx((b <= 20).mean())
    assert exact.pairs_per_user == N_ITEMS - 1
    found = winner_test(
        {"A": a, "B": np.roll(a, 1), "C": b},
        ["recall@20", "ndcg@20"],
        design=Fixed(sample_size=30, replacement=False),
        estimator=["naive", "bv"],
        **options,
    )
    assert [(one.estimator, one.metric) for one in found] == [
        ("naive", "recall@20"),
        ("naive", "ndcg@20"),
        ("bv", "recall@20"),
        ("bv", "ndcg@20"),
    ]
    for one in found:
        assert sum(one.picked.values()) == one.repeats == 30
        # Either of the two best is right; one of them alone wins about half of the time.
        assert one.wins == one.picked["A"] + one.picked["B"]
    assert 5 <= found[3].picked["A"] <= 25
    growing = LJ24(start=10, stop=40)
    (grown,) = winner_test(ranks, "recall@20", design=growing, estimator="bv", **options)
    assert 9 < grown.pairs_per_user < 39
    again = winner_test(ranks, "recall@20", design=growing, estimator="bv", **options)
    assert again == [grown]


def test_models_of_other_users_are_refused():
    a, b = global_ranks()
    options = {"n_items": N_ITEMS, "design": Fixed(sample_size=30, replacement=False)}
    with pytest.raises(InputError, match="different numbers of ranks: A 800, B 799"):
        winner_test({"A": a, "B": b[1:]}, "recall@20", **options)
    with pytest.raises(InputError, match="is 522 at row 0; ranks are 1-based"):
        winner_test({"A": a, "B": b + N_ITEMS}, "recall@20", **options)
    with pytest.raises(InputError, match="repeats is 0"):
        winner_test({"A": a, "B": b}, "recall@20", repeats=0, **options)
