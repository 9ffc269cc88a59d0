"""Table 4, figures 5 and 6: the order of X, Y and Z on MovieLens 1M."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from truerank import metrics as metrics_module
from truerank._types import FloatArray
from truerank_papers.experiments import words
from truerank_papers.experiments.kr20 import _protocols as protocols
from truerank_papers.experiments.kr20._protocols import BY_USER, INFERRED, TODAY
from truerank_papers.experiments.kr20._recommenders import (
    DATA,
    ESTIMATORS,
    METRICS,
    TOP,
    exact_ranks,
)
from truerank_papers.experiments.published import Number, Numbers
from truerank_papers.experiments.ranks import GlobalRanks
from truerank_papers.experiments.registry import experiment
from truerank_papers.experiments.results import Figure, Line, Panel, Result, Table
from truerank_papers.experiments.run import Run

WORST = 1600  # targets of Z in the worst bucket, as the text says
SHOWN = (INFERRED, BY_USER, TODAY)


@experiment(
    "kr20", "table4", "How often pairs of recommenders are put in the right order", data=[DATA]
)
def table4(run: Run) -> Result:
    """Of the repeats of table 3."""
    wanted = metrics_module.parse(METRICS)
    ranks = exact_ranks(run)
    repeats = run.repeats()
    ours: Numbers = {}
    theirs: Numbers = {}
    printed = run.published()
    for protocol in SHOWN:
        values = {
            name: protocols.values(run, name, one, protocol, repeats=repeats)
            for name, one in ranks.items()
        }
        for a, b in itertools.combinations(ranks, 2):
            right = np.sign(ranks[b].exact(wanted) - ranks[a].exact(wanted))
            share = 100 * (np.sign(values[b] - values[a]) == right).mean(axis=0)
            for m, metric in enumerate(METRICS):
                for e, estimator in enumerate(protocol.estimators):
                    key = (f"{a} vs {b}", metric, protocol.name, estimator)
                    ours[key] = Number(float(share[e, m]))
                    if protocol is not TODAY:
                        theirs[key] = printed.numbers[f"{a} vs {b}", metric, estimator]
    keys = ("pair", "metric", "protocol", "estimator")
    ours = {key: ours[key] for key in sorted(ours, key=lambda key: _place(key, list(ours)))}
    printed = replace(
        printed, keys=keys, numbers={key: theirs[key] for key in ours if key in theirs}
    )
    table = Table.beside("table4", printed, ours, digits=0)
    notes = (
        "Rows *inferred*, *by user* and *today* are the protocols of table 3, and the draws are "
        "those of table 3.",
        _pattern(table),
        _today(table),
        _closeness(run, ranks),
        _lost(table),
    )
    return Result((table,), notes=notes)


def _place(key: tuple[str, ...], keys: Sequence[tuple[str, ...]]) -> tuple[int, ...]:
    """Pair and metric before the protocol, each in the order of its first appearance."""
    return tuple(list(dict.fromkeys(k[i] for k in keys)).index(key[i]) for i in range(len(key)))


def _pattern(table: Table) -> str:
    """How often pairs stand in order, uncorrected and corrected, ours and printed."""

    def shares(pair: str, estimators: Sequence[str], metrics: Sequence[str]) -> str:
        cells = [
            table[pair, metric, INFERRED.name, name] for metric in metrics for name in estimators
        ]
        ours = [cell.ours for cell in cells if cell.ours is not None]
        printed = [cell.published for cell in cells if cell.published is not None]
        return words.with_printed(words.between(ours, 0), words.between(printed, 0))

    small = [name for name in ESTIMATORS if name in ("bv(gamma=0.1)", "bv(gamma=0.01)")]
    return (
        f"By {words.code(TOP)}, uncorrected samples put X and Y in the right order in "
        f"{shares('X vs Y', ['naive'], TOP)} percent of repeats, and X and Z in "
        f"{shares('X vs Z', ['naive'], TOP)}; corrections put X and Z in the right order in "
        f"{shares('X vs Z', ESTIMATORS[1:], TOP)}, and {words.code(small)} X and Y in "
        f"{shares('X vs Y', small, TOP)}. By `auc` every pair stands right in "
        f"{shares('X vs Y', ESTIMATORS, ['auc'])} percent. (Rows *inferred*.)"
    )


def _today(table: Table) -> str:
    """How often the default estimator finds the order, beside the best of the paper's."""
    parts = []
    for pair in dict.fromkeys(cell.key[0] for cell in table.cells):
        rows = [cell for cell in table.cells if cell.key[:2] == (pair, "recall@10")]
        smooth = next(cell.ours for cell in rows if cell.key[2] == TODAY.name)
        best = max(
            (c for c in rows if c.key[2] == INFERRED.name), key=lambda cell: cell.ours or 0.0
        )
        parts.append(f"{smooth:.0f} percent for {pair} (`{best.key[3]}`: {best.ours:.0f})")
    return (
        "By recall@10, `smooth` finds the right order in "
        f"{words.listed(parts)}, the best of the paper's corrections in brackets."
    )


