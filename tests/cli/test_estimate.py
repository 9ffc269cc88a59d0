from __future__ import annotations

import csv
import io
import json
import re
import shlex
import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import truerank as tr
from truerank.cli._output import decimals
from truerank.cli.estimate import HELP
from truerank.errors import ConvergenceWarning
from truerank.inference import columns, estimates, verdicts
from truerank.inference.planning.remedies import remedies

SURE = ("--n-items", 3706, "--sample-size", 100)
DESIGN = (*SURE, "--confidence", 0)  # quick: most tests are not about intervals


def write(path: Path, text: str) -> Path:
    path.write_text(text)
    return path


def table(text: str) -> dict[str, list[str]]:
    """The cells of a printed table by its first one: the rows and the header."""
    lines = [re.split(r"\s{2,}", line.strip()) for line in text.splitlines()]
    return {cells[0]: cells[1:] for cells in lines if len(cells) > 1}


def rows_of(text: str) -> list[dict[str, str]]:
    return list(csv.DictReader(io.StringIO(text)))


def counts_of(ranks: Any, **options: Any) -> tr.RankCounts:
    return tr.RankCounts.from_ranks(ranks, **{"n_items": 3706, "sample_size": 100, **options})


# -- the table ------------------------------------------------------------------------------


def test_table_holds_naive_beside_corrected(run: Any, ranks: np.ndarray) -> None:
    result = run("estimate", "ranks.csv", *DESIGN)
    assert (result.code, result.err) == (0, "")
    assert result.out.splitlines()[0] == (
        "500 users · pools of 3,706 items · samples of 100 · with replacement"
    )
    expected = tr.estimate(counts_of(ranks))
    shown = table(result.out)
    assert shown["metric"] == ["naive", "smooth"]
    for metric in ("recall@10", "ndcg@10", "ap", "auc"):
        naive, value = (float(cell.split()[0]) for cell in shown[metric])
        assert naive == pytest.approx(expected[metric].naive, abs=6e-5)
        assert value == pytest.approx(expected[metric].value, abs=6e-5)


def test_plain_text_when_piped(run: Any, ranks: np.ndarray) -> None:
    out = run("estimate", "ranks.csv", *DESIGN).out
    assert "\x1b" not in out
    assert all(line == line.rstrip() for line in out.splitlines())


def test_small_values_keep_three_digits(run: Any, here: Path) -> None:
    ranks = [1] * 3 + [2 + user % 99 for user in range(997)]  # a random scorer's
    write(here / "r.csv", "rank\n" + "".join(f"{rank}\n" for rank in ranks))
    options = ("r.csv", "--n-items", 1_000_000, "--sample-size", 100, "-m", "recall@1000")
    options = (*options, "--confidence", 0)
    naive, shown = table(run("estimate", *options).out)["recall@1000"]
    counts = tr.RankCounts.from_ranks(ranks, n_items=1_000_000, sample_size=100)
    value = tr.estimate(counts, "recall@1000")["recall@1000"].value
    assert 1e-6 < value < 1e-2
    assert float(shown) == pytest.approx(value, rel=5e-3)
    assert len(naive) == len(shown)


@pytest.mark.filterwarnings("ignore::truerank.errors.FitWarning")
def test_ranks_that_no_draw_gives_are_told_of(run: Any, here: Path) -> None:
    write(here / "r.csv", "rank\n" + "1\n3\n17\n54\n" * 300)
    options = ("estimate", "r.csv", "--n-items", 3706, "--sample-size", 100, "-m", "recall@10")
    assert "Check that ranks are 1-based" in " ".join(run(*options).out.split())
    found = json.loads(run(*options, "--json").out)["fit_test"]
    assert not found["fits"]
    assert found["p_value"] < 1e-4


@pytest.mark.parametrize(
    ("values", "expected"),
    [
        ([0.5], 4),
        ([0.5, 0.01], 4),
        ([0.5, 0.0099], 5),
        ([0.5, -3e-5], 7),
        ([1e-12, 0.2], 4),
        ([], 4),
    ],
)
def test_digits_after_the_point(values: list[float], expected: int) -> None:
    assert decimals(values) == expected


