"""Mapping functions: LJ20's recurrence, LJ24's table, and the fit of the exponent."""

from __future__ import annotations

import dataclasses
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats
from scipy.special import beta as beta_function
from scipy.special import comb

from truerank import InputError, RankCounts, mapping
from truerank.errors import ConvergenceWarning
from truerank.outcomes.schemes import Scheme


def recurrence(a: float, *, n_items: int, sample_size: int) -> list[float]:
    """f(1), .., f(n) as printed: LJ20 eq. 16 and 17."""
    f = [(n_items - 1) * (a * beta_function(a, sample_size)) ** (1 / a) + 1]
    for k in range(1, sample_size):
        step = comb(sample_size - 1, k) * beta_function(a + k, sample_size - k)
        f.append((a * (n_items - 1) ** a * step + (f[-1] - 1) ** a) ** (1 / a) + 1)
    return f


@st.composite
def designs(draw: st.DrawFn) -> tuple[int, int]:
    """(n_items, sample_size)"""
    return draw(st.integers(2, 10**8)), draw(st.integers(2, 5000))


EXPONENTS = st.floats(0.02, 5.0)


# -- LJ24 table 3 ---------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("n_items", "first", "second"),
    [
        (9_916, [1, 5, 9, 11], [11, 15, 19, 21]),  # pinterest-20
        (25_815, [1, 13, 21, 27], [27, 39, 47, 53]),  # yelp
        (20_720, [1, 10, 17, 22], [22, 31, 38, 42]),  # ml-20m
    ],
)
def test_table_3_of_lj24(n_items: int, first: list[int], second: list[int]) -> None:
    options = {"n_items": n_items, "sample_size": 1000}
    for name, *wanted in zip(
        ["linear", "bound", "beta(0.5)", "beta(1)"], first, second, strict=True
    ):
        found = mapping.get(name)([1, 2], **options)
        assert np.rint(found).tolist() == wanted, name


# -- laws -----------------------------------------------------------------------------------


@given(designs())
def test_linear_goes_from_one_to_n(design: tuple[int, int]) -> None:
    n_items, sample_size = design
    f = mapping.linear([1, sample_size], n_items=n_items, sample_size=sample_size)
    assert f == pytest.approx([1, n_items], rel=1e-15)


@given(designs(), st.data())
def test_bound_is_whole_number_arithmetic(design: tuple[int, int], data: st.DataObject) -> None:
    n_items, sample_size = design
    k = data.draw(st.integers(1, sample_size))
    found = mapping.bound(k, n_items=n_items, sample_size=sample_size)
    # floor((k - 1/2)(N-1)/(n-1) + 1/2), in halves
    top = (2 * k - 1) * (n_items - 1) + (sample_size - 1)
    assert int(found) == found == top // (2 * (sample_size - 1))


@pytest.mark.parametrize("a", [0.1, 0.3, 0.5, 1.0, 2.0, 3.7])
@pytest.mark.parametrize(("n_items", "sample_size"), [(50, 2), (1000, 10), (25_815, 60)])
def test_the_closed_form_is_the_printed_recurrence(
    a: float, n_items: int, sample_size: int
) -> None:
    found = mapping.beta(
        np.arange(1, sample_size + 1), n_items=n_items, sample_size=sample_size, a=a
    )
    # The 1/a-th root takes the rounding of 60 steps, 60 * 2^-53 each way, ten times at a = 0.1.
    wanted = recurrence(a, n_items=n_items, sample_size=sample_size)
    np.testing.assert_allclose(found, wanted, rtol=1e-11)


@given(designs(), EXPONENTS)
def test_beta_ends_at_n_for_every_exponent(design: tuple[int, int], a: float) -> None:
    n_items, sample_size = design
    found = mapping.beta(sample_size, n_items=n_items, sample_size=sample_size, a=a)
    assert float(found) == n_items


@given(designs(), EXPONENTS, EXPONENTS, st.data())
def test_beta_rises_with_k_and_with_the_exponent(
    design: tuple[int, int], a: float, b: float, data: st.DataObject
) -> None:
    n_items, sample_size = design
    k = data.draw(st.integers(1, sample_size - 1))
    options = {"n_items": n_items, "sample_size": sample_size}
    low, high = sorted((a, b))
    one, two = (mapping.beta([k, k + 1], **options, a=value) for value in (low, high))
    # A log-gamma of 5,000 is 37,600; its rounding over an exponent of 0.02 is 1e-9 at most.
    slack = 1 + 1e-9
    assert one[0] <= one[1] * slack
    assert (one <= two * slack).all()


