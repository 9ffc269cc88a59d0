"""What `translate` gives: global metrics with intervals, the order of models, and bounds."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

from truerank import _checks
from truerank._types import TrainingItems
from truerank.inference.result import Result, plain
from truerank.inference.translating import _published
from truerank.inference.translating._published import Published
from truerank.inference.translating.bounds import Bounds, PossibleFlip, compare
from truerank.metrics import MetricLike

# Users that values are taken to be averages over where nobody says: few, to be cautious.
ASSUMED_USERS = 1000


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
        Users that the values are averages over; None if that is not known.
    confidence : float
        Confidence of the intervals; also the probability, at the least, that values stay within
        the noise that bounds allow for.
    decreasing : bool
        Whether bounds are about distributions in which no rank has more users than the rank
        before it.
    training_items : {"left-out", "kept"}
        Whether users' training items were left out of the items that their targets are ranked
        among.
    runs : int
        Runs, with negatives of their own, that the values are averages over.
    """

    n_items: int
    sample_size: int
    replacement: bool
    n_users: int | None
    confidence: float
    decreasing: bool
    training_items: TrainingItems = "left-out"
    runs: int = 1

    @property
    def users(self) -> int:
        """Users that the values are averages over, assumed if not known.

        Returns
        -------
        int
            1,000 if nobody says.
        """
        return ASSUMED_USERS if self.n_users is None else self.n_users

    def __str__(self) -> str:
        drawn = "with" if self.replacement else "without"
        parts = [
            f"pool of {self.n_items:,} items",
            f"samples of {self.sample_size:,}, {drawn} replacement",
        ]
        if self.n_users is not None:
            parts.append(f"{self.n_users:,} users, {100 * self.confidence:g} %")
        if self.runs > 1:
            parts.append(f"{self.runs} runs")
        if self.training_items == "kept":
            parts.append("training items kept")
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
class Translated:
    """The estimate of a global metric.

    Attributes
    ----------
    model : str
        The model; empty if there is one without a name.
    metric : str
        The global metric.
    value : float
        The estimate: what an exact evaluation of the same users would say.
    low, high : float
        Interval of the stated confidence, by all that is known of the error.
    naive : float or None
        The published sampled value of the same name, taken as it is; None if there is none.
    total_error : float
        Root mean squared error.
    resolvable : bool
        False where the interval is too wide to settle anything, see `truerank.estimate`; or where
        no smooth distribution of ranks has the published values.
    """

    model: str
    metric: str
    value: float
    low: float
    high: float
    naive: float | None
    total_error: float
    resolvable: bool

    def __str__(self) -> str:
        sign = "" if self.resolvable else " ?"
        return f"{self.value:.4f}{sign} [{self.low:.4f}, {self.high:.4f}]"


@dataclass(frozen=True)
class Lead:
    """Which of two models is ahead on a global metric, and how sure that is.

    Attributes
    ----------
    metric : str
        The global metric.
    model, other : str
        The model that is likely ahead, and the one behind.
    probability : float
        The probability that it is, at least a half. Errors of the two are taken to be independent.
    published_first : str or None
        The model that the published values put first.
    """

    metric: str
    model: str
    other: str
    probability: float
    published_first: str | None

    @property
    def flips(self) -> bool:
        """Whether the published order is likely to flip.

        Returns
        -------
        bool
            True if the model published second is likely ahead.
        """
        return self.published_first == self.other

    def __str__(self) -> str:
        how = f"{self.metric}: {self.model} is ahead of {self.other}"
        sure = f"with probability {self.probability:.2f}"
        if self.flips:
            return f"{how} {sure}; the published values say the reverse."
        return f"{how} {sure}."


