"""Models compared on users with several targets: the same blocks of users go together."""

from __future__ import annotations

import numpy as np
import pytest

import truerank as tr

METRICS = ["recall@10", "ndcg@10", "hit_rate@10"]


def problem(seed, n_users=250, n_items=400):
    """Users with 3 to 7 targets, and two models that err alike in part."""
    rng = np.random.default_rng(seed)
    truth = rng.normal(size=(n_users, 8)) @ rng.normal(size=(8, n_items))
    liked = np.argsort(-(truth + 3.0 * rng.normal(size=truth.shape)), axis=1)
    number = rng.integers(3, 8, n_users)
    test = (
        np.repeat(np.arange(n_users), number),
        np.concatenate([row[:n] for row, n in zip(liked, number, strict=True)]),
    )
    models = {
        name: tr.scoring.Dense(truth + noise * rng.normal(size=truth.shape))
        for name, noise in (("fine", 1.0), ("rough", 1.6))
    }
    return models, test


def counted(models, test, design, seed=0):
    return {name: tr.count(one, test, design, seed=seed) for name, one in models.items()}


def test_differences_are_covered_and_of_the_population_narrower_than_unpaired():
    inside, width, narrower = [], [], []
    for seed in range(16):
        models, test = problem(seed)
        counts = counted(models, test, tr.designs.Fixed(num_negatives=60), seed)
        exact = counted(models, test, "exact")
        for metric in METRICS:
            paired, alone, of_all, all_alone = (
                tr.compare(counts, metric, scope=scope, unpaired=unpaired).differences[0]
                for scope in ("these-users", "population")
                for unpaired in (False, True)
            )
            truth = tr.compare(exact, metric).differences[0]
            sign = 1.0 if truth.model == paired.model else -1.0
            inside.append(paired.low <= sign * truth.value <= paired.high)
            width.append((paired.high - paired.low) / (alone.high - alone.low))
            narrower.append((of_all.high - of_all.low) / (all_alone.high - all_alone.low))
    assert np.mean(inside) >= 0.95 - 4 * np.sqrt(0.95 * 0.05 / 16)
    # Blocks of users do not tell what the negatives have in common, only that it does no harm.
    assert np.mean(width) <= 1.0
    assert np.mean(narrower) < 0.9


def test_a_model_and_itself_differ_by_nothing_in_the_population():
    models, test = problem(0)
    one = tr.count(models["fine"], test, tr.designs.Fixed(num_negatives=60))
    found = tr.compare({"a": one, "b": one}, "ndcg@10", scope="population").differences[0]
    assert found.paired
    assert found.correlation == pytest.approx(1.0)
    alone = tr.compare(
        {"a": one, "b": one}, "ndcg@10", scope="population", unpaired=True
    ).differences[0]
    assert found.high - found.low < 0.6 * (alone.high - alone.low)


def test_other_users_are_not_paired():
    models, test = problem(0)
    half = test[0] < 125
    parts = [(test[0][rows], test[1][rows]) for rows in (half, ~half)]
    design = tr.designs.Fixed(num_negatives=60)
    counts = {str(at): tr.count(models["fine"], part, design) for at, part in enumerate(parts)}
    found = tr.compare(counts, "ndcg@10", unpaired=True)
    assert not found.paired
    assert "Unpaired: as asked for" in str(found)
