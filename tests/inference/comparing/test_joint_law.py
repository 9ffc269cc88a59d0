"""Two models on the same negatives: laws by enumeration, correlations of known users, coverage."""

from __future__ import annotations

import itertools
from collections import Counter
from fractions import Fraction

import numpy as np
import pytest
from scipy import stats

import truerank as tr
from truerank.inference.comparing import _joint_law
from truerank.inference.comparing._shared_negatives import UsersOfTwo, draw
from truerank.inference.intervals.error_law import outcome_gains
from truerank.inference.intervals.fitting import Fitted
from truerank.inference.intervals.redraw import distinct
from truerank.outcomes.schemes import Scheme

DRAWS = 20_000


def p_value(found: Counter, law: dict) -> float:
    """Of drawn outcomes under an exact law; outcomes that cannot be give 0."""
    if set(found) - set(law):
        return 0.0
    seen = np.array([found[key] for key in law])
    expected = np.array([float(p) for p in law.values()]) * seen.sum()
    return float(stats.chisquare(seen, expected).pvalue)


def climbed(sequence, scheme, n_items):
    """(size, rank) of one model that draws this sequence of hits."""
    stages = scheme.stages(n_items, 0)
    for level, size in enumerate(stages):
        hits = sum(sequence[: size - 1])
        if level == len(stages) - 1 or hits >= scheme.thresholds[level]:
            return size, hits + 1
    raise AssertionError


@pytest.mark.parametrize("replacement", [True, False])
def test_draws_of_several_kinds(replacement):
    """Three draws from 2, 1, 2 and 1 items: every sequence of items counted."""
    kinds = [0, 0, 1, 2, 2, 3]
    every = itertools.product(kinds, repeat=3) if replacement else itertools.permutations(kinds, 3)
    counts = Counter(tuple(np.bincount(one, minlength=4).tolist()) for one in every)
    total = sum(counts.values())
    law = {key: Fraction(n, total) for key, n in counts.items()}
    items = np.tile([2, 1, 2, 1], (DRAWS, 1))
    found = draw(items, np.full(DRAWS, 3), replacement, np.random.default_rng(0))
    assert (found.sum(axis=1) == 3).all()
    assert p_value(Counter(map(tuple, found.tolist())), law) > 1e-4


@pytest.mark.parametrize(
    "schemes",
    [
        (Scheme(False, (2, 4, 6)), Scheme(False, (2, 4, 6))),
        (Scheme(False, (2, 4, 6), 2), Scheme(False, (3, 5))),
        (Scheme(False, (3, 9)), Scheme(False, (2, 4), (1,))),
    ],
    ids=lambda pair: " and ".join(one.name for one in pair),
)
def test_two_models_climb_on_the_same_negatives(schemes):
    """A pool of 7: all orders of its six negatives, two above both, one above A, one above B."""
    kinds = [(1, 1), (1, 1), (1, 0), (0, 1), (0, 0), (0, 0)]
    counts: Counter = Counter()
    for order in itertools.permutations(kinds):
        outcome = [climbed([one[m] for one in order], schemes[m], 7) for m in range(2)]
        counts[(*outcome[0], *outcome[1])] += 1
    total = sum(counts.values())
    law = {key: Fraction(n, total) for key, n in counts.items()}
    users = UsersOfTwo(
        schemes,
        np.tile([0, 1], (DRAWS, 1)),
        np.full(DRAWS, 7),
        np.full(DRAWS, 7),
        np.tile([2, 1, 1, 2], (DRAWS, 1)),
    )
    assert (users.global_rank == [4, 4]).all()
    found = users.evaluate(np.random.default_rng(1))
    drawn = Counter(map(tuple, found[:, 2:].reshape(4, -1).T.tolist()))
    assert p_value(drawn, law) > 1e-4


def test_fixed_samples_of_two_models():
    kinds = [(1, 1), (1, 0), (0, 1), (0, 0), (0, 0)]
    counts = Counter(
        tuple(1 + sum(one[m] for one in some) for m in range(2))
        for some in itertools.permutations(kinds, 3)
    )
    law = {key: Fraction(n, sum(counts.values())) for key, n in counts.items()}
    users = UsersOfTwo(
        (Scheme(False),),
        np.zeros((DRAWS, 2), int),
        np.full(DRAWS, 6),
        np.full(DRAWS, 4),
        np.tile([1, 1, 1, 2], (DRAWS, 1)),
    )
    found = users.evaluate(np.random.default_rng(1))
    assert (found[:, 2] == 4).all()
    assert p_value(Counter(map(tuple, found[:, 3].T.tolist())), law) > 1e-4


