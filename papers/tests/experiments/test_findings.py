"""What the notes say comes from the results: other results, other sentences."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from truerank_papers.experiments import experiments
from truerank_papers.experiments.jl21 import accuracy as jl21
from truerank_papers.experiments.kr20 import movielens, toy
from truerank_papers.experiments.lj20 import tables as lj20
from truerank_papers.experiments.lj20 import winners as lj20_winners
from truerank_papers.experiments.lj24 import accuracy as lj24
from truerank_papers.experiments.lj24 import other_data
from truerank_papers.experiments.lj24 import winners as lj24_winners
from truerank_papers.experiments.published import Number
from truerank_papers.experiments.ranks import GlobalRanks
from truerank_papers.experiments.recall_curves import ends, nearest
from truerank_papers.experiments.results import Cell, Table
from truerank_papers.experiments.run import Run
from truerank_papers.experiments.settings import Settings


def a_run(tmp_path, paper: str, name: str) -> Run:
    (experiment,) = experiments(paper, name)
    return Run(experiment, Settings(None, tmp_path, progress=False))


def changed(table: Table, key: tuple[str, ...], **values) -> Table:
    cells = [replace(cell, **values) if cell.key == key else cell for cell in table.cells]
    return replace(table, cells=tuple(cells))


def test_kr20_toy(tmp_path):
    run = a_run(tmp_path, "kr20", "table1")
    result = toy.table1(run)
    assert result.notes == ("Arithmetic: all 12 cells agree to the digits printed.",)
    one = replace(a_run(tmp_path, "kr20", "table2"), settings=replace(run.settings, repeats=200))
    (table,) = toy.table2(one).tables
    assert "by `auc`, and another by `ap`, `ndcg` and `recall@10`" in toy._orders(table)
    exact = {("A", "recall@10"): 0.0, ("B", "recall@10"): 0.0, ("C", "recall@10"): 0.2}
    for key, value in exact.items():
        table = changed(table, key, ours=value)
    assert "by `auc` and `recall@10`, and another by `ap` and `ndcg`" in toy._orders(table)
    near = float(toy._same_law(table, 200).split("within ")[1].split(" ")[0])
    far = changed(table, ("A", "auc"), ours=0.5)
    assert float(toy._same_law(far, 200).split("within ")[1].split(" ")[0]) > near + 100


def test_kr20_pattern_and_closeness(tmp_path):
    run = a_run(tmp_path, "kr20", "table4")
    theirs = run.published()
    numbers = {(*key[:2], "inferred", key[2]): number for key, number in theirs.numbers.items()}
    theirs = replace(theirs, numbers=numbers)
    table = Table.beside("table4", theirs, {key: Number(7.0) for key in theirs.numbers})
    text = movielens._pattern(table)
    assert "X and Y in the right order in 7 (printed: 0) percent" in text
    naive = ("X vs Y", "recall@10", "inferred", "naive")
    text = movielens._pattern(changed(table, naive, ours=42.0))
    assert "X and Y in the right order in 7 to 42 (printed: 0) percent" in text
    assert movielens._lost(table).startswith("In our text of the paper 15 cells are lost, of Y vs")
    best = ("X vs Z", "recall@10", "inferred", "cls")
    both = changed(table, best, ours=88.0)
    today = [Cell((pair, "recall@10", "today", "smooth"), 64.0) for pair in ("X vs Y", "X vs Z")]
    text = movielens._today(replace(both, cells=(*both.cells[:56], *today)))
    assert "64 percent for X vs Y (`naive`: 7) and 64 percent for X vs Z (`cls`: 88)" in text

    def ranks(hits: int) -> GlobalRanks:
        above = np.where(np.arange(1000) < hits, 0, 50)
        return GlobalRanks(above, np.zeros_like(above), np.full_like(above, 100))

    near = movielens._closeness(run, {"X": ranks(80), "Y": ranks(85)})
    assert "ours is 0.50 percentage points of recall@10 below Y, the paper's 1.24" in near
    assert near.endswith("here the two are closer.")
    far = movielens._closeness(run, {"X": ranks(80), "Y": ranks(180)})
    assert far.endswith("here the two are further apart.")


def test_jl21_tables(tmp_path):
    theirs = a_run(tmp_path, "jl21", "table2").published()
    table = Table.beside("table2", theirs, dict(theirs.numbers))
    bias = Table.beside("bias", jl21._biases(theirs), jl21._biased(theirs.numbers))
    assert "lies within 0.0 printed standard deviations" in jl21._settings(table)
    assert "percent above `mle`" in jl21._weighted(table)
    other = changed(bias, ("ALS", "mle"), ours=90.0)
    fitted = changed(table, ("ALS", "recall@10", "mle"), ours=114.17)
    text = jl21._furthest(fitted, other, 3706)
    assert text.startswith("By the bias of `mle`, ALS differs most: the paper's `mle` says 25.2")
    assert "ours 114.2 where 24.2 is." in text
    without = replace(table, cells=tuple(Cell(c.key, published=c.published) for c in table.cells))
    assert "Item-KNN" not in jl21._settings(without)


def test_lj20_distances(tmp_path):
    theirs = a_run(tmp_path, "lj20", "table5").published()
    ours = {key: Number(0.5) for key in theirs.numbers}
    table = Table.beside("table5", theirs, ours)
    assert "`bound` 0.0000 (printed: 0.0173)" in lj20._distance(table)
    assert "`actual` +0.0000 (printed: +0.0041)" in lj20._at_large_k(table, 50)
    moved = changed(table, ("actual", "50", "beta(0.5)"), ours=0.75)
    assert "`actual` +0.2500 (printed: +0.0041)" in lj20._at_large_k(moved, 50)
    none = Table.beside("table5", theirs, {})
    assert "`bound` not at hand (printed: 0.0173)" in lj20._distance(none)


def test_lj20_winners():
    recall = np.array([[0.2, 0.3, 0.4], [0.1, 0.299, 0.2]])
    text = lj20_winners._disagreeing("d", np.array([100.0, 50.0, 96.0]), recall)
    assert "at 2 of 3 k, where the best model leads by 100.0 percent in median" in text
    assert text.endswith("but not at k = 2, where it leads by 0.3")
    assert lj20_winners._disagreeing("d", np.full(3, 99.0), recall).endswith("at all k up to 3")
    assert "leads by" in lj20_winners._disagreeing("d", np.zeros(3), recall)


def test_lj24_errors(tmp_path, monkeypatch):
    run = a_run(tmp_path, "lj24", "table4")
    monkeypatch.setattr(Run, "at_hand", lambda _: ["citeulike"])
    errors = {"mes": 3.0, "mle": 2.0, "smooth": 1.0}
    errors |= dict.fromkeys(lj24.LEARNT, 4.0)
    errors |= {name + lj24.ALL: 1.5 for name in lj24.LEARNT}
    ours = {("citeulike", "EASE", name): Number(error) for name, error in errors.items()}
    assert lj24._worse_than_mle(run, ours) == []
    assert "`bv-mes` 4.0 and 1.5" in lj24._gain(ours)
    assert "none of 4 estimators err less" in lj24._gain(ours)
    assert "all 4 estimators err less" in lj24._gain(
        {**ours, **{("citeulike", "EASE", name): Number(1.9) for name in lj24.LEARNT}}
    )
    (text,) = lj24._worse_than_mle(run, {**ours, ("citeulike", "EASE", "smooth"): Number(9.0)})
    assert "all 1 rows: EASE on citeulike (9.0 and 2.0 percent)" in text
    assert "170 of 16,980 (citeulike)" in text
    assert lj24._equal_cost(["ml-1m"]) == "614 items (ml-1m)"


def test_lj20_printed_winners(tmp_path):
    run = a_run(tmp_path, "lj20", "table3")
    printed = run.published()
    table = Table.beside("table3", printed, dict(printed.numbers))
    first, second = lj20_winners._printed_winners(table)
    assert "the same winner in" in first
    assert second.endswith("has the winner of the printed one in all 24 rows.")
    row = ("ml-1m", "1", "sampled")
    other = changed(table, (*row, "NeuMF"), ours=0.9)
    assert lj20_winners._printed_winners(other)[1].endswith("in 23 of 24 rows.")
    assert "on ml-1m `NeuMF` 0.692, `MultiVAE` 0.000" in lj20_winners._distances(other)[0]
    assert lj20_winners._distances(Table.beside("t", printed, {})) == []
    # A model that only the paper has does not count, and one alone wins nothing.
    alone = {key: one for key, one in printed.numbers.items() if key[3] == "ALS"}
    for ours in ({}, alone):
        assert len(lj20_winners._printed_winners(Table.beside("t", printed, ours))) == 1
    both = {key: one for key, one in printed.numbers.items() if key[3] in ("ALS", "NeuMF")}
    found = lj20_winners._printed_winners(Table.beside("t", printed, both))[1]
    assert found.endswith("has the winner of the printed one in all 24 rows.")


def test_lj24_best_two():
    def shares(few, many):
        return {
            ("d", n, "5", "recall", name): Number(value)
            for n, value in (("100", few), ("500", many))
            for name in ("mle", "bv", "bv-mes", "mn-mle")
        }

    (text,) = lj24_winners.two_best_pattern(shares(40.0, 60.0))
    assert "all 4 estimators find them more often with 500" in text
    (text,) = lj24_winners.two_best_pattern(
        shares(40.0, 30.0) | {("d", "100", "5", "recall", "bv-mes"): Number(55.0)}
    )
    assert "none of 4 estimators find them more often with 500" in text
    assert "learnt ones finds them in 55, the best of the others in 40" in text


def test_lj24_other_data():
    names = [*other_data.ESTIMATORS, "adaptive mle", "adaptive smooth", "adaptive size"]
    errors = {("toys", "ALS", name): Number(10.0) for name in names}
    grown = errors | {("toys", "ALS", "adaptive mle"): Number(4.0)}
    columns = ["mn-mes n=100", "mn-mes n=500", *(f"{m:,} users" for m in other_data.USERS)]
    users = {("toys", "ALS", name): Number(7.0) for name in columns}
    first, second, third = other_data.findings(errors, grown, users)
    assert "lowers the error of none of 4 estimators" in first
    assert "As in the paper, adaptive `mle` errs less" in second
    assert "`1,000 users` 7.0" in third
    assert "Unlike in the paper" in other_data.findings(errors, errors, users)[1]


def test_curves():
    """The law itself: Beta(0.5, 1), where 10 percent rank in the first hundredth."""
    share = (np.arange(4000) + 0.5) / 4000
    above = np.floor(share**2 * 2000).astype(int)
    ranks = GlobalRanks(above, np.zeros_like(above), np.full_like(above, 2000))
    assert "10.0 and 0.5 percent (m) of the users, where Beta(0.5, 1) has 10.0 and 0.5" in ends(
        {"m": ranks}, 0.5
    )
    sampled = np.linspace(0.01, 1.0, 100) ** 0.5
    text = nearest(ranks, sampled, ("linear", "beta(0.5)"), n_items=2000)
    order = [text.index(f"`{name}`") for name in ("beta(0.5)", "linear")]
    assert order == sorted(order)


@pytest.mark.parametrize("name", ["figure2", "figure3", "figure4"])
def test_what_is_computed_is_said_by_every_run(tmp_path, name):
    run = a_run(tmp_path, "kr20", name)
    first, again = (run.experiment.function(run).notes for _ in range(2))
    assert first == again
    assert any(character.isdigit() for character in "".join(first))
