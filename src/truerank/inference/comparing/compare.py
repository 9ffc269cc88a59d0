"""`compare`: which of several models is better, by how much, and how sure that is."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, get_args

import numpy as np

from truerank import _arguments, _blas, _checks, estimators
from truerank import metrics as metrics_module
from truerank._types import FloatArray, IntArray, Pairs, Scope, SupportName
from truerank.errors import InputError
from truerank.estimators import Estimator, Fit, Naive
from truerank.estimators.support import Support
from truerank.inference.comparing import _compared, user_sampling
from truerank.inference.comparing._covariance import (
    Errors,
    Scatter,
    block_covariances,
    gains_of,
    scatter,
    total_covariances,
)
from truerank.inference.comparing._joint_law import Together, together
from truerank.inference.comparing.comparison import Comparison, Difference, Standing
from truerank.inference.comparing.user_sampling import HypothesisTest, Sample
from truerank.inference.intervals.error_law import ErrorLaw, outcome_gains
from truerank.inference.intervals.fitting import Fitted, bound, fit_to
from truerank.inference.intervals.interval import (
    check_confidence,
    check_population_size,
    check_scope,
    interval_of,
    is_resolved,
    normal_quantile,
    range_of,
)
from truerank.metrics import Metric, MetricLike
from truerank.outcomes._columns import dropped
from truerank.outcomes.counts import RankCounts
from truerank.outcomes.paired import PairedCounts
from truerank.progress import Progress

MOST_IN_ALL_PAIRS = 20  # models whose differences are all listed, unless stated
_WORLDS = 20_000  # draws that tell who is best


@dataclass(frozen=True)
class _Model:
    """A model's counts, fit and law of the error of one metric, in units of it per user.

    ``gains`` are those of each pooled outcome, None for estimators that have none. ``law_open`` is
    the variance that the posterior leaves open of the population's metric.
    """

    name: str
    counts: RankCounts
    fit: Fit
    law: ErrorLaw
    gains: FloatArray | None
    per_user: float
    value: float
    naive: float
    law_open: float

    @property
    def errors(self) -> Errors:
        """What is known of the error, in units of the metric per user."""
        scale, law = self.per_user, self.law
        return Errors(
            float(law.negatives[0]) * scale,
            float(law.users[0]) * scale,
            float(law.blur[0]) * scale,
            self.law_open * scale**2,
        )


def compare(
    models: Mapping[str, Any] | PairedCounts | Any,
    metric: MetricLike = "ndcg@10",
    *,
    estimator: str | Estimator = "smooth",
    confidence: float = 0.95,
    scope: Scope = "these-users",
    population_size: float | None = None,
    baseline: str | None = None,
    pairs: Pairs = "auto",
    unpaired: bool = False,
    support: SupportName | Support = "auto",
    seed: int = 0,
    progress: Progress = None,
    **table_options: Any,
) -> Comparison:
    """Compare models on a global metric, from sampled or exact ranks.

    Paired and on the same negatives is the protocol to prefer: what two models have in common
    cancels. `truerank.count` of several scorers gives counts with all that this takes;
    ``reduction`` of a difference shows how much of the variance it takes away.

    Parameters
    ----------
    models : dict, PairedCounts, table or file
        Name -> the ranks of each: RankCounts or what `truerank.evaluate` gives (unpaired: they do
        not say which rank is whose), or tables or files with ``user_id`` and ``rank`` as in
        `RankCounts.from_table` (paired by user). Or :class:`~truerank.PairedCounts` or a file of
        them, or one table or file with a column ``model``.
    metric : str or Metric, default "ndcg@10"
        One metric.
    estimator : str or Estimator, default "smooth"
        As in `truerank.estimate`.
    confidence : float, default 0.95
        Confidence of each interval; what is called better is so after Holm's correction for all
        pairs.
    scope : {"these-users", "population"}
        ``"these-users"``: would an exact evaluation of the same users put the models in this
        order? ``"population"``: are they so for the users that these were drawn from?

        Paired, the variance of a difference for the population is that of the difference of the
        two models' gains over users, divided by their number. For these users only what the
        negatives add to it counts. With the joint counts of `truerank.count` of several scorers
        it is measured. Ranks alone do not tell how much of the gains' covariance comes from shared
        negatives: taken as such is what users' global ranks could not cause even if fully
        correlated, so that the interval is too wide if negatives were shared and models are alike
        in part.
    population_size : float, optional
        The number of all users, where it is known.
    baseline : str, optional
        Compare every model with this one alone, instead of every pair.
    pairs : {"auto", "best", "all"}
        Which differences to list: all, or those with the best model alone, as ``"auto"`` does for
        more than 20 models. P-values, places and the verdict are the same either way: they are
        corrected for all pairs.
    unpaired : bool, default False
        Compare as if each model had users of its own. Needed where models were scored on other
        users, pools or schemes.
    support : {"auto", "full"} or Support
        As in `truerank.estimate`.
    seed : int, default 0
        Seed of the simulations behind intervals.
    progress : callable or bool, optional
        As in `truerank.estimate`.
    **table_options
        For tables, as in `RankCounts.from_table`: ``n_items``, ``sample_size``, ``columns``, ...

    Returns
    -------
    Comparison
        ``result.verdict`` in words, ``result.ranking``, ``result["EASE", "ALS"].value``.

    Examples
    --------
    >>> ranks = {"A": [1, 2, 1, 5, 1, 3], "B": [9, 4, 1, 8, 7, 3]}
    >>> counts = {
    ...     name: tr.RankCounts.from_exact_ranks(one, n_items=10) for name, one in ranks.items()
    ... }
    >>> tr.compare(counts, "recall@3").verdict
    'A is better than B on recall@3: +0.5000 against B (exact).'
    """
    _arguments.check(compare, locals())
    (wanted, *more) = metrics_module.parse(metric)
    if more:
        raise InputError(
            f"metric is {_checks.shown(metric)}, which is several; compare on one at a time"
        )
    (found,) = compare_all(
        models,
        wanted,
        estimator=estimator,
        confidence=confidence,
        scope=scope,
        population_size=population_size,
        baseline=baseline,
        pairs=pairs,
        unpaired=unpaired,
        support=support,
        seed=seed,
        progress=progress,
        **table_options,
    )
    return found


@_blas.one_thread()
def compare_all(
    models: Mapping[str, Any] | PairedCounts | Any,
    metrics: MetricLike | Iterable[MetricLike],
    *,
    estimator: str | Estimator = "smooth",
    confidence: float = 0.95,
    scope: Scope = "these-users",
    population_size: float | None = None,
    baseline: str | None = None,
    pairs: Pairs = "auto",
    unpaired: bool = False,
    support: SupportName | Support = "auto",
    seed: int = 0,
    progress: Progress = None,
    fitted: Mapping[str, Fitted] | None = None,
    tests: bool = True,
    **table_options: Any,
) -> tuple[Comparison, ...]:
    """Compare models on several metrics, each model fitted and redrawn once for all of them.

    Parameters
    ----------
    models : dict, PairedCounts, table or file
        As in `compare`.
    metrics : str, Metric or list of these
        The metrics.
    estimator : str or Estimator, default "smooth"
        As in `compare`.
    confidence : float, default 0.95
        As in `compare`.
    scope : {"these-users", "population"}
        As in `compare`.
    population_size : float, optional
        As in `compare`.
    baseline : str, optional
        As in `compare`.
    pairs : {"auto", "best", "all"}
        As in `compare`.
    unpaired : bool, default False
        As in `compare`.
    support : {"auto", "full"} or Support
        As in `compare`.
    seed : int, default 0
        As in `compare`.
    progress : callable or bool, optional
        As in `compare`.
    fitted : dict of str to Fitted, optional
        What is known of some models: fits by the same estimator to the same counts, with all of
        the metrics.
    tests : bool, default True
        Whether to do the tests of LJ24, which take about half of the time.
    **table_options
        As in `compare`.

    Returns
    -------
    tuple of Comparison
        One per metric.
    """
    whom = check_scope(scope)
    if pairs not in get_args(Pairs):
        raise _checks.unknown("pairs", pairs, get_args(Pairs))
    if baseline is not None and pairs != "auto":
        raise InputError(
            f"baseline is {baseline!r} and pairs is {pairs!r}; give one of them: a baseline is "
            "compared with each of the others"
        )
    z = normal_quantile(0.5 + check_confidence(confidence) / 2.0)
    chosen = estimators.get(estimator)
    wanted = metrics_module.parse(metrics)
    data = _compared.read(models, unpaired=unpaired, options=table_options)
    wanted = bound(wanted, next(iter(data.counts.values())))
    if baseline is not None and baseline not in data.counts:
        raise _checks.unknown("baseline", baseline, data.counts)
    drawn = 0.0 if whom == "these-users" else 1.0
    most = max(counts.n_users for counts in data.counts.values())
    everyone = check_population_size(population_size, most)
    if everyone is not None:
        drawn *= 1.0 - most / everyone
    by_model, fits = [], {}
    for name, counts in data.counts.items():
        if counts.effective_users < 2.0:
            raise InputError(
                f"{name} has {counts.effective_users:.3g} users; at least 2 are needed"
            )
        _check_pools(wanted, counts, name)
        estimators.check(wanted, chosen, counts, "plain")
        known = (fitted or {}).get(name)
        if known is None:
            known = Fitted.of(counts, chosen, wanted, support=support, seed=seed, progress=progress)
        fits[name] = known
        by_model.append(_on_each(name, counts, known, chosen, wanted, support, tests=tests))
    sampled = [counts for counts in data.counts.values() if not counts.is_exact.all()]
    exact = not sampled
    joint: dict[tuple[str, str], Together] = {}
    totals = None
    if data.paired is not None:
        scale = np.array([one[0].per_user for one in by_model])
        own = {name: one.fit for name, one in fits.items()}
        totals = total_covariances(list(own), data.paired, own, chosen, wanted, support, seed)
        totals = totals * np.outer(scale, scale)
        if drawn < 1.0 and not exact:
            joint = _together(data.paired, fits, chosen, wanted, support, baseline, seed)
    elif data.by_blocks:
        totals = block_covariances(
            list(data.counts.values()), [one.fit for one in fits.values()], wanted
        )
    first = [one[0] for one in by_model]
    common = _common_gains(first, data.paired, chosen, wanted, support)
    found = []
    for at, metric in enumerate(wanted):
        way = -1.0 if metric.lower_is_better else 1.0
        order = sorted(range(len(by_model)), key=lambda i: -way * by_model[i][at].value)
        ordered = [by_model[i][at] for i in order]
        spread = scatter(
            {model.name: model.errors for model in ordered},
            None if totals is None else totals[at][np.ix_(order, order)],
            {pair: (float(one.negatives[at]), float(one.ranks[at])) for pair, one in joint.items()},
            drawn,
            by_blocks=data.by_blocks,
        )
        tested = _tested(ordered, spread, z, baseline, way)
        listed = _listed(tested, ordered, baseline, pairs)
        here = {name: gains[:, at] for name, gains in common.items()}
        hypotheses = _tests(ordered, tested, listed, data.paired, here, metric)
        differences = tuple(_differences(tested, listed, ordered, spread, hypotheses))
        found.append(
            Comparison(
                metric.key,
                estimators.describe(chosen),
                whom,
                confidence,
                data.paired is not None or data.by_blocks,
                " ".join([_how(data, differences), *_dropped(data)]),
                exact,
                tuple(_standings(ordered, spread, metric, tested, drawn, seed, confidence)),
                differences,
                baseline,
                metric.lower_is_better,
                tested.first.size,
                bool(sampled) and all(counts.adaptive for counts in sampled),
            )
        )
    return tuple(found)


def _together(
    paired: PairedCounts,
    fits: Mapping[str, Fitted],
    estimator: Estimator,
    metrics: Sequence[Metric],
    support: SupportName | Support,
    baseline: str | None,
    seed: int,
) -> dict[tuple[str, str], Together]:
    """How errors go together in each pair that is compared and that joint counts are known of."""
    found = {}
    for pair in paired.pairs:
        if baseline is not None and baseline not in pair:
            continue
        own = [fits[name] for name in pair]
        laws = [one.reference.distribution for one in own]
        assert all(law is not None for law in laws)
        known = together(
            paired,
            pair,
            [one.fit for one in own],
            [law for law in laws if law is not None],
            estimator,
            metrics,
            support,
            seed,
        )
        if known is not None:
            found[pair] = known
    return found


def _on_each(
    name: str,
    counts: RankCounts,
    fitted: Fitted,
    estimator: Estimator,
    metrics: Sequence[Metric],
    support: SupportName | Support,
    *,
    tests: bool,
) -> list[_Model]:
    """The model on each of the metrics; gains are for ``tests`` alone."""
    # With several targets, gains are not those of independent users.
    gains = None
    if tests and not counts.several:
        gains = outcome_gains(counts.pooled(), fitted.fit, estimator, metrics, support)
    per_user = counts.targets_per_user
    law_open: FloatArray = np.zeros(len(metrics))
    if fitted.fit.posterior is not None:
        law_open = fitted.fit.posterior.variance(metrics, scope="population")
    elif counts.several:
        law_open = fitted.law.law**2
    plain = fit_to(counts, Naive(), metrics, support, "plain").values
    return [
        _Model(
            name,
            counts,
            fitted.fit,
            fitted.law.of([[one.key for one in fitted.metrics].index(metric.key)]),
            None if gains is None else gains[:, at],
            per_user,
            fitted.fit.values[metric.key] * per_user,
            plain[metric.key] * per_user,
            float(law_open[at]),
        )
        for at, metric in enumerate(metrics)
    ]


@dataclass(frozen=True)
class _Tested:
    """All pairs that are tested: places of the models, and arrays of shape (n_pairs,)."""

    first: IntArray
    second: IntArray
    value: FloatArray
    low: FloatArray
    high: FloatArray
    std_error: FloatArray
    assumed: FloatArray
    total: FloatArray
    win_probability: FloatArray
    p_value: FloatArray

    @cached_property
    def p_bonferroni(self) -> FloatArray:
        """Corrected for all pairs."""
        return user_sampling.bonferroni(self.p_value)

    @cached_property
    def p_holm(self) -> FloatArray:
        """Corrected for all pairs."""
        return user_sampling.holm(self.p_value)


def _tested(
    models: Sequence[_Model], spread: Scatter, z: float, baseline: str | None, way: float
) -> _Tested:
    """Each pair, the better first, by what redraws show of the difference and what they do not.

    ``way`` is -1 if smaller is better.
    """
    from scipy.special import ndtr

    i, j = np.triu_indices(len(models), 1)
    if baseline is not None:
        at = [model.name for model in models].index(baseline)
        i, j = (places[(i == at) | (j == at)] for places in (i, j))
    values = np.array([model.value for model in models])
    biases = np.array([float(model.law.bias[0]) * model.per_user for model in models])
    value, bias = values[i] - values[j], biases[i] - biases[j]
    shown, hidden = spread.of_differences(i, j), spread.hidden_of_differences(i, j)
    std_error = np.sqrt(shown + hidden)
    low, high = value - z * std_error, value + z * std_error
    biased = np.abs(bias) > 1e-9 * np.maximum(np.abs(values[i]), np.abs(values[j]))
    low = np.where(biased, np.minimum(low, low - bias), low)
    high = np.where(biased, np.maximum(high, high - bias), high)
    # Standard errors from 0 to the nearest that the difference is without them.
    lower, upper = low + z * std_error, high - z * std_error
    nearest = np.where(lower > 0.0, lower, np.minimum(upper, 0.0))
    surely = np.where(nearest > 0.0, np.inf, np.where(nearest < 0.0, -np.inf, 0.0))
    distance = np.divide(nearest, std_error, out=surely, where=std_error > 0.0)
    return _Tested(
        i,
        j,
        value,
        low,
        high,
        std_error,
        np.hypot(bias, np.sqrt(hidden)),
        np.hypot(bias, std_error),
        1.0 - ndtr(-way * distance),
        np.minimum(1.0, 2.0 * ndtr(-np.abs(distance))),
    )


def _listed(
    tested: _Tested, models: Sequence[_Model], baseline: str | None, pairs: Pairs
) -> IntArray:
    """Which of the pairs are told of one by one: those with the best model, or all."""
    if pairs == "all" or (pairs == "auto" and (baseline or len(models) <= MOST_IN_ALL_PAIRS)):
        return np.arange(tested.first.size)
    return np.flatnonzero(tested.first == 0)


def _differences(
    tested: _Tested,
    listed: IntArray,
    models: Sequence[_Model],
    spread: Scatter,
    tests: Mapping[tuple[str, str], tuple[HypothesisTest, ...]],
) -> Iterator[Difference]:
    for at in listed.tolist():
        i, j = int(tested.first[at]), int(tested.second[at])
        one, two = models[i], models[j]
        low, high = float(tested.low[at]), float(tested.high[at])
        assumed, total = float(tested.assumed[at]), float(tested.total[at])
        size = max(abs(one.value), abs(two.value))
        yield Difference(
            one.name,
            two.name,
            one.value - two.value,
            low,
            high,
            float(tested.std_error[at]),
            is_resolved((high - low) / 2.0, assumed, total, size),
            float(tested.win_probability[at]),
            float(tested.p_value[at]),
            float(tested.p_bonferroni[at]),
            float(tested.p_holm[at]),
            spread.paired,
            spread.reduction(i, j),
            spread.correlation(i, j),
            tests.get((one.name, two.name), ()),
        )


def _tests(
    models: Sequence[_Model],
    tested: _Tested,
    listed: IntArray,
    paired: PairedCounts | None,
    common: Mapping[str, FloatArray],
    metric: Metric,
) -> dict[tuple[str, str], tuple[HypothesisTest, ...]]:
    """The tests of LJ24 section 7.2 for each pair listed, on gains per user."""
    samples = []
    for model in models:
        if model.gains is None:
            return {}
        pooled = model.counts.pooled()
        weight = pooled.weight * (pooled.effective_users / pooled.total_weight)
        samples.append(Sample.of(model.gains * model.per_user, weight))
    of_two = user_sampling.z_test if metric.counts_hits else user_sampling.t_test
    found: dict[tuple[str, str], tuple[HypothesisTest, ...]] = {
        (models[i].name, models[j].name): (of_two(samples[i], samples[j]),)
        for i, j in zip(tested.first[listed].tolist(), tested.second[listed].tolist(), strict=True)
    }
    if paired is None:
        return found
    weight = paired.weight * (paired.effective_users / paired.weight.sum())
    for one, two in found:
        off = np.round(common[one] - common[two], 9)  # rounding errors would break ties
        found[one, two] += (
            user_sampling.sign_test(off, weight),
            user_sampling.wilcoxon_test(off, weight),
        )
    return found


def _common_gains(
    models: Sequence[_Model],
    paired: PairedCounts | None,
    estimator: Estimator,
    metrics: Sequence[Metric],
    support: SupportName | Support,
) -> dict[str, FloatArray]:
    """Gains in each joint outcome by one fit of all models: equal models are exchangeable then.

    Model -> shape (n_outcomes, n_metrics); empty if unpaired, or for estimators without gains.
    """
    if paired is None or any(model.gains is None for model in models):
        return {}
    counts = [model.counts for model in models]
    together = sum(counts[1:], counts[0]).pooled()
    fit = estimator.fit(together, metrics=metrics, support=support, plug_in="plain")
    names = [model.name for model in models]
    gains = gains_of(paired, names, fit, estimator, metrics, support)
    assert gains is not None
    return {one.name: gain * one.per_user for one, gain in zip(models, gains, strict=True)}


def _standings(
    models: Sequence[_Model],
    spread: Scatter,
    metric: Metric,
    tested: _Tested,
    drawn: float,
    seed: int,
    confidence: float,
) -> Iterator[Standing]:
    way = -1.0 if metric.lower_is_better else 1.0
    chance = spread.best([way * model.value for model in models], _WORLDS, seed)
    sure = tested.p_holm < 1.0 - confidence
    above = np.bincount(tested.second[sure], minlength=len(models))
    below = np.bincount(tested.first[sure], minlength=len(models))
    for i, model in enumerate(models):
        own = interval_of(
            model.fit.values[metric.key],
            model.law,
            0,
            confidence,
            drawn,
            range_of(metric, model.counts),
        )
        own = own.scaled(model.per_user)
        yield Standing(
            model.name,
            model.value,
            own.low,
            own.high,
            own.std_error,
            own.resolvable,
            i + 1,
            1 + int(above[i]),
            len(models) - int(below[i]),
            float(chance[i]),
            model.naive,
        )


def _check_pools(metrics: Sequence[Metric], counts: RankCounts, name: str) -> None:
    """Check that all models have the same mean pool, for metrics that are divided by it."""
    for metric, own in zip(metrics, bound(metrics, counts), strict=True):
        if not metric.of_mean_rank or metric.name == "mr":
            continue
        if not np.isclose(metric.mean_pool or 0.0, own.mean_pool or 0.0, rtol=1e-9):
            raise InputError(
                f"{metric.key} divides by the mean pool, which is {own.mean_pool:,.6g} for {name} "
                f"and {metric.mean_pool:,.6g} for the first model; compare them on mr"
            )


def _dropped(data: _compared.Compared) -> list[str]:
    """What is said of rows without a rank, if there were any."""
    n_dropped = sum(counts.n_dropped for counts in data.counts.values())
    return [f"{dropped(n_dropped)}."] if n_dropped else []


def _how(data: _compared.Compared, differences: Sequence[Difference]) -> str:
    """Whether users were paired, why or why not, and what it was worth."""
    if data.by_blocks:
        return _how_by_blocks(differences)
    if data.paired is None:
        return f"Unpaired: {data.why}."
    said = f"Paired: the same {data.paired.n_users:,.6g} users for every model"
    cuts = [one.reduction for one in differences if one.reduction is not None]
    if not cuts:
        return f"{said}."
    if data.paired.pairs:
        said += ", ranked among the same negatives"
    elif not any(cuts):
        return (
            f"{said}. For these users that does not narrow the intervals: ranks do not tell how "
            "much of what models have in common comes from shared negatives. Joint counts do: "
            "truerank.count of all models together."
        )
    low, high = (round(100 * share) for share in (min(cuts), max(cuts)))
    share = f"{low} %" if low == high else f"{low} to {high} %"
    return f"{said}, which takes {share} off the variance of the differences."


def _how_by_blocks(differences: Sequence[Difference]) -> str:
    """What it was worth to know which blocks of users are the same."""
    cuts = [one.reduction for one in differences if one.reduction is not None]
    if not any(cuts):
        return (
            "Users have several targets: for these users, negatives that models have in common do "
            "not narrow the intervals."
        )
    low, high = (round(100 * share) for share in (min(cuts), max(cuts)))
    share = f"{low} %" if low == high else f"{low} to {high} %"
    return (
        "Paired by blocks of users, who have several targets each, which takes "
        f"{share} off the variance of the differences."
    )