def test_values_out_of_range_are_marked_and_explained(run: Any, ranks: np.ndarray) -> None:
    loose = ("-e", "bv(gamma=1e-6)", "-m", "recall@1,10")
    assert tr.estimate(counts_of(ranks), "recall@1", estimator="bv(gamma=1e-6)")[
        "recall@1"
    ].out_of_range
    plain = run("estimate", "ranks.csv", *DESIGN, *loose)
    assert table(plain.out)["recall@1"][1].endswith("!")
    told = " ".join(plain.out.split())
    assert f"{verdicts.OUT_OF_RANGE} (--clip pulls values back)" in told
    clipped = run("estimate", "ranks.csv", *DESIGN, *loose, "--clip")
    assert 0.0 <= float(table(clipped.out)["recall@1"][1].removesuffix("!")) <= 1.0
    assert f"{verdicts.OUT_OF_RANGE}; pulled back into it" in " ".join(clipped.out.split())
    assert "!" not in run("estimate", "ranks.csv", *DESIGN).out


def test_undefined_metrics_show_a_dash(run: Any, ranks: np.ndarray) -> None:
    result = run("estimate", "ranks.csv", *DESIGN, "-e", "mapped,mle")
    shown = table(result.out)
    assert shown["metric"] == ["naive", "mapped", "mle"]
    assert [shown[m][1] for m in ("ndcg@10", "ap", "auc")] == ["—"] * 3
    assert shown["recall@10"][1] != "—"
    assert "— not defined for this metric" in result.out


def test_many_estimators_break_into_tables_that_fit(run: Any, ranks: np.ndarray) -> None:
    names = ["mle", "bv", "cls", "rank-estimate", "mes", "bv-mle", "mn-mle", "bv(gamma=0.5)"]
    out = run("estimate", "ranks.csv", *DESIGN, "-e", ",".join(names), "-m", "recall@10").out
    heads = [line.split()[1:] for line in out.splitlines() if line.split()[:1] == ["metric"]]
    assert len(heads) > 1
    assert all(head[0] == "naive" for head in heads)
    assert [name for head in heads for name in head[1:]] == names
    assert max(map(len, out.splitlines())) <= 80


def test_naive_alone_is_one_column(run: Any, ranks: np.ndarray) -> None:
    out = run("estimate", "ranks.csv", *DESIGN, "-e", "naive").out
    assert table(out)["metric"] == ["naive"]


# -- intervals ------------------------------------------------------------------------------


def test_intervals_stand_behind_the_values(run: Any, ranks: np.ndarray) -> None:
    result = run("estimate", "ranks.csv", *SURE)
    expected = tr.estimate(counts_of(ranks))
    for metric, (naive, shown) in table(result.out).items():
        if metric == "metric":
            continue
        assert "[" not in naive
        found = expected[metric]
        values = [float(text) for text in re.findall(r"[\d.]+", shown)]
        assert values == pytest.approx([found.value, found.low, found.high], abs=6e-5)
        assert shown.endswith("?") == (not found.resolvable)
    assert max(map(len, result.out.splitlines())) <= 80
    bare = run("estimate", "ranks.csv", *SURE, "--confidence", 0).out
    assert "[" not in bare
    assert "not resolved" not in bare


def test_what_is_not_resolved_is_said_in_every_format(run: Any, ranks: np.ndarray) -> None:
    asked = ("estimate", "ranks.csv", *SURE, "-m", "recall@1,ndcg@1,auc")
    said = " ".join(run(*asked).out.split())
    expected = tr.estimate(counts_of(ranks), ["recall@1", "ndcg@1", "auc"])
    assert not expected["recall@1"].resolvable
    assert verdicts.LEGEND in said
    assert said.endswith(expected.verdict())
    assert "recall@1 and ndcg@1 are not resolved: 99 negatives out of 3,706 items" in said
    content = json.loads(run(*asked, "--json").out)
    assert "plans" not in content
    rows = rows_of(run(*asked, "--csv").out)
    for key, in_json, in_csv in zip(expected, content["results"], rows, strict=True):
        assert in_json["resolvable"] is expected[key].resolvable
        assert in_json["verdict"] == expected[key].verdict
        assert in_csv["verdict"] == (expected[key].verdict or "")
    other = run("estimate", "ranks.csv", *SURE, "-m", "recall@1", "-e", "bv(gamma=1)").out
    assert " ".join(other.split()).endswith(
        "Use the estimator smooth, more negatives, or adaptive sampling."
    )


