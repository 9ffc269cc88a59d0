"""Datasets: for now the synthetic catalogue behind ``truerank demo``."""

from __future__ import annotations

from truerank.data import synthetic

__all__ = ["synthetic"]
