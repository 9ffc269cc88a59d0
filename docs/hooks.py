"""What MkDocs does for us beyond Markdown: formulas, notebooks, and the pages of reproductions.

Formulas become MathML when the site is built, so that pages need neither a script nor a network.
"""

from __future__ import annotations

import html
import json
import re
import textwrap
from pathlib import Path
from typing import Any

from mkdocs.exceptions import PluginError
from mkdocs.structure.files import File, Files

ROOT = Path(__file__).parents[1]
WIDEST = 84  # characters of a line of output, so that none is cut on a page
FORMULA = re.compile(
    r'<(span|div) class="arithmatex">\s*(?:\\\((.*?)\\\)|\\\[(.*?)\\\])\s*</\1>', re.DOTALL
)


# Docstrings name others as :func:`~truerank.estimate`.
ROLE = re.compile(r":(?:func|meth|class|mod|attr):<code>(~?)([\w.]+)</code>")


# Terms of the glossary, by their anchors there; and what a first use of them is not looked for in.
TERMS = {
    "budget": "budget", "catalogue": "catalogue", "design": "design", "global-rank": "global rank",
    "hits": "hit", "joint-counts": "joint count", "ladder": "ladder", "naive": "naive",
    "negative": "negative", "outcome": "outcome", "pilot": "pilot", "pool": "pool",
    "resolved": "resolved", "sample-size": "sample size", "sampled-rank": "sampled rank",
    "scheme": "scheme", "scope": "scope", "scorer": "scorer", "target": "target",
}  # fmt: skip
_WHOLE = ("pre", "code", "a", "h[1-6]", "math", "table", "svg", "details", "figure")
NO_PROSE = re.compile(
    "(" + "|".join(rf"<{tag}\b.*?</{tag}>" for tag in _WHOLE) + "|<[^>]+>)", re.DOTALL
)
UNGLOSSED = (
    "glossary",
    "reproduction/",
    "reference/",
    "examples/",
    "releasing",
    "house",
    "smooth-notes",
)


def on_config(config: Any) -> Any:
    """Add pages that are generated: notebooks, and reproductions where there are some."""
    notebooks = [f"examples/{path.stem}.md" for path in _notebooks()]
    config.nav.insert(2, {"Examples": notebooks})
    made = sorted(path.name for path in (ROOT / "docs" / "reproduction").glob("*.md"))
    if made:
        config.nav.insert(-1, {"Reproduced": [f"reproduction/{name}" for name in made]})
    return config


def on_files(files: Files, config: Any) -> Files:
    """Notebooks of examples/ as pages."""
    for path in _notebooks():
        text = notebook_page(json.loads(path.read_text(encoding="utf-8")), path.name)
        files.append(File.generated(config, f"examples/{path.stem}.md", content=text))
    return files


def on_page_markdown(markdown: str, page: Any, **_: Any) -> str:
    """Reproductions come as Markdown and as HTML; here both are the one page."""
    if not page.file.src_uri.startswith("reproduction/"):
        return markdown
    return re.sub(r"\]\((\w+)\.html\)", r"](\1.md)", markdown)


def on_post_page(output: str, page: Any, **_: Any) -> str:
    """No page asks another host for a script, a style or an image: what search needs is here."""
    here = "../" * page.file.dest_uri.count("/") + "scripts/iframe-worker.js"
    output = output.replace("https://unpkg.com/iframe-worker/shim", here)
    asked = re.search(r'<(?:script|img|link)\b[^>]*(?:src|href)="?(https?:[^">]+)', output)
    if asked and "canonical" not in asked[0]:
        raise PluginError(f"{page.file.src_uri} asks for {asked[1]}")
    return output


def on_page_content(content: str, page: Any, **_: Any) -> str:
    """Formulas as MathML, and the names in docstrings as links."""
    from latex2mathml.converter import convert

    def replace(found: re.Match[str]) -> str:
        tag, inline, block = found.groups()
        formula = html.unescape(inline if block is None else block)
        display = "inline" if block is None else "block"
        return f'<{tag} class="arithmatex">{convert(formula, display=display)}</{tag}>'

    linked = ROLE.sub(_link, FORMULA.sub(replace, content))
    return linked if page.file.src_uri.startswith(UNGLOSSED) else _glossed(linked, page)


def _link(found: re.Match[str]) -> str:
    short, name = found.groups()
    label = name.rpartition(".")[2] if short else name
    return f'<autoref identifier="{name}" optional><code>{label}</code></autoref>'


def _glossed(content: str, page: Any) -> str:
    """The first use of each term as a link to the glossary, in running text alone."""
    glossary = (ROOT / "docs" / "glossary.md").read_text(encoding="utf-8")
    there = "../" * page.file.dest_uri.count("/") + "glossary.html"
    open_ = {
        name: re.compile(rf"\b{name}s?\b")
        for anchor, name in TERMS.items()
        if f'id="{anchor}"' in glossary and f"glossary.html#{anchor}" not in content
    }
    anchors = {name: anchor for anchor, name in TERMS.items()}

    def link(text: str) -> str:
        for name, pattern in open_.items():
            found = pattern.search(text)
            if found is not None:
                del open_[name]
                before, after = text[: found.start()], text[found.end() :]
                made = f'<a class="term" href="{there}#{anchors[name]}">{found[0]}</a>'
                return link(before) + made + link(after)
        return text

    parts = NO_PROSE.split(content)  # text and what is none, in turn
    return "".join(part if at % 2 else link(part) for at, part in enumerate(parts))


def notebook_page(notebook: dict[str, Any], name: str) -> str:
    """A notebook as Markdown: its texts, its code, and what that printed or drew."""
    parts = []
    for cell in notebook["cells"]:
        source = "".join(cell["source"]).strip()
        if cell["cell_type"] == "markdown":
            parts.append(source)
        elif source:
            parts.append(f"```python\n{source}\n```")
            parts += [_shown(output) for output in cell["outputs"]]
    parts.append(f"*The notebook is `examples/{name}`; the tests run it.*")
    return "\n\n".join(part for part in parts if part) + "\n"


def _shown(output: dict[str, Any]) -> str:
    data = output.get("data", {})
    if "image/png" in data:
        image = "".join(data["image/png"]).replace("\n", "")
        return f'<img alt="What the cell above draws" src="data:image/png;base64,{image}">'
    lines = "".join(output.get("text", data.get("text/plain", ""))).rstrip().splitlines()
    text = "\n".join(textwrap.fill(line, WIDEST) if len(line) > WIDEST else line for line in lines)
    return f"```text\n{text}\n```" if text else ""


def _notebooks() -> list[Path]:
    return sorted((ROOT / "examples").glob("*.ipynb"))
