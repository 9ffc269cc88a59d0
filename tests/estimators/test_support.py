"""The grid of global ranks: its cells, its quadrature, and distributions on it."""

from __future__ import annotations

import itertools
import math
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from truerank import InputError, metrics
from truerank.estimators.support import NO_RANKS, RankDistribution, Sharp, Support, compressed, full
from truerank.outcomes.schemes import Scheme, log_probability


@st.composite
def supports(draw: st.DrawFn, largest: int = 10**8) -> tuple[Support, set[int]]:
    """A compressed support and the cut-offs it was asked for."""
    n_items = draw(st.integers(2, largest))
    sharpness = draw(st.floats(1.0, 2000.0))
    edges = draw(st.sets(st.integers(1, n_items), max_size=5))
    return compressed(n_items, sharpness=sharpness, edges=edges), edges


# -- the grid -------------------------------------------------------------------------------


def test_full_is_every_rank() -> None:
    support = full(5)
    assert support.rank.tolist() == [1, 2, 3, 4, 5]
    assert support.weight.tolist() == [1, 1, 1, 1, 1]
    assert support.edge.tolist() == [1, 2, 3, 4, 5]
    assert support.n_points == support.n_items == 5
    assert support.is_full


@given(supports())
def test_weights_count_the_ranks(made: tuple[Support, set[int]]) -> None:
    support, _ = made
    assert (support.weight > 0).all()
    # A thousand additions, each rounded by half an ulp of at most n_items.
    assert support.weight.sum() == pytest.approx(support.n_items, rel=1000 * 2**-53)
    assert support.edge[-1] == support.n_items
    assert (np.diff(support.rank) > 0).all()
    assert support.rank[0] == 1.0
    assert support.rank[-1] <= support.n_items


@given(supports())
def test_every_cut_off_asked_for_is_an_edge(made: tuple[Support, set[int]]) -> None:
    support, edges = made
    assert edges <= set(support.edge.tolist())
    for edge in edges:  # no point beyond stands for a rank before, nor the other way round
        first = int(np.searchsorted(support.edge, edge)) + 1
        assert (support.rank[:first] <= edge).all()
        assert (support.rank[first:] > edge).all()


def test_ranks_up_to_the_cut_off_are_points_of_their_own() -> None:
    support = compressed(10**6, sharpness=100, edges=[10, 100])
    assert support.rank[:100].tolist() == list(range(1, 101))
    assert support.weight[:100].tolist() == [1.0] * 100
    # Very large ones are edges between cells only.
    support = compressed(10**6, sharpness=100, edges=[10, 50_000])
    assert support.rank[:10].tolist() == list(range(1, 11))
    assert 50_000.0 in support.edge
    assert support.n_points < 500


@given(supports(largest=10**6), st.data())
def test_locating_ranks(made: tuple[Support, set[int]], data: st.DataObject) -> None:
    support, _ = made
    rank = data.draw(st.integers(1, support.n_items))
    at = int(support.locate(rank))
    low = 0.0 if at == 0 else support.edge[at - 1]
    assert low <= rank - 0.5 <= support.edge[at]


def test_on_a_full_support_a_rank_is_its_own_place() -> None:
    np.testing.assert_array_equal(full(50).locate(np.arange(1, 51)), np.arange(50))


def test_the_number_of_points_is_bounded_and_nearly_flat() -> None:
    for sample_size in (100, 1000, 10_000):
        points = {
            n_items: compressed(n_items, sharpness=sample_size, edges=[100]).n_points
            for n_items in (10**5, 10**6, 10**7, 10**8)
        }
        assert points[10**8] < 1000
        # Three points a geometric cell, ln 10 / ln 1.25 = 10.3 cells a decade.
        decade = 3 * math.log(10) / math.log(1.25)
        assert points[10**8] - points[10**5] <= 3 * decade + 6
    # Beyond, the kernel decides: a quarter circle in steps of its width, three points a step.
    kernel = 3 * (math.pi / 2) * math.sqrt(10**5)
    assert compressed(10**8, sharpness=10**5).n_points < kernel + 8 * decade


@given(
    st.dictionaries(st.integers(2, 10**9), st.floats(1.0, 2000.0), min_size=1, max_size=5),
)
def test_pools_of_different_sizes_share_a_grid(sharpness: dict[int, float]) -> None:
    """Up to its own end each pool has cells as narrow as it needs, and beyond it asks for none."""
    largest = max(sharpness)
    support = compressed(largest, sharpness=[Sharp(p, p, one) for p, one in sharpness.items()])
    alone = [compressed(pool, sharpness=one) for pool, one in sharpness.items()]
    # A step is as wide as the pool that decides on it lets it be, so that none takes more steps
    # than alone; whole ranks and the end of a pool may cost one more, of three points.
    assert support.n_points <= sum(one.n_points + 3 for one in alone)
    edges = np.concatenate([[1], np.unique(support.edge[support.edge % 1 == 0])])
    for pool, one in sharpness.items():
        inside = edges[1:] < pool
        low, high = edges[:-1][inside], edges[1:][inside]
        angle = np.arcsin(np.sqrt(high / pool)) - np.arcsin(np.sqrt(low / pool))
        step = 1.0 / math.sqrt(max(one, 1.0))
        assert ((high - low <= 1) | (angle <= step * (1 + 1e-6))).all()


