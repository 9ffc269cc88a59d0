"""Blocks of users that share negatives: who shares, what law holds, what the counts say."""

from __future__ import annotations

import numpy as np
import pytest
from laws import p_value, same_for_all

import truerank as tr
from truerank import InputError
from truerank.outcomes.schemes import Scheme
from truerank.sampling import SharedBlocks, sample
from truerank.scoring.dense import Dense
from truerank.scoring.factors import Factors
from truerank.scoring.task import prepare


def make(n_users=600, n_items=200, seed=0):
    rng = np.random.default_rng(seed)
    scorer = Factors(*(rng.standard_normal((n, 8)).astype(np.float32) for n in (n_users, n_items)))
    return scorer, (np.arange(n_users), rng.integers(0, n_items, n_users))


def test_blocks_are_buckets_of_user_ids():
    scorer, test = make(6400)
    task = prepare(scorer, test)
    block = SharedBlocks(64).assign(task, 0)
    sizes = np.bincount(block, minlength=100)
    assert sizes.size == 100
    # Multinomial: a size has mean 64 and standard deviation 8.
    assert abs(sizes - 64).max() < 5 * 8
    order = np.random.default_rng(0).permutation(6400)
    assert np.array_equal(SharedBlocks(64).assign(task.take(order), 0), block[order])
    assert (SharedBlocks(64).assign(task, 1) != block).mean() > 0.9


def test_a_users_targets_are_in_one_block():
    scorer, _ = make(50)
    task = prepare(scorer, (np.repeat(np.arange(50), 3), np.tile([1, 2, 3], 50)))
    block = SharedBlocks(5).assign(task, 0)
    assert (block.reshape(50, 3) == block[::3, None]).all()


def test_users_of_a_block_have_the_same_negatives():
    """One model for all users and one target: equal ranks within a block."""
    scorer, test = same_for_all(300, 60, n_users=500)
    task = prepare(scorer, test)
    block = SharedBlocks(25).assign(task, 0)
    found = sample(scorer, task, ladder=(40,), stream_keys=SharedBlocks.keys(block, 0))
    for number in np.unique(block):
        assert np.unique(found.above[block == number]).size == 1
    assert np.unique(found.above).size > 3


@pytest.mark.parametrize("replacement", [True, False])
def test_each_block_draws_by_the_law(replacement):
    """A block a user: 4,000 independent ranks."""
    scorer, test = same_for_all(300, 60, n_users=4000)
    task = prepare(scorer, test)
    keys = SharedBlocks.keys(np.arange(4000), 0)
    found = sample(scorer, task, ladder=(40,), replacement=replacement, stream_keys=keys)
    scheme = Scheme(replacement)
    counts = tr.RankCounts.from_outcomes(
        scheme, n_items=300, sample_size=40, sampled_rank=found.above + 1, weight=np.ones(4000)
    )
    assert p_value(counts, scheme, 60, 300, 40) > 1e-4


def test_streams_of_blocks_are_not_those_of_users():
    scorer, test = make(100)
    task = prepare(scorer, test)
    assert not np.isin(SharedBlocks.keys(np.arange(100), 0), task.keys(0)).any()


def test_parts_agree_with_the_whole_if_the_number_of_blocks_is_said():
    scorer, test = make()
    train = np.repeat(test[0], 4), (np.repeat(test[1], 4) + np.tile([1, 5, 9, 13], 600)) % 200

    def count(rows, negatives):
        return tr.sampled_counts(
            scorer, tuple(x[rows] for x in test), train=train, sample_size=30, negatives=negatives
        )

    rows = np.random.default_rng(1).permutation(600)
    said = SharedBlocks(n_blocks=12)
    assert count(rows[:150], said) + count(rows[150:], said) == count(np.arange(600), said)
    other = count(rows[:150], "shared-block") + count(rows[150:], "shared-block")
    assert other != count(np.arange(600), "shared-block")


def test_counts_carry_the_blocks():
    scorer, test = make()
    counts = tr.sampled_counts(scorer, test, sample_size=30, negatives=SharedBlocks(20))
    assert set(counts.replicate.tolist()) == set(range(1, 31))
    many = tr.sampled_counts(scorer, test, sample_size=30, negatives=SharedBlocks(1))
    assert many.replicate.max() == 100
    assert counts.n_users == many.n_users == 600
    assert counts.squared_weight == 600
    alone = tr.sampled_counts(scorer, test, sample_size=30)
    assert not alone.replicate.any()


def test_any_scorer_can_share():
    scorer, test = make()
    every = np.broadcast_to(np.arange(200), (600, 200))
    dense = Dense(scorer.score(np.arange(600), every))
    options = {"sample_size": 30, "negatives": "shared-block"}
    for ties in ("spread", "random", "mid", "pessimistic"):
        one = tr.sampled_counts(scorer, test, ties=ties, **options)
        assert one == tr.sampled_counts(dense, test, ties=ties, **options)


def test_the_whole_pool_is_exact_all_the_same():
    scorer, test = make(n_users=100, n_items=40)
    counts = tr.sampled_counts(scorer, test, sample_size=40, negatives="shared-block")
    assert counts.is_exact.all()
    exact = tr.exact_counts(scorer, test)
    assert tr.estimate(counts, "auc", estimator="naive")["auc"].value == pytest.approx(
        tr.estimate(exact, "auc", estimator="naive")["auc"].value, abs=1e-12
    )


def test_sharing_scatters_more():
    """Popularity: users agree on the items, so the draws of a block move all of them."""
    scorer, test = same_for_all(300, 20, n_users=640)
    values = {}
    for name in ("per-user", "shared-block"):
        values[name] = [
            tr.estimate(
                tr.sampled_counts(scorer, test, sample_size=20, seed=seed, negatives=name),
                "hr@1",
                estimator="naive",
            )["hr@1"].value
            for seed in range(60)
        ]
    # About 64 users a block make for a variance of 64 times (binomial, given equal blocks).
    ratio = np.var(values["shared-block"]) / np.var(values["per-user"])
    assert ratio > 20


@pytest.mark.parametrize("options", [{"users": 0}, {"users": 2.5}, {"n_blocks": 0}])
def test_bad_blocks(options):
    with pytest.raises(InputError, match="at least 1"):
        SharedBlocks(**options)
