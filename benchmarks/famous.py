"""Famous numbers, undone: NCF's published models on their own frozen negatives, and exactly.

``python -m benchmarks.famous`` ranks the test set of the NCF paper (ml-1m) by its published GMF-8
and MLP-8 weights among the 99 negatives that were published with it, corrects that, and ranks among
all items. ``--ncf FOLDER`` says where the prepared files are (``ncf-ml-1m`` beside the data of
`benchmarks.cases` unless stated); ``--write docs/famous-numbers.md`` writes the page and its
picture, with a table of what common protocols can tell.
"""

from __future__ import annotations

import argparse
import os
import sys
import warnings
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow.parquet as pq

import truerank as tr
from benchmarks import cases
from benchmarks._report import machine

METRICS = ("recall@10", "ndcg@10")
POOLS = (3706, 20_000, 1_000_000)
PROTOCOLS = {
    "99 uniform negatives": 99,
    "100 by popularity, thinned (8 left)": 8,
    "20 candidates (a language model)": 19,
    "1,000 uniform negatives": 1000,
}
USERS = 6000
K = (1, 5, 10, 20, 50, 100, 200, 500, 1000, 2000, 5000, 10_000, 20_000, 50_000)


@dataclass(frozen=True)
class Undone:
    """One model: published, corrected, translated and exact HR@10 and NDCG@10."""

    name: str
    sampled: dict[str, float]
    corrected: Any
    translated: tr.Translation
    exact: dict[str, float]
    kept: dict[str, float]
    dropped: int


def models(folder: Path) -> dict[str, Any]:
    """The published models as scorers."""
    gmf, mlp = (np.load(folder / f"{name}8.npz") for name in ("gmf", "mlp"))
    scores = np.empty((mlp["user"].shape[0], mlp["item"].shape[0]), dtype=np.float32)
    half = mlp["user"].shape[1]
    users = mlp["user"] @ mlp["layer1_W"][:half]
    items = mlp["item"] @ mlp["layer1_W"][half:] + mlp["layer1_b"]
    for first in range(0, scores.shape[0], 64):
        layer = np.maximum(users[first : first + 64, None] + items, 0.0)
        for number in (2, 3):
            layer = np.maximum(layer @ mlp[f"layer{number}_W"] + mlp[f"layer{number}_b"], 0.0)
        scores[first : first + 64] = (layer @ mlp["prediction_W"])[..., 0]
    return {
        "GMF": tr.scoring.Factors(gmf["user"] * gmf["h"], gmf["item"]),
        "MLP": tr.scoring.Dense(scores),
    }


def undo(folder: Path) -> list[Undone]:
    """Both models."""
    negatives = tr.designs.FrozenNegatives.read(folder / "test_negatives.parquet")
    train = pq.read_table(folder / "train_reconstructed.parquet")
    test = (negatives.user_id, negatives.item_id)
    frozen = tr.designs.Frozen(negatives, drop_targets=True)
    found = []
    for name, scorer in models(folder).items():
        options = {"metrics": METRICS, "progress": False}
        corrected = tr.evaluate(scorer, test, frozen, train=train, **options)
        sampled = {metric: corrected[metric].naive for metric in METRICS}
        exact, kept = (
            {m: e.value for m, e in tr.evaluate(scorer, test, "exact", train=t, **options).items()}
            for t in (train, None)
        )
        translated = tr.translate(
            {metric: f"{value:.4f}" for metric, value in sampled.items()},
            METRICS,
            n_items=scorer.n_items,
            num_negatives=99,
            n_users=test[0].size,
            replacement=False,
            progress=False,
        )
        dropped = corrected.protocol["dropped_targets"]
        found.append(Undone(name, sampled, corrected, translated, exact, kept, dropped))
    return found


