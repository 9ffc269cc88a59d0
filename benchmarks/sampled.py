"""Sampled ranks of factor models, against plain numpy and each other, and what sharing costs."""

from __future__ import annotations

import functools
import json
import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from typing import Any
from unittest import mock

import numpy as np
from numpy.typing import NDArray

from benchmarks._race import Result, race
from truerank.data import synthetic
from truerank.sampling import SharedBlocks, _fused, sample
from truerank.sampling._design import Sampled
from truerank.scoring import exact
from truerank.scoring.factors import Factors
from truerank.scoring.task import Task, prepare

DIMENSIONS = 64
SAMPLE_SIZE = 100
LADDER = (100, 200, 400, 800, 1600, 3200)
LEFT_OUT = 20  # training items a user
BLOCK = 512  # users at a time of the reference, its best
ROUNDS = 5
REDRAWS = 400
THAN_NUMPY = 8.0  # on two cores
THAN_EXACT = 30.0
WITHOUT_REPLACEMENT = 1.5  # times as long as with
SHARED = 3.0
MEGABYTES = 300.0


@dataclass(frozen=True)
class Size:
    """Users and items."""

    users: int
    items: int

    def __str__(self) -> str:
        return f"{self.users:,} x {self.items:,}"


MIDDLE, LARGE, SMALL = Size(30_000, 40_000), Size(20_000, 200_000), Size(6_040, 3_706)
MEMORY_OF = ("per-user", "shared-block", "adaptive", "per-user without numba")


def run() -> Iterator[Result]:
    """Speed, memory, and the standard deviation under shared negatives."""
    yield from _speed(MIDDLE, goals=True)
    yield from _speed(LARGE, goals=False)
    for mode in MEMORY_OF:
        yield _memory(mode)
    yield from _scatter()


def data(size: Size, seed: int = 0) -> tuple[Factors, tuple[Any, Any], tuple[Any, Any]]:
    """Normal factors, one target a user, and LEFT_OUT other items to leave out."""
    rng = np.random.default_rng(seed)
    users, items = (
        rng.standard_normal((n, DIMENSIONS), dtype=np.float32) for n in (size.users, size.items)
    )
    user = np.arange(size.users)
    target = rng.integers(size.items, size=size.users)
    known = rng.integers(size.items - 1, size=(size.users, LEFT_OUT))
    known += known >= target[:, None]
    return Factors(users, items), (user, target), (np.repeat(user, LEFT_OUT), known.ravel())


def draw(
    scorer: Factors,
    task: Task,
    *,
    replacement: bool = False,
    users: int | None = None,
    seed: int = 0,
    ladder: tuple[int, ...] = (SAMPLE_SIZE,),
    numba: bool = True,
    threads: int = 1,
) -> Sampled:
    """One evaluation; ``users`` share a block of negatives."""
    keys = None
    if users is not None:
        keys = SharedBlocks.keys(SharedBlocks(users).assign(task, seed), seed)
    with (
        mock.patch.dict(os.environ, {_fused.SWITCH: "1" if numba else "0"}),
        mock.patch.object(_fused, "_n_threads", return_value=threads),
    ):
        return sample(
            scorer,
            task,
            ladder=ladder,
            replacement=replacement,
            seed=seed,
            ties="count" if len(ladder) == 1 else "random",
            stream_keys=keys,
            progress=False,
        )


def plain(scorer: Factors, task: Task) -> NDArray[np.int64]:
    """Gather and einsum: as many negatives, with replacement, nothing left out, no ties counted."""
    rng = np.random.default_rng(0)
    above = np.empty(task.n_rows, dtype=np.int64)
    for rows in task.blocks(BLOCK):
        target = task.target[rows, None]
        drawn = rng.integers(task.catalogue, size=(target.size, SAMPLE_SIZE - 1))
        items = scorer.item_factors[np.concatenate([target, drawn], axis=1)]
        scores = np.einsum("ud,und->un", scorer.user_factors[task.user[rows]], items)
        above[rows] = (scores[:, 1:] > scores[:, :1]).sum(axis=1)
    return above


