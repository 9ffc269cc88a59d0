"""Adaptive mle, 50 EM steps, sizes 100 to 3200, against a loop over users and distinct outcomes."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

import truerank as tr
from benchmarks import _data, _dense
from benchmarks._data import MANY, N_ITEMS, N_USERS, ONE, FloatArray, IntArray
from benchmarks._race import Result, furthest, race

STEPS = 50
STEPS_TIMED = 1  # of the loop, over all users; its time is scaled to STEPS
GOAL_LOOP = 10_000.0
GOAL_DENSE = 20.0


def run() -> Iterator[Result]:
    """Both references on the same samples."""
    counts, size, rank = _data.adaptive()
    rows = _rows(counts, size, rank)
    best = race(
        {
            "one": lambda: ONE.estimate(counts, "mle"),
            "many": lambda: MANY.estimate(counts, "mle"),
            "dense": lambda: _dense.em(_dense.binomial(counts, N_ITEMS), counts, STEPS),
            "build": lambda: _dense.binomial(counts, N_ITEMS),
        }
    )
    probability = best["build"].value
    loop = race({"loop": lambda: _em_by_user(probability, rows, STEPS_TIMED)}, rounds=2)["loop"]
    after = _dense.em(probability, counts, STEPS_TIMED)
    name = f"adaptive mle, {N_USERS:,} users"
    yield Result(
        f"{name}, recall@10",
        best["one"].seconds,
        best["build"].seconds + loop.seconds * STEPS / STEPS_TIMED,
        "loop over users, cached dense rows",
        at_least=GOAL_LOOP,
        difference=max(
            furthest(loop.value, after), furthest(best["one"].value, ONE.of(best["dense"].value))
        ),
        allowed=1e-3,
        note=f"the loop is timed for {STEPS_TIMED} of {STEPS} steps over all users and scaled",
    )
    for asked, key, label in ((ONE, "one", "recall@10"), (MANY, "many", "300 metrics")):
        yield Result(
            f"{name}, {label}",
            best[key].seconds,
            best["dense"].seconds,
            "distinct outcomes, dense EM",
            at_least=GOAL_DENSE if asked is ONE else None,
            difference=furthest(best[key].value, asked.of(best["dense"].value)),
            allowed=1e-3,
        )


def _rows(counts: tr.RankCounts, size: IntArray, rank: IntArray) -> list[int]:
    """The outcome of each user."""
    outcomes = zip(counts.sample_size.tolist(), counts.sampled_rank.tolist(), strict=True)
    row = {outcome: i for i, outcome in enumerate(outcomes)}
    return [row[outcome] for outcome in zip(size.tolist(), rank.tolist(), strict=True)]


def _em_by_user(probability: FloatArray, rows: list[int], steps: int) -> FloatArray:
    """EM as LJ24 section 6.2 reads: one posterior per user and step."""
    mass = np.full(N_ITEMS, 1.0 / N_ITEMS)
    for _ in range(steps):
        total = np.zeros(N_ITEMS)
        for row in rows:
            posterior = mass * probability[row]
            posterior /= posterior.sum()
            total += posterior
        mass = total / len(rows)
    return mass
