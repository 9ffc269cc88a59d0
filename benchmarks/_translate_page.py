"""Translations as a page: goals, the orders of S3-Rec's tables, simulated tables, pictures."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

import truerank as tr
from benchmarks._report import machine

if TYPE_CHECKING:
    from benchmarks.translate import Answer

METRIC = "recall@10"  # of the orders and pictures
_COLOURS = (
    "#1f77b4", "#d95f02", "#2ca02c", "#d62728", "#7b4fa3", "#8c564b", "#e377c2", "#17899a",
    "#b8860b", "#000000",
)  # fmt: skip
_TITLES = {"recall@10": "HR@10", "recall@20": "HR@20", "ndcg@10": "NDCG@10"}


@dataclass(frozen=True)
class Scores:
    """Of estimates: median relative error, coverage, half-width over 1.96 RMSE, and how many."""

    error: float
    coverage: float
    width: float
    number: int

    @classmethod
    def of(cls, answers: Sequence[Answer]) -> Scores:
        value, low, high, truth = np.array([(a.value, a.low, a.high, a.truth) for a in answers]).T
        off = value / truth - 1.0
        return cls(
            float(np.median(np.abs(off))),
            float(((low <= truth) & (truth <= high)).mean()),
            float(((high - low) / 2).mean() / (1.96 * np.sqrt(((value - truth) ** 2).mean()))),
            len(answers),
        )


@dataclass(frozen=True)
class Order:
    """How a dataset's models are ordered: pairs, and how many are the wrong way round."""

    pairs: int
    sampled: int
    translated: int


