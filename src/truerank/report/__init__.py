"""One HTML page that says what an evaluation found: no network, to be attached and printed.

A thin shell: every number comes from `estimates`, `curves` and `inference`.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from truerank.errors import InputError
from truerank.estimators import Estimator
from truerank.evaluation.auditing import Audit
from truerank.metrics import MetricLike
from truerank.outcomes import tables
from truerank.progress import Progress
from truerank.report._content import gather
from truerank.report._page import page

__all__ = ["render", "write"]


def write(models: Any, path: Any, **options: Any) -> None:
    """Write a report on one or several models to an HTML file; options as in `render`."""
    if not str(path).lower().endswith((".html", ".htm")):
        raise InputError(f"path is {path}; give it the ending .html")
    with tables.replacing(path) as there:
        there.write_text(render(models, **options), encoding="utf-8")


def render(
    models: Any,
    *,
    title: str = "Evaluation report",
    metrics: MetricLike | Iterable[MetricLike] | None = None,
    k: int | Iterable[int] | None = None,
    estimator: str | Estimator | None = None,
    confidence: float | None = None,
    scope: str | None = None,
    population_size: float | None = None,
    unpaired: bool = False,
    audit: Audit | None = None,
    seed: int | None = None,
    progress: Progress = None,
    **table_options: Any,
) -> str:
    """The page as text.

    Parameters
    ----------
    models
        Name -> what `evaluate` or `estimate` gave, RankCounts, or a table or file of ranks or
        saved counts, as in :func:`truerank.compare`; one model is enough. Or PairedCounts, or one
        table or file with a column ``model``.
    metrics, k
        The verdict is on the first of them. Unsaid: those of the first result given, or the usual.
    estimator, confidence, scope, population_size, seed
        As in :func:`truerank.estimate`; unsaid, as in the first result given.
    unpaired
        As in :func:`truerank.compare`.
    audit
        Findings of :func:`truerank.audit` to show beside those about the ranks themselves.
    table_options
        For tables, as in `RankCounts.from_table`: ``n_items``, ``sample_size``, ...
    """
    content = gather(
        models,
        metrics=metrics,
        k=k,
        estimator=estimator,
        confidence=confidence,
        scope=scope,
        population_size=population_size,
        unpaired=unpaired,
        audit=audit,
        seed=seed,
        progress=progress,
        table_options=table_options,
    )
    return page(content, title=title)


def __dir__() -> list[str]:
    return sorted(__all__)
