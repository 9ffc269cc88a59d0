"""The documentation holds: its Python and its commands run, its pages name what there is."""

from __future__ import annotations

import contextlib
import importlib.util
import json
import re
import shlex
import tomllib
import warnings
from pathlib import Path

import numpy as np
import pandas as pd
import pyarrow.parquet as pq
import pytest

import truerank as tr
from truerank.cli import app, main

ROOT = Path(__file__).parents[1]
DOCS = ROOT / "docs"
PAGES = [ROOT / "README.md", *sorted(DOCS.rglob("*.md"))]
NOTEBOOKS = sorted((ROOT / "examples").glob("*.ipynb"))
# The environment variables that name the data of notebooks, and the data.
NEEDED_BY_NOTEBOOKS = {
    "evaluate_a_model": ("TRUERANK_ML1M", "ml-1m"),
    "famous_numbers": ("TRUERANK_NCF", "ncf-ml-1m"),
    "from_sampled_ranks": ("TRUERANK_ML1M", "ml-1m"),
}
# A block behind this comment needs something that is not there (a model, a cluster, a key).
NOT_RUN = "<!-- not run -->"
# A page with this comment is about a library; `make adapters` has each in its environment.
NEEDS = re.compile(r"<!-- needs (\w+) -->")
# A block behind this comment runs where the library is; `make integrations` has each.
RUN_WITH = re.compile(r"<!-- run with (\w+) -->")


def blocks(page: Path, language: str) -> list[str]:
    pattern = rf"(<!-- [^>]+ -->\s*)?^```{language}\n(.*?)^```"
    found = re.findall(pattern, page.read_text(encoding="utf-8"), re.DOTALL | re.MULTILINE)
    return [text for mark, text in found if not _skipped(mark)]


def _skipped(mark: str) -> bool:
    library = RUN_WITH.match(mark)
    if library is not None:
        return importlib.util.find_spec(library[1]) is None
    return mark.startswith(NOT_RUN)


def with_blocks(language: str) -> list[Path]:
    return [page for page in PAGES if blocks(page, language)]


@pytest.mark.parametrize("page", with_blocks("python"), ids=lambda page: page.stem)
def test_blocks_run(page, tmp_path, monkeypatch):
    text = page.read_text(encoding="utf-8")
    needed = NEEDS.search(text)
    others = needed or any(map(importlib.util.find_spec, RUN_WITH.findall(text)))
    if needed and importlib.util.find_spec(needed[1]) is None:
        pytest.skip(f"{needed[1]} is not installed; `make adapters` or `make test` runs this page")
    monkeypatch.chdir(tmp_path)
    namespace: dict[str, object] = {}
    with warnings.catch_warnings():
        if others:
            warnings.simplefilter("ignore")  # what other libraries warn of is theirs to mend
        for code in blocks(page, "python"):
            exec(compile(code, f"{page.name}: {code[:40]!r}", "exec"), namespace)


@pytest.fixture(scope="module")
def files(tmp_path_factory):
    """A folder with every file that the pages' commands speak of."""
    folder = tmp_path_factory.mktemp("commands")
    rng = np.random.default_rng(0)
    users, n_items = np.arange(300), 3706
    level = rng.random(users.size)
    every = []
    for name, power in {"ranks": 3.0, "ease": 5.0, "als": 3.5, "knn": 3.0}.items():
        rank = 1 + rng.binomial(99, np.clip(level + 0.1 * rng.random(users.size), 0, 1) ** power)
        table = pd.DataFrame({"user_id": users, "rank": rank})
        table.to_csv(folder / f"{name}.csv", index=False)
        every.append(table.assign(model=name, n_items=n_items, sample_size=100))
    everything = pd.concat(every)
    everything.to_parquet(folder / "all.parquet")
    few = np.minimum(rank[:60], 20)
    counts = tr.RankCounts.from_ranks(few, n_items=200, sample_size=20, replacement=True)
    counts.save(folder / "counts.parquet")
    (folder / "ranks").mkdir()
    every[0].drop(columns="model").to_parquet(folder / "ranks" / "part-0.parquet")
    ladder = np.array([100, 200, 400])
    size = rng.choice(ladder, users.size)
    adaptive = {"rank": np.where(size == 400, 1, 2), "sample_size": size}
    pd.DataFrame(adaptive).to_csv(folder / "adaptive.csv", index=False)
    vectors = rng.standard_normal((300 + 400, 8)).astype(np.float32)
    np.save(folder / "U.npy", vectors[:300])
    np.save(folder / "V.npy", vectors[300:])
    np.save(folder / "S.npy", vectors[:300] @ vectors[300:].T)
    test = pd.DataFrame({"user_id": users, "item_id": rng.integers(0, 400, 300)})
    train = pd.DataFrame({"user_id": users, "item_id": (test["item_id"] + 1) % 400})
    items = pd.DataFrame({"item_id": np.arange(400)})
    for name, table in {"test": test, "train": train, "items": items}.items():
        table.to_csv(folder / f"{name}.csv", index=False)
        table.to_parquet(folder / f"{name}.parquet")
    pairs = (test["user_id"].to_numpy(), test["item_id"].to_numpy())
    scorer = tr.scoring.Factors(vectors[:300], vectors[300:])
    seen = (train["user_id"].to_numpy(), train["item_id"].to_numpy())
    design = tr.designs.Fixed(sample_size=50)
    frozen = tr.sampling.freeze(scorer, pairs, design, train=seen, seed=0)
    for name in ("negatives", "frozen"):
        frozen.save(folder / f"{name}.parquet")
    exact = tr.rank(scorer, pairs, "exact", train=seen)
    for name in ("old", "new"):
        pq.write_table(exact, folder / f"{name}.parquet")
    (folder / "my_module.py").write_text(
        "def score(users, items):\n    return (users[:, None] * 7 + items * 13) % 101\n"
    )
    return folder


