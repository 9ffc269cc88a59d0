"""Gaussian priors of log-spline coefficients: what rank distributions look like before the data.

Two families, whose evidence decides between them:

- **slopes**: d log P / d x strays from the slope of a power law, ``MEAN_SLOPE``, by a Gaussian
  process and comes back to it. Where ranks are too small for the sample to tell them apart, it
  strays by no more than ``HEAD_AMPLITUDE``, however rough the rest is: a cliff in the tail (half of
  the targets tied at one score) says nothing about the head. Training items that are kept in the
  ranking stand before the targets and bend the first ranks down: where they may have been kept,
  which users' pools of one size leave open, half of the priors expect that bend.
- **normal scores**: if items' scores are normal, and targets' too with another mean and spread
  (the binormal model of ROC curves), log P is a parabola in u(R) = Phi^-1((R - 3/8) / (N + 1/4)).
  The parabola is nearly free, and the slope strays from its line by a Gaussian process. Further
  priors are rougher in the head: models that memorise pull targets up there.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache

import numpy as np

from truerank._types import FloatArray
from truerank.estimators._logspline import rank_at, sites

# -- slopes --------------------------------------------------------------------------------------
# About the slopes of real evaluations (docs/smooth.md has them): -0.7 to -0.4 at the first ranks.
MEAN_SLOPE = -0.4
AMPLITUDES = (0.15, 0.4, 1.0, 2.5)
LENGTHS = (1.0, 3.0)  # in x
HEAD_AMPLITUDE, HEAD_EDGE = 0.6, 0.5
# Beyond the first ranks, x > TAIL, slopes also stray together.
TAIL, TAIL_AMPLITUDE, TAIL_LENGTH = -2.0, 1.0, 3.0
LEVEL = 5.0
# A law that strays from a base measure with the shape of a law: fewer will do, errors are the same.
ABOUT_AMPLITUDES = (0.15, 0.6, 2.5)
ABOUT_LENGTH = 1.0
# Ranks below about BEND_AT lose BEND of their slope where training items were kept.
BEND, BEND_AT, BEND_EDGE = 1.0, 30.0, 0.7

# -- normal scores -------------------------------------------------------------------------------
# Prior standard deviations of the parabola's coefficients, in u.
PARABOLA = (3.0, 2.0, 0.5)
SCORE_AMPLITUDES = (0.1, 0.3, 1.0, 3.0)
SCORE_LENGTHS = (3.0, 1.5, 0.7)
# With the shortest length also so many times as far in the head: ranks below about HEAD N / n.
ROUGHER, HEAD, SCORE_EDGE = 21.0, 3.0, 0.2

# Prior weights: of both families, and of the bend where all pools are alike.
SLOPES_SHARE = 0.73
BENT_SHARE = 0.5

_FINE = 150  # intervals on which a process of slopes is integrated


@dataclass(frozen=True)
class Path:
    """Priors of rising amplitude: c ~ N(centre, LL') for each L of ``factors``."""

    centre: FloatArray
    factors: tuple[FloatArray, ...]
    log_weight: float  # of each of them


@lru_cache(maxsize=64)
def paths(n_items: int, n_functions: int, sample_size: int, *, may_bend: bool) -> tuple[Path, ...]:
    """All priors; ``sample_size`` says where the head ends."""
    site = sites(n_items, n_functions)
    bends = {0.0: 1.0 - BENT_SHARE, BEND: BENT_SHARE} if may_bend else {0.0: 1.0}
    found = []
    for bend, share in bends.items():
        found += _slopes(site, n_items, sample_size, bend, share * SLOPES_SHARE)
    return (*found, *_normal_scores(site, n_items, sample_size, 1.0 - SLOPES_SHARE))


@lru_cache(maxsize=64)
def paths_about(n_items: int, n_functions: int, sample_size: int) -> tuple[Path, ...]:
    """Priors of how a law strays from a base measure that has the shape of a law itself."""
    site = sites(n_items, n_functions)
    return tuple(_slopes(site, n_items, sample_size, -MEAN_SLOPE, 1.0, everywhere=True))


def _slopes(
    site: FloatArray,
    n_items: int,
    sample_size: int,
    bend: float,
    share: float,
    *,
    everywhere: bool = False,
) -> list[Path]:
    from scipy.special import expit

    middle, integral = _integration(site)
    log_rank = np.log(rank_at(middle, n_items))
    head = expit((np.log(n_items / sample_size) - log_rank) / HEAD_EDGE)
    bent = np.ones_like(log_rank) if everywhere else expit((np.log(BEND_AT) - log_rank) / BEND_EDGE)
    slope = MEAN_SLOPE + bend * bent
    reach = expit(middle - TAIL)
    tail = TAIL_AMPLITUDE**2 * np.outer(reach, reach) * _matern(middle, TAIL_LENGTH)
    priors: list[list[FloatArray]] = []
    amplitudes, lengths = (
        (ABOUT_AMPLITUDES, (ABOUT_LENGTH,)) if everywhere else (AMPLITUDES, LENGTHS)
    )
    for length in lengths:
        correlation = _matern(middle, length)
        priors.append([])
        for amplitude in amplitudes:
            stray = amplitude + (min(amplitude, HEAD_AMPLITUDE) - amplitude) * head
            process = np.outer(stray, stray) * correlation + tail
            priors[-1].append(_root(LEVEL**2 + integral @ process @ integral.T))
    return _weighed(integral @ slope, priors, share)


def _normal_scores(site: FloatArray, n_items: int, sample_size: int, share: float) -> list[Path]:
    from scipy.special import ndtr, ndtri

    rank = np.clip(rank_at(site, n_items), 1.0, n_items)
    score = ndtri((rank - 0.375) / (n_items + 0.25))
    powers = np.stack([np.ones_like(score), score, score**2 - 1.0]) * np.array(PARABOLA)[:, None]
    middle, integral = _integration(score)
    head = ndtr((ndtri(min(HEAD / sample_size, 0.5)) - middle) / SCORE_EDGE)
    rough = 1.0 + (ROUGHER - 1.0) * head
    processes = [_matern(middle, length) for length in SCORE_LENGTHS]
    processes.append(processes[-1] * np.outer(rough, rough))
    wanders = [integral @ process @ integral.T for process in processes]
    priors = [
        [_root(powers.T @ powers + amplitude**2 * wander) for amplitude in SCORE_AMPLITUDES]
        for wander in wanders
    ]
    return _weighed(np.zeros_like(site), priors, share)


def _weighed(
    centre: FloatArray, priors: Sequence[Sequence[FloatArray]], share: float
) -> list[Path]:
    """Paths that share a prior weight evenly."""
    each = float(np.log(share / sum(map(len, priors))))
    return [Path(centre, tuple(factors), each) for factors in priors]


def _integration(site: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Middles of fine intervals, and the matrix that integrates from 0 to each site."""
    edge = np.linspace(site[0], site[-1], _FINE + 1)
    width = edge[1] - edge[0]
    covered = np.clip(site[:, None] - edge[:-1], 0.0, width) - np.clip(-edge[:-1], 0.0, width)
    return (edge[1:] + edge[:-1]) / 2.0, covered


def _matern(at: FloatArray, length: float) -> FloatArray:
    """Covariance of a Matern 3/2 process of standard deviation 1."""
    apart = np.sqrt(3.0) * np.abs(at[:, None] - at) / length
    return np.asarray((1.0 + apart) * np.exp(-apart))


def _root(covariance: FloatArray) -> FloatArray:
    values, vectors = np.linalg.eigh(covariance)
    return np.asarray(vectors * np.sqrt(np.maximum(values, 1e-10 * values[-1])))
