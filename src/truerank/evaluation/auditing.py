"""Is this sampled evaluation sound? Plain findings with counts and remedies.

Whatever is at hand is looked at: negatives, test and training data, sampled ranks, scores.
"""

from __future__ import annotations

import os
import warnings
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from truerank import _arguments, _checks, estimators
from truerank._types import Level
from truerank.designs import FrozenNegatives
from truerank.errors import ConvergenceWarning, InputError
from truerank.evaluation import drawn
from truerank.evaluation.negatives import Negatives
from truerank.inference.fit_test import CHECK, IMPOSSIBLE, OTHER, UNFOLLOWED, FitTest, fit_test
from truerank.inference.intervals.fitting import fit_to
from truerank.inference.result import Result, plain
from truerank.outcomes._columns import dropped
from truerank.outcomes.counts import RankCounts
from truerank.scoring.task import interactions

# A finding of chance should be rare over a lifetime of audits.
_SIGNIFICANT = 1e-6


@dataclass(frozen=True)
class Finding:
    """One thing found.

    Attributes
    ----------
    level : {"error", "warning", "ok"}
        How bad it is.
    code : str
        A short name of it, for programs.
    message : str
        What was found, in a sentence.
    remedy : str
        What to do; empty if there is nothing to do.
    count : int
        How many rows or negatives it concerns.
    """

    level: Level
    code: str
    message: str
    remedy: str = ""
    count: int = 0

    def __str__(self) -> str:
        return f"{self.level}: {self.message}" + (f" {self.remedy}" if self.remedy else "")


@dataclass(frozen=True, repr=False)
class Audit(Result):
    """All findings of an audit, the worst first.

    Attributes
    ----------
    findings : tuple of Finding
        What was found, with what to do about it.

    Examples
    --------
    >>> found = tr.audit(scores=[[0.9, 0.1, 0.3], [0.5, 0.5, 0.2]])
    >>> found.sound
    False
    >>> print(found)
    warning: 1 of 2 targets tie with a negative. Use ties='spread'; ...
    ok: All scores are finite.
    ok: No row scores every item the same.
    """

    findings: tuple[Finding, ...]

    @property
    def sound(self) -> bool:
        """Whether nothing was found to be wrong.

        Returns
        -------
        bool
            False if there is a finding that is not "ok".
        """
        return all(finding.level == "ok" for finding in self.findings)

    def __iter__(self) -> Iterator[Finding]:
        return iter(self.findings)

    def rows(self) -> list[dict[str, Any]]:
        return [plain(finding) for finding in self.findings]

    def to_dict(self) -> dict[str, Any]:
        return {"sound": self.sound, "findings": self.rows()}

    def _shown(self) -> list[dict[str, str]]:
        return [
            {"level": one.level, "finding": one.message, "remedy": one.remedy}
            for one in self.findings
        ]

    def __repr__(self) -> str:
        return "\n".join(map(str, self.findings))


def audit(
    *,
    negatives: Any = None,
    test: Any = None,
    train: Any = None,
    counts: RankCounts | Mapping[str, RankCounts] | None = None,
    scores: Any = None,
    item_ids: Any = None,
) -> Audit:
    """Look for what goes wrong in sampled evaluations.

    Parameters
    ----------
    negatives : FrozenNegatives, table or dict of these, optional
        Frozen negatives, the path of a file of them (ours, NCF's, Elliot's, RecBole's), or a table
        with ``user_id``, ``item_id`` (the target) and ``negatives`` (a list); or a dict from models
        to such, which should all be the same.
    test : table or pair of arrays, optional
        Targets: ``user_id`` and ``item_id``, or (user_ids, item_ids).
    train : table or pair of arrays, optional
        Training data, in the same form.
    counts : RankCounts or dict of these, optional
        The sampled ranks; or a dict from models to theirs.
    scores : array, optional
        Scores of the target (column 0) and its negatives, shape (n_rows, sample_size).
    item_ids : array, optional
        All items of the catalogue, for the test of uniform sampling; by default those of train
        and test.

    Returns
    -------
    Audit
        Findings in plain sentences, the worst first; ``.sound`` if nothing is wrong.

    Examples
    --------
    >>> import pyarrow as pa
    >>> negatives = pa.table(
    ...     {"user_id": [0, 1], "item_id": [5, 6], "negatives": [[5, 7, 8], [1, 3, 2]]}
    ... )
    >>> print(next(iter(tr.audit(negatives=negatives))).message)
    1 target is among its own negatives: a target can only tie with itself.
    """
    _arguments.check(audit, locals())
    found: list[Finding] = []
    by_model = negatives if isinstance(negatives, Mapping) else {"": negatives}
    test_pairs = None if test is None else _pairs(test, "test")
    read = {
        name: read_negatives(value, test_pairs)
        for name, value in by_model.items()
        if value is not None
    }
    train_pairs = None if train is None else _pairs(train, "train")
    catalogue = _catalogue(item_ids, test_pairs, train_pairs)
    for name, value in read.items():
        found += _about_negatives(value, train_pairs, catalogue, f" of {name}" if name else "")
    if len(read) > 1:
        found.append(_same_negatives(read))
    if test_pairs is not None:
        found += _about_test(test_pairs, train_pairs, next(iter(read.values()), None))
    for name, one in _by_name(counts).items():
        found += about_ranks(one, f"{name}: " if name else "")
    if scores is not None:
        found += _about_scores(scores)
    if not found:
        raise InputError("nothing to audit; give negatives, test, counts or scores")
    order = {"error": 0, "warning": 1, "ok": 2}
    return Audit(tuple(sorted(found, key=lambda finding: order[finding.level])))


