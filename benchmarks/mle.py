"""mle, 100 EM steps, probabilities included, against EM on every rank."""

from __future__ import annotations

from collections.abc import Iterator

from benchmarks import _data, _dense
from benchmarks._data import MANY, N_ITEMS, ONE
from benchmarks._race import Result, furthest, race

STEPS = 100
GOAL_DENSE = {1000: 50.0, 100: 30.0}
GOAL_LITERAL = 500.0


def run() -> Iterator[Result]:
    """With replacement (dense and literal references) and without (dense)."""
    for sample_size in GOAL_DENSE:
        yield from _with_replacement(sample_size)
        yield from _without_replacement(sample_size)


def _with_replacement(sample_size: int) -> Iterator[Result]:
    counts = _data.fixed(sample_size)
    best = race(
        {
            "one": lambda: ONE.estimate(counts, "mle"),
            "many": lambda: MANY.estimate(counts, "mle"),
            "dense": lambda: _dense.em(_dense.binomial(counts, N_ITEMS), counts, STEPS),
            "literal": lambda: _dense.em_broadcast(_dense.literal(counts, N_ITEMS), counts, STEPS),
        },
        rounds=2,
    )
    name = f"mle n={sample_size}"
    goals = {"dense": GOAL_DENSE[sample_size], "literal": GOAL_LITERAL}
    labels = {
        "dense": "dense EM, two GEMVs, log-space probabilities",
        "literal": "scipy.stats pmf, broadcast E-step",
    }
    for reference, goal in goals.items():
        for asked, key, label in ((ONE, "one", "recall@10"), (MANY, "many", "300 metrics")):
            yield Result(
                f"{name}, {label}",
                best[key].seconds,
                best[reference].seconds,
                labels[reference],
                at_least=goal if asked is ONE else None,  # the fit; 300 metrics cost extra
                difference=furthest(best[key].value, asked.of(best[reference].value)),
                allowed=1e-3,
            )


def _without_replacement(sample_size: int) -> Iterator[Result]:
    counts = _data.fixed(sample_size, replacement=False)
    best = race(
        {
            "ours": lambda: ONE.estimate(counts, "mle"),
            "dense": lambda: _dense.em(_dense.hypergeometric(counts, N_ITEMS), counts, STEPS),
        }
    )
    yield Result(
        f"mle n={sample_size} without replacement, recall@10",
        best["ours"].seconds,
        best["dense"].seconds,
        "dense EM, table of log factorials",
        at_least=GOAL_DENSE[sample_size],
        difference=furthest(best["ours"].value, ONE.of(best["dense"].value)),
        allowed=1e-3,
    )
