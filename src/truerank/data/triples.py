"""Knowledge graphs: triples of head, relation and tail, from files, tables and arrays."""

from __future__ import annotations

import gzip
import os
import zlib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from truerank import _arguments, _checks, _files
from truerank.data._columns import join_ids
from truerank.data.links import Queries, Side, link_queries
from truerank.errors import InputError
from truerank.outcomes import tables

PARTS = ("head", "relation", "tail")
_NAMES = {
    "head": ("head", "h", "head_id", "subject"),
    "relation": ("relation", "r", "relation_id", "predicate"),
    "tail": ("tail", "t", "tail_id", "object"),
}
_SEPARATORS = ("\t", ",", ";", "|", " ")


@dataclass(frozen=True, eq=False, repr=False)
class Triples:
    """Triples of a knowledge graph, one per row.

    Parameters
    ----------
    head, relation, tail : array-like of int or str, shape (n_rows,)
        The ids. Heads and tails are entities: both are numbers or both are strings.
    name : str
        Name of the dataset, for messages.

    Examples
    --------
    >>> graph = tr.data.Triples(["ann", "bob"], ["likes", "likes"], ["bob", "cat"])
    >>> graph
    Triples(triples: 2 rows, 3 entities, 1 relation)
    """

    head: npt.NDArray[Any]
    relation: npt.NDArray[Any]
    tail: npt.NDArray[Any]
    name: str = "triples"

    def __post_init__(self) -> None:
        _arguments.check_fields(self)
        for part in PARTS:
            values = _checks.ids(getattr(self, part), f"{part} of {self.name}").copy()
            values.setflags(write=False)
            object.__setattr__(self, part, values)
            if values.size != self.head.size:
                raise InputError(
                    f"{part} of {self.name} has {values.size} ids; there are {self.head.size} heads"
                )
        if not self.head.size:
            raise InputError(f"{self.name} has no triples")
        if (self.head.dtype.kind == "U") != (self.tail.dtype.kind == "U"):
            raise InputError(
                f"heads of {self.name} are {self.head.dtype} and tails {self.tail.dtype}; both are "
                "entities: give both as numbers or both as strings"
            )

    def __len__(self) -> int:
        return int(self.head.size)

    def __repr__(self) -> str:
        n_relations = np.unique(self.relation).size
        return (
            f"Triples({self.name}: {len(self):,} row{'s' * (len(self) != 1)}, "
            f"{self.entities.size:,} entities, {n_relations:,} relation{'s' * (n_relations != 1)})"
        )

    @property
    def entities(self) -> npt.NDArray[Any]:
        """All entities, sorted, shape (n_entities,).

        Examples
        --------
        >>> tr.data.Triples([5, 2], [0, 0], [2, 9]).entities.tolist()
        [2, 5, 9]
        """
        return np.unique(join_ids(self.head, self.tail))

    def queries(
        self,
        *,
        known: Any = (),
        sides: Side | Iterable[Side] = ("tail", "head"),
        filtered: bool = True,
    ) -> Queries:
        """The questions of link prediction: the tail of (h, r, ?) and the head of (?, r, t).

        Parameters
        ----------
        known : Triples, or iterable of them
            True triples beside these, usually training and validation triples.
        sides : {"tail", "head"} or iterable of them
            Which ends to ask for.
        filtered : bool, default True
            Whether other true answers, by ``known`` and by these triples, are left out of a
            question's candidates. False is the raw setting: every entity is a candidate.

        Returns
        -------
        Queries
            One per triple and side, ready for `truerank.rank`, `count` and `evaluate`.

        Examples
        --------
        >>> train = tr.data.Triples(["ann", "ann"], ["likes", "likes"], ["bob", "cat"])
        >>> test = tr.data.Triples(["ann"], ["likes"], ["dan"])
        >>> queries = test.queries(known=train)
        >>> queries
        Queries(1 for tails, 1 for heads; 2 other true answers left out)
        >>> queries.train.item_id.tolist()
        ['bob', 'cat']
        """
        _arguments.check(Triples.queries, locals())
        more = [known] if isinstance(known, Triples) else _checks.several(known, "known")
        for one in more:
            if not isinstance(one, Triples):
                raise InputError(
                    f"known holds a {type(one).__name__}; give Triples, as read_triples does"
                )
            for part in PARTS:
                own, other = getattr(self, part), getattr(one, part)
                if (own.dtype.kind == "U") != (other.dtype.kind == "U"):
                    raise InputError(
                        f"{part} of {self.name} is {own.dtype} and {part} of {one.name} "
                        f"{other.dtype}: give both as numbers or both as strings"
                    )
        rows = {part: getattr(self, part) for part in PARTS}
        true = {part: join_ids(*(getattr(one, part) for one in (self, *more))) for part in PARTS}
        asked = (sides,) if isinstance(sides, str) else tuple(_checks.several(sides, "sides"))
        return link_queries(rows, true if filtered else None, asked)

    def take(self, rows: Any) -> Triples:
        """Some of the triples.

        Parameters
        ----------
        rows : array-like of bool or int, or slice
            A mask of shape (n_rows,), or row numbers.

        Returns
        -------
        Triples
            These rows, under the same name.

        Examples
        --------
        >>> tr.data.Triples([5, 2], [0, 0], [2, 9]).take([1]).tail.tolist()
        [9]
        """
        at = _checks.some_rows(rows, len(self))
        return Triples(self.head[at], self.relation[at], self.tail[at], self.name)

    def to_arrow(self) -> Any:
        """The rows as a pyarrow table.

        Returns
        -------
        pyarrow.Table
            Columns ``head``, ``relation`` and ``tail``.

        Examples
        --------
        >>> tr.data.Triples([5, 2], [0, 0], [2, 9]).to_arrow().column_names
        ['head', 'relation', 'tail']
        """
        import pyarrow as pa

        return pa.table({part: pa.array(getattr(self, part)) for part in PARTS})


