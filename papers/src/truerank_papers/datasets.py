"""The datasets of the papers by name: read from a folder, with their sizes checked.

Nothing is downloaded.
"""

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
    """A file as its makers publish it, and the filter that gives the papers' sizes.

    Parameters
    ----------
    file
        Name of the file.
    format
        As for `truerank.data.read`; by default told by ending and content.
    min_rating
        Smallest rating of the rows that are kept.
    min_items
        Smallest number of items of the users that are kept.
    """

    file: str
    format: Format | None = None
    min_rating: float | None = None
    min_items: int = 1

    def read(self, folder: Path, name: str) -> Interactions:
        """Read and filter the file; distinct pairs only."""
        data = read(folder / self.file, format=self.format, min_rating=self.min_rating, name=name)
        data = data.distinct()
        return data if self.min_items == 1 else data.k_core(self.min_items, items=1)


@dataclass(frozen=True)
class Dataset:
    """A dataset as the papers have it.

    Parameters
    ----------
    n_interactions, n_users, n_items
        Numbers of distinct pairs, of users and of items, as printed.
    table
        The tables that print them.
    source
        Where the data come from.
    raw
        Files of its makers that it can be read from.
    """

    n_interactions: int
    n_users: int
    n_items: int
    table: str
    source: str
    raw: tuple[_Raw, ...] = ()


_RATED = "github.com/hexiangnan/adversarial_personalized_ranking, Data/"

# Sparsity follows from the counts, and is what the tables print.
NAMED: dict[str, Dataset] = {
    "ml-1m": Dataset(
        1_000_209,
        6_040,
        3_706,
        table="JL21 table 5, LJ20 table 4",
        source="GroupLens, MovieLens 1M (ratings.dat): grouplens.org/datasets/movielens/1m",
        raw=(_Raw("ratings.dat", format="dat"), _Raw("ml-1m.inter")),
    ),
    "ml-20m": Dataset(
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
    "pinterest-20": Dataset(
        1_463_581,
        55_187,
        9_916,
        table="JL21 table 5, LJ20 table 4, LJ24 table 2",
        source=f"{_RATED}pinterest-20.train.rating and pinterest-20.test.rating",
    ),
    "citeulike": Dataset(
        204_986,
        5_551,
        16_980,
        table="JL21 table 5, LJ20 table 4",
        source="CiteULike-a (users.dat): github.com/js05212/citeulike-a",
        raw=(_Raw("users.dat", format="counted"),),
    ),
    "yelp": Dataset(
        696_865,
        25_677,
        25_815,
        table="JL21 table 5, LJ20 table 4, LJ24 table 2",
        source=f"{_RATED}yelp.train.rating and yelp.test.rating",
    ),
    "book-x": Dataset(
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
    """Read a dataset of the papers from a folder, check its size, and split it.

    The folder holds one of

    - a split: ``train`` and ``test`` files as for `truerank.data.read_split`, taken as it is;
    - all interactions as ``NAME.parquet``, ``NAME.csv`` or ``NAME.tsv``;
    - the file that the makers publish, for ml-1m, ml-20m and citeulike: filtered as the papers did.

    Parameters
    ----------
    name
        ``ml-1m``, ``ml-20m``, ``pinterest-20``, ``citeulike``, ``yelp`` or ``book-x``.
    folder
        Where the files are.
    how
        Which interaction of a user is held out, ``"last"`` or ``"random"``, unless the folder holds
        a split. By default ``"last"`` if there are timestamps and ``"random"`` if not.
    seed
        Seed of the split, as for `truerank.data.Interactions.leave_one_out`.

    Returns
    -------
    Split
        Training and held-out interactions.

    Raises
    ------
    InputError
        If the folder does not hold the dataset, or if users, items and interactions are not as
        many as the papers print.

    Examples
    --------
    >>> NAMED["ml-1m"].n_users, NAMED["ml-1m"].n_items  # what is checked
    (6040, 3706)
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


def _whole(key: str, dataset: Dataset, folder: Path) -> Interactions:
    sources = [*(_Raw(f"{key}{ending}") for ending in _PREPARED), *dataset.raw]
    for source in sources:
        if (folder / source.file).exists():
            return source.read(folder, key)
    raise InputError(
        f"{folder} does not hold {key}: looked for train and test files, "
        f"{', '.join(source.file for source in sources)}. Get it from {dataset.source}"
    )


def _check(data: Interactions, dataset: Dataset, folder: Path) -> None:
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