def test_text_takes_no_longer_than_json(
    run: Any, ranks: np.ndarray, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Drawing fits nothing and plans nothing: as many fits for every format, one per model."""
    fits = []
    fit = tr.estimators.Smooth.fit

    def counted(self: Any, *given: Any, **options: Any) -> Any:
        fits.append(1)
        return fit(self, *given, **options)

    monkeypatch.setattr(tr.estimators.Smooth, "fit", counted)
    for form in ([], ["--json"], ["--csv"]):
        fits.clear()
        assert run("estimate", "ranks.csv", *SURE, *form).code == 0
        assert len(fits) == 1


def test_plans_are_simulated_where_they_are_asked_for(run: Any, ranks: np.ndarray) -> None:
    asked = ("estimate", "ranks.csv", *SURE, "-m", "recall@10,auc", "--plan")
    est = tr.estimate(counts_of(ranks), ["recall@10", "auc"])
    (plan,) = remedies(est).values()
    assert " ".join(run(*asked).out.split()).endswith(plan.advice())
    assert plan.advice().startswith("For recall@10 within 5 %: Adaptive(budget=")
    content = json.loads(run(*asked, "--json").out)
    assert content["plans"] == [plan.to_dict()]
    assert [row["plan"] for row in content["results"]] == [plan.advice(), None]
    assert [row["plan"] for row in rows_of(run(*asked, "--csv").out)] == [plan.advice(), ""]


def test_the_population_has_wider_intervals(run: Any, ranks: np.ndarray) -> None:
    def width(*options: str) -> float:
        text = run("estimate", "ranks.csv", *SURE, "-m", "auc", "--json", *options).out
        (row,) = json.loads(text)["results"]
        return float(row["high"] - row["low"])

    assert width("--scope", "population") > width()
    assert width("--confidence", "0.5") < width()
    unknown = run("estimate", "ranks.csv", *SURE, "--scope", "populaton").err
    assert "unknown --scope 'populaton'; did you mean 'population'?" in unknown
    assert "confidence is 2.0" in run("estimate", "ranks.csv", *SURE, "--confidence", 2).err


# -- JSON and CSV ---------------------------------------------------------------------------


def test_json(run: Any, ranks: np.ndarray) -> None:
    result = run(
        "estimate", "ranks.csv", *DESIGN, "-e", "mle", "-e", "bv(gamma=0.1)", "-m", "hr@1,5",
        "--json",
    )  # fmt: skip
    content = json.loads(result.out)
    assert content["counts"] == {
        "users": 500,
        "n_items": {"min": 3706, "max": 3706},
        "sample_size": {"min": 100, "max": 100},
        "schemes": ["with"],
        "outcomes": len(set(ranks)),
    }
    keys = [(row["metric"], row["estimator"]) for row in content["results"]]
    names = ["mle", "bv(gamma=0.1)"]
    assert keys == [(metric, name) for metric in ("hit_rate@1", "hit_rate@5") for name in names]
    for row in content["results"]:
        expected = tr.estimate(counts_of(ranks), row["metric"], estimator=row["estimator"])
        assert row["value"] == pytest.approx(expected[row["metric"]].value, rel=1e-12)
        assert row["naive"] == pytest.approx(expected[row["metric"]].naive, rel=1e-12)
        assert row["out_of_range"] is False


def test_csv_is_long_form(run: Any, ranks: np.ndarray) -> None:
    out = run("estimate", "ranks.csv", *SURE, "-e", "mapped,mle", "-m", "recall@10,ap", "--csv")
    rows = rows_of(out.out)
    assert list(rows[0]) == [
        "metric", "estimator", "naive", "value", "low", "high", "std_error", "total_error",
        "out_of_range", "resolvable", "verdict",
    ]  # fmt: skip
    assert list(rows[0])[2:] == [column.name for column in columns.COLUMNS]
    assert float(rows[1]["low"]) < float(rows[1]["value"]) < float(rows[1]["high"])
    assert rows[2]["low"] == rows[2]["resolvable"] == ""
    assert [(row["metric"], row["estimator"]) for row in rows] == [
        ("recall@10", "mapped"), ("recall@10", "mle"), ("ap", "mapped"), ("ap", "mle"),
    ]  # fmt: skip
    assert rows[2]["value"] == ""
    expected = tr.estimate(counts_of(ranks), "ap", estimator="mle")["ap"]
    assert float(rows[3]["value"]) == pytest.approx(expected.value, rel=1e-12)
    assert {row["out_of_range"] for row in rows} == {"false"}


def test_machine_output_stays_clean_while_warnings_go_to_stderr(run: Any, here: Path) -> None:
    write(here / "r.csv", "rank\n1\n5\n20\n")
    for kind in ("--json", "--csv"):
        result = run("estimate", "r.csv", "--n-items", 200, "--sample-size", 100, kind)
        assert result.code == 0
        line, *rest = result.err.splitlines()
        assert rest == []
        assert line.startswith("warning: sample_size 100 is 50 % of n_items=200")
        assert line.endswith("Say --replacement or --no-replacement.")
        assert json.loads(result.out) if kind == "--json" else rows_of(result.out)


@pytest.mark.parametrize(
    ("said", "scheme"), [("--replacement", "with"), ("--no-replacement", "without")]
)
def test_replacement_said_is_taken_and_not_warned_about(
    run: Any, here: Path, said: str, scheme: str
) -> None:
    write(here / "r.csv", "rank\n1\n5\n20\n")
    result = run("estimate", "r.csv", "--n-items", 200, "--sample-size", 100, said, "--json")
    assert result.err == ""
    assert json.loads(result.out)["counts"]["schemes"] == [scheme]


def test_each_warning_is_told_once_in_a_line(
    run: Any, ranks: np.ndarray, monkeypatch: pytest.MonkeyPatch
) -> None:
    original = estimates.estimate

    def unsettled(*arguments: Any, **options: Any) -> Any:
        warnings.warn("a fit\nstopped", ConvergenceWarning, stacklevel=1)
        return original(*arguments, **options)

    monkeypatch.setattr(estimates, "estimate", unsettled)
    result = run("estimate", "ranks.csv", *DESIGN, "-e", "mle,bv")
    assert (result.code, result.err) == (0, "warning: a fit stopped\n")


def test_warnings_of_others_are_not_hidden(
    run: Any, ranks: np.ndarray, monkeypatch: pytest.MonkeyPatch
) -> None:
    def odd(*arguments: Any, **options: Any) -> Any:
        warnings.warn("overflow", RuntimeWarning, stacklevel=1)

    monkeypatch.setattr(estimates, "estimate", odd)
    result = run("estimate", "ranks.csv", *DESIGN)  # here warnings are errors
    assert result.code == 1
    assert "unexpected RuntimeWarning: overflow" in result.err


# -- options --------------------------------------------------------------------------------


def test_metrics_in_one_option(run: Any, ranks: np.ndarray) -> None:
    def metrics(*options: object) -> list[str]:
        out = run("estimate", "ranks.csv", *DESIGN, *options, "--csv").out
        return [row["metric"] for row in rows_of(out)]

    assert metrics("-m", "recall@1,5, ndcg@10,auc") == ["recall@1", "recall@5", "ndcg@10", "auc"]
    assert metrics("-m", "mrr@5,20", "-m", "hr@3") == ["mrr@5", "mrr@20", "hit_rate@3"]
    assert metrics() == ["recall@10", "ndcg@10", "ap", "auc"]


def test_estimators_in_one_option_and_none_twice(run: Any, ranks: np.ndarray) -> None:
    out = run(
        "estimate", "ranks.csv", *DESIGN, "-m", "recall@10", "--csv",
        "-e", "mle(steps=5, tolerance=0.1),bv", "-e", "bv(gamma=0.01)",
    ).out  # fmt: skip
    assert [row["estimator"] for row in rows_of(out)] == ["mle(steps=5, tolerance=0.1)", "bv"]


def test_num_negatives_is_one_less_than_sample_size(run: Any, ranks: np.ndarray) -> None:
    one = run("estimate", "ranks.csv", "--n-items", 3706, "--num-negatives", 99, "--json")
    assert one.out == run("estimate", "ranks.csv", *SURE, "--json").out


def test_columns_under_other_names(run: Any, ranks: np.ndarray, here: Path) -> None:
    lines = "".join(f"{rank};100\n".replace(";", "\t") for rank in ranks)
    write(here / "odd.tsv", "pos\thow_many\n" + lines)
    renamed = run(
        "estimate", "odd.tsv", "--n-items", 3706, "--json",
        "--columns", "sampled_rank=pos", "--columns", "sample_size=how_many",
    )  # fmt: skip
    assert renamed.out == run("estimate", "ranks.csv", *SURE, "--json").out


def test_adaptive_samples(run: Any, here: Path) -> None:
    sizes, found = [100, 100, 200, 400, 400], [3, 2, 5, 7, 1]
    lines = "".join(f"{r},{n}\n" for r, n in zip(found, sizes, strict=True))
    write(here / "a.csv", "rank,sample_size\n" + lines)
    options = ("a.csv", "--n-items", 10_000, "--ladder", "100,200,400", "--no-replacement")
    options = (*options, "--confidence", 0)
    content = json.loads(run("estimate", *options, "-m", "recall@10", "--json").out)
    assert content["counts"]["schemes"] == ["without:100,200,400"]
    expected = tr.estimate(
        tr.RankCounts.from_ranks(
            found, n_items=10_000, sample_size=sizes, ladder=[100, 200, 400], replacement=False
        ),
        "recall@10",
    )
    value = expected["recall@10"].value
    assert content["results"][0]["value"] == pytest.approx(value, rel=1e-12)
    header = " ".join(run("estimate", *options).out.partition("metric")[0].split())
    assert header == (
        "5 users · pools of 10,000 items · samples of 100 to 400 · without replacement, adaptive"
    )
    write(here / "h.csv", "rank,sample_size\n3,100\n4,200\n")
    hits = run("estimate", "h.csv", *options[1:], "--hits", "2", "--json")
    assert json.loads(hits.out)["counts"]["schemes"] == ["without:100,200,400:hits=2"]


def test_support_and_plug_in_reach_the_library(run: Any, ranks: np.ndarray) -> None:
    def value(*options: str) -> float:
        given = ["-e", "mle", "-m", "recall@10", "--json", *options]
        out = run("estimate", "ranks.csv", *DESIGN, *given).out
        return float(json.loads(out)["results"][0]["value"])

    for plug_in in ("plain", "posterior"):
        expected = tr.estimate(
            counts_of(ranks), "recall@10", estimator="mle", support="full", plug_in=plug_in
        )
        assert value("--support", "full", "--plug-in", plug_in) == pytest.approx(
            expected["recall@10"].value, rel=1e-12
        )
    assert value() != value("--plug-in", "posterior")


# -- several files, several models ----------------------------------------------------------


def test_by_several_columns(run: Any, here: Path, ranks: np.ndarray) -> None:
    """Each combination of values on its own, as the questions of a knowledge graph."""
    sides = np.where(np.arange(ranks.size) % 2 == 0, "head", "tail")
    relation = np.arange(ranks.size) % 3
    lines = "".join(f"{r},{s},{k}\n" for r, s, k in zip(ranks, sides, relation, strict=True))
    write(here / "graph.csv", "rank,side,relation\n" + lines)
    found = run("estimate", "graph.csv", *DESIGN, "--by", "side, relation", "--json").out
    content = json.loads(found)
    for side, kind in (("head", 0), ("tail", 2)):
        users = int(((sides == side) & (relation == kind)).sum())
        assert content["counts"][f"{side}, {kind}"]["users"] == users
    assert len(content["counts"]) == 6


@pytest.fixture
def models(here: Path, ranks: np.ndarray) -> dict[str, np.ndarray]:
    """all.csv with two models, and each model's ranks."""
    parts = {"ALS": ranks[:200], "EASE": ranks[200:]}
    lines = "".join(f"{rank},{name}\n" for name, part in parts.items() for rank in part)
    write(here / "all.csv", "rank,model\n" + lines)
    return parts


def test_by_model(run: Any, models: dict[str, np.ndarray]) -> None:
    result = run("estimate", "all.csv", *DESIGN, "--by", "model")
    lines = result.out.splitlines()
    assert lines[0].startswith("ALS: 200 users · ")
    assert lines[1].startswith("EASE: 300 users · ")
    assert re.search(r"recall@10 +ALS +\d", result.out)
    assert re.search(r"\n +EASE +\d", result.out)
    content = json.loads(run("estimate", "all.csv", *DESIGN, "--by", "model", "--json").out)
    assert content["by"] == "model"
    assert {name: facts["users"] for name, facts in content["counts"].items()} == {
        "ALS": 200,
        "EASE": 300,
    }
    rows = rows_of(run("estimate", "all.csv", *DESIGN, "--by", "model", "--csv").out)
    assert next(iter(rows[0])) == "model"
    for name, part in models.items():
        expected = tr.estimate(counts_of(part), "recall@10")["recall@10"].value
        for found in (content["results"], rows):
            (row,) = [r for r in found if (r["model"], r["metric"]) == (name, "recall@10")]
            assert float(row["value"]) == pytest.approx(expected, rel=1e-12)


def test_models_of_one_design_share_a_header(run: Any, here: Path, ranks: np.ndarray) -> None:
    both = "".join(f"{rank},{name}\n" for name in "ab" for rank in ranks)
    write(here / "all.csv", "rank,model\n" + both)
    out = run("estimate", "all.csv", *DESIGN, "--by", "model").out
    assert out.startswith("2 models, each: 500 users · pools of 3,706 items")


def test_by_takes_any_column_and_adds_up_over_files(
    run: Any, here: Path, ranks: np.ndarray
) -> None:
    write(here / "one.csv", "rank,run\n" + "".join(f"{rank},a\n" for rank in ranks[:100]))
    two = "".join(f"{rank},{'a' if i % 2 else 'b'}\n" for i, rank in enumerate(ranks[100:]))
    write(here / "two.csv", "rank,run\n" + two)
    content = json.loads(
        run("estimate", "one.csv", "two.csv", *DESIGN, "--by", "run", "--json").out
    )
    assert {name: facts["users"] for name, facts in content["counts"].items()} == {
        "a": 300,
        "b": 200,
    }


def test_by_file_keeps_files_apart(run: Any, here: Path, ranks: np.ndarray) -> None:
    write(here / "als.csv", "rank\n" + "".join(f"{rank}\n" for rank in ranks[:100]))
    counts_of(ranks[100:]).save(here / "ease.parquet")
    content = json.loads(
        run("estimate", "als.csv", "ease.parquet", *DESIGN, "--by", "file", "--json").out
    )
    users = {name: facts["users"] for name, facts in content["counts"].items()}
    assert users == {"als": 100, "ease": 400}


def test_files_of_one_model_add_up(run: Any, here: Path, ranks: np.ndarray) -> None:
    write(here / "one.csv", "rank\n" + "".join(f"{rank}\n" for rank in ranks[:123]))
    write(here / "two.csv", "rank\n" + "".join(f"{rank}\n" for rank in ranks[123:]))
    parts = run("estimate", "one.csv", "two.csv", *DESIGN, "--json")
    assert parts.out == run("estimate", "ranks.csv", *DESIGN, "--json").out


def test_saved_counts_say_the_same_as_the_ranks(run: Any, here: Path, ranks: np.ndarray) -> None:
    first = run("estimate", "ranks.csv", *SURE, "--save-counts", "counts.parquet", "--json")
    assert tr.RankCounts.load(here / "counts.parquet") == counts_of(ranks)
    assert run("estimate", "counts.parquet", "--json").out == first.out


# -- writing --------------------------------------------------------------------------------


def test_output_goes_to_the_file_alone(run: Any, here: Path, ranks: np.ndarray) -> None:
    printed = {
        kind: run("estimate", "ranks.csv", *DESIGN, kind).out for kind in ("--json", "--csv")
    }
    for name, kind in (("m.json", "--json"), ("m.csv", "--csv")):
        result = run("estimate", "ranks.csv", *DESIGN, "-o", name)
        assert (result.code, result.out, result.err) == (0, "", "")
        assert (here / name).read_text() == printed[kind]
    assert run("estimate", "ranks.csv", *DESIGN, "-o", "m.txt").out == ""
    assert "recall@10" in (here / "m.txt").read_text(encoding="utf-8")
    forced = run("estimate", "ranks.csv", *DESIGN, "--json", "-o", "odd.csv")
    assert (forced.out, (here / "odd.csv").read_text()) == ("", printed["--json"])


def test_a_failed_write_leaves_nothing(run: Any, here: Path, ranks: np.ndarray) -> None:
    (here / "m.json").write_text("mine")
    before = sorted(here.iterdir())
    result = run(
        "estimate", "ranks.csv", *DESIGN, "-o", "m.json", "--save-counts", "nowhere/c.parquet"
    )
    assert result.code == 2
    assert result.err.startswith("error: cannot write nowhere/c.parquet")
    assert sorted(here.iterdir()) == before
    assert (here / "m.json").read_text() == "mine"


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["-o", "ranks.csv"], "--output is ranks.csv, an input file"),
        (["--save-counts", "c.csv"], "--save-counts is c.csv; give it the ending .parquet"),
        (["--save-counts", "c.parquet", "--by", "model"], "it does not go with --by"),
        (["-o", "c.parquet", "--save-counts", "./c.parquet"], "are both c.parquet"),
        (["--json", "--csv"], "--json and --csv are both given"),
    ],
)
def test_outputs_that_cannot_be(
    run: Any, here: Path, ranks: np.ndarray, options: list[str], message: str
) -> None:
    before = (here / "ranks.csv").read_text()
    result = run("estimate", "ranks.csv", *DESIGN, *options)
    assert (result.code, result.out) == (2, "")
    assert message in result.err
    assert [path.name for path in here.iterdir()] == ["ranks.csv"]
    assert (here / "ranks.csv").read_text() == before


