"""Mean ranks (mr, amr, amri): definitions, what they share with auc, and which way is better."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

import truerank as tr
from truerank import InputError, Metric, RankCounts, compare, estimate

MEAN_RANKS = ["mr", "amr", "amri"]


def plain(rank: np.ndarray, pool: np.ndarray) -> dict[str, float]:
    """As PyKEEN defines them, on all rows at once."""
    return {
        "mr": float(rank.mean()),
        "amr": float(rank.mean() / ((pool + 1) / 2).mean()),
        "amri": float(1 - (rank - 1).mean() / ((pool - 1) / 2).mean()),
    }


def drawn(n_users: int = 1500, seed: int = 0, *, low: int = 700) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(seed)
    pool = rng.integers(low, 1001, n_users)
    return 1 + (rng.beta(0.4, 3.0, n_users) * (pool - 1)).astype(np.int64), pool


def sampled(rank: np.ndarray, pool: np.ndarray, seed: int = 1, negatives: int = 99) -> RankCounts:
    rng = np.random.default_rng(seed)
    seen = 1 + rng.hypergeometric(rank - 1, pool - rank, negatives)
    return RankCounts.from_ranks(seen, num_negatives=negatives, n_items=pool, replacement=False)


def test_gains_by_hand() -> None:
    assert Metric("mr").gain([1, 3, 9], 9).tolist() == [1, 3, 9]
    assert Metric("amr").gain([1, 5, 9], 9).tolist() == pytest.approx([0.2, 1.0, 1.8])
    assert Metric("amri").gain([1, 5, 9], 9).tolist() == [1, 0, -1]
    assert Metric("amri", mean_pool=5.0).gain([1, 5, 9], 9).tolist() == [1, -1, -3]
    for name, worst, best in (("mr", 9, 1), ("amr", 1.8, 0.2), ("amri", -1, 1)):
        metric = Metric(name).bound([9])
        assert (metric.worst(), metric.best()) == pytest.approx((worst, best))


def test_exact_ranks_give_the_definitions_where_pools_differ() -> None:
    rank, pool = drawn(300)
    found = estimate(RankCounts.from_exact_ranks(rank, n_items=pool), MEAN_RANKS)
    for name, value in plain(rank, pool).items():
        one = found[name]
        assert (one.value, one.low, one.high, one.naive) == pytest.approx([value] * 4, rel=1e-12)


def test_users_with_several_targets_weigh_alike() -> None:
    user = np.array([7, 7, 8])
    rank, pool = np.array([2, 5, 4]), np.array([9, 9, 6])
    counts = RankCounts.from_exact_ranks(
        rank, n_items=pool, user_ids=user, item_ids=[1, 2, 3], rank_among="negatives"
    )
    found = estimate(counts, MEAN_RANKS)
    mean_rank, mean_pool = (3.5 + 4) / 2, (9 + 6) / 2
    assert found["mr"].value == pytest.approx(mean_rank, rel=1e-12)
    assert found["amr"].value == pytest.approx(2 * mean_rank / (mean_pool + 1), rel=1e-12)
    assert found["amri"].value == pytest.approx(1 - 2 * (mean_rank - 1) / (mean_pool - 1))


def test_sampled_amri_is_unbiased_over_all_draws() -> None:
    """Every sample of 3 of 6 negatives, for every rank: its mean is the metric itself."""
    for rank in range(1, 8):
        beats = np.arange(6) < rank - 1
        every = [1 + int(beats[list(some)].sum()) for some in itertools.combinations(range(6), 3)]
        counts = RankCounts.from_ranks(every, num_negatives=3, n_items=7, replacement=False)
        values = estimate(counts, ["amri", "mr"], estimator="naive", confidence=None)
        assert values["amri"].value == pytest.approx(1 - 2 * (rank - 1) / 6, abs=1e-12)
        scaled = estimate(counts, "mr", estimator="rank-estimate(interpolate=True)")
        assert scaled["mr"].value == pytest.approx(rank, abs=1e-12)


@pytest.mark.parametrize("estimator", ["smooth", "mle", "mes", "bv", "bv-mle", "mn-mle", "cls"])
def test_the_three_are_one_number_on_three_scales(estimator: str) -> None:
    """mr and amr are amri turned over and stretched, their intervals too.

    Nearly so of mn, whose masses do not quite sum to 1, and of cls, whose least squares have many
    solutions that are nearly as good.
    """
    near = 1e-3 if estimator in ("mn-mle", "cls") else 1e-6
    rank, pool = drawn()
    found = estimate(sampled(rank, pool), MEAN_RANKS, estimator=estimator)
    mean = float(pool.mean())
    index = found["amri"]
    for name, scale in (("mr", 1.0), ("amr", 2.0 / (mean + 1.0))):
        one = found[name]
        ends = [scale * (1.0 + (mean - 1.0) * (1.0 - end) / 2.0) for end in (index.high, index.low)]
        assert [one.low, one.high] == pytest.approx(ends, rel=near)
        value = scale * (1.0 + (mean - 1.0) * (1.0 - index.value) / 2.0)
        assert one.value == pytest.approx(value, rel=near)


@pytest.mark.parametrize("estimator", ["smooth", "mle", "bv", "cls", "naive"])
def test_with_one_pool_amri_is_auc_on_another_scale(estimator: str) -> None:
    rank, _ = drawn(low=1000)
    found = estimate(sampled(rank, np.full(rank.size, 1000)), ["auc", "amri"], estimator=estimator)
    auc, index = found["auc"], found["amri"]
    near = 1e-4 if estimator in ("bv", "cls") else 1e-9  # which shrink a constant a little
    for end in ("value", "low", "high"):
        assert getattr(index, end) == pytest.approx(2 * getattr(auc, end) - 1, abs=near)


def test_intervals_hold_the_exact_values() -> None:
    """95 % intervals over 60 redraws: fewer than 51 hits have a chance of 1 in 1,000."""
    rank, pool = drawn(400)
    true = plain(rank, pool)
    hits = dict.fromkeys(MEAN_RANKS, 0)
    for seed in range(60):
        for name, one in estimate(sampled(rank, pool, seed), MEAN_RANKS).items():
            assert one.low is not None
            assert one.high is not None
            hits[name] += one.low <= true[name] <= one.high
    assert min(hits.values()) >= 51, hits
    naive = estimate(sampled(rank, pool), "mr", estimator="naive")["mr"]
    assert naive.value < true["mr"] / 5  # and what it is without a correction


def test_the_smaller_mean_rank_is_the_better() -> None:
    rank, pool = drawn()
    worse = np.minimum(rank + 40, pool)
    models = {"worse": sampled(worse, pool, 2), "better": sampled(rank, pool, 1)}
    for name in MEAN_RANKS:
        found = compare(models, name)
        assert found.best == "better"
        assert [one.model for one in found.ranking] == ["better", "worse"]
        assert found.lower_is_better == (name != "amri")
        assert (found["better", "worse"].value > 0) == (name == "amri")
        assert found["better", "worse"].win_probability > 0.99
        assert found.ranking[0].best_probability > 0.99
        assert "put better first, too" in found.verdict


def test_compared_models_need_one_mean_pool() -> None:
    models = {
        "a": RankCounts.from_exact_ranks([1, 2, 3], n_items=10),
        "b": RankCounts.from_exact_ranks([1, 2, 3], n_items=20),
    }
    assert abs(compare(models, "mr", unpaired=True)["a", "b"].value) < 1e-12
    with pytest.raises(InputError, match=r"mean pool, which is 20 for b and 10 for the first"):
        compare(models, "amri", unpaired=True)


def test_plans_and_adaptive_samples_for_mean_ranks() -> None:
    rank, pool = drawn(400)
    plan = tr.plan(like=sampled(rank, pool), metric="amri", error=0.05, designs=["fixed", "exact"])
    assert plan.get("exact").error == 0.0
    assert plan[0].error <= 0.05
    scorer = tr.scoring.Dense(np.random.default_rng(0).standard_normal((50, 300)))
    test = np.arange(50), np.arange(50)
    found = tr.evaluate(scorer, test, "auto", metrics=["mr", "amri"])
    assert 100 < found["mr"].value < 200


def test_refused() -> None:
    with pytest.raises(InputError, match="mr has no cut-off"):
        Metric("mr", 10)
    with pytest.raises(InputError, match="mean_pool of amri is 1"):
        Metric("amri", mean_pool=1.0)
    with pytest.raises(InputError, match="translate is about metrics from 0 to 1"):
        tr.translate({"mr": "12.4"}, sample_size=100, n_items=5000)
    counts = RankCounts.from_ranks([1, 2], num_negatives=9, n_items=[20, 30], replacement=True)
    with pytest.raises(InputError, match="amri divides by the mean pool of all users"):
        tr.estimators.MLE().fit(
            counts, metrics=[Metric("amri")], support="auto", plug_in="posterior"
        )
    with pytest.raises(InputError, match="asks for the whole pool"):
        estimate(RankCounts.from_ranks([1, 2], num_negatives=9, n_items=300, offset=[1, 0]), "mr")
