"""Negatives drawn by popularity, thinned to uniform ones: error and coverage on real models.

``python -m benchmarks.popularity`` draws 99 and 999 negatives per user with replacement by
(count + 1)^alpha, on toys and video, for item-KNN and ALS, and compares with what an exact
evaluation of the same users says: uniform negatives of the same number; the drawn ones taken as if
they were uniform; thinned by `truerank.designs.Frozen(negatives, probability=...)`; and, without
any thinning, weighted by 1/q (each item a stratum of its own) or by strata of similar q, as if that
were a uniform sample of its effective size. ``--write docs/popularity.md`` writes the page.
"""

from __future__ import annotations

import argparse
import sys
import warnings
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow.parquet as pq
from numpy.typing import NDArray

import truerank as tr
from benchmarks import cases
from benchmarks._report import machine
from truerank.designs import Fixed, Frozen, FrozenNegatives, Probability
from truerank.scoring.task import prepare

FloatArray = NDArray[np.float64]
IntArray = NDArray[np.int64]

DATASETS = ("toys", "video")
MODELS = ("item-knn", "als")
ALPHAS = (0.5, 0.75, 1.0)
SIZES = (99, 999)
USERS = 1500
REDRAWS = {99: 3, 999: 1}
STRATA = 8
METRICS = ("recall@10", "recall@20", "recall@50", "ndcg@10")
WAYS = ("uniform", "as if uniform", "thinned", "weighted by 1/q", "strata of q")


@dataclass(frozen=True)
class Answer:
    """An estimate of one way, beside the truth."""

    dataset: str
    alpha: float
    size: int
    way: str
    value: float
    low: float
    high: float
    truth: float
    effective: float


@dataclass(frozen=True)
class Problem:
    """A fitted model, its users, and what an exact evaluation says."""

    dataset: str
    scorer: Any
    task: Any
    test: tuple[Any, Any]
    train: Any
    count: IntArray
    truth: dict[str, float]


def problems() -> Iterator[Problem]:
    """Every dataset and model."""
    for dataset in DATASETS:
        folder = cases._dataset(dataset)
        train, test = (pq.read_table(folder / f"{part}.parquet") for part in ("train", "test"))
        for model in MODELS:
            scorer = cases.MODELS[model].fit(
                train, user_ids=test["user_id"], item_ids=test["item_id"], seed=0, progress=False
            )
            rng = np.random.default_rng(1)
            rows = np.sort(rng.choice(test.num_rows, USERS, replace=False))
            chosen = test.take(rows)
            pair = chosen["user_id"].to_numpy(), chosen["item_id"].to_numpy()
            task = prepare(scorer, pair, train=train)
            items = scorer.item_ids.rows(train["item_id"].to_numpy(), "train")
            count = np.bincount(items, minlength=scorer.n_items)
            exact = tr.count(scorer, pair, "exact", train=train, progress=False)
            found = tr.estimate(exact, METRICS, estimator="naive", confidence=None)
            truth = {name: one.value for name, one in found.items()}
            yield Problem(dataset, scorer, task, pair, train, count, truth)


def drawn(problem: Problem, q: FloatArray, size: int, rng: np.random.Generator) -> IntArray:
    """Negatives of each row by q, with replacement, from its pool: shape (n_rows, size)."""
    from truerank.sampling.streams import is_left_out

    task = problem.task
    edge = np.cumsum(q) / q.sum()
    found = np.empty((task.n_rows, size), dtype=np.int64)
    for first in range(0, task.n_rows, 500):
        rows = np.arange(first, min(first + 500, task.n_rows))
        items = np.searchsorted(edge, rng.random((rows.size, int(1.5 * size) + 60)))
        items = np.minimum(items, q.size - 1)
        bad = is_left_out(task, rows, np.arange(rows.size)[:, None], items)
        order = np.argsort(bad, axis=1, kind="stable")  # what may be kept first, in order
        found[rows] = np.take_along_axis(items, order, axis=1)[:, :size]
    return found


def answers(problem: Problem, alpha: float, size: int, redraw: int) -> Iterator[Answer]:
    """All ways for one draw of the negatives."""
    seed = [redraw, size, int(100 * alpha), *problem.dataset.encode()]
    rng = np.random.default_rng(seed)
    q = (problem.count + 1.0) ** alpha
    task, scorer = problem.task, problem.scorer
    items = drawn(problem, q, size, rng)
    ids = scorer.item_ids.values(np.arange(scorer.n_items))
    frozen = FrozenNegatives(
        np.asarray(task.user_id),
        scorer.item_ids.values(task.target),
        np.arange(task.n_rows + 1) * size,
        scorer.item_ids.values(items.ravel()),
        True,
    )
    options = {"train": problem.train, "seed": redraw, "progress": False}
    probability = Probability(ids, q)
    thinned = tr.count(scorer, problem.test, Frozen(frozen, probability=probability), **options)
    counts = {
        "uniform": tr.count(
            scorer, problem.test, Fixed(num_negatives=size, replacement=True), **options
        ),
        "as if uniform": tr.count(scorer, problem.test, Frozen(frozen), **options),
        "thinned": thinned,
        **weighted(problem, items, q),
    }
    for way, one in counts.items():
        found = tr.estimate(one, METRICS, progress=False)
        for metric, estimate in found.items():
            yield Answer(
                problem.dataset,
                alpha,
                size,
                way,
                estimate.value,
                estimate.low,
                estimate.high,
                problem.truth[metric],
                one.pairs_per_user - 1.0,
            )