def read_triples(
    source: Any, *, columns: Mapping[str, str] | None = None, name: str | None = None
) -> Triples:
    """Read the triples of a knowledge graph.

    Parameters
    ----------
    source : path, table, mapping, array or tuple
        A Parquet file; a text file with a header, or without one and with head, relation and tail
        in this order, separated by tabs (as FB15k-237 and WN18RR come), commas, ``;``, ``|`` or
        spaces, maybe compressed (``.gz``); a table; a mapping such as OGB's ``split["test"]``; an
        array of shape (n, 3); or three arrays.
    columns : mapping of str to str, optional
        ``{"head": "subject_id", ...}`` for columns with names that we do not know.
    name : str, optional
        Name of the dataset, for messages; by default that of the file.

    Returns
    -------
    Triples
        The rows in the order of the source.

    Raises
    ------
    InputError
        If there is no column for the head, the relation or the tail, or a line cannot be read.

    Examples
    --------
    >>> import pandas as pd
    >>> table = pd.DataFrame({"head": [0, 1], "tail": [1, 2], "relation": [0, 0]})
    >>> tr.data.read_triples(table)
    Triples(triples: 2 rows, 3 entities, 1 relation)
    """
    _arguments.check(read_triples, locals())
    if isinstance(source, Triples):
        return source
    if isinstance(source, Mapping) and not hasattr(source, "columns"):
        known = {part: _role(part, list(source), columns) for part in PARTS}
        for part, column in known.items():
            if column is None:
                raise InputError(f"source has no {part}; found: {', '.join(map(str, source))}")
        return _of({part: source[known[part]] for part in PARTS}, name)
    if isinstance(source, (tuple, list)) or (isinstance(source, np.ndarray) and source.ndim):
        parts = source.T if isinstance(source, np.ndarray) and source.ndim == 2 else source
        if len(parts) and all(isinstance(part, tuple) and len(part) == 3 for part in parts):
            raise InputError(
                "source is a list of (head, relation, tail), one tuple per triple; give it as an "
                "array of shape (n, 3), numpy.array(source)"
            )
        if len(parts) != len(PARTS):
            raise InputError(
                f"source has {len(parts)} columns; give (heads, relations, tails) or an array of "
                "shape (n, 3)"
            )
        return _of(dict(zip(PARTS, parts, strict=True)), name)
    if isinstance(source, (str, os.PathLike)):
        path = Path(source)
        if not os.path.exists(path):  # False also for names that no file can have
            raise InputError(f"{_checks.shown(str(path))} does not exist")
        name = name or path.name.split(".")[0]
        table = tables.read(path) if path.suffix in (".parquet", ".pq") else _text(path, columns)
    else:
        table = tables.read(source)
    found = {part: _role(part, table.columns, columns) for part in PARTS}
    for part, column in found.items():
        if column is None:
            raise table.missing(*_NAMES[part])
    return _of({part: table.values(str(column)) for part, column in found.items()}, name)


def _of(parts: Mapping[str, Any], name: str | None) -> Triples:
    return Triples(parts["head"], parts["relation"], parts["tail"], name or "triples")


def _role(part: str, names: Iterable[Any], columns: Mapping[str, str] | None) -> Any:
    """The column that is the head, the relation or the tail; None if there is none."""
    if columns is not None:
        for role in columns:
            if role not in PARTS:
                raise _checks.unknown("column", role, PARTS)
        if part in columns:
            return columns[part]
    by_lower = {str(name).strip().lower(): name for name in names}
    return next((by_lower[name] for name in _NAMES[part] if name in by_lower), None)


def _text(path: Path, columns: Mapping[str, str] | None) -> tables.Table:
    """A text file as a table, with a header or without."""
    import pyarrow as pa
    from pyarrow import csv

    first = _first_line(path)
    separator = next((one for one in _SEPARATORS if one in first), None)
    names = [] if separator is None else first.split(separator)
    header = all(_role(part, names, columns) is not None for part in PARTS)
    if not header and len(names) != len(PARTS):
        raise InputError(
            f"{path}: line 1 is {first[:80]!r}; expected head, relation and tail separated by "
            "tabs, commas or spaces, or a header that names them"
        )
    try:
        with _files.opened(path, zipped=path.suffix.lower() == ".gz") as stream:
            found = csv.read_csv(
                stream,
                read_options=csv.ReadOptions(column_names=None if header else list(PARTS)),
                parse_options=csv.ParseOptions(delimiter=separator, quote_char=False),
            )
    except (pa.ArrowException, OSError, EOFError) as error:
        raise InputError(f"{path}: {str(error).splitlines()[0]}") from None
    return tables.read(found, name=str(path))


def _first_line(path: Path) -> str:
    opened = gzip.open if path.suffix.lower() == ".gz" else open
    _files.check_plain(path)
    try:
        with opened(path, "rt", encoding="utf-8-sig") as lines:
            return next((line.rstrip("\r\n") for line in lines if line.strip()), "")
    except (UnicodeDecodeError, OSError, EOFError, zlib.error) as error:
        raise InputError(f"{path} cannot be read as UTF-8 text: {error}") from None
