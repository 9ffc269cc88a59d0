"""Peak memory of a fit at N = 1e8, each in a process of its own."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Iterator

from benchmarks._race import Result

N_ITEMS = 10**8
SAMPLE_SIZE = 1000
MEGABYTES = 100.0
ESTIMATORS = ("mle", "bv", "mes", "mn-mle")

# Imports, counting and a small fit come first, so that the rest is what the fit itself takes.
_CHILD = """
import json, sys, tracemalloc
from pathlib import Path
from benchmarks import _data

def rss():  # getrusage would start from the peak of the parent
    status = Path("/proc/self/status").read_text()
    return int(status.partition("VmHWM:")[2].split()[0]) / 1024

estimator, replacement = sys.argv[1], sys.argv[2] == "True"
counts = _data.fixed({sample_size}, n_items={n_items}, replacement=replacement)
_data.ONE.estimate(_data.fixed(10, n_items=1000), estimator)
before = rss()
_data.MANY.estimate(counts, estimator)
peak = rss()
tracemalloc.start()
_data.MANY.estimate(counts, estimator)
print(json.dumps([peak - before, peak, tracemalloc.get_traced_memory()[1] / 2**20]))
"""


def run() -> Iterator[Result]:
    """Growth of the resident set, next to what Python and numpy allocated."""
    cases = [(estimator, True) for estimator in ESTIMATORS] + [("mle", False)]
    for estimator, replacement in cases:
        child = _CHILD.format(sample_size=SAMPLE_SIZE, n_items=N_ITEMS)
        done = subprocess.run(
            [sys.executable, "-c", child, estimator, str(replacement)],
            check=True,
            capture_output=True,
            text=True,
        )
        growth, total, traced = json.loads(done.stdout)
        how = "" if replacement else " without replacement"
        dense = N_ITEMS * SAMPLE_SIZE * 8 / 2**20
        yield Result(
            f"memory of {estimator} n={SAMPLE_SIZE}, N={N_ITEMS:.0e}{how}",
            max(growth, traced),
            dense,
            "the dense matrix alone (not run)",
            at_most=MEGABYTES,
            unit="MB",
            note=f"the larger of growth in peak RSS ({growth:.0f} MB, to {total:.0f} MB in all) "
            f"and tracemalloc's peak ({traced:.0f} MB)",
        )
