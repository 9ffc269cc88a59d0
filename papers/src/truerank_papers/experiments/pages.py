"""Results as files: JSON, CSV and PNG per experiment, a Markdown and an HTML page per paper.

Pages are made of the JSON files that lie in the folder, so that a table run again takes its place
among those of earlier runs.
"""

from __future__ import annotations

import csv
import io
import json
import platform
import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from importlib import metadata, resources
from pathlib import Path
from typing import Any

import truerank_papers
from truerank._version import __version__
from truerank.errors import MissingExtraError
from truerank.outcomes import tables
from truerank_papers.experiments import draw, experiments, papers
from truerank_papers.experiments.registry import Experiment, Paper
from truerank_papers.experiments.results import Cell, Result, Table
from truerank_papers.experiments.run import Run

_LIBRARIES = ("numpy", "scipy", "implicit", "torch")
_DASH = "—"


@dataclass(frozen=True)
class Entry:
    """An experiment as it is kept in the folder of results.

    Parameters
    ----------
    experiment
        The experiment.
    result
        What it gave.
    record
        What the result depends on: data, models, repeats, seed, versions.
    """

    experiment: Experiment
    result: Result
    record: dict[str, Any]


def write(run: Run, result: Result, out: Path) -> list[str]:
    """Write a result, and the pages of its paper.

    Parameters
    ----------
    run
        The run that gave the result.
    result
        The result.
    out
        Folder for the results.

    Returns
    -------
    list of str
        Why files could not be written, a sentence each.
    """
    experiment = run.experiment
    folder = out / experiment.paper
    folder.mkdir(parents=True, exist_ok=True)
    left_out = []
    for table in result.tables:
        _write(folder / f"{table.name}.csv", table_csv(table))
        _write(folder / f"{table.name}.md", f"# {_heading(experiment)}\n\n{table_markdown(table)}")
    for figure in result.figures:
        try:
            draw.png(figure, folder / f"{figure.name}.png")
        except MissingExtraError as error:
            left_out.append(str(error))
    content = {"record": {**run.record, "seed": run.seed, **_versions()}, **result.to_json()}
    lines = [f"{json.dumps(key)}: {json.dumps(value)}" for key, value in content.items()]
    _write(folder / f"{experiment.name}.json", "{\n" + ",\n".join(lines) + "\n}\n")
    paper = papers()[experiment.paper]
    entries = list(_entries(out, paper))
    _write(out / f"{paper.key}.md", markdown(paper, entries, out))
    try:
        _write(out / f"{paper.key}.html", html(paper, entries, out))
    except MissingExtraError as error:
        left_out.append(str(error))
    return left_out


def files(experiment: Experiment, result: Result, out: Path) -> list[Path]:
    """List the files of a result that are there.

    Parameters
    ----------
    experiment
        The experiment.
    result
        What it gave.
    out
        Folder for the results.

    Returns
    -------
    list of Path
        Its tables and figures, its JSON, and the pages of its paper.
    """
    folder = out / experiment.paper
    found = [folder / f"{t.name}.{kind}" for t in result.tables for kind in ("md", "csv")]
    found += [folder / f"{figure.name}.png" for figure in result.figures]
    found += [folder / f"{experiment.name}.json"]
    found += [out / f"{experiment.paper}.{kind}" for kind in ("md", "html")]
    return [path for path in found if path.exists()]


def _entries(out: Path, paper: Paper) -> Iterator[Entry]:
    for experiment in experiments(paper.key):
        path = out / paper.key / f"{experiment.name}.json"
        if path.exists():
            content = json.loads(path.read_text(encoding="utf-8"))
            yield Entry(experiment, Result.from_json(content), content["record"])


def _versions() -> dict[str, Any]:
    found = {
        "truerank": __version__,
        "truerank-papers": truerank_papers.__version__,
        "python": platform.python_version(),
    }
    for library in _LIBRARIES:
        try:
            found[library] = metadata.version(library)
        except metadata.PackageNotFoundError:
            continue
    return {"versions": found}


def _write(path: Path, text: str) -> None:
    with tables.replacing(path) as temporary:
        temporary.write_text(text, encoding="utf-8")


# --- tables -----------------------------------------------------------------------------------


