"""P(sampled rank | global rank): against fractions, enumeration, scipy, and the papers' laws."""

from __future__ import annotations

import itertools
import math
from collections import Counter
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from truerank import InputError, metrics
from truerank.outcomes.schemes import Scheme, log_probability, log_sequence, log_ways

EPS = np.finfo(float).eps


# -- slow, plain references -----------------------------------------------------------------


def exact_fixed(
    *, replacement: bool, global_rank: int, n_items: int, sample_size: int, sampled_rank: int
) -> Fraction:
    """The binomial or hypergeometric probability as a fraction."""
    above, below = sampled_rank - 1, sample_size - sampled_rank
    better, worse = global_rank - 1, n_items - global_rank
    if replacement:
        theta = Fraction(better, n_items - 1)
        return math.comb(sample_size - 1, above) * theta**above * (1 - theta) ** below
    return Fraction(
        math.comb(better, above) * math.comb(worse, below),
        math.comb(n_items - 1, sample_size - 1),
    )


def enumerated(
    scheme: Scheme, *, global_rank: int, n_items: int
) -> dict[tuple[int, int], Fraction]:
    """The law of (sample_size, sampled_rank) by playing every sequence of draws to its end."""
    others = range(1, n_items)  # the first global_rank - 1 of them score above the target
    ladder = [size if scheme.replacement else min(size, n_items) for size in scheme.ladder]
    draws = ladder[-1] - 1
    sequences = (
        itertools.product(others, repeat=draws)
        if scheme.replacement
        else itertools.permutations(others, draws)
    )
    law: Counter[tuple[int, int]] = Counter()
    for sequence in sequences:
        for size in ladder:
            hits = sum(item < global_rank for item in sequence[: size - 1])
            if size == ladder[-1] or hits >= scheme.thresholds[ladder.index(size)]:
                law[size, 1 + hits] += 1
                break
    total = sum(law.values())
    return {outcome: Fraction(count, total) for outcome, count in law.items()}


def log_falling(a: int, x: int) -> float:
    """log a (a-1) ... (a-x+1), summed without rounding: each log is off by half an ulp."""
    return math.fsum(np.log(np.arange(a - x + 1, a + 1, dtype=np.float64)))


def summed_logs(
    *, replacement: bool, global_rank: int, n_items: int, sample_size: int, sampled_rank: int
) -> float:
    """log P by sums of logs, good to 1e-9 at a sample of 1e5."""
    above, below = sampled_rank - 1, sample_size - sampled_rank
    better, worse = global_rank - 1, n_items - global_rank
    ways = log_falling(sample_size - 1, above) - log_falling(above, above)
    if not replacement:
        return math.fsum(
            [
                ways,
                log_falling(better, above),
                log_falling(worse, below),
                -log_falling(n_items - 1, sample_size - 1),
            ]
        )
    up = above * math.log(better / (n_items - 1)) if above else 0.0
    down = below * math.log1p(-better / (n_items - 1)) if below else 0.0
    return math.fsum([ways, up, down])


def probabilities(scheme: Scheme, *, n_items: int, sample_size: int = 0) -> np.ndarray:
    """P(outcome | R), shape (n_outcomes, n_items), over all outcomes and all ranks."""
    sizes, ranks = scheme.outcomes(n_items, sample_size)
    return np.exp(
        log_probability(
            scheme,
            np.arange(1, n_items + 1),
            n_items=n_items,
            sample_size=sizes,
            sampled_rank=ranks,
        )
    )


# -- fixed sizes ----------------------------------------------------------------------------


@pytest.mark.parametrize("replacement", [True, False])
@pytest.mark.parametrize(("n_items", "sample_size"), [(2, 2), (3, 2), (5, 3), (7, 7), (9, 4)])
def test_fixed_sizes_are_the_fractions(replacement: bool, n_items: int, sample_size: int) -> None:
    found = probabilities(Scheme(replacement=replacement), n_items=n_items, sample_size=sample_size)
    for rank, global_rank in itertools.product(range(1, sample_size + 1), range(1, n_items + 1)):
        wanted = exact_fixed(
            replacement=replacement,
            global_rank=global_rank,
            n_items=n_items,
            sample_size=sample_size,
            sampled_rank=rank,
        )
        assert found[rank - 1, global_rank - 1] == pytest.approx(float(wanted), rel=1e-13, abs=0)


