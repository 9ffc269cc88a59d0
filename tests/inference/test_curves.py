"""Curves against the estimates they are made of, one K at a time."""

from __future__ import annotations

import numpy as np
import pytest

import truerank as tr
from truerank import metrics
from truerank.inference import curves
from truerank.inference.planning.efficiency import sampling_effort
from truerank.outcomes.schemes import Scheme

N_ITEMS = 800


def ranks(seed: int = 0, n_users: int = 1500) -> np.ndarray:
    rng = np.random.default_rng(seed)
    return np.ceil(N_ITEMS * rng.random(n_users) ** 2.5).astype(int)


@pytest.fixture(scope="module")
def counts() -> tr.RankCounts:
    rank = ranks()
    above = np.random.default_rng(1).hypergeometric(rank - 1, N_ITEMS - rank, 49)
    return tr.RankCounts.from_ranks(above + 1, n_items=N_ITEMS, sample_size=50, replacement=False)


@pytest.fixture(scope="module")
def found(counts: tr.RankCounts) -> curves.Curves:
    return curves.curves(tr.estimate(counts), ranks=True, also=["recall@10", "auc"])


def test_values_are_those_of_estimate_at_every_k(counts, found) -> None:
    assert list(found) == ["recall", "ndcg"]
    cuts = ",".join(map(str, range(1, 201)))
    # Other cut-offs make another grid of ranks: the same cells, and the same cut-offs.
    cells = [
        metrics.share(int(a), int(b))
        for a, b in zip(found.ranks.above, found.ranks.upto, strict=True)
    ]
    ends = [f"recall@{end}" for end in found.ranks.upto]
    asked = [f"recall@{cuts}", f"ndcg@{cuts}", *cells, *ends]
    every = tr.estimate(counts, asked, confidence=None)
    for name, one in found.items():
        np.testing.assert_array_equal(one.k, np.arange(1, 201))
        np.testing.assert_allclose(
            one.value, [every[f"{name}@{k}"].value for k in one.k], rtol=1e-9
        )
        np.testing.assert_allclose(one.naive, [every[f"{name}@{k}"].naive for k in one.k])


def test_bands_are_near_the_intervals_of_every_k(counts, found) -> None:
    cuts = ",".join(map(str, range(1, 201)))
    every = tr.estimate(counts, [f"recall@{cuts}", f"ndcg@{cuts}"])
    for name, one in found.items():
        low, high, error = (
            np.array([getattr(every[f"{name}@{k}"], end) for k in one.k])
            for end in ("low", "high", "total_error")
        )
        width = high - low
        assert (np.abs(one.low - low) <= 0.06 * width).all()
        assert (np.abs(one.high - high) <= 0.06 * width).all()
        # The misfit has a kink where mle crosses smooth, which is read between neighbours.
        np.testing.assert_allclose(one.total_error, error, rtol=0.08)
    single = found.points["recall@10"]
    assert one.k[9] == 10
    assert found["recall"].low[9] == pytest.approx(single.low, abs=1e-3)


def test_the_rank_distribution_adds_up(counts, found) -> None:
    cells = found.ranks
    assert cells.upto[0] == 1
    assert cells.upto[-1] == N_ITEMS
    assert (cells.width >= 1).all()
    np.testing.assert_allclose(np.cumsum(cells.mass), cells.cdf, atol=1e-9)
    assert cells.cdf[-1] == pytest.approx(1.0)
    assert (cells.mass_low <= cells.mass).all()
    assert (cells.mass <= cells.mass_high).all()
    assert (cells.mass_low >= 0.0).all()
    law = found.points.distribution
    np.testing.assert_allclose(cells.cdf, law.cdf(cells.upto), atol=1e-9)
    np.testing.assert_allclose(cells.density(cells.mass) * cells.width, cells.mass)
    # The interval of a cell is that of the metric that counts it.
    share = metrics.share(int(cells.above[5]), int(cells.upto[5]))
    assert cells.mass_high[5] == pytest.approx(found.points[share].high)


def test_exact_ranks_leave_no_band() -> None:
    rank = ranks()
    exact = tr.RankCounts.from_exact_ranks(rank, n_items=N_ITEMS)
    found = curves.curves(tr.estimate(exact), ranks=True, largest=60)
    truth = [(rank <= k).mean() for k in range(1, 61)]
    np.testing.assert_allclose(found["recall"].value, truth, atol=1e-12)
    np.testing.assert_allclose(found["recall"].low, truth, atol=1e-12)
    np.testing.assert_allclose(found["recall"].high, truth, atol=1e-12)
    assert found["recall"].resolved_from() == 1
    mass = [
        ((rank > a) & (rank <= b)).mean()
        for a, b in zip(found.ranks.above, found.ranks.upto, strict=True)
    ]
    np.testing.assert_allclose(found.ranks.mass, mass, atol=1e-12)


