"""The report on three models of ml-1m and its pictures, as docs/report.md shows them.

``python docs/images/report.py --data ../shared/data`` needs the extras report and models, and
playwright with a Chromium for the pictures.
"""

from __future__ import annotations

import argparse
import shutil
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq

import truerank as tr

DOCS = Path(__file__).parents[1]
PAGE = DOCS / "report-ml-1m.html"
SCREEN, PHONE = {"width": 1000, "height": 1150}, {"width": 390, "height": 1500}


def write(data: Path) -> None:
    """Fit, evaluate and report."""
    train = pq.read_table(data / "ml-1m" / "train.parquet")
    test = pq.read_table(data / "ml-1m" / "test.parquet")
    models = {
        "item-KNN": tr.models.ItemKNN.jl21(),
        "EASE": tr.models.EASE(),
        "ALS": tr.models.ALS(),
    }
    results, exact = {}, {}
    for name, model in models.items():
        scorer = model.fit(train, item_ids=test["item_id"])
        results[name] = tr.evaluate(scorer, test, tr.designs.Adaptive(budget=201), train=train)
        exact[name] = tr.evaluate(scorer, test, "exact", train=train)
        print(name, results[name]["recall@10"].value, exact[name]["recall@10"].value)
    audit = tr.audit(test=test, train=train)
    tr.report.write(results, PAGE, title="Three models on ml-1m", audit=audit, exact=exact)


def photograph() -> None:
    """Take the pictures: light, dark and a phone."""
    from playwright.sync_api import sync_playwright

    with sync_playwright() as driver:
        found = shutil.which("chromium") or shutil.which("google-chrome")
        browser = driver.chromium.launch(executable_path=found, args=["--no-sandbox"])
        _shoot(browser, "report-light", viewport=SCREEN)
        _shoot(browser, "report-dark", scroll="h-wins", viewport=SCREEN, color_scheme="dark")
        _shoot(browser, "report-phone", viewport=PHONE, is_mobile=True)
        browser.close()


def _shoot(browser: Any, name: str, *, scroll: str = "", **options: Any) -> None:
    page = browser.new_page(**options)
    page.goto(PAGE.as_uri())
    page.wait_for_selector("html[data-ready=true]")
    if scroll:
        page.evaluate(f"document.getElementById('{scroll}').scrollIntoView()")
        page.evaluate("window.scrollBy(0, -70)")
    page.wait_for_timeout(500)
    page.screenshot(path=DOCS / "images" / f"{name}.png")
    page.close()


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data", type=Path, default=Path("../shared/data"))
    parser.add_argument("--pictures", action="store_true", help="take the pictures alone")
    options = parser.parse_args()
    if not options.pictures:
        write(options.data)
    photograph()
