"""How good are translations of published tables? S3-Rec's printed figures, and simulated tables.

``python -m benchmarks.translate`` translates the sampled figures of S3-Rec's page
(``published/s3rec.csv`` beside the data of `benchmarks.cases`), for which the authors printed the
full ones as well, and tables simulated from the exact ranks of `benchmarks.cases`: metrics of
sampled ranks, rounded to four digits. ``--write docs/published-orders.md`` writes the page and its
pictures. Nothing is tuned to either: the priors are those of the smooth estimator.
"""

from __future__ import annotations

import argparse
import csv
import os
import sys
import time
import warnings
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

import truerank as tr
from benchmarks import _translate_page, cases
from truerank.inference.translating import _published

FloatArray = NDArray[np.float64]

ASKED = ("recall@10", "recall@20", "ndcg@10")
NEGATIVES = 99
REDRAWS = 3
MIN_HITS = 10
TABLES = {
    "HR@10": ("HR@10",),
    "HR and NDCG @5, 10": ("HR@5", "NDCG@5", "HR@10", "NDCG@10"),
    "HR@1, 5, 10, NDCG@5, 10, MRR": ("HR@1", "HR@5", "NDCG@5", "HR@10", "NDCG@10", "MRR"),
}


@dataclass(frozen=True)
class Answer:
    """An estimate beside the truth."""

    dataset: str
    model: str
    metric: str
    value: float
    low: float
    high: float
    truth: float
    published: float | None = None


def s3rec(path: Path) -> tuple[list[Answer], tr.TranslatedTable]:
    """The models of S3-Rec's page that have both kinds of figures, and the whole translation."""
    with path.open(encoding="utf-8") as file:
        rows = list(csv.DictReader(file))
    import pandas as pd

    frame = pd.DataFrame([row for row in rows if row["ranking"] == "sampled-99"])
    found = tr.translate(frame, ASKED, num_negatives=NEGATIVES, replacement=False, progress=False)
    truth = {
        (row["dataset"], row["model"], _published.one_target_key(row["metric"])): float(
            row["value"]
        )
        for row in rows
        if row["ranking"] == "full"
    }
    return [
        Answer(dataset, e.model, e.metric, e.value, e.low, e.high, truth[key], e.naive)
        for dataset, one in found.translations.items()
        for e in one.estimates
        if (key := (dataset, e.model, e.metric)) in truth
    ], found


def simulated(name: str, published: tuple[str, ...], redraw: int) -> list[Answer]:
    """A table of one model, from the exact ranks of a case."""
    case = cases.load(name)
    rng = np.random.default_rng([redraw, *name.encode()])
    sampled = 1 + rng.hypergeometric(case.rank - 1, case.n_items - case.rank, NEGATIVES)
    values = {
        key: f"{tr.metrics.parse(key)[0].gain(sampled, NEGATIVES + 1).mean():.4f}"
        for key in published
    }
    kept = name.endswith("-kept")
    # What a paper would print: the size of the catalogue, also where training items are left out.
    catalogue = cases.load(name.rsplit("-", 1)[0] + "-kept").n_items.max()
    found = tr.translate(
        values,
        ASKED,
        n_items=int(catalogue),
        num_negatives=NEGATIVES,
        replacement=False,
        n_users=case.rank.size,
        training_items="kept" if kept else "left-out",
        progress=False,
    )
    answers = []
    for metric in tr.metrics.parse(ASKED):
        if (case.rank <= (metric.k or 0)).sum() < MIN_HITS:
            continue
        one = found[metric]
        truth = float(metric.gain(case.rank, case.n_items).mean())
        answers.append(Answer(name, "", metric.key, one.value, one.low, one.high, truth))
    return answers


def seconds() -> tuple[float, float]:
    """Of translating one model, and fifty, once everything is loaded."""
    six = dict(zip(TABLES["HR@1, 5, 10, NDCG@5, 10, MRR"], _PRINTED, strict=True))
    options = {"n_items": 12_101, "num_negatives": 99, "n_users": 22_363, "replacement": False}
    taken = []
    for n_models in (1, 1, 50):
        begin = time.perf_counter()
        tr.translate({f"{i}": six for i in range(n_models)}, ASKED, **options, progress=False)
        taken.append(time.perf_counter() - begin)
    return taken[1], taken[2]


_PRINTED = ("0.1870", "0.3741", "0.2848", "0.4696", "0.3156", "0.2852")


def main() -> int:
    """0 if the goals are met, else 1."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.translate", description=__doc__)
    parser.add_argument("--write", type=Path, metavar="PAGE.md", help="write the page of results")
    parser.add_argument("--redraws", type=int, default=REDRAWS)
    options = parser.parse_args()
    data = Path(os.environ.get("TRUERANK_DATA") or cases.ROOT.parent / "shared" / "data")
    path = data.parent / "published" / "s3rec.csv"
    if not path.exists():
        print(f"{path} is missing: S3-Rec's printed figures")
        return 2
    warnings.simplefilter("ignore")
    printed, whole = s3rec(path)
    tables = {
        (pool, label): [
            answer
            for name in cases.names()
            if name.endswith(f"-{pool}")
            for redraw in range(options.redraws)
            for answer in simulated(name, published, redraw)
        ]
        for pool in cases.POOLS
        for label, published in TABLES.items()
    }
    page = _translate_page.Page(printed, whole, tables, options.redraws, seconds())
    print(page.summary())
    if options.write:
        options.write.write_text(page.text())
        page.draw(options.write.parent / "images")
    return 0 if page.met else 1


if __name__ == "__main__":
    sys.exit(main())
