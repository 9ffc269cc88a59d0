"""A smooth rank distribution, its smoothness found in the data and averaged over."""

from __future__ import annotations

import warnings
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import ClassVar

import numpy as np

from truerank import _arguments, _checks
from truerank._types import FloatArray
from truerank.errors import ConvergenceWarning
from truerank.estimators._base import Estimator, Fit
from truerank.estimators._laplace import LogLikelihood, Mixture, Mode, find_mode
from truerank.estimators._logspline import DEGREE, LogSpline, enough_functions, log_spline
from truerank.estimators._neighbours import on_grid
from truerank.estimators._posterior import Component, Posterior
from truerank.estimators._priors import Path, paths, paths_about
from truerank.estimators.likelihood import Likelihood, likelihood, make_support
from truerank.estimators.support import SupportLike
from truerank.metrics import Metric
from truerank.outcomes.counts import RankCounts

# Components of less weight than this are dropped.
_NEGLIGIBLE = 1e-3
# A path of priors is left where the evidence falls, this far below the best (in nats).
_HOPELESS = 12.0


@dataclass(frozen=True)
class Smooth(Estimator):
    """A smooth distribution of global ranks; how smooth is learnt from the data.

    A log-spline distribution under Gaussian-process priors, averaged by their evidence. Metrics are
    those of the users seen: an outcome counts with its expected gain under the fitted law, an exact
    rank with its own. See docs/smooth.md.

    Parameters
    ----------
    n_functions : int or None
        Number of splines; None for two per unit of log N, and more for many users.

    Examples
    --------
    >>> counts = tr.RankCounts.from_ranks([1, 1, 2, 5, 20], num_negatives=99, n_items=3706)
    >>> est = tr.estimate(counts, "recall@10", estimator="smooth", confidence=None)
    >>> round(est["recall@10"].value, 4)
    0.2163
    """

    n_functions: int | None = None
    name: ClassVar[str] = "smooth"

    def __post_init__(self) -> None:
        _arguments.check_fields(self)
        if self.n_functions is not None:
            _checks.integer(self.n_functions, "n_functions", low=DEGREE + 1)

    def fit(
        self, counts: RankCounts, *, metrics: Sequence[Metric], support: SupportLike, plug_in: str
    ) -> Fit:
        outcomes = on_grid(counts) if support == "auto" else counts
        model = likelihood(outcomes, make_support(outcomes, metrics, support))
        n_functions = self.n_functions or enough_functions(
            model.support.n_items, counts.effective_users
        )
        # Pools of one size are those of rankings that keep training items, or may be.
        may_bend = bool((counts.n_items == counts.n_items[0]).all())
        largest = model.support.n_items
        priors = paths(largest, n_functions, telling_size(counts), may_bend=may_bend)
        spline = log_spline(model.support, n_functions)
        return _fitted(counts, metrics, model, spline, priors)


def fit_about(smooth: Smooth, counts: RankCounts, base: FloatArray, *, model: Likelihood) -> Fit:
    """Fit a law that strays smoothly from a base measure, instead of from a power law.

    Parameters
    ----------
    smooth : Smooth
        Its options.
    counts : RankCounts
        The outcomes.
    base : ndarray of float, shape (n_points,)
        Masses of the base measure on the points of the support, above 0.
    model : Likelihood
        Of the outcomes, on a support.

    Returns
    -------
    Fit
        Without metrics: the distribution and the posterior.
    """
    largest = model.support.n_items
    n_functions = smooth.n_functions or enough_functions(largest, counts.effective_users)
    spline = replace(log_spline(model.support, n_functions), log_weight=np.log(base))
    priors = paths_about(largest, n_functions, telling_size(counts))
    return _fitted(counts, [], model, spline, priors)


def _fitted(
    counts: RankCounts,
    metrics: Sequence[Metric],
    model: Likelihood,
    spline: LogSpline,
    priors: Iterable[Path],
) -> Fit:
    mixture = Mixture(model, spline, counts.effective_users)
    modes = find_modes(mixture, priors)
    posterior = Posterior(model, spline, components(modes), counts.effective_users)
    values = posterior.mean(metrics)
    converged = all(mode.converged for mode in modes)
    if not converged:
        warnings.warn(
            "smooth stopped before it had converged; its values may be off",
            ConvergenceWarning,
            stacklevel=2,
        )
    return Fit(
        {metric.key: float(value) for metric, value in zip(metrics, values, strict=True)},
        posterior.distribution(),
        converged,
        sum(mode.n_iter for mode in modes),
        {"log_evidence": _log_sum([mode.log_evidence for mode in modes])},
        posterior,
    )


def telling_size(counts: RankCounts) -> int:
    """The sample size that one user in a hundred reaches: it tells apart the ranks of the head."""
    order = np.argsort(counts.sample_size, kind="stable")[::-1]
    reached = np.cumsum(counts.weight[order]) >= 0.01 * counts.total_weight
    return int(counts.sample_size[order[np.argmax(reached)]])


def find_modes(seen: LogLikelihood, priors: Iterable[Path]) -> list[Mode]:
    """The modes under all priors, each sought from that of its stiffer neighbour.

    Their evidence is multiplied by the weight of the prior.
    """
    modes: list[Mode] = []
    stiffest = None
    best = -np.inf
    for path in priors:
        start = path.centre if stiffest is None else stiffest
        before = -np.inf
        for number, factor in enumerate(path.factors):
            mode = find_mode(seen, factor, start, centre=path.centre)
            modes.append(replace(mode, log_evidence=mode.log_evidence + path.log_weight))
            start = mode.coefficients
            if number == 0:
                stiffest = start
            best = max(best, modes[-1].log_evidence)
            if modes[-1].log_evidence < min(before, best - _HOPELESS):
                break
            before = modes[-1].log_evidence
    return modes


def components(modes: Sequence[Mode]) -> tuple[Component, ...]:
    """The modes worth keeping, weighed by their evidence."""
    log_evidence = np.array([mode.log_evidence for mode in modes])
    weight = np.exp(log_evidence - log_evidence.max())
    weight[weight < _NEGLIGIBLE * weight.sum()] = 0.0
    weight /= weight.sum()
    return tuple(
        Component(float(share), mode.coefficients, mode.root)
        for share, mode in zip(weight, modes, strict=True)
        if share > 0
    )


def _log_sum(logs: Sequence[float]) -> float:
    top = max(logs)
    return float(top + np.log(np.exp(np.array(logs) - top).sum()))
