"""The page in a real browser: what it shows, asks for, and hands out."""

from __future__ import annotations

import csv
import itertools
import os
import re
import shutil
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import truerank as tr
from truerank.inference import curves

sync_api = pytest.importorskip("playwright.sync_api", reason="playwright is not installed")
CHROMIUM = os.environ.get("TRUERANK_CHROMIUM") or next(
    filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None
)
pytestmark = pytest.mark.skipif(
    CHROMIUM is None, reason="no Chromium on the PATH (apt-get install chromium)"
)
ARGUMENTS = (
    "--no-sandbox",
    "--disable-gpu",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--no-first-run",
)


@pytest.fixture(scope="module")
def browser() -> Any:
    with sync_api.sync_playwright() as driver:
        found = driver.chromium.launch(executable_path=CHROMIUM, args=list(ARGUMENTS))
        yield found
        found.close()


class Opened:
    """A page that has drawn all its figures, and all that it said and asked for."""

    def __init__(self, browser: Any, path: Path, **options: Any) -> None:
        self.said: list[str] = []
        self.asked: list[str] = []
        self.context = browser.new_context(accept_downloads=True, **options)
        self.page = self.context.new_page()
        self.page.on("console", lambda message: self.said.append(message.text))
        self.page.on("pageerror", lambda error: self.said.append(str(error)))
        self.page.on("request", lambda request: self.asked.append(request.url))
        self.page.goto(path.as_uri())
        self.page.wait_for_selector("html[data-ready=true]", timeout=60_000)
        self.page.wait_for_selector("#figure-curves .scatterlayer .trace", state="attached")

    def number(self, model: int, column: str, metric: int = 0) -> float:
        row = self.page.locator(f"#table-metrics tbody[data-metric='{metric}'] tr").nth(model + 1)
        return float(row.locator(f".{column}").inner_text().rstrip("?"))

    def lines(self, figure: str) -> int:
        """Lines drawn with a name, bands not counted."""
        count = f"document.getElementById('figure-{figure}').data.filter((t) => t.name).length"
        return int(self.page.evaluate(count))


@pytest.fixture(scope="module")
def opened(browser, page) -> Any:
    found = Opened(browser, page, viewport={"width": 1100, "height": 900}, color_scheme="light")
    yield found
    found.context.close()


def test_it_draws_everything_says_nothing_and_asks_for_nothing(opened, page) -> None:
    figures = (
        "flip",
        "curves",
        "pmf",
        "cdf",
        "koren",
        "mapped",
        "effort",
        "efficiency",
        "frontier",
    )
    for figure in figures:
        assert opened.page.locator(f"#figure-{figure} .main-svg").count() > 0
        assert opened.lines(figure) >= 3
    assert opened.said == []
    assert opened.asked == [page.as_uri()]


def choose(opened: Opened, k: int) -> None:
    opened.page.select_option("#cut-number", str(k))


def test_the_cut_off_changes_the_numbers(opened, results) -> None:
    found = curves.curve(results["sharp"].estimates, "recall")
    title = opened.page.locator("#table-metrics tbody[data-metric='0'] th").first
    assert title.inner_text() == "recall@10"
    assert opened.number(0, "value") == pytest.approx(found.value[9], abs=1e-3)
    choose(opened, 50)
    assert title.inner_text() == "recall@50"
    assert opened.number(0, "value") == pytest.approx(found.value[49], abs=1e-3)
    assert opened.number(0, "naive") == pytest.approx(found.naive[49], abs=1e-4)
    opened.page.focus("#cut")
    opened.page.keyboard.press("ArrowRight")
    assert title.inner_text() == "recall@65"
    assert opened.page.input_value("#cut-number") == "65"
    assert int(opened.page.locator("#cut-number option").last.inner_text()) == 200
    choose(opened, 10)
    assert opened.number(0, "value") == pytest.approx(found.value[9], abs=1e-3)


