"""Values that nobody should pass, by name: each is wrong for most parameters, right for some."""

from __future__ import annotations

import datetime
from collections.abc import Callable
from decimal import Decimal
from pathlib import Path
from typing import Any

import numpy as np
from tests.fuzz import world

import truerank as tr


def values(folder: Path) -> dict[str, Callable[[], Any]]:
    """Made again for each use, since some of them are used up."""
    import pandas as pd
    import polars as pl
    import pyarrow as pa

    return {
        "None": lambda: None,
        "True": lambda: True,
        "0": lambda: 0,
        "1": lambda: 1,
        "-1": lambda: -1,
        "7": lambda: 7,
        "2**53": lambda: 2**53,
        "2**63": lambda: 2**63,
        "10**400": lambda: 10**400,
        "5000 digits": lambda: 10**5000,
        "0.5": lambda: 0.5,
        "1.5": lambda: 1.5,
        "-0.0": lambda: -0.0,
        "1e-320": lambda: 1e-320,
        "1e308": lambda: 1e308,
        "nan": lambda: float("nan"),
        "inf": lambda: float("inf"),
        "1j": lambda: 1j,
        "Decimal": lambda: Decimal("0.5"),
        "np.int8": lambda: np.int8(3),
        "np.float32": lambda: np.float32(0.5),
        "np.bool_": lambda: np.bool_(True),
        "0-d array": lambda: np.array(3),
        "empty text": lambda: "",
        "text": lambda: "no such thing",
        "markup": lambda: "[/b]\x1b[31m",
        "nul": lambda: "a\x00b",
        "surrogate": lambda: "\ud800",
        "recall@10": lambda: "recall@10",
        "recall@5000 digits": lambda: "recall@" + "9" * 5000,
        "smooth": lambda: "smooth",
        "exact": lambda: "exact",
        "call": lambda: "mle(steps=",
        "deep": lambda: "bv(gamma=" + "(" * 500,
        "json": lambda: '{"name": 3}',
        "deep json": lambda: "[" * 100_000,
        "bytes": lambda: b"recall@10",
        "empty list": list,
        "list": lambda: [1, 2, 3],
        "floats": lambda: [0.1, 0.2, float("nan")],
        "words": lambda: ["a", "b", "c"],
        "mixed": lambda: [1, "a", None],
        "nested": lambda: [[1], [2, 3]],
        "tuple": lambda: (1, 2),
        "set": lambda: {1, 2},
        "dict": lambda: {"a": 1},
        "odd dict": lambda: {1: None, (2, 3): []},
        "empty dict": dict,
        "generator": lambda: (i for i in range(3)),
        "range": lambda: range(3),
        "lambda": lambda: lambda *_: None,
        "raises": lambda: _raise,
        "object": object,
        "module": lambda: np,
        "date": lambda: datetime.date(2020, 1, 1),
        "array": lambda: np.arange(3),
        "float array": lambda: np.array([0.5, np.nan, np.inf]),
        "bool array": lambda: np.array([True, False]),
        "2-d array": lambda: np.ones((2, 2)),
        "3-d array": lambda: np.ones((2, 2, 2)),
        "empty array": lambda: np.empty(0),
        "object array": lambda: np.array([1, "a", None], dtype=object),
        "date array": lambda: np.array(["2020-01-01", "NaT"], dtype="datetime64[D]"),
        "struct array": lambda: np.zeros(2, dtype=[("a", int)]),
        "complex array": lambda: np.array([1j, 2]),
        "text array": lambda: np.array(["a", "b"]),
        "masked": lambda: np.ma.array([1, 2, 3], mask=[0, 1, 0]),
        "uint64": lambda: np.array([2**64 - 1], dtype=np.uint64),
        "frame": lambda: pd.DataFrame({"a": [1, 2]}),
        "empty frame": pd.DataFrame,
        "nan frame": lambda: pd.DataFrame({"user_id": [1, None], "item_id": [None, 2]}),
        "odd frame": lambda: pd.DataFrame(
            {"user_id": [[1], [2]], "item_id": [{}, {}], "rank": ["x", "y"]}
        ),
        "series": lambda: pd.Series([1, 2, 3]),
        "polars": lambda: pl.DataFrame({"user_id": [1, 2], "item_id": [1, 2]}),
        "lazy": lambda: pl.LazyFrame({"user_id": [1, 2], "item_id": [1, 2]}),
        "arrow": lambda: pa.table({"user_id": [1, 2], "item_id": [1, 2]}),
        "lists": lambda: pa.table(
            {"user_id": [1, 2], "item_id": [1, 2], "negatives": [[3], [None]]}
        ),
        "path": lambda: folder / "no such file.csv",
        "folder": lambda: folder,
        "csv": lambda: folder / "ranks.csv",
        "parquet": lambda: folder / "ranks.parquet",
        "saved": lambda: folder / "counts.parquet",
        "npy": lambda: folder / "S.npy",
        "counts": world.counts,
        "paired": world.paired,
        "dense": world.dense,
        "metric": lambda: tr.Metric("ndcg", 5),
        "estimates": world.estimates,
        "interactions": world.interactions,
        "estimator": lambda: tr.estimators.MLE(),
        "design": lambda: tr.designs.Adaptive(),
        "frozen": world.frozen,
        "scheme": lambda: tr.Scheme(replacement=False),
    }


def _raise(*_: Any) -> Any:
    raise KeyError("from the caller's own function")