def test_the_check_has_power():
    """Negatives of each model's own have the same margins, and are told from shared ones."""
    kinds = [(1, 1), (1, 0), (0, 1), (0, 0), (0, 0)]
    shared = Counter(
        tuple(1 + sum(one[m] for one in some) for m in range(2))
        for some in itertools.permutations(kinds, 3)
    )
    law = {key: Fraction(n, sum(shared.values())) for key, n in shared.items()}
    rng = np.random.default_rng(1)
    own = 1 + rng.hypergeometric(2, 3, 3, size=(DRAWS, 2))
    assert p_value(Counter(map(tuple, own.tolist())), law) < 1e-4


def test_overlap_has_the_odds_ratio_it_is_asked_for():
    a, b, odds = np.meshgrid([0.001, 0.2, 0.7], [0.003, 0.4, 0.9], [0.3, 1.0, 30.0])
    both = _joint_law.overlap(a, b, odds)
    np.testing.assert_allclose(both * (1 - a - b + both) / ((a - both) * (b - both)), odds, 1e-6)
    nested = _joint_law.overlap(np.array([0.2]), np.array([0.4]), np.array([np.inf]))
    assert nested.tolist() == [0.2]


def test_ties_broken_at_random_keep_the_mean():
    """Each tied negative is above with a chance of one half, all of a target's alike."""
    joint = np.zeros((DRAWS, 3, 3), int)
    joint[:, 0, 1], joint[:, 1, 0], joint[:, 1, 1], joint[:, 2, 1], joint[:, 1, 2] = 3, 2, 4, 1, 5
    found = _joint_law._without_ties(joint, np.random.default_rng(0))
    assert (found.sum(axis=(1, 2)) == 15).all()
    above = found[:, 0].sum(axis=1), found[:, :, 0].sum(axis=1)
    for one, tied, sure in ((above[0], 11, 3), (above[1], 8, 2)):
        # The target's place is uniform among its tied: so is the number above it.
        law = {value: Fraction(1, tied + 1) for value in range(sure, sure + tied + 1)}
        assert p_value(Counter(one.tolist()), law) > 1e-4


def scores(likeness: float, n_users=1500, n_items=400, seed=0):
    """Scores of two models; at likeness 1 they are the same."""
    rng = np.random.default_rng(seed)
    taste = rng.normal(size=(n_users, n_items))
    own = rng.normal(size=(2, n_users, n_items))
    mixed = np.sqrt(likeness) * taste + np.sqrt(1 - likeness) * own
    target = np.zeros(n_users, int)
    mixed[:, np.arange(n_users), 0] += rng.normal(1.5, 1.2, size=n_users)
    return mixed, (np.arange(n_users), target)


METRICS = tr.metrics.parse(["recall@10", "ndcg@20"])


