"""The Python blocks of the documentation run, page by page, as a reader would run them."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))]
# A block behind this comment needs something that is not there (a model, a cluster, a key).
NOT_RUN = "<!-- not run -->"
BLOCK = re.compile(rf"({re.escape(NOT_RUN)}\s*)?^```python\n(.*?)^```", re.DOTALL | re.MULTILINE)


def blocks(page: Path) -> list[str]:
    return [code for skipped, code in BLOCK.findall(page.read_text()) if not skipped]


@pytest.mark.parametrize(
    "page", [page for page in PAGES if blocks(page)], ids=lambda page: page.stem
)
def test_blocks_run(page, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    namespace: dict[str, object] = {}
    for code in blocks(page):
        exec(compile(code, f"{page.name}: {code[:40]!r}", "exec"), namespace)
