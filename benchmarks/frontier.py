"""Error against cost: every estimator and design on 70 cases of real ranks.

``python -m benchmarks.frontier`` (``make frontier``) redraws samples from the exact ranks of
`benchmarks.cases`, so that nothing is scored again, and prints what was found; ``--write
docs/frontier.md`` also writes the page and its picture. Finished cases are kept beside those ranks,
so that a broken run resumes; ``--fresh`` begins again, ``--again smooth`` with that estimator only.
"""

from __future__ import annotations

import argparse
import functools
import hashlib
import json
import multiprocessing
import os
import sys
import time
import warnings
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

import truerank as tr
from benchmarks import _bound, _frontier_page, cases
from truerank.designs import LJ24, Adaptive, Design, Fixed
from truerank.inference.planning.simulate import simulated_counts
from truerank.metrics import Metric

REDRAWS = 20  # for what the goals are about
FEW = 5  # for the other points of the curves, and slow estimators
MIN_HITS = 10  # users with their target in the top K, below which K is left out
K = range(1, 51)
FIXED = 100
BUDGETS = (51, 101, 201, 401, 801)  # scored pairs per user, the target counted
POOL_STEP = 0.02
PAPERS = (
    "naive", "rank-estimate", "cls", "bv(gamma=0.01)", "mes", "bv-mle", "mn-mle", "mn-mes", "mle",
)  # fmt: skip
SLOW = {"cls": FEW}  # redraws of estimators that take a second each

FloatArray = NDArray[np.float64]


@dataclass(frozen=True)
class Plan:
    """A design, the estimators to try on it, and how often."""

    label: str
    design: Design
    estimators: tuple[str, ...]
    redraws: int


def rounded(case: cases.Case) -> cases.Case:
    """The case with its users' pools rounded to a grid of 2 %, which saves time; ranks stay."""
    largest = case.n_items.max()
    steps = np.rint(np.log(largest / case.n_items) / POOL_STEP)
    pools = np.rint(largest * np.exp(-steps * POOL_STEP)).astype(np.int64)
    return cases.Case(case.name, case.rank, np.maximum(pools, case.rank))


def plans(case: cases.Case) -> list[Plan]:
    """All designs tried on a case."""
    costs = [
        simulated_counts(*_ranks(case), LJ24(), _rng(case, i)).pairs_per_user for i in range(5)
    ]
    same_cost = Adaptive(budget=float(np.mean(costs)))
    both = ("mle", "smooth")
    found = [
        Plan(f"fixed {FIXED}", Fixed(sample_size=FIXED), (*PAPERS, "smooth"), REDRAWS),
        Plan("lj24", LJ24(), ("naive", "rank-estimate", *both), REDRAWS),
        Plan("ours at the cost of lj24", same_cost, both, REDRAWS),
    ]
    found += [Plan(f"ours {b}", Adaptive(budget=b), both, FEW) for b in BUDGETS]
    sizes = [b for b in BUDGETS if b != FIXED + 1]  # there is one about so large already
    found += [Plan(f"fixed {n}", Fixed(sample_size=n), both, FEW) for n in sizes]
    return found


