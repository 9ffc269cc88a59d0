"""Ranks files in the shapes that spreadsheets and other tools write."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import truerank as tr
from truerank.outcomes import tables

DESIGN: dict[str, Any] = {"sample_size": 10, "n_items": 500, "replacement": False}


@pytest.mark.parametrize(
    "text",
    [
        "user_id;rank\n1;2\n2;5\n",
        "\ufeffuser_id;rank\n1;2\n2;5\n",
        '"user_id","rank"\n"1","2"\n"2","5"\n',
        "user_id\trank\n1\t2\n2\t5\n",
        "user_id|rank\n1|2\n2|5\n",
        "user_id;rank;weight\n1;2,0;1,0\n2;5,0;1,0\n",
    ],
)
def test_separators_marks_quotes_and_commas(tmp_path: Path, text: str) -> None:
    path = tmp_path / "ranks.csv"
    path.write_text(text, encoding="utf-8")
    counts = tr.RankCounts.from_table(path, **DESIGN)
    assert counts.sampled_rank.tolist() == [2, 5]


def test_decimal_commas_are_numbers(tmp_path: Path) -> None:
    path = tmp_path / "ranks.csv"
    path.write_text("rank;weight\n1;0,5\n2;1,25\n", encoding="utf-8")
    assert tables.read(path).values("weight").tolist() == [0.5, 1.25]


def test_columns_by_any_name_that_we_know() -> None:
    import pandas as pd

    table = pd.DataFrame({"Pos": [1, 3]})
    for ours in ("rank", "sampled_rank", "position"):
        counts = tr.RankCounts.from_table(table, columns={ours: "Pos"}, **DESIGN)
        assert counts.sampled_rank.tolist() == [1, 3]


def test_a_lazy_frame_is_collected() -> None:
    pl = pytest.importorskip("polars")
    counts = tr.RankCounts.from_table(pl.LazyFrame({"rank": [1, 3]}), **DESIGN)
    assert counts.n_users == 2


def test_columns_that_tell_models_apart() -> None:
    import datetime
    from decimal import Decimal

    import pyarrow as pa

    kinds: list[list[Any]] = [
        [datetime.datetime(2020, 1, 1), datetime.datetime(2020, 1, 2)],
        [Decimal("0.10"), Decimal("0.20")],
        [True, False],
    ]
    for values in kinds:
        table = pa.table({"rank": [1, 2], "by": values})
        assert len(tr.RankCounts.by_model(table, by="by", **DESIGN)) == 2
    for values in ([[1], [2]], [{"a": 1}, {"a": 2}]):
        table = pa.table({"rank": [1, 2], "by": values})
        with pytest.raises(tr.InputError, match="column by holds values of type"):
            tr.RankCounts.by_model(table, by="by", **DESIGN)
    wrong: list[Any] = [2**63, 0.5, object(), [3]]
    for by in wrong:
        with pytest.raises(tr.InputError, match=r"by is .*; it must be the name of a column"):
            tr.RankCounts.by_model(table, by=by, **DESIGN)


@pytest.mark.parametrize("data", [b"", b"\x93NUMPY", b"\x93NUMPY\x01\x00\x05\x00{'a'}", b"PK\x03"])
def test_damaged_arrays_are_refused(tmp_path: Path, data: bytes) -> None:
    from truerank._npy import mapped

    (tmp_path / "S.npy").write_bytes(data)
    with pytest.raises(tr.InputError, match=r"is not a readable \.npy file"):
        mapped(tmp_path / "S.npy")


def test_several_arrays_are_refused(tmp_path: Path) -> None:
    from truerank._npy import mapped

    np.savez(tmp_path / "S.npz", a=np.eye(2))
    with pytest.raises(tr.InputError, match="holds several arrays"):
        mapped(tmp_path / "S.npz")


def test_sampled_tables_say_how_they_were_drawn(tmp_path: Path) -> None:
    import pandas as pd
    import pyarrow.parquet as pq

    scores = np.random.default_rng(0).normal(size=(20, 30))
    test = pd.DataFrame({"user_id": range(20), "item_id": range(20)})
    for replacement in (True, False):
        design = tr.designs.Fixed(num_negatives=9, replacement=replacement)
        table = tr.rank(tr.scoring.Dense(scores), test, design)
        pq.write_table(table, tmp_path / "ranks.parquet")
        for source in (table, tmp_path / "ranks.parquet"):
            (scheme,) = tr.RankCounts.from_table(source).schemes
            assert scheme.replacement is replacement


def test_samples_larger_than_the_pool_have_no_map() -> None:
    from truerank.cli._samples import Draws

    with pytest.raises(tr.InputError, match=r"sample size is 100, .* at most --n-items 10"):
        Draws(n_items=10, sample_size=100).sizes()
