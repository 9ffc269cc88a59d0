"""Statistics of a sample of users (LJ24 section 7): how many are needed, and tests between models.

Tests work on gains per user, whose mean is the metric: for recall on exact ranks these are 0 and 1,
and the tests are those of proportions; on sampled ranks they are the gains of an estimator, which
spread more, and the same formulas take their variance instead of p (1 - p). All tests answer for
the population that users are drawn from.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, get_args

import numpy as np

from truerank import _checks
from truerank._types import Alternative, FloatArray
from truerank.errors import InputError
from truerank.inference.intervals.interval import check_confidence, normal_quantile

ALTERNATIVES: tuple[Alternative, ...] = get_args(Alternative)

# -- how many users ---------------------------------------------------------------------------


def users_needed(
    margin: float,
    *,
    p: float = 0.5,
    variance: float | None = None,
    confidence: float = 0.95,
    population_size: float | None = None,
    comparison: bool = False,
    n_statements: int = 1,
) -> float:
    """Users needed for a margin of error, by the normal approximation (LJ24 eq. 46).

    Parameters
    ----------
    margin : float
        Half-width of the interval, in units of the metric: 0.03 for 3 percentage points of recall.
    p : float, default 0.5
        The recall that is expected, 0.5 being the worst.
    variance : float, optional
        The variance of any metric's gains over users, in place of p (1 - p).
    confidence : float, default 0.95
        Confidence of the interval.
    population_size : float, optional
        The number of all users, where it is known: the finite-population correction.
    comparison : bool, default False
        For the difference of two models, each on users of its own (LJ24 eq. 52): twice as many,
        and that for each model.
    n_statements : int, default 1
        Number of such statements that are to hold at once (Bonferroni).

    Returns
    -------
    float
        The number of users, not rounded up.

    Examples
    --------
    >>> from truerank.inference.comparing import user_sampling
    >>> round(user_sampling.users_needed(0.03), 2)  # LJ24 eq. 47
    1067.07
    """
    margin = _checks.real(margin, "margin", low=0.0, open_low=True)
    if variance is None:
        p = _checks.real(p, "p", low=0.0, high=1.0)
        variance = p * (1.0 - p)
    variance = _checks.real(variance, "variance", low=0.0)
    chance = _chance_of_error(confidence, n_statements)
    needed = variance * (normal_quantile(1.0 - chance / 2.0) / margin) ** 2  # LJ24 eq. 46
    return finite_population(2.0 * needed if comparison else needed, population_size)


def hoeffding_users(
    margin: float,
    *,
    spread: float = 1.0,
    confidence: float = 0.95,
    population_size: float | None = None,
    comparison: bool = False,
    n_statements: int = 1,
) -> float:
    """Users needed for a margin of error, whatever the distribution of gains (LJ24 eq. 48).

    More than the normal approximation asks for, and sure at any number of users.

    Parameters
    ----------
    margin : float
        Half-width of the interval, in units of the metric.
    spread : float, default 1.0
        The range that gains lie in.
    confidence : float, default 0.95
        Confidence of the interval.
    population_size : float, optional
        As in `users_needed`.
    comparison : bool, default False
        As in `users_needed`.
    n_statements : int, default 1
        As in `users_needed`.

    Returns
    -------
    float
        The number of users, not rounded up.

    Examples
    --------
    >>> from truerank.inference.comparing import user_sampling
    >>> round(user_sampling.hoeffding_users(0.03), 2)
    2049.38
    """
    margin = _checks.real(margin, "margin", low=0.0, open_low=True) / _checks.real(
        spread, "spread", low=0.0, open_low=True
    )
    chance = _chance_of_error(confidence, n_statements)
    needed = float(np.log(2.0 / chance)) / (2.0 * margin**2)
    return finite_population(2.0 * needed if comparison else needed, population_size)


def hoeffding_chance(n_users: float, margin: float, *, spread: float = 1.0) -> float:
    """The most that the chance of an error beyond a margin can be (LJ24 eq. 48).

    Parameters
    ----------
    n_users : float
        The number of users.
    margin : float
        The margin, in units of the metric.
    spread : float, default 1.0
        The range that gains lie in.

    Returns
    -------
    float
        At most 1.

    Examples
    --------
    >>> from truerank.inference.comparing import user_sampling
    >>> round(user_sampling.hoeffding_chance(10_000, 0.02), 6)
    0.000671
    """
    n_users = _checks.real(n_users, "n_users", low=0.0, open_low=True)
    margin = _checks.real(margin, "margin", low=0.0)
    spread = _checks.real(spread, "spread", low=0.0, open_low=True)
    return float(min(1.0, 2.0 * np.exp(-2.0 * n_users * (margin / spread) ** 2)))


def finite_population(n_users: float, population_size: float | None) -> float:
    """Users needed from a finite population, where an infinite one would take ``n_users``.

    Parameters
    ----------
    n_users : float
        Users needed of an endless population.
    population_size : float or None
        The number of all users; None if it is endless.

    Returns
    -------
    float
        Users needed.

    Examples
    --------
    >>> from truerank.inference.comparing import user_sampling
    >>> user_sampling.finite_population(1000, 1000)
    500.0
    """
    if population_size is None:
        return float(n_users)
    population_size = _checks.real(population_size, "population_size", low=0.0, open_low=True)
    return float(n_users / (1.0 + n_users / population_size))


def _chance_of_error(confidence: float, n_statements: int) -> float:
    n_statements = _checks.integer(n_statements, "n_statements", low=1)
    return (1.0 - check_confidence(confidence)) / n_statements


# -- tests ------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Sample:
    """Gains over users.

    Attributes
    ----------
    mean : float
        Their mean: the metric.
    variance : float
        Their variance, divided by n, not n - 1.
    n_users : float
        The number of users.
    """

    mean: float
    variance: float
    n_users: float

    @classmethod
    def of(cls, gains: Any, weights: Any = None) -> Sample:
        """A sample from gains.

        Parameters
        ----------
        gains : array
            One gain per user, or distinct gains.
        weights : array, optional
            The number of users who have each.

        Returns
        -------
        Sample
            Mean, variance and number of users.
        """
        gain, weight = _weighted(gains, weights)
        total = float(weight.sum())
        mean = float(weight @ gain) / total
        return cls(mean, float(weight @ (gain - mean) ** 2) / total, total)

    @classmethod
    def proportion(cls, p: float, n_users: float) -> Sample:
        """A sample of hits.

        Parameters
        ----------
        p : float
            The share of users with a hit.
        n_users : float
            The number of users.

        Returns
        -------
        Sample
            With mean p and variance p (1 - p).
        """
        p = _checks.real(p, "p", low=0.0, high=1.0)
        return cls(p, p * (1.0 - p), _checks.real(n_users, "n_users", low=0.0, open_low=True))


@dataclass(frozen=True)
class HypothesisTest:
    """A test of the first model's metric being that of the second.

    Attributes
    ----------
    name : str
        The test.
    statistic : float
        Its statistic.
    p_value : float
        The chance of a statistic at least as far out if the models are equal.
    difference : float
        First less second (for the sign and Wilcoxon tests: mean of the differences).
    alternative : {"two-sided", "less", "greater"}
        What is held against equality: ``"less"`` is LJ24's, first below second.
    """

    name: str
    statistic: float
    p_value: float
    difference: float
    alternative: Alternative = "two-sided"


def z_test(
    first: Sample, second: Sample, *, alternative: Alternative = "two-sided"
) -> HypothesisTest:
    """Two-sample z-test with pooled variance, for recall (LJ24 eq. 49 and 50).

    For proportions the pooled variance is p (1 - p) at the pooled p.

    Parameters
    ----------
    first, second : Sample
        Gains of the two models.
    alternative : {"two-sided", "less", "greater"}
        What is held against equality.

    Returns
    -------
    HypothesisTest
        Statistic and p-value.

    Examples
    --------
    >>> from truerank.inference.comparing.user_sampling import Sample, z_test
    >>> test = z_test(Sample.proportion(0.5, 1000), Sample.proportion(0.45, 1000))
    >>> round(test.statistic, 3), round(test.p_value, 3)
    (2.239, 0.025)
    """
    total = first.n_users + second.n_users
    mean = (first.n_users * first.mean + second.n_users * second.mean) / total
    pooled = sum(s.n_users * (s.variance + (s.mean - mean) ** 2) for s in (first, second)) / total
    error = np.sqrt(pooled * (1.0 / first.n_users + 1.0 / second.n_users))
    z = _ratio(first.mean - second.mean, error)
    return HypothesisTest(
        "two-sample z", z, normal_p_value(z, alternative), first.mean - second.mean, alternative
    )


def t_test(
    first: Sample, second: Sample, *, alternative: Alternative = "two-sided"
) -> HypothesisTest:
    """Two-sample t-test without equal variances (Welch), for ndcg, ap and the like.

    Parameters
    ----------
    first, second : Sample
        Gains of the two models.
    alternative : {"two-sided", "less", "greater"}
        What is held against equality.

    Returns
    -------
    HypothesisTest
        Statistic and p-value.

    Examples
    --------
    >>> from truerank.inference.comparing.user_sampling import Sample, t_test
    >>> t_test(Sample(0.5, 0.04, 100), Sample(0.4, 0.04, 100)).p_value < 0.001
    True
    """
    from scipy.special import stdtr

    for sample in (first, second):
        if sample.n_users <= 1.0:
            raise InputError(f"n_users is {sample.n_users:g}; a t-test needs at least 2 users")
    parts = [sample.variance / (sample.n_users - 1.0) for sample in (first, second)]
    t = _ratio(first.mean - second.mean, np.sqrt(sum(parts)))
    if not np.isfinite(t) or t == 0.0:
        p_value = normal_p_value(t, alternative)
    else:
        freedom = sum(parts) ** 2 / (
            parts[0] ** 2 / (first.n_users - 1.0) + parts[1] ** 2 / (second.n_users - 1.0)
        )
        p_value = _tail(lambda x: float(stdtr(freedom, x)), t, alternative)
    return HypothesisTest("two-sample t (Welch)", t, p_value, first.mean - second.mean, alternative)


def difference_interval(
    first: Sample, second: Sample, *, confidence: float = 0.95
) -> tuple[float, float]:
    """Interval for the difference of two independent samples (LJ24 eq. 51).

    Parameters
    ----------
    first, second : Sample
        Gains of the two models.
    confidence : float, default 0.95
        Confidence of the interval.

    Returns
    -------
    tuple of float
        The ends of the interval of first less second.

    Examples
    --------
    >>> from truerank.inference.comparing.user_sampling import Sample, difference_interval
    >>> ends = difference_interval(Sample.proportion(0.5, 1000), Sample.proportion(0.45, 1000))
    >>> [round(end, 4) for end in ends]
    [0.0063, 0.0937]
    """
    z = normal_quantile(0.5 + check_confidence(confidence) / 2.0)
    half = z * np.sqrt(first.variance / first.n_users + second.variance / second.n_users)
    difference = first.mean - second.mean
    return float(difference - half), float(difference + half)


def sign_test(
    differences: Any, weights: Any = None, *, alternative: Alternative = "two-sided"
) -> HypothesisTest:
    """Sign test of paired users: is either model ahead for more of those whose gains differ.

    Exact (binomial); the statistic is the share of users for whom the first leads.

    Parameters
    ----------
    differences : array
        Differences of gains, first less second: one per user, or distinct ones.
    weights : array, optional
        The number of users who have each.
    alternative : {"two-sided", "less", "greater"}
        What is held against equality.

    Returns
    -------
    HypothesisTest
        Statistic and p-value.

    Examples
    --------
    >>> from truerank.inference.comparing.user_sampling import sign_test
    >>> sign_test([1, 1, 1, 1, 0, -1]).p_value
    0.375
    """
    from scipy.special import betainc

    _check_alternative(alternative)
    difference, weight = _weighted(differences, weights)
    ahead, behind = float(weight[difference > 0].sum()), float(weight[difference < 0].sum())
    n, mean = ahead + behind, float(weight @ difference / weight.sum())
    if not n:
        return HypothesisTest("sign", 0.5, 1.0, mean, alternative)
    # P(X >= k) for X ~ Binomial(n, 1/2) is an incomplete beta; so fractions of users work too.
    above = 1.0 if not ahead else float(betainc(ahead, behind + 1.0, 0.5))
    below = 1.0 if not behind else float(betainc(behind, ahead + 1.0, 0.5))
    two_sided = min(1.0, 2.0 * min(above, below))
    p_value = {"greater": above, "less": below, "two-sided": two_sided}[alternative]
    return HypothesisTest("sign", ahead / n, p_value, mean, alternative)


def wilcoxon_test(
    differences: Any, weights: Any = None, *, alternative: Alternative = "two-sided"
) -> HypothesisTest:
    """Wilcoxon's signed-rank test of paired users.

    By the normal approximation with ties; users without a difference are left out. The statistic
    is the sum of the ranks of positive differences.

    Parameters
    ----------
    differences : array
        As in `sign_test`.
    weights : array, optional
        As in `sign_test`.
    alternative : {"two-sided", "less", "greater"}
        What is held against equality.

    Returns
    -------
    HypothesisTest
        Statistic and p-value.

    Examples
    --------
    >>> from truerank.inference.comparing.user_sampling import wilcoxon_test
    >>> wilcoxon_test([3, 2, 1, 1, 0, -1]).statistic
    13.0
    """
    difference, weight = _weighted(differences, weights)
    mean = float(weight @ difference / weight.sum())
    unequal = difference != 0
    size, at = np.unique(np.abs(difference[unequal]), return_inverse=True)
    tied = np.bincount(at, weight[unequal], minlength=size.size)
    rank = np.cumsum(tied) - (tied - 1.0) / 2.0  # mean of the tied ranks
    n = float(tied.sum())
    if not n:
        return HypothesisTest("Wilcoxon signed-rank", 0.0, 1.0, mean, alternative)
    positive = float((weight[unequal] * rank[at])[difference[unequal] > 0].sum())
    variance = n * (n + 1.0) * (2.0 * n + 1.0) / 24.0 - float((tied**3 - tied).sum()) / 48.0
    z = _ratio(positive - n * (n + 1.0) / 4.0, np.sqrt(variance))
    p_value = normal_p_value(z, alternative)
    return HypothesisTest("Wilcoxon signed-rank", positive, p_value, mean, alternative)


def bonferroni(p_values: Any) -> FloatArray:
    """The p-values times their number (Bonferroni's correction).

    The chance that any of several true hypotheses is rejected stays what it is for one.

    Parameters
    ----------
    p_values : array
        One per hypothesis.

    Returns
    -------
    array
        Corrected p-values, at most 1.

    Examples
    --------
    >>> from truerank.inference.comparing.user_sampling import bonferroni
    >>> bonferroni([0.01, 0.04]).tolist()
    [0.02, 0.08]
    """
    p = _p_values(p_values)
    return np.minimum(p * p.size, 1.0)


def holm(p_values: Any) -> FloatArray:
    """Holm's step-down correction: keeps what Bonferroni keeps, and never rejects less.

    Parameters
    ----------
    p_values : array
        One per hypothesis.

    Returns
    -------
    array
        Corrected p-values, at most 1.

    Examples
    --------
    >>> from truerank.inference.comparing.user_sampling import holm
    >>> holm([0.01, 0.04]).tolist()
    [0.02, 0.04]
    """
    p = _p_values(p_values)
    order = np.argsort(p, kind="stable")
    stepped = np.maximum.accumulate(p[order] * np.arange(p.size, 0, -1))
    adjusted = np.empty(p.size)
    adjusted[order] = np.minimum(stepped, 1.0)
    return adjusted


def normal_p_value(z: float, alternative: Alternative = "two-sided") -> float:
    """The chance of a standard normal variable at least as far out.

    Parameters
    ----------
    z : float
        The value.
    alternative : {"two-sided", "less", "greater"}
        On which side it counts.

    Returns
    -------
    float
        The p-value.
    """
    from scipy.special import ndtr

    return _tail(lambda x: float(ndtr(x)), z, alternative)


def _tail(cdf: Any, statistic: float, alternative: Alternative) -> float:
    """The p-value of a statistic with a symmetric distribution."""
    _check_alternative(alternative)
    if alternative == "two-sided":
        return min(1.0, 2.0 * float(cdf(-abs(statistic))))
    return float(cdf(statistic if alternative == "less" else -statistic))


def _ratio(difference: float, error: Any) -> float:
    """A difference in standard errors; without any error it is beyond doubt, or none."""
    if error > 0:
        return float(difference / error)
    return float(np.sign(difference)) * np.inf if difference else 0.0


def _check_alternative(alternative: Alternative) -> None:
    if alternative not in ALTERNATIVES:
        raise _checks.unknown("alternative", alternative, ALTERNATIVES)


def _weighted(values: Any, weights: Any) -> tuple[FloatArray, FloatArray]:
    value = _checks.numeric(values, "gains")
    weight = np.ones(value.size) if weights is None else _checks.numeric(weights, "weights")
    if weight.size != value.size:
        raise InputError(f"weights has {weight.size} values; there are {value.size} gains")
    if (weight < 0).any() or not weight.any():
        raise InputError("weights must be at least 0, and not all of them 0")
    return value, weight


def _p_values(p_values: Any) -> FloatArray:
    p = _checks.numeric(p_values, "p_values")
    if ((p < 0) | (p > 1)).any():
        row = int(np.argmax((p < 0) | (p > 1)))
        raise InputError(f"p_values is {p[row]:g} at row {row}; it must be from 0 to 1")
    return p
