"""Several targets per user: error and coverage against the exact evaluation of the same users.

    python -m benchmarks.several --redraws 100 --write docs/calibration-several.md

A random fifth of each user's interactions is held out. Models are fitted and ranked exactly once;
users and their negatives are then drawn again and again. Redraws are kept in the folder of the
other calibrations and a run that was stopped goes on where it was.
"""

from __future__ import annotations

import argparse
import hashlib
import time
import warnings
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

import truerank as tr
from benchmarks import cases
from benchmarks._report import machine
from truerank.inference.planning.simulate import sampled_ranks
from truerank.outcomes import _places
from truerank.outcomes.schemes import Scheme

# Users of a redraw.
DATASETS = {"ml-1m": 600, "video": 6000, "citeulike": 1500, "toys": 6000}
MODELS = {"als": tr.models.ALS(dimensions=32), "item-knn": tr.models.ItemKNN(neighbours=200)}
NAMES = ("recall", "precision", "hit_rate", "ndcg", "ap", "mrr")
METRICS = [f"{name}@{k}" for name in NAMES for k in (10, 20, 50)]
DESIGNS = ("n = 100", "ours, 200 pairs per user")
SHARE = 0.2

FloatArray = NDArray[np.float64]
IntArray = NDArray[np.int64]


@dataclass(frozen=True)
class Case:
    """Exact ranks of all targets, arrays of shape (n_targets,)."""

    user: IntArray
    rank: IntArray
    place: IntArray
    n_items: IntArray


def load(data: Path, dataset: str, model: str) -> Case:
    """The exact ranks of a model, kept on disk."""
    path = cases.folder() / "several" / f"{dataset} {model}.npz"
    if not path.exists():
        path.parent.mkdir(parents=True, exist_ok=True)
        split = _split(data / dataset)
        fitted = MODELS[model].fit(split.train, user_ids=split.user_ids, item_ids=split.item_ids)
        table = tr.rank(fitted, split.test, train=split.train)
        _, user = np.unique(table["user_id"].to_numpy(), return_inverse=True)
        columns = {name: table[name].to_numpy() for name in ("rank", "place", "n_items")}
        np.savez(path, user=user, **columns)
    with np.load(path) as kept:
        return Case(*(kept[name].astype(np.int64) for name in ("user", "rank", "place", "n_items")))


def _split(folder: Path) -> tr.data.Split:
    whole = tr.data.read_split(folder).whole.distinct()
    return whole.split_per_user(SHARE, seed=0)


def redraw(case: Case, design: str, n_users: int, rng: np.random.Generator) -> FloatArray:
    """Estimate, low, high, flag and exact value of each metric, shape (5, n_metrics)."""
    chosen = np.zeros(int(case.user.max()) + 1, dtype=bool)
    chosen[rng.choice(chosen.size, min(n_users, chosen.size), replace=False)] = True
    rows = np.flatnonzero(chosen[case.user])
    rank, pool = case.rank[rows], case.n_items[rows]
    user = np.unique(case.user[rows], return_inverse=True)[1]
    if design == "n = 100":
        scheme, total = Scheme(False), None
    else:
        scheme = tr.designs.Adaptive(budget=200).scheme(int(pool.max()))
        total = 200 * int(chosen.sum()) - rows.size
    sizes = np.full(rows.size, 100)
    scheme, size, sampled = sampled_ranks(rank, pool, scheme, sizes, rng, total, user)
    scheme = replace(scheme, shared=True)
    about = {"place": case.place[rows], "n_targets": _places.numbers(user)}
    common = {**about, "block": _places.blocks(user, about["n_targets"]), "n_users": chosen.sum()}
    one = np.ones(rows.size)
    counts = tr.RankCounts.from_outcomes(
        scheme, n_items=pool, sample_size=size, sampled_rank=sampled, weight=one, **common
    )
    exact = tr.RankCounts.from_outcomes(
        Scheme(False), n_items=pool, sample_size=pool, sampled_rank=rank, weight=one, **common
    )
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        est = tr.estimate(counts, METRICS, progress=False)
        truth = tr.estimate(exact, METRICS, confidence=None)
        return np.array(
            [[one.value, one.low, one.high, not one.resolvable, truth[key].value]
             for key, one in est.items()]
        ).T  # fmt: skip