def table_csv(table: Table) -> str:
    """Write a table as CSV.

    Parameters
    ----------
    table
        The table.

    Returns
    -------
    str
        One cell per row: its keys, ours, published, their difference, its note.
    """
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(
        [
            *table.keys,
            "ours",
            "ours_sd",
            "published",
            "published_sd",
            "difference",
            "in_sds",
            "note",
        ]
    )
    for cell in table.cells:
        numbers = (
            cell.ours,
            cell.ours_sd,
            cell.published,
            cell.published_sd,
            cell.difference,
            cell.in_sds,
        )
        shown = ["" if number is None else f"{number:.6g}" for number in numbers]
        shown[2] = cell.bound + shown[2]
        writer.writerow([*cell.key, *shown, cell.note])
    return text.getvalue()


def table_markdown(table: Table) -> str:
    """Write a table as Markdown.

    Parameters
    ----------
    table
        The table.

    Returns
    -------
    str
        One cell per row, with standard deviations.
    """
    sds = any(cell.in_sds is not None for cell in table.cells)
    notes = any(cell.note for cell in table.cells)
    head = [*table.keys, "ours", "published", "difference"]
    head += ["in printed sd"] * sds + ["note"] * notes
    rows = [head, [*("---" for _ in table.keys), *("---:" for _ in head[len(table.keys) :])]]
    for cell in table.cells:
        row = [*cell.key, *shown(cell, table.digits)]
        if sds:
            row.append(_DASH if cell.in_sds is None else f"{round(cell.in_sds, 1) + 0.0:+.1f}")
        rows.append(row + [cell.note] * notes)
    lines = ["| " + " | ".join(row) + " |" for row in rows]
    about = " ".join(
        part for part in (table.source, f"Unit: {table.unit}." * bool(table.unit)) if part
    )
    return "\n".join([*lines, "", about]).strip() + "\n"


def _wide_markdown(table: Table) -> str:
    """The same with the last key spread over columns, three lines a cell."""
    wide = _wide(table)
    head = [*wide["keys"], *wide["columns"]]
    rows = [head, ["---"] * len(wide["keys"]) + ["---:"] * len(wide["columns"])]
    notes = []
    for key, cells in wide["rows"]:
        rows.append([*key, *("<br>".join(cell["shown"]) if cell else "" for cell in cells)])
        notes += [cell["note"] for cell in cells if cell and cell["note"]]
    lines = ["| " + " | ".join(row) + " |" for row in rows]
    printed = any(cell.published is not None for cell in table.cells)
    about = f"In a cell: ours{', published, difference' * printed}. {table.source}".strip()
    about += f" Unit: {table.unit}." * bool(table.unit)
    return "\n".join([*lines, "", about, *dict.fromkeys(f"{note}." for note in notes)])


def shown(cell: Cell, digits: int) -> list[str]:
    """Write ours, published, and their difference or whether a printed bound holds.

    Parameters
    ----------
    cell
        The numbers.
    digits
        Digits after the point.

    Returns
    -------
    list of str
        Three texts; a dash for what is not there.
    """
    return [
        _number(cell.ours, cell.ours_sd, digits),
        f"{cell.bound} " * bool(cell.bound) + _number(cell.published, cell.published_sd, digits),
        _comparison(cell, digits),
    ]


def _comparison(cell: Cell, digits: int) -> str:
    """The difference, or whether a printed bound holds."""
    if cell.holds is not None:
        return "holds" if cell.holds else "does not hold"
    if cell.difference is None:
        return _DASH
    return f"{round(cell.difference, digits) + 0.0:+.{digits}f}"


def _number(value: float | None, sd: float | None, digits: int) -> str:
    if value is None:
        return _DASH
    return f"{value:.{digits}f}" + ("" if sd is None else f" ± {sd:.{digits}f}")


# --- pages ------------------------------------------------------------------------------------


def _heading(experiment: Experiment) -> str:
    return f"{experiment.paper.upper()} {experiment.label.lower()}: {experiment.title}"


def _made_with(record: dict[str, Any]) -> str:
    """Repeats, seed, data, models, in a line."""
    said = [f"seed {record['seed']}"]
    if "repeats" in record:
        said.insert(0, f"{record['repeats']} repeats")
    for name, digest in record.get("data", {}).items():
        said.append(f"{name} {digest}")
    text = ", ".join(said) + "."
    return text[0].upper() + text[1:]