@pytest.mark.parametrize("likeness", [0.0, 0.5, 0.9])
@pytest.mark.parametrize(
    "design",
    [
        tr.designs.Fixed(sample_size=40),
        tr.designs.LJ24(start=50, stop=400),
        tr.designs.Adaptive(start=16, budget=100),
    ],
    ids=repr,
)
def test_correlations_are_those_of_the_users_themselves(design, likeness):
    """The fitted law of overlaps against the overlaps that there are."""
    matrices, test = scores(likeness, n_users=1000, n_items=3000)
    models = {name: tr.scoring.Dense(one) for name, one in zip("AB", matrices, strict=True)}
    paired = tr.count(models, test, design, seed=5)
    smooth = tr.estimators.Smooth()
    fits = [Fitted.of(paired[m], smooth, METRICS) for m in "AB"]
    found = _joint_law.together(
        paired, ("A", "B"), [one.fit for one in fits], [one.fit.distribution for one in fits],
        smooth, METRICS, "auto", 0,
    )  # fmt: skip
    above = matrices > matrices[:, :, :1]
    both = (above[0] & above[1]).sum(axis=1)
    one, two = above.sum(axis=2) - both
    n_users, n_items = above.shape[1:]
    users = UsersOfTwo(
        paired.schemes,
        np.tile(paired.scheme[0], (n_users, 1)),
        np.full(n_users, n_items),
        np.full(n_users, 40),
        np.stack([both, one, two, n_items - 1 - both - one - two], axis=1),
    )
    rng, times = np.random.default_rng(9), 30
    drawn = np.stack([users.evaluate(rng) for _ in range(times)], axis=2)
    gains = []
    for at, fitted in enumerate(fits):
        outcomes, row = distinct(users.schemes, drawn[at].reshape(4, -1))
        gain = outcome_gains(outcomes, fitted.fit, smooth, METRICS, "auto")
        gains.append(gain[row].reshape(times, n_users, -1))
    true = _joint_law._correlation(
        _joint_law._moments(*(gain - gain.mean(axis=0) for gain in gains))
    )
    # Correlations over 4,000 drawn users, 8 times each, have errors of at most
    # 1 / sqrt(4,000) = 0.016 (all of a user's draws alike); those over the users that were seen
    # 1 / sqrt(1,000) = 0.032; z = 4 of both together is 0.14.
    np.testing.assert_allclose(found.negatives, true, atol=0.14)
    if likeness == 0.9:
        assert (true > 0.2).all()


def test_equal_models_do_not_differ():
    matrices, test = scores(0.5, n_users=400)
    models = {name: tr.scoring.Dense(matrices[0]) for name in "AB"}
    paired = tr.count(models, test, tr.designs.Fixed(sample_size=40))
    found = tr.compare(paired, "recall@10")["A", "B"]
    assert found.value == 0.0
    assert found.reduction > 0.9
    without = tr.compare({m: paired[m] for m in "AB"}, "recall@10")["A", "B"]
    assert found.std_error < 0.33 * without.std_error  # of the variance, less than a tenth is left


def test_pairs_without_joint_counts_fall_back_to_ranks():
    matrices, test = scores(0.5, n_users=400)
    models = {name: tr.scoring.Dense(one) for name, one in zip("AB", matrices, strict=True)}
    design = tr.designs.Fixed(sample_size=40)
    paired = tr.count(models, test, design)
    tables = {m: tr.rank(one, test, design) for m, one in models.items()}
    ranks = tr.PairedCounts.from_tables(tables, replacement=False)
    assert ranks.pairs == ()
    joint, alone = (tr.compare(one, "recall@10") for one in (paired, ranks))
    assert joint["A", "B"].value == pytest.approx(alone["A", "B"].value)
    assert joint["A", "B"].reduction != alone["A", "B"].reduction
    assert alone["A", "B"].reduction == 0.0  # nothing is sure
    assert "among the same negatives" in joint.how
    assert "truerank.count of all models together" in alone.how


@pytest.mark.parametrize("scope", ["these-users", "population"])
def test_differences_are_covered(scope):
    """Fresh users and negatives: 95 % within z = 4 of the chance of a redraw."""
    redraws, inside, ratio = 40, [], []
    for seed in range(redraws):
        matrices, test = scores(0.8, n_users=400, n_items=300, seed=seed)
        models = {name: tr.scoring.Dense(one) for name, one in zip("AB", matrices, strict=True)}
        paired = tr.count(models, test, tr.designs.Fixed(sample_size=60), seed=seed)
        found = tr.compare(paired, "recall@10", scope=scope)["A", "B"]
        truth = 0.0  # of the population: the models are alike
        if scope == "these-users":
            ranks = (matrices > matrices[:, :, :1]).sum(axis=2) + 1
            truth = float((ranks[0] <= 10).mean() - (ranks[1] <= 10).mean())
        inside.append(found.low <= truth <= found.high)
        ratio.append((found.value - truth) / found.std_error)
    chance = np.sqrt(0.95 * 0.05 / redraws)
    assert np.mean(inside) >= 0.95 - 4 * chance
    # Neither too wide nor too narrow: the standard deviation of n normal numbers is known to
    # 1 / sqrt(2 n) of itself.
    assert abs(np.sqrt(np.mean(np.square(ratio))) - 1.0) <= 4 / np.sqrt(2 * redraws)
