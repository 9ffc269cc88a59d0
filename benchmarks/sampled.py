"""Sampled ranks of factor models, against plain numpy and each other, and what sharing costs."""

from __future__ import annotations

import functools
import json
import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any
from unittest import mock

import numpy as np
import pyarrow.parquet as pq
from numpy.typing import NDArray
from threadpoolctl import threadpool_limits

from benchmarks._race import Result, race
from truerank import models
from truerank.designs import Adaptive, Design, Fixed
from truerank.sampling import _fused
from truerank.sampling._drawing import Ranked
from truerank.sampling.carry_out import carry_out
from truerank.scoring import exact
from truerank.scoring.factors import Factors
from truerank.scoring.task import Task, prepare

DIMENSIONS = 64
SAMPLE_SIZE = 100
OWN = Fixed(sample_size=SAMPLE_SIZE)  # each user its own negatives
SHARED_64 = Fixed(sample_size=SAMPLE_SIZE, shared_by=64)
GROWING = Adaptive(budget=None, start=100, growth=2, stop=3200)
LEFT_OUT = 20  # training items per user
BLOCK = 512  # users at a time of the reference, its best
ROUNDS = 5
BREAK_EVEN_USERS = 4_000
REDRAWS = 400
THAN_NUMPY = 8.0  # on two cores
THAN_EXACT = 30.0
WITHOUT_REPLACEMENT = 1.5  # times as long as with
SHARED = 3.0
MEGABYTES = 300.0
ML_1M = Path(__file__).parents[2] / "shared" / "data" / "ml-1m"


@dataclass(frozen=True)
class Size:
    """Users and items."""

    users: int
    items: int

    def __str__(self) -> str:
        return f"{self.users:,} x {self.items:,}"


MIDDLE, LARGE = Size(30_000, 40_000), Size(20_000, 200_000)
MEMORY_OF = ("per-user", "shared-block", "adaptive", "per-user without numba")


def run() -> Iterator[Result]:
    """Speed, memory, and the standard deviation under shared negatives."""
    yield from _speed(MIDDLE, goals=True)
    yield from _speed(LARGE, goals=False)
    for n_negatives in (99, 999):
        yield _break_even(n_negatives)
    for mode in MEMORY_OF:
        yield _memory(mode)
    yield from _scatter()


def data(size: Size, seed: int = 0) -> tuple[Factors, tuple[Any, Any], tuple[Any, Any]]:
    """Normal factors, one target per user, and LEFT_OUT other items to leave out."""
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
    design: Design = OWN,
    *,
    seed: int = 0,
    numba: bool = True,
    threads: int = 1,
) -> Ranked:
    """One evaluation, up to the counts of negatives above each target."""
    with (
        mock.patch.dict(os.environ, {_fused.SWITCH: "1" if numba else "0"}),
        mock.patch.object(_fused, "_n_threads", return_value=threads),
    ):
        return carry_out(scorer, task, design, seed=seed, progress=False)


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
        "with": functools.partial(draws, replace(OWN, replacement=True)),
        "without": draws,
        "shared": functools.partial(draws, SHARED_64),
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


def _break_even(n_negatives: int) -> Result:
    """The number of items from which sampling is faster than exact ranks."""
    seconds: list[tuple[int, float, float]] = []
    design = Fixed(num_negatives=n_negatives)
    n_items = 2 * n_negatives
    while not seconds or seconds[-1][1] < seconds[-1][2] or len(seconds) < 2:
        n_items = int(n_items * 1.5)
        scorer, test, train = data(Size(BREAK_EVEN_USERS, n_items))
        task = prepare(scorer, test, train=train)
        best = race(
            {
                "sampled": functools.partial(draw, scorer, task, design),
                "exact": functools.partial(_exact_on_one, scorer, task),
            },
            rounds=ROUNDS,
        )
        seconds.append((n_items, best["exact"].seconds, best["sampled"].seconds))
    (low, *below), (high, *above) = seconds[-2:]
    # Where the logarithm of the ratio crosses 0.
    before, after = (np.log(exact_ / sampled_) for exact_, sampled_ in (below, above))
    items = float(np.exp(np.interp(0.0, [before, after], np.log([low, high]))))
    return Result(
        f"break-even of {n_negatives} negatives, without replacement",
        items,
        None,
        "exact ranks",
        unit="items",
        note="from this many items on sampling takes less time; one thread, 64 dimensions",
    )


def _exact_on_one(scorer: Factors, task: Task) -> object:
    with mock.patch.dict(os.environ, {_fused.SWITCH: "1"}), threadpool_limits(1, "blas"):
        return exact.count(scorer, task, progress=False)


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
    "shared-block": {"design": sampled.SHARED_64},
    "adaptive": {"design": sampled.GROWING},
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
    """Standard deviation of the sampled hit ratio at 10 on ml-1m, in parts per million."""
    if not ML_1M.exists():
        print(f"  scatter of HR@10: skipped, there is no {ML_1M}")
        return
    train, test = (pq.read_table(ML_1M / f"{part}.parquet") for part in ("train", "test"))
    ials = replace(models.IALS.kr20_x(), iterations=20, tolerance=None)
    model = ials.fit(train, item_ids=test["item_id"])
    tasks = {"left out": prepare(model, test, train=train), "kept": prepare(model, test)}
    for training, task in tasks.items():
        alone = _deviation(model, task, OWN)
        for users in (64, 256):
            shared = _deviation(model, task, replace(OWN, shared_by=users))
            yield Result(
                f"scatter of HR@10, ml-1m, iALS, training items {training}, blocks of {users}",
                shared * 1e6,
                alone * 1e6,
                "each user its own negatives",
                unit="ppm",
                note=f"{shared / alone:.1f} times the standard deviation, {REDRAWS} redraws",
            )


def _deviation(scorer: Factors, task: Task, design: Fixed) -> float:
    ratios = [np.mean(draw(scorer, task, design, seed=s).above < 10) for s in range(REDRAWS)]
    return float(np.std(ratios, ddof=1))
