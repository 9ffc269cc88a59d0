"""smooth: laws it must keep, whatever the shape of the rank distribution."""

from __future__ import annotations

import numpy as np
import pytest
import reference as ref
from scipy import optimize

import truerank as tr
from truerank import metrics as metrics_module
from truerank.designs import LJ24, Fixed
from truerank.estimators import Smooth, _logspline, _neighbours, _priors
from truerank.estimators._base import expected_gains
from truerank.estimators._laplace import Mixture, find_mode
from truerank.estimators._neighbours import on_grid
from truerank.estimators.likelihood import likelihood, make_support
from truerank.inference.planning import simulate
from truerank.metrics import parse
from truerank.outcomes.schemes import Scheme

METRICS = ("recall@1", "recall@10", "ndcg@10", "ap@10", "auc")


def _shapes(n_items, n_users, rng):
    """Global ranks of many kinds."""
    law = rng.random(n_users)
    half = rng.random(n_users) < 0.5
    return {
        "perfect": np.ones(n_users, dtype=np.int64),
        "worst": np.full(n_users, n_items),
        "constant": rng.integers(1, n_items + 1, n_users),
        "one rank": np.full(n_users, n_items // 3),
        "power law": np.ceil(n_items * law**4.0).astype(np.int64),
        "flat head": np.minimum(np.ceil(rng.exponential(50, n_users)), n_items).astype(np.int64),
        "rising head": np.minimum(20 + np.ceil(n_items * law**3.0).astype(np.int64), n_items),
        "two humps": np.where(half, n_items - rng.integers(0, 20, n_users), 1 + n_items // 50),
    }


def _sample(rank, n_items, design, seed):
    pools = np.broadcast_to(np.asarray(n_items, dtype=np.int64), rank.shape).copy()
    return simulate.simulated_counts(rank, pools, design, np.random.default_rng(seed))


FIXED = Fixed(sample_size=50)
WITH = Fixed(sample_size=50, replacement=True)
LADDER = LJ24(start=20, stop=300)  # 20, 40, 80, 160, 300
TO_THE_END = LJ24(start=20, growth=10, stop=2000)  # 20, 200, 2000


def _mixture(counts, n_functions=12):
    model = likelihood(counts, make_support(counts, parse("recall@10"), "auto"))
    return Mixture(model, _logspline.log_spline(model.support, n_functions), 500.0)


@pytest.fixture(scope="module")
def mixed():
    """Fixed, adaptive and exact outcomes in one table, pools of two sizes."""
    rng = np.random.default_rng(5)
    rank = ref.power_law(400, 900, 0.4, seed=5)
    pools = np.where(rng.random(900) < 0.5, 400, 450)
    return (
        _sample(rank[:300], pools[:300], WITH, 1)
        + _sample(rank[300:600], pools[300:600], LADDER, 2)
        + tr.RankCounts.from_exact_ranks(rank[600:], n_items=pools[600:])
    )


def test_derivatives(mixed):
    mixture = _mixture(mixed)
    point = np.random.default_rng(0).normal(size=12)
    value, gradient, curvature = mixture.derivatives(point)
    assert value == pytest.approx(mixture.value(point), rel=1e-12)
    step = 1e-5 * np.eye(12)
    ahead = [mixture.derivatives(point + h) for h in step]
    behind = [mixture.derivatives(point - h) for h in step]
    slope = [(a[0] - b[0]) / 2e-5 for a, b in zip(ahead, behind, strict=True)]
    bend = [(b[1] - a[1]) / 2e-5 for a, b in zip(ahead, behind, strict=True)]
    assert gradient == pytest.approx(np.array(slope), rel=1e-5, abs=1e-4)
    assert curvature == pytest.approx(np.array(bend), rel=1e-5, abs=1e-4)


def test_mode_is_the_maximum_that_scipy_finds(mixed):
    mixture = _mixture(mixed)
    path = _priors.paths(450, 12, 300, may_bend=True)[2]
    centre, factor = path.centre, path.factors[2]
    assert np.ptp(centre) > 1.0  # no prior about zero
    mode = find_mode(mixture, factor, np.zeros(12), centre=centre)
    assert mode.converged

    def objective(z):
        value, gradient, _ = mixture.derivatives(centre + factor @ z)
        return 0.5 * z @ z - value, z - factor.T @ gradient

    plain = optimize.minimize(
        objective, np.zeros(12), jac=True, method="BFGS", options={"gtol": 1e-6, "maxiter": 5000}
    )
    assert mixture.spline.masses(mode.coefficients) == pytest.approx(
        mixture.spline.masses(centre + factor @ plain.x), rel=1e-3, abs=1e-7
    )
    _, _, curvature = mixture.derivatives(centre + factor @ plain.x)
    precision = factor.T @ curvature @ factor + np.eye(12)
    covariance = factor @ np.linalg.inv(precision) @ factor.T
    assert mode.root @ mode.root.T == pytest.approx(covariance, rel=1e-2, abs=1e-3)
    evidence = -plain.fun - 0.5 * np.linalg.slogdet(precision)[1]
    assert mode.log_evidence == pytest.approx(evidence, abs=1e-2)


def test_law_is_the_one_written_down():
    """On every rank: spline of x = log R - log(N - R + N / 100), scipy's probabilities."""
    rank = ref.power_law(120, 2000, 0.4, seed=0)
    counts = _sample(rank, 120, WITH, 0)
    fit = tr.estimate(counts, METRICS, estimator="smooth", support="full")
    a = ref.probabilities(120, 50)
    observed = np.zeros(50)
    observed[counts.sampled_rank - 1] = counts.weight / 2000
    u = np.log(np.arange(1, 121)) - np.log(120 - np.arange(1, 121) + 1.2)
    values = np.zeros(120)
    for part in fit.posterior.components:
        inner = np.linspace(u[0], u[-1], part.mode.size - 2)
        spline = ref_spline(np.r_[[u[0]] * 3, inner, [u[-1]] * 3], part.mode)
        law = np.exp(spline(u))
        law /= law.sum()
        stepped = law * (a @ np.divide(observed, law @ a))
        values += part.weight * stepped
    assert fit.distribution.mass == pytest.approx(values, rel=1e-6)
    for metric in METRICS:
        assert fit[metric].value == pytest.approx(values @ ref.gains(metric, 120), rel=1e-6)


def ref_spline(knots, coefficients):
    from scipy.interpolate import BSpline

    return BSpline(knots, coefficients, 3)


@pytest.mark.parametrize("exponent", [0.2, 0.5, 1.0])
def test_recovers_a_power_law_as_users_grow(exponent):
    errors = []
    ks = np.array([1, 2, 5, 10, 20, 50])
    names = [f"recall@{k}" for k in ks]
    for n_users in (1000, 100_000):
        worst = []
        for seed in range(3):
            rank = ref.power_law(1000, n_users, exponent, seed=seed)
            est = tr.estimate(_sample(rank, 1000, LADDER, seed), names, estimator="smooth")
            value = np.array([est[name].value for name in names])
            worst.append(np.abs(value / (ks / 1000) ** exponent - 1)[2:].mean())
        errors.append(np.mean(worst))
    assert errors[1] < 0.03
    assert errors[1] < 0.6 * errors[0]


@pytest.mark.filterwarnings("ignore:The fitted law cannot:truerank.errors.FitWarning")
@pytest.mark.parametrize("design", [FIXED, WITH, LADDER, TO_THE_END])
@pytest.mark.parametrize("n_items", [60, 2000])
def test_any_shape(design, n_items):
    for name, rank in _shapes(n_items, 400, np.random.default_rng(0)).items():
        counts = _sample(rank, n_items, design, 1)
        est = tr.estimate(counts, METRICS, estimator="smooth")
        assert est.converged, name
        assert est.distribution.cdf(n_items) == pytest.approx(1.0, abs=1e-9)
        spread = np.sqrt(np.diag(est.posterior.covariance(parse(METRICS))))
        assert np.isfinite(spread).all()
        for metric, sigma in zip(METRICS, spread, strict=True):
            truth = float(parse(metric)[0].gain(rank, n_items).mean())
            assert 0 <= est[metric].value <= 1 + 1e-9
            if name in ("perfect", "worst", "constant", "power law"):
                assert abs(est[metric].value - truth) < 5 * sigma + 0.02, (name, metric)


def test_perfect_and_constant_models():
    rank = _shapes(2000, 3000, np.random.default_rng(1))
    perfect = tr.estimate(_sample(rank["perfect"], 2000, LADDER, 1), METRICS, estimator="smooth")
    assert perfect["recall@10"].value > 0.97
    assert perfect["auc"].value > 0.999
    constant = tr.estimate(_sample(rank["constant"], 2000, LADDER, 1), METRICS, estimator="smooth")
    assert constant["recall@10"].value == pytest.approx(0.005, abs=0.003)
    assert constant["auc"].value == pytest.approx(0.5, abs=0.02)


@pytest.mark.filterwarnings("ignore::truerank.errors.FitWarning")  # five ranks and no others
@pytest.mark.parametrize("n_users", [1, 7, 200, 10_000_000])
def test_any_number_of_users(n_users):
    counts = tr.RankCounts.from_outcomes(
        Scheme(replacement=True), n_items=5000, sample_size=100, sampled_rank=[1, 2, 5, 30, 100],
        weight=np.array([0.4, 0.2, 0.2, 0.15, 0.05]) * n_users, n_users=n_users,
        squared_weight=n_users,
    )  # fmt: skip
    est = tr.estimate(counts, METRICS, estimator="smooth")
    assert est.converged
    assert 0 < est["recall@10"].value < 1


def test_splitting_the_table_changes_nothing(mixed):
    halves = [mixed.select(np.arange(mixed.n_outcomes) % 2 == i) for i in (0, 1)]
    whole = tr.estimate(mixed, METRICS, estimator="smooth")
    again = tr.estimate(halves[1] + halves[0], METRICS, estimator="smooth")
    for metric in METRICS:
        assert again[metric].value == pytest.approx(whole[metric].value, rel=1e-9)


def test_exact_ranks_beside_sampled_ones_count_as_they_are():
    rank = ref.power_law(300, 800, 0.4, seed=3)
    exact = tr.RankCounts.from_exact_ranks(rank[:400], n_items=300)
    sampled = _sample(rank[400:], 300, FIXED, 3)
    est = tr.estimate(exact + sampled, "recall@10", estimator="smooth")
    known = np.bincount(rank[:400], minlength=301)[1:] / 800
    at = est.posterior.likelihood.exact_rank
    assert est.distribution.exact_mass == pytest.approx(known[at - 1])
    assert est["recall@10"].value > known[:10].sum()


def test_many_ranks_are_read_between_a_few():
    rank = ref.power_law(20_000, 5000, 0.4, seed=4)
    counts = _sample(rank, 20_000, Fixed(sample_size=2000, replacement=True), 4)
    few = on_grid(counts)
    assert few.n_outcomes < 0.6 * counts.n_outcomes
    assert few.weight @ few.sampled_rank == pytest.approx(counts.weight @ counts.sampled_rank)
    near = counts.sampled_rank <= 100
    assert (few.sampled_rank[: near.sum()] == counts.sampled_rank[near]).all()
    grid = tr.estimate(counts, METRICS, estimator="smooth")
    each = tr.estimate(
        counts, METRICS, estimator="smooth", support=make_support(counts, parse(METRICS), "auto")
    )
    for metric in METRICS:
        assert grid[metric].value == pytest.approx(each[metric].value, rel=0.003)


def test_many_pools_are_read_between_a_few():
    rank = ref.power_law(1500, 3000, 0.4, seed=4)
    pools = np.random.default_rng(4).integers(1500, 3000, 3000)
    counts = _sample(rank, pools, FIXED, 4)
    few = on_grid(counts)
    assert few.n_outcomes < counts.n_outcomes
    assert few.total_weight == pytest.approx(counts.total_weight)
    assert few.weight @ np.log(few.n_items) == pytest.approx(
        counts.weight @ np.log(counts.n_items), rel=1e-12
    )
    grid = tr.estimate(counts, METRICS, estimator="smooth")
    each = tr.estimate(
        counts, METRICS, estimator="smooth", support=make_support(counts, parse(METRICS), "auto")
    )
    for metric in METRICS:
        assert grid[metric].value == pytest.approx(each[metric].value, rel=0.01)


@pytest.mark.parametrize("scope", ["these-users", "population"])
def test_posterior_moments_are_those_of_its_draws(mixed, scope):
    est = tr.estimate(mixed, METRICS, estimator="smooth")
    metrics = parse(METRICS[:-1])
    posterior = est.posterior
    assert sum(part.weight for part in posterior.components) == pytest.approx(1.0)
    mean = posterior.mean(metrics, scope=scope)
    masses, exact = posterior.draw(4000, np.random.default_rng(0), scope=scope)
    assert masses.sum(axis=1) + exact.sum() == pytest.approx(np.ones(4000))
    gain = np.stack([m.gain(posterior.support.rank, 450) for m in metrics], axis=1)
    known = np.stack([m.gain(posterior.likelihood.exact_rank, 450) for m in metrics], axis=1)
    values = masses @ gain + exact @ known
    spread = np.sqrt(np.diag(posterior.covariance(metrics, scope=scope)))
    assert np.abs(values.mean(axis=0) - mean).max() < 0.5 * spread.max()
    if scope == "population":
        assert values.std(axis=0) == pytest.approx(spread, rel=0.25)
    else:  # the draws leave out what users' ranks vary given the law
        assert (values.std(axis=0) < 1.1 * spread).all()
        for metric, value in zip(metrics, mean, strict=True):
            assert est[metric.key].value == pytest.approx(value)


def test_bad_options(mixed):
    with pytest.raises(tr.InputError, match="n_functions is 3"):
        tr.estimators.Smooth(n_functions=3)
    est = tr.estimate(mixed, "recall@10", estimator="smooth(n_functions=8)")
    assert est.posterior.components[0].mode.size == 8
    with pytest.raises(tr.InputError, match="unknown scope 'all'"):
        est.posterior.mean(parse("recall@10"), scope="all")


# -- what the priors say --------------------------------------------------------------------------


def test_priors_of_slopes_are_those_written_down():
    """Mean slope of a power law, bent below rank 30 or so; spread of slopes as the amplitudes."""
    n_items, sample_size = 20_000, 100
    found = _priors.paths(n_items, 30, sample_size, may_bend=True)
    assert len(_priors.paths(n_items, 30, sample_size, may_bend=False)) == len(found) - 2
    assert np.exp([path.log_weight for path in found for _ in path.factors]).sum() == pytest.approx(
        1.0
    )
    x = _logspline.sites(n_items, 30)
    rank = _logspline.rank_at(x, n_items)
    plain, bent = found[0].centre, found[2].centre
    assert np.diff(plain) / np.diff(x) == pytest.approx(_priors.MEAN_SLOPE, abs=1e-9)
    slope = np.diff(bent) / np.diff(x)
    assert slope[0] == pytest.approx(_priors.MEAN_SLOPE + _priors.BEND, abs=0.05)
    assert slope[rank[1:] > 500] == pytest.approx(_priors.MEAN_SLOPE, abs=0.05)
    # The head, ranks below N / n, strays by no more than its own amplitude, however rough the rest.
    for path in found[:2]:
        for amplitude, factor in zip(_priors.AMPLITUDES, path.factors, strict=True):
            steps = np.diff(factor, axis=0) / np.diff(x)[:, None]
            spread = np.sqrt((steps**2).sum(axis=1))
            head = spread[rank[1:] < 0.05 * n_items / sample_size]
            assert head.max() < 1.1 * min(amplitude, _priors.HEAD_AMPLITUDE) + 0.1


def test_a_cliff_in_the_tail_leaves_the_head_alone():
    """Half of the targets tied at the score of most items: no worse at the head than mle."""
    n_items, n_users = 5000, 4000
    rng = np.random.default_rng(3)
    head = np.ceil(300 * rng.random(n_users) ** 2.5).astype(np.int64)
    tied = rng.integers(301, n_items + 1, n_users)
    rank = np.where(rng.random(n_users) < 0.5, head, tied)
    truth = {f"recall@{k}": (rank <= k).mean() for k in (1, 5, 10, 20, 50)}
    errors = {"smooth": [], "mle": []}
    for seed in range(8):
        counts = _sample(rank, n_items, LJ24(), seed)
        for name, found in errors.items():
            est = tr.estimate(counts, list(truth), estimator=name, confidence=None)
            found.append([abs(est[key].value / value - 1) for key, value in truth.items()])
    assert np.mean(errors["smooth"]) < np.mean(errors["mle"])


def test_coordinates_go_both_ways():
    rank = np.array([1.0, 2.0, 10.0, 999.0, 1000.0])
    assert _logspline.rank_at(_logspline.coordinate(rank, 1000), 1000) == pytest.approx(rank)
    assert np.diff(_logspline.sites(1000, 12)).min() > 0


@pytest.mark.parametrize("scope", ["these-users", "population"])
def test_variances_are_the_diagonal_of_the_covariance(scope):
    rank = np.ceil(3706 * np.random.default_rng(0).random(500) ** 4.0).astype(np.int64)
    counts = _sample(rank, 3706, LADDER, seed=1)
    posterior = tr.estimate(counts, "recall@10", confidence=None).posterior
    wanted = parse([*METRICS, "recall@1,2,3,50,3000", "ndcg"])
    covariance = posterior.covariance(wanted, scope=scope)
    np.testing.assert_allclose(
        posterior.variance(wanted, scope=scope), np.diag(covariance), rtol=1e-9
    )


@pytest.mark.parametrize("cuts", [(5, 20), range(1, 40)], ids=["few metrics", "many"])
def test_gains_are_those_written_out(mixed, cuts):
    """Expected bases given each outcome, component by component."""
    metrics = [*parse([f"recall@{k}" for k in cuts]), *parse(["ndcg@10", "auc"])]
    posterior = Smooth().fit(mixed, metrics=metrics, support="auto", plug_in="plain").posterior
    few = on_grid(mixed)
    model = likelihood(few, posterior.support)
    weight = np.array([part.weight for part in posterior.components])
    values = posterior._values(metrics, "these-users")
    leading = np.flatnonzero(weight > 0.01)
    share = weight[leading] / weight[leading].sum()
    typical, basis = posterior._gains(metrics), posterior.spline.basis
    at = posterior.support.locate(model.exact_rank)
    of_sampled = 0.0
    of_exact = metrics_module.all_gains(metrics, model.exact_rank * 1.0, model.exact_n_items)
    for number, part in zip(leading, share, strict=True):
        law = posterior._laws[number]
        given = model.matrix * law / (model.matrix @ law)[:, None]  # P(point | outcome)
        own, score = given @ typical, given @ basis
        own[:, -1] = expected_gains(model, law, metrics[-1])
        both = np.einsum("oj,jm,jf->omf", given, typical, basis)
        both -= np.einsum("om,of->omf", given @ typical, score)
        slope = np.einsum("o,omf->mf", model.weight, both)
        assert posterior._slope(number, typical, "these-users") == pytest.approx(slope, rel=1e-9)
        reach = part * posterior.n_users * posterior.components[number].covariance @ slope.T
        toward = posterior.n_users * part * (values[number] - share @ values[leading])
        of_sampled = of_sampled + part * own + score @ reach
        of_sampled = of_sampled + np.log(model.matrix @ law)[:, None] * toward
        of_exact += basis[at] @ reach + np.log(law[at])[:, None] * toward
    expected = np.empty((few.n_outcomes, len(metrics)))
    expected[~few.is_exact], expected[few.is_exact] = of_sampled, of_exact
    expected += posterior.mean(metrics) - few.weight @ expected / few.total_weight
    assert posterior.gains(few, metrics) == pytest.approx(expected, rel=1e-8, abs=1e-8)


def test_neighbours_are_counted_as_they_are_sorted(monkeypatch):
    rng = np.random.default_rng(3)
    pool = rng.integers(1000, 2000, 4000)
    size = rng.choice([30, 100], 4000)
    rank = 1 + rng.binomial(size - 1, rng.random(4000) ** 3)
    counts, same = (
        tr.RankCounts.from_ranks(rank, n_items=pool, sample_size=size, replacement=True)
        for _ in range(2)
    )
    found = on_grid(counts)
    assert on_grid(counts) is found  # kept while the counts live
    monkeypatch.setattr(_neighbours, "_COUNTED", 0)
    slow = on_grid(same)
    for column in ("n_items", "sample_size", "sampled_rank"):
        assert (getattr(found, column) == getattr(slow, column)).all()
    assert found.weight == pytest.approx(slow.weight, rel=1e-12)


def test_grids_of_ranks_are_those_found_step_by_step():
    for size in [*range(1, 1200), 4096, 99_999, 3_000_001]:
        ranks = [1]
        while ranks[-1] < size:
            step = int(_neighbours.STEP * min(ranks[-1], size - ranks[-1]))
            ranks.append(ranks[-1] + max(1, step))
        assert _neighbours._rank_grid(size).tolist() == ranks
