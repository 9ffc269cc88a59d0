"""What all results have in common: they are tables, for people and for other tools."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import fields, is_dataclass
from typing import Any

from truerank import _checks
from truerank._visible import in_html, in_markdown


class Result(ABC):
    """A result that is a table, with a headline above it and remarks below it."""

    @abstractmethod
    def rows(self) -> list[dict[str, Any]]:
        """The table as plain data.

        Returns
        -------
        list of dict
            One dict per row, all with the same keys.

        Examples
        --------
        >>> counts = tr.RankCounts.from_exact_ranks([1, 4, 2, 9], n_items=10)
        >>> [row["metric"] for row in tr.estimate(counts, "recall@1,5").rows()]
        ['recall@1', 'recall@5']
        """

    @abstractmethod
    def to_dict(self) -> dict[str, Any]:
        """Everything as plain data, ready for JSON.

        Returns
        -------
        dict
            Lists, dicts, texts, numbers, truth values and None; what is not finite is None.

        Examples
        --------
        >>> counts = tr.RankCounts.from_exact_ranks([1, 4, 2, 9], n_items=10)
        >>> list(tr.estimate(counts, "recall@5").to_dict())
        ['estimator', 'confidence', 'scope', 'interval', 'converged', 'fit_test', 'results']
        """

    def _headline(self) -> str:
        """A line above the table."""
        return ""

    def _remarks(self) -> Sequence[str]:
        """Sentences below the table."""
        return ()

    def _shown(self) -> Sequence[Mapping[str, str]]:
        """The table as people read it."""
        return [{name: _text(value) for name, value in row.items()} for row in self.rows()]

    def to_pandas(self) -> Any:
        """The table as a pandas DataFrame.

        Returns
        -------
        pandas.DataFrame
            One row per dict of `rows`.

        Examples
        --------
        >>> counts = tr.RankCounts.from_exact_ranks([1, 4, 2, 9], n_items=10)
        >>> tr.estimate(counts, ["recall@5", "auc"]).to_pandas()["metric"].tolist()
        ['recall@5', 'auc']
        """
        return _checks.library("pandas", "to_pandas").DataFrame(self.rows())

    def to_polars(self) -> Any:
        """The table as a polars DataFrame.

        Returns
        -------
        polars.DataFrame
            One row per dict of `rows`.

        Examples
        --------
        >>> counts = tr.RankCounts.from_exact_ranks([1, 4, 2, 9], n_items=10)
        >>> tr.estimate(counts, ["recall@5", "auc"]).to_polars()["metric"].to_list()
        ['recall@5', 'auc']
        """
        return _checks.library("polars", "to_polars").from_arrow(self.to_arrow())

    def to_arrow(self) -> Any:
        """The table as a pyarrow Table.

        Returns
        -------
        pyarrow.Table
            One row per dict of `rows`.

        Examples
        --------
        >>> counts = tr.RankCounts.from_exact_ranks([1, 4, 2, 9], n_items=10)
        >>> tr.estimate(counts, ["recall@5", "auc"]).to_arrow().num_rows
        2
        """
        import pyarrow as pa

        return pa.Table.from_pylist(self.rows())

    def to_markdown(self) -> str:
        """The table in Markdown, as people read it.

        Returns
        -------
        str
            A header, a rule and one line per row.

        Examples
        --------
        >>> counts = tr.RankCounts.from_exact_ranks([1, 4, 2, 9], n_items=10)
        >>> print(tr.estimate(counts, "recall@5").to_markdown())
        | metric | exact |
        | --- | --- |
        | recall@5 | 0.7500 |
        """
        shown = self._shown()
        if not shown:
            return ""
        lines = [list(shown[0]), ["---"] * len(shown[0]), *(list(row.values()) for row in shown)]
        cells = [[in_markdown(cell) for cell in line] for line in lines]
        return "\n".join(f"| {' | '.join(line)} |" for line in cells)

    def _repr_html_(self) -> str:
        """For notebooks: headline, table and remarks."""
        shown = self._shown()
        parts = [_paragraph(self._headline())]
        if shown:
            head = "".join(f"<th>{in_html(name)}</th>" for name in shown[0])
            body = "".join(
                f"<tr>{''.join(f'<td>{in_html(cell)}</td>' for cell in row.values())}</tr>"
                for row in shown
            )
            parts.append(f"<table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>")
        return "".join([*parts, *map(_paragraph, self._remarks())])


def plain(value: Any) -> Any:
    """What a result holds, ready for JSON.

    Parameters
    ----------
    value : object
        Dataclasses, mappings, sequences, texts and numbers.

    Returns
    -------
    object
        Dicts, lists, texts, numbers, truth values and None; what is not finite is None.
    """
    if is_dataclass(value) and not isinstance(value, type):
        return {field.name: plain(getattr(value, field.name)) for field in fields(value)}
    if isinstance(value, Mapping):
        return {str(key): plain(one) for key, one in value.items()}
    if isinstance(value, (list, tuple)):
        return [plain(one) for one in value]
    return None if isinstance(value, float) and not math.isfinite(value) else value


def flat(rows: Sequence[Mapping[str, Any]], names: Sequence[str]) -> dict[str, Any]:
    """Rows of metrics as one level of names and numbers, as experiment trackers take them.

    Parameters
    ----------
    rows : sequence of dict
        Each with a ``metric``.
    names : sequence of str
        The columns to tell.

    Returns
    -------
    dict of str to float or bool
        ``ndcg@10/value`` and so on; what is not known or not finite is left out.
    """
    found = {f"{row['metric']}/{name}": plain(row[name]) for row in rows for name in names}
    return {key: value for key, value in found.items() if value is not None}


def _paragraph(text: str) -> str:
    return f"<p>{in_html(text)}</p>" if text else ""


def _text(value: Any) -> str:
    """A cell of a table that people read."""
    if value is None:
        return ""
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, float):
        return f"{value:,.4f}" if abs(value) < 1000 else f"{value:,.0f}"
    return f"{value:,}" if isinstance(value, int) else str(value)