def test_a_small_pool_does_not_refine_a_large_one() -> None:
    kinds = [Sharp(10, 10, 5.0), Sharp(10**9, 10**9, 100.0)]
    both = compressed(10**9, sharpness=kinds, edges=[10])
    assert both.n_points <= compressed(10**9, sharpness=100.0, edges=[10]).n_points + 10


def test_what_is_sharp_near_the_top_refines_nothing_else() -> None:
    kinds = [Sharp(10**9, 10**9, 100.0), Sharp(10**4, 10**9, 10.0**8)]
    found = compressed(10**9, sharpness=kinds)
    sharp, dull = (compressed(10**9, sharpness=one) for one in (10.0**8, 100.0))
    assert found.n_points < dull.n_points + 150
    assert sharp.n_points > 10_000
    head = int(np.searchsorted(found.rank, 5000.0))
    assert found.rank[:head].tolist() == sharp.rank[:head].tolist()


def test_small_pools_are_full() -> None:
    for n_items in range(2, 8):
        support = compressed(n_items, sharpness=10)
        assert support.weight.sum() == n_items
    assert compressed(50, sharpness=10, edges=[50]).weight.sum() == 50
    assert compressed(50, sharpness=10, edges=[49]).is_full


@pytest.mark.parametrize("n_items", [1, 0, 2.5, "many", float("nan")])
def test_bad_pools(n_items: Any) -> None:
    with pytest.raises(InputError, match="n_items is"):
        full(n_items)
    with pytest.raises(InputError, match="n_items is"):
        compressed(n_items, sharpness=10)


# -- quadrature -----------------------------------------------------------------------------


@pytest.mark.parametrize("degree", range(6))
@pytest.mark.parametrize("n_items", [7, 60, 3706])
def test_polynomials_up_to_degree_five_are_summed_exactly(degree: int, n_items: int) -> None:
    for edges in ((), (10,)):
        support = compressed(n_items, sharpness=100, edges=edges)
        found = float(support.weight @ support.rank**degree)
        wanted = sum(rank**degree for rank in range(1, n_items + 1))
        # Positive terms: at most as many roundings as points, and five in each power.
        assert found == pytest.approx(wanted, rel=(support.n_points + 10) * 2**-53)


def test_one_cell_by_hand() -> None:
    # Edges 1, 2, ..: the first cell of several ranks has its moments matched.
    support = compressed(30, sharpness=1)
    edges = [0, *sorted({int(e) for e in support.edge if float(e).is_integer()})]
    wide = [(a, b) for a, b in itertools.pairwise(edges) if b - a > 3]
    assert wide
    for low, high in wide:
        inside = (support.rank > low) & (support.rank < high + 1)
        assert inside.sum() == 3
        middle = Fraction(low + high + 1, 2)
        for power in range(6):
            wanted = sum((rank - middle) ** power for rank in range(low + 1, high + 1))
            found = support.weight[inside] @ (support.rank[inside] - float(middle)) ** power
            assert found == pytest.approx(float(wanted), rel=1e-12, abs=1e-9)


@pytest.mark.parametrize("n_items", [100, 3706, 25_815, 10**6])
@pytest.mark.parametrize("edges", [(), (100,)])
def test_gains_are_summed_to_1e_7(n_items: int, edges: tuple[int, ...]) -> None:
    support = compressed(n_items, sharpness=100, edges=edges)
    ranks = np.arange(1, n_items + 1.0)
    for gain in (lambda rank: 1 / rank, lambda rank: 1 / np.log2(rank + 1)):
        # Measured: 3e-8 for 1/R, 2e-9 for 1/log2(R+1).
        assert support.weight @ gain(support.rank) == pytest.approx(gain(ranks).sum(), rel=1e-7)


@pytest.mark.parametrize("sample_size", [20, 100, 1000])
@pytest.mark.parametrize("replacement", [True, False])
def test_probabilities_are_summed_to_1e_3(sample_size: int, replacement: bool) -> None:
    n_items = 25_815
    sampled = np.unique(np.geomspace(1, sample_size, 30).astype(int))

    def summed(support: Support) -> np.ndarray:
        log_p = log_probability(
            Scheme(replacement=replacement),
            support.rank,
            n_items=n_items,
            sample_size=sample_size,
            sampled_rank=sampled,
        )
        return np.exp(log_p) @ support.weight

    sharpness = sample_size / (1.0 if replacement else (n_items - sample_size) / (n_items - 2))
    points = compressed(n_items, sharpness=sharpness, edges=[10])
    # Measured: 4e-4 at worst, at the last ranks of the sample.
    np.testing.assert_allclose(summed(points), summed(full(n_items)), rtol=1e-3)