def commands(page: Path) -> list[str]:
    text = "\n".join(blocks(page, "sh")).replace("\\\n", " ")
    lines = [line.partition("  #")[0].rstrip() for line in text.splitlines()]
    # What reproduces papers is another distribution's; papers/tests runs it.
    return [line for line in lines if re.match("truerank (?!reproduce )", line)]


COMMANDS = sorted({command for page in with_blocks("sh") for command in commands(page)})


@pytest.mark.parametrize("command", COMMANDS)
def test_commands_run(command, files, monkeypatch):
    monkeypatch.chdir(files)
    # What takes its time has tests of its own: plans for many users and for unresolved metrics.
    monkeypatch.setattr(tr.Estimates, "verdict", lambda *_: None)
    command = re.sub(r"^(truerank plan .*--n-users) \d+", r"\1 60", command)
    command = re.sub(r"^(truerank plan .*--n-items) \d+", r"\1 200", command)
    command = re.sub(r"^(truerank plan .*--error) \S+", r"\1 0.5", command)
    arguments = shlex.split(command.partition(" > ")[0], comments=True)[1:]
    with pytest.raises(SystemExit) as stop:
        main([*arguments, *(["--quiet"] if arguments[0] != "--help" else [])])
    assert stop.value.code in ((0, 1) if arguments[0] == "audit" else (0,))


def test_the_demo_is_shown_as_it_is(capsys):
    with pytest.raises(SystemExit):
        main(["demo", "--quiet"])
    printed = capsys.readouterr().out
    for page in (ROOT / "README.md", DOCS / "index.md"):
        shown = re.search(r"\$ truerank demo\n(.*?)```", page.read_text(), re.DOTALL)[1]
        for line in filter(None, shown.splitlines()):
            assert line in printed or line.strip() in " ".join(printed.split())


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_notebooks_print_what_they_show(path, tmp_path, monkeypatch):
    """Executed again, a notebook prints what is stored in it, to the last digit it shows."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("MPLBACKEND", "agg")
    variable, name = NEEDED_BY_NOTEBOOKS[path.stem]
    folder = ROOT.parent / "shared" / "data" / name
    if not folder.is_dir():
        pytest.skip(f"shared/data/{name} is not beside the tree")
    monkeypatch.setenv(variable, str(folder))
    notebook = json.loads(path.read_text(encoding="utf-8"))
    namespace: dict[str, object] = {}
    shown = 0
    for cell in notebook["cells"]:
        if cell["cell_type"] != "code":
            continue
        printed = _Printed()
        with contextlib.redirect_stdout(printed):
            exec(compile("".join(cell["source"]), path.name, "exec"), namespace)
        stored = [o["text"] for o in cell["outputs"] if o["output_type"] == "stream"]
        assert printed.text == "".join("".join(text) for text in stored)
        shown += bool(stored)
        assert all(output["output_type"] != "error" for output in cell["outputs"])
    assert shown >= 3
    from matplotlib import pyplot  # a notebook's plots stay open

    pyplot.close("all")


class _Printed:
    def __init__(self):
        self.text = ""

    def write(self, text):
        self.text += text

    def flush(self):
        pass


def test_the_reference_has_every_public_name():
    pages = "\n".join(page.read_text() for page in (DOCS / "reference").glob("*.md"))
    documented = set(re.findall(r"^::: (\S+)", pages, re.MULTILINE))
    parts = {name.removeprefix("truerank.").partition(".")[0] for name in documented}
    assert parts >= set(tr.__all__) - {"__version__"}
    for module in ("scoring", "models", "data", "designs", "spark"):
        names = set(getattr(tr, module).__all__) - {"adapters", "FittedFactors", "Model"}
        assert documented >= {f"truerank.{module}.{name}" for name in names}


def test_every_library_we_adapt_to_has_a_page_that_runs():
    for name in ("cornac", "implicit", "lenskit", "recbole", "rectools", "torch"):
        page = DOCS / "how-to" / f"{name}.md"
        assert NEEDS.search(page.read_text())[1] == name
        assert len(blocks(page, "python")) >= 2


def test_the_page_of_the_command_line_has_every_command():
    page = (DOCS / "command-line.md").read_text()
    for command in app.registered_commands:
        assert f"\n| `{command.name}` |" in page


def test_the_site_asks_nobody_for_anything():
    """No fonts, scripts or styles from elsewhere."""
    settings = (ROOT / "mkdocs.yml").read_text()
    assert "font: false" in settings
    assert "http" not in settings
    extras = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    assert any("mkdocs-material" in one for one in extras["optional-dependencies"]["docs"])
