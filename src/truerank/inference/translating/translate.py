"""`translate`: what published sampled metrics permit the global ones to be."""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np

from truerank import _checks, mapping
from truerank import metrics as metrics_module
from truerank import progress as _progress
from truerank._types import FloatArray
from truerank.errors import InputError
from truerank.inference.translating import _consistent, _published, _rank_program
from truerank.inference.translating._published import Published
from truerank.inference.translating._rank_program import Family, Program
from truerank.inference.translating.translation import (
    Bounds,
    Example,
    MappedCut,
    PublishedProtocol,
    Translation,
    compare,
)
from truerank.metrics import Metric, MetricLike
from truerank.outcomes import _ranks
from truerank.outcomes.schemes import Scheme
from truerank.progress import Progress


def translate(
    sampled: Mapping[Any, Any],
    metrics: MetricLike | Iterable[MetricLike] | None = None,
    *,
    n_items: int,
    sample_size: int | None = None,
    num_negatives: int | None = None,
    replacement: bool | None = None,
    n_users: int | None = None,
    confidence: float = 0.95,
    decreasing: bool = False,
    progress: Progress = None,
) -> Translation:
    """The smallest and largest global metrics that fit published sampled ones.

    Parameters
    ----------
    sampled : dict
        Published values by metric, ``{"hr@10": "0.62", "ndcg@10": "0.360"}``, or such by model,
        ``{"A": {...}, "B": {...}}``. The decimals say how far a value was rounded: 0.62 is
        anything from 0.615 to 0.625. Give text to keep final zeros; ``"62.0%"`` works too.
    metrics : str, Metric or list of these, optional
        The global metrics to bound, as in `truerank.estimate`; unless stated, those that were
        published.
    n_items : int
        Items a target is ranked among in the full evaluation, itself included; the same for all
        users.
    sample_size : int, optional
        Items a target was ranked among in the sample, itself included.
    num_negatives : int, optional
        The same without the target: give one of the two.
    replacement : bool, optional
        Whether an item may be drawn twice for a user; with replacement unless stated.
    n_users : int, optional
        Users the values are averages over, each with negatives of its own (users times runs, for
        a mean over runs). Values may then differ from their expectations by the sampling noise;
        unless stated, they are taken to be expectations, rounded.
    confidence : float, default 0.95
        With ``n_users``: the probability, at the least, that all deviations of all models stay
        within the noise allowed for.
    decreasing : bool, default False
        Consider only distributions in which no rank has more users than the rank before it.
    progress : callable or bool, optional
        As in `truerank.estimate`.

    Returns
    -------
    Translation
        ``result["recall@10"].low`` and ``.high``, with a distribution that attains each; for
        several models ``result["A", "recall@10"]`` and ``result.comparisons``: whether their order
        can flip.

    Raises
    ------
    InputError
        If no distribution of ranks fits a model's values; the message names the value.

    Examples
    --------
    >>> found = tr.translate(
    ...     {"hr@10": "0.62"}, "recall@100", n_items=1000, num_negatives=99, replacement=False
    ... )
    >>> print(f"{found['recall@100'].low:.3f} to {found['recall@100'].high:.3f}")
    0.290 to 1.000
    """
    protocol = _protocol(
        n_items, sample_size, num_negatives, replacement, n_users, confidence, decreasing
    )
    if replacement is None:
        _ranks.warn_if_replacement_matters(
            np.array([protocol.sample_size]), np.array([protocol.n_items])
        )
    models = _models(sampled)
    read = {
        name: _published.read(name, values, protocol.sample_size) for name, values in models.items()
    }
    asked = _asked(metrics, [found for found, _ in read.values()], protocol.n_items)
    n_values = sum(len(values) for _, values in read.values())
    seen = metrics_module.parse([metric for found, _ in read.values() for metric in found])
    mixtures = _rank_program.family(
        protocol.n_items,
        protocol.sample_size,
        replacement=protocol.replacement,
        decreasing=protocol.decreasing,
        edges=[metric.k for metric in asked],
    )
    gains = _consistent.sampled_gains(seen, mixtures, protocol)
    costs = mixtures.expect(
        lambda rank: np.stack([metric.gain(rank, protocol.n_items) for metric in asked])
    )
    published: list[Published] = []
    bounds: list[Bounds] = []
    with _progress.reporting(progress, len(read) * len(asked), "bounding") as advance:
        for _, values in read.values():
            fitted, program = _consistent.fit(values, gains, mixtures, protocol, n_values)
            published += fitted
            for metric, cost in zip(asked, costs, strict=True):
                bounds.append(_bound(fitted[0].model, metric, cost, program, mixtures))
                advance(1)
    return Translation(
        protocol,
        tuple(published),
        _mapped(seen, protocol),
        tuple(bounds),
        tuple(
            compare(one, other, metric.key, published, bounds)
            for one, other in itertools.combinations(models, 2)
            for metric in asked
        ),
    )


