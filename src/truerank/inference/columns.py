"""The columns of estimates: one list for tables, dicts, JSON, CSV, data frames and reports.

To add a column, add it here. A column with a heading is shown in tables for people, too.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from truerank.inference.verdicts import MARK, OUT_OF_RANGE_MARK

if TYPE_CHECKING:
    from truerank.inference.estimates import Estimate


@dataclass(frozen=True)
class Column:
    """One column of a table of estimates.

    Attributes
    ----------
    name : str
        Its key in dicts, JSON, CSV and data frames, and the attribute of `Estimate` that it is
        unless ``derived`` says otherwise.
    heading : str
        What tables for people call it; empty if they do not show it.
    text : callable
        What such a table shows, from an estimate and the digits after the point.
    derived : callable, optional
        What it is, from an estimate, where that is no attribute of `Estimate`.
    """

    name: str
    heading: str = ""
    text: Callable[[Estimate, int], str] = lambda one, digits: ""
    derived: Callable[[Estimate], Any] | None = None

    def value(self, one: Estimate) -> Any:
        """What it is for an estimate, as plain data.

        Parameters
        ----------
        one : Estimate
            The estimate.

        Returns
        -------
        object
            A number, a text, a truth value or None.
        """
        return getattr(one, self.name) if self.derived is None else self.derived(one)


def interval(one: Estimate, digits: int) -> str:
    """An interval as tables show it.

    Parameters
    ----------
    one : Estimate
        The estimate.
    digits : int
        Digits after the point.

    Returns
    -------
    str
        ``[0.0117, 0.0395]``; empty without an interval.
    """
    return "" if one.low is None else f"[{one.low:.{digits}f}, {one.high:.{digits}f}]"


COLUMNS = (
    Column("naive", "naive", lambda one, digits: f"{one.naive:.{digits}f}"),
    Column("value", "corrected", lambda one, digits: f"{one.value:.{digits}f}{marks(one)}"),
    Column("low", "interval", interval),  # shown together with high
    Column("high"),
    Column("std_error"),
    Column("total_error"),
    Column("out_of_range"),
    Column("resolvable"),
    Column("verdict"),
)
SHOWN = tuple(column for column in COLUMNS if column.heading)
# Those that the command line puts into one cell for each estimator, naive having its own.
IN_CELL = tuple(column for column in SHOWN if column.name not in ("naive", "value"))


def marks(one: Estimate) -> str:
    """The marks behind a value.

    Parameters
    ----------
    one : Estimate
        The estimate.

    Returns
    -------
    str
        ``!`` if it is out of range, ``?`` if it is not resolved.
    """
    strayed = OUT_OF_RANGE_MARK if one.out_of_range else ""
    return strayed + (MARK if one.resolvable is False else "")


def row(metric: str, estimator: str, found: Estimate | None, **known: Any) -> dict[str, Any]:
    """One row of plain data.

    Parameters
    ----------
    metric : str
        Its key.
    estimator : str
        Its description.
    found : Estimate or None
        The estimate; None where the estimator is not defined for the metric.
    **known
        Columns that are known without an estimate.

    Returns
    -------
    dict
        ``metric``, ``estimator`` and all columns; those not known are None.
    """
    told = {
        column.name: known.get(column.name) if found is None else column.value(found)
        for column in COLUMNS
    }
    return {"metric": metric, "estimator": estimator, **told}