def run_case(
    name: str, known: dict[str, Any] | None = None, again: Sequence[str] = ()
) -> dict[str, Any]:
    """Costs and errors of all plans on a case; of what is known, only ``again`` is computed."""
    case = rounded(cases.load(name))
    metrics = list(tr.metrics.parse(["recall", "ndcg", "ap"], k=K))
    hits = np.array([(case.rank <= metric.k).sum() for metric in metrics])
    kept = hits >= MIN_HITS
    truth = np.array([metric.gain(case.rank, case.n_items).mean() for metric in metrics])
    results: dict[str, Any] = {"name": name, "left_out": int((~kept).sum()) // 3, "plans": {}}
    for plan in plans(case):
        asked = [name for name in plan.estimators if known is None or name in again]
        errors: dict[str, list[float]] = {estimator: [] for estimator in asked}
        costs, bounds = [], []
        for redraw in range(plan.redraws):
            counts = simulated_counts(*_ranks(case), plan.design, _rng(case, redraw))
            costs.append(counts.pairs_per_user)
            for estimator in asked:
                if redraw < SLOW.get(estimator, REDRAWS):
                    value = _values(counts, metrics, estimator)
                    off = np.abs(value - truth)[kept] / truth[kept]
                    errors[estimator].append(float(off.mean()))
            if redraw < 2 and plan.redraws == REDRAWS:
                bounds.append(float(_bound.relative_errors(case, counts, metrics)[kept].mean()))
        before = {} if known is None else known["plans"][plan.label]["errors"]
        results["plans"][plan.label] = {
            "pairs": float(np.mean(costs)),
            "errors": before | {name: float(np.mean(found)) for name, found in errors.items()},
            "bound": float(np.mean(bounds)) if bounds else None,
        }
    return results


def _values(counts: tr.RankCounts, metrics: list[Metric], estimator: str) -> FloatArray:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        estimates = tr.estimate(counts, metrics, estimator=estimator, confidence=None)
    return np.array([estimates[metric].value for metric in metrics])


def _ranks(case: cases.Case) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    return case.rank, case.n_items


def _rng(case: cases.Case, redraw: int) -> np.random.Generator:
    """One stream per case and redraw, so that designs meet the same luck."""
    seed = int.from_bytes(hashlib.sha256(case.name.encode()).digest()[:4], "big")
    return np.random.default_rng([seed, redraw])


def _kept(name: str) -> Path:
    return cases.folder() / "frontier" / f"{name}.json"


def _settings() -> dict[str, Any]:
    return {"redraws": REDRAWS, "few": FEW, "budgets": list(BUDGETS), "papers": list(PAPERS),
            "pools": POOL_STEP, "fixed": FIXED, "design": Adaptive().to_json()}  # fmt: skip


def _one(again: Sequence[str], name: str) -> tuple[dict[str, Any], float]:
    """A case, from where it was kept or computed, and the seconds that it took."""
    path, settings = _kept(name), _settings()
    known = None
    if path.exists():
        stored = json.loads(path.read_text())
        if stored["settings"] == settings:
            known = stored["result"]
            if not again:
                return known, 0.0
    begin = time.perf_counter()
    result = run_case(name, known, again)
    path.parent.mkdir(parents=True, exist_ok=True)
    partial = path.with_suffix(f".{os.getpid()}.tmp")
    partial.write_text(json.dumps({"settings": settings, "result": result}))
    partial.replace(path)
    return result, time.perf_counter() - begin


def _dear(name: str) -> tuple[bool, bool]:
    """Sorts cases by the time that they take: users' own pools cost most."""
    return "left" in name, "ml-1m" in name


def main() -> int:
    """0 if every goal was met, else 1."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.frontier", description=__doc__)
    parser.add_argument("--write", type=Path, metavar="PAGE.md", help="write the page of results")
    parser.add_argument("--fresh", action="store_true", help="forget the cases that are kept")
    parser.add_argument(
        "--again", action="append", default=[], metavar="ESTIMATOR", help="compute it again"
    )
    parser.add_argument("--processes", type=int, default=2)
    options = parser.parse_args()
    names = cases.names()
    if options.fresh:
        for name in names:
            _kept(name).unlink(missing_ok=True)
    results: list[dict[str, Any]] = []
    run = functools.partial(_one, options.again)
    with multiprocessing.get_context("spawn").Pool(options.processes) as pool:
        for result, seconds in pool.imap_unordered(run, sorted(names, key=_dear)):
            results.append(result)
            print(f"{len(results):2}/{len(names)} {result['name']:28} {seconds:6.0f} s", flush=True)
    results.sort(key=lambda result: names.index(result["name"]))
    page = _frontier_page.Page(results, _settings())
    print(page.summary())
    if options.write:
        page.write(options.write)
    return 0 if page.all_met else 1


if __name__ == "__main__":
    sys.exit(main())
