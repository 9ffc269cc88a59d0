"""Tables of ranks as users have them: frames, files, other spellings, and what is refused."""

from __future__ import annotations

import gzip
import os
import stat
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet as pq
import pytest

from truerank import InputError, RankCounts
from truerank.outcomes import tables

FRAMES: dict[str, Callable[[dict[str, Any]], Any]] = {
    "pandas": pd.DataFrame,
    "polars": pl.DataFrame,
    "pyarrow": pa.table,
}
DESIGN = {"n_items": 1000, "sample_size": 10}
RANKS = {"user_id": ["u", "v", "w"], "rank": [1, 4, 4]}
WANTED = RankCounts.from_ranks([1, 4, 4], **DESIGN)


@pytest.fixture(params=FRAMES)
def frame(request: pytest.FixtureRequest) -> Callable[[dict[str, Any]], Any]:
    """A maker of data frames, one library after the other."""
    return FRAMES[request.param]


def write(path: Path, text: str) -> Path:
    """``text`` as the file's name says: compressed or not."""
    data = text.encode()
    path.write_bytes(gzip.compress(data, mtime=0) if path.suffix.lower() == ".gz" else data)
    return path


# -- frames ---------------------------------------------------------------------------------


def test_a_frame_counts_like_its_columns(frame: Callable[..., Any]) -> None:
    assert RankCounts.from_table(frame(RANKS), **DESIGN) == WANTED
    columns = {**RANKS, "n_items": [1000, 900, 1000], "sample_size": [10, 10, 20]}
    assert RankCounts.from_table(frame(columns)) == RankCounts.from_ranks(
        [1, 4, 4], n_items=[1000, 900, 1000], sample_size=[10, 10, 20]
    )


def test_all_that_a_table_can_tell(frame: Callable[..., Any]) -> None:
    columns = {
        "user_id": [7, 7, 8, 7],
        "item_id": ["a", "b", "a", "a"],
        "rank": [1, 2, 3, 4],
        "num_negatives": [9, 9, 19, 9],
        "n_items": [500, 500, 600, 500],
        "score": [0.5, 0.7, 0.1, 0.5],
    }
    wanted = RankCounts.from_ranks(
        columns["rank"],
        n_items=columns["n_items"],
        num_negatives=columns["num_negatives"],
        user_ids=columns["user_id"],
        item_ids=columns["item_id"],
        replacement=False,
        scores=columns["score"],
        rank_among="negatives",
    )
    found = RankCounts.from_table(frame(columns), replacement=False, rank_among="negatives")
    assert found == wanted
    assert found.n_users == 2.0


def test_weights_and_ladders_in_a_table(frame: Callable[..., Any]) -> None:
    columns = {"rank": [2, 1], "sample_size": [10, 40], "weight": [0.5, 2.0]}
    found = RankCounts.from_table(frame(columns), n_items=4000, ladder=[10, 20, 40])
    assert found == RankCounts.from_ranks(
        [2, 1], n_items=4000, sample_size=[10, 40], ladder=[10, 20, 40], weights=[0.5, 2.0]
    )


@pytest.mark.parametrize(
    "names",
    [
        ("userID", "itemID", "rank"),
        ("user", "item", "position"),
        ("query_id", "item_id", "sampled_rank"),
        ("USER_ID", " Item_Id ", "Rank"),
    ],
)
def test_other_spellings(frame: Callable[..., Any], names: tuple[str, ...]) -> None:
    user, item, rank = names
    table = frame({user: [1, 1, 2], item: [5, 6, 5], rank: [1, 4, 4]})
    targets = {"rank_among": "negatives", "shared_negatives": True}
    found = RankCounts.from_table(table, **DESIGN, **targets)
    assert found == RankCounts.from_ranks(
        [1, 4, 4], user_ids=[1, 1, 2], item_ids=[5, 6, 5], **DESIGN, **targets
    )
    assert sorted(found.n_targets.tolist()) == [1, 2, 2]


@pytest.mark.parametrize("pool", ["n_items", "pool_size", "num_items"])
@pytest.mark.parametrize("size", ["num_negatives", "n_negatives"])
def test_other_spellings_of_the_design(pool: str, size: str) -> None:
    table = pa.table({"rank": [1, 4, 4], pool: [1000] * 3, size: [9] * 3})
    assert RankCounts.from_table(table) == WANTED


def test_spellings_by_hand(frame: Callable[..., Any]) -> None:
    table = frame({"who": ["u", "v", "w"], "pos": [1, 4, 4], "rank": [9, 9, 9]})
    columns = {"sampled_rank": "pos", "user_id": "who"}
    assert RankCounts.from_table(table, columns=columns, **DESIGN) == WANTED
    assert columns == {"sampled_rank": "pos", "user_id": "who"}


