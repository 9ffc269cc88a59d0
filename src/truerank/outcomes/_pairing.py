"""Which rows of several models are those of one user, and whether they were ranked alike."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import Any

import numpy as np
import numpy.typing as npt

from truerank._types import IntArray
from truerank.errors import InputError
from truerank.outcomes import _ranks
from truerank.outcomes._ranks import Units

UNPAIRED = "compare on the same users, pools and scheme, or say unpaired=True"


def check_several(models: Iterable[str]) -> None:
    """Raise unless there are at least two models."""
    names = list(models)
    if len(names) < 2:
        raise InputError(f"models are {', '.join(names) or 'none'}; a comparison needs two or more")


def distinct_pairs(
    models: tuple[str, ...], pairs: Iterable[tuple[str, str]]
) -> tuple[tuple[str, str], ...]:
    """The pairs, if each is of two of the models and none comes twice."""
    found = tuple((str(first), str(second)) for first, second in pairs)
    for pair in found:
        if len({*pair} & {*models}) < 2:
            raise InputError(f"pair is {pair}; the models are {', '.join(models)}")
    if len({frozenset(pair) for pair in found}) < len(found):
        raise InputError(f"pairs are {found}; each pair of models is given once")
    return found


def check_joint(
    models: tuple[str, ...],
    pairs: tuple[tuple[str, str], ...],
    joint: IntArray,
    sample_size: IntArray,
    sampled_rank: IntArray,
    tied: IntArray,
) -> None:
    """Raise where joint counts and the outcomes of the two models cannot both be right."""
    if joint.shape != (sampled_rank.shape[0], len(pairs), 3, 3):
        raise InputError(
            f"joint has shape {joint.shape}; expected ({sampled_rank.shape[0]}, {len(pairs)}, 3, 3)"
        )
    if (joint < 0).any() or (tied < 0).any():
        raise InputError("joint counts are below 0; they are numbers of negatives")
    worst = sampled_rank + tied
    if (worst > sample_size).any():
        row = int(np.argmax((worst > sample_size).any(axis=1)))
        raise InputError(
            f"at row {row} sampled_rank and tied add up to {worst[row].tolist()}, more than "
            f"sample_size={sample_size[row].tolist()}"
        )
    for at, (first, second) in enumerate(pairs):
        i, j = models.index(first), models.index(second)
        common = np.minimum(sample_size[:, i], sample_size[:, j]) - 1
        table = joint[:, at]
        off = table.sum(axis=(1, 2)) != common
        if off.any():
            row = int(np.argmax(off))
            raise InputError(
                f"joint counts of {first} and {second} at row {row} are of {table[row].sum()} "
                f"negatives; the smaller sample has {common[row]}"
            )
        for model, axis in ((i, 2), (j, 1)):
            above, same, _ = table.sum(axis=axis).T
            whole = sample_size[:, model] - 1 == common
            off = (above >= worst[:, model]) & whole
            off |= (above + same < sampled_rank[:, model] - 1) & whole
            off |= above > worst[:, model] - 1
            if off.any():
                row = int(np.argmax(off))
                raise InputError(
                    f"joint counts put {above[row]} negatives above the target by "
                    f"{models[model]} at row {row}, where sampled_rank is "
                    f"{sampled_rank[row, model]} and tied {tied[row, model]}"
                )


def keys(models: Mapping[str, dict[str, Any]], found: Mapping[str, Units]) -> dict[str, IntArray]:
    """The user, or (user, item), of each unit as one number, the same in every model."""
    user = _common_codes({model: ranks["user_ids"] for model, ranks in models.items()}, "user_id")
    items = {model: ranks["item_ids"] for model, ranks in models.items()}
    without = [model for model, ids in items.items() if ids is None]
    if without and len(without) < len(items):
        raise InputError(
            f"{without[0]} has no column item_id, others have; targets are matched by it"
        )
    if not without:
        item = _common_codes(items, "item_id")
        n_items = 1 + max(int(codes.max()) for codes in item.values())
        user = {model: user[model] * n_items + item[model] for model in models}
    return {model: user[model][units.row] for model, units in found.items()}


def _common_codes(ids: Mapping[str, npt.NDArray[Any]], name: str) -> dict[str, IntArray]:
    """Ids as integers, equal ones alike in every model."""
    text = {model: array.dtype.kind in "OUS" for model, array in ids.items()}
    if len(set(text.values())) > 1:
        kinds = " and ".join(f"{ids[model].dtype} in {model}" for model in ids)
        raise InputError(f"{name} is {kinds}; ids of one kind can be matched")
    joined = np.concatenate(list(ids.values()))
    codes = _ranks.codes(joined, name, joined.size)
    ends = np.cumsum([array.size for array in ids.values()])[:-1]
    return dict(zip(ids, np.split(codes, ends), strict=True))


def in_order(units: Units, order: IntArray) -> Units:
    names = ("row", "n_items", "sample_size", "sampled_rank", "weight")
    return replace(units, **{name: getattr(units, name)[order] for name in names})


def check_one_target(found: Mapping[str, Units]) -> None:
    """Raise where users have several targets: their places differ by model."""
    for model, units in found.items():
        n_targets = units.targets.get("n_targets")
        if n_targets is not None and (n_targets > 1).any():
            raise InputError(
                f"users of {model} have up to {int(n_targets.max())} targets; paired counts are "
                "for one target per user: count each model on its own and compare those counts"
            )


def check_same_users(
    models: Mapping[str, dict[str, Any]],
    found: Mapping[str, Units],
    key: Mapping[str, IntArray],
    first: str,
    other: str,
) -> None:
    for here, there in ((first, other), (other, first)):
        alone = ~np.isin(key[here], key[there])
        if alone.any():
            user = models[here]["user_ids"][found[here].row[np.argmax(alone)]]
            what = "users" if models[here]["item_ids"] is None else "targets"
            raise InputError(
                f"{int(alone.sum()):,} of the {alone.size:,} {what} of {here} are not in {there}, "
                f"such as user {user}; {UNPAIRED}"
            )


def check_same_design(one: Units, two: Units, first: str, other: str) -> None:
    """Raise where the models were not ranked alike; a budget cuts ladders by the model."""
    kinds = [(s.replacement, s.adaptive) for s in (one.scheme, two.scheme)]
    if kinds[0] != kinds[1]:
        raise InputError(
            f"scheme is {one.scheme.name} for {first} and {two.scheme.name} for {other}; {UNPAIRED}"
        )
    names = ["n_items", "weight"] if one.scheme.adaptive else ["n_items", "sample_size", "weight"]
    for name in names:
        here, there = getattr(one, name), getattr(two, name)
        if (here != there).any():
            at = int(np.argmax(here != there))
            raise InputError(
                f"{name} is {here[at]:g} for {first} and {there[at]:g} for {other} at the user of "
                f"row {int(one.row[at])} of {first}; {UNPAIRED}"
            )