@given(designs(), st.data())
def test_beta_of_one_is_a_line(design: tuple[int, int], data: st.DataObject) -> None:
    n_items, sample_size = design
    k = data.draw(st.integers(1, sample_size))
    found = mapping.beta(k, n_items=n_items, sample_size=sample_size, a=1.0)
    assert float(found) == pytest.approx(k * (n_items - 1) / sample_size + 1, rel=1e-10)


def test_a_sample_of_the_pool_maps_ranks_to_themselves() -> None:
    k = np.arange(1, 31)
    assert mapping.linear(k, n_items=30, sample_size=30).tolist() == k.tolist()
    assert mapping.bound(k, n_items=30, sample_size=30).tolist() == k.tolist()


def test_shapes_broadcast() -> None:
    for name in ("linear", "bound", "beta(0.7)"):
        f = mapping.get(name)
        assert np.shape(f(3, n_items=100, sample_size=10)) == ()
        many = f([1, 2, 3], n_items=[100, 200, 300], sample_size=10)
        alone = [f(k, n_items=n, sample_size=10) for k, n in ((1, 100), (2, 200), (3, 300))]
        assert many.tolist() == [float(value) for value in alone]


# -- beta@P ---------------------------------------------------------------------------------


def simulated(a: float, *, n_users: int, n_items: int, sample_size: int) -> RankCounts:
    """Sampled ranks of targets whose theta is distributed as Beta(a, 1)."""
    rng = np.random.default_rng(0)
    theta = rng.beta(a, 1.0, n_users)
    ranks = 1 + rng.binomial(sample_size - 1, theta)
    return RankCounts.from_ranks(ranks, n_items=n_items, sample_size=sample_size)


def step(counts: RankCounts, a: float) -> float:
    """The right side of LJ20 eq. 19, user by user."""
    total, n_users = 0.0, 0.0
    for pool, size, rank, weight in zip(
        counts.n_items, counts.sample_size, counts.sampled_rank, counts.weight, strict=True
    ):
        f = recurrence(a, n_items=int(pool), sample_size=int(size))[rank - 1]
        total += weight * np.log((f - 1) / (pool - 1))
        n_users += weight
    return -n_users / total


def expected(a: float, *, n_items: int, sample_size: int) -> RankCounts:
    """The law of those ranks itself, as weights: r - 1 is beta-binomial."""
    ranks = np.arange(1, sample_size + 1)
    return RankCounts.from_outcomes(
        Scheme(),
        n_items=n_items,
        sample_size=sample_size,
        sampled_rank=ranks,
        weight=stats.betabinom.pmf(ranks - 1, sample_size - 1, a, 1.0),
    )


@pytest.mark.parametrize("a", [0.2, 0.5, 1.0, 1.5])
def test_the_exponent_is_found_again(a: float) -> None:
    # LJ20 eq. 19 puts f(r) for the unknown rank, which favours large exponents; the bias goes
    # with the sample size, slowly for a small exponent: 45 % at n = 300 and a = 0.2.
    fits = [mapping.fit_beta(expected(a, n_items=10**6, sample_size=n)) for n in (30, 300, 3000)]
    assert all(fit.converged for fit in fits)
    bias = [fit.a / a - 1 for fit in fits]
    assert bias[0] > bias[1] > bias[2] > 0
    assert bias[2] < (0.25 if a < 0.5 else 0.025)
    # Users drawn at random scatter about that: by a / sqrt(users), times five to be safe.
    counts = simulated(a, n_users=20_000, n_items=10**6, sample_size=300)
    assert mapping.fit_beta(counts).a == pytest.approx(fits[1].a, rel=5 / np.sqrt(20_000))


def test_the_fit_is_a_fixed_point() -> None:
    parts = [simulated(0.4, n_users=300, n_items=n, sample_size=30) for n in (800, 1000)]
    counts = parts[0] + parts[1]
    fit = mapping.fit_beta(counts)
    assert step(counts, fit.a) == pytest.approx(fit.a, rel=1e-7)
    # From anywhere, and with weights instead of repeated users.
    assert mapping.fit_beta(counts, start=3.0).a == pytest.approx(fit.a, rel=1e-7)
    named = mapping.get("beta@P", counts)([1, 5], n_items=1000, sample_size=30)
    wanted = mapping.beta([1, 5], n_items=1000, sample_size=30, a=fit.a)
    assert named.tolist() == wanted.tolist()