def weighted(problem: Problem, items: IntArray, q: FloatArray) -> dict[str, tr.RankCounts]:
    """Shares of the pool above the target by weights, as ranks in samples of effective size."""
    task, scorer = problem.task, problem.scorer
    above = np.empty(items.shape, dtype=np.bool_)
    for first in range(0, task.n_rows, 200):
        rows = slice(first, min(first + 200, task.n_rows))
        asked = np.concatenate([task.target[rows, None], items[rows]], axis=1)
        scores = scorer.score(task.user[rows], asked)
        above[rows] = scores[:, 1:] > scores[:, :1]
    cut = np.quantile(np.log(q), np.linspace(0, 1, STRATA + 1)[1:-1])
    stratum = np.searchsorted(cut, np.log(q))
    mean = np.bincount(stratum, q, minlength=STRATA) / np.maximum(
        np.bincount(stratum, minlength=STRATA), 1
    )
    found = {}
    for way, each in (("weighted by 1/q", q), ("strata of q", mean[stratum])):
        weight = 1.0 / each[items]
        share = (weight * above).sum(axis=1) / weight.sum(axis=1)
        size = weight.sum(axis=1) ** 2 / (weight**2).sum(axis=1)
        step = 10.0 ** np.maximum(np.floor(np.log10(size)) - 1, 0)  # two digits: fewer outcomes
        size = np.maximum(np.rint(size / step) * step, 1)
        rank = 1 + np.rint(share * size).astype(np.int64)
        found[way] = tr.RankCounts.from_ranks(
            rank,
            n_items=task.n_items,
            num_negatives=size.astype(np.int64),
            replacement=True,
        )
    return found


def page(found: list[Answer]) -> tuple[str, str]:
    """The table, and what it comes to."""
    rows = [["dataset", "negatives", "alpha", "left", *WAYS]]
    cells: dict[str, list[tuple[float, float]]] = {way: [] for way in WAYS}
    for dataset in DATASETS:
        for size in SIZES:
            for alpha in ALPHAS:
                mine = [a for a in found if (a.dataset, a.size, a.alpha) == (dataset, size, alpha)]
                if not mine:
                    continue
                left = np.mean([a.effective for a in mine if a.way == "thinned"])
                row = [dataset, str(size), f"{alpha:g}", f"{left:.1f}"]
                for way in WAYS:
                    own = [a for a in mine if a.way == way]
                    error = np.median([abs(a.value / a.truth - 1) for a in own])
                    cover = np.mean([a.low <= a.truth <= a.high for a in own])
                    row.append(f"{error:.1%} ({cover:.0%})")
                    cells[way].append((float(error), float(cover)))
                rows.append(row)
    header, *body = ("| " + " | ".join(row) + " |" for row in rows)
    means = [
        f"{way} {np.exp(np.mean(np.log(error))):.0%} ({np.mean(cover):.0%})"
        for way, (error, cover) in ((way, zip(*own, strict=True)) for way, own in cells.items())
    ]
    summary = (
        "Geometric means of the errors over the rows, and mean coverage: " + ", ".join(means) + "."
    )
    return "\n".join([header, "| --- |" + " ---: |" * (len(rows[0]) - 1), *body]), summary


def main() -> int:
    """0 always: there are no goals but to know."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.popularity", description=__doc__)
    parser.add_argument("--write", type=Path, metavar="PAGE.md", help="write the page of results")
    options = parser.parse_args()
    warnings.simplefilter("ignore")
    found: list[Answer] = []
    for problem in problems():
        for size in SIZES:
            for alpha in ALPHAS:
                for redraw in range(REDRAWS[size]):
                    found += answers(problem, alpha, size, redraw)
                print(f"{problem.dataset} {size} {alpha:g}", flush=True)
    table, summary = page(found)
    print(table, summary, sep="\n")
    if options.write:
        facts = ", ".join(f"{key} {value}" for key, value in machine().items())
        options.write.write_text(
            _PAGE.format(table=table, summary=summary, users=USERS, redraws=REDRAWS, facts=facts)
        )
    return 0


_PAGE = """# Negatives drawn by popularity

Written by `python -m benchmarks.popularity --write docs/popularity.md`; do not edit by hand.

Negatives drawn with replacement by known probabilities q can be made a uniform sample, exactly:
keep a draw of item i with chance q_min / q_i (`Frozen(negatives, probability=...)`, see
[designs](designs.md)). What is left is small where popularity ranges widely. Here q is
(count + 1)^alpha on two datasets, for item-KNN and ALS, {users:,} users, {redraws[99]} redraws of
99 negatives and {redraws[999]} of 999. Median relative error of Recall@10, 20, 50 and NDCG@10, in
brackets the coverage of 95 % intervals; *left* is the mean number of negatives that thinning
leaves.

{table}

{summary}

- **as if uniform** takes the drawn negatives for uniform ones: the usual mistake. More negatives do
  not help.
- **thinned** is exact, and pays with its sample: compare it with *uniform*, which has as many
  negatives as were drawn.
- **weighted by 1/q**, and **strata of q** (8 strata of similar q, each weighted by its size), waste
  no negative: each user's share of the pool above the target is estimated by weights, and taken as
  the rank in a uniform sample of the effective size. It is no such sample, and nothing is known of
  its law: rare draws with large weights decide whether a target ranks first. By 1/q it is better
  here and worse there; strata are worse. Neither is built in.

What would be exact for strata needs the joint law of how a target's rivals split over them, which
has to be estimated; a uniform subsample can hold no more than the rarest stratum allows, so that
exact thinning within strata gains nothing over thinning items.

Measured on: {facts}.
"""


if __name__ == "__main__":
    sys.exit(main())
