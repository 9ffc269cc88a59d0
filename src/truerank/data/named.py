"""The datasets of the papers, by name, from a folder that the user has, counted and checked."""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path

from truerank import _checks
from truerank.data.interactions import Interactions, LeaveOut, Split
from truerank.data.readers import Format, read, read_split, split_file
from truerank.errors import InputError

_PREPARED = (".parquet", ".csv", ".tsv")  # name.parquet and so on: all interactions, as counted


@dataclass(frozen=True)
class _Raw:
    """A file as its makers publish it, and how the papers' counts come out of it."""

    file: str
    format: Format | None = None
    min_rating: float | None = None
    min_items: int = 1  # of a user

    def read(self, folder: Path, name: str) -> Interactions:
        data = read(folder / self.file, format=self.format, min_rating=self.min_rating, name=name)
        data = data.distinct()
        return data if self.min_items == 1 else data.k_core(self.min_items, items=1)


@dataclass(frozen=True)
class _Named:
    n_interactions: int
    n_users: int
    n_items: int
    table: str  # where the counts are printed
    source: str  # where the data come from
    raw: tuple[_Raw, ...] = ()


_RATED = "github.com/hexiangnan/adversarial_personalized_ranking, Data/"

# Sparsity follows from the counts, and is what the tables print.
NAMED: dict[str, _Named] = {
    "ml-1m": _Named(
        1_000_209,
        6_040,
        3_706,
        table="JL21 table 5, LJ20 table 4",
        source="GroupLens, MovieLens 1M (ratings.dat): grouplens.org/datasets/movielens/1m",
        raw=(_Raw("ratings.dat", format="dat"), _Raw("ml-1m.inter")),
    ),
    "ml-20m": _Named(
        9_990_682,
        136_677,
        20_720,
        table="LJ24 table 2",
        source="GroupLens, MovieLens 20M (ratings.csv): grouplens.org/datasets/movielens/20m; "
        "ratings of 4 and more, users with at least 5 of them",
        raw=(
            _Raw("ratings.csv", min_rating=4.0, min_items=5),
            _Raw("ml-20m.inter", min_rating=4.0, min_items=5),
        ),
    ),
    "pinterest-20": _Named(
        1_463_581,
        55_187,
        9_916,
        table="JL21 table 5, LJ20 table 4, LJ24 table 2",
        source=f"{_RATED}pinterest-20.train.rating and pinterest-20.test.rating",
    ),
    "citeulike": _Named(
        204_986,
        5_551,
        16_980,
        table="JL21 table 5, LJ20 table 4",
        source="CiteULike-a (users.dat): github.com/js05212/citeulike-a",
        raw=(_Raw("users.dat", format="counted"),),
    ),
    "yelp": _Named(
        696_865,
        25_677,
        25_815,
        table="JL21 table 5, LJ20 table 4, LJ24 table 2",
        source=f"{_RATED}yelp.train.rating and yelp.test.rating",
    ),
    "book-x": _Named(
        786_690,
        11_325,
        139_331,
        table="LJ20 table 4",
        source="Book-Crossing (BX-Book-Ratings.csv): grouplens.org/datasets/book-crossing; the "
        "paper does not say how it was filtered, so bring it as filtered, as book-x.csv",
    ),
}


def load(
    name: str, folder: str | os.PathLike[str], *, how: LeaveOut | None = None, seed: int = 0
) -> Split:
    """A dataset of the papers from a folder, split, with users, items and interactions counted.

    The folder holds one of

    - a split: ``train`` and ``test`` files as for `read_split`, taken as it is;
    - all interactions as ``NAME.parquet``, ``NAME.csv`` or ``NAME.tsv``;
    - the file that the makers publish, for ml-1m, ml-20m and citeulike: filtered as the papers did.

    Parameters
    ----------
    name
        ``ml-1m``, ``ml-20m``, ``pinterest-20``, ``citeulike``, ``yelp`` or ``book-x``.
    how, seed
        As for `Interactions.leave_one_out`, unless the folder holds a split. ``how`` is ``"last"``
        if there are timestamps and ``"random"`` if not.
    """
    key = str(name).lower()
    if key not in NAMED:
        raise _checks.unknown("dataset", name, NAMED)
    dataset, place = NAMED[key], Path(folder)
    if not place.is_dir():
        raise InputError(f"{place} is no folder; it should hold {key}, from {dataset.source}")
    if split_file(place, "train", key) and split_file(place, "test", key):
        split = read_split(place, name=key)
        _check(split.whole.distinct(), dataset, place)
        return split
    data = _whole(key, dataset, place)
    _check(data, dataset, place)
    return data.leave_one_out(how or ("random" if data.timestamp is None else "last"), seed=seed)


def _whole(key: str, dataset: _Named, folder: Path) -> Interactions:
    sources = [*(_Raw(f"{key}{ending}") for ending in _PREPARED), *dataset.raw]
    for source in sources:
        if (folder / source.file).exists():
            return source.read(folder, key)
    raise InputError(
        f"{folder} does not hold {key}: looked for train and test files, "
        f"{', '.join(source.file for source in sources)}. Get it from {dataset.source}"
    )


def _check(data: Interactions, dataset: _Named, folder: Path) -> None:
    expected = (dataset.n_users, dataset.n_items, dataset.n_interactions)
    found = (data.n_users, data.n_items, len(data))
    if found != expected:
        raise InputError(
            f"{folder} does not hold {data.name} as the papers had it: {_counts(found)}; "
            f"{dataset.table}: {_counts(expected)}. The source was {dataset.source}. To use what "
            "you have, take tr.data.read or tr.data.read_split"
        )


def _counts(numbers: tuple[int, int, int]) -> str:
    return "{:,} users, {:,} items, {:,} interactions".format(*numbers)
