"""The frontier as text: goals, a table by case, and the picture."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks import cases
from benchmarks._report import machine

RIVALS = ("bv(gamma=0.01)", "mes", "bv-mle", "mn-mle", "mn-mes")
FIXED, LJ24, OURS = "fixed 100", "lj24", "ours at the cost of lj24"


@dataclass(frozen=True)
class Goal:
    """A ratio of errors, what it may be at the most, and whether it is."""

    name: str
    ratio: float
    at_most: float

    @property
    def met(self) -> bool:
        return self.ratio <= self.at_most


@dataclass(frozen=True)
class Page:
    """Results of all cases, and what they come to."""

    results: list[dict[str, Any]]
    settings: dict[str, Any]

    def error(self, result: dict[str, Any], plan: str, estimator: str) -> float:
        return float(result["plans"][plan]["errors"][estimator])

    def ratios(self, above: tuple[str, str], below: tuple[str, str]) -> list[float]:
        """Error of one (plan, estimator) over that of another, case by case."""
        return [self.error(r, *above) / self.error(r, *below) for r in self.results]

    def goals(self) -> list[Goal]:
        """As geometric means over the cases, but for the worst single case."""
        against = {
            rival: _geometric(self.ratios((FIXED, "smooth"), (FIXED, rival))) for rival in RIVALS
        }
        best = max(against, key=lambda rival: against[rival])
        mle = self.ratios((FIXED, "smooth"), (FIXED, "mle"))
        worst = int(np.argmax(mle))
        lj24 = self.ratios((LJ24, "smooth"), (LJ24, "mle"))
        ours = self.ratios((OURS, "smooth"), (LJ24, "mle"))
        return [
            Goal("fixed n = 100: smooth over mle", _geometric(mle), 0.65),
            Goal(f"fixed n = 100: smooth over the best rival ({best})", against[best], 0.65),
            Goal(
                f"fixed n = 100: smooth over mle, worst case ({self.results[worst]['name']})",
                mle[worst],
                1.5,
            ),
            Goal("LJ24's adaptive samples: smooth over mle", _geometric(lj24), 0.65),
            Goal(
                "our design at LJ24's cost, smooth, over LJ24's adaptive mle",
                _geometric(ours),
                0.45,
            ),
        ]

    @property
    def all_met(self) -> bool:
        return all(goal.met for goal in self.goals())

    def summary(self) -> str:
        """Goals and means for the terminal."""
        lines = [
            f"{goal.name:72} {goal.ratio:6.3f}  goal {goal.at_most:.2f}  "
            + ("met" if goal.met else "MISSED")
            for goal in self.goals()
        ]
        return "\n".join([*lines, "", *_aligned(self._designs())])

    def write(self, path: Path) -> None:
        """The page, and the picture in images/ beside it."""
        picture = path.parent / "images" / "frontier.png"
        picture.parent.mkdir(parents=True, exist_ok=True)
        self._plot(picture)
        facts = "; ".join(f"{key} {value}" for key, value in machine().items())
        left_out = sum(result["left_out"] for result in self.results)
        path.write_text(
            _PAGE.format(
                facts=facts,
                n_cases=len(self.results),
                datasets=", ".join(cases.DATASETS),
                redraws=self.settings["redraws"],
                few=self.settings["few"],
                left_out=left_out,
                in_all=50 * len(self.results),
                affected=sum(result["left_out"] > 0 for result in self.results),
                goals=_markdown(self._goal_rows()),
                missed=self._missed(),
                designs=_markdown(self._designs()),
                papers=_markdown(self._papers()),
                cases=_markdown(self._cases()),
            )
        )

    # -- tables: a header and rows ------------------------------------------------------------

    def _goal_rows(self) -> list[list[str]]:
        rows = [["goal", "ratio", "at most", "met"]]
        for goal in self.goals():
            met = "yes" if goal.met else "**no**"
            rows.append([goal.name, f"{goal.ratio:.3f}", f"{goal.at_most:.2f}", met])
        return rows

    def _designs(self) -> list[list[str]]:
        rows = [["design", "pairs per user", "mle", "smooth", "smooth / mle"]]
        for plan in self.results[0]["plans"]:
            pairs = np.mean([result["plans"][plan]["pairs"] for result in self.results])
            errors = [
                _geometric(self.error(r, plan, estimator) for r in self.results)
                for estimator in ("mle", "smooth")
            ]
            cells = [plan, f"{pairs:,.0f}", *(_percent(error) for error in errors)]
            rows.append([*cells, f"{errors[1] / errors[0]:.2f}"])
        return rows

    def _papers(self) -> list[list[str]]:
        rows = [["estimator", "error", "smooth / it", "best on cases"]]
        tried = list(self.results[0]["plans"][FIXED]["errors"])
        winners = [
            min(tried, key=lambda name, r=r: self.error(r, FIXED, name)) for r in self.results
        ]
        for name in tried:
            error = _geometric(self.error(r, FIXED, name) for r in self.results)
            ratio = _geometric(self.ratios((FIXED, "smooth"), (FIXED, name)))
            rows.append([name, _percent(error), f"{ratio:.2f}", str(winners.count(name))])
        return rows

    def _cases(self) -> list[list[str]]:
        rows = [
            [
                "case", "fixed: mle", "smooth", "oracle", "LJ24: pairs", "mle", "smooth", "oracle",
                "ours: mle", "smooth", "oracle", "ours / LJ24's mle", "K left out",
            ]
        ]  # fmt: skip
        for result in self.results:
            cells = [result["name"]]
            for plan in (FIXED, LJ24, OURS):
                if plan == LJ24:
                    cells.append(f"{result['plans'][plan]['pairs']:,.0f}")
                cells += [_percent(self.error(result, plan, name)) for name in ("mle", "smooth")]
                cells.append(_percent(result["plans"][plan]["bound"]))
            ratio = self.error(result, OURS, "smooth") / self.error(result, LJ24, "mle")
            rows.append([*cells, f"{ratio:.2f}", str(result["left_out"] or "")])
        return rows

    def _missed(self) -> str:
        """How near the oracle we are, by design."""
        lines = []
        for plan, what in ((FIXED, "fixed n = 100"), (LJ24, "LJ24's samples"), (OURS, "ours")):
            ours, bound = (
                _geometric(values)
                for values in (
                    [self.error(r, plan, "smooth") for r in self.results],
                    [r["plans"][plan]["bound"] for r in self.results],
                )
            )
            mle = _geometric(self.error(r, plan, "mle") for r in self.results)
            lines.append(
                f"- {what}: oracle {_percent(bound)}, smooth {_percent(ours)} "
                f"({ours / bound:.2f} of the oracle), mle {_percent(mle)}."
            )
        return "\n".join(lines)

    def _plot(self, path: Path) -> None:
        import matplotlib as mpl

        mpl.use("Agg")
        from matplotlib import pyplot

        ticks = self.settings["budgets"]
        rows = -(-len(self.results) // 5)
        figure, axes = pyplot.subplots(rows, 5, figsize=(16, 2.4 * rows), sharex=True)
        curves = {
            ("ours", "smooth"): ("C3", "-"),
            ("ours", "mle"): ("C3", ":"),
            ("fixed", "smooth"): ("C0", "-"),
            ("fixed", "mle"): ("C0", ":"),
        }
        for axis, result in zip(axes.flat, self.results, strict=True):
            for (kind, estimator), (colour, style) in curves.items():
                points = sorted(
                    (plan["pairs"], plan["errors"][estimator])
                    for label, plan in result["plans"].items()
                    if label.startswith(kind)
                )
                axis.plot(*zip(*points, strict=True), style, color=colour, marker=".", ms=3,
                          label=f"{kind}, {estimator}")  # fmt: skip
            lj24 = result["plans"][LJ24]
            for estimator, mark in (("mle", "s"), ("smooth", "D")):
                axis.plot(lj24["pairs"], lj24["errors"][estimator], mark, color="black", ms=4,
                          label=f"LJ24, {estimator}")  # fmt: skip
            fixed = result["plans"][FIXED]
            rest = [fixed["errors"][name] for name in (*RIVALS, "cls", "rank-estimate", "naive")]
            axis.plot([fixed["pairs"]] * len(rest), rest, "_", color="grey", ms=6,
                      label="the papers' others, n = 100")  # fmt: skip
            axis.set(xscale="log", yscale="log")
            axis.set_xticks(ticks, [str(tick) for tick in ticks])
            axis.minorticks_off()
            axis.set_title(result["name"], fontsize=9)
            axis.grid(visible=True, which="major", alpha=0.3)
        for axis in axes[-1]:
            axis.set_xlabel("scored pairs per user")
        for axis in axes[:, 0]:
            axis.set_ylabel("mean relative error")
        handles, labels = axes.flat[0].get_legend_handles_labels()
        figure.legend(handles, labels, loc="upper center", ncols=4, fontsize=9)
        figure.tight_layout(rect=(0, 0, 1, 0.98))
        figure.savefig(path, dpi=60)
        pyplot.close(figure)


def _geometric(values: Iterable[float]) -> float:
    return float(np.exp(np.mean(np.log(list(values)))))


def _percent(share: float) -> str:
    return f"{100 * share:.1f} %" if share < 1 else f"{100 * share:,.0f} %"


def _markdown(rows: list[list[str]]) -> str:
    header, *body = ("| " + " | ".join(row) + " |" for row in rows)
    return "\n".join([header, "| --- |" + " ---: |" * (len(rows[0]) - 1), *body])


def _aligned(rows: list[list[str]]) -> list[str]:
    widths = [max(len(row[i]) for row in rows) for i in range(len(rows[0]))]
    return ["  ".join(cell.rjust(w) for cell, w in zip(row, widths, strict=True)) for row in rows]


_PAGE = """# The frontier: error against cost