# -- bad input ------------------------------------------------------------------------------

BAD_FILES = {
    "zero-based": ("rank\n4\n0\n", [], "sampled_rank is 0 at line 3: these look like 0-based"),
    "negative": ("rank\n4\n-3\n", [], "sampled_rank is -3 at line 3"),
    "above the sample": ("rank\n7\n250\n", [], "sampled_rank is 250 at line 3"),
    "number of negatives": ("rank\n101\n", [], "say --num-negatives 100"),
    "fraction": ("rank\n1\n2.5\n", [], "sampled_rank is 2.5 at line 3"),
    "missing": ("rank,note\n1,a\n,b\n", [], "sampled_rank is nan at line 3"),
    "text": ("rank\nfirst\n", [], "'first'"),
    "no rows": ("rank\n", [], "ranks is empty"),
    "no bytes": ("", [], "bad.csv"),
    "no such column": ("place,who\n1,2\n", [], "found: place, who"),
    "negative weight": ("rank,weight\n1,1\n2,-1\n", [], "weight is -1 at line 3"),
    "several models": ("rank,model\n1,a\n2,b\n", [], "--by model"),
    "given twice": ("rank,n_items\n1,3706\n", [], "n_items"),
    "no such by": ("rank\n1\n", ["--by", "model"], "no column model; found: rank"),
}


