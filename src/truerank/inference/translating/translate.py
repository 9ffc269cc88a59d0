"""`translate`: global metrics from published sampled ones."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping, Sequence
from functools import partial
from typing import Any, Protocol, get_args, overload

import numpy as np

from truerank import _arguments, _checks, mapping
from truerank import metrics as metrics_module
from truerank import progress as _progress
from truerank._types import FloatArray, TrainingItems
from truerank.errors import InputError
from truerank.inference.translating import _answering, _consistent, _published, _rank_program
from truerank.inference.translating._published import Published
from truerank.inference.translating._rank_program import Family, Program
from truerank.inference.translating.bounds import Bounds, Example
from truerank.inference.translating.translation import (
    MappedCut,
    PublishedProtocol,
    Translated,
    Translation,
)
from truerank.inference.translating.translations import TranslatedTable
from truerank.metrics import Metric, MetricLike
from truerank.outcomes import _ranks
from truerank.outcomes._ranks import LARGEST_POOL
from truerank.outcomes.schemes import Scheme
from truerank.progress import Progress


class Framed(Protocol):
    """A table: a pandas, polars or pyarrow one."""

    @property
    def columns(self) -> Any:
        """Its columns."""
        ...


@overload
def translate(
    sampled: Mapping[Any, Any],
    metrics: MetricLike | Iterable[MetricLike] | None = ...,
    *,
    n_items: int | None = ...,
    sample_size: int | None = ...,
    num_negatives: int | None = ...,
    replacement: bool | None = ...,
    n_users: int | None = ...,
    runs: int = ...,
    training_items: TrainingItems = ...,
    confidence: float = ...,
    decreasing: bool = ...,
    progress: Progress = ...,
) -> Translation: ...


@overload
def translate(
    sampled: str | os.PathLike[str] | Framed,
    metrics: MetricLike | Iterable[MetricLike] | None = ...,
    *,
    n_items: int | None = ...,
    sample_size: int | None = ...,
    num_negatives: int | None = ...,
    replacement: bool | None = ...,
    n_users: int | None = ...,
    runs: int = ...,
    training_items: TrainingItems = ...,
    confidence: float = ...,
    decreasing: bool = ...,
    progress: Progress = ...,
) -> TranslatedTable: ...


def translate(
    sampled: Mapping[Any, Any] | str | os.PathLike[str] | Framed,
    metrics: MetricLike | Iterable[MetricLike] | None = None,
    *,
    n_items: int | None = None,
    sample_size: int | None = None,
    num_negatives: int | None = None,
    replacement: bool | None = None,
    n_users: int | None = None,
    runs: int = 1,
    training_items: TrainingItems = "left-out",
    confidence: float = 0.95,
    decreasing: bool = False,
    progress: Progress = None,
) -> Translation | TranslatedTable:
    """Global metrics from published sampled ones: estimates with intervals, and bounds.

    The estimate is that of `truerank.estimate` with ``estimator="smooth"``, given the published
    values instead of the sampled ranks: the posterior of a smooth distribution of global ranks, by
    the same priors, and the same allowance for its misfit.

    Parameters
    ----------
    sampled : dict, table or path
        Published values by metric, ``{"hr@10": "0.62", "ndcg@10": "0.360"}``, or such by model,
        ``{"A": {...}, "B": {...}}``. The decimals say how far a value was rounded: 0.62 is
        anything from 0.615 to 0.625. Give text to keep final zeros; ``"62.0%"`` works too.

        Or a whole table, as pandas, polars or pyarrow table or the path of a .csv, .tsv or .parquet
        file: columns ``model``, ``metric``, ``value`` and, as far as they are not the same for all
        rows, ``dataset``, ``n_items`` and ``n_users``.
    metrics : str, Metric or list of these, optional
        The global metrics to estimate, as in `truerank.estimate`; unless stated, those that were
        published.
    n_items : int, optional
        Items a target is ranked among in the full evaluation, itself included; the same for all
        users. Only a table may say it instead.
    sample_size : int, optional
        Items a target was ranked among in the sample, itself included.
    num_negatives : int, optional
        The same without the target: give one of the two.
    replacement : bool, optional
        Whether an item may be drawn twice for a user; with replacement unless stated.
    n_users : int, optional
        Users that the values are averages over. Unless stated, estimates allow for the noise of
        1,000 users, and bounds for none: values are then expectations, rounded.
    runs : int, default 1
        Runs that the values are averages over, each with negatives of its own.
    training_items : {"left-out", "kept"}
        Whether users' training items were left out of the items that targets are ranked among, as
        they usually are, or kept among them.
    confidence : float, default 0.95
        Confidence of the intervals. For bounds with ``n_users``: the probability, at the least,
        that all deviations of all models stay within the noise allowed for.
    decreasing : bool, default False
        For bounds: consider only distributions in which no rank has more users than the rank before
        it.
    progress : callable or bool, optional
        As in `truerank.estimate`.

    Returns
    -------
    Translation or TranslatedTable
        ``result["recall@10"].value``, ``.low`` and ``.high``; for several models ``result["A",
        "recall@10"]`` and ``result.leads``: who is ahead, and how sure that is. ``result.bounds``
        holds for any distribution of ranks. A table gives ``result["dataset"]``, a Translation, and
        ``result.problems``, the rows that could not be used.

    Raises
    ------
    InputError
        If no sampled ranks have a model's values; the message names the value.

    Examples
    --------
    >>> found = tr.translate(
    ...     {"hr@1": "0.21", "hr@10": "0.62", "ndcg@10": "0.39"},
    ...     "recall@10",
    ...     n_items=3706,
    ...     num_negatives=99,
    ...     n_users=6040,
    ... )
    >>> print(found["recall@10"])
    0.1... ? [0.0..., 0.1...]
    >>> print(f"{found.bound('recall@10').low:.3f} to {found.bound('recall@10').high:.3f}")
    0.000 to 0.292
    """
    _arguments.check(translate, locals())
    options: dict[str, Any] = {
        "sample_size": sample_size,
        "num_negatives": num_negatives,
        "replacement": replacement,
        "confidence": confidence,
        "decreasing": decreasing,
        "training_items": training_items,
        "runs": runs,
    }
    if not _is_table(sampled):
        models = _models(sampled)
        protocol = make_protocol(n_items=n_items, n_users=n_users, **options)
        if replacement is None:
            sizes = np.array([protocol.sample_size]), np.array([protocol.n_items])
            _ranks.warn_if_replacement_matters(*sizes)
        read = {
            name: _published.read(name, values, protocol.sample_size)
            for name, values in models.items()
        }
        return translated(read, _asked(metrics), protocol, progress)
    from truerank.inference.translating._table import translate_table

    table = translate_table(
        sampled,
        _asked(metrics),
        lambda n_items, n_users: make_protocol(n_items=n_items, n_users=n_users, **options),
        n_items=n_items,
        n_users=n_users,
        progress=progress,
    )
    if replacement is None:
        made = [one.protocol for one in table.translations.values()]
        sizes = np.array([p.sample_size for p in made]), np.array([p.n_items for p in made])
        _ranks.warn_if_replacement_matters(*sizes)
    return table


def translated(
    read: Mapping[str, tuple[tuple[Metric, ...], tuple[Published, ...]]],
    asked: Sequence[Metric] | None,
    protocol: PublishedProtocol,
    progress: Progress = None,
) -> Translation:
    """The translation of models whose values are read and have one protocol.

    Parameters
    ----------
    read : dict
        Metrics and values by model, as ``_published.read`` gives them.
    asked : list of Metric or None
        The global metrics; those published if None.
    protocol : PublishedProtocol
        How the values were sampled.
    progress : callable or bool, optional
        As in `truerank.estimate`.

    Returns
    -------
    Translation
        Estimates at once; bounds when they are asked for.
    """
    seen = metrics_module.parse([metric for found, _ in read.values() for metric in found])
    wanted = tuple(seen if asked is None else asked)
    for metric in wanted:
        if metric.k is not None and metric.k > protocol.n_items:
            raise InputError(
                f"k is {metric.k} in {metric.key}; the pool has {protocol.n_items} items"
            )
    for metrics, values in read.values():
        _consistent.check_samples(metrics, values, protocol.sample_size)
    values = tuple(value for _, one in read.values() for value in one)
    bounding = partial(_bounded, read, wanted, seen, protocol)
    if protocol.decreasing:  # to rule such distributions out is what it is for
        bounding = partial(_same, bounding())
    samples = _answering.sampled(protocol, (*wanted, *seen))
    estimates: list[Translated] = []
    strained = []
    with _progress.reporting(progress, len(read), "translating") as advance:
        for name, (metrics, own) in read.items():
            found, is_strained = _answering.answer(metrics, own, wanted, samples, protocol)
            estimates += found
            strained += [name] if is_strained else []
            advance(1)
    return Translation(
        protocol,
        _mapped(seen, protocol),
        tuple(estimates),
        tuple(_answering.leads(estimates, values, protocol)),
        tuple(strained),
        values,
        bounding,
    )


def _same(found: Any) -> Any:
    return found


def _bounded(
    read: Mapping[str, tuple[tuple[Metric, ...], tuple[Published, ...]]],
    asked: Sequence[Metric],
    seen: Sequence[Metric],
    protocol: PublishedProtocol,
) -> tuple[tuple[Published, ...], tuple[Bounds, ...]]:
    """The values with their noise, and bounds for each model and metric."""
    n_values = sum(len(values) for _, values in read.values())
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
    for _, values in read.values():
        fitted, program = _consistent.fit(values, gains, mixtures, protocol, n_values)
        published += fitted
        for metric, cost in zip(asked, costs, strict=True):
            bounds.append(_bound(fitted[0].model, metric, cost, program, mixtures))
    return tuple(published), tuple(bounds)


def make_protocol(
    *,
    n_items: Any,
    sample_size: Any,
    num_negatives: Any,
    replacement: Any,
    n_users: Any,
    confidence: Any,
    decreasing: Any,
    training_items: Any,
    runs: Any,
) -> PublishedProtocol:
    """The protocol, if it is one; parameters as in `translate`.

    Parameters
    ----------
    n_items, sample_size, num_negatives, replacement : object
        How negatives were drawn.
    n_users, confidence, decreasing, training_items, runs : object
        The rest.

    Returns
    -------
    PublishedProtocol
        Checked.
    """
    if n_items is None:
        raise InputError("n_items is missing: how many items the catalogue has")
    pool = _checks.integer(n_items, "n_items", low=2, why="the target and at least one other item")
    _checks.integer(pool, "n_items", low=2, high=LARGEST_POOL)
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
    if training_items not in get_args(TrainingItems):
        raise _checks.unknown("training_items", training_items, get_args(TrainingItems))
    return PublishedProtocol(
        pool,
        int(size[0]),
        scheme.replacement,
        n_users,
        confidence,
        bool(decreasing),
        training_items,
        _checks.integer(runs, "runs", low=1),
    )


def _is_table(sampled: Any) -> bool:
    """Whether it is a path or any kind of table, not values by metric or model."""
    if isinstance(sampled, Mapping):
        return False
    return isinstance(sampled, (str, os.PathLike)) or hasattr(type(sampled), "columns")


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


def _asked(metrics: Any) -> tuple[Metric, ...] | None:
    if metrics is None:
        return None
    return metrics_module.parse(map(_published.one_target, metrics_module.parse(metrics)))


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
