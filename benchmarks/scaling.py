"""That a fit costs the same for any catalogue and any number of users."""

from __future__ import annotations

import functools
from collections.abc import Iterator

import numpy as np

import truerank as tr
from benchmarks import _data
from benchmarks._data import MANY, ONE
from benchmarks._race import Result, race

SMALL, LARGE = 10**5, 10**8
FEW, MANY_USERS = 10**4, 10**7
TIMES = 2.0  # at most so many times the cost


def run() -> Iterator[Result]:
    """The same outcomes in a larger catalogue; then more users."""
    for sample_size in (100, 1000):
        for asked, label in ((ONE, "recall@10"), (MANY, "300 metrics")):
            yield _catalogue(sample_size, asked, label)
    yield from _users(100)


def _catalogue(sample_size: int, asked: _data.Asked, label: str) -> Result:
    small = _data.fixed(sample_size, n_items=SMALL)
    large = tr.RankCounts.from_ranks(
        small.sampled_rank,
        n_items=LARGE,
        sample_size=sample_size,
        weights=small.weight,
        replacement=True,
    )
    best = race(
        {
            "small": lambda: asked.estimate(small, "mle"),
            "large": lambda: asked.estimate(large, "mle"),
        },
        rounds=5,
    )
    return Result(
        f"mle n={sample_size}, N={LARGE:.0e}, {label}",
        best["large"].seconds,
        best["small"].seconds,
        f"ours at N={SMALL:.0e}, same outcomes",
        at_least=1.0 / TIMES,
        note=f"goal: within {TIMES:g} times",
    )


def _users(sample_size: int) -> Iterator[Result]:
    rng = np.random.default_rng(0)
    theta = (_data.power_law(_data.N_ITEMS, MANY_USERS, rng) - 1) / (_data.N_ITEMS - 1)
    ranks = 1 + rng.binomial(sample_size - 1, theta)
    count = functools.partial(
        tr.RankCounts.from_ranks,
        n_items=_data.N_ITEMS,
        sample_size=sample_size,
        replacement=True,
    )
    few, many = count(ranks[:FEW]), count(ranks)
    best = race(
        {"few": lambda: ONE.estimate(few, "mle"), "many": lambda: ONE.estimate(many, "mle")},
        rounds=5,
    )
    yield Result(
        f"mle n={sample_size}, {MANY_USERS:.0e} users, once counted",
        best["many"].seconds,
        best["few"].seconds,
        f"ours for {FEW:.0e} users",
        at_least=1.0 / TIMES,
        note=f"goal: within {TIMES:g} times; {few.n_outcomes} and {many.n_outcomes} outcomes",
    )
    part = ranks[: 10**6]
    counting = race({"ours": lambda: count(part), "numpy": lambda: np.unique(part)}, rounds=2)
    yield Result(
        "counting 1e6 ranks (RankCounts.from_ranks)",
        counting["ours"].seconds,
        counting["numpy"].seconds,
        "np.unique of the ranks",
    )