def _speed(size: Size, *, goals: bool) -> Iterator[Result]:
    scorer, test, train = data(size)
    task = prepare(scorer, test, train=train)
    draws = functools.partial(draw, scorer, task)
    ours: dict[str, Callable[[], object]] = {
        "with": functools.partial(draws, replacement=True),
        "without": draws,
        "shared": functools.partial(draws, users=64),
        "two": functools.partial(draws, threads=2),
    }
    for contestant in ours.values():
        contestant()  # compile
    best = race({**ours, "plain": functools.partial(plain, scorer, task)}, rounds=ROUNDS)
    best |= race(
        {
            "numpy": functools.partial(draws, numba=False),
            "exact": functools.partial(exact.count, scorer, task, progress=False),
        },
        rounds=1,
    )
    seconds = {key: timed.seconds for key, timed in best.items()}
    other = best["without"].value.above != best["numpy"].value.above

    def line(what: str, key: str, against: str, whose: str, goal: float | None = None) -> Result:
        return Result(
            f"99 negatives, {size}, {what}",
            seconds[key],
            seconds[against],
            whose,
            at_least=goal if goals else None,
        )

    einsum = "plain", "gather and einsum"
    yield replace(
        line("with replacement", "with", *einsum, THAN_NUMPY / 2),
        note=f"goal: {THAN_NUMPY:g} times faster on two cores, of which numpy uses one",
    )
    yield line("without", "without", *einsum)
    yield line("without, two threads", "two", *einsum)
    yield replace(
        line("without, by numpy", "numpy", *einsum),
        difference=float(other.sum()),
        allowed=0.0,
        note="apart: users whose rank is not that of the compiled code",
    )
    yield replace(
        line("without", "without", "with", "with replacement", 1 / WITHOUT_REPLACEMENT),
        note=f"goal: at most {WITHOUT_REPLACEMENT:g} times as long",
    )
    yield line("blocks of 64 share", "shared", "without", "each user its own", SHARED)
    yield line("without", "without", "exact", "exact ranks", THAN_EXACT)


# Imports, data and a small run come first, so that the rest is what sampling itself takes.
_CHILD = """
import json, sys
from pathlib import Path
from benchmarks import sampled
from truerank.scoring.task import prepare

def rss():  # getrusage would start from the peak of the parent
    status = Path("/proc/self/status").read_text()
    return int(status.partition("VmHWM:")[2].split()[0]) / 1024

options = {
    "per-user": {},
    "shared-block": {"users": 64},
    "adaptive": {"ladder": sampled.LADDER},
    "per-user without numba": {"numba": False},
}[sys.argv[1]]
scorer, test, train = sampled.data(sampled.Size(200, 5000))
sampled.draw(scorer, prepare(scorer, test, train=train), **options)
scorer, test, train = sampled.data(sampled.LARGE)
before = rss()
sampled.draw(scorer, prepare(scorer, test, train=train), **options)
print(json.dumps([before, rss()]))
"""


def _memory(mode: str) -> Result:
    done = subprocess.run(
        [sys.executable, "-c", _CHILD, mode], check=True, capture_output=True, text=True
    )
    before, after = json.loads(done.stdout)
    return Result(
        f"memory of sampling, {LARGE}, {mode}",
        after - before,
        LARGE.users * SAMPLE_SIZE * DIMENSIONS * 4 / 2**20,
        "the vectors of all negatives (not run)",
        at_most=MEGABYTES,
        unit="MB",
        note=f"growth in peak RSS, from {before:.0f} MB with factors and interactions",
    )


def _scatter() -> Iterator[Result]:
    """Standard deviation of the sampled hit ratio at 10, in parts per million."""
    world = synthetic.catalogue(n_users=SMALL.users, n_items=SMALL.items)
    for model in synthetic.models(world):
        if model.name == "specialist":  # guesses for most users: nothing in common to share
            continue
        scorer = Factors(
            model.user_factors.astype(np.float32), model.item_factors.astype(np.float32)
        )
        task = prepare(scorer, (np.arange(SMALL.users), world.targets))
        alone = _deviation(scorer, task, None)
        for users in (64, 256):
            shared = _deviation(scorer, task, users)
            yield Result(
                f"scatter of HR@10, {SMALL}, {model.name}, blocks of {users}",
                shared * 1e6,
                alone * 1e6,
                "each user its own negatives",
                unit="ppm",
                note=f"{shared / alone:.1f} times the standard deviation, {REDRAWS} redraws",
            )


def _deviation(scorer: Factors, task: Task, users: int | None) -> float:
    ratios = [
        np.mean(draw(scorer, task, users=users, seed=seed).above < 10) for seed in range(REDRAWS)
    ]
    return float(np.std(ratios, ddof=1))
