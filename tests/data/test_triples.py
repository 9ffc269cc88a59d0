"""Knowledge graphs: reading triples, questions with pools of their own, groups."""

from __future__ import annotations

import gzip
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

import truerank as tr
from truerank import InputError
from truerank.data import Queries, Triples, read_triples

ROWS = [("ann", "likes", "bob"), ("ann", "likes", "cat"), ("bob", "knows", "ann")]


def same(found: Triples) -> None:
    assert list(zip(found.head, found.relation, found.tail, strict=True)) == ROWS


# -- reading --------------------------------------------------------------------------------


@pytest.mark.parametrize("separator", ["\t", ",", ";", "|", " "])
def test_text_without_a_header(tmp_path: Path, separator: str) -> None:
    path = tmp_path / "train.txt"
    path.write_text("".join(separator.join(row) + "\n" for row in ROWS))
    found = read_triples(path)
    same(found)
    assert found.name == "train"
    packed = tmp_path / "valid.txt.gz"
    packed.write_bytes(gzip.compress(path.read_bytes()))
    same(read_triples(packed))


def test_headers_tables_mappings_and_arrays(tmp_path: Path) -> None:
    table = pd.DataFrame(ROWS, columns=["Subject", "predicate", "object"])
    same(read_triples(table))
    path = tmp_path / "graph.csv"
    table.to_csv(path, index=False)
    same(read_triples(path))
    table.columns = ["from", "tail", "head"]
    same(read_triples(table, columns={"head": "from", "relation": "tail", "tail": "head"}))
    mixed = table.rename(columns={"from": "h", "tail": "r", "head": "t"})[["t", "h", "r"]]
    mixed.to_parquet(tmp_path / "graph.parquet")
    same(read_triples(tmp_path / "graph.parquet"))
    same(read_triples(np.array(ROWS)))
    same(read_triples(tuple(np.array(ROWS).T)))
    head, relation, tail = np.array(ROWS).T
    same(read_triples({"head": head, "tail": tail, "relation": relation, "head_neg": None}))
    same(read_triples(read_triples(np.array(ROWS))))
    assert read_triples([[0, 1], [2, 2], [1, 0]]).entities.tolist() == [0, 1]


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("ann\tlikes\n", "line 1 is 'ann\\\\tlikes'; expected head, relation and tail"),
        ("", "expected head, relation and tail"),
        ("ann\tlikes\tbob\nann\tlikes\n", "Expected 3 columns, got 2"),
        ("a,b,c,d\n1,2,3,4\n", "expected head, relation and tail"),
    ],
)
def test_bad_text_is_refused(tmp_path: Path, content: str, message: str) -> None:
    path = tmp_path / "bad.txt"
    path.write_text(content)
    with pytest.raises(InputError, match=message):
        read_triples(path)


@pytest.mark.parametrize(
    ("source", "options", "message"),
    [
        (pd.DataFrame({"head": [1], "tail": [2]}), {}, "no column relation or r or"),
        ({"head": [1], "tail": [2]}, {}, "source has no relation; found: head, tail"),
        (([1], [2]), {}, "source has 2 columns"),
        (np.zeros((3, 4)), {}, "source has 4 columns"),
        (([1, 2], [0], [3, 4]), {}, "relation of triples has 1 ids; there are 2 heads"),
        (([], [], []), {}, "triples has no triples"),
        ((["a"], [0], [3]), {}, "heads of triples are <U1 and tails int64"),
        (pd.DataFrame({"head": [1]}), {"columns": {"haed": "x"}}, "unknown column 'haed'"),
        ([(0, 0, 1), (1, 0, 2), (2, 0, 3)], {}, "one tuple per triple; give it as an array"),
        ([(0, 0, 1), (1, 0, 2)], {}, "one tuple per triple"),
        ("missing.txt", {}, "missing.txt' does not exist"),
    ],
)
def test_bad_sources_are_refused(source: Any, options: dict[str, Any], message: str) -> None:
    with pytest.raises(InputError, match=message):
        read_triples(source, **options)


# -- questions ------------------------------------------------------------------------------


def plain(test: np.ndarray, known: np.ndarray, n_entities: int) -> list[tuple[int, set[int]]]:
    """The answer and the filtered candidates of every question, by definition."""
    true = {tuple(row) for row in (*known.tolist(), *test.tolist())}
    found = []
    for head, relation, tail in test.tolist():
        others = {e for e in range(n_entities) if (head, relation, e) in true and e != tail}
        found.append((tail, set(range(n_entities)) - others))
    for head, relation, tail in test.tolist():
        others = {e for e in range(n_entities) if (e, relation, tail) in true and e != head}
        found.append((head, set(range(n_entities)) - others))
    return found


