"""Datasets: readers, filters, splits, cards, and synthetic ones."""

from __future__ import annotations

from truerank.data import synthetic
from truerank.data.card import Card, SplitCard
from truerank.data.interactions import Interactions
from truerank.data.readers import read, read_split
from truerank.data.split import Split

__all__ = ["Card", "Interactions", "Split", "SplitCard", "read", "read_split", "synthetic"]


def __dir__() -> list[str]:
    return sorted(__all__)
