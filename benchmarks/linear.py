"""bv and mn, build included, against one n x n solve; answers against the dense formulas."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

import truerank as tr
from benchmarks import _data, _dense
from benchmarks._data import N_ITEMS, ONE, FloatArray
from benchmarks._race import Result, furthest, race

SAMPLE_SIZE = 1000
GAMMA = 0.01
STEPS = 100
SOLVES = 5.0  # at most so many times the cost of one solve


def run() -> Iterator[Result]:
    """bv, then mn with its prior given and with its prior fitted."""
    counts = _data.fixed(SAMPLE_SIZE)
    prior = tr.estimate(counts, "recall@10", estimator="mle", support="full").distribution
    matrix = np.random.default_rng(0).random((SAMPLE_SIZE, SAMPLE_SIZE))
    right = np.ones(SAMPLE_SIZE)
    ours: dict[str, str | tr.estimators.Estimator] = {
        f"bv n={SAMPLE_SIZE}": f"bv(gamma={GAMMA})",
        f"mn n={SAMPLE_SIZE}, prior given": tr.estimators.MN(prior=prior),
        f"mn-mle n={SAMPLE_SIZE}, prior fitted": "mn-mle",
    }
    contestants = {
        name: lambda estimator=estimator: ONE.estimate(counts, estimator)
        for name, estimator in ours.items()
    }
    best = race({"solve": lambda: np.linalg.solve(matrix, right), **contestants}, rounds=5)
    answers = _dense_answers(counts)
    for name, answer in zip(ours, answers, strict=True):
        yield Result(
            name,
            best[name].seconds,
            best["solve"].seconds,
            "one n x n np.linalg.solve",
            at_least=1.0 / SOLVES,
            difference=furthest(best[name].value, answer),
            allowed=1e-3,
            note=f"goal: at most {SOLVES:g} solves; answers are checked against the dense formula",
        )


def _dense_answers(counts: tr.RankCounts) -> tuple[FloatArray, FloatArray, FloatArray]:
    """recall@10 of bv, mn and mn again, on every rank and every outcome."""
    every = tr.RankCounts.from_ranks(
        np.arange(1, SAMPLE_SIZE + 1), n_items=N_ITEMS, sample_size=SAMPLE_SIZE, replacement=True
    )
    a = _dense.binomial(every, N_ITEMS)  # (n, N)
    observed = np.zeros(SAMPLE_SIZE)
    observed[counts.sampled_rank - 1] = counts.weight / counts.weight.sum()

    uniform = np.full(N_ITEMS, 1.0 / N_ITEMS)
    gram = (1 - GAMMA) * (a * uniform) @ a.T + GAMMA * np.diag(a @ uniform)  # KR20 eq. 25
    bv = uniform * (np.linalg.solve(gram, observed) @ a)

    prior = _dense.em(a[counts.sampled_rank - 1], counts, STEPS)
    n_users = counts.n_users
    gram = (a * (prior - 1 / n_users)) @ a.T + np.diag(a.sum(axis=1)) / n_users  # LJ24 eq. 42
    mn = prior * (np.linalg.solve(gram, observed) @ a)
    return ONE.of(bv), ONE.of(mn), ONE.of(mn)
