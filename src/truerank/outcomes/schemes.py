"""How negatives were drawn, and P(sampled rank | global rank) under it, in log space.

Notation (all ranks 1-based): a pool of ``n_items`` candidates N holds the target at
``global_rank`` R; ``sample_size`` n counts the target and n-1 negatives; ``sampled_rank`` r is
one more than the number of sampled negatives that score above the target.

Every scheme has the same form, P(outcome | R) = ways(outcome) * P(one such sequence | R): the
sequence of draws decides how likely r-1 hits in n-1 draws are, the scheme only *how many*
sequences lead to that outcome. A fixed size has C(n-1, r-1) of them, an adaptive ladder fewer.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import numpy as np

from truerank import _arguments, _checks
from truerank._types import FloatArray, IntArray
from truerank.errors import InputError
from truerank.outcomes._logs import LOG_ZERO, extend, log_choose, log_falling, safe_log


@dataclass(frozen=True)
class Scheme:
    """The law that sampled ranks follow: how a user's negatives were drawn.

    Parameters
    ----------
    replacement : bool
        Uniform draws with replacement (binomial ranks) or without (hypergeometric ranks).
    ladder : tuple of int
        Empty for a fixed sample size. For adaptive sampling the increasing sample sizes: a user
        moves on to the next one while fewer than ``hits`` sampled negatives beat the target.
        Without replacement a ladder stops at the user's pool, where the rank is exact.
    hits : int or tuple of int
        Negatives above the target that end the sampling (1 in LJ24, algorithm 1): one number, or
        one for each size of the ladder but the last.
    seen : int, optional
        Of lists that end early, the number of ranks that were seen: a target beyond them has the
        outcome ``seen`` + 1, which stands for all ranks above ``seen``. None where every rank is
        seen. Not with a ladder.
    shared : bool, default False
        Whether the targets of a user met the same negatives: each sampled rank follows the same
        law, but those of a user move together. It means nothing for users with one target, and
        counts drop it there.

    Examples
    --------
    >>> tr.Scheme(replacement=False)
    Scheme(replacement=False, ladder=(), hits=1, seen=None, shared=False)
    >>> tr.Scheme(seen=5).name
    'with:seen=5'
    >>> tr.Scheme(replacement=False, ladder=(100, 200, 400), hits=2).name
    'without:100,200,400:hits=2'
    """

    replacement: bool = True
    ladder: tuple[int, ...] = ()
    hits: int | tuple[int, ...] = 1
    seen: int | None = None
    shared: bool = False

    def __post_init__(self) -> None:
        for name in ("replacement", "shared"):
            if not isinstance(value := getattr(self, name), (bool, np.bool_)):
                raise InputError(f"{name} is {_checks.shown(value)}; it must be True or False")
            object.__setattr__(self, name, bool(value))
        if isinstance(self.ladder, str) or not isinstance(self.ladder, Iterable):
            said = _checks.shown(self.ladder)
            raise InputError(f"ladder is {said}; it must be a sequence of sample sizes")
        sizes = tuple(
            _checks.integer(size, "ladder size", low=2) for size in _checks.listed(self.ladder)
        )
        object.__setattr__(self, "ladder", sizes)
        object.__setattr__(self, "hits", _hits(self.hits, len(sizes)))
        if any(b <= a for a, b in itertools.pairwise(sizes)):
            raise InputError(f"ladder is {list(sizes)}; its sizes must increase")
        if not sizes and self.hits != 1:
            raise InputError(f"hits is {self.hits}; it has no meaning without a ladder")
        if self.seen is not None:
            object.__setattr__(self, "seen", _checks.integer(self.seen, "seen", low=0))
            if sizes:
                raise InputError(f"seen is {self.seen} and ladder {list(sizes)}; give one of them")

    def __lt__(self, other: Scheme) -> bool:
        return self._key < other._key

    @property
    def _key(self) -> tuple[bool, tuple[int, ...], tuple[int, ...], float, bool]:
        last = np.inf if self.seen is None else float(self.seen)
        return self.replacement, self.ladder, self.thresholds, last, self.shared

    @property
    def thresholds(self) -> tuple[int, ...]:
        """Hits that end the sampling at each size of the ladder but the last.

        Examples
        --------
        >>> tr.Scheme(ladder=(100, 200, 400), hits=2).thresholds
        (2, 2)
        """
        if isinstance(self.hits, int):
            return (self.hits,) * (len(self.ladder) - 1)
        return self.hits

    @property
    def adaptive(self) -> bool:
        """Whether the sample size depends on what was drawn.

        Examples
        --------
        >>> tr.Scheme().adaptive, tr.Scheme(ladder=(100, 200)).adaptive
        (False, True)
        """
        return bool(self.ladder)

    @property
    def name(self) -> str:
        """The scheme as text that :meth:`parse` reads: replacement, ladder, hits or seen, shared.

        Examples
        --------
        >>> tr.Scheme().name, tr.Scheme(replacement=False, ladder=(100, 200)).name
        ('with', 'without:100,200')
        """
        parts = ["with" if self.replacement else "without"]
        if self.ladder:
            parts.append(",".join(map(str, self.ladder)))
            hits = (self.hits,) if isinstance(self.hits, int) else self.hits
            parts += [f"hits={','.join(map(str, hits))}"] if hits != (1,) else []
        if self.seen is not None:
            parts.append(f"seen={self.seen}")
        if self.shared:
            parts.append("shared")
        return ":".join(parts)

    @classmethod
    def parse(cls, name: str) -> Scheme:
        """The scheme of a text that :attr:`name` gave.

        Parameters
        ----------
        name : str
            ``"with"`` or ``"without"``, then ``:`` and a ladder, then ``:hits=`` and hits; or
            ``:seen=`` and a number. At the end ``:shared``, if a user's targets share negatives.

        Returns
        -------
        Scheme
            The scheme.

        Raises
        ------
        InputError
            If the text is none of a scheme.

        Examples
        --------
        >>> tr.Scheme.parse("without:100,200")
        Scheme(replacement=False, ladder=(100, 200), hits=1, seen=None, shared=False)
        """
        kind, *rest = str(name).split(":")
        shared = rest[-1:] == ["shared"]
        rest = rest[:-1] if shared else rest
        try:
            if kind in ("with", "without") and rest and rest[0].startswith("seen="):
                (given,) = rest
                return cls(kind == "with", seen=int(given.removeprefix("seen=")), shared=shared)
            if kind not in ("with", "without") or len(rest) > 2:
                raise ValueError
            ladder = tuple(int(size) for size in rest[0].split(",")) if rest else ()
            given = rest[1].removeprefix("hits=") if len(rest) == 2 else "1"
            hits = tuple(int(number) for number in given.split(","))
        except ValueError:
            raise InputError(
                f"scheme is {name!r}; expected 'with' or 'without', then ':' and a ladder of "
                "sizes for adaptive sampling, as in 'without:100,200,400'"
            ) from None
        return cls(kind == "with", ladder, hits if len(hits) > 1 else hits[0], shared=shared)

    def stages(self, n_items: int, sample_size: int) -> tuple[int, ...]:
        """The sample sizes that a user of a pool may end with.

        Parameters
        ----------
        n_items : int
            Size of the pool, the target included.
        sample_size : int
            The fixed sample size; ignored for ladders.

        Returns
        -------
        tuple of int
            One size for a fixed sample; for ladders without replacement none above the pool.

        Examples
        --------
        >>> tr.Scheme(replacement=False, ladder=(100, 200, 400)).stages(150, 0)
        (100, 150)
        """
        _arguments.check(Scheme.stages, locals())
        if not self.adaptive:
            return (sample_size,)
        if self.replacement:
            return self.ladder
        *lower, last = self.ladder
        return (*(size for size in lower if size < n_items), min(last, n_items))

    def _reach(self, n_items: IntArray) -> IntArray:
        """Pools with equal values here have the same stages: no pool is larger than it matters."""
        top = self.ladder[-1]
        return np.full_like(n_items, top) if self.replacement else np.minimum(n_items, top)

    def outcomes(self, n_items: int, sample_size: int) -> tuple[IntArray, IntArray]:
        """Every possible (sample_size, sampled_rank) of a pool.

        Parameters
        ----------
        n_items : int
            Size of the pool, the target included.
        sample_size : int
            The fixed sample size; ignored for ladders.

        Returns
        -------
        tuple of two ndarrays of int, shape (n_outcomes,)
            Sample sizes and sampled ranks.

        Examples
        --------
        >>> sizes, ranks = tr.Scheme(ladder=(3, 5)).outcomes(1000, 0)
        >>> sizes.tolist(), ranks.tolist()
        ([3, 3, 5, 5, 5], [2, 3, 1, 2, 3])
        """
        _arguments.check(Scheme.outcomes, locals())
        if not self.ladder:
            _checks.integer(sample_size, "sample_size", low=1)
        if self.seen is not None and self.seen < sample_size:
            every = np.arange(1, self.seen + 2, dtype=np.int64)
            return np.full_like(every, sample_size), every
        stages = self.stages(n_items, sample_size)
        sizes, ranks = [], []
        for low, high, size in _rank_bounds(stages, self.thresholds):
            ranks.append(np.arange(low, high + 1, dtype=np.int64))
            sizes.append(np.full(high - low + 1, size, dtype=np.int64))
        return np.concatenate(sizes), np.concatenate(ranks)

    def check(self, n_items: IntArray, sample_size: IntArray, sampled_rank: IntArray) -> None:
        """Check that the scheme can give these outcomes.

        Parameters
        ----------
        n_items : ndarray of int, shape (n,)
            Sizes of the pools, the target included.
        sample_size : ndarray of int, shape (n,)
            Candidates ranked, the target included.
        sampled_rank : ndarray of int, shape (n,)
            Ranks of the targets, 1-based.

        Raises
        ------
        InputError
            At the first impossible outcome; the message says what is possible there.

        Examples
        --------
        >>> scheme = tr.Scheme(replacement=False, ladder=(100, 200))
        >>> scheme.check(np.array([3706]), np.array([100]), np.array([2]))
        >>> scheme.check(np.array([3706]), np.array([100]), np.array([1]))
        Traceback (most recent call last):
        ...
        truerank.errors.InputError: impossible adaptive outcome at row 0: sample_size 100, ...
        """
        _arguments.check(Scheme.check, locals())
        if not self.replacement:
            _checks.within(
                sample_size,
                "sample_size",
                low=2,
                high=n_items,
                because="without replacement it lies between 2 and the pool size n_items"
                + _beside(sample_size, n_items),
            )
        if self.seen is not None:
            _checks.within(
                sampled_rank,
                "sampled_rank",
                low=1,
                high=self.seen + 1,
                because=f"seen={self.seen} ranks were seen, and {self.seen + 1} stands for others",
            )
        if not self.adaptive:
            return
        reach = self._reach(n_items)
        for pool in np.unique(reach):
            here = np.flatnonzero(reach == pool)
            stages = self.stages(int(pool), 0)
            low = np.zeros(here.size, dtype=np.int64)
            high = np.full(here.size, -1, dtype=np.int64)
            for first, last, size in _rank_bounds(stages, self.thresholds):
                at = sample_size[here] == size
                low[at], high[at] = first, last
            off = (sampled_rank[here] < low) | (sampled_rank[here] > high)
            if off.any():
                row = int(here[np.flatnonzero(off)[0]])
                bound = high[np.flatnonzero(off)[0]]
                raise InputError(
                    f"impossible adaptive outcome at row {row}: sample_size {sample_size[row]}, "
                    f"sampled_rank {sampled_rank[row]}; "
                    + (
                        f"the sizes of this ladder are {list(stages)}"
                        if bound < 0
                        else f"ending at this size of {list(stages)} allows ranks "
                        f"{low[np.flatnonzero(off)[0]]} to {bound} (hits={self.hits})"
                    )
                )


def log_probability(
    scheme: Scheme,
    global_rank: Any,
    *,
    n_items: Any,
    sample_size: Any,
    sampled_rank: Any,
) -> FloatArray:
    """Logarithm of P(outcome | global rank) for outcomes of one scheme.

    Parameters
    ----------
    scheme : Scheme
        How the negatives were drawn.
    global_rank : array-like of float, shape (n_ranks,)
        Ranks, 1-based. Real numbers are allowed: the law extends smoothly between whole ranks,
        which quadrature on a compressed support uses.
    n_items : int or array-like of int, shape (n_outcomes,)
        Size of the pool, the target included.
    sample_size : int or array-like of int, shape (n_outcomes,)
        Candidates ranked, the target included.
    sampled_rank : int or array-like of int, shape (n_outcomes,)
        Rank of the target among them, 1-based.

    Returns
    -------
    ndarray of float, shape (n_outcomes, n_ranks)
        Logarithms; -inf where the outcome is impossible.

    Examples
    --------
    >>> from truerank.outcomes.schemes import log_probability
    >>> log_p = log_probability(
    ...     tr.Scheme(), [1, 500], n_items=1000, sample_size=3, sampled_rank=[1, 2, 3]
    ... )
    >>> np.exp(log_p).round(3).T.tolist()
    [[1.0, 0.0, 0.0], [0.251, 0.5, 0.249]]
    """
    pool, size, rank = np.broadcast_arrays(
        *(
            np.atleast_1d(np.asarray(v, dtype=np.int64))
            for v in (n_items, sample_size, sampled_rank)
        )
    )
    ranks = np.atleast_1d(np.asarray(global_rank, dtype=np.float64))
    if not (ranks >= 1).all():
        raise InputError(f"global_rank is {ranks[~(ranks >= 1)][0]:g}; ranks are 1-based")
    log_p = log_outcome(scheme, ranks, pool, size, rank)
    log_p += log_ways(scheme, pool, size, rank)[:, None]
    log_p[log_p < LOG_ZERO / 1e6] = -np.inf
    impossible = (rank < 1) | (rank > size)
    if not scheme.replacement:
        impossible |= size > pool
    log_p[impossible] = -np.inf
    return log_p


def log_ways(
    scheme: Scheme, n_items: IntArray, sample_size: IntArray, sampled_rank: IntArray
) -> FloatArray:
    """Logarithm of the number of draw sequences that end in each outcome, shape (n_outcomes,).

    Hugely negative but finite for sizes off the ladder and ranks with which a user goes on.

    With a ladder the constant is not C(n-1, r-1): sequences that would have stopped at an
    earlier stage do not count (for one hit, C(n_j - n_{j-1}, r-1) is left). Of ranks that were not
    seen, 0: `log_outcome` has counted their sequences.
    """
    above = (sampled_rank - 1).astype(np.float64)
    if not scheme.adaptive:
        ways = log_choose(sample_size - 1.0, above)
        return np.where(unseen(scheme, sample_size, sampled_rank), 0.0, ways)
    result = np.full(above.shape, LOG_ZERO)
    last = scheme._reach(n_items)  # the size at which everyone ends
    previous = 1
    going_on = np.array([0.0])  # log ways to reach the stage with 0, 1, .. hits so far
    for size, hits in itertools.zip_longest(scheme.ladder, scheme.thresholds):
        here = (last > previous) & (sample_size == np.minimum(size, last))
        here &= (last <= size) | (above >= (hits or 0))
        result[here] = extend(going_on, sample_size[here] - previous, above[here])
        if hits is not None:
            going_on = extend(going_on, size - previous, np.arange(float(hits)))
            previous = size
    return result


def unseen(scheme: Scheme, sample_size: IntArray, sampled_rank: IntArray) -> Any:
    """Which outcomes stand for all ranks beyond those that were seen, shape (n_outcomes,)."""
    if scheme.seen is None:
        return np.zeros(sampled_rank.shape, dtype=np.bool_)
    # With one rank left, it is known.
    return (sampled_rank == scheme.seen + 1) & (sampled_rank < sample_size)


def log_outcome(
    scheme: Scheme,
    global_rank: FloatArray,
    n_items: IntArray,
    sample_size: IntArray,
    sampled_rank: IntArray,
) -> FloatArray:
    """`log_sequence`, and the logarithm of P(rank > seen | R) for ranks that were not seen."""
    log_p = log_sequence(scheme.replacement, global_rank, n_items, sample_size, sampled_rank)
    for row in np.flatnonzero(unseen(scheme, sample_size, sampled_rank)):
        rank = np.arange(sampled_rank[row], sample_size[row] + 1)
        pool, size = np.full_like(rank, n_items[row]), np.full_like(rank, sample_size[row])
        each = log_sequence(scheme.replacement, global_rank, pool, size, rank)
        each += log_choose(size - 1.0, rank - 1.0)[:, None]
        top = each.max(axis=0)
        log_p[row] = top + np.log(np.exp(each - top).sum(axis=0))
    return log_p


def log_sequence(
    replacement: bool,
    global_rank: FloatArray,
    n_items: IntArray,
    sample_size: IntArray,
    sampled_rank: IntArray,
) -> FloatArray:
    """Logarithm of P(one given sequence of draws with r-1 hits | R), (n_outcomes, n_ranks).

    Impossible outcomes hold hugely negative finite numbers, ready for ``exp``.
    """
    above = (sampled_rank - 1).astype(np.float64)
    below = sample_size - 1.0 - above
    pools, at = np.unique(n_items, return_inverse=True)
    better = np.maximum(global_rank - 1.0, 0.0)  # items above the target, shape (n_ranks,)
    others = pools - 1.0
    worse = others[:, None] - better  # items below it, shape (n_pools, n_ranks)
    inside = worse >= 0
    worse = np.maximum(worse, 0.0)
    if replacement:
        log_above = safe_log(better / others[:, None])
        log_below = safe_log(worse / others[:, None])
        log_below[~inside] = LOG_ZERO
        log_above[~inside] = LOG_ZERO
        if pools.size == 1:
            return np.outer(above, log_above[0]) + np.outer(below, log_below[0])
        return above[:, None] * log_above[at] + below[:, None] * log_below[at]
    hits, row = np.unique(above, return_inverse=True)
    log_p = log_falling(better[None, :], hits[:, None])[row]
    log_p += log_falling(worse, below[:, None], at)
    log_p -= log_falling(others[at], sample_size - 1.0)[:, None]
    log_p[~inside[at]] = LOG_ZERO
    return log_p


@lru_cache(maxsize=256)
def _rank_bounds(
    stages: tuple[int, ...], thresholds: tuple[int, ...]
) -> Sequence[tuple[int, int, int]]:
    """(lowest rank, highest rank, size) with which a user may end at each stage."""
    bounds = []
    previous, before = 1, 0  # the size and the most hits with which a user came so far
    for stage, size in enumerate(stages):
        most = before + size - previous
        least = thresholds[stage] if size != stages[-1] else 0
        if least <= most:
            bounds.append((least + 1, most + 1, size))
        previous, before = size, min(most, least - 1)
    return tuple(bounds)


def _hits(hits: Any, n_sizes: int) -> int | tuple[int, ...]:
    """Checked hits; one number where all are equal."""
    if isinstance(hits, str) or not isinstance(hits, Iterable):
        return _checks.integer(hits, "hits", low=1)
    each = tuple(_checks.integer(number, "hits", low=1) for number in _checks.listed(hits))
    if len(each) != max(n_sizes - 1, 0):
        raise InputError(
            f"hits are {list(each)}; there must be one number, or one for each of the "
            f"{n_sizes} sizes of the ladder but the last"
        )
    return each if len(set(each)) > 1 else each[0] if each else 1


def _beside(sample_size: IntArray, n_items: IntArray) -> str:
    over = np.flatnonzero(sample_size > n_items)
    return f" (n_items is {n_items[over[0]]} there)" if over.size else ""