def test_items_without_users_tell_nothing() -> None:
    table = pa.table({"rank": [1, 4, 4], "item_id": [1, 1, 2]})
    assert RankCounts.from_table(table, **DESIGN) == WANTED


@pytest.mark.parametrize(
    "ranks",
    [
        pd.array([1, 4, 4], dtype="Int64"),
        pd.array([1, 4, 4], dtype="int64[pyarrow]"),
        pd.array([1.0, 4.0, 4.0], dtype="Float64"),
        pd.Categorical([1, 4, 4]),
        ["1", "4", "4"],
    ],
    ids=lambda ranks: str(getattr(ranks, "dtype", "str")),
)
def test_pandas_types(ranks: Any) -> None:
    assert RankCounts.from_table(pd.DataFrame({"rank": ranks}), **DESIGN) == WANTED


# -- models ---------------------------------------------------------------------------------

MODELS = {"model": ["b", "a", "b", "a"], "rank": [1, 2, 3, 4]}


@pytest.mark.parametrize("name", ["model", "Model", "algorithm"])
def test_one_count_a_model(frame: Callable[..., Any], name: str) -> None:
    table = frame({name: MODELS["model"], "rank": MODELS["rank"]})
    found = RankCounts.by_model(table, **DESIGN)
    assert list(found) == ["b", "a"]  # in order of appearance
    assert found["a"] == RankCounts.from_ranks([2, 4], **DESIGN)
    assert found["b"] == RankCounts.from_ranks([1, 3], **DESIGN)


def test_several_models_do_not_mix(frame: Callable[..., Any]) -> None:
    with pytest.raises(InputError, match=r"table holds 2 models; count each .*RankCounts.by_model"):
        RankCounts.from_table(frame(MODELS), **DESIGN)
    one = frame({"model": ["a"] * 3, "rank": [1, 4, 4]})
    assert RankCounts.from_table(one, **DESIGN) == WANTED
    # Nor do they when the table is taken apart by something else.
    both = frame({**MODELS, "fold": [1, 1, 1, 1]})
    with pytest.raises(InputError, match="holds 2 models"):
        RankCounts.by_model(both, by="fold", **DESIGN)


@pytest.mark.parametrize("missing", [[None] * 3, [float("nan")] * 3])
def test_a_model_never_given_is_one_model(frame: Callable[..., Any], missing: list[Any]) -> None:
    assert RankCounts.from_table(frame({**RANKS, "model": missing}), **DESIGN) == WANTED


def test_models_of_other_types() -> None:
    wanted = {"1": [1, 3], "2": [2, 4]}
    for table in (
        pd.DataFrame({"model": [1, 2, 1, 2], "rank": [1, 2, 3, 4]}),
        pd.DataFrame({"model": pd.Categorical(["1", "2", "1", "2"]), "rank": [1, 2, 3, 4]}),
        pl.DataFrame({"model": ["1", "2", "1", "2"], "rank": [1, 2, 3, 4]}).cast(
            {"model": pl.Categorical}
        ),
        pa.table(
            {"model": pa.array(["1", "2", "1", "2"]).dictionary_encode(), "rank": range(1, 5)}
        ),
    ):
        found = RankCounts.by_model(table, **DESIGN)
        assert found == {m: RankCounts.from_ranks(r, **DESIGN) for m, r in wanted.items()}


def test_models_by_another_column(frame: Callable[..., Any]) -> None:
    table = frame({"fold": [2, 1, 2, 1], "rank": [1, 2, 3, 4]})
    assert list(RankCounts.by_model(table, by="fold", **DESIGN)) == ["2", "1"]
    named = RankCounts.by_model(table, columns={"model": "fold"}, **DESIGN)
    assert list(named) == ["2", "1"]


@pytest.mark.parametrize(
    ("columns", "by", "message"),
    [
        ({"rank": [1, 2]}, "model", "table has no column model; found: rank"),
        ({"rank": [1, 2], "model": ["a", "b"]}, "fold", "has no column fold; found: rank, model"),
        ({"rank": [1, 2], "model": ["a", None]}, "model", "column model has missing values"),
        ({"rank": [1, 2], "model": [1.0, float("nan")]}, "model", "model has missing values"),
        ({"rank": [], "model": []}, "model", "table is empty"),
        ({"rank": [1, 0], "model": ["a", "b"]}, "model", "0-based"),
    ],
)
def test_bad_models(
    frame: Callable[..., Any], columns: dict[str, Any], by: str, message: str
) -> None:
    with pytest.raises(InputError, match=message):
        RankCounts.by_model(frame(columns), by=by, **DESIGN)