def test_resolved_from_is_that_of_all_larger_k() -> None:
    k, value = np.arange(1, 6), np.full(5, 0.5)
    error = np.array([0.01, 0.2, 0.01, 0.02, 0.01])
    one = curves.Curve("recall", k, value, value, value, value, error, k > 0)
    assert one.resolved_from(0.05) == 3
    assert one.resolved_from(0.03) == 5
    assert one.resolved_from(0.01) is None
    assert one.resolved_from(1.0) == 1


def test_without_intervals_and_without_a_distribution(counts) -> None:
    plain = curves.curves(tr.estimate(counts, confidence=None), ranks=True, largest=30)
    assert plain["recall"].low is None
    assert plain.ranks.mass_low is None
    assert plain["recall"].resolved_from() is None
    naive = curves.curves(tr.estimate(counts, estimator="naive"), ranks=True, largest=30)
    assert naive.ranks is None
    np.testing.assert_allclose(naive["recall"].value, naive["recall"].naive)
    with pytest.raises(tr.InputError, match="has no distribution"):
        curves.rank_curve(tr.estimate(counts, estimator="naive"))
    with pytest.raises(tr.InputError, match="auc has no curve"):
        curves.curve(tr.estimate(counts), "auc")
    with pytest.raises(tr.InputError, match="ndcg has no curve by estimator 'mapped'"):
        curves.curve(tr.estimate(counts, "recall@10", estimator="mapped"), "ndcg")


def test_no_k_beyond_the_pool() -> None:
    small = tr.RankCounts.from_ranks(
        [1, 2, 3, 5, 9, 4, 2, 1, 7, 8], n_items=40, sample_size=10, replacement=False
    )
    found = curves.curves(tr.estimate(small, "recall@5"))
    assert found["recall"].k[-1] == 40
    assert found["recall"].value[-1] == pytest.approx(1.0)


def test_sampled_recall_is_mapped(counts) -> None:
    one = curves.mapped_curve(counts, "linear")
    assert one.sample_size == 50
    np.testing.assert_allclose(
        one.global_k, tr.mapping.linear(np.arange(1, 51), n_items=N_ITEMS, sample_size=50)
    )
    share = [counts.weight[counts.sampled_rank <= k].sum() / 1500 for k in range(1, 51)]
    np.testing.assert_allclose(one.recall, share)
    rank = np.array([1, 2, 3])
    assert curves.mapped_curve(tr.RankCounts.from_exact_ranks(rank, n_items=9)) is None
    mixed = tr.RankCounts.from_ranks(rank, n_items=90, sample_size=[4, 5, 6], replacement=True)
    assert curves.mapped_curve(mixed) is None


def test_the_first_samples_of_adaptive_ones() -> None:
    """Users who went on had rank 1; those who did not, the rank they have."""
    adaptive = tr.RankCounts.from_ranks(
        [3, 2, 1, 4],
        n_items=100,
        sample_size=[10, 20, 40, 10],
        ladder=[10, 20, 40],
        replacement=False,
    )
    fixed = tr.RankCounts.from_ranks([3, 1, 1, 4], n_items=100, sample_size=10, replacement=False)
    assert adaptive.first_samples() == fixed
    assert fixed.first_samples() is fixed
    twice = Scheme(False, (10, 20, 40), 2)
    outcomes = {"n_items": [100], "sample_size": [20], "sampled_rank": [5], "weight": [1.0]}
    assert tr.RankCounts.from_outcomes(twice, **outcomes).first_samples() is None


def test_the_effort_of_adaptive_samples_by_hand() -> None:
    """Sizes 10, 20, 40 but for a pool of 15: 4 users draw 9 each; 3 go on, one to its pool."""
    counts = tr.RankCounts.from_ranks(
        [3, 2, 1, 1],
        n_items=[100, 100, 100, 15],
        sample_size=[10, 20, 40, 15],
        ladder=[10, 20, 40],
        replacement=False,
    )
    first, second, last = sampling_effort(counts)
    assert (first.sample_size, first.reached, first.ended) == (10, 1.0, 0.25)
    assert first.pairs == pytest.approx(9.0)
    assert first.cost == pytest.approx(40.0)  # LJ24 eq. 44: M n_0 / m_0 = 4 x 10 / 1
    assert (second.reached, second.ended) == (0.75, 0.5)
    assert second.pairs == pytest.approx((10 + 10 + 5) / 4)
    assert second.cost == pytest.approx(12.5)
    assert (last.reached, last.ended, last.cost) == (0.25, 0.25, None)
    total = sum(stage.pairs for stage in (first, second, last))
    assert total + 1.0 == pytest.approx(counts.pairs_per_user)  # the target's own pair counts
    with pytest.raises(tr.InputError, match="not those of one adaptive scheme"):
        sampling_effort(tr.RankCounts.from_exact_ranks([1, 2], n_items=9))
