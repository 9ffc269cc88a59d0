"""The results of several environments on one page."""

from __future__ import annotations

import argparse
import json
from pathlib import Path
from typing import Any

from benchmarks import _report
from benchmarks.peers import ROUNDS
from benchmarks.peers._problem import DIMENSIONS

HEAD = ("library", "users x items", "theirs", "x product", "ours", "x product", "ratio", "apart")


def main() -> None:
    """Read the files that ``python -m benchmarks peers --write`` left, write one page."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.peers.page", description=__doc__)
    parser.add_argument("files", nargs="+", type=Path, metavar="JSON")
    parser.add_argument("--write", type=Path, required=True, metavar="PATH")
    options = parser.parse_args()
    pages = [json.loads(path.read_text()) for path in options.files]
    _report.replace(options.write, markdown(pages))


def markdown(pages: list[dict[str, Any]]) -> str:
    """The page, by size and then by speed."""
    found = [(page["machine"], row) for page in pages for row in page["results"]]
    order = {size: at for at, size in enumerate(dict.fromkeys(row["size"] for _, row in found))}
    found.sort(key=lambda pair: (order[pair[1]["size"]], pair[1]["ratio"]))
    rows = ["| " + " | ".join(HEAD) + " |", "| --- | --- |" + " ---: |" * 6]
    rows += ["| " + " | ".join(_cells(row)) + " |" for _, row in found]
    machines = {row["peer"]: (machine, row) for machine, row in found}
    calls = [
        f"- **{peer} {row['version']}** (numpy {machine['numpy']}, load average "
        f"{machine['load average']}): {row['how']}."
        for peer, (machine, row) in machines.items()
    ]
    machine = pages[0]["machine"]
    return _PAGE.format(
        cpu=machine["CPU"],
        date=machine["date"],
        python=machine["Python"],
        version=machine["truerank"],
        rounds=ROUNDS,
        dimensions=DIMENSIONS,
        table="\n".join(rows),
        calls="\n".join(calls),
    )


def _cells(row: dict[str, Any]) -> tuple[str, ...]:
    return (
        f"{row['peer']} {row['version']}, {row['way']}",
        row["size"],
        f"{row['reference']:.3f} s",
        f"{row['reference'] / row['product']:.1f}",
        f"{row['ours']:.3f} s",
        f"{row['ours'] / row['product']:.1f}",
        f"{row['ratio']:.1f}",
        "sampled" if not row["exact"] else f"{row['difference']:.0e}",
    )


_PAGE = """# Other libraries, side by side

Written by `make peers`; do not edit by hand. {cpu}; {date}; Python {python}; truerank {version}.

The same float32 factors (d = {dimensions}), the same test (one target per user), the same training
items left out (about 165 per user), the same three metrics: recall@10, ndcg@10 and the reciprocal
rank at 10. *theirs* is the evaluation of the library, *ours* `tr.count` and `tr.estimate` with all
their checks, the *product* a bare `np.matmul` of users and items in blocks of the best
size. Each library runs in an environment of its own, and its line is measured there in one run:
product, ours and theirs in turns, {rounds} rounds, the shortest wall time of each on two cores.
*ratio* is theirs / ours; *apart* the largest difference between their metrics and ours. Fitting
and loading are not timed. A target is the best of 128 random items, so that ranks look like those
of a model.

Other work on the machine slows two threads more than one, and so all of these unevenly: the load
average of each run stands below.

{table}

The larger size is run for implicit only, the fastest of them at the smaller one, to keep the run
short.

## How each is called

{calls}

How their definitions differ from ours, where they do, stands in
[evaluation.md](evaluation.md#the-numbers-of-other-libraries).
"""


if __name__ == "__main__":
    main()
