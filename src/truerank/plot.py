"""Figures for notebooks and papers: each function draws on a matplotlib Axes and returns it.

They take what `estimate` or `evaluate` gives, or several models as a dict. Models differ in colour
(Okabe and Ito's, which colour-blind readers can tell apart) and in the style of their lines.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Iterable, Mapping, Sequence, Sized
from typing import Any, Literal

from truerank import _arguments, _checks
from truerank import mapping as mapping_module
from truerank import metrics as metrics_module
from truerank._types import FrontierDesign
from truerank.errors import InputError, MissingExtraError
from truerank.evaluation.monitor import Monitor
from truerank.evaluation.monitored import History
from truerank.inference import curves as curves_module
from truerank.inference.comparing.comparison import Comparison
from truerank.inference.estimates import Estimates
from truerank.inference.planning.frontier import DESIGNS, Frontier
from truerank.inference.planning.frontier import frontier as find_frontier
from truerank.metrics import MetricLike

__all__ = [
    "comparison",
    "frontier",
    "history",
    "mapping",
    "naive_vs_corrected",
    "normalised_rank",
    "rank_distribution",
    "recall_curve",
]

# Okabe and Ito (2008), without the yellow, which is too light for lines on white.
PALETTE = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#000000")
LINES = ("-", "--", "-.", ":")
MARKERS = ("o", "s", "^", "D", "v", "P", "X")
_BAND, _BAND_OF_MANY = 0.18, 0.07  # opacity
_MANY = 6  # entries of a legend that no longer leave room for lines beside them
_FAINTEST = 1e-5  # of the largest density: what is smaller is as good as none
_MARGIN, _LEAST_MIDDLE = 0.2, 3.4  # inches, beside labels and between the two sides
_LINE = 0.26  # inches that a label needs in height
_MUTED = "#767676"
_ERRORS = tuple(a * 10.0**b for b in range(-6, 2) for a in (1, 2, 5))  # ticks


def recall_curve(
    models: Any, *, metric: str = "recall", largest: int = curves_module.LARGEST, ax: Any = None
) -> Any:
    """Draw a metric at every K on a log axis, with bands where there are intervals.

    Parameters
    ----------
    models : Estimates, Evaluation or dict of these
        What was estimated, by model if there are several.
    metric : str, default "recall"
        A metric without a cut-off.
    largest : int, default 200
        The largest K.
    ax : matplotlib.axes.Axes, optional
        Where to draw; a new figure if not given.

    Returns
    -------
    matplotlib.axes.Axes
        The axes drawn on.

    Examples
    --------
    >>> counts = tr.RankCounts.from_exact_ranks([1, 4, 2, 9], n_items=10)
    >>> tr.plot.recall_curve(tr.estimate(counts), largest=5).get_xlabel()
    'K'
    """
    _arguments.check(recall_curve, locals())
    ours, ax = ax is None, _axes(ax)
    given = _models(models)
    for i, (name, found) in enumerate(given.items()):
        one = curves_module.curve(found, metric, largest=largest)
        (line,) = ax.plot(one.k, one.value, label=name, **_style(i))
        if one.low is not None:
            ax.fill_between(one.k, one.low, one.high, **_band(line, given))
    name = metrics_module.key(metric)
    ax.set(xscale="log", xlabel="K", ylabel=f"{name}@K on the whole catalogue")
    ax.set_ylim(bottom=0.0)
    return _finish(ax, ours=ours)


def rank_distribution(models: Any, *, kind: Literal["cdf", "pmf"] = "cdf", ax: Any = None) -> Any:
    """Draw the estimated distribution of global ranks.

    Parameters
    ----------
    models : Estimates, Evaluation or dict of these
        What was estimated, by model if there are several.
    kind : {"cdf", "pmf"}
        ``"cdf"``: the share of users whose target ranks at or above R. ``"pmf"``: the share of
        users per rank, in cells of ranks.
    ax : matplotlib.axes.Axes, optional
        Where to draw; a new figure if not given.

    Returns
    -------
    matplotlib.axes.Axes
        The axes drawn on.

    Examples
    --------
    >>> counts = tr.RankCounts.from_exact_ranks([1, 4, 2, 9], n_items=10)
    >>> tr.plot.rank_distribution(tr.estimate(counts)).get_xlabel()
    'global rank'
    """
    _arguments.check(rank_distribution, locals())
    if kind not in ("cdf", "pmf"):
        raise InputError(f"kind is {kind!r}; it must be 'cdf' or 'pmf'")
    ours, ax = ax is None, _axes(ax)
    given = _models(models)
    for i, (name, found) in enumerate(given.items()):
        one = curves_module.rank_curve(found)
        if kind == "cdf":
            x: Any = one.upto
            parts: tuple[Any, ...] = (one.cdf, one.cdf_low, one.cdf_high)
        else:
            x = one.middle
            parts = (one.density(one.mass), one.density(one.mass_low), one.density(one.mass_high))
        y, low, high = parts
        (line,) = ax.plot(x, y, label=name, **_style(i))
        if low is not None:
            ax.fill_between(x, low, high, **_band(line, given))
    label = "share of users at or above that rank" if kind == "cdf" else "share of users per rank"
    ax.set(xscale="log", xlabel="global rank", ylabel=label)
    if kind == "pmf":
        ax.set_yscale("log")
        top = max(float(max(line.get_ydata())) for line in ax.lines)
        ax.set_ylim(bottom=max(ax.get_ylim()[0], _FAINTEST * top))
    else:
        ax.set_ylim(0.0, 1.0)
    return _finish(ax, ours=ours)


def normalised_rank(models: Any, *, largest: float = 1.0, ax: Any = None) -> Any:
    """Draw Koren's curve: the share of users whose target is among the best x of the items.

    The cumulative distribution of the normalised rank (Koren 2008), with which evaluation among
    sampled items began. It is recall@K with K as a share of the items, so that catalogues of
    different sizes have one axis. A dashed line shows a ranking at random.

    Parameters
    ----------
    models : Estimates, Evaluation or dict of these
        What was estimated, by model if there are several.
    largest : float, default 1.0
        Where the axis ends, a share of the items; Koren shows the best 2 % as well, 0.02.
    ax : matplotlib.axes.Axes, optional
        Where to draw; a new figure if not given.

    Returns
    -------
    matplotlib.axes.Axes
        The axes drawn on. Where pools differ by user, shares are of the largest.

    Examples
    --------
    >>> counts = tr.RankCounts.from_exact_ranks([1, 4, 2, 9], n_items=10)
    >>> tr.plot.normalised_rank(tr.estimate(counts)).get_xlabel()
    'best items, percent'
    """
    _arguments.check(normalised_rank, locals())
    largest = _checks.real(largest, "largest", low=0.0, high=1.0, open_low=True)
    ours, ax = ax is None, _axes(ax)
    given = _models(models)
    top = 0.0
    for i, (name, found) in enumerate(given.items()):
        one = curves_module.rank_curve(found)
        share = [0.0, *(float(rank) / float(one.upto[-1]) for rank in one.upto)]
        # Up to the first point beyond the end, so that lines reach it.
        last = next((at for at, x in enumerate(share) if x >= largest), len(share) - 1) + 1
        x = [100.0 * part for part in share[:last]]
        (line,) = ax.plot(x, [0.0, *one.cdf][:last], label=name, **_style(i))
        if one.cdf_low is not None and one.cdf_high is not None:
            low, high = [0.0, *one.cdf_low][:last], [0.0, *one.cdf_high][:last]
            ax.fill_between(x, low, high, **_band(line, given))
        top = max(top, float([0.0, *one.cdf][last - 1]))
    end = 100.0 * largest
    ax.plot([0.0, end], [0.0, largest], color=_MUTED, ls=":", lw=1.0, label="at random")
    ax.set(xlabel="best items, percent", ylabel="share of users whose target is among them")
    ax.set_xlim(0.0, end)
    ax.set_ylim(0.0, min(1.0, 1.05 * top) if largest < 1.0 else 1.0)
    return _finish(ax, ours=ours)


def mapping(models: Any, *, mappings: Iterable[str] = mapping_module.USUAL, ax: Any = None) -> Any:
    """Draw the sampled recall curve taken to global K by each f(k), beside the estimated one.

    Of adaptive samples the first size counts, with which all users began.

    Parameters
    ----------
    models : Estimates, Evaluation or dict of these
        What was estimated, by model if there are several.
    mappings : iterable of str
        Names of mappings, as in ``truerank.mapping``.
    ax : matplotlib.axes.Axes, optional
        Where to draw; a new figure if not given.

    Returns
    -------
    matplotlib.axes.Axes
        The axes drawn on.

    Examples
    --------
    >>> counts = tr.RankCounts.from_ranks([1, 4, 2, 9], n_items=500, num_negatives=19)
    >>> tr.plot.mapping(tr.estimate(counts), mappings=["linear"]).get_ylabel()
    'recall@K'
    """
    ours, ax = ax is None, _axes(ax)
    given = _models(models)
    wanted = _checks.listed(mappings)
    for i, (name, found) in enumerate(given.items()):
        largest = int(found.counts.n_items.max())
        one = curves_module.curve(found.again("recall@1", confidence=None), largest=largest)
        colour = _colour(i)
        ax.plot(one.k, one.value, label=name or "estimated", color=colour, lw=1.8)
        for j, which in enumerate(wanted):
            mapped = curves_module.mapped_curve(found.counts, which)
            if mapped is None:
                raise InputError(
                    f"{name or 'the model'} has no samples of one size, with which all users "
                    "began, to map"
                )
            told = None if len(given) > 1 else which
            ax.plot(mapped.global_k, mapped.recall, label=told, color=colour, **_mapped_style(j))
    if len(given) > 1:  # colours tell models apart, markers mappings
        for j, which in enumerate(wanted):
            ax.plot([], [], label=which, color=_MUTED, **_mapped_style(j))
    ax.set(xscale="log", xlabel="K, or f(k) of a sampled k", ylabel="recall@K")
    ax.set_ylim(0.0, 1.0)
    return _finish(ax, ours=ours)


def naive_vs_corrected(
    models: Any, *, metric: MetricLike | None = None, exact: Any = None, ax: Any = None
) -> Any:
    """Draw what the sample says beside what the whole catalogue would say: lines cross at a flip.

    Each side has a scale of its own, from the worst model to the best, so that only the order and
    the distances within a side compare. Bars on the right are intervals.

    Parameters
    ----------
    models : Estimates, Evaluation or dict of these
        What was estimated, by model.
    metric : str or Metric, optional
        One metric; the first one estimated unless stated.
    exact : dict of str to float, optional
        Exact values by model, where they are known: drawn as crosses.
    ax : matplotlib.axes.Axes, optional
        Where to draw; a new figure if not given.

    Returns
    -------
    matplotlib.axes.Axes
        The axes drawn on.

    Examples
    --------
    >>> counts = {
    ...     name: tr.RankCounts.from_ranks(ranks, n_items=500, num_negatives=19)
    ...     for name, ranks in {"A": [1, 4, 2, 9], "B": [2, 3, 3, 8]}.items()
    ... }
    >>> found = {name: tr.estimate(one, "recall@10") for name, one in counts.items()}
    >>> [text.get_text() for text in tr.plot.naive_vs_corrected(found).get_xticklabels()]
    ['among the sample\\n(naive)', 'in the whole catalogue\\n(corrected)']
    """
    found, ours = _models(models), ax is None
    ax = _axes(ax, height=_LINE * len(found) + 1.5)
    known = _known_values(exact, found)
    key = (
        metrics_module.key(metric) if metric is not None else next(iter(next(iter(found.values()))))
    )
    each = {name: one[key] if key in one else one.again(key)[key] for name, one in found.items()}
    left = _scale([one.naive for one in each.values()])
    ends = [v for one in each.values() for v in (one.low, one.high) if v is not None]
    right = _scale([one.value for one in each.values()] + ends + list(known.values()))
    for i, (name, one) in enumerate(each.items()):
        colour = _colour(i)
        ax.plot([0, 1], [left(one.naive), right(one.value)], "o-", color=colour, lw=2.2, ms=7)
        if one.low is not None and one.high is not None:
            ax.plot([1, 1], [right(one.low), right(one.high)], color=colour, lw=5, alpha=0.35)
        if name in known:
            ax.plot([1], [right(known[name])], "x", color="black", ms=8, mew=1.8, zorder=5)
    labels = []
    for x, side, values, scale in (
        (-0.06, "right", [one.naive for one in each.values()], left),
        (1.06, "left", [one.value for one in each.values()], right),
    ):
        heights = _apart([scale(value) for value in values])
        for i, (name, value, y) in enumerate(zip(each, values, heights, strict=True)):
            text = f"{name}  {value:.3f}" if side == "right" else f"{value:.3f}  {name}"
            labels.append(ax.text(x, y, text.strip(), ha=side, va="center", color=_colour(i)))
    if known:
        ax.plot([], [], "x", color="black", ms=8, mew=1.8, label="exact")
        ax.legend(frameon=False, loc="upper center", bbox_to_anchor=(0.5, 1.0))
    ax.set_xticks([0, 1], ["among the sample\n(naive)", "in the whole catalogue\n(corrected)"])
    room = _room_for(labels, ax, widen=ours)
    ax.set(xlim=(-room, 1.0 + room), ylim=(-0.08, 1.12), title=key)
    ax.set_yticks([])
    ax.spines[:].set_visible(False)
    for x in (0, 1):
        ax.axvline(x, color=_MUTED, lw=0.8, zorder=0)
    ax.tick_params(axis="x", length=0)
    return ax


def _room_for(labels: Iterable[Any], ax: Any, *, widen: bool) -> float:
    """Room on each side for labels, with the distance between the sides as 1.

    A figure of ours that is too narrow becomes wider, so that lines keep their place.
    """
    dots = float(ax.figure.dpi)
    label = float(max(text.get_window_extent().width for text in labels)) / dots + _MARGIN
    if widen:
        _widen(ax.figure, 2.0 * label + _LEAST_MIDDLE)
        inner = float(ax.figure.get_size_inches()[0])  # axes fill a figure of ours
    else:
        inner = float(ax.get_window_extent().width) / dots
    return max(0.65, label / max(inner - 2.0 * label, inner / 8.0))


def _widen(figure: Any, least: float) -> None:
    width, height = figure.get_size_inches()
    figure.set_size_inches(max(width, least), height)


def _known_values(exact: Any, models: Mapping[str, Estimates]) -> dict[str, float]:
    """Exact values by model, each of a model that is there."""
    if exact is None:
        return {}
    if not isinstance(exact, Mapping):
        raise InputError(f"exact is {_checks.shown(exact)}; it must map models to exact values")
    for name in exact:
        if name not in models:
            raise _checks.unknown("model in exact", name, models)
    return {
        str(name): _checks.real(one, f"exact of {name}", low=-math.inf)
        for name, one in exact.items()
    }


def _scale(values: Sequence[float]) -> Callable[[float], float]:
    """The height of a value between the lowest and the highest, 0 to 1."""
    low, high = min(values), max(values)
    width = (high - low) or 1.0
    return lambda value: (value - low) / width if high > low else 0.5


def _apart(heights: Sequence[float], least: float = 0.07) -> list[float]:
    """Heights of labels, as near to theirs as leaves ``least`` between neighbours."""
    order = sorted(range(len(heights)), key=lambda i: heights[i])
    least = min(least, 1.1 / max(len(heights), 1))  # so that all of them have room
    found = list(heights)
    for before, this in itertools.pairwise(order):
        found[this] = max(found[this], found[before] + least)
    top = max(*heights, 1.0) + least / 2.0
    for i in reversed(order):
        found[i] = min(found[i], top)
        top = found[i] - least
    return found


def comparison(found: Comparison, *, ax: Any = None) -> Any:
    """Draw differences between models with their intervals, filled where they are significant.

    Parameters
    ----------
    found : Comparison
        What `truerank.compare` gives.
    ax : matplotlib.axes.Axes, optional
        Where to draw; a new figure if not given.

    Returns
    -------
    matplotlib.axes.Axes
        The axes drawn on.

    Examples
    --------
    >>> ranks = {"A": [1, 2, 1, 5, 1, 3], "B": [9, 4, 1, 8, 7, 3]}
    >>> counts = {
    ...     name: tr.RankCounts.from_exact_ranks(one, n_items=10) for name, one in ranks.items()
    ... }
    >>> tr.plot.comparison(tr.compare(counts, "recall@3")).get_xlabel()
    'difference in recall@3 (95 % interval)'
    """
    _arguments.check(comparison, locals())
    if not isinstance(found, Comparison):
        raise InputError(f"found is of type {type(found).__name__}; give what tr.compare gives")
    ours = ax is None
    ax = _axes(ax, height=_LINE * len(found.differences) + 1.0)
    names = []
    for at, one in enumerate(reversed(found.differences)):
        sure = found.sure(one)
        colour = PALETTE[0] if sure else _MUTED
        ax.plot([one.low, one.high], [at, at], color=colour, lw=2)
        ax.plot([one.value], [at], "o", color=colour, mfc=colour if sure else "white", ms=7)
        names.append(f"{one.model} − {one.other}")
    ax.axvline(0.0, color=_MUTED, lw=0.8)
    ax.set_yticks(range(len(names)), names)
    ax.set_ylim(-0.5, len(names) - 0.5)
    ax.set_xlabel(f"difference in {found.metric} ({100 * found.confidence:g} % interval)")
    for side in ("top", "right", "left"):
        ax.spines[side].set_visible(False)
    ax.tick_params(axis="y", length=0)
    if ours:
        widest = max(label.get_window_extent().width for label in ax.get_yticklabels())
        _widen(ax.figure, widest / ax.figure.dpi + _LEAST_MIDDLE)
    return ax


def history(found: Any, *, metric: MetricLike | None = None, ax: Any = None) -> Any:
    """Draw a metric by epoch with its interval, the best epoch marked.

    Points are filled where an epoch really differs from the best one before it, open where that may
    be chance.

    Parameters
    ----------
    found : Monitor or History
        The epochs.
    metric : str or Metric, optional
        One of the metrics watched; the first one unless stated.
    ax : matplotlib.axes.Axes, optional
        Where to draw; a new figure if not given.

    Returns
    -------
    matplotlib.axes.Axes
        The axes drawn on.

    Examples
    --------
    >>> monitor = tr.Monitor((np.arange(50), np.arange(50)), metrics=["recall@10"])
    >>> scores = np.random.default_rng(0).random((50, 400))
    >>> epoch = monitor.update(tr.scoring.Dense(scores))
    >>> tr.plot.history(monitor).get_ylabel()
    'recall@10 on the whole catalogue'
    """
    if not isinstance(found, (Monitor, History)):
        raise InputError(f"found is of type {type(found).__name__}; give a truerank.Monitor")
    watched = list(dict.fromkeys(row["metric"] for row in found.rows()))
    if not watched:
        raise InputError("the monitor has seen no epoch yet; update it first")
    key = watched[0] if metric is None else metrics_module.key(metric)
    if key not in watched:
        raise _checks.unknown("metric", key, watched)
    rows = [row for row in found.rows() if row["metric"] == key]
    epochs = [row["epoch"] for row in rows]
    ours, ax = ax is None, _axes(ax)
    (line,) = ax.plot(epochs, [row["value"] for row in rows], **_style(0))
    colour = line.get_color()
    ends = [[row[end] for row in rows] for end in ("low", "high")]
    ax.fill_between(epochs, *ends, color=colour, alpha=_BAND, lw=0)
    for row in rows:
        fill = colour if row["real"] is not False else "white"
        ax.plot([row["epoch"]], [row["value"]], "o", color=colour, mfc=fill, ms=5)
    ax.axvline(
        found.best_epoch, color=_MUTED, ls=":", lw=1.2, label=f"best epoch: {found.best_epoch}"
    )
    ax.set(xlabel="epoch", ylabel=f"{key} on the whole catalogue")
    return _finish(ax, ours=ours)


def frontier(
    estimates: Any,
    *,
    metric: MetricLike | None = None,
    found: Frontier | None = None,
    ax: Any = None,
) -> Any:
    """Draw the predicted error of a metric against the cost of a sample, with this sample marked.

    The curves are smoothed simulations, moved so that this sample lies on that of its own design;
    bands show how far simulation and sample may be off.

    Parameters
    ----------
    estimates : Estimates or Evaluation
        What was estimated.
    metric : str or Metric, optional
        One metric; the first one estimated unless stated.
    found : Frontier, optional
        A frontier that is known already; else it is simulated.
    ax : matplotlib.axes.Axes, optional
        Where to draw; a new figure if not given.

    Returns
    -------
    matplotlib.axes.Axes
        The axes drawn on.

    Examples
    --------
    >>> from truerank.inference.planning.frontier import Frontier, FrontierPoint
    >>> counts = tr.RankCounts.from_ranks([1, 4, 2, 9], n_items=500, num_negatives=19)
    >>> known = Frontier(
    ...     "auc", (FrontierPoint("fixed", 20.0, 0.1), FrontierPoint("fixed", 40.0, 0.07))
    ... )
    >>> tr.plot.frontier(tr.estimate(counts, "auc"), found=known).get_xlabel()
    'scored pairs per user'
    """
    _arguments.check(frontier, locals())
    ours, ax = ax is None, _axes(ax)
    (one,) = _models(estimates).values()
    key = metrics_module.key(metric) if metric is not None else next(iter(one))
    if found is None:
        found = find_frontier(one.counts, key, estimator=one.estimator)
    here = one[found.metric] if found.metric in one else one.again(found.metric)[found.metric]
    this = None
    if here.total_error is not None and here.value > 0.0:
        this = (one.counts.pairs_per_user, here.total_error / here.value)
    own: FrontierDesign = "adaptive" if one.counts.adaptive else "fixed"
    for i, kind in enumerate(DESIGNS):
        curve = found.curve(kind, through=this, of=own)
        if curve is not None:
            ax.plot(curve.pairs_per_user, curve.error, label=kind, **_style(i))
            band = (curve.low, curve.high)
            ax.fill_between(curve.pairs_per_user, *band, color=_colour(i), alpha=_BAND, lw=0)
    if this is not None:
        ax.plot(*([end] for end in this), "*", ms=14, color="black", label="this sample")
    ax.set(xscale="log", yscale="log", xlabel="scored pairs per user")
    ax.set_ylabel(f"relative error of {found.metric}, %")
    ax.set_xticks([point.pairs_per_user for point in found.of(DESIGNS[-1])])
    ax.minorticks_off()
    _finish(ax, ours=ours)
    for axis, scale in ((ax.xaxis, 1.0), (ax.yaxis, 100.0)):
        axis.set_major_formatter(lambda value, _, scale=scale: f"{scale * value:,.3g}")
    ax.set_yticks([t for t in _ERRORS if ax.get_ylim()[0] <= t <= ax.get_ylim()[1]])
    return ax


def _axes(ax: Any, *, height: float = 0.0) -> Any:
    """The axes given, or new ones of at least a height in inches."""
    try:
        from matplotlib import pyplot
        from matplotlib.axes import Axes
    except ImportError:
        raise MissingExtraError(
            "plots need matplotlib, which truerank[plot] brings: pip install matplotlib"
        ) from None
    if ax is None:
        figure, ax = pyplot.subplots(layout="constrained")
        width, usual = figure.get_size_inches()
        figure.set_size_inches(width, max(usual, height))
        return ax
    if not isinstance(ax, Axes):
        raise InputError(f"ax is {_checks.shown(ax)}; it must be axes of matplotlib")
    return ax


def _models(models: Any) -> dict[str, Estimates]:
    """Estimates by model; one alone has no name."""
    given = models if _is_several(models) else {"": models}
    found = {}
    for name, one in given.items():
        estimates = getattr(one, "estimates", one)  # of what evaluate gives
        if not isinstance(estimates, Estimates):
            raise InputError(
                f"{name or 'models'} is of type {type(one).__name__}; give what tr.estimate or "
                "tr.evaluate gives, or a dict of such by model"
            )
        found[str(name)] = estimates
    if not found:
        raise InputError("models is empty; give at least one")
    return found


def _is_several(models: Any) -> bool:
    return isinstance(models, Mapping) and not hasattr(models, "counts")


def _colour(i: int) -> str:
    return PALETTE[i % len(PALETTE)]


def _style(i: int) -> dict[str, Any]:
    return {"color": _colour(i), "ls": LINES[i % len(LINES)], "lw": 1.8}


def _mapped_style(j: int) -> dict[str, Any]:
    """The j-th mapping: thin, with markers at even distances rather than one per k."""
    line, marker = LINES[(j + 1) % len(LINES)], MARKERS[j % len(MARKERS)]
    return {"lw": 0.8, "ls": line, "marker": marker, "ms": 3.5, "mfc": "none", "markevery": 0.03}


def _band(line: Any, given: Sized) -> dict[str, Any]:
    """The band around a line, paler where there are many."""
    alpha = _BAND if len(given) <= _MANY else _BAND_OF_MANY
    return {"color": line.get_color(), "alpha": alpha, "lw": 0}


def _finish(ax: Any, *, ours: bool) -> Any:
    """Quiet axes, plain numbers on log axes, and a legend if there is anything to tell apart.

    A long legend stands beside the axes, where it covers no line; a figure of ours grows by it.
    """
    if ax.get_xscale() == "log":
        ax.xaxis.set_major_formatter(lambda value, _: f"{value:,.10g}")
    ax.grid(visible=True, which="major", alpha=0.25, lw=0.6)
    ax.spines[["top", "right"]].set_visible(False)
    n_entries = sum(map(bool, ax.get_legend_handles_labels()[1]))
    if n_entries > _MANY:
        legend = ax.legend(frameon=False, loc="upper left", bbox_to_anchor=(1.0, 1.0))
        if ours:
            width = legend.get_window_extent().width / ax.figure.dpi
            _widen(ax.figure, ax.figure.get_size_inches()[0] + width)
    elif n_entries:
        ax.legend(frameon=False)
    return ax


def __dir__() -> list[str]:
    return sorted(__all__)
