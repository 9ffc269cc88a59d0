"""Counts from what rankers answer: scores of targets and negatives, or lists of candidates."""

from __future__ import annotations

import warnings
from typing import Any, Literal, Self

import numpy as np
import numpy.typing as npt

from truerank import _arguments, _checks
from truerank.errors import AssumptionWarning, InputError
from truerank.outcomes import _ranks
from truerank.outcomes._building import Building
from truerank.outcomes._spreading import spread
from truerank.outcomes.schemes import Scheme

ScoreTies = Literal["spread", "optimistic", "pessimistic"]
MissingTarget = Literal["censored", "last"]


class Scored(Building):
    """Counts from score arrays and from lists; see RankCounts."""

    @classmethod
    def from_scores(
        cls,
        positive: Any,
        negative: Any,
        *,
        n_items: Any,
        replacement: bool | None = None,
        ties: ScoreTies = "spread",
    ) -> Self:
        """Count the ranks of targets among negatives whose scores are given.

        This is what OGB's evaluators take (``y_pred_pos`` and ``y_pred_neg``, 500 or 1,000
        negatives per row), and what an evaluation loop with sampled candidates holds in its hands.

        Parameters
        ----------
        positive : array-like of float, shape (n_rows,)
            Scores of the targets, higher is better; a row is a user, or a triple and a side.
        negative : array-like of float, shape (n_rows, num_negatives)
            Scores of the negatives of each row, none of them the target itself.
        n_items : int or array-like of int
            Size of the pool that negatives were drawn from, plus one for the target: in filtered
            link prediction the number of entities less the other true answers.
        replacement : bool, optional
            Whether negatives were drawn with replacement. Assumed True if not given, with a
            warning where that matters.
        ties : {"spread", "optimistic", "pessimistic"}
            What negatives of the target's score do: share out its weight among the tied ranks, as
            breaking ties at random would on average; count as below it; count as above it.

        Returns
        -------
        RankCounts
            The distinct outcomes and the number of rows with each.

        Raises
        ------
        InputError
            If shapes do not fit each other, or a score is no number.

        Examples
        --------
        >>> positive = [0.9, 0.2]
        >>> negative = [[0.1, 0.95, 0.3], [0.1, 0.2, 0.0]]
        >>> counts = tr.RankCounts.from_scores(positive, negative, n_items=2_500_604)
        >>> counts.sampled_rank.tolist(), counts.weight.tolist()
        ([1, 2], [0.5, 1.5])
        """
        _arguments.check(Scored.from_scores, locals())
        own = _scores(positive, "positive", 1)
        others = _scores(negative, "negative", 2)
        if others.shape[0] != own.size:
            raise InputError(
                f"negative has {others.shape[0]} rows of scores; there are {own.size} positive "
                "scores"
            )
        if not own.size or not others.shape[1]:
            raise InputError(f"negative has shape {others.shape}; there is nothing to count")
        pool = _ranks.pool_sizes(n_items, own.size)
        size = np.full(own.size, others.shape[1] + 1, dtype=np.int64)
        above = (others > own[:, None]).sum(axis=1)
        tied = (others == own[:, None]).sum(axis=1)
        if ties == "pessimistic":
            above = above + tied
        if ties != "spread":
            tied = np.zeros_like(tied)
        scheme = Scheme(replacement=True if replacement is None else replacement)
        _ranks.check_outcomes(scheme, pool, size, above + 1)
        if replacement is None:
            _ranks.warn_if_replacement_matters(size, pool)
        weight = np.ones(own.size)
        pool, size, rank, share = spread(
            above, tied, pool, size, weight, replacement=scheme.replacement
        )
        return cls.from_outcomes(
            scheme,
            n_items=pool,
            sample_size=size,
            sampled_rank=rank,
            weight=share,
            n_users=float(own.size),
            squared_weight=float(own.size),
        )

    @classmethod
    def from_lists(
        cls,
        answers: Any,
        candidates: Any,
        targets: Any,
        *,
        n_items: Any,
        replacement: bool | None = None,
        missing: MissingTarget = "censored",
    ) -> Self:
        """Count the ranks of targets in lists that rank some of their candidates.

        For rankers that answer in text: language models that are given 20 candidates and name ten
        of them, name some twice, name others that were not asked for, or refuse.

        Parameters
        ----------
        answers : sequence of sequences
            The items that were named, best first, one list per user; None or an empty list if the
            ranker refused. Names that are no candidates are passed over, and of an item that is
            named twice the first place counts; a warning says how often.
        candidates : sequence of sequences
            The candidates of each user, the target among them, each once.
        targets : sequence
            The target of each user.
        n_items : int or array-like of int
            Size of the pool that the other candidates were drawn from, plus one for the target.
        replacement : bool, optional
            Whether they were drawn with replacement. Assumed True if not given, with a warning
            where that matters.
        missing : {"censored", "last"}
            What is known of a target that is not named. ``"censored"``: its rank is one of those
            beyond the m candidates that were; nothing is known of it if none was. ``"last"``: it
            comes last, which is a decision about refusals, not an estimate.

        Returns
        -------
        RankCounts
            Outcomes ``rank <= m``, or one that stands for all ranks above m.

        Raises
        ------
        InputError
            If a target is not among its candidates, or a candidate comes twice.

        Warns
        -----
        AssumptionWarning
            If answers hold items that are no candidates, or items twice.

        Examples
        --------
        >>> candidates = [["a", "b", "c", "d"], ["a", "b", "c", "d"]]
        >>> answers = [["b", "a"], ["b", "a"]]
        >>> counts = tr.RankCounts.from_lists(answers, candidates, ["b", "d"], n_items=5000)
        >>> counts.n_users
        2.0
        >>> counts.sampled_rank.tolist(), counts.is_censored.tolist()
        ([1, 3], [False, True])
        """
        _arguments.check(Scored.from_lists, locals())
        named = _checks.several(answers, "answers")
        asked = _checks.several(candidates, "candidates")
        wanted = _checks.several(targets, "targets")
        if not len(named) == len(asked) == len(wanted):
            raise InputError(
                f"there are {len(named)} answers, {len(asked)} lists of candidates and "
                f"{len(wanted)} targets; give one of each per user"
            )
        if not named:
            raise InputError("answers is empty; there is nothing to count")
        read = [_place(*row) for row in enumerate(zip(named, asked, wanted, strict=True))]
        rank, seen, size, strange, twice = np.array(read, dtype=np.int64).T
        if strange.any() or twice.any():
            warnings.warn(
                f"of {len(read):,} answers {int((strange > 0).sum()):,} name items that are no "
                f"candidates ({int(strange.sum()):,} names) and {int((twice > 0).sum()):,} name "
                "items twice; such names were ignored",
                AssumptionWarning,
                stacklevel=2,
            )
        pool = _ranks.pool_sizes(n_items, rank.size)
        drawn = True if replacement is None else replacement
        if missing == "last":
            rank, seen = np.where(rank == 0, size, rank), size
        # Whose list lacks one candidate at most has a rank all the same.
        full = seen >= size - 1
        rank = np.where(rank > 0, rank, np.where(full, size, seen + 1))
        _ranks.check_outcomes(Scheme(replacement=drawn), pool, size, rank)
        if replacement is None:
            _ranks.warn_if_replacement_matters(size, pool)
        ends = np.where(full, -1, seen)
        distinct, code = np.unique(ends, return_inverse=True)
        return cls._build(
            [Scheme(replacement=drawn, seen=None if end < 0 else end) for end in distinct.tolist()],
            code.astype(np.int64),
            pool,
            size,
            rank,
            np.ones(rank.size),
        )


