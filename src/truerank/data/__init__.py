"""Datasets: readers, filters, splits, cards, knowledge graphs, and synthetic ones."""

from __future__ import annotations

from truerank.data import synthetic
from truerank.data.card import Card, SplitCard
from truerank.data.interactions import Interactions
from truerank.data.links import Queries
from truerank.data.readers import read, read_split
from truerank.data.split import Split
from truerank.data.triples import Triples, read_triples

__all__ = [
    "Card",
    "Interactions",
    "Queries",
    "Split",
    "SplitCard",
    "Triples",
    "read",
    "read_split",
    "read_triples",
    "synthetic",
]


def __dir__() -> list[str]:
    return sorted(__all__)
