"""MLflow: metrics with their intervals, the protocol card and the report of a run."""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import Any

from truerank import _arguments
from truerank.integrations._library import library, numbers

__all__ = ["log"]


def log(result: Any, *, step: int | None = None, prefix: str = "", report: bool = False) -> None:
    """Log a result to the active run of MLflow, or to a new one.

    Metrics are ``ndcg_at_10/value``, ``/low``, ``/high`` and ``/resolvable`` (1 or 0): MLflow takes
    no ``@`` in names. The protocol card of an evaluation goes to ``truerank/protocol.json``.

    Parameters
    ----------
    result : Evaluation, Estimates or Epoch
        What `truerank.evaluate`, `truerank.estimate` or `truerank.Monitor.update` gives.
    step : int, optional
        The step; that of an epoch is its number unless stated.
    prefix : str, default ""
        Put before every name: ``"validation/"``.
    report : bool, default False
        Attach the report as ``truerank/report.html``, too; needs the extra ``report``.

    Raises
    ------
    MissingExtraError
        If mlflow is not installed.

    Examples
    --------
    >>> import mlflow
    >>> counts = tr.RankCounts.from_exact_ranks([1, 4, 2, 9], n_items=10)
    >>> with mlflow.start_run() as run:
    ...     tr.integrations.mlflow.log(tr.estimate(counts, "recall@5"))
    >>> round(mlflow.get_run(run.info.run_id).data.metrics["recall_at_5/value"], 4)
    0.75
    """
    _arguments.check(log, locals())
    mlflow = library("mlflow")
    told = {name.replace("@", "_at_"): value for name, value in numbers(result, prefix).items()}
    mlflow.log_metrics(told, step=getattr(result, "epoch", None) if step is None else step)
    protocol = getattr(result, "protocol", None)
    if protocol is not None:
        mlflow.log_dict(dict(protocol), "truerank/protocol.json")
    if report:
        from truerank import report as reports

        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / "report.html"
            reports.write({"model": getattr(result, "estimates", result)}, path)
            mlflow.log_artifact(str(path), "truerank")


def __dir__() -> list[str]:
    return sorted(__all__)
