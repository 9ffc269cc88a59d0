"""``truerank reproduce`` lists, runs, and says what is missing."""

from __future__ import annotations

import pytest

from truerank.cli import main


def call(capsys, *arguments):
    with pytest.raises(SystemExit) as stopped:
        main(["reproduce", *map(str, arguments)])
    out, err = capsys.readouterr()
    return stopped.value.code, out, " ".join(err.split())


def test_list(capsys):
    code, out, _ = call(capsys, "--list")
    assert code == 0
    assert "kr20  table3" in out
    assert "[ml-1m]" in out
    assert call(capsys, "kr20", "--list")[1].count("\n") == 10


def test_a_table_without_data(capsys, tmp_path):
    code, out, _ = call(capsys, "kr20", "table2", "--repeats", 30, "--out", tmp_path)
    assert code == 0
    assert out.startswith("kr20 table2: ")
    assert "30 repeats" in (tmp_path / "kr20.md").read_text()


def test_a_paper_skips_what_has_no_data(capsys, tmp_path):
    code, out, _ = call(capsys, "jl21", "--data", tmp_path, "--out", tmp_path / "out")
    assert code == 0
    assert "jl21 table2: skipped. jl21 table2 needs ml-1m" in out


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ((), "say what to reproduce"),
        (("kr21",), "did you mean 'kr20'"),
        (("kr20", "tables3"), "did you mean 'table3'"),
        (("kr20", "table3"), "needs ml-1m"),
        (("kr20", "table2", "--repeats", 1), "repeats is 1; it must be at least 2"),
    ],
)
def test_what_cannot_be_done_is_said(capsys, tmp_path, arguments, message):
    code, _, err = call(capsys, *arguments, "--out", tmp_path)
    assert code == 2
    assert message in err
