"""`evaluate` with counts from Spark: the same answer, card and errors, from a cluster."""

from __future__ import annotations

import os
import time
from collections.abc import Iterable
from typing import Any

import numpy as np
import numpy.typing as npt

from truerank import _checks, designs, estimators, sampling
from truerank import metrics as metrics_module
from truerank.engines import kernels
from truerank.errors import InputError
from truerank.estimators import Estimator
from truerank.evaluation._evaluate import MODES, Evaluation, protocol_card
from truerank.inference.estimates import DEFAULT_ESTIMATOR, DEFAULT_METRICS, estimate
from truerank.metrics import MetricLike
from truerank.scoring.scorer import Scorer
from truerank.scoring.task import interactions


def evaluate_on_spark(
    users: Any,
    model: Any,
    *,
    train: Any = None,
    sampler: str = "auto",
    metrics: MetricLike | Iterable[MetricLike] = DEFAULT_METRICS,
    k: int | Iterable[int] | None = None,
    estimator: str | Estimator = DEFAULT_ESTIMATOR,
    seed: int = 0,
    sample_size: int | None = None,
    num_negatives: int | None = None,
    design: str | None = None,
    start: int | None = None,
    stop: float | None = None,
    growth: float | None = None,
    hits: int | None = None,
    replacement: bool = False,
    ties: str | None = None,
    keep_target: bool = False,
    confidence: float | None = 0.95,
    **items: Any,
) -> Evaluation:
    """Evaluate a model on held-out targets, on the Spark session there is.

    Parameters
    ----------
    users
        With item vectors as model: a DataFrame or the path of Parquet files with ``user_id``,
        ``item_id``, ``vector`` and, to leave items out, ``train``; see `truerank.spark`.
        With a scorer that knows the users: the test, as in `truerank.evaluate`.
    model
        Item vectors, as an array or the path of an .npy file, or a `Scorer` that pickles.
    train
        Items to leave out, with a scorer.
    sampler
        As in `truerank.evaluate`. Nothing is timed here, and a budget cannot be kept where no
        worker knows all users, so ``"auto"`` is adaptive by LJ24's design.
    items
        ``item_ids``, ``item_biases`` and ``cosine`` of item vectors.
    """
    from truerank.engines import spark

    if sampler not in MODES:
        raise _checks.unknown("sampler", sampler, MODES)
    wanted = metrics_module.parse(metrics, k=k)
    chosen = estimators.get(estimator)
    mode, reason = sampler, f"{sampler}: asked for"
    if sampler == "auto":
        mode, reason = "adaptive", "adaptive: on Spark nothing is timed"
    policy = ties or ("random" if mode == "adaptive" else "spread")
    options: dict[str, Any] = {"seed": seed, "ties": policy, "keep_target": keep_target, **items}
    rows: Any = users
    if isinstance(model, Scorer):
        rows = spark.frame(_rows(users, train))
    elif train is not None:
        raise InputError(
            "train is given, but users come with their vectors: give training items in the same "
            "rows, as a column train of lists"
        )
    begin = time.perf_counter()
    if mode == "exact":
        counts = spark.exact_counts(rows, model, **options)
    elif mode == "fixed":
        sizes = (sample_size, num_negatives)
        size = sampling.sample_size_of(*sizes) if sizes != (None, None) else 100
        counts = spark.sampled_counts(
            rows, model, sample_size=size, replacement=replacement, **options
        )
    else:
        ladder = designs.adaptive(
            design or "lj24", start=start, stop=stop, growth=growth, hits=hits
        )
        counts = spark.adaptive_counts(
            rows, model, design=ladder, replacement=replacement, **options
        )
    seconds = time.perf_counter() - begin
    card = protocol_card(
        mode, reason, counts, catalogue=kernels.Model(model, **items).n_items,
        n_users=round(counts.n_users), population=round(counts.n_users), targets=None, seed=seed,
        ties=policy, train=_leaves_out(rows), estimator=chosen,
    )  # fmt: skip
    found = estimate(counts, wanted, estimator=chosen, confidence=confidence, seed=seed)
    pairs = counts.pairs_per_user
    cost = {"seconds": seconds, "pairs_per_user": pairs, "pairs": pairs * counts.n_users}
    return Evaluation(found, counts, {**card, "engine": "spark"}, cost)


def _leaves_out(rows: Any) -> bool:
    """Whether the rows, or the files at a path, have a column of training items."""
    if isinstance(rows, (str, os.PathLike)):
        import pyarrow.dataset as ds

        return "train" in ds.dataset(str(rows), format="parquet").schema.names
    return "train" in rows.columns


def _rows(test: Any, train: Any) -> Any:
    """One row a user: ``user_id``, all its targets, and its training items."""
    import pyarrow as pa

    user_id, item_id = interactions(test, "test")
    users, at = np.unique(user_id, return_inverse=True)
    columns = {"user_id": pa.array(users), "item_id": _lists(at, item_id, users.size)}
    if train is not None:
        other, left_out = interactions(train, "train")
        place = np.searchsorted(users, other)
        known = place < users.size
        known[known] = users[place[known]] == other[known]
        columns["train"] = _lists(place[known], left_out[known], users.size)
    return pa.table(columns)


def _lists(row: npt.NDArray[Any], values: npt.NDArray[Any], n_rows: int) -> Any:
    """A column of lists: the values of each row."""
    import pyarrow as pa

    order = np.argsort(row, kind="stable")
    end = np.cumsum(np.bincount(row, minlength=n_rows))
    offsets = np.concatenate([[0], end]).astype(np.int32)
    return pa.ListArray.from_arrays(pa.array(offsets), pa.array(values[order]))
