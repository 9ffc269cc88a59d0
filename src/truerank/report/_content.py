"""What a report holds: results of the library, asked for once and laid out for the page."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from truerank import _checks, estimators, mapping
from truerank import metrics as metrics_module
from truerank._types import FrontierDesign, Scope
from truerank.errors import InputError
from truerank.estimators import Estimator
from truerank.evaluation import read_protocol
from truerank.evaluation.auditing import Audit, Finding, about_ranks
from truerank.inference import curves as curves_module
from truerank.inference.comparing import _compared
from truerank.inference.comparing.compare import compare_all
from truerank.inference.comparing.comparison import Comparison
from truerank.inference.curves import Curves, MappedCurve
from truerank.inference.estimates import DEFAULT_ESTIMATOR, DEFAULT_METRICS, Estimates, estimate
from truerank.inference.intervals.fitting import Fitted
from truerank.inference.planning.efficiency import Effort, sampling_effort
from truerank.inference.planning.frontier import DESIGNS, CostCurve, Frontier, frontier
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
    known: Estimates | None = None  # exact values, of ranks among all items

    @property
    def points(self) -> Estimates:
        """The estimates of the metrics asked for, among others."""
        return self.curves.points

    def asked(self, metrics: Iterable[Metric]) -> Estimates:
        """The estimates of some metrics alone, with the intervals that are known already."""
        results = {metric.key: self.points[metric] for metric in metrics}
        return replace(self.points, results=results)


@dataclass(frozen=True)
class Content:
    """All there is to show; ``comparisons`` are by metric, at every K of ``cuts``, or none."""

    models: tuple[ModelContent, ...]
    metrics: tuple[Metric, ...]
    estimator: str
    confidence: float
    scope: Scope
    cuts: tuple[int, ...]  # the K at which everything is known
    comparisons: Mapping[str, Comparison]
    frontier: Frontier | None
    findings: tuple[tuple[str, Finding], ...]  # of which model, "" for all

    @property
    def exact(self) -> bool:
        """Whether nothing was sampled."""
        return all(bool(model.counts.is_exact.all()) for model in self.models)

    @property
    def certain(self) -> bool:
        """Whether there is nothing to be unsure of: exact ranks, and no other users meant."""
        return self.exact and self.scope == "these-users"

    @property
    def across_cuts(self) -> tuple[Metric, ...]:
        """The metrics asked for, and those with a curve again at every K of ``cuts``."""
        names = dict.fromkeys(m.name for m in self.metrics if self.has_curve(m))
        more = [Metric(name, cut) for name in names for cut in self.cuts]
        return tuple({one.key: one for one in (*self.metrics, *more)}.values())

    def has_curve(self, metric: Metric) -> bool:
        """Whether a metric is known at every K."""
        curve = self.models[0].curves.by_name.get(metric.name)
        plain = metric.k is not None and metric.function is None
        return plain and curve is not None and bool(metric.k <= curve.k[-1])

    @property
    def here(self) -> tuple[float, float]:
        """Scored pairs per user and relative error of the leader, on the first metric."""
        one = self.leader.points[self.metrics[0]]
        return self.leader.counts.pairs_per_user, (one.total_error or 0.0) / abs(one.value)

    @property
    def cost_curves(self) -> dict[FrontierDesign, CostCurve]:
        """Error against cost of each kind of design; this run lies on the curve of its own."""
        if self.frontier is None:
            return {}
        own: FrontierDesign = "adaptive" if self.leader.counts.adaptive else "fixed"
        found = {one: self.frontier.curve(one, through=self.here, of=own) for one in DESIGNS}
        return {design: curve for design, curve in found.items() if curve is not None}

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
    exact: Mapping[str, Any] | None,
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
    for name in exact or ():
        if name not in data.counts:
            raise _checks.unknown("model in exact", name, data.counts)
    chosen = estimators.get(estimator)
    found = []
    with reporting(progress, len(data.counts) + 3, "reporting") as advance:
        for name, counts in data.counts.items():
            one = _of_model(name, counts, chosen, wanted, options, _protocol(models, name))
            known_exactly = _known((exact or {}).get(name), one, wanted)
            found.append(replace(one, known=known_exactly))
            advance(1)
        findings = (*_findings(found), *(("", one) for one in audit or ()))
        advance(1)
        content = Content(
            tuple(found),
            wanted,
            estimators.describe(chosen),
            options["confidence"],
            options.get("scope", "these-users"),
            _cuts(found),
            {},
            None,
            findings,
        )
        if len(found) > 1:
            known = ("confidence", "scope", "population_size", "support")
            compared = compare_all(
                data.paired or data.counts,
                content.across_cuts,
                estimator=chosen,
                pairs="all",
                unpaired=unpaired,
                seed=seed,
                progress=progress,
                fitted=_fitted(found),
                tests=False,
                **{name: options[name] for name in known if name in options},
            )
            content = replace(content, comparisons={one.metric: one for one in compared})
        advance(1)
        leader = content.leader
        if leader.points[wanted[0]].value > 0.0 and not leader.counts.is_exact.all():
            ahead = frontier(
                leader.counts,
                wanted[0],
                estimator=chosen,
                repeats=1,  # a smooth curve through all points evens their scatter out
                seed=seed,
                progress=progress,
            )
            content = replace(content, frontier=ahead)
        advance(1)
    return content


def _cuts(models: Iterable[ModelContent]) -> tuple[int, ...]:
    """The K at which intervals of every model are known."""
    known = [
        set(curve.k.tolist() if curve.found_at is None else curve.found_at.tolist())
        for model in models
        for curve in model.curves.values()
    ]
    return tuple(sorted(set.intersection(*known)))


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
    adaptive = len(counts.schemes) == 1 and counts.adaptive
    return ModelContent(
        name,
        counts,
        curves_module.curves_of(
            counts, names, estimator=estimator, ranks=True, also=wanted, **options
        ),
        tuple(curves_module.mapped_curves(counts, mapping.USUAL)),
        sampling_effort(counts) if adaptive else (),
        protocol,
    )


def _known(given: Any, model: ModelContent, wanted: Iterable[Metric]) -> Estimates | None:
    """Exact values of all metrics of a model, where its exact ranks are given."""
    if given is None:
        return None
    counts = given if isinstance(given, RankCounts) else getattr(given, "counts", None)
    if not isinstance(counts, RankCounts) or not counts.is_exact.all():
        raise InputError(
            f"exact of {model.name} is {_checks.shown(given)}; give RankCounts of exact ranks, or "
            'what tr.evaluate(..., "exact") gave'
        )
    every = [Metric(name, int(k)) for name, one in model.curves.items() for k in one.k]
    asked = {metric.key: metric for metric in (*wanted, *every)}
    return estimate(counts, asked.values(), estimator="naive", confidence=None)


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


def _findings(models: Iterable[ModelContent]) -> Iterator[tuple[str, Finding]]:
    """What an audit says of the ranks; a fit by smooth was tested already."""
    for model in models:
        smooth = isinstance(model.points.estimator, estimators.Smooth)
        known = model.points.fit_test if smooth and not model.counts.several else None
        yield from ((model.name, finding) for finding in about_ranks(model.counts, known=known))
