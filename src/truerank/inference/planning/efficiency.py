"""Sampling efficiency of adaptive samples: what it takes to bring one more user to an end."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from truerank.designs.adaptive import make_ladder
from truerank.errors import InputError
from truerank.estimators.support import RankDistribution
from truerank.outcomes import schemes
from truerank.outcomes.counts import RankCounts
from truerank.outcomes.schemes import Scheme

SHARES = (0.10, 0.15)  # of the items: where LJ24 (section 6.3) would have samples end


@dataclass(frozen=True)
class Stage:
    """A size of an adaptive sample that doubles until a negative ranks above the target.

    Attributes
    ----------
    sample_size : int
        The size, the target included.
    share : float
        The size over the number of items.
    reached : float
        The share of users who come to it.
    cost : float
        LJ24's C_j: items sampled for each user whose sampling ends there.
    """

    sample_size: int
    share: float
    reached: float
    cost: float


def sampling_efficiency(
    distribution: RankDistribution, *, start: int = 100, replacement: bool = False
) -> tuple[Stage, ...]:
    """The curve C_j (LJ24 eq. 44) that a rank distribution leads to.

    Parameters
    ----------
    distribution : RankDistribution
        The distribution of global ranks.
    start : int, default 100
        The first size; sizes double from there up to the catalogue.
    replacement : bool, default False
        Whether an item may be drawn twice.

    Returns
    -------
    tuple of Stage
        One per size but the last, where all sampling ends, as in the equation.
    """
    n_items = distribution.n_items
    ladder = make_ladder(min(start, n_items), n_items)[:-1]
    law = np.concatenate([distribution.mass, distribution.exact_mass])
    rank = np.concatenate([distribution.support.rank, distribution.exact_rank])
    stages, before, leading = [], 0, 1.0  # share of users whose target still leads
    for size in ladder:
        log_p = schemes.log_probability(
            Scheme(replacement), rank, n_items=n_items, sample_size=size, sampled_rank=[1]
        )
        still = float(np.exp(log_p[0]) @ law)
        ended = leading - still
        cost = leading * (size - before) / ended if ended > 0 else np.inf
        stages.append(Stage(size, size / n_items, leading, float(cost)))
        before, leading = size, still
    return tuple(stages)


def elbow(stages: Sequence[Stage]) -> Stage | None:
    """The size at which the curve C_j bends most, where LJ24 (section 6.3) would end samples.

    The paper reads it off a figure. Here it is the size that lies furthest below the straight line
    from the first point of the curve to the last, both axes scaled to 1; it depends on where the
    curve ends.

    Parameters
    ----------
    stages : sequence of Stage
        The curve, as of `sampling_efficiency`. Stages of infinite cost are left out.

    Returns
    -------
    Stage or None
        None where the curve does not bend upwards, or has fewer than three points.

    Examples
    --------
    >>> from truerank.inference.planning.efficiency import Stage, elbow
    >>> costs = {100: 10.0, 200: 20.0, 400: 45.0, 800: 400.0}
    >>> elbow([Stage(size, size / 1000, 1.0, cost) for size, cost in costs.items()]).sample_size
    400
    """
    points = [stage for stage in stages if np.isfinite(stage.cost)]
    if len(points) < 3:
        return None
    size, cost = (
        np.array([getattr(stage, name) for stage in points], dtype=np.float64)
        for name in ("sample_size", "cost")
    )
    if size[-1] <= size[0] or cost[-1] <= cost[0]:
        return None
    below = (size - size[0]) / (size[-1] - size[0]) - (cost - cost[0]) / (cost[-1] - cost[0])
    at = int(below.argmax())
    return points[at] if below[at] > 1e-9 else None


@dataclass(frozen=True)
class Effort:
    """What one size of an adaptive sample took of those who were evaluated.

    Attributes
    ----------
    sample_size : int
        The size, the target included.
    reached, ended : float
        Shares of the users who came to it, and whose sampling ended there.
    pairs : float
        Negatives drawn at this size, averaged over all users.
    cost : float or None
        LJ24's C_j as it was: items sampled at this size (the target counts, at the first) for each
        user who ended there; infinite where nobody did, None at the last, where everyone ends.
    """

    sample_size: int
    reached: float
    ended: float
    pairs: float
    cost: float | None


def sampling_effort(counts: RankCounts) -> tuple[Effort, ...]:
    """The sizes that adaptive samples came to, and what each took.

    Users whose pool is smaller than a size count for that size with their whole pool.

    Parameters
    ----------
    counts : RankCounts
        Outcomes of one adaptive scheme.

    Returns
    -------
    tuple of Effort
        One per size.
    """
    (scheme, *more) = counts.schemes
    if more or not scheme.adaptive:
        raise InputError("counts are not those of one adaptive scheme; there is no effort to show")
    ladder = np.array(scheme.ladder)
    at = np.searchsorted(ladder, counts.sample_size)
    share = counts.weight / counts.total_weight
    found, before = [], 1
    for stage, size in enumerate(scheme.ladder):
        here, ends = at >= stage, at == stage
        reached, ended = float(share[here].sum()), float(share[ends].sum())
        drawn = np.minimum(counts.sample_size[here], size) - before
        pairs = float(share[here] @ drawn)
        # LJ24 eq. 44: C_0 = M n_0 / m_0, and n_0 counts the target.
        items = pairs + reached * (stage == 0)
        cost = items / ended if ended > 0 else np.inf
        last = stage == ladder.size - 1
        found.append(Effort(size, reached, ended, pairs, None if last else cost))
        before = size
    return tuple(found)
