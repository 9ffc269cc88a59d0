"""From counts to a fit, the reference beside it, and the law of its errors: the one place."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property

from truerank import _blas
from truerank._types import PlugIn, SupportName
from truerank.estimators import Estimator, Fit, Posterior, Smooth, several
from truerank.estimators.several import ExactPlaces, FittedPlaces
from truerank.estimators.support import Support
from truerank.inference.intervals.error_law import ErrorLaw, error_law
from truerank.inference.intervals.several_law import several_law
from truerank.metrics import Metric
from truerank.outcomes.counts import RankCounts
from truerank.progress import Progress


@dataclass(frozen=True)
class Fitted:
    """A fit of some metrics, and how far off it may be.

    Attributes
    ----------
    counts : RankCounts
        The outcomes that were fitted.
    estimator : Estimator
        The estimator that did it.
    metrics : tuple of Metric
        The metrics whose errors are asked for, all of them fitted.
    fit : Fit
        What the estimator found.
    support : str or Support
        The grid of global ranks.
    plug_in : {"plain", "posterior"}
        How metrics are read off a distribution.
    seed : int
        Seed of the redrawn evaluations behind the law.
    progress : callable or bool, optional
        As in `truerank.estimate`.
    """

    counts: RankCounts
    estimator: Estimator
    metrics: tuple[Metric, ...]
    fit: Fit
    support: SupportName | Support = "auto"
    plug_in: PlugIn = "plain"
    seed: int = 0
    progress: Progress = field(default=None, repr=False, compare=False)

    @classmethod
    def of(
        cls,
        counts: RankCounts,
        estimator: Estimator,
        metrics: Iterable[Metric],
        *,
        support: SupportName | Support = "auto",
        plug_in: PlugIn = "plain",
        seed: int = 0,
        progress: Progress = None,
    ) -> Fitted:
        """Fit metrics to counts.

        Parameters
        ----------
        counts : RankCounts
            The outcomes.
        estimator : Estimator
            The estimator.
        metrics : iterable of Metric
            The metrics to estimate.
        support : {"auto", "full"} or Support, default "auto"
            The grid of global ranks.
        plug_in : {"plain", "posterior"}, default "plain"
            How metrics are read off a distribution.
        seed : int, default 0
            Seed of the redrawn evaluations behind the law.
        progress : callable or bool, optional
            As in `truerank.estimate`.

        Returns
        -------
        Fitted
            The fit; its reference and the law of its errors are found when first asked for.
        """
        wanted = tuple(metrics)
        fit = fit_to(counts, estimator, wanted, support, plug_in)
        return cls(counts, estimator, wanted, fit, support, plug_in, seed, progress)

    @property
    def is_reference(self) -> bool:
        """Whether the fit itself tells what its sample leaves open.

        Returns
        -------
        bool
            True for smooth, and for exact ranks of users with several targets.
        """
        return _has_posterior(self.fit)

    @cached_property
    def reference(self) -> Fit:
        """The fit that ranks are taken to follow: one with a posterior.

        Under a distribution of its own any estimator would look unbiased, so that is smooth's.

        Returns
        -------
        Fit
            The fit itself if it has a posterior.
        """
        if self.is_reference:
            return self.fit
        return reference(self.counts, self.metrics, self.support)

    @property
    def posterior(self) -> Posterior:
        """The posterior over rank distributions of the reference.

        Returns
        -------
        Posterior
            A mixture of Gaussians over the coefficients of log-splines.
        """
        found = self.reference.posterior
        assert found is not None
        return found

    @cached_property
    def law(self) -> ErrorLaw:
        """The law of the errors of the metrics.

        Returns
        -------
        ErrorLaw
            In mean gains, one value per metric.
        """
        with _blas.one_thread():
            if self.counts.several:
                return several_law(
                    self.counts, self.fit, self.reference, self.metrics, seed=self.seed
                )
            return error_law(
                self.counts,
                self.fit,
                self.reference,
                self.estimator,
                self.metrics,
                support=self.support,
                plug_in=self.plug_in,
                seed=self.seed,
                progress=self.progress,
            )

    def on(self, metrics: Sequence[Metric]) -> Fitted:
        """The same fit with some of its metrics alone, whose law takes less time to find.

        Parameters
        ----------
        metrics : list of Metric
            Metrics that were fitted.

        Returns
        -------
        Fitted
            The fit with a law of these metrics.
        """
        return replace(self, metrics=tuple(metrics))


def reference(
    counts: RankCounts, metrics: Sequence[Metric], support: SupportName | Support = "auto"
) -> Fit:
    """The fit of smooth, whose distribution evaluations are redrawn from.

    Parameters
    ----------
    counts : RankCounts
        The outcomes.
    metrics : list of Metric
        Metrics whose cut-offs the grid of ranks should resolve.
    support : {"auto", "full"} or Support, default "auto"
        The grid of global ranks.

    Returns
    -------
    Fit
        A fit with a posterior.
    """
    return fit_to(counts, Smooth(), metrics, support, "plain")


def fit_to(
    counts: RankCounts,
    estimator: Estimator,
    metrics: Sequence[Metric],
    support: SupportName | Support,
    plug_in: PlugIn,
) -> Fit:
    """Fit metrics to counts, whether users have one target or several.

    Parameters
    ----------
    counts : RankCounts
        The outcomes.
    estimator : Estimator
        The estimator.
    metrics : list of Metric
        The metrics to estimate.
    support : {"auto", "full"} or Support
        The grid of global ranks.
    plug_in : {"plain", "posterior"}
        How metrics are read off a distribution.

    Returns
    -------
    Fit
        Its values are means over targets.
    """
    fit = several.fit if counts.several else type(estimator).fit
    with _blas.one_thread():
        return fit(estimator, counts.pooled(), metrics=metrics, support=support, plug_in=plug_in)


def bound(metrics: Iterable[Metric], counts: RankCounts) -> tuple[Metric, ...]:
    """Metrics that know the mean pool of the users they are about: those of the mean rank need it.

    Parameters
    ----------
    metrics : iterable of Metric
        The metrics.
    counts : RankCounts
        The outcomes.

    Returns
    -------
    tuple of Metric
        In the order given.
    """
    return tuple(
        metric.bound(counts.n_items, counts.weight / counts.n_targets) for metric in metrics
    )


def _has_posterior(fit: Fit) -> bool:
    """Whether a fit tells what its sample leaves open; nothing is, of exact ranks."""
    if fit.places is not None:
        return isinstance(fit.places, ExactPlaces) or (
            isinstance(fit.places, FittedPlaces) and fit.places.known is not None
        )
    return fit.posterior is not None
