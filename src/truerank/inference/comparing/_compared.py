"""What `compare` is given: counts, results, tables or files, paired where they can be."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from truerank import _arguments, _checks
from truerank.errors import InputError
from truerank.outcomes import tables
from truerank.outcomes._columns import MAX_REPLICATES
from truerank.outcomes._tabular import SplitOptions
from truerank.outcomes.counts import RankCounts, is_saved
from truerank.outcomes.paired import (
    UNPAIRED,
    PairedCounts,
    check_several,
    is_saved_paired,
)

# Of tables.
OPTIONS = (
    "n_items",
    "sample_size",
    "num_negatives",
    "replacement",
    "ladder",
    "hits",
    "rank_among",
    "repeats",
    "shared_negatives",
    "columns",
    "zero_based",
    "drop_missing",
    "by",
)


@dataclass(frozen=True)
class Compared:
    """The counts of each model; their joint outcomes, or why there are none.

    ``by_blocks``: users have several targets, and counts tell which blocks of users are the same.
    """

    counts: dict[str, RankCounts]
    paired: PairedCounts | None
    why: str = ""
    by_blocks: bool = False


def read(models: Any, *, unpaired: bool, options: dict[str, Any], alone: bool = False) -> Compared:
    """Whatever `compare` takes; a single model only if it may be ``alone``."""
    for name in options:
        if name not in OPTIONS:
            raise _checks.unknown("option", name, OPTIONS)
    _arguments.check_options(SplitOptions, options)
    if isinstance(models, (str, os.PathLike)) and is_saved_paired(models):
        models = PairedCounts.load(models)
        options = {name: value for name, value in options.items() if name != "by"}
    if isinstance(models, PairedCounts):
        _no_options(options)
        return _of_paired(models, unpaired)
    if not isinstance(models, Mapping):
        models, options = _split(models, options)
    alone = alone and len(models) == 1
    if not alone:
        check_several(models)
    sources = {str(name): _open(source, str(name)) for name, source in models.items()}
    counted = {name: one for name, one in sources.items() if isinstance(one, RankCounts)}
    if len(counted) == len(sources):
        _no_options(options)
        return _of_counts(counted, "counts do not say which rank is whose", unpaired)
    columns = options.get("columns") or {}
    lacking = [
        name
        for name, one in sources.items()
        if not isinstance(one, RankCounts) and not (columns.get("user_id") or one.find("user_id"))
    ]
    several = not counted and any(_several(one, columns, options) for one in sources.values())
    if not (counted or lacking or unpaired or alone or several):
        return _of_paired(PairedCounts.from_tables(sources, **options), False)
    every = {
        name: one if isinstance(one, RankCounts) else RankCounts.from_table(one, **options)
        for name, one in sources.items()
    }
    why = (
        "there is one model"
        if alone
        else f"{lacking[0]} has no column user_id"
        if lacking
        else "users have several targets, whose places differ by model"
        if several
        else f"the counts of {next(iter(counted), '')} do not say which rank is whose"
    )
    return _of_counts(every, why, unpaired)


def _several(source: Any, columns: Mapping[str, str], options: Mapping[str, Any]) -> bool:
    """Whether a table of ranks has users with several targets."""
    user, item = (columns.get(role) or source.find(role) for role in ("user_id", "item_id"))
    if options.get("repeats") == "targets":
        return True
    if item is None or options.get("repeats") == "draws":
        return False
    users = source.values(user)
    if np.unique(users.astype(str)).size == users.size:
        return False
    pairs = set(zip(users.tolist(), source.values(item).tolist(), strict=True))
    return len(pairs) > len({user for user, _ in pairs})


def _of_paired(paired: PairedCounts, unpaired: bool) -> Compared:
    check_several(paired.models)
    counts = {model: paired[model] for model in paired.models}
    return Compared(counts, None, "as asked for") if unpaired else Compared(counts, paired)


def _of_counts(counts: dict[str, RankCounts], why: str, unpaired: bool) -> Compared:
    if not unpaired:
        first, *others = counts
        for other in others:
            _check_alike(counts[first], counts[other], first, other)
        if _same_blocks(list(counts.values())):
            return Compared(counts, None, by_blocks=True)
    return Compared(counts, None, "as asked for" if unpaired else why)


def _same_blocks(counts: list[RankCounts]) -> bool:
    """Whether there are as many users with several targets in each block of users."""
    if not all((one.block > 0).any() for one in counts):
        return False
    number = [
        np.bincount(one.block, one.weight / one.n_targets, MAX_REPLICATES + 1) for one in counts
    ]
    return all(np.allclose(one, number[0], rtol=1e-9) for one in number[1:])


def _check_alike(one: RankCounts, two: RankCounts, first: str, other: str) -> None:
    """Check that two counts can be of the same users, pools and schemes."""
    if _kinds(one) != _kinds(two):
        names = [" and ".join(scheme.name for scheme in c.schemes) for c in (one, two)]
        raise InputError(f"scheme is {names[0]} for {first} and {names[1]} for {other}; {UNPAIRED}")
    if not np.isclose(one.n_users, two.n_users, rtol=1e-9):
        raise InputError(
            f"{first} has {one.n_users:,.6g} users and {other} {two.n_users:,.6g}; {UNPAIRED}"
        )
    for name in ("n_items",) if one.adaptive else ("n_items", "sample_size"):
        here, there = (_weights(counts, name) for counts in (one, two))
        for value in sorted({*here, *there}):
            share = here.get(value, 0.0), there.get(value, 0.0)
            if not np.isclose(*share, rtol=1e-9):
                raise InputError(
                    f"{name} is {value} for {share[0]:,.6g} users of {first} and {share[1]:,.6g} "
                    f"of {other}; {UNPAIRED}"
                )


def _kinds(counts: RankCounts) -> set[object]:
    """Schemes; of adaptive ones only how items are drawn: a budget cuts ladders by the model.

    Of lists that end early, too: how early is up to the model.
    """
    return {
        scheme.replacement if scheme.adaptive else replace(scheme, seen=None)
        for scheme in counts.schemes
    }


def _weights(counts: RankCounts, name: str) -> dict[int, float]:
    """Weight of each value of a column."""
    value, at = np.unique(getattr(counts, name), return_inverse=True)
    return dict(zip(value.tolist(), np.bincount(at, counts.weight).tolist(), strict=True))


def _split(table: Any, options: dict[str, Any]) -> tuple[dict[str, tables.Table], dict[str, Any]]:
    """One table with a column that tells models apart."""
    options = dict(options)
    source = tables.read(table)
    by = options.pop("by", "model")
    if by == "model":  # or as the table spells it
        by = (options.get("columns") or {}).get("model") or source.find("model") or by
    return dict(source.split(by)), options


def _open(source: Any, name: str) -> RankCounts | tables.Table:
    if isinstance(source, RankCounts):
        return source
    if isinstance(found := getattr(source, "counts", None), RankCounts):
        return found  # of what evaluate and estimate give
    if isinstance(source, (str, os.PathLike)) and is_saved(source):
        return RankCounts.load(source)
    return tables.read(source, name=name)


def _no_options(options: Mapping[str, Any]) -> None:
    if options:
        raise InputError(f"{next(iter(options))} is given, but counts carry that; leave it out")
