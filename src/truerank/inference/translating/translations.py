"""A table of published values, translated: a translation per dataset, and what was left out."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from truerank.inference.result import Result, plain
from truerank.inference.translating.translation import Translation


@dataclass(frozen=True)
class Problem:
    """A row of a table that could not be used.

    Attributes
    ----------
    line : int
        Its line in the file, the header being line 1; for tables that are no files its row, from 1.
    dataset, model, metric, value : str
        What it says.
    message : str
        What is wrong with it, and what to do.
    """

    line: int
    dataset: str
    model: str
    metric: str
    value: str
    message: str

    def __str__(self) -> str:
        named = " ".join(one for one in (self.dataset, self.model, self.metric, self.value) if one)
        return f"line {self.line} ({named}): {self.message}"


@dataclass(frozen=True, repr=False)
class TranslatedTable(Result):
    """Published values of several datasets, translated.

    ``result["Beauty"]`` is the Translation of a dataset, ``result["Beauty"]["SASRec",
    "recall@10"]`` an estimate.

    Attributes
    ----------
    translations : dict of str to Translation
        One per dataset, in order of appearance.
    problems : tuple of Problem
        Rows that could not be used, each with what is wrong with it and what to do.

    Examples
    --------
    >>> import pandas as pd
    >>> table = pd.DataFrame(
    ...     {
    ...         "model": ["A", "A", "B", "B"],
    ...         "metric": ["HR@1", "HR@10", "HR@1", "HR@10"],
    ...         "value": ["0.1337", "0.4106", "0.1870", "46.96"],
    ...     }
    ... )
    >>> found = tr.translate(
    ...     table, "recall@10", n_items=12101, n_users=22363, num_negatives=99, replacement=False
    ... )
    >>> print(found[""]["A", "recall@10"])
    0.04... ? [0.0..., 0...]
    >>> print(found.problems[0])
    line 4 (B HR@10 46.96): sampled recall@10 of B is 46.96; it must be from 0 to 1, or in percent
    with the sign %
    """

    translations: Mapping[str, Translation]
    problems: tuple[Problem, ...] = ()

    def __getitem__(self, dataset: str) -> Translation:
        if dataset not in self.translations:
            there = ", ".join(map(repr, self.translations))
            raise KeyError(f"{dataset!r} is no dataset of the table; there are: {there}")
        return self.translations[dataset]

    def _ipython_key_completions_(self) -> list[str]:
        """Datasets, for the tab key in a notebook."""
        return list(self.translations)

    def rows(self) -> list[dict[str, Any]]:
        return [
            {"dataset": dataset, **row}
            for dataset, translation in self.translations.items()
            for row in translation.rows()
        ]

    def to_dict(self) -> dict[str, Any]:
        return {
            "datasets": [
                {
                    "dataset": dataset,
                    **plain(one.protocol),
                    "estimates": plain(one.estimates),
                    "leads": [{**plain(lead), "flips": lead.flips} for lead in one.leads],
                    "assumptions": one.assumptions,
                }
                for dataset, one in self.translations.items()
            ],
            "problems": plain(self.problems),
        }

    def _headline(self) -> str:
        n_models = len({(row["dataset"], row["model"]) for row in self.rows()})
        many = "s" if len(self.translations) > 1 else ""
        return f"Translation of {n_models} models on {len(self.translations)} dataset{many}"

    def _remarks(self) -> list[str]:
        flips = [
            f"{dataset and f'{dataset}: '}{lead}"
            for dataset, one in self.translations.items()
            for lead in one.flips
        ]
        return [*map(str, self.problems), *flips]

    def __repr__(self) -> str:
        parts = [self._headline()]
        for dataset, one in self.translations.items():
            parts.append(f"{dataset and f'{dataset}: '}{one.protocol}")
            width = max(len(f"{e.model} {e.metric}") for e in one.estimates)
            parts += [f"  {f'{e.model} {e.metric}':<{width}} {e}" for e in one.estimates]
            parts += [f"  {lead}" for lead in one.flips]
        return "\n".join([*parts, *map(str, self.problems)])
