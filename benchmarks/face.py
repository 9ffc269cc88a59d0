"""How well the public face is documented, how wide it is, and how large each room is.

    python -m benchmarks.face                                   # this tree
    python -m benchmarks.face before=/old/src after=src         # several, side by side

Each tree is imported in a process of its own; nothing of it has to be installed. What is public is
what `tests/face.py` walks; a tree whose modules list no names is judged by those they define.
"""

from __future__ import annotations

import argparse
import ast
import inspect
import json
import os
import re
import statistics
import subprocess
import sys
from collections import Counter
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[1]


def sections(doc: str) -> dict[str, str]:
    """The numpydoc sections of a docstring by name, in lower case."""
    parts = re.split(r"^([A-Z][A-Za-z ]+)\n-{3,}\s*$", doc, flags=re.MULTILINE)
    return {name.strip().lower(): body for name, body in zip(parts[1::2], parts[2::2], strict=True)}


def documented(doc: str) -> set[str]:
    """Parameters that a docstring describes, in Parameters or (dataclasses) in Attributes."""
    found = sections(doc)
    told = [found.get("parameters", ""), found.get("attributes", "")]
    heads = re.findall(r"^(\S[^\n]*)$", "\n".join(told), flags=re.MULTILINE)
    names = (part for head in heads for part in head.partition(" :")[0].split(","))
    return {name.strip().lstrip("*") for name in names}


def parameters(thing: Any) -> list[str]:
    """Names of the parameters of a function, or of the constructor of a class."""
    try:
        found = list(inspect.signature(thing.function).parameters)
    except (TypeError, ValueError):
        return []
    return [name for name in found if name not in ("self", "cls")]


def returns(thing: Any) -> bool:
    """Whether a function gives something back."""
    try:
        given = inspect.signature(thing.function).return_annotation
    except (TypeError, ValueError):
        return False
    return given not in ("None", None, inspect.Signature.empty)


def measure_docs() -> dict[str, Any]:
    """Figures of the tree that `import truerank` finds."""
    from tests import face

    things = face.walk()
    callables = [thing for thing in things if thing.kind != "property"]
    functions = [thing for thing in callables if thing.kind == "function" and returns(thing)]
    given = [(thing, name) for thing in callables for name in parameters(thing)]
    told = [(thing, name) for thing, name in given if name in documented(thing.doc)]
    typed = sum(
        bool(re.search(rf"^\**{re.escape(name)} : \S", thing.doc, re.MULTILINE))
        for thing, name in given
    )
    width = [len(parameters(thing)) for thing in callables if parameters(thing)]
    widest = max(callables, key=lambda thing: len(parameters(thing)))
    tidy = [module for module in face.modules() if dir(module) == sorted(face.names(module))]
    shown = [thing for thing in things if ">>>" in thing.doc]
    return {
        "public modules": len(face.modules()),
        "… whose dir() shows public names only": len(tidy),
        "public functions, classes, methods, properties": len(things),
        "public parameters": len(given),
        "… documented": _share(len(told), len(given)),
        "… documented with a type": _share(typed, len(given)),
        "functions that return something": len(functions),
        "… with Returns": _share(
            sum(bool({"returns", "yields"} & set(sections(thing.doc))) for thing in functions),
            len(functions),
        ),
        "functions, classes, properties with Examples": _share(len(shown), len(things)),
        "parameters per public function, mean": round(statistics.mean(width), 2),
        "parameters per public function, most": f"{max(width)} ({widest.name})",
        "public functions with more than 12": sum(number > 12 for number in width),
    }


def measure_files(package: Path) -> dict[str, Any]:
    """Lines, files per room and names that several classes have, from the source alone."""
    lines = docs = 0
    rooms: Counter[str] = Counter()
    long: list[int] = []
    classes: Counter[str] = Counter()
    for path in sorted(package.rglob("*.py")):
        text = path.read_text(encoding="utf-8")
        tree = ast.parse(text)
        n_lines = len(text.splitlines())
        lines += n_lines
        long += [n_lines] if n_lines > 300 else []
        rooms[_room(path.relative_to(package))] += 1
        for node in ast.walk(tree):
            classes.update([node.name] if isinstance(node, ast.ClassDef) else [])
            docs += _docstring_lines(node)
    shared = {name: number for name, number in classes.items() if number > 1}
    return {
        "lines of src/truerank": lines,
        "… without docstrings": lines - docs,
        "files": sum(rooms.values()),
        "files of more than 300 lines": len(long),
        "class names used more than once": ", ".join(
            f"{name} ×{number}" for name, number in sorted(shared.items())
        )
        or "none",
        **{f"files in {room}": number for room, number in sorted(rooms.items())},
    }


def _room(path: Path) -> str:
    if len(path.parts) == 1:
        return "the package itself"
    nested = path.parts[:-1] if path.parts[0] == "inference" else path.parts[:1]
    return "/".join(nested)


def _docstring_lines(node: ast.AST) -> int:
    if not isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef):
        return 0
    if ast.get_docstring(node, clean=False) is None:
        return 0
    first = node.body[0]
    return (first.end_lineno or first.lineno) - first.lineno + 1


def _share(part: int, whole: int) -> str:
    return f"{part / whole:.0%} ({part})" if whole else "none"


def measure(tree: Path) -> dict[str, Any]:
    """All figures of a tree, the imported ones from a process of its own."""
    code = "import json; from benchmarks import face; print(json.dumps(face.measure_docs()))"
    path = os.pathsep.join([str(tree), str(ROOT)])
    done = subprocess.run(
        [sys.executable, "-c", code],
        env={**os.environ, "PYTHONPATH": path},
        capture_output=True,
        text=True,
    )
    if done.returncode:
        sys.exit(f"{tree}: {done.stderr}")
    return {**json.loads(done.stdout), **measure_files(tree / "truerank")}


def table(figures: dict[str, dict[str, Any]]) -> str:
    """A Markdown table: a row for each figure, a column for each tree."""
    rows = dict.fromkeys(name for found in figures.values() for name in found)
    lines = [f"| | {' | '.join(figures)} |", f"| --- |{' --- |' * len(figures)}"]
    for row in rows:
        cells = (found.get(row, "–") for found in figures.values())
        text = (f"{cell:,}" if isinstance(cell, int) else str(cell) for cell in cells)
        lines.append(f"| {row} | {' | '.join(text)} |")
    return "\n".join(lines)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("trees", nargs="*", default=[f"now={ROOT / 'src'}"], help="NAME=FOLDER")
    trees = dict(tree.rpartition("=")[::2] for tree in parser.parse_args().trees)
    print(table({name or path: measure(Path(path).resolve()) for name, path in trees.items()}))


if __name__ == "__main__":
    main()
