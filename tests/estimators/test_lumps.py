"""Lumps: the closed form against explicit lumps, and against laws that have them."""

from __future__ import annotations

import numpy as np
import pytest
import reference as ref

import truerank as tr
from truerank.designs import LJ24, Fixed
from truerank.estimators import Smooth, _logspline
from truerank.estimators._laplace import Mixture, find_mode
from truerank.estimators._lumps import LAST, lumps
from truerank.estimators._posterior import Component, Posterior
from truerank.estimators.likelihood import likelihood, make_support
from truerank.inference.planning import simulate
from truerank.metrics import parse

N_ITEMS = 600
METRICS = parse(["recall@1,5,20", "ndcg@10", "ap@10"])


def _counts(rank, design, seed=0):
    pools = np.full(rank.size, N_ITEMS)
    return simulate.simulated_counts(rank, pools, design, np.random.default_rng(seed))


def _fit(counts):
    return Smooth().fit(counts, metrics=METRICS, support="auto", plug_in="plain")


def _lumpy(n_users, size, rng):
    law = np.arange(1.0, N_ITEMS + 1) ** -0.6 * np.exp(rng.normal(0.0, size, N_ITEMS))
    return 1 + rng.choice(N_ITEMS, n_users, p=law / law.sum())


@pytest.fixture(
    scope="module",
    params=[Fixed(sample_size=40), LJ24(start=20, stop=300), Fixed(sample_size=590)],
    ids=["few", "ladder", "most"],
)
def simple(request):
    """A posterior of one component, its prior, and the mode that it is about."""
    counts = _counts(_lumpy(1500, 0.3, np.random.default_rng(3)), request.param)
    model = likelihood(counts, make_support(counts, METRICS, "auto"))
    mixture = Mixture(model, _logspline.log_spline(model.support, 10), 1500.0)
    factor = 0.7 * np.eye(10)
    mode = find_mode(mixture, factor, np.zeros(10))
    part = Component(1.0, mode.coefficients, mode.root)
    return Posterior(model, mixture.spline, (part,), 1500.0), factor, mode


def _explicit(posterior, factor, size):
    """The mixture with a coefficient for each lump, and the root of its prior."""
    support, basis = posterior.support, posterior.spline.basis
    own = np.diag(1.0 / np.sqrt(support.weight))[:, support.rank <= LAST]
    spline = _logspline.LogSpline(np.hstack([basis, own]), posterior.spline.log_weight)
    n, k = basis.shape[1], own.shape[1]
    root = np.block([[factor, np.zeros((n, k))], [np.zeros((k, n)), size * np.eye(k)]])
    return Mixture(posterior.likelihood, spline, posterior.n_users), root


@pytest.mark.parametrize("size", [0.1, 0.6])
def test_variance_is_that_of_coefficients_of_their_own(simple, size):
    """Newton's step written down: invert the whole precision, differentiate by hand."""
    posterior, factor, mode = simple
    mixture, root = _explicit(posterior, factor, size)
    at = np.concatenate([mode.coefficients, np.zeros(root.shape[0] - 10)])
    _, _, precision = mixture.derivatives(at)
    (part,) = posterior.components
    precision[:10, :10] = np.linalg.inv(part.covariance)
    # What the sample tells of lumps, where it is no less than nothing.
    bent = precision[:10, 10:].T @ part.covariance @ precision[:10, 10:]
    values_of, axes = np.linalg.eigh(precision[10:, 10:] - bent)
    precision[10:, 10:] = bent + (axes * np.maximum(values_of, 0.0)) @ axes.T
    precision[10:, 10:] += np.eye(at.size - 10) / size**2

    def values(coefficients):
        law = mixture.spline.masses(coefficients)
        return posterior.given_outcomes(law) @ posterior._gains(METRICS)

    step = 1e-5 * np.eye(at.size)
    slope = np.array([(values(at + one) - values(at - one)) / 2e-5 for one in step])
    both = np.einsum("im,ij,jm->m", slope, np.linalg.inv(precision), slope)
    alone = np.einsum("im,ij,jm->m", slope[:10], part.covariance, slope[:10])
    found = lumps(posterior, METRICS, [size])
    np.testing.assert_allclose(found.variance[0], both - alone, rtol=1e-4, atol=1e-12)


def test_evidence_is_that_of_a_fit_with_lumps(simple):
    """Small lumps, so that one step of Newton's is about the whole way."""
    posterior, factor, mode = simple
    sizes = [0.02, 0.05, 0.1]
    found = lumps(posterior, METRICS, sizes)
    for size, evidence in zip(sizes, found.log_evidence, strict=True):
        mixture, root = _explicit(posterior, factor, size)
        start = np.concatenate([mode.coefficients, np.zeros(root.shape[0] - 10)])
        slow = find_mode(mixture, root, start).log_evidence - mode.log_evidence
        assert evidence == pytest.approx(slow, abs=0.1 + 0.05 * abs(slow))


def test_variance_grows_with_lumps_and_falls_with_what_is_known():
    rank = ref.power_law(N_ITEMS, 2000, 0.4, seed=4)
    relative = []
    for design in (Fixed(sample_size=20), Fixed(sample_size=200), Fixed(sample_size=N_ITEMS)):
        fit = _fit(_counts(rank, design))
        found = lumps(fit.posterior, METRICS, [0.05, 0.2, 0.6]).variance
        if design.sample_size < N_ITEMS:
            assert (np.diff(found, axis=0) > 0.0).all()
        relative.append(np.sqrt(found[-1]) / [fit.values[m.key] for m in METRICS])
    assert (relative[0] > relative[1]).all()
    np.testing.assert_allclose(relative[2], 0.0, atol=1e-6)
    assert 0.3 < relative[0][0] < 0.6  # one rank, of which its neighbours tell a little
    assert relative[0][0] > 2.0 * relative[0][1] > 2.0 * relative[0][2]


@pytest.mark.parametrize("design", [Fixed(sample_size=60), LJ24(start=20, stop=120)])
def test_errors_on_lumpy_laws_are_as_large_as_said(design):
    """60 laws with lumps of 0.5: squared errors, in units of what is said, are 1 on average.

    The mean of 60 squares of metrics that go together has a standard error of 0.18 or more (that
    of normal errors); a law of smooth shape is known better than its prior thinks, so less than 1
    is no surprise. Without lumps in it the spread is too small by far.
    """
    rng = np.random.default_rng(11)
    metric = parse(["recall@1", "recall@3"])
    ratio = {"with": [], "without": []}
    for number in range(60):
        rank = _lumpy(4000, 0.5, rng)
        fit = Smooth().fit(
            _counts(rank, design, number), metrics=metric, support="auto", plug_in="plain"
        )
        truth = np.array([(rank <= m.k).mean() for m in metric])
        off = np.square([fit.values[m.key] for m in metric] - truth)
        known = np.diag(fit.posterior.covariance(metric))
        more = lumps(fit.posterior, metric, [0.5]).variance[0]
        ratio["with"].append(off / (known + more))
        ratio["without"].append(off / known)
    with_lumps, without = (np.mean(ratio[name], axis=0) for name in ("with", "without"))
    assert (with_lumps > 0.4).all()
    assert (with_lumps < 1.6).all()
    assert without.max() > 2.0


def test_lumps_are_part_of_every_interval():
    counts = _counts(ref.power_law(N_ITEMS, 1500, 0.4, seed=5), Fixed(sample_size=40))
    for estimator in ("smooth", "mle"):
        parts = tr.estimate(counts, "recall@1", estimator=estimator)["recall@1"].error_budget
        assert parts["lumps"] > 0.0
