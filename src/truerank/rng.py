"""Counter-based randomness: a draw depends on (seed, user id, draw number) and nothing else.

No generator objects, no state: a splitmix64 hash of the counter. So results do not depend on
batches, order, threads or engines, and a user's stream can be continued at any draw.
All arithmetic is uint64 with wrap-around, the same in numpy, numba and elsewhere.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from truerank import _checks
from truerank._types import FloatArray
from truerank.errors import InputError

Keys = npt.NDArray[np.uint64]

GOLDEN = 0x9E3779B97F4A7C15
_MOST_ITEMS = 10**9  # that numpy draws from without replacement
_MIX_1 = 0xBF58476D1CE4E5B9
_MIX_2 = 0x94D049BB133111EB
_FNV_OFFSET = 0xCBF29CE484222325
_FNV_PRIME = 0x100000001B3


def mix(x: Any) -> Keys:
    """The splitmix64 finaliser: a bijection of 64-bit words that scatters every bit."""
    x = np.asarray(x, dtype=np.uint64)
    with np.errstate(over="ignore"):  # wrap-around is the point
        x = (x ^ (x >> np.uint64(30))) * np.uint64(_MIX_1)
        x = (x ^ (x >> np.uint64(27))) * np.uint64(_MIX_2)
    return np.asarray(x ^ (x >> np.uint64(31)))


def draws(keys: Any, number: Any) -> Keys:
    """The random word of each key at draw ``number`` (0, 1, ...); the arguments broadcast."""
    with np.errstate(over="ignore"):
        step = (np.asarray(number).astype(np.uint64) + np.uint64(1)) * np.uint64(GOLDEN)
        return mix(np.asarray(keys, dtype=np.uint64) + step)


def unit(words: Any) -> FloatArray:
    """Random words as floats in [0, 1), 53 bits each."""
    return np.asarray((np.asarray(words, dtype=np.uint64) >> np.uint64(11)) * 2.0**-53)


def below(words: Any, bound: Any) -> npt.NDArray[np.int64]:
    """Random words as whole numbers in [0, bound); the arguments broadcast."""
    return np.asarray(np.floor(unit(words) * bound), dtype=np.int64)


def hypergeometric(draw: np.random.Generator, good: Any, bad: Any, n: Any) -> npt.NDArray[np.int64]:
    """How many of ``n`` items drawn without replacement are good; the arguments broadcast.

    numpy draws from up to a billion items of either kind. From more, draws with replacement are
    the same within n / (good + bad), and never scatter less.
    """
    good, bad, n = np.broadcast_arrays(good, bad, n)
    if max(good.max(initial=0), bad.max(initial=0)) < _MOST_ITEMS:
        return np.asarray(draw.hypergeometric(good, bad, n))
    large = (good >= _MOST_ITEMS) | (bad >= _MOST_ITEMS)
    found = np.empty(good.shape, dtype=np.int64)
    found[~large] = draw.hypergeometric(good[~large], bad[~large], n[~large])
    good, bad, n = good[large], bad[large], n[large]
    found[large] = np.clip(
        draw.binomial(n, good / (good + bad)), np.maximum(n - bad, 0), np.minimum(n, good)
    )
    return found


def check_seed(seed: Any) -> int:
    """``seed``, if it is a whole number from 0 on."""
    return _checks.seed(seed)


def user_keys(user_ids: Any, seed: int) -> Keys:
    """One key per user id (integers or strings) and seed.

    A string that spells a whole number has the key of that number, so that ids may change their
    type between tools.
    """
    seed = check_seed(seed)
    with np.errstate(over="ignore"):
        salt = mix(np.uint64(seed) + np.uint64(GOLDEN))
        return mix(_id_words(np.asarray(user_ids)) + salt)


def _id_words(ids: npt.NDArray[Any]) -> Keys:
    if ids.dtype.kind in "iu":
        return mix(ids.astype(np.int64).view(np.uint64))
    if ids.dtype.kind in "OUST":
        values = ids.tolist()
        if all(isinstance(value, (int, np.integer)) for value in values):
            return mix(np.array(values, dtype=np.int64).view(np.uint64))
        if all(isinstance(value, (str, bytes)) for value in values):
            return _text_words([v.decode() if isinstance(v, bytes) else v for v in values])
    raise InputError(f"ids are of type {ids.dtype}; they must be whole numbers or strings")


def _text_words(texts: list[str]) -> Keys:
    """FNV-1a of the UTF-8 bytes, mixed; whole numbers as their value."""
    words = np.empty(len(texts), dtype=np.uint64)
    raw = [text.encode() for text in texts]
    number = np.array([_is_number(text) for text in texts], dtype=bool)
    if number.any():
        values = np.array([int(t) for t, n in zip(texts, number, strict=True) if n], np.int64)
        words[number] = mix(values.view(np.uint64))
    rest = np.flatnonzero(~number)
    if rest.size:
        padded = np.array([raw[i] for i in rest], dtype=np.bytes_)
        table = padded.view(np.uint8).reshape(rest.size, -1)
        length = np.array([len(raw[i]) for i in rest])
        state = np.full(rest.size, _FNV_OFFSET, dtype=np.uint64)
        for column in range(table.shape[1]):
            stepped = (state ^ table[:, column]) * np.uint64(_FNV_PRIME)
            state = np.where(column < length, stepped, state)
        # Another round tells texts from the numbers, whose words are mixed once.
        words[rest] = mix(mix(state))
    return words


def _is_number(text: str) -> bool:
    """Whether ``text`` is the usual spelling of a 64-bit whole number."""
    digits = text.removeprefix("-")
    if not (digits.isascii() and digits.isdecimal()) or len(digits) > 18:
        return False
    return str(int(text)) == text
