"""Exact ranks of factor models, against the bare matrix product that scores every pair."""

from __future__ import annotations

import contextlib
import functools
import json
import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from benchmarks._race import Result, race
from truerank.scoring import _count, exact, task
from truerank.scoring.factors import Factors

DIMENSIONS = 64
TARGETS = 10
SEVERAL = 1.3  # times what one target per user takes
LEFT_OUT = 165  # items per user, as in ml-1m
ROUNDS = 5
WITHOUT_NUMBA = 1.7  # times the product
MEGABYTES = 300.0
LARGEST_BLOCK = 2**27  # scores


@dataclass(frozen=True)
class Size:
    """Users, items, and how many times the bare product ranking may take."""

    users: int
    items: int
    times: float


SIZES = (Size(6_040, 3_706, 1.25), Size(30_000, 40_000, 1.15), Size(20_000, 200_000, 1.15))


def run() -> Iterator[Result]:
    """With numba and without, several targets per user, and the memory of the largest."""
    for size in SIZES:
        yield from _speed(size)
    for size in SIZES[:2]:
        yield from _several(size)
    yield _memory(SIZES[-1])


def data(
    size: Size, seed: int = 0, targets: int = 1
) -> tuple[Factors, tuple[NDArray[np.int64], ...], tuple[NDArray[np.int64], ...]]:
    """Normal factors, random targets, and LEFT_OUT other items per user to leave out."""
    rng = np.random.default_rng(seed)
    users, items = (
        rng.standard_normal((n, DIMENSIONS), dtype=np.float32) for n in (size.users, size.items)
    )
    user = np.arange(size.users)
    # Targets lie apart by the same distance, from a random one on.
    first = rng.integers(size.items, size=(size.users, 1))
    apart = size.items // targets
    target = (first + apart * np.arange(targets)) % size.items
    # Others are next to each other in a circle on which targets are skipped.
    known = first + 1 + rng.integers(apart - 1, size=(size.users, LEFT_OUT))
    train = np.repeat(user, LEFT_OUT), (known % size.items).ravel()
    return Factors(users, items), (np.repeat(user, targets), target.ravel()), train


def _speed(size: Size) -> Iterator[Result]:
    scorer, test, train = data(size)
    plan = task.prepare(scorer, test, train=train)
    contestants: dict[str, Callable[[], object]] = {
        f"product {block}": functools.partial(_product, scorer, block)
        for block in (128, 256, 512, 1024, 2048)
        if block * size.items <= LARGEST_BLOCK
    }
    contestants["numba"] = functools.partial(_count_with, "1", scorer, plan)
    contestants["numpy"] = functools.partial(_count_with, "0", scorer, plan)
    contestants["numba"]()  # compile
    best = race(contestants, rounds=ROUNDS)
    products = {name: timed for name, timed in best.items() if name.startswith("product")}
    fastest = min(products, key=lambda name: products[name].seconds)
    some = np.linspace(0, size.users - 1, 50, dtype=np.int64)
    expected = _plain(scorer, plan, some)
    for how, times in (("numba", size.times), ("numpy", WITHOUT_NUMBA)):
        found = np.stack(best[how].value)[:, some]
        yield Result(
            f"exact ranks, {size.users:,} x {size.items:,}, {how}",
            best[how].seconds,
            products[fastest].seconds,
            f"np.matmul in blocks of {fastest.removeprefix('product ')} users",
            at_least=1 / times,
            difference=float(np.abs(found - expected).max()),
            allowed=0.0,
            note=f"goal: at most {times:g} times the product; {LEFT_OUT} items per user left out",
        )


def _several(size: Size) -> Iterator[Result]:
    """TARGETS per user against one, with numba and without."""
    plans = {}
    for targets in (1, TARGETS):
        scorer, test, train = data(size, targets=targets)
        plans[targets] = task.prepare(scorer, test, train=train)
    some = np.linspace(0, plans[TARGETS].n_rows - 1, 50, dtype=np.int64)
    expected = _plain(scorer, plans[TARGETS], some)
    for how, switch in (("numba", "1"), ("numpy", "0")):
        contestants = {
            str(targets): functools.partial(_count_with, switch, scorer, plan)
            for targets, plan in plans.items()
        }
        best = race(contestants, rounds=ROUNDS)
        found = np.stack(best[str(TARGETS)].value)[:, some]
        yield Result(
            f"exact ranks of {TARGETS} targets per user, {size.users:,} x {size.items:,}, {how}",
            best[str(TARGETS)].seconds,
            best["1"].seconds,
            "one target per user",
            at_least=1 / SEVERAL if how == "numba" else None,
            difference=float(np.abs(found - expected).max()),
            allowed=0.0,
            note=f"goal: at most {SEVERAL:g} times one target" if how == "numba" else "",
        )


def _product(scorer: Factors, block: int) -> None:
    users, items = scorer.user_factors, scorer.item_factors.T
    scores = _space(block * items.shape[1]).reshape(block, -1)
    for begin in range(0, users.shape[0], block):
        part = users[begin : begin + block]
        np.matmul(part, items, out=scores[: part.shape[0]])


@functools.lru_cache(maxsize=1)
def _buffer() -> NDArray[np.float32]:
    return np.zeros(LARGEST_BLOCK, dtype=np.float32)


def _space(n_scores: int) -> NDArray[np.float32]:
    return _buffer()[:n_scores]


def _count_with(numba: str, scorer: Factors, plan: task.Task) -> object:
    with _environment(_count.SWITCH, numba):
        return exact.count(scorer, plan, progress=False)


def _plain(scorer: Factors, plan: task.Task, rows: NDArray[np.int64]) -> NDArray[np.int64]:
    """Above and tied, one user at a time."""
    counts = []
    for row in rows:
        scores = scorer.score_all(plan.user[row : row + 1])[0]
        target = scores[plan.target[row]]
        pool = np.delete(scores, plan.left_out_of(rows=np.array([row]))[1])
        counts.append(((pool > target).sum(), (pool == target).sum()))
    return np.array(counts).T


@contextlib.contextmanager
def _environment(name: str, value: str) -> Iterator[None]:
    before = os.environ.get(name)
    os.environ[name] = value
    try:
        yield
    finally:
        del os.environ[name]
        if before is not None:
            os.environ[name] = before


# Imports, data and a small run come first, so that the rest is what ranking itself takes.
_CHILD = """
import json
from pathlib import Path
import truerank as tr
from benchmarks import exact

def rss():  # getrusage would start from the peak of the parent
    status = Path("/proc/self/status").read_text()
    return int(status.partition("VmHWM:")[2].split()[0]) / 1024

scorer, test, train = exact.data(exact.Size(200, 500, 1))
tr.count(scorer, test, train=train)
scorer, test, train = exact.data(exact.SIZES[-1])
before = rss()
tr.count(scorer, test, train=train)
print(json.dumps([before, rss()]))
"""


def _memory(size: Size) -> Result:
    done = subprocess.run(
        [sys.executable, "-c", _CHILD],
        check=True,
        capture_output=True,
        text=True,
        env={**os.environ, _count.SWITCH: "1"},
    )
    before, after = json.loads(done.stdout)
    return Result(
        f"memory of exact counts, {size.users:,} x {size.items:,}",
        after - before,
        size.users * size.items * 4 / 2**20,
        "the matrix of scores alone (not run)",
        at_most=MEGABYTES,
        unit="MB",
        note=f"growth in peak RSS, from {before:.0f} MB with factors and interactions",
    )