def test_models_of_one_spelling_do_not_swallow_each_other() -> None:
    table = pd.DataFrame({"rank": [1, 2], "model": pd.Series([1, "1"], dtype=object)})
    with pytest.raises(InputError, match="different values of one spelling"):
        RankCounts.by_model(table, **DESIGN)
    table = pd.DataFrame({"rank": [1, 2], "model": pd.array(["a", None], dtype="string")})
    with pytest.raises(InputError, match="missing values"):
        RankCounts.by_model(table, **DESIGN)


# -- files ----------------------------------------------------------------------------------

TEXTS = {
    "ranks.csv": "user_id,rank\nu,1\nv,4\nw,4\n",
    "ranks.tsv": "user_id\trank\nu\t1\nv\t4\nw\t4\n",
    "ranks.txt": "user_id\trank\nu\t1\nv\t4\nw\t4\n",
    "ranks.csv.gz": "user_id,rank\nu,1\nv,4\nw,4\n",
    "ranks.tsv.gz": "user_id\trank\nu\t1\nv\t4\nw\t4\n",
    "RANKS.CSV.GZ": "user_id,rank\nu,1\nv,4\nw,4\n",
    "ranks.2024.v1.CSV": '\ufeff"user_id","rank"\r\n"u",1\r\n"v",4\r\n"w",4',
}


@pytest.mark.parametrize("name", TEXTS)
def test_text_files(name: str, tmp_path: Path) -> None:
    path = write(tmp_path / name, TEXTS[name])
    assert RankCounts.from_table(path, **DESIGN) == WANTED
    assert RankCounts.from_table(str(path), **DESIGN) == WANTED


@pytest.mark.parametrize("name", ["ranks.parquet", "ranks.pq", "RANKS.PARQUET"])
def test_parquet_files(name: str, tmp_path: Path) -> None:
    path = tmp_path / name
    pq.write_table(pa.table(RANKS), path)
    assert RankCounts.from_table(path, **DESIGN) == WANTED
    # As pandas and polars write it too.
    pd.DataFrame(RANKS).set_index("user_id").to_parquet(path)
    assert RankCounts.from_table(path, **DESIGN) == WANTED
    pl.DataFrame(RANKS).write_parquet(path)
    assert RankCounts.from_table(path, **DESIGN) == WANTED


def test_models_in_a_file(tmp_path: Path) -> None:
    path = write(tmp_path / "r.csv", "model,rank,n_items,sample_size\nb,1,900,10\na,4,900,10\n")
    assert list(RankCounts.by_model(path)) == ["b", "a"]


@pytest.mark.parametrize(
    ("name", "data", "message"),
    [
        ("r.csv", b"", "r.csv is not a readable .csv file: Empty CSV file"),
        ("r.csv", b"rank\n", "ranks is empty"),
        (
            "r.csv",
            b"pos,user\n1,u\n",
            r"r.csv has no column rank or sampled_rank; found: pos, user",
        ),
        (
            "r.csv",
            b"rnk;user_id\n1;u\n",
            "has no column rank or sampled_rank; found: rnk, user_id",
        ),
        ("r.csv", b"rank,rank\n1,2\n", "r.csv has unusable column names: .*rank"),
        ("r.csv", b"rank,Rank\n1,2\n", "r.csv has several columns of one name: rank, Rank"),
        ("r.csv", b"rank,position\n1,2\n", "several columns that could be sampled_rank: rank, pos"),
        ("r.csv", b"rank,\xff\xfe\n1,2\n", "r.csv has unusable column names"),
        (
            "r.csv",
            b"rank,user_id\n1\n2,v\n",
            "r.csv, line 2: it has 1 field where the header has 2",
        ),
        ("r.csv", b"rank\n1\nfirst\n", "sampled_rank holds values that are not numbers"),
        ("r.csv", b"rank\n1.5\n", "sampled_rank is 1.5 at line 2"),
        ("r.csv", b"rank,user_id\n1,1\n2,\n3,\n", "user_ids has 2 missing values"),
        ("r.csv", b"rank,user_id\n,1\n2,2\n", "sampled_rank is nan at line 2"),
        ("r.csv", b"PAR1....PAR1", "r.csv is a Parquet file: give it the ending .parquet"),
        (
            "r.csv",
            gzip.compress(b"rank\n1\n", mtime=0),
            "r.csv is compressed by gzip: add the ending .gz",
        ),
        ("r.csv.gz", b"rank\n1\n", "r.csv.gz is not a readable .csv file"),
        ("r.csv.gz", gzip.compress(b"rank\n1\n", mtime=0)[:-9], "not a readable .csv file"),
        ("r.parquet", b"rank\n1\n", "r.parquet is not a Parquet file, whatever its name says"),
        ("r.parquet", b"", "r.parquet is not a Parquet file"),
        ("r.parquet", b"PAR1 and then nothing", "r.parquet is not a readable .parquet file"),
        (
            "r.parquet.gz",
            gzip.compress(b"PAR1", mtime=0),
            "ends in '.parquet.gz'; known: .parquet, .pq, .cs",
        ),
        ("r.xlsx", b"PK", r"ends in '.xlsx'; known: .parquet, .pq, .csv, .tsv, .txt, .csv.gz"),
        ("ranks", b"rank\n1\n", "ends in 'nothing'; known"),
        ("r.gz", b"rank\n1\n", "ends in '.gz'; known"),
    ],
)
def test_files_that_are_not_what_they_should_be(
    name: str, data: bytes, message: str, tmp_path: Path
) -> None:
    path = tmp_path / name
    path.write_bytes(data)
    with pytest.raises(InputError, match=message) as info:
        RankCounts.from_table(path, **DESIGN)
    assert "\n" not in str(info.value)


