"""Do intervals cover? Redraws of real evaluations, and how often the exact metric lies inside.

``python -m benchmarks.calibrate`` (``make calibrate``) draws users and their negatives again and
again from cases whose exact ranks `benchmarks.cases` knows; ``--write docs/calibration.md`` writes
the page. What a redraw found is kept beside those ranks, so that a broken run resumes and more can
be added; ``--fresh`` begins again, as it should after a change of an estimator or of the law of its
errors. The misfit of the law is learnt from the kept redraws, each dataset's without that dataset
(`benchmarks.misfit`), and put into the intervals afterwards, as is what lumps of each size do.
"""

from __future__ import annotations

import argparse
import hashlib
import multiprocessing
import os
import sys
import time
import warnings
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

import truerank as tr
from benchmarks import cases
from benchmarks.frontier import rounded
from truerank.designs import LJ24, Adaptive, Design, Fixed
from truerank.estimators._lumps import lumps
from truerank.inference.intervals.misfit import LUMPS, features
from truerank.inference.planning.simulate import simulated_counts

REDRAWS = 60
PART = 4  # redraws kept at a time
METRICS = [f"{name}@{k}" for name in ("recall", "ndcg", "ap") for k in (1, 5, 10, 20, 50)]
DESIGNS: dict[str, Design] = {
    "n=100": Fixed(sample_size=100),
    "n=500": Fixed(sample_size=500),
    "LJ24": LJ24(),
    "ours 100": Adaptive(budget=100),
    "ours 200": Adaptive(budget=200),
    "ours 400": Adaptive(budget=400),
}
MODELS = ("item-knn", "als", "ease", "popularity", "kr20-z")
USERS = (500, 2000, 6000)  # or all, where there are fewer
# The other estimators, on some of the configurations.
OTHERS = ("mle", "bv", "mes", "mn-mle")
OTHER_REDRAWS = 20
TOLD = ("one", "resolution", "alike", "disagreement", "rank")  # features of the misfit
OF_LUMPS = tuple(f"lumps {size}" for size in LUMPS)  # variances
EVIDENCE = tuple(f"evidence {size}" for size in LUMPS)
# What is kept of each metric of a redraw.
ROWS = (
    "value", "truth", "everyone", "hits", "reference",
    "negatives", "ranks", "law", "bias", "users",
    *TOLD, "apart", *OF_LUMPS, *EVIDENCE,
)  # fmt: skip

FloatArray = NDArray[np.float64]


@dataclass(frozen=True, order=True)
class Task:
    """Some redraws of one configuration."""

    case: str
    design: str
    users: int
    estimator: str
    first: int
    last: int

    @property
    def path(self) -> Path:
        name = f"{self.case} {self.design} {self.users} {self.estimator} {self.first}-{self.last}"
        return cases.folder() / "calibration" / f"{name}.npy"


def redraw(task: Task) -> FloatArray:
    """`ROWS` of each metric, shape (n_redraws, n_rows, n_metrics)."""
    case = rounded(cases.load(task.case))
    metrics = tr.metrics.parse(METRICS)
    everyone = [metric.gain(case.rank, case.n_items).mean() for metric in metrics]
    hits = [(case.rank <= metric.k).mean() * min(task.users, case.rank.size) for metric in metrics]
    found = []
    for number in range(task.first, task.last):
        rng = _rng(task, number)
        n_users = min(task.users, case.rank.size)
        users = np.sort(rng.choice(case.rank.size, n_users, replace=False))
        rank, n_items = case.rank[users], case.n_items[users]
        counts = simulated_counts(rank, n_items, DESIGNS[task.design], rng)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            est = tr.estimate(counts, metrics, estimator=task.estimator, progress=False)
            fitted = est.fitted
            law = fitted.law
            told = features(counts.pooled(), fitted.reference, metrics)
            assert fitted.reference.posterior is not None
            lumpy = lumps(fitted.reference.posterior, metrics, list(LUMPS))
        found.append(
            [
                [one.value for one in est.values()],
                [metric.gain(rank, n_items).mean() for metric in metrics],
                everyone,
                hits,
                [fitted.reference.values[metric.key] for metric in metrics],
                *(law.negatives, law.ranks, law.law, law.bias, law.users),
                *told.columns.T,
                told.apart,
                *lumpy.variance,
                *np.repeat(lumpy.log_evidence[:, None], len(metrics), axis=1),
            ]
        )
    return np.array(found, dtype=np.float64)


def _rng(task: Task, number: int) -> np.random.Generator:
    """A stream for each redraw of a configuration, the same for all estimators."""
    name = f"{task.case} {task.design} {task.users} {number}".encode()
    return np.random.default_rng(list(hashlib.sha256(name).digest()))


def keep(task: Task) -> tuple[Task, float]:
    """Have the redraws of a task on disk; the seconds that it took."""
    if task.path.exists():
        return task, 0.0
    begin = time.perf_counter()
    found = redraw(task)
    task.path.parent.mkdir(parents=True, exist_ok=True)
    partial = task.path.with_suffix(f".{os.getpid()}.tmp")
    with partial.open("wb") as file:
        np.save(file, found)
    partial.replace(task.path)
    return task, time.perf_counter() - begin


def tasks(redraws: int, models: Iterable[str] = MODELS) -> Iterator[Task]:
    """All redraws of smooth, some of every configuration first; then those of the others."""
    names = [f"{d}-{m}-{p}" for d in cases.DATASETS for m in models for p in cases.POOLS]
    for first in range(0, redraws, PART):
        for name in names:
            for design in DESIGNS:
                for users in USERS:
                    yield Task(name, design, users, "smooth", first, min(first + PART, redraws))
    every = [(name, design) for name in names for design in DESIGNS]
    chosen = [every[at] for at in np.linspace(0, len(every) - 1, 30).round().astype(int)]
    for first in range(0, min(redraws, OTHER_REDRAWS), PART):
        for name, design in chosen:
            for estimator in OTHERS:
                yield Task(name, design, 2000, estimator, first, first + PART)


def kept(redraws: int, estimator: str = "smooth") -> dict[tuple[str, str, int], FloatArray]:
    """What is on disk, by case, design and number of users: (n_redraws, n_rows, n_metrics)."""
    parts: dict[tuple[str, str, int], list[FloatArray]] = {}
    for task in tasks(redraws):
        if task.estimator == estimator and task.path.exists():
            parts.setdefault((task.case, task.design, task.users), []).append(np.load(task.path))
    return {key: np.concatenate(arrays) for key, arrays in parts.items()}


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
    todo = list(tasks(options.redraws))
    begin, fresh = time.perf_counter(), 0
    with multiprocessing.get_context("spawn").Pool(options.processes) as pool:
        for done, (task, seconds) in enumerate(pool.imap_unordered(keep, todo, chunksize=8), 1):
            if seconds and (fresh := fresh + 1) % 20 == 0:
                left = (time.perf_counter() - begin) / fresh * (len(todo) - done) / 60
                print(f"{done}/{len(todo)} {task.path.stem} {seconds:.0f} s, {left:.0f} minutes "
                      "to go", flush=True)  # fmt: skip
    from benchmarks import _calibration_page

    page = _calibration_page.page(options.redraws)
    print(page.summary())
    if options.write:
        options.write.write_text(page.text())
    return 0 if page.met else 1


if __name__ == "__main__":
    sys.exit(main())