@pytest.mark.parametrize(("text", "options", "message"), BAD_FILES.values(), ids=BAD_FILES)
def test_bad_files(run: Any, here: Path, text: str, options: list[str], message: str) -> None:
    write(here / "bad.csv", text)
    refused(run, here, message, "bad.csv", *DESIGN, *options)


BAD_OPTIONS = {
    "sample_size 1": ("--n-items 3706 --sample-size 1", "sample_size is 1"),
    "sample_size above n_items": (
        "--n-items 99 --sample-size 100 --no-replacement",
        "n_items is 99",
    ),
    "n_items 1": ("--n-items 1 --sample-size 100", "n_items is 1"),
    "no n_items": ("--sample-size 100", "--n-items is neither given nor a column"),
    "no sample_size": ("--n-items 3706", "--sample-size and --num-negatives: neither given"),
    "both sizes": (
        "--n-items 3706 --sample-size 100 --num-negatives 99",
        "--sample-size and --num-negatives: both given",
    ),
    "estimator": ("{} -e mlee", "unknown estimator 'mlee'; did you mean 'mle'?"),
    "estimator option": ("{} -e bv(gama=1)", "did you mean 'gamma'?"),
    "metric": ("{} -m recal@10", "unknown metric 'recal'; did you mean 'recall'?"),
    "k below 1": ("{} -m recall@0", "k of recall is 0"),
    "k not a number": ("{} -m recall@ten", "k is 'ten'"),
    "k above the pool": ("{} -m recall@3707", "the largest pool has 3706 items"),
    "undefined": ("{} -e mapped -m ndcg@10", "'mapped' is not defined for ndcg@10"),
    "off the ladder": ("{} --ladder 50,200", "sample_size"),
    "falling ladder": ("{} --ladder 200,100", "its sizes must increase"),
    "hits without a ladder": ("{} --hits 2", "no meaning without a ladder"),
    "support": ("{} --support ful", "unknown --support 'ful'; did you mean 'full'?"),
    "plug-in": ("{} --plug-in some", "unknown --plug-in 'some' (known: plain, posterior)"),
    "columns": ("{} --columns rank", "--columns is 'rank'; write it as ours=yours"),
    "unknown column": ("{} --columns where=rank", "unknown column 'where'"),
    "no folder": ("{} -o nowhere/metrics.json", "the folder nowhere does not exist"),
    "not an integer": ("--n-items many --sample-size 100", "Invalid value for '--n-items'"),
    "no such option": ("{} --nitems 5", "No such option: --nitems"),
}