def _left_out(record: dict[str, Any]) -> list[str]:
    return [f"{name} is left out: {why}." for name, why in record.get("left out", {}).items()]


def markdown(paper: Paper, entries: Iterable[Entry], out: Path) -> str:
    """Write the page of a paper as Markdown.

    Parameters
    ----------
    paper
        The paper.
    entries
        Its experiments.
    out
        Folder for the results, to see which figures are there.

    Returns
    -------
    str
        The page.
    """
    text = [f"# {paper.key.upper()}, regenerated", f"{paper.citation}: *{paper.title}*."]
    text += paper.about
    for entry in entries:
        name = entry.experiment.name
        text.append(f"## {entry.experiment.label}. {entry.experiment.title}")
        text += [*entry.result.notes, *_left_out(entry.record)]
        text += [_wide_markdown(table) for table in entry.result.tables]
        for figure in entry.result.figures:
            if (out / paper.key / f"{figure.name}.png").exists():
                text.append(f"![{entry.experiment.label}]({paper.key}/{figure.name}.png)")
        files = [f"{name}.json"]
        files += [f"{t.name}.{kind}" for t in entry.result.tables for kind in ("md", "csv")]
        links = ", ".join(f"[{file}]({paper.key}/{file})" for file in files)
        text.append(f"{_made_with(entry.record)} {links}.")
    return "\n\n".join(text) + "\n"


def html(paper: Paper, entries: Iterable[Entry], out: Path) -> str:
    """Write the page of a paper as HTML, its tables wide.

    Parameters
    ----------
    paper
        The paper.
    entries
        Its experiments.
    out
        Folder for the results, to see which figures are there.

    Returns
    -------
    str
        The page.

    Raises
    ------
    MissingExtraError
        If jinja2 is not installed.
    """
    try:
        import jinja2
    except ImportError:
        raise MissingExtraError("HTML pages need jinja2: pip install jinja2") from None
    source = (resources.files(__package__) / "page.html").read_text(encoding="utf-8")
    environment = jinja2.Environment(
        autoescape=True, trim_blocks=True, lstrip_blocks=True, undefined=jinja2.StrictUndefined
    )
    environment.filters["prose"] = lambda text: _prose(jinja2, text)
    page: str = environment.from_string(source).render(
        paper=paper,
        entries=[
            {
                "entry": entry,
                "tables": [_wide(table) for table in entry.result.tables],
                "figures": [
                    figure.name
                    for figure in entry.result.figures
                    if (out / paper.key / f"{figure.name}.png").exists()
                ],
                "left_out": _left_out(entry.record),
                "made_with": _made_with(entry.record),
            }
            for entry in entries
        ],
    )
    return page


def _prose(jinja2: Any, text: str) -> Any:
    """A paragraph of Markdown as far as notes use it: code and emphasis."""
    import markupsafe

    safe = str(markupsafe.escape(text))
    safe = re.sub(r"`([^`]+)`", r"<code>\1</code>", safe)
    return markupsafe.Markup(re.sub(r"\*([^*]+)\*", r"<em>\1</em>", safe))


def _wide(table: Table) -> dict[str, Any]:
    """A table with its last key spread over columns, if it has two keys or more."""
    columns = list(dict.fromkeys(cell.key[-1] for cell in table.cells))
    rows: dict[tuple[str, ...], dict[str, Any]] = {}
    for cell in table.cells:
        rows.setdefault(cell.key[:-1], {})[cell.key[-1]] = {
            # What is ours or theirs alone needs no more dashes to say so.
            "shown": shown(cell, table.digits)[
                : 1 + (cell.published is not None) + (_comparison(cell, 0) != _DASH)
            ],
            "in_sds": cell.in_sds,
            "far": cell.in_sds is not None and abs(cell.in_sds) > 2,
            "note": cell.note,
        }
    return {
        "keys": table.keys[:-1],
        "columns": columns,
        "rows": [(key, [cells.get(column) for column in columns]) for key, cells in rows.items()],
        "source": table.source,
        "unit": table.unit,
    }
