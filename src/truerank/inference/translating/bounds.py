"""Bounds of global metrics, the distributions that attain them, and what may flip."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from truerank._types import Flip, FloatArray
from truerank.inference.translating._published import Published

# A lead below this is none: it is what the solver is accurate to.
_LEAD = 1e-6


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
    first, judges = published_first(model, other, metric, published)
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


def published_first(
    model: str, other: str, metric: str, published: Sequence[Published]
) -> tuple[str | None, tuple[str, ...]]:
    """The model that the published values put first, and the values that say so.

    The sampled metric of the same name decides if both have it, else all that both have, where
    they agree. Values that may be equal up to rounding do not decide.

    Parameters
    ----------
    model, other : str
        The models.
    metric : str
        The global metric.
    published : list of Published
        What was published of both.

    Returns
    -------
    tuple
        The model, or None; and the published metrics that say so.
    """
    mine, theirs = (
        {value.metric: value for value in published if value.model == name}
        for name in (model, other)
    )
    shared = (
        [metric] if metric in mine and metric in theirs else [key for key in mine if key in theirs]
    )
    above = [key for key in shared if mine[key].low >= theirs[key].high]
    below = [key for key in shared if mine[key].high <= theirs[key].low]
    if bool(above) == bool(below):
        return None, tuple(shared)
    return (model, tuple(above)) if above else (other, tuple(below))


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


def _percent(share: float) -> str:
    return f"{100 * share:.1f} %" if share >= 0.0005 else f"{100 * share:.2g} %"