def tells(n_negatives: int, n_items: int) -> tuple[float, int | None]:
    """Relative half-width of recall@10, and the first K at which it is 10 % or less.

    From one simulated evaluation whose recall@K is (K / N)^0.25.
    """
    rng = np.random.default_rng([n_negatives, n_items])
    rank = np.ceil(n_items * rng.random(USERS) ** 4).astype(np.int64)
    size = min(n_negatives, n_items - 1)
    sampled = 1 + rng.hypergeometric(rank - 1, n_items - rank, size)
    counts = tr.RankCounts.from_ranks(
        sampled, n_items=n_items, num_negatives=size, replacement=False
    )
    names = [f"recall@{k}" for k in K if k < n_items]
    found = tr.estimate(counts, names, progress=False)
    width = {int(n.split("@")[1]): (e.high - e.low) / 2 / e.value for n, e in found.items()}
    settled = [k for k in width if all(width[j] <= 0.1 for j in width if j >= k)]
    return float(width[10]), min(settled) if settled else None


def protocols() -> str:
    """The table of what protocols tell."""
    rows = [["protocol", *(f"N = {n:,}" for n in POOLS)]]
    for name, n_negatives in PROTOCOLS.items():
        cells = []
        for n_items in POOLS:
            width, first = tells(n_negatives, n_items)
            settled = "nothing within 10 %" if first is None else f"Recall@K from K = {first:,} on"
            cells.append(f"Recall@10 ± {min(width, 9.99):.0%}; {settled}")
        rows.append([name, *cells])
    header, *body = ("| " + " | ".join(row) + " |" for row in rows)
    return "\n".join([header, "| --- |" + " --- |" * (len(rows[0]) - 1), *body])


def table(found: list[Undone]) -> str:
    """The figures of both models."""
    lines = [
        "| model | metric | among the frozen negatives | corrected (95 %) | translated (95 %) | "
        "exact | exact, training items kept |",
        "| --- | --- | ---: | ---: | ---: | ---: | ---: |",
    ]
    for one in found:
        for metric in METRICS:
            here, there = one.corrected[metric], one.translated[metric]
            lines.append(
                f"| {one.name} | {metric.replace('recall', 'HR').replace('ndcg', 'NDCG')} | "
                f"{one.sampled[metric]:.3f} | "
                f"{here.value:.3f} [{here.low:.3f}, {here.high:.3f}] | "
                f"{there.value:.3f} [{there.low:.3f}, {there.high:.3f}] | "
                f"{one.exact[metric]:.3f} | {one.kept[metric]:.3f} |"
            )
    return "\n".join(lines)


def draw(found: list[Undone], path: Path) -> None:
    """HR@10 as published, and what it is."""
    import matplotlib

    matplotlib.use("Agg")
    from matplotlib import pyplot

    figure, (left, right) = pyplot.subplots(1, 2, figsize=(9, 3.4), width_ratios=(1, 1.7))
    place = np.arange(len(found))
    left.bar(place, [one.sampled["recall@10"] for one in found], width=0.5, color="#9ecae1")
    left.bar(place, [one.exact["recall@10"] for one in found], width=0.5, color="#08519c")
    for at, one in zip(place, found, strict=True):
        left.text(at, one.sampled["recall@10"] + 0.012, f"{one.sampled['recall@10']:.3f}",
                  ha="center", fontsize=9)  # fmt: skip
        left.text(at, one.exact["recall@10"] + 0.012, f"{one.exact['recall@10']:.3f}",
                  ha="center", fontsize=9, color="#08306b")  # fmt: skip
    left.set_xticks(place, [one.name for one in found])
    left.set_ylim(0, 0.78)
    left.set_title("HR@10: among 99, among all", fontsize=9.5)
    rows = [(one, kind) for one in found for kind in ("corrected", "translated")]
    for height, (one, kind) in enumerate(rows):
        e = (one.corrected if kind == "corrected" else one.translated)["recall@10"]
        colour = "#d95f02" if kind == "corrected" else "#7b4fa3"
        right.plot([e.low, e.high], [height, height], color=colour, lw=2)
        right.plot(e.value, height, "o", color=colour, ms=6)
        right.plot(one.exact["recall@10"], height, "|", color="#08306b", ms=20, mew=2.4)
    words = {"corrected": "from the sampled ranks", "translated": "from HR@10, NDCG@10 alone"}
    right.set_yticks(range(len(rows)), [f"{one.name}, {words[kind]}" for one, kind in rows])
    right.invert_yaxis()
    right.set_xlim(0, None)
    right.set_ylim(len(rows) - 0.4, -0.6)
    right.set_title("among all: estimate, interval, exact (bar)", fontsize=9.5)
    right.grid(axis="x", alpha=0.3)
    for axis in (left, right):
        axis.spines[["top", "right"]].set_visible(False)
    figure.tight_layout()
    figure.savefig(path, dpi=110)
    pyplot.close(figure)