@pytest.mark.parametrize(("options", "message"), BAD_OPTIONS.values(), ids=BAD_OPTIONS)
def test_bad_options(run: Any, here: Path, ranks: np.ndarray, options: str, message: str) -> None:
    words = options.format("--n-items 3706 --sample-size 100").split()
    refused(run, here, message, "ranks.csv", *words)


def test_impossible_adaptive_outcome(run: Any, here: Path) -> None:
    write(here / "bad.csv", "rank,sample_size\n5,100\n150,200\n")
    message = "impossible adaptive outcome at line 3"
    refused(run, here, message, "bad.csv", "--n-items", 3706, "--ladder", "100,200")


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("ranks.parquet", b"rank\n1\n", "ranks.parquet is not a Parquet file"),
        ("cut.parquet", b"PAR1 and no more", "cut.parquet is not a readable .parquet file"),
        ("bytes.csv", bytes(range(256)), "bytes.csv"),
        ("ranks.xlsx", b"PK", "ranks.xlsx ends in '.xlsx'"),
        ("ranks.csv.gz", b"rank\n1\n", "ranks.csv.gz"),
    ],
)
def test_files_that_are_not_what_their_name_says(
    run: Any, here: Path, name: str, content: bytes, message: str
) -> None:
    (here / name).write_bytes(content)
    refused(run, here, message, name, *DESIGN)


