"""Link prediction among few negatives: naive, corrected and exact, and how often intervals hold.

``python -m benchmarks.graphs`` trains a small DistMult on FB15k-237 (``--graph FOLDER`` with
train, valid and test; ``fb15k237`` beside the data of `benchmarks.cases` unless stated), ranks the
answers of all test questions exactly and among uniform negatives, and redraws the samples: given
its exact rank R in a pool of N, a question's rank among n negatives is one hypergeometric draw.
``--write docs/knowledge-graphs.md`` puts the tables on the page, between its marks.
"""

from __future__ import annotations

import argparse
import sys
import time
from pathlib import Path

import numpy as np
import numpy.typing as npt

import truerank as tr
from benchmarks import _distmult, cases
from benchmarks._report import machine

METRICS = ("mrr", "hits@1", "hits@3", "hits@10", "mr", "amri")
NEGATIVES = (100, 500)
REDRAWS = 50
BEGIN, END = "<!-- figures: python -m benchmarks.graphs -->", "<!-- end of figures -->"

IntArray = npt.NDArray[np.int64]


def exact_ranks(folder: Path) -> tuple[str, tr.data.Queries, IntArray, IntArray, float]:
    """What was trained, the questions, their exact filtered ranks, their pools, and seconds."""
    train, valid, test = (
        tr.data.read_triples(folder / f"{name}.parquet") for name in ("train", "valid", "test")
    )
    n_entities = 1 + max(int(one.entities.max()) for one in (train, valid, test))
    n_relations = 1 + max(int(one.relation.max()) for one in (train, valid, test))
    begin = time.process_time()
    model = _distmult.fit(train, n_entities, n_relations)
    seconds = time.process_time() - begin
    queries = test.queries(known=[train, valid])
    scorer = tr.scoring.Factors(model.vectors(queries), model.entities)
    ranks = tr.rank(scorer, queries.test, train=queries.train)
    said = f"DistMult, {model.entities.shape[1]} dimensions, {n_entities:,} entities"
    return said, queries, np.array(ranks["rank"]), np.array(ranks["n_items"]), seconds


def redrawn(rank: IntArray, pool: IntArray, negatives: int, seed: int) -> tr.RankCounts:
    """The questions ranked among other negatives."""
    rng = np.random.default_rng([seed, negatives])
    above = rng.hypergeometric(rank - 1, pool - rank, negatives)
    return tr.RankCounts.from_ranks(
        above + 1, num_negatives=negatives, n_items=pool, replacement=False
    )


def rows(rank: IntArray, pool: IntArray, negatives: int) -> list[list[str]]:
    """A row per metric: one draw in full, and all draws in numbers."""
    exact = tr.estimate(tr.RankCounts.from_exact_ranks(rank, n_items=pool), METRICS)
    draws = [tr.estimate(redrawn(rank, pool, negatives, seed), METRICS) for seed in range(REDRAWS)]
    found = []
    for name in METRICS:
        true = exact[name].value
        ends = [(float(one[name].low or 0.0), float(one[name].high or 0.0)) for one in draws]
        inside = sum(low <= true <= high for low, high in ends)
        error = np.sqrt(np.mean([(one[name].value / true - 1.0) ** 2 for one in draws]))
        width = np.mean([high - low for low, high in ends]) / 2.0 / abs(true)
        first = draws[0][name]
        found.append(
            [
                f"`{name}`",
                _number(first.naive),
                f"{_number(first.value)} [{_number(ends[0][0])}, {_number(ends[0][1])}]",
                _number(true),
                f"{100 * error:.1f} %",
                f"± {100 * width:.1f} %",
                f"{inside} of {REDRAWS}",
            ]
        )
    return found


def _number(value: float) -> str:
    return f"{value:.1f}" if abs(value) >= 10 else f"{value:.4f}"


def _table(lines: list[list[str]], head: list[str]) -> list[str]:
    text = [f"| {' | '.join(head)} |", f"|{' --- |' * len(head)}"]
    return text + [f"| {' | '.join(line)} |" for line in lines]


def page(folder: Path) -> str:
    """The figures in Markdown."""
    said, queries, rank, pool, seconds = exact_ranks(folder)
    head = ["metric", "naive", "corrected [95 %]", "exact", "error", "half-width", "inside"]
    text = [
        f"{said}, trained in {seconds:.0f} CPU seconds; {len(queries):,} questions, pools of "
        f"{pool.min():,} to {pool.max():,} entities. *Naive*, *corrected* and the interval are "
        f"those of one draw; *error* is the relative root mean squared error of {REDRAWS} draws, "
        "*half-width* the mean half-width of their intervals over the exact value, *inside* how "
        f"many of them hold it. {machine()['CPU']}."
    ]
    for negatives in NEGATIVES:
        begin = time.process_time()
        lines = rows(rank, pool, negatives)
        each = (time.process_time() - begin) / REDRAWS
        text += [
            "",
            f"{negatives} negatives per question ({each:.1f} CPU seconds per estimate):",
            "",
        ]
        text += _table(lines, head)
    tails = queries.side == "tail"
    text += ["", "The sides apart, 100 negatives:", ""]
    lines = []
    for side, at in (("(h, r, ?)", tails), ("(?, r, t)", ~tails)):
        for line in rows(rank[at], pool[at], 100):
            if line[0] in ("`mrr`", "`hits@10`"):
                lines.append([side, *line])
    text += _table(lines, ["asked", *head])
    return "\n".join(text)


def main() -> int:
    """0 if at least 92 % of the intervals of mrr and hits@10 hold, else 1."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.graphs", description=__doc__)
    parser.add_argument("--graph", type=Path, metavar="FOLDER")
    parser.add_argument("--write", type=Path, metavar="PATH", help="a page with the marks")
    options = parser.parse_args()
    folder = options.graph or cases._dataset("fb15k237")
    if not (folder / "train.parquet").exists():
        print(f"no {folder}/train.parquet: the graph is not here; say --graph FOLDER")
        return 0
    text = page(folder)
    print(text)
    if options.write:
        old = options.write.read_text()
        before, _, rest = old.partition(BEGIN)
        _, mark, after = rest.partition(END)
        if not mark:
            parser.error(f"{options.write} lacks the marks {BEGIN} and {END}")
        options.write.write_text(f"{before}{BEGIN}\n\n{text}\n\n{END}{after}")
    hits = [line for line in text.splitlines() if line.startswith(("| `mrr`", "| `hits@10`"))]
    inside = [int(line.rsplit("|", 2)[1].split()[0]) for line in hits]
    return int(min(inside) < 0.92 * REDRAWS)


if __name__ == "__main__":
    sys.exit(main())
