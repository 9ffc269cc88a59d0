"""Ways to correct the same draws: the law and the pools that a correction assumes.

The draws are without replacement, each user's from the user's own pool: the law of the paper's
uncorrected cells. What the paper corrected them by is not said. `INFERRED` is the way that gives
its printed cells, `BY_USER` the one that fits the draws, and `TODAY` what `truerank.estimate` does
unless stated.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np

from truerank._types import FloatArray
from truerank.designs import Fixed
from truerank.inference.intervals.redraw import distinct
from truerank.outcomes.counts import RankCounts
from truerank.outcomes.schemes import Scheme, log_probability
from truerank_papers.experiments.kr20._recommenders import DATA, ESTIMATORS, METRICS
from truerank_papers.experiments.ranks import GlobalRanks
from truerank_papers.experiments.run import Run, refit

MOST_TIED = 64  # ranks that a tied target is given in expectations


@dataclass(frozen=True)
class Protocol:
    """What a correction takes the draws for.

    Parameters
    ----------
    name
        What tables call it.
    replacement
        Whether it takes them for draws with replacement (binomial ranks).
    pool
        What it takes for the number of items: each user's pool, the mean pool, or all items.
    nonnegative
        Whether the gains of `cls` must be at least 0.
    estimators
        The estimators, in the order of tables.
    """

    name: str
    replacement: bool = False
    pool: Literal["user", "mean", "catalogue"] = "user"
    nonnegative: bool = False
    estimators: tuple[str, ...] = ESTIMATORS

    @property
    def assumed(self) -> str:
        """The law, the pool and the bound, in words."""
        law = "binomial" if self.replacement else "hypergeometric"
        pool = {"user": "each user's pool", "mean": "the mean pool", "catalogue": "all items"}
        return f"{law}, {pool[self.pool]}" + ", gains of cls >= 0" * self.nonnegative

    @property
    def names(self) -> list[str]:
        """The estimators with their options."""
        bound = "cls(nonnegative=True)" if self.nonnegative else "cls"
        return [bound if estimator == "cls" else estimator for estimator in self.estimators]


INFERRED = Protocol("inferred", replacement=True, pool="mean", nonnegative=True)
BY_USER = Protocol("by user")
TODAY = Protocol("today", estimators=("smooth",))
TRIED = (
    INFERRED,
    Protocol("", replacement=True, pool="mean"),
    Protocol("", replacement=True, pool="user", nonnegative=True),
    Protocol("", replacement=True, pool="catalogue", nonnegative=True),
    Protocol("", pool="mean", nonnegative=True),
    Protocol("", pool="user", nonnegative=True),
    BY_USER,
)


def values(
    run: Run,
    name: str,
    ranks: GlobalRanks,
    protocol: Protocol,
    *,
    repeats: int,
    m: int = 100,
    metrics: Sequence[str] = METRICS,
) -> FloatArray:
    """Estimate metrics from redrawn samples by a protocol; all protocols see the same draws.

    Parameters
    ----------
    run
        The run that needs them.
    name
        Name of the recommender.
    ranks
        Its exact ranks.
    protocol
        How draws are corrected.
    repeats
        Number of redraws.
    m
        Number of negatives.
    metrics
        What to estimate.

    Returns
    -------
    ndarray
        In percent, shape (repeats, n_estimators, n_metrics).
    """
    what = f"KR20 {name} m={m}"
    design = Fixed(sample_size=m + 1, replacement=False)
    n_items = run.split(DATA).item_ids.size

    def estimated(first: int, last: int) -> FloatArray:
        drawn = ranks.sampled(design, run.rngs(what, first, last))
        return refit(*assumed(*drawn, protocol, n_items), protocol.names, metrics)

    key = [ranks.digest, repr(design), protocol.assumed, protocol.names, list(metrics)]
    return 100 * run.repeated(what, estimated, key=key, repeats=repeats, part=20)


def assumed(
    outcomes: RankCounts, weight: FloatArray, protocol: Protocol, n_items: int
) -> tuple[RankCounts, FloatArray]:
    """Relabel outcomes as what a protocol takes them for.

    Parameters
    ----------
    outcomes
        The distinct outcomes of all draws.
    weight
        How often each occurs in each draw, shape (n_draws, n_outcomes).
    protocol
        The law and the pools to assume.
    n_items
        Number of all items.

    Returns
    -------
    outcomes : RankCounts
        The distinct outcomes under the assumed law.
    weight : ndarray
        How often each occurs, shape (n_draws, n_outcomes).
    """
    pool = outcomes.n_items
    if protocol.pool == "mean":
        pool = np.full_like(pool, round(float(np.average(pool, weights=weight.sum(axis=0)))))
    elif protocol.pool == "catalogue":
        pool = np.full_like(pool, n_items)
    columns = [np.zeros_like(pool), pool, outcomes.sample_size, outcomes.sampled_rank]
    relabelled, row = distinct((Scheme(protocol.replacement),), np.stack(columns))
    total = np.zeros((weight.shape[0], relabelled.n_outcomes))
    np.add.at(total.T, row, weight.T)
    return relabelled, total


def expected(ranks: GlobalRanks, sample_size: int, *, replacement: bool) -> RankCounts:
    """Compute how often each outcome occurs in expectation over draws.

    Estimators that are a mean of gains give their own expectation from these counts.

    Parameters
    ----------
    ranks
        Exact ranks.
    sample_size
        Number of items per sample, the target included.
    replacement
        Whether an item may be drawn twice.

    Returns
    -------
    RankCounts
        Pools and sampled ranks, with weights that sum to the number of users. A target shares its
        weight evenly among its tied ranks, or among 64 of them, evenly spaced, if there are more.
    """
    each = np.minimum(ranks.tied + 1, MOST_TIED)
    within = np.arange(each.sum()) - np.repeat(np.cumsum(each) - each, each)
    step = np.repeat((ranks.tied + 1) / each, each)  # 1 where every tied rank has its place
    above = np.repeat(ranks.above, each) + np.floor((within + 0.5) * step).astype(np.int64)
    pools, pool = np.unique(np.repeat(ranks.n_items, each), return_inverse=True)
    share = np.repeat(1.0 / each, each)
    total = np.zeros((pools.size, sample_size))
    for i, n_items in enumerate(pools.tolist()):
        here = pool == i
        log_p = log_probability(
            Scheme(replacement),
            above[here] + 1,
            n_items=n_items,
            sample_size=sample_size,
            sampled_rank=np.arange(1, sample_size + 1),
        )
        total[i] = np.exp(log_p) @ share[here]
    which, hit = np.nonzero(total)
    return RankCounts.from_outcomes(
        Scheme(replacement),
        n_items=pools[which],
        sample_size=np.full(which.size, sample_size),
        sampled_rank=hit + 1,
        weight=total[which, hit],
        n_users=float(ranks.n_users),
    )


def means(counts: RankCounts, protocol: Protocol, n_items: int) -> FloatArray:
    """Compute what a protocol gives in expectation over draws; its estimators must be linear.

    Parameters
    ----------
    counts
        How often each outcome occurs in expectation.
    protocol
        How draws are corrected.
    n_items
        Number of all items.

    Returns
    -------
    ndarray
        In percent, shape (n_estimators, n_metrics).
    """
    table = assumed(counts, counts.weight[None, :], protocol, n_items)
    return np.asarray(100 * refit(*table, protocol.names, METRICS)[0])


def in_errors(ours: FloatArray, printed: float, printed_sd: float, printed_repeats: int) -> float:
    """Count how many standard errors two means lie apart.

    Parameters
    ----------
    ours
        Our repeats.
    printed, printed_sd
        The printed mean and standard deviation.
    printed_repeats
        Number of repeats behind them.

    Returns
    -------
    float
        Our mean less the printed one, over the standard error of that difference.
    """
    noise = printed_sd**2 / printed_repeats + float(ours.var()) / ours.size
    return float((ours.mean() - printed) / np.sqrt(noise))
