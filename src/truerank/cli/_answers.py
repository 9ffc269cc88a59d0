"""What to estimate and by what: options that several commands share, and the estimating."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Annotated, Any

import typer

from truerank.cli._options import ANSWERS
from truerank.cli._results import Run

if TYPE_CHECKING:
    from truerank.counts import RankCounts
    from truerank.estimators import Estimator
    from truerank.metrics import Metric

Estimators = Annotated[
    list[str] | None,
    typer.Option(
        "--estimator",
        "-e",
        metavar="NAME",
        help="smooth unless said. Also naive, mapped, rank-estimate, cls, bv, mle, wmle, mes, "
        'bv-mle, bv-mes, mn-mle, mn-mes; with options as in "bv(gamma=0.1)". Repeatable.',
        rich_help_panel=ANSWERS,
    ),
]
Metrics = Annotated[
    list[str] | None,
    typer.Option(
        "--metrics",
        "-m",
        metavar="NAME@K",
        help="recall (hr), precision, ndcg, ap (mrr), auc, as in recall@1,5,10. Repeatable.",
        rich_help_panel=ANSWERS,
    ),
]
Cuts = Annotated[
    list[str] | None,
    typer.Option(
        "--k",
        "-k",
        metavar="K",
        help="Cut-offs of the metrics named without one: 1,5,10.",
        rich_help_panel=ANSWERS,
    ),
]

Confidence = Annotated[
    float,
    typer.Option(
        "--confidence",
        metavar="SHARE",
        help="Of the intervals; 0 for none, which is quicker for mle, mes and those built on them.",
        rich_help_panel=ANSWERS,
    ),
]
Target = Annotated[
    str | None,
    typer.Option(
        "--target",
        metavar="these-users|population",
        help="What intervals are for: the metric of the users evaluated, or of all users that "
        "these are a sample of.",
        rich_help_panel=ANSWERS,
    ),
]


def parse_metrics(names: Sequence[str] | None, k: tuple[int, ...] | None) -> tuple[Metric, ...]:
    from truerank.estimates import DEFAULT_METRICS
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


def parse_estimators(names: Sequence[str] | None) -> dict[str, Estimator]:
    """Estimators by their descriptions."""
    from truerank import estimators
    from truerank.estimates import DEFAULT_ESTIMATOR

    # Commas part estimators too, but not inside the parentheses of options.
    parts = [
        part for name in names or [DEFAULT_ESTIMATOR] for part in re.split(r",(?![^(]*\))", name)
    ]
    found = dict.fromkeys(estimators.get(part) for part in parts)
    return {estimators.describe(one): one for one in found}


def interval_options(confidence: float, target: str | None) -> dict[str, Any]:
    """--confidence and --target as arguments of estimate."""
    asked = {} if target is None else {"target": target}
    return {"confidence": None if confidence == 0 else confidence, **asked}


def run(
    model: str,
    counts: RankCounts,
    wanted: tuple[Metric, ...],
    chosen: Mapping[str, Estimator],
    options: Mapping[str, Any],
) -> Run:
    from truerank.estimates import estimate

    results = {}
    for name, one in chosen.items():
        # Without a single metric it is defined for, the library says so.
        defined = [metric for metric in wanted if one.supports(metric)] or wanted
        results[name] = estimate(counts, defined, estimator=one, **options)
    naive = estimate(counts, wanted, estimator="naive", confidence=None)
    return Run(model, counts, naive, results)
