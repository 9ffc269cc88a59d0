"""What the documentation does beyond Markdown: colours, formulas, search, the glossary."""

from __future__ import annotations

import importlib.util
import re
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

DOCS = Path(__file__).parents[1] / "docs"
pytestmark = pytest.mark.skipif(not DOCS.is_dir(), reason="the pages are not beside the tests")
PAPER, NIGHT = "#ffffff", "#1e2129"  # Material's pages, light and dark


def luminance(colour: str) -> float:
    """WCAG's relative luminance."""
    parts = [int(colour[at : at + 2], 16) / 255 for at in (1, 3, 5)]
    linear = [v / 12.92 if v <= 0.03928 else ((v + 0.055) / 1.055) ** 2.4 for v in parts]
    return sum(v * w for v, w in zip(linear, (0.2126, 0.7152, 0.0722), strict=True))


def contrast(one: str, two: str) -> float:
    low, high = sorted((luminance(one), luminance(two)))
    return (high + 0.05) / (low + 0.05)


def test_teal_stands_out() -> None:
    style = (DOCS / "stylesheets" / "extra.css").read_text(encoding="utf-8")
    head = re.search(r"--md-primary-fg-color: (#\w{6})", style)
    light, dark = re.findall(r"--md-typeset-a-color: (#\w{6})", style)
    assert contrast("#009485", PAPER) < 4.5  # Material's own teal does not
    assert contrast(head[1], PAPER) >= 4.5
    assert contrast(light, PAPER) >= 4.5
    assert contrast(dark, NIGHT) >= 4.5


def test_fonts_and_scripts_are_here_with_their_licences() -> None:
    style = (DOCS / "stylesheets" / "extra.css").read_text(encoding="utf-8")
    (font,) = re.findall(r'url\("\.\./(.*?)"\)', style)
    assert (DOCS / font).read_bytes()[:4] == b"wOF2"
    assert "SIL OPEN FONT LICENSE" in (DOCS / "fonts" / "OFL.txt").read_text(encoding="utf-8")
    script = (DOCS / "scripts" / "iframe-worker.js").read_text(encoding="utf-8")
    assert "MIT" in script.splitlines()[0]


@pytest.fixture(scope="module")
def hooks() -> Any:
    pytest.importorskip("mkdocs")
    spec = importlib.util.spec_from_file_location("hooks", DOCS / "hooks.py")
    found = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(found)
    return found


def page(where: str) -> Any:
    return SimpleNamespace(file=SimpleNamespace(dest_uri=f"{where}.html", src_uri=f"{where}.md"))


def test_terms_link_to_the_glossary_at_their_first_use(hooks) -> None:
    text = "<h2>Pools</h2><p>Its <code>pool</code>: the pools and a pool of <a>outcomes</a>.</p>"
    found = hooks._glossed(text, page("how-to/index"))
    assert found.count("glossary.html") == 1
    assert 'the <a class="term" href="../glossary.html#pool">pools</a> and a pool' in found
    assert "<h2>Pools</h2>" in found
    glossary = (DOCS / "glossary.md").read_text(encoding="utf-8")
    assert all(f'id="{anchor}"' in glossary for anchor in hooks.TERMS)


def test_no_page_asks_another_host(hooks) -> None:
    shim = '<script src="https://unpkg.com/iframe-worker/shim"></script>'
    found = hooks.on_post_page(shim, page("how-to/index"))
    assert found == '<script src="../scripts/iframe-worker.js"></script>'
    with pytest.raises(Exception, match="asks for https://example"):
        hooks.on_post_page('<img src="https://example.org/a.png">', page("index"))