def test_the_cut_off_moves_verdict_matrix_and_figures_alike(opened, results) -> None:
    """All of them say what compare says at that K."""
    for k in (100, 1, 10):
        choose(opened, k)
        want = tr.compare({name: one.counts for name, one in results.items()}, f"recall@{k}")
        answer = opened.page.inner_text("#verdict-answer")
        assert answer.startswith(want.parts.answer.split(":")[0])
        assert opened.page.get_attribute("#verdict", "data-level") == want.parts.level
        order = opened.page.locator("#table-ranking-0 tbody tr th").all_inner_texts()
        assert order == [one.model for one in want.ranking]
        assert opened.page.locator("#table-wins-0 tbody th").all_inner_texts() == order
        share = want[order[1], order[2]].win_probability
        shown = opened.page.locator("#table-wins-0 tbody tr").nth(1).locator("td").nth(2)
        number = float(shown.inner_text().strip("<> %"))
        assert number == pytest.approx(100 * share, abs=1.0)
        assert f"recall@{k}" in opened.page.inner_text("#table-wins-0 caption")
        mark = "document.getElementById('figure-curves').layout.shapes[0].x0"
        assert opened.page.evaluate(mark) == k
        first = "document.getElementById('figure-flip').data.filter((t) => t.name).length"
        assert opened.page.evaluate(first) == 3


def test_the_metric_moves_verdict_curves_and_comparison(opened) -> None:
    axis = "document.getElementById('figure-curves').layout.yaxis.title.text"
    assert opened.page.evaluate(axis) == "recall@K"
    opened.page.select_option("#metric", "ndcg")
    assert opened.page.evaluate(axis) == "ndcg@K"
    assert "ndcg@10" in opened.page.inner_text("#verdict-answer")
    assert opened.page.is_hidden("#table-wins-0")
    opened.page.select_option("#metric", "auc")
    assert "auc" in opened.page.inner_text("#verdict-answer")
    assert opened.page.is_visible("#table-wins-3")
    opened.page.select_option("#metric", "recall")
    assert opened.page.is_visible("#table-wins-0")
    assert opened.page.is_hidden("#table-wins-3")


def test_tables_are_sorted_by_a_click(opened) -> None:
    rows = "#table-metrics tbody[data-metric='0'] td"

    def values(column: str) -> list[float]:
        return [
            float(text.rstrip("?"))
            for text in opened.page.locator(f"{rows}.{column}").all_inner_texts()
        ]

    assert values("value") == sorted(values("value"), reverse=True)
    head = opened.page.locator("th[data-sort='naive']")
    head.locator("button").click()
    assert head.get_attribute("aria-sort") == "descending"
    assert values("naive") == sorted(values("naive"), reverse=True)
    head.locator("button").click()
    assert head.get_attribute("aria-sort") == "ascending"
    assert values("naive") == sorted(values("naive"))
    opened.page.click("th[data-sort='model'] button")
    names = opened.page.locator("#table-metrics tbody[data-metric='0'] tr:not(:first-child) th")
    assert names.all_inner_texts() == sorted(names.all_inner_texts())
    opened.page.click("th[data-sort='value'] button")
    assert values("value") == sorted(values("value"), reverse=True)


def test_one_model_can_be_seen_alone(opened) -> None:
    lost = opened.page.locator("#table-metrics .name", has_text="lost").first
    lost.click()
    assert opened.lines("curves") == opened.lines("cdf") == opened.lines("flip") == 1
    opened.page.locator("[data-all]").first.click()
    assert opened.lines("curves") == 3
    opened.page.locator("[data-series='0']").first.dblclick()
    assert opened.lines("curves") == 1
    pressed = opened.page.locator("#h-curves ~ .controls [aria-pressed='true']")
    assert pressed.all_inner_texts() == ["sharp"]
    opened.page.locator("[data-all]").first.click()
    assert opened.lines("curves") == 3