# -- distributions --------------------------------------------------------------------------


def distribution(support: Support, seed: int, *, exact: int = 0) -> RankDistribution:
    """A random one, with some users' ranks known."""
    rng = np.random.default_rng(seed)
    mass = rng.dirichlet(np.ones(support.n_points + exact))
    known = rng.integers(1, support.n_items + 1, exact).astype(float)
    return RankDistribution(support, mass[exact:], known, mass[:exact])


@given(supports(largest=5000), st.integers(0, 3), st.integers(0, 2**32 - 1))
def test_the_cdf_rises_from_nought_to_one(
    made: tuple[Support, set[int]], exact: int, seed: int
) -> None:
    support, _ = made
    found = distribution(support, seed, exact=exact)
    n_items = support.n_items
    assert found.n_items == n_items
    assert found.negative_mass == 0.0
    ranks = np.arange(0, n_items + 1)
    cdf = found.cdf(ranks)
    assert cdf[0] == 0.0
    assert cdf[-1] == pytest.approx(1.0, rel=1e-12)
    assert (np.diff(cdf) >= 0).all()
    pmf = found.pmf(ranks[1:])
    np.testing.assert_allclose(np.cumsum(pmf), cdf[1:], atol=1e-12)
    np.testing.assert_array_equal(found.cdf([-3.0, n_items + 5.0]), [0.0, cdf[-1]])
    np.testing.assert_array_equal(found.pmf([0.0, n_items + 5.0]), [0.0, 0.0])


def test_a_distribution_by_hand() -> None:
    found = RankDistribution(
        full(4), np.array([0.25, 0.0, 0.125, 0.125]), np.array([4.0, 2.0]), np.array([0.125, 0.375])
    )
    assert found.cdf([1, 2, 3, 4]).tolist() == [0.25, 0.625, 0.75, 1.0]
    assert found.pmf([1, 2, 3, 4]).tolist() == [0.25, 0.375, 0.125, 0.25]
    assert float(found.cdf(2)) == 0.625
    assert float(found.pmf(4)) == 0.25
    (ap,) = metrics.parse("ap")
    assert found.expect([ap])[ap.key] == pytest.approx(
        0.25 + 0.375 / 2 + 0.125 / 3 + 0.25 / 4, rel=1e-15
    )
    (recall,) = metrics.parse("recall@2")
    assert found.expect([recall])[recall.key] == 0.625
    (auc,) = metrics.parse("auc")
    assert found.expect([auc])[auc.key] == pytest.approx(
        (0.25 * 3 + 0.375 * 2 + 0.125) / 3, rel=1e-15
    )


def test_negative_mass_is_said() -> None:
    mass = np.array([0.5, -0.25, 0.5, -0.125, 0.375])
    assert RankDistribution(full(5), mass, NO_RANKS, NO_RANKS).negative_mass == 0.375


@given(supports(largest=5000), st.integers(0, 2**32 - 1))
def test_recall_is_the_cdf_at_every_cut_off(made: tuple[Support, set[int]], seed: int) -> None:
    support, edges = made
    found = distribution(support, seed, exact=2)
    for k in edges:
        (metric,) = metrics.parse(f"recall@{k}")
        assert found.expect([metric])[metric.key] == pytest.approx(
            float(found.cdf(k)), rel=1e-9, abs=1e-12
        )


@given(supports(largest=2000), supports(largest=2000), st.integers(0, 2**32 - 1))
def test_masses_move_between_supports(
    made: tuple[Support, set[int]], other: tuple[Support, set[int]], seed: int
) -> None:
    support = made[0]
    found = distribution(support, seed, exact=2)
    ranks = np.arange(1, support.n_items + 1)
    np.testing.assert_allclose(found.masses_on(full(support.n_items)), found.pmf(ranks), atol=1e-12)
    plain = distribution(support, seed)
    np.testing.assert_allclose(plain.masses_on(support), plain.mass, atol=1e-12)
    target = other[0]
    # Nothing is lost but what lies beyond the other's last rank.
    assert found.masses_on(target).sum() == pytest.approx(
        float(found.cdf(target.n_items)), rel=1e-12
    )


def test_exact_ranks_at_an_edge_fall_before_it() -> None:
    # The sum of quadrature weights is rounded; an edge is a whole rank none the less.
    support = compressed(10**8, sharpness=1000, edges=[10])
    whole = support.edge[support.edge == np.rint(support.edge)]
    known = whole[len(whole) // 2 :]
    mass = np.full(known.size, 1.0 / known.size)
    found = RankDistribution(support, np.zeros(support.n_points), known, mass)
    masses = found.masses_on(support)
    np.testing.assert_allclose(masses[np.searchsorted(support.edge, known)], mass, rtol=1e-9)
