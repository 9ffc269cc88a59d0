"""Datasets: readers, filters, splits, cards, and synthetic ones."""

from __future__ import annotations

from truerank.data import synthetic
from truerank.data.card import Card
from truerank.data.interactions import Interactions, Split
from truerank.data.readers import read, read_split

__all__ = ["Card", "Interactions", "Split", "read", "read_split", "synthetic"]


def __dir__() -> list[str]:
    return sorted(__all__)