def test_series_are_toggled_by_keyboard_everywhere(opened) -> None:
    button = opened.page.locator("[data-series='1']").first
    assert opened.lines("curves") == 3
    button.focus()
    opened.page.keyboard.press("Enter")
    buttons = opened.page.locator("[data-series='1']").all()
    assert {one.get_attribute("aria-pressed") for one in buttons} == {"false"}
    assert opened.lines("curves") == opened.lines("cdf") == opened.lines("effort") == 2
    opened.page.keyboard.press("Space")
    assert opened.lines("curves") == 3
    outline = "getComputedStyle(document.activeElement).outlineStyle"
    assert opened.page.evaluate(outline) == "solid"


def download(opened: Opened, name: str, kind: str) -> Path:
    with opened.page.expect_download() as waiting:
        opened.page.click(f"[data-download='{name}'][data-kind='{kind}']")
    assert waiting.value.suggested_filename == f"{name}.{kind}"
    return Path(waiting.value.path())


def download_text(opened: Opened, name: str, kind: str = "csv") -> str:
    return download(opened, name, kind).read_text(encoding="utf-8")


def test_figures_and_tables_can_be_downloaded(opened, results) -> None:
    for figure in ("curves", "frontier"):
        svg = download_text(opened, figure, "svg")
        assert svg.startswith("<svg")
        assert "sharp" in svg or figure == "frontier"
        assert download(opened, figure, "png").read_bytes().startswith(b"\x89PNG")
    rows = list(csv.DictReader(download_text(opened, "curves").splitlines()))
    assert len(rows) == 3 * 200
    found = curves.curve(results["sharp"].estimates, "recall")
    assert float(rows[9]["value"]) == pytest.approx(found.value[9], rel=1e-3)
    metrics = list(csv.DictReader(download_text(opened, "metrics").splitlines()))
    assert [row["metric"] for row in metrics[:3]] == ["recall@10"] * 3
    assert {row["model"] for row in metrics} == set(results)
    for row in metrics:
        assert float(row["low"]) <= float(row["value"]) <= float(row["high"])
    heads, *wins = csv.reader(download_text(opened, "wins-0").splitlines())
    assert heads[1:] == [row[0] for row in wins]
    shares = [[float(cell) for cell in row[1:] if cell] for row in wins]
    assert all(0.0 <= share <= 1.0 for row in shares for share in row)
    assert float(wins[0][2]) + float(wins[1][1]) == pytest.approx(1.0, abs=1e-5)
    ranking = list(csv.DictReader(download_text(opened, "ranking-0").splitlines()))
    assert [row["model"] for row in ranking] == heads[1:]
    assert float(ranking[1]["difference_to_best"]) < 0.0
    assert int(ranking[1]["best_rank"]) <= 2 <= int(ranking[1]["worst_rank"])
    koren = list(csv.DictReader(download_text(opened, "koren").splitlines()))
    assert float(koren[-1]["percent_of_items"]) == 100.0
    assert float(koren[-1]["share_of_users"]) == pytest.approx(1.0, abs=1e-3)
    opened.page.wait_for_timeout(1100)  # Chromium drops the eleventh download of a second
    for name in ("pmf", "cdf", "mapped", "effort", "efficiency", "ranking-0", "protocol"):
        assert len(download_text(opened, name).splitlines()) > 3


def test_the_best_model_comes_first_at_every_cut_off(opened) -> None:
    for k in (1, 10, 200):
        choose(opened, k)
        cells = opened.page.locator(
            "#table-metrics tbody[data-metric='0'] td.value"
        ).all_inner_texts()
        values = [float(text.split()[0].rstrip("?")) for text in cells]
        assert values == sorted(values, reverse=True)
    choose(opened, 10)


