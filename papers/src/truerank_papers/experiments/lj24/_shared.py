"""What the tables of LJ24 have in common: datasets, estimates from fixed and adaptive samples."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from functools import partial

import numpy as np

from truerank import estimators
from truerank import metrics as metrics_module
from truerank._types import FloatArray
from truerank.designs import LJ24, Design, Fixed
from truerank.estimators import BV, MN
from truerank.estimators.likelihood import make_support
from truerank.estimators.support import RankDistribution, Support
from truerank.outcomes.counts import RankCounts
from truerank_papers.experiments.published import Number, Published
from truerank_papers.experiments.ranks import GlobalRanks
from truerank_papers.experiments.run import Run, estimates

PRINTED = ("pinterest-20", "yelp", "ml-20m")
DATASETS = ("ml-1m", "citeulike", *PRINTED)
TOP = 50
METRICS = (
    *(f"recall@{k}" for k in range(1, TOP + 1)),
    *(f"ndcg@{k}" for k in range(1, TOP + 1)),
    *(f"ap@{k}" for k in (5, 10, 20)),
)
PRIORS = ("mes", "mle")
ALL = ", all repeats"  # behind the name of an estimator whose prior is the mean over repeats
LEARNT = tuple(f"{family}-{prior}" for family in ("bv", "mn") for prior in PRIORS)
AVERAGED = tuple(f"{name}{ALL}" for name in LEARNT)
ESTIMATORS = ("mes", "mle", "bv", *(name + kind for name in LEARNT for kind in ("", ALL)), "smooth")
OWN = tuple(name for name in ESTIMATORS if name not in AVERAGED)
START, STOP = 100, 3200  # of adaptive samples; the paper prints the second
ADAPTIVE = ("mle", "smooth")


def larger(dataset: str) -> int:
    """Tell the larger of the two fixed sample sizes.

    Parameters
    ----------
    dataset
        Name of the dataset.

    Returns
    -------
    int
        Number of items per sample, the target included.
    """
    return 1000 if dataset == "ml-20m" else 500


def exact(ranks: GlobalRanks) -> FloatArray:
    """Compute the exact metrics.

    Parameters
    ----------
    ranks
        Exact ranks of a model.

    Returns
    -------
    ndarray
        Shape (n_metrics,).
    """
    return ranks.exact(metrics_module.parse(METRICS))


def fixed_estimates(
    run: Run, dataset: str, model: str, ranks: GlobalRanks, sample_size: int
) -> dict[str, FloatArray]:
    """Estimate all metrics from samples of a fixed size, averaged priors included.

    Parameters
    ----------
    run
        The run; it keeps finished repeats.
    dataset, model
        Names, which choose the random numbers.
    ranks
        Exact ranks of the model.
    sample_size
        Number of items per sample, the target included.

    Returns
    -------
    dict
        Estimates by estimator, each of shape (repeats, n_metrics).
    """
    what = f"LJ24 {dataset} {model} n={sample_size}"
    design, repeats = Fixed(sample_size=sample_size, replacement=True), run.repeats()
    own = run.redrawn(what, ranks, estimators=OWN, metrics=METRICS, repeats=repeats, design=design)
    averaged = _with_averaged_priors(run, what, ranks, design, repeats)
    found = {name: own[:, e] for e, name in enumerate(OWN)}
    found |= {name: averaged[:, e] for e, name in enumerate(AVERAGED)}
    return {name: found[name] for name in ESTIMATORS}


def _with_averaged_priors(
    run: Run, what: str, ranks: GlobalRanks, design: Design, repeats: int
) -> FloatArray:
    """(repeats, 4, n_metrics), of the same samples."""
    wanted = metrics_module.parse(METRICS)
    key = [ranks.digest, repr(design), list(METRICS)]
    first, _ = ranks.sampled(design, run.rngs(what, 0, 1))
    grid = make_support(first, wanted, "auto")  # the same in all repeats: one size, one pool
    masses = run.repeated(
        what,
        lambda first, last: _masses(ranks, design, grid, run.rngs(what, first, last)),
        key=["priors", *key],
        repeats=repeats,
    ).mean(axis=0)
    none = np.empty(0)
    priors = [RankDistribution(grid, mass, none, none) for mass in masses]
    known = [kind(prior=prior) for kind in (BV, MN) for prior in priors]
    return run.repeated(
        what,
        lambda first, last: estimates(ranks, design, known, METRICS, run.rngs(what, first, last)),
        key=["averaged priors", repeats, *key],
        repeats=repeats,
    )


def _masses(
    ranks: GlobalRanks, design: Design, grid: Support, rngs: list[np.random.Generator]
) -> FloatArray:
    """What `mes` and `mle` find in each sample, (n_evaluations, 2, n_points)."""
    outcomes, weight = ranks.sampled(design, rngs)
    fit = partial(_mass, grid)
    return np.stack(
        [[fit(name, outcomes.reweighted(table)) for name in PRIORS] for table in weight]
    )


def _mass(grid: Support, name: str, counts: RankCounts) -> FloatArray:
    wanted = metrics_module.parse(METRICS[:1])
    found = estimators.get(name).fit(counts, metrics=wanted, support=grid, plug_in="plain")
    assert found.distribution is not None
    return found.distribution.mass


def adaptive_estimates(
    run: Run, dataset: str, model: str, ranks: GlobalRanks
) -> tuple[dict[str, FloatArray], FloatArray]:
    """Estimate all metrics from adaptive samples.

    Parameters
    ----------
    run
        The run; it keeps finished repeats.
    dataset, model
        Names, which choose the random numbers.
    ranks
        Exact ranks of the model.

    Returns
    -------
    estimates : dict
        Estimates by estimator, each of shape (repeats, n_metrics).
    sizes : ndarray
        Mean sample sizes, shape (repeats,).
    """
    what = f"LJ24 {dataset} {model} adaptive"
    stop = min(STOP, int(ranks.n_items.max()))
    design = LJ24(start=START, stop=stop, replacement=True)
    repeats = run.repeats()
    values = run.redrawn(
        what, ranks, estimators=ADAPTIVE, metrics=METRICS, repeats=repeats, design=design
    )
    sizes = run.repeated(
        what,
        lambda first, last: np.array(
            [ranks.evaluate(design, rng)[1].mean() for rng in run.rngs(what, first, last)]
        ),
        key=["sizes", ranks.digest, repr(design)],
        repeats=repeats,
    )
    return {f"adaptive {name}": values[:, e] for e, name in enumerate(ADAPTIVE)}, sizes


def relative_error(values: FloatArray, truth: FloatArray, metric: str = "recall") -> FloatArray:
    """Compute the mean over K = 1 to 50 of abs(estimate / exact - 1).

    Parameters
    ----------
    values
        Estimates, shape (repeats, n_metrics).
    truth
        Exact metrics, shape (n_metrics,).
    metric
        Which metric: ``"recall"`` or ``"ndcg"``.

    Returns
    -------
    ndarray
        In percent, shape (repeats,).
    """
    at = [m for m, name in enumerate(METRICS[: truth.size]) if name.startswith(f"{metric}@")]
    return np.asarray(100 * np.abs(values[:, at] / truth[at] - 1).mean(axis=1))


def number(values: FloatArray) -> Number:
    """Summarise repeats.

    Parameters
    ----------
    values
        One value per repeat.

    Returns
    -------
    Number
        Mean and standard deviation.
    """
    return Number(float(values.mean()), float(values.std()))


def beside_averaged(published: Published) -> Published:
    """Rename printed columns of bv-* and mn-* to those with averaged priors.

    Parameters
    ----------
    published
        A printed table.

    Returns
    -------
    Published
        The same numbers.
    """
    numbers: Mapping[tuple[str, ...], Number] = {
        (*key[:-1], key[-1] + ALL * key[-1].startswith(("bv-", "mn-"))): one
        for key, one in published.numbers.items()
    }
    return replace(published, numbers=numbers)