def _place(row: int, given: tuple[Any, Any, Any]) -> tuple[int, int, int, int, int]:
    """Rank of the target (0: not named), number of candidates named and in all, bad names."""
    answer, candidates, target = given
    if isinstance(candidates, (str, bytes)) or isinstance(answer, (str, bytes)):
        raise InputError(f"row {row} is a text; answers and candidates are lists of item ids")
    every, names = _list(row, "candidates", candidates), _list(row, "answer", answer)
    (target,) = _list(row, "target", [target])
    known = set(every)
    if len(known) < len(every):
        raise InputError(f"row {row}: a candidate occurs twice; candidates differ")
    if len(every) < 2:
        raise InputError(f"row {row} has {len(every)} candidates; ranking needs at least 2")
    if target not in known:
        raise InputError(f"row {row}: target {target!r} is not among its candidates")
    distinct = dict.fromkeys(name for name in names if name in known)
    order = list(distinct)
    rank = 1 + order.index(target) if target in distinct else 0
    strange = sum(name not in known for name in names)
    return rank, len(order), len(every), strange, len(names) - strange - len(order)


def _list(row: int, what: str, given: Any) -> list[Any]:
    """The item ids of a row; None of answers is a refusal."""
    try:
        items = [] if given is None and what == "answer" else list(given)
        set(items)
    except TypeError:
        raise InputError(
            f"row {row}: {what} is {_checks.shown(given)}; it must be a list of item ids, numbers "
            "or texts (an answer: None for a refusal)"
        ) from None
    return items


def _scores(values: Any, name: str, n_dimensions: int) -> npt.NDArray[Any]:
    """Scores with a given number of dimensions, without NaN; torch's tensors too."""
    if hasattr(values, "detach"):
        values = values.detach().cpu()
    try:
        scores = np.asarray(values)
    except (TypeError, ValueError):
        raise InputError(f"{name} has rows of different lengths") from None
    if scores.dtype.kind not in "fiub":
        raise InputError(f"{name} is of type {scores.dtype}; it must hold numbers")
    if scores.ndim != n_dimensions:
        wanted = "(n_rows,)" if n_dimensions == 1 else "(n_rows, num_negatives)"
        raise InputError(f"{name} has shape {scores.shape}; it must be {wanted}")
    if scores.dtype.kind == "f" and np.isnan(scores).any():
        at = np.argwhere(np.isnan(scores))[0].tolist()
        raise InputError(f"{name} is NaN at {at[0] if n_dimensions == 1 else tuple(at)}")
    return scores