@dataclass(frozen=True, repr=False)
class Translation(Result):
    """What published sampled values say about the whole catalogue.

    ``result["recall@10"]`` (one model) or ``result["A", "recall@10"]`` gives ``value``, ``low`` and
    ``high``. ``result.bounds`` are the smallest and largest values over all distributions of ranks
    that fit, whatever their shape; they are computed when first asked for.

    Attributes
    ----------
    protocol : PublishedProtocol
        How the values were sampled.
    mapped : tuple of MappedCut
        The global cut-offs that the sampled ones stand for.
    estimates : tuple of Translated
        The estimate of each model and metric, with its interval.
    leads : tuple of Lead
        Each pair of models on each metric: who is ahead, and how sure that is.
    strained : tuple of str
        Models whose values no smooth distribution of ranks has.

    Examples
    --------
    >>> found = tr.translate(
    ...     {"A": {"hr@10": "0.62"}, "B": {"hr@10": "0.52"}},
    ...     n_items=1000,
    ...     num_negatives=99,
    ...     replacement=False,
    ... )
    >>> found.comparisons[0].flip
    'yes'
    >>> print(found.leads[0])
    recall@10: A is ahead of B with probability 0.6...
    """

    protocol: PublishedProtocol
    mapped: tuple[MappedCut, ...]
    estimates: tuple[Translated, ...]
    leads: tuple[Lead, ...]
    strained: tuple[str, ...]
    _read: tuple[Published, ...]
    _bounding: Callable[[], tuple[tuple[Published, ...], tuple[Bounds, ...]]] = field(compare=False)

    def __getitem__(self, key: MetricLike | tuple[str, MetricLike]) -> Translated:
        model, metric = self._named(key)
        return next(e for e in self.estimates if (e.model, e.metric) == (model, metric))

    def _ipython_key_completions_(self) -> list[Any]:
        """Metrics, of several models with the model, for the tab key in a notebook."""
        several = len({one.model for one in self.estimates}) > 1
        return [(one.model, one.metric) if several else one.metric for one in self.estimates]

    def bound(self, key: MetricLike | tuple[str, MetricLike]) -> Bounds:
        """The smallest and largest value of a global metric.

        Parameters
        ----------
        key : str or pair of str
            The metric, or (model, metric).

        Returns
        -------
        Bounds
            ``low``, ``high`` and a distribution of ranks that attains each.

        Examples
        --------
        >>> found = tr.translate(
        ...     {"hr@10": "0.62"}, n_items=1000, num_negatives=99, replacement=False
        ... )
        >>> round(found.bound("recall@10").high, 3)
        0.625
        """
        model, metric = self._named(key)
        return next(b for b in self.bounds if (b.model, b.metric) == (model, metric))

    @cached_property
    def _bounded(self) -> tuple[tuple[Published, ...], tuple[Bounds, ...]]:
        return self._bounding()

    @property
    def published(self) -> tuple[Published, ...]:
        """The values that were read, with the noise that bounds allow for.

        Returns
        -------
        tuple of Published
            In the order given.

        Examples
        --------
        >>> found = tr.translate(
        ...     {"A": {"hr@10": "0.62"}, "B": {"hr@10": "0.52"}},
        ...     n_items=1000,
        ...     num_negatives=99,
        ...     replacement=False,
        ... )
        >>> [value.label for value in found.published]
        ['A: recall@10=0.62', 'B: recall@10=0.52']
        """
        return self._bounded[0]

    @property
    def bounds(self) -> tuple[Bounds, ...]:
        """Bounds for each model and metric, whatever the distribution of ranks.

        Returns
        -------
        tuple of Bounds
            In the order of ``estimates``.

        Examples
        --------
        >>> found = tr.translate(
        ...     {"A": {"hr@10": "0.62"}, "B": {"hr@10": "0.52"}},
        ...     n_items=1000,
        ...     num_negatives=99,
        ...     replacement=False,
        ... )
        >>> [round(bounds.high, 3) for bounds in found.bounds]
        [0.625, 0.525]
        """
        return self._bounded[1]

    @cached_property
    def comparisons(self) -> tuple[PossibleFlip, ...]:
        """Whether each pair of models may change places on each metric, by the bounds.

        Returns
        -------
        tuple of PossibleFlip
            Yes, no or cannot tell.

        Examples
        --------
        >>> found = tr.translate(
        ...     {"A": {"hr@10": "0.62"}, "B": {"hr@10": "0.52"}},
        ...     n_items=1000,
        ...     num_negatives=99,
        ...     replacement=False,
        ... )
        >>> found.comparisons[0].flip
        'yes'
        """
        models = list(dict.fromkeys(one.model for one in self.estimates))
        metrics = list(dict.fromkeys(one.metric for one in self.estimates))
        return tuple(
            compare(one, other, metric, self.published, self.bounds)
            for one, other in itertools.combinations(models, 2)
            for metric in metrics
        )

    @property
    def flips(self) -> tuple[Lead, ...]:
        """Pairs whose published order is likely to flip, the surest first.

        Returns
        -------
        tuple of Lead
            Those of ``leads`` whose model was published second.

        Examples
        --------
        >>> found = tr.translate(
        ...     {"A": {"hr@10": "0.62"}, "B": {"hr@10": "0.52"}},
        ...     n_items=1000,
        ...     num_negatives=99,
        ...     replacement=False,
        ... )
        >>> found.flips
        ()
        """
        flipped = [lead for lead in self.leads if lead.flips]
        return tuple(sorted(flipped, key=lambda lead: -lead.probability))

    @property
    def sentences(self) -> list[str]:
        """What each sampled cut-off stands for, in words.

        Returns
        -------
        list of str
            One sentence per cut-off; recall speaks for others of the same.

        Examples
        --------
        >>> found = tr.translate(
        ...     {"hr@10": "0.62"}, n_items=1000, num_negatives=99, replacement=False
        ... )
        >>> found.sentences[0][:50]
        'Sampled recall@10 is about global recall@96 (bound'
        """
        by_cut: dict[str, str] = {}
        for metric in dict.fromkeys(mapped.metric for mapped in self.mapped):
            name, _, cut = metric.partition("@")
            if name == "recall" or cut not in by_cut:
                by_cut[cut] = metric
        return [
            _stands_for(metric, {m.mapping: m.global_k for m in self.mapped if m.metric == metric})
            for metric in by_cut.values()
        ]

    @property
    def assumptions(self) -> list[str]:
        """What the estimates rest on besides the values, in words.

        Returns
        -------
        list of str
            One sentence per assumption that nobody stated, or that the values strain.

        Examples
        --------
        >>> found = tr.translate(
        ...     {"A": {"hr@10": "0.62"}, "B": {"hr@10": "0.52"}},
        ...     n_items=1000,
        ...     num_negatives=99,
        ...     replacement=False,
        ... )
        >>> found.assumptions[0][:35]
        'The number of users was not given: '
        """
        found = []
        if self.protocol.n_users is None:
            found.append(
                f"The number of users was not given: estimates allow for the noise of "
                f"{ASSUMED_USERS:,} users, bounds for none."
            )
        found += [
            f"No smooth distribution of ranks has the values{model and f' of {model}'}: the "
            "protocol may not be what it seems (sample size, pool, how negatives were drawn, "
            "several targets)."
            for model in self.strained
        ]
        return found

    def rows(self) -> list[dict[str, Any]]:
        return [{name: getattr(one, name) for name in _COLUMNS} for one in self.estimates]

    def to_dict(self) -> dict[str, Any]:
        return {
            **plain(self.protocol),
            "published": plain(self.published),
            "mapped": plain(self.mapped),
            "estimates": plain(self.estimates),
            "bounds": plain(self.bounds),
            "leads": [{**plain(lead), "flips": lead.flips} for lead in self.leads],
            "comparisons": plain(self.comparisons),
            "assumptions": self.assumptions,
        }

    def _named(self, key: MetricLike | tuple[str, MetricLike]) -> tuple[str, str]:
        """Model and metric, if they are there."""
        model, metric = key if isinstance(key, tuple) else (self.estimates[0].model, key)
        wanted = _published.one_target_key(metric)
        models = list(dict.fromkeys(one.model for one in self.estimates))
        if not isinstance(key, tuple) and len(models) > 1:
            raise KeyError(
                f"{_checks.shown(metric)} of which model? There are: {', '.join(models)}"
            )
        if any((one.model, one.metric) == (model, wanted) for one in self.estimates):
            return model, wanted
        there = ", ".join(f"{one.model and f'{one.model}: '}{one.metric}" for one in self.estimates)
        raise KeyError(f"{_checks.shown(key)} was not translated; there are: {there}")

    def _headline(self) -> str:
        return f"Translation · {self.protocol}"

    def _remarks(self) -> list[str]:
        return [*self.assumptions, *self.sentences, *map(str, self.flips)]

    def __repr__(self) -> str:
        lines = [self._headline()]
        lines += [f"  from {', '.join(value.label for value in self._read)}"]
        for one in self.estimates:
            name = f"{one.model and f'{one.model}: '}{one.metric}"
            lines.append(f"  {name:<14} {one}")
        lines += [f"  {lead}" for lead in self.flips]
        return "\n".join(lines)


_COLUMNS = ("model", "metric", "value", "low", "high")  # of tables


def _stands_for(metric: str, cuts: dict[str, float]) -> str:
    at = {name: f"{cut:.0f}" for name, cut in cuts.items()}
    others = f"linear {at['linear']}, beta(1) {at['beta(1)']}"
    if metric.startswith("recall@"):
        middle = f"is about global recall@{at['bound']} (bound) to recall@{at['beta(0.5)']}"
    else:
        middle = f"reaches to about global rank {at['bound']} (bound) to {at['beta(0.5)']}"
    return f"Sampled {metric} {middle} (beta 0.5); {others}."
