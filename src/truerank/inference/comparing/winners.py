"""How often sampling finds the best model (LJ24 section 8.5 and table 6)."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from truerank import _checks, estimators
from truerank import metrics as metrics_module
from truerank import progress as _progress
from truerank._types import FloatArray
from truerank.errors import InputError
from truerank.estimators import Estimator
from truerank.estimators.support import Support
from truerank.inference.intervals.redraw import Users, distinct, occurrences
from truerank.metrics import Metric, MetricLike
from truerank.outcomes import _ranks
from truerank.outcomes.counts import RankCounts
from truerank.outcomes.paired import check_several
from truerank.outcomes.schemes import Scheme
from truerank.progress import Progress

_USERS_AT_ONCE = 200_000  # of all redraws that are fitted together


@dataclass(frozen=True)
class WinnerTest:
    """How often one estimator found the best model on one metric.

    Attributes
    ----------
    exact
        The exact metric of each model.
    winner
        The best by that.
    wins, top2
        In how many of ``repeats`` redraws the estimates put a best model first, and the best two
        (in either order) first and second.
    picked
        How often each model was put first.
    pairs_per_user
        Negatives scored a user, in the mean over models and redraws.
    """

    metric: str
    estimator: str
    exact: Mapping[str, float]
    winner: str
    repeats: int
    wins: int
    top2: int
    picked: Mapping[str, int]
    pairs_per_user: float


def winner_test(
    ranks: Mapping[str, Any],
    metrics: MetricLike | Iterable[MetricLike],
    *,
    n_items: Any,
    sample_size: int | None = None,
    num_negatives: int | None = None,
    ladder: Iterable[int] = (),
    hits: int | Sequence[int] = 1,
    replacement: bool = False,
    estimator: str | Estimator | Iterable[str | Estimator] = "smooth",
    repeats: int = 100,
    support: str | Support = "auto",
    seed: int = 0,
    progress: Progress = None,
) -> list[WinnerTest]:
    """Redraw the negatives of models whose exact ranks are known, and see who wins.

    Each model's negatives are drawn on their own (ranks do not tell what models have in common);
    all estimators and metrics see the same draws.

    Parameters
    ----------
    ranks
        Model -> global ranks (1-based) of the same users in the same order.
    n_items
        The users' pools: one number, or one a user.
    sample_size, num_negatives, ladder, hits, replacement
        The design: one fixed size, or the sizes of adaptive samples (see `Scheme`).
    estimator
        One or several.
    """
    check_several(ranks)
    models, truth = tuple(map(str, ranks)), _exact_ranks(ranks)
    n_users = truth.shape[1]
    pool = _ranks.pool_sizes(n_items, n_users)
    counted = [RankCounts.from_exact_ranks(rank, n_items=pool) for rank in truth]  # it checks
    scheme = Scheme(replacement, tuple(ladder), hits)  # type: ignore[arg-type] # it checks
    size = np.zeros(n_users, dtype=np.int64)
    if not scheme.adaptive:
        size = _ranks.sample_sizes(sample_size, num_negatives, n_users)
    elif (sample_size, num_negatives) != (None, None):
        raise InputError("ladder and a sample size are both given; give one of them")
    repeats = _checks.integer(repeats, "repeats", low=1)
    wanted = metrics_module.parse(metrics)
    chosen = [estimators.get(one) for one in _several(estimator)]
    for one in chosen:
        estimators.check(wanted, one, counted[0], "plain")
    exact = np.stack([[m.gain(rank, pool).mean() for m in wanted] for rank in truth])
    code = np.zeros(n_users, dtype=np.int64)
    users = [Users((scheme,), code, pool, size, rank) for rank in truth]
    values, pairs = _redraw(users, chosen, wanted, support, repeats, seed, progress)
    return [
        _result(models, metric, one, exact[:, m], values[e, :, :, m], pairs)
        for e, one in enumerate(chosen)
        for m, metric in enumerate(wanted)
    ]


def _redraw(
    users: Sequence[Users],
    chosen: Sequence[Estimator],
    metrics: Sequence[Metric],
    support: str | Support,
    repeats: int,
    seed: int,
    progress: Progress,
) -> tuple[FloatArray, float]:
    """Estimates (n_estimators, n_models, repeats, n_metrics), and the pairs scored a user."""
    values = np.empty((len(chosen), len(users), repeats, len(metrics)))
    pairs = 0.0
    at_once = max(1, _USERS_AT_ONCE // users[0].n_users)
    with _progress.reporting(progress, repeats * len(users), "redrawing") as advance:
        for at, people in enumerate(users):
            rng = np.random.default_rng([seed, at])
            for first in range(0, repeats, at_once):
                last = min(first + at_once, repeats)
                drawn = np.concatenate([people.evaluate(rng) for _ in range(first, last)], axis=1)
                outcomes, row = distinct(people.schemes, drawn)
                table = np.repeat(np.arange(last - first), people.n_users)
                weight = occurrences(table, row, (last - first, outcomes.n_outcomes))
                for e, one in enumerate(chosen):
                    values[e, at, first:last] = one.refit(
                        outcomes, weight, metrics=metrics, support=support, plug_in="plain"
                    )
                pairs += float((drawn[2] - 1).sum())
                advance(last - first)
    return values, pairs / (len(users) * repeats * users[0].n_users)


def _result(
    models: tuple[str, ...],
    metric: Metric,
    estimator: Estimator,
    exact: FloatArray,
    values: FloatArray,
    pairs: float,
) -> WinnerTest:
    order = np.argsort(-values, axis=0, kind="stable")  # (n_models, repeats)
    second = np.sort(exact)[-2]
    # Models that tie exactly are equally right.
    best, among_two = exact >= exact.max(), exact >= second
    picked = np.bincount(order[0], minlength=len(models))
    top2 = among_two[order[0]] & among_two[order[1]]
    top2 &= best[order[0]] | best[order[1]]
    return WinnerTest(
        metric.key,
        estimators.describe(estimator),
        dict(zip(models, exact.tolist(), strict=True)),
        models[int(np.argmax(exact))],
        values.shape[1],
        int(best[order[0]].sum()),
        int(top2.sum()),
        dict(zip(models, picked.tolist(), strict=True)),
        pairs,
    )


def _exact_ranks(ranks: Mapping[str, Any]) -> Any:
    found = {str(model): _checks.whole_numbers(rank, model) for model, rank in ranks.items()}
    sizes = {model: rank.size for model, rank in found.items()}
    if len(set(sizes.values())) > 1:
        said = ", ".join(f"{model} {size}" for model, size in sizes.items())
        raise InputError(f"models have different numbers of ranks: {said}; give the same users")
    return np.stack(list(found.values()))


def _several(estimator: Any) -> list[str | Estimator]:
    return [estimator] if isinstance(estimator, (str, Estimator)) else list(estimator)