def _pairs(source: Any, name: str) -> tuple[npt.NDArray[Any], npt.NDArray[Any]]:
    """Users and items of a table, as ids."""
    users, items = interactions(source, name)
    return _checks.ids(users, f"user_id of {name}"), _checks.ids(items, f"item_id of {name}")


def read_negatives(
    source: Any, test: tuple[npt.NDArray[Any], npt.NDArray[Any]] | None = None
) -> Negatives:
    """Negatives from frozen ones or any table of them.

    Parameters
    ----------
    source : FrozenNegatives, Negatives, table or path
        With ``user_id``, ``item_id`` (the target) and ``negatives`` (a list); or a file of any kind
        that `truerank.designs.FrozenNegatives.read` reads.
    test : pair of arrays, optional
        Users and targets, for negatives that belong to users, whatever the target.

    Returns
    -------
    Negatives
        In CSR form.
    """
    if isinstance(source, Negatives):
        return source
    if isinstance(source, (str, os.PathLike)):
        # Repeated negatives are a finding, no error: take them as drawn with replacement.
        source = FrozenNegatives.read(source, replacement=True)
    if isinstance(source, FrozenNegatives):
        if source.by_user:
            return _with_targets(source, test)
        return Negatives(source.user_id, source.item_id, source.start, source.negative)
    from truerank.outcomes import tables

    frame = tables.read(source)
    columns = frame.find("user_id"), frame.find("item_id")
    if columns[0] is None or columns[1] is None:
        raise frame.missing("user_id and item_id")
    user, target = (
        _checks.ids(frame.values(column), f"{column} of {frame.name}")
        for column in (columns[0], columns[1])
    )
    whose = f"negatives of {frame.name}"
    lists = [_checks.ids(values, whose) for values in frame.values("negatives").tolist()]
    length = np.array([values.size for values in lists], dtype=np.int64)
    start = np.concatenate([[0], np.cumsum(length)])
    item = np.concatenate(lists) if lists else np.empty(0, dtype=np.int64)
    return Negatives(user, target, start, item)


def _with_targets(
    frozen: FrozenNegatives, test: tuple[npt.NDArray[Any], npt.NDArray[Any]] | None
) -> Negatives:
    """Negatives of users, one row per target of theirs."""
    if test is None:
        raise InputError(
            f"{frozen.path or 'negatives'} names no targets; give the test as well, whose targets "
            "were ranked among them"
        )
    users, targets = test
    order = np.argsort(frozen.user_id, kind="stable")
    at = np.minimum(np.searchsorted(frozen.user_id[order], users), order.size - 1)
    row = order[at]
    known = frozen.user_id[row] == users
    row = row[known]
    length = np.diff(frozen.start)[row]
    start = np.concatenate([[0], np.cumsum(length)])
    place = np.arange(start[-1]) + np.repeat(frozen.start[row] - start[:-1], length)
    return Negatives(users[known], targets[known], start, frozen.negative[place])