def _closeness(run: Run, ranks: dict[str, GlobalRanks]) -> str:
    """How far X and Y are apart, ours and printed: which pairs are close depends on X."""
    recall = metrics_module.parse("recall@10")
    ours = 100 * float(ranks["Y"].exact(recall)[0] - ranks["X"].exact(recall)[0])
    x, y = (run.published("table3").numbers["recall@10", name, "exact"].value for name in "XY")
    assert x is not None
    assert y is not None
    closer = "closer" if abs(ours) < abs(y - x) else "further apart"
    return (
        f"X vs Y is the pair that depends on which X it is: ours is {ours:.2f} percentage points "
        f"of recall@10 below Y, the paper's {y - x:.2f}, so that here the two are {closer}."
    )


def _lost(table: Table) -> str:
    """Cells that our text of the paper has not got."""
    lost = [cell.key[0] for cell in table.cells if cell.note.startswith("lost")]
    pairs = words.listed(dict.fromkeys(lost))
    return f"In our text of the paper {len(lost)} cells are lost, of {pairs}."


@experiment("kr20", "figure5", "Where X, Y and Z rank the held-out items", data=[DATA])
def figure5(run: Run) -> Result:
    """Histograms of the exact ranks, whole and of the top 100, and the counts in the text."""
    ranks = exact_ranks(run)
    largest = max(int(one.n_items.max()) for one in ranks.values())
    panels = []
    for title, edges in (
        ("all ranks, buckets of 100", np.arange(0, largest + 100, 100)),
        ("top 100, buckets of 10", np.arange(0, 101, 10)),
    ):
        lines = []
        for name, one in ranks.items():
            total = np.concatenate([[0.0], np.cumsum(one.pmf() * one.n_users)])
            held = np.diff(total[np.minimum(edges, largest)])
            lines.append(Line(name, edges.tolist(), [*held, held[-1]], "steps"))
        panels.append(Panel(title, "rank", "users", tuple(lines)))
    x, z = (np.cumsum(ranks[name].pmf() * ranks[name].n_users) for name in ("X", "Z"))
    ours: Numbers = {
        ("X", "in the top 100"): Number(float(x[99])),
        ("X", "in the bottom half"): Number(float(x[-1] - x[largest // 2 - 1])),
    }
    beyond = int(np.searchsorted(z, z[-1] - WORST))
    last = ranks["Z"].above + 1 + ranks["Z"].tied / 2 > beyond
    tied = (ranks["Z"].tied[last] > 0).mean()
    table = Table.beside("figure5-counts", run.published(), ours, digits=0)
    return Result(
        (table,),
        (Figure("figure5", tuple(panels)),),
        notes=(
            "The figure's own values are not printed; the table has the counts in the text. The "
            f"paper also says that Z puts over {WORST:,} targets in the worst bucket, whose bounds "
            f"it does not say: {WORST:,} of ours lie beyond rank {beyond:,}, where "
            f"{100 * tied:.0f} percent of the targets tie with other items.",
        ),
    )


@experiment("kr20", "figure6", "Recall@10 of X, Y and Z by sample size", data=[DATA])
def figure6(run: Run) -> Result:
    """Means over redraws of the naive and the corrected metric as the sample grows."""
    ranks = exact_ranks(run)
    repeats = run.repeats(20)
    sizes = (10, 20, 40, 60, 100, 200, 400, 600, 1000, 1500)
    corrected = ("bv(gamma=0.1)",)
    curves = {
        "naive": replace(BY_USER, estimators=("naive",)),
        "bv(gamma=0.1), inferred": replace(INFERRED, estimators=corrected),
        "bv(gamma=0.1), by user": replace(BY_USER, estimators=corrected),
        "smooth, today": TODAY,
    }
    panels = []
    ordered: dict[str, int | None] = {}
    for title, protocol in curves.items():
        means = {
            name: np.array(
                [
                    protocols.values(
                        run, name, one, protocol, repeats=repeats, m=m, metrics=["recall@10"]
                    ).mean()
                    for m in sizes
                ]
            )
            for name, one in ranks.items()
        }
        right = means["Y"] > means["X"]
        ordered[title] = next((m for i, m in enumerate(sizes) if right[i:].all()), None)
        panels.append(_by_size(title, sizes, means, ranks))
    said = {title: f"{m:,}" if m else f"more than {sizes[-1]:,}" for title, m in ordered.items()}
    return Result(
        figures=(Figure("figure6", tuple(panels)),),
        notes=(
            "Draws and protocols are those of table 3. Sample sizes tried: "
            f"{words.listed(sizes)}, {repeats} redraws each. X and Y stand in the right order in "
            f"the mean from m = {said['naive']} on without correction and from m = "
            f"{said['bv(gamma=0.1), inferred']} on with `bv(gamma=0.1)` by the inferred protocol "
            f"({said['bv(gamma=0.1), by user']} by user); the paper says more than 1000 and less "
            f"than 60. With `smooth`, from m = {said['smooth, today']} on.",
            _closeness(run, ranks),
        ),
        facts={"ordered from m": ordered},
    )


def _by_size(
    title: str,
    sizes: Sequence[int],
    means: dict[str, FloatArray],
    ranks: dict[str, GlobalRanks],
) -> Panel:
    """A panel: the means of each recommender by sample size, and its exact recall@10."""
    recall = metrics_module.parse("recall@10")
    lines = [Line(name, sizes, mean.tolist()) for name, mean in means.items()]
    lines += [
        Line(
            f"{name} exact",
            [sizes[0], sizes[-1]],
            [100 * float(one.exact(recall)[0])] * 2,
            "dashed",
        )
        for name, one in ranks.items()
    ]
    return Panel(title, "sampled negatives m", "recall@10, percent", tuple(lines), True)
