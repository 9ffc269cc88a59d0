"""Table 3: exact, sampled and corrected metrics of X, Y and Z, and how they were corrected."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace

import numpy as np

from truerank import metrics as metrics_module
from truerank._types import FloatArray
from truerank.models import ItemKNN
from truerank_papers.experiments import words
from truerank_papers.experiments.kr20 import _protocols as protocols
from truerank_papers.experiments.kr20._protocols import BY_USER, INFERRED, TODAY, TRIED, Protocol
from truerank_papers.experiments.kr20._recommenders import (
    DATA,
    METRICS,
    TOP,
    X,
    exact_ranks,
)
from truerank_papers.experiments.published import Number, Numbers, Published
from truerank_papers.experiments.ranks import GlobalRanks
from truerank_papers.experiments.registry import experiment
from truerank_papers.experiments.results import Result, Table
from truerank_papers.experiments.run import Run

PRINTED_REPEATS = 100  # behind the printed means and deviations
NEAR = 2.0  # standard errors
SHOWN = (INFERRED, BY_USER, TODAY)

OTHER = "X, 10 iterations"
OTHER_X = replace(X, iterations=10)

Values = dict[tuple[str, Protocol], FloatArray]  # by recommender and protocol


@experiment("kr20", "table3", "Exact, sampled and corrected metrics of X, Y and Z", data=[DATA])
def table3(run: Run) -> Result:
    """Means and standard deviations of all corrections, by three protocols."""
    wanted = metrics_module.parse(METRICS)
    ranks = exact_ranks(run)
    repeats = run.repeats()
    values = {
        (name, protocol): protocols.values(run, name, one, protocol, repeats=repeats)
        for protocol in SHOWN
        for name, one in ranks.items()
    }
    exact = {name: 100 * one.exact(wanted) for name, one in ranks.items()}
    printed = run.published()
    table = _table(printed, exact, values)
    by_row = replace(ItemKNN.kr20_z(), neighbours=10, column_neighbours=None)
    literal = run.ranks(DATA, {"Z by row": by_row}, leave_out=True)["Z by row"]
    law = _law(printed, ranks["Y"])
    fits = {**ranks, **run.ranks(DATA, {OTHER: OTHER_X}, leave_out=True)}
    tried = _tried(printed, fits, run.split(DATA).item_ids.size)
    errors = {
        (name, protocol): _errors(printed, name, protocol, values[name, protocol])
        for name, protocol in values
        if protocol is not TODAY
    }
    return Result(
        (table, law, tried),
        notes=(
            *_inferred(law, tried, ranks),
            *_near(errors, fits),
            *_notes(table, ranks, 100 * literal.exact(wanted)),
        ),
        facts={
            "cells within 2 standard errors": {
                f"{name}, {protocol.name}": list(_within(found, TOP))
                for (name, protocol), found in errors.items()
            }
        },
    )


def _table(printed: Published, exact: Mapping[str, FloatArray], values: Values) -> Table:
    """All protocols shown, each beside the printed cells that it stands for."""
    ours: Numbers = {}
    theirs: Numbers = {}
    for m, metric in enumerate(METRICS):
        for name in exact:
            for protocol in SHOWN:
                key = (metric, name, protocol.name)
                if protocol is not BY_USER:  # once is enough
                    ours[*key, "exact"] = Number(float(exact[name][m]))
                if protocol is INFERRED:
                    theirs[*key, "exact"] = printed.numbers[metric, name, "exact"]
                for e, estimator in enumerate(protocol.estimators):
                    column = values[name, protocol][:, e, m]
                    mean = Number(float(column.mean()), float(column.std()))
                    ours[*key, estimator] = mean
                    if (metric, name, estimator) in printed.numbers:
                        theirs[*key, estimator] = printed.numbers[metric, name, estimator]
    keys = ("metric", "recommender", "protocol", "estimator")
    return Table.beside("table3", replace(printed, keys=keys, numbers=theirs), ours)


Errors = dict[tuple[str, str], float]  # by metric and estimator


def _errors(printed: Published, name: str, protocol: Protocol, repeats: FloatArray) -> Errors:
    """How many standard errors our means lie from the printed ones."""
    found: Errors = {}
    for m, metric in enumerate(METRICS):
        for e, estimator in enumerate(protocol.estimators):
            number = printed.numbers.get((metric, name[0], estimator))
            if number is not None and number.value is not None and number.sd is not None:
                found[metric, estimator] = protocols.in_errors(
                    repeats[:, e, m], number.value, number.sd, PRINTED_REPEATS
                )
    return found


def _within(errors: Errors, metrics: tuple[str, ...]) -> tuple[int, int]:
    """How many cells of these metrics lie within 2 standard errors, and of how many."""
    chosen = [error for (metric, _), error in errors.items() if metric in metrics]
    return sum(abs(error) <= NEAR for error in chosen), len(chosen)


def _tried(printed: Published, ranks: Mapping[str, GlobalRanks], n_items: int) -> Table:
    """Cells near the print in expectation over draws, by what the correction assumes."""
    ours: Numbers = {}
    whole = 0
    outcomes = {
        name: protocols.expected(one, 101, replacement=False) for name, one in ranks.items()
    }
    for protocol in TRIED:
        for name, counts in outcomes.items():
            found = protocols.means(counts, protocol, n_items)
            near, whole = _within(_errors(printed, name, protocol, found[None]), TOP)
            ours[protocol.assumed, name] = Number(float(near))
    return Table.beside(
        "table3-protocols",
        None,
        ours,
        keys=("correction for", "recommender"),
        unit=(
            f"cells of {words.listed(TOP)}, of {whole}, whose expectation over draws lies within "
            f"{NEAR:g} standard errors of the printed mean"
        ),
        digits=0,
    )


def _law(printed: Published, ranks: GlobalRanks) -> Table:
    """Y's uncorrected cells in expectation, by both laws; sd is a standard error of the print."""
    theirs: Numbers = {}
    ours: Numbers = {}
    for cell, metric, estimator in (
        ("recall@10", "recall@10", "naive"),
        ("ndcg@10", "ndcg@10", "naive"),
        ("ap", "ap", "naive"),
        ("P(r = 1)", "recall@10", "rank-estimate"),
    ):
        number = printed.numbers[metric, "Y", estimator]
        assert number.sd is not None
        gain = metrics_module.parse("recall@1" if cell == "P(r = 1)" else metric)[0]
        for law, replacement in (("without replacement", False), ("with replacement", True)):
            counts = protocols.expected(ranks, 101, replacement=replacement)
            share = counts.weight / counts.total_weight
            ours[cell, law] = Number(100 * float(gain.gain(counts.sampled_rank, 101) @ share))
            theirs[cell, law] = Number(number.value, number.sd / np.sqrt(PRINTED_REPEATS))
    source = (
        f"{printed.source} Y's uncorrected cells, and P(r = 1), which is recall@10 by "
        "`rank-estimate`; ours in expectation, ± behind the printed mean is its standard error."
    )
    keys = ("cell", "drawn")
    return Table.beside(
        "table3-law", replace(printed, keys=keys, numbers=theirs, source=source), ours
    )


