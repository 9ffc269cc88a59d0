"""What to estimate and by what: options that several commands share, and the estimating."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, Any

import typer

from truerank.cli._options import ANSWERS, integers, words
from truerank.cli._results import Run
from truerank.progress import reporting

if TYPE_CHECKING:
    from truerank.estimators import Estimator
    from truerank.metrics import Metric
    from truerank.outcomes.counts import RankCounts

ESTIMATORS = (
    "smooth",
    "naive",
    "mapped",
    "rank-estimate",
    "cls",
    "bv",
    "mle",
    "wmle",
    "mes",
    "bv-mle",
    "bv-mes",
    "mn-mle",
    "mn-mes",
)
SCOPES = ("these-users", "population")

Metrics = Annotated[
    list[str] | None,
    typer.Option(
        "--metrics",
        "--metric",
        "-m",
        metavar="NAME@K",
        help="recall (hr), precision, ndcg, ap (mrr), auc, as in recall@1,5,10. Repeatable.",
        rich_help_panel=ANSWERS,
    ),
]
Confidence = Annotated[
    float,
    typer.Option(
        "--confidence",
        metavar="SHARE",
        help="Of the intervals.",
        rich_help_panel=ANSWERS,
    ),
]
ScopeOption = Annotated[
    str | None,
    typer.Option(
        "--scope",
        metavar="|".join(SCOPES),
        help="Whom the answer is for: the users evaluated (the default), or all users that these "
        "are a sample of.",
        autocompletion=words(*SCOPES),
        rich_help_panel=ANSWERS,
    ),
]


@dataclass(frozen=True)
class Answers:
    """Options that say what to estimate and by what."""

    estimator: Annotated[
        list[str] | None,
        typer.Option(
            "--estimator",
            "-e",
            metavar="NAME",
            help="smooth unless said. Also naive, mapped, rank-estimate, cls, bv, mle, wmle, mes, "
            'bv-mle, bv-mes, mn-mle, mn-mes; with options as in "bv(gamma=0.1)". Repeatable.',
            autocompletion=words(*ESTIMATORS),
            rich_help_panel=ANSWERS,
        ),
    ] = None
    metrics: Metrics = None
    k: Annotated[
        list[str] | None,
        typer.Option(
            "--k",
            "-k",
            metavar="K",
            help="Cut-offs of the metrics named without one: 1,5,10.",
            rich_help_panel=ANSWERS,
        ),
    ] = None
    confidence: Annotated[
        float,
        typer.Option(
            "--confidence",
            metavar="SHARE",
            help="Of the intervals; 0 for none, which is quicker for mle, mes and their kin.",
            rich_help_panel=ANSWERS,
        ),
    ] = 0.95
    scope: ScopeOption = None

    def wanted(self) -> tuple[Metric, ...]:
        """The metrics, read."""
        return parse_metrics(self.metrics, integers(self.k, "--k"))

    def chosen(self) -> dict[str, Estimator]:
        """The estimators by their descriptions."""
        from truerank import estimators
        from truerank.inference.estimates import DEFAULT_ESTIMATOR

        # Commas part estimators too, but not inside the parentheses of options.
        parts = [
            part
            for name in self.estimator or [DEFAULT_ESTIMATOR]
            for part in re.split(r",(?![^(]*\))", name)
        ]
        found = dict.fromkeys(estimators.get(part) for part in parts)
        return {estimators.describe(one): one for one in found}

    def intervals(self) -> dict[str, Any]:
        """--confidence and --scope as arguments of estimate."""
        asked = {} if self.scope is None else {"scope": self.scope}
        return {"confidence": self.confidence or None, **asked}


def parse_metrics(names: Sequence[str] | None, k: tuple[int, ...] | None) -> tuple[Metric, ...]:
    from truerank.inference.estimates import DEFAULT_METRICS
    from truerank.metrics import parse

    if names:
        return parse(split_metrics(names), k=k)
    if k is None:
        return parse(DEFAULT_METRICS)
    cut = [name.partition("@")[0] for name in DEFAULT_METRICS if "@" in name]
    return parse([*parse(cut, k=k), *(name for name in DEFAULT_METRICS if "@" not in name)])


def split_metrics(names: Sequence[str]) -> list[str]:
    """``["recall@1,5,ndcg@10"]`` as two: a comma before a letter starts a new metric."""
    return [one for name in names for one in re.split(r",\s*(?=[A-Za-z])", name)]


def run(
    counts: Mapping[str, RankCounts],
    wanted: tuple[Metric, ...],
    chosen: Mapping[str, Estimator],
    options: Mapping[str, Any],
) -> list[Run]:
    """Every model's metrics by every estimator, intervals and all."""
    from truerank.inference.estimates import Estimates, estimate

    runs = []
    with reporting(None, len(counts) * len(chosen), "estimating") as advance:
        for model, one_model in counts.items():
            results: dict[str, Estimates] = {}
            for name, one in chosen.items():
                # Without a single metric it is defined for, the library says so.
                defined = [metric for metric in wanted if one.supports(metric)] or wanted
                results[name] = estimate(one_model, defined, estimator=one, **options)
                for found in results[name].values():
                    _ = found.low  # intervals are found when asked for: now, under the bar
                advance(1)
            naive = estimate(one_model, wanted, estimator="naive", confidence=None)
            runs.append(Run(model, one_model, naive, results))
    return runs