def test_paths_that_lead_nowhere(tmp_path: Path) -> None:
    for path, message in (
        (tmp_path / "nowhere.csv", r"nowhere\.csv does not exist"),
        (tmp_path, "is a folder; give the path of a file"),
        ("x" * 5000 + ".csv", "does not exist"),
        ("nul\0byte.csv", "does not exist"),
    ):
        with pytest.raises(InputError, match=message):
            RankCounts.from_table(path, **DESIGN)


# -- bad tables -----------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("columns", "options", "message"),
    [
        ({"position_in": [1]}, DESIGN, "no column rank or sampled_rank; found: position_in"),
        ({"rank": [1]}, {"sample_size": 5}, "n_items is neither given nor a column of table"),
        ({"rank": [1]}, {"n_items": 5}, "sample_size and num_negatives: neither given"),
        (
            {"rank": [1], "n_items": [900]},
            DESIGN,
            "n_items is given as 1000 and is a column of table: drop one",
        ),
        (
            {"rank": [1], "sample_size": [10]},
            DESIGN,
            "sample_size is given as 10 and is a column of table: drop one",
        ),
        ({"rank": [1], "num_negatives": [9]}, DESIGN, "sample_size and num_negatives: both given"),
        ({"rank": [1], "user": [1], "user_id": [1]}, DESIGN, "could be user_id: user_id, user"),
        ({"rank": []}, DESIGN, "ranks is empty"),
        ({"rank": [1, None]}, DESIGN, "sampled_rank is nan at row 1"),
        ({"rank": [[1], [2, 3]]}, DESIGN, "sampled_rank holds values that are not numbers"),
        ({"rank": [True, True]}, DESIGN, "of type bool"),
        ({"rank": [1, 2], "user_id": ["u", None]}, DESIGN, "user_ids has 1 missing values"),
        ({"rank": [1, 2], "user_id": [1, None]}, DESIGN, "user_ids has 1 missing values"),
        ({"rank": [1, 2], "weight": [1.0, -1.0]}, DESIGN, "weight is -1 at row 1"),
        ({"rank": [1], "model": ["a"]}, {**DESIGN, "columns": {"model": "who"}}, "no column who"),
        ({"rank": [1]}, {**DESIGN, "columns": {"rnk": "rank"}}, "unknown column 'rnk'"),
        (
            {"rank": [1]},
            {**DESIGN, "columns": ["rank"]},
            r"columns is \['rank'\]; it must be a dict",
        ),
        (
            {"rank": [1]},
            {**DESIGN, "columns": {"sampled_rank": "pos"}},
            "table has no column pos; found: rank",
        ),
    ],
)
def test_bad_tables(
    frame: Callable[..., Any], columns: dict[str, Any], options: dict[str, Any], message: str
) -> None:
    with pytest.raises(InputError, match=message):
        RankCounts.from_table(frame(columns), **options)


@pytest.mark.parametrize(
    "thing",
    [None, 3, {"rank": [1]}, [1, 2], np.ones(3), pl.Series([1]), pd.Series([1])],
    ids=lambda thing: type(thing).__name__,
)
def test_what_is_no_table(thing: Any) -> None:
    with pytest.raises(InputError, match=f"table is of type {type(thing).__name__}; give a pandas"):
        RankCounts.from_table(thing, **DESIGN)


