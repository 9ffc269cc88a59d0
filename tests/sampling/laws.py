"""Samples by bare sizes, users who are all alike, how well outcomes fit a scheme's law."""

from __future__ import annotations

import dataclasses
import math

import numpy as np
from scipy import stats

from truerank.outcomes.schemes import Scheme, log_probability
from truerank.sampling import carry_out
from truerank.sampling.counting import counts_of
from truerank.scoring.factors import Factors

N_USERS = 20_000


def sample(
    scorer,
    task,
    *,
    ladder,
    hits=1,
    budget=None,
    replacement=False,
    seed=0,
    ties="count",
    stream_keys=None,
    progress=None,
):
    """Any ladder and any hits, which no design needs to have; a budget in negatives a row."""
    scheme = Scheme(replacement, tuple(ladder), hits)
    total = None if budget is None else math.floor(budget * task.n_rows)
    drawing = carry_out.drawing_of(scheme, ties, task, seed, total=total)
    if stream_keys is not None:
        drawing = dataclasses.replace(drawing, keys=stream_keys, shared=True)
    return carry_out.sample(scorer, task, drawing, progress=progress)


def rank_among(scorer, task, start, negatives, *, seed=0, ties="count"):
    """Rank each row's target among negatives[start[row]:start[row + 1]]."""
    drawing = carry_out.drawing_of(Scheme(True), ties, task, seed)
    return carry_out._given(scorer, task, start, negatives, drawing, None)


def count_adaptive(scorer, task, *, seed=0, **options):
    """Counts of a sample that grows."""
    return counts_of(
        task, sample(scorer, task, seed=seed, ties="random", **options), "random", seed
    )


def same_for_all(n_items, target_rank, n_users=N_USERS):
    """A model that all users share: item i has global rank i + 1. And a test at that rank."""
    scorer = Factors(np.ones((n_users, 1)), -np.arange(float(n_items))[:, None])
    return scorer, (np.arange(n_users), np.full(n_users, target_rank - 1))


def p_value(counts, scheme, global_rank, n_items, sample_size=0):
    """Chi-square of independent, equal users; the mean law if there are several global ranks."""
    sizes, ranks = scheme.outcomes(n_items, sample_size)
    log_p = log_probability(
        scheme, global_rank, n_items=n_items, sample_size=sizes, sampled_rank=ranks
    )
    expected = counts.n_users * np.exp(log_p).mean(axis=1)
    place = {outcome: i for i, outcome in enumerate(zip(sizes, ranks, strict=True))}
    observed = np.zeros(expected.size)
    for size, rank, weight in zip(
        counts.sample_size, counts.sampled_rank, counts.weight, strict=True
    ):
        observed[place[size, rank]] += weight
    if observed[expected < 1e-9 * counts.n_users].any():
        return 0.0  # what cannot happen did
    # Rare outcomes join until a cell expects 5.
    cells = [[0.0, 0.0]]
    for at in np.argsort(expected):
        if cells[-1][1] >= 5:
            cells.append([0.0, 0.0])
        cells[-1][0] += observed[at]
        cells[-1][1] += expected[at]
    if len(cells) == 1:
        return 1.0
    observed, expected = np.array(cells).T
    return stats.chisquare(observed, expected * observed.sum() / expected.sum()).pvalue
