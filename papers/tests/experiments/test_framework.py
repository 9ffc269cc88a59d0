"""Experiments are found, run in parts, killed and resumed, and written beside the published."""

from __future__ import annotations

import csv
import json
import os
import signal
import subprocess
import sys
import time
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

import truerank as tr
import truerank_papers
from truerank.designs import Fixed
from truerank.errors import TruerankWarning
from truerank.models import Popularity
from truerank_papers.experiments import experiments, pages, papers, parts, registry
from truerank_papers.experiments.published import Number, Published
from truerank_papers.experiments.ranks import GlobalRanks
from truerank_papers.experiments.reproducing import reproduce
from truerank_papers.experiments.results import Figure, Line, Panel, Result, Table
from truerank_papers.experiments.run import Run
from truerank_papers.experiments.settings import Settings
from truerank_papers.models import MultiVAE

# --- the list ---------------------------------------------------------------------------------


def test_papers_and_their_experiments_are_found():
    assert list(papers()) == ["jl21", "kr20", "lj20", "lj24"]
    names = [one.name for one in experiments("kr20")]
    assert names[:4] == ["table1", "table2", "table3", "table4"]
    assert "figure6" in names
    assert [str(one) for one in experiments("KR20", "Table 3")] == ["kr20 table3"]
    assert experiments("kr20", "table3")[0].label == "Table 3"


@pytest.mark.parametrize(
    ("paper", "name", "message"),
    [
        ("kr2", None, "unknown paper 'kr2'; did you mean 'kr20'"),
        ("kr20", "tabel3", "unknown table or figure of kr20 'tabel3'; did you mean 'table3'"),
    ],
)
def test_bad_names_get_the_nearest(paper, name, message):
    with pytest.raises(tr.InputError, match=message):
        experiments(paper, name)


def test_missing_data_by_name_is_an_error_and_otherwise_skipped(tmp_path):
    with pytest.raises(tr.InputError, match=r"kr20 table3 needs ml-1m .*grouplens"):
        list(reproduce("kr20", "table3", data=tmp_path, out=tmp_path / "out"))
    with pytest.raises(tr.InputError, match="no folder is given by --data"):
        list(reproduce("kr20", "table3", out=tmp_path / "out"))
    with pytest.raises(tr.InputError, match="must be a folder"):
        list(reproduce("kr20", "table3", data=tmp_path / "none", out=tmp_path / "out"))
    with pytest.raises(tr.InputError, match="lj20 table7 needs ml-1m or yelp or citeulike"):
        list(reproduce("lj20", "table7", data=tmp_path, out=tmp_path / "out"))
    jl21 = list(reproduce("jl21", data=tmp_path, out=tmp_path / "out"))
    assert all(outcome.result is None and outcome.skipped for outcome in jl21)


# --- ranks ------------------------------------------------------------------------------------


def test_exact_metrics_and_pmf_share_ties():
    """Against every way to break the ties, written out."""
    ranks = GlobalRanks(np.array([0, 2, 7]), np.array([0, 3, 2]), np.array([10, 9, 12]))
    metrics = tr.metrics.parse(["recall@4", "ndcg@8", "ap", "auc"])
    users = list(zip(ranks.above, ranks.tied, ranks.n_items, strict=True))
    for metric, value in zip(metrics, ranks.exact(metrics), strict=True):
        plain = [
            np.mean([metric.gain(rank, pool) for rank in range(above + 1, above + tied + 2)])
            for above, tied, pool in users
        ]
        assert value == pytest.approx(np.mean(plain), rel=1e-12)
    pmf = np.zeros(12)
    for above, tied, _ in users:
        pmf[above : above + tied + 1] += 1 / (tied + 1) / 3
    assert ranks.pmf() == pytest.approx(pmf, abs=1e-15)


def test_sampled_evaluations_follow_the_global_ranks():
    ranks = GlobalRanks(np.array([0, 9]), np.array([0, 0]), np.array([10, 10]))
    rngs = [np.random.default_rng(seed) for seed in range(3)]
    outcomes, weight = ranks.sampled(Fixed(sample_size=5, replacement=True), rngs)
    # The first of all is always first, the last of all always last.
    assert outcomes.sampled_rank.tolist() == [1, 5]
    assert weight.tolist() == [[1, 1]] * 3


def test_ranks_are_kept_by_content(tiny, tmp_path, monkeypatch):
    run = _run(tiny, tmp_path / "cache")
    first = run.ranks("tiny", {"pop": Popularity()}, leave_out=True)["pop"]
    assert first.n_users == 60
    assert run.record["data"]["tiny"]
    monkeypatch.setattr(Run, "_rank", lambda *_: pytest.fail("ranked again"))
    again = run.ranks("tiny", {"pop": Popularity()}, leave_out=True)["pop"]
    assert again.digest == first.digest
    with pytest.raises(pytest.fail.Exception, match="ranked again"):
        run.ranks("tiny", {"pop": Popularity()}, leave_out=False)


