"""Datasets by name: every layout of a folder, counts checked, messages that say where to look."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from truerank.errors import InputError
from truerank_papers import datasets


@pytest.fixture
def small(monkeypatch: pytest.MonkeyPatch) -> None:
    """Every dataset has 2 users, 3 items and 5 interactions."""
    for name, dataset in datasets.NAMED.items():
        monkeypatch.setitem(
            datasets.NAMED, name, replace(dataset, n_users=2, n_items=3, n_interactions=5)
        )


def test_sparsity_is_what_the_papers_print() -> None:
    printed = {  # JL21 table 5, LJ20 table 4, LJ24 table 2
        "ml-1m": 95.53,
        "pinterest-20": 99.73,
        "citeulike": 99.78,
        "yelp": 99.89,
        "book-x": 99.95,
        "ml-20m": 99.65,
    }
    assert printed.keys() == datasets.NAMED.keys()
    for name, value in printed.items():
        data = datasets.NAMED[name]
        sparsity = 100 * (1 - data.n_interactions / data.n_users / data.n_items)
        assert sparsity == pytest.approx(value, abs=0.0051)


@pytest.mark.usefixtures("small")
def test_a_ready_split_is_taken_as_it_is(tmp_path: Path) -> None:
    (tmp_path / "yelp.train.rating").write_text("0\t5\t4\t9\n0\t6\t4\t9\n1\t5\t1\t9\n")
    (tmp_path / "yelp.test.rating").write_text("0\t7\t4\t1\n1\t6\t1\t1\n")
    (tmp_path / "ml-1m.train.rating").write_text("0\t5\t4\t9\n")
    split = datasets.load("Yelp", tmp_path)
    assert split.test.item_id.tolist() == [7, 6]
    assert split.name == "yelp"


@pytest.mark.usefixtures("small")
def test_raw_ml_1m(tmp_path: Path) -> None:
    (tmp_path / "ratings.dat").write_text(
        "1::5::4::10\n1::6::4::30\n1::7::1::20\n2::5::1::9\n2::6::1::8\n"
    )
    split = datasets.load("ml-1m", tmp_path)
    assert list(zip(split.test.user_id.tolist(), split.test.item_id.tolist(), strict=True)) == [
        (1, 6),
        (2, 5),
    ]
    assert len(datasets.load("ml-1m", tmp_path, how="random", seed=4).test) == 2


@pytest.mark.usefixtures("small")
def test_raw_ml_20m_is_filtered(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(
        datasets.NAMED, "ml-20m", replace(datasets.NAMED["ml-20m"], n_users=1, n_items=5)
    )
    rows = [f"1,{item},4.0,{item}" for item in range(5)]  # five of 4 and more: stays
    rows += [f"2,{item},4.5,{item}" for item in range(4)] + ["2,9,3.5,9"]  # four only: goes
    (tmp_path / "ratings.csv").write_text("userId,movieId,rating,timestamp\n" + "\n".join(rows))
    assert datasets.load("ml-20m", tmp_path).test.item_id.tolist() == [4]


@pytest.mark.usefixtures("small")
def test_raw_citeulike_and_prepared_tables(tmp_path: Path) -> None:
    (tmp_path / "users.dat").write_text("3 5 6 7\n2 5 6\n")
    split = datasets.load("citeulike", tmp_path)
    assert split.test.user_id.tolist() == [0, 1]  # at random: no timestamps
    (tmp_path / "book-x.csv").write_text("user_id,item_id\na,x\na,y\na,z\nb,x\nb,y\n")
    assert len(datasets.load("book-x", tmp_path).test) == 2


@pytest.mark.usefixtures("small")
def test_wrong_counts_are_told(tmp_path: Path) -> None:
    (tmp_path / "book-x.csv").write_text("user_id,item_id\na,x\na,y\nb,x\nb,y\n")
    with pytest.raises(
        InputError,
        match=r"2 users, 2 items, 4 interactions; LJ20 table 4: 2 users, 3 items, 5 interactions.*"
        r"tr\.data\.read",
    ):
        datasets.load("book-x", tmp_path)


@pytest.mark.parametrize("name", datasets.NAMED)
def test_missing_data_names_its_source(tmp_path: Path, name: str) -> None:
    with pytest.raises(
        InputError, match=rf"does not hold {name}: looked for .*Get it from .*\.(com|org)"
    ):
        datasets.load(name, tmp_path)
    with pytest.raises(InputError, match=rf"is no folder; it should hold {name}"):
        datasets.load(name, tmp_path / "nowhere")


def test_unknown_names() -> None:
    with pytest.raises(InputError, match="unknown dataset 'ml-1'; did you mean 'ml-1m'"):
        datasets.load("ml-1", ".")


@pytest.mark.parametrize("name", ["ml-1m", "citeulike"])
def test_real_data_have_the_published_counts(name: str) -> None:
    folder = Path(__file__).parents[3] / "shared" / "data" / name
    if not folder.exists():
        pytest.skip(f"{name} is not at {folder}")
    split = datasets.load(name, folder)
    assert len(split.test) == datasets.NAMED[name].n_users
    assert len(split.whole) == datasets.NAMED[name].n_interactions
