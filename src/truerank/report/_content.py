"""What a report holds: results of the library, asked for once and laid out for the page."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from truerank import estimators, mapping
from truerank import metrics as metrics_module
from truerank._types import Scope
from truerank.errors import InputError
from truerank.estimators import Estimator
from truerank.evaluation import read_protocol
from truerank.evaluation.auditing import Audit, Finding
from truerank.evaluation.auditing import audit as look
from truerank.inference import curves as curves_module
from truerank.inference.comparing import _compared
from truerank.inference.comparing.compare import compare_all
from truerank.inference.comparing.comparison import Comparison
from truerank.inference.curves import Curves, MappedCurve
from truerank.inference.estimates import DEFAULT_ESTIMATOR, DEFAULT_METRICS, Estimates
from truerank.inference.intervals.fitting import Fitted
from truerank.inference.planning.efficiency import Effort, sampling_effort
from truerank.inference.planning.frontier import Frontier, frontier
from truerank.metrics import Metric, MetricLike
from truerank.outcomes import tables
from truerank.outcomes.counts import RankCounts
from truerank.progress import Progress, reporting

USUAL_CURVES = ("recall", "ndcg")


@dataclass(frozen=True)
class ModelContent:
    """All there is to show of one model."""

    name: str
    counts: RankCounts
    curves: Curves
    mapped: tuple[MappedCurve, ...]
    effort: tuple[Effort, ...]
    protocol: Mapping[str, Any] | None

    @property
    def points(self) -> Estimates:
        """The estimates of the metrics asked for, among others."""
        return self.curves.points


@dataclass(frozen=True)
class Content:
    """All there is to show; ``comparisons`` has one for each of ``metrics``, or none."""

    models: tuple[ModelContent, ...]
    metrics: tuple[Metric, ...]
    estimator: str
    confidence: float
    scope: Scope
    comparisons: tuple[Comparison, ...]
    frontier: Frontier | None
    findings: tuple[tuple[str, Finding], ...]  # of which model, "" for all

    @property
    def leader(self) -> ModelContent:
        """The model that is first on the first metric."""
        key = self.metrics[0].key
        return max(self.models, key=lambda model: model.points[key].value)


def gather(
    models: Any,
    *,
    metrics: MetricLike | Iterable[MetricLike] | None,
    estimator: str | Estimator | None,
    confidence: float | None,
    scope: Scope | None,
    population_size: float | None,
    unpaired: bool,
    audit: Audit | None,
    seed: int | None,
    progress: Progress,
    table_options: dict[str, Any],
) -> Content:
    """Everything, in the order of the models given."""
    data = _compared.read(models, unpaired=unpaired, options=table_options, alone=True)
    said = _said(models)
    if estimator is None:
        estimator = DEFAULT_ESTIMATOR if said is None else said.estimator
    options = {} if said is None else dict(said.options)
    given = {
        "confidence": confidence,
        "scope": scope,
        "population_size": population_size,
        "seed": seed,
    }
    options |= {name: value for name, value in given.items() if value is not None}
    options["confidence"] = float(options.get("confidence") or 0.95)
    options["progress"] = progress
    seed = options.setdefault("seed", 0)
    wanted = _metrics(metrics, said)
    chosen = estimators.get(estimator)
    found = []
    comparisons: tuple[Comparison, ...] = ()
    with reporting(progress, len(data.counts) + 3, "reporting") as advance:
        for name, counts in data.counts.items():
            found.append(_of_model(name, counts, chosen, wanted, options, _protocol(models, name)))
            advance(1)
        if len(found) > 1:
            known = ("confidence", "scope", "population_size", "support")
            comparisons = compare_all(
                data.paired or data.counts,
                wanted,
                estimator=chosen,
                pairs="all",
                unpaired=unpaired,
                seed=seed,
                progress=progress,
                fitted=_fitted(found),
                **{name: options[name] for name in known if name in options},
            )
        advance(1)
        findings = (*_findings(data.counts), *(("", one) for one in audit or ()))
        advance(1)
        content = Content(
            tuple(found),
            wanted,
            estimators.describe(chosen),
            options["confidence"],
            options.get("scope", "these-users"),
            comparisons,
            None,
            findings,
        )
        leader = content.leader
        if leader.points[wanted[0]].value > 0.0 and not leader.counts.is_exact.all():
            ahead = frontier(
                leader.counts, wanted[0], estimator=chosen, seed=seed, progress=progress
            )
            content = replace(content, frontier=ahead)
        advance(1)
    return content


def _fitted(models: Iterable[ModelContent]) -> dict[str, Fitted]:
    """What the curves know already: so the table and the verdict say the same."""
    known = {model.name: model.points.fitted for model in models}
    return {name: one for name, one in known.items() if one is not None}


def _said(models: Any) -> Estimates | None:
    """The first result among what was given."""
    for source in models.values() if isinstance(models, Mapping) else ():
        one = getattr(source, "estimates", source)
        if isinstance(one, Estimates):
            return one
    return None


def _metrics(
    metrics: MetricLike | Iterable[MetricLike] | None, said: Estimates | None
) -> tuple[Metric, ...]:
    if metrics is None and said is not None:
        try:
            return metrics_module.parse(list(said))
        except InputError as error:
            raise InputError(f"{error}; give metrics= as Metric objects") from error
    return metrics_module.parse(DEFAULT_METRICS if metrics is None else metrics)


def _of_model(
    name: str,
    counts: RankCounts,
    estimator: Estimator,
    wanted: tuple[Metric, ...],
    options: Mapping[str, Any],
    protocol: Mapping[str, Any] | None,
) -> ModelContent:
    cut = [metric.name for metric in wanted if metric.k is not None and metric.function is None]
    usual = [one for one in USUAL_CURVES if estimator.supports(Metric(one, 1))]
    names = dict.fromkeys([*usual, *cut])
    mapped = [curves_module.mapped_curve(counts, one) for one in mapping.USUAL]
    adaptive = len(counts.schemes) == 1 and counts.adaptive
    return ModelContent(
        name,
        counts,
        curves_module.curves_of(
            counts, names, estimator=estimator, ranks=True, also=wanted, **options
        ),
        tuple(one for one in mapped if one is not None),
        sampling_effort(counts) if adaptive else (),
        protocol,
    )


def _protocol(models: Any, name: str) -> Mapping[str, Any] | None:
    """The card of an evaluation, in memory or saved with its counts."""
    if not isinstance(models, Mapping):
        return None
    source = next(one for key, one in models.items() if str(key) == name)
    if isinstance(source, (str, os.PathLike)):
        path = Path(source)
        return read_protocol(path) if path.suffix in tables.PARQUET and path.is_file() else None
    found = getattr(source, "protocol", None)
    return found if isinstance(found, Mapping) else None


def _findings(counts: Mapping[str, RankCounts]) -> list[tuple[str, Finding]]:
    return [(name, finding) for name, one in counts.items() for finding in look(counts=one)]
