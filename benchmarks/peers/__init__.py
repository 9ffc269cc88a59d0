"""Evaluations of other libraries on the same factors, against ours and the bare matrix product.

Their pins conflict: each runs where it is installed, the others are skipped. ``make peers`` runs
them all, each in the environment that ``make adapters`` tries its adapter in.
"""

from __future__ import annotations

import functools
import importlib.metadata
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass

import numpy as np

import truerank as tr
from benchmarks._race import Result, Timed, race, wall
from benchmarks.peers._libraries import PEERS, Peer
from benchmarks.peers._problem import METRICS, Problem, make

ROUNDS = 5
BLOCKS = (128, 512, 1024)  # users at a time of the bare product; the fastest counts
SIZES = ((6_040, 3_706, 165), (30_000, 40_000, 165))  # users, items, training items per user
APART = 1e-6


@dataclass(frozen=True, kw_only=True)
class Compared(Result):
    """Ours against a peer; ``product`` is the bare matrix product in seconds."""

    peer: str
    version: str
    size: str
    product: float
    way: str  # the fastest
    how: str
    exact: bool = True


def run() -> Iterator[Compared]:
    """Every peer that is installed, at every size that it can stand."""
    here = [peer for peer in PEERS if _version(peer)]
    for name in dict.fromkeys(peer.library for peer in PEERS if peer not in here):
        print(f"{name} is not installed here: skipped (make peers runs it)", file=sys.stderr)
    for n_users, n_items, left_out in SIZES:
        able = [peer for peer in here if n_users * n_items <= peer.most_scores]
        problem = make(n_users, n_items, left_out) if able else None
        for peer in able:
            yield _compare(peer, problem)


def ours(problem: Problem) -> Callable[[], dict[str, float]]:
    """Exact counts and the metrics on them, with all the checks of the public calls."""
    scorer = tr.scoring.Factors(problem.user_factors, problem.item_factors)

    def evaluate() -> dict[str, float]:
        counts = tr.count(scorer, problem.test, train=problem.train, progress=False)
        found = tr.estimate(counts, list(METRICS), estimator="naive", confidence=None)
        return {metric: found[metric].value for metric in METRICS}

    return evaluate


def apart(ours: dict[str, float], theirs: dict[str, float]) -> float:
    """The largest difference between two sets of metrics."""
    return max(abs(ours[metric] - theirs[metric]) for metric in METRICS)


def product(problem: Problem, block: int) -> None:
    """Every score, and nothing else."""
    items = problem.item_factors.T
    scores = np.empty((block, items.shape[1]), dtype=np.float32)
    for begin in range(0, problem.n_users, block):
        part = problem.user_factors[begin : begin + block]
        np.matmul(part, items, out=scores[: part.shape[0]])


def _compare(peer: Peer, problem: Problem) -> Compared:
    ways = peer.prepare(problem)
    bare = {f"product {block}": functools.partial(product, problem, block) for block in BLOCKS}
    contestants = {**bare, "ours": ours(problem), **ways}
    for function in contestants.values():
        function()  # compile, and touch the memory
    best = race(contestants, rounds=ROUNDS, timer=wall)
    way, theirs = _fastest(best, list(ways))
    _, gemm = _fastest(best, list(bare))
    size = f"{problem.n_users:,} x {problem.n_items:,}"
    return Compared(
        f"exact metrics, {size}",
        best["ours"].seconds,
        theirs.seconds,
        f"{peer.name} {_version(peer)}, {way}",
        at_least=1.0,
        difference=apart(best["ours"].value, theirs.value) if peer.exact else None,
        allowed=APART if peer.exact else None,
        note=f"{peer.name} takes {theirs.seconds / gemm.seconds:.1f} times the bare product, ours "
        f"{best['ours'].seconds / gemm.seconds:.1f}",
        peer=peer.name,
        version=_version(peer),
        size=size,
        product=gemm.seconds,
        way=way,
        how=peer.how,
        exact=peer.exact,
    )


def _version(peer: Peer) -> str:
    """Empty if it is not installed: the module alone might be that of a fork."""
    try:
        return importlib.metadata.version(peer.distribution)
    except importlib.metadata.PackageNotFoundError:
        return ""


def _fastest(best: dict[str, Timed], names: list[str]) -> tuple[str, Timed]:
    name = min(names, key=lambda name: best[name].seconds)
    return name, best[name]
