"""Panels of recall curves: global, sampled, and one laid over the other by a mapping."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from truerank import mapping
from truerank._types import FloatArray
from truerank_papers.experiments import words
from truerank_papers.experiments.ranks import GlobalRanks
from truerank_papers.experiments.recall_curves import global_recall, mapped, spread
from truerank_papers.experiments.results import Line, Panel


def global_panel(title: str, ranks: Mapping[str, GlobalRanks], first: int, last: int) -> Panel:
    """Draw exact recall@K of models.

    Parameters
    ----------
    title
        Title of the panel.
    ranks
        Exact ranks by model.
    first, last
        Both ends of K.

    Returns
    -------
    Panel
        A line per model.
    """
    k = spread(first, last)
    lines = tuple(Line(name, k, global_recall(one, k)) for name, one in ranks.items())
    return Panel(title, "K", "recall", lines)


def sampled_panel(title: str, curves: Mapping[str, FloatArray], first: int, last: int) -> Panel:
    """Draw sampled recall@k of models.

    Parameters
    ----------
    title
        Title of the panel.
    curves
        Sampled recall@1 to recall@n by model, each of shape (n,).
    first, last
        Both ends of k.

    Returns
    -------
    Panel
        A line per model.
    """
    k = np.arange(first, last + 1)
    lines = tuple(Line(name, k, curve[first - 1 : last]) for name, curve in curves.items())
    return Panel(title, "k", "sampled recall", lines)


def aligned_panel(
    title: str,
    ranks: GlobalRanks,
    sampled: FloatArray,
    names: Sequence[str],
    *,
    n_items: int,
    last: int,
) -> Panel:
    """Draw the exact recall curve, and (f(k), sampled recall@k) for each mapping.

    Parameters
    ----------
    title
        Title of the panel.
    ranks
        Exact ranks of a model.
    sampled
        Sampled recall@1 to recall@n, shape (n,).
    names
        Names of mappings.
    n_items
        Size of the pool.
    last
        Largest K.

    Returns
    -------
    Panel
        The exact curve, dashed, and a line or points per mapping.
    """
    k = spread(1, last)
    lines = [Line("exact", k, global_recall(ranks, k), "dashed")]
    for name in names:
        at = mapped(name, n_items=n_items, sample_size=sampled.size)
        some = np.searchsorted(at, last, side="right")
        lines.append(Line(name, at[:some], sampled[:some], "points" if some < 30 else "line"))
    return Panel(title, "K", "recall", tuple(lines))


def relation_panel(
    title: str, ranks: GlobalRanks, sampled: FloatArray, name: str, *, n_items: int, times: float
) -> Panel:
    """Draw exact recall, sampled recall laid over it by a mapping, and where targets rank.

    Parameters
    ----------
    title
        Title of the panel.
    ranks
        Exact ranks of a model.
    sampled
        Sampled recall@1 to recall@n, shape (n,).
    name
        Name of the mapping.
    n_items
        Size of the pool.
    times
        Factor on the shares of users in each hundredth of the ranks, so that they can be seen.

    Returns
    -------
    Panel
        Two curves and a histogram.
    """
    k = spread(1, n_items)
    at = mapped(name, n_items=n_items, sample_size=sampled.size)
    edges = np.rint(np.linspace(0, n_items, 101)).astype(int)
    mass = np.diff(global_recall(ranks, edges))
    return Panel(
        title,
        "K",
        "share of users",
        (
            Line("recall@K", k, global_recall(ranks, k)),
            Line(f"sampled recall@k at f(k), {name}", at, sampled, "dashed"),
            Line(
                f"users in each hundredth of the ranks{f', times {times:g}' * (times != 1)}",
                edges,
                times * np.append(mass, mass[-1]),
                "steps",
            ),
        ),
        y_limits=(0.0, 1.05),
    )


def beta_panel(title: str, ranks: GlobalRanks, exponents: Sequence[float], n_items: int) -> Panel:
    """Draw densities of Beta(a, 1) beside the shares of users by rank, both axes logarithmic.

    Parameters
    ----------
    title
        Title of the panel.
    ranks
        Exact ranks of a model.
    exponents
        The values of a.
    n_items
        Size of the pool.

    Returns
    -------
    Panel
        Points for the users, and a line per exponent.
    """
    edges = np.unique(np.rint(np.geomspace(1, n_items, 40)).astype(int))
    width = np.diff(edges)
    observed = np.diff(global_recall(ranks, edges)) / width
    middle = (edges[1:] + edges[:-1] + 1) / 2
    lines = [Line("users by rank", middle, observed, "points")]
    for a in exponents:
        x = (middle - 0.5) / (n_items - 1)
        lines.append(Line(f"Beta({a:g}, 1)", middle, a * x ** (a - 1) / (n_items - 1)))
    return Panel(title, "rank", "share of users", tuple(lines), True, True)


def relative_panel(title: str, n_items: int, sample_size: int, exponents: Sequence[float]) -> Panel:
    """Draw f(k; a) / f(k; 1) - 1.

    Parameters
    ----------
    title
        Title of the panel.
    n_items
        Size of the pool.
    sample_size
        Size n of the sample.
    exponents
        The values of a.

    Returns
    -------
    Panel
        A line per exponent, at k = 1 to n.
    """
    k = np.arange(1, sample_size + 1)
    flat = mapping.beta(k, n_items=n_items, sample_size=sample_size, a=1.0)
    lines = tuple(
        Line(
            f"a = {a:g}",
            k,
            mapping.beta(k, n_items=n_items, sample_size=sample_size, a=a) / flat - 1,
        )
        for a in exponents
    )
    return Panel(title, "k", "f(k; a) / f(k; 1) - 1", lines)


def from_straight(panel: Panel) -> str:
    """Say how far the lines of `relative_panel` lie from f(k; 1).

    Parameters
    ----------
    panel
        What `relative_panel` gave.

    Returns
    -------
    str
        A sentence.
    """
    said = [
        f"{100 * line.y[0]:+.0f} and {100 * line.y[-1]:+.1f} percent ({line.label})"
        for line in panel.lines
    ]
    k = panel.lines[0].x
    return (
        f"f(k; a) differs from the straight f(k; 1) at k = {k[0]} and k = {k[-1]} by "
        f"{words.listed(said)}."
    )
