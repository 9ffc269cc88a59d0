"""What the page says is what the library says."""

from __future__ import annotations

import html
import json
import re
import sys
from html.parser import HTMLParser

import numpy as np
import pandas as pd
import pytest

import truerank as tr
from truerank.inference import columns, curves, verdicts
from truerank.report import _card, _words
from truerank.report._content import gather

OPTIONS = {
    "metrics": None,
    "estimator": None,
    "confidence": None,
    "scope": None,
    "population_size": None,
    "unpaired": False,
    "audit": None,
    "exact": None,
    "seed": None,
    "progress": None,
    "table_options": {},
}


class Page(HTMLParser):
    """Tags met, with their attributes, and texts by tag."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.tags: list[tuple[str, dict]] = []
        self.texts: list[tuple[str, str]] = []
        self.feed(text)

    def handle_starttag(self, tag, attrs):
        self.tags.append((tag, dict(attrs)))

    def handle_data(self, data):
        if data.strip() and self.tags:
            self.texts.append((self.tags[-1][0], data.strip()))

    def of(self, tag):
        return [attributes for name, attributes in self.tags if name == tag]


@pytest.fixture(scope="module")
def text(page) -> str:
    return page.read_text(encoding="utf-8")


@pytest.fixture(scope="module")
def data(text) -> dict:
    found = re.search(r'<script type="application/json" id="data">(.*?)</script>', text, re.DOTALL)
    return json.loads(found.group(1))


@pytest.fixture(scope="module")
def content(results):
    return gather(results, **OPTIONS)


def test_one_file_of_a_modest_size_that_asks_for_nothing(text) -> None:
    assert len(text.encode()) < 3_000_000
    parsed = Page(text)
    asked = [a.get("src") or a.get("href") for t in ("script", "link", "img") for a in parsed.of(t)]
    assert {one for one in asked if one} == {"data:,"}
    assert "@import" not in text.split("</style>")[0]


def test_numbers_are_those_of_the_library(results, data) -> None:
    names = [model["name"] for model in data["models"]]
    assert names == list(results)
    for model in data["models"]:
        found = curves.curves(
            results[model["name"]].estimates,
            ranks=True,
            also=["recall@10", "ndcg@10", "ap", "auc"],
        )
        one = model["curves"]["ndcg"]
        np.testing.assert_allclose(one["value"], found["ndcg"].value, rtol=1e-4)
        np.testing.assert_allclose(one["low"], found["ndcg"].low, rtol=1e-4)
        assert model["points"]["auc"]["value"] == pytest.approx(found.points["auc"].value, rel=1e-4)
        assert sum(stage["ended"] for stage in model["effort"]) == pytest.approx(1.0, abs=1e-4)
        assert {one["mapping"] for one in model["mapped"]} == set(tr.mapping.USUAL)


def test_the_verdict_comes_first_and_is_that_of_compare(results, content, text) -> None:
    want = tr.compare({name: one.counts for name, one in results.items()}, "recall@10")
    leader = want.ranking[0].model
    assert _words.verdict(content).answer.startswith(want.parts.answer.split(":")[0])
    assert content.leader.name == leader
    assert content.comparisons["recall@10"].ranking[0].value == pytest.approx(
        want.ranking[0].value, rel=1e-3
    )
    # The table and the comparison speak of the same fit.
    assert content.comparisons["recall@10"].ranking[0].low == pytest.approx(
        content.leader.points["recall@10"].low
    )
    assert text.index('class="verdict"') < text.index('id="table-metrics"')


def test_unresolved_metrics_are_named() -> None:
    rng = np.random.default_rng(0)
    rank = np.ceil(20_000 * rng.random(400) ** 2).astype(int)
    above = rng.hypergeometric(rank - 1, 20_000 - rank, 19)
    counts = tr.RankCounts.from_ranks(above + 1, n_items=20_000, sample_size=20, replacement=False)
    found = gather({"m": counts}, **{**OPTIONS, "metrics": ["recall@5", "auc"]})
    said = list(_words.details(found))
    assert found.models[0].points.verdict("recall@5") in said
    assert said[0].startswith("recall@5 is not resolved: 19 negatives out of 20,000 items are too")
    verdict = _words.verdict(found)
    assert verdict.answer.startswith("recall@5 of m on the whole catalogue is ")
    naive = found.models[0].points["recall@5"].naive
    assert verdict.usual == f"The sampled ranks as they are would say {naive:.4f}."
    assert (verdict.level, verdict.action) == ("unknown", verdicts.caution(adaptive=False))
    assert "scored pairs per user" in _words.next_step(found)
    page = tr.report.render({"m": counts}, metrics=["recall@5", "auc"])
    assert html.escape(said[0], quote=False) in page
    assert f'<p class="note">{verdicts.LEGEND}</p>' in page


def test_the_table_has_the_columns_of_the_library(data, text, results) -> None:
    assert [column["name"] for column in data["columns"]] == [one.name for one in columns.COLUMNS]
    for name, heading in (("naive", "Naive"), ("value", "Corrected"), ("low", "95 % interval")):
        assert f">{heading}</" in text.split("</thead>")[0]
        shown = next(one for one in columns.SHOWN if one.name == name)
        assert f'<td class="number {name}">' in text
        assert shown.heading
    point = data["models"][0]["points"]["auc"]
    assert set(point) == {one.name for one in columns.COLUMNS}
    # A K of its own has a fit of its own: close to the evaluation's, not the same.
    assert point["total_error"] == pytest.approx(results["sharp"]["auc"].total_error, rel=0.2)


def test_words() -> None:
    """Those that DESIGN.md asks for, and none of those that it asks to be written otherwise."""
    counts = {
        name: tr.RankCounts.from_exact_ranks(ranks, n_items=300)
        for name, ranks in {"a": np.arange(1, 201), "b": np.arange(50, 250)}.items()
    }
    page = tr.report.render(counts, metrics="recall@10").split("<script")[0]
    assert "Possible ranks" not in page  # they are exact
    sampled = {
        name: tr.RankCounts.from_ranks([1, 4, 2, 9] * 9, n_items=900, num_negatives=19)
        for name in counts
    }
    page += tr.report.render(sampled, metrics="recall@10").split("<script")[0]
    assert "Possible ranks of each model (95 %, Holm-corrected)." in page
    assert "Cumulative: share of users whose target ranks at or above R." in page
    assert not re.search(r"negatives a user|to 5 %|called for|leave open|added up", page)


def test_exact_ranks_need_no_next_step() -> None:
    counts = {
        name: tr.RankCounts.from_exact_ranks(ranks, n_items=300)
        for name, ranks in {"a": np.arange(1, 201), "b": np.arange(50, 250)}.items()
    }
    found = gather(counts, **OPTIONS)
    assert found.frontier is None
    assert _words.next_step(found) is None
    assert not found.models[0].mapped
    assert "exact ranks" in dict(_card.rows(found))["Sample, the target included (n)"]
    page = tr.report.render(counts)
    assert 'id="figure-curves"' in page
    for missing in ("frontier", "mapped", "effort", "flip"):
        assert f'id="figure-{missing}"' not in page


def test_exact_is_said_to_be_exact() -> None:
    """Neither a naive twin nor an interval of no width, a probability or a p-value."""
    counts = {
        name: tr.RankCounts.from_exact_ranks(ranks, n_items=300)
        for name, ranks in {"a": np.arange(1, 201), "b": np.arange(50, 250)}.items()
    }
    found = gather(counts, **OPTIONS)
    assert found.certain
    verdict = _words.verdict(found)
    assert verdict.level == "settled"
    assert verdict.usual == ""
    assert "(exact)" in verdict.answer
    page = tr.report.render(counts).split("</style>")[1].split("<script")[0]
    assert not re.search(r"[Nn]aive|interval|Corrected|Holm|[Pp]robability|p-value", page)
    alone = tr.report.render({"a": counts["a"]}).split("</style>")[1].split("<script")[0]
    assert "exactly: every item was ranked" in alone
    assert not re.search(r"[Nn]aive|interval|Corrected", alone)
    # For the population there is something to be unsure of.
    assert "95 % interval" in tr.report.render(counts, scope="population").split("<script")[0]


def test_everything_is_known_at_every_cut_off(content, data) -> None:
    assert {1, 5, 10, 20, 50, 100, 200} <= set(content.cuts)
    keys = {f"{name}@{k}" for name in ("recall", "ndcg") for k in content.cuts} | {"ap", "auc"}
    assert set(data["verdicts"]) == set(data["comparisons"]) == keys
    for key, told in data["verdicts"].items():
        assert told["answer"] == content.comparisons[key].parts.answer
    one = data["comparisons"]["recall@50"]
    ranking = content.comparisons["recall@50"].ranking
    assert [data["models"][at]["name"] for at in one["order"]] == [s.model for s in ranking]
    gap = content.comparisons["recall@50"][ranking[1].model, ranking[0].model]
    assert one["behind"][1] == pytest.approx([gap.value, gap.low, gap.high], rel=1e-4)
    assert one["wins"][1][0] == pytest.approx(gap.win_probability, rel=1e-4, abs=1e-9)


def test_this_run_lies_on_the_curve_of_its_design(content) -> None:
    pairs, error = content.here
    curve = content.cost_curves["adaptive"]
    at = int(np.abs(curve.pairs_per_user - pairs).argmin())
    assert curve.pairs_per_user[at] == pytest.approx(pairs)
    assert curve.error[at] == pytest.approx(error)
    assert (np.diff(curve.error) <= 0.0).all()
    assert (curve.low < curve.error).all()
    assert (curve.error < curve.high).all()


def test_exact_values_that_are_known_stand_beside(results) -> None:
    ranks = np.arange(1, 501)
    exact = tr.RankCounts.from_exact_ranks(ranks, n_items=700)
    page = tr.report.render({"m": results["sharp"]}, exact={"m": exact})
    assert '<td class="number known">0.0200</td>' in page  # recall@10: 10 of 500
    with pytest.raises(tr.InputError, match="give RankCounts of exact ranks"):
        tr.report.render({"m": results["sharp"]}, exact={"m": results["sharp"]})
    with pytest.raises(tr.InputError, match="model in exact"):
        tr.report.render({"m": results["sharp"]}, exact={"n": exact})


def test_names_are_escaped(text) -> None:
    assert "blurred &amp; &lt;b&gt;" in text
    assert "<b>" not in text.split('id="data"')[0].split("</style>")[1]


def test_the_protocol_as_text_and_latex(content, results) -> None:
    rows = dict(_card.rows(content))
    assert next(iter(rows)) == "Design"
    assert rows["Design"].startswith("adaptive(budget=46, start=32, growth=1.5, hits=1, ")
    assert rows["Users (M)"] == "500"
    assert rows["Catalogue"] == "700 items"
    assert rows["Seed"] == "3"
    assert rows["Ties"] == "random"
    assert rows["Drawn"] == "without replacement"
    assert rows["Training items left out of pools"] == "yes"
    assert rows["Software"] == f"truerank {tr.__version__}"
    assert "sharp: adaptive, 32" in rows["Sample, the target included (n)"]
    plain = _card.as_text(list(rows.items()))
    assert re.search(r"^Seed: +3$", plain, re.MULTILINE)
    latex = _card.as_latex([("a_b & c", "5 % … {x}")])
    assert r"a\_b \& c & 5 \% \ldots{} \{x\} \\" in latex
    unknown = gather({"m": results["lost"].counts}, **OPTIONS)
    assert dict(_card.rows(unknown))["Seed"] == _card.NOT_RECORDED


def test_the_card_of_saved_counts_and_of_frozen_negatives(results, tmp_path) -> None:
    results["lost"].save(tmp_path / "lost.parquet")
    found = gather({"lost": tmp_path / "lost.parquet"}, **OPTIONS)
    assert dict(_card.rows(found))["Seed"] == "3"
    assert found.models[0].counts == results["lost"].counts


def test_options_are_those_of_the_results_unless_stated(results) -> None:
    one = results["sharp"].estimates.again("ndcg@5", confidence=0.8)
    found = gather({"m": one}, **OPTIONS)
    assert [metric.key for metric in found.metrics] == ["ndcg@5"]
    assert found.confidence == 0.8
    said = gather({"m": one}, **{**OPTIONS, "confidence": 0.5, "estimator": "naive"})
    assert (said.confidence, said.estimator) == (0.5, "naive")
    assert said.models[0].curves.ranks is None


def test_tables_of_users_are_paired() -> None:
    rng = np.random.default_rng(0)
    table = pd.DataFrame(
        {
            "user_id": np.tile(np.arange(300), 2),
            "rank": 1 + rng.binomial(49, np.tile(rng.random(300) ** 3, 2)),
            "model": np.repeat(["a", "b"], 300),
        }
    )
    options = {"n_items": 900, "sample_size": 50, "replacement": True}
    found = gather(table, **{**OPTIONS, "metrics": ["recall@30"], "table_options": options})
    assert [model.name for model in found.models] == ["a", "b"]
    assert found.comparisons["recall@30"].paired
    one = table[table.model == "a"]
    alone = gather(one, **{**OPTIONS, "metrics": ["recall@30"], "table_options": options})
    assert not alone.comparisons


def test_audits_are_shown(results) -> None:
    audit = tr.audit(scores=np.ones((4, 5)))
    page = tr.report.render({"m": results["sharp"]}, audit=audit)
    assert "4 of 4 rows score every item the same." in page
    assert "m: The sampled ranks are what uniform draws of this size can give." in page


def test_every_table_has_a_caption_and_every_figure_a_description(text) -> None:
    parsed = Page(text.split('<script type="application/json"')[0])
    assert len(parsed.of("caption")) == len(parsed.of("table"))
    plots = [a for a in parsed.of("div") if a.get("class", "").startswith("plot")]
    assert len(plots) == 9
    assert all(a["role"] == "img" and len(a["aria-label"]) > 20 for a in plots)
    headings = [tag for tag, _ in parsed.tags if re.fullmatch(r"h\d", tag)]
    assert headings[0] == "h1"
    assert set(headings[1:]) == {"h2", "h3"}
    controls = {a["id"] for t in ("select", "input") for a in parsed.of(t)}
    labelled = {a["for"] for a in parsed.of("label")}
    assert controls - labelled == {"cut-number"}  # it has an aria-label
    assert parsed.of("html")[0]["lang"] == "en"


def test_written_whole_or_not_at_all(results, tmp_path, monkeypatch) -> None:
    path = tmp_path / "r.html"
    path.write_text("old")
    with pytest.raises(tr.InputError, match="unknown"):
        tr.report.write({"sharp": results["sharp"]}, path, metrics=["foo@3"])
    assert path.read_text() == "old"
    assert list(tmp_path.iterdir()) == [path]
    tr.report.write({"EASE": results["sharp"]}, path, title="T & T")
    assert "<title>T &amp; T</title>" in path.read_text(encoding="utf-8")
    tr.report.write({"EASE": results["sharp"].estimates}, tmp_path / "e.html", metrics="recall@3")
    assert "recall@3" in (tmp_path / "e.html").read_text(encoding="utf-8")
    with pytest.raises(tr.InputError, match=r"give it the ending \.html"):
        tr.report.write({"EASE": results["sharp"]}, tmp_path / "r.pdf")
    monkeypatch.setitem(sys.modules, "jinja2", None)
    with pytest.raises(ImportError, match=r"reports need jinja2, .*: pip install jinja2"):
        tr.report.write({"EASE": results["sharp"]}, path)