def test_one_case_by_hand() -> None:
    # Target third of five, two negatives of four, two of them better.
    found = probabilities(Scheme(), n_items=5, sample_size=3)[:, 2]
    assert found == pytest.approx([1 / 4, 1 / 2, 1 / 4], rel=1e-14)
    found = probabilities(Scheme(replacement=False), n_items=5, sample_size=3)[:, 2]
    assert found == pytest.approx([1 / 6, 4 / 6, 1 / 6], rel=1e-14)


@pytest.mark.parametrize("n_items", [2, 3, 6, 40])
def test_a_sample_that_is_the_pool_gives_the_global_rank(n_items: int) -> None:
    found = probabilities(Scheme(replacement=False), n_items=n_items, sample_size=n_items)
    # gammaln(40) is 107: some ulps of that are left.
    np.testing.assert_allclose(found, np.eye(n_items), rtol=1e-12, atol=0)


@pytest.mark.parametrize(("n_items", "sample_size"), [(3706, 100), (25815, 1000)])
def test_moderate_sizes_agree_with_scipy(n_items: int, sample_size: int) -> None:
    ranks = np.unique(np.geomspace(1, n_items, 60).astype(int))
    sampled = np.unique(np.geomspace(1, sample_size, 60).astype(int))
    above = sampled[:, None] - 1
    laws = {
        True: stats.binom.pmf(above, sample_size - 1, (ranks - 1) / (n_items - 1)),
        False: stats.hypergeom.pmf(above, n_items - 1, ranks - 1, sample_size - 1),
    }
    for replacement, wanted in laws.items():
        log_p = log_probability(
            Scheme(replacement=replacement),
            ranks,
            n_items=n_items,
            sample_size=sample_size,
            sampled_rank=sampled,
        )
        normal = wanted > 1e-250  # scipy's own underflow begins below
        np.testing.assert_allclose(np.exp(log_p)[normal], wanted[normal], rtol=1e-10)
        # Where no number of draws could do it, and only there, the probability is 0.
        above_all, better = np.broadcast_arrays(above, ranks - 1)
        worse, below = n_items - 1 - better, sample_size - 1 - above_all
        possible = (
            ((above_all == 0) | (better > 0)) & ((below == 0) | (worse > 0))
            if replacement
            else (above_all <= better) & (below <= worse)
        )
        np.testing.assert_array_equal(np.isfinite(log_p), possible)


@pytest.mark.parametrize("replacement", [True, False])
def test_stable_at_a_pool_of_1e8_and_a_sample_of_1e5(replacement: bool) -> None:
    n_items, sample_size = 10**8, 10**5
    for global_rank in (1, 2, 1000, 10**5, 3_000_017, 5 * 10**7, 10**8 - 10**5, 10**8 - 3, 10**8):
        theta = (global_rank - 1) / (n_items - 1)
        mean = 1 + (sample_size - 1) * theta
        spread = 1 + math.sqrt((sample_size - 1) * theta * (1 - theta))
        sampled = {int(mean + step * spread) for step in (-4.0, -1.0, 0.0, 1.0, 4.0)}
        low = max(1, sample_size - (n_items - global_rank)) if not replacement else 1
        high = min(sample_size, global_rank) if not replacement else sample_size
        if replacement and global_rank in (1, n_items):
            low = high = 1 if global_rank == 1 else sample_size
        sampled = sorted({min(max(rank, low), high) for rank in sampled})
        found = log_probability(
            Scheme(replacement=replacement),
            [global_rank],
            n_items=n_items,
            sample_size=sample_size,
            sampled_rank=sampled,
        )[:, 0]
        wanted = [
            summed_logs(
                replacement=replacement,
                global_rank=global_rank,
                n_items=n_items,
                sample_size=sample_size,
                sampled_rank=rank,
            )
            for rank in sampled
        ]
        np.testing.assert_allclose(found, wanted, rtol=0, atol=1e-8)


def test_the_law_is_smooth_between_whole_ranks() -> None:
    # Quadrature reads it there: between neighbours, and exact where whole.
    for scheme in (Scheme(), Scheme(replacement=False)):
        options = {"n_items": 50, "sample_size": 8, "sampled_rank": 3}
        whole = log_probability(scheme, np.arange(10, 41), **options)[0]
        halves = log_probability(scheme, np.arange(10, 40) + 0.5, **options)[0]
        # log-concave in R: the middle lies above the chord, and not by much.
        chord = (whole[1:] + whole[:-1]) / 2
        assert (halves >= chord).all()
        assert (halves - chord).max() < 0.01


