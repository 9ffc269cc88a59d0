"""Do intervals cover? Redraws of real evaluations, and how often the exact metric lies inside.

``python -m benchmarks.calibrate`` (``make calibrate``) redraws the negatives of fixed users, whose
exact ranks `benchmarks.cases` knows; ``--write docs/calibration.md`` writes the page. Redraws that
are finished are kept beside those ranks, so that a broken run resumes and more can be added;
``--fresh`` begins again, as it should after a change of the estimator or of its intervals.
"""

from __future__ import annotations

import argparse
import multiprocessing
import os
import sys
import time
import warnings
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

import truerank as tr
from benchmarks import _calibration_page, cases
from benchmarks.frontier import rounded
from truerank.designs import Adaptive, Design, Fixed
from truerank.inference.planning.simulate import simulated_counts

REDRAWS = 2000
CONFIDENCE = 0.95
PART = 50  # redraws kept at a time
METRICS = [f"{name}@{k}" for name in ("recall", "ndcg", "ap") for k in (1, 5, 10, 20, 50)]
DESIGNS: dict[str, Design] = {
    "n=100": Fixed(sample_size=100),
    "n=500": Fixed(sample_size=500),
    "100..1600": Adaptive(budget=None, start=100, growth=2, stop=1600),
}
CASES = [
    f"{dataset}-{model}-left"
    for dataset in cases.DATASETS
    for model in ("item-knn", "als", "ease", "popularity")
]
# How the others fare, on fewer redraws: most of them are refitted 500 times for one interval.
OTHERS = ("naive", "cls", "bv(gamma=1)", "bv", "mle")
OTHER_CASE, OTHER_REDRAWS = "citeulike-item-knn-left", 10


@dataclass(frozen=True)
class Cell:
    """Redraws of one case, design and estimator: arrays of (n_redraws, n_metrics), and truth."""

    case: str
    design: str
    estimator: str
    truth: NDArray[np.float64]
    value: NDArray[np.float64]
    low: NDArray[np.float64]
    high: NDArray[np.float64]
    resolvable: NDArray[np.bool_]


def redraw(case: str, design: str, estimator: str, first: int, last: int) -> NDArray[np.float64]:
    """Value, low, high and resolvable, (n_redraws, 4, n_metrics)."""
    ranks = rounded(cases.load(case))
    found = []
    for seed in range(first, last):
        rng = np.random.default_rng([seed, list(DESIGNS).index(design)])
        counts = simulated_counts(ranks.rank, ranks.n_items, DESIGNS[design], rng)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            est = tr.estimate(
                counts, METRICS, estimator=estimator, confidence=CONFIDENCE, progress=False
            )
            found.append([[e.value, e.low, e.high, e.resolvable] for e in est.values()])
    return np.array(found, dtype=np.float64).transpose(0, 2, 1)


def _part(task: tuple[str, str, str, int, int]) -> tuple[tuple[str, str, str, int, int], float]:
    """Have one part of the redraws kept; the seconds that it took."""
    path = _kept(*task)
    if path.exists():
        return task, 0.0
    begin = time.perf_counter()
    found = redraw(*task)
    path.parent.mkdir(parents=True, exist_ok=True)
    partial = path.with_suffix(f".{os.getpid()}.tmp")
    with partial.open("wb") as file:
        np.save(file, found)
    partial.replace(path)
    return task, time.perf_counter() - begin


def _kept(case: str, design: str, estimator: str, first: int, last: int) -> Path:
    name = f"{case} {design} {estimator} {first}-{last}.npy"
    return cases.folder() / "calibration" / name


def _tasks(redraws: int) -> Iterator[tuple[str, str, str, int, int]]:
    for first in range(0, redraws, PART):
        for case in CASES:
            for design in DESIGNS:
                yield case, design, "smooth", first, min(first + PART, redraws)
    for estimator in OTHERS:
        for design in DESIGNS:
            yield OTHER_CASE, design, estimator, 0, OTHER_REDRAWS


def cells(redraws: int) -> list[Cell]:
    """Everything kept, put together."""
    parts: dict[tuple[str, str, str], list[NDArray[np.float64]]] = {}
    for task in _tasks(redraws):
        parts.setdefault(task[:3], []).append(np.load(_kept(*task)))
    found = []
    for (case, design, estimator), arrays in parts.items():
        ranks = rounded(cases.load(case))
        truth = [m.gain(ranks.rank, ranks.n_items).mean() for m in tr.metrics.parse(METRICS)]
        value, low, high, resolvable = np.concatenate(arrays).transpose(1, 0, 2)
        found.append(
            Cell(case, design, estimator, np.array(truth), value, low, high, resolvable > 0)
        )
    return found


def main() -> int:
    """0 if coverage is what it should be, else 1."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.calibrate", description=__doc__)
    parser.add_argument("--write", type=Path, metavar="PAGE.md", help="write the page of results")
    parser.add_argument("--redraws", type=int, default=REDRAWS)
    parser.add_argument("--fresh", action="store_true", help="forget the redraws that are kept")
    parser.add_argument("--processes", type=int, default=2)
    options = parser.parse_args()
    if options.fresh:
        for part in (cases.folder() / "calibration").glob("*.npy"):
            part.unlink()
    tasks = list(_tasks(options.redraws))
    begin = time.perf_counter()
    with multiprocessing.get_context("spawn").Pool(options.processes) as pool:
        for done, (task, seconds) in enumerate(pool.imap_unordered(_part, tasks), 1):
            if seconds:
                left = (time.perf_counter() - begin) / done * (len(tasks) - done) / 60
                print(f"{done}/{len(tasks)} {' '.join(map(str, task))} {seconds:.0f} s, "
                      f"{left:.0f} minutes to go", flush=True)  # fmt: skip
    page = _calibration_page.Page(cells(options.redraws), METRICS, CONFIDENCE, options.redraws)
    print(page.summary())
    if options.write:
        options.write.write_text(page.text())
    return 0 if page.met else 1


if __name__ == "__main__":
    sys.exit(main())
