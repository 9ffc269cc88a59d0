"""Tables 4, 5, 6, 8 and 9 on data that no paper here has: short histories, large catalogues."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from truerank._types import FloatArray
from truerank.models import ALS, ItemKNN, Model, Popularity
from truerank_papers.experiments import words
from truerank_papers.experiments.lj24._shared import (
    ALL,
    AVERAGED,
    ESTIMATORS,
    LEARNT,
    METRICS,
    START,
    STOP,
    adaptive_estimates,
    exact,
    fixed_estimates,
    number,
    relative_error,
)
from truerank_papers.experiments.lj24.accuracy import USERS, sampled_users
from truerank_papers.experiments.lj24.winners import TARGETS
from truerank_papers.experiments.published import Number, Numbers
from truerank_papers.experiments.registry import experiment
from truerank_papers.experiments.results import Result, Table
from truerank_papers.experiments.run import Run
from truerank_papers.experiments.winners import best_found

DATASETS = ("sports", "toys", "video")
MODELS: dict[str, Model[Any]] = {
    "itemKNN": ItemKNN.jl21(),
    "ALS": ALS(),
    "popularity": Popularity(),
}
REPEATS = 10  # a fit of all estimators takes seconds on these catalogues
SIZES = (100, 500)


@experiment("lj24", "otherdata", "Tables 4, 5, 6, 8 and 9 on other data", any_of=DATASETS)
def other_data(run: Run) -> Result:
    """Three light models on three datasets."""
    run = replace(run, settings=replace(run.settings, repeats=run.settings.repeats or REPEATS))
    errors: Numbers = {}
    grown: Numbers = {}
    users: dict[str, Numbers] = {"recall": {}, "ndcg": {}}
    winners: Numbers = {}
    sizes = []
    for dataset in run.at_hand():
        truths, found = [], []
        all_ranks = run.ranks(dataset, MODELS, leave_out=False)
        for model, ranks in all_ranks.items():
            key, truth = (dataset, model), exact(ranks)
            by_size = {n: fixed_estimates(run, dataset, model, ranks, n) for n in SIZES}
            adaptive, mean_size = adaptive_estimates(run, dataset, model, ranks)
            for name, values in by_size[100].items():
                errors[*key, name] = number(relative_error(values, truth))
            for name, values in {**by_size[500], **adaptive}.items():
                grown[*key, name] = number(relative_error(values, truth))
            grown[*key, "adaptive size"] = number(mean_size)
            for metric, into in users.items():
                into |= _sampled(run, key, by_size, adaptive, truth, metric, ranks)
            truths.append(truth)
            found.append({**by_size[500], **adaptive})
        winners |= _winners(dataset, np.stack(truths), found)
        split = run.split(dataset)
        sizes.append(
            f"{dataset} has {len(split.user_ids):,} users, {len(split.item_ids):,} items and "
            f"{len(split.train) / len(split.user_ids):.1f} training items per user"
        )
    keys = ("dataset", "model", "estimator")
    percent = "percent, mean relative error over K = 1 to 50"
    return Result(
        (
            Table.beside("otherdata-table4", None, errors, keys=keys, unit=f"{percent}, n = 100"),
            Table.beside(
                "otherdata-table5",
                None,
                grown,
                keys=keys,
                unit=f"{percent}, n = 500 and adaptive samples",
            ),
            Table.beside(
                "otherdata-table6",
                None,
                winners,
                keys=("dataset", "k", "metric", "estimator"),
                unit="percent of repeats that find the best model",
                digits=0,
            ),
            *(
                Table.beside(
                    f"otherdata-table{table}", None, numbers, keys=keys, unit=f"{percent}: {metric}"
                )
                for table, (metric, numbers) in zip((8, 9), users.items(), strict=True)
            ),
        ),
        notes=(
            f"Not in the paper: {'; '.join(sizes)}. Light settings: {run.repeats()} repeats where "
            f"the paper has 100, and {words.listed(MODELS)}, which are quick to fit on catalogues "
            "of this size.",
            *findings(errors, grown, users["recall"]),
        ),
    )


def _sampled(
    run: Run,
    key: tuple[str, str],
    by_size: dict[int, dict[str, FloatArray]],
    adaptive: dict[str, FloatArray],
    truth: FloatArray,
    metric: str,
    ranks: Any,
) -> Numbers:
    """The columns of tables 8 and 9 for a model: items sampled, or users."""
    found: Numbers = {}
    for n, values in by_size.items():
        for name in ("mn-mes", "smooth"):
            found[*key, f"{name} n={n}"] = number(relative_error(values[name], truth, metric))
    for name, estimated in adaptive.items():
        found[*key, name] = number(relative_error(estimated, truth, metric))
    for m in USERS:
        drawn = sampled_users(run, f"LJ24 {' '.join(key)} users={m}", ranks, m)
        found[*key, f"{m:,} users"] = number(relative_error(drawn, truth, metric))
    return found


def _winners(dataset: str, truth: FloatArray, found: Sequence[dict[str, FloatArray]]) -> Numbers:
    """How often each estimator finds the best model; ``truth`` has shape (n_models, n_metrics)."""
    shares: Numbers = {}
    for k, metric in TARGETS:
        m = METRICS.index(f"{metric}@{k}")
        for name in found[0]:
            estimated = np.stack([values[name][..., m] for values in found])
            share = 100 * float(best_found(truth[:, m], estimated).mean())
            shares[dataset, str(k), metric, name] = Number(share)
    return shares


def findings(errors: Numbers, grown: Numbers, users: Numbers) -> list[str]:
    """Say which findings of the paper carry over.

    Parameters
    ----------
    errors
        Errors of recall, n = 100, by dataset, model and estimator.
    grown
        The same with n = 500 and adaptive samples.
    users
        The same with items or users sampled.

    Returns
    -------
    list of str
        Sentences, from these numbers.
    """

    def mean(numbers: Numbers, name: str) -> float:
        return float(np.mean([one.value for key, one in numbers.items() if key[-1] == name]))

    own = {name: mean(errors, name) for name in ESTIMATORS if name not in AVERAGED}
    averaged = {name: mean(errors, name + ALL) for name in LEARNT}
    gained = [name for name in LEARNT if averaged[name] < own[name]]
    fixed = {name: mean(grown, name) for name in ("mle", "mn-mes", "smooth")}
    adaptive = {name: mean(grown, name) for name in ("adaptive mle", "adaptive smooth")}
    size = mean(grown, "adaptive size")
    better = adaptive["adaptive mle"] < min(fixed["mle"], fixed["mn-mes"])
    said = (
        "As in the paper, adaptive `mle` errs less than `mle` and `mn-mes` with samples of 500"
        if better
        else "Unlike in the paper, adaptive `mle` errs no less than `mle` or `mn-mes` with samples "
        "of 500"
    )
    some = {f"{m:,} users": mean(users, f"{m:,} users") for m in USERS}
    items = {name: mean(users, name) for name in ("mn-mes n=100", "mn-mes n=500")}
    return [
        "Errors of recall@1 to 50 in the mean over rows, percent, n = 100: "
        f"{words.numbered(own, 1, sort=True)}. A prior averaged over repeats lowers the error of "
        f"{words.share(len(gained), len(LEARNT), 'estimators')} "
        f"({words.numbered(averaged, 1)}).",
        f"Samples that grow from {START} to {STOP:,} have {size:.0f} items in the mean. {said}: "
        f"{words.numbered({**adaptive, **fixed}, 1)}.",
        f"Samples of users err by {words.numbered(some, 1)}, samples of items by "
        f"{words.numbered(items, 1)}, in the mean.",
    ]