# -- adaptive ladders -----------------------------------------------------------------------

LADDERS = [
    Scheme(ladder=(2, 4)),
    Scheme(ladder=(2, 3, 5), hits=1),
    Scheme(ladder=(3, 5), hits=2),
    Scheme(ladder=(2, 3, 5), hits=2),
    Scheme(ladder=(2, 4, 5), hits=3),
    Scheme(ladder=(2, 3, 5), hits=(1, 2)),
    Scheme(ladder=(2, 4, 5), hits=(2, 1)),
    Scheme(ladder=(2, 3, 5), hits=(1, 4)),  # more than can be had at 3
    Scheme(ladder=(3,)),
    Scheme(replacement=False, ladder=(2, 4)),
    Scheme(replacement=False, ladder=(2, 3, 5)),
    Scheme(replacement=False, ladder=(3, 5, 6), hits=2),
    Scheme(replacement=False, ladder=(2, 4, 8)),  # ends at the pool
    Scheme(replacement=False, ladder=(2, 4, 8), hits=2),
    Scheme(replacement=False, ladder=(2, 4, 8), hits=(1, 3)),
    Scheme(replacement=False, ladder=(3, 4, 5, 6), hits=(2, 3, 1)),
    Scheme(replacement=False, ladder=(3, 6, 12, 24)),  # the pool ends it before its last size
    Scheme(replacement=False, ladder=(9, 18)),  # the pool ends it at once
]


@pytest.mark.parametrize("scheme", LADDERS, ids=lambda scheme: scheme.name)
@pytest.mark.parametrize("n_items", [4, 6, 7])
def test_adaptive_outcomes_by_playing_every_sequence(scheme: Scheme, n_items: int) -> None:
    if scheme.replacement and n_items == 7:
        n_items = 5  # (n_items - 1)^(draws) sequences are played
    sizes, ranks = scheme.outcomes(n_items, 0)
    space = set(zip(sizes.tolist(), ranks.tolist(), strict=True))
    assert len(space) == sizes.size
    found = probabilities(scheme, n_items=n_items)
    seen = set()
    for global_rank in range(1, n_items + 1):
        law = enumerated(scheme, global_rank=global_rank, n_items=n_items)
        seen |= set(law)
        wanted = [float(law.get(pair, 0)) for pair in zip(sizes, ranks, strict=True)]
        np.testing.assert_allclose(found[:, global_rank - 1], wanted, rtol=1e-13, atol=0)
    assert seen == space  # nothing that cannot happen, nothing that can left out
    scheme.check(np.full(sizes.size, n_items), sizes, ranks)


def test_one_hit_leaves_the_choices_of_the_last_block() -> None:
    scheme = Scheme(ladder=(100, 200, 400))
    pool = np.array([5000])
    for previous, size in ((1, 100), (100, 200), (200, 400)):
        for rank in (2, 3, 50):
            wanted = math.log(math.comb(size - previous, rank - 1))
            found = log_ways(scheme, pool, np.array([size]), np.array([rank]))
            assert found == pytest.approx(wanted, rel=1e-13)
    # Ending at the top without a hit is one way only.
    assert log_ways(scheme, pool, np.array([400]), np.array([1])) == pytest.approx(0.0, abs=1e-12)


def test_a_ladder_of_one_size_is_a_fixed_size() -> None:
    for replacement in (True, False):
        one = probabilities(Scheme(replacement=replacement, ladder=(6,)), n_items=20)
        fixed = probabilities(Scheme(replacement=replacement), n_items=20, sample_size=6)
        np.testing.assert_allclose(one, fixed, rtol=1e-13)


def test_hits_beyond_reach_give_the_fixed_law_of_the_top() -> None:
    # Nobody can stop before the top, so the ladder does not matter.
    found = probabilities(Scheme(ladder=(3, 5, 8), hits=7), n_items=30)
    fixed = probabilities(Scheme(), n_items=30, sample_size=8)
    np.testing.assert_allclose(found, fixed, rtol=1e-12)


