"""Do intervals of differences cover? Models compared again and again, with fresh users each time.

``python -m benchmarks.differences`` fits three models on two datasets, ranks them exactly once, and
then redraws: 2,000 users, their negatives, the same for all models, and the interval of every
difference, for these users and for the population, from ranks alone and with joint counts.
``--write docs/comparing.md`` puts the table between the marks of that page. Parts that are finished
are kept beside the ranks of `benchmarks.cases`; ``--fresh`` begins again.
"""

from __future__ import annotations

import argparse
import os
import time
import warnings
from collections.abc import Iterator
from functools import cache
from itertools import combinations
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

import truerank as tr
from benchmarks import cases
from truerank.designs import LJ24, Adaptive, Design, Fixed
from truerank.inference.comparing._covariance import Errors, scatter, total_covariances
from truerank.inference.comparing._joint_law import together
from truerank.inference.intervals.fitting import Fitted
from truerank.inference.intervals.interval import normal_quantile

REDRAWS = 100
PART = 10  # redraws kept at a time
USERS = 2000
DATASETS = ("ml-1m", "toys")
MODELS = ("item-knn", "als", "popularity")
METRICS = ("recall@10", "ndcg@10", "recall@50")
SCOPES = ("these-users", "population")
DESIGNS: dict[str, Design] = {
    "n = 100": Fixed(sample_size=100),
    "n = 500": Fixed(sample_size=500),
    "LJ24": LJ24(),
    "ours, 200 pairs": Adaptive(budget=200),
}
# Value, truth, then variances: shown and hidden from ranks alone, and with joint counts; those of
# unpaired models, shown and hidden.
COLUMNS = ("value", "truth", "shown", "hidden", "shown_joint", "hidden_joint", "alone", "apart")
_MOST_SCORES = 5e7  # of a matrix that is kept
_BEGIN, _END = "<!-- coverage of differences -->", "<!-- end of coverage -->"


@cache
def _data(dataset: str) -> tuple[Any, Any, dict[str, Any], dict[str, Any]]:
    """Training and test data, scorers, and the exact ranks of each."""
    train, test = cases._data(dataset)
    scorers, ranks = {}, {}
    for model in MODELS:
        scorer = cases.MODELS[model].fit(
            train, user_ids=test["user_id"], item_ids=test["item_id"], seed=0, progress=False
        )
        scorers[model] = _quick(scorer)
        ranks[model] = tr.rank(scorers[model], test, train=train, progress=False)
    return train, test, scorers, ranks


def _quick(scorer: Any) -> Any:
    """Scores kept as a matrix, where they are products of sparse histories and fit in memory."""
    n_users = scorer.user_ids.n_rows
    if not isinstance(scorer, tr.scoring.ItemWeights) or n_users * scorer.n_items > _MOST_SCORES:
        return scorer
    users, items = np.arange(n_users), np.arange(scorer.n_items)
    parts = [scorer.score_all(users[at : at + 500]) for at in range(0, n_users, 500)]
    ids = scorer.user_ids.values(users), scorer.item_ids.values(items)
    return tr.scoring.Dense(np.concatenate(parts), user_ids=ids[0], item_ids=ids[1])


def redraw(dataset: str, design: str, first: int, last: int) -> NDArray[np.float64]:
    """COLUMNS of every redraw, scope, pair and metric."""
    train, test, scorers, ranks = _data(dataset)
    metrics = tr.metrics.parse(METRICS)
    true = {
        model: np.stack([m.gain(*_exact(table)) for m in metrics], axis=1)
        for model, table in ranks.items()
    }
    found = []
    for seed in range(first, last):
        users = np.random.default_rng([seed, 77]).choice(test.num_rows, USERS, replace=False)
        users.sort()
        paired = tr.count(
            scorers, test.take(users), DESIGNS[design], train=train, seed=seed, progress=False
        )
        found.append(_differences(paired, metrics, true, users))
    return np.array(found)


def _exact(table: Any) -> tuple[Any, Any]:
    return table["rank"].to_numpy(), table["n_items"].to_numpy()


