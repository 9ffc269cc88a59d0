"""Link prediction as ranking: each triple and side is a question with candidates of its own."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Literal, TypeAlias, get_args

import numpy as np
import numpy.typing as npt

from truerank import _checks
from truerank._types import IntArray
from truerank.data.interactions import Interactions
from truerank.errors import InputError
from truerank.outcomes import tables

Side: TypeAlias = Literal["tail", "head"]
SIDES: tuple[str, ...] = get_args(Side)


@dataclass(frozen=True, eq=False, repr=False)
class Queries:
    """The questions of link prediction, one per triple and side: all arrays of shape (n_queries,).

    Question q is user q of an evaluation, its answer the target, and the entities are the items.
    Every question has a pool of its own: all entities less the other true answers.

    Attributes
    ----------
    side : ndarray of str
        ``"tail"`` for (h, r, ?), ``"head"`` for (?, r, t).
    relation : ndarray of int or str
        The relation asked about.
    entity : ndarray of int or str
        The entity that is given.
    answer : ndarray of int or str
        The entity asked for.
    triple : ndarray of int
        The row of the triple that the question comes from.
    test : Interactions
        Question and answer, for ``test=``.
    train : Interactions or None
        Question and other true answers, for ``train=``; None if there are none.

    Examples
    --------
    >>> graph = tr.data.Triples([0, 0, 1], [0, 0, 0], [1, 2, 2])
    >>> queries = graph.queries()
    >>> queries.to_arrow().to_pandas().head(2)
       user_id  side  relation  head  tail
    0        0  tail         0     0     1
    1        1  tail         0     0     2
    >>> queries.train.to_arrow().to_pydict()
    {'user_id': [0, 1, 4, 5], 'item_id': [2, 1, 1, 0]}
    """

    side: npt.NDArray[np.str_]
    relation: npt.NDArray[Any]
    entity: npt.NDArray[Any]
    answer: npt.NDArray[Any]
    triple: IntArray
    _left_out: tuple[IntArray, npt.NDArray[Any]]

    def __len__(self) -> int:
        return int(self.side.size)

    def __repr__(self) -> str:
        asked = ", ".join(
            f"{int((self.side == side).sum()):,} for {side}s"
            for side in SIDES
            if (self.side == side).any()
        )
        left = self._left_out[0].size
        return f"Queries({asked}; {f'{left:,}' if left else 'no'} other true answers left out)"

    @cached_property
    def test(self) -> Interactions:
        """The test pairs: each question and its true answer.

        Examples
        --------
        >>> tr.data.Triples([0], [7], [1]).queries().test.item_id.tolist()
        [1, 0]
        """
        return Interactions(np.arange(len(self)), self.answer, name="queries")

    @cached_property
    def train(self) -> Interactions | None:
        """The pairs to leave out: each question and its other true answers.

        Examples
        --------
        >>> tr.data.Triples([0], [7], [1]).queries().train is None
        True
        """
        query, answer = self._left_out
        return Interactions(query, answer, name="true answers") if query.size else None

    def to_arrow(self) -> Any:
        """The questions as a table.

        Returns
        -------
        pyarrow.Table
            Columns ``user_id`` (the number of the question), ``side``, ``relation``, ``head`` and
            ``tail``.

        Examples
        --------
        >>> tr.data.Triples([0], [7], [1]).queries().to_arrow().column_names
        ['user_id', 'side', 'relation', 'head', 'tail']
        """
        import pyarrow as pa

        tails = self.side == "tail"
        columns = {
            "user_id": np.arange(len(self)),
            "side": self.side,
            "relation": self.relation,
            "head": np.where(tails, self.entity, self.answer),
            "tail": np.where(tails, self.answer, self.entity),
        }
        return pa.table({name: pa.array(values) for name, values in columns.items()})

    def with_columns(self, ranks: Any) -> Any:
        """A table of ranks with the relation and side of each question, to group by.

        Parameters
        ----------
        ranks : table
            As `truerank.rank` gives it, with a column ``user_id``.

        Returns
        -------
        pyarrow.Table
            With the columns ``side``, ``relation``, ``head`` and ``tail`` in place of ``item_id``:
            ``RankCounts.by_model(table, by=["side", "relation"], ...)`` counts each group.

        Raises
        ------
        InputError
            If the table holds questions that are not among these.

        Examples
        --------
        >>> queries = tr.data.Triples([0, 1], [7, 8], [1, 2]).queries()
        >>> scorer = tr.scoring.Dense(np.arange(12.0).reshape(4, 3))
        >>> table = queries.with_columns(tr.rank(scorer, queries.test))
        >>> found = tr.RankCounts.by_model(table, by=["side", "relation"], replacement=False)
        >>> sorted(found)
        ['head, 7', 'head, 8', 'tail, 7', 'tail, 8']
        """
        import pyarrow as pa

        source = tables.read(ranks, name="ranks")
        column = source.find("user_id")
        if column is None:
            raise source.missing("user_id")
        query = _checks.whole_numbers(source.values(column), "user_id")
        _checks.within(
            query,
            "user_id",
            low=0,
            high=len(self) - 1,
            because=f"there are questions 0 to {len(self) - 1}",
        )
        own = self.to_arrow()
        others = [name for name in source.columns if name not in (*own.column_names, "item_id")]
        columns = {name: own[name].take(pa.array(query)) for name in own.column_names}
        return pa.table(columns | {name: pa.array(source.values(name)) for name in others})


def link_queries(
    rows: Mapping[str, npt.NDArray[Any]],
    true: Mapping[str, npt.NDArray[Any]] | None,
    sides: tuple[str, ...],
) -> Queries:
    """The questions about ``rows``, other answers by ``true`` left out; both by part of triples."""
    for side in sides:
        if not isinstance(side, str) or side not in SIDES:
            raise _checks.unknown("side", side, SIDES)
    if not sides or len(set(sides)) < len(sides):
        raise InputError(f"sides are {list(sides)}; give 'tail', 'head' or both, each once")
    n_rows = rows["head"].size
    given = {"tail": "head", "head": "tail"}
    left: list[tuple[IntArray, npt.NDArray[Any]]] = []
    for number, side in enumerate(sides):
        if true is None:
            continue
        query, answer = _other_answers(
            (rows[given[side]], rows["relation"]),
            rows[side],
            (true[given[side]], true["relation"]),
            true[side],
        )
        left.append((query + number * n_rows, answer))
    none = np.empty(0, dtype=np.int64), rows["head"][:0]
    return Queries(
        np.repeat(np.array(sides), n_rows),
        np.tile(rows["relation"], len(sides)),
        np.concatenate([rows[given[side]] for side in sides]),
        np.concatenate([rows[side] for side in sides]),
        np.tile(np.arange(n_rows), len(sides)),
        (
            np.concatenate([query for query, _ in left]) if left else none[0],
            np.concatenate([answer for _, answer in left]) if left else none[1],
        ),
    )


def _other_answers(
    asked: tuple[npt.NDArray[Any], npt.NDArray[Any]],
    answer: npt.NDArray[Any],
    known: tuple[npt.NDArray[Any], npt.NDArray[Any]],
    true: npt.NDArray[Any],
) -> tuple[IntArray, npt.NDArray[Any]]:
    """(row, true answer) for every true answer to a row's question but the row's own."""
    n_rows = answer.size
    codes = []
    for own, other in zip(asked, known, strict=True):
        values, code = np.unique(np.concatenate([own, other]), return_inverse=True)
        codes.append((code, values.size))
    question = codes[0][0] * codes[1][1] + codes[1][0]
    values, entity = np.unique(np.concatenate([answer, true]), return_inverse=True)
    # Each (question, answer) that is true, once, sorted by question.
    pairs = np.unique(question[n_rows:] * values.size + entity[n_rows:])
    of_pair = pairs // values.size
    start = np.searchsorted(of_pair, question[:n_rows])
    length = np.searchsorted(of_pair, question[:n_rows], side="right") - start
    row = np.repeat(np.arange(n_rows), length)
    offset = np.arange(row.size) - np.repeat(np.cumsum(length) - length, length)
    found = pairs[start[row] + offset] % values.size
    other = found != entity[row]
    return row[other], values[found[other]]
