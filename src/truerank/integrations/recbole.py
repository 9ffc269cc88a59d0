"""RecBole: what its sampled evaluation (``uni100``) would have been on the whole catalogue."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from truerank._types import IntArray
from truerank.errors import InputError
from truerank.inference.estimates import Estimates, estimate
from truerank.inference.result import Result, plain
from truerank.metrics import MetricLike, parse
from truerank.outcomes.counts import RankCounts

__all__ = ["Corrected", "evaluate"]


@dataclass(frozen=True)
class Corrected(Result):
    """RecBole's own metrics among the sample, beside those of the whole catalogue.

    Attributes
    ----------
    own : mapping of str to float
        What ``trainer.evaluate`` returned.
    estimates : Estimates
        The same metrics for the whole catalogue, with intervals.

    Examples
    --------
    >>> counts = tr.RankCounts.from_ranks([1, 3, 1, 9], n_items=500, num_negatives=19)
    >>> est = tr.estimate(counts, "recall@10")
    >>> tr.integrations.recbole.Corrected({"recall@10": 1.0}, est).rows()[0]["recbole"]
    1.0
    """

    own: Mapping[str, float]
    estimates: Estimates

    def rows(self) -> list[dict[str, Any]]:
        """One dict per metric: RecBole's value, ours, and the ends of its interval.

        Returns
        -------
        list of dict
            Keys ``metric``, ``recbole``, ``corrected``, ``low``, ``high``, ``resolvable``.

        Examples
        --------
        >>> counts = tr.RankCounts.from_ranks([1, 3, 1, 9], n_items=500, num_negatives=19)
        >>> found = tr.integrations.recbole.Corrected({}, tr.estimate(counts, "recall@10"))
        >>> list(found.rows()[0])
        ['metric', 'recbole', 'corrected', 'low', 'high', 'resolvable']
        """
        own = {parse(name)[0].key: value for name, value in self.own.items() if _known(name)}
        return [
            {
                "metric": one.metric,
                "recbole": own.get(one.metric),
                "corrected": one.value,
                "low": one.low,
                "high": one.high,
                "resolvable": one.resolvable,
            }
            for one in self.estimates.values()
        ]

    def to_dict(self) -> dict[str, Any]:
        """Everything as plain data, ready for JSON.

        Returns
        -------
        dict
            ``recbole``: its own metrics; and what `Estimates.to_dict` has.

        Examples
        --------
        >>> counts = tr.RankCounts.from_ranks([1, 3, 1, 9], n_items=500, num_negatives=19)
        >>> found = tr.integrations.recbole.Corrected({}, tr.estimate(counts, "recall@10"))
        >>> found.to_dict()["recbole"]
        {}
        """
        return {"recbole": plain(dict(self.own)), **self.estimates.to_dict()}

    def __repr__(self) -> str:
        return self.to_markdown()


def evaluate(
    trainer: Any,
    eval_data: Any,
    *,
    metrics: MetricLike | Iterable[MetricLike] | None = None,
    confidence: float | None = 0.95,
    **options: Any,
) -> Corrected:
    """Run ``trainer.evaluate`` and correct what it says for the whole catalogue.

    RecBole draws negatives (``mode: uni100``) from the items that a user has in no part of the
    data, and all targets of the user meet all of them; an item drawn twice counts once.

    Parameters
    ----------
    trainer : recbole.trainer.Trainer
        The trainer.
    eval_data : recbole.data.dataloader.NegSampleEvalDataLoader
        The data to evaluate on, such as the test data, with ``mode: uniN``.
    metrics : str, Metric or list of them, optional
        What to estimate; the metrics of RecBole's configuration unless stated.
    confidence : float or None, default 0.95
        Confidence of the intervals; None for none.
    **options
        Passed on to ``trainer.evaluate``, such as ``load_best_model=False``.

    Returns
    -------
    Corrected
        A table of RecBole's metrics and ours.

    Raises
    ------
    InputError
        If the evaluation samples nothing, or not uniformly.

    Examples
    --------
    >>> tr.integrations.recbole.evaluate(None, None)
    Traceback (most recent call last):
    ...
    truerank.errors.InputError: eval_data is of type NoneType; it must be a loader of RecBole ...
    """
    sampler: Any = getattr(eval_data, "_sampler", None)
    full = "FullSort" in type(eval_data).__name__
    if full or not hasattr(sampler, "used_ids") or not hasattr(trainer, "_neg_sample_batch_eval"):
        raise InputError(
            f"eval_data is of type {type(eval_data).__name__}; it must be a loader of RecBole that "
            "samples negatives (eval_args: mode: uni100); a full evaluation needs no correction"
        )
    if getattr(sampler, "distribution", "uniform") != "uniform":
        raise InputError(
            f"RecBole draws negatives by {sampler.distribution!r}; only uniform ones (mode: uniN) "
            "can be corrected"
        )
    seen: list[tuple[IntArray, ...]] = []
    run = trainer._neg_sample_batch_eval

    def watched(batch: Any) -> Any:
        answer = run(batch)
        seen.append(_ranks(batch, answer, eval_data, sampler.used_ids))
        return answer

    trainer._neg_sample_batch_eval = watched
    try:
        own = trainer.evaluate(eval_data, **options)
    finally:
        trainer._neg_sample_batch_eval = run
    users, items, rank, size, pool = (np.concatenate(part) for part in zip(*seen, strict=True))
    counts = RankCounts.from_ranks(
        rank, n_items=pool, sample_size=size, replacement=False, user_ids=users, item_ids=items,
        rank_among="negatives", shared_negatives=True,
    )  # fmt: skip
    wanted = [name for name in own if _known(name)] if metrics is None else metrics
    return Corrected(dict(own), estimate(counts, wanted, confidence=confidence))


def _ranks(batch: Any, answer: Any, data: Any, used: Any) -> tuple[IntArray, ...]:
    """User, item, rank, sample size and pool of each target of a batch."""
    interaction, row = batch[0], np.asarray(batch[1])
    scores = answer[1].detach().cpu().numpy()
    place, item = np.asarray(answer[2].cpu()), np.asarray(answer[3].cpu())
    user = np.zeros(scores.shape[0], dtype=np.int64)
    user[row] = interaction[data.dataset.uid_field].cpu().numpy()
    own = scores[place, item]
    negatives = scores.copy()
    negatives[place, item] = -np.inf  # targets are no negatives of each other
    negatives = negatives[place]
    above = (negatives > own[:, None]).sum(axis=1)
    # Ties in the order of item numbers: by no score of the model.
    column = np.arange(scores.shape[1])
    tied = (negatives == own[:, None]) & np.isfinite(negatives) & (column < item[:, None])
    size = np.isfinite(negatives).sum(axis=1) + 1
    left_out = np.array([len(used[one]) for one in user[place].tolist()])
    pool = data.dataset.item_num - 1 - left_out + 1  # item 0 is padding
    return user[place], item, above + tied.sum(axis=1) + 1, size, pool


def _known(name: str) -> bool:
    try:
        parse(name)
    except InputError:
        return False
    return True


def __dir__() -> list[str]:
    return sorted(__all__)
