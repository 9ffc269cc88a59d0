"""Global and sampled recall curves, and mappings from one to the other (LJ20, LJ24 part 3)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from truerank import mapping
from truerank._types import FloatArray
from truerank.designs import Fixed
from truerank.outcomes.schemes import Scheme, log_probability
from truerank_papers.experiments import words
from truerank_papers.experiments.ranks import GlobalRanks
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


def expected_recall(ranks: GlobalRanks, sample_size: int) -> FloatArray:
    """Compute sampled recall in expectation over draws with replacement (LJ20 eq. 4).

    Parameters
    ----------
    ranks
        Exact ranks of a model, all among the same number of items.
    sample_size
        Size n of the sample, the target included.

    Returns
    -------
    ndarray
        Expected sampled recall@1 to recall@n, shape (n,).
    """
    share = ranks.pmf()
    log_p = log_probability(
        Scheme(True),
        np.arange(1, share.size + 1),
        n_items=share.size,
        sample_size=sample_size,
        sampled_rank=np.arange(1, sample_size + 1),
    )
    return np.asarray(np.cumsum(np.exp(log_p) @ share))


def best_cuts(ranks: GlobalRanks, sample_size: int) -> Any:
    """Find the best f(k) for one model: the K whose recall is nearest to the expected sampled one.

    LJ20 section 3 asks for an f that makes |E[sampled recall@k] - recall@f(k)| small. No f does
    better than this for one curve, and none that serves several models does as well.

    Parameters
    ----------
    ranks
        Exact ranks of a model, all among the same number of items.
    sample_size
        Size n of the sample, the target included.

    Returns
    -------
    ndarray of int
        f(1) to f(n), shape (n,).
    """
    exact = np.cumsum(ranks.pmf())
    wanted = expected_recall(ranks, sample_size)
    after = np.minimum(np.searchsorted(exact, wanted), exact.size - 1)
    before = np.maximum(after - 1, 0)
    nearer = np.abs(exact[before] - wanted) <= np.abs(exact[after] - wanted)
    return np.where(nearer, before, after) + 1


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


def nearest(ranks: GlobalRanks, sampled: FloatArray, names: Sequence[str], *, n_items: int) -> str:
    """Say how near mappings bring the sampled curve to the exact one.

    Parameters
    ----------
    ranks
        Exact ranks of a model.
    sampled
        Sampled recall@1 to recall@n, shape (n,).
    names
        Names of mappings.
    n_items
        Size of the pool.

    Returns
    -------
    str
        A sentence: mean distances over all k and over k up to 10, the nearest mapping first.
    """
    gaps = {
        name: np.abs(
            global_recall(ranks, mapped(name, n_items=n_items, sample_size=sampled.size)) - sampled
        )
        for name in names
    }
    whole, top = (
        words.numbered({name: float(gap[:last].mean()) for name, gap in gaps.items()}, 4, sort=True)
        for last in (sampled.size, 10)
    )
    return (
        "Mean distance of global recall@f(k) from sampled recall@k, nearest first, over all k: "
        f"{whole}; over k = 1 to 10: {top}."
    )


def ends(ranks: Mapping[str, GlobalRanks], a: float) -> str:
    """Say how the ranks of models bend away from Beta(a, 1) at both ends.

    Parameters
    ----------
    ranks
        Exact ranks by model, among all items.
    a
        The exponent.

    Returns
    -------
    str
        A sentence: the shares of users in the first and in the last hundredth of the ranks.
    """
    said = []
    for name, one in ranks.items():
        n_items = int(one.n_items.max())
        first, most = global_recall(one, [n_items / 100, 99 * n_items / 100])
        said.append(f"{100 * first:.1f} and {100 * (1 - most):.1f} percent ({name})")
    law = f"{100 * 0.01**a:.1f} and {100 * (1 - 0.99**a):.1f}"
    return (
        "In the first and in the last hundredth of the ranks are the targets of "
        f"{words.listed(said)} of the users, where Beta({a:g}, 1) has {law}. Training items, which "
        "are ranked too, stand at the top."
    )