def test_impossible_outcomes_have_no_probability() -> None:
    def log_p(scheme: Scheme, size: int, rank: int) -> np.ndarray:
        return log_probability(
            scheme, np.arange(1, 11), n_items=10, sample_size=size, sampled_rank=rank
        )

    ladder = Scheme(ladder=(3, 5))
    for scheme, size, rank in (
        (Scheme(), 3, 4),  # a rank beyond the sample
        (Scheme(), 3, 0),
        (Scheme(replacement=False), 12, 4),  # a sample beyond the pool
        (ladder, 4, 1),  # off the ladder
        (ladder, 3, 1),  # would have gone on
        (ladder, 5, 5),  # would have stopped before
    ):
        assert (log_p(scheme, size, rank) == -np.inf).all()
    beyond = log_probability(Scheme(), [11, 12], n_items=10, sample_size=3, sampled_rank=[1, 2, 3])
    assert (beyond == -np.inf).all()  # no global rank beyond the pool


# -- random schemes -------------------------------------------------------------------------


@st.composite
def designs(draw: st.DrawFn, largest: int = 300) -> tuple[Scheme, int, int]:
    """(scheme, n_items, sample_size), adaptive or not."""
    n_items = draw(st.integers(2, largest))
    replacement = draw(st.booleans())
    if draw(st.booleans()):
        sizes = draw(st.sets(st.integers(2, largest), min_size=1, max_size=4))
        each = st.lists(st.integers(1, 4), min_size=len(sizes) - 1, max_size=len(sizes) - 1)
        hits = draw(st.integers(1, 4) | each)
        return Scheme(replacement, tuple(sorted(sizes)), hits), n_items, 0
    high = largest if replacement else n_items
    return Scheme(replacement=replacement), n_items, draw(st.integers(2, high))


@given(designs())
def test_probabilities_of_all_outcomes_sum_to_one(design: tuple[Scheme, int, int]) -> None:
    scheme, n_items, sample_size = design
    total = probabilities(scheme, n_items=n_items, sample_size=sample_size).sum(axis=0)
    # A log-probability adds about ten terms of at most gammaln(301) = 1414, each rounded.
    np.testing.assert_allclose(total, 1.0, rtol=10 * 1414 * EPS)


@given(designs(largest=60))
def test_outcomes_pass_the_check_and_their_neighbours_do_not(
    design: tuple[Scheme, int, int],
) -> None:
    scheme, n_items, sample_size = design
    sizes, ranks = scheme.outcomes(n_items, sample_size)
    scheme.check(np.full(sizes.size, n_items), sizes, ranks)
    if not scheme.adaptive:
        return
    space = set(zip(sizes.tolist(), ranks.tolist(), strict=True))
    for size in {*scheme.ladder, n_items, 2, 3}:
        for rank in {1, size, *scheme.thresholds, *(h + 1 for h in scheme.thresholds)}:
            pair = np.array([n_items]), np.array([size]), np.array([rank])
            if (size, rank) in space:
                scheme.check(*pair)
            else:
                with pytest.raises(InputError):
                    scheme.check(*pair)


@given(designs(largest=60), st.integers(0, 2**32 - 1))
def test_many_pools_at_once_are_each_pool_alone(design: tuple[Scheme, int, int], seed: int) -> None:
    scheme, n_items, sample_size = design
    pools = np.unique(np.random.default_rng(seed).integers(n_items, n_items + 9, 3))
    columns = [scheme.outcomes(int(pool), sample_size) for pool in pools]
    pool = np.concatenate([np.full(c[0].size, p) for p, c in zip(pools, columns, strict=True)])
    size, rank = (np.concatenate(parts) for parts in zip(*columns, strict=True))
    ranks = np.arange(1, n_items + 9)
    together = log_probability(scheme, ranks, n_items=pool, sample_size=size, sampled_rank=rank)
    start = 0
    for one, (sizes, sampled) in zip(pools, columns, strict=True):
        alone = log_probability(
            scheme, ranks, n_items=int(one), sample_size=sizes, sampled_rank=sampled
        )
        np.testing.assert_array_equal(together[start : start + sizes.size], alone)
        start += sizes.size


def test_sequence_and_ways_multiply_to_the_probability() -> None:
    scheme = Scheme(replacement=False, ladder=(4, 8), hits=2)
    size, rank = scheme.outcomes(20, 0)
    pool = np.full(size.size, 20)
    ranks = np.arange(1.0, 21.0)
    parts = log_sequence(False, ranks, pool, size, rank)
    assert np.isfinite(parts).all()
    parts += log_ways(scheme, pool, size, rank)[:, None]
    whole = log_probability(scheme, ranks, n_items=pool, sample_size=size, sampled_rank=rank)
    np.testing.assert_allclose(np.exp(parts), np.exp(whole), rtol=1e-14)


