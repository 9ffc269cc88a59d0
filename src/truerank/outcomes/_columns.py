"""The columns of RankCounts: sorted, distinct, and what can be read off them."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, Self

import numpy as np
import numpy.typing as npt

from truerank import _checks
from truerank._types import FloatArray, IntArray
from truerank.errors import InputError
from truerank.outcomes.schemes import Scheme

MAX_REPLICATES = 100
KEY = ("scheme", "n_items", "sample_size", "sampled_rank", "replicate")
# Columns about users with several targets, and what they are where users have one.
TARGETS = {"place": 1, "n_targets": 1, "offset": 0, "block": 0}


@dataclass(frozen=True, eq=False, repr=False)
class Columns:
    """What a RankCounts holds and what it says of itself; see there."""

    schemes: tuple[Scheme, ...]
    scheme: IntArray
    n_items: IntArray
    sample_size: IntArray
    sampled_rank: IntArray
    replicate: IntArray
    place: IntArray
    n_targets: IntArray
    offset: IntArray
    block: IntArray
    weight: FloatArray
    n_users: float
    squared_weight: float
    n_dropped: int = 0

    @classmethod
    def _build(
        cls,
        schemes: Iterable[Scheme],
        scheme: IntArray,
        n_items: IntArray,
        sample_size: IntArray,
        sampled_rank: IntArray,
        weight: FloatArray,
        *,
        replicate: IntArray | None = None,
        place: IntArray | None = None,
        n_targets: IntArray | None = None,
        offset: IntArray | None = None,
        block: IntArray | None = None,
        n_users: float | None = None,
        squared_weight: float | None = None,
        n_dropped: int = 0,
    ) -> Self:
        """Sort, add up equal outcomes, drop empty ones."""
        whole = sample_size == n_items
        named, scheme = _shared_if_it_matters(list(schemes), scheme, n_targets, whole)
        kept = tuple(sorted(set(named)))
        code = np.array([kept.index(s) for s in named], dtype=np.int64)[scheme]
        group = np.zeros_like(code) if replicate is None else replicate
        key = [code, n_items, sample_size, sampled_rank, group]
        about = dict(zip(TARGETS, (place, n_targets, offset, block), strict=True))
        given = {
            name: column
            for name, column in about.items()
            if column is not None and (column != TARGETS[name]).any()
        }
        key += given.values()
        n_users = float(weight.sum()) if n_users is None else float(n_users)
        squared = float(weight @ weight) if squared_weight is None else float(squared_weight)
        kept_key, total = add_up(key, weight)
        for name, value in (("n_users", n_users), ("squared_weight", squared)):
            _checks.real(value, name, low=0.0, open_low=True)
        code, pool, size, rank, group, *rest = kept_key
        used = np.unique(code)
        code = np.searchsorted(used, code).astype(np.int64)
        for array in (code, pool, size, rank, group, *rest, total):
            array.setflags(write=False)
        names = tuple(kept[i] for i in used)
        own = dict(zip(given, rest, strict=True))
        # Columns that say nothing take no memory.
        targets = {
            name: own.get(name, np.broadcast_to(np.int64(usual), total.shape))
            for name, usual in TARGETS.items()
        }
        return cls(
            names, code, pool, size, rank, group,
            weight=total, n_users=n_users, squared_weight=squared, n_dropped=n_dropped, **targets,
        )  # fmt: skip

    # -- looking ----------------------------------------------------------------------------

    @property
    def n_outcomes(self) -> int:
        """Number of distinct outcomes.

        Examples
        --------
        >>> tr.RankCounts.from_ranks([1, 3, 1], num_negatives=99, n_items=3706).n_outcomes
        2
        """
        return int(self.weight.size)

    @property
    def total_weight(self) -> float:
        """Sum of the weights; the number of ranks if all weigh 1.

        Examples
        --------
        >>> tr.RankCounts.from_ranks([1, 3, 1], num_negatives=99, n_items=3706).total_weight
        3.0
        """
        return float(self.weight.sum())

    @property
    def effective_users(self) -> float:
        """Number of equally weighted users with as much information: (sum w)^2 / sum w^2.

        Examples
        --------
        >>> counts = tr.RankCounts.from_ranks(
        ...     [1, 3, 1], num_negatives=99, n_items=3706, weights=[2, 1, 1]
        ... )
        >>> round(counts.effective_users, 2)
        2.67
        """
        return self.total_weight**2 / self.squared_weight

    @cached_property
    def several(self) -> bool:
        """Whether positions differ from ranks: users have several targets, or known items above.

        Examples
        --------
        >>> tr.RankCounts.from_ranks([1, 3, 1], num_negatives=99, n_items=3706).several
        False
        """
        return any(bool((getattr(self, name) != usual).any()) for name, usual in TARGETS.items())

    @property
    def targets_per_user(self) -> float:
        """Mean number of targets per user.

        Examples
        --------
        >>> tr.RankCounts.from_ranks([1, 3, 1], num_negatives=99, n_items=3706).targets_per_user
        1.0
        """
        return self.total_weight / self.n_users

    @property
    def pairs_per_user(self) -> float:
        """Mean number of scored pairs per user, targets included.

        Negatives that the targets of a user share count once: those of its best target, which is
        ranked among no fewer than the others. Items beside the pool (``offset``) are not counted.

        Examples
        --------
        >>> tr.RankCounts.from_ranks([1, 3, 1], num_negatives=99, n_items=3706).pairs_per_user
        100.0
        """
        if not self.several:
            return float(self.weight @ self.sample_size) / self.total_weight
        shared = np.array([scheme.shared for scheme in self.schemes])[self.scheme]
        counted = np.where((shared | self.is_exact) & (self.place > 1), 1, self.sample_size)
        return float(self.weight @ counted) / self.n_users

    @property
    def adaptive(self) -> bool:
        """Whether any outcome comes from adaptive sampling.

        Examples
        --------
        >>> tr.RankCounts.from_ranks([1, 3, 1], num_negatives=99, n_items=3706).adaptive
        False
        """
        return any(scheme.adaptive for scheme in self.schemes)

    @property
    def is_exact(self) -> npt.NDArray[np.bool_]:
        """Which outcomes are global ranks because the whole pool was ranked, (n_outcomes,).

        Examples
        --------
        >>> tr.RankCounts.from_exact_ranks([1, 3, 1], n_items=3706).is_exact.tolist()
        [True, True]
        """
        without = np.array([not scheme.replacement for scheme in self.schemes])
        whole = without[self.scheme] & (self.sample_size == self.n_items)
        return np.asarray(whole & ~self.is_censored)

    @property
    def is_censored(self) -> npt.NDArray[np.bool_]:
        """Which outcomes stand for all ranks beyond those that were seen, (n_outcomes,).

        Examples
        --------
        >>> tr.RankCounts.from_ranks([1, 3, 1], num_negatives=99, n_items=3706).is_censored
        array([False, False])
        """
        last = [-1 if scheme.seen is None else scheme.seen for scheme in self.schemes]
        beyond = np.array(last)[self.scheme] + 1
        return np.asarray((self.sampled_rank == beyond) & (beyond < self.sample_size))

    @property
    def censored(self) -> bool:
        """Whether any list may have ended before its target.

        Examples
        --------
        >>> tr.RankCounts.from_ranks([1, 3, 1], num_negatives=99, n_items=3706).censored
        False
        """
        return any(scheme.seen is not None for scheme in self.schemes)

    def __repr__(self) -> str:
        kinds = dict.fromkeys(
            f"{'adaptive, ' if scheme.adaptive else ''}"
            f"{'with' if scheme.replacement else 'without'} replacement"
            for scheme in self.schemes
        )
        schemes = ", ".join(kinds)
        beyond = float(self.weight[self.is_censored].sum()) / self.total_weight
        schemes += f"; {100 * beyond:.0f} % beyond the end of their lists" if self.censored else ""
        exact = float(self.weight[self.is_exact].sum()) / self.total_weight
        return (
            f"RankCounts({_several(self.n_users, 'user')}{self._targets()}; "
            f"pools of {_spread(self.n_items)} items; "
            f"sample sizes {_spread(self.sample_size)}; {schemes}; "
            f"{_several(float(self.n_outcomes), 'outcome')}"
            + (f"; {100 * exact:.0f} % exact" if exact else "")
            + ("; negatives shared within replicate groups" if self.replicate.any() else "")
            + (f"; {dropped(self.n_dropped)}" if self.n_dropped else "")
            + ")"
        )

    def _targets(self) -> str:
        """How many targets users have, if it is not one each."""
        if not (self.n_targets > 1).any():
            return ""
        shared = any(scheme.shared for scheme in self.schemes)
        return f", {_spread(self.n_targets)} targets each" + (
            ", which share negatives" if shared else ""
        )

    def __eq__(self, other: object) -> bool:
        """Same outcomes and weights (fractions to 1e-12, whole users exactly)."""
        if not isinstance(other, Columns):
            return NotImplemented
        same = self.schemes == other.schemes and self.n_outcomes == other.n_outcomes
        return (
            same
            and all(
                np.array_equal(getattr(self, name), getattr(other, name))
                for name in (*KEY, *TARGETS)
            )
            and bool(np.allclose(self.weight, other.weight, rtol=1e-12, atol=0))
            and bool(np.isclose(self.n_users, other.n_users, rtol=1e-12, atol=0))
        )

    __hash__ = None  # type: ignore[assignment]

    def _changed(self, **changes: Any) -> Self:
        """A copy with some columns changed, built again: sorted, equal outcomes added up."""
        names = (*KEY, *TARGETS, "schemes", "weight", "n_users", "squared_weight", "n_dropped")
        return self._build(**({name: getattr(self, name) for name in names} | changes))


def _shared_if_it_matters(
    schemes: list[Scheme],
    code: IntArray,
    n_targets: IntArray | None,
    whole: npt.NDArray[np.bool_],
) -> tuple[list[Scheme], IntArray]:
    """Schemes and codes of outcomes: single targets and whole pools share no random negatives."""
    if not any(scheme.shared for scheme in schemes):
        return schemes, code
    alone = [replace(scheme, shared=False) for scheme in schemes]
    if n_targets is None:
        return alone, code
    exact = np.array([not (scheme.replacement or scheme.adaptive) for scheme in schemes])[code]
    matters = (n_targets > 1) & ~(whole & exact)
    return schemes + alone, np.where(matters, code, code + len(schemes))


def about_targets(n_rows: int, **given: Any) -> dict[str, IntArray | None]:
    """Checked columns of `TARGETS`, (n_rows,) each; None where they are not given."""
    columns: dict[str, IntArray | None] = {
        name: None if value is None else _checks.per_row(value, name, n_rows, low=0)
        for name, value in given.items()
    }
    for name, column in columns.items():
        if column is not None:
            low = TARGETS[name]
            _checks.within(column, name, low=low, high=np.inf, because=f"it is at least {low}")
    place, n_targets = columns.get("place"), columns.get("n_targets")
    if place is not None:
        most = np.ones(n_rows, dtype=np.int64) if n_targets is None else n_targets
        beyond = place > most
        if beyond.any():
            row = int(np.argmax(beyond))
            raise InputError(
                f"place is {place[row]} at row {row}; the user has n_targets={most[row]}, and the "
                "best of them has place 1"
            )
    block = columns.get("block")
    if block is not None:
        because = f"0 is none, blocks are 1 to {MAX_REPLICATES}"
        _checks.within(block, "block", low=0, high=MAX_REPLICATES, because=because)
    return columns


def replicates(replicate: Any, n_rows: int) -> IntArray:
    """Checked replicate groups, shape (n_rows,); zeros if there are none."""
    if replicate is None:
        return np.zeros(n_rows, dtype=np.int64)
    groups = _checks.whole_numbers(replicate, "replicate")
    if groups.size != n_rows:
        raise InputError(f"replicate has {groups.size} values; there are {n_rows} outcomes")
    because = f"0 is none, groups are 1 to {MAX_REPLICATES}"
    _checks.within(groups, "replicate", low=0, high=MAX_REPLICATES, because=because)
    return groups


def dropped(n_rows: int) -> str:
    """What is said of rows without a rank."""
    left = "row without a rank was" if n_rows == 1 else "rows without a rank were"
    return f"{n_rows:,} {left} left out"


def _several(value: float, what: str) -> str:
    """ "1 user", "2 users", "2.5 users"."""
    number = f"{int(value):,}" if value.is_integer() else f"{value:,.6g}"
    return f"{number} {what}" if value == 1 else f"{number} {what}s"


def _spread(values: IntArray) -> str:
    low, high = int(values.min()), int(values.max())
    return f"{low:,}" if low == high else f"{low:,} to {high:,}"


def add_up(key: Sequence[IntArray], weight: FloatArray) -> tuple[list[IntArray], FloatArray]:
    """The distinct rows of the columns ``key``, sorted, and the sums of their weights above 0."""
    if weight.size:
        radix = Radix.of(key)
        # Sums of whole numbers are the same in any order: few possible rows need no sorting.
        if radix.n_possible <= 2 * weight.size and (weight == np.rint(weight)).all():
            total: FloatArray = np.bincount(radix.numbers(key), weight).astype(np.float64)
            kept = np.flatnonzero(total > 0)
            if not kept.size:
                raise InputError("all weights are 0; there is nothing to count")
            return radix.columns(kept), total[kept]
    order = np.lexsort(key[::-1])
    key = [column[order] for column in key]
    new = np.ones(order.size, dtype=bool)
    new[1:] = np.logical_or.reduce([column[1:] != column[:-1] for column in key])
    starts = np.flatnonzero(new)
    total = np.add.reduceat(weight[order], starts) if starts.size else np.empty(0)
    starts, total = starts[total > 0], total[total > 0]
    if not starts.size:
        raise InputError("all weights are 0; there is nothing to count")
    return [column[starts] for column in key], total


@dataclass(frozen=True)
class Radix:
    """Rows of columns of whole numbers as one number each, which rises with the rows."""

    lows: tuple[int, ...]
    spans: tuple[int, ...]

    @classmethod
    def of(cls, key: Sequence[IntArray]) -> Radix:
        """The one that holds these columns."""
        lows = tuple(int(column.min()) for column in key)
        highs = [int(column.max()) for column in key]
        return cls(lows, tuple(high - low + 1 for low, high in zip(lows, highs, strict=True)))

    @property
    def n_possible(self) -> int:
        """How many different rows there may be."""
        return math.prod(self.spans)

    def numbers(self, key: Sequence[IntArray]) -> IntArray:
        """The number of each row, from 0; right below 2^63 possible rows."""
        number: IntArray = np.zeros(key[0].size, dtype=np.int64)
        for column, low, span in zip(key, self.lows, self.spans, strict=True):
            if span > 1:
                number = number * span + (column - low)
        return number

    def columns(self, number: IntArray) -> list[IntArray]:
        """The rows of these numbers."""
        found, left = [], number
        for low, span in zip(reversed(self.lows), reversed(self.spans), strict=True):
            left, digit = np.divmod(left, span)
            found.append(digit + low)
        return found[::-1]
