"""What it costs to start: `import truerank` and `truerank --help`, in fresh processes."""

from __future__ import annotations

import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

from benchmarks._race import Result

REPEATS = 5
IMPORT_SECONDS = 0.3
HELP_SECONDS = 1.0


def run() -> Iterator[Result]:
    """Beside a Python that does nothing and one that imports numpy."""
    python = [sys.executable, "-c"]
    commands = {
        "nothing": [*python, "pass"],
        "numpy": [*python, "import numpy"],
        "import": [*python, "import truerank"],
        "estimate": [*python, "import truerank; truerank.estimate"],
    }
    script = Path(sys.executable).with_name("truerank")
    if script.exists() and subprocess.run([script, "--help"], capture_output=True).returncode == 0:
        commands["help"] = [str(script), "--help"]
    best = dict.fromkeys(commands, float("inf"))
    for _ in range(REPEATS):
        for name, command in commands.items():
            start = time.perf_counter()
            subprocess.run(command, check=True, capture_output=True)
            best[name] = min(best[name], time.perf_counter() - start)
    note = f"python alone {best['nothing']:.3f} s, import numpy {best['numpy']:.3f} s"
    labels = {
        "import": ("import truerank", IMPORT_SECONDS),
        "estimate": ("import truerank; truerank.estimate", IMPORT_SECONDS),
        "help": ("truerank --help", HELP_SECONDS),
    }
    for name, (label, limit) in labels.items():
        if name in best:
            yield Result(label, best[name], best["numpy"], "import numpy", at_most=limit, note=note)