def _about_negatives(
    negatives: Negatives,
    train: tuple[npt.NDArray[Any], npt.NDArray[Any]] | None,
    catalogue: npt.NDArray[Any] | None,
    whose: str,
) -> Iterator[Finding]:
    row, item = negatives.row, negatives.item
    n_rows = negatives.user_id.size
    length = np.diff(negatives.start)
    sizes, users = np.unique(length, return_counts=True)
    if sizes.size > 1:
        common = sizes[np.argmax(users)]
        yield Finding(
            "warning",
            "sizes",
            f"{int((length != common).sum())} of {n_rows} targets{whose} have other than {common} "
            f"negatives ({sizes[0]} to {sizes[-1]}).",
            "Give sample_size per row; one n for all biases the correction.",
            int((length != common).sum()),
        )
    codes = np.unique(np.concatenate([item, negatives.target]), return_inverse=True)[1]
    code, target = codes[: item.size], codes[item.size :]
    pair = row * (int(codes.max(initial=0)) + 1) + code
    twice = int(pair.size - np.unique(pair).size)
    yield _count(
        twice, "warning", "duplicates",
        f"{twice} of {item.size} negatives{whose} repeat another one of the same target.",
        "Say replacement=True if they were drawn so; draw without replacement otherwise.",
        f"No negative{whose} is repeated.",
    )  # fmt: skip
    own = int((code == target[row]).sum())
    yield _count(
        own, "error", "targets",
        f"{_say(own, f'target{whose} is among its', f'targets{whose} are among their')} own "
        "negatives: a target can only tie with itself.",
        "Leave the target out of the draw, or drop them: Frozen(negatives, drop_targets=True).",
        f"No target{whose} is among its negatives.",
    )  # fmt: skip
    if train is not None:
        seen = _among(negatives.user_id[row], item, *train)
        yield _count(
            seen, "error", "training-items",
            f"{seen} of {item.size} negatives{whose} ({100 * seen / max(item.size, 1):.1f} %) are "
            "training items of their user, which a model ranks high.",
            "Leave training items out of the draw, and out of n_items.",
            f"No negative{whose} is a training item of its user.",
        )  # fmt: skip
    if catalogue is not None and item.size:
        lost = ~np.isin(item, catalogue)
        if lost.any():
            yield Finding(
                "error",
                "unknown-items",
                _say(int(lost.sum()), f"negative{whose} is", f"negatives{whose} are")
                + " not in the catalogue.",
                "Check that negatives and data use the same ids.",
                int(lost.sum()),
            )
        else:
            yield _how_drawn(negatives, catalogue, train, whose)


def _how_drawn(
    negatives: Negatives,
    catalogue: npt.NDArray[Any],
    train: tuple[npt.NDArray[Any], npt.NDArray[Any]] | None,
    whose: str,
) -> Finding:
    """Whether negatives were drawn uniformly; if not, by popularity or in another way."""
    found = drawn.look(negatives, catalogue, train)
    if found is None:
        return Finding("ok", "uniform", f"Too few negatives{whose} to tell how they were drawn.")
    if found.p_value >= _SIGNIFICANT or found.spread < drawn.NEGLIGIBLE:
        return Finding("ok", "uniform", f"Negatives{whose} look uniform over the catalogue.")
    remedy = (
        "Draw negatives uniformly; if these were drawn with replacement by probabilities that are "
        "known, give them: Frozen(negatives, probability=...)."
    )
    chance = f"(p = {found.p_value:.0e})"
    if found.by_popularity:
        how = "more" if found.alpha > 0 else "less"
        return Finding(
            "error",
            "popularity-sampled",
            f"Negatives{whose} are not drawn uniformly: popular items are drawn {how} often, about "
            f"as by (count + 1)^{found.alpha:.2f}; the most popular twentieth of items is drawn "
            f"{found.lift:.1f} times as often as it would be {chance}.",
            remedy,
            found.excess,
        )
    never = f"; {found.never:,} items that should occur never do" if found.never else ""
    return Finding(
        "error",
        "not-uniform",
        f"Negatives{whose} are not drawn uniformly, nor by popularity: how often items are drawn "
        f"varies by {100 * found.spread:.0f} % beyond chance{never} {chance}.",
        remedy,
        found.excess,
    )


