"""Run the benchmarks, print their table, and write the page of results if asked to."""

from __future__ import annotations

import argparse
import importlib
import sys
import time
from pathlib import Path

from benchmarks import _report
from benchmarks._race import Result

# Modules, loaded when they are run: not every environment has what all of them need.
BENCHMARKS = (
    "mle",
    "adaptive",
    "scaling",
    "memory",
    "linear",
    "mes",
    "smooth",
    "intervals",
    "startup",
    "exact",
    "sampled",
    "peers",
    "waits",
)


def main() -> int:
    """0 if every goal was met and both sides agreed everywhere, else 1."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks", description=__doc__)
    parser.add_argument("names", nargs="*", metavar="NAME", help=f"of {', '.join(BENCHMARKS)}")
    parser.add_argument("--write", type=Path, metavar="PATH", help="to a .md page or .json file")
    options = parser.parse_args()
    unknown = [name for name in options.names if name not in BENCHMARKS]
    if unknown:
        parser.error(f"no benchmark {unknown[0]!r}; there are: {', '.join(BENCHMARKS)}")
    if options.write and options.write.suffix not in (".md", ".json"):
        parser.error(f"{options.write} must end in .md or .json")

    start = time.perf_counter()
    results: list[Result] = []
    print(_report.header())
    for name in options.names or BENCHMARKS:
        for result in importlib.import_module(f"benchmarks.{name}").run():
            results.append(result)
            print(_report.line(result), flush=True)
    for note in _report.notes(results):
        print(f"  {note}")
    missed = [result for result in results if result.met is False]
    differ = [result for result in results if not result.same]
    seconds = time.perf_counter() - start
    print(f"{len(results)} lines in {seconds:.0f} s; {len(missed)} goals missed")
    for result in missed:
        print(f"  goal missed: {result.name}, against {result.against}")
    for result in differ:
        print(f"  the two sides differ: {result.name}, against {result.against}")
    alone = importlib.import_module(f"benchmarks.{options.names[0]}") if options.names else None
    if options.write and len(options.names) == 1 and hasattr(alone, "page"):
        _report.replace(options.write, alone.page(results, seconds))
    elif options.write:
        _report.write(options.write, results, seconds, options.names)
    return 1 if missed or differ else 0


if __name__ == "__main__":
    sys.exit(main())
