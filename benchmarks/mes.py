"""mes against cvxpy, which solves the same problem on every rank."""

from __future__ import annotations

import functools
from collections.abc import Iterator
from typing import Any

import numpy as np

import truerank as tr
from benchmarks import _data, _dense
from benchmarks._data import N_ITEMS, ONE, FloatArray
from benchmarks._race import Result, measure, race

SAMPLE_SIZE = 100
ETA = 0.01
GOAL = 1000.0
# What the solver is given at most; then it says what it has.
SOLVERS: dict[str, dict[str, Any]] = {"CLARABEL": {}, "SCS": {"time_limit_secs": 60.0}}


def run() -> Iterator[Result]:
    """Clarabel and SCS, once each."""
    counts = _data.fixed(SAMPLE_SIZE)
    estimates = tr.estimate(counts, "recall@10", estimator=tr.estimators.MES(eta=ETA))
    optimum, recall = estimates.details["objective"], estimates["recall@10"].value
    best = race({"ours": lambda: ONE.estimate(counts, tr.estimators.MES(eta=ETA))})["ours"]
    a = _dense.binomial(counts, N_ITEMS)
    share = counts.weight / counts.weight.sum()
    for solver, options in SOLVERS.items():
        timed = measure(functools.partial(_solve, a, share, solver, options))
        mass, status = timed.value
        found = _objective(mass, a, share)
        theirs = float(mass[:10].sum())
        yield Result(
            f"mes n={SAMPLE_SIZE}",
            best.seconds,
            timed.seconds,
            f"cvxpy with {solver.title() if solver != 'SCS' else solver}",
            at_least=GOAL,
            difference=max(abs(found / optimum - 1.0), abs(recall / theirs - 1.0)),
            allowed=1e-5,
            note=f"{solver}: {status}, run once; objective {found:.9f} (ours {optimum:.9f}), "
            f"recall@10 {theirs:.7f} (ours {recall:.7f})",
        )


def _solve(
    a: FloatArray, share: FloatArray, solver: str, options: dict[str, Any]
) -> tuple[FloatArray, str]:
    """max eta H(pi) - n sum_r p~(r) ((A pi)(r) - p~(r))^2 over the simplex (LJ24 eq. 36)."""
    import cvxpy

    cp: Any = cvxpy  # its functions carry no types
    mass = cp.Variable(N_ITEMS)
    residual = cp.multiply(np.sqrt(share), a @ mass - share)
    goal = ETA * cp.sum(cp.entr(mass)) - SAMPLE_SIZE * cp.sum_squares(residual)
    problem = cp.Problem(cp.Maximize(goal), [cp.sum(mass) == 1])
    problem.solve(solver=solver, **options)
    return np.asarray(mass.value), str(problem.status)


def _objective(mass: FloatArray, a: FloatArray, share: FloatArray) -> float:
    positive = mass[mass > 0]
    entropy = -float(positive @ np.log(positive))
    return ETA * entropy - SAMPLE_SIZE * float(share @ (a @ mass - share) ** 2)
