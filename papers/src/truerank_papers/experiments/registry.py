"""What an experiment is, and the list of them."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from truerank_papers.experiments.results import Result
    from truerank_papers.experiments.run import Run

_LAST = 10**6  # of tables: those that have no number

Function = Callable[["Run"], "Result"]


@dataclass(frozen=True)
class Paper:
    """A paper.

    Parameters
    ----------
    key
        Its key in docs/references.bib, in lower case.
    title, citation
        What it is called; who wrote it, where and when.
    about
        Paragraphs at the top of its page, in Markdown.
    """

    key: str
    title: str
    citation: str
    about: tuple[str, ...] = ()


@dataclass(frozen=True)
class Experiment:
    """A table or a figure of a paper, and the function that regenerates it.

    Parameters
    ----------
    paper
        Key of the paper.
    name
        Such as ``"table3"``.
    title
        What it shows.
    data
        Names of the datasets that it needs.
    function
        Takes a `Run` and gives a `Result`.
    any_of
        Names of datasets of which it takes all that are at hand, and needs one.
    """

    paper: str
    name: str
    title: str
    data: tuple[str, ...]
    function: Function
    any_of: tuple[str, ...] = ()

    def __str__(self) -> str:
        return f"{self.paper} {self.name}"

    def __lt__(self, other: Experiment) -> bool:
        return self._order < other._order

    @property
    def needs(self) -> str:
        """The datasets that it needs, in a line; empty if it needs none."""
        parts = [", ".join(self.data), " or ".join(self.any_of)]
        return ", ".join(part for part in parts if part)

    @property
    def label(self) -> str:
        """The name as it is printed, such as ``Table 3``."""
        if self.name == "otherdata":
            return "Other data"
        return re.sub(r"^([a-z]+)(\d)", r"\1 \2", self.name).capitalize()

    @property
    def _order(self) -> tuple[str, bool, int, str]:
        number = re.search(r"\d+", self.name)
        figure = self.name.startswith("figure")
        return self.paper, figure, int(number.group()) if number else _LAST, self.name


REGISTRY: dict[tuple[str, str], Experiment] = {}


def experiment(
    paper: str, name: str, title: str, *, data: Sequence[str] = (), any_of: Sequence[str] = ()
) -> Callable[[Function], Function]:
    """Register a function as an experiment, as a decorator.

    The function takes a `Run`, which gives it data, exact ranks and repeats, and returns a
    `Result`: tables and figures, and notes whose numbers come from these.

    Parameters
    ----------
    paper
        Key of the paper, such as ``"kr20"``.
    name
        Such as ``"table3"``.
    title
        What it shows.
    data
        Names of the datasets that it cannot do without (see `truerank_papers.datasets`).
    any_of
        Names of datasets of which it takes all that are at hand, and needs one.

    Returns
    -------
    Callable
        The decorator; it gives the function back.

    Raises
    ------
    ValueError
        If the paper has an experiment of that name.
    """

    def register(function: Function) -> Function:
        if (paper, name) in REGISTRY:
            raise ValueError(f"{paper} {name} is registered twice")
        REGISTRY[paper, name] = Experiment(paper, name, title, tuple(data), function, tuple(any_of))
        return function

    return register
