"""Adaptive designs under one budget: ``python -m benchmarks.designs`` prints the table of errors.

Over the 28 cases of `benchmarks.cases` and over laws made up: power laws, a flat one, one with two
humps, with 1,000 to 20,000 users and up to a million items. What was chosen on the cases has to
hold on the laws.
"""

from __future__ import annotations

import multiprocessing
from collections.abc import Iterator
from dataclasses import replace

import numpy as np

import truerank as tr
from benchmarks import cases, frontier
from benchmarks._frontier_page import _geometric, _markdown
from truerank.designs import Adaptive
from truerank.inference.planning.simulate import simulated_counts

BUDGETS = (101, 201, 401, 801)  # scored pairs per user, the target counted
REDRAWS = 4
DESIGNS = {
    "start 16, growth 1.5": Adaptive(start=16),
    "start 32, growth 1.5": Adaptive(),
    "start 64, growth 1.5": Adaptive(start=64),
    "start 32, growth 1.25": Adaptive(growth=1.25),
    "start 32, growth 2": Adaptive(growth=2.0),
    "start 32, growth 4": Adaptive(growth=4.0),
    "start 32, growth 1.5, from 2 hits": Adaptive(hits=2),
    "start 32, growth 1.5, up to N/10": Adaptive(stop=0.1),
}
LAWS = {  # n_items, n_users, and how ranks come about: weights and exponents of power laws
    "power 0.2": (10_000, 5_000, ((1.0, 0.2),)),
    "power 0.4": (1_000_000, 20_000, ((1.0, 0.4),)),
    "power 0.3, few users": (3_000, 1_000, ((1.0, 0.3),)),
    "nearly flat": (2_000, 10_000, ((1.0, 0.8),)),
    "two humps": (20_000, 5_000, ((0.7, 0.25), (0.3, 8.0))),
}


def law(name: str) -> cases.Case:
    """Users of a law made up."""
    n_items, n_users, parts = LAWS[name]
    rng = np.random.default_rng(0)
    exponent = rng.choice([e for _, e in parts], size=n_users, p=[w for w, _ in parts])
    rank = np.ceil(n_items * rng.random(n_users) ** (1 / exponent)).astype(np.int64)
    return cases.Case(name, np.maximum(rank, 1), np.full(n_users, n_items))


def errors(name: str) -> tuple[str, dict[str, list[float]]]:
    """Mean relative error of smooth by design, one per budget."""
    case = law(name) if name in LAWS else frontier.rounded(cases.load(name))
    metrics = list(tr.metrics.parse(["recall", "ndcg", "ap"], k=frontier.K))
    kept = np.array([(case.rank <= m.k).sum() for m in metrics]) >= frontier.MIN_HITS
    truth = np.array([m.gain(case.rank, case.n_items).mean() for m in metrics])[kept]
    found: dict[str, list[float]] = {}
    for label, adaptive in DESIGNS.items():
        for budget in BUDGETS:
            off = []
            for redraw in range(REDRAWS):
                counts = simulated_counts(
                    case.rank,
                    case.n_items,
                    replace(adaptive, budget=budget),
                    frontier._rng(case, redraw),
                )
                value = frontier._values(counts, metrics, "smooth")[kept]
                off.append(float(np.mean(np.abs(value - truth) / truth)))
            found.setdefault(label, []).append(float(np.mean(off)))
    return name, found


def _rows(found: dict[str, dict[str, list[float]]]) -> Iterator[list[str]]:
    for kind, names in (("cases", cases.names()), ("laws", list(LAWS))):
        yield [f"{kind}: error at", *(f"{budget} pairs" for budget in BUDGETS)]
        # No geometric mean where a head is known exactly.
        exact = [
            min(found[n][label][i] for n in names for label in DESIGNS) < 1e-4
            for i in range(len(BUDGETS))
        ]
        for label in DESIGNS:
            means = [_geometric(found[n][label][i] for n in names) for i in range(len(BUDGETS))]
            yield [
                label,
                *("" if e else f"{100 * m:.2f} %" for e, m in zip(exact, means, strict=True)),
            ]


def main() -> None:
    """Print the table."""
    with multiprocessing.get_context("spawn").Pool(2) as pool:
        found = dict(pool.imap_unordered(errors, [*LAWS, *cases.names()]))
    print(_markdown(list(_rows(found))))


if __name__ == "__main__":
    main()
