"""Whether a number can be trusted, and what it would take, in plain sentences."""

from __future__ import annotations

from truerank.estimators import Estimator
from truerank.inference.planning.plan import plan
from truerank.inference.planning.resolution import resolution
from truerank.metrics import Metric
from truerank.outcomes.counts import RankCounts
from truerank.progress import Progress


def not_resolved(
    counts: RankCounts,
    metric: Metric,
    estimator: Estimator,
    *,
    error: float = 0.05,
    seed: int = 0,
    progress: Progress = None,
) -> str:
    """Which K the sample resolves instead, and a sample that would resolve this one."""
    negatives = _between(int(counts.sample_size.min()) - 1, int(counts.sample_size.max()) - 1)
    pools = _between(int(counts.n_items.min()), int(counts.n_items.max()))
    text = f"{metric.key}: not resolved by {negatives} negatives out of {pools} items"
    if metric.k is not None:
        larger = resolution(counts, estimator, metric, error, seed=seed, progress=progress)
        if larger is None:
            text += f", nor is {metric.name} at any K"
        elif larger > metric.k:
            text += f"; {metric.name}@{larger} is"
    found = plan(
        metric=metric,
        error=error,
        like=counts,
        designs=["adaptive"],
        fewer_users=False,
        estimator=estimator,
        seed=seed,
        progress=progress,
    )
    goal = f"For {metric.key} to {100 * error:g} %, "
    if not found:
        return f"{text}. {goal}rank all items: no sample of fewer reaches that."
    best = found[0]
    return (
        f"{text}. {goal}sample adaptively up to {best.largest_sample:,} (about "
        f"{best.pairs_per_user:,.0f} scored items a user)."
    )


def _between(low: int, high: int) -> str:
    return f"{low:,}" if low == high else f"{low:,} to {high:,}"
