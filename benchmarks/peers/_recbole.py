"""RecBole's evaluation of the factors, in a folder of its own and without a word."""

from __future__ import annotations

import contextlib
import logging
import os
import sys
import tempfile
import warnings
from collections.abc import Iterator
from pathlib import Path

import numpy as np

from benchmarks.peers._problem import DIMENSIONS, THREADS, Evaluate, K, Problem, Ways, values


def ways(problem: Problem, *, mode: str, batches: dict[str, int]) -> Ways:
    """Each of ``batches`` is a value of eval_batch_size: scores held at a time."""
    import torch

    torch.set_num_threads(THREADS)
    found: Ways = {}
    with tempfile.TemporaryDirectory() as folder, _quiet(folder):
        _write(problem, Path(folder))
        for name, batch in batches.items():
            found[name] = _way(problem, folder, mode, batch)
    return found


def _way(problem: Problem, folder: str, mode: str, batch: int) -> Evaluate:
    import torch
    from recbole.config import Config
    from recbole.data import create_dataset, data_preparation
    from recbole.utils import get_model, get_trainer

    config = Config(
        model="BPR",
        dataset="peers",
        config_dict={
            "data_path": folder,
            "checkpoint_dir": folder,
            "load_col": {"inter": ["user_id", "item_id", "timestamp"]},
            "embedding_size": DIMENSIONS,
            "use_gpu": False,
            "show_progress": False,
            "metrics": ["Recall", "NDCG", "MRR"],
            "topk": [K],
            "valid_metric": f"MRR@{K}",
            "metric_decimal_place": 12,
            "eval_batch_size": batch,
            "eval_args": {
                "split": {"LS": "test_only"},
                "order": "TO",
                "group_by": "user",
                "mode": mode,
            },
        },
    )
    dataset = create_dataset(config)
    train, _, test = data_preparation(config, dataset)
    model = get_model("BPR")(config, train.dataset)
    with torch.no_grad():  # its id 0 is padding
        for weight, field_name, factors in (
            (model.user_embedding.weight, dataset.uid_field, problem.user_factors),
            (model.item_embedding.weight, dataset.iid_field, problem.item_factors),
        ):
            rows = dataset.field2id_token[field_name][1:].astype(np.int64)
            weight[1:] = torch.from_numpy(factors[rows])
    trainer = get_trainer(config["MODEL_TYPE"], "BPR")(config, model)

    def evaluate() -> dict[str, float]:
        found = trainer.evaluate(test, load_best_model=False, show_progress=False)
        return values(found[f"recall@{K}"], found[f"ndcg@{K}"], found[f"mrr@{K}"])

    return evaluate


def _write(problem: Problem, folder: Path) -> None:
    """Targets last in time, so that leave-one-out holds them out."""
    lines = ["user_id:token\titem_id:token\ttimestamp:float"]
    for time, pairs in enumerate((problem.train, problem.test)):
        lines += [f"{u}\t{i}\t{time}" for u, i in zip(*(p.tolist() for p in pairs), strict=True)]
    (folder / "peers").mkdir()
    (folder / "peers" / "peers.inter").write_text("\n".join(lines))


@contextlib.contextmanager
def _quiet(folder: str) -> Iterator[None]:
    """It writes logs into the current folder and reads options from the command line."""
    before, arguments = os.getcwd(), sys.argv
    os.chdir(folder)
    sys.argv = sys.argv[:1]
    logging.disable(logging.CRITICAL)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            yield
    finally:
        logging.disable(logging.NOTSET)
        sys.argv = arguments
        os.chdir(before)
