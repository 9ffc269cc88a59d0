from __future__ import annotations

import json
from typing import Any

import pytest

from truerank.cli.demo import Outcome, _story
from truerank.data import synthetic

WAYS = ("exact", "naive", "corrected")


@pytest.fixture
def small(monkeypatch: pytest.MonkeyPatch) -> None:
    """A catalogue of a tenth of the users, for what needs no good numbers."""
    draw = synthetic.catalogue
    monkeypatch.setattr(synthetic, "catalogue", lambda **options: draw(n_users=400, **options))


def test_naive_picks_the_wrong_model_and_the_correction_mends_it(run: Any) -> None:
    content = json.loads(run("demo", "--json").out)
    assert (content["seed"], content["sample_size"], content["n_items"]) == (0, 100, 5000)
    for metric in ("recall@10", "ndcg@10"):
        values = {row["model"]: row for row in content["results"] if row["metric"] == metric}
        best = {way: max(values, key=lambda name: values[name][way]) for way in WAYS}
        assert best == content["winners"][metric]
        assert best["naive"] != best["exact"]
        assert best["corrected"] == best["exact"]
    auc = [row for row in content["results"] if row["metric"] == "auc"]
    assert len(auc) == 3
    for row in auc:  # of auc the sampled one is unbiased
        assert row["naive"] == pytest.approx(row["exact"], abs=0.01)


def test_fits_a_screen_and_tells_the_computed_numbers(run: Any) -> None:
    rows = json.loads(run("demo", "--seed", 3, "--json").out)["results"]
    result = run("demo", "--seed", 3)
    assert (result.code, result.err) == (0, "")
    lines = result.out.splitlines()
    assert len(lines) <= 23
    assert max(map(len, lines)) <= 80
    for row in rows:
        for way in WAYS:
            assert f"{row[way]:.4f}" in result.out
    story = " ".join(lines[-5:])
    recall = {row["model"]: row for row in rows if row["metric"] == "recall@10"}
    naive = max(recall, key=lambda name: recall[name]["naive"])
    assert f"picks {naive} ({recall[naive]['naive']:.3f} against" in story


def test_here_is_the_report(run: Any, small: None, here: Any) -> None:
    assert run("demo").out.endswith("To look at it: truerank demo --report demo.html\n")
    result = run("demo", "--report", "demo.html")
    assert result.out.endswith("Here is the report: demo.html\n")
    page = (here / "demo.html").read_text(encoding="utf-8")
    for word in ("truerank demo", "specialist", "generalist", "popularity"):
        assert word in page
    assert run("demo", "--report", "gone/demo.html").code == 2


def test_seed_makes_the_catalogue(run: Any, small: None) -> None:
    first, again, other = (run("demo", "--json", "--seed", seed).out for seed in (5, 5, 6))
    assert first == again
    assert json.loads(first)["results"] != json.loads(other)["results"]


def outcome(**models: tuple[float, float, float]) -> Outcome:
    values = {name: dict(zip(WAYS, numbers, strict=True)) for name, numbers in models.items()}
    return Outcome(0, 10, 100, "mle", {"recall@10": values})


def test_story_of_a_naive_metric_that_is_wrong() -> None:
    numbers = outcome(a=(0.3, 0.4, 0.28), b=(0.1, 0.6, 0.15), c=(0.2, 0.5, 0.2))
    assert _story(numbers, "recall@10") == (
        "Naive recall@10 picks b (0.600 against 0.400 for a): wrong, the best is a (0.300 against "
        "0.100).",
        "Corrected recall@10 picks a (0.280 against 0.200 for c): right, and at most 0.050 off "
        "where naive is off by up to 0.500.",
    )


def test_story_of_a_naive_metric_that_is_right_and_a_correction_that_is_wrong() -> None:
    numbers = outcome(a=(0.3, 0.6, 0.2), b=(0.1, 0.4, 0.25))
    assert _story(numbers, "recall@10") == (
        "Naive recall@10 picks a (0.600 against 0.400 for b): right, the best is a (0.300 against "
        "0.100).",
        "Corrected recall@10 picks b (0.250 against 0.200 for a): wrong, and at most 0.150 off "
        "where naive is off by up to 0.300.",
    )


def test_bad_seed(run: Any) -> None:
    result = run("demo", "--seed", "-1")
    assert (result.code, result.out) == (2, "")
    assert "Invalid value for '--seed'" in result.err