# -- what the papers say of sampled metrics -------------------------------------------------


def expected_metric(name: str, *, n_items: int, sample_size: int) -> np.ndarray:
    """E[metric of the sampled rank | R] for R = 1..n_items, with replacement."""
    (metric,) = metrics.parse(name)
    gain = metric.gain(np.arange(1, sample_size + 1), sample_size)
    return gain @ probabilities(Scheme(), n_items=n_items, sample_size=sample_size)


@pytest.mark.parametrize(("n_items", "sample_size"), [(30, 5), (3706, 101)])
def test_expected_recall_is_the_binomial_cdf(n_items: int, sample_size: int) -> None:
    theta = np.arange(n_items) / (n_items - 1)
    for k in (1, 2, 5):  # KR20 eq. 18
        found = expected_metric(f"recall@{k}", n_items=n_items, sample_size=sample_size)
        wanted = stats.binom.cdf(k - 1, sample_size - 1, theta)
        np.testing.assert_allclose(found, wanted, rtol=1e-11, atol=1e-300)


def test_expected_average_precision() -> None:
    n_items, sample_size = 40, 9
    found = expected_metric("ap", n_items=n_items, sample_size=sample_size)
    assert found[0] == 1.0
    for global_rank in range(2, n_items + 1):  # KR20 eq. 19, with m = sample_size - 1
        theta = Fraction(global_rank - 1, n_items - 1)
        wanted = (1 - (1 - theta) ** sample_size) / (theta * sample_size)
        assert found[global_rank - 1] == pytest.approx(float(wanted), rel=1e-12)


def test_expected_auc_is_the_auc() -> None:
    for n_items, sample_size in ((7, 3), (100, 40)):  # KR20 section 4.4.1
        found = expected_metric("auc", n_items=n_items, sample_size=sample_size)
        (auc,) = metrics.parse("auc")
        ranks = np.arange(1, n_items + 1)
        np.testing.assert_allclose(found, auc.gain(ranks, n_items), rtol=1e-12, atol=1e-15)


@pytest.mark.parametrize("name", ["recall@1", "ndcg", "ap", "auc", "precision@1", "ndcg@1"])
def test_one_negative_collapses_every_metric_to_a_line(name: str) -> None:
    n_items = 25  # KR20 section 4.4.4
    found = expected_metric(name, n_items=n_items, sample_size=2)
    (metric,) = metrics.parse(name)
    first, second = metric.gain(np.array([1, 2]), 2)
    theta = np.arange(n_items) / (n_items - 1)
    np.testing.assert_allclose(found, first + (second - first) * theta, rtol=1e-13, atol=1e-15)


@given(designs(largest=80), st.integers(0, 2**32 - 1))
@settings(max_examples=60)
def test_a_dominating_recall_curve_dominates_in_the_sample(
    design: tuple[Scheme, int, int], seed: int
) -> None:
    scheme, n_items, sample_size = design
    if scheme.adaptive:
        return
    rng = np.random.default_rng(seed)
    curves = np.cumsum(rng.dirichlet(np.full(n_items, 0.3), size=2), axis=1)
    better, worse = curves.max(axis=0), curves.min(axis=0)  # LJ20 theorem 2.1
    law = probabilities(scheme, n_items=n_items, sample_size=sample_size)
    sampled = [np.cumsum(law @ np.diff(curve, prepend=0.0)) for curve in (better, worse)]
    assert (sampled[0] - sampled[1]).min() > -1e-11  # n_items sums of rounded terms


# -- names, ladders, bad input --------------------------------------------------------------


@given(designs())
def test_names_are_lossless(design: tuple[Scheme, int, int]) -> None:
    scheme = design[0]
    assert Scheme.parse(scheme.name) == scheme


