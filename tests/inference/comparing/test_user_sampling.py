"""LJ24 section 7: numbers of the paper, cases worked by hand, and scipy.stats as the oracle."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import stats

from truerank.errors import InputError
from truerank.inference.comparing import user_sampling as us

RNG = np.random.default_rng(0)
A = RNG.integers(0, 6, 80) / 5
B = np.clip(A - RNG.integers(-2, 4, 80) / 5, 0, 1)


def test_the_numbers_of_the_paper():
    assert us.users_needed(0.03) == pytest.approx(1067.07, abs=0.01)  # eq. 47
    assert int(np.ceil(us.users_needed(0.01))) == 9604
    assert us.users_needed(0.03, comparison=True) == 2 * us.users_needed(0.03)  # eq. 52
    # "t = 0.02 and sample size 10K, the confidence bound is higher than 99.9 %"
    assert us.hoeffding_chance(10_000, 0.02) == pytest.approx(2 * np.exp(-8))
    assert us.hoeffding_chance(10_000, 0.02) < 0.001


def test_sizes_follow_their_laws():
    assert us.users_needed(0.01, p=0.1) == pytest.approx(0.36 * us.users_needed(0.01))
    assert us.users_needed(0.01, variance=0.09) == pytest.approx(us.users_needed(0.01, p=0.1))
    # m / (1 + m / M): half of a population as large as the sample that an endless one takes.
    needed = us.users_needed(0.03)
    assert us.users_needed(0.03, population_size=needed) == pytest.approx(needed / 2)
    assert us.users_needed(0.03, population_size=1e12) == pytest.approx(needed)
    z = stats.norm.ppf(1 - 0.05 / 20)  # ten statements at once
    assert us.users_needed(0.03, n_statements=10) == pytest.approx(0.25 * (z / 0.03) ** 2)
    m = us.hoeffding_users(0.02, confidence=0.99)
    assert us.hoeffding_chance(m, 0.02) == pytest.approx(0.01)
    assert us.hoeffding_users(0.02, spread=0.5) == pytest.approx(us.hoeffding_users(0.02) / 4)
    assert us.hoeffding_users(0.02) > us.users_needed(0.02)
    assert us.hoeffding_chance(1, 0.01) == 1.0


def test_z_test_by_hand():
    """60 and 45 of 100: pooled p 21/40, z = 0.15 / sqrt(2 (21/40)(19/40) / 100)."""
    first, second = us.Sample.proportion(0.6, 100), us.Sample.proportion(0.45, 100)
    found = us.z_test(first, second)
    assert found.statistic == pytest.approx(0.15 / np.sqrt(2 * 21 * 19 / 1600 / 100))
    assert found.p_value == pytest.approx(2 * stats.norm.sf(found.statistic))
    assert us.z_test(second, first, alternative="less").p_value == pytest.approx(found.p_value / 2)
    assert us.z_test(first, second, alternative="less").p_value == pytest.approx(
        1 - found.p_value / 2
    )
    # The square of z is chi-squared of the two-by-two table.
    square = stats.chi2_contingency([[60, 40], [45, 55]], correction=False)
    assert found.statistic**2 == pytest.approx(square.statistic)
    assert found.p_value == pytest.approx(square.pvalue)
    hits = us.Sample.of(np.repeat([1.0, 0.0], [60, 40]))
    assert us.z_test(hits, us.Sample.of([1.0, 0.0], [45, 55])) == found


def test_difference_interval_by_hand():
    low, high = us.difference_interval(
        us.Sample.proportion(0.6, 100), us.Sample.proportion(0.5, 50)
    )
    half = 1.959964 * np.sqrt(0.6 * 0.4 / 100 + 0.5 * 0.5 / 50)
    assert (low, high) == pytest.approx((0.1 - half, 0.1 + half), abs=1e-7)


@pytest.mark.parametrize("alternative", us.ALTERNATIVES)
def test_against_scipy(alternative):
    welch = stats.ttest_ind(A[:50], B, equal_var=False, alternative=alternative)
    found = us.t_test(us.Sample.of(A[:50]), us.Sample.of(B), alternative=alternative)
    assert (found.statistic, found.p_value) == pytest.approx((welch.statistic, welch.pvalue))
    difference = np.round(A - B, 9)
    positive, unequal = int((difference > 0).sum()), int((difference != 0).sum())
    sign = stats.binomtest(positive, unequal, alternative=alternative)
    assert us.sign_test(difference, alternative=alternative).p_value == pytest.approx(sign.pvalue)
    ranked = stats.wilcoxon(difference, method="approx", alternative=alternative)
    found = us.wilcoxon_test(difference, alternative=alternative)
    assert found.p_value == pytest.approx(ranked.pvalue)
    # Distinct differences with weights say the same.
    value, count = np.unique(difference, return_counts=True)
    assert us.wilcoxon_test(value, count, alternative=alternative).p_value == pytest.approx(
        found.p_value
    )
    assert us.sign_test(value, count, alternative=alternative).p_value == pytest.approx(sign.pvalue)


def test_sign_test_by_hand():
    """9 of 10 ahead, 5 alike: 2 (1 + 10) / 2^10."""
    assert us.sign_test([1.0] * 9 + [-1.0] + [0.0] * 5).p_value == pytest.approx(22 / 1024)


def test_no_difference_is_no_evidence():
    zeros, same = np.zeros(5), us.Sample.of([1.0, 0.0])
    assert us.sign_test(zeros).p_value == us.wilcoxon_test(zeros).p_value == 1.0
    assert us.z_test(same, same).p_value == us.t_test(same, same).p_value == 1.0
    sure, never = us.Sample.of([1.0, 1.0]), us.Sample.of([0.0, 0.0])
    assert us.t_test(sure, never).p_value == 0.0


def test_adjustments_by_hand():
    p = [0.01, 0.04, 0.03, 0.005]
    assert us.bonferroni(p) == pytest.approx([0.04, 0.16, 0.12, 0.02])
    # In order .005 .01 .03 .04 times 4 3 2 1: .02 .03 .06 .04, never falling.
    assert us.holm(p) == pytest.approx([0.03, 0.06, 0.06, 0.02])
    assert (us.holm(p) <= us.bonferroni(p)).all()


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: us.users_needed(0.0), "margin is 0.0; it must be above 0"),
        (lambda: us.users_needed(0.1, p=2), "p is 2"),
        (lambda: us.users_needed(0.1, confidence=1.0), "confidence is 1.0"),
        (lambda: us.users_needed(0.1, n_statements=0), "n_statements is 0"),
        (lambda: us.t_test(us.Sample.of([1.0]), us.Sample.of([0.0, 1.0])), "at least 2 users"),
        (lambda: us.sign_test([1.0], [1.0, 2.0]), "weights has 2 values; there are 1"),
        (lambda: us.sign_test([1.0], alternative="more"), "unknown alternative 'more'"),
        (lambda: us.holm([0.5, 1.5]), "p_values is 1.5 at row 1"),
    ],
)
def test_bad_input(call, message):
    with pytest.raises(InputError, match=message.replace("(", r"\(")):
        call()
