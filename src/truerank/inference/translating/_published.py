"""Published sampled metrics: what their texts say, and how they depend on global ranks."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal, InvalidOperation
from typing import Any

import numpy as np

from truerank import metrics as metrics_module
from truerank._types import FloatArray
from truerank.errors import InputError
from truerank.metrics import Metric, MetricLike
from truerank.outcomes import schemes
from truerank.outcomes.schemes import Scheme

_BLOCK = 256  # global ranks at a time
# With one target per user, which published tables are about, these say the same.
_ALIKE = {
    "hit_rate": "recall",
    "recall_min": "recall",
    "ap_all": "ap",
    "reciprocal_rank": "ap",
    "mrr": "ap",
    "rr": "ap",
}


@dataclass(frozen=True)
class Published:
    """One published value.

    Attributes
    ----------
    model : str
        The model; empty if there is one without a name.
    metric : str
        The metric on the sample.
    text : str
        The value as it was written.
    low, high : float
        What rounds to that text.
    noise : float
        The most by which the value, an average over sampled negatives, may differ from its
        expectation at the stated confidence; 0 where no number of users was given.
    """

    model: str
    metric: str
    text: str
    low: float
    high: float
    noise: float = 0.0

    @property
    def label(self) -> str:
        """The value as it was given.

        Returns
        -------
        str
            ``recall@10=0.62``, with the model if it has a name.
        """
        return f"{f'{self.model}: ' if self.model else ''}{self.metric}={self.text}"

    @property
    def value(self) -> float:
        """The value, in the middle of what rounds to the text.

        Returns
        -------
        float
            0.62 for "0.62" and for "62%".
        """
        return (self.low + self.high) / 2.0

    @property
    def interval(self) -> tuple[float, float]:
        """What the expectation of the value may be.

        Returns
        -------
        tuple of float
            Smallest and largest.
        """
        return self.low - self.noise, self.high + self.noise


def one_target(metric: Metric) -> Metric:
    """The metric under the one name that it has for a single target per user."""
    if metric.of_mean_rank:
        raise InputError(
            f"{metric.key} is of the mean rank, and translate is about metrics from 0 to 1: with "
            "pools of one size, give auc, which is 1 - (mr - 1) / (n_items - 1)"
        )
    if metric.function is not None or metric.name not in _ALIKE:
        return metric
    return Metric(_ALIKE[metric.name], metric.k)


def one_target_key(metric: MetricLike) -> str:
    """The key of that metric, as anybody spells it."""
    name, at, cut = metrics_module.key(metric).partition("@")
    return f"{_ALIKE.get(name, name)}{at}{cut}"


def read(
    model: str, values: Mapping[Any, Any], sample_size: int
) -> tuple[tuple[Metric, ...], tuple[Published, ...]]:
    """The metrics and the values of one model, in the order given."""
    metrics: dict[str, Metric] = {}
    found = []
    for name, value in values.items():
        metric, *more = map(one_target, metrics_module.parse(name))
        if more:
            raise InputError(f"sampled metric {name!r} is several; give each its own value")
        if metric.key in metrics:
            raise InputError(f"sampled {metric.key} is given twice{model and f' for {model}'}")
        if metric.k is not None and metric.k > sample_size:
            raise InputError(
                f"k is {metric.k} in sampled {metric.key}; it must be from 1 to "
                f"sample_size={sample_size}"
            )
        metrics[metric.key] = metric
        found.append(_value(model, metric, value, sample_size))
    if not found:
        raise InputError(f"sampled is empty{model and f' for {model}'}; give 'recall@10': '0.62'")
    return tuple(metrics.values()), tuple(found)


def _value(model: str, metric: Metric, value: Any, sample_size: int) -> Published:
    """``0.62`` as what rounds to it, 0.615 to 0.625; ``62.0%`` as 0.6195 to 0.6205."""
    # numpy's floats print their shortest form by str, and their type by repr.
    text = str(value).strip()
    plain = text.removesuffix("%").strip()
    name = f"sampled {metric.key}{model and f' of {model}'}"
    try:
        number = Decimal(plain)
    except InvalidOperation:
        number = Decimal("nan")
    if isinstance(value, bool) or not number.is_finite():
        raise InputError(f"{name} is {text!r}; it must be a number such as 0.62 or 62.0%")
    digits = -int(number.as_tuple().exponent)
    if text != plain:
        number, digits = number / 100, digits + 2
    gain = metric.gain(np.arange(1, sample_size + 1), sample_size)
    worst, best = float(gain.min()), float(gain.max())
    half = Decimal(5).scaleb(-digits - 1)
    low, high = float(number - half), float(number + half)
    if number < 0 or low > best or high < worst or (digits <= 0 and not worst <= number <= best):
        percent = ", or in percent with the sign %" if best < number <= 100 * best else ""
        raise InputError(f"{name} is {text}; it must be from {worst:g} to {best:g}{percent}")
    if digits <= 0:
        raise InputError(
            f"{name} is {text!r}; write the decimals that were published, as in {text}.000: they "
            "say how far it was rounded"
        )
    return Published(model, metric.key, text, low, high)


def moments(
    metrics: Sequence[Metric], scheme: Scheme, n_items: int, sample_size: int
) -> Callable[[FloatArray], FloatArray]:
    """Function of global ranks, shape (n_ranks,), that gives E and then Var of each gain.

    Rows (2 n_metrics, n_ranks): sum over r of P(r | R) g(r), and the variance of g(r) given R.
    """
    every = np.arange(1, sample_size + 1)
    gains = np.stack([metric.gain(every, sample_size) for metric in metrics])
    if sample_size == n_items and not scheme.replacement:  # ranks are exact
        return lambda rank: np.stack(
            [m.gain(rank, n_items) for m in metrics] + [np.zeros(rank.size) for _ in metrics]
        )
    last = int(np.flatnonzero(gains.any(axis=0)).max(initial=0)) + 1
    # Without replacement, what was left out says as much as what was drawn.
    draws = sample_size if scheme.replacement else min(sample_size, n_items - sample_size)

    def at(rank: FloatArray) -> FloatArray:
        result = np.empty((2 * len(metrics), rank.size))
        for first in range(0, rank.size, _BLOCK):
            block = rank[first : first + _BLOCK]
            low, high = _window(block, n_items, sample_size, draws)
            low, high = min(low, last), min(high, last)
            log_p = schemes.log_probability(
                scheme,
                block,
                n_items=n_items,
                sample_size=sample_size,
                sampled_rank=np.arange(low, high + 1),
            )
            chance = np.exp(log_p)
            gain = gains[:, low - 1 : high]
            mean = gain @ chance
            result[: len(metrics), first : first + _BLOCK] = mean
            spread = np.maximum(gain**2 @ chance - mean**2, 0.0)
            result[len(metrics) :, first : first + _BLOCK] = spread
        return result

    return at


def _window(rank: FloatArray, n_items: int, sample_size: int, draws: int) -> tuple[int, int]:
    """First and last sampled rank that any of the increasing ``rank`` has a chance to be seen at.

    Bernstein's inequality for ``draws`` puts less than 1e-25 beyond 10 standard deviations and 40.
    """
    share = (rank[[0, -1]] - 1.0) / (n_items - 1.0)
    mean = 1.0 + share * (sample_size - 1.0)
    widest = min(max(0.5, share[0]), share[1])  # the share nearest to a half
    reach = 10.0 * np.sqrt(draws * widest * (1.0 - widest)) + 40.0
    return max(int(mean[0] - reach), 1), min(int(mean[1] + reach) + 1, sample_size)


def noise(variance: float, spread: float, n_users: int, log_odds: float) -> float:
    """The deviation of a mean over users that has at most chance ``2 exp(-log_odds)``.

    Bernstein's bound for terms of mean variance ``variance`` and range ``spread``, or Hoeffding's
    where that is smaller: both hold for any number of users.
    """
    step = spread * log_odds / (3.0 * n_users)
    bernstein = step + np.sqrt(step**2 + 2.0 * variance * log_odds / n_users)
    return float(min(bernstein, spread * np.sqrt(log_odds / (2.0 * n_users))))
