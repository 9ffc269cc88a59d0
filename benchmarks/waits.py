"""What users wait for: processor seconds of whole commands, before and now, beside their goals.

Each wait runs in a process of its own; what it took is kept in ``benchmarks/waits.json`` as soon
as it ends, with the day and the load of the machine. A run measures the waits that the present
commit has not measured, so that one that was stopped goes on; WAITS in the environment names some
of them, separated by commas, which are measured again. The page holds all that is kept.

``before`` in that file was measured at commit 9183ae8 on the machine of docs/waits.md.
"""

from __future__ import annotations

import compileall
import datetime
import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import truerank
from benchmarks import _report
from benchmarks._race import Result
from benchmarks._wait_cases import WAITS, Wait

SECONDS = 600  # after which a wait is given up
COMMIT = "9183ae8"
ROOT = Path(__file__).parents[1]
KEPT = Path(__file__).with_suffix(".json")

_BEGIN = "import time as _time\ncpu = _time.process_time\n"
_END = "\nprint('ANSWER', answer)"
_COMMAND = "from truerank.cli import main; main()"


def run() -> Iterator[Result]:
    """The waits that WAITS names, or those that this commit has not measured."""
    asked = [name for name in os.environ.get("WAITS", "").split(",") if name]
    commit = _commit()
    compileall.compile_dir(Path(truerank.__file__).parent, quiet=2)  # as installed packages are
    known = kept()["now"]
    missing = [key for key in WAITS if known.get(key, {}).get("commit") != commit]
    with tempfile.TemporaryDirectory() as folder:
        for key in asked or missing:
            wait = WAITS[key]
            if wait.data is not None and not wait.data.exists():
                print(f"  {wait.name}: skipped, there is no {wait.data}")
                continue
            wait.make(Path(folder))
            load = os.getloadavg()[0]
            found = _measured(wait, Path(folder))
            for file in Path(folder).iterdir():  # some are gigabytes
                file.unlink()
            today = datetime.datetime.now(tz=datetime.UTC).date().isoformat()
            _keep(key, {**found, "date": today, "load": round(load, 1), "commit": commit})
            if "gave_up" in found:
                print(f"  {wait.name}: gave up, exit code {found['gave_up']}")
            yield from _results(key, wait)


def kept() -> dict[str, Any]:
    """What was measured: ``before`` and ``now``, by the name of the wait."""
    return dict(json.loads(KEPT.read_text()))


def _keep(key: str, found: dict[str, Any]) -> None:
    known = kept()
    known["now"][key] = found
    _report.replace(KEPT, json.dumps(known, indent=1) + "\n")


def _commit() -> str:
    """The present commit, with a mark if the product's code differs from it."""

    def git(*words: str) -> str:
        return subprocess.run(
            ["git", *words], cwd=ROOT, capture_output=True, text=True, check=True
        ).stdout.strip()

    return git("log", "-1", "--format=%h", "--", "src") + (
        "+" if git("status", "--porcelain", "--", "src") else ""
    )


def _measured(wait: Wait, folder: Path) -> dict[str, Any]:
    code = isinstance(wait.command, str)
    argv = [_BEGIN + str(wait.command) + _END] if code else [_COMMAND, *wait.command]
    threads = dict.fromkeys(
        ("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS", "MKL_NUM_THREADS"), str(wait.threads)
    )
    paths = os.pathsep.join(filter(None, [os.environ.get("PYTHONPATH"), str(ROOT)]))
    env = {**os.environ, **threads, "NUMBA_NUM_THREADS": str(wait.threads), "PYTHONPATH": paths}
    out = folder / "out.txt"
    with out.open("w") as file:
        child = subprocess.Popen(
            ["timeout", str(SECONDS), sys.executable, "-c", *argv],
            cwd=folder, env=env, stdout=file, stderr=subprocess.DEVNULL,
        )  # fmt: skip
        _, status, used = os.wait4(child.pid, 0)
    child.returncode = os.waitstatus_to_exitcode(status)
    if child.returncode:
        return {"gave_up": child.returncode}
    said = [line for line in out.read_text().splitlines() if line.startswith("ANSWER")]
    value = float(said[-1].split()[1]) if said else used.ru_utime + used.ru_stime
    return {"value": value, "megabytes": used.ru_maxrss / 1024}


def _results(key: str, wait: Wait) -> Iterator[Result]:
    """What is kept of a wait, as lines of the table."""
    found, before = (kept()[when].get(key, {}) for when in ("now", "before"))
    if "value" not in found:
        return
    yield Result(
        wait.name, found["value"], before.get("value"), COMMIT, at_most=wait.goal, unit=wait.unit
    )
    if wait.megabytes is not None:
        yield Result(
            f"{wait.name}: memory",
            found["megabytes"],
            before.get("megabytes"),
            COMMIT,
            at_most=wait.megabytes,
            unit="MB",
        )


def page(results: Sequence[Result], seconds: float) -> str:
    """All that is kept, as docs/waits.md."""
    del results, seconds  # of this run alone
    facts = _report.machine()
    for key in ("date", "load average"):  # each line has its own
        facts.pop(key)
    rows = [
        "| what | before | now | goal | met | measured |",
        "| --- | ---: | ---: | ---: | ---: | --- |",
    ]
    missing = []
    known = kept()["now"]
    for key, wait in WAITS.items():
        lines = list(_results(key, wait))
        if not lines:
            missing.append(wait.name)
        for one in lines:
            before = "" if one.reference is None else _amount(one.reference, one.unit)
            goal = _amount(one.at_most or 0.0, one.unit)
            met = "yes" if one.met else "no"
            now = _amount(one.ours, one.unit)
            when = f"{known[key]['date']}, load {known[key]['load']}, {known[key]['commit']}"
            rows.append(f"| {one.name} | {before} | {now} | < {goal} | {met} | {when} |")
    if missing:
        rows += ["", "Not measured, or given up:", ""]
        rows += [f"- {name}" for name in missing]
    told = "; ".join(f"{key} {value}" for key, value in facts.items())
    return _PAGE.format(commit=COMMIT, facts=told, table="\n".join(rows))


def _amount(value: float, unit: str) -> str:
    if unit == "MB":
        return f"{value:,.0f} MB"
    return f"{value:,.2g} {unit}" if value < 10 else f"{value:,.0f} {unit}"


_PAGE = """# Waits

Written by `python -m benchmarks waits --write docs/waits.md`; do not edit by hand.

Measured on: {facts}. The last column says when each line was measured, the load average of the
machine at that moment, and the last commit of the code. The machine has two cores and is shared:
at a load above 2, processes take each other's caches, and so more processor seconds than alone.

Processor seconds (user and system) of whole commands in fresh processes, start-up from compiled
bytecode included; of library calls, those of the call. *before* is commit {commit}, measured on the
same machine when it was quiet; where it is empty, the wait was not measured or was given up. "x" is
a ratio that the line names. BLAS has one thread unless stated. A goal of "< 0.13 x" of numpy's time
is one of being 8 times as fast.

{table}
"""
