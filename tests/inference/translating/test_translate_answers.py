"""`translate`: estimates against laws, simulations and the estimator that sees the ranks."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import truerank as tr
from truerank.estimators._moments import Means, Moments, Sampled, fit_means
from truerank.metrics import parse
from truerank.outcomes.schemes import Scheme

SIX = ("hr@1", "hr@5", "ndcg@5", "hr@10", "ndcg@10", "mrr")


def means(names: Any, value: Any, n_users: float = 5000.0, runs: int = 1) -> Means:
    metrics = parse(names)
    return Means(metrics, np.array(value), np.full(len(metrics), 1e-4**2 / 12), n_users, runs)


def power_law(n_items: int, n_users: int, rng: np.random.Generator) -> np.ndarray:
    """Ranks with recall@K = (K / n_items)^0.25."""
    return np.ceil(n_items * rng.random(n_users) ** 4).astype(np.int64)


def published(rank: np.ndarray, sample_size: int, names: Any = SIX) -> dict[str, str]:
    return {
        name: f"{metric.gain(rank, sample_size).mean():.4f}"
        for name, metric in zip(names, parse(names), strict=True)
    }


def test_derivatives_are_those_of_the_log_likelihood() -> None:
    samples = Sampled.of(Scheme(False), 3000, 60, parse("recall@10"))
    seen = means(["hr@1", "hr@10", "mrr"], [0.2, 0.5, 0.3])
    found = fit_means(samples, seen, may_bend=True)
    model = Moments(found.spline, found.rows, seen.value, np.linalg.inv(found.covariance))
    rng = np.random.default_rng(5)
    at = found.components[0].mode + 0.3 * rng.standard_normal(found.components[0].mode.size)
    value, gradient, curvature = model.derivatives(at)
    assert value == pytest.approx(model.value(at))
    step = 1e-5 * np.eye(at.size)
    slope = [(model.value(at + h) - model.value(at - h)) / 2e-5 for h in step]
    bend = [(model.derivatives(at + h)[1] - model.derivatives(at - h)[1]) / 2e-5 for h in step]
    assert gradient == pytest.approx(np.array(slope), abs=1e-6 * np.abs(gradient).max())
    assert -curvature == pytest.approx(np.array(bend), abs=1e-6 * np.abs(curvature).max())


@pytest.mark.parametrize("runs", [1, 4])
def test_the_covariance_is_that_of_redrawn_users_and_negatives(runs: int) -> None:
    n_items, size, n_users, repeats = 800, 30, 50, 4000
    samples = Sampled.of(Scheme(True), n_items, size, parse("recall@10"))
    found = fit_means(samples, means(["hr@3", "mrr"], [0.5, 0.4], n_users, runs), may_bend=False)
    rng = np.random.default_rng(7)
    law = found.distribution
    mass = law.mass / law.mass.sum()
    rank = samples.support.rank[rng.choice(mass.size, size=(repeats, n_users), p=mass)]
    above = rng.binomial(size - 1, (rank - 1) / (n_items - 1), (runs, repeats, n_users))
    value = np.stack([(above < 3).mean(axis=(0, 2)), (1 / (above + 1.0)).mean(axis=(0, 2))])
    redrawn = np.cov(value)
    # A variance of 4,000 means has a relative standard error of sqrt(2 / 4000) = 2.2 %.
    assert found.covariance == pytest.approx(redrawn, rel=5 * 0.0224)


def test_with_every_cut_off_published_it_is_what_smooth_says_of_the_ranks() -> None:
    rng = np.random.default_rng(2)
    n_items, size, n_users = 5000, 20, 20_000
    rank = power_law(n_items, n_users, rng)
    sampled = 1 + rng.hypergeometric(rank - 1, n_items - rank, size - 1)
    asked = ["recall@10", "recall@50", "ndcg@100"]
    counts = tr.RankCounts.from_ranks(sampled, n_items=n_items, sample_size=size, replacement=False)
    smooth = tr.estimate(counts, asked)
    names = [f"hr@{k}" for k in range(1, size)]
    every = {name: f"{(sampled <= k).mean():.6f}" for k, name in enumerate(names, 1)}
    found = tr.translate(
        every,
        asked,
        n_items=n_items,
        sample_size=size,
        replacement=False,
        n_users=n_users,
        training_items="kept",  # pools of one size: smooth allows for it, too
    )
    for metric in asked:
        gap = abs(np.log(found[metric].value / smooth[metric].value))
        assert gap < 0.25 * smooth[metric].total_error / smooth[metric].value
        assert found[metric].total_error == pytest.approx(smooth[metric].total_error, rel=0.25)


def test_samples_of_the_whole_pool_are_what_they_say() -> None:
    found = tr.translate(
        {"hr@10": "0.2500", "ndcg@10": "0.1500"},
        n_items=5000,
        sample_size=5000,
        replacement=False,
        n_users=10_000,
    )
    assert found["recall@10"].value == pytest.approx(0.25, abs=1e-4)
    assert found["ndcg@10"].value == pytest.approx(0.15, abs=1e-4)
    assert found["recall@10"].high - found["recall@10"].low < 5e-4  # the rounding


@pytest.mark.parametrize("replacement", [True, False])
def test_intervals_cover_what_follows_the_law(replacement: bool) -> None:
    rng = np.random.default_rng(3)
    n_items, size, n_users = 4000, 100, 3000
    inside = []
    for _ in range(20):
        rank = power_law(n_items, n_users, rng)
        if replacement:
            above = rng.binomial(size - 1, (rank - 1) / (n_items - 1))
        else:
            above = rng.hypergeometric(rank - 1, n_items - rank, size - 1)
        found = tr.translate(
            published(above + 1, size),
            ["recall@10", "recall@50"],
            n_items=n_items,
            sample_size=size,
            replacement=replacement,
            n_users=n_users,
        )
        for k in (10, 50):
            one = found[f"recall@{k}"]
            inside.append(one.low <= (rank <= k).mean() <= one.high)
    # Of 40 at 95 %, fewer than 34 are inside with a chance below 1 % were they independent.
    assert sum(inside) >= 34


def test_more_values_users_and_runs_tell_more() -> None:
    rng = np.random.default_rng(4)
    rank = power_law(4000, 4000, rng)
    sampled = 1 + rng.binomial(99, (rank - 1) / 3999)
    six = published(sampled, 100)

    def width(values: dict[str, str], **options: Any) -> float:
        given = {"n_items": 4000, "sample_size": 100, "n_users": 4000, **options}
        one = tr.translate(values, "recall@10", **given)["recall@10"]
        return float(np.log(one.high / one.low))

    one = {"hr@10": six["hr@10"]}
    two = one | {"ndcg@10": six["ndcg@10"]}
    assert width(six) < width(two) < width(one)
    assert width(six, n_users=10**6) < width(six) < width(six, n_users=300)
    assert width(six, n_users=300, runs=10) < width(six, n_users=300)
    assert width(six, confidence=0.5) < width(six)
    unknown = tr.translate(six, "recall@10", n_items=4000, sample_size=100)
    assert unknown["recall@10"].value == pytest.approx(
        tr.translate(six, "recall@10", n_items=4000, sample_size=100, n_users=1000)[
            "recall@10"
        ].value
    )
    assert "noise of 1,000 users" in unknown.assumptions[0]


def test_no_interval_exceeds_what_the_sample_says() -> None:
    found = tr.translate({"hr@10": "0.620"}, n_items=3706, sample_size=100, n_users=6040)
    # Two standard errors of a share of 6,040 users, and the rounding.
    assert found["recall@10"].high <= 0.6205 + 2.1 * np.sqrt(0.62 * 0.38 / 6040)
    assert found["recall@10"].low < found["recall@10"].value < found["recall@10"].high


def test_who_is_ahead() -> None:
    # A has more users on the very first places, B more among the first ten: the order flips.
    given = {"n_items": 20_000, "sample_size": 100, "n_users": 20_000}
    a = {"hr@1": "0.2200", "hr@10": "0.4000", "ndcg@10": "0.3050", "mrr": "0.2850"}
    b = {"hr@1": "0.1200", "hr@10": "0.4500", "ndcg@10": "0.2650", "mrr": "0.2260"}
    found = tr.translate({"A": a, "B": b}, ["recall@10", "recall@5000"], **given)
    near, far = found.leads
    assert (near.model, near.other, near.published_first, near.flips) == ("A", "B", "B", True)
    assert near.probability > 0.9
    assert far.metric == "recall@5000"
    assert found.flips[0] is near
    assert "the published values say the reverse" in str(near)
    same = tr.translate({"A": a, "B": a}, "recall@10", **given).leads[0]
    assert (same.probability, same.published_first) == (0.5, None)


def test_names_for_one_target() -> None:
    values = {"HR@10": "0.4000", "MRR": "0.2500"}
    found = tr.translate(values, ["hit_rate@10", "rr"], n_items=2000, sample_size=100)
    assert [one.metric for one in found.estimates] == ["recall@10", "ap"]
    assert found["hr@10"].naive == pytest.approx(0.4)
    assert found["MRR"] is found["ap"]


def test_values_of_no_smooth_law_are_named() -> None:
    # A third of the users at sampled rank 1, none at 2 to 10, all others at 11: no ranks give it.
    found = tr.translate(
        {"hr@1": "0.3300", "hr@10": "0.3300", "hr@11": "1.0000"},
        "recall@10",
        n_items=5000,
        sample_size=100,
        n_users=50_000,
    )
    assert found.strained == ("",)
    assert not found["recall@10"].resolvable
    assert "No smooth distribution of ranks has the values" in found.assumptions[-1]


def test_extremes() -> None:
    for values in ({"hr@10": "0.0000"}, {"hr@10": "1.0000"}, {"auc": "0.9990"}):
        for n_items in (200, 10**7):
            one = tr.translate(
                values, "recall@10", n_items=n_items, sample_size=100, replacement=False
            )["recall@10"]
            assert 0.0 <= one.low <= one.value <= one.high <= 1.0
    two = tr.translate({"auc": "0.900"}, n_items=2, sample_size=2, replacement=True)
    assert 0.0 <= two["auc"].low <= two["auc"].high <= 1.0
    own = tr.Metric("decay", 20, lambda rank: np.exp(-rank / 5))
    found = tr.translate({"hr@10": "0.62"}, own, n_items=5000, sample_size=50)
    assert 0.0 < found[own].value < np.exp(-1 / 5)


def test_fifty_models_are_ordered() -> None:
    rng = np.random.default_rng(6)
    models = {}
    for number in range(50):
        rank = power_law(20_000, 5000, rng)
        models[f"m{number}"] = published(1 + rng.binomial(99, (rank - 1) / 19_999), 100)
    found = tr.translate(models, "recall@10", n_items=20_000, sample_size=100, n_users=5000)
    assert len(found.leads) == 50 * 49 / 2