def test_the_table_can_be_pasted(opened) -> None:
    opened.page.evaluate(
        "window.told = []; navigator.clipboard.writeText = async (t) => told.push(t)"
    )
    for kind, start in (("markdown", "| metric | model | naive |"), ("latex", r"\begin{tabular}")):
        opened.page.click(f"[data-paste='{kind}']")
        opened.page.wait_for_function("document.getElementById('pasted').textContent !== ''")
        assert "copied" in opened.page.inner_text("#pasted")
        text = opened.page.evaluate("told.at(-1)")
        assert text.startswith(start)
        assert "sharp" in text
        assert "recall@10" in text
    opened.page.click("section[aria-labelledby='h-metrics'] [data-copy='citation']")
    opened.page.wait_for_timeout(500)
    assert opened.page.evaluate("told.at(-1)").startswith("@software{truerank,")


def test_the_protocol_can_be_copied(opened) -> None:
    opened.page.click("[data-copy='card-latex']")
    opened.page.wait_for_function(
        "document.getElementById('copied').textContent === 'LaTeX copied.'"
    )
    opened.page.click("summary >> text=LaTeX")
    assert opened.page.inner_text("#card-latex").startswith(r"\begin{tabular}")


def test_dark(browser, page) -> None:
    dark = Opened(browser, page, viewport={"width": 1100, "height": 900}, color_scheme="dark")
    paper = "getComputedStyle(document.body).backgroundColor"
    ink = "document.getElementById('figure-curves').layout.font.color"
    assert dark.page.evaluate(paper) == "rgb(20, 23, 27)"
    assert dark.page.evaluate(ink) == "#e8ebee"
    dark.page.click("#theme")
    assert dark.page.evaluate(paper) == "rgb(255, 255, 255)"
    assert dark.page.evaluate(ink) == "#1b1f24"
    dark.page.click("#theme")
    dark.page.emulate_media(media="print")
    assert dark.page.evaluate(paper) == "rgb(255, 255, 255)"
    assert dark.page.is_hidden("#drive")
    assert dark.said == []
    dark.context.close()


def test_paper(browser, page) -> None:
    """Narrower than the screen: figures shrink, carry their legends, and come back after."""
    screen = Opened(browser, page, viewport={"width": 1100, "height": 900})

    def box(figure: str) -> dict[str, float]:
        return screen.page.locator(f"#figure-{figure} .main-svg").first.bounding_box()

    legend = screen.page.locator("#figure-curves .legend")
    before = box("curves")["width"]
    assert legend.count() == 0
    screen.page.emulate_media(media="print")
    screen.page.set_viewport_size({"width": 718, "height": 900})  # A4 with small margins
    screen.page.evaluate("window.dispatchEvent(new Event('beforeprint'))")
    screen.page.wait_for_selector("#figure-curves .legend", state="attached")
    for figure in ("curves", "pmf", "frontier"):
        drawn, place = box(figure), screen.page.locator(f"#figure-{figure}").bounding_box()
        assert drawn["width"] <= place["width"] + 1
        assert drawn["height"] <= place["height"] + 1
    assert screen.page.is_visible("#table-wins-1")
    screen.page.emulate_media(media="screen")
    screen.page.set_viewport_size({"width": 1100, "height": 900})
    screen.page.evaluate("window.dispatchEvent(new Event('afterprint'))")
    screen.page.wait_for_function(
        "(width) => document.querySelector('#figure-curves .main-svg').clientWidth === width",
        arg=before,
    )
    assert legend.count() == 0
    assert screen.said == []
    screen.context.close()


