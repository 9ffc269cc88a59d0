"""The door of arguments: what is of a wrong kind is refused by name, before anything runs."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Literal

import numpy as np
import pytest

import truerank as tr
from truerank import _arguments
from truerank.errors import InputError


def called(
    number: int = 1,
    share: float | None = None,
    flag: bool = False,
    how: Literal["last", "random"] | None = "last",
    told: Mapping[str, int] | None = None,
    act: Callable[[int], int] | bool = True,
    anything: Any = None,
    path: str = "x",
) -> None:
    """A function with parameters of the usual kinds."""
    _arguments.check(called, locals())


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"number": "1"}, "number is '1'; it must be a whole number"),
        ({"number": 1.5}, "number is 1.5; it must be a whole number"),
        ({"number": True}, "number is True; it must be a whole number"),
        ({"number": 10**5000}, "number is a whole number of 5,000 digits; it must be at most"),
        ({"share": np.array([1, 2])}, r"share is array.* it must be a number or None"),
        ({"share": True}, "share is True; it must be a number or None"),
        ({"flag": 1}, "flag is 1; it must be True or False"),
        ({"flag": "no"}, "flag is 'no'; it must be True or False"),
        ({"how": "first"}, r"unknown how 'first' \(known: last, random\)"),
        ({"how": np.array(["last"])}, "how is array.*; it must be 'last' or 'random' or None"),
        ({"told": [1]}, r"told is \[1\]; it must be a dict or None"),
        ({"act": 3}, "act is 3; it must be a function or True or False"),
        ({"path": b"x"}, "path is b'x'; it must be text"),
    ],
)
def test_wrong_kinds_are_refused(given: dict[str, Any], message: str) -> None:
    with pytest.raises(InputError, match=message):
        called(**given)


@pytest.mark.parametrize(
    "given",
    [
        {"number": 2.0},
        {"number": np.int8(3)},
        {"share": np.float32(0.5)},
        {"flag": np.bool_(True)},
        {"how": None},
        {"told": {"a": 1}},
        {"act": len},
        {"anything": object()},
    ],
)
def test_right_kinds_pass(given: dict[str, Any]) -> None:
    called(**given)


def test_fields_are_checked_and_numbers_become_those_of_python() -> None:
    assert type(tr.models.IALS(dimensions=np.int8(4)).dimensions) is int
    with pytest.raises(InputError, match="dimensions is '4'; it must be a whole number"):
        tr.models.IALS(dimensions="4")  # type: ignore[arg-type]


def test_a_table_is_no_counts_and_the_remedy_is_named() -> None:
    import pandas as pd

    table = pd.DataFrame({"rank": [1, 2]})
    with pytest.raises(InputError, match=r"counts is .*DataFrame.*RankCounts\.from_table"):
        tr.estimate(table)  # type: ignore[arg-type]


@pytest.mark.parametrize("seed", [-1, 0.5, 3.0, 2**63, "0", None])
def test_seeds_are_refused_at_the_call(seed: Any) -> None:
    counts = tr.RankCounts.from_ranks([1, 2], sample_size=10, n_items=500)
    with pytest.raises(InputError, match="seed is "):
        tr.estimate(counts, "recall@10", seed=seed)


def test_large_seeds_work() -> None:
    counts = tr.RankCounts.from_ranks([1, 2], sample_size=10, n_items=500)
    assert tr.estimate(counts, "recall@10", seed=2**63 - 1)["recall@10"].low is not None


def test_options_of_tables_are_checked() -> None:
    import pandas as pd

    table = pd.DataFrame({"model": ["a", "b"], "rank": [1, 2], "user_id": [1, 1]})
    with pytest.raises(InputError, match="columns is 3; it must be a dict or None"):
        tr.compare(table, columns=3, n_items=500, sample_size=10)
    with pytest.raises(InputError, match="by is 3; it must be text"):
        tr.compare(table, by=3, n_items=500, sample_size=10)


def test_messages_are_of_one_line_and_bounded() -> None:
    assert str(InputError("a\n  b")) == "a b"
    long = str(InputError("x" * 10**6 + "; the remedy"))
    assert len(long) < 1500
    assert long.endswith("the remedy")