@dataclass(frozen=True)
class Page:
    """What was found."""

    printed: list[Answer]
    whole: tr.TranslatedTable
    tables: dict[tuple[str, str], list[Answer]]
    redraws: int
    seconds: tuple[float, float]

    def orders(self) -> dict[str, Order]:
        """By dataset; pairs that tie in truth cannot be the wrong way round."""
        found = {}
        for dataset in dict.fromkeys(answer.dataset for answer in self.printed):
            mine = [a for a in self.printed if (a.dataset, a.metric) == (dataset, METRIC)]
            pairs = list(itertools.combinations(mine, 2))
            found[dataset] = Order(
                len(pairs),
                sum(
                    (a.truth - b.truth) * ((a.published or 0) - (b.published or 0)) < 0
                    for a, b in pairs
                ),
                sum((a.truth - b.truth) * (a.value - b.value) < 0 for a, b in pairs),
            )
        return found

    def goals(self) -> list[tuple[str, str, str, bool]]:
        """Name, what was found, what it should be, and whether it is."""
        all_of = Scores.of(self.printed)
        by_metric = {
            metric: Scores.of([a for a in self.printed if a.metric == metric]) for metric in _TITLES
        }
        widest = max(one.width for one in by_metric.values())
        orders = self.orders().values()
        wrong, pairs = sum(o.translated for o in orders), sum(o.pairs for o in orders)
        one, fifty = self.seconds
        return [
            ("median relative error of HR@10, HR@20, NDCG@10", f"{all_of.error:.1%}",
             "at most 16 %", all_of.error <= 0.16),
            ("coverage of 95 % intervals", f"{all_of.coverage:.1%}", "at least 90 %",
             all_of.coverage >= 0.9),
            ("mean half-width over 1.96 RMSE, the largest of the three metrics", f"{widest:.2f}",
             "at most 1.5", widest <= 1.5),
            ("pairs in the wrong order by HR@10", f"{wrong} of {pairs}", "at most 22",
             wrong <= 22),
            ("seconds for one model", f"{one:.2f}", "below 1", one < 1),
            ("seconds for fifty models", f"{fifty:.1f}", "below 10", fifty < 10),
        ]  # fmt: skip

    @property
    def met(self) -> bool:
        return all(met for *_, met in self.goals())

    def summary(self) -> str:
        lines = [f"{name}: {value} ({goal}{'' if met else ', missed'})"
                 for name, value, goal, met in self.goals()]  # fmt: skip
        lines += [f"{pool}, {label}: {Scores.of(answers)}"
                  for (pool, label), answers in self.tables.items()]  # fmt: skip
        return "\n".join(lines)

    def text(self) -> str:
        goals = [["S3-Rec's tables", "found", "goal", ""]]
        goals += [[name, value, goal, "met" if met else "missed"]
                  for name, value, goal, met in self.goals()]  # fmt: skip
        accuracy = [["metric", "median relative error", "coverage", "half-width / 1.96 RMSE"]]
        for metric, title in _TITLES.items():
            one = Scores.of([a for a in self.printed if a.metric == metric])
            accuracy.append([title, f"{one.error:.1%}", f"{one.coverage:.1%}", f"{one.width:.2f}"])
        orders = [["dataset", "pairs", "wrong by the sampled HR@10", "wrong by the translation"]]
        orders += [[name, str(o.pairs), str(o.sampled), str(o.translated)]
                   for name, o in self.orders().items()]  # fmt: skip
        simulated = [["published", "metric", "left out: error", "coverage", "width",
                      "kept: error", "coverage", "width"]]  # fmt: skip
        for label in dict.fromkeys(label for _, label in self.tables):
            for metric, title in _TITLES.items():
                row = [label if metric == METRIC else "", title]
                for pool in ("left", "kept"):
                    mine = [a for a in self.tables[pool, label] if a.metric == metric]
                    one = Scores.of(mine)
                    width = np.median([(a.high - a.low) / 2 / a.value for a in mine])
                    row += [f"{one.error:.1%}", f"{one.coverage:.1%}", f"{width:.0%}"]
                simulated.append(row)
        pictures = "\n\n".join(
            f"![HR@10 of {name}: published among 99, translated, and in truth]"
            f"(images/published-orders-{name.lower()}.png)"
            for name in self.orders()
        )
        return _PAGE.format(
            facts=", ".join(f"{key} {value}" for key, value in machine().items()),
            goals=_markdown(goals),
            accuracy=_markdown(accuracy),
            orders=_markdown(orders),
            worse=self._worse(),
            simulated=_markdown(simulated),
            pictures=pictures,
            flips=self._flips(),
            redraws=self.redraws,
        )

    def _worse(self) -> str:
        """A sentence on the datasets where the translation orders no better."""
        worse = [
            f"{name} ({o.translated} against {o.sampled})"
            for name, o in self.orders().items()
            if o.translated >= o.sampled
        ]
        if not worse:
            return ""
        return f"The translation orders no better than the sampled figures on {', '.join(worse)}."

    def _flips(self) -> str:
        """The surest flips that the translation announces, and whether they happen."""
        truth = {(a.dataset, a.model): a.truth for a in self.printed if a.metric == METRIC}
        rows = [["dataset", "published order", "translation: probability of the reverse",
                 "printed full HR@10"]]  # fmt: skip
        sure = sorted(
            (
                (lead.probability, dataset, lead)
                for dataset, one in self.whole.translations.items()
                for lead in one.flips
                if lead.metric == METRIC
                and {(dataset, lead.model), (dataset, lead.other)} <= truth.keys()
            ),
            key=lambda entry: -entry[0],
        )
        happened = [truth[d, lead.model] > truth[d, lead.other] for _, d, lead in sure]
        for chance, dataset, lead in sure[:12]:
            ahead, behind = truth[dataset, lead.model], truth[dataset, lead.other]
            verdict = "reversed" if ahead > behind else "as published"
            printed = f"{lead.model} {ahead:.4f}, {lead.other} {behind:.4f}: {verdict}"
            rows.append([dataset, f"{lead.other} > {lead.model}", f"{chance:.2f}", printed])
        expected = sum(chance for chance, *_ in sure)
        return (
            f"{_markdown(rows)}\n\nIn all, {len(sure)} flips are called likely, {expected:.0f} are "
            f"expected by their probabilities, {sum(happened)} happened."
        )

    def draw(self, folder: Path) -> None:
        """A slope chart per dataset."""
        import matplotlib

        matplotlib.use("Agg")
        from matplotlib import pyplot

        for dataset in self.orders():
            mine = [a for a in self.printed if (a.dataset, a.metric) == (dataset, METRIC)]
            figure, axis = pyplot.subplots(figsize=(8.5, 5.2))
            _slopes(axis, mine, dataset)
            figure.tight_layout()
            figure.savefig(folder / f"published-orders-{dataset.lower()}.png", dpi=110)
            pyplot.close(figure)