def test_a_model_without_its_library_is_left_out_and_said(tiny, tmp_path, monkeypatch):
    run = _run(tiny, tmp_path / "cache")
    monkeypatch.setitem(sys.modules, "torch", None)
    found = run.ranks("tiny", {"vae": MultiVAE(), "pop": Popularity()}, leave_out=True)
    assert list(found) == ["pop"]
    assert "pip install torch" in run.record["left out"]["vae"]


# --- repeats ----------------------------------------------------------------------------------


def _run(data: Path | None, cache: Path, **options) -> Run:
    experiment = registry.Experiment("test", "table1", "A test", (), lambda run: Result())
    return Run(experiment, Settings(data, cache, **options))


def test_parts_do_not_change_the_repeats(tmp_path):
    run = _run(None, tmp_path)
    ranks = GlobalRanks(np.arange(0, 500, 5), np.full(100, 2), np.full(100, 600))
    options = {
        "estimators": ["naive", "mle"],
        "metrics": ["recall@10", "auc"],
        "design": Fixed(sample_size=30, replacement=False),
    }
    whole = run.redrawn("x", ranks, repeats=7, part=7, **options)
    assert whole.shape == (7, 2, 2)
    other = _run(None, tmp_path / "other").redrawn("x", ranks, repeats=7, part=2, **options)
    np.testing.assert_allclose(whole, other, rtol=1e-12)  # sums in another order
    more = run.redrawn("x", ranks, repeats=14, part=7, **options)
    np.testing.assert_array_equal(more[:7], whole)
    # Plainly: one evaluation, one estimate.
    (rng,) = run.rngs("x", 3, 4)
    outcomes, weight = ranks.sampled(options["design"], [rng])
    plain = tr.estimate(
        outcomes.reweighted(weight[0]), ["recall@10", "auc"], estimator="mle", confidence=None
    )
    assert whole[3, 1] == pytest.approx([e.value for e in plain.values()], rel=1e-9)


def test_another_key_seed_or_estimator_is_another_run(tmp_path):
    calls = []

    def count(first: int, last: int) -> np.ndarray:
        calls.append((first, last))
        return np.zeros(last - first)

    run = _run(None, tmp_path)
    for key, seed in (("a", 0), ("a", 0), ("b", 0), ("a", 1)):
        _run(None, tmp_path, seed=seed).repeated("x", count, key=key, repeats=3)
    assert len(calls) == 3
    run.repeated("x", count, key="a", repeats=25)
    assert calls[3:] == [(0, 10), (10, 20), (20, 25)]


@pytest.mark.usefixtures("installed")
def test_a_killed_table_resumes_where_it_was(tmp_path):
    """SIGKILL in the middle; no finished part is done again, and the answer is the same."""
    killed, whole = tmp_path / "killed", tmp_path / "whole"

    def start(out: Path) -> subprocess.Popen[bytes]:
        command = "reproduce kr20 table2 --repeats 1500 --seed 5 --output"
        return subprocess.Popen([sys.executable, "-m", "truerank", *command.split(), str(out)])

    def finished() -> dict[Path, int]:
        return {path: path.stat().st_mtime_ns for path in killed.glob(".cache/parts/*/*-*.npz")}

    process = start(killed)
    deadline = time.monotonic() + 60
    while len(finished()) < 20:
        assert time.monotonic() < deadline
        assert process.poll() is None
        time.sleep(0.005)
    os.kill(process.pid, signal.SIGKILL)
    assert process.wait() == -signal.SIGKILL
    before = finished()
    assert 20 <= len(before) < 450
    assert not (killed / "kr20").exists()
    assert start(killed).wait() == 0
    after = finished()
    assert len(after) == 450
    assert all(after[path] == written for path, written in before.items())
    assert start(whole).wait() == 0
    for file in ("table2.json", "table2.csv", "table2.md"):
        assert (killed / "kr20" / file).read_bytes() == (whole / "kr20" / file).read_bytes()


def test_no_half_written_part_is_read(tmp_path):
    with pytest.raises(RuntimeError, match="power cut"):
        parts.in_parts(tmp_path, 20, _fails_late, advance=lambda _: None)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["0-10.npz"]


@pytest.mark.parametrize("damage", ["cut", "flip", "empty"])
def test_a_damaged_part_is_named_and_made_again(tmp_path, damage):
    def drawn(first: int, last: int) -> np.ndarray:
        return np.random.default_rng(first).random((last - first, 3))

    def call() -> np.ndarray:
        return parts.in_parts(tmp_path, 20, drawn, advance=lambda _: None)

    whole = call()
    path = tmp_path / "10-20.npz"
    content = bytearray(path.read_bytes())
    content[200] ^= 1
    path.write_bytes({"cut": content[:-40], "flip": content, "empty": b""}[damage])
    with pytest.warns(TruerankWarning, match=r"10-20\.npz is damaged .*; it is made again"):
        assert np.array_equal(call(), whole)
    assert np.array_equal(call(), whole)


def _fails_late(first: int, last: int) -> np.ndarray:
    if first:
        raise RuntimeError("power cut")
    return np.zeros(last)


# --- results ----------------------------------------------------------------------------------


