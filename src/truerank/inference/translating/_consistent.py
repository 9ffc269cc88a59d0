"""The program of all distributions of global ranks that fit published values, or why none does."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from truerank._types import FloatArray, IntArray
from truerank.errors import InputError
from truerank.inference.translating import _published
from truerank.inference.translating._published import Published
from truerank.inference.translating._rank_program import Family, Optimum, Program
from truerank.inference.translating.translation import PublishedProtocol
from truerank.metrics import Metric
from truerank.outcomes.schemes import Scheme

_FEASIBLE = 1e-8  # of a metric's largest gain: what counts as fitting
_NOISE_ROUNDS = 6


@dataclass(frozen=True)
class SampledGain:
    """A metric on the sample: ``mean`` and ``variance`` of its gain for each candidate
    distribution, shape (n_candidates,), and the range of the gain itself."""

    mean: FloatArray
    variance: FloatArray
    spread: float


def sampled_gains(
    metrics: Sequence[Metric], mixtures: Family, protocol: PublishedProtocol
) -> dict[str, SampledGain]:
    """The gains of the metrics on the sample, by key."""
    size = protocol.sample_size
    scheme = Scheme(replacement=protocol.replacement)
    expected = mixtures.expect(_published.moments(metrics, scheme, protocol.n_items, size))
    means, variances = np.split(expected, 2)
    spreads = [np.ptp(metric.gain(np.arange(1, size + 1), size)) for metric in metrics]
    return {
        metric.key: SampledGain(mean, variance, float(spread))
        for metric, mean, variance, spread in zip(metrics, means, variances, spreads, strict=True)
    }


def check_samples(metrics: Sequence[Metric], values: Sequence[Published], sample_size: int) -> None:
    """Raise if no sampled ranks have the values of a model, to rounding: NDCG@10 above HR@10, say.

    All of them are means over the same sampled ranks, so that no noise excuses it.
    """
    rows = np.stack([metric.gain(np.arange(1, sample_size + 1), sample_size) for metric in metrics])
    _program(values, rows, np.arange(sample_size), "sampled ranks")


def fit(
    values: Sequence[Published],
    gains: Mapping[str, SampledGain],
    mixtures: Family,
    protocol: PublishedProtocol,
    n_values: int,
) -> tuple[list[Published], Program]:
    """A model's values with their noise, and the program of the distributions that fit them.

    ``n_values`` of all models are to hold at once: the chance of error is shared among them.
    """
    rows = np.stack([gains[value.metric].mean for value in values])
    kind = f"{'decreasing ' if mixtures.decreasing else ''}distribution of global ranks"
    if protocol.n_users is None:
        return list(values), _program(values, rows, mixtures.start, kind)
    log_odds = float(np.log(2.0 * n_values / (1.0 - protocol.confidence)))
    # The noise of a value grows with the variance averaged over users, which is linear in their
    # distribution. Its maximum over all distributions is safe. So is then its maximum over those
    # that fit within that noise, which makes for less noise, so that fewer fit; and so on.
    most = [float(gains[value.metric].variance.max()) for value in values]
    for _ in range(_NOISE_ROUNDS):
        noisy = [
            replace(
                value,
                noise=_published.noise(
                    top, gains[value.metric].spread, protocol.n_users * protocol.runs, log_odds
                ),
            )
            for value, top in zip(values, most, strict=True)
        ]
        program = _program(noisy, rows, mixtures.start, kind)
        before = most
        most = [program.most(gains[value.metric].variance).value for value in values]
        if np.allclose(before, most, rtol=1e-3, atol=1e-12):
            break
    return noisy, program


def _program(values: Sequence[Published], rows: FloatArray, start: IntArray, kind: str) -> Program:
    """The program of all that fit, ready to be solved; InputError if nothing fits."""
    scale = np.abs(rows).max(axis=1)
    scale[scale == 0.0] = 1.0
    low, high = np.array([value.interval for value in values]).T / scale
    program = Program(rows / scale[:, None], low, high, start)
    nearest = program.relaxed()
    if nearest.value > _FEASIBLE:
        raise InputError(_contradiction(values, rows, program, nearest, kind))
    return _loosened(program, nearest)


def _loosened(program: Program, nearest: Optimum) -> Program:
    """With the slack that arithmetic needs, so that what fits is found to fit."""
    return replace(
        program,
        low=program.low - _FEASIBLE - nearest.over,
        high=program.high + _FEASIBLE + nearest.over,
        start=np.union1d(program.start, nearest.at),
    )


def _contradiction(
    values: Sequence[Published],
    rows: FloatArray,
    program: Program,
    nearest: Optimum,
    kind: str,
) -> str:
    """Which value cannot hold, and what it could be."""
    allowance = "rounding and noise" if any(value.noise for value in values) else "rounding"
    model = values[0].model and f" of {values[0].model}"
    verb = "fit" if kind.endswith("sampled ranks") else "fits"
    message = f"no {kind} {verb} {_listed(values)}{model}, to {allowance}"
    for value, row in zip(values, rows, strict=True):
        low, high = value.interval
        if low > row.max() or high < row.min():
            return f"{message}: sampled {_only(value, row.min(), row.max())}"
    named = int(np.argmax(nearest.over))
    others = [i for i in range(len(values)) if i != named]
    rest = Program(program.rows[others], program.low[others], program.high[others], program.start)
    fits = rest.relaxed()
    if fits.value > _FEASIBLE:
        moved = rows[:, nearest.at] @ nearest.mass
        close = ", ".join(f"{v.metric} {m:.4f}" for v, m in zip(values, moved, strict=True))
        return f"{message}: several cannot hold; the nearest values that fit are {close}"
    rest = _loosened(rest, fits)
    low, high = rest.least(rows[named]).value, rest.most(rows[named]).value
    given = _listed(values[i] for i in others)
    return f"{message}: given {given}, sampled {_only(values[named], low, high)}"


def _only(value: Published, low: float, high: float) -> str:
    return f"{value.metric} can be from {low:.4f} to {high:.4f}, not {value.text}"


def _listed(values: Iterable[Published]) -> str:
    return " and ".join(f"{value.metric}={value.text}" for value in values)
