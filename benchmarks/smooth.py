"""smooth, the whole average over its priors, against EM on every rank (another estimator)."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

import truerank as tr
from benchmarks import _data, _dense
from benchmarks._data import N_ITEMS, ONE
from benchmarks._race import Result, race

# The size of ml-1m, with and without its users' training items in their pools.
ML_ITEMS, ML_USERS = 3706, 6040
STEPS = 100
GOAL_SECONDS = 0.1
HUGE, HUGE_SIZE, HUGE_USERS, HUGE_SECONDS = 10**7, 5000, 200_000, 1.0
OTHER = "another estimator: times are compared, answers are not"


def run() -> Iterator[Result]:
    """ml-1m's size, yelp's size, pools by user, and a catalogue too large for EM on every rank."""
    small = _data.fixed(100, n_items=ML_ITEMS, n_users=ML_USERS, replacement=False)
    best = race(
        {
            "ours": lambda: ONE.estimate(small, "smooth"),
            "dense": lambda: _dense.em(_dense.hypergeometric(small, ML_ITEMS), small, STEPS),
        }
    )
    yield Result(
        f"smooth n=100 of {ML_ITEMS:,} without replacement",
        best["ours"].seconds,
        best["dense"].seconds,
        "dense EM, 100 steps",
        at_most=GOAL_SECONDS,
        note=OTHER,
    )
    large = _data.fixed(1000)
    best = race(
        {
            "ours": lambda: ONE.estimate(large, "smooth"),
            "dense": lambda: _dense.em(_dense.binomial(large, N_ITEMS), large, STEPS),
        },
        rounds=2,
    )
    yield Result(
        f"smooth n=1000 of {N_ITEMS:,}",
        best["ours"].seconds,
        best["dense"].seconds,
        "dense EM, 100 steps",
        note=OTHER,
    )
    yield _alone(pools_by_user(), f"smooth n=100, {ML_USERS:,} users' own pools", GOAL_SECONDS)
    huge = _data.fixed(HUGE_SIZE, n_items=HUGE, n_users=HUGE_USERS)
    yield _alone(huge, f"smooth N={HUGE:.0e}, {huge.n_outcomes:,} outcomes", HUGE_SECONDS)


def _alone(counts: tr.RankCounts, name: str, at_most: float) -> Result:
    best = race({"ours": lambda: ONE.estimate(counts, "smooth")})
    return Result(name, best["ours"].seconds, None, "time alone", at_most=at_most)


def pools_by_user() -> tr.RankCounts:
    """Users of the size of ml-1m whose training items are left out of their pools."""
    rng = np.random.default_rng(0)
    rank = _data.power_law(ML_ITEMS // 3, ML_USERS, rng)
    pools = ML_ITEMS - np.minimum(rng.lognormal(4.5, 1.0, ML_USERS), 2300).astype(np.int64)
    above = rng.hypergeometric(rank - 1, pools - rank, 99)
    return tr.RankCounts.from_ranks(above + 1, n_items=pools, sample_size=100, replacement=False)
