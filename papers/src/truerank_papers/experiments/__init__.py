"""The papers' tables and figures, regenerated beside their published numbers.

A paper is a subpackage with a ``PAPER``; an experiment is a function in any of its modules, under
the decorator `experiment`. A new file is found by itself: nothing else has to be told.
"""

from __future__ import annotations

import importlib
import pkgutil
from functools import cache

from truerank import _checks
from truerank_papers.experiments.registry import REGISTRY, Experiment, Paper


@cache
def papers() -> dict[str, Paper]:
    """Load all experiments.

    Returns
    -------
    dict
        Papers by key, such as ``"kr20"``.
    """
    found = {}
    for package in pkgutil.iter_modules(__path__):
        if package.ispkg:
            module = importlib.import_module(f"{__name__}.{package.name}")
            for part in pkgutil.iter_modules(module.__path__):
                importlib.import_module(f"{module.__name__}.{part.name}")
            found[module.PAPER.key] = module.PAPER
    return found


def experiments(paper: str | None = None, name: str | None = None) -> list[Experiment]:
    """List experiments.

    Parameters
    ----------
    paper
        Key of a paper, such as ``"kr20"``, in any case; all papers if it is None.
    name
        One table or figure of the paper, such as ``"table3"`` or ``"Table 3"``.

    Returns
    -------
    list of Experiment
        In order, the tables of a paper before its figures.

    Raises
    ------
    InputError
        If there is no such paper, or no such table or figure.

    Examples
    --------
    >>> [experiment.label for experiment in experiments("kr20")][:2]
    ['Table 1', 'Table 2']
    """
    known = papers()
    if paper is not None and paper.lower() not in known:
        raise _checks.unknown("paper", paper, known)
    ours = [one for one in REGISTRY.values() if paper is None or one.paper == paper.lower()]
    if name is not None:
        by_name = {one.name: one for one in sorted(ours)}
        key = name.lower().replace(" ", "").replace("-", "").replace("_", "")
        if key not in by_name:
            raise _checks.unknown(f"table or figure of {paper}", name, by_name)
        return [by_name[key]]
    return sorted(ours)
