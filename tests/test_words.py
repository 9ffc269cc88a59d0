"""Phrases that need a second reading are not in what people read."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
# What was hard to read, and what to write instead.
BANNED = {
    r"More of the error comes from what": "The sample is too small to settle this",
    r"that significant differences \(Holm\) leave open": "Possible ranks of each model",
    r"Of everything random": "Seed of all random draws",
    r"Of AUC that is unbiased": "This is unbiased for AUC",
    r"The same added up": "Cumulative: ...",
    r"\bunless said\b": "unless stated",
    r"\banew\b": "again",
    r"\bits kin\b": "the other estimators",
    r"% of itself": "within 5 %",
    r"\bin the mean\b": "on average",
    r"\bcomes to an error\b": "needs for an error",
    r"\bis told of\b": "say what it is",
    r"\bnegatives a user\b": "negatives per user",
    r"\bpairs a user\b": "pairs per user",
    r"\bto be had\b": "available",
    r"\bis called for\b": "is needed",
    r"\b(?:hereof|thereof|whereof|wherein|therein)\b": "of it, in it",
    r"<bool>": "nothing: a flag has no value",
    r"\bwhoever's\b": "regardless of user",
    r"\bhangs on\b": "depends on",
    r"\bthrow-away\b": "that was not kept",
    r"\bbut for (?:rounding|what|characters|keys|those)\b": "up to, except for",
    r"\b(?:lest|whence|hitherto|hereby|thereby|whilst|amongst|upon)\b": "a modern word",
    r"\bfrom cheap to dear\b|\bare dear\b": "expensive, cost money",
    r"\bin sum 1\b": "add up to 1",
    r"\b(?:line|row|second|cell|token)s? a user\b": "per user",
    r"\berrs? alike\b": "have similar errors",
    r"\blets one\b|\bleads one to\b": "name who does it",
    r"\b(?:is|are) another matter\b": "say what holds instead",
    r"pip install '?truerank\b": "what to install where truerank is not on an index",
}
READ = [
    *(ROOT / "src").rglob("*.py"),
    *(ROOT / "src").rglob("*.html"),
    *(
        path
        for path in (ROOT / "docs").rglob("*.md")
        # Written by commands, from words in the code.
        if "reproduction" not in path.parts
    ),
    *(ROOT / "docs").glob("*.html"),
    *ROOT.glob("*.md"),
]


# A docstring says first what the thing is, not what it belongs to.
STARTS = re.compile(r'"""(?:Of|As far as) ')


@pytest.mark.skipif(not (ROOT / "src").is_dir(), reason="the sources are not beside the tests")
@pytest.mark.parametrize("phrase", BANNED)
def test_plain_words(phrase):
    found = [
        f"{path.relative_to(ROOT)}: {match[0]!r}"
        for path in READ
        for match in re.finditer(phrase, path.read_text(encoding="utf-8"))
    ]
    assert not found, f"write {BANNED[phrase]!r}: {found}"


@pytest.mark.skipif(not (ROOT / "src").is_dir(), reason="the sources are not beside the tests")
def test_docstrings_begin_with_what_they_are_about():
    found = [
        f"{path.relative_to(ROOT)}: {line.strip()}"
        for path in (ROOT / "src").rglob("*.py")
        for line in path.read_text(encoding="utf-8").splitlines()
        if STARTS.search(line)
    ]
    assert not found, found
