"""The published numbers are well-formed, and of known experiments."""

from __future__ import annotations

import json
from importlib import resources

import pytest

import truerank as tr
from truerank import estimators, metrics
from truerank_papers.experiments import experiments, papers
from truerank_papers.experiments.pages import table_csv, table_markdown
from truerank_papers.experiments.published import Number, parse, published
from truerank_papers.experiments.results import Result, Table

PLACE = resources.files("truerank_papers.experiments") / "published"
FILES = [(paper.name, file.name) for paper in PLACE.iterdir() for file in paper.iterdir()]


@pytest.mark.parametrize(("paper", "file"), FILES)
def test_every_file_is_read_and_belongs_to_an_experiment(paper, file):
    assert paper in papers()
    name = file.removesuffix(".csv")
    experiments(paper, name)
    found = published(paper, name)
    assert found.source.startswith(f"{paper.upper()} ")
    assert found.unit
    for key, number in found.numbers.items():
        named = dict(zip(found.keys, key, strict=True))
        if named.get("estimator", "exact") != "exact":
            estimators.get(named["estimator"])
        if "metric" in named:
            metrics.parse(named["metric"])
        assert number.sd is None or number.sd >= 0
        assert number.value is not None or number.note


def test_sizes_of_the_tables():
    """As printed: rows times columns."""
    sizes = {
        (paper, name): len(published(paper, name).numbers)
        for paper, file in FILES
        for name in [file.removesuffix(".csv")]
    }
    assert sizes["kr20", "table1"] == sizes["kr20", "table2"] == 12
    assert sizes["kr20", "table3"] == 84
    assert sizes["kr20", "table4"] == 84
    assert sizes["jl21", "table2"] == sizes["jl21", "table3"] == 105
    assert sizes["jl21", "table6"] == sizes["jl21", "table7"] == 90
    assert sizes["jl21", "table4"] == 72
    assert sizes["lj20", "table2"] == 16
    assert sizes["lj20", "table3"] == 4 * 4 * 6 * 3
    assert sizes["lj20", "table5"] == sizes["lj20", "table6"] == 90
    assert sizes["lj20", "table7"] == 72
    assert sizes["lj24", "table3"] == 48
    assert all(sizes["lj24", f"table{number}"] == 105 for number in (4, 8, 9))
    assert sizes["lj24", "table5"] == 90
    assert sizes["lj24", "table6"] == 216
    assert sizes["jl21", "table8"] == sizes["jl21", "table9"] == sizes["jl21", "table10"] == 60


HEAD = "# source: T table 1.\n# unit: share\n"


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("a,value,sd,note\nx,1,,\n", "does not say its source"),
        (HEAD + "a,value\nx,1\n", "the last must be value, sd, note"),
        (HEAD + "a,value,sd,note\nx,1,,\nx,2,,\n", "two rows"),
        (HEAD + "a,value,sd,note\nx,,,\n", "no value"),
    ],
)
def test_bad_files_are_refused(text, message):
    with pytest.raises(tr.InputError, match=message):
        parse(text, "t.csv")


def test_a_bound_is_no_value():
    """ "Less than 300" has no difference; ours keeps it or does not."""
    text = HEAD + "a,value,sd,note\nx,<300,,\ny,>7,,\n"
    found = parse(text, "t.csv")
    assert (found.numbers["x",].value, found.numbers["x",].bound) == (300.0, "<")
    table = Table.beside("t", found, {("x",): Number(299.0), ("y",): Number(6.0)})
    assert [cell.difference for cell in table.cells] == [None, None]
    assert [cell.holds for cell in table.cells] == [True, False]
    shown = table_markdown(table)
    assert "| x | 299.00 | < 300.00 | holds |" in shown
    assert "| y | 6.00 | > 7.00 | does not hold |" in shown
    assert "x,299,,<300,,,,\n" in table_csv(table)
    assert Result.from_json(json.loads(json.dumps(Result((table,)).to_json()))).tables == (table,)


def test_kr20_figure_5_says_less_than_300():
    assert published("kr20", "figure5").numbers["X", "in the bottom half"].bound == "<"


def test_a_table_that_is_not_there():
    with pytest.raises(tr.InputError, match="no published numbers of kr20 table77"):
        published("kr20", "table77")
