"""Estimates of global metrics: the posterior of a smooth law given published values."""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from truerank import _blas
from truerank._types import FloatArray
from truerank.estimators import Fit
from truerank.estimators._moments import Means, MeansPosterior, Sampled, fit_means
from truerank.estimators._posterior import Posterior
from truerank.estimators.likelihood import likelihood
from truerank.inference.intervals.error_law import ErrorLaw
from truerank.inference.intervals.interval import FREEDOM, intervals, t_quantile
from truerank.inference.intervals.misfit import Stray, stray
from truerank.inference.translating._published import Published
from truerank.inference.translating.bounds import published_first
from truerank.inference.translating.translation import Lead, PublishedProtocol, Translated
from truerank.metrics import Metric
from truerank.outcomes.counts import RankCounts
from truerank.outcomes.schemes import Scheme

# The chance below which values are not taken for those of a smooth law with noise.
_STRAINED = 1e-6


def sampled(protocol: PublishedProtocol, metrics: Sequence[Metric]) -> Sampled:
    """The samples behind all values of a table, on a support that resolves ``metrics``."""
    scheme = Scheme(protocol.replacement)
    return Sampled.of(scheme, protocol.n_items, protocol.sample_size, metrics)


@_blas.one_thread()
def answer(
    seen: Sequence[Metric],
    values: Sequence[Published],
    asked: Sequence[Metric],
    samples: Sampled,
    protocol: PublishedProtocol,
) -> tuple[list[Translated], bool]:
    """Estimates of the metrics asked for, and whether the values strain the law."""
    means = Means(
        tuple(seen),
        np.array([value.value for value in values]),
        np.array([(value.high - value.low) ** 2 / 12.0 for value in values]),
        float(protocol.users),
        protocol.runs,
    )
    found = fit_means(samples, means, may_bend=protocol.training_items == "kept")
    value, law, ranks = found.answer(asked)
    fit = Fit(
        {metric.key: float(one) for metric, one in zip(asked, value, strict=True)},
        found.distribution,
        found.converged,
    )
    none = np.zeros(len(asked))
    of_real = _stray(found, fit, asked, law**2 + ranks**2)
    ends = intervals(
        fit,
        ErrorLaw(none, ranks, law, none, *of_real, none),
        asked,
        means.n_users,
        confidence=protocol.confidence,
    )
    strained = _chance(found) < _STRAINED
    named = {one.metric: one.value for one in values}
    caps = _caps(found, values, protocol.confidence)
    return [
        Translated(
            values[0].model,
            metric.key,
            float(estimate),
            end.low,
            max(min(end.high, caps.get(metric.key, math.inf)), float(estimate)),
            named.get(metric.key),
            end.total_error,
            end.resolvable and not strained,
        )
        for metric, estimate, end in zip(asked, value, ends, strict=True)
    ], strained


def leads(
    estimates: Sequence[Translated], published: Sequence[Published], protocol: PublishedProtocol
) -> list[Lead]:
    """Who is ahead of whom, on each metric, and how sure that is."""
    found = []
    for metric in dict.fromkeys(one.metric for one in estimates):
        here = [one for one in estimates if one.metric == metric]
        for one, other in itertools.combinations(here, 2):
            ahead, behind = (one, other) if one.value >= other.value else (other, one)
            first, _ = published_first(one.model, other.model, metric, published)
            chance = _ahead(ahead, behind, protocol.confidence)
            found.append(Lead(metric, ahead.model, behind.model, chance, first))
    return found


def _stray(found: MeansPosterior, fit: Fit, asked: Sequence[Metric], spread: FloatArray) -> Stray:
    """Lumps and misfit, as those of a table with the sampled ranks that the law expects."""
    samples, n_users = found.sampled, found.seen.n_users
    if samples.is_exact:
        return Stray(*np.zeros((3, len(asked))))
    size = samples.sample_size
    share = samples.chance @ found.distribution.mass
    counts = RankCounts.from_outcomes(
        samples.scheme,
        n_items=np.full(size, samples.support.n_items),
        sample_size=np.full(size, size),
        sampled_rank=np.arange(1, size + 1),
        weight=n_users * share / share.sum(),
    )
    model = likelihood(counts, samples.support)
    posterior = Posterior(model, found.spline, found.components, n_users)
    return stray(counts, replace(fit, posterior=posterior), asked, spread, seen=False)


def _caps(
    found: MeansPosterior, values: Sequence[Published], confidence: float
) -> dict[str, float]:
    """What a global metric cannot exceed: the sampled one of the same name, and its noise.

    A sample holds a part of the items, so that a target ranks at least as high in it. Not so for
    auc, where the share of the items counts.
    """
    noise = t_quantile(0.5 + confidence / 2.0) * np.sqrt(np.diag(found.covariance))
    return {
        value.metric: value.high + float(more)
        for metric, value, more in zip(found.seen.metrics, values, noise, strict=True)
        if metric.function is None and not metric.depends_on_pool
    }


def _chance(found: MeansPosterior) -> float:
    """The chance of values at least as far from the law as these, by chi-square."""
    from scipy.special import chdtrc

    off = found.seen.value - found.rows @ found.distribution.mass
    return float(chdtrc(off.size, off @ np.linalg.solve(found.covariance, off)))


def _ahead(ahead: Translated, behind: Translated, confidence: float) -> float:
    """The probability that a model is ahead: the one may fall, the other rise, independently."""
    from scipy.special import stdtr

    reach = t_quantile(0.5 + confidence / 2.0)
    fall = _logit(ahead.value) - _logit(ahead.low)
    rise = _logit(behind.high) - _logit(behind.value)
    error = math.hypot(fall, rise) / reach
    lead = _logit(ahead.value) - _logit(behind.value)
    return float(stdtr(FREEDOM, lead / error)) if error > 0.0 else 1.0 if lead > 0.0 else 0.5


def _logit(value: float) -> float:
    share = min(max(value, 1e-12), 1.0 - 1e-12)
    return math.log(share) - math.log1p(-share)