def _differences(
    paired: tr.PairedCounts, metrics: Any, true: dict[str, Any], users: Any
) -> list[Any]:
    smooth = tr.estimators.Smooth()
    fits = {m: Fitted.of(paired[m], smooth, metrics) for m in MODELS}
    own = {m: one.fit for m, one in fits.items()}
    totals = total_covariances(MODELS, paired, own, smooth, metrics, "auto", 0)
    known = {
        pair: together(
            paired,
            pair,
            [fits[m].fit for m in pair],
            [fits[m].posterior.distribution() for m in pair],
            smooth,
            metrics,
            "auto",
            0,
        )
        for pair in paired.pairs
    }
    opened = {
        m: np.diag(one.posterior.covariance(metrics, scope="population")) for m, one in fits.items()
    }
    found = []
    for scope in SCOPES:
        drawn = 0.0 if scope == "these-users" else 1.0 - users.size / len(true[MODELS[0]])
        for at, metric in enumerate(metrics):
            errors = {
                m: Errors(
                    *(float(getattr(one.law, n)[at]) for n in ("negatives", "users", "blur")),
                    float(opened[m][at]),
                )
                for m, one in fits.items()
            }
            joint = {p: (one.negatives[at], one.ranks[at]) for p, one in known.items() if one}
            spreads = [
                scatter(errors, total, pairs, drawn)
                for total, pairs in ((totals[at], {}), (totals[at], joint), (None, {}))
            ]
            for i, j in combinations(range(len(MODELS)), 2):
                off = true[MODELS[i]][:, at] - true[MODELS[j]][:, at]
                value = [own[MODELS[k]].values[metric.key] for k in (i, j)]
                parts = [(s.of_difference(i, j), s.hidden_of_difference(i, j)) for s in spreads]
                found.append(
                    [
                        value[0] - value[1],
                        off[users].mean() if scope == "these-users" else off.mean(),
                        *parts[0],
                        *parts[1],
                        parts[2][0],
                        sum(errors[MODELS[k]].blur ** 2 for k in (i, j)),
                    ]
                )
    return found


def _kept(dataset: str, design: str, first: int, last: int) -> Path:
    return cases.folder() / "differences" / f"{dataset} {design} {first}-{last}.npy"


def _tasks(redraws: int) -> Iterator[tuple[str, str, int, int]]:
    for first in range(0, redraws, PART):
        for dataset in DATASETS:
            for design in DESIGNS:
                yield dataset, design, first, min(first + PART, redraws)


def table(redraws: int) -> str:
    """The page's table: coverage and width by scope, dataset and design."""
    parts: dict[tuple[str, str], list[NDArray[np.float64]]] = {}
    for task in _tasks(redraws):
        if _kept(*task).exists():
            parts.setdefault(task[:2], []).append(np.load(_kept(*task)))
    z = normal_quantile(0.975)
    lines = [
        "| whom for | dataset | design | redraws | ranks alone | joint counts | lowest | widths |",
        "| --- | --- | --- | ---: | ---: | ---: | ---: | ---: |",
    ]
    n_cells = len(METRICS) * len(MODELS) * (len(MODELS) - 1) // 2
    for at, scope in enumerate(SCOPES):
        for (dataset, design), arrays in parts.items():
            whole = np.concatenate(arrays).reshape(-1, len(SCOPES), n_cells, len(COLUMNS))[:, at]
            value, truth, shown, hidden, shown_joint, hidden_joint, _, _ = np.moveaxis(whole, 2, 0)
            error = np.abs(value - truth)
            alone, joint = np.sqrt(shown + hidden), np.sqrt(shown_joint + hidden_joint)
            cells = (error <= z * joint).mean(axis=0)
            rmse = np.sqrt((error**2).mean(axis=0))
            width = np.exp(np.log(joint.mean(axis=0) / rmse).mean())
            shares = [100 * (error <= z * alone).mean(), 100 * cells.mean()]
            lines.append(
                f"| {scope} | {dataset} | {design} | {len(whole)} | {shares[0]:.1f} % | "
                f"{shares[1]:.1f} % | {100 * cells.min():.0f} % | {width:.2f} |"
            )
    return "\n".join(lines)


def main() -> None:
    """Redraw what is not kept, and show the table."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.differences", description=__doc__)
    parser.add_argument("--write", type=Path, metavar="PAGE.md", help="put the table on the page")
    parser.add_argument("--redraws", type=int, default=REDRAWS)
    parser.add_argument("--fresh", action="store_true", help="forget the redraws that are kept")
    options = parser.parse_args()
    if options.fresh:
        for part in (cases.folder() / "differences").glob("*.npy"):
            part.unlink()
    for task in _tasks(options.redraws):
        path = _kept(*task)
        if path.exists():
            continue
        begin = time.perf_counter()
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            found = redraw(*task)
        path.parent.mkdir(parents=True, exist_ok=True)
        partial = path.with_suffix(f".{os.getpid()}.tmp")
        with partial.open("wb") as file:
            np.save(file, found)
        partial.replace(path)
        print(*task, f"{time.perf_counter() - begin:.0f} s", flush=True)
    text = table(options.redraws)
    print(text)
    if options.write:
        page = options.write.read_text()
        before, rest = page.split(_BEGIN)
        after = rest.split(_END)[1]
        options.write.write_text(f"{before}{_BEGIN}\n\n{text}\n\n{_END}{after}")


if __name__ == "__main__":
    main()
