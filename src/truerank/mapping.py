"""Mapping functions f(k): sampled recall@k is about global recall@f(k) (LJ20 section 3).

All take sampled cut-offs ``k`` (1..sample_size) and return global ones, real except for `bound`.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from truerank import _checks
from truerank._types import FloatArray
from truerank.errors import ConvergenceWarning, InputError

__all__ = ["NAMES", "USUAL", "BetaFit", "beta", "bound", "fit_beta", "get", "linear"]

NAMES = ("linear", "bound", "beta(a)", "beta@P")
USUAL = ("linear", "bound", "beta(0.5)", "beta(1)")  # those that need no ranks to be fitted to


def linear(k: Any, *, n_items: Any, sample_size: Any) -> FloatArray:
    """f(k) = (k-1)(N-1)/(n-1) + 1, from the expected sampled rank (LJ20 eq. 9)."""
    k, n_items, sample_size = _arguments(k, n_items, sample_size)
    return np.asarray((k - 1.0) * (n_items - 1.0) / (sample_size - 1.0) + 1.0)


def bound(k: Any, *, n_items: Any, sample_size: Any) -> FloatArray:
    """f(k) = floor((k-1/2)(N-1)/(n-1) + 1/2), midway between Hoeffding's bounds (LJ20 eq. 13)."""
    k, n_items, sample_size = _arguments(k, n_items, sample_size)
    # In halves, so that whole numbers stay whole: ((2k-1)(N-1) + (n-1)) / (2(n-1)).
    top = (2.0 * k - 1.0) * (n_items - 1.0) + (sample_size - 1.0)
    return np.asarray(np.floor(top / (2.0 * (sample_size - 1.0))))


def beta(k: Any, *, n_items: Any, sample_size: Any, a: float) -> FloatArray:
    """f(k) for global ranks distributed as Beta(a, 1) (LJ20 eq. 15 to 17).

    The recurrence telescopes: ((f(k)-1)/(N-1))^a = G(n) G(k+a) / (G(n+a) G(k)), G the gamma
    function, hence f(n) = N for every a.
    """
    from scipy.special import gammaln

    a = _checks.real(a, "a", low=0.0, open_low=True)
    k, n_items, sample_size = _arguments(k, n_items, sample_size)
    log_share = (gammaln(k + a) - gammaln(k)) - (gammaln(sample_size + a) - gammaln(sample_size))
    return np.asarray((n_items - 1.0) * np.exp(log_share / a) + 1.0)


@dataclass(frozen=True)
class BetaFit:
    """The exponent of beta@P, and whether the fixed-point iteration converged."""

    a: float
    converged: bool
    n_iter: int


def fit_beta(
    counts: Any, *, start: float = 0.5, tolerance: float = 1e-9, steps: int = 200
) -> BetaFit:
    """The exponent ``a`` of beta@P: LJ20 eq. 19 iterated to its fixed point.

    a <- -M / sum_u ln((f(r_u; a) - 1)/(N - 1)), M users with sampled ranks r_u.
    """
    import warnings

    if counts.adaptive:
        raise InputError("beta@P needs samples of a fixed size; these counts are adaptive")
    a = _checks.real(start, "start", low=0.0, open_low=True)
    pool = counts.n_items.astype(np.float64)
    share = counts.weight / counts.total_weight
    for step in range(1, steps + 1):
        f = beta(counts.sampled_rank, n_items=pool, sample_size=counts.sample_size, a=a)
        mean_log = float(share @ np.log((f - 1.0) / (pool - 1.0)))
        if mean_log >= 0:
            raise InputError("beta@P is undefined: every target is ranked last in its sample")
        new = -1.0 / mean_log
        if abs(new - a) <= tolerance * a:
            return BetaFit(new, True, step)
        a = new
    warnings.warn(f"beta@P did not converge in {steps} steps", ConvergenceWarning, stacklevel=2)
    return BetaFit(a, False, steps)


def get(name: str, counts: Any = None) -> Callable[..., FloatArray]:
    """A mapping by name: linear, bound, beta(0.5) (any exponent), beta@P fitted to ``counts``."""
    tidy = str(name).strip().lower()
    if tidy == "linear":
        return linear
    if tidy == "bound":
        return bound
    if tidy == "beta@p":
        if counts is None:
            raise InputError("mapping 'beta@P' is fitted to sampled ranks; give counts")
        return _beta_with(fit_beta(counts).a)
    number = re.fullmatch(r"beta\(\s*(?:a\s*=\s*)?([^)]*)\)|beta@(.*)", tidy)
    if number:
        text = number.group(1) or number.group(2) or ""
        try:
            value = float(text)
        except ValueError:
            raise InputError(
                f"mapping {name!r}: a is {text!r}; it must be a number above 0"
            ) from None
        return _beta_with(_checks.real(value, "a", low=0.0, open_low=True))
    raise _checks.unknown("mapping", name, [*NAMES, "beta(0.5)"])


def _beta_with(a: float) -> Callable[..., FloatArray]:
    return lambda k, *, n_items, sample_size: beta(k, n_items=n_items, sample_size=sample_size, a=a)


def _arguments(k: Any, n_items: Any, sample_size: Any) -> tuple[FloatArray, FloatArray, FloatArray]:
    """The three as float arrays that broadcast: scalars or of one shape (n,)."""
    k = _numbers(k, "k", low=1)
    n_items = _numbers(n_items, "n_items", low=2)
    sample_size = _numbers(sample_size, "sample_size", low=2)
    try:
        highest = np.broadcast_arrays(sample_size, k, n_items)[0]
    except ValueError:
        raise InputError(
            f"k, n_items and sample_size have {k.size}, {n_items.size} and {sample_size.size} "
            "values; give one or equally many of each"
        ) from None
    over = k > highest
    if over.any():
        value = np.broadcast_to(k, over.shape)[over][0]
        raise InputError(f"k is {value:g}; it must be from 1 to sample_size={highest[over][0]:g}")
    return k, n_items, sample_size


def _numbers(values: Any, name: str, *, low: int) -> FloatArray:
    if np.isscalar(values) or values is None:
        return np.asarray(_checks.integer(values, name, low=low), dtype=np.float64)
    array = _checks.whole_numbers(values, name)
    _checks.within(array, name, low=low, high=np.inf, because=f"it must be at least {low}")
    return array.astype(np.float64)


def __dir__() -> list[str]:
    return sorted(__all__)
