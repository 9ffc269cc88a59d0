"""Counter-based randomness: published values, invariances, uniformity."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import chisquare

from truerank import rng
from truerank.errors import InputError


def test_splitmix64_as_published():
    """The first outputs of the generator seeded with 0 (Steele, Lea and Flood, 2014)."""
    found = rng.draws(np.uint64(0), np.arange(3))
    assert found.tolist() == [0xE220A8397B1DCDAF, 0x6E789E6AA1B965F4, 0x06C45D188009454F]


def test_draws_by_plain_integers():
    """The same arithmetic with Python's integers, modulo 2**64."""
    mask = 2**64 - 1

    def draw(key, number):
        x = (key + (number + 1) * 0x9E3779B97F4A7C15) & mask
        x = ((x ^ (x >> 30)) * 0xBF58476D1CE4E5B9) & mask
        x = ((x ^ (x >> 27)) * 0x94D049BB133111EB) & mask
        return x ^ (x >> 31)

    keys = [0, 1, 2**63, 2**64 - 1, 123456789]
    numbers = [0, 1, 1000, 2**40]
    found = rng.draws(np.array(keys, dtype=np.uint64)[:, None], np.array(numbers))
    assert found.tolist() == [[draw(key, number) for number in numbers] for key in keys]


def test_draws_can_be_continued_anywhere():
    keys = rng.user_keys(np.arange(5), 1)
    whole = rng.draws(keys[:, None], np.arange(20))
    np.testing.assert_array_equal(rng.draws(keys[:, None], np.arange(12, 20)), whole[:, 12:])
    np.testing.assert_array_equal(rng.draws(keys[3], 7), whole[3, 7])


def test_units_are_below_one():
    words = np.array([0, 1, 2**11, 2**63, 2**64 - 1], dtype=np.uint64)
    units = rng.unit(words)
    assert units[0] == 0
    assert units[3] == 0.5
    assert units[-1] == 1 - 2**-53


def test_whole_numbers_are_below_their_bound():
    top = np.uint64(2**64 - 1)
    bounds = np.array([1, 2, 3, 1000, 2**40])
    np.testing.assert_array_equal(rng.below(top, bounds), bounds - 1)
    np.testing.assert_array_equal(rng.below(np.uint64(0), bounds), 0)


@pytest.mark.parametrize("bound", [2, 7, 100])
def test_whole_numbers_are_uniform(bound):
    """Over users and over a user's draws; p above 1e-4 for a fixed seed."""
    for keys, numbers in (
        (rng.user_keys(np.arange(50_000), 0), 0),
        (rng.user_keys(np.array([17]), 0), np.arange(50_000)),
        (rng.user_keys(np.array([f"user {i}" for i in range(50_000)]), 5), 3),
    ):
        drawn = rng.below(rng.draws(keys, numbers), bound)
        assert chisquare(np.bincount(drawn, minlength=bound)).pvalue > 1e-4


def test_neighbouring_users_seeds_and_draws_are_unrelated():
    """Correlation of 40,000 pairs within 5 standard errors of 0."""
    ids = np.arange(40_000)
    first = rng.unit(rng.draws(rng.user_keys(ids, 0), 0))
    others = (
        rng.unit(rng.draws(rng.user_keys(ids, 0), 1)),
        rng.unit(rng.draws(rng.user_keys(ids, 1), 0)),
        rng.unit(rng.draws(rng.user_keys(ids + 1, 0), 0)),
    )
    for other in others:
        assert abs(np.corrcoef(first, other)[0, 1]) < 5 / 40_000**0.5


@given(st.lists(st.integers(-(2**59), 2**59), min_size=1, max_size=20, unique=True))
def test_numbers_have_one_key_in_any_type(ids):
    keys = rng.user_keys(np.array(ids), 3)
    assert np.unique(keys).size == len(ids)
    for others in (
        np.array([str(i) for i in ids]),
        np.array([str(i) for i in ids], dtype=object),
        np.array([str(i).encode() for i in ids]),
        np.array(ids, dtype=object),
        ids,
    ):
        np.testing.assert_array_equal(rng.user_keys(others, 3), keys)


@given(st.lists(st.text(max_size=12).filter(lambda t: "\0" not in t), min_size=1, unique=True))
def test_a_text_has_its_key_alone_and_in_company(texts):
    keys = rng.user_keys(np.array(texts, dtype=object), 0)
    assert np.unique(keys).size == len(texts)
    for text, key in zip(texts, keys, strict=True):
        assert rng.user_keys(np.array([text], dtype=object), 0)[0] == key


def test_texts_by_hand():
    """FNV-1a of the bytes, mixed twice, then salted by the seed."""
    mask = 2**64 - 1
    state = 0xCBF29CE484222325
    for byte in "Zoë".encode():
        state = ((state ^ byte) * 0x100000001B3) & mask
    word = int(rng.mix(rng.mix(state)))
    salt = int(rng.mix(42 + 0x9E3779B97F4A7C15))
    expected = rng.mix((word + salt) & mask)
    assert rng.user_keys(np.array(["Zoë"]), 42)[0] == expected


def test_spellings_of_other_numbers_are_texts():
    keys = rng.user_keys(np.array(["7", "07", "+7", "7.0", " 7", "-0", "٧"]), 0)
    assert np.unique(keys).size == 7


@pytest.mark.parametrize("seed", [-1, 0.5, "0", None, 2**63])
def test_seeds_that_cannot_be(seed):
    with pytest.raises(InputError, match="seed is"):
        rng.user_keys(np.arange(3), seed)


@pytest.mark.parametrize(
    "ids", [np.array([1.5, 2.0]), np.array([True, False]), np.array(["a", 1], dtype=object)]
)
def test_ids_that_cannot_be(ids):
    with pytest.raises(InputError, match="they must be whole numbers or strings"):
        rng.user_keys(ids, 0)


def test_draws_without_replacement_from_pools_of_any_size() -> None:
    few = np.random.default_rng(1).hypergeometric([3, 5], [7, 9], 4)
    assert rng.hypergeometric(np.random.default_rng(1), [3, 5], [7, 9], 4).tolist() == few.tolist()
    good, bad, n = np.full(20_000, 10**9), np.full(20_000, 3 * 10**9), 100
    found = rng.hypergeometric(np.random.default_rng(2), good, bad, n)
    # Mean 25 with variance 100 * 1/4 * 3/4 per draw: 5 standard errors of the mean of 20,000.
    assert abs(found.mean() - 25) < 5 * np.sqrt(18.75 / 20_000)