def _inferred(law: Table, tried: Table, ranks: Mapping[str, GlobalRanks]) -> Iterator[str]:
    """What the paper does not say, and what its cells say about it."""
    apart = {
        way: words.between([abs(c.in_sds or 0.0) for c in law.cells if c.key[1] == way], 1)
        for way in dict.fromkeys(cell.key[1] for cell in law.cells)
    }
    yield (
        "The paper does not say how its samples were drawn or what the corrections took them for. "
        "Its uncorrected cells tell the first: those of Y lie "
        f"{apart['without replacement']} standard errors of the print from what draws without "
        f"replacement give in expectation, {apart['with replacement']} from draws with "
        "replacement (second table). So all draws here are without replacement, each user's from "
        "the user's own pool."
    )
    mean = round(float(np.mean([one.n_items.mean() for one in ranks.values()])))
    yield (
        "Its corrected cells tell the second. Rows *inferred*: corrected by the binomial law of "
        f"draws with replacement and one N for all users, the mean pool of {mean:,}, with gains of "
        "`cls` that may not be negative. Rows *by user*: by the hypergeometric law and each "
        "user's pool, which is what the draws are. Rows *today*: `smooth`, what "
        "`truerank.estimate` gives unless another estimator is asked for."
    )

    def fitting(assumed: str) -> str:
        found = {name: tried[assumed, name].ours or 0.0 for name in "YZ"}
        return words.listed([f"{number:.0f} ({name})" for name, number in found.items()])

    ways = list(dict.fromkeys(cell.key[0] for cell in tried.cells))
    best = sorted(ways, key=lambda way: -sum(tried[way, name].ours or 0.0 for name in "YZ"))
    yield (
        "The third table counts the cells near the print in expectation over draws, for these and "
        f"other readings. Most fit *{best[0]}*: {fitting(best[0])}; next comes *{best[1]}*: "
        f"{fitting(best[1])}. The inferred protocol has {fitting(INFERRED.assumed)}. Its N and its "
        "bound on `cls` were found on Y; Z had no part in that."
    )