Written by `make frontier ARGS="--write docs/frontier.md"`; do not edit by hand.

Measured on: {facts}.

{n_cases} cases: {datasets}; seven models (popularity; item-KNN as in JL21; KR20's Y and Z; ALS;
KR20's iALS X; EASE), training items left out of users' pools or kept. All start from the exact
ranks of the held-out items, from which samples without replacement are redrawn: {redraws} times for
the goals, {few} times for `cls` and the other points of the curves, with seeds by case and redraw.
*Error* is the mean over Recall, NDCG and AP at 1 to 50 and over the redraws of
|estimate - exact| / exact; over several cases, the geometric mean. K with fewer than 10 exact hits
are left out: {left_out} of {in_all}, in {affected} cases. Pools are rounded to a grid of 2 %.
*Pairs* are scored pairs per user, the target's own score counted. The priors that `bv-mle` and the
other combined estimators need come from the same sample, as they would in practice.

## Designs

Geometric means over all cases; `ours N` is `Adaptive(budget=N)`, `fixed N` is
`Fixed(sample_size=N)`; see [designs.md](designs.md).

{designs}

## Estimators, fixed n = 100

{papers}

## Cases

{cases}

![Error against cost, case by case](images/frontier.png)

## Appendix

### Goals set beforehand

{goals}

### How near to what is possible

An oracle knows the rank distribution up to six numbers (smoothed truth times the exponential of a
cubic spline in log R) and fits them efficiently. It would have the errors below (Cramer-Rao bound
for the six numbers, plus what the samples leave open about the users seen; `benchmarks/_bound.py`).
This is no strict bound: where the truth is smoother than six numbers can say, an average over
smooth shapes may do better. An [older oracle](smooth-notes.md#how-much-is-left) has larger errors;
that page says why.

{missed}
"""