def test_spelling() -> None:
    assert Scheme().name == "with"
    assert Scheme(replacement=False, ladder=[100, 200]).name == "without:100,200"
    assert Scheme(ladder=(100, 200), hits=2).name == "with:100,200:hits=2"
    assert Scheme(ladder=(100, 200, 400), hits=(1, 2)).name == "with:100,200,400:hits=1,2"
    assert Scheme(ladder=(100, 200, 400), hits=[2, 2]).hits == 2
    # Numbers of any kind are kept as ints, so that the name can be read again.
    odd = Scheme(replacement=np.bool_(True), ladder=np.array([10.0, 20.0]), hits=2.0)
    assert odd == Scheme(ladder=(10, 20), hits=2) == Scheme.parse(odd.name)


def test_schemes_sort_and_serve_as_keys() -> None:
    schemes = [Scheme(), Scheme(replacement=False), Scheme(ladder=(5, 9)), Scheme(ladder=(5, 8))]
    assert sorted(schemes) == sorted(schemes[i] for i in (2, 0, 3, 1))
    assert Scheme(ladder=(5, 6, 7), hits=(1, 2)) < Scheme(ladder=(5, 6, 7), hits=2)
    assert len({*schemes, Scheme()}) == 4


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: Scheme(ladder=(200, 100)), r"ladder is \[200, 100\]; its sizes must increase"),
        (lambda: Scheme(ladder=(100, 100)), "must increase"),
        (lambda: Scheme(ladder=(1, 100)), "ladder size is 1; it must be at least 2"),
        (lambda: Scheme(ladder=(2.5, 100)), "ladder size is 2.5; it must be a whole number"),
        (lambda: Scheme(ladder=100), "ladder is 100; it must be a sequence"),
        (lambda: Scheme(ladder="100,200"), "ladder is '100,200'; it must be a sequence"),
        (lambda: Scheme(ladder=(100, 200), hits=0), "hits is 0; it must be at least 1"),
        (lambda: Scheme(ladder=(100, 200), hits=1.5), "hits is 1.5; it must be a whole number"),
        (lambda: Scheme(ladder=(4, 8), hits=(1, 2)), r"hits are \[1, 2\]; there must be one"),
        (lambda: Scheme(ladder=(4, 8), hits="2"), "hits is '2'; it must be a whole number"),
        (lambda: Scheme(hits=2), "hits is 2; it has no meaning without a ladder"),
        (lambda: Scheme(replacement="no"), "replacement is 'no'; it must be True or False"),
        (lambda: Scheme(replacement=1), "replacement is 1; it must be True or False"),
        (lambda: Scheme.parse("sometimes"), "scheme is 'sometimes'; expected 'with' or 'without'"),
        (lambda: Scheme.parse("with:"), "scheme is 'with:'"),
        (lambda: Scheme.parse("with:a,b"), "scheme is 'with:a,b'"),
        (lambda: Scheme.parse("with:4,8:hits=x"), "scheme is 'with:4,8:hits=x'"),
        (lambda: Scheme.parse("with:4,8:hits=1:x"), "scheme is"),
        (
            lambda: log_probability(Scheme(), [0], n_items=9, sample_size=3, sampled_rank=1),
            "global_rank is 0; ranks are 1-based",
        ),
        (
            lambda: log_probability(Scheme(), [np.nan], n_items=9, sample_size=3, sampled_rank=1),
            "global_rank is nan",
        ),
    ],
)
def test_bad_schemes_are_refused(make: object, message: str) -> None:
    with pytest.raises(InputError, match=message):
        make()  # type: ignore[operator]


@pytest.mark.parametrize(
    ("scheme", "size", "rank", "message"),
    [
        (Scheme(ladder=(10, 20)), 15, 2, r"row 0: sample_size 15.*sizes of this ladder are \[10"),
        (Scheme(ladder=(10, 20)), 10, 1, r"allows ranks 2 to 10 \(hits=1\)"),
        (Scheme(ladder=(10, 20)), 20, 12, "allows ranks 1 to 11"),
        (Scheme(ladder=(10, 20), hits=2), 10, 2, r"allows ranks 3 to 10 \(hits=2\)"),
        (Scheme(replacement=False), 51, 3, r"sample_size is 51 at row 0.*n_items is 50"),
        (Scheme(replacement=False, ladder=(40, 80)), 80, 3, "sample_size is 80 at row 0"),
    ],
)
def test_check_names_the_row_and_the_bound(
    scheme: Scheme, size: int, rank: int, message: str
) -> None:
    with pytest.raises(InputError, match=message):
        scheme.check(np.array([50]), np.array([size]), np.array([rank]))
