"""Estimators by name, with or without options."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import fields
from typing import Any

from truerank import _arguments, _checks
from truerank._spelling import read_call
from truerank.errors import InputError
from truerank.estimators._base import Estimator
from truerank.estimators.cls import CLS
from truerank.estimators.linear import BV, MN
from truerank.estimators.mapped import Mapped
from truerank.estimators.maxent import MES
from truerank.estimators.mle import MLE, WMLE
from truerank.estimators.naive import Naive
from truerank.estimators.rank_estimate import RankEstimate
from truerank.estimators.smooth import Smooth
from truerank.metrics import Metric
from truerank.outcomes.counts import RankCounts

# Name -> the estimator and the options that the name fixes.
REGISTRY: dict[str, tuple[type[Estimator], dict[str, Any]]] = {
    "naive": (Naive, {}),
    "mapped": (Mapped, {}),
    "rank-estimate": (RankEstimate, {}),
    "cls": (CLS, {}),
    "bv": (BV, {}),
    "mle": (MLE, {}),
    "wmle": (WMLE, {}),
    "mes": (MES, {}),
    "bv-mle": (BV, {"prior": "mle"}),
    "bv-mes": (BV, {"prior": "mes"}),
    "mn-mle": (MN, {"prior": "mle"}),
    "mn-mes": (MN, {"prior": "mes"}),
    "smooth": (Smooth, {}),
}


def get(estimator: str | Estimator) -> Estimator:
    """An estimator by its name, with or without options.

    Parameters
    ----------
    estimator : str or Estimator
        A name of :data:`REGISTRY`, also with options as in ``"bv(gamma=0.1)"``; an Estimator is
        returned as it is.

    Returns
    -------
    Estimator
        The estimator.

    Raises
    ------
    InputError
        If the name or an option is unknown; the message names the nearest known one.

    Examples
    --------
    >>> tr.estimators.get("bv(gamma=0.1)")
    BV(prior=None, gamma=0.1)
    >>> tr.estimators.get("mel")
    Traceback (most recent call last):
    ...
    truerank.errors.InputError: unknown estimator 'mel'; did you mean 'mle'? (known: ...)
    """
    _arguments.check(get, locals())
    if isinstance(estimator, Estimator):
        return estimator
    if not isinstance(estimator, str):
        raise InputError(
            f"estimator is {estimator!r}; expected a name such as 'mle' or 'bv(gamma=0.1)'"
        )
    key, options = read_call(estimator, "estimator", "bv(gamma=0.1)")
    if key not in REGISTRY:
        raise _checks.unknown("estimator", key, REGISTRY)
    kind, fixed = REGISTRY[key]
    known = [field.name for field in fields(kind) if field.name not in fixed]
    for option in options:
        if option not in known:
            raise _checks.unknown(f"option of {key}", option, known)
    try:
        return kind(**fixed, **options)
    except (TypeError, AttributeError) as error:
        raise InputError(f"estimator {estimator!r}: {error}") from None


def check(wanted: Iterable[Metric], estimator: Estimator, counts: RankCounts, plug_in: str) -> None:
    """Raise if the metrics cannot be estimated from these counts by this estimator."""
    # With several targets, positions in the one list go beyond the pool of a single target.
    longest = counts.n_items + (counts.n_targets - 1) + counts.offset
    check_metrics(wanted, estimator, int(longest.max()))
    if plug_in not in ("plain", "posterior"):
        raise InputError(f"plug_in is {plug_in!r}; it must be 'plain' or 'posterior'")


def check_metrics(wanted: Iterable[Metric], estimator: Estimator, largest: int) -> None:
    """Raise if an estimator does not give these metrics, or no pool, of ``largest`` at most."""
    for metric in wanted:
        if metric.k is not None and metric.k > largest:
            raise InputError(
                f"k is {metric.k} in {metric.key}; the largest pool has {largest} items"
            )
        if not estimator.supports(metric):
            raise InputError(
                f"estimator {estimator.name!r} is not defined for {metric.key}; it gives recall "
                "and precision only"
            )


def describe(estimator: Estimator) -> str:
    """The estimator as text that `get` reads; options at their defaults are left out.

    Parameters
    ----------
    estimator : Estimator
        The estimator.

    Returns
    -------
    str
        Its name, with options.

    Examples
    --------
    >>> tr.estimators.describe(tr.estimators.BV(gamma=0.1, prior="mle"))
    'bv-mle(gamma=0.1)'
    """
    _arguments.check(describe, locals())
    name = estimator.name
    shown = []
    for field in fields(estimator):
        value = getattr(estimator, field.name)
        if isinstance(value, Estimator):  # the prior
            if name == CLS.name:  # which has no name of its own for it
                shown.append(f"{field.name}={value.name!r}")
            else:
                name = f"{name}-{value.name}"
        elif value is None or isinstance(value, (bool, int, float, str)):
            if value != field.default:
                shown.append(f"{field.name}={value!r}")
        else:
            shown.append(f"{field.name}=...")
    return name + (f"({', '.join(shown)})" if shown else "")
