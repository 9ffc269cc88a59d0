from __future__ import annotations

import csv
import io
import json
import re
import shlex
from pathlib import Path
from typing import Any

import pytest

import truerank as tr
from truerank.cli.translate import HELP

DOCS = Path(__file__).parents[2] / "docs" / "translate.md"
DESIGN = ("--n-items", 3706, "--sample-size", 100)


def test_the_answer_of_the_library(run: Any) -> None:
    options = ("-s", "hr@10=0.62", "-s", "ndcg@10=0.360", "-m", "recall@1,10", "-m", "auc")
    content = json.loads(run("translate", *options, *DESIGN, "--json").out)
    found = tr.translate(
        {"hr@10": "0.62", "ndcg@10": "0.360"}, "recall@1,10", n_items=3706, sample_size=100
    )
    assert (content["n_items"], content["sample_size"], content["replacement"]) == (3706, 100, True)
    assert [value["text"] for value in content["published"]] == ["0.62", "0.360"]
    assert [row["metric"] for row in content["bounds"]] == ["recall@1", "recall@10", "auc"]
    for row, bounds in zip(content["bounds"], found.bounds, strict=False):
        assert (row["low"], row["high"]) == (bounds.low, bounds.high)
        assert row["high_example"]["share"] == list(bounds.high_example.share)
    rows = list(csv.DictReader(io.StringIO(run("translate", *options, *DESIGN, "--csv").out)))
    assert list(rows[0]) == ["model", "metric", "value", "low", "high"]
    assert [float(row["high"]) for row in rows] == [row["high"] for row in content["estimates"]]


def test_text(run: Any) -> None:
    options = ("--sampled", "hr@10=0.62,ndcg@10=0.36", "--metrics", "recall@10")
    lines = run("translate", *options, *DESIGN).out.splitlines()
    assert lines[0] == "pool of 3,706 items · samples of 100, with replacement"
    assert [line.split() for line in lines if line.startswith(" ndcg@10")] == [
        ["ndcg@10", "0.36", "0.3550", "to", "0.3650"]
    ]
    text = " ".join(lines)
    assert "Sampled recall@10 is about global recall@356 (bound) to recall@363 (beta 0.5)" in text
    answer = [line.split() for line in lines if line.startswith(" recall@10")][1]
    assert (answer[0], answer[2]) == ("recall@10", "?")
    assert answer[-3:] == ["0.0000", "to", "0.2842"]
    assert "allow for the noise of 1,000 users" in text
    assert max(map(len, lines)) <= 80


def test_models(run: Any) -> None:
    design = ("--n-items", 1000, "--num-negatives", 49, "--no-replacement", "--n-users", 800)
    one = run("translate", "-s", "A:hr@5=0.62,auc=0.90", "-s", "My B:auc=0.80", *design, "--json")
    two = run(
        "translate", *["-s", "A:hr@5=0.62", "-s", "A:auc=0.90"], "-s", "My B: auc=0.80", *design
    )
    content = json.loads(one.out)
    assert [(row["model"], row["metric"]) for row in content["bounds"]] == [
        ("A", "recall@5"),
        ("A", "auc"),
        ("My B", "recall@5"),
        ("My B", "auc"),
    ]
    assert (content["replacement"], content["n_users"]) == (False, 800)
    assert [c["flip"] for c in content["comparisons"]] == ["yes", "no"]
    assert "auc: no; sampled auc puts A ahead, and My B cannot lead." in two.out
    assert "recall@5: yes; sampled auc puts A ahead, but My B may lead by up to" in two.out
    assert re.search(r"\n    A 0\.\d{4}: \d+\.\d % of users at rank", two.out)


