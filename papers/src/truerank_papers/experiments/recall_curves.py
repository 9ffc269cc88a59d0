"""Global and sampled recall curves, and mappings from one to the other (LJ20, LJ24 part 3)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from truerank import mapping
from truerank._types import FloatArray
from truerank.designs import Fixed
from truerank_papers.experiments.ranks import GlobalRanks
from truerank_papers.experiments.results import Line, Panel
from truerank_papers.experiments.run import Run

MOST_POINTS = 300  # of a drawn curve


def sampled_recall(
    run: Run, what: str, ranks: GlobalRanks, design: Fixed, repeats: int
) -> FloatArray:
    """Sample evaluations and compute their recall curves.

    Parameters
    ----------
    run
        The run; it keeps finished repeats.
    what
        Name of the repeats, as for `Run.repeated`.
    ranks
        Exact ranks of a model.
    design
        How negatives are sampled, with one fixed size n.
    repeats
        Number of evaluations.

    Returns
    -------
    ndarray
        Sampled recall@1 to recall@n, shape (repeats, n).
    """
    n = design.sample_size or 0

    def curves(first: int, last: int) -> FloatArray:
        found = []
        for rng in run.rngs(what, first, last):
            _, _, rank = ranks.evaluate(design, rng)
            found.append(np.cumsum(np.bincount(rank, minlength=n + 1)[1:]) / ranks.n_users)
        return np.stack(found)

    return run.repeated(
        what, curves, key=["sampled recall", ranks.digest, repr(design)], repeats=repeats
    )


def global_recall(ranks: GlobalRanks, k: Any) -> FloatArray:
    """Compute exact recall at real cut-offs.

    Parameters
    ----------
    ranks
        Exact ranks of a model.
    k
        Cut-offs, any shape; each is taken to the nearest whole rank.

    Returns
    -------
    ndarray
        Recall, the shape of ``k``.
    """
    curve = np.concatenate([[0.0], np.cumsum(ranks.pmf())])
    return np.asarray(curve[np.clip(np.rint(k).astype(int), 0, curve.size - 1)])


def mapped(name: str, *, n_items: int, sample_size: int) -> FloatArray:
    """Map all sampled cut-offs to global ones.

    Parameters
    ----------
    name
        A mapping that need not be fitted, such as ``"bound"`` or ``"beta(0.5)"``.
    n_items
        Size of the pool.
    sample_size
        Size n of the sample, the target included.

    Returns
    -------
    ndarray
        f(1) to f(n), shape (n,).
    """
    f = mapping.get(name)
    return f(np.arange(1, sample_size + 1), n_items=n_items, sample_size=sample_size)


def spread(first: int, last: int) -> Any:
    """List whole numbers, thinned evenly if they are many.

    Parameters
    ----------
    first, last
        Both ends; they are always in the list.

    Returns
    -------
    ndarray
        At most MOST_POINTS numbers, in order.
    """
    return np.unique(np.rint(np.linspace(first, last, min(last - first + 1, MOST_POINTS)))).astype(
        int
    )


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