def test_a_fit_that_is_cut_short_says_so() -> None:
    counts = simulated(0.4, n_users=300, n_items=1000, sample_size=30)
    with pytest.warns(ConvergenceWarning, match="beta@P did not converge in 2 steps"):
        fit = mapping.fit_beta(counts, steps=2)
    assert not fit.converged
    assert fit.n_iter == 2
    with pytest.raises(dataclasses.FrozenInstanceError):
        fit.a = 1.0  # type: ignore[misc]


def test_fits_that_cannot_be() -> None:
    last = RankCounts.from_ranks([10, 10], n_items=1000, sample_size=10)
    with pytest.raises(InputError, match="every target is ranked last"):
        mapping.fit_beta(last)
    adaptive = RankCounts.from_ranks([2], n_items=1000, sample_size=10, ladder=[10, 20])
    with pytest.raises(InputError, match="these counts are adaptive"):
        mapping.fit_beta(adaptive)
    good = RankCounts.from_ranks([2, 3], n_items=1000, sample_size=10)
    with pytest.raises(InputError, match="start is 0"):
        mapping.fit_beta(good, start=0)


# -- names and bad input --------------------------------------------------------------------


@pytest.mark.parametrize("name", ["beta(0.5)", "Beta( a = 0.5 )", "beta@0.5", " BETA(.5) "])
def test_spellings_of_the_exponent(name: str) -> None:
    options = {"n_items": 1000, "sample_size": 100}
    wanted = mapping.beta([1, 2, 50], a=0.5, **options)
    assert mapping.get(name)([1, 2, 50], **options).tolist() == wanted.tolist()


def test_plain_names() -> None:
    assert mapping.get(" Linear ") is mapping.linear
    assert mapping.get("bound") is mapping.bound


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("liner", "unknown mapping 'liner'; did you mean 'linear'"),
        ("beta", "unknown mapping 'beta'"),
        ("beta(x)", "mapping 'beta.x.': a is 'x'; it must be a number above 0"),
        ("beta()", "a is ''"),
        ("beta(0)", "a is 0.0; it must be above 0"),
        ("beta(-1)", "a is -1.0; it must be above 0"),
        ("beta(nan)", "a is nan; it must be above 0"),
        ("beta(inf)", "a is inf; it must be above 0"),
        ("beta@P", "mapping 'beta@P' is fitted to sampled ranks; give counts"),
        (None, "unknown mapping None"),
    ],
)
def test_bad_names(name: Any, message: str) -> None:
    with pytest.raises(InputError, match=message):
        mapping.get(name)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"k": 0}, "k is 0; it must be at least 1"),
        ({"k": 11}, "k is 11; it must be from 1 to sample_size=10"),
        ({"k": [1, 12]}, "k is 12; it must be from 1 to sample_size=10"),
        ({"k": [5, 6], "sample_size": [9, 5]}, "k is 6; it must be from 1 to sample_size=5"),
        ({"k": [1, 0]}, "k is 0 at row 1; it must be at least 1"),
        ({"k": 1.5}, "k is 1.5; it must be a whole number"),
        ({"k": float("nan")}, "k is nan; it must be a whole number"),
        ({"k": [1, float("nan")]}, "k is nan at row 1"),
        ({"k": "one"}, "k is 'one'; it must be a whole number"),
        ({"k": ["one"]}, "k holds values that are not numbers, such as"),
        ({"k": None}, "k is None"),
        ({"k": [[1, 2], [3, 4]]}, r"k has shape \(2, 2\)"),
        ({"k": [1, 2, 3], "n_items": [100, 200]}, "have 3, 2 and 1 values; give one or equally"),
        ({"n_items": 1}, "n_items is 1; it must be at least 2"),
        ({"n_items": [100, 1]}, "n_items is 1 at row 1; it must be at least 2"),
        ({"n_items": float("inf")}, "n_items is inf"),
        ({"sample_size": 1}, "sample_size is 1; it must be at least 2"),
        ({"sample_size": 9.5}, "sample_size is 9.5; it must be a whole number"),
    ],
)
def test_bad_arguments(options: dict[str, Any], message: str) -> None:
    arguments = {"k": 1, "n_items": 100, "sample_size": 10, **options}
    k = arguments.pop("k")
    for name in ("linear", "bound", "beta(0.5)"):
        with pytest.raises(InputError, match=message):
            mapping.get(name)(k, **arguments)


@pytest.mark.parametrize("a", [0.0, -1.0, float("nan"), float("inf"), 10**400, "half", None, True])
def test_bad_exponents(a: Any) -> None:
    with pytest.raises(InputError, match="a is "):
        mapping.beta(1, n_items=100, sample_size=10, a=a)
