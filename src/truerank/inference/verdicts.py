"""Whether a sample settles a metric, in words: one mark and one wording for all shells.

A verdict has three parts: what is so and how sure, what the sampled ranks as they are would have
said, and what to do next. It costs no smooth fit and no simulation: from which K on a sample
settles a metric is read off the posterior that the estimate has anyway.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Literal

import numpy as np

from truerank import _blas
from truerank.designs.auto import check_error
from truerank.inference.intervals.fitting import Fitted
from truerank.inference.intervals.misfit import stray
from truerank.metrics import Metric
from truerank.outcomes.counts import RankCounts

if TYPE_CHECKING:
    from truerank.inference.estimates import Estimate, Estimates

ERROR = 0.05  # relative root mean squared error within which a metric counts as known
MARK = "?"  # behind a number that is not resolved
NOT_RESOLVED = "not resolved"
LEGEND = f"{MARK} {NOT_RESOLVED}: the sample is too small to settle it"

OUT_OF_RANGE_MARK = "!"  # behind a number that the metric cannot be
OUT_OF_RANGE = f"{OUT_OF_RANGE_MARK} outside the range of the metric, where estimators may stray"

_MORE = {False: "more negatives, or adaptive sampling", True: "a larger budget"}  # by adaptive
_NAMED = 4  # models that a sentence names
_STEP = 1.1  # between the cut-offs that are tried


Level = Literal["settled", "open", "unknown"]


@dataclass(frozen=True)
class Verdict:
    """A verdict in its three parts; as a text, one after the other.

    Attributes
    ----------
    level : {"settled", "open", "unknown"}
        Whether the answer is sure; whether it may still be chance; or whether the sample is too
        small to say, so that the answer depends mostly on assumptions.
    answer : str
        What is so, and how sure.
    usual : str
        What the sampled ranks as they are would have said; empty if nothing was sampled.
    action : str
        What to do next; empty if there is nothing to do.
    """

    level: Level
    answer: str
    usual: str = ""
    action: str = ""

    def __post_init__(self) -> None:
        for part in ("answer", "usual", "action"):  # of one line, whatever models are called
            object.__setattr__(self, part, " ".join(getattr(self, part).split()))

    def __str__(self) -> str:
        return " ".join(filter(None, (self.answer, self.usual, self.action)))


@dataclass(frozen=True)
class Settled:
    """Cut-offs that a sample does settle.

    Attributes
    ----------
    name : str
        A metric without its cut-off: ``recall``.
    k : int or None
        About the smallest K from which on it is known within the error; None if there is none.
    """

    name: str
    k: int | None

    def __str__(self) -> str:
        return f"{self.name}@K from about K = {_rounded(self.k or 1):,}"


def settled(fitted: Fitted, metrics: Iterable[Metric], *, error: float = ERROR) -> list[Settled]:
    """From which K on a sample settles metrics, by the posterior of a fit.

    Parameters
    ----------
    fitted : Fitted
        A fit with a posterior.
    metrics : iterable of Metric
        Metrics with a cut-off; each name counts once, and those with a function of their own
        do not.
    error : float, default 0.05
        Relative root mean squared error within which a metric counts as known.

    Returns
    -------
    list of Settled
        One per name, in the order given. Spread that only redrawn negatives show is left out, so
        `truerank.inference.planning.resolution.resolution` may give a somewhat larger K.
    """
    error = check_error(error)
    if fitted.counts.several:  # each cut-off would take a fit of its own
        return []
    # Metrics of one's own have a meaning at their own cut-off only; reports have hundreds of them.
    by_name = {m.name: m for m in metrics if m.k is not None and m.function is None}
    if not by_name:
        return []
    largest = int(fitted.counts.n_items.max())
    steps = int(np.ceil(np.log(largest) / np.log(_STEP))) + 1
    cuts = np.unique(np.geomspace(1, largest, max(steps, 2)).round().astype(np.int64)).tolist()
    tried = [replace(metric, k=cut) for metric in by_name.values() for cut in cuts]
    posterior = fitted.posterior
    with _blas.one_thread():
        value = np.abs(posterior.mean(tried))
        spread = posterior.variance(tried)
        of_real = stray(fitted.counts.pooled(), fitted.reference, tried, spread).mean_square
    known = (np.sqrt(spread + of_real) <= error * value).reshape(len(by_name), len(cuts))
    first = [int(np.flatnonzero(~row).max(initial=-1)) + 1 for row in known]
    return [
        Settled(name, cuts[at] if at < len(cuts) else None)
        for name, at in zip(by_name, first, strict=True)
    ]


def not_resolved(
    estimates: Sequence[Estimate],
    counts: RankCounts,
    known: Iterable[Settled] = (),
    *,
    error: float = ERROR,
    other: str | None = None,
) -> str:
    """The verdict on metrics that a sample does not settle.

    Parameters
    ----------
    estimates : list of Estimate
        The metrics that are not resolved, at least one.
    counts : RankCounts
        The sample.
    known : iterable of Settled
        What the sample does settle.
    error : float, default 0.05
        The relative root mean squared error that ``known`` is about.
    other : str, optional
        An estimator to try instead.

    Returns
    -------
    str
        Three sentences: how sure the answer is, what the sampled ranks as they are would say, and
        what to do next.
    """
    several = len(estimates) > 1
    (first, *_) = estimates
    if any(map(_mostly_assumed, estimates)):
        answer = "answers depend" if several else f"answer, {_interval(first)}, depends"
        why = f"the {answer} mostly on assumptions"
    else:
        answer = "intervals reach" if several else f"interval, {_interval(first)}, reaches"
        why = f"the {answer} further than half of the value"
    what = (
        f"{listed([one.metric for one in estimates])} {'are' if several else 'is'} {NOT_RESOLVED}"
    )
    negatives = _between(int(counts.sample_size.min()) - 1, int(counts.sample_size.max()) - 1)
    pools = _between(int(counts.n_items.min()), int(counts.n_items.max()))
    naive = listed([f"{one.naive:.4f}" for one in estimates])
    return (
        f"{what}: {negatives} negatives out of {pools} items are too few to settle "
        f"{'them' if several else 'it'}, and {why}. The sampled ranks as they are would say "
        f"{naive}. {_next(counts, list(known), error, other)}"
    )


def remarks(models: Mapping[str, Estimates]) -> Iterator[str]:
    """What is to be said of the estimates of one or several models, each finding once.

    Parameters
    ----------
    models : dict of str to Estimates
        Model -> what was estimated, the metrics of interest alone.

    Yields
    ------
    str
        Ranks that no law fits, then metrics that are not resolved, with the models concerned.
    """
    misfits: dict[str, list[str]] = {}
    for name, found in models.items():
        if found.fit_test is not None and not found.fit_test.fits:
            misfits.setdefault(found.fit_test.verdict, []).append(name)
    for text, names in misfits.items():
        yield text if len(models) == 1 else f"{listed(names)}: {text}"
    if len(models) == 1:
        yield from filter(None, (found.verdict() for found in models.values()))
        return
    open_: dict[tuple[str, ...], list[str]] = {}
    for metric in dict.fromkeys(key for found in models.values() for key in found):
        whose = [
            name
            for name, found in models.items()
            if metric in found and found[metric].resolvable is False
        ]
        open_.setdefault(tuple(whose), []).append(metric)
    for names_, metrics in open_.items():
        if names_:
            adaptive = all(models[name].counts.adaptive for name in names_)
            yield caution(
                f"{listed(metrics)} of {whom(names_, len(models))}",
                adaptive=adaptive,
                answer="the values depend",
            )


def caution(what: str = "this", *, adaptive: bool, answer: str = "the answer depends") -> str:
    """That a sample is too small, and what to do.

    Parameters
    ----------
    what : str, default "this"
        What it does not settle.
    adaptive : bool
        Whether the sample is adaptive already.
    answer : str, default "the answer depends"
        Subject and verb of what rests on assumptions.

    Returns
    -------
    str
        Two sentences.
    """
    return (
        f"The sample is too small to settle {what}; {answer} mostly on assumptions. Use "
        f"{larger(adaptive=adaptive)}."
    )


def larger(*, adaptive: bool) -> str:
    """What a larger sample takes.

    Parameters
    ----------
    adaptive : bool
        Whether the sample is adaptive already.

    Returns
    -------
    str
        ``more negatives, or adaptive sampling`` or ``a larger budget``.
    """
    return _MORE[adaptive]


def _mostly_assumed(one: Estimate) -> bool:
    """Whether more than half of the squared error rests on assumptions."""
    part, total = one.error_budget, one.total_error
    if part is None or total is None:
        return False
    one_sided = part["misfit"] ** 2 + part["misfit_better"] ** 2
    either = part["law"] ** 2 + part["lumps"] ** 2 + part["bias"] ** 2
    return either + one_sided / 2.0 > 0.5 * total**2


def _next(counts: RankCounts, known: Sequence[Settled], error: float, other: str | None) -> str:
    """What to do."""
    more = larger(adaptive=counts.adaptive)
    text = f"Use {more}" if other is None else f"Use the estimator {other}, {more}"
    there = [str(one) for one in known if one.k is not None]
    if not there:
        return f"{text}."
    return f"{text}; within {percent(error)}, this sample settles {listed(there)}."


def percent(share: float) -> str:
    """A share in percent.

    Parameters
    ----------
    share : float
        0.05 for 5 %.

    Returns
    -------
    str
        ``5 %``, with at most three digits.
    """
    return f"{100 * share:.3g} %"


def listed(names: Sequence[str]) -> str:
    """Names as in a sentence.

    Parameters
    ----------
    names : list of str
        At least one.

    Returns
    -------
    str
        ``a``, ``a and b`` or ``a, b and c``.
    """
    return names[0] if len(names) == 1 else f"{', '.join(names[:-1])} and {names[-1]}"


def whom(names: Sequence[str], n_all: int) -> str:
    """Some models of all as in a sentence; many of them by their number.

    Parameters
    ----------
    names : list of str
        At least one.
    n_all : int
        The number of all models.

    Returns
    -------
    str
        ``a``, ``a and b``, ``any model`` or ``9 of 12 models``.
    """
    if 1 < len(names) == n_all:
        return "any model"
    return listed(names) if len(names) <= _NAMED else f"{len(names)} of {n_all} models"


def _interval(one: Estimate) -> str:
    return f"{one.value:.4f} [{one.low:.4f}, {one.high:.4f}]"


def _between(low: int, high: int) -> str:
    return f"{low:,}" if low == high else f"{low:,} to {high:,}"


def _rounded(number: int) -> int:
    """To two digits: it is approximate."""
    step = int(10 ** max(len(str(number)) - 2, 0))
    return round(number / step) * step
