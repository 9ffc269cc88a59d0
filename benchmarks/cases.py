"""Exact ranks to judge estimators by: five datasets, seven models, training items left out or kept.

``python -m benchmarks.cases`` fits every model once and keeps the ranks, cheap models first. They
lie in ``.cache/cases`` or the folder named by TRUERANK_CASES; the data (train.parquet and
test.parquet of each dataset) beside the repository in shared/data or in the folder named by
TRUERANK_DATA.
"""

from __future__ import annotations

import argparse
import hashlib
import os
import time
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow.parquet as pq
from numpy.typing import NDArray

import truerank as tr
from truerank.models import ALS, EASE, IALS, ItemKNN, Popularity

ROOT = Path(__file__).parents[1]
DATASETS = ("ml-1m", "citeulike", "sports", "toys", "video")
# Where KR20 stopped iALS is not said; twenty iterations are near the end of its fall.
MODELS: dict[str, Any] = {
    "popularity": Popularity(),
    "item-knn": ItemKNN.jl21(),
    "kr20-y": ItemKNN.kr20_y(),
    "kr20-z": ItemKNN.kr20_z(),
    "als": ALS(),
    "ials-x": replace(IALS.kr20_x(), iterations=20, tolerance=None),
    "ease": EASE(),
}
POOLS = ("left", "kept")
SEED = 0  # of the fits and of ties


@dataclass(frozen=True)
class Case:
    """Global ranks (1-based) of the held-out items and the pools they were found in, (n_users,)."""

    name: str
    rank: NDArray[np.int64]
    n_items: NDArray[np.int64]


def names() -> list[str]:
    """All 70, cheap models first."""
    return [
        f"{dataset}-{model}-{pool}" for model in MODELS for dataset in DATASETS for pool in POOLS
    ]


def load(name: str, where: Path | None = None) -> Case:
    """A case from the cache, or computed and put there."""
    dataset, model, pool = _parts(name)
    path = (where or folder()) / f"{name}.npz"
    key = _key(dataset, model, pool)
    if path.exists():
        with np.load(path) as kept:
            if str(kept["key"]) == key:
                return Case(name, kept["rank"], kept["n_items"])
    train, test = _data(dataset)
    scorer = _fitted(dataset, model)
    left_out = train if pool == "left" else None
    table = tr.rank(scorer, test, train=left_out, seed=SEED, progress=False)
    rank, n_items = table["rank"].to_numpy(), table["n_items"].to_numpy()
    path.parent.mkdir(parents=True, exist_ok=True)
    partial = path.with_suffix(f".{os.getpid()}.tmp")
    with partial.open("wb") as file:
        np.savez_compressed(file, rank=rank, n_items=n_items, key=np.array(key))
    partial.replace(path)
    return Case(name, rank, n_items)


def _parts(name: str) -> tuple[str, str, str]:
    for dataset in DATASETS:
        for model in MODELS:
            for pool in POOLS:
                if name == f"{dataset}-{model}-{pool}":
                    return dataset, model, pool
    raise ValueError(f"no case {name!r}; there are: {', '.join(names())}")


def folder() -> Path:
    """Where ranks are kept."""
    return Path(os.environ.get("TRUERANK_CASES") or ROOT / ".cache" / "cases")


def _dataset(name: str) -> Path:
    return Path(os.environ.get("TRUERANK_DATA") or ROOT.parent / "shared" / "data") / name


@cache
def _data(dataset: str) -> tuple[Any, Any]:
    folder = _dataset(dataset)
    return pq.read_table(folder / "train.parquet"), pq.read_table(folder / "test.parquet")


@cache
def _digest(dataset: str) -> str:
    digest = hashlib.sha256()
    for part in ("train", "test"):
        digest.update((_dataset(dataset) / f"{part}.parquet").read_bytes())
    return digest.hexdigest()


def _key(dataset: str, model: str, pool: str) -> str:
    """Of all that the ranks depend on: data, hyper-parameters, seed."""
    return hashlib.sha256(
        f"{_digest(dataset)} {MODELS[model]!r} {pool} {SEED}".encode()
    ).hexdigest()


_last: dict[tuple[str, str], Any] = {}  # one fitted model: EASE on video takes 2.3 GB


def _fitted(dataset: str, model: str) -> Any:
    if (dataset, model) not in _last:
        _last.clear()
        train, test = _data(dataset)
        _last[dataset, model] = MODELS[model].fit(
            train,
            user_ids=test["user_id"],
            item_ids=test["item_id"],
            seed=SEED,
            progress=False,
        )
    return _last[dataset, model]


def main() -> None:
    """Fill the cache."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.cases", description=__doc__)
    parser.add_argument("--folder", type=Path, help="for the ranks, instead of .cache/cases")
    options = parser.parse_args()
    for name in names():
        begin = time.perf_counter()
        case = load(name, options.folder)
        recall = float((case.rank <= 10).mean())
        print(
            f"{name:28} {case.rank.size:6,} users, {case.n_items.max():6,} items, "
            f"recall@10 {recall:.4f}, {time.perf_counter() - begin:.1f} s",
            flush=True,
        )


if __name__ == "__main__":
    main()
