"""Blocks of users that share negatives: who shares, what law holds, what the counts say."""

from __future__ import annotations

import numpy as np
import pytest
from laws import p_value, same_for_all, sample

import truerank as tr
from truerank import InputError
from truerank.designs import Fixed
from truerank.outcomes.schemes import Scheme
from truerank.sampling import blocks
from truerank.sampling.carry_out import carry_out
from truerank.sampling.counting import counts_of
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
    block = blocks.assign(task, 64, task.n_users, 0)
    sizes = np.bincount(block, minlength=100)
    assert sizes.size == 100
    # Multinomial: a size has mean 64 and standard deviation 8.
    assert abs(sizes - 64).max() < 5 * 8
    order = np.random.default_rng(0).permutation(6400)
    assert np.array_equal(blocks.assign(task.take(order), 64, 6400, 0), block[order])
    assert (blocks.assign(task, 64, 6400, 1) != block).mean() > 0.9


def test_a_users_targets_are_in_one_block():
    scorer, _ = make(50)
    task = prepare(scorer, (np.repeat(np.arange(50), 3), np.tile([1, 2, 3], 50)))
    block = blocks.assign(task, 5, task.n_users, 0)
    assert (block.reshape(50, 3) == block[::3, None]).all()


def test_users_of_a_block_have_the_same_negatives():
    """One model for all users and one target: equal ranks within a block."""
    scorer, test = same_for_all(300, 60, n_users=500)
    task = prepare(scorer, test)
    block = blocks.assign(task, 25, task.n_users, 0)
    found = sample(scorer, task, ladder=(40,), stream_keys=blocks.stream_keys(block, 0))
    for number in np.unique(block):
        assert np.unique(found.above[block == number]).size == 1
    assert np.unique(found.above).size > 3


@pytest.mark.parametrize("replacement", [True, False])
def test_each_block_draws_by_the_law(replacement):
    """A block a user: 4,000 independent ranks."""
    scorer, test = same_for_all(300, 60, n_users=4000)
    task = prepare(scorer, test)
    keys = blocks.stream_keys(np.arange(4000), 0)
    found = sample(scorer, task, ladder=(40,), replacement=replacement, stream_keys=keys)
    scheme = Scheme(replacement)
    counts = tr.RankCounts.from_outcomes(
        scheme, n_items=300, sample_size=40, sampled_rank=found.above + 1, weight=np.ones(4000)
    )
    assert p_value(counts, scheme, 60, 300, 40) > 1e-4


def test_streams_of_blocks_are_not_those_of_users():
    scorer, test = make(100)
    task = prepare(scorer, test)
    assert not np.isin(blocks.stream_keys(np.arange(100), 0), task.keys(0)).any()


def test_parts_agree_with_the_whole_if_the_number_of_users_is_said():
    scorer, test = make()
    train = np.repeat(test[0], 4), (np.repeat(test[1], 4) + np.tile([1, 5, 9, 13], 600)) % 200

    def count(rows, n_users=None):
        task = prepare(scorer, tuple(x[rows] for x in test), train=train)
        design = Fixed(sample_size=30, shared_by=50)
        return counts_of(task, carry_out(scorer, task, design, n_users=n_users), "spread", 0)

    rows = np.random.default_rng(1).permutation(600)
    whole = count(np.arange(600))
    assert count(rows[:150], 600) + count(rows[150:], 600) == whole
    assert count(rows[:150]) + count(rows[150:]) != whole


def test_counts_carry_the_blocks():
    scorer, test = make()
    counts = tr.count(scorer, test, Fixed(sample_size=30, shared_by=20))
    assert set(counts.replicate.tolist()) == set(range(1, 31))
    many = tr.count(scorer, test, Fixed(sample_size=30, shared_by=1))
    assert many.replicate.max() == 100
    assert counts.n_users == many.n_users == 600
    assert counts.squared_weight == 600
    alone = tr.count(scorer, test, Fixed(sample_size=30))
    assert not alone.replicate.any()


def test_any_scorer_can_share():
    scorer, test = make()
    every = np.broadcast_to(np.arange(200), (600, 200))
    dense = Dense(scorer.score(np.arange(600), every))
    design = Fixed(sample_size=30, shared_by=64)
    for ties in ("spread", "random", "mid", "pessimistic"):
        one = tr.count(scorer, test, design, ties=ties)
        assert one == tr.count(dense, test, design, ties=ties)


def test_the_whole_pool_is_exact_all_the_same():
    scorer, test = make(n_users=100, n_items=40)
    counts = tr.count(scorer, test, Fixed(sample_size=40, shared_by=64))
    assert counts.is_exact.all()
    exact = tr.count(scorer, test)
    assert tr.estimate(counts, "auc", estimator="naive")["auc"].value == pytest.approx(
        tr.estimate(exact, "auc", estimator="naive")["auc"].value, abs=1e-12
    )


def test_sharing_scatters_more():
    """Popularity: users agree on the items, so the draws of a block move all of them."""
    scorer, test = same_for_all(300, 20, n_users=640)
    values = {}
    for shared_by in (None, 64):
        design = Fixed(sample_size=20, shared_by=shared_by)
        values[shared_by] = [
            tr.estimate(tr.count(scorer, test, design, seed=seed), "hr@1", estimator="naive")[
                "hr@1"
            ].value
            for seed in range(60)
        ]
    # About 64 users a block make for a variance of 64 times (binomial, given equal blocks).
    ratio = np.var(values[64]) / np.var(values[None])
    assert ratio > 20


@pytest.mark.parametrize("shared_by", [0, 2.5, -3])
def test_bad_blocks(shared_by):
    with pytest.raises(InputError, match=rf"shared_by is {shared_by}; .*at least 1"):
        Fixed(sample_size=30, shared_by=shared_by)