@given(st.integers(0, 10_000))
def test_ranks_are_filtered_ranks_by_definition(seed: int) -> None:
    rng = np.random.default_rng(seed)
    test, known = (rng.integers(0, [6, 2, 6], (size, 3)) for size in (5, 12))
    queries = read_triples(test).queries(known=read_triples(known))
    scores = rng.permutation(len(queries) * 6).reshape(len(queries), 6).astype(float)
    scorer = tr.scoring.Dense(scores)
    expected = plain(test, known, 6)
    pools = [len(pool) for _, pool in expected]
    if min(pools) < 2:
        with pytest.raises(InputError, match="no candidates but the target"):
            tr.rank(scorer, queries.test, train=queries.train)
        return
    found = tr.rank(scorer, queries.test, train=queries.train)
    ranks = [
        sum(row[entity] >= row[answer] for entity in pool)
        for row, (answer, pool) in zip(scores, expected, strict=True)
    ]
    assert found["rank"].to_pylist() == ranks
    assert found["n_items"].to_pylist() == pools


def test_each_question_is_a_user_of_its_own() -> None:
    """Equal questions with several answers too: metrics are means over triples and sides."""
    graph = Triples([0, 0, 0], [0, 0, 0], [1, 2, 3])
    queries = graph.queries(sides=["tail"])
    scores = np.tile([0.0, 5.0, 4.0, 3.0, 4.5], (3, 1))
    counts = tr.count(tr.scoring.Dense(scores), queries.test, train=queries.train)
    assert counts.n_users == 3
    assert not counts.several
    assert tr.estimate(counts, "mrr")["mrr"].value == pytest.approx((1 + 1 / 2 + 1 / 2) / 3)
    raw = graph.queries(sides=["tail"], filtered=False)
    assert raw.train is None
    ranks = tr.rank(tr.scoring.Dense(scores), raw.test)["rank"].to_pylist()
    assert ranks == [1, 3, 4]


def test_questions_say_what_they_are_about() -> None:
    queries = read_triples(np.array(ROWS)).queries(sides=["head", "tail"])
    table = queries.to_arrow().to_pandas()
    assert table["side"].tolist() == ["head"] * 3 + ["tail"] * 3
    for side in ("head", "tail"):
        part = table[table["side"] == side]
        assert list(zip(part["head"], part["relation"], part["tail"], strict=True)) == ROWS
    assert queries.triple.tolist() == [0, 1, 2, 0, 1, 2]
    assert repr(queries) == "Queries(3 for tails, 3 for heads; 2 other true answers left out)"


def test_groups_of_questions_count_apart() -> None:
    rng = np.random.default_rng(0)
    queries = read_triples(rng.integers(0, [30, 3, 30], (60, 3))).queries()
    scorer = tr.scoring.Dense(rng.random((len(queries), 30)))
    ranks = tr.rank(scorer, queries.test, train=queries.train)
    table = queries.with_columns(ranks)
    groups = tr.RankCounts.by_model(table, by=["side", "relation"], replacement=False)
    assert sum(counts.n_users for counts in groups.values()) == len(queries)
    frame = table.to_pandas()
    for (side, relation), part in frame.groupby(["side", "relation"]):
        own = groups[f"{side}, {relation}"]
        mine = tr.estimate(own, ["mr", "amri"])
        assert mine["mr"].value == pytest.approx(part["rank"].mean(), rel=1e-12)
        index = 1 - 2 * (part["rank"] - 1).sum() / (part["n_items"] - 1).sum()
        assert mine["amri"].value == pytest.approx(index, rel=1e-12)
    shuffled = ranks.take(rng.permutation(len(queries)))
    again = tr.RankCounts.by_model(queries.with_columns(shuffled), by="side", replacement=False)
    assert again["tail"] == sum(one for name, one in groups.items() if name.startswith("tail"))


def test_bad_questions_are_refused() -> None:
    graph = read_triples(np.array(ROWS))
    with pytest.raises(InputError, match="unknown side 'both'"):
        graph.queries(sides=["both"])  # type: ignore[list-item]
    assert set(graph.queries(sides="head").side) == {"head"}
    with pytest.raises(InputError, match="each once"):
        graph.queries(sides=["tail", "tail"])
    with pytest.raises(InputError, match="known holds a str; give Triples"):
        graph.queries(known=["train.txt"])
    with pytest.raises(InputError, match=r"head of triples is <U5 and head of triples int64"):
        graph.queries(known=read_triples([[0], [0], [0]]))
    with pytest.raises(InputError, match="there are questions 0 to 5"):
        graph.queries().with_columns(pd.DataFrame({"user_id": [6], "rank": [1]}))
    with pytest.raises(InputError, match="no column user_id"):
        graph.queries().with_columns(pd.DataFrame({"rank": [1]}))
    with pytest.raises(InputError, match="by is empty"):
        tr.RankCounts.by_model(pd.DataFrame({"rank": [1]}), by=[], n_items=9, num_negatives=2)
    assert isinstance(graph.queries(), Queries)