@pytest.mark.parametrize(
    ("table", "message"),
    [
        (pd.DataFrame([[1, 2]], columns=["rank", "rank"]), "unusable column names.*rank"),
        (pa.table([[1], [2]], names=["rank", "rank"]), "unusable column names.*rank"),
        (pa.table([[1], [2]], names=["rank", " RANK"]), "several columns of one name: rank,  RANK"),
        (pd.DataFrame([[1, 2]]), "no column rank or sampled_rank; found: 0, 1"),
        (
            pd.DataFrame([[1]], columns=pd.MultiIndex.from_tuples([("rank", "a")])),
            "no column rank",
        ),
    ],
)
def test_odd_column_names(table: Any, message: str) -> None:
    with pytest.raises(InputError, match=message):
        RankCounts.from_table(table, **DESIGN)


def test_counts_are_no_table_of_ranks(tmp_path: Path) -> None:
    # Their weights would be read, their schemes would not.
    counts = RankCounts.from_exact_ranks([1, 2], n_items=30)
    counts.save(tmp_path / "counts.parquet")
    for table in (tmp_path / "counts.parquet", counts.to_arrow(), counts.to_pandas()):
        with pytest.raises(InputError, match=r"outcomes already counted.*RankCounts\.load"):
            RankCounts.from_table(table)


# -- the table itself -----------------------------------------------------------------------


def test_columns_by_name(frame: Callable[..., Any]) -> None:
    table = tables.read(frame({"User": [1, 2], "score": [0.5, 0.25]}))
    assert table.columns == ["User", "score"]
    assert len(table) == 2
    assert table.find("user_id") == "User"
    assert table.find("item_id") is None
    assert table.values("user").tolist() == table.values(" USER ").tolist() == [1, 2]
    with pytest.raises(InputError, match="table has no column item; found: User, score"):
        table.values("item")


def test_splitting_keeps_every_row(frame: Callable[..., Any]) -> None:
    rng = np.random.default_rng(0)
    keys = rng.integers(0, 5, 200)
    table = tables.read(frame({"key": keys, "row": np.arange(200)}))
    parts = dict(table.split("KEY"))
    assert list(parts) == [str(key) for key in dict.fromkeys(keys.tolist())]
    for key, part in parts.items():
        assert part.values("row").tolist() == np.flatnonzero(keys == int(key)).tolist()


def test_every_role_goes_by_its_own_name() -> None:
    for role, names in tables.COLUMNS.items():
        assert names[0] == role
        assert all(name == name.strip().lower() for name in names)
    spellings = [name for names in tables.COLUMNS.values() for name in names]
    assert len(spellings) == len(set(spellings))


# -- replacing a file -----------------------------------------------------------------------


def test_a_file_is_replaced_only_when_all_went_well(tmp_path: Path) -> None:
    target = tmp_path / "result.txt"
    target.write_text("old")

    class StopError(Exception):
        pass

    def fail() -> None:
        with tables.replacing(target) as temporary:
            temporary.write_text("half")
            raise StopError

    with pytest.raises(StopError):
        fail()
    assert target.read_text() == "old"
    assert list(tmp_path.iterdir()) == [target]
    with tables.replacing(str(target)) as temporary:
        temporary.write_text("new")
        assert target.read_text() == "old"
    assert target.read_text() == "new"
    assert list(tmp_path.iterdir()) == [target]


@pytest.mark.skipif(os.name != "posix", reason="permissions of POSIX")
def test_a_new_file_has_the_usual_permissions(tmp_path: Path) -> None:
    plain, replaced = tmp_path / "plain", tmp_path / "replaced"
    plain.write_text("")
    with tables.replacing(replaced):
        pass
    assert stat.S_IMODE(replaced.stat().st_mode) == stat.S_IMODE(plain.stat().st_mode)


def test_a_file_that_cannot_be_written(tmp_path: Path) -> None:
    for path, message in (
        (tmp_path / "nowhere" / "x", "the folder .* does not exist"),
        (tmp_path, "it is a folder"),
        (tmp_path / ("x" * 300), "cannot write .*File name too long"),
    ):
        with pytest.raises(InputError, match=message), tables.replacing(path):
            pass
    assert list(tmp_path.iterdir()) == []


def test_anything_that_streams_arrow_is_a_table() -> None:
    class Streams:
        def __arrow_c_stream__(self, requested_schema: object = None) -> object:
            return pa.table({"rank": [1, 2]}).__arrow_c_stream__(requested_schema)

    assert tables.read(Streams()).values("rank").tolist() == [1, 2]
