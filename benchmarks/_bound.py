"""What no estimator can beat that knows the rank distribution up to a few numbers.

The oracle knows the smoothed law p of the case and that the truth is p(R) exp(B(R) c) / Z with c
unknown, B being a few cubic splines in log R. For the users seen, an efficient estimate of
T = mean F(R) errs with variance

    (1/M) E Var(F | outcome)  +  (1/M) D I^-1 D',    D = E Cov(F, B | outcome),

I the Fisher information of one user's outcome, Cov(E[B | outcome]): what the outcomes leave open
even if p were known, and what estimating c adds.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

import truerank as tr
from benchmarks.cases import Case
from truerank.estimators.likelihood import likelihood, make_support
from truerank.estimators.support import Support
from truerank.metrics import Metric

FUNCTIONS = 6
BANDWIDTH = 0.3  # of the law, in log R

FloatArray = NDArray[np.float64]


def relative_errors(case: Case, counts: tr.RankCounts, metrics: list[Metric]) -> FloatArray:
    """The oracle's mean absolute error of each metric over the metric, for samples like these."""
    support = make_support(counts, metrics, "auto")
    model = likelihood(counts, support)
    p = _law(case, support)
    basis = _splines(support, int(counts.sample_size.max()))
    gain = np.stack([metric.gain(support.rank, support.n_items) for metric in metrics], axis=1)
    joint = np.asarray(model.matrix @ np.diag(p) if p.size < 2000 else model.matrix * p)
    posterior = joint / joint.sum(axis=1, keepdims=True)
    weight = model.weight
    mean_f, mean_b = posterior @ gain, posterior @ basis
    variance = weight @ (posterior @ gain**2 - mean_f**2)
    d = np.einsum("or,o,rf,rb->fb", posterior, weight, gain, basis, optimize=True)
    d -= np.einsum("o,of,ob->fb", weight, mean_f, mean_b, optimize=True)
    # Exact ranks leave nothing open, and tell all about c.
    exact = model.exact_mass
    centred = np.concatenate([mean_b, basis]) - (weight @ mean_b + exact @ basis)
    information = (centred.T * np.concatenate([weight, exact])) @ centred
    variance += np.einsum("fb,bc,fc->f", d, np.linalg.pinv(information), d)
    value = p @ gain
    return np.asarray(np.sqrt(2 / np.pi * variance / counts.n_users) / value)


def _law(case: Case, support: Support) -> FloatArray:
    """A kernel estimate in log R of the case's ranks, on the points of a support."""
    ranks, count = np.unique(case.rank, return_counts=True)
    apart = (np.log(support.rank[:, None]) - np.log(ranks)) / BANDWIDTH
    density = np.exp(-0.5 * apart**2) @ count / support.rank
    mass = density * support.weight
    return np.asarray(mass / mass.sum())


def _splines(support: Support, largest_sample: int) -> FloatArray:
    """In log R, flattened where ranks cannot be told apart, and stretched at the very end."""
    from scipy.interpolate import BSpline

    n_items = support.n_items
    flat = max(1.0, np.sqrt(n_items / largest_sample))
    x = np.log(support.rank - 1 + flat) - np.log(n_items - support.rank + n_items / 100)
    inner = np.linspace(x[0], x[-1], FUNCTIONS - 2)
    knots = np.concatenate([[x[0]] * 3, inner, [x[-1]] * 3])
    return np.asarray(BSpline.design_matrix(x, knots, 3).toarray())