def test_a_phone(browser, page) -> None:
    phone = Opened(
        browser, page, viewport={"width": 390, "height": 844}, is_mobile=True, has_touch=True
    )
    width = phone.page.evaluate("document.documentElement.scrollWidth")
    assert width == 390
    for table in ("#table-metrics", "#table-protocol"):
        box = phone.page.locator(table).bounding_box()
        assert box["x"] + box["width"] <= 390
    for figure in ("curves", "pmf", "frontier"):
        box = phone.page.locator(f"#figure-{figure} .main-svg").first.bounding_box()
        assert box["width"] <= 390
    caption = phone.page.locator("#table-metrics caption").bounding_box()
    assert caption["x"] + caption["width"] <= 390
    row = phone.page.locator("#table-metrics tbody[data-metric='0'] tr").nth(1)
    name, value = (row.locator(one).bounding_box() for one in (".name", ".value"))
    low = row.locator(".low").bounding_box()
    assert name["y"] + name["height"] <= value["y"] + value["height"] / 2
    assert low["x"] + low["width"] <= 390  # the whole interval, without scrolling
    assert phone.said == []
    bar = phone.page.locator("#table-metrics tbody[data-metric='0'] tr").nth(1).locator(".bar")
    assert bar.is_visible()
    assert 200 < bar.bounding_box()["width"] <= 390
    for name in ("flip", "pmf", "mapped"):  # no figure reaches into its caption
        figure = phone.page.locator(f"figure:has(#figure-{name})")
        drawn = figure.locator(".main-svg").first.bounding_box()
        caption = figure.locator("figcaption").bounding_box()
        assert drawn["y"] + drawn["height"] <= caption["y"] + 1
    phone.context.close()


def test_names_are_text_in_legends_and_downloads(browser, tmp_path) -> None:
    """Plotly would make a link of a name with a tag, and a spreadsheet a formula of another."""
    names = ('<a href="http://example.org">EASE</a>', "=1+1")
    ranks = {
        name: tr.RankCounts.from_ranks(
            1 + np.random.default_rng(seed).binomial(99, 0.1, 200), num_negatives=99, n_items=3706
        )
        for seed, name in enumerate(names)
    }
    path = tmp_path / "names.html"
    tr.report.write({name: tr.estimate(counts) for name, counts in ranks.items()}, path)
    screen = Opened(browser, path)
    screen.page.emulate_media(media="print")
    screen.page.evaluate("window.dispatchEvent(new Event('beforeprint'))")
    screen.page.wait_for_selector("#figure-curves .legend", state="attached")
    assert screen.page.locator("svg a").count() == 0
    shown = screen.page.locator("#figure-curves .legendtext").all_text_contents()
    assert shown == list(names)
    screen.page.emulate_media(media="screen")
    rows = list(csv.DictReader(download_text(screen, "metrics").splitlines()))
    assert {row["model"] for row in rows} == {names[0], f"'{names[1]}"}
    assert screen.said == []
    screen.context.close()


CONTRAST = """() => {
  const parse = (text) => (text.match(/[0-9.]+/g) || []).map(Number);
  const light = ([r, g, b]) => [r, g, b].map((v) => v / 255)
    .map((v) => (v <= 0.03928 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4))
    .reduce((sum, v, at) => sum + v * [0.2126, 0.7152, 0.0722][at], 0);
  const over = ([r, g, b, a = 1], under) => [r, g, b].map((v, at) => a * v + (1 - a) * under[at]);
  const behind = (node) => {
    const layers = [];
    for (let at = node; at; at = at.parentElement) {
      layers.unshift(parse(getComputedStyle(at).backgroundColor));
    }
    return layers.reduce((under, layer) => over(layer, under), [255, 255, 255]);
  };
  const found = [];
  for (const node of document.querySelectorAll("body *")) {
    const own = [...node.childNodes].some((one) => one.nodeType === 3 && one.data.trim());
    const style = getComputedStyle(node);
    if (!own || !node.checkVisibility() || node.closest("script, style, option, .skip")) continue;
    const drawn = node.closest("svg") !== null; // texts of figures have a fill
    const ground = behind(node), ink = over(parse(drawn ? style.fill : style.color), ground);
    const [low, high] = [light(ground), light(ink)].sort((a, b) => a - b);
    const ratio = (high + 0.05) / (low + 0.05);
    if (ratio < 4.5) found.push([node.tagName, node.className, ratio, node.textContent]);
  }
  return found;
}"""


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_every_text_stands_out(browser, page, scheme) -> None:
    """A contrast of at least 4.5, as WCAG 2 AA asks of text."""
    screen = Opened(browser, page, color_scheme=scheme)
    for level in ("settled", "open", "unknown"):
        screen.page.evaluate(f"document.getElementById('verdict').dataset.level = '{level}'")
        assert screen.page.evaluate(CONTRAST) == []
    screen.context.close()