def test_parquet_called_csv(run: Any, here: Path) -> None:
    pq.write_table(pa.table({"rank": [1, 2]}), here / "ranks.csv")
    refused(run, here, "ranks.csv is a Parquet file", "ranks.csv", *DESIGN)


def test_missing_file_and_folder(run: Any, here: Path) -> None:
    refused(run, here, "gone.csv does not exist", "gone.csv", *DESIGN)
    refused(run, here, "is a folder", here, *DESIGN)


def test_counts_of_a_newer_version(run: Any, here: Path, ranks: np.ndarray) -> None:
    counts_of(ranks).save(here / "counts.parquet")
    saved = pq.read_table(here / "counts.parquet")
    facts = {key: re.sub(rb"^\d+", b"99", value) for key, value in saved.schema.metadata.items()}
    pq.write_table(saved.replace_schema_metadata(facts), here / "counts.parquet")
    refused(run, here, "upgrade truerank", "counts.parquet")


def test_options_that_saved_counts_do_not_need(run: Any, here: Path, ranks: np.ndarray) -> None:
    counts_of(ranks).save(here / "counts.parquet")
    refused(run, here, "--n-items is given, but", "counts.parquet", "--n-items", 5000)
    refused(run, here, "no column model; with --by file", "counts.parquet", "--by", "model")


