"""Reading interactions from the files and tables that people have."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any, Literal, TypeAlias, get_args

import numpy as np
import numpy.typing as npt

from truerank import _arguments, _checks, _files
from truerank.data import _text
from truerank.data.interactions import Interactions
from truerank.data.split import PROTOCOL_KEY, Split
from truerank.errors import InputError
from truerank.outcomes import tables

Format: TypeAlias = Literal[
    "parquet", "csv", "tsv", "dat", "rating", "inter", "adjacency", "counted"
]
FORMATS: tuple[str, ...] = get_args(Format)
_ENDINGS = {
    ".parquet": "parquet",
    ".pq": "parquet",
    ".csv": "csv",
    ".tsv": "tsv",
    ".rating": "rating",
    ".inter": "inter",
}
_SPLIT_ENDINGS = (*_ENDINGS, ".txt", ".dat", ".data")


def read(
    source: Any,
    *,
    format: Format | None = None,
    columns: _text.Columns = None,
    min_rating: float | None = None,
    name: str | None = None,
) -> Interactions:
    """Read interactions from a file or a table.

    Parameters
    ----------
    source : path, table or pair
        The path of a file (text may be compressed: ``.gz``), a pandas, polars or pyarrow table, or
        a pair (user_ids, item_ids).
    format : str, optional
        What the file is, if ending and content do not tell:

        - ``"parquet"``;
        - ``"csv"`` (also by ``;``, tab or ``|``), ``"tsv"``: with a header or without;
        - ``"dat"``: MovieLens, ``user::item::rating::timestamp``;
        - ``"rating"``: the same by tabs, as in the NCF repository and those after it;
        - ``"inter"``: RecBole, by tabs under a header such as ``user_id:token``;
        - ``"adjacency"``: LightGCN, one line per user, ``user item item ...``;
        - ``"counted"``: citeulike-a, one line per user, ``count item item ...``; users are
          numbered by line, from 0.
    columns : mapping of str to str or sequence of str, optional
        ``{"user_id": "customer", ...}`` for a header with names that we do not know;
        ``["user_id", "item_id", "timestamp"]`` for a file without header. Known are ``user_id``,
        ``item_id``, ``rating``, ``timestamp``; other columns are not read. A file without header
        and with two or four columns has them in that order.
    min_rating : float, optional
        Keep only rows with at least this rating. Every row that is kept is one interaction,
        whatever its rating.
    name : str, optional
        Name of the dataset, for cards and messages; by default that of the file.

    Returns
    -------
    Interactions
        The rows in the order of the source.

    Raises
    ------
    InputError
        If the file cannot be read as its format; the message names the line.

    Examples
    --------
    >>> import pandas as pd
    >>> table = pd.DataFrame({"userId": [1, 1, 2], "movieId": [7, 8, 9], "rating": [5, 3, 4]})
    >>> tr.data.read(table, min_rating=4)
    Interactions(interactions: 2 rows of 2 users and 2 items)
    """
    _arguments.check(read, locals())
    if format is not None and format not in FORMATS:
        raise _checks.unknown("format", format, FORMATS)
    if isinstance(source, (tuple, list)):
        if len(source) != 2:
            raise InputError(f"source is a sequence of {len(source)}; give (user_ids, item_ids)")
        source = {"user_id": np.asarray(source[0]), "item_id": np.asarray(source[1])}
        return Interactions(**source, name=name or "interactions")
    if isinstance(source, (str, os.PathLike)):
        name = name or Path(source).name.split(".")[0]
    elif format is not None:
        raise InputError(f"format is {format!r}; only files have one, and this is a table")
    table, columns = _table(source, format, columns)
    values = _values(table, columns)
    rating = values.pop("rating", None)
    data = Interactions(**values, name=name or "interactions")
    if min_rating is None:
        return data
    least = _checks.real(min_rating, "min_rating", low=-np.inf)
    if rating is None:
        raise InputError(f"{table.name} has no rating column; leave min_rating out, or name it")
    kept = _checks.numeric(rating, f"rating of {table.name}") >= least
    if not kept.any():
        raise InputError(f"{table.name} has no rating of min_rating={least:g} or more")
    return data.take(kept)


def columns_of(path: str | os.PathLike[str]) -> dict[str, npt.NDArray[Any]]:
    """The columns of a file in a format of `read`, by what they are: the ratings, too.

    Parameters
    ----------
    path : str or path
        The file.

    Returns
    -------
    dict
        ``user_id``, ``item_id`` and, where there are any, ``rating`` and ``timestamp``.
    """
    values = _values(*_table(path, None, None))
    data = Interactions(values["user_id"], values["item_id"])
    return {**values, "user_id": data.user_id, "item_id": data.item_id}


def read_split(folder: str | os.PathLike[str], *, name: str | None = None) -> Split:
    """Read the split in a folder: a file ``train`` and a file ``test``, in formats of `read`.

    Such as ``train.parquet`` and ``test.parquet``, LightGCN's ``train.txt`` and ``test.txt``, or
    ``yelp.train.rating`` and ``yelp.test.rating``.

    Parameters
    ----------
    folder : str or path
        The folder.
    name : str, optional
        Name of the dataset; by default that of the folder. If some files begin with it
        (``name.train.rating``), the others are ignored.

    Returns
    -------
    Split
        Training and held-out interactions.

    Raises
    ------
    InputError
        If one of the two files is missing, or there are several.

    Examples
    --------
    >>> data = tr.data.Interactions([1, 1, 2, 2], ["a", "b", "a", "c"])
    >>> data.leave_one_out("random").save("mine")
    >>> tr.data.read_split("mine", name="shop")
    Split(shop: train of 2, test of 2 rows; 2 unseen items)
    """
    _arguments.check(read_split, locals())
    place = Path(folder)
    found = {part: split_file(place, part, name) for part in ("train", "test")}
    missing = [part for part, path in found.items() if path is None]
    if missing:
        raise InputError(
            f"{place} has no {' and no '.join(f'{part} file' for part in missing)}, such as "
            f"{missing[0]}.parquet or {missing[0]}.txt"
        )
    name = name or place.resolve().name
    train, test = (read(path, name=f"{name} {part}") for part, path in found.items())
    notes = tables.parquet_metadata(Path(str(found["test"]))).get(PROTOCOL_KEY, b"{}")
    try:
        protocol = json.loads(notes)
    except (ValueError, RecursionError):
        protocol = None
    if not isinstance(protocol, dict):
        raise InputError(f"{found['test']}: the note on how it was split is damaged; save it again")
    return Split(train, test, name, protocol=protocol)


def split_file(folder: Path, part: str, name: str | None) -> Path | None:
    """The one file of ``folder`` that holds ``part`` of a split; None if there is none."""
    if not folder.is_dir():
        raise InputError(f"{folder} is no folder")
    found = []
    for path in sorted(folder.iterdir()):
        stem, ending = _stem(path)
        if ending in _SPLIT_ENDINGS and stem.split(".")[-1].lower() == part:
            found.append(path)
    named = [path for path in found if name and path.name.lower().startswith(f"{name}.")]
    found = named or [path for path in found if _stem(path)[0].lower() == part] or found
    if len(found) > 1:
        raise InputError(
            f"{folder} has several {part} files: {', '.join(path.name for path in found)}; keep "
            "one, or name the dataset"
        )
    return found[0] if found else None


def _table(source: Any, format: str | None, columns: Any) -> tuple[tables.Table, Any]:
    """A table or that of a file, and the names of its columns that are still to be applied."""
    if isinstance(source, (str, os.PathLike)):
        return _file(Path(source), format, columns)
    return tables.read(source), columns


def _values(table: tables.Table, columns: Any) -> dict[str, npt.NDArray[Any]]:
    """Columns by what they are."""
    roles = _text.find_roles(table, columns)
    return {role: table.values(column) for role, column in roles.items()}


def _file(path: Path, format: str | None, columns: Any) -> tuple[tables.Table, Any]:
    """The table of a file, and the names of its columns as far as they are still to be applied."""
    if not os.path.exists(path):  # False also for names that no file can have
        raise InputError(f"{_checks.shown(str(path))} does not exist")
    if path.is_dir():
        raise InputError(f"{path} is a folder; give the path of a file, or use read_split")
    _files.check_plain(path)
    with path.open("rb") as file:
        is_parquet = file.read(4) == b"PAR1"
    format = format or _ENDINGS.get(_stem(path)[1])
    format = format or ("parquet" if is_parquet else _text.format_of(path))
    if is_parquet != (format == "parquet"):
        raise InputError(
            f"{path} is {'a' if is_parquet else 'no'} Parquet file, whatever its name or format= "
            "says"
        )
    if format == "parquet":
        return tables.read(tables.parquet(path), name=str(path)), columns
    if format in ("adjacency", "counted"):
        if columns is not None:
            raise InputError(f"{path} is read as {format}, which has no columns to name")
        frame = _text.lists(path, counted=format == "counted")
    else:
        frame = _text.delimited(path, format, columns)
    return tables.read(frame, name=str(path)), None


def _stem(path: Path) -> tuple[str, str]:
    """Name without ending, and ending in lower case; .gz does not count."""
    name = path.name[: -len(".gz")] if path.name.lower().endswith(".gz") else path.name
    stem, dot, ending = name.rpartition(".")
    return (stem, f".{ending.lower()}") if dot else (name, "")