@pytest.fixture(scope="module")
def twelve(tmp_path_factory) -> Path:
    rng = np.random.default_rng(0)
    models = {
        f"model {number} of a long name": tr.RankCounts.from_ranks(
            1 + rng.binomial(49, rng.beta(0.4, 2.0 + number / 4, size=300)),
            num_negatives=49,
            n_items=900,
            replacement=True,
        )
        for number in range(12)
    }
    path = tmp_path_factory.mktemp("twelve") / "twelve.html"
    tr.report.write(models, path, metrics=["recall@10", "ndcg@10"])
    return path


def test_twelve_models_on_a_screen_and_on_paper(browser, twelve) -> None:
    """Every column of every table is there, on paper too; the matrix has numbers as heads."""
    screen = Opened(browser, twelve, viewport={"width": 1100, "height": 900})
    heads = screen.page.locator("#table-wins-0 thead th").all_inner_texts()
    assert heads == [str(number) for number in range(1, 13)]
    first = screen.page.locator("#table-wins-0 tbody th").first
    assert first.inner_text().startswith("1  model")
    assert first.evaluate("node => getComputedStyle(node).position") == "sticky"
    assert screen.page.locator("#table-ranking-0 tbody tr").count() == 12
    assert screen.page.evaluate("document.getElementById('figure-curves').clientHeight") > 420
    assert "of 12 models" in screen.page.inner_text("#verdict-answer")
    bands = "document.getElementById('figure-frontier').data.filter((t) => t.fill).length"
    assert screen.page.evaluate(bands) == 2
    labels = screen.page.locator("#figure-flip .annotation-text").all()
    boxes = sorted(
        (one.bounding_box() for one in labels), key=lambda box: (box["x"] > 550, box["y"])
    )
    for above, below in itertools.pairwise(boxes[:12]):
        assert below["y"] - above["y"] > 10  # labels do not cover each other
    screen.page.emulate_media(media="print")
    screen.page.set_viewport_size({"width": 718, "height": 1000})
    screen.page.evaluate("window.dispatchEvent(new Event('beforeprint'))")
    screen.page.wait_for_selector("#figure-curves .legend", state="attached")
    for table in ("metrics", "ranking-0", "wins-0", "ranking-1", "wins-1", "protocol"):
        one = screen.page.locator(f"#table-{table}")
        assert one.is_visible()
        box = one.bounding_box()
        assert box["x"] >= 0
        assert box["x"] + box["width"] <= 718 + 1, table
        cells = one.locator("th, td").evaluate_all(
            "cells => cells.map((cell) => cell.scrollWidth - cell.clientWidth)"
        )
        assert max(cells) <= 2, table
    assert screen.page.locator("#figure-pmf .legend").count() == 0  # stands above, as a list
    keys = screen.page.locator(".controls:has(+ .columns) [data-series]")
    assert keys.count() >= 12
    assert all(key.is_visible() for key in keys.all())
    assert screen.page.pdf(format="A4")[:4] == b"%PDF"
    assert screen.said == []
    screen.context.close()


def test_an_exact_report(browser, tmp_path) -> None:
    counts = {
        name: tr.RankCounts.from_exact_ranks(ranks, n_items=300)
        for name, ranks in {"a": np.arange(1, 201), "b": np.arange(50, 250)}.items()
    }
    tr.report.write(counts, tmp_path / "exact.html")
    screen = Opened(browser, tmp_path / "exact.html")
    choose(screen, 100)
    assert "(exact)" in screen.page.inner_text("#verdict-answer")
    text = screen.page.inner_text("main")
    assert not re.search("[Nn]aive|interval|Holm|Best with", text)
    assert screen.page.locator("#table-metrics .track i").count() == 0
    assert screen.page.locator("#table-ranking-0 tbody tr").count() == 2
    assert screen.said == []
    screen.context.close()