def _same_negatives(read: Mapping[str, Negatives]) -> Finding:
    (first_name, first), *others = read.items()
    reference = _by_target(first)
    for name, other in others:
        mine = _by_target(other)
        shared = reference.keys() & mine.keys()
        differing = sum(reference[key] != mine[key] for key in shared)
        missing = len(reference.keys() ^ mine.keys())
        if differing or missing:
            return Finding(
                "warning",
                "negatives-differ",
                f"{first_name} and {name} met different negatives for {differing} of "
                f"{len(shared)} shared targets"
                + (f", and {missing} targets occur in one only." if missing else "."),
                "Freeze the negatives so that every model meets the same: comparisons get sharper.",
                differing + missing,
            )
    return Finding("ok", "negatives-differ", f"All {len(read)} models met the same negatives.")


def _by_target(negatives: Negatives) -> dict[tuple[Any, Any], tuple[Any, ...]]:
    pieces = np.split(negatives.item, negatives.start[1:-1])
    keys = zip(negatives.user_id.tolist(), negatives.target.tolist(), strict=True)
    return {key: tuple(sorted(piece.tolist())) for key, piece in zip(keys, pieces, strict=True)}


def _about_test(
    test: tuple[npt.NDArray[Any], npt.NDArray[Any]],
    train: tuple[npt.NDArray[Any], npt.NDArray[Any]] | None,
    negatives: Negatives | None,
) -> Iterator[Finding]:
    user, item = test
    yield from _about_targets(user, item)
    if train is not None:
        new = ~np.isin(user, train[0])
        yield _count(
            int(new.sum()), "warning", "unknown-users",
            f"{_say(int(new.sum()), 'test row is', 'test rows are')} of users without training "
            "data.",
            "Their scores say nothing of personalisation; report them apart.",
            "Every test user has training data.",
        )  # fmt: skip
        fresh = ~np.isin(item, train[1])
        yield _count(
            int(fresh.sum()), "warning", "unknown-items",
            f"{_say(int(fresh.sum()), 'target never occurs', 'targets never occur')} in training.",
            "Most models rank them by chance or last; they count in the averages all the same.",
            "Every target occurs in training.",
        )  # fmt: skip
        both = _among(user, item, *train)
        yield _count(
            both, "error", "targets-in-training",
            f"{_say(both, 'target is', 'targets are')} among their user's own training items.",
            "Split again, or remove them from one side.",
            "No target is a training item of its user.",
        )  # fmt: skip
    if negatives is not None:
        missing = ~np.isin(user, negatives.user_id)
        yield _count(
            int(missing.sum()), "error", "users-without-negatives",
            f"{_say(int(missing.sum()), 'test row is', 'test rows are')} of users without "
            "negatives.",
            "Draw negatives for them or drop them on both sides.",
            "Every test user has negatives.",
        )  # fmt: skip


def _about_targets(user: npt.NDArray[Any], item: npt.NDArray[Any]) -> Iterator[Finding]:
    """How many targets users have, and whether any is listed twice."""
    users = np.unique(user, return_inverse=True)[1]
    items = np.unique(item, return_inverse=True)[1]
    pairs = np.unique(users * (int(items.max(initial=0)) + 1) + items)
    twice = user.size - pairs.size
    yield _count(
        twice, "error", "targets-twice",
        f"{twice} test rows repeat a user and item that the test has already.",
        "Drop the repeats: a target stands in the list once.",
        "No target is listed twice.",
    )  # fmt: skip
    number = np.bincount(users)
    if (number > 1).any():
        yield Finding("ok", "several-targets", several(number.min(), number.max(), number.mean()))


def several(least: int, most: int, mean: float) -> str:
    """The sentence on users with several targets."""
    return (
        f"Users have {least:,} to {most:,} targets ({mean:.3g} on average): all of a user's stand "
        "in one list, and metrics are means over users."
    )


def _by_name(counts: RankCounts | Mapping[str, RankCounts] | None) -> dict[str, RankCounts]:
    """Counts by model; those of a single one under ""."""
    if counts is None or isinstance(counts, RankCounts):
        return {} if counts is None else {"": counts}
    for name, one in counts.items():
        if not isinstance(one, RankCounts):
            raise InputError(f"counts of {name} is {_checks.shown(one)}; it must be RankCounts")
    return {str(name): one for name, one in counts.items()}