def main() -> int:
    """0 if the intervals hold the exact figures, else 1."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.famous", description=__doc__)
    parser.add_argument("--ncf", type=Path, metavar="FOLDER", help="the prepared files")
    parser.add_argument("--write", type=Path, metavar="PAGE.md", help="write the page of results")
    options = parser.parse_args()
    data = Path(os.environ.get("TRUERANK_DATA") or cases.ROOT.parent / "shared" / "data")
    folder = options.ncf or data / "ncf-ml-1m"
    if not (folder / "gmf8.npz").exists():
        print(f"{folder} has no gmf8.npz: NCF's prepared weights and negatives")
        return 2
    warnings.simplefilter("ignore")
    found = undo(folder)
    figures = table(found)
    print(figures)
    if options.write:
        facts = ", ".join(f"{key} {value}" for key, value in machine().items())
        options.write.write_text(
            _PAGE.format(
                figures=figures,
                dropped=found[0].dropped,
                protocols=protocols(),
                facts=facts,
                users=USERS,
            )
        )
        draw(found, options.write.parent / "images" / "famous-numbers.png")
    held = [
        one.corrected[metric].low <= one.exact[metric] <= one.corrected[metric].high
        for one in found
        for metric in METRICS
    ]
    return 0 if all(held) else 1


_PAGE = """# Famous numbers, undone

Written by `python -m benchmarks.famous --write docs/famous-numbers.md`; do not edit by hand.

Neural Collaborative Filtering (He et al., WWW 2017) published its code, the weights of its models
and the 99 negatives that each test item of ml-1m was ranked among. Its HR@10 above 0.6 has been
compared with ever since. Here are the published GMF-8 and MLP-8 weights, ranked among those very
negatives, and among all items that are no training items of the user:

{figures}

![HR@10 of GMF and MLP: published, corrected, translated, exact](images/famous-numbers.png)

- **Among the frozen negatives** HR@10 is 0.637 and 0.671, as known. {dropped} users have their own
  target among their negatives; these are dropped for them (`Frozen(negatives,
  drop_targets=True)`).
- **Corrected**: `tr.evaluate(scorer, test, Frozen(...), train=train)`, from the sampled ranks.
- **Translated**: `tr.translate`, from the two figures of the first column and nothing else.
- **Exact**: every item ranked. Training items were matched to NCF's ids by constraints, with
  1,363 of 3,706 items ambiguous, so that the exact figures are approximate. If training items are
  *kept* in the ranking, they take the first places.

An HR@10 of 0.64 among 99 random items is one of about 0.07 among all: nine of ten hits were no
hits. The notebook `examples/famous_numbers.ipynb` does the same from a path that you give: a
clone of the public repository, or the prepared files.

## What a protocol can tell

The half-width of the 95 % interval of Recall@10, and from which K on Recall@K is known within 10
%, for {users:,} users with one target each and a model whose Recall@K is (K/N)^0.25, one
simulated evaluation each, by `tr.estimate`:

{protocols}

"100 by popularity, thinned" stands for negatives drawn with replacement by (count + 1) with a
popularity range as in toys or video, of which about 8 of 100 are left as a uniform sample
([measured](popularity.md)); taken as uniform ones they tell nothing, whatever their number. What
`Adaptive` samples tell at the same cost: [error against cost](frontier.md).

Measured on: {facts}.
"""


if __name__ == "__main__":
    sys.exit(main())
