"""Calls of what stands around the verbs: monitors, lists, triples, figures, integrations, Spark.

What needs a library that the tests do without is called up to that point.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import numpy as np
from tests.fuzz import world

import truerank as tr

Call = tuple[Callable[..., Any], Mapping[str, Any]]


def calls(folder: Path) -> dict[str, Call]:
    """By public name, as in `tests.fuzz.calls`."""
    metric = tr.Metric("recall", 10)
    counts, est = world.counts(), world.estimates()
    evaluated = tr.evaluate(world.dense(), world.test(), "exact", metrics="recall@10")
    monitor = tr.Monitor(world.test(), metrics="recall@10", design="exact")
    monitor.update(world.dense())
    monitor.save(folder / "monitor.parquet")
    triples = tr.data.Triples([0, 1, 2], [0, 0, 1], [1, 2, 3])
    queries = triples.queries()
    drawn = np.random.default_rng(5)
    figures = {"models": {"a": est}, "ax": None}
    return {
        # -- monitors
        "Monitor": (
            _watched,
            {"test": world.test(), "train": world.train(), "metrics": "recall@10", "seconds": 2.0,
             "design": "fixed(num_negatives=5)", "patience": 3, "estimator": "smooth",
             "confidence": 0.9, "scope": "population", "ties": "spread", "seed": 0,
             "keep_target": False, "gather": None},
        ),
        "Monitor.update": (
            lambda **said: _monitor().update(**said),
            {"scorer": world.dense(), "epoch": 1, "progress": False},
        ),
        "Monitor.save": (monitor.save, {"path": folder / "saved monitor.parquet"}),
        "Monitor.load": (
            tr.Monitor.load,
            {"path": folder / "monitor.parquet", "test": world.test(), "train": None,
             "design": None, "gather": None},
        ),
        "Monitor.restore": (_monitor().restore, {"path": folder / "monitor.parquet"}),
        # -- counts
        "RankCounts.from_lists": (
            tr.RankCounts.from_lists,
            {"answers": [["a", "b"], ["d"]], "candidates": [["a", "b", "c"], ["d", "e", "f"]],
             "targets": ["b", "e"], "n_items": 500, "replacement": False, "missing": "censored"},
        ),
        "RankCounts.from_scores": (
            tr.RankCounts.from_scores,
            {"positive": drawn.random(3), "negative": drawn.random((3, 5)), "n_items": 500,
             "replacement": False, "ties": "spread"},
        ),
        "RankCounts.single_rows": (
            counts.single_rows, {"rows": np.arange(counts.n_outcomes), "near": 0.0},
        ),
        "Scheme.check": (
            tr.Scheme(replacement=False).check,
            {"n_items": np.array([500]), "sample_size": np.array([10]),
             "sampled_rank": np.array([3])},
        ),
        "Scheme.outcomes": (
            tr.Scheme(replacement=False).outcomes, {"n_items": 500, "sample_size": 10},
        ),
        "Scheme.stages": (
            tr.Scheme(replacement=False).stages, {"n_items": 500, "sample_size": 10},
        ),
        "Metric.bound": (metric.bound, {"n_items": [500, 500], "weight": [1.0, 2.0]}),
        # -- results
        "Estimates.to_dict": (est.to_dict, {"flat": True}),
        "Evaluation.to_dict": (evaluated.to_dict, {"flat": True}),
        "Evaluation.save": (evaluated.save, {"path": folder / "saved evaluation.parquet"}),
        # -- triples
        "data.read_triples": (
            tr.data.read_triples,
            {"source": _table(head=[0, 1], relation=[0, 0], tail=[1, 2]), "columns": None,
             "name": "x"},
        ),
        "data.Triples": (
            tr.data.Triples,
            {"head": [0, 1], "relation": ["r", "r"], "tail": [1, 2], "name": "x"},
        ),
        "data.Triples.queries": (
            triples.queries, {"known": (), "sides": ("tail",), "filtered": True},
        ),
        "data.Triples.take": (triples.take, {"rows": [0, 1]}),
        "data.Queries.with_columns": (
            queries.with_columns,
            {"ranks": _table(user_id=np.arange(6), item_id=queries.answer, rank=np.ones(6))},
        ),
        # -- figures
        "plot.recall_curve": (
            _drawn(tr.plot.recall_curve), {**figures, "metric": "recall", "largest": 20},
        ),
        "plot.rank_distribution": (_drawn(tr.plot.rank_distribution), {**figures, "kind": "cdf"}),
        "plot.normalised_rank": (_drawn(tr.plot.normalised_rank), {**figures, "largest": 1.0}),
        "plot.mapping": (_drawn(tr.plot.mapping), {**figures, "mappings": ["linear"]}),
        "plot.naive_vs_corrected": (
            _drawn(tr.plot.naive_vs_corrected),
            {**figures, "metric": "recall@10", "exact": {"a": 0.1}},
        ),
        "plot.comparison": (
            _drawn(tr.plot.comparison), {"found": world.comparison(), "ax": None},
        ),
        "plot.history": (
            _drawn(tr.plot.history), {"found": monitor, "metric": "recall@10", "ax": None},
        ),
        "plot.frontier": (
            _drawn(tr.plot.frontier),
            {"estimates": est, "metric": "recall@10", "found": _frontier(), "ax": None},
        ),
        # -- other tools
        "integrations.tensorboard.log": (
            tr.integrations.tensorboard.log,
            {"result": est, "writer": _Writer(), "step": 1, "prefix": ""},
        ),
        "integrations.mlflow.log": (
            tr.integrations.mlflow.log,
            {"result": est, "step": 1, "prefix": "", "report": False},
        ),
        "integrations.wandb.log": (
            tr.integrations.wandb.log,
            {"result": est, "run": _Writer(), "step": 1, "prefix": ""},
        ),
        "integrations.keras.callback": (
            tr.integrations.keras.callback,
            {"monitor": monitor, "scorer": lambda model: model, "prefix": "val_"},
        ),
        "integrations.lightning.callback": (
            tr.integrations.lightning.callback,
            {"monitor": monitor, "scorer": lambda model: model, "prefix": ""},
        ),
        "integrations.torch.gather": (tr.integrations.torch.gather, {"part": 1}),
        "integrations.torchmetrics.ranks": (
            tr.integrations.torchmetrics.ranks,
            {"num_negatives": 9, "n_items": 500, "metrics": "recall@10"},
        ),
        "integrations.recbole.evaluate": (
            tr.integrations.recbole.evaluate,
            {"trainer": None, "eval_data": None, "metrics": "recall@10", "confidence": 0.95},
        ),
        "scoring.Torch": (
            tr.scoring.Torch,
            {"module": world.dense(), "item_ids": None, "n_items": 30, "user_ids": None,
             "device": None, "batch_pairs": 64},
        ),
        **{
            f"scoring.adapters.from_{name}": (getattr(tr.scoring.adapters, f"from_{name}"), given)
            for name, given in (
                ("cornac", {"model": object(), "exclude_unknowns": True}),
                ("implicit", {"model": object(), "user_items": None, "user_ids": None,
                              "item_ids": None}),
                ("lenskit", {"pipeline": object(), "dataset": object(), "component": "scorer",
                             "unscored": "last"}),
                ("pykeen", {"model": object(), "queries": queries, "factory": None,
                            "batch_pairs": 64}),
                ("recbole", {"model": object(), "test_data": object()}),
                ("rectools", {"model": object(), "dataset": object()}),
            )
        },
    }  # fmt: skip


def _table(**columns: Any) -> Any:
    import pyarrow as pa

    return pa.table(columns)


def _monitor() -> Any:
    return tr.Monitor(world.test(), metrics="recall@10", design="exact")


def _watched(**options: Any) -> Any:
    return tr.Monitor(**options).update(world.dense())


def _drawn(function: Callable[..., Any]) -> Callable[..., Any]:
    def draw(**options: Any) -> None:
        import matplotlib.pyplot as plt

        try:
            function(**options)
        finally:
            plt.close("all")

    return draw


def _frontier() -> Any:
    from truerank.inference.planning.frontier import Frontier, FrontierPoint

    return Frontier("recall@10", (FrontierPoint("fixed", 20.0, 0.1),))


class _Writer:
    """As trackers and models come: anything may be asked of it."""

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        return lambda *_, **__: None
