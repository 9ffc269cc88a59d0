"""The page in a real browser: what it shows, asks for, and hands out."""

from __future__ import annotations

import csv
import os
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
    figures = ("curves", "pmf", "cdf", "koren", "mapped", "effort", "efficiency", "frontier")
    for figure in figures:
        assert opened.page.locator(f"#figure-{figure} .main-svg").count() > 0
        assert opened.lines(figure) >= 3
    assert opened.said == []
    assert opened.asked == [page.as_uri()]


def test_the_cut_off_changes_the_numbers(opened, results) -> None:
    found = curves.curve(results["sharp"].estimates, "recall")
    title = opened.page.locator("#table-metrics tbody[data-metric='0'] th").first
    assert title.inner_text() == "recall@10"
    assert opened.number(0, "value") == pytest.approx(found.value[9], abs=1e-3)
    opened.page.fill("#cut-number", "50")
    opened.page.press("#cut-number", "Enter")
    assert title.inner_text() == "recall@50"
    assert opened.number(0, "value") == pytest.approx(found.value[49], abs=1e-3)
    assert opened.number(0, "naive") == pytest.approx(found.naive[49], abs=1e-4)
    opened.page.focus("#cut")
    opened.page.keyboard.press("ArrowRight")
    assert title.inner_text() == "recall@51"
    assert opened.page.input_value("#cut-number") == "51"
    opened.page.fill("#cut-number", "100000")
    opened.page.press("#cut-number", "Enter")
    assert opened.page.input_value("#cut-number") == "200"
    opened.page.fill("#cut-number", "10")
    opened.page.press("#cut-number", "Enter")
    assert opened.number(0, "value") == pytest.approx(found.value[9], abs=1e-3)


def test_the_metric_of_the_curves_and_of_the_comparison(opened) -> None:
    axis = "document.getElementById('figure-curves').layout.yaxis.title.text"
    assert opened.page.evaluate(axis) == "recall@K"
    opened.page.select_option("#curve", "ndcg")
    assert opened.page.evaluate(axis) == "ndcg@K"
    opened.page.select_option("#curve", "recall")
    assert opened.page.is_visible("#table-wins-0")
    opened.page.select_option("#matrix", "3")
    assert opened.page.is_hidden("#table-wins-0")
    assert opened.page.is_visible("#table-wins-3")
    opened.page.select_option("#matrix", "0")


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
    wins = list(csv.reader(download_text(opened, "wins-0").splitlines()))
    assert len(wins) == 4
    koren = list(csv.DictReader(download_text(opened, "koren").splitlines()))
    assert float(koren[-1]["percent_of_items"]) == 100.0
    assert float(koren[-1]["share_of_users"]) == pytest.approx(1.0, abs=1e-3)
    opened.page.wait_for_timeout(1100)  # Chromium drops the eleventh download of a second
    for name in ("pmf", "cdf", "mapped", "effort", "efficiency", "ranking-0", "protocol"):
        assert len(download_text(opened, name).splitlines()) > 3


def test_the_best_model_comes_first_at_every_cut_off(opened) -> None:
    for k in ("1", "10", "200"):
        opened.page.fill("#cut-number", k)
        opened.page.press("#cut-number", "Enter")
        cells = opened.page.locator(
            "#table-metrics tbody[data-metric='0'] td.value"
        ).all_inner_texts()
        values = [float(text.split()[0].rstrip("?")) for text in cells]
        assert values == sorted(values, reverse=True)
    opened.page.fill("#cut-number", "10")
    opened.page.press("#cut-number", "Enter")


def test_the_table_can_be_pasted(opened) -> None:
    opened.page.evaluate(
        "window.told = []; navigator.clipboard.writeText = async (t) => told.push(t)"
    )
    for kind, start in (("markdown", "| metric | model |"), ("latex", r"\begin{tabular}")):
        opened.page.click(f"[data-paste='{kind}']")
        opened.page.wait_for_function("document.getElementById('pasted').textContent === 'Copied.'")
        text = opened.page.evaluate("told.at(-1)")
        assert text.startswith(start)
        assert "sharp" in text
        assert "recall@10" in text


def test_the_protocol_can_be_copied(opened) -> None:
    opened.page.click("[data-copy='card-latex']")
    opened.page.wait_for_function("document.getElementById('copied').textContent === 'Copied.'")
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
    assert dark.page.is_hidden("#cut-controls")
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
    assert phone.said == []
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
