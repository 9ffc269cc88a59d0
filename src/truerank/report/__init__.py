"""One HTML page that says what an evaluation found, to be attached to a mail or printed.

The page loads nothing from the network. Every number comes from `inference`. Needs jinja2 (extra
``report``).
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
    """Write a report on one or several models to an HTML file.

    Parameters
    ----------
    models : mapping, PairedCounts, table or path
        As in :func:`render`.
    path : str or path
        Where to write; the name ends in ``.html``.
    **options : dict
        The options of :func:`render`.

    Raises
    ------
    InputError
        If the name has another ending.

    Examples
    --------
    >>> counts = tr.RankCounts.from_ranks(
    ...     [1, 1, 2, 5, 9], num_negatives=9, n_items=50, replacement=False
    ... )
    >>> tr.report.write({"EASE": counts}, "report.html", metrics="recall@10")
    """
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
    """A report on one or several models as an HTML page.

    Parameters
    ----------
    models : mapping, PairedCounts, table or path
        Name -> what `evaluate` or `estimate` gave, RankCounts, or a table or file of ranks or
        saved counts, as in :func:`truerank.compare`; one model is enough. Or PairedCounts, or one
        table or file with a column ``model``.
    title : str
        Title of the page.
    metrics : str, Metric, or iterable of them, optional
        Metrics to show; the verdict is on the first. By default those of the first result given,
        or the usual ones.
    k : int or iterable of int, optional
        Cut-offs of the metrics that carry none.
    estimator : str or Estimator, optional
        As in :func:`truerank.estimate`; by default that of the first result given.
    confidence : float, optional
        As in :func:`truerank.estimate`; by default that of the first result given.
    scope : {"these-users", "population"}, optional
        Who the numbers are about, as in :func:`truerank.estimate`.
    population_size : float, optional
        The number of all users, as in :func:`truerank.estimate`.
    unpaired : bool
        Compare models that were not ranked for the same users, as in :func:`truerank.compare`.
    audit : Audit, optional
        Findings of :func:`truerank.audit`, to show beside those about the ranks themselves.
    seed : int, optional
        Seed of all random draws.
    progress : callable or bool, optional
        None shows a bar on a terminal if it takes long, False shows nothing; a function is called
        with (steps done, steps in all).
    **table_options : dict
        For tables, as in :meth:`RankCounts.from_table`: ``n_items``, ``num_negatives``, ...

    Returns
    -------
    str
        The page.

    Examples
    --------
    >>> counts = tr.RankCounts.from_ranks(
    ...     [1, 1, 2, 5, 9], num_negatives=9, n_items=50, replacement=False
    ... )
    >>> page = tr.report.render({"EASE": counts}, metrics="recall@10", title="Monday")
    >>> "<title>Monday</title>" in page
    True
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
