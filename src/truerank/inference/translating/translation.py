"""What `translate` gives: bounds with the distributions that attain them, and comparisons."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from truerank import metrics as metrics_module
from truerank._types import Flip, FloatArray
from truerank.inference.result import Result, plain
from truerank.inference.translating._published import Published
from truerank.metrics import MetricLike

# A lead below this is none: it is what the solver is accurate to.
_LEAD = 1e-6


@dataclass(frozen=True)
class PublishedProtocol:
    """How the published values were sampled, and what is assumed of the ranks.

    Attributes
    ----------
    n_items : int
        Items a target is ranked among in the full evaluation, itself included.
    sample_size : int
        Items it was ranked among in the sample, itself included.
    replacement : bool
        Whether an item may be drawn twice for a user.
    n_users : int or None
        Users that the values are averages over; None if no noise is allowed for.
    confidence : float
        The probability, at the least, that values stay within the noise allowed for.
    decreasing : bool
        Whether no rank has more users than the rank before it.
    """

    n_items: int
    sample_size: int
    replacement: bool
    n_users: int | None
    confidence: float
    decreasing: bool

    def __str__(self) -> str:
        drawn = "with" if self.replacement else "without"
        parts = [
            f"pool of {self.n_items:,} items",
            f"samples of {self.sample_size:,}, {drawn} replacement",
        ]
        if self.n_users is not None:
            parts.append(f"{self.n_users:,} users, {100 * self.confidence:g} %")
        if self.decreasing:
            parts.append("decreasing")
        return " · ".join(parts)


@dataclass(frozen=True)
class MappedCut:
    """The global cut-off that a sampled one stands for (see `truerank.mapping`).

    Attributes
    ----------
    metric : str
        The sampled metric, with its cut-off.
    mapping : str
        The mapping.
    global_k : float
        About the global rank that it cuts off at; sampled recall is about global recall there.
    """

    metric: str
    mapping: str
    global_k: float


@dataclass(frozen=True)
class Example:
    """A distribution of global ranks.

    Attributes
    ----------
    rank : tuple of int
        Ranks, 1-based.
    share : tuple of float
        The share of users at each of them.
    spread : bool
        Whether a share is spread evenly over all ranks from 1 to its rank.
    """

    rank: tuple[int, ...]
    share: tuple[float, ...]
    spread: bool

    def cdf(self, k: Any) -> FloatArray:
        """The probability of a global rank of at most k.

        Parameters
        ----------
        k : int or array of int
            Ranks, 1-based.

        Returns
        -------
        array
            Of the shape of ``k``.
        """
        k = np.asarray(k, dtype=np.float64)[..., None]
        rank = np.array(self.rank, dtype=np.float64)
        reached = np.minimum(np.floor(k) / rank, 1.0) if self.spread else k >= rank
        return np.asarray(np.maximum(reached, 0.0) @ np.array(self.share))

    def __str__(self) -> str:
        # "21.4 % of users at rank 14, 40.4 % at 158", "19.1 % of users over ranks 1 to 169, ..."
        at, rank = ("over", "ranks ") if self.spread else ("at", "rank ")
        ends = [f"1 to {end:,}" if self.spread else f"{end:,}" for end in self.rank]
        return ", ".join(
            f"{_percent(share)} {at} {end}" if i else f"{_percent(share)} of users {at} {rank}{end}"
            for i, (share, end) in enumerate(zip(self.share, ends, strict=True))
        )


@dataclass(frozen=True)
class Bounds:
    """The smallest and largest value of a global metric.

    Attributes
    ----------
    model : str
        The model; empty if there is one without a name.
    metric : str
        The global metric.
    low, high : float
        Its smallest and largest value.
    low_example, high_example : Example
        A distribution of ranks that attains each.
    """

    model: str
    metric: str
    low: float
    high: float
    low_example: Example
    high_example: Example


@dataclass(frozen=True)
class FlipSide:
    """A model whose ranks fit what was published, and what the global metric is then.

    Attributes
    ----------
    model : str
        The model.
    value : float
        The global metric.
    example : Example
        The distribution of its ranks.
    """

    model: str
    value: float
    example: Example

    def __str__(self) -> str:
        return f"{self.model} {self.value:.4f}: {self.example}"


@dataclass(frozen=True)
class PossibleFlip:
    """Whether two models may change places on a global metric.

    Attributes
    ----------
    metric : str
        The global metric.
    model, other : str
        The two models.
    flip : {"yes", "no", "cannot tell"}
        ``"cannot tell"`` where the published values themselves do not put one model first.
    published_first : str or None
        The model that the published values put first.
    judges : tuple of str
        The published metrics that say so.
    global_first : str or None
        The model that is ahead whatever the ranks; None if either may be.
    low, high : float
        Bounds of the metric of ``model`` less that of ``other``.
    examples : tuple of FlipSide
        If ``flip`` is ``"yes"``: the model published first at its lowest, the other at its highest.
    """

    metric: str
    model: str
    other: str
    flip: Flip
    published_first: str | None
    judges: tuple[str, ...]
    global_first: str | None
    low: float
    high: float
    examples: tuple[FlipSide, ...] = ()

    def __str__(self) -> str:
        return f"{self.metric}: {_verdict(self)}"


@dataclass(frozen=True, repr=False)
class Translation(Result):
    """What published sampled values permit the global metrics to be.

    ``result["recall@10"]`` (one model) or ``result["A", "recall@10"]`` gives ``low``, ``high`` and
    a distribution of ranks that attains each.

    Attributes
    ----------
    protocol : PublishedProtocol
        How the values were sampled.
    published : tuple of Published
        The values that were read.
    mapped : tuple of MappedCut
        The global cut-offs that the sampled ones stand for.
    bounds : tuple of Bounds
        Bounds for each model and metric.
    comparisons : tuple of PossibleFlip
        Each pair of models on each metric.

    Examples
    --------
    >>> found = tr.translate(
    ...     {"A": {"hr@10": "0.62"}, "B": {"hr@10": "0.58"}},
    ...     n_items=1000,
    ...     num_negatives=99,
    ...     replacement=False,
    ... )
    >>> found.comparisons[0].flip
    'yes'
    """

    protocol: PublishedProtocol
    published: tuple[Published, ...]
    mapped: tuple[MappedCut, ...]
    bounds: tuple[Bounds, ...]
    comparisons: tuple[PossibleFlip, ...]

    def __getitem__(self, key: MetricLike | tuple[str, MetricLike]) -> Bounds:
        model, metric = key if isinstance(key, tuple) else (self.published[0].model, key)
        wanted = metrics_module.key(metric)
        models = list(dict.fromkeys(value.model for value in self.published))
        if not isinstance(key, tuple) and len(models) > 1:
            raise KeyError(f"{metric!r} of which model? There are: {', '.join(models)}")
        for bounds in self.bounds:
            if (bounds.model, bounds.metric) == (model, wanted):
                return bounds
        there = ", ".join(
            f"{bounds.model and f'{bounds.model}: '}{bounds.metric}" for bounds in self.bounds
        )
        raise KeyError(f"{key!r} was not bounded; there are: {there}")

    @property
    def sentences(self) -> list[str]:
        """What each sampled cut-off stands for, in words.

        Returns
        -------
        list of str
            One sentence per cut-off; recall or hit rate speaks for others of the same.

        Examples
        --------
        >>> found = tr.translate(
        ...     {"hr@10": "0.62"}, n_items=1000, num_negatives=99, replacement=False
        ... )
        >>> found.sentences[0][:50]
        'Sampled hit_rate@10 is about global hit_rate@96 (b'
        """
        by_cut: dict[str, str] = {}
        for metric in dict.fromkeys(mapped.metric for mapped in self.mapped):
            name, _, cut = metric.partition("@")
            if name in _OF_TARGETS or cut not in by_cut:
                by_cut[cut] = metric
        return [
            _stands_for(metric, {m.mapping: m.global_k for m in self.mapped if m.metric == metric})
            for metric in by_cut.values()
        ]

    def rows(self) -> list[dict[str, Any]]:
        return [{name: getattr(bounds, name) for name in _COLUMNS} for bounds in self.bounds]

    def to_dict(self) -> dict[str, Any]:
        content: dict[str, Any] = plain(self)
        return {**content.pop("protocol"), **content}

    def _headline(self) -> str:
        return f"Translation · {self.protocol}"

    def _remarks(self) -> list[str]:
        return [*self.sentences, *map(str, self.comparisons)]

    def __repr__(self) -> str:
        lines = [self._headline()]
        lines += [f"  from {', '.join(value.label for value in self.published)}"]
        for bounds in self.bounds:
            name = f"{bounds.model and f'{bounds.model}: '}{bounds.metric}"
            lines.append(f"  {name:<14} {bounds.low:.5f} to {bounds.high:.5f}")
        lines += [f"  {comparison}" for comparison in self.comparisons]
        return "\n".join(lines)


_COLUMNS = ("model", "metric", "low", "high")  # of tables
_OF_TARGETS = ("recall", "hit_rate")  # the share of targets up to a cut-off; users have one here
_WITH_ONE_TARGET = {"hit_rate": "recall", "recall_min": "recall", "mrr": "ap", "ap_all": "ap"}


def compare(
    model: str, other: str, metric: str, published: Sequence[Published], bounds: Sequence[Bounds]
) -> PossibleFlip:
    """Whether two models may change places on a metric.

    Their distributions are free of one another, so the difference is bounded by the bounds.

    Parameters
    ----------
    model, other : str
        The models.
    metric : str
        The global metric.
    published : list of Published
        What was published of both.
    bounds : list of Bounds
        Their bounds.

    Returns
    -------
    PossibleFlip
        Yes, no or cannot tell.
    """
    one, two = (
        next(b for b in bounds if (b.model, b.metric) == (name, metric)) for name in (model, other)
    )
    low, high = one.low - two.high, one.high - two.low
    ahead = model if low > _LEAD else other if high < -_LEAD else None
    first, judges = _published_first(model, other, metric, published)
    if first is None:
        return PossibleFlip(metric, model, other, "cannot tell", None, judges, ahead, low, high)
    above, below = (one, two) if first == model else (two, one)
    if below.high - above.low <= _LEAD:
        return PossibleFlip(metric, model, other, "no", first, judges, ahead, low, high)
    examples = (
        FlipSide(above.model, above.low, above.low_example),
        FlipSide(below.model, below.high, below.high_example),
    )
    return PossibleFlip(metric, model, other, "yes", first, judges, ahead, low, high, examples)


def _published_first(
    model: str, other: str, metric: str, published: Sequence[Published]
) -> tuple[str | None, tuple[str, ...]]:
    """The model that the published values put first, and the values that say so.

    The sampled metric of the same name decides if both have it, else all that both have, where
    they agree. Values that may be equal but for rounding do not decide.
    """
    mine, theirs = (
        {_alike(value.metric): value for value in published if value.model == name}
        for name in (model, other)
    )
    same = _alike(metric)
    shared = [same] if same in mine and same in theirs else [key for key in mine if key in theirs]
    above = [key for key in shared if mine[key].low >= theirs[key].high]
    below = [key for key in shared if mine[key].high <= theirs[key].low]
    names = {key: mine[key].metric for key in shared}
    if bool(above) == bool(below):
        return None, tuple(names.values())
    first, judges = (model, above) if above else (other, below)
    return first, tuple(names[key] for key in judges)


def _alike(metric: str) -> str:
    """The metric that this one is where users have one target."""
    name, at, cut = metric.partition("@")
    return f"{_WITH_ONE_TARGET.get(name, name)}{at}{cut}"


def _verdict(found: PossibleFlip) -> str:
    lead = min(abs(found.low), abs(found.high))
    if found.published_first is None:
        order = f"cannot tell; the published values do not order {found.model} and {found.other}, "
        if found.global_first is None:
            return f"{order}and either may lead."
        return f"{order}but {found.global_first} must lead, by {lead:.4f} or more."
    first = found.published_first
    second = found.other if first == found.model else found.model
    verb = "puts" if len(found.judges) == 1 else "put"
    published = f"sampled {' and '.join(found.judges)} {verb} {first} ahead"
    if found.flip == "no":
        return f"no; {published}, and {second} cannot lead."
    if found.global_first == second:
        return f"yes; {published}, but {second} must lead, by {lead:.4f} or more."
    most = -found.low if first == found.model else found.high
    return f"yes; {published}, but {second} may lead by up to {most:.4f}."


def _stands_for(metric: str, cuts: dict[str, float]) -> str:
    at = {name: f"{cut:.0f}" for name, cut in cuts.items()}
    others = f"linear {at['linear']}, beta(1) {at['beta(1)']}"
    name = metric.partition("@")[0]
    if name in _OF_TARGETS:
        middle = f"is about global {name}@{at['bound']} (bound) to {name}@{at['beta(0.5)']}"
    else:
        middle = f"reaches to about global rank {at['bound']} (bound) to {at['beta(0.5)']}"
    return f"Sampled {metric} {middle} (beta 0.5); {others}."


def _percent(share: float) -> str:
    return f"{100 * share:.1f} %" if share >= 0.0005 else f"{100 * share:.2g} %"
