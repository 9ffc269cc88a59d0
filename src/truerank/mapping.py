"""Mapping functions f(k): sampled recall@k is about global recall@f(k) (LJ20 section 3).

All take sampled cut-offs ``k`` (1 to sample_size) and return global ones, which are whole numbers
for `bound` only.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from truerank import _arguments, _checks
from truerank._types import FloatArray
from truerank.errors import ConvergenceWarning, InputError

__all__ = ["NAMES", "USUAL", "BetaFit", "beta", "bound", "fit_beta", "get", "linear"]

NAMES = ("linear", "bound", "beta(a)", "beta@P")
USUAL = ("linear", "bound", "beta(0.5)", "beta(1)")  # those that need no ranks to be fitted to


def linear(k: Any, *, n_items: Any, sample_size: Any) -> FloatArray:
    """Global cut-offs from the expected sampled rank: (k-1)(N-1)/(n-1) + 1 (LJ20 eq. 9).

    Parameters
    ----------
    k : int or array-like of int
        Cut-offs of the sampled recall, 1 to ``sample_size``.
    n_items : int or array-like of int
        Size of the pool, the target included.
    sample_size : int or array-like of int
        Candidates ranked, the target included.

    Returns
    -------
    ndarray of float
        f(k), 1 to ``n_items``.

    Examples
    --------
    >>> tr.mapping.linear([1, 2, 10], n_items=3706, sample_size=100).round(1).tolist()
    [1.0, 38.4, 337.8]
    """
    k, n_items, sample_size = _broadcast(k, n_items, sample_size)
    return np.asarray((k - 1.0) * (n_items - 1.0) / (sample_size - 1.0) + 1.0)


def bound(k: Any, *, n_items: Any, sample_size: Any) -> FloatArray:
    """Global cut-offs midway between Hoeffding's bounds (LJ20 eq. 13).

    f(k) = floor((k - 1/2)(N-1)/(n-1) + 1/2).

    Parameters
    ----------
    k : int or array-like of int
        Cut-offs of the sampled recall, 1 to ``sample_size``.
    n_items : int or array-like of int
        Size of the pool, the target included.
    sample_size : int or array-like of int
        Candidates ranked, the target included.

    Returns
    -------
    ndarray of float
        f(k), whole numbers.

    Examples
    --------
    >>> tr.mapping.bound([1, 2, 10], n_items=3706, sample_size=100).tolist()
    [19.0, 56.0, 356.0]
    """
    k, n_items, sample_size = _broadcast(k, n_items, sample_size)
    # In halves, so that whole numbers stay whole: ((2k-1)(N-1) + (n-1)) / (2(n-1)).
    top = (2.0 * k - 1.0) * (n_items - 1.0) + (sample_size - 1.0)
    return np.asarray(np.floor(top / (2.0 * (sample_size - 1.0))))


def beta(k: Any, *, n_items: Any, sample_size: Any, a: float) -> FloatArray:
    """Global cut-offs for global ranks distributed as Beta(a, 1) (LJ20 eq. 15 to 17).

    The recurrence telescopes: ((f(k)-1)/(N-1))^a = G(n) G(k+a) / (G(n+a) G(k)), G the gamma
    function, hence f(n) = N for every a.

    Parameters
    ----------
    k : int or array-like of int
        Cut-offs of the sampled recall, 1 to ``sample_size``.
    n_items : int or array-like of int
        Size of the pool, the target included.
    sample_size : int or array-like of int
        Candidates ranked, the target included.
    a : float
        The exponent, above 0; 1 for uniform ranks, smaller for better models.

    Returns
    -------
    ndarray of float
        f(k), up to ``n_items``.

    Examples
    --------
    >>> tr.mapping.beta([1, 2, 10], n_items=3706, sample_size=100, a=0.5).round(1).tolist()
    [30.2, 66.6, 363.3]
    """
    _arguments.check(beta, locals())
    from scipy.special import gammaln

    a = _checks.real(a, "a", low=0.0, high=1e6, open_low=True)
    k, n_items, sample_size = _broadcast(k, n_items, sample_size)
    log_share = (gammaln(k + a) - gammaln(k)) - (gammaln(sample_size + a) - gammaln(sample_size))
    return np.asarray((n_items - 1.0) * np.exp(log_share / a) + 1.0)


@dataclass(frozen=True)
class BetaFit:
    """The exponent of beta@P, and whether the fixed-point iteration converged.

    Attributes
    ----------
    a : float
        The exponent.
    converged : bool
        Whether the last step changed it by less than the tolerance.
    n_iter : int
        Number of steps.

    Examples
    --------
    >>> tr.mapping.BetaFit(a=0.4, converged=True, n_iter=12).converged
    True
    """

    a: float
    converged: bool
    n_iter: int


def fit_beta(
    counts: Any, *, start: float = 0.5, tolerance: float = 1e-9, steps: int = 200
) -> BetaFit:
    """Fit the exponent of beta@P to sampled ranks: LJ20 eq. 19, iterated to its fixed point.

    a <- -M / sum_u ln((f(r_u; a) - 1)/(N - 1)), M users with sampled ranks r_u.

    Parameters
    ----------
    counts : RankCounts
        Counts of samples of a fixed size.
    start : float
        Where the iteration begins, above 0.
    tolerance : float
        Relative change at which it ends.
    steps : int
        At most so many steps.

    Returns
    -------
    BetaFit
        The exponent, and whether the iteration converged.

    Raises
    ------
    InputError
        If the counts are adaptive, or every target is ranked last.

    Warns
    -----
    ConvergenceWarning
        If the steps did not suffice.

    Examples
    --------
    >>> counts = tr.RankCounts.from_ranks([1, 1, 3, 20], num_negatives=99, n_items=3706)
    >>> fit = tr.mapping.fit_beta(counts)
    >>> round(fit.a, 3), fit.converged
    (0.263, True)
    """
    _arguments.check(fit_beta, locals())
    import warnings

    if not hasattr(counts, "sampled_rank"):
        raise InputError(f"counts is {_checks.shown(counts)}; it must be RankCounts")
    steps = _checks.integer(steps, "steps", low=1)
    if counts.adaptive:
        raise InputError("beta@P needs samples of a fixed size; these counts are adaptive")
    if counts.censored:
        raise InputError("beta@P needs ranks; some of these lists ended before their target")
    a = _checks.real(start, "start", low=0.0, high=1e6, open_low=True)
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
    """A mapping by its name.

    Parameters
    ----------
    name : str
        ``"linear"``, ``"bound"``, ``"beta(0.5)"`` with any exponent, or ``"beta@P"``.
    counts : RankCounts, optional
        Sampled ranks to fit beta@P to; the other mappings do not need them.

    Returns
    -------
    callable
        f(k, *, n_items, sample_size), as :func:`linear`.

    Raises
    ------
    InputError
        If the name is unknown, or beta@P is asked for without counts.

    Examples
    --------
    >>> f = tr.mapping.get("beta(1)")
    >>> f(10, n_items=3706, sample_size=100).round(1).item()
    371.5
    """
    if not isinstance(name, str):
        raise _checks.unknown("mapping", name, [*NAMES, "beta(0.5)"])
    tidy = name.strip().lower()
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


def _broadcast(k: Any, n_items: Any, sample_size: Any) -> tuple[FloatArray, FloatArray, FloatArray]:
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