def _near(
    errors: Mapping[tuple[str, Protocol], Errors], fits: Mapping[str, GlobalRanks]
) -> Iterator[str]:
    """How near our repeats come to the printed ones."""
    counted = []
    for name in ("Y", "Z", "X"):
        inferred, by_user = (_within(errors[name, way], TOP) for way in (INFERRED, BY_USER))
        counted.append(f"{inferred[0]} of {inferred[1]} cells of {name} (*by user*: {by_user[0]})")
    worst = {
        name: max(abs(e) for (metric, _), e in errors[name, INFERRED].items() if metric in TOP)
        for name in ("Y", "Z")
    }
    off = [
        f"`{estimator}` by `{metric}` ({error:+.1f})"
        for (metric, estimator), error in errors["X", INFERRED].items()
        if metric in TOP and abs(error) > NEAR
    ]
    yield (
        f"By {words.code(TOP)}, the means of our repeats lie within {NEAR:g} standard errors (the "
        f"print's and ours) under the inferred protocol in {words.listed(counted)}. The furthest "
        f"of Y lies {worst['Y']:.1f} away, of Z {worst['Z']:.1f}."
    )
    wanted = metrics_module.parse(METRICS)
    moved = 100 * np.abs(fits[OTHER].exact(wanted) - fits["X"].exact(wanted))
    yield (
        f"X is another fit than the paper's, beyond {NEAR:g} standard errors there: "
        f"{words.listed(off)}. So it decides nothing about the protocol: {OTHER_X.iterations} "
        f"iterations instead of 20 alone move its exact metrics by up to {moved.max():.2f} "
        f"percentage points (row *{OTHER}* of the third table)."
    )
    auc = {
        name: [
            f"`{estimator}` ({error:+.1f})"
            for (metric, estimator), error in errors[name, INFERRED].items()
            if metric == "auc" and abs(error) > NEAR
        ]
        for name in ("Y", "Z")
    }
    yield (
        f"By `auc`, beyond {NEAR:g} standard errors: of Y {words.listed(auc['Y'])}, of Z "
        f"{words.listed(auc['Z'])}. Z's printed sampled `auc` lies above its printed exact one by "
        "more than chance allows; sampled `auc` is unbiased, so that ties were broken otherwise "
        "in the samples than in the exact column."
    )


def _notes(table: Table, ranks: dict[str, GlobalRanks], literal: FloatArray) -> Iterator[str]:
    """What differs from the paper; ``literal`` are the metrics of Z as eq. 28 reads."""
    yield (
        f"The split is reconstructed: the paper's {ranks['Y'].n_users:,} held-out items, where for "
        "21 users the one held out is one of a few candidates."
    )
    off = {
        name: max(
            abs(table[metric, name, INFERRED.name, "exact"].difference or 0.0) for metric in METRICS
        )
        for name in ranks
    }
    printed = [table[metric, "Z", INFERRED.name, "exact"].published for metric in METRICS]
    yield (
        "Exact metrics lie within "
        f"{words.listed([f'{gap:.2f} ({name})' for name, gap in off.items()])} of the printed "
        "ones, in percentage points. X is another fit of the same model: neither seed nor number "
        "of iterations is printed."
    )
    yield (
        "Z has ten neighbours taken by column and without the item itself. By row, as eq. 28 "
        f"reads, its {words.listed(METRICS)} would be "
        f"{words.listed([f'{value:.2f}' for value in literal])}, where "
        f"{words.listed(printed)} are printed. {int((ranks['Z'].tied > 0).sum()):,} of its targets "
        "tie with other items: the exact column here is the mean over all ways to break ties (the "
        "paper's one way), and each repeat breaks them at random, which is where the paper's large "
        "deviations of Z's `auc` come from, too."
    )
    gap = table["auc", "Y", INFERRED.name, "rank-estimate"].difference or 0.0
    yield (
        "The paper's `auc` by `rank-estimate` is that of dividing by m + 1 instead of m, "
        f"{-gap:+.2f} for Y; eq. 20, used here, divides by m."
    )
    ours_alone = {
        c.key[3] for c in table.cells if c.published is None and c.key[2] == INFERRED.name
    }
    yield f"The paper has no column for {words.code(sorted(ours_alone))}; table 4 counts it."