def _slopes(axis: Any, answers: Sequence[Answer], dataset: str) -> None:
    """Places by the sampled HR@10, the translation, and the full HR@10; lines that cross flip."""
    columns = [
        ("published\n(among 99 sampled)", [a.published or 0.0 for a in answers]),
        ("translated\n(all items, estimated)", [a.value for a in answers]),
        ("in truth\n(all items, printed)", [a.truth for a in answers]),
    ]
    places = [np.argsort(np.argsort([-v for v in values], kind="stable")) for _, values in columns]
    truly = places[2]
    order = Order(*_wrong(answers))
    for i, answer in enumerate(answers):
        heights = [place[i] for place in places]
        # In colour: models whose place in the published order is two or more off.
        strong = abs(int(places[0][i]) - int(truly[i])) >= 2
        colour = _COLOURS[i] if strong else "0.65"
        axis.plot(range(3), heights, "-o", color=colour, lw=2.2 if strong else 1.2, ms=5,
                  zorder=3 if strong else 2)  # fmt: skip
        axis.text(-0.06, heights[0], f"{answer.model}  {answer.published:.3f}", ha="right",
                  va="center", fontsize=9, color=colour if strong else "0.25")  # fmt: skip
        half = (answer.high - answer.low) / 2
        box = {"facecolor": "white", "edgecolor": "none", "pad": 0.6, "alpha": 0.85}
        axis.text(1.0, heights[1] - 0.24, f"{answer.value:.3f} ± {half:.3f}", ha="center",
                  va="center", fontsize=8, color="0.25", zorder=5, bbox=box)  # fmt: skip
        axis.text(2.06, heights[2], f"{answer.truth:.4f}  {answer.model}", ha="left",
                  va="center", fontsize=9, color=colour if strong else "0.25")  # fmt: skip
    axis.set_xticks(range(3), [title for title, _ in columns])
    axis.set_yticks([])
    axis.set_ylim(len(answers) - 0.4, -0.7)
    axis.set_xlim(-0.75, 2.75)
    for side in ("left", "right", "top", "bottom"):
        axis.spines[side].set_visible(False)
    axis.tick_params(length=0)
    axis.set_title(
        f"{dataset}, HR@10: {order.sampled} of {order.pairs} pairs are published in the wrong "
        f"order, {order.translated} translated",
        fontsize=10.5,
    )


def _wrong(answers: Sequence[Answer]) -> tuple[int, int, int]:
    pairs = list(itertools.combinations(answers, 2))
    sampled = sum((a.truth - b.truth) * ((a.published or 0) - (b.published or 0)) < 0
                  for a, b in pairs)  # fmt: skip
    return len(pairs), sampled, sum((a.truth - b.truth) * (a.value - b.value) < 0 for a, b in pairs)


def _markdown(rows: list[list[str]]) -> str:
    header, *body = ("| " + " | ".join(row) + " |" for row in rows)
    return "\n".join([header, "| --- |" + " ---: |" * (len(rows[0]) - 1), *body])


_PAGE = """# Published orders that flip

Written by `python -m benchmarks.translate --write docs/published-orders.md`; do not edit by hand.

The authors of S3-Rec (CIKM 2020) ranked each target among 99 random items, as many papers do, and
later printed on their page what the same models reach among *all* items. Ten models have both kinds
of figures on each of three datasets. `truerank translate` saw the six sampled metrics of each
(HR@1, 5, 10, NDCG@5, 10, MRR), the numbers of items and users, and nothing else; the printed full
figures are the judge. Nothing was tuned to them: the priors are those of the [smooth
estimator](smooth.md).

{goals}

{accuracy}

## The orders

{orders}

{worse}

A model in colour stands two or more places away from where the published order puts it.

{pictures}

The flips that the translation is surest of, by HR@10:

{flips}

The largest errors are those of S3-Rec itself and of SASRec on Sports (a fifth to a third too low)
and of BERT4Rec on Toys (almost half too high): the sampled metrics see little of the first ten of
12,000 items.

## Simulated tables

Seven models on five datasets (`benchmarks/cases.py`), whose exact ranks are known: 99 negatives
drawn without replacement, metrics rounded to four digits, all users, {redraws} redraws; `n_items`
is the size of the catalogue, as a paper would print it. Training items left out of the ranking, or
kept in it (`training_items="kept"`). *Error* is the median relative error; *width* the median
half-width of the intervals as a share of the estimate; cells with fewer than 10 exact hits are left
out. The priors of the smooth estimator were chosen on these five datasets, so that S3-Rec's tables
above are the better judge.

{simulated}

HR@10 alone says little, and the intervals say so. With training items kept, the first ranks are
theirs, and no sample of 99 shows how many.

Measured on: {facts}.
"""