def test_tables_stand_beside_the_published():
    printed = Published("P table 1.", "percent", ("model", "metric"), {
        ("a", "x"): Number(1.0, 0.5),
        ("b", "x"): Number(None, None, "lost"),
    })  # fmt: skip
    ours = {("a", "x"): Number(2.0), ("a", "y"): Number(3.0), ("b", "x"): Number(4.0)}
    table = Table.beside("table1", printed, ours)
    assert [cell.key for cell in table.cells] == [("a", "x"), ("a", "y"), ("b", "x")]
    first, second, third = table.cells
    assert (first.difference, first.in_sds) == (1.0, 2.0)
    assert second.difference is None
    assert third.difference is None
    assert third.note == "lost"
    markdown = pages.table_markdown(table)
    assert "| model | metric | ours | published | difference | in printed sd | note |" in markdown
    assert "| a | x | 2.00 | 1.00 ± 0.50 | +1.00 | +2.0 |  |" in markdown
    rows = list(csv.DictReader(pages.table_csv(table).splitlines()))
    assert rows[0]["difference"] == "1"
    assert rows[2]["published"] == ""


def test_results_survive_json():
    line = Line("a", [1, 2], np.array([0.5, 1 / 3]))
    panel = Panel("p", "x", "y", (line,), y_limits=(0.0, 1.0))
    table = Table.beside("t", None, {("k",): Number(1.0, 0.1)}, keys=("key",), unit="share")
    result = Result((table,), (Figure("f", (panel,)),), ("A note.",), {"fact": 1})
    text = json.dumps(result.to_json())
    assert json.dumps(Result.from_json(json.loads(text)).to_json()) == text


def test_one_experiment_end_to_end(tiny, tmp_path, monkeypatch):
    """Synthetic data, a registered function, and every file that should come out."""
    pytest.importorskip("matplotlib")
    pytest.importorskip("jinja2")

    def function(run: Run) -> Result:
        ranks = run.ranks("tiny", {"popularity": Popularity()}, leave_out=True)["popularity"]
        values = run.redrawn(
            "tiny",
            ranks,
            estimators=["naive", "bv"],
            metrics=["recall@5"],
            repeats=run.repeats(20),
            design=Fixed(sample_size=10, replacement=False),
        )
        ours = {
            (name,): Number(float(column.mean()), float(column.std()))
            for name, column in zip(("naive", "bv"), values[:, :, 0].T, strict=True)
        }
        line = Line("pmf", np.arange(1, 6), ranks.pmf()[:5])
        figure = Figure("table99", (Panel("ranks", "rank", "share", (line,)),))
        return Result((Table.beside("table99", None, ours, keys=("estimator",)),), (figure,))

    known = dict(registry.REGISTRY)
    papers()
    monkeypatch.setattr(registry, "REGISTRY", known)
    monkeypatch.setattr("truerank_papers.experiments.REGISTRY", known)
    registry.experiment("kr20", "table99", "Tiny & <small>", data=["tiny"])(function)
    out = tmp_path / "out"
    (outcome,) = reproduce("kr20", "table99", data=tiny, out=out, repeats=5, seed=3)
    assert outcome.left_out == []
    content = json.loads((out / "kr20" / "table99.json").read_text())
    assert content["record"]["seed"] == 3
    assert content["record"]["repeats"] == 5
    assert content["record"]["versions"]["truerank"] == tr.__version__
    assert content["record"]["versions"]["truerank-papers"] == truerank_papers.__version__
    assert len(content["record"]["data"]["tiny"]) == 16
    assert (out / "kr20" / "table99.png").read_bytes()[:4] == b"\x89PNG"
    assert (out / "kr20" / "table99.csv").read_text().startswith("estimator,ours,ours_sd,published")
    page = (out / "kr20.md").read_text()
    assert "## Table 99. Tiny & <small>" in page
    assert "![Table 99](kr20/table99.png)" in page
    html = (out / "kr20.html").read_text()
    assert "Tiny &amp; &lt;small&gt;" in html
    before = (out / "kr20" / "table99.json").read_bytes()
    # From the parts that are kept: the very same.
    list(reproduce("kr20", "table99", data=tiny, out=out, repeats=5, seed=3))
    assert (out / "kr20" / "table99.json").read_bytes() == before


def test_models_that_were_not_fitted_may_be_left_out(tiny, tmp_path):
    """--no-fit: nothing is fitted, and the record says what is missing; what is kept is used."""
    (experiment,) = experiments("kr20", "table3")
    models = {"itemKNN": tr.models.ItemKNN(), "popular": tr.models.Popularity()}
    kept = Settings(tiny, tmp_path / "cache", progress=False)
    without = replace(kept, fit=False)
    run = Run(experiment, without)
    assert run.ranks("tiny", models, leave_out=True) == {}
    assert run.record["left out"] == dict.fromkeys(
        ("itemKNN on tiny", "popular on tiny"), "it was not fitted (--no-fit)"
    )
    Run(experiment, kept).ranks("tiny", {"popular": models["popular"]}, leave_out=False)
    again = Run(experiment, without)
    assert list(again.ranks("tiny", models, leave_out=True)) == ["popular"]  # ranked, not fitted
    assert list(again.record["left out"]) == ["itemKNN on tiny"]