def test_decreasing_is_narrower(run: Any) -> None:
    def width(*options: str) -> float:
        content = json.loads(run("translate", "-s", "hr@10=0.62", *DESIGN, *options, "--json").out)
        return float(content["bounds"][0]["high"] - content["bounds"][0]["low"])

    assert width("--decreasing") < width() < width("--n-users", "100")
    assert width("--n-users", "100", "--confidence", "0.5") < width("--n-users", "100")


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ("", "--sampled is missing"),
        ("-s hr@10", "--sampled is 'hr@10'; write it as hr@10=0.62,ndcg@10=0.36"),
        ("-s hr@10=", "write it as hr@10=0.62"),
        ("-s hr@1=0.2,5=0.4", "unknown metric '5'"),
        ("-s :hr@10=0.62", "there is no model before the colon"),
        ("-s A:hr@10=0.62 -s hr@10=0.58", "names a model in some places only"),
        ("-s hr@10=0.62 -s hr@10=0.58", "--sampled hr@10 is given twice"),
        ("-s A:hr@10=0.62 -s A:hit@10=0.58", "sampled recall@10 is given twice for A"),
        ("-s hr@10=0.62 -s recall@10=0.58", "sampled recall@10 is given twice"),
        ("-s hr@10=1", "write the decimals that were published"),
        ("-s hr@10=62", "it must be from 0 to 1, or in percent with the sign %"),
        ("-s hr@10=0.62,ndcg@10=0.70", "no sampled ranks fit"),
        ("-s hr@10=0.62 -m recall@5000", "k is 5000 in recall@5000; the pool has 3706 items"),
        ("-s hr@10=0.62 -m recal@5", "did you mean 'recall'?"),
        ("-s hr@10=0.62 --num-negatives 99", "both are given"),
        ("-s hr@10=0.62 --confidence 1.5", "confidence is 1.5; it must be above 0 and at most 1"),
        ("-s hr@10=0.62 --json --csv", "--json and --csv are both given"),
    ],
)
def test_bad_input(run: Any, options: str, message: str) -> None:
    result = run("translate", *DESIGN, *options.split())
    assert (result.code, result.out) == (2, "")
    assert result.err.startswith("error: ")
    assert message in result.err
    assert len(result.err.splitlines()) == 1


def test_sizes_are_needed(run: Any) -> None:
    assert "--n-items is missing" in run("translate", "-s", "hr@10=0.62").err
    assert "neither is given" in run("translate", "-s", "hr@10=0.62", "--n-items", 99).err


def test_every_example_of_the_help_runs(run: Any) -> None:
    examples = re.findall(r"^truerank (.*)$", HELP.replace("\\\n", " "), re.MULTILINE)
    assert len(examples) == 4
    for example in examples[:3]:
        result = run(*shlex.split(example))
        assert (result.code, result.err) == (0, ""), example


def test_every_example_of_the_docs_runs(run: Any) -> None:
    text = DOCS.read_text(encoding="utf-8")
    shown = re.findall(r"^```text\n\$ truerank (.*)\n((?:.*\n)*?)```$", text, re.MULTILINE)
    assert len(shown) == 3
    for command, output in shown:
        result = run(*shlex.split(command))
        # Which of several distributions is shown for a bound is the solver's affair.
        # Digits of estimates are those of the priors of the day.
        loose = r"% |at 7,415| \? |probability|[01]\.\d\d[.;]?$|to [01]\.\d+ +[01]\.\d+ to"
        tables = [line for line in output.splitlines() if not re.search(loose, line)]
        assert (result.code == 2) == output.startswith("error:")
        told = (result.out + result.err).splitlines()
        assert [line for line in tables if line and line not in told] == []
    for block in re.findall(r"^```sh\n(.*?)^```$", text, re.MULTILINE | re.DOTALL):
        for command in block.splitlines():
            assert run(*shlex.split(command)[1:]).code == 0, command
    space: dict[str, Any] = {}
    for block in re.findall(r"^```python\n(.*?)^```$", text, re.MULTILINE | re.DOTALL):
        exec(block, space)
    assert space["found"].comparisons[0].flip == "yes"
