"""One HTML page that says what an evaluation found: no network, to be attached and printed.

A thin shell: every number comes from `estimates`, `curves` and `inference`.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from truerank import _arguments, _files
from truerank._types import PathLike, Scope
from truerank.errors import InputError
from truerank.estimators import Estimator
from truerank.evaluation.auditing import Audit
from truerank.metrics import MetricLike
from truerank.progress import Progress
from truerank.report._content import gather
from truerank.report._page import engine, page

__all__ = ["render", "write"]


def write(models: Any, path: PathLike, **options: Any) -> None:
    """Write a report on one or several models to an HTML file.

    Parameters
    ----------
    models : dict, PairedCounts, table or file
        As in `render`: ``{"EASE": result}``.
    path : str or path
        A file name that ends in ``.html``; or a device or pipe, such as ``/dev/stdout``.
    **options
        As in `render`.

    Examples
    --------
    >>> counts = tr.RankCounts.from_exact_ranks([1, 4, 2, 9], n_items=10)
    >>> from pathlib import Path
    >>> tr.report.write({"EASE": tr.estimate(counts, "recall@5")}, "report.html")
    >>> Path("report.html").read_text(encoding="utf-8")[:15]
    '<!DOCTYPE html>'
    """
    _arguments.check(write, locals())
    target = _files.Target(path)
    if target.plain and not str(path).lower().endswith((".html", ".htm")):
        raise InputError(f"path is {path}; give it the ending .html")
    target.check()
    text = render(models, **options)
    with _files.replacing(path) as there:
        there.write_text(text, encoding="utf-8")


def render(
    models: Any,
    *,
    title: str = "Evaluation report",
    metrics: MetricLike | Iterable[MetricLike] | None = None,
    estimator: str | Estimator | None = None,
    confidence: float | None = None,
    scope: Scope | None = None,
    population_size: float | None = None,
    unpaired: bool = False,
    audit: Audit | None = None,
    exact: Mapping[str, Any] | None = None,
    seed: int | None = None,
    progress: Progress = None,
    **table_options: Any,
) -> str:
    """A report as HTML text.

    Parameters
    ----------
    models : dict, PairedCounts, table or file
        Name -> what `truerank.evaluate` or `truerank.estimate` gave, RankCounts, or a table or
        file of ranks or saved counts, as in `truerank.compare`; one model is enough. Or
        PairedCounts, or one table or file with a column ``model``.
    title : str, default "Evaluation report"
        The title of the page.
    metrics : str, Metric or list of these, optional
        The verdict is on the first of them. Unless stated, those of the first result given, or the
        usual ones.
    estimator : str or Estimator, optional
        As in `truerank.estimate`; unless stated, as in the first result given.
    confidence : float, optional
        As in `truerank.estimate`; unless stated, as in the first result given.
    scope : {"these-users", "population"}, optional
        As in `truerank.estimate`; unless stated, as in the first result given.
    population_size : float, optional
        As in `truerank.estimate`; unless stated, as in the first result given.
    unpaired : bool, default False
        As in `truerank.compare`.
    audit : Audit, optional
        Findings of `truerank.audit` to show beside those about the ranks themselves.
    exact : dict of str to RankCounts or Evaluation, optional
        Exact ranks by model, where they are known; shown beside the corrected metrics.
    seed : int, optional
        As in `truerank.estimate`; unless stated, as in the first result given.
    progress : callable or bool, optional
        As in `truerank.estimate`.
    **table_options
        For tables, as in `RankCounts.from_table`: ``n_items``, ``sample_size``, ...

    Returns
    -------
    str
        HTML that needs no network.

    Examples
    --------
    >>> counts = tr.RankCounts.from_exact_ranks([1, 4, 2, 9], n_items=10)
    >>> page = tr.report.render({"EASE": tr.estimate(counts, "recall@5")}, title="EASE")
    >>> "<title>EASE</title>" in page
    True
    """
    _arguments.check(render, locals())
    engine()  # before anything takes time
    content = gather(
        models,
        metrics=metrics,
        estimator=estimator,
        confidence=confidence,
        scope=scope,
        population_size=population_size,
        unpaired=unpaired,
        audit=audit,
        exact=exact,
        seed=seed,
        progress=progress,
        table_options=table_options,
    )
    return page(content, title=title)


def __dir__() -> list[str]:
    return sorted(__all__)