def _protocol(
    n_items: Any,
    sample_size: Any,
    num_negatives: Any,
    replacement: Any,
    n_users: Any,
    confidence: Any,
    decreasing: Any,
) -> PublishedProtocol:
    pool = _checks.integer(n_items, "n_items", low=2, why="the target and at least one other item")
    size = _ranks.sample_sizes(sample_size, num_negatives, 1)
    scheme = Scheme(replacement=True if replacement is None else replacement)
    scheme.check(np.array([pool]), size, np.ones(1, dtype=np.int64))
    if n_users is not None:
        n_users = _checks.integer(n_users, "n_users", low=1)
    confidence = _checks.real(confidence, "confidence", low=0.0, open_low=True, high=1.0)
    if confidence == 1.0:
        raise InputError("confidence is 1; it must be below 1")
    if not isinstance(decreasing, (bool, np.bool_)):
        raise InputError(f"decreasing is {decreasing!r}; it must be True or False")
    return PublishedProtocol(
        pool, int(size[0]), scheme.replacement, n_users, confidence, bool(decreasing)
    )


def _models(sampled: Any) -> dict[str, Mapping[Any, Any]]:
    """Values by model; one without a name is called by the empty text."""
    if not isinstance(sampled, Mapping) or not sampled:
        raise InputError(f"sampled is {sampled!r}; give a dict such as {{'recall@10': '0.62'}}")
    nested = [isinstance(value, Mapping) for value in sampled.values()]
    if all(nested):
        models = {str(name): values for name, values in sampled.items()}
        if len(models) < len(sampled) or (len(models) > 1 and "" in models):
            raise InputError(
                f"models are {list(sampled)}; their names must differ and not be empty"
            )
        return models
    if any(nested):
        raise InputError("sampled mixes values and models; give values by metric for each model")
    return {"": sampled}


def _asked(
    metrics: Any, published: Iterable[tuple[Metric, ...]], n_items: int
) -> tuple[Metric, ...]:
    if metrics is None:
        metrics = [metric for found in published for metric in found]
    asked = metrics_module.parse(metrics)
    for metric in asked:
        if metric.k is not None and metric.k > n_items:
            raise InputError(f"k is {metric.k} in {metric.key}; the pool has {n_items} items")
    return asked


def _mapped(seen: Iterable[Metric], protocol: PublishedProtocol) -> tuple[MappedCut, ...]:
    sizes = {"n_items": protocol.n_items, "sample_size": protocol.sample_size}
    return tuple(
        MappedCut(metric.key, name, float(mapping.get(name)(metric.k, **sizes)))
        for metric in seen
        if metric.k is not None
        for name in mapping.USUAL
    )


def _bound(
    model: str, metric: Metric, cost: FloatArray, program: Program, mixtures: Family
) -> Bounds:
    scale = float(np.abs(cost).max()) or 1.0
    ends = program.least(cost / scale), program.most(cost / scale)
    low, high = (
        Example(
            tuple(mixtures.rank[end.at].tolist()), tuple(end.mass.tolist()), mixtures.decreasing
        )
        for end in ends
    )
    return Bounds(model, metric.key, ends[0].value * scale, ends[1].value * scale, low, high)