def test_files_that_do_not_add_up(run: Any, here: Path, ranks: np.ndarray) -> None:
    refused(run, here, "ranks.csv is given twice", "ranks.csv", "./ranks.csv", *DESIGN)
    write(here / "a.csv", "rank,model\n1,ALS\n")
    write(here / "b.csv", "rank,model\n1,EASE\n")
    refused(run, here, "several models (ALS, EASE)", "a.csv", "b.csv", *DESIGN)


def test_the_bad_file_of_several_is_named(run: Any, here: Path, ranks: np.ndarray) -> None:
    write(here / "bad.csv", "rank\n0\n")
    refused(run, here, "bad.csv: sampled_rank is 0", "ranks.csv", "bad.csv", *DESIGN)


def refused(run: Any, here: Path, message: str, *arguments: object) -> None:
    """Exit code 2, one line of error, nothing printed, nothing written."""
    before = sorted(here.iterdir())
    writes = ("--save-counts", "kept.parquet") if "--by" not in arguments else ()
    writes += () if "-o" in arguments else ("-o", "metrics.json")
    result = run("estimate", *arguments, *writes)
    assert (result.code, result.out) == (2, "")
    *warned, line = result.err.splitlines()
    assert line.startswith("error: ")
    assert message in line
    assert all(other.startswith("warning: ") for other in warned)
    assert sorted(here.iterdir()) == before


# -- help -----------------------------------------------------------------------------------


def test_every_example_of_the_help_runs(run: Any, here: Path, ranks: np.ndarray) -> None:
    pq.write_table(
        pa.table(
            {
                "rank": ranks,
                "n_items": np.full(500, 3706),
                "sample_size": np.full(500, 100),
                "model": np.where(np.arange(500) % 2, "a", "b"),
            }
        ),
        here / "all.parquet",
    )
    write(here / "adaptive.csv", "rank,sample_size\n4,100\n2,200\n1,400\n")
    examples = re.findall(r"^truerank (.*)$", HELP.replace("\\\n", ""), re.MULTILINE)
    assert len(examples) >= 5
    for example in examples:
        words = shlex.split(example.partition(">")[0])
        result = run(*words)
        assert result.code == 0, (example, result.err)
        assert "recall@10" in result.out
