"""How often sampling finds the best models (LJ24 section 8.5, tables 6 and 7)."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from truerank import _checks, estimators
from truerank import metrics as metrics_module
from truerank import progress as _progress
from truerank._types import FloatArray
from truerank.designs import Design
from truerank.errors import InputError
from truerank.estimators import Estimator
from truerank.metrics import MetricLike
from truerank.outcomes import _ranks
from truerank.outcomes.counts import RankCounts
from truerank.outcomes.paired import check_several
from truerank.progress import Progress
from truerank_papers.experiments import parts
from truerank_papers.experiments.ranks import GlobalRanks
from truerank_papers.experiments.run import refit

BoolArray = npt.NDArray[np.bool_]


def best_found(exact: FloatArray, estimated: FloatArray) -> BoolArray:
    """Whether the model that the estimates put first is a best one.

    Models that tie exactly are equally right.

    Parameters
    ----------
    exact
        Exact metrics, shape (n_models, ...).
    estimated
        Their estimates, shape (n_models, repeats, ...), where the last axes are those of ``exact``.

    Returns
    -------
    ndarray of bool
        Shape (repeats, ...).
    """
    best = exact >= exact.max(axis=0)
    return _at(best, estimated, estimated.argmax(axis=0))


def best_two_found(exact: FloatArray, estimated: FloatArray) -> BoolArray:
    """Whether the two models that the estimates put first are the best two, in either order.

    Parameters
    ----------
    exact, estimated
        As for `best_found`; at least two models.

    Returns
    -------
    ndarray of bool
        Shape (repeats, ...).
    """
    best = exact >= exact.max(axis=0)
    among_two = exact >= np.sort(exact, axis=0)[-2]
    first, second, *_ = np.argsort(-estimated, axis=0, kind="stable")
    two = _at(among_two, estimated, first) & _at(among_two, estimated, second)
    # Where several tie for the second place, one of the two has to be the best.
    return two & (_at(best, estimated, first) | _at(best, estimated, second))


def leader(exact: Mapping[str, float], digits: int) -> str:
    """Name the best model and how far it is ahead, such as ``EASE (94.0, next 93.2)``.

    Parameters
    ----------
    exact
        The exact metric of each model.
    digits
        Number of digits after the point.

    Returns
    -------
    str
        The model, its metric, and that of the second best.
    """
    first, second, *_ = sorted(exact.values(), reverse=True)
    name = max(exact, key=lambda model: exact[model])
    return f"{name} ({first:.{digits}f}, next {second:.{digits}f})"


def _at(flag: BoolArray, estimated: FloatArray, model: Any) -> BoolArray:
    """``flag`` (n_models, ...) of the models numbered in ``model`` (repeats, ...)."""
    more = (1,) * (estimated.ndim - flag.ndim)
    flags = np.broadcast_to(flag.reshape(flag.shape[:1] + more + flag.shape[1:]), estimated.shape)
    return np.asarray(np.take_along_axis(flags, model[None], axis=0)[0])


@dataclass(frozen=True)
class WinnerTest:
    """How often one estimator finds the best models by one metric.

    Parameters
    ----------
    metric, estimator
        Their names.
    exact
        The exact metric of each model.
    repeats
        Number of evaluations that were drawn.
    wins
        Number of evaluations whose estimates put a best model first.
    top2
        Number of evaluations whose estimates put the best two first and second, in either order.
    picked
        How often each model was put first.
    pairs_per_user
        Mean number of negatives per user, over models and evaluations.
    """

    metric: str
    estimator: str
    exact: Mapping[str, float]
    repeats: int
    wins: int
    top2: int
    picked: Mapping[str, int]
    pairs_per_user: float

    @property
    def winner(self) -> str:
        """The best model by the exact metric."""
        return max(self.exact, key=lambda model: self.exact[model])


def winner_test(
    ranks: Mapping[str, Any],
    metrics: MetricLike | Iterable[MetricLike],
    *,
    n_items: Any,
    design: Design,
    estimator: str | Estimator | Iterable[str | Estimator] = "smooth",
    repeats: int = 100,
    seed: int = 0,
    progress: Progress = None,
) -> list[WinnerTest]:
    """Sample evaluations of models whose exact ranks are known, and count who wins.

    Each model's negatives are drawn on their own (ranks do not tell what models have in common);
    all estimators and metrics see the same draws.

    Parameters
    ----------
    ranks
        Model -> global ranks of its targets, 1-based, shape (n_users,): the same users in the same
        order for every model.
    metrics
        One or several, such as ``"recall@10"``.
    n_items
        The users' pools: one number, or one per user.
    design
        How negatives are sampled, such as ``Fixed(sample_size=100, replacement=True)`` of
        `truerank_papers.experiments.run`.
    estimator
        One or several, by name or as objects.
    repeats
        Number of evaluations to draw.
    seed
        Seed of all random draws.
    progress
        As for `truerank.models.Model.fit`.

    Returns
    -------
    list of WinnerTest
        One for each estimator and metric, metrics within estimators.

    Examples
    --------
    >>> import numpy as np
    >>> from truerank.designs import Fixed
    >>> exact = {"A": np.arange(1, 201), "B": np.arange(1, 401, 2)}
    >>> design = Fixed(sample_size=20, replacement=False)
    >>> (found,) = winner_test(exact, "recall@50", n_items=500, design=design, repeats=10)
    >>> found.winner, found.wins
    ('A', 10)
    """
    check_several(ranks)
    truth = _exact_ranks(ranks)
    n_users = next(iter(truth.values())).size
    pool = _ranks.pool_sizes(n_items, n_users)
    repeats = _checks.integer(repeats, "repeats", low=1)
    wanted = metrics_module.parse(metrics)
    chosen = [estimators.get(one) for one in _several(estimator)]
    tested = [_global_ranks(rank, pool) for rank in truth.values()]
    counts = RankCounts.from_exact_ranks(tested[0].above + 1, n_items=pool)
    for one in chosen:
        estimators.check(wanted, one, counts, "plain")
    exact = np.stack([model.exact(wanted) for model in tested])  # (n_models, n_metrics)
    values, pairs = [], 0.0
    with _progress.reporting(progress, repeats * len(tested), "redrawing") as advance:
        for number, model in enumerate(tested):
            found = []
            for first in range(0, repeats, parts.PART):
                last = min(first + parts.PART, repeats)
                rngs = [np.random.default_rng([seed, number, i]) for i in range(first, last)]
                outcomes, weight = model.sampled(design, rngs)
                found.append(refit(outcomes, weight, chosen, wanted))
                pairs += float((weight @ (outcomes.sample_size - 1)).sum())
                advance(last - first)
            values.append(np.concatenate(found))
    estimated = np.stack(values)  # (n_models, repeats, n_estimators, n_metrics)
    wins, top2 = best_found(exact, estimated), best_two_found(exact, estimated)
    first_place = estimated.argmax(axis=0)
    names = tuple(truth)
    return [
        WinnerTest(
            metric.key,
            estimators.describe(one),
            dict(zip(names, exact[:, m].tolist(), strict=True)),
            repeats,
            int(wins[:, e, m].sum()),
            int(top2[:, e, m].sum()),
            {name: int((first_place[:, e, m] == i).sum()) for i, name in enumerate(names)},
            pairs / (len(tested) * repeats * n_users),
        )
        for e, one in enumerate(chosen)
        for m, metric in enumerate(wanted)
    ]


def _exact_ranks(ranks: Mapping[str, Any]) -> dict[str, Any]:
    found = {str(model): _checks.whole_numbers(rank, model) for model, rank in ranks.items()}
    sizes = {model: rank.size for model, rank in found.items()}
    if len(set(sizes.values())) > 1:
        said = ", ".join(f"{model} {size}" for model, size in sizes.items())
        raise InputError(f"models have different numbers of ranks: {said}; give the same users")
    return found


def _global_ranks(rank: Any, pool: Any) -> GlobalRanks:
    RankCounts.from_exact_ranks(rank, n_items=pool)  # it checks
    return GlobalRanks(rank - 1, np.zeros_like(rank), np.broadcast_to(pool, rank.shape))


def _several(estimator: Any) -> Sequence[str | Estimator]:
    return [estimator] if isinstance(estimator, (str, Estimator)) else list(estimator)
