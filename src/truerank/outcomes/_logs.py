"""Logarithms of counts of draws: binomials and falling factorials that keep their digits."""

from __future__ import annotations

from typing import Any

import numpy as np

from truerank._types import FloatArray, IntArray

# Stands for log(0): finite, so that 0 * LOG_ZERO is 0 and not NaN.
LOG_ZERO = -1e300


def safe_log(x: FloatArray) -> FloatArray:
    """log(x), with LOG_ZERO for log(0)."""
    return np.log(x, out=np.full(x.shape, LOG_ZERO), where=x > 0)


def log_choose(n: FloatArray, k: FloatArray) -> FloatArray:
    """log C(n, k), with LOG_ZERO where it is 0."""
    from scipy.special import gammaln

    possible = (k >= 0) & (k <= n)
    k = np.where(possible, k, 0.0)
    log_c = gammaln(n + 1.0) - gammaln(k + 1.0) - gammaln(n - k + 1.0)
    return np.where(possible, log_c, LOG_ZERO)


def extend(log_reached: FloatArray, block: Any, above: FloatArray) -> FloatArray:
    """log ways to have ``above`` hits after ``block`` more draws, given ways by hits before.

    ``block`` is one number, or one for each of ``above``.
    """
    before = np.arange(float(log_reached.size))
    draws = np.asarray(block, dtype=np.float64)[..., None]
    logs = log_reached + log_choose(draws, above[:, None] - before)
    top = logs.max(axis=1, initial=LOG_ZERO)  # finite: log(0) is
    return np.asarray(top + np.log(np.exp(logs - top[:, None]).sum(axis=1)))


def log_falling(a: FloatArray, x: FloatArray, row: IntArray | None = None) -> FloatArray:
    """log of a (a-1) ... (a-x+1) = Gamma(a+1)/Gamma(a-x+1), LOG_ZERO where x > a.

    With ``row``, of ``a[row]``: what depends on ``a`` alone is then found once for each row.

    The plain difference of two log-gammas loses log10(a) digits (4e-7 at a = 1e8); Stirling's
    series with the leading terms cancelled by hand keeps the error below 1e-9.
    """
    from scipy.special import gammaln

    each = a if row is None else a[row]
    left = each - x
    large = left >= 1e4
    if large.all():
        result = np.empty(left.shape)
    else:
        top = gammaln(a + 1.0)
        result = (top if row is None else top[row]) - gammaln(np.maximum(left, 0.0) + 1.0)
        result[left < 0] = LOG_ZERO
    if large.any():
        each, x = np.broadcast_arrays(each, x)
        big, taken, rest = each[large], x[large], left[large]
        result[large] = (
            taken * np.log(big)
            - (rest + 0.5) * np.log1p(-taken / big)
            - taken
            + (1.0 / big - 1.0 / rest) / 12.0
        )
    return result
