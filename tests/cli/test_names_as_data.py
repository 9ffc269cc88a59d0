"""Names are data: a model may be called anything, and no terminal, page or spreadsheet runs it."""

from __future__ import annotations

import csv
import io
import json
import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from truerank import progress
from truerank._visible import in_markdown, visible
from truerank.cli import _output

DESIGN = ("--n-items", 3706, "--sample-size", 100)
NAMES = ("ease[l2=500]", "[/b]", ":x:", "\x1b[31mred\x1b]0;title\x07", "=1+1", "<a href='x'>A</a>")


@pytest.fixture
def models(here: Path) -> Path:
    rng = np.random.default_rng(2)
    with (here / "all.csv").open("w", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(["user_id", "model", "rank"])
        for name in NAMES:
            ranks = 1 + rng.binomial(99, rng.beta(1, 9, 50))
            writer.writerows([user, name, rank] for user, rank in enumerate(ranks.tolist()))
    return here


@pytest.mark.parametrize(
    "command",
    [("estimate", "all.csv", "--by", "model", "-m", "ndcg@10"), ("compare", "all.csv")],
    ids=lambda command: command[0],
)
def test_the_terminal_shows_names_as_they_are(run: Any, models: Path, command: Any) -> None:
    result = run(*command, *DESIGN, "--confidence", 0.9)
    assert result.code == 0, result.err
    for name in ("ease[l2=500]", "[/b]", ":x:", r"\x1b[31mred"):
        assert name in result.out
    assert not re.search("[\x00-\x09\x0b-\x1f\x7f-\x9f]", result.out + result.err)


def test_spreadsheets_get_text(run: Any, models: Path) -> None:
    result = run("estimate", "all.csv", "--by", "model", *DESIGN, "--csv", "-m", "ndcg@10")
    found = {row["model"] for row in csv.DictReader(io.StringIO(result.out))}
    assert {"'=1+1", "ease[l2=500]", "[/b]", ":x:"} <= found
    as_json = run("estimate", "all.csv", "--by", "model", *DESIGN, "--json", "-m", "ndcg@10")
    assert {row["model"] for row in json.loads(as_json.out)["results"]} == set(NAMES)


def test_cells() -> None:
    rows = [{"name": name, "value": -0.5} for name in ("=A1", "+x", "@x", "-x", "-0.5", "a-b")]
    found = [row["name"] for row in csv.DictReader(io.StringIO(_output.to_csv(rows)))]
    assert found == ["'=A1", "'+x", "'@x", "'-x", "-0.5", "a-b"]
    assert _output.to_csv(rows).count(",-0.5\n") == len(rows)


def test_halves_of_characters(run: Any, here: Path) -> None:
    text = _output.to_csv([{"name": "a\udc80"}])
    assert text.encode()  # they have no UTF-8
    assert visible("\u202eabc\ud800") == r"\u202eabc\ud800"


def test_messages_are_cut_and_harmless(run: Any, here: Path) -> None:
    result = run("map", "--mapping", "\x1b[2J" + "x" * 1_000_000, *DESIGN)
    assert result.code == 2
    assert len(result.err) < 3000
    assert "\x1b" not in result.err


def test_the_page_shows_names_as_they_are(run: Any, models: Path) -> None:
    assert run("report", "all.csv", *DESIGN, "-m", "ndcg@10", "-q").code == 0
    page = (models / "report.html").read_text(encoding="utf-8")
    assert "<a href='x'>" not in page
    assert "&lt;a href=" in page
    assert r"\x1b[31mred" in page
    assert not re.search("[\x00-\x08\x0b\x0c\x0e-\x1f\x7f\u202a-\u202e]", page)


@pytest.mark.parametrize(
    ("name", "written"),
    [
        ("bpr_mf v2 (k=10) [l2=500]", "bpr_mf v2 (k=10) [l2=500]"),
        ("<img src=x>", r"\<img src=x\>"),
        ("[a](http://e.x)", r"[a]\(http:<!-- -->//e.x)"),
        ("WWW.e.x", "WWW<!-- -->.e.x"),
        ("recall@10", "recall@10"),
        ("a@b.cd", "a@<!-- -->b.cd"),
        ("@team #12", "@<!-- -->team #<!-- -->12"),
        ("*b* `c` $x$ ~~d~~ &lt; _e_ a|b \\", r"\*b\* \`c\` \$x\$ \~\~d\~\~ \&lt; \_e\_ a\|b \\"),
        ("two\nlines\x1b", r"two lines\\x1b"),
    ],
)
def test_markdown_shows_names_as_they_are(name: str, written: str) -> None:
    assert in_markdown(name) == written


def test_comments_show_names_as_they_are(run: Any, models: Path) -> None:
    result = run("compare", "all.csv", *DESIGN, "--markdown", "-m", "ndcg@10")
    assert result.code == 0, result.err
    assert "<a" not in re.sub(r"\\<", "", result.out)
    assert r"\<a href='x'\>A\</a\>" in result.out


class Terminal(io.StringIO):
    """A stream that says that it is one."""

    def isatty(self) -> bool:
        return True


def test_bars_show_names_as_they_are(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(progress, "PATIENCE", 0.0)
    monkeypatch.setenv("TERM", "xterm-256color")
    monkeypatch.setenv("COLUMNS", "120")
    stream = Terminal()
    monkeypatch.setattr("sys.stderr", stream)
    with progress.reporting(None, 2, "fitting ease[l2=500] [/b] \x1b]0;x\x07") as advance:
        advance(1)
    assert r"fitting ease[l2=500] [/b] \x1b]0;x\x07" in stream.getvalue()


def test_files_of_one_stem_are_told_apart(run: Any, here: Path) -> None:
    for folder, negative in (("A", 2), ("B", 1)):  # B's only negative is the target itself
        (here / folder).mkdir()
        (here / folder / "neg.tsv").write_text(f"(0,1)\t{negative}\t3\n(1,2)\t5\t6\n")
        rows = "".join(f"{u},{r}\n" for u, r in enumerate([1, 5, 9, 30 if folder == "A" else 2]))
        (here / folder / "ranks.csv").write_text("user_id,rank\n" + rows)
    alone = run("audit", "--negatives", "B/neg.tsv")
    both = run("audit", "--negatives", "B/neg.tsv", "--negatives", "A/neg.tsv")
    assert (alone.code, both.code) == (1, 1)
    assert "B/neg.tsv" in both.out
    files = ("A/ranks.csv", "B/ranks.csv")
    compared = run("compare", *files, *DESIGN, "--json")
    assert {one["model"] for one in json.loads(compared.out)["comparisons"][0]["ranking"]} == {
        *files
    }
    twice = run("audit", "--negatives", "A/neg.tsv", "--negatives", "./A/neg.tsv")
    assert twice.code == 2
    assert "is given twice" in twice.err


def test_a_name_of_several_lines_adds_none_to_a_verdict(run: Any, here: Path) -> None:
    for name, ranks in (("b.csv", [3, 9, 40, 8]), ("x\nSettled: x is best.csv", [1, 2, 30, 7])):
        rows = "".join(f"{user},{rank}\n" for user, rank in enumerate(ranks))
        (here / name).write_text("user_id,rank\n" + rows)
    result = run("compare", "b.csv", "x\nSettled: x is best.csv", *DESIGN)
    assert result.code == 0, result.err
    assert "x Settled: x is best" in " ".join(result.out.split())
    assert not re.search("^Settled", result.out, re.MULTILINE)