def kept(data: Path, n_redraws: int) -> dict[tuple[str, str, str], FloatArray]:
    """The redraws of every configuration, made where they are not there yet."""
    found = {}
    for dataset, n_users in DATASETS.items():
        for model in MODELS:
            case = load(data, dataset, model)
            for design in DESIGNS:
                name = f"{dataset} {model} {design}"
                path = cases.folder() / "several" / f"{name}.npy"
                done = list(np.load(path)) if path.exists() else []
                begin = time.perf_counter()
                for number in range(len(done), n_redraws):
                    seed = list(hashlib.sha256(f"{name} redraw {number}".encode()).digest())
                    done.append(redraw(case, design, n_users, np.random.default_rng(seed)))
                    if number % 5 == 4 or number + 1 == n_redraws:
                        np.save(path, np.array(done))
                print(f"{name}: {time.perf_counter() - begin:.0f} s", flush=True)
                found[dataset, model, design] = np.array(done[:n_redraws])
    return found


def page(found: dict[tuple[str, str, str], FloatArray], n_redraws: int) -> str:
    """The Markdown page."""
    parts = [
        "# Calibration with several targets per user\n",
        f"Written by `python -m benchmarks.several` ({_machine()}). A random fifth of each user's "
        f"interactions is held out; {n_redraws} redraws of users "
        f"({', '.join(f'{n:,} of {name}' for name, n in DATASETS.items())}) and of their negatives "
        "per row. *Error* is the root mean squared relative error against the exact evaluation "
        "of the same users, *covered* how often the 95 % interval holds it, *width* the half-width "
        "over 1.96 times that error, *flagged* how often the metric is marked as not resolved. "
        "The targets of a user share its negatives. The size of classes was chosen with ml-1m "
        "and video in view. That classes stray each for itself, and not by smooth functions of "
        "place and number of targets, was decided by the errors on ml-1m, video and citeulike, "
        "with those on toys in view. No number in the law of errors was set by any of these "
        "redraws; the lumps and the misfit term were learnt on other splits of these datasets, "
        "with one target per user.\n",
    ]
    total = [_cells(array) for array in found.values()]
    covered = np.mean([cell[:, 1].mean() for cell in total])
    worst = min(float(cell[:, 1].mean()) for cell in total)
    parts.append(
        f"Pooled coverage is {100 * covered:.1f} %, that of the worst configuration "
        f"{100 * worst:.1f} % (asked for: at least 92 %).\n"
    )
    rows = [
        [*key, *(f"{100 * value:.1f} %" for value in _cells(array)[:, :2].mean(axis=0)),
         f"{np.exp(np.log(_cells(array)[:, 2]).mean()):.2f}",
         f"{100 * _cells(array)[:, 3].mean():.0f} %"]
        for key, array in found.items()
    ]  # fmt: skip
    head = ["dataset", "model", "design", "error", "covered", "width", "flagged"]
    parts += ["## By configuration\n", markdown(head, rows)]
    parts.append("\n## By metric\n\nError and coverage.\n")
    for design in DESIGNS:
        keys = [key for key in found if key[2] == design]
        by_metric = [
            [metric, *(
                f"{100 * _cells(found[key])[at, 0]:.1f} %, {100 * _cells(found[key])[at, 1]:.0f} %"
                for key in keys
            )]
            for at, metric in enumerate(METRICS)
        ]  # fmt: skip
        head = ["metric", *(f"{dataset} {model}" for dataset, model, _ in keys)]
        parts += [f"\n### {design}\n", markdown(head, by_metric)]
    return "\n".join(parts) + "\n"


def _machine() -> str:
    return "; ".join(f"{name} {value}" for name, value in machine().items())


def markdown(head: list[str], rows: list[list[str]]) -> str:
    """A table."""
    lines = [head, ["---"] * len(head), *rows]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)


def _cells(array: FloatArray) -> FloatArray:
    """Error, coverage, width and flags of each metric, (n_metrics, 4)."""
    value, low, high, flagged, exact = array.transpose(1, 0, 2)
    error = np.sqrt((((value - exact) / exact) ** 2).mean(axis=0))
    covered = ((low <= exact) & (exact <= high)).mean(axis=0)
    width = ((high - low) / 2.0 / exact).mean(axis=0) / (1.959964 * error)
    return np.stack([error, covered, width, flagged.mean(axis=0)], axis=1)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--data", type=Path, default=Path("../shared/data"))
    parser.add_argument("--redraws", type=int, default=100)
    parser.add_argument("--write", type=Path)
    options = parser.parse_args()
    if not (options.data / "ml-1m").is_dir():
        parser.error(f"--data is {options.data}; there is no folder ml-1m in it")
    text = page(kept(options.data, options.redraws), options.redraws)
    if options.write:
        options.write.write_text(text)
    else:
        print(text)


if __name__ == "__main__":
    main()
