"""What users wait for: processor seconds of whole commands, before and now, beside their goals.

Each wait runs in a process of its own; WAITS in the environment names some of them, separated by
commas. ``BEFORE`` was measured at commit 9183ae8 on the machine of docs/waits.md, in one sitting.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Sequence
from pathlib import Path

from benchmarks import _report
from benchmarks._race import Result
from benchmarks._wait_cases import WAITS, Wait

SECONDS = 600  # after which a wait is given up
COMMIT = "9183ae8"
ROOT = Path(__file__).parents[1]
# Processor seconds (or the ratio of the wait) and, where there is a goal for it, peak memory in MB.
BEFORE: dict[str, float] = {
    "estimate-5e+03": 1.19,
    "estimate-1e+07": 1.60,
    "estimate-1e+08": 1.62,
    "estimate-1e+09": 1.38,
    "estimate-50": 5.22,
    "evaluate": 1.92,
    "report-3": 3.41,
    "report-50": 32.35,
    "plan-1e6": 60.0,
    "compare-1000": 204.8,
    "cls-221": 10.7,
    "mes-221": 11.3,
    "csv-1e7": 9.58,
    "pools-1e5": 34.3,
    "threads-1": 1.94,
    "threads-2": 23.2,
    "unique": 5.01,
    "first-fit": 0.28,
    "interval-ml-1m": 0.094,
    "interval-toys": 2.80,
}
BEFORE_MEGABYTES: dict[str, float] = {"csv-1e7": 2648.0}

_BEGIN = "import time as _time\ncpu = _time.process_time\n"
_END = "\nprint('ANSWER', answer)"
_COMMAND = "from truerank.cli import main; main()"


def run() -> Iterator[Result]:
    """Every wait, or those that WAITS names."""
    asked = [name for name in os.environ.get("WAITS", "").split(",") if name]
    with tempfile.TemporaryDirectory() as folder:
        for key in asked or WAITS:
            wait = WAITS[key]
            if wait.data is not None and not wait.data.exists():
                print(f"  {wait.name}: skipped, there is no {wait.data}")
                continue
            wait.make(Path(folder))
            yield from _measured(key, wait, Path(folder))


def _measured(key: str, wait: Wait, folder: Path) -> Iterator[Result]:
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
        print(f"  {wait.name}: gave up with exit code {child.returncode}")
        return
    said = [line for line in out.read_text().splitlines() if line.startswith("ANSWER")]
    found = float(said[-1].split()[1]) if said else used.ru_utime + used.ru_stime
    before = BEFORE.get(key)
    yield Result(wait.name, found, before, COMMIT, at_most=wait.goal, unit=wait.unit)
    if wait.megabytes is not None:
        yield Result(
            f"{wait.name}: memory",
            used.ru_maxrss / 1024,
            BEFORE_MEGABYTES.get(key),
            COMMIT,
            at_most=wait.megabytes,
            unit="MB",
        )


def page(results: Sequence[Result], seconds: float) -> str:
    """The results as docs/waits.md."""
    facts = "; ".join(f"{key} {value}" for key, value in _report.machine().items())
    rows = ["| what | before | now | goal | met |", "| --- | ---: | ---: | ---: | ---: |"]
    for one in results:
        before = "" if one.reference is None else _amount(one.reference, one.unit)
        goal = _amount(one.at_most or 0.0, one.unit)
        met = "yes" if one.met else "no"
        rows.append(f"| {one.name} | {before} | {_amount(one.ours, one.unit)} | < {goal} | {met} |")
    names = {one.name for one in results}
    missing = [wait.name for wait in WAITS.values() if wait.name not in names]
    if missing:
        rows += ["", "Not measured in this run, or given up:", ""]
        rows += [f"- {name}" for name in missing]
    return _PAGE.format(commit=COMMIT, facts=facts, seconds=round(seconds), table="\n".join(rows))


def _amount(value: float, unit: str) -> str:
    return f"{value:,.0f} MB" if unit == "MB" else f"{value:,.2g} {unit}"


_PAGE = """# Waits

Written by `python -m benchmarks waits --write docs/waits.md`; do not edit by hand.

Measured on: {facts}. The run took {seconds} s.

Processor seconds (user and system) of whole commands in fresh processes, start-up included; of
library calls, those of the call. *before* is commit {commit}, measured on the same machine; where
it is empty, the wait was not measured or was given up. "x" is a ratio that the line names. BLAS has
one thread unless stated.

{table}
"""
