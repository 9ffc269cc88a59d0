"""From files and options to RankCounts, for every command that reads ranks."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from truerank import _files
from truerank.cli._samples import RanksInput
from truerank.errors import InputError

if TYPE_CHECKING:
    from truerank.outcomes.counts import RankCounts
    from truerank.outcomes.paired import PairedCounts

BY_FILE = "file"


def read(files: Sequence[Path], given: RanksInput) -> RankCounts:
    """The counts of the files, all of one model, added up."""
    check_files(files, given)
    if len(files) > 1:
        _check_one_model(files, given)
    counts = [_read_file(path, given) for path in files]
    return sum(counts[1:], start=counts[0])


def read_by(files: Sequence[Path], given: RanksInput, by: str) -> dict[str, RankCounts]:
    """The counts of each value of the column ``by``, over all files; "file": of each file."""
    check_files(files, given)
    if by == BY_FILE:
        return {name: _read_file(path, given) for name, path in names(files).items()}
    found: dict[str, RankCounts] = {}
    for path in files:
        for name, counts in _split_file(path, given, by).items():
            found[name] = found[name] + counts if name in found else counts
    return found


def _read_file(path: Path, given: RanksInput) -> RankCounts:
    from truerank.outcomes.counts import RankCounts, is_saved
    from truerank.outcomes.paired import is_saved_paired

    with _naming(path):
        if is_saved_paired(path):
            raise InputError("it holds paired counts of several models; say --by model")
        return RankCounts.load(path) if is_saved(path) else _from_table(path, given)


def _from_table(path: Path, given: RanksInput) -> RankCounts:
    from truerank.outcomes.counts import RankCounts

    if given.negatives is not None:
        return _among_frozen(path, given.negatives, given)
    return RankCounts.from_table(path, **given.said())


def _among_frozen(path: Path, negatives: Path, given: RanksInput) -> RankCounts:
    """Ranks among the negatives of a file, which says how many each target was ranked among."""
    import numpy as np
    import pyarrow as pa

    from truerank.designs import FrozenNegatives
    from truerank.outcomes import _ranks, tables
    from truerank.outcomes._tabular import Reading
    from truerank.outcomes.counts import RankCounts

    said = given.said()
    for option in ("sample_size", "num_negatives", "ladder"):
        if option in said:
            raise InputError(
                f"--{option.replace('_', '-')} is given, but --negatives says how many negatives "
                "each target was ranked among; leave it out"
            )
    frozen = FrozenNegatives.read(negatives, replacement=bool(given.replacement))
    length = np.diff(frozen.start)
    keys = [frozen.user_id.astype(str)]
    if not frozen.by_user:
        keys.append(frozen.item_id.astype(str))
        if given.drop_targets:
            row = np.repeat(np.arange(frozen.n_rows), length)
            length = length - np.bincount(
                row, frozen.negative == frozen.item_id[row], minlength=frozen.n_rows
            ).astype(np.int64)
    known = dict(zip(zip(*map(np.ndarray.tolist, keys), strict=True), length.tolist(), strict=True))
    table = tables.read(path)
    columns = said.pop("columns", None)
    reading = Reading(columns, {}, {}, bool(said.pop("drop_missing", False)))
    table, n_dropped = reading.ranked(table)
    names = {
        role: name
        for role in ("sampled_rank", "user_id", "item_id", "n_items", "weight")
        if (name := tables.column_name(table, role, columns)) is not None
    }
    needed = (
        ("sampled_rank", "user_id") if frozen.by_user else ("sampled_rank", "user_id", "item_id")
    )
    for role in needed:
        if role not in names:
            raise table.missing(role)
    found = {role: table.values(name) for role, name in names.items()}
    asked = [found[role].astype(str).tolist() for role in needed[1:]]
    sizes = [known.get(key) for key in zip(*asked, strict=True)]
    if None in sizes:
        raise InputError(
            f"{sizes.count(None)} targets have no negatives in {negatives} (the first: user "
            f"{found['user_id'][sizes.index(None)]})"
        )
    found["num_negatives"] = np.array(sizes, dtype=np.int64)
    said.setdefault("replacement", frozen.replacement)
    counts = RankCounts.from_table(table.like(pa.table(found)), **said)
    _ranks.warn_if_dropped(n_dropped, str(path))
    return replace(counts, n_dropped=n_dropped)


def _split_file(path: Path, given: RanksInput, by: str) -> dict[str, RankCounts]:
    from truerank.outcomes.counts import RankCounts, is_saved
    from truerank.outcomes.paired import PairedCounts, is_saved_paired

    with _naming(path):
        if is_saved_paired(path):
            if by != "model":
                raise InputError(f"paired counts have no column {by}; --by model tells models")
            paired = PairedCounts.load(path)
            return {model: paired[model] for model in paired.models}
        if is_saved(path):
            raise InputError(f"saved counts have no column {by}; with --by file each is a model")
        named = columns_of(by, given)
        return RankCounts.by_model(path, by=named if len(named) > 1 else named[0], **given.said())


def columns_of(by: str, given: RanksInput) -> list[str]:
    """The columns that ``--by`` names, as the files spell them."""
    return [(given.columns or {}).get(name, name) for name in map(str.strip, by.split(","))]


def told_apart(files: Sequence[Path], given: RanksInput, by: str | None) -> set[Path]:
    """The files that have the columns that ``--by`` names; an error if none has."""
    from truerank.outcomes import _large, tables
    from truerank.outcomes.counts import is_saved
    from truerank.outcomes.paired import is_saved_paired

    if by is None:
        return set()
    wanted = {name.lower() for name in columns_of(by, given)}
    apart: set[Path] = set()
    unreadable: InputError | None = None
    for path in files:
        names = ["model"] if is_saved_paired(path) else []
        try:
            if (large := _large.find(path)) is not None:
                names = large.empty.columns
            elif not names and tables.reads(path) and not is_saved(path):
                names = tables.read(path).columns
        except InputError as error:  # no table: negatives of other tools are none
            unreadable = error
        if wanted <= {name.strip().lower() for name in names}:
            apart.add(path)
    if not apart:
        where = " or ".join(map(str, files)) or "--test, which knows no models"
        raise unreadable or InputError(f"--by is {by}, which is no column of {where}; leave it out")
    return apart


def check_files(files: Sequence[Path], given: RanksInput) -> None:
    """Nothing counts twice, and no option is without effect."""
    from truerank.outcomes.counts import is_saved
    from truerank.outcomes.paired import is_saved_paired

    _check_distinct(files)
    said = given.said()
    if said and all(is_saved(path) or is_saved_paired(path) for path in files):
        option = "--" + next(iter(said)).replace("_", "-")
        raise InputError(f"{option} is given, but {files[0]} holds saved counts, which carry that")


def _check_distinct(files: Sequence[Path]) -> None:
    seen: set[Any] = set()
    for path in files:
        if (identity := _files.identity(path)) in seen:
            raise InputError(f"{path} is given twice")
        seen.add(identity)


def _check_one_model(files: Sequence[Path], given: RanksInput) -> None:
    from truerank.outcomes import _large, tables
    from truerank.outcomes.counts import is_saved
    from truerank.outcomes.paired import is_saved_paired

    models: dict[str, Path] = {}
    for path in files:
        if not (is_saved(path) or is_saved_paired(path)):
            large = _large.find(path)
            source = tables.read(path) if large is None else large.empty
            column = (given.columns or {}).get("model") or source.find("model")
            if column:
                values = source.values(column).tolist() if large is None else large.values(column)
                models |= {str(value): path for value in values}
    if len(models) > 1:
        raise InputError(
            f"the files hold several models ({', '.join(models)}) and files are added up; "
            "keep them apart with --by model"
        )


def models(
    files: Sequence[Path], by: str | None, given: RanksInput, *, alone: bool = False
) -> tuple[Any, dict[str, Any]]:
    """Files by model, or the one that holds all, and the options that tables need.

    A single file that tells no models apart is an error, unless a model may be ``alone``. Files of
    paired counts hold all models each and add up.
    """
    options = given.said()
    if (paired := _paired(files)) is not None:
        if by not in (None, "model"):
            raise InputError(f"--by is {by}, but paired counts tell models apart; leave it out")
        return paired, {}
    if by is None and len(files) > 1:
        return names(files), options
    if len(files) > 1:
        raise InputError(f"--by is {by}, but there are {len(files)} files; give one that holds all")
    if by is None and not _tells_models(files[0], given):
        if alone:
            return names(files), options
        raise InputError(
            f"{files[0]} is one file without a column model; give a file for each model, or "
            "say with --by which column tells models apart"
        )
    by = by or "model"
    return files[0], {**options, "by": (given.columns or {}).get(by, by)}


def _paired(files: Sequence[Path]) -> PairedCounts | None:
    """The paired counts of files that hold such, added up; None if none does."""
    from truerank.outcomes.paired import PairedCounts, is_saved_paired

    kinds = [is_saved_paired(path) for path in files]
    if not any(kinds):
        return None
    if not all(kinds):
        other = files[kinds.index(False)]
        raise InputError(
            f"{files[kinds.index(True)]} holds paired counts of several models and {other} does "
            "not; give files of one kind"
        )
    found = [PairedCounts.load(path) for path in files]
    return sum(found[1:], start=found[0])


def _tells_models(path: Path, given: RanksInput) -> bool:
    from truerank.outcomes import _large, tables
    from truerank.outcomes.counts import is_saved

    if is_saved(path):
        return False
    if (given.columns or {}).get("model"):
        return True
    large = _large.find(path)
    return (tables.read(path) if large is None else large.empty).find("model") is not None


def names(files: Sequence[Path]) -> dict[str, Path]:
    """Files by their short names; those that would share one by their paths."""
    _check_distinct(files)
    short = {
        path.with_suffix("").stem if path.suffix == ".gz" else path.stem: path for path in files
    }
    return short if len(short) == len(files) else {str(path): path for path in files}


@contextlib.contextmanager
def _naming(path: Path) -> Iterator[None]:
    """Say in which file the input cannot be used."""
    try:
        yield
    except InputError as error:
        if str(path) in str(error):
            raise
        raise InputError(f"{path}: {error}") from error