def about_ranks(
    counts: RankCounts, whose: str = "", known: FitTest | None = None
) -> Iterator[Finding]:
    """Can the sampled ranks come from uniform draws at all? A law must fit them.

    Parameters
    ----------
    counts : RankCounts
        The sampled ranks.
    whose : str
        What findings begin with.
    known : FitTest, optional
        The test of a fit of smooth, if there was one already.

    Yields
    ------
    Finding
        About ranks that are missing, users with several targets, and the test.
    """
    if counts.n_dropped:
        yield Finding(
            "warning",
            "missing-ranks",
            f"{whose}{dropped(counts.n_dropped)}.",
            "Find out why: where the model did not find the target, leaving it out flatters it.",
            counts.n_dropped,
        )
    if (counts.n_targets > 1).any():
        least, most = int(counts.n_targets.min()), int(counts.n_targets.max())
        said = several(least, most, counts.targets_per_user)
        yield Finding("ok", "several-targets", f"{whose}{said}")
        counts = counts.single()
    found = known or _tested(counts)
    chance = f" (chi-square p = {found.p_value:.0e})."
    if found.fits:
        yield Finding("ok", "ranks", f"{whose}{found.verdict}")
    elif found.verdict.startswith(IMPOSSIBLE):
        yield Finding("error", "ranks", whose + IMPOSSIBLE[:-1] + chance, CHECK)
    else:
        yield Finding("warning", "ranks", whose + UNFOLLOWED[:-1] + chance, OTHER)


def _tested(counts: RankCounts) -> FitTest:
    smooth = estimators.Smooth()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        fit = fit_to(counts, smooth, [], "auto", "plain")
    return fit_test(counts, smooth, fit)


def _about_scores(scores: Any) -> Iterator[Finding]:
    array = _checks.as_array(scores, "scores")
    if array.ndim != 2 or array.shape[1] < 2 or array.dtype.kind not in "iuf":
        raise InputError(f"scores has shape {array.shape}; expected (n_rows, sample_size) numbers")
    finite = np.isfinite(array).all(axis=1)
    bad = int((~finite).sum())
    yield _count(
        bad, "error", "not-finite",
        f"{bad} of {array.shape[0]} rows have NaN or infinite scores.",
        "Mend the scorer: such scores cannot be ranked.",
        "All scores are finite.",
    )  # fmt: skip
    rest = array[finite]
    constant = int((rest == rest[:, :1]).all(axis=1).sum())
    tied = int((rest[:, 1:] == rest[:, :1]).any(axis=1).sum())
    yield _count(
        constant, "error", "constant",
        f"{constant} of {array.shape[0]} rows score every item the same.",
        "Counting ties as hits makes such a model look perfect: use ties='spread'.",
        "No row scores every item the same.",
    )  # fmt: skip
    yield _count(
        tied, "warning", "ties",
        f"{tied} of {array.shape[0]} targets tie with a negative.",
        "Use ties='spread'; breaking ties in the target's favour inflates every metric.",
        "No target ties with a negative.",
    )  # fmt: skip


def _count(count: int, level: Level, code: str, message: str, remedy: str, fine: str) -> Finding:
    return Finding(level, code, message, remedy, count) if count else Finding("ok", code, fine)


def _say(count: int, one: str, more: str) -> str:
    """A number with its noun and verb."""
    return f"{count:,} {one if count == 1 else more}"


def _among(
    user: npt.NDArray[Any],
    item: npt.NDArray[Any],
    train_user: npt.NDArray[Any],
    train_item: npt.NDArray[Any],
) -> int:
    """How many (user, item) pairs are among the training pairs."""
    users = np.unique(np.concatenate([user, train_user]), return_inverse=True)[1]
    items = np.unique(np.concatenate([item, train_item]), return_inverse=True)[1]
    pair = users * (int(items.max(initial=0)) + 1) + items
    return int(np.isin(pair[: user.size], pair[user.size :]).sum())


def _catalogue(
    item_ids: Any, *pairs: tuple[npt.NDArray[Any], npt.NDArray[Any]] | None
) -> npt.NDArray[Any] | None:
    if item_ids is not None:
        return np.unique(_checks.ids(item_ids, "item_ids"))
    known: Iterable[npt.NDArray[Any]] = [pair[1] for pair in pairs if pair is not None]
    found = list(known)
    # Without training data the items of a test alone are no catalogue.
    return np.unique(np.concatenate(found)) if len(found) == 2 else None
