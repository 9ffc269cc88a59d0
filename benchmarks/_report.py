"""The results as a table for the terminal, a Markdown page or JSON."""

from __future__ import annotations

import datetime
import json
import os
import platform
import tempfile
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path

import numpy as np
import scipy

import truerank
from benchmarks._race import Result

COLUMNS = ("what", "ours", "reference", "ratio", "goal", "met", "apart", "against")
WIDTHS = (50, 9, 9, 9, 9, 4, 8, 0)


def header() -> str:
    """The first line of the terminal's table."""
    return _aligned(COLUMNS)


def line(result: Result) -> str:
    """A result as a line of the terminal's table."""
    return _aligned(_cells(result))


def notes(results: Sequence[Result]) -> list[str]:
    """What is to be said of some lines, each thing once."""
    names: dict[str, list[str]] = {}
    for result in results:
        if result.note:
            names.setdefault(result.note, []).append(result.name)
    return [f"{'; '.join(dict.fromkeys(about))}: {note}" for note, about in names.items()]


def write(path: Path, results: Sequence[Result], seconds: float, names: Sequence[str]) -> None:
    """Write ``path`` (.md or .json) whole or not at all; ``names`` are those asked for, if any."""
    if path.suffix == ".json":
        text = _json(results, seconds)
    else:
        command = " ".join(["python -m benchmarks", *names, f"--write docs/{path.name}"])
        text = _markdown(results, seconds, command)
    replace(path, text)


def replace(path: Path, text: str) -> None:
    """Write a file whole or not at all."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.NamedTemporaryFile("w", dir=path.parent, delete=False, encoding="utf-8") as file:
        file.write(text)
    os.chmod(file.name, 0o644)
    os.replace(file.name, path)


def machine() -> dict[str, str]:
    """What the numbers were measured on."""
    blas = np.show_config(mode="dicts")["Build Dependencies"]["blas"]
    return {
        "date": datetime.datetime.now(tz=datetime.UTC).date().isoformat(),
        "CPU": f"{_cpu()}, {os.cpu_count()} cores",
        "system": f"{platform.system()} {platform.machine()}",
        "Python": platform.python_version(),
        "numpy": np.__version__,
        "scipy": scipy.__version__,
        "BLAS": f"{blas.get('name')} {blas.get('version')}",
        "truerank": truerank.__version__,
        "load average": f"{os.getloadavg()[1]:.1f}",
    }


def _cells(result: Result) -> tuple[str, ...]:
    return (
        result.name,
        _amount(result.ours, result.unit),
        "" if result.reference is None else _amount(result.reference, result.unit),
        "" if result.ratio is None else _number(result.ratio),
        _goal(result),
        {True: "yes", False: "NO", None: ""}[result.met],
        ("" if result.difference is None else f"{result.difference:.0e}")
        + ("" if result.same else " DIFFERS"),
        result.against,
    )


def _goal(result: Result) -> str:
    if result.at_most is not None:
        return f"< {_amount(result.at_most, result.unit)}"
    return "" if result.at_least is None else f">= {_number(result.at_least)}"


def _amount(value: float, unit: str) -> str:
    if unit != "s":
        return f"{value:,.0f} {unit}"
    return f"{value:,.2f} s" if value >= 0.1 else f"{value * 1e3:,.2f} ms"


def _number(value: float) -> str:
    return f"{value:,.0f}" if value >= 10 else f"{value:.2g}"


def _aligned(cells: Sequence[str]) -> str:
    padded = [cells[0].ljust(WIDTHS[0])]
    padded += [cell.rjust(width) for cell, width in zip(cells[1:-1], WIDTHS[1:-1], strict=True)]
    return "  ".join([*padded, cells[-1]])


def _json(results: Sequence[Result], seconds: float) -> str:
    rows = [asdict(r) | {"ratio": r.ratio, "met": r.met, "same": r.same} for r in results]
    page = {"machine": machine(), "seconds": round(seconds), "results": rows}
    return json.dumps(page, indent=1) + "\n"


def _markdown(results: Sequence[Result], seconds: float, command: str) -> str:
    facts = "; ".join(f"{key} {value}" for key, value in machine().items())
    rows = ["| " + " | ".join(COLUMNS) + " |", "| --- |" + " ---: |" * 6 + " --- |"]
    rows += ["| " + " | ".join(_cells(result)) + " |" for result in results]
    remarks = "\n".join(f"- {note}." for note in notes(results))
    return _PAGE.format(
        command=command,
        facts=facts,
        seconds=round(seconds),
        table="\n".join(rows),
        notes=remarks,
    )


def _cpu() -> str:
    try:
        for row in Path("/proc/cpuinfo").read_text().splitlines():
            if row.startswith("model name"):
                return row.partition(":")[2].strip()
    except OSError:
        pass
    return platform.processor() or "unknown CPU"


_PAGE = """# Benchmarks

Written by `{command}`; do not edit by hand.

Measured on: {facts}. The whole run took {seconds} s.

Each line times a public call of truerank (`estimate`, metrics included) and a reference in plain
float64 numpy that stands in `benchmarks/`, in turns within one run, and keeps the shortest time of
each: processor seconds on one thread. Both start from the same counted ranks: a power law,
recall@K = (K/N)^0.2, with N = 25,815 items and 25,677 users unless said otherwise. *ratio* is
reference / ours. *apart* is the largest relative difference between the two answers: ours come
from the compressed support, the references from every rank. "300 metrics" are Recall, NDCG and AP
at 1 to 100. Exact and sampled ranks are those of normal factors (float32, 64 dimensions), in wall
time where threads work side by side. Lines without a goal are there to be seen; they count neither
as met nor as missed.

Other work on the machine slows the memory-bound references more than it slows us, and so flatters
the ratios: hence the load average above.

{table}

Notes

{notes}
"""
